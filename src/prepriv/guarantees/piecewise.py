"""Trade-off functions given by finitely many lines: lists of (epsilon, delta) claims, finite pairs."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from prepriv._arguments import numbers
from prepriv._arrays import Floats
from prepriv.guarantees.lines import ULP, SupportLines, support_lines
from prepriv.guarantees.tradeoff import TradeoffFunction

STEEPEST = 600.0  # slopes e^s with |s| beyond this are of no use in double precision


@dataclass(frozen=True, eq=False)
class PiecewiseLinear(TradeoffFunction):
    """The greatest of finitely many supporting lines, and those of its inverse."""

    forward: SupportLines
    backward: SupportLines = field(repr=False)

    def _delta(self, epsilon: Floats) -> Floats:
        return self.forward.delta(epsilon)

    def inverse(self) -> PiecewiseLinear:
        """T(Q, P)."""
        return self if self.symmetric else PiecewiseLinear(self.backward, self.forward)

    @property
    def symmetric(self) -> bool:
        """Whether both orders have the same lines."""
        return self.backward is self.forward

    def lines(self) -> SupportLines:
        """The lines the function is made of."""
        return self.forward

    def _pure_epsilon(self) -> float:
        return float(self.forward.slopes[-1]) if self.forward.deltas[-1] == 0.0 else math.inf


@dataclass(frozen=True, eq=False)
class Symmetrized(TradeoffFunction):
    """C(f) = min(f, inverse)**, or max(f, inverse) where f bounds both orders."""

    base: TradeoffFunction
    both_orders: bool = False

    def _delta(self, epsilon: Floats) -> Floats:
        one, two = self.base._delta(epsilon), self.base.inverse()._delta(epsilon)
        return np.minimum(one, two) if self.both_orders else np.maximum(one, two)

    def _epsilon(self, delta: float) -> float:
        both = self.base._epsilon(delta), self.base.inverse()._epsilon(delta)
        return min(both) if self.both_orders else max(both)

    def inverse(self) -> Symmetrized:
        """The curve is symmetric."""
        return self

    def _pure_epsilon(self) -> float:
        bounds = self.base._pure_epsilon(), self.base.inverse()._pure_epsilon()
        return min(bounds) if self.both_orders else max(bounds)

    def _renyi(self, order: float) -> float:
        both = self.base._renyi(order), self.base.inverse()._renyi(order)
        return min(both) if self.both_orders else max(both)


def piecewise_linear(
    epsilons: npt.ArrayLike, deltas: npt.ArrayLike, *, symmetric: bool = True
) -> PiecewiseLinear:
    """Give the best trade-off function that follows from finitely many (epsilon, delta) claims.

    Parameters
    ----------
    epsilons : array, (m,)
        Of any sign, at most 600 in absolute value.
    deltas : array, (m,)
        In [0, 1], each an upper bound of the hockey-stick divergence at its epsilon (at least 1 - e^epsilon).
    symmetric : bool, default True
        Whether the claims hold for both orders of the pair, as (epsilon, delta)-DP does.

    Returns
    -------
    PiecewiseLinear

    Raises
    ------
    ValueError
        For anything else.

    Examples
    --------
    >>> from prepriv import guarantees as g
    >>> round(g.piecewise_linear([0.5, 1.0], [1e-3, 1e-6]).epsilon(1e-6), 6)
    1.0
    """
    s = numbers("epsilons", epsilons, at_least=-STEEPEST, at_most=STEEPEST)
    d = numbers("deltas", deltas, at_least=0.0, at_most=1.0)
    if s.ndim != 1 or s.shape != d.shape or not len(s):
        raise ValueError(
            f"epsilons and deltas must be lists of one length, 1 or more; got {s.shape}, {d.shape}"
        )
    least = -np.expm1(np.minimum(s, 0.0))
    if np.any(d < least * (1.0 - 8.0 * ULP)):
        raise ValueError("deltas must be at least 1 - e^epsilon: no pair of distributions is below that")
    d = np.maximum(d, least)
    kept = np.exp(np.log(np.maximum(1.0 - d, 5e-324)) - s) * (1.0 - ULP * (8.0 + 2.0 * np.abs(s)))
    mirrored = np.clip(1.0 - kept + ULP, 0.0, 1.0)
    if not symmetric:
        return PiecewiseLinear(support_lines(s, d), support_lines(-s, mirrored))
    both = support_lines(np.append(s, -s), np.append(d, mirrored))
    return PiecewiseLinear(both, both)


def discrete_pair(p: npt.ArrayLike, q: npt.ArrayLike) -> PiecewiseLinear:
    """Give T(P, Q) of two distributions on finitely many outcomes, exact up to rounding.

    Parameters
    ----------
    p, q : array, (k,)
        Not negative, each with sum 1 (to 1e-9; they are normalised).

    Returns
    -------
    PiecewiseLinear

    Raises
    ------
    ValueError
        For anything else.

    Examples
    --------
    >>> from prepriv import guarantees as g
    >>> round(g.discrete_pair([0.75, 0.25], [0.25, 0.75]).epsilon(1e-9), 4)  # log 3
    1.0986
    """
    one, two = numbers("p", p, at_least=0.0), numbers("q", q, at_least=0.0)
    if one.ndim != 1 or one.shape != two.shape:
        raise ValueError(f"p and q must be lists of one length; got shapes {one.shape} and {two.shape}")
    for name, values in (("p", one), ("q", two)):
        if abs(math.fsum(values) - 1.0) > 1e-9:
            raise ValueError(f"{name} must have sum 1 (to 1e-9); got {math.fsum(values)!r}")
    one, two = one / math.fsum(one), two / math.fsum(two)
    return PiecewiseLinear(_pair_lines(one, two), _pair_lines(two, one))


def _pair_lines(p: Floats, q: Floats) -> SupportLines:
    # lines of T(P, Q) at every likelihood ratio q/p: delta(s) = sum (q - e^s p)_+
    both = (p > 0) & (q > 0)
    ratios = np.log(q[both]) - np.log(p[both])
    slopes = np.clip(np.unique(np.append(ratios, 0.0)), -STEEPEST, STEEPEST)
    order = np.argsort(ratios)
    ratios, p_in, q_in = ratios[order], p[both][order], q[both][order]
    start = np.searchsorted(ratios, slopes, side="right")
    q_tail = np.append(np.cumsum(q_in[::-1])[::-1], 0.0)[start]
    p_tail = np.append(np.cumsum(p_in[::-1])[::-1], 0.0)[start]
    only_q = float(np.sum(q[p == 0]))
    error = 4.0 * ULP * (len(p) + 8.0) * (q_tail + only_q)
    return support_lines(slopes, np.clip(only_q + q_tail - np.exp(slopes) * p_tail + error, 0.0, 1.0))
