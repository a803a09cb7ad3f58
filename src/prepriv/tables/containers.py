"""What a user hands over as one column, or as one vector a record, in any container.

The form of the container decides what is refused: how many dimensions, of which class. No cell does, nor a type that one
cell can set for all (a null makes truth values floats or objects, a text makes numbers texts).
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Set
from contextlib import suppress
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray

from prepriv._arguments import kind
from prepriv.tables.column import numbers_in, values_of
from prepriv.tables.readers import BadData


def column_of(values: Any, name: str = "values") -> Any:
    """One column as `prepriv.tables.column` reads it: a list, an array of one dimension, or a narwhals series.

    Takes a column of any library, a frame of one column, whatever can be iterated over. BadData for anything else, a set
    too: values decide how many it has.
    """
    found = _held(values)
    if isinstance(found, np.ndarray) and found.ndim != 1:
        raise BadData(f"{name} must be one column, of shape (n,); got {found.ndim} dimensions")
    if not isinstance(found, list | tuple | np.ndarray | nw.Series):
        raise BadData(f"{name} must be one column, in memory, of shape (n,); got {kind(values)}")
    return found


def flags(column: Any) -> NDArray[np.bool_]:
    """Where a cell of a column is true (or 1), (n,). A gap is not, nor is anything else, whatever the other cells are."""
    return numbers_in(column) == 1.0


def vectors(data: Any, column: str | None = None, d: int | None = None) -> NDArray[np.float64]:
    """(n, d) numbers, one vector a record: NaN for a cell that is not a number, zeros for what is not a vector of d cells.

    data: a matrix or frame of numbers; rows in a list; a column of vectors, which is `column` of a frame. d None: the
    number of columns; of vectors the length that most of them have, the longer of two, which at a tie is one record's to
    decide. BadData for another form.
    """
    held = _held(data, frames=True)
    if column is not None:
        if not isinstance(held, nw.DataFrame):
            raise BadData(f"column is for Arrow tables and data frames; got {type(data).__name__}")
        if column not in held.columns:
            raise BadData(f"the table has no column {column!r}")
        held = held[column]
    if isinstance(held, nw.DataFrame):
        each = [numbers_in(held[:, j]) for j in range(held.shape[1])]
        return _fits(np.column_stack(each) if each else np.zeros((0, 0)), d)
    if isinstance(held, np.ndarray) and held.ndim != 1:
        if held.ndim != 2:
            raise BadData(f"embeddings must be a matrix with rows and columns; got shape {held.shape}")
        return _fits(
            np.column_stack([numbers_in(c) for c in held.T]) if held.shape[1] else np.zeros(held.shape), d
        )
    if isinstance(held, nw.Series) and not _of_objects(held):
        return _of_arrow(held.to_arrow(), d)
    if not isinstance(held, list | tuple | nw.Series) and not (
        isinstance(held, np.ndarray) and held.dtype == object
    ):
        raise BadData(f"embeddings must be a matrix with rows and columns; got {_form(data)}")
    return _of_rows(values_of(held), d)


def tabled(data: Any) -> Any:
    """A record batch of Arrow as a table, columns of Arrow without run ends; anything else as it is.

    As an array a batch would be read at once: a null makes floats of whole numbers, a text that is not UTF-8 stops all.
    """
    arrow = sys.modules.get("pyarrow")
    if arrow is None:
        return data
    if isinstance(data, arrow.ChunkedArray):
        return _decoded(data)
    if isinstance(data, arrow.RecordBatch):
        data = arrow.table(data)
    for j, field in enumerate(data.schema if isinstance(data, arrow.Table) else ()):
        if arrow.types.is_run_end_encoded(field.type):
            data = data.set_column(j, field.name, _decoded(data.column(j)))
    return data


def _decoded(cells: Any) -> Any:
    """A chunked column of Arrow with one value a record, where it holds runs of them."""
    import pyarrow as pa

    if not pa.types.is_run_end_encoded(cells.type):
        return cells
    places = [
        np.searchsorted(part.run_ends, np.arange(part.offset, part.offset + len(part)), "right")
        for part in cells.chunks
    ]
    try:
        parts = [part.values.take(pa.array(at)) for part, at in zip(cells.chunks, places)]
    except pa.ArrowNotImplementedError:  # a type that it takes nothing from: read one by one
        return cells
    return pa.chunked_array(parts, type=cells.type.value_type)


def _held(values: Any, *, frames: bool = False) -> Any:
    """Values of any library as a list, an array or a narwhals series (or frame); others as they are."""
    if isinstance(values, np.ma.MaskedArray):
        return np.ma.array(np.asarray(values.data), mask=np.ma.getmaskarray(values))
    if isinstance(values, np.ndarray):
        return np.asarray(values)  # of np.matrix every column would be a matrix
    if isinstance(values, list | tuple | nw.Series):  # a list is never one array: a cell would set its type
        return values
    arrow, pandas = sys.modules.get("pyarrow"), sys.modules.get("pandas")
    if arrow is not None and isinstance(values, arrow.Array):
        values = arrow.chunked_array([values])
    if pandas is not None and isinstance(values, pandas.Index | pandas.api.extensions.ExtensionArray):
        values = pandas.Series(values)
    found = nw.from_native(tabled(values), eager_only=True, allow_series=True, pass_through=True)
    if isinstance(found, nw.DataFrame):
        return found if frames or found.shape[1] != 1 else found[:, 0]
    if isinstance(found, nw.Series):
        return found
    if hasattr(values, "compute") or hasattr(values, "tocsr") or hasattr(values, "collect"):
        return values  # of Dask, of SciPy, of polars: not in memory, or no column
    if hasattr(values, "__array__"):
        with suppress(Exception):  # a tensor with a gradient, or on a device, is read cell by cell
            return np.asarray(values)
    if isinstance(values, Iterable) and not isinstance(values, str | bytes | Mapping | Set):
        return list(values)
    return values


# ------------------------------------------------------------------------------------------------ vectors


def _form(data: Any) -> str:
    return f"shape {data.shape}" if isinstance(data, np.ndarray) else kind(data)


def _of_objects(column: Any) -> bool:
    """By its own type: narwhals takes that of an object column of pandas from its first cells."""
    dtype = getattr(column.to_native(), "dtype", None)
    return dtype == np.dtype(object) if isinstance(dtype, np.dtype) else column.dtype == nw.Object


def _fits(matrix: NDArray[np.float64], d: int | None) -> NDArray[np.float64]:
    if d is not None and matrix.shape[1] != d:
        raise BadData(f"d is {d}, and the number of columns differs")
    return matrix


def _length(lengths: Iterable[int]) -> int:
    """The most frequent length of at least one, the longest of them; 0 without any."""
    tally: dict[int, int] = {}
    for length in lengths:
        tally[length] = tally.get(length, 0) + 1
    tally.pop(0, None)
    return max(tally, key=lambda length: (tally[length], length), default=0)


_LISTS = ("list", "large_list", "fixed_size_list", "list_view", "large_list_view")


def _of_arrow(cells: Any, d: int | None) -> NDArray[np.float64]:
    import pyarrow as pa
    import pyarrow.compute as pc

    cells = _lists(cells if isinstance(cells, pa.ChunkedArray) else pa.chunked_array([cells]))
    kind, n = cells.type, len(cells)
    listed = any(getattr(pa.types, f"is_{one}", lambda _: False)(kind) for one in _LISTS)
    if not listed and d is not None:
        return np.zeros(
            (n, d)
        )  # no vector in it; where all others are missing one cell sets the type of a column
    if not listed:
        raise BadData(f"an Arrow column of embeddings must hold lists of numbers; got {kind}")
    lengths = pc.fill_null(pc.list_value_length(cells).cast(pa.int64()), 0).to_numpy()
    if d is None:
        d = kind.list_size if pa.types.is_fixed_size_list(kind) else _length(lengths.tolist())
    found = np.zeros((n, d))
    good = lengths == d
    flat = numbers_in(nw.from_native(pc.list_flatten(cells), series_only=True))
    found[good] = flat[np.repeat(good, lengths)].reshape(int(good.sum()), d)
    return found


def _lists(cells: Any) -> Any:
    """A chunked column of Arrow as its vectors lie there: what a tensor is stored as, each place of a dictionary its list."""
    import pyarrow as pa

    kind = cells.type
    if isinstance(kind, pa.BaseExtensionType):
        return _lists(pa.chunked_array([part.storage for part in cells.chunks], kind.storage_type))
    if pa.types.is_dictionary(kind) and pa.types.is_nested(kind.value_type):
        parts = [part.dictionary.take(part.indices) for part in cells.chunks]
        return _lists(pa.chunked_array(parts, kind.value_type))
    return cells


def _of_rows(rows: Iterable[Any], d: int | None) -> NDArray[np.float64]:
    """Each row by itself: as one array of all, a text would set the size of every cell, and masks would be lost."""
    read = [_vector(row) for row in rows]
    if d is None:
        d = _length(len(row) for row in read if row is not None)
    found = np.zeros((len(read), d))
    for i, row in enumerate(read):
        if row is not None and len(row) == d:
            found[i] = row
    return found


def _vector(row: Any) -> NDArray[np.float64] | None:
    try:
        if type(row) in (list, tuple) and set(map(type, row)) <= {float}:
            return np.array(row, dtype=np.float64)
        return numbers_in(column_of(row))
    except Exception:
        return None  # no vector
