"""Renyi differential privacy: curves of order against divergence, zCDP, conversion to (epsilon, delta).

Conversion: Canonne, Kamath and Steinke (2020), Proposition 12 (the same as Balle et al. 2020,
Theorem 21), minimised over the order. Any order gives a valid bound, so the search cannot break it.
Proofs: docs/proofs/renyi.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from prepriv._arguments import instance, integer, number
from prepriv.guarantees.lines import ULP
from prepriv.guarantees.piecewise import piecewise_linear
from prepriv.guarantees.tradeoff import TradeoffFunction


@dataclass(frozen=True, eq=False)
class RenyiCurve:
    """An upper bound of the Renyi divergence of every order, between neighbours in both directions.

    Parameters
    ----------
    function : callable
        Maps an order in (1, inf] to a divergence in [0, inf], non-decreasing.
    rho : float, optional
        Given if the function is exactly rho * order (zCDP), which makes conversions and group privacy exact. None: it
        is another function.

    Notes
    -----
    Proof: docs/proofs/renyi.md.

    Examples
    --------
    >>> from prepriv.guarantees.renyi import zcdp
    >>> round(zcdp(0.5).epsilon(1e-5), 3)
    4.728
    """

    function: Callable[[float], float]
    rho: float | None = None

    def __call__(self, order: float) -> float:
        """Divergence at order in (1, inf]."""
        if order != math.inf:
            order = number("order", order, above=1.0)
        return self.function(order)

    def compose(self, other: int | RenyiCurve) -> RenyiCurve:
        """k adaptive uses, or this mechanism and then another. Divergences of the same order add up."""
        if not isinstance(other, RenyiCurve):
            times = integer("k", other)
            return RenyiCurve(
                lambda order: times * self.function(order), None if self.rho is None else times * self.rho
            )
        both = None if self.rho is None or other.rho is None else self.rho + other.rho
        return RenyiCurve(lambda order: self.function(order) + other.function(order), both)

    def group(self, size: int) -> RenyiCurve:
        """The curve for data sets that differ in `size` records: size^2 rho, size * epsilon, or Mironov (2017)."""
        records = integer("size", size)
        if self.rho is not None:
            return zcdp(self.rho * records * records)
        pure = (
            pure_renyi(records * self.function(math.inf)) if math.isfinite(self.function(math.inf)) else None
        )
        doublings = math.ceil(math.log2(records))

        def grown(order: float) -> float:
            factor, at = 1.0, order
            for _ in range(doublings):  # D_a(P || R) <= (2a - 1)/(2(a - 1)) D_2a(P || Q) + D_{2a-1}(Q || R)
                factor *= 1.0 + (1.0 if math.isinf(at) else (2.0 * at - 1.0) / (2.0 * (at - 1.0)))
                at *= 2.0
            value = factor * self.function(at)
            return value if pure is None else min(value, pure(order))

        return RenyiCurve(grown)

    def epsilon(self, delta: float) -> float:
        """Smallest epsilon over all orders at delta in (0, 1), rounded up."""
        target = number("delta", delta, above=0.0, below=1.0)

        def at(order: float) -> float:
            rest = math.log1p(-1.0 / order) - (math.log(target) + math.log(order)) / (order - 1.0)
            size = (abs(math.log(target)) + math.log(order)) / (order - 1.0) + 1.0
            return self.function(order) + rest + 8.0 * ULP * size

        converted = max(0.0, minimum_over_orders(at)) * (1.0 + 8.0 * ULP)
        return min(converted, self.function(math.inf))

    def delta(self, epsilon: float) -> float:
        """Smallest delta over all orders at epsilon >= 0, rounded up."""
        level = number("epsilon", epsilon, at_least=0.0)
        if level >= self.function(math.inf):
            return 0.0

        def at(order: float) -> float:
            divergence = self.function(order)
            if math.isinf(divergence):
                return math.inf
            exponent = (order - 1.0) * (divergence - level)
            value = exponent + order * math.log1p(-1.0 / order) - math.log(order - 1.0)
            return value + 8.0 * ULP * (2.0 + (order - 1.0) * (divergence + level))

        best = minimum_over_orders(at)
        return math.exp(min(max(best, -690.0), 0.0))

    def tradeoff(self, *, lines: int = 129) -> TradeoffFunction:
        """The trade-off function that follows from the conversions at many epsilons."""
        top = min(self.epsilon(1e-12), self.function(math.inf), 500.0)
        epsilons = np.linspace(0.0, top, integer("lines", lines, at_least=2))
        return piecewise_linear(epsilons, np.array([self.delta(float(e)) for e in epsilons]))


def zcdp(rho: float) -> RenyiCurve:
    """Give the curve of rho-zero-concentrated DP: divergence rho * order.

    Parameters
    ----------
    rho : float
        Not negative.

    Returns
    -------
    RenyiCurve

    Examples
    --------
    >>> from prepriv import guarantees as g
    >>> round(g.zcdp(0.5)(2.0), 6)
    1.0
    """
    level = number("rho", rho, at_least=0.0)
    return RenyiCurve(lambda order: level * order if level > 0.0 else 0.0, level)


def gaussian_renyi(mu: float) -> RenyiCurve:
    """Give the curve of mu-GDP: divergence mu^2 order / 2.

    Parameters
    ----------
    mu : float
        Not negative.

    Returns
    -------
    RenyiCurve

    Examples
    --------
    >>> from prepriv import guarantees as g
    >>> round(g.gaussian_renyi(1.0)(3.0), 6)
    1.5
    """
    scale = number("mu", mu, at_least=0.0)
    return zcdp(0.5 * scale * scale * (1.0 + 4.0 * ULP))


def pure_renyi(epsilon: float) -> RenyiCurve:
    """Give the curve of pure epsilon-DP: the divergence of randomized response, which is the worst case. It is at most epsilon.

    Parameters
    ----------
    epsilon : float
        Not negative.

    Returns
    -------
    RenyiCurve

    Examples
    --------
    >>> from prepriv import guarantees as g
    >>> 0 < g.pure_renyi(1.0)(2.0) < 1.0
    True
    """
    from prepriv.guarantees.families import randomized_response

    return renyi_curve(randomized_response(epsilon))


def bounded_range_renyi(epsilon: float) -> RenyiCurve:
    """Bound the exponential mechanism (epsilon-bounded range): the smaller of epsilon^2 order / 8 and pure DP.

    Parameters
    ----------
    epsilon : float
        Not negative.

    Returns
    -------
    RenyiCurve

    Notes
    -----
    Proof: docs/proofs/renyi.md.

    Examples
    --------
    >>> from prepriv import guarantees as g
    >>> round(g.bounded_range_renyi(1.0)(2.0), 3)
    0.25
    """
    pure = pure_renyi(epsilon)
    level = epsilon * epsilon / 8.0 * (1.0 + 4.0 * ULP)
    return RenyiCurve(lambda order: min(level * order if level > 0.0 else 0.0, pure.function(order)))


def renyi_curve(function: TradeoffFunction) -> RenyiCurve:
    """Give the curve of a trade-off function: the larger of both orders.

    Parameters
    ----------
    function : TradeoffFunction
        The trade-off function.

    Returns
    -------
    RenyiCurve

    Examples
    --------
    >>> from prepriv import guarantees as g
    >>> round(g.renyi_curve(g.gaussian(1.0))(3.0), 3)
    1.5
    """
    instance("function", function, TradeoffFunction, "a trade-off function of prepriv.guarantees")
    both = (function,) if function.symmetric else (function, function.inverse())
    pure = max(f._pure_epsilon() for f in both)

    def curve(order: float) -> float:
        return pure if math.isinf(order) else min(pure, max(f._renyi(order) for f in both))

    return RenyiCurve(curve)


def minimum_over_orders(value: Callable[[float], float]) -> float:
    """Least value(order) found over (1, inf): a grid of log(order - 1), then golden section."""
    return minimum_on_log_scale(lambda excess: value(1.0 + excess), 1e-6, 1e9)


def minimum_on_log_scale(value: Callable[[float], float], low: float, high: float) -> float:
    """Least value(x) found for x in [low, high], searched in log x; for nearly unimodal functions."""
    grid = np.geomspace(low, high, 61)
    values = [value(float(x)) for x in grid]
    i = int(np.argmin(values))
    a, b = math.log(grid[max(i - 1, 0)]), math.log(grid[min(i + 1, len(grid) - 1)])
    best = values[i]
    ratio = (math.sqrt(5.0) - 1.0) / 2.0
    c, d = b - ratio * (b - a), a + ratio * (b - a)
    at_c, at_d = value(math.exp(c)), value(math.exp(d))
    for _ in range(48):
        best = min(best, at_c, at_d)
        if at_c <= at_d:
            b, d, at_d = d, c, at_c
            c = b - ratio * (b - a)
            at_c = value(math.exp(c))
        else:
            a, c, at_c = c, d, at_d
            d = a + ratio * (b - a)
            at_d = value(math.exp(d))
    return best
