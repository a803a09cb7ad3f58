"""Sparse matrices of SciPy, whose form nobody has checked: no entry of one record reaches the row of another."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from prepriv.tables.column import numbers


def is_sparse(data: Any) -> bool:
    """Whether data is a sparse matrix of SciPy."""
    return hasattr(data, "toarray") and hasattr(data, "tocsr")


def sparse_rows(data: Any) -> Any:
    """A sparse matrix by its rows (CSR), of real numbers: NaN for a complex one, whose type is that of all cells."""
    rows = _within(_within(data).tocsr())
    return _with(rows, numbers(rows.data), rows.indices) if rows.dtype.kind == "c" else rows


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
