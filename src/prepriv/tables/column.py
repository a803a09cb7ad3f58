"""A column of any library, read cell by cell: as codes into distinct cells, or as numbers.

`cells` and `numbers` say about every cell what `cell_of` and `number_of` say about its value. The short cuts for whole
columns are for types in which they agree with that (tests/tables/test_data_neighbours.py compares them), and whatever
goes wrong in one is not an error: the column is then read one cell at a time, and a cell that cannot be had at all
is UNREADABLE by itself.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeAlias, TypeVar

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray

from prepriv.tables.cell import LONGEST, UNREADABLE, Cell, cell_of, instant_of, span_of
from prepriv.tables.written import number_written

DistinctCells: TypeAlias = tuple[NDArray[np.int64], list[float | str]]
"""(n,) index of each cell among the distinct cells, -1 for an empty one; the distinct cells."""


def cells(column: Any) -> DistinctCells:
    """What each cell of a column says; a column is a one-dimensional array, a list, or a narwhals series."""
    return _guarded(_cells_at_once, column, cells_one_by_one)


def numbers_in(column: Any, written: str = "number") -> NDArray[np.float64]:
    """The number in each cell, (n,); NaN where there is none. written: how cells say it (`prepriv.tables.written`)."""
    if written != "number":
        return numbers_of(*cells(column), written)
    return _guarded(_numbers_at_once, column, numbers_one_by_one)


def cells_one_by_one(column: Any) -> DistinctCells:
    """`cells` by its definition, without any short cut."""
    return _distinct(values_of(column))


def numbers_one_by_one(column: Any) -> NDArray[np.float64]:
    """`numbers` by its definition, without any short cut."""
    return numbers_of(*cells_one_by_one(column))


def numbers_of(
    codes: NDArray[np.int64], distinct: Sequence[float | str], written: str = "number"
) -> NDArray[np.float64]:
    """The numbers that codes stand for."""
    return np.asarray(np.array([*(number_written(cell, written) for cell in distinct), np.nan])[codes])


def codes_by(column: Any, name: Callable[[Any], str | None]) -> tuple[NDArray[np.int64], list[str]]:
    """(n,) index of what `name` gives for each value among the distinct ones, -1 for None or an error; the distinct ones.

    Values are as they are, not as cells say them: a whole number of any length, a text (of Arrow, and of a CSV file: its
    bytes).
    """
    seen: dict[str, int] = {}

    def code(value: Any) -> int:
        try:
            found = name(value)
        except Exception:
            found = None
        return -1 if found is None else seen.setdefault(found, len(seen))

    codes = np.array([code(value) for value in _exactvalues_of(column)], dtype=np.int64)
    return codes, list(seen)


_BYTES = (
    "binary",
    "large_binary",
    "fixed_size_binary",
    "binary_view",
    "string",
    "large_string",
    "string_view",
)


def _exactvalues_of(column: Any) -> Iterable[Any]:
    if not (isinstance(column, nw.Series) and nw.get_native_namespace(column).__name__ == "pyarrow"):
        return values_of(column)
    return _exactvalues(column.to_native())


def _exactvalues(array: Any) -> Iterable[Any]:
    """Of a chunked column of Arrow."""
    import pyarrow as pa

    kind = array.type
    if pa.types.is_dictionary(kind):
        return itertools.chain.from_iterable(map(_named, array.chunks))
    if any(getattr(pa.types, f"is_{one}")(kind) for one in _BYTES):
        return array.cast(
            pa.large_binary()
        ).to_pylist()  # as of a CSV file: no cell is a number, nor decoded here
    return array.to_pylist() if pa.types.is_integer(kind) else _scalars(array)


def _named(chunk: Any) -> Iterator[Any]:
    """The values of a dictionary array; Arrow neither casts nor takes values of every type."""
    import pyarrow as pa

    values = dict(enumerate(_exactvalues(pa.chunked_array([chunk.dictionary]))))
    return map(values.get, chunk.indices.to_pylist())


_Read = TypeVar("_Read")
_PLAIN = r"\A-?[0-9]{1,17}(\.[0-9]{1,17})?\z"


def _guarded(fast: Callable[[Any], _Read | None], column: Any, slow: Callable[[Any], _Read]) -> _Read:
    try:
        with np.errstate(all="ignore"):
            found = fast(column)
    except (KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException:  # a panic in polars is not an Exception
        found = None
    return slow(column) if found is None else found


def _distinct(values: Iterable[Any]) -> DistinctCells:
    seen: dict[Cell, int] = {None: -1}
    met: dict[type, dict[Any, int]] = {kind: {} for kind in (str, bytes, int, float, bool)}  # safe to compare
    known: dict[Any, int] | None
    codes = []
    for value in values:
        kind = type(value)  # which may have no hash, and an equality of its own
        plain = kind is str or kind is float or kind is int or kind is bool or kind is bytes
        known = met[kind] if plain else None
        code = None if known is None else known.get(value)
        if code is None:
            code = seen.setdefault(cell_of(value), len(seen) - 1)
            if known is not None and code >= 0:
                known[value] = code
        codes.append(code)
    del seen[None]
    return np.array(codes, dtype=np.int64), list(seen)  # type: ignore[arg-type]


def values_of(column: Any) -> Iterable[Any]:
    """The values of a column as Python has them, each fetched so that it cannot spoil another."""
    if isinstance(column, np.ma.MaskedArray):
        return (None if gone else value for value, gone in zip(column.data, np.ma.getmaskarray(column)))
    if isinstance(column, np.ndarray) and column.dtype.kind in "mM":
        return column  # not its list: nanoseconds would be integers
    library = nw.get_native_namespace(column).__name__ if isinstance(column, nw.Series) else ""
    if library == "polars" and (column.dtype.is_temporal() or column.dtype.is_nested()):
        return _scalars(
            column.to_arrow()
        )  # its own list panics at a date out of range, which stderr tells of
    if library == "pyarrow":
        return _scalars(column.to_native())
    if library:
        native = column.to_native()
        return _listed(native.to_list, getattr(native, "iloc", native), len(native))
    return _listed(column.tolist, column, len(column)) if isinstance(column, np.ndarray) else column


def _listed(every: Callable[[], list[Any]], one: Any, n: int) -> Iterable[Any]:
    try:
        values = every()
        if len(values) == n:
            return values
    except (KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException:
        pass
    return (_fetched(one, i) for i in range(n))


def _fetched(one: Any, i: int) -> Any:
    try:
        return one[i]
    except (KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException:
        return UNREADABLE


# ------------------------------------------------------------------------------------------------ at once


def _cells_at_once(column: Any) -> DistinctCells | None:
    """None if there is no short cut for this type."""
    if isinstance(column, np.ndarray):
        return _array_cells(column)
    if not isinstance(column, nw.Series):
        return None
    native = column.to_native()
    dtype = getattr(native, "dtype", None)
    if isinstance(dtype, np.dtype):
        return _array_cells(native.to_numpy())
    if hasattr(native, "iloc") and hasattr(dtype, "categories") and hasattr(native, "cat"):
        named = nw.from_native(native.cat.categories.to_series(), series_only=True)
        return _renamed(native.cat.codes.to_numpy(), *cells(named))
    if column.dtype in (nw.Object, nw.Unknown):  # pandas' periods would become integers
        return None
    return _joined(map(_arrow_cells, _chunks(column)))


def _array_cells(array: NDArray[Any]) -> DistinctCells | None:
    if array.dtype.kind not in "biufSUmM" or isinstance(array, np.ma.MaskedArray):
        return None
    if array.dtype.kind == "f":
        array = array.astype(np.float64)
    if array.dtype.kind in "mM":
        counts, codes = np.unique(array.view(np.int64), return_inverse=True)
        return _renamed(codes.reshape(-1), *_distinct(counts.view(array.dtype)))
    found, codes = np.unique(array, return_inverse=True)
    return _renamed(codes.reshape(-1), *_distinct(found.tolist()))


def _renamed(codes: NDArray[Any], names: NDArray[np.int64], distinct: list[float | str]) -> DistinctCells:
    """Cells that stand in a list by their `codes` (-1: empty); `names`: index of each of the list in `distinct`."""
    return np.append(names, -1)[codes.astype(np.int64)], distinct


def _joined(parts: Iterable[DistinctCells]) -> DistinctCells:
    seen: dict[float | str, int] = {}
    codes = [np.zeros(0, dtype=np.int64)]
    for part, distinct in parts:
        names = np.array([seen.setdefault(cell, len(seen)) for cell in distinct], dtype=np.int64)
        codes.append(np.append(names, -1)[part])
    return np.concatenate(codes), list(seen)


def _numbers_at_once(column: Any) -> NDArray[np.float64] | None:
    if isinstance(column, np.ndarray):
        return _array_numbers(column)
    if not isinstance(column, nw.Series):
        return None
    dtype = getattr(column.to_native(), "dtype", None)
    if isinstance(dtype, np.dtype):
        found = _array_numbers(column.to_native().to_numpy())
    elif column.dtype.is_numeric() or column.dtype in (nw.Boolean, nw.String, nw.Binary):
        found = _arrow_numbers(_chunks(column))
    else:
        found = None
    return numbers_of(*cells(column)) if found is None else found


def _array_numbers(array: NDArray[Any]) -> NDArray[np.float64] | None:
    if isinstance(array, np.ma.MaskedArray) or array.dtype.kind not in "biufc":
        return None
    if array.dtype.kind == "c":
        array = np.where(array.imag == 0, array.real, np.nan)
    return array.astype(np.float64) + 0.0  # no minus zero


# -------------------------------------------------------------------------------------------------- Arrow


def _chunks(column: Any) -> list[Any]:
    import pyarrow as pa

    array = column.to_arrow()
    return array.chunks if isinstance(array, pa.ChunkedArray) else [array]


def _arrow_numbers(chunks: Sequence[Any]) -> NDArray[np.float64] | None:
    import pyarrow as pa

    out = [np.zeros(0)]
    for chunk in chunks:
        kind = chunk.type
        if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_binary(kind):
            out.append(_text_numbers(chunk))
            continue
        if pa.types.is_boolean(kind):
            chunk = chunk.cast(pa.uint8())
        elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
            return None
        found = _fixed(chunk).astype(np.float64) + 0.0
        found[~_filled(chunk)] = np.nan
        out.append(found)
    return out[1] if len(out) == 2 else np.concatenate(out)


def _text_numbers(texts: Any) -> NDArray[np.float64]:
    """The numbers in texts. Plain decimals are read at once: Arrow rounds them as `float()` does, to the nearest."""
    import pyarrow as pa
    import pyarrow.compute as pc

    match = pc.match_substring_regex(texts, _PLAIN)  # a gap where a text is missing
    plain = _bits(match.buffers()[1], match.offset, len(match)) & _filled(match)
    out = np.full(len(texts), np.nan)
    out[plain] = _fixed(texts.filter(match).cast(pa.string()).cast(pa.float64())) + 0.0  # no minus zero
    if not plain.all():
        rest = pa.py_buffer(np.packbits(~plain, bitorder="little"))
        others = texts.filter(pa.Array.from_buffers(pa.bool_(), len(plain), [None, rest]))
        out[~plain] = numbers_of(*_arrow_cells(others))
    return out


# Arrow's own ways to NumPy, and to a scalar or an array, import pandas first.


def _fixed(array: Any) -> NDArray[Any]:
    """The values of an Arrow array of numbers, whatever stands in its gaps."""
    kind = np.dtype(array.type.to_pandas_dtype())
    values = array.buffers()[1]
    if values is None or not len(array):
        return np.zeros(len(array), kind)
    return np.frombuffer(values, kind, len(array), array.offset * kind.itemsize)


def _filled(array: Any) -> NDArray[np.bool_]:
    """Where an Arrow array has no gap, (n,)."""
    present = array.buffers()[0]
    return np.ones(len(array), bool) if present is None else _bits(present, array.offset, len(array))


def _bits(buffer: Any, first: int, n: int) -> NDArray[np.bool_]:
    if buffer is None or not n:
        return np.zeros(n, bool)
    held = np.frombuffer(buffer, np.uint8)[first // 8 : (first + n + 7) // 8]
    return np.unpackbits(held, bitorder="little")[first % 8 : first % 8 + n].astype(bool)


def _arrow_cells(chunk: Any) -> DistinctCells:
    return _guarded(_arrow_cells_at_once, chunk, lambda array: _distinct(_scalars(array)))


def _arrow_cells_at_once(array: Any) -> DistinctCells | None:
    import pyarrow as pa

    kind = array.type
    if pa.types.is_null(kind):
        return np.full(len(array), -1, dtype=np.int64), []
    if pa.types.is_dictionary(kind):
        return _renamed(_places(array.indices), *_arrow_cells(array.dictionary))
    reader = _reader(kind)
    if reader is None:
        return None
    storage, read = reader
    array = array.view(storage) if storage is not None else array
    if storage in (pa.binary(), pa.large_binary()) and _longest(array) > LONGEST:
        return None  # one by one: no second copy of a text that is not read
    coded = array.dictionary_encode()
    return _renamed(_places(coded.indices), *_distinct(map(read, coded.dictionary.to_pylist())))


def _longest(texts: Any) -> int:
    import pyarrow.compute as pc

    return pc.max(pc.binary_length(texts)).as_py() or 0


def _places(indices: Any) -> NDArray[np.int64]:
    import pyarrow as pa

    codes = indices.cast(pa.int64())
    return np.where(_filled(codes), _fixed(codes), -1)


def _reader(kind: Any) -> tuple[Any, Callable[[Any], Any]] | None:
    """How cells of an Arrow type are read: the storage to view it as (None: as it is), and its cell, or None."""
    import pyarrow as pa

    t = pa.types
    if t.is_string(kind) or t.is_binary(kind):
        return pa.binary(), cell_of  # not decoded by Arrow, which fails for all where one is not UTF-8
    if t.is_large_string(kind) or t.is_large_binary(kind):
        return pa.large_binary(), cell_of
    if t.is_boolean(kind) or t.is_integer(kind) or t.is_floating(kind) or t.is_fixed_size_binary(kind):
        return None, cell_of
    if t.is_timestamp(kind):
        return pa.int64(), lambda v: instant_of(v, kind.unit, kind.tz is not None)
    if t.is_date(kind):
        storage, unit = (pa.int32(), "D") if t.is_date32(kind) else (pa.int64(), "ms")
        return storage, lambda v: instant_of(v, unit)
    if t.is_duration(kind) or t.is_time(kind):
        return (pa.int32() if t.is_time32(kind) else pa.int64()), lambda v: span_of(v, kind.unit)
    return None


def _scalars(array: Any) -> Iterator[Any]:
    """The values of an Arrow array of any type, each by itself."""
    import pyarrow as pa

    t = pa.types
    if t.is_nested(array.type) and not t.is_union(array.type) and not t.is_run_end_encoded(array.type):
        yield from (UNREADABLE if valid else None for valid in array.is_valid().to_pylist())
        return
    chunks = array.chunks if isinstance(array, pa.ChunkedArray) else [array]
    reader = _reader(array.type)
    for chunk in chunks:
        for i in range(len(chunk)):
            yield _scalar(chunk, i, reader)


def _scalar(chunk: Any, i: int, reader: tuple[Any, Callable[[Any], Any]] | None) -> Any:
    try:
        if reader is not None:
            storage, read = reader
            one = chunk.slice(i, 1)
            value = (one.view(storage) if storage is not None else one)[0].as_py()
            return None if value is None else read(value)
        return chunk[i].as_py()
    except Exception:
        pass
    try:
        return bytes(chunk[i].as_buffer())  # a text that is not UTF-8
    except Exception:
        return UNREADABLE
