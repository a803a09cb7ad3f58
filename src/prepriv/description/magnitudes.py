"""A fixed grid for any cell: sign and power of two of a number, a text, a gap, a number written otherwise. Nothing about it comes from
a table."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from prepriv._arguments import LARGEST
from prepriv._arrays import Floats
from prepriv.tables.cell import Cell, text
from prepriv.tables.encoding import MISSING_TEXT
from prepriv.tables.written import number_written

SMALLEST_POWER, LARGEST_POWER = -60, 99  # smaller numbers count as zero, larger ones as the largest
_EACH = LARGEST_POWER - SMALLEST_POWER + 1
ZERO = _EACH
ONE_TO_TWO = ZERO + 1 - SMALLEST_POWER  # of numbers from 1 to 2
TEXT, GAP = 2 * _EACH + 1, 2 * _EACH + 2
FORMS = {
    form: GAP + 1 + i
    for i, form in enumerate(
        ("comma", "separated", "thousands", "amount", "date", "dmy", "day or month", "mdy", "time")
    )
}
BINS = GAP + 1 + len(FORMS)
"""In the order of numbers: negative magnitudes, zero, positive ones; then texts, and gaps, and forms of numbers in texts: "separated"
are those that a decimal comma and separators of thousands both read, "day or month" those that either order of a date reads."""


def bin_of(cell: Cell) -> int:
    """Where a cell counts: a rule for each cell by itself."""
    if cell is None or isinstance(cell, str):
        return GAP if cell is None or text(cell).lower() in MISSING_TEXT else _form(cell)
    size = min(abs(cell), LARGEST)
    power = math.frexp(size)[1] - 1  # size in [2^power, 2^(power + 1))
    if size == 0 or power < SMALLEST_POWER:
        return ZERO
    steps = 1 + power - SMALLEST_POWER
    return ZERO + steps if cell > 0 else ZERO - steps


_BEGIN = frozenset("+-<>≤≥≈~$€£¥")
_ALONE = ("comma", "thousands", "date", "dmy", "mdy", "amount", "time")


def _form(cell: str) -> int:
    """The form of a number in a text, or TEXT: one for each cell."""
    if not (cell[:1].isdigit() or cell[:1] in _BEGIN):
        return TEXT  # as most texts do
    read = {way: x for way in _ALONE if (x := number_written(cell, way)) == x}
    if "time" in read and not 0 <= read["time"] < 24:
        del read["time"]
    if "comma" in read and "thousands" in read:
        return FORMS["separated"]
    if "dmy" in read and "mdy" in read and "date" not in read:
        return FORMS["day or month"]
    return FORMS[next(iter(read))] if read else TEXT


def way_written(noisy: Floats, used: NDArray[np.int64], sure: float) -> tuple[str, float, str]:
    """How a column is written, by its noisy counts in the bins: (one of `prepriv.tables.written.WAYS_WRITTEN`, or "" for texts; about how many cells that
    reads; what was a guess, or nothing). used: the bins of numbers that hold some; sure: what no empty bin passes.
    """
    numbers = float(noisy[used].sum())
    seen = {form: float(noisy[at]) if noisy[at] > sure else 0.0 for form, at in FORMS.items()}
    separated = seen["comma"] + seen["separated"] + seen["thousands"]
    dates = seen["date"] + seen["dmy"] + seen["day or month"] + seen["mdy"]
    read = {
        "comma" if seen["comma"] > seen["thousands"] else "thousands": separated and numbers + separated,
        "amount": seen["amount"] and numbers + seen["amount"],
        "date" if 2 * seen["date"] >= dates else "mdy" if seen["mdy"] > seen["dmy"] else "dmy": dates,
        "time": seen["time"],
    }
    way = max(read, key=read.__getitem__)
    if read[way] <= 0:
        return ("number" if len(used) else ""), numbers, ""
    if read[way] < numbers:
        return "number", numbers, ""
    guess = ""
    if way == "thousands" and not seen["thousands"]:
        guess = "1,234 is read as a thousand; where it is a little more than one, write comma"
    if way == "dmy" and not seen["dmy"]:
        guess = "the day is read before the month; where it comes after, write mdy"
    if way == "amount":
        guess = '"12 yrs" is read as 12, and so is "<12 yrs"; if its values are categories, declare it as categorical'
    return way, read[way], guess


def bins_of(cells: tuple[NDArray[np.int64], Sequence[Cell]]) -> NDArray[np.int64]:
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
