"""What all imputation steps share: declared caps on missing cells, the shift that filling them makes, the maps.

Proof: docs/proofs/impute.md.
"""

from __future__ import annotations

import abc
import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from prepriv import payment as pay
from prepriv._arguments import integer, settle
from prepriv._arrays import Floats
from prepriv.columns import NO_NUMBER
from prepriv.domain import Domain, as_space
from prepriv.guarantees.premise import Premise
from prepriv.preprocessing._columns import ColumnPremise, sorted_columns
from prepriv.preprocessing.base import UNTOUCHED, ConfidentialMap, ReleasedMap, Rows, RowShift, Step, need_n
from prepriv.preprocessing.stored_map import StoredMap
from prepriv.space import Reading, Space

Counts = NDArray[np.int64]
Shares: TypeAlias = float | Mapping[str, float]
"""One share of the records for all columns, or one by column name."""

DEFAULT_MISSING = 0.05


@dataclass(frozen=True, eq=False)
class ImputerCaps(pay.Caps):
    """missing: at most this share of the records misses the cell (0.05; where a dict names no column, too).

    fade: 0 (the claim is conditional on `missing`), or over what share of the records the filling fades to the midpoint
    once more cells than that are missing: then the claim is unconditional. whole: of how many records `missing` is a share
    where it is a premise: of all, where coins choose those that reach the step (None: of these). ValueError for what is
    not a share in [0, 1].
    """

    missing: Shares = DEFAULT_MISSING
    fade: Shares = 0.0
    whole: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        for f in fields(self):
            if f.name != "whole":
                self._check_shares(f.name, getattr(self, f.name))
        if self.whole is not None:
            settle(self, whole=integer("whole", self.whole))

    def of_part(self, whole: int) -> ImputerCaps:
        if self.whole not in (None, whole):
            raise ValueError(f"whole must be the number of all records, {whole}; got {self.whole}")
        return replace(self, whole=whole)

    @staticmethod
    def _check_shares(name: str, declared: Any) -> None:
        if isinstance(declared, Mapping):
            for column, share in declared.items():
                pay.check_fraction(f"{name} cap of {column!r}", share)
        elif not isinstance(declared, int | float):
            raise ValueError(
                f"{name} cap must be a number or a dict by column; got {type(declared).__name__}"
            )
        else:
            pay.check_fraction(f"{name} cap", declared)


def by_column(name: str, declared: Shares, columns: tuple[str, ...], default: float) -> Floats:
    """The share of each column, (k,). ValueError for a name that is none of them."""
    if not isinstance(declared, Mapping):
        return np.full(len(columns), float(declared))
    unknown = sorted(str(c) for c in set(declared) - set(columns))
    if unknown:
        raise ValueError(f"{name} caps name {unknown[0]!r}, which is not a column to impute")
    return np.array([float(declared.get(c, default)) for c in columns])


def fill_missing(x: Floats, fill: Floats) -> Floats:
    """NaN cells of a block (b, d) replaced by fill (d,)."""
    return np.asarray(np.where(np.isnan(x), fill, x))


def midpoints(space: Space) -> Floats:
    """Midpoints of the declared bounds, (d,): what a cell becomes when nothing is known of it."""
    return np.asarray((space.low + space.high) / 2)


@dataclass(frozen=True, eq=False)
class FillReleased(StoredMap):
    """Missing cells become released values."""

    written_as: ClassVar[str] = "fill"

    fill: Floats

    def transform(self, x: Floats) -> Floats:
        return fill_missing(x, self.fill)


@dataclass(frozen=True, eq=False)
class FillConfidential(ConfidentialMap):
    """Missing cells become statistics of the private columns."""

    fill: Floats

    def transform(self, x: Floats) -> Floats:
        return fill_missing(x, self.fill)


@dataclass(frozen=True)
class FewMissing(Premise):
    """At most `cap` of the n records miss the cell of a column. Of any part of the records, no more do."""

    column: int
    name: str
    cap: int
    n: int

    inherited: ClassVar[bool] = True
    of_gaps: ClassVar[bool] = True

    def holds(self, rows: Rows, n: int) -> bool:
        return sum(int(np.isnan(block[:, self.column]).sum()) for block in rows) <= self.cap

    @property
    def says(self) -> str:
        return f"at most {self.cap} of the {self.n} records miss {self.name!r}"

    @property
    def read(self) -> str:
        return f"a cell {NO_NUMBER} counts as missing"


