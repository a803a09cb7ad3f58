"""One-dimensional searches whose answer is a bracket end, so that it is certified."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from prepriv._arrays import Floats

_LARGEST = 2.0**40  # beyond this epsilon a claim says nothing
PRECISION = 1e-12


def smallest_epsilon(delta: Callable[[Floats], Floats], target: float, ceiling: float = math.inf) -> float:
    """Smallest epsilon >= 0 found with delta(epsilon) <= target; the returned end satisfies it.

    The root is sought for sqrt(-log delta), which is nearly linear in epsilon, by regula falsi with
    the Illinois rule and a bisection safeguard. `ceiling`: an epsilon known to have delta 0.
    """

    def excess(epsilon: float) -> float:
        value = float(delta(np.array([epsilon]))[0])
        gap = _height(target) - _height(value)
        return min(gap, 0.0) if value <= target else max(gap, 1e-300)

    at_low = excess(0.0)
    if at_low <= 0.0:
        return 0.0
    low, high = 0.0, min(1.0, ceiling)
    at_high = excess(high)
    while at_high > 0.0:
        if high >= ceiling:
            return ceiling
        if high > _LARGEST:
            return math.inf
        low, at_low = high, at_high
        high = min(4.0 * high, ceiling)
        at_high = excess(high)
    return _closed(excess, low, high, at_low, at_high)


def largest_below(good: Callable[[float], bool], low: float, high: float) -> float:
    """Largest x of [low, high] found with good(x), for good(low) true and good monotone: bisection."""
    if good(high):
        return high
    while high - low > PRECISION * high:
        middle = math.sqrt(low * high) if low > 0.0 and high > 4.0 * low else 0.5 * (low + high)
        if middle in (low, high):
            break
        if good(middle):
            low = middle
        else:
            high = middle
    return low


def _height(delta: float) -> float:
    return math.sqrt(-math.log(min(max(delta, 1e-320), 1.0)))


def _closed(
    excess: Callable[[float], float], low: float, high: float, at_low: float, at_high: float
) -> float:
    # excess(low) > 0 >= excess(high) throughout
    side = 0
    for step in range(200):
        width = high - low
        if width <= PRECISION * high:
            break
        middle = low + width * at_low / (at_low - at_high) if at_low > at_high else 0.5 * (low + high)
        if step % 4 == 3:
            middle = 0.5 * (low + high)
        pad = 0.25 * PRECISION * high
        middle = min(max(middle, low + pad), high - pad)
        value = excess(middle)
        if value > 0.0:
            low, at_low = middle, value
            at_high = at_high / 2.0 if side == 1 else at_high
            side = 1
        else:
            high, at_high = middle, value
            at_low = at_low / 2.0 if side == -1 else at_low
            side = -1
    return high
