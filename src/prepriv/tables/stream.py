"""Tables that are read part by part, again in each pass, and are never in memory as a whole.

A file, a folder or a glob of Parquet or CSV files, an Arrow dataset or record-batch reader, a polars LazyFrame, a Dask
DataFrame. A part is a table of some thousand rows whose cells are read one by one (column.py): how a table falls into
parts changes no cell. No message holds a value of a record.
"""

from __future__ import annotations

import abc
import glob
import itertools
import os
import re
import sys
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np

from prepriv._kinds import is_ours
from prepriv._quiet import silent
from prepriv.tables.readers import (
    ENDINGS,
    BadData,
    check_columns,
    check_table_file,
    column_names,
    delimiter,
    is_parquet,
    lacks,
    no_file,
    opener,
    readable,
)

_LOGS = (
    "_delta_log",
    ".hoodie",
    "metadata/*.metadata.json",
)  # in the folder of a table that keeps earlier versions
_CELLS = 2**20  # of an Arrow part, at most
_TYPED_BY_FIRST = "a {} of texts types its columns by their first cells: give the path of its files, read them into a table in which they stay texts, as pl.read_csv(path, infer_schema=False) does, or write Parquet"


class Stream(abc.ABC):
    """A table that is read in parts. rows: their number where it is known without a look at a cell.

    A subclass gives one row for each record, in an order that no record decides, and each row is a function of that record
    alone: a line that cannot be read is a row of empty cells, not a row less. Its errors are withheld, since they can hold
    cells.

    Files are read again for each pass. Any other stream is read once for each release, and its encoded rows are held: a second
    reading could be of another table (docs/proofs/one_table.md).
    """

    once: bool = False
    """Whether it can be read only once."""
    source: str | None = None
    """What gives the rows, in words, where a claim has to say so (`prepriv.domain.Domain.source`): a query, a reader."""

    @property
    @abc.abstractmethod
    def names(self) -> Sequence[str]:
        """Of the columns."""

    @property
    def rows(self) -> int | None:
        """The number of rows where it is known without a look at a cell."""
        return None

    def count(self) -> int:
        """The number of rows, by a pass if need be."""
        known = self.rows
        return sum(len(p) for p in self.parts(list(self.names)[:1])) if known is None else known

    def check(self, columns: Sequence[str]) -> None:
        """BadData unless these columns are there. Reads no record."""
        missing = next((name for name in columns if name not in self.names), None)
        if missing is not None:
            raise BadData(lacks("the table", missing, columns, self.names))

    @abc.abstractmethod
    def parts(self, columns: Sequence[str]) -> Iterator[Any]:
        """Tables of these columns, of any library, in order. BadData where the table cannot be read to its end."""


