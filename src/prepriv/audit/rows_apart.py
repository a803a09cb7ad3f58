"""The rows after each step on two neighbours, beside what the plan declares: how far they may be apart, and where they may lie."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prepriv._arrays import Floats
from prepriv._rounding import FAR_UP
from prepriv.audit.judgement import Finding
from prepriv.audit.sensitivity_case import (
    QUANTITIES,
    SHIFT_ROUNDING,
    Beaten,
    Standing,
    apart,
    beaten,
    left_over,
)
from prepriv.guarantees.printed import down
from prepriv.placed.handed import Inside
from prepriv.placed.rows import Mapped, OpenRows
from prepriv.plans.plan import Plan
from prepriv.preprocessing.base import UNTOUCHED, RowShift
from prepriv.space import Space

_MATCHED = 40  # rows that are matched by content, at most: the best match of more takes too long


class RowsAfterSteps:
    """Compares the rows after each step of a plan on two neighbours with what the plan declares.

    found: the largest of each of the four numbers after each step, encoding first. declared: the same, as declared.
    unmatched: how often rows were too many to be matched by their content, and were not compared.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        steps = plan.steps
        self.names = ("encoding", *(f"step {k} ({p.step.name})" for k, p in enumerate(steps, 1)))
        self.declared = (UNTOUCHED, *(p.outgoing for p in steps))
        self.found = [RowShift() for _ in self.names]
        self.unmatched = 0
        self._spaces = (*(p.before for p in steps), plan.space)
        self._first: list[Reached] = []
        self._now: list[Reached] = []
        self._outside: list[Finding] = []
        self._first_outside: list[Finding] = []

    def begin(self, replayed: bool) -> None:
        """A run begins: the first one, or its replay on a neighbour."""
        self._now, self._outside = [], []
        if not replayed:
            self._first, self._first_outside = self._now, self._outside

    def see(self, rows: Mapped) -> None:
        """The rows as they reach the next step, or the learner: as a user's own step made them, not as the run holds them inside."""
        table = self._now[0].table if self._now else rows.table  # of units the learner has all rows
        labels = self._now[0].labels if self._now else rows.labels
        maps = rows.maps[:-1] if rows.maps and isinstance(rows.maps[-1], Inside) else rows.maps
        made = Reached.of(Mapped(table, maps, labels))
        k = len(self._now)
        outside = made.outside(self._spaces[k])
        self._outside += [Finding("", f"at {self.names[k]}: {what}", f"{k:03} outside") for what in outside]
        self._now.append(made if maps is rows.maps else Reached.of(Mapped(table, rows.maps, labels)))

    def beyond(self) -> list[Finding]:
        """What goes beyond the declared facts in the last run, or between it and the first: at the first step where it does."""
        one, two = self._first, self._now
        if len(one) != len(two) or not one:
            return []  # a run that ended early: what left of it differs
        if outside := [*self._first_outside, *self._outside]:
            return [min(outside, key=lambda f: f.group)]
        records = _records(one[0], two[0], by_content=self._plan.domain.unit is not None)
        if records is None:
            return [Finding("", "at encoding: more than the one record differs", "000 encoding")]
        return self._compared(one, two, records)

    def _compared(self, one: Sequence[Reached], two: Sequence[Reached], records: _Records) -> list[Finding]:
        came: RowShift | None = UNTOUCHED
        for k, name in enumerate(self.names[: len(one)]):
            bound = self.declared[k]
            a, b = one[k].standing(records[0]), two[k].standing(records[1])
            if records == BY_CONTENT:
                bound = dataclasses.replace(bound, any_order=True)
            if bound.any_order and max(len(left_over(a, b)), len(left_over(b, a))) > _MATCHED:
                self.unmatched += 1
                return []
            found, slack = apart(a, b, bound), SHIFT_ROUNDING * (1 + self._spaces[k].radius)
            if found.row_shift <= slack:  # floats alone
                found = dataclasses.replace(found, rows_moved=0.0)
            self.found[k] = larger(self.found[k], found)
            said = beaten(found, bound, slack, len(one[k].x))
            if not said and k and came is not None and not bound.any_order:
                said = self._of_what_came(k, came, found, slack, one[k - 1], two[k - 1])
            if said:
                text, size = said[0]
                return [Finding("", f"at {name}: {text}", f"{k:03} {text.partition(' declared')[0]}", size)]
            came = None if bound.any_order else found
        return []

    def _of_what_came(
        self, k: int, came: RowShift, found: RowShift, slack: float, one: Reached, two: Reached
    ) -> list[Beaten]:
        """The same against what step k declares for rows that come in as far apart as these do, not as far as they could."""
        planned, n = self._plan.steps[k - 1], self._plan.n
        grown = dataclasses.replace(
            came, row_shift=came.row_shift * FAR_UP, total_shift=came.total_shift * FAR_UP
        )
        try:
            bound = planned.step.paid.outgoing(planned.step, planned.before, n, grown)
        except ValueError:  # it says nothing of such rows
            return []
        rows = [OpenRows(r.x, r.labels) for r in (one, two)]
        if bound.any_order or not all(c.holds(r, n) for c in bound.conditions for r in rows):
            return []
        said = beaten(found, bound, slack, len(one.x))
        return [(f"{text}, for rows that came in as far apart as these", size) for text, size in said]


