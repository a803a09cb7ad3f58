"""Several mechanisms on disjoint parts of the records, which no record decides. Proof: docs/proofs/holdout.md."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prepriv.guarantees.families import gaussian
from prepriv.guarantees.guarantee import Guarantee
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


def disjoint(guarantees: Sequence[Guarantee]) -> Guarantee:
    """What holds for all of them together if each read a part of its own, and no record decides another's part.

    Later mechanisms may depend on what earlier ones released. Rests on the conditions of all. Raises ValueError if there
    are none, or of several adjacencies or units.

    >>> from prepriv.guarantees.guarantee import GaussianEvent
    >>> parts = [Guarantee.of_gaussians([GaussianEvent("a", z)], "replace-one") for z in (1.0, 2.0)]
    >>> round(disjoint(parts).mu, 9)
    1.0
    """
    kinds = {g.neighbours for g in guarantees}
    if len(kinds) != 1:
        raise ValueError(f"disjoint parts need one adjacency; got {', '.join(sorted(kinds)) or 'none'}")
    mus = [g.mu for g in guarantees]
    mu = None if None in mus else max(m for m in mus if m is not None)
    curve = Largest(tuple(g.tradeoff for g in guarantees)) if mu is None else gaussian(mu)
    return Guarantee(
        curve,
        guarantees[0].adjacency,
        tuple(dict.fromkeys(c for g in guarantees for c in g.conditions)),
        mu=mu,
        notes=tuple(dict.fromkeys(note for g in guarantees for note in g.notes)),
        unit=guarantees[0].unit,
    )