@dataclass(eq=False)
class Files(Stream):
    """Parquet or CSV files, one after the other; each must have the columns that are asked for."""

    paths: tuple[Path, ...]

    def __post_init__(self) -> None:
        self._found = [self._state(path) for path in self.paths]
        _check_once(found[:2] for found in self._found)
        _check_once(map(_before_ending, self.paths))
        _check_versions(self.paths)

    @cached_property
    def names(self) -> Sequence[str]:
        return column_names(self.paths[0])

    @cached_property
    def rows(self) -> int | None:
        """Of Parquet files, by their own word."""
        return None if self._rows_each is None else sum(self._rows_each)

    @cached_property
    def _rows_each(self) -> list[int] | None:
        if not self.parquet:
            return None
        import pyarrow.parquet as pq

        each = []
        for path in self.paths:
            with readable(path):
                each.append(pq.read_metadata(path).num_rows)
        return each

    def seen(self) -> list[tuple[str, int, int]]:
        """(path, size, time of change) of each file, as it is found now, on whatever machine this runs."""
        return [(str(path), *self._state(path)[2:]) for path in self.paths]

    @property
    def parquet(self) -> bool:
        """Whether all are Parquet files by their names: in others, a row is found only by reading those before it."""
        return all(map(is_parquet, self.paths))

    def between(self, start: int, stop: int) -> Span:
        """The rows start to stop of Parquet files."""
        assert self._rows_each is not None
        pieces, at = [], 0
        for path, found, rows in zip(self.paths, self._found, self._rows_each):
            low, high = max(start - at, 0), min(stop - at, rows)
            if low < high:
                pieces.append((str(path), *found[2:], low, high))
            at += rows
        return Span(self.names, tuple(pieces))

    def check(self, columns: Sequence[str]) -> None:
        """BadData unless every file has these columns, each once. Reads header lines and no record."""
        for path in self.paths:
            check_columns(columns, column_names(path), path, text=not is_parquet(path))

    def parts(self, columns: Sequence[str]) -> Iterator[Any]:
        for path, found in zip(self.paths, self._found):
            if self._state(path) != found:
                raise BadData(f"{path} changed while it was read")
            read = _parquet_parts if is_parquet(path) else self._csv_parts
            with readable(path):
                yield from read(path, columns)

    def _csv_parts(self, path: Path, columns: Sequence[str]) -> Iterator[Any]:
        from prepriv.tables import csv

        opened, comma = opener(path), delimiter(path)
        if (
            path not in self._lines_from
        ):  # found by a pass of its own: only the end tells which quote is never closed
            check_columns(columns, column_names(path), path, text=True)
            self._lines_from[path] = csv.lines_from(opened, comma)
        for part in csv.parts(opened, comma, self._lines_from[path]):
            check_columns(columns, part.column_names, path, text=True)
            yield part.select(list(columns))

    @cached_property
    def _lines_from(self) -> dict[Path, int]:
        return {}

    @staticmethod
    def _state(path: Path) -> tuple[int, int, int, int]:
        """What tells a file from another one of that name: device, number, size and time of change."""
        try:
            status = path.stat()
        except OSError:
            raise BadData(no_file(path)) from None
        return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


@dataclass(eq=False)
class Span(Stream):
    """Some rows of Parquet files, on any machine that sees them. pieces: (path, size, time of change, first row, stop)."""

    columns: Sequence[str]
    pieces: tuple[tuple[str, int, int, int, int], ...]

    @property
    def names(self) -> Sequence[str]:
        return self.columns

    @property
    def rows(self) -> int:
        return sum(high - low for *_, low, high in self.pieces)

    def parts(self, columns: Sequence[str]) -> Iterator[Any]:
        for name, *found, low, high in self.pieces:
            path = Path(name)
            if [*Files._state(path)[2:]] != found:
                raise BadData(f"{path} changed while it was read")
            with readable(path):
                yield from _parquet_parts(path, columns, low, high)


@dataclass(eq=False)
class Batches(Stream):
    """What makes record batches: a dataset, a reader, a query. open: (columns) -> batches; once: for one pass only. paths: of
    the files that it reads, as far as it tells them. A batch of any length is cut into parts.
    """

    columns: Sequence[str]
    open: Callable[[list[str]], Any]
    once: bool = False
    known: Callable[[], int] | None = None
    paths: tuple[Path, ...] = ()
    source: str | None = None

    @property
    def names(self) -> Sequence[str]:
        return self.columns

    def count(self) -> int:
        with withheld():
            return self.known() if self.known is not None else super().count()

    def parts(self, columns: Sequence[str]) -> Iterator[Any]:
        import pyarrow as pa

        size = rows_in_part(len(columns))
        with withheld():
            for batch in self.open(list(columns)):
                if not isinstance(batch, pa.RecordBatch):
                    yield batch
                    continue
                for start in range(0, len(batch), size):
                    yield pa.Table.from_batches([batch.slice(start, size)])


_END = object()


