"""Median imputation: fill a missing cell with the (lower) median of the observed ones.

Proof: docs/proofs/impute.md. Source: paper 000, Table 3, derived again (docs/errata.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from prepriv import payment as pay
from prepriv.domain import Adjacency, Domain, Space, as_space
from prepriv.guarantees.printed import CONDITION_DIGITS, down
from prepriv.preprocessing._caps import known_caps, shares
from prepriv.preprocessing._columns import sorted_columns
from prepriv.preprocessing._histogram import histogram_shift, noisy_quantiles
from prepriv.preprocessing.base import (
    UNTOUCHED,
    ConfidentialMap,
    Floats,
    GaussianSum,
    ReleasedMap,
    Rows,
    Sensitivity,
    Step,
    need_n,
    scaled,
)
from prepriv.preprocessing.impute import FillConfidential, FillReleased, midpoints
from prepriv.preprocessing.impute_caps import MissingCaps, filled_sensitivity


def lower_median(ascending: Floats, otherwise: float) -> float:
    """The order statistic of rank ceil(N / 2) of N sorted numbers; `otherwise` if there are none."""
    n = len(ascending)
    return float(ascending[(n + 1) // 2 - 1]) if n else otherwise


def median_distance(ascending: Floats, low: float, high: float, gap: float) -> float:
    """Records that must change (any cell, missing or not) before a gap next to the median exceeds `gap`.

    Exact: after k changes the largest such gap is max over 0 <= t <= k + 1 of x_(h+t) - x_(h+t-k-1), with
    h = ceil(N / 2) and the declared bounds beyond the ends. inf if `gap` is the whole width.
    """
    n = len(ascending)
    h = (n + 1) // 2
    padded = np.concatenate([[low], ascending, [high]])

    def largest(k: int) -> float:
        top = np.arange(h, h + k + 2)
        return float((padded[np.clip(top, 0, n + 1)] - padded[np.clip(top - k - 1, 0, n + 1)]).max())

    if largest(n + 1) <= gap:
        return math.inf
    few, many = 0, n + 1  # largest(many) > gap, and largest grows with k
    while few < many:
        k = (few + many) // 2
        few, many = (few, k) if largest(k) > gap else (k + 1, many)
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
        known_caps(self.name, self.payment, "missing", "fade", "gap")

    def output(self, space: Space) -> Space:
        return Space(space.low, space.high, space.radius, np.zeros(space.d, dtype=bool), space.names)

    def _gaps(self, caps: MissingCaps, space: Space) -> Floats:
        declared = self.payment.caps.get("gap") if isinstance(self.payment, pay.Sensitivity) else None
        if declared is None:
            raise ValueError("MedianImputer needs a declared cap: gap, a share of the width, in (0, 1]")
        return np.array(shares("gap", declared, caps.names, 1.0)) * space.widths[caps.columns]

    def sensitivity(self, domain: Domain | Space, n: int, incoming: Sensitivity | None = None) -> Sensitivity:
        """A changed record moves a median by a rank at most, shifted rows by the largest shift at most."""
        space, n, incoming = as_space(domain), need_n(n), incoming or UNTOUCHED
        caps = MissingCaps.of(self.payment, space, n)
        gaps = self._gaps(caps, space)
        conditions = tuple(
            f"the values of {name!r} next to its median are at most {down(gap, CONDITION_DIGITS)} away from it "
            + scaled(name, space.low[j], space.high[j])
            for name, gap, j in zip(caps.names, gaps, caps.columns)
            if gap < space.widths[j]
        )
        own = gaps + incoming.row_shift
        return filled_sensitivity(self.name, caps, space, n, incoming, own, own, conditions=conditions)

    def distance(self, rows: Rows, space: Space, n: int) -> float:
        """Records that must change before a cap on missing cells or a gap fails."""
        caps = MissingCaps.of(self.payment, space, n)
        gaps = dict(zip(caps.columns.tolist(), self._gaps(caps, space)))
        least = caps.distance(rows)
        for j, cells in sorted_columns(rows, caps.columns, n):
            least = min(least, median_distance(cells, float(space.low[j]), float(space.high[j]), gaps[j]))
        return least

    def _medians(self, rows: Rows, space: Space, n: int) -> tuple[Floats, NDArray[np.int64]]:
        """(medians in place of the midpoints, observed counts), each (d,)."""
        fill, seen = midpoints(space), np.zeros(space.d, dtype=np.int64)
        for j, cells in sorted_columns(rows, np.flatnonzero(space.may_miss), n):
            fill[j], seen[j] = lower_median(cells, fill[j]), len(cells)
        return fill, seen

    def fit_confidential(self, rows: Rows, space: Space, n: int) -> ConfidentialMap:
        caps = MissingCaps.of(self.payment, space, n)
        medians, seen = self._medians(rows, space, n)
        j, fill = caps.columns, midpoints(space)
        fill[j] += caps.weight(n - seen[j]) * (medians[j] - fill[j])
        return FillConfidential(fill)

    def prediction_map(self, space: Space) -> ReleasedMap:
        """New rows: the midpoint of the declared bounds."""
        return FillReleased(midpoints(space))

    def fit_public(self, rows: Rows, space: Space, n: int) -> ReleasedMap:
        return FillReleased(self._medians(rows, space, n)[0])

    def record_shift(self, space: Space, adjacency: Adjacency, incoming: Sensitivity) -> float:
        return histogram_shift(space, np.flatnonzero(space.may_miss), adjacency, incoming)

    def fit_budget(self, rows: Rows, space: Space, n: int, gaussian_sum: GaussianSum) -> ReleasedMap:
        columns = np.flatnonzero(space.may_miss)
        fill = midpoints(space)
        if len(columns):
            fill[columns] = noisy_quantiles(rows, space, columns, (0.5,), gaussian_sum)[0]
        return FillReleased(fill)
