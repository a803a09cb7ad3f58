"""Counts as sums of integers: how fine their grid is, and how far one record moves a vector of them."""

from __future__ import annotations

import math

from prepriv.adjacency import Adjacency, check_adjacency

COUNT_BITS = 16  # a count is 2^16 grid steps, so that noise below one record is still drawn exactly
_SENSITIVITY = {"add-or-remove-one": 1 << COUNT_BITS, "replace-one": math.isqrt(2 << (2 * COUNT_BITS)) + 1}


def count_sensitivity(adjacency: Adjacency) -> int:
    """L2, in grid steps, of counts of which a record is in at most one: 1, or sqrt2 where one rises and one falls."""
    return _SENSITIVITY[check_adjacency(adjacency)]
