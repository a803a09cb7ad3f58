"""Each column to its rank among public rows, a number in [0, 1]. Free of charge: public rows alone make the map.

Proof that it is a fixed map of one row: docs/proofs/pillar.md (Privacy).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from prepriv._arguments import integer, names, settle
from prepriv._arrays import Floats
from prepriv.preprocessing._columns import sorted_columns
from prepriv.preprocessing.base import ReleasedMap, Rows, Step
from prepriv.preprocessing.scale_map import chosen_columns, unit_columns
from prepriv.preprocessing.stored_map import StoredMap
from prepriv.space import Space


@dataclass(frozen=True, eq=False)
class Ranks(StoredMap):
    """x -> share of the mass below x, half of the mass at x included, column by column.

    columns: (k,) features it works on. knots: (k, q), ascending in each row: the quantiles at levels
    0, 1/(q - 1), ..., 1. Between two knots the rank is linear; below the first it is 0 and beyond the last 1.
    """

    written_as: ClassVar[str] = "ranks"

    columns: NDArray[np.intp]
    knots: Floats

    def __post_init__(self) -> None:
        k, q = self.knots.shape
        if self.columns.shape != (k,) or q < 2 or (self.columns < 0).any():
            raise ValueError("columns and knots do not fit together")
        if not np.isfinite(self.knots).all() or (np.diff(self.knots, axis=1) < 0).any():
            raise ValueError("knots must be finite and ascending")

    def transform(self, x: Floats) -> Floats:
        out = np.array(x, dtype=np.float64)
        for j, knots in zip(self.columns, self.knots):
            out[:, j] = _rank(out[:, j], knots)
        return out


def _rank(x: Floats, knots: Floats) -> Floats:
    """Ranks of values (b,), each by itself: the same bits wherever a value stands."""
    last = len(knots) - 1
    left, right = np.searchsorted(knots, x, "left"), np.searchsorted(knots, x, "right")
    below, above = np.clip(left - 1, 0, last), np.clip(left, 0, last)
    width = knots[above] - knots[below]
    share = np.clip((x - knots[below]) / np.where(width > 0, width, 1.0), 0.0, 1.0)
    rank = np.where(right > left, (left + right - 1) / 2, np.clip(left - 1, 0, last) + share)
    rank = np.where(x > knots[-1], float(last), np.where(x < knots[0], 0.0, rank))
    return np.asarray(rank / last)


@dataclass(frozen=True)
class QuantileTransform(Step):
    """Turn each column into its rank in [0, 1] by the quantiles of public rows.

    Parameters
    ----------
    levels : int, default 100
        The quantiles are at `levels` + 1 evenly spaced ranks.
    columns : sequence of str, optional
        Names of the features. None: all of them.
    payment : Public
        The public rows whose quantiles are taken.

    Raises
    ------
    ValueError
        For a setting out of range, or another payment.

    Notes
    -----
    It is for skewed columns: their units and outliers no longer matter. Ties get the middle of their ranks. It is not
    a Lipschitz map, so it cannot follow a step paid for by sensitivity. If a column is constant among the public
    rows, that value becomes 1/2, and values below and above it become 0 and 1. Commands and estimators refuse such a
    column before any charge. After a private fit it is noticed only later, when it must not end a run. Proof:
    docs/proofs/pillar.md.

    Examples
    --------
    >>> from prepriv import Public
    >>> from prepriv.preprocessing import QuantileTransform
    >>> QuantileTransform(levels=4, payment=Public([[0.0], [1.0], [10.0]])).way
    'public'
    """

    levels: int = 100
    columns: Sequence[str] | None = None

    ways: ClassVar[tuple[str, ...]] = ("public",)
    why_not: ClassVar[dict[str, str]] = {
        "budget": "no method here: MinMaxScaler finds two private quantiles of a column",
        "sensitivity": "one record moves a rank by 1/n and every row with it, and ranks jump where values are "
        "close: no useful bound exists",
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        settle(self, levels=integer("levels", self.levels, at_most=10**6))
        if self.columns is not None:
            settle(self, columns=names("columns", self.columns))

    def output(self, space: Space) -> Space:
        return unit_columns(space, chosen_columns(self.name, space, self.columns))

    def lipschitz(self, space: Space) -> float:
        return math.inf

    def check_public(self, n: int, rows: Rows | None, space: Space) -> None:
        if rows is None:
            return
        for j, cells in sorted_columns(rows, chosen_columns(self.name, space, self.columns), n):
            if not len(cells) or cells[0] == cells[-1]:
                name = space.names[j] if space.names else f"x{j}"
                raise ValueError(
                    f"{name!r} is constant among the public rows and has no ranks: leave it out of columns"
                )

    def fit_public(self, rows: Rows, space: Space, n: int) -> ReleasedMap:
        columns = chosen_columns(self.name, space, self.columns)
        levels = np.linspace(0.0, 1.0, int(self.levels) + 1)
        knots = np.empty((len(columns), len(levels)))
        for at, (_, cells) in enumerate(sorted_columns(rows, columns, n)):
            knots[at] = np.maximum.accumulate(np.quantile(cells, levels))
        return Ranks(columns, knots)