class _Outside(Stream):
    """A third-party stream: what it says while it reads records is withheld, the sentence of a BadData, too."""

    def __init__(self, stream: Stream) -> None:
        self._stream, self.once, self.source = stream, stream.once, stream.source

    @property
    def names(self) -> Sequence[str]:
        return self._stream.names

    @property
    def rows(self) -> int | None:
        return self._stream.rows

    def check(self, columns: Sequence[str]) -> None:
        self._stream.check(columns)

    def count(self) -> int:
        return int(self._asked(self._stream.count))

    def parts(self, columns: Sequence[str]) -> Iterator[Any]:
        parts = self._asked(lambda: iter(self._stream.parts(columns)))
        while (part := self._asked(lambda: next(parts, _END))) is not _END:
            yield part

    def _asked(self, ask: Callable[[], Any]) -> Any:
        try:
            with silent():
                return ask()
        except (KeyboardInterrupt, SystemExit, GeneratorExit):
            raise
        except BaseException:  # a panic in polars is not an Exception
            pass
        raise BadData(  # outside of every handler: it holds no other error
            f"the stream {type(self._stream).__name__} could not be read to its end; what it says could hold cells and is not shown"
        )


def as_stream(data: Any) -> Stream | None:
    """The stream of a path, a folder, a glob, a dataset, a reader, a LazyFrame, a Dask DataFrame, a query of DuckDB or ibis,
    a function that gives readers, or whatever has `__arrow_c_stream__`; None for a table in memory.
    """
    if type(data) is np.ndarray:
        return None
    if isinstance(data, Stream):
        return data if is_ours(type(data)) or isinstance(data, _Outside) else _Outside(data)
    if isinstance(data, str | os.PathLike):
        return Files(files(data))
    library = type(data).__module__.partition(".")[0]
    if library == "polars" and type(data).__name__ == "LazyFrame":
        if _scans_texts(data):
            raise BadData(_TYPED_BY_FIRST.format("query"))
        return Batches(_schema(data), lambda columns: _lazy_batches(data.select(columns)))
    if library in ("dask", "dask_expr") and type(data).__name__ == "DataFrame":
        return Batches(
            list(data.columns), lambda columns: _partitions(data[columns]), known=lambda: len(data)
        )
    if library != "pyarrow":
        from prepriv.tables.outside import outside  # which makes streams

        return outside(data)
    import pyarrow as pa

    if type(data).__name__ in ("CSVStreamingReader", "JSONStreamingReader"):
        raise BadData(_TYPED_BY_FIRST.format("reader"))
    if isinstance(data, pa.RecordBatchReader):
        return Batches(data.schema.names, lambda columns: (b.select(columns) for b in data), once=True)
    ds = sys.modules.get("pyarrow.dataset")  # whoever has a dataset has imported it, and pandas with it
    if ds is not None and isinstance(data, ds.Dataset):
        formats = [getattr(one, "format", None) for one in _datasets(data)]
        if not all(isinstance(kind, ds.ParquetFileFormat | ds.IpcFileFormat | None) for kind in formats):
            raise BadData(_TYPED_BY_FIRST.format("dataset"))
        paths = dataset_files(data)
        _check_once(Files._state(path)[:2] if path.is_file() else path for path in paths)
        _check_versions(paths)
        size = rows_in_part(len(data.schema.names))
        return Batches(
            data.schema.names,
            lambda columns: data.to_batches(
                columns=columns, batch_size=size, batch_readahead=1, fragment_readahead=1
            ),
            known=data.count_rows,
            paths=paths,
        )
    return None


def _datasets(data: Any) -> Iterator[Any]:
    """The datasets that a union of them reads, or the one itself."""
    children = getattr(data, "children", None)
    if children is None:
        yield data
    for child in children or ():
        yield from _datasets(child)


def dataset_files(data: Any) -> tuple[Path, ...]:
    """The files of an Arrow dataset, those of a union's datasets too, by their names; not all are of this machine."""
    found = []
    for one in _datasets(data):
        base = getattr(
            getattr(one, "filesystem", None), "base_path", ""
        )  # of a folder taken for a whole file system
        found += [Path(base, name) for name in getattr(one, "files", ())]
    return tuple(found)


