"""Mean imputation: fill a missing cell with the mean of the observed ones.

Proofs: docs/proofs/impute.md. Source: paper 000, Corollary 4 and Table 3 (corrected: sensitivities.md, section 5).
Missing *categorical* cells are a category of their own and cost nothing; this step is for numeric cells.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from prepriv import payment as pay
from prepriv.domain import Adjacency, Domain, Space, as_space
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
)


def fill_missing(x: Floats, fill: Floats) -> Floats:
    """NaN cells of a block (b, d) replaced by fill (d,)."""
    return np.asarray(np.where(np.isnan(x), fill, x))


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
    """Missing cells become the means of the private columns."""

    fill: Floats

    def transform(self, x: Floats) -> Floats:
        return fill_missing(x, self.fill)


@dataclass(frozen=True)
class _Centred:
    """Observed cells minus the midpoint of their bounds; missing cells zero."""

    rows: Rows
    columns: NDArray[np.intp]
    middle: Floats

    def __iter__(self) -> Iterator[Floats]:
        for block in self.rows:
            x = block[:, self.columns] - self.middle
            x[np.isnan(x)] = 0.0
            yield x


@dataclass(frozen=True)
class MeanImputer(Step):
    """Fill each missing numeric cell with its column's mean (at training only: at prediction, the midpoint).

    Paid for by sensitivity, with declared caps:
      `missing`: at most this share of the records misses the cell (one number, or a dict by column name).
    The mean divides by max(observed, n - cap), so too few observed cells give a flatter fill, never a
    larger one; the number of *filled* cells is what the guarantee is conditional on.
    """

    ways: ClassVar[tuple[str, ...]] = pay.WAYS
    at_prediction: ClassVar[bool] = False

    def caps(self, space: Space, n: int) -> NDArray[np.int64]:
        """Declared cap on the missing cells of each imputable column, in records."""
        declared = self.payment.caps.get("missing", 0.05) if isinstance(self.payment, pay.Sensitivity) else 0.05
        columns = np.flatnonzero(space.may_miss)
        if isinstance(declared, int | float):
            shares = [pay.check_fraction("missing cap", declared)] * len(columns)
        else:
            names = [space.names[j] if space.names else f"x{j}" for j in columns]
            unknown = sorted(set(declared) - set(names))
            if unknown:
                raise ValueError(f"missing caps name {unknown[0]!r}, which is no column to impute")
            shares = [pay.check_fraction(f"missing cap of {c!r}", declared.get(c, 0.05)) for c in names]
        return np.array([min(n - 1, math.ceil(s * n)) for s in shares], dtype=np.int64)

    def output(self, space: Space) -> Space:
        return Space(space.low, space.high, space.radius, np.zeros(space.d, dtype=bool), space.names)

    def sensitivity(self, domain: Domain | Space, n: int, incoming: Sensitivity | None = None) -> Sensitivity:
        """sensitivities.md, section 5: total shift <= sum_j p_j w_j / N_j, N_j = n - p_j, plus what comes in.

        Rows that already moved by tau in total move each mean by another tau / N_j.
        """
        space, n, incoming = as_space(domain), need_n(n), incoming or UNTOUCHED
        if incoming.rows_dropped > 0:
            raise ValueError("MeanImputer cannot follow a step that drops rows: impute first")
        columns = np.flatnonzero(space.may_miss)
        if len(columns) == 0:
            return incoming
        p = self.caps(space, n)
        observed = np.maximum(n - p, 1)
        w = space.widths[columns]
        step = np.minimum((w + incoming.total_shift) / observed, w)
        own = Sensitivity(
            float(min(int(p.sum()), n - 1)),
            float(np.linalg.norm(step)),
            float((p * step).sum()),
            0.0,
            tuple(self._condition(space, int(j), int(c), n) for j, c in zip(columns, p)),
        )
        return incoming.plus(own, n=n)

    @staticmethod
    def _condition(space: Space, j: int, cap: int, n: int) -> str:
        name = space.names[j] if space.names else f"x{j}"
        return f"at most {cap} of the {n} records miss {name!r}"

    def fit_confidential(self, rows: Rows, space: Space, n: int) -> ConfidentialMap:
        columns = np.flatnonzero(space.may_miss)
        p = self.caps(space, n)
        middle = (space.low + space.high)[columns] / 2
        total, seen = np.zeros(len(columns)), np.zeros(len(columns), dtype=np.int64)
        for block in rows:
            seen += (~np.isnan(block[:, columns])).sum(axis=0)
        for block in _Centred(rows, columns, middle):
            total += block.sum(axis=0)
        fill = (space.low + space.high) / 2
        fill[columns] = middle + total / np.maximum(np.maximum(seen, n - p), 1)
        return FillConfidential(fill)

    def prediction_map(self, space: Space) -> ReleasedMap:
        """New rows: the midpoint of the declared bounds."""
        return FillReleased((space.low + space.high) / 2)

    def fit_public(self, rows: Rows, space: Space, n: int) -> ReleasedMap:
        fill = (space.low + space.high) / 2
        columns = np.flatnonzero(space.may_miss)
        total, seen = np.zeros(len(columns)), np.zeros(len(columns), dtype=np.int64)
        for block in rows:
            x = block[:, columns]
            total += np.nansum(x, axis=0)
            seen += (~np.isnan(x)).sum(axis=0)
        fill[columns] = np.where(seen > 0, total / np.maximum(seen, 1), fill[columns])
        return FillReleased(fill)

    def record_shift(self, space: Space, adjacency: Adjacency, incoming: Sensitivity) -> float:
        """Each observed cell, taken from the midpoint, is at most half its width: a record weighs half the diagonal."""
        half = float(np.linalg.norm(space.widths[space.may_miss])) / 2
        record = 2 * half if adjacency == "replace-one" else half
        return (record + incoming.total_shift + half * incoming.rows_dropped) * (1 + 1e-12)

    def fit_budget(self, rows: Rows, space: Space, n: int, gaussian_sum: GaussianSum) -> ReleasedMap:
        columns = np.flatnonzero(space.may_miss)
        fill = (space.low + space.high) / 2
        if len(columns):
            middle = fill[columns]
            half = float(np.linalg.norm(space.widths[columns])) / 2
            total = gaussian_sum(_Centred(rows, columns, middle), dim=len(columns), radius=half)
            fill[columns] = np.clip(middle + total / n, space.low[columns], space.high[columns])
        return FillReleased(fill)
