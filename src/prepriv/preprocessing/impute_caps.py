"""Declared caps on missing cells, and the shift that filling them makes: shared by all imputation steps.

Proof: docs/proofs/impute.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prepriv import payment as pay
from prepriv.domain import Space
from prepriv.preprocessing._caps import shares
from prepriv.preprocessing.base import Floats, Rows, RowShift
from prepriv.preprocessing.condition import Condition

DEFAULT_MISSING = 0.05


@dataclass(frozen=True)
class FewMissing(Condition):
    """At most `cap` of the n records miss the cell of a column."""

    column: int
    name: str
    cap: int
    n: int

    def holds(self, rows: Rows, n: int) -> bool:
        return sum(int(np.isnan(block[:, self.column]).sum()) for block in rows) <= self.cap

    @property
    def sentence(self) -> str:
        return f"at most {self.cap} of the {self.n} records miss {self.name!r}"


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

    @staticmethod
    def of(payment: pay.Way, space: Space, n: int) -> MissingCaps:
        """The caps `missing` and `fade` of a payment by sensitivity (defaults for any other payment)."""
        declared = payment.caps
        columns = np.flatnonzero(space.may_miss)
        names = tuple(space.names[j] if space.names else f"x{j}" for j in columns)
        missing = shares("missing", declared.get("missing", DEFAULT_MISSING), names, DEFAULT_MISSING)
        fade = shares("fade", declared.get("fade", 0.0), names, 0.0)
        full = np.array([min(n - 1, math.ceil(s * n)) for s in missing], dtype=np.int64)
        faded = np.array([math.ceil(s * n) for s in fade], dtype=np.int64)
        return MissingCaps(columns, full, faded, names, n)

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

    def conditions(self) -> tuple[Condition, ...]:
        """What has to hold of the data: a cap that does not fade."""
        return tuple(
            FewMissing(int(j), name, int(cap), self.n)
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


def filled_sensitivity(
    step: str,
    caps: MissingCaps,
    space: Space,
    n: int,
    incoming: RowShift,
    same: Floats,
    changed: Floats,
    *,
    opposed: NDArray[np.bool_] | bool = False,
    per_unit: Floats | float = 0.0,
    lipschitz: float = 1.0,
    conditions: tuple[Condition, ...] = (),
) -> RowShift:
    """The shift after filling, from how far the record moves the statistic of each column.

    same, changed: (k,) in the units of the rows, when the record has its cell in both data sets or neither,
    and when it has it in one only. In the second case the weight changes too, by 1 / fade; opposed: (k,)
    whether that and the move of the statistic cannot add up. per_unit: (k,) further move per unit of the
    column's incoming shift. lipschitz: Lipschitz constant of the fitted map for rows that differ already.
    Common rows miss the same cells in both data sets: no step before an imputer may change which cells are
    missing. Raises ValueError after a step that drops rows.
    """
    if incoming.rows_dropped > 0:
        raise ValueError(f"{step} cannot follow a step that drops rows: impute first")
    if len(caps.columns) == 0:
        return incoming
    w, tau = space.widths[caps.columns], incoming.total_shift
    rows, full = caps.rows.astype(float), caps.full_rows
    fading = np.where(caps.fade > 0, w / (2 * np.maximum(caps.fade, 1)), 0.0)

    def largest(at_full: Floats, at_all: Floats) -> Floats:
        """The two cases, the statistic counted at_full and the change of weight at_all times."""
        one, two = at_full * changed, at_all * fading
        return np.maximum(at_full * same, np.where(opposed, np.maximum(one, two), one + two))

    some = (rows > 0).astype(float)
    own = np.minimum(largest(some, some), w)
    unit = np.broadcast_to(np.asarray(per_unit, dtype=float), own.shape)
    row = float(np.linalg.norm(own)) + tau * float((some * unit).max())
    total = float(np.minimum(largest(full, rows), rows * w).sum()) + tau * float(np.linalg.norm(full * unit))
    moved = float(min(rows.sum(), n - 1))
    made = RowShift(moved, row, total, 0.0, caps.conditions() + conditions)
    return incoming.through(lipschitz).plus(made, n=n)