@dataclass(frozen=True, eq=False)
class MissingCaps:
    """How many cells of each imputable column may be missing, in records.

    columns: (k,) indices. full: (k,) up to this many missing cells the filling is in full force. fade: (k,)
    0, or over how many further cells it fades to the midpoint, after which it depends on no record.
    """

    columns: NDArray[np.intp]
    full: NDArray[np.int64]
    fade: NDArray[np.int64]
    names: tuple[str, ...]
    n: int
    whole: int
    reading: Reading

    @staticmethod
    def of(declared: ImputerCaps, space: Space, n: int) -> MissingCaps:
        """Declared shares as records of a table of n. ValueError for the name of no column to impute."""
        columns = np.flatnonzero(space.may_miss)
        names = tuple(space.names[j] if space.names else f"x{j}" for j in columns)
        missing = by_column("missing", declared.missing, names, DEFAULT_MISSING)
        fade = by_column("fade", declared.fade, names, 0.0)
        whole = declared.whole or n
        if whole < n:
            raise ValueError(f"whole must be at least the number of records, {n}; got {whole}")
        full = np.minimum(n - 1, np.ceil(missing * np.where(fade > 0, n, whole))).astype(np.int64)
        return MissingCaps(columns, full, np.ceil(fade * n).astype(np.int64), names, n, whole, space.reading)

    @property
    def observed(self) -> NDArray[np.int64]:
        """N: the least number of observed cells that a statistic of a column is divided by, (k,)."""
        return np.maximum(self.n - self.full - self.fade, 1)

    @property
    def rows(self) -> NDArray[np.int64]:
        """How many common rows can have a filled cell that differs, by column, (k,)."""
        return np.minimum(np.where(self.fade > 0, self.full + self.fade - 1, self.full), self.n - 1)

    @property
    def full_rows(self) -> Floats:
        """The most that c common rows filled with weight(c) add up to: max over c of c * weight(c), (k,)."""
        p, m = self.full.astype(float), np.maximum(self.fade, 1).astype(float)
        peak = np.where(m >= p, (p + m) ** 2 / (4 * m), p)  # of c (p + m - c) / m over c >= p
        return np.minimum(np.where(self.fade > 0, np.maximum(peak, p), p), self.n - 1.0)

    def weight(self, missing: NDArray[np.int64]) -> Floats:
        """How much of (statistic - midpoint) is filled in, given the missing cells of each column, (k,)."""
        fading = np.maximum(self.fade, 1)
        return np.where(self.fade > 0, np.clip((self.full + self.fade - missing) / fading, 0.0, 1.0), 1.0)

    def conditions(self) -> tuple[Premise, ...]:
        """What has to hold of the data: a cap that does not fade."""
        return tuple(
            FewMissing(int(j), name, int(cap), self.whole, reading=self.reading)
            for j, name, cap, fade in zip(self.columns, self.names, self.full, self.fade)
            if fade == 0
        )

    def distance(self, rows: Rows) -> float:
        """Records that must change before a cap without fade is exceeded: each is one cell of a column.

        Rows that came in moved count for nothing: they miss the same cells in both data sets.
        """
        missing = np.zeros(len(self.columns), dtype=np.int64)
        for block in rows:
            missing += np.isnan(block[:, self.columns]).sum(axis=0)
        left = (self.full + 1 - missing)[self.fade == 0]
        return float(left.min()) if len(left) else math.inf


@dataclass(frozen=True, eq=False)
class Moves:
    """How far one record moves the statistic of each column, in the units of the rows, (k,) each.

    same: when the record has its cell in both data sets or neither; changed: when it has it in one only. Then the weight
    changes, too, by 1 / fade; opposed: whether that and the move of the statistic cannot add up. per_unit: further move
    per unit of the column's incoming shift.
    """

    same: Floats
    changed: Floats
    opposed: NDArray[np.bool_] | bool = False
    per_unit: Floats | float = 0.0


