"""One attack target: a step or a chain of steps, what is declared about the rows, and what may come in.

A pair of neighbours is run through the chain as `runs/run.py` would: steps paid for by sensitivity are
fitted on each data set by itself, every other map is one and the same for both.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prepriv._arrays import Floats
from prepriv.guarantees.premise import Premise
from prepriv.guarantees.printed import down
from prepriv.placed.rows import OpenAccess, OpenRows
from prepriv.preprocessing.base import UNTOUCHED, FittedMap, ReleasedMap, RowShift, Step, walk
from prepriv.preprocessing.said import shift_after
from prepriv.rehearsals.tested import Tested, distance_lies
from prepriv.space import Space

QUANTITIES = ("rows_moved", "row_shift", "total_shift", "rows_dropped")
SHIFT_ROUNDING = 1e-12  # of the declared radius: what floats may add to one row's shift
WORDS = {
    "rows_moved": "common rows moved",
    "row_shift": "largest move of one common row",
    "total_shift": "total move of the common rows",
    "rows_dropped": "common rows dropped on one side",
}


@dataclass(frozen=True, eq=False)
class Pair:
    """Two data sets. Row 0 can differ in any way, the other rows by at most the incoming shift.

    Parameters
    ----------
    first, second : array, (n, d)
        Rows of the declared space.
    gone : array of bool, (n,)
        Which of the rows 1, 2, ... the second data set does not have.
    labels : array of int, (2, n)
        Classes, equal but for row 0.

    Examples
    --------
    >>> import numpy as np
    >>> from prepriv.audit import Pair
    >>> rows = np.zeros((3, 2))
    >>> Pair(rows, rows.copy(), np.zeros(3, dtype=bool), np.zeros((2, 3), dtype=np.int64)).first.shape
    (3, 2)
    """

    first: Floats
    second: Floats
    gone: NDArray[np.bool_]
    labels: NDArray[np.int64]

    @property
    def n(self) -> int:
        """Number of records."""
        return len(self.first)


@dataclass(frozen=True, eq=False)
class Case:
    """What `search` attacks, with its name in the table of attacks.

    Parameters
    ----------
    name : str
        Its name in the table.
    steps : tuple of steps
        One step, or a chain.
    space : Space
        What is declared about the rows that reach the first step.
    n : int
        Number of records.
    incoming : RowShift, default UNTOUCHED
        How far apart the common rows may be before the first step (to attack `sensitivity(..., incoming)` without building
        the steps that cause it).
    hints : mapping of str to float
        Numbers that structured data sets are built from: "scale" (a radius eta), "missing" (share of the records that miss
        a cell), "spread" (a standard deviation), "apart" (1: most rows far from each other); "big" sets the n of the
        structured sets alone.
    paper : callable, optional
        The paper's bound for a given pair, where it has been found false. None: there is none.
    removed : bool, default False
        The second data set has no record 0, and its rows are numbered from 0 all the same.
    lies : dict of str to int
        What pairs showed against the steps, besides the four numbers, and how often.

    Examples
    --------
    >>> import prepriv
    >>> from prepriv.audit import Case
    >>> from prepriv.preprocessing import SoftPCA
    >>> steps = (SoftPCA(0.1, payment=prepriv.Sensitivity()),)
    >>> Case("soft PCA", steps, prepriv.Domain.ball(2, [0, 1]).space, n=20).n
    20
    """

    name: str
    steps: tuple[Step, ...]
    space: Space
    n: int
    incoming: RowShift = UNTOUCHED
    hints: Mapping[str, float] = field(default_factory=dict)
    paper: Callable[[Pair], RowShift] | None = None
    removed: bool = field(default=False, kw_only=True)
    lies: dict[str, int] = field(default_factory=dict, kw_only=True)

    @cached_property
    def bound(self) -> RowShift:
        """The shift that the library declares after the whole chain."""
        return self.shifts[-1]

    @property
    def slack(self) -> float:
        """What float rounding may add to the shift of one row."""
        return SHIFT_ROUNDING * (1 + self.space.radius)

    @cached_property
    def shifts(self) -> tuple[RowShift, ...]:
        """What is declared before the first step and after each."""
        shifts = [self.incoming]
        for step, space, _ in walk(self.steps, self.space):
            shifts.append(shift_after(step, space, self.n, shifts[-1]))
        return tuple(shifts)

    @cached_property
    def conditions(self) -> tuple[tuple[Premise, ...], ...]:
        """For each step, the conditions of the shift that it declares: what a plan prints or tests."""
        alone = (dataclasses.replace(shift, conditions=()) for shift in self.shifts)
        walked = zip(walk(self.steps, self.space), alone)
        return tuple(shift_after(step, space, self.n, came).conditions for (step, space, _), came in walked)

    def measure(self, pair: Pair) -> RowShift | None:
        """How far apart the common rows of a pair end up; None if a declared condition does not hold."""
        x, y = pair.first, np.where(pair.gone[:, None], 0.0, pair.second)
        stays, remains = np.ones(pair.n, dtype=bool), ~pair.gone
        remains[0] &= not self.removed
        for k, (step, space, _) in enumerate(walk(self.steps, self.space)):
            one, two = OpenRows(x, pair.labels[0]), OpenRows(y, pair.labels[1])
            tested = [self._tested(k, space, rows) for rows in (one, two)]
            self._note(f"the distance of {step.name} {what}" for what in distance_lies(*tested))
            if not all(side.holds for side in tested):
                return None
            f, leaves = step.paid.fit(step, space, OpenAccess(one, self.n))
            g = f  # free, public, or as released (here without noise)
            if not step.paid.leaves:
                g, other = step.paid.fit(step, space, OpenAccess(two, self.n))
                if written(leaves) != written(other):
                    self._note([f"what leaves of {step.name}, its map for predictions, depends on the rows"])
            x, stays = _through(f, x, stays)
            y, remains = _through(g, y, remains, int(self.removed))
        return apart((x, stays, pair.labels[0]), (y, remains, pair.labels[1]), self.bound)

    def _tested(self, k: int, space: Space, rows: OpenRows) -> Tested:
        incoming = dataclasses.replace(self.shifts[k], conditions=())
        return Tested.of(self.steps[k], self.conditions[k], rows, space, self.n, incoming)

    def _note(self, lies: Iterable[str]) -> None:
        for what in lies:
            self.lies[what] = self.lies.get(what, 0) + 1


def written(fitted: ReleasedMap) -> str:
    """What an artifact would hold of a map that leaves."""
    return f"{type(fitted).__name__} {json.dumps(fitted.to_json(), sort_keys=True)}"


def _through(
    fitted: FittedMap, x: Floats, stays: NDArray[np.bool_], first: int = 0
) -> tuple[Floats, NDArray[np.bool_]]:
    """The rows from `first` on after a map, the one before it of zeros; and which of them stay."""
    rows = x[first:].copy()
    keep = fitted.keep(rows, 0)
    made = fitted.transform(rows)
    y = np.zeros((len(x), made.shape[1]))
    y[first:] = made
    if keep is not None:
        stays = stays & np.r_[np.zeros(first, bool), keep]
    return np.where(stays[:, None], y, 0.0), stays


Beaten = tuple[str, float]


def beaten(found: RowShift, bound: RowShift, slack: float, n: int) -> list[Beaten]:
    """Which of the four numbers are larger than declared, float rounding aside, and how large; the most telling first."""
    out: list[Beaten] = []
    for name in ("total_shift", "rows_dropped", "row_shift", "rows_moved"):
        value, limit = getattr(found, name), getattr(bound, name)
        if value > limit + slack * {"row_shift": 1, "total_shift": n}.get(name, 0):
            out.append((f"{WORDS[name]} declared {limit:.9g}, found {down(value, 6)}", value))
    return out


Standing = tuple[Floats, NDArray[np.bool_], NDArray[np.integer[Any]]]
"""Rows (n, d), which of them are there (n,), and their labels (n,)."""


def apart(first: Standing, second: Standing, bound: RowShift) -> RowShift:
    """How far apart the common rows of two data sets are; row 0 is the record, and does not count."""
    (x, stays, _), (y, remains, _) = first, second
    if bound.any_order:
        return _apart_in_any_order(left_over(first, second), left_over(second, first), bound)
    return _apart(x, y, stays, remains)


def left_over(one: Standing, two: Standing) -> Floats:
    """The rows of one without an equal row of its own among those of the other, the label in column 0."""
    a, b = (np.column_stack([labels, x])[stays] for x, stays, labels in (one, two))
    return _without(a, b)


def _apart(x: Floats, y: Floats, stays: NDArray[np.bool_], remains: NDArray[np.bool_]) -> RowShift:
    """The four numbers for rows 1, 2, ...; a cell missing from both does not count."""
    both = stays & remains
    both[0] = False
    gap = np.nan_to_num(x[both] - y[both])
    far = np.sqrt(np.einsum("ij,ij->i", gap, gap))
    dropped = float((stays[1:] != remains[1:]).sum())
    if not len(far):
        return RowShift(rows_dropped=dropped)
    return RowShift(float((far > 0).sum()), float(far.max()), math.fsum(far), dropped)


def _apart_in_any_order(a: Floats, b: Floats, bound: RowShift) -> RowShift:
    """The four numbers when rows are matched by content, the label in column 0, as kindly as possible.

    a, b: what is left once equal rows are matched, the label in column 0. One row on each side may be the record, or none; the others
    are matched at the least total distance if that is within the declared row shift, and dropped if not.
    """
    found = [
        _matched(
            np.delete(a, slice(i, i + 1), axis=0), np.delete(b, slice(j, j + 1), axis=0), bound.row_shift
        )
        for i in range(len(a) + 1)
        for j in range(len(b) + 1)
    ]
    return min(found, key=lambda s: (s.rows_dropped, s.total_shift))


def _matched(a: Floats, b: Floats, furthest: float) -> RowShift:
    from scipy.optimize import linear_sum_assignment  # a heavy import for one call

    between = a[:, None, 1:] - b[None, :, 1:]
    both = np.isnan(a[:, None, 1:]) & np.isnan(b[None, :, 1:])  # a cell that both miss is the same cell
    cost = np.linalg.norm(np.where(both, 0.0, np.nan_to_num(between, nan=np.inf)), axis=2)
    apart = (a[:, None, 0] != b[None, :, 0]) | ~(cost <= furthest)
    left, right = linear_sum_assignment(np.where(apart, 1e9, cost))
    far = cost[left, right][~apart[left, right]]
    dropped = float(len(a) + len(b) - 2 * len(far))
    return RowShift(float(len(far)), float(far.max(initial=0.0)), math.fsum(far), dropped, any_order=True)


def _without(a: Floats, b: Floats) -> Floats:
    """Rows of a without an equal partner among those of b, counted with multiplicity."""
    partners: dict[bytes, int] = {}
    for row in b + 0.0:  # no minus zero
        partners[row.tobytes()] = partners.get(row.tobytes(), 0) + 1
    left = []
    for row in a + 0.0:
        key = row.tobytes()
        if partners.get(key, 0) > 0:
            partners[key] -= 1
        else:
            left.append(row)
    return np.array(left).reshape(len(left), a.shape[1])
