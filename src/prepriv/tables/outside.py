"""Streams from other libraries, by what their objects can do: a query of DuckDB or ibis, a function that gives readers, whatever
has `__arrow_c_stream__`. None of them is read before its charge, and each is read once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any

import narwhals.stable.v1 as nw

from prepriv.tables.containers import tabled
from prepriv.tables.readers import BadData
from prepriv.tables.stream import Batches, Stream, rows_in_part, withheld


def outside(data: Any) -> Stream | None:
    """The stream of an object of any library but Arrow itself; None for a table in memory, and for what is neither."""
    if isinstance(data, type):
        return None
    if hasattr(data, "project") and (read := _reader_method(data)) is not None:  # a relation of DuckDB
        return Batches(
            list(data.columns),
            lambda columns: _batches(getattr(data.project(", ".join(map(quoted, columns))), read), columns),
            source="the DuckDB relation that was given",
        )
    if hasattr(data, "to_pyarrow_batches") and hasattr(data, "select"):  # an expression of ibis
        return Batches(
            list(data.columns),
            lambda columns: data.select(*columns).to_pyarrow_batches(chunk_size=rows_in_part(len(columns))),
            source="the ibis expression that was given",
        )
    if hasattr(data, "__arrow_c_stream__"):
        try:
            held = nw.from_native(tabled(data), eager_only=True, allow_series=True, pass_through=True)
        except (nw.exceptions.NarwhalsError, ValueError):
            return None  # a table with two columns of one name, which is refused where it is read
        if isinstance(held, nw.DataFrame | nw.Series):
            return None
        return ArrowReaders(lambda: data, f"the {type(data).__name__} that was given", once=True)
    if callable(data) and not hasattr(data, "__array__") and not hasattr(data, "__iter__"):
        name = getattr(data, "__qualname__", type(data).__name__)
        return ArrowReaders(data, f"the reader that {name} gives")
    return None


def quoted(name: str) -> str:
    """A name as SQL gives it."""
    return '"' + name.replace('"', '""') + '"'


def _reader_method(data: Any) -> str | None:
    """How a relation of DuckDB gives a reader, in this version of it."""
    names = ("to_arrow_reader", "fetch_arrow_reader")
    return next((name for name in names if hasattr(data, name)), None)


def _batches(read: Callable[[int], Any], columns: Sequence[str]) -> Any:
    return read(rows_in_part(len(columns)))


class ArrowReaders(Stream):
    """What gives a reader of Arrow record batches each time it is asked.

    ask: () -> whatever has `__arrow_c_stream__`. source: what it is, in words. once: whether it may be asked only once. Its
    schema is asked for before the charge, and that reader is the first to be read: no batch is taken from it until then.
    """

    def __init__(self, ask: Callable[[], Any], source: str, *, once: bool = False) -> None:
        self._ask, self.source, self.once = ask, source, once
        self._given: list[Any] = []  # by the last call, and the reader of it, while it waits

    @cached_property
    def names(self) -> Sequence[str]:
        self._given = [*self._asked()]
        return list(self._given[1].schema.names)

    def parts(self, columns: Sequence[str]) -> Iterator[Any]:
        if len(self._given) == 2:
            reader = self._given.pop()
        else:
            self._given = [*self._asked()]
            reader = self._given.pop()
        yield from Batches(
            list(columns), lambda names: (batch.select(names) for batch in reader), once=True
        ).parts(columns)

    def _asked(self) -> tuple[Any, Any]:
        """(what was given, the reader of it). BadData for what was given before, or is none."""
        import pyarrow as pa

        if self.once and self._given:
            raise BadData(f"{self.source} can be read only once: give a function that makes it")
        with withheld():
            given = self._ask()
        if self._given and given is self._given[0]:
            raise BadData(f"{self.source} is the same one each time: give a function that makes a fresh one")
        if not hasattr(given, "__arrow_c_stream__"):
            raise BadData(
                f"a function that is given as a table must give a reader of Arrow record batches; it gave {type(given).__name__}"
            )
        with withheld():
            return given, pa.RecordBatchReader.from_stream(given)