def larger(a: RowShift, b: RowShift) -> RowShift:
    """The larger of each of the four numbers."""
    return RowShift(*(max(getattr(a, q), getattr(b, q)) for q in QUANTITIES))


@dataclass(frozen=True, eq=False)
class Reached:
    """Rows (n, d) at one place of a run, which of them are there, and their classes."""

    table: Any
    x: Floats
    stays: NDArray[np.bool_]
    labels: NDArray[np.int32]

    @staticmethod
    def of(rows: Mapped) -> Reached:
        """A copy of the rows."""
        blocks = [(x.copy(), np.ones(len(x), bool) if kept is None else kept) for x, kept, _ in rows.blocks()]
        if not blocks:
            return Reached(rows.table, np.zeros((0, 0)), np.zeros(0, bool), rows.labels)
        x, stays = (np.concatenate(part) for part in zip(*blocks))
        return Reached(rows.table, x, stays, rows.labels)

    def standing(self, record: int | None) -> Standing:
        """(rows, which stay, labels) with the record that differs in front; None: it is not there."""
        if record is None:
            x = np.vstack([np.zeros((1, self.x.shape[1])), self.x])
            return x, np.r_[False, self.stays], np.r_[np.int32(-1), self.labels]
        order = np.r_[record, np.delete(np.arange(len(self.x)), record)]
        return self.x[order], self.stays[order], self.labels[order]

    def outside(self, space: Space) -> Iterator[str]:
        """What is not as the declared space says."""
        if not len(self.x):
            return
        if self.x.shape[1] != space.d:
            yield f"columns declared {space.d}, found {self.x.shape[1]}"
            return
        gaps = np.isnan(self.x)
        if gaps[:, ~space.may_miss].any():
            yield "a cell is missing where none may be"
        x = np.where(gaps, 0.0, self.x)
        norm = float(np.sqrt((x * x).sum(axis=1)).max(initial=0.0))
        if norm > space.radius * (1 + SHIFT_ROUNDING):
            yield f"norm of a row declared at most {space.radius:.9g}, found {down(norm, 6)}"
        slack = SHIFT_ROUNDING * space.radius
        if (self.x > space.high + slack).any() or (self.x < space.low - slack).any():
            yield "a row is outside the declared box"


_Records = tuple[int | None, int | None]
BY_CONTENT: _Records = (None, None)


def _records(one: Reached, two: Reached, *, by_content: bool) -> _Records | None:
    """Where the record that differs stands in each, as it was encoded; None if more than one differs.

    by_content: of rows that stand in no order of their own, units: nobody's place is known.
    """
    if by_content:
        return BY_CONTENT
    more = len(one.x) - len(two.x)
    if abs(more) > 1:
        return None
    m = min(len(one.x), len(two.x))
    differ = np.flatnonzero(~_same(one, two, slice(m), slice(m)))
    if not more:
        return None if len(differ) > 1 else (int(differ[0]) if len(differ) else 0,) * 2
    at = int(differ[0]) if len(differ) else m
    longer, shorter = (slice(at + 1, None), slice(at, None))[:: 1 if more > 0 else -1]
    if not _same(one, two, longer, shorter).all():
        return None
    return (at, None) if more > 0 else (None, at)


def _same(one: Reached, two: Reached, a: slice, b: slice) -> NDArray[np.bool_]:
    x, y = one.x[a], two.x[b]
    cells = (x == y) | (np.isnan(x) & np.isnan(y))
    return np.asarray(cells.all(axis=1) & (one.labels[a] == two.labels[b]))
