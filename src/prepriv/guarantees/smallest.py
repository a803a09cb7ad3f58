"""Several valid bounds of one mechanism read as one, and a Renyi curve read as a trade-off function."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prepriv.guarantees.renyi import RenyiCurve
from prepriv.guarantees.tradeoff import TradeoffFunction


@dataclass(frozen=True, eq=False)
class Smallest(TradeoffFunction):
    """The pointwise smallest delta of several valid bounds of the same mechanism: valid, too."""

    bounds: tuple[TradeoffFunction, ...]

    def _delta(self, epsilon: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(np.minimum.reduce([b.symmetrized()._delta(epsilon) for b in self.bounds]))

    def _epsilon(self, delta: float) -> float:
        return min(float(b.symmetrized().epsilon(delta)) for b in self.bounds)

    def inverse(self) -> TradeoffFunction:
        """The same: every bound is symmetrized."""
        return self


@dataclass(frozen=True, eq=False)
class RenyiBound(TradeoffFunction):
    """A Renyi curve read as a trade-off function, converted only where it is asked (a curve can be slow)."""

    curve: RenyiCurve

    def _delta(self, epsilon: NDArray[np.float64]) -> NDArray[np.float64]:
        flat = [self._at(float(e)) for e in np.ravel(epsilon)]
        return np.array(flat).reshape(np.shape(epsilon))

    def _at(self, epsilon: float) -> float:
        if epsilon >= 0:
            return min(1.0, self.curve.delta(epsilon))
        # The bound holds in both orders of a pair, so the dual formula is an upper bound, too.
        return min(1.0, -math.expm1(epsilon) + math.exp(epsilon) * self.curve.delta(-epsilon) + 1e-15)

    def _epsilon(self, delta: float) -> float:
        return self.curve.epsilon(delta)

    def inverse(self) -> TradeoffFunction:
        """The same: a Renyi curve bounds both orders."""
        return self


def smallest(bounds: Sequence[TradeoffFunction]) -> TradeoffFunction:
    """One bound as it is, several by the smallest."""
    return bounds[0] if len(bounds) == 1 else Smallest(tuple(bounds))
