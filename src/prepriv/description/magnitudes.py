"""A fixed grid for any cell: sign and power of two of a number, a text, a gap. Nothing about it comes from a table."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from prepriv._arguments import LARGEST
from prepriv.tables.cell import Cell, text
from prepriv.tables.column import DistinctCells
from prepriv.tables.encoding import MISSING_TEXT

SMALLEST_POWER, LARGEST_POWER = -60, 99  # smaller numbers count as zero, larger ones as the largest
_EACH = LARGEST_POWER - SMALLEST_POWER + 1
ZERO = _EACH
TEXT, GAP = 2 * _EACH + 1, 2 * _EACH + 2
BINS = 2 * _EACH + 3
"""In the order of numbers: negative magnitudes, zero, positive ones; then texts, and gaps."""


def bin_of(cell: Cell) -> int:
    """Where a cell counts: a rule for each cell by itself."""
    if cell is None or isinstance(cell, str):
        return GAP if cell is None or text(cell).lower() in MISSING_TEXT else TEXT
    size = min(abs(cell), LARGEST)
    power = math.frexp(size)[1] - 1  # size in [2^power, 2^(power + 1))
    if size == 0 or power < SMALLEST_POWER:
        return ZERO
    steps = 1 + power - SMALLEST_POWER
    return ZERO + steps if cell > 0 else ZERO - steps


def bins_of(cells: DistinctCells) -> NDArray[np.int64]:
    """The bin of each cell of a column, (n,)."""
    codes, distinct = cells
    return np.array([*map(bin_of, distinct), GAP], dtype=np.int64)[codes]


def ends(index: int) -> tuple[float, float]:
    """The least and the largest number that counts in a bin of numbers."""
    if index == ZERO:
        return 0.0, 0.0
    power = SMALLEST_POWER + abs(index - ZERO) - 1
    low, high = math.ldexp(1.0, power), min(math.ldexp(1.0, power + 1), LARGEST)
    return (low, high) if index > ZERO else (-high, -low)
