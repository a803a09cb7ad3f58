"""Whole columns out of blocks of rows, a few at a time: for order statistics, which no running sum gives."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from prepriv.preprocessing.base import Floats, Rows

CELLS = 2**24  # at most this many cells are held at once (twice 128 MB while they are put together)


def sorted_columns(rows: Rows, columns: NDArray[np.intp], n: int) -> Iterator[tuple[int, Floats]]:
    """(index, ascending observed cells) of each column, in as few passes over the rows as memory allows."""
    at_once = max(1, CELLS // max(n, 1))
    for start in range(0, len(columns), at_once):
        some = columns[start : start + at_once]
        blocks = [np.asarray(block[:, some]).T for block in rows]
        cells = np.concatenate(blocks, axis=1) if blocks else np.empty((len(some), 0))
        del blocks
        for k, j in enumerate(some):
            column = cells[k]
            yield int(j), np.sort(column[~np.isnan(column)])
