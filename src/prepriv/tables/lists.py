"""Tables that are lists of rows, each row of any class: read by itself, so that no record decides how another one is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prepriv.domain import Domain
from prepriv.tables.column import values_of
from prepriv.tables.containers import column_of
from prepriv.tables.images import of_no_subclass


def matrix_of_lists(rows: Sequence[Any], width: int) -> NDArray[Any] | None:
    """Nested lists of numbers at once; None where one cell or one row is anything else.

    Only rows that are exactly a list, a tuple or an array: of these both ways to read them say the same.
    """
    try:
        if not all(type(row) is list or type(row) is tuple or type(row) is np.ndarray for row in rows):
            return None
        kinds = {type(cell) for row in rows for cell in row}
        if not all(issubclass(kind, int | float | np.number | np.bool_) for kind in kinds):
            return None  # one long text would set the size of all cells
        array = np.asarray(rows)
    except Exception:
        return None  # various lengths, or cells that fit no type
    return array if array.dtype.kind in "iufb" and array.ndim == 2 and array.shape[1] == width else None


def columns_of_lists(rows: Sequence[Any], domain: Domain) -> list[Any]:
    """The columns of nested lists. A row of another length is a row of missing cells, whatever the others are."""
    read = [_cells_of_row(row, domain) for row in rows]
    return [[row[j] for row in read] for j in range(domain.n_inputs)]


def _cells_of_row(row: Any, domain: Domain) -> Sequence[Any]:
    """The cells of one record, a column of any library; missing ones where it is none, or its own methods raise."""
    width = domain.n_inputs
    try:
        if isinstance(row, Mapping):
            return [row.get(name) for name in domain.columns or [None] * width]
        row = as_row(row, width)
        if len(row) == width and not isinstance(row, Set):  # a set has no order
            found = row if type(row) is list or type(row) is tuple else [*values_of(column_of(row))]
            if len(found) == width:
                return found
    except (KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException:  # a panic in polars is not an Exception
        pass
    return [None] * width


def as_row(row: Any, width: int) -> Any:
    """A row of a list as a column of its cells: where one cell is declared it may stand alone; a record of NumPy, and an
    array of one row or of one column, are their cells.
    """
    if width == 1 and (isinstance(row, str | bytes) or not getattr(row, "shape", hasattr(row, "__len__"))):
        return [row]
    if isinstance(row, np.void):
        return row.tolist()
    if isinstance(row, np.ndarray) and row.ndim == 2 and 1 in row.shape:
        return of_no_subclass(row).reshape(-1)
    return row
