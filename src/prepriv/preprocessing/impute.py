"""Mean imputation: fill a missing cell with the mean of the observed ones.

Proofs: docs/proofs/impute.md. Source: Provable Privacy with Non-Private Pre-Processing, Corollary 4 and Table 3, corrected (docs/errata.md).
Missing *categorical* cells are a category of their own and cost nothing; this step is for numeric cells.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prepriv._arrays import Floats
from prepriv._rounding import UP
from prepriv.adjacency import Adjacency, rows_changed
from prepriv.mechanisms.handle import Mechanisms
from prepriv.preprocessing._sums import SUM_ERROR, Total, pieces
from prepriv.preprocessing.base import ReleasedMap, Rows, RowShift
from prepriv.preprocessing.impute_caps import Counts, FillReleased, Imputer, MissingCaps, Moves, midpoints
from prepriv.space import Space


@dataclass(frozen=True)
class CellsAndGaps:
    """Two numbers of each of k columns, rows (b, 2 k): of an observed cell its distance from the midpoint, of a gap half the width.

    The other of the two is zero, so a record counts with at most half the diagonal of the columns, whatever it misses.
    """

    rows: Rows
    columns: NDArray[np.intp]
    middle: Floats
    half: Floats

    def __iter__(self) -> Iterator[Floats]:
        for block in self.rows:
            x = block[:, self.columns] - self.middle
            gaps = np.isnan(x)
            x[gaps] = 0.0
            yield np.hstack([x, gaps * self.half])


def observed_sums(rows: Rows, space: Space, columns: NDArray[np.intp]) -> tuple[Floats, Counts]:
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
class MeanImputer(Imputer):
    """Fill each missing numeric cell with the mean of the observed cells of its column.

    By sensitivity that holds at training only: at prediction, the midpoint of the bounds is filled in.

    Parameters
    ----------
    payment : Public, Budget or Sensitivity
        How the means are paid for. By sensitivity, the declared caps are `missing` and `fade` (`MeanImputer.Caps`).

    Raises
    ------
    ValueError
        Without a payment, or for caps that it does not have.

    Notes
    -----
    By sensitivity, the mean divides by max(observed, n - cap). So with too few observed cells the fill is closer to the
    midpoint, never further away. By budget, one noisy sum holds the observed cells and the gaps of each column, and the
    fill is their ratio. It is drawn to the midpoint where few more cells are observed than the noise of their number. The
    total shift by sensitivity is sum_j p_j w_j / N_j with N_j = n - p_j, and p_j tau_j / N_j more if rows
    have already moved. Source: Provable Privacy with Non-Private Pre-Processing, corrected. Proof:
    docs/proofs/impute.md.

    Examples
    --------
    >>> from prepriv import Domain, Numeric, Sensitivity
    >>> from prepriv.preprocessing import MeanImputer
    >>> space = Domain({"age": Numeric(0, 100, missing="impute")}, classes=[0, 1]).space
    >>> step = MeanImputer(payment=Sensitivity(MeanImputer.Caps(missing=0.02)))
    >>> round(step.sensitivity(space, n=1000).total_shift, 4)  # of cells scaled to 0..1
    0.0204
    """

    def moves(self, caps: MissingCaps, space: Space, incoming: RowShift) -> Moves:
        """One missing cell more moves a mean and its weight in opposite directions. So the larger of the two counts, not their sum."""
        w = space.widths[caps.columns]
        own = w / caps.observed + SUM_ERROR * w
        return Moves(own, own, opposed=True, per_unit=1 / caps.observed)

    def statistics(self, rows: Rows, space: Space, n: int, caps: MissingCaps | None) -> tuple[Floats, Counts]:
        total, seen = observed_sums(rows, space, np.flatnonzero(space.may_miss))
        return total / np.maximum(seen, 1 if caps is None else caps.observed), seen

    def l2_sensitivity(self, space: Space, adjacency: Adjacency, incoming: RowShift) -> float:
        """A cell is at most half the width of its column from the midpoint, and a gap counts with that. So a record counts with half the diagonal.

        A row that moves keeps its gaps. A dropped row arrives as a row of zeros, which can be anywhere in that ball, or is
        pulled back to it.
        """
        half = float(np.linalg.norm(space.widths[space.may_miss])) / 2
        record = rows_changed(adjacency) * half
        return (record + incoming.total_shift + 2 * half * incoming.rows_dropped) * UP

    def fit_budget(self, rows: Rows, space: Space, n: int, mechanisms: Mechanisms) -> ReleasedMap:
        columns = np.flatnonzero(space.may_miss)
        fill, half = midpoints(space), space.widths[columns] / 2
        radius = float(np.linalg.norm(space.widths[columns])) / 2
        if radius > 0:  # else all bounds are points, and so are the fillings
            cells = CellsAndGaps(rows, columns, fill[columns], half)
            above, gaps = np.split(mechanisms.sum(cells, dim=2 * len(columns), radius=radius), 2)
            noise = mechanisms.noise_multiplier * mechanisms.l2_sensitivity
            share = _noisy_ratio(above, n * half - gaps, n * half, noise)
            fill[columns] = np.clip(fill[columns] + half * share, space.low[columns], space.high[columns])
        return FillReleased(fill)


def _noisy_ratio(top: Floats, bottom: Floats, most: Floats, noise: float) -> Floats:
    """top / bottom, both with the same noise, of a bottom in [0, most]; drawn to 0 where the bottom is not above its noise.

    It is top * bottom / (bottom^2 + 2 noise^2), where 2 noise^2 is the expected square of the noise of both.
    """
    bottom = np.clip(bottom, 0.0, most)
    return np.asarray(top * bottom / np.maximum(bottom * bottom + 2.0 * noise * noise, 1e-300))
