"""Rounding up, the direction in which nobody is promised too much, and the margins for it."""

from __future__ import annotations

import math
from fractions import Fraction

CLOSE_UP = 1 + 1e-13
"""Above what one or two operations in double precision make."""

UP, DOWN = 1 + 1e-12, 1 - 1e-12
"""Above and below what a few operations make: each is off by at most 2^-53 of its result."""

FAR_UP, FAR_DOWN = 1 + 1e-9, 1 - 1e-9
"""Above and below what long sums, norms and searches make."""


def rounded_up(x: float) -> float:
    """A float that a few operations made, above what they would have made without rounding."""
    return x * UP


def round_up(value: Fraction) -> float:
    """The least float at or above a fraction."""
    nearest = float(value)
    return nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)
