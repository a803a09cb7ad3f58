"""Private rows before they are read, and encoded rows after some fitted maps: private ones inside a run, public ones before
and inside it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from prepriv._arrays import Floats
from prepriv._kinds import is_ours
from prepriv.domain import Domain
from prepriv.mechanisms.handle import Mechanisms
from prepriv.periods import Periods
from prepriv.preprocessing.base import FittedMap, ReleasedMap
from prepriv.tables.encoding import (
    BLOCK,
    Table,
    check_source_of,
    check_stream,
    count_rows,
    encode,
    encode_stream,
    encode_targets,
    label_of,
    rows_of,
)
from prepriv.tables.readers import BadData
from prepriv.tables.sentences import SENTENCE_WIDTH, sentence_network
from prepriv.tables.spool import Spool, cells_size
from prepriv.tables.stream import Files, Stream, as_stream
from prepriv.tables.table import Streamed
from prepriv.tables.units import by_unit, check_units, in_periods

MappedBlock: TypeAlias = tuple[Floats, NDArray[np.bool_] | None, int]
"""Rows, which of them stay (None: all), and the number of the first."""


@dataclass(frozen=True, eq=False)
class Mapped:
    """Encoded rows after some fitted maps; rows that a map drops become zero rows."""

    table: Table
    maps: Sequence[FittedMap]
    labels: NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))

    @property
    def n(self) -> int:
        """How many rows there are."""
        return self.table.n

    def __iter__(self) -> Iterator[Floats]:
        for x, _, _ in self.blocks():
            yield x

    def blocks(self) -> Iterator[MappedBlock]:
        """(rows, which of them stay, first row number) of each block."""
        for start, block in self.table.blocks():
            yield self._mapped(start, block)

    def apart(self) -> Iterator[Callable[[], MappedBlock]] | None:
        """What makes each block, in any thread: of rows in memory, after maps of this package. None for others."""
        table = self.table
        if isinstance(table, Streamed) or not all(_ours_throughout(fitted) for fitted in self.maps):
            return None

        def block(start: int) -> MappedBlock:
            return self._mapped(start, table.block(start, min(start + BLOCK, table.n)))

        return (partial(block, start) for start in range(0, table.n, BLOCK))

    def _mapped(self, start: int, block: Floats) -> MappedBlock:
        x, kept = np.ascontiguousarray(block), None
        for fitted in self.maps:
            keep = fitted.keep(x, start)
            x = np.ascontiguousarray(fitted.transform(x))  # sums along a row: the same bits in any block
            if len(x) != len(block):
                raise ValueError(
                    f"{type(fitted).__name__} must make one row of each row (see FittedMap.keep)"
                )
            if keep is not None:
                kept = keep if kept is None else kept & keep
        return (x if kept is None else np.where(kept[:, None], x, 0.0)), kept, start


def _ours_throughout(thing: Any) -> bool:
    """Whether a map, and all that it holds, is of this package, or plain numbers and texts: a map of ours can wrap third-party code, which
    nothing says may run in several threads."""
    waiting, seen = [thing], set[int]()
    while waiting:
        one = waiting.pop()
        kind = type(one)
        if id(one) in seen:
            continue
        seen.add(id(one))
        if is_ours(kind) and hasattr(one, "__dict__"):
            waiting += vars(one).values()
        elif kind in (dict, MappingProxyType):
            waiting += one.values()
        elif kind in (list, tuple, set, frozenset):
            waiting += one
        elif (
            (isinstance(one, np.ndarray) and one.dtype.hasobject)
            or kind.__module__ not in ("builtins", "numpy")
            or callable(one)
        ):
            return False
    return True


@dataclass(frozen=True, eq=False)
class OpenRows:
    """Rows (n, d) and labels (n,) that need no protection, those of an audit or made up: one block.

    As in a run, each reading is a fresh block, and nobody can write to the labels.
    """

    x: Floats
    labels: NDArray[np.integer[Any]]

    def __post_init__(self) -> None:
        view = self.labels.view()
        view.setflags(write=False)
        object.__setattr__(self, "labels", view)

    @property
    def n(self) -> int:
        """How many rows there are."""
        return len(self.x)

    def __iter__(self) -> Iterator[Floats]:
        yield self.x.copy()


@dataclass(frozen=True, eq=False)
class OpenAccess:
    """What a fit on such rows sees (`payment.Access`): they stand for public ones, too, and no noise is drawn."""

    rows: OpenRows
    n: int

    def public(self, data: Any) -> tuple[OpenRows, int]:
        return self.rows, self.n

    def private(self) -> OpenRows:
        return self.rows

    def mechanisms(self) -> Mechanisms:
        return Mechanisms.exact("no step", self.rows, self.rows.labels)

    def sketch(self) -> Any:
        raise TypeError("a sketch is of a raw table, and these are rows of a space")


@dataclass(frozen=True, eq=False)
class PrivateTable:
    """A private table of a declared domain, as it came: nothing of it is read until `prepriv.runs.admit.admit` reads it.

    rows: any table, matrix or stream. labels: a column, the name of a stream's, or None (`learned` False: nothing is). n: of
    the plan; what: that it counts. spool: where what is read once is held, if it takes more than its memory.
    """

    rows: Any
    labels: Any
    domain: Domain
    n: int
    what: str = "records"
    learned: bool = True
    spool: Spool | None = None

    stream: Stream | None = field(init=False)
    """The rows, if they are read part by part."""
    periods: Periods | None = field(init=False)
    """Whose rows alone are read."""
    counted: bool = field(init=False)
    """Whether the number of rows is public, and the plan's."""

    def __post_init__(self) -> None:
        stream = as_stream(self.rows)
        if stream is not None:
            object.__setattr__(self, "rows", stream)
        object.__setattr__(self, "stream", stream)
        object.__setattr__(self, "periods", self.domain.periods)
        object.__setattr__(self, "counted", self.domain.n_is_public)

    @property
    def tables(self) -> tuple[Any, ...]:
        """The rows and the labels."""
        return self.rows, self.labels

    def check(self) -> None:
        """BadData where columns, labels or the public number of rows are not the plan's. Reads no cell."""
        if self.domain.encoded_texts:
            sentence_network()
        there: int | None  # rows, where their number is known
        if self.stream is not None:
            check_source_of(self.stream, self.domain.source)
            check_stream(self.stream, self.domain, *self._label)
            there = self.stream.rows if self.counted else None
        elif not self.learned:
            there = rows_of(self.rows, self.domain)
        else:
            there = count_rows(self.rows, self.labels, self.domain)
        if self.domain.unit is not None or self.periods is not None:
            check_units(self.rows, self.domain)
        if self.domain.unit is None and self.counted and there not in (None, self.n):
            raise BadData(f"the plan is for n={self.n:,} {self.what}, the table has {there:,}")

    @property
    def _label(self) -> tuple[str, ...]:
        return (label_of(self.labels, self.domain),) if self.learned else ()

    def reserved(self, memory: int) -> PrivateTable:
        """The same, with disk for the encoded rows of what is read once and is more than `memory`; NoRoom where there is none.

        Where the number of rows is private there is room for a quarter more than are declared, and a full disk ends a run that
        has more still.
        """
        size = self.n * cells_size(self.domain)
        chosen = self.domain.unit is not None or self.domain.periods is not None  # held in memory
        if self.stream is None or isinstance(self.stream, Files) or chosen or self._fits(memory):
            return self
        return replace(self, spool=Spool(self.domain, size if self.counted else size + size // 4))

    def _fits(self, memory: int) -> bool:
        """Whether the declared encoded rows stay in memory."""
        size = 8 * self.domain.n_inputs + self.domain.encoded_texts * 4 * SENTENCE_WIDTH
        return self.learned and self.n * size <= memory

    def read(self, memory: int) -> tuple[Table, NDArray[np.int32]]:
        """(encoded rows, their class indices); of units one row each, which holds the others (`UnitTable`).

        The n declared rows of a stream stay in `memory` if they fit. Rows that are not of a file stay in the spool otherwise. Where nothing has to
        be learned, indices are -1: every record contributes nothing.
        """
        domain, stream = self.domain, self.stream
        table: Table
        if domain.unit is not None:
            table, targets = by_unit(self.rows, self.labels, domain, self.n)
        elif domain.periods is not None:
            table, targets = in_periods(self.rows, self.labels, domain)
        elif not self.learned:
            table = encode(self.rows, domain, self.spool)
            targets = np.full(table.n, -1, dtype=np.int32)
        elif stream is None:
            table, targets = encode(self.rows, domain), encode_targets(self.labels, domain)
        else:
            keep = self._fits(memory)
            table, targets = encode_stream(stream, domain, *self._label, keep=keep, spool=self.spool)
        if self.counted and table.n != self.n:
            raise BadData(
                f"the plan is for {self.n:,} {self.what}, and the table has another number; a header line is not a record, and a quoted cell may hold line breaks: "
                "count records, not lines. If rows were dropped, their number is another, too. Rows with gaps can stay: a gap is declared, not dropped"
            )
        return table, targets


def public_rows(data: Any, domain: Domain, maps: Sequence[ReleasedMap]) -> Mapped:
    """Public rows of the declared columns, encoded, after some maps. ValueError without a table, columns or rows."""
    if data is None:
        raise ValueError("Public() needs the public table: Public(data)")
    table = encode(data, domain)
    if table.n < 1:
        raise ValueError("the public table has no rows")
    return Mapped(table, maps)
