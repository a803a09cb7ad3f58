"""What canaries of one run show: how many coins were guessed, and what that says about µ. Proof: docs/proofs/self_audit.md.

m coins, each of which turns one canary one way or the other, were guessed from what left. If a canary can leak at most what the
plan says, a guess is right with a chance of at most (1 + δ(0)) / 2, δ(0) of the canary's own curve.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from scipy.special import betainc, betaincinv, ndtri

from prepriv._arguments import integer, number, settle
from prepriv._rounding import UP
from prepriv.adjacency import Adjacency, check_adjacency, n_is_public, rows_changed
from prepriv.guarantees.families import gaussian
from prepriv.guarantees.loss_distribution import compose
from prepriv.guarantees.subsampling import PoissonRemove, PoissonReplace
from prepriv.guarantees.tradeoff import TradeoffFunction

CONFIDENCE = 0.95  # of the lower bound that is printed
FALSE_ALARM = 1e-6  # chance of a false alarm, of a run that is as planned


@dataclass(frozen=True)
class OneRun:
    """The canaries of one run, and what was guessed.

    Parameters
    ----------
    canaries : int
        m, each with a fair coin of its own.
    correct : int
        Of m guesses, those that were right.
    shift : float
        What the plan lets one canary add to one released sum, in noise deviations.
    steps : int
        Released sums.
    rate : float
        The chance of a canary to be in a sum; 1: in each.
    adjacency : {"replace-one", "add-or-remove-one"}
        Whether a coin chooses between two canaries that pull in opposite directions, or between one and none.
    noise : float
        Deviation of the noise that was found, over the planned one.

    Examples
    --------
    >>> from prepriv.guarantees.one_run import OneRun
    >>> found = OneRun(10_000, 5_530, 0.0134, 100, 1.0, "replace-one", 1.0)
    >>> round(found.planned_mu, 3), 0.2 < found.lower_mu < 0.268, found.refuted
    (0.268, True, False)
    """

    canaries: int
    correct: int
    shift: float
    steps: int
    rate: float
    adjacency: Adjacency
    noise: float

    def __post_init__(self) -> None:
        settle(self, canaries=integer("canaries", self.canaries), steps=integer("steps", self.steps))
        settle(self, correct=integer("correct", self.correct, at_least=0, at_most=self.canaries))
        settle(self, shift=number("shift", self.shift, above=0.0, at_most=30.0))
        settle(self, rate=number("rate", self.rate, above=0.0, at_most=1.0))
        settle(self, noise=number("noise", self.noise, at_least=0.0))
        check_adjacency(self.adjacency)

    @property
    def curve(self) -> TradeoffFunction:
        """What the plan lets one canary leak in the whole run."""
        if self.rate == 1.0:
            return gaussian(rows_changed(self.adjacency) * self.shift * math.sqrt(self.steps) * UP)
        kind = PoissonReplace if n_is_public(self.adjacency) else PoissonRemove
        pair = kind(self.shift, self.rate)
        return compose([(pair, self.steps)]).symmetrized()

    @property
    def planned(self) -> float:
        """The largest chance of a right guess, if the run was as planned."""
        return min(1.0, (1.0 + float(self.curve.delta(0.0))) / 2.0)

    @property
    def planned_mu(self) -> float:
        """The same as µ of a Gaussian curve with that chance."""
        return mu_of(self.planned)

    @property
    def estimate(self) -> float:
        """µ of the share that was guessed right."""
        return mu_of(self.correct / self.canaries)

    @property
    def lower_mu(self) -> float:
        """µ is at least this, with confidence 95 %, for canaries that leak independently of each other."""
        return mu_of(self.least_share(1 - CONFIDENCE))

    def least_share(self, alpha: float) -> float:
        """The lower end of the one-sided interval of Clopper and Pearson for the chance of a right guess."""
        if self.correct == 0:
            return 0.0
        return float(betaincinv(self.correct, self.canaries - self.correct + 1, alpha))

    @property
    def too_many(self) -> bool:
        """Whether so many right guesses have a chance below 1e-6 in a run that is as planned."""
        if self.correct == 0 or self.planned >= 1.0:
            return False
        return float(betainc(self.correct, self.canaries - self.correct + 1, self.planned)) < FALSE_ALARM

    @property
    def too_quiet(self) -> bool:
        """Whether the noise is smaller than planned, by more than six deviations of its estimate."""
        return self.noise < 1.0 - 6.0 / math.sqrt(2.0 * self.canaries * self.steps)

    @property
    def refuted(self) -> bool:
        """Whether the run was not as planned."""
        return self.too_many or self.too_quiet


def mu_of(share: float) -> float:
    """µ of the Gaussian curve at which the best guess is right with this chance; 0 below one half.

    >>> round(mu_of(0.5533), 3)
    0.268
    """
    return max(0.0, 2.0 * float(ndtri(min(share, 1.0 - 1e-16))))


def claimed_mu(curve: TradeoffFunction) -> float:
    """The same of a claimed curve: its chance is (1 + δ(0)) / 2.

    >>> round(claimed_mu(gaussian(0.5)), 6)
    0.5
    """
    return mu_of((1.0 + float(curve.delta(0.0))) / 2.0)
