"""Mean imputation: fill a missing cell with the mean of the observed ones.

Proofs: docs/proofs/impute.md. Source: Provable Privacy with Non-Private Pre-Processing, Corollary 4 and Table 3, corrected (docs/errata.md).
Missing *categorical* cells are a category of their own and cost nothing; this step is for numeric cells.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from prepriv import payment as pay
from prepriv.domain import Adjacency, Domain, Space, as_space
from prepriv.mechanisms.handle import Mechanisms
from prepriv.preprocessing._caps import known_caps
from prepriv.preprocessing._sums import SUM_ERROR, Total, pieces
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
from prepriv.preprocessing.impute_caps import MissingCaps, filled_sensitivity


def fill_missing(x: Floats, fill: Floats) -> Floats:
    """NaN cells of a block (b, d) replaced by fill (d,)."""
    return np.asarray(np.where(np.isnan(x), fill, x))


def midpoints(space: Space) -> Floats:
    """Midpoints of the declared bounds, (d,): what a cell becomes when nothing is known of it."""
    return np.asarray((space.low + space.high) / 2)


@dataclass(frozen=True, eq=False)
class FillReleased(ReleasedMap):
    """Missing cells become released values."""

    fill: Floats

    def transform(self, x: Floats) -> Floats:
        return fill_missing(x, self.fill)

    def to_json(self) -> dict[str, Any]:
        return {"map": "fill", "fill": self.fill.tolist()}


@dataclass(frozen=True, eq=False)
class FillConfidential(ConfidentialMap):
    """Missing cells become statistics of the private columns."""

    fill: Floats

    def transform(self, x: Floats) -> Floats:
        return fill_missing(x, self.fill)


@dataclass(frozen=True)
class Centred:
    """Observed cells of some columns minus the midpoint of their bounds; missing cells zero."""

    rows: Rows
    columns: NDArray[np.intp]
    middle: Floats

    def __iter__(self) -> Iterator[Floats]:
        for block in self.rows:
            x = block[:, self.columns] - self.middle
            x[np.isnan(x)] = 0.0
            yield x


def observed_sums(rows: Rows, space: Space, columns: NDArray[np.intp]) -> tuple[Floats, NDArray[np.int64]]:
    """One pass: (sums of the observed cells taken from their midpoints, how many there are), each (k,)."""
    middle = midpoints(space)[columns]
    total, seen = Total(len(columns)), np.zeros(len(columns), dtype=np.int64)
    for piece in pieces(rows):
        x = piece[:, columns] - middle
        gaps = np.isnan(x)
        x[gaps] = 0.0
        total.add(x.sum(axis=0))
        seen += len(x) - gaps.sum(axis=0)
    return total.value, seen


@dataclass(frozen=True)
class MeanImputer(Step):
    """Fill each missing numeric cell with its column's mean (at training only: at prediction, the midpoint).

    Paid for by sensitivity, with declared caps (impute_caps.py):
      `missing`: at most this share of the records misses the cell (one number, or a dict by column name).
      `fade`: 0 (the claim is conditional on `missing`), or a share of the records over which the filling
      fades to the midpoint once more cells than that are missing: then the claim is unconditional.
    The mean divides by max(observed, n - cap), so too few observed cells give a flatter fill, never a
    larger one.
    """

    ways: ClassVar[tuple[str, ...]] = pay.WAYS
    at_prediction: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        known_caps(self.name, self.paid, "missing", "fade")

    def caps(self, space: Space, n: int) -> NDArray[np.int64]:
        """Declared cap on the missing cells of each imputable column, in records."""
        return MissingCaps.of(self.paid, space, n).full

    def output(self, space: Space) -> Space:
        return Space(space.low, space.high, space.radius, np.zeros(space.d, dtype=bool), space.names)

    def sensitivity(self, domain: Domain | Space, n: int, incoming: RowShift | None = None) -> RowShift:
        """docs/proofs/impute.md: total shift <= sum_j p_j w_j / N_j, N_j = n - p_j, plus what comes in.

        Rows that already moved by tau_j in column j move its mean by another tau_j / N_j.
        """
        space, n, incoming = as_space(domain), need_n(n), incoming or UNTOUCHED
        caps = MissingCaps.of(self.paid, space, n)
        w = space.widths[caps.columns]
        own = w / caps.observed + SUM_ERROR * w
        # One cell less moves a mean and its weight in opposite directions: the larger counts, not both.
        return filled_sensitivity(
            self.name, caps, space, n, incoming, own, own, opposed=True, per_unit=1 / caps.observed
        )

    def distance(self, rows: Rows, space: Space, n: int, incoming: RowShift | None = None) -> float:
        """Records that must change before more cells are missing than declared; inf if nothing is assumed."""
        return MissingCaps.of(self.paid, space, n).distance(rows)

    def fit_confidential(self, rows: Rows, space: Space, n: int) -> ConfidentialMap:
        caps = MissingCaps.of(self.paid, space, n)
        total, seen = observed_sums(rows, space, caps.columns)
        fill = midpoints(space)
        fill[caps.columns] += caps.weight(n - seen) * (total / np.maximum(seen, caps.observed))
        return FillConfidential(fill)

    def prediction_map(self, space: Space) -> ReleasedMap:
        """New rows: the midpoint of the declared bounds."""
        return FillReleased(midpoints(space))

    def fit_public(self, rows: Rows, space: Space, n: int) -> ReleasedMap:
        columns = np.flatnonzero(space.may_miss)
        total, seen = observed_sums(rows, space, columns)
        fill = midpoints(space)
        fill[columns] += total / np.maximum(seen, 1)
        return FillReleased(fill)

    def l2_sensitivity(self, space: Space, adjacency: Adjacency, incoming: RowShift) -> float:
        """Taken from its midpoint, a cell is at most half its width: a record weighs half the diagonal.

        A dropped row arrives as a row of zeros, which stands anywhere in (or is pulled back to) that ball.
        """
        half = float(np.linalg.norm(space.widths[space.may_miss])) / 2
        record = 2 * half if adjacency == "replace-one" else half
        return (record + incoming.total_shift + 2 * half * incoming.rows_dropped) * (1 + 1e-12)

    def fit_budget(self, rows: Rows, space: Space, n: int, mechanisms: Mechanisms) -> ReleasedMap:
        columns = np.flatnonzero(space.may_miss)
        fill = midpoints(space)
        half = float(np.linalg.norm(space.widths[columns])) / 2
        if half > 0:  # else all bounds are points, and so are the fillings
            total = mechanisms.sum(Centred(rows, columns, fill[columns]), dim=len(columns), radius=half)
            fill[columns] = np.clip(fill[columns] + total / n, space.low[columns], space.high[columns])
        return FillReleased(fill)
