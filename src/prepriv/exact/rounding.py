"""Rounding up: the direction in which nobody is promised too much."""

from __future__ import annotations

import math
from fractions import Fraction

_UP = 1 + 1e-12


def rounded_up(x: float) -> float:
    """A float that a few operations made, above what they would have made without rounding."""
    return x * _UP


def round_up(value: Fraction) -> float:
    """The least float at or above a fraction."""
    nearest = float(value)
    return nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)
