"""Empirical lower bounds of what a mechanism leaks: run it many times on two neighbours and try to tell them apart.

A threshold on a scalar statistic is chosen on one half of the runs and judged on the other half. Clopper-Pearson
bounds its false alarms and misses from above, with confidence; a claim f is refuted if the misses are fewer than
f allows at that rate of false alarms. It finds gross errors (noise missing, scaled wrongly, reused), and with
many runs finer ones: half the noise at ten thousand runs, a tenth too little at a million. It proves nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import betaincinv, ndtri

from prepriv._arrays import Floats
from prepriv._rounding import UP
from prepriv.guarantees.tradeoff import TradeoffFunction
from prepriv.mechanisms.noise import NoiseSource

_THRESHOLDS = 400


@dataclass(frozen=True, eq=False)
class Experiment:
    """A mechanism on two neighbours, its claim, and the attacker's statistic.

    Parameters
    ----------
    name : str
        Its name in the report.
    claim : TradeoffFunction
        The claim that the attack tries to refute.
    draw : callable
        draw(neighbour, runs, source) gives the statistic of `runs` independent runs, (runs,), on the first data set
        (neighbour = False) or on the second; larger values speak for the second.

    Examples
    --------
    >>> import numpy as np
    >>> from prepriv import guarantees as g
    >>> from prepriv.audit import Experiment
    >>> made_up = Experiment("a sum", g.gaussian(1.0), lambda neighbour, runs, source: np.zeros(runs) + neighbour)
    >>> made_up.name
    'a sum'
    """

    name: str
    claim: TradeoffFunction
    draw: Callable[[bool, int, NoiseSource], Floats]


@dataclass(frozen=True)
class Verdict:
    """What an audit of an experiment found. Made by `audit`.

    Parameters
    ----------
    name : str
        The name of the experiment.
    runs : int
        How many, on each of the two data sets.
    false_alarms, misses : float
        Upper bounds that hold together with the confidence.
    mu : float
        A lower bound: the mechanism leaks at least as much as a Gaussian mechanism of this mu.
    claimed : float
        The mu of the claim at that rate of false alarms.

    Examples
    --------
    >>> from prepriv.audit import Verdict
    >>> Verdict("a sum", 1000, 0.2, 0.6, 0.5, 1.0).refuted
    False
    """

    name: str
    runs: int
    false_alarms: float
    misses: float
    mu: float
    claimed: float

    @property
    def refuted(self) -> bool:
        """Whether the claim is false, up to the confidence."""
        return self.mu > self.claimed


def audit(
    experiment: Experiment, runs: int, *, doubt: float = 1e-6, source: NoiseSource | None = None
) -> Verdict:
    """Attack an experiment. A true claim is refuted with probability below `doubt`.

    Parameters
    ----------
    experiment : Experiment
        What is attacked.
    runs : int
        On each of the two data sets, at least 100.
    doubt : float, default 1e-6
        How likely a false alarm may be.
    source : NoiseSource, optional
        Where its noise comes from. None: a fresh source.

    Returns
    -------
    Verdict
        `refuted` says whether the claim is broken.

    Raises
    ------
    ValueError
        For fewer than 100 runs.

    Examples
    --------
    >>> import numpy as np
    >>> from prepriv import guarantees as g
    >>> from prepriv.audit import Experiment, audit
    >>> def no_noise(neighbour, runs, source):
    ...     return np.zeros(runs) + neighbour
    >>> audit(Experiment("a sum without noise", g.gaussian(1.0), no_noise), 1000).refuted
    True
    """
    if runs < 100:
        raise ValueError(f"runs must be at least 100; got {runs}")
    source = source or NoiseSource()
    first = experiment.draw(False, runs, source)
    second = experiment.draw(True, runs, source)
    half = runs // 2
    threshold, above = _threshold(first[:half], second[:half], doubt)
    alarms, missed = _errors(first[half:], second[half:], threshold, above)
    n = runs - half
    # One of two events could go wrong: half of the doubt each.
    alpha, beta = rate_at_most(alarms, n, doubt / 2), rate_at_most(missed, n, doubt / 2)
    return Verdict(
        experiment.name, runs, alpha, beta, distance(alpha, beta), distance(alpha, experiment.claim(alpha))
    )


def rate_at_most(count: int, of: int, doubt: float) -> float:
    """Clopper-Pearson: the rate that gave `count` of `of` trials is at most this, with confidence 1 - doubt."""
    return 1.0 if count >= of else float(betaincinv(count + 1, of - count, 1 - doubt)) * UP


def distance(alpha: float, beta: float) -> float:
    """The mu at which the Gaussian trade-off function passes through (alpha, beta), never below zero."""
    if not (0 < alpha < 1 and 0 < beta < 1):
        return 0.0 if alpha >= 1 or beta >= 1 else math.inf
    return max(0.0, float(-ndtri(alpha) - ndtri(beta)))


def _threshold(first: Floats, second: Floats, doubt: float) -> tuple[float, bool]:
    """The threshold, and whether values at or above it speak for the second data set, that look best."""
    both = np.unique(np.concatenate([first, second]))
    candidates = both[np.unique(np.linspace(0, len(both) - 1, _THRESHOLDS).astype(int))]
    best, chosen = -1.0, (float(candidates[0]), True)
    for above in (True, False):
        for threshold in candidates.tolist():
            alarms, missed = _errors(first, second, threshold, above)
            mu = distance(
                rate_at_most(alarms, len(first), doubt / 2), rate_at_most(missed, len(second), doubt / 2)
            )
            if mu > best:
                best, chosen = mu, (threshold, above)
    return chosen


def _errors(first: Floats, second: Floats, threshold: float, above: bool) -> tuple[int, int]:
    """(false alarms, misses) of saying "second" at or above the threshold (or below it)."""
    alarms, hits = int((first >= threshold).sum()), int((second >= threshold).sum())
    return (alarms, len(second) - hits) if above else (len(first) - alarms, hits)
