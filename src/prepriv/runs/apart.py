"""Public data is not private data: told by object, memory and file, and never by content, which would reveal records.

A copy passes: that a table is public stays the user's claim (`payment.Public`). What is caught is the slip of the hand:
the same table, a view or a slice of it, the same file under another name.
"""

from __future__ import annotations

import mmap
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray

from prepriv.preprocessing.base import Step
from prepriv.tables.containers import tabled
from prepriv.tables.encoding import Table
from prepriv.tables.readers import BadData
from prepriv.tables.stream import Batches, Files, Stream, dataset_files, files

_WORK = 10_000  # of the exact answer to whether two strided arrays meet; beyond it, they count as one


@dataclass(frozen=True, eq=False)
class _Piece:
    """Bytes low to high (exclusive) of memory, or of a file (device, inode). array: where only some of them count."""

    low: int
    high: int
    array: NDArray[Any] | None = None
    file: tuple[int, int] | None = None

    def meets(self, other: _Piece) -> bool:
        if self.file != other.file or self.low >= other.high or other.low >= self.high:
            return False
        if self.array is None or other.array is None:
            return True
        try:
            return bool(np.shares_memory(self.array, other.array, max_work=_WORK))  # type: ignore[arg-type]
        except np.exceptions.TooHardError:
            return True


def check_apart(steps: Sequence[Step], *private: Any) -> None:
    """ValueError, naming the step, if its public table is a private one (rows or labels), or holds memory of one.

    The same object, a view or a slice, a frame or a list over the same memory, a memory map of the same bytes of a file.
    Slices that share no row are apart. Reads no cell.
    """
    held: list[_Piece] | None = None
    rows: frozenset[int] = frozenset()
    for step in steps:
        if step.paid.data is None:
            continue
        if held is None:
            held = [piece for table in private for piece in _pieces(table)]
            rows = frozenset().union(*map(_row_objects, private))
        data = step.paid.data
        same = any(data is table for table in private) or not rows.isdisjoint(_row_objects(data))
        if same or any(piece.meets(other) for piece in _pieces(data) for other in held):
            raise ValueError(
                f"{step.name}: the public table is the private data, or shares its memory; Public(data) takes the "
                "records of others, which are public: pay by Budget(share) to fit on private ones"
            )


def check_other_file(public: Path, private: Stream) -> None:
    """BadData if `public` is one of the private files, whatever links lead to it. None is opened."""
    same = False
    with suppress(OSError):  # one of them is not there, which its reader says
        same = any(public.samefile(part) for part in _paths(private))
    if same:
        raise BadData(f"{public} is declared public and is the private table itself")


def _row_objects(table: Any) -> frozenset[int]:
    """Identities of the rows of a list of rows: a slice of the list holds the same ones."""
    if not isinstance(table, list | tuple):
        return frozenset()
    return frozenset(id(row) for row in table if isinstance(row, list | tuple) and len(row))


def _pieces(table: Any) -> Iterator[_Piece]:
    """The memory that holds the cells of a table or a column, and the files that it comes from."""
    for array in _arrays(table):
        if not array.size:
            continue
        low, high = _bounds(array)
        yield _Piece(low, high, array)
        if (root := _memory_map(array)) is not None:
            file, shift = root
            yield _Piece(low + shift, high + shift, None, file)
    for path in _paths(table):
        status = path.stat()
        yield _Piece(0, sys.maxsize, None, (status.st_dev, status.st_ino))
    if isinstance(table, list | tuple):
        yield from _hulls([row for row in table if isinstance(row, np.ndarray) and row.size])


def _paths(table: Any) -> tuple[Path, ...]:
    """The files of a stream of files."""
    if isinstance(table, str | os.PathLike):
        with suppress(BadData):  # its reader says what is wrong
            return files(table)
    if isinstance(table, Files | Batches):
        return tuple(path for path in table.paths if path.is_file())
    dataset = type(table).__name__ in (
        "FileSystemDataset",
        "UnionDataset",
    )  # of Arrow, which is not imported for this
    return tuple(path for path in dataset_files(table) if path.is_file()) if dataset else ()


