"""Median imputation: fill a missing cell with the (lower) median of the observed ones.

Proof: docs/proofs/impute.md. Source: Provable Privacy with Non-Private Pre-Processing, Table 3, derived again (docs/errata.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from prepriv._arrays import Floats
from prepriv.adjacency import Adjacency
from prepriv.guarantees.premise import at_most
from prepriv.guarantees.printed import exact
from prepriv.mechanisms.handle import Mechanisms
from prepriv.preprocessing._columns import ColumnPremise, PremiseColumn, padded, sorted_columns
from prepriv.preprocessing._histogram import histogram_shift, noisy_quantiles
from prepriv.preprocessing.base import ReleasedMap, Rows, RowShift
from prepriv.preprocessing.impute_caps import (
    Counts,
    FillReleased,
    Imputer,
    ImputerCaps,
    MissingCaps,
    Moves,
    Shares,
    by_column,
    midpoints,
)
from prepriv.space import Space

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
class NearMedian(ColumnPremise):
    """The observed values next to the lower median, by rank, are at most `gap` away from it, on either side."""

    gap: float

    def met(self, ranked: Floats) -> bool:
        cells = padded(ranked, self.column.low, self.column.high)
        return median_gap(cells, (len(ranked) + 1) // 2) <= self.gap

    def distance(self, ranked: Floats) -> float:
        return median_distance(ranked, self.column.low, self.column.high, self.gap)

    @property
    def says(self) -> str:
        return (
            f"of the N values of {self.column.name!r} in order, those of rank ceil(N/2) - 1 and ceil(N/2) + 1 (beyond "
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


@dataclass(frozen=True, eq=False)
class MedianCaps(ImputerCaps):
    """gap: the observed values next to the median are at most this share of the declared width away from it.

    One number, or a dict by column name (elsewhere the whole width: a median can jump across it).
    """

    gap: Shares | None = None

    @staticmethod
    def _check_shares(name: str, declared: Any) -> None:
        if declared is not None:
            ImputerCaps._check_shares(name, declared)


@dataclass(frozen=True)
class MedianImputer(Imputer):
    """Fill each missing numeric cell with the median of its column.

    By sensitivity that holds at training only: at prediction, the midpoint of the bounds is filled in.

    Parameters
    ----------
    payment : Public, Budget or Sensitivity
        How the medians are paid for. By sensitivity, the declared caps are `missing`, `fade` and `gap`
        (`MedianImputer.Caps`). By budget, they come from a noisy histogram.

    Raises
    ------
    ValueError
        Without a payment, or for caps that it does not have.

    Notes
    -----
    Prefer it to MeanImputer for skewed columns that are dense around the median. A changed record moves a median by
    at most one rank. Shifted rows move it by at most the largest shift. Proof: docs/proofs/impute.md.

    Examples
    --------
    >>> import prepriv
    >>> from prepriv.preprocessing import MedianImputer
    >>> MedianImputer(payment=prepriv.Budget()).way
    'budget'
    """

    Caps: ClassVar[type[MedianCaps]] = MedianCaps

    def _gaps(self, caps: MissingCaps, space: Space) -> Floats:
        declared = self.Caps.of(self.name, self.paid).gap
        if declared is None:
            raise ValueError("MedianImputer needs a declared cap: gap, a share of the width, in (0, 1]")
        return by_column("gap", declared, caps.names, 1.0) * space.widths[caps.columns]

    def about_columns(self, caps: MissingCaps, space: Space) -> tuple[NearMedian, ...]:
        """The conditions on the gaps. A gap as wide as the column is not a condition."""
        gaps = zip(caps.columns, self._gaps(caps, space))
        return tuple(
            NearMedian(PremiseColumn.of(space, j), at_most(gap), reading=space.reading)
            for j, gap in gaps
            if gap < space.widths[j]
        )

    def moves(self, caps: MissingCaps, space: Space, incoming: RowShift) -> Moves:
        own = self._gaps(caps, space) + incoming.row_shift + _ROUNDING * space.widths[caps.columns]
        return Moves(own, own)

    def statistics(self, rows: Rows, space: Space, n: int, caps: MissingCaps | None) -> tuple[Floats, Counts]:
        columns = np.flatnonzero(space.may_miss)
        middle = midpoints(space)[columns]
        found = [
            (lower_median(cells, middle[k]), len(cells))
            for k, (_, cells) in enumerate(sorted_columns(rows, columns, n))
        ]
        medians, seen = np.array(found).reshape(-1, 2).T
        return medians - middle, seen.astype(np.int64)

    def l2_sensitivity(self, space: Space, adjacency: Adjacency, incoming: RowShift) -> float:
        return histogram_shift(space, np.flatnonzero(space.may_miss), adjacency, incoming)

    def fit_budget(self, rows: Rows, space: Space, n: int, mechanisms: Mechanisms) -> ReleasedMap:
        columns = np.flatnonzero(space.may_miss)
        fill = midpoints(space)
        if len(columns):
            fill[columns] = noisy_quantiles(rows, space, columns, (0.5,), mechanisms)[0]
        return FillReleased(fill)
