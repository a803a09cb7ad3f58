"""Trimmed-mean imputation: fill a missing cell with the mean of the observed ones, extremes left out.

Proof: docs/proofs/impute.md. Source: Provable Privacy with Non-Private Pre-Processing, Table 3, derived again (docs/errata.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from prepriv._arguments import number, settle
from prepriv._arrays import Floats
from prepriv.guarantees.premise import at_most
from prepriv.guarantees.printed import exact
from prepriv.preprocessing._columns import ColumnPremise, PremiseColumn, padded, sorted_columns
from prepriv.preprocessing._sums import SUM_ERROR
from prepriv.preprocessing.base import Rows, RowShift
from prepriv.preprocessing.impute_caps import (
    Counts,
    Imputer,
    ImputerCaps,
    MissingCaps,
    Moves,
    Shares,
    by_column,
    midpoints,
)
from prepriv.space import Space


def end_span(cells: Floats, m: int, k: Any = 0) -> Any:
    """x_(N-m+1+k) - x_(m-k): the span of the m-th values from either end, after k changes at the most.

    cells: by rank, with the declared bounds beyond the ends (`padded`). k: a number or an array.
    """
    last = len(cells) - 1
    return cells[np.clip(last - m + k, 0, last)] - cells[np.clip(m - k, 0, last)]


@dataclass(frozen=True)
class EndSpan(ColumnPremise):
    """The m-th greatest observed value is at most `spread` above the m-th least: the values at which trimming cuts."""

    m: int
    spread: float

    def met(self, ranked: Floats) -> bool:
        cells = padded(ranked, self.column.low, self.column.high)
        return bool(end_span(cells, self.m) <= self.spread)

    def distance(self, ranked: Floats) -> float:
        return trimmed_distance(ranked, self.m, self.column.low, self.column.high, self.spread)

    @property
    def says(self) -> str:
        return (
            f"the value of {self.column.name!r} of rank {self.m} from the top is at most {exact(self.spread)} above the "
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


@dataclass(frozen=True, eq=False)
class TrimmedMeanCaps(ImputerCaps):
    """spread: x_(N-m+1) - x_(m), what trimming leaves, is at most this share of the declared width (1: no condition).

    One number, or a dict by column name.
    """

    spread: Shares = 1.0


@dataclass(frozen=True)
class TrimmedMeanImputer(Imputer):
    """Fill each missing numeric cell with the mean of its column without extremes.

    By sensitivity that holds at training only: at prediction, the midpoint of the bounds is filled in.

    Parameters
    ----------
    trim : float, default 0.05
        This share of the n records (rounded up to m records) is left out at each end, in (0, 0.5).
    payment : Public or Sensitivity
        How the means are paid for. By sensitivity, the declared caps are `missing`, `fade` and `spread`
        (`TrimmedMeanImputer.Caps`). A declared spread lowers the price in proportion, and makes the claim conditional
        on it.

    Raises
    ------
    ValueError
        For a trim outside its range, another payment, or caps that it does not have.

    Notes
    -----
    Prefer it to MeanImputer where few extreme values stretch the declared bounds. The mean divides by
    max(observed - 2m, n - cap - 2m), as in MeanImputer. Proof: docs/proofs/impute.md.

    Examples
    --------
    >>> import prepriv
    >>> from prepriv.preprocessing import TrimmedMeanImputer
    >>> TrimmedMeanImputer(payment=prepriv.Sensitivity({"missing": 0.02})).way
    'sensitivity'
    """

    trim: float = 0.05

    ways: ClassVar[tuple[str, ...]] = ("public", "sensitivity")
    why_not: ClassVar[dict[str, str]] = {
        "budget": "no private trimmed mean here; use MeanImputer or MedianImputer by budget"
    }
    Caps: ClassVar[type[TrimmedMeanCaps]] = TrimmedMeanCaps

    def __post_init__(self) -> None:
        super().__post_init__()
        settle(self, trim=number("trim", self.trim, above=0.0, below=0.5))

    def _ends(self, n: int) -> int:
        return math.ceil(self.trim * n)

    def _least(self, caps: MissingCaps) -> Counts:
        """The least number of cells a trimmed mean is divided by, (k,)."""
        least = caps.observed - 2 * self._ends(caps.n)
        if (least < 1).any():
            raise ValueError(
                f"trim={self.trim} and the caps on missing cells leave nothing of {caps.n} records to average"
            )
        return least

    def _spreads(self, caps: MissingCaps, space: Space) -> Floats:
        declared = self.Caps.of(self.name, self.paid).spread
        return by_column("spread", declared, caps.names, 1.0) * space.widths[caps.columns]

    def about_columns(self, caps: MissingCaps, space: Space) -> tuple[EndSpan, ...]:
        """The conditions on the spreads. A spread as wide as the column is not a condition."""
        spreads, m = zip(caps.columns, self._spreads(caps, space)), self._ends(caps.n)
        return tuple(
            EndSpan(PremiseColumn.of(space, j), m, at_most(spread), reading=space.reading)
            for j, spread in spreads
            if spread < space.widths[j]
        )

    def moves(self, caps: MissingCaps, space: Space, incoming: RowShift) -> Moves:
        """A changed record moves a trimmed sum by at most the span of what is left. Shifted rows move it by their shift."""
        least, spreads, w = self._least(caps), self._spreads(caps, space), space.widths[caps.columns]
        own = spreads / least + SUM_ERROR * w
        return Moves(own, own, opposed=spreads >= w, per_unit=1 / least)  # opposed: as for the mean

    def statistics(self, rows: Rows, space: Space, n: int, caps: MissingCaps | None) -> tuple[Floats, Counts]:
        m, middle, columns = self._ends(n), midpoints(space), np.flatnonzero(space.may_miss)
        total, seen = np.zeros(len(columns)), np.zeros(len(columns), dtype=np.int64)
        for k, (j, cells) in enumerate(sorted_columns(rows, columns, n)):
            seen[k] = len(cells)
            total[k] = float((cells[m : max(len(cells) - m, m)] - middle[j]).sum())
        return total / np.maximum(seen - 2 * m, 1 if caps is None else self._least(caps)), seen