def _hulls(rows: Sequence[NDArray[Any]]) -> Iterator[_Piece]:
    """For a list of arrays: of each array they are views of, the bytes from the first to the last."""
    found: dict[int, tuple[int, int]] = {}
    for row in rows:
        (low, high), key = _bounds(row), id(row.base if row.base is not None else row)
        before = found.get(key, (low, high))
        found[key] = min(low, before[0]), max(high, before[1])
    for low, high in found.values():
        yield _Piece(low, high)


def _arrays(table: Any) -> Iterator[NDArray[Any]]:
    """NumPy views of the cells where they lie; nothing for what holds them in another way."""
    if isinstance(table, list | tuple) or table is None:
        return
    if isinstance(table, Table):
        yield from table.columns
        table = table.matrix
        if table is None:
            return
    if hasattr(table, "tocsr"):  # sparse, of SciPy: the cells that are there
        held = getattr(table, "data", None)
        yield from (held,) if isinstance(held, np.ndarray) and held.dtype != object else ()
        return
    native = nw.from_native(tabled(table), eager_only=True, allow_series=True, pass_through=True)
    if isinstance(native, nw.DataFrame):
        for j in range(native.shape[1]):
            yield from _column(native[:, j].to_native())
    elif isinstance(native, nw.Series):
        yield from _column(native.to_native())
    elif hasattr(table, "__array__"):
        yield np.asarray(table)


def _column(native: Any) -> Iterator[NDArray[Any]]:
    """Of a pandas, polars or Arrow column. An index of categories counts, the list of categories does not."""
    array = getattr(native, "array", None)  # of pandas
    if array is not None and isinstance(getattr(native, "dtype", None), np.dtype):
        yield np.asarray(native)
    elif array is not None and hasattr(array, "codes"):
        yield np.asarray(array.codes)
    elif array is not None and hasattr(array, "__arrow_array__"):
        yield from _exported(array.__arrow_array__)
    elif hasattr(native, "__arrow_c_stream__"):
        yield from _exported(lambda: native)


def _exported(column: Callable[[], Any]) -> list[NDArray[Any]]:
    """Nothing of cells that Arrow has no type for: one odd cell can make a column of objects, and stops nothing."""
    with suppress(Exception):
        return [*_arrow(column())]
    return []


def _arrow(native: Any) -> Iterator[NDArray[Any]]:
    import pyarrow as pa

    chunked = native if isinstance(native, pa.ChunkedArray | pa.Array) else pa.chunked_array(native)
    for chunk in chunked.chunks if isinstance(chunked, pa.ChunkedArray) else [chunked]:
        cells = chunk.indices if isinstance(chunk, pa.DictionaryArray) else chunk
        buffers = cells.buffers()
        if len(buffers) < 2 or buffers[1] is None:
            continue
        bits = _bits(cells.type)
        start, stop = cells.offset * bits, (cells.offset + len(cells)) * bits
        whole = -(-start // 8), stop // 8  # a byte of bits that two slices share belongs to none
        low, high = whole if whole[0] < whole[1] else (start // 8, -(-stop // 8))
        yield np.frombuffer(buffers[1], dtype=np.uint8)[low:high]


def _bits(kind: Any) -> int:
    """Bits a cell takes in the second buffer: its value, where its text ends, or its view."""
    import pyarrow as pa

    if pa.types.is_large_string(kind) or pa.types.is_large_binary(kind) or pa.types.is_large_list(kind):
        return 64
    if "view" in str(kind):
        return 128
    try:
        return int(kind.bit_width)
    except ValueError:
        return 32


def _bounds(array: NDArray[Any]) -> tuple[int, int]:
    """Addresses of the first byte and after the last."""
    low = high = int(array.__array_interface__["data"][0])
    for size, stride in zip(array.shape, array.strides):
        low, high = low + min(0, (size - 1) * stride), high + max(0, (size - 1) * stride)
    return low, high + array.itemsize


def _memory_map(array: NDArray[Any]) -> tuple[tuple[int, int], int] | None:
    """((device, inode), what turns an address into a place in the file) of a view of a memory-mapped file."""
    owner: Any = array
    while owner is not None:
        if isinstance(owner, np.memmap) and isinstance(owner.base, mmap.mmap) and owner.filename is not None:
            try:
                status = os.stat(owner.filename)
            except OSError:
                return None
            return (status.st_dev, status.st_ino), owner.offset - _bounds(owner)[0]
        owner = getattr(owner, "base", None)
    return None
