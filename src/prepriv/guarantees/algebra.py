"""How guarantees add up: one after another, beside each other, the best of many trials, the smallest of several bounds.

Each answer rests on every condition and every note of its parts. All need one adjacency and one unit.
Proofs: docs/proofs/composition.md, docs/proofs/holdout.md, docs/proofs/choose.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from prepriv._arguments import instance
from prepriv.guarantees.families import Gaussian, gaussian
from prepriv.guarantees.guarantee import Guarantee
from prepriv.guarantees.loss_distribution import compose
from prepriv.guarantees.random_trials import random_trials
from prepriv.guarantees.smallest import smallest as smallest_curve
from prepriv.guarantees.tradeoff import TradeoffFunction


@dataclass(frozen=True, eq=False)
class Largest(TradeoffFunction):
    """The pointwise largest delta of several mechanisms, of which a pair of neighbours sees one."""

    parts: tuple[TradeoffFunction, ...]

    def _delta(self, epsilon: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(np.maximum.reduce([p.symmetrized()._delta(epsilon) for p in self.parts]))

    def _epsilon(self, delta: float) -> float:
        return max(float(p.symmetrized().epsilon(delta)) for p in self.parts)

    def _pure_epsilon(self) -> float:
        return max(p.symmetrized()._pure_epsilon() for p in self.parts)

    def inverse(self) -> TradeoffFunction:
        """The same: every part is symmetrized."""
        return self


def then(guarantees: Sequence[Guarantee]) -> Guarantee:
    """What holds for all of them together on the same records, one after another: adaptive composition.

    Exact for Gaussian curves (the root of the sum of µ²), else through privacy loss distributions, rounded up. Each guarantee
    is fixed in advance; a mechanism may be chosen after seeing what left before (`Guarantee.compose`). Raises ValueError if
    there are none, or of several adjacencies or units.

    >>> from prepriv.guarantees.guarantee import GaussianEvent
    >>> parts = [Guarantee.of_gaussians([GaussianEvent("a", z)], "replace-one") for z in (1 / 3, 1 / 4)]
    >>> round(then(parts).mu, 9)
    5.0
    """
    return _together(guarantees, compose([(g.tradeoff, 1) for g in _of_one_kind(guarantees)]).symmetrized())


def beside(guarantees: Sequence[Guarantee]) -> Guarantee:
    """What holds for all of them together if each read a part of its own, and no record decides another's part.

    Later mechanisms may depend on what earlier ones released. Raises ValueError if there are none, or of several
    adjacencies or units.

    >>> from prepriv.guarantees.guarantee import GaussianEvent
    >>> parts = [Guarantee.of_gaussians([GaussianEvent("a", z)], "replace-one") for z in (1.0, 2.0)]
    >>> round(beside(parts).mu, 9)
    1.0
    """
    mus = [g.mu for g in _of_one_kind(guarantees)]
    if None in mus:
        return _together(guarantees, Largest(tuple(g.tradeoff for g in guarantees)))
    return _together(guarantees, gaussian(max(mu for mu in mus if mu is not None)))


def best_of(trial: Guarantee, stop: float) -> Guarantee:
    """What holds for the best of a random number of trials, of which that one alone leaves (`random_trials`).

    trial: of one trial. stop: the chance that a trial was the last. Raises ValueError for a trial that has no µ.

    >>> from prepriv.guarantees.guarantee import GaussianEvent
    >>> one = Guarantee.of_gaussians([GaussianEvent("trial", 5.0)], "replace-one")
    >>> round(best_of(one, 1 / 12).epsilon(1e-5), 2)
    1.22
    """
    if trial.mu is None:
        raise ValueError("random trials need plans that are Gaussian throughout")
    return replace(trial, tradeoff=_trials(trial.mu, stop), mu=None, breakdown=())


def smallest(guarantees: Sequence[Guarantee]) -> Guarantee:
    """Several valid claims of one release, read as one. Raises ValueError if there are none, or of several neighbours.

    >>> from prepriv.guarantees import approximate_dp, gaussian
    >>> claims = [Guarantee(f, "replace-one") for f in (gaussian(1.0), approximate_dp(1.0, 1e-6))]
    >>> round(smallest(claims).epsilon(1e-5), 4)
    1.0
    """
    return _together(guarantees, smallest_curve([g.tradeoff for g in _of_one_kind(guarantees)]))


def _of_one_kind(guarantees: Sequence[Guarantee]) -> Sequence[Guarantee]:
    for each in guarantees:
        instance("others", each, Guarantee, "a Guarantee")
    kinds = list(dict.fromkeys(g.neighbours for g in guarantees))
    if len(kinds) > 1:
        raise ValueError(f"a guarantee under {kinds[1]} does not add to one under {kinds[0]}")
    if not kinds:
        raise ValueError("guarantees add up from one on; got none")
    return guarantees


def _together(guarantees: Sequence[Guarantee], curve: TradeoffFunction) -> Guarantee:
    """A curve with all that its parts rest on."""
    return Guarantee(
        curve,
        guarantees[0].adjacency,
        tuple(dict.fromkeys(c for g in guarantees for c in g.conditions)),
        mu=curve.mu if isinstance(curve, Gaussian) else None,
        notes=tuple(dict.fromkeys(note for g in guarantees for note in g.notes)),
        unit=guarantees[0].unit,
    )


@lru_cache(64)
def _trials(mu: float, stop: float) -> TradeoffFunction:
    return random_trials(mu, stop).tradeoff()
