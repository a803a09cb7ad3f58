"""Trimmed-mean imputation: fill a missing cell with the mean of the observed ones, extremes left out.

Proof: docs/proofs/impute.md. Source: paper 000, Table 3, derived again (docs/errata.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from prepriv import payment as pay
from prepriv.domain import Domain, Space, as_space
from prepriv.guarantees.printed import CONDITION_DIGITS, down
from prepriv.preprocessing._caps import known_caps, shares
from prepriv.preprocessing._columns import sorted_columns
from prepriv.preprocessing._sums import SUM_ERROR
from prepriv.preprocessing.base import (
    UNTOUCHED,
    ConfidentialMap,
    Floats,
    ReleasedMap,
    Rows,
    Sensitivity,
    Step,
    need_n,
    scaled,
)
from prepriv.preprocessing.impute import FillConfidential, FillReleased, midpoints
from prepriv.preprocessing.impute_caps import MissingCaps, filled_sensitivity


def trimmed_distance(ascending: Floats, m: int, low: float, high: float, spread: float) -> float:
    """A lower bound of how many records must change before x_(N-m+1) - x_(m) exceeds `spread`; inf: never.

    The least k with x_(N-m+1+k) - x_(m-k) > spread, the declared bounds beyond the ends: a change moves each
    rank by at most one, so this is 1-Lipschitz.
    """
    n = len(ascending)
    padded = np.concatenate([[low], ascending, [high]])
    k = np.arange(max(m, 0) + 1)
    grown = padded[np.clip(n - m + 1 + k, 0, n + 1)] - padded[np.clip(m - k, 0, n + 1)]
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
        if not (isinstance(self.trim, int | float) and 0 < self.trim < 0.5):
            raise ValueError(f"trim must lie in (0, 0.5); got {self.trim}")
        known_caps(self.name, self.payment, "missing", "fade", "spread")

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
        declared = self.payment.caps.get("spread", 1.0) if isinstance(self.payment, pay.Sensitivity) else 1.0
        return np.array(shares("spread", declared, caps.names, 1.0)) * space.widths[caps.columns]

    def sensitivity(self, domain: Domain | Space, n: int, incoming: Sensitivity | None = None) -> Sensitivity:
        """A changed record moves a trimmed sum by the span of what is left, shifted rows by their shift."""
        space, n, incoming = as_space(domain), need_n(n), incoming or UNTOUCHED
        caps = MissingCaps.of(self.payment, space, n)
        least, spreads, w = self._least(caps), self._spreads(caps, space), space.widths[caps.columns]
        conditions = tuple(
            f"{name!r} without its {self._ends(n)} least and greatest values spans at most {down(spread, CONDITION_DIGITS)} "
            + scaled(name, space.low[j], space.high[j])
            for name, spread, j in zip(caps.names, spreads, caps.columns)
            if spread < space.widths[j]
        )
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
            conditions=conditions,
        )

    def distance(self, rows: Rows, space: Space, n: int) -> float:
        """Records that must change before a cap on missing cells or a declared spread fails."""
        caps = MissingCaps.of(self.payment, space, n)
        spreads = self._spreads(caps, space)
        least = caps.distance(rows)
        if (spreads < space.widths[caps.columns]).any():
            by_column = dict(zip(caps.columns.tolist(), spreads))
            m = self._ends(n)
            for j, cells in sorted_columns(rows, caps.columns, n):
                reach = trimmed_distance(cells, m, float(space.low[j]), float(space.high[j]), by_column[j])
                least = min(least, reach)
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
        caps = MissingCaps.of(self.payment, space, n)
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
