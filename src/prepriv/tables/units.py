"""Rows of units: whose row each is, which of them are read, and one row of each unit as a table of its own.

What is done to a unit is a function of its own rows. What that is worth: docs/proofs/units.md.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray

from prepriv.adjacency import n_is_public
from prepriv.domain import Domain
from prepriv.tables.cell import UNREADABLE, cell_of, text
from prepriv.tables.column import cells, codes_by
from prepriv.tables.encoding import MISSING_TEXT, as_frame, check_stream, encode, encode_targets, label_of
from prepriv.tables.readers import BadData, lacks
from prepriv.tables.stream import Stream, as_stream
from prepriv.tables.table import Table, joined

Words = NDArray[np.uint64]
_KEY = 0x70726570_72697600  # of the hash that decides which rows are read: fixed, so that nothing else decides it
_DIGITS = 4000  # in the longest number that is an id: Python writes none much longer
_EXACT = 2.0**53  # whole floats below it are one number each


def id_of(value: Any) -> str | None:
    """Whose row it is, as a text: exact, however long a number is, without blanks around it. None: nobody's.

    Bytes are a text, those that are not UTF-8 (a hash, a UUID) their hexadecimal digits after a blank, as no text begins.

    >>> id_of(7), id_of(7.0), id_of(" 7 "), id_of("007"), id_of(2**60 + 1), id_of("n/a"), id_of(float("nan"))
    ('7', '7', '7', '007', '1152921504606846977', None, None)
    >>> id_of(Decimal("12345678901234567890.0")), id_of(b"7"), id_of(bytes([255, 1]))
    ('12345678901234567890', '7', ' ff01')
    """
    if isinstance(value, bytes | bytearray | memoryview | np.void):
        held = value.tobytes() if isinstance(value, np.void) else bytes(value)
        try:
            value = held.decode("utf-8")
        except UnicodeDecodeError:
            return " " + held.hex()
    if isinstance(value, Decimal) and value.is_finite() and value.adjusted() < _DIGITS and value % 1 == 0:
        value = int(value)
    if isinstance(value, Fraction) and value.denominator == 1:
        value = value.numerator
    if isinstance(value, int | np.integer | np.bool_) and not isinstance(value, np.timedelta64):
        return str(int(value))
    if not isinstance(value, str):
        cell = cell_of(value)  # a date as its text
        if isinstance(cell, float) and not (cell.is_integer() and abs(cell) < _EXACT):
            return None
        if cell is None or cell == UNREADABLE:
            return None
        value = text(cell)
    return None if value == UNREADABLE or value.strip().lower() in MISSING_TEXT else str(value.strip())


@dataclass(frozen=True, eq=False, kw_only=True)
class UnitTable(Table):
    """One row of each unit: whoever takes these for records is right, a unit has one. For who asks, all that are read.

    every: the rows that are read, at most `rows_per_unit` of each unit, unit by unit, the one of this table first.
    labels: (rows,) what `encode_targets` gives for theirs. sizes: (n,) rows of each unit, 0 where only missing cells
    stand for one.
    """

    every: Table
    labels: NDArray[np.int32]
    sizes: NDArray[np.int64]

    def some(self, chosen: NDArray[np.bool_]) -> UnitTable:
        """The chosen units, with their rows."""
        one, rows = super().some(chosen), np.repeat(chosen, self.sizes)
        return UnitTable(
            domain=one.domain,
            n=one.n,
            matrix=None,
            columns=one.columns,
            every=self.every.some(rows),
            labels=self.labels[rows],
            sizes=self.sizes[chosen],
        )


def check_units(rows: Any, domain: Domain) -> None:
    """BadData unless a table has the declared columns that say whose row it is, and of which date. Reads no cell."""
    if not (needed := _beside(domain)):
        return
    if (stream := as_stream(rows)) is not None:
        names = list(stream.names)
    else:
        frame = as_frame(rows)
        names = list(frame.columns) if isinstance(frame, nw.DataFrame) else []
    for column, what in needed.items():
        if column not in names:
            raise BadData(
                f"{lacks('the table', column, [*domain.columns, *needed], names)} (the {what}: give a data frame or a file that has it)"
            )


def _beside(domain: Domain) -> dict[str, str]:
    """The columns that decide whether a row is read, beside those that predict, and what they were declared as."""
    out = {} if domain.unit is None else {domain.unit: "unit"}
    return out | ({} if domain.periods is None else {domain.periods.column: "dates of periods"})


def counted_units(rows: Any, domain: Domain) -> tuple[int, int, int]:
    """For the curator: (units, rows of nobody, rows beyond those that are read) of a table in memory."""
    check_units(rows, domain)
    assert domain.unit is not None and domain.rows_per_unit is not None
    codes, names = codes_by(as_frame(rows)[domain.unit], id_of)
    sizes = np.bincount(codes[codes >= 0], minlength=len(names))
    return len(names), int((codes < 0).sum()), int(np.maximum(sizes - domain.rows_per_unit, 0).sum())


def by_unit(rows: Any, labels: Any, domain: Domain, n: int) -> tuple[UnitTable, NDArray[np.int32]]:
    """Private rows of a domain with units, and what has to be learned of the row of each; labels None: nothing is.

    Rows without an id are nobody's and left out. Under replace-one units that are not there, up to n, are units without
    rows; BadData for more than n, which is not a table of n units. A stream is held in memory, encoded.
    """
    check_units(rows, domain)
    return grouped(*_read(rows, labels, domain), domain, n)


def in_periods(rows: Any, labels: Any, domain: Domain) -> tuple[Table, NDArray[np.int32]]:
    """Private rows of a domain with periods and without units, those of the periods that are read alone; labels None:
    nothing has to be learned. A row's own date decides; one without a date is left out. A stream is held in memory, encoded.
    """
    check_units(rows, domain)
    table, targets, codes, _ = _read(rows, labels, domain)
    return table.some(codes >= 0), targets[codes >= 0]


def _whose(frame: Any, domain: Domain) -> tuple[NDArray[np.int64], list[str]]:
    """(the number of each row's unit, or -1 for a row that is not read; the units). With periods a unit is one in one period.

    The rows of a unit in two periods are two units: whoever takes away those of one of them takes away a unit.
    """
    units = (np.zeros(len(frame), np.int64), [""])
    if domain.unit is not None:
        units = codes_by(frame[domain.unit], id_of)
    if domain.periods is None:
        return units
    dated = domain.periods.of
    at, periods = codes_by(frame[domain.periods.column], lambda value: dated(id_of(value) or ""))
    pairs = np.where((units[0] < 0) | (at < 0), -1, units[0] * max(len(periods), 1) + at)
    found, codes = np.unique(pairs, return_inverse=True)
    out = int((found[:1] < 0).sum())  # the pairs begin with -1 where a row is not read
    names = [f"{units[1][pair // len(periods)]} {periods[pair % len(periods)]}" for pair in found[out:]]
    return codes.reshape(-1).astype(np.int64) - out, names


def one_row_each(frame: Any, unit: str, names: Sequence[str], n: int | None) -> NDArray[np.int64]:
    """The number of one row of each unit of a raw table, in the order of the units, (units,); -1 where one has none.

    Which row it is follows from the unit's id and what its own rows say in these columns (`_drawn`). n: where the number of units is public, up to
    which there are units without rows; BadData for more. Rows without an id are nobody's and left out.
    """
    codes, units = codes_by(frame[unit], id_of)
    rank = np.empty(len(units) + 1, dtype=np.int64)
    rank[sorted(range(len(units)), key=units.__getitem__)] = np.arange(len(units))
    rank[-1] = len(units)  # nobody's: last
    of = rank[codes]
    found = np.full(len(of), _KEY, dtype=np.uint64)
    for name in names:
        at, distinct = cells(frame[name])
        said = np.array(["\0" if cell is None else text(cell) for cell in [*distinct, None]], dtype=object)
        found = _mixed(found ^ _words(said)[at])
    order = np.lexsort((_drawn(found, codes, units), of))
    order = order[: int((of < len(units)).sum())]
    first = order[np.searchsorted(of[order], np.arange(len(units)))].astype(np.int64)
    if n is None:
        return first
    if len(units) > n:
        raise BadData(f"the plan is for n={n:,} units, and the table has more")
    return np.concatenate([first, np.full(n - len(units), -1, dtype=np.int64)])


def grouped(
    table: Table,
    targets: NDArray[np.int32],
    codes: NDArray[np.int64],
    names: list[str],
    domain: Domain,
    n: int,
) -> tuple[UnitTable, NDArray[np.int32]]:
    """`by_unit` of encoded rows. codes: (rows,) the number of each row's unit among the names, -1 for nobody's."""
    rank = np.empty(len(names) + 1, dtype=np.int64)
    rank[sorted(range(len(names)), key=names.__getitem__)] = np.arange(len(names))
    rank[-1] = len(names)  # nobody's: last
    unit = rank[codes]
    order = np.lexsort((_drawn(_hash(table, targets), codes, names), unit))
    order = order[: int((unit < len(names)).sum())]
    first = np.searchsorted(unit[order], np.arange(len(names)))
    place = np.arange(len(order)) - first[unit[order]]
    assert domain.rows_per_unit is not None
    kept = order[place < domain.rows_per_unit]
    sizes = np.bincount(unit[kept], minlength=len(names))
    one = order[place == 0]
    without = 0
    if n_is_public(domain.adjacency):
        if len(names) > n:
            raise BadData(f"the plan is for n={n:,} units, and the table has more")
        without = n - len(names)
    columns = tuple(c[one] for c in table.columns)
    blank = _blank(max(without, 1), domain).columns
    found = UnitTable(
        domain=domain,
        n=len(names) + without,
        matrix=None,
        columns=tuple(np.concatenate(both) for both in zip(columns, blank)) if without else columns,
        every=_at(table, kept),
        labels=targets[kept],
        sizes=np.concatenate([sizes, np.zeros(without, dtype=np.int64)]),
    )
    return found, np.concatenate([targets[one], np.full(without, -1, dtype=np.int32)])


def _blank(rows: int, domain: Domain) -> Table:
    """Rows of missing cells."""
    table = encode([[None] * domain.n_inputs], domain)
    return _at(table, np.zeros(rows, dtype=np.int64))


def _at(table: Table, rows: NDArray[np.int64]) -> Table:
    return Table(table.domain, len(rows), None, tuple(c[rows] for c in table.columns))


def _read(
    rows: Any, labels: Any, domain: Domain
) -> tuple[Table, NDArray[np.int32], NDArray[np.int64], list[str]]:
    """(encoded rows, their targets, the number of each row's unit or -1, the units)."""
    if (stream := as_stream(rows)) is not None:
        return _read_stream(stream, label_of(labels, domain), domain)
    table = encode(rows, domain)
    targets = np.full(table.n, -1, dtype=np.int32) if labels is None else encode_targets(labels, domain)
    return table, targets, *_whose(as_frame(rows), domain)


def _read_stream(
    stream: Stream, label: str, domain: Domain
) -> tuple[Table, NDArray[np.int32], NDArray[np.int64], list[str]]:
    beside = list(_beside(domain))
    columns = check_stream(stream, domain, label, *beside)[: -1 - len(beside)]
    tables: list[Table] = []
    targets, codes = [np.zeros(0, np.int32)], [np.zeros(0, np.int64)]
    seen: dict[str, int] = {}
    for part in stream.parts(list(dict.fromkeys([*columns, label, *beside]))):
        frame = as_frame(part)
        tables.append(encode(frame.select(columns).to_native(), domain))
        targets.append(encode_targets(frame[label], domain))
        own, names = _whose(frame, domain)
        known = np.array([*(seen.setdefault(name, len(seen)) for name in names), -1], dtype=np.int64)
        codes.append(known[own])
    table = joined(tables) if tables else _at(_blank(1, domain), np.zeros(0, dtype=np.int64))
    return table, np.concatenate(targets), np.concatenate(codes), list(seen)


def _hash(table: Table, targets: NDArray[np.int32]) -> Words:
    """A keyed hash of what each row says, its label with it, (n,): rows of one content have one hash."""
    found = np.full(table.n, _KEY, dtype=np.uint64)
    for column in (*table.columns, targets):
        for numbers in (
            column.T if column.ndim == 2 else (column,)
        ):  # a text that a network encoded is a row of numbers
            found = _mixed(found ^ _words(numbers))
    return found


def _drawn(content: Words, codes: NDArray[np.int64], names: Sequence[str]) -> Words:
    """In which order the rows of each unit are read, (n,): the smaller first. content: a hash of what each row says; codes: the number of its
    unit among the names, -1 for nobody's.

    The id of the unit is part of the hash, and of rows that say the same each has a number of its own. So each row of a unit is as
    likely as any other to come first: by a hash of the content alone one value would win in every unit that has it, however rarely it
    is there.
    """
    order = np.lexsort((content, codes))
    of, said = codes[order], content[order]
    new = np.ones(len(order), dtype=bool)
    new[1:] = (of[1:] != of[:-1]) | (said[1:] != said[:-1])
    number = np.empty(len(order), dtype=np.uint64)
    number[order] = np.arange(len(order)) - np.flatnonzero(new)[np.cumsum(new) - 1]
    ids = _words(np.array([*names, ""], dtype=object))
    return _mixed(_mixed(content ^ ids[codes]) ^ _mixed(number))


def _words(column: NDArray[Any]) -> Words:
    if column.dtype == object:
        found = (hashlib.blake2b(one.encode("utf-8", "replace"), digest_size=8).digest() for one in column)
        return np.frombuffer(b"".join(found), dtype=np.uint64)
    if column.dtype.kind == "f":
        return np.where(np.isnan(column), np.nan, column + 0.0).astype(np.float64).view(np.uint64)
    return column.astype(np.int64).view(np.uint64)


def _mixed(words: Words) -> Words:
    """The finaliser of splitmix64, modulo 2^64: one to one."""
    words = words + np.uint64(0x9E3779B97F4A7C15)
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))
