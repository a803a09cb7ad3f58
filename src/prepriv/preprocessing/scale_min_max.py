"""Min-max scaling to [0, 1]: by the range of public rows, or by private quantiles. Never by sensitivity.

Proof that no useful bound exists, and of the private quantiles: docs/proofs/scale.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from prepriv._arguments import length, names, number, settle
from prepriv._arrays import Floats
from prepriv.adjacency import Adjacency
from prepriv.mechanisms.handle import Mechanisms
from prepriv.preprocessing._histogram import histogram_shift, noisy_quantiles
from prepriv.preprocessing.base import ReleasedMap, Rows, RowShift, Step
from prepriv.preprocessing.scale_map import Affine, ScaleReleased, chosen_columns, unit_columns
from prepriv.space import Space


@dataclass(frozen=True)
class MinMaxScaler(Step):
    """Scale each column to [0, 1] by its lowest and highest usual value. Values beyond them are clipped.

    Parameters
    ----------
    floor : float, default 0.05
        The smallest range to divide by, as a share of the column's declared width, in (0, 1].
    lowest, highest : float, default 0.01 and 0.99
        The quantile levels that count as lowest and highest when they are found privately. Public rows give their
        true minimum and maximum.
    columns : sequence of str, optional
        Names of the features to scale. None: all of them.
    payment : Public or Budget
        How the ranges are paid for. By sensitivity no useful bound exists.

    Raises
    ------
    ValueError
        For a setting out of range, or another payment.

    Notes
    -----
    Declared bounds already scale columns to [0, 1] for free. Use this step only if they are much wider than the data.
    Proof: docs/proofs/scale.md.

    Examples
    --------
    >>> import prepriv
    >>> from prepriv.preprocessing import MinMaxScaler
    >>> space = prepriv.Domain.box(0, 1e6, features=2, classes=[0, 1]).space
    >>> MinMaxScaler(payment=prepriv.Budget()).output(space).high.tolist()
    [1.0, 1.0]
    """

    floor: float = 0.05
    lowest: float = 0.01
    highest: float = 0.99
    columns: tuple[str, ...] | None = None

    ways: ClassVar[tuple[str, ...]] = ("public", "budget")
    why_not: ClassVar[dict[str, str]] = {
        "sensitivity": "one record can move the least or greatest value across the whole domain, and every "
        "row with it: no useful bound exists; use declared bounds (free), public rows, or private quantiles "
        "(budget)"
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        settle(self, floor=length("floor", number("floor", self.floor, above=0.0, at_most=1.0)))
        lowest = number("lowest", self.lowest, at_least=0.0, below=1.0)
        settle(self, lowest=lowest, highest=number("highest", self.highest, above=lowest, at_most=1.0))
        if self.columns is not None:
            settle(self, columns=names("columns", self.columns))

    def output(self, space: Space) -> Space:
        return unit_columns(space, chosen_columns(self.name, space, self.columns))

    def lipschitz(self, space: Space) -> float:
        columns = chosen_columns(self.name, space, self.columns)
        steepest = 1 / (self.floor * float(space.widths[columns].min()))
        return max(1.0, steepest) if len(columns) < space.d else steepest

    def _map(self, space: Space, least: Floats, greatest: Floats) -> ReleasedMap:
        columns, after = chosen_columns(self.name, space, self.columns), self.output(space)
        width = np.maximum(greatest - least, self.floor * space.widths[columns])
        offset, factor = np.zeros(space.d), np.ones(space.d)
        offset[columns] = (least + greatest - width) / 2
        factor[columns] = 1 / width
        return ScaleReleased(Affine(offset, factor, after.low, after.high, after.radius))

    def fit_public(self, rows: Rows, space: Space, n: int) -> ReleasedMap:
        columns = chosen_columns(self.name, space, self.columns)
        least, greatest = space.high[columns].copy(), space.low[columns].copy()
        for block in rows:
            x = block[:, columns]
            least = np.minimum(least, x.min(axis=0, initial=np.inf))
            greatest = np.maximum(greatest, x.max(axis=0, initial=-np.inf))
        return self._map(space, np.minimum(least, greatest), greatest)

    def l2_sensitivity(self, space: Space, adjacency: Adjacency, incoming: RowShift) -> float:
        return histogram_shift(space, chosen_columns(self.name, space, self.columns), adjacency, incoming)

    def fit_budget(self, rows: Rows, space: Space, n: int, mechanisms: Mechanisms) -> ReleasedMap:
        columns = chosen_columns(self.name, space, self.columns)
        least, greatest = noisy_quantiles(rows, space, columns, (self.lowest, self.highest), mechanisms)
        return self._map(space, least, greatest)