def files(data: str | os.PathLike[str]) -> tuple[Path, ...]:
    """The files of a path, a folder or a glob, by name. BadData where there are none. None is opened."""
    path = Path(data)
    if path.is_dir():
        found = sorted(p for p in path.iterdir() if p.name.lower().endswith(ENDINGS) and p.is_file())
        if not found:
            raise BadData(f"{path} holds no .parquet, .csv or .tsv file (also .gz)")
    elif not path.exists() and glob.has_magic(str(data)):
        found = sorted({Path(p) for p in glob.glob(str(data), recursive=True) if Path(p).is_file()})
        if not found:
            raise BadData(f"no file matches {data}")
    else:
        found = [path]
    for part in found:
        check_table_file(part)
    return tuple(found)


def _check_once(files: Iterable[Hashable]) -> None:
    """BadData where two of the files are one, whatever names and links lead to it."""
    seen = list(files)
    if len(set(seen)) < len(seen):
        raise BadData(
            "one file is named twice, by a link or in two formats, and each of its records would count twice: name it "
            "once"
        )


def _before_ending(path: Path) -> Path:
    """The name that a table keeps when it is packed, or written in another format."""
    name = path.name
    return path.parent / next((name[: -len(end)] for end in ENDINGS if name.lower().endswith(end)), name)


def _check_versions(files: Sequence[Path]) -> None:
    """BadData for several files of a table that keeps those of its earlier versions, in which its records stand again."""
    folders = {folder for file in files for folder in file.absolute().parents} if len(files) > 1 else set()
    if any(next(folder.glob(log), None) for folder in folders for log in _LOGS):
        raise BadData(
            "the folder of a Delta Lake, Hudi or Iceberg table holds files of its earlier versions, too, in which each record "
            "stands again: write the version that is meant to a folder of its own"
        )


# ------------------------------------------------------------------------------------------------ one file


def rows_in_part(columns: int) -> int:
    """Rows of a part, a multiple of 256."""
    return max(256, min(2**16, _CELLS // max(columns, 1) // 256 * 256))


def _parquet_parts(
    path: Path, columns: Sequence[str], low: int = 0, high: int = sys.maxsize
) -> Iterator[Any]:
    """The rows low to high, of the row groups that hold one."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with pq.ParquetFile(path, pre_buffer=False, buffer_size=2**18) as file:
        check_columns(columns, file.schema_arrow.names, path)
        ends = list(
            itertools.accumulate(file.metadata.row_group(g).num_rows for g in range(file.num_row_groups))
        )
        groups = [g for g, (at, end) in enumerate(zip([0, *ends], ends)) if at < high and end > low]
        at = ends[groups[0] - 1] if groups and groups[0] else 0
        for batch in file.iter_batches(rows_in_part(len(columns)), row_groups=groups, columns=list(columns)):
            held = batch.slice(max(low - at, 0), max(min(high, at + len(batch)) - max(low, at), 0))
            at += len(batch)
            if len(held):
                yield pa.Table.from_batches([held])


@contextmanager
def withheld() -> Iterator[None]:
    """Whatever a library says about a table may quote a cell."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit, GeneratorExit, BadData):
        raise
    except BaseException:  # a panic in polars is not an Exception
        raise BadData("the table could not be read to its end; what its library says is withheld") from None


def _scans_texts(lazy: Any) -> bool:
    with withheld():
        return re.search(r"(?mi)^\W*(csv|ndjson) scan\b", lazy.explain(optimized=False)) is not None


def _schema(lazy: Any) -> list[str]:
    with withheld():
        return list(lazy.collect_schema().names())


def _partitions(data: Any) -> Iterator[Any]:
    """Of a Dask DataFrame, one after the other, by whatever scheduler is set for it."""
    size = rows_in_part(len(data.columns))
    for partition in data.to_delayed():
        frame = nw.from_native(partition.compute(), eager_only=True)
        for start in range(0, len(frame), size):
            yield frame[start : start + size]


def _lazy_batches(lazy: Any) -> Iterator[Any]:
    size = rows_in_part(len(_schema(lazy)))
    if hasattr(lazy, "collect_batches"):
        yield from lazy.collect_batches(chunk_size=size, maintain_order=True)
        return
    for start in range(0, sys.maxsize, size):
        part = lazy.slice(start, size).collect()
        yield part
        if len(part) < size:
            return
