"""Mixing a pair with itself swapped, (1-w) P0 + w Q0 against (1-w) Q0 + w P0: an exact rule.

This is the pair that shuffling rests on. Unified Enhancement of Privacy Bounds bounds it by Proposition 6.4 and calls that almost the
tightest closed form; the rule here is exact. Proof: docs/proofs/mixtures.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from prepriv._arguments import number
from prepriv._arrays import Floats
from prepriv.guarantees.families import Gaussian
from prepriv.guarantees.lines import ULP
from prepriv.guarantees.tradeoff import TradeoffFunction


@dataclass(frozen=True, eq=False)
class SwapMixture(TradeoffFunction):
    """T((1-w) P0 + w Q0, (1-w) Q0 + w P0) from f0 = T(P0, Q0), 0 < w < 1/2, exact.

    With E = e^epsilon: delta(E) = ((1-w) - wE) delta_0(tau), tau = ((1-w)E - w) / ((1-w) - wE), for
    E < (1-w)/w; from there on 0.
    """

    base: TradeoffFunction
    weight: float

    def _delta(self, epsilon: Floats) -> Floats:
        end = self._end
        inside = epsilon < end
        below = np.maximum(end - epsilon, 1e-300)
        shrink = -np.expm1(-below)
        rise = np.log(-np.expm1(-np.minimum(epsilon + end, 745.0)))
        tau = epsilon + rise - np.log(shrink)
        tau -= 16.0 * ULP * (1.0 + np.abs(tau) + end / np.minimum(below, 1.0))
        kept = (1.0 - self.weight) * shrink * (1.0 + 8.0 * ULP) + 4.0 * ULP * end
        value = kept * self.base._delta(np.maximum(tau, 0.0)) * (1.0 + 4.0 * ULP)
        return np.where(inside, np.minimum(value, 1.0), 0.0)

    @property
    def _end(self) -> float:
        # log((1-w)/w), rounded up: a larger value raises delta everywhere
        value = math.log1p(-self.weight) - math.log(self.weight)
        return value + 4.0 * ULP * (math.log(1.0 / self.weight) + 1.0)

    def inverse(self) -> SwapMixture:
        """The same mixture of T(Q0, P0)."""
        return self if self.base.symmetric else self._inverse

    @cached_property
    def _inverse(self) -> SwapMixture:
        return SwapMixture(self.base.inverse(), self.weight)

    def _pure_epsilon(self) -> float:
        return min(self._end, self.base._pure_epsilon())

    def _renyi(self, order: float) -> float:
        return min(super()._renyi(order), max(self.base._renyi(order), self.base.inverse()._renyi(order)))


@dataclass(frozen=True, eq=False)
class PaperSwapMixture(TradeoffFunction):
    """Proposition 6.4: C(2w Id + (1-2w) T(P0, Q0)), kept to reproduce the paper's numbers.

    delta(E) = (1-2w) delta_0((E - 2w) / (1 - 2w)) for E >= 1, the larger of both orders.
    """

    base: TradeoffFunction
    weight: float

    def _delta(self, epsilon: Floats) -> Floats:
        w2 = 2.0 * self.weight
        tau = epsilon + np.log1p(-w2 * np.exp(-epsilon)) - math.log1p(-w2)
        tau -= 8.0 * ULP * (1.0 + np.abs(tau) + abs(math.log1p(-w2)))
        tau = np.maximum(tau, 0.0)
        larger = np.maximum(self.base._delta(tau), self.base.inverse()._delta(tau))
        return np.minimum((1.0 - w2) * larger * (1.0 + 8.0 * ULP), 1.0)

    def inverse(self) -> PaperSwapMixture:
        """The curve is symmetric."""
        return self

    def _pure_epsilon(self) -> float:
        bound = max(self.base._pure_epsilon(), self.base.inverse()._pure_epsilon())
        if math.isinf(bound) or bound > 700.0:
            return bound
        return math.log1p((1.0 - 2.0 * self.weight) * math.expm1(bound)) * (1.0 + 8.0 * ULP)


def swap_mixture(base: TradeoffFunction, weight: float, *, method: str = "exact") -> TradeoffFunction:
    """Bound T((1-w) P0 + w Q0, (1-w) Q0 + w P0) from a lower bound of T(P0, Q0).

    Parameters
    ----------
    base : TradeoffFunction
        The bound.
    weight : float
        w, in [0, 1/2].
    method : {"exact", "paper"}, default "exact"
        "paper" is Proposition 6.4, never above the exact one.

    Returns
    -------
    TradeoffFunction

    Raises
    ------
    ValueError
        For an argument out of range.

    Notes
    -----
    Proof: docs/proofs/mixtures.md.

    Examples
    --------
    >>> from prepriv import guarantees as g
    >>> f = g.swap_mixture(g.gaussian(1.0), 0.25)
    >>> f.delta(0.5) < g.gaussian(1.0).delta(0.5)
    True
    """
    w = number("weight", weight, at_least=0.0, at_most=0.5)
    if method not in ("exact", "paper"):
        raise ValueError(f'method must be "exact" or "paper"; got {method!r}')
    if w == 0.5:
        return Gaussian(0.0)
    if method == "paper":
        return PaperSwapMixture(base, w)
    return SwapMixture(base, w) if w > 0.0 else base
