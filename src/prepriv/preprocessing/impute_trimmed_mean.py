"""Trimmed-mean imputation: fill a missing cell with the mean of the observed ones, extremes left out.

Proof: docs/proofs/impute.md. Source: Provable Privacy with Non-Private Pre-Processing, Table 3, derived again (docs/errata.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from prepriv._arguments import number, settle
from prepriv.domain import Domain, Space, as_space
from prepriv.guarantees.printed import exact
from prepriv.preprocessing._caps import known_caps, shares
from prepriv.preprocessing._columns import Column, padded, sorted_columns
from prepriv.preprocessing._sums import SUM_ERROR
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


def end_span(cells: Floats, m: int, k: Any = 0) -> Any:
    """x_(N-m+1+k) - x_(m-k): the span of the m-th values from either end, after k changes at the most.

    cells: by rank, with the declared bounds beyond the ends (`padded`). k: a number or an array.
    """
    last = len(cells) - 1
    return cells[np.clip(last - m + k, 0, last)] - cells[np.clip(m - k, 0, last)]


@dataclass(frozen=True)
class EndSpan(Condition):
    """The m-th greatest observed value is at most `spread` above the m-th least: the values at which trimming cuts."""

    column: Column
    m: int
    spread: float

    def holds(self, rows: Rows, n: int) -> bool:
        cells = padded(self.column.ranked(rows, n), self.column.low, self.column.high)
        return bool(end_span(cells, self.m) <= self.spread)

    @property
    def sentence(self) -> str:
        return (
            f"the value of {self.column.title} of rank {self.m} from the top is at most {exact(self.spread)} above the "
            f"one of rank {self.m} from the bottom, {self.column.units}"
        )


def trimmed_distance(ascending: Floats, m: int, low: float, high: float, spread: float) -> float:
    """A lower bound of how many records must change before x_(N-m+1) - x_(m) exceeds `spread`; inf: never.

    The least k with x_(N-m+1+k) - x_(m-k) > spread, the declared bounds beyond the ends: a change moves each
    rank by at most one, so this is 1-Lipschitz.
    """
    grown = end_span(padded(ascending, low, high), m, np.arange(max(m, 0) + 1))
    above = np.flatnonzero(grown > spread)
    return float(above[0]) if len(above) else math.inf


@dataclass(frozen=True)
class TrimmedMeanImputer(Step):
    """Fill each missing numeric cell with the mean of its column without its extremes (prediction: midpoint).

    trim: this share of the n records (rounded up to m records) is left out at each end, in (0, 0.5).
    Prefer it to MeanImputer where few extreme values stretch the declared bounds. Paid for by sensitivity
    with declared caps: `missing` and `fade` as in MeanImputer, and optionally
      `spread`: x_(N-m+1) - x_(m), what trimming leaves, is at most this share of the declared width;
      it divides the price by as much, and makes the claim conditional on it.
    The mean divides by max(observed - 2m, n - cap - 2m), as in MeanImputer.
    """

    trim: float = 0.05

    ways: ClassVar[tuple[str, ...]] = ("public", "sensitivity")
    why_not: ClassVar[dict[str, str]] = {
        "budget": "no private trimmed mean here; use MeanImputer or MedianImputer by budget"
    }
    at_prediction: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        settle(self, trim=number("trim", self.trim, above=0.0, below=0.5))
        known_caps(self.name, self.paid, "missing", "fade", "spread")

    def output(self, space: Space) -> Space:
        return Space(space.low, space.high, space.radius, np.zeros(space.d, dtype=bool), space.names)

    def _ends(self, n: int) -> int:
        return math.ceil(self.trim * n)

    def _least(self, caps: MissingCaps) -> NDArray[np.int64]:
        """The least number of cells a trimmed mean is divided by, (k,)."""
        least = caps.observed - 2 * self._ends(caps.n)
        if (least < 1).any():
            raise ValueError(
                f"trim={self.trim} and the caps on missing cells leave nothing of {caps.n} records to average"
            )
        return least

    def _spreads(self, caps: MissingCaps, space: Space) -> Floats:
        declared = self.paid.caps.get("spread", 1.0)
        return np.array(shares("spread", declared, caps.names, 1.0)) * space.widths[caps.columns]

    def _spans(self, caps: MissingCaps, space: Space) -> tuple[EndSpan, ...]:
        """The conditions on the spreads; a spread as wide as the column is none."""
        spreads, m = zip(caps.columns, self._spreads(caps, space)), self._ends(caps.n)
        return tuple(
            EndSpan(Column.of(space, j), m, at_most(spread))
            for j, spread in spreads
            if spread < space.widths[j]
        )

    def sensitivity(self, domain: Domain | Space, n: int, incoming: RowShift | None = None) -> RowShift:
        """A changed record moves a trimmed sum by the span of what is left, shifted rows by their shift."""
        space, n, incoming = as_space(domain), need_n(n), incoming or UNTOUCHED
        caps = MissingCaps.of(self.paid, space, n)
        least, spreads, w = self._least(caps), self._spreads(caps, space), space.widths[caps.columns]
        own = spreads / least + SUM_ERROR * w
        return filled_sensitivity(
            self.name,
            caps,
            space,
            n,
            incoming,
            own,
            own,
            opposed=spreads >= w,  # as for the mean
            per_unit=1 / least,
            conditions=self._spans(caps, space),
        )

    def distance(self, rows: Rows, space: Space, n: int, incoming: RowShift | None = None) -> float:
        """Records that must change before a cap on missing cells or a declared spread fails."""
        caps = MissingCaps.of(self.paid, space, n)
        spans = {c.column.index: c for c in self._spans(caps, space)}
        least, records = caps.distance(rows), (incoming or UNTOUCHED).records
        for j, cells in sorted_columns(rows, np.array(sorted(spans), dtype=np.intp), n):
            c = spans[j]
            reach = trimmed_distance(cells, c.m, c.column.low, c.column.high, c.spread)
            least = min(least, reach / records)
        return least

    def _sums(self, rows: Rows, space: Space, n: int) -> tuple[Floats, NDArray[np.int64]]:
        """(trimmed sums taken from the midpoints, observed counts), each (d,)."""
        m, middle = self._ends(n), midpoints(space)
        total, seen = np.zeros(space.d), np.zeros(space.d, dtype=np.int64)
        for j, cells in sorted_columns(rows, np.flatnonzero(space.may_miss), n):
            seen[j] = len(cells)
            total[j] = float((cells[m : max(len(cells) - m, m)] - middle[j]).sum())
        return total, seen

    def fit_confidential(self, rows: Rows, space: Space, n: int) -> ConfidentialMap:
        caps = MissingCaps.of(self.paid, space, n)
        total, seen = self._sums(rows, space, n)
        j, fill = caps.columns, midpoints(space)
        divisor = np.maximum(seen[j] - 2 * self._ends(n), self._least(caps))
        fill[j] += caps.weight(n - seen[j]) * (total[j] / divisor)
        return FillConfidential(fill)

    def prediction_map(self, space: Space) -> ReleasedMap:
        """New rows: the midpoint of the declared bounds."""
        return FillReleased(midpoints(space))

    def fit_public(self, rows: Rows, space: Space, n: int) -> ReleasedMap:
        total, seen = self._sums(rows, space, n)
        return FillReleased(midpoints(space) + total / np.maximum(seen - 2 * self._ends(n), 1))
