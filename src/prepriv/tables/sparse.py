"""Sparse matrices of SciPy, whose form nobody has checked: no entry of one record reaches the row of another."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from operator import index
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prepriv.tables.column import numbers_in


def is_sparse(data: Any) -> bool:
    """Whether data is a sparse matrix of SciPy."""
    return hasattr(data, "toarray") and hasattr(data, "tocsr")


def sparse_rows(data: Any) -> Any:
    """A sparse matrix by its rows (CSR), of real numbers: NaN for a cell that is none, which can set the type of all."""
    return _within(_within(_real(data)).tocsr())


def _real(data: Any) -> Any:
    """The matrix with its cells read as those of any column, unless they are plain numbers by their type."""
    if data.format == "lil":
        return _of_lists(data)
    if data.dtype.kind in "iub" or data.dtype in (np.float32, np.float64):
        return data
    if data.format == "dok":
        return _entries(data, [(i, j, cell) for (i, j), cell in data.items()])
    cells = numbers_in(data.data.reshape(-1)).reshape(data.data.shape)
    if data.format == "dia":
        return type(data)((cells, data.offsets), shape=data.shape)
    if data.format == "coo":
        return _placed(cells, data.row, data.col, data.shape)
    return _with(data, cells, data.indices)


def _of_lists(data: Any) -> Any:
    """A LIL matrix: two lists a row, of which those of one row may say nothing, and then that row is empty."""
    entries: list[tuple[int, int, Any]] = []
    for i, (places, cells) in enumerate(zip(data.rows, data.data)):
        with suppress(Exception):
            row = [(i, index(j), cell) for j, cell in zip(places, cells, strict=True)]
            entries.extend(entry for entry in row if 0 <= entry[1] < data.shape[1])
    return _entries(data, entries)


def _entries(data: Any, entries: Sequence[tuple[int, int, Any]]) -> Any:
    """The matrix of these (row, column, cell)."""
    rows, columns, cells = zip(*entries) if entries else ((), (), ())
    at = np.array(rows, dtype=np.int64), np.array(columns, dtype=np.int64)
    return _placed(numbers_in([*cells]), *at, data.shape)


def _placed(cells: Any, rows: Any, columns: Any, shape: tuple[int, int]) -> Any:
    """The matrix of cells at these places, without those outside of it."""
    from scipy.sparse import coo_array  # not for those who have no sparse matrix

    inside = (rows >= 0) & (rows < shape[0]) & (columns >= 0) & (columns < shape[1])
    return coo_array((cells[inside], (rows[inside], columns[inside])), shape=shape)


def _within(data: Any) -> Any:
    """The matrix without the entries that stand outside of it.

    SciPy looks at no index of a matrix that is made of its arrays: such an entry lands in another record's row, or
    outside of the memory of all rows, which ends the process.
    """
    n, d = data.shape
    if data.format == "coo":
        row, column = data.row, data.col
        inside = (row >= 0) & (row < n) & (column >= 0) & (column < d)
    elif data.format in ("csr", "csc", "bsr"):
        places = n if data.format == "csc" else d if data.format == "csr" else d // data.blocksize[1]
        inside = (data.indices >= 0) & (data.indices < places)
    else:
        return data
    if inside.all():
        return data
    cells = data.data.copy()
    cells[: len(inside)][~inside] = 0
    if data.format == "coo":
        return type(data)((cells, (np.where(inside, row, 0), np.where(inside, column, 0))), shape=data.shape)
    return _with(data, cells, np.where(inside, data.indices, 0))


def _with(data: Any, cells: NDArray[Any], indices: NDArray[Any]) -> Any:
    return type(data)((cells, indices, data.indptr), shape=data.shape)