@dataclass(frozen=True)
class Imputer(Step):
    """Fill each missing numeric cell by a statistic of its column.

    Paid for by sensitivity, it fades to the midpoint of the bounds as the caps say (`ImputerCaps`), and new rows are filled
    with that midpoint. Paid for by budget or public rows, new rows are filled with the released statistic. A subclass says how far a record
    moves its statistics, which further conditions that takes, and how they are computed.
    """

    ways: ClassVar[tuple[str, ...]] = pay.WAYS
    at_prediction: ClassVar[bool] = False
    Caps: ClassVar[type[ImputerCaps]] = ImputerCaps

    @property
    def keeps_cells(self) -> bool:
        return True

    def output(self, space: Space) -> Space:
        if self.paid.share > 0 and not space.may_miss.any():
            raise ValueError(
                f"{self.name} has no column to impute, and its share of the budget would buy nothing: leave it out"
            )
        return Space(space.low, space.high, space.radius, np.zeros(space.d, dtype=bool), space.names)

    def lipschitz(self, space: Space) -> float:
        return 1.0  # common rows miss the same cells

    def missing(self, space: Space, n: int) -> MissingCaps:
        """Its caps on missing cells, in records."""
        return MissingCaps.of(self.Caps.of(self.name, self.paid), space, n)

    @abc.abstractmethod
    def moves(self, caps: MissingCaps, space: Space, incoming: RowShift) -> Moves:
        """How far one record moves the statistics of the columns with missing cells."""

    def about_columns(self, caps: MissingCaps, space: Space) -> tuple[Premise, ...]:
        """The conditions of `moves`, beyond those on missing cells."""
        return ()

    def sensitivity(self, domain: Domain | Space, n: int, incoming: RowShift | None = None) -> RowShift:
        """The shift after filling, from how far the record moves the statistic of each column (docs/proofs/impute.md).

        Common rows miss the same cells in both data sets: no step before an imputer may change which cells are
        missing. Raises ValueError after a step that drops rows.
        """
        space, n, incoming = as_space(domain), need_n(n), incoming or UNTOUCHED
        if incoming.rows_dropped > 0:
            raise ValueError(f"{self.name} cannot follow a step that drops rows: impute first")
        caps = self.missing(space, n)
        if len(caps.columns) == 0:
            return incoming
        moves = self.moves(caps, space, incoming)
        w, tau = space.widths[caps.columns], incoming.total_shift
        rows, full = caps.rows.astype(float), caps.full_rows
        fading = np.where(caps.fade > 0, w / (2 * np.maximum(caps.fade, 1)), 0.0)

        def largest(at_full: Floats, at_all: Floats) -> Floats:
            """The two cases, the statistic counted at_full and the change of weight at_all times."""
            one, two = at_full * moves.changed, at_all * fading
            return np.maximum(at_full * moves.same, np.where(moves.opposed, np.maximum(one, two), one + two))

        some = (rows > 0).astype(float)
        own = np.minimum(largest(some, some), w)
        unit = np.broadcast_to(np.asarray(moves.per_unit, dtype=float), own.shape)
        row = float(np.linalg.norm(own)) + tau * float((some * unit).max())
        total = float(np.minimum(largest(full, rows), rows * w).sum()) + tau * float(
            np.linalg.norm(full * unit)
        )
        moved = float(min(rows.sum(), n - 1))
        conditions = caps.conditions() + self.about_columns(caps, space)
        made = RowShift(moved, row, total, 0.0, conditions)
        return incoming.through(self.lipschitz(space)).plus(made, n=n)

    def distance(self, rows: Rows, space: Space, n: int, incoming: RowShift | None = None) -> float:
        """Records that must change before a declared cap fails; inf if nothing is assumed."""
        caps, records = self.missing(space, n), (incoming or UNTOUCHED).records
        about = {c.column.index: c for c in self.about_columns(caps, space) if isinstance(c, ColumnPremise)}
        least = caps.distance(rows)
        for j, cells in sorted_columns(rows, np.array(sorted(about), dtype=np.intp), n):
            least = min(least, about[j].distance(cells) / records)
        return least

    def statistics(self, rows: Rows, space: Space, n: int, caps: MissingCaps | None) -> tuple[Floats, Counts]:
        """(how far above its midpoint each column to impute is filled, how many cells it has), each (k,).

        caps: what to divide by at least; None on public rows.
        """
        raise TypeError(f"{self.name} fills a column by no one number")

    def fit_confidential(self, rows: Rows, space: Space, n: int) -> ConfidentialMap:
        caps, fill = self.missing(space, n), midpoints(space)
        above, seen = self.statistics(rows, space, n, caps)
        fill[caps.columns] += caps.weight(n - seen) * above
        return FillConfidential(fill)

    def fit_public(self, rows: Rows, space: Space, n: int) -> ReleasedMap:
        fill = midpoints(space)
        fill[space.may_miss] += self.statistics(rows, space, n, None)[0]
        return FillReleased(fill)

    def prediction_map(self, space: Space) -> ReleasedMap:
        """New rows: the midpoint of the declared bounds."""
        return FillReleased(midpoints(space))
