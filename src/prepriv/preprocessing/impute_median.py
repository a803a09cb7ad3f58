"""Median imputation: fill a missing cell with the (lower) median of the observed ones.

Proof: docs/proofs/impute.md. Source: Provable Privacy with Non-Private Pre-Processing, Table 3, derived again (docs/errata.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from prepriv import payment as pay
from prepriv.domain import Adjacency, Domain, Space, as_space
from prepriv.guarantees.printed import exact
from prepriv.mechanisms.handle import Mechanisms
from prepriv.preprocessing._caps import known_caps, shares
from prepriv.preprocessing._columns import Column, padded, sorted_columns
from prepriv.preprocessing._histogram import histogram_shift, noisy_quantiles
from prepriv.preprocessing.base import (
    UNTOUCHED,
    ConfidentialMap,
    Floats,
    ReleasedMap,
    Rows,
    RowShift,
    Step,
    need_n,
)
from prepriv.preprocessing.condition import Condition, at_most
from prepriv.preprocessing.impute import FillConfidential, FillReleased, midpoints
from prepriv.preprocessing.impute_caps import MissingCaps, filled_sensitivity

_ROUNDING = 2.0**-50  # of the width: a filling is the midpoint and what was taken from it


def lower_median(ascending: Floats, otherwise: float) -> float:
    """The order statistic of rank ceil(N / 2) of N sorted numbers; `otherwise` if there are none."""
    n = len(ascending)
    return float(ascending[(n + 1) // 2 - 1]) if n else otherwise


def median_gap(cells: Floats, h: int, k: int = 0) -> float:
    """The largest gap next to the value of rank h after k changes: max over 0 <= t <= k + 1 of x_(h+t) - x_(h+t-k-1).

    cells: by rank, with the declared bounds beyond the ends (`padded`).
    """
    top, last = np.arange(h, h + k + 2), len(cells) - 1
    return float((cells[np.clip(top, 0, last)] - cells[np.clip(top - k - 1, 0, last)]).max())


@dataclass(frozen=True)
class NearMedian(Condition):
    """The observed values next to the lower median, by rank, are at most `gap` away from it, on either side."""

    column: Column
    gap: float

    def holds(self, rows: Rows, n: int) -> bool:
        cells = self.column.ranked(rows, n)
        return median_gap(padded(cells, self.column.low, self.column.high), (len(cells) + 1) // 2) <= self.gap

    @property
    def sentence(self) -> str:
        return (
            f"of the N values of {self.column.title} in order, those of rank ceil(N/2) - 1 and ceil(N/2) + 1 (beyond "
            f"the ends, the bounds) are at most {exact(self.gap)} from the one between, {self.column.units}"
        )


def median_distance(ascending: Floats, low: float, high: float, gap: float) -> float:
    """Records that must change (any cell, missing or not) before a gap next to the median exceeds `gap`.

    Exact: after k changes the largest such gap is max over 0 <= t <= k + 1 of x_(h+t) - x_(h+t-k-1), with
    h = ceil(N / 2) and the declared bounds beyond the ends. inf if `gap` is the whole width.
    """
    n = len(ascending)
    h, cells = (n + 1) // 2, padded(ascending, low, high)
    if median_gap(cells, h, n + 1) <= gap:
        return math.inf
    few, many = 0, n + 1  # the gap after `many` changes is too large, and it grows with k
    while few < many:
        k = (few + many) // 2
        few, many = (few, k) if median_gap(cells, h, k) > gap else (k + 1, many)
    return float(few)


@dataclass(frozen=True)
class MedianImputer(Step):
    """Fill each missing numeric cell with its column's median (at prediction: the midpoint of the bounds).

    Prefer it to MeanImputer for skewed columns that are dense around the median. Paid for by sensitivity with
    declared caps: `missing` and `fade` as in MeanImputer, and
      `gap`: the observed values next to the median are at most this share of the declared width away from it
      (one number, or a dict by column name). Without it a median can jump across the whole width.
    By budget: the median of a noisy histogram.
    """

    ways: ClassVar[tuple[str, ...]] = pay.WAYS
    at_prediction: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        known_caps(self.name, self.paid, "missing", "fade", "gap")

    def output(self, space: Space) -> Space:
        return Space(space.low, space.high, space.radius, np.zeros(space.d, dtype=bool), space.names)

    def _gaps(self, caps: MissingCaps, space: Space) -> Floats:
        declared = self.paid.caps.get("gap")
        if declared is None:
            raise ValueError("MedianImputer needs a declared cap: gap, a share of the width, in (0, 1]")
        return np.array(shares("gap", declared, caps.names, 1.0)) * space.widths[caps.columns]

    def _near(self, caps: MissingCaps, space: Space) -> tuple[NearMedian, ...]:
        """The conditions on the gaps; a gap as wide as the column is none."""
        gaps = zip(caps.columns, self._gaps(caps, space))
        return tuple(
            NearMedian(Column.of(space, j), at_most(gap)) for j, gap in gaps if gap < space.widths[j]
        )

    def sensitivity(self, domain: Domain | Space, n: int, incoming: RowShift | None = None) -> RowShift:
        """A changed record moves a median by a rank at most, shifted rows by the largest shift at most."""
        space, n, incoming = as_space(domain), need_n(n), incoming or UNTOUCHED
        caps = MissingCaps.of(self.paid, space, n)
        gaps = self._gaps(caps, space)
        conditions = self._near(caps, space)
        own = gaps + incoming.row_shift + _ROUNDING * space.widths[caps.columns]
        return filled_sensitivity(self.name, caps, space, n, incoming, own, own, conditions=conditions)

    def distance(self, rows: Rows, space: Space, n: int, incoming: RowShift | None = None) -> float:
        """Records that must change before a cap on missing cells or a gap fails."""
        caps = MissingCaps.of(self.paid, space, n)
        near = {c.column.index: c for c in self._near(caps, space)}
        least, records = caps.distance(rows), (incoming or UNTOUCHED).records
        for j, cells in sorted_columns(rows, np.array(sorted(near), dtype=np.intp), n):
            low, high = near[j].column.low, near[j].column.high
            least = min(least, median_distance(cells, low, high, near[j].gap) / records)
        return least

    def _medians(self, rows: Rows, space: Space, n: int) -> tuple[Floats, NDArray[np.int64]]:
        """(medians in place of the midpoints, observed counts), each (d,)."""
        fill, seen = midpoints(space), np.zeros(space.d, dtype=np.int64)
        for j, cells in sorted_columns(rows, np.flatnonzero(space.may_miss), n):
            fill[j], seen[j] = lower_median(cells, fill[j]), len(cells)
        return fill, seen

    def fit_confidential(self, rows: Rows, space: Space, n: int) -> ConfidentialMap:
        caps = MissingCaps.of(self.paid, space, n)
        medians, seen = self._medians(rows, space, n)
        j, fill = caps.columns, midpoints(space)
        fill[j] += caps.weight(n - seen[j]) * (medians[j] - fill[j])
        return FillConfidential(fill)

    def prediction_map(self, space: Space) -> ReleasedMap:
        """New rows: the midpoint of the declared bounds."""
        return FillReleased(midpoints(space))

    def fit_public(self, rows: Rows, space: Space, n: int) -> ReleasedMap:
        return FillReleased(self._medians(rows, space, n)[0])

    def l2_sensitivity(self, space: Space, adjacency: Adjacency, incoming: RowShift) -> float:
        return histogram_shift(space, np.flatnonzero(space.may_miss), adjacency, incoming)

    def fit_budget(self, rows: Rows, space: Space, n: int, mechanisms: Mechanisms) -> ReleasedMap:
        columns = np.flatnonzero(space.may_miss)
        fill = midpoints(space)
        if len(columns):
            fill[columns] = noisy_quantiles(rows, space, columns, (0.5,), mechanisms)[0]
        return FillReleased(fill)
