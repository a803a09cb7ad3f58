"""Certified epsilon at delta when a good guess is at hand: a few evaluations instead of a dozen."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from prepriv._arrays import Floats


def epsilon_near(
    delta: Callable[[Floats], Floats], target: float, guess: float, ceiling: float
) -> float | None:
    """An epsilon with delta(epsilon) <= target, within about 1e-11 of the smallest one; None if not found.

    Secant steps on sqrt(-log delta), which is nearly linear in epsilon, then one certified evaluation.
    """

    def gap(epsilon: float) -> float:
        value = float(delta(np.array([epsilon]))[0])
        return math.sqrt(-math.log(min(max(value, 1e-320), 1.0))) - math.sqrt(-math.log(target))

    if not 0.0 < guess < 0.9 * ceiling:
        return None
    old, new = guess, guess * (1.0 + 1e-3)
    at_old, at_new = gap(old), gap(new)
    for _ in range(8):
        if at_new == at_old:
            break
        step = at_new * (new - old) / (at_new - at_old)
        old, at_old = new, at_new
        new = new - step
        if not 0.0 < new < ceiling:
            return None
        if abs(step) <= 1e-7 * new:
            break  # the error of the next iterate is about step^2
        at_new = gap(new)
    for pad in (1e-12, 1e-11, 1e-10):
        end = new * (1.0 + pad)
        if float(delta(np.array([end]))[0]) <= target:
            return min(end, ceiling)
        new = end
    return None
