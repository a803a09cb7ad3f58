"""Quantization: by good clusters (Provable Privacy with Non-Private Pre-Processing, Proposition 3, corrected) and to the centres of a declared grid.

Proofs: docs/proofs/quantize.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from prepriv._arguments import choice, settle
from prepriv._arrays import Floats
from prepriv._rounding import FAR_UP
from prepriv.domain import Domain, as_space
from prepriv.preprocessing._cells import CELL_SLACK, Cells, check_cells
from prepriv.preprocessing._crowd import (
    CrowdCaps,
    Uncrowded,
    changed_rows,
    check_eta,
    cluster_grid,
    crowd_distance,
)
from prepriv.preprocessing._grid import RowGrid
from prepriv.preprocessing._neighbours import Clusters, as_keys, read_points
from prepriv.preprocessing.base import (
    UNTOUCHED,
    ConfidentialMap,
    ReleasedMap,
    Rows,
    RowShift,
    Step,
    check_positive,
    need_filled,
    need_n,
)
from prepriv.space import Space

_CHUNK = 2**16


@dataclass(frozen=True, eq=False)
class Snap(ConfidentialMap):
    """Rows cut to a grid; those listed in `keys` (sorted) become `images[target]`, the others stay."""

    grid: RowGrid
    keys: NDArray[Any]
    target: NDArray[np.int64]
    images: Floats

    def transform(self, x: Floats) -> Floats:
        ints = self.grid.ints(x)
        y = ints * self.grid.step
        if len(self.keys):
            keys = as_keys(ints.astype(np.float32))
            at = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
            listed = self.keys[at] == keys
            y[listed] = self.images[self.target[at[listed]]]
        return np.asarray(y)


@dataclass(frozen=True)
class Quantize(Step):
    """Replace every row of a good cluster by its representative. Rows that are in no good cluster stay.

    Parameters
    ----------
    eta : float
        The distance within which rows count as near, in the units of the rows as they reach the step.
    representative : {"centre", "mean"}, default "centre"
        The first good centre by content, or the mean of the cluster's rows.
    payment : Sensitivity
        With the declared cap `max_neighbors` = m (default 10): no record has more than m records within 4 eta of it. One
        replaced record then moves at most 2 (m - 1) common rows, each by at most 2 eta and all of them by 2 (m - 1) eta
        (one eta more for means).

    Raises
    ------
    ValueError
        For a setting out of range, or another payment.

    Notes
    -----
    Good clusters are defined as in `Deduplicate`, but labels do not matter. Rows are first rounded to 2^-23 of the
    declared radius. Source: Provable Privacy with Non-Private Pre-Processing, Proposition 3, corrected. Proof:
    docs/proofs/quantize.md.

    Examples
    --------
    >>> import prepriv
    >>> from prepriv.preprocessing import Quantize
    >>> step = Quantize(0.01, payment=prepriv.Sensitivity({"max_neighbors": 5}))
    >>> step.sensitivity(prepriv.Domain.ball(3, [0, 1]), n=1000).rows_moved
    8.0
    """

    eta: float
    representative: Literal["centre", "mean"] = "centre"

    ways: ClassVar[tuple[str, ...]] = ("sensitivity",)
    why_not: ClassVar[dict[str, str]] = {
        "public": "clusters of other rows; QuantizeCells needs no data and is free",
        "budget": "representatives are records and cannot be released; QuantizeCells is free",
    }
    at_prediction: ClassVar[bool] = False
    Caps: ClassVar[type[CrowdCaps]] = CrowdCaps

    def __post_init__(self) -> None:
        super().__post_init__()
        settle(self, eta=check_eta(self.eta))
        choice("representative", self.representative, ("centre", "mean"))

    @property
    def after_drops(self) -> bool:
        return False  # the zero rows of dropped ones would be neighbours of each other

    def output(self, space: Space) -> Space:
        need_filled(self.name, space)
        step = cluster_grid(space.radius).step  # rows are cut towards zero: out of the box by a step at most
        return replace(space, low=space.low - step, high=space.high + step)

    def _uncrowded(self, space: Space) -> Uncrowded:
        return Uncrowded.of(CrowdCaps.of(self.name, self.paid).max_neighbors, self.eta, space)

    def sensitivity(self, domain: Domain | Space, n: int, incoming: RowShift | None = None) -> RowShift:
        """For each record that differs, 2 (m - 1) rows move by eta on average and by 2 eta at most.

        For means it is 4 eta after a step that moved rows, and one eta more in all for each record that differs.
        """
        space, n, incoming = as_space(domain), need_n(n), incoming or UNTOUCHED
        need_filled(self.name, space)
        few = self._uncrowded(space)
        m, incoming = few.m, cluster_grid(space.radius).propagate(incoming, space.d)
        came = incoming.rows_moved
        others = max(0.0, min(changed_rows(m, incoming), n - 1.0 - came))  # common rows that came unmoved
        mean = self.representative == "mean"
        wide = self.output(space).diameter * FAR_UP  # of rows on the grid
        eta = min(self.eta, wide) * FAR_UP if m > 1 or came > 0 else 0.0
        row = (4 if mean and came > 0 else 2) * eta
        # Centres: eta, and eta more where both centres are points that differ. Means: docs/proofs/quantize.md.
        total = eta * (others + 1 + came if mean else min(changed_rows(m, incoming), 2 * others))
        total += came * row
        own = RowShift(others + came, row, total, 0.0, (few,))
        both = incoming.plus(own, n=n).within(wide)
        return replace(
            both,
            rows_moved=own.rows_moved,
            total_shift=min(both.total_shift, own.rows_moved * both.row_shift),
        )

    def distance(self, rows: Rows, space: Space, n: int, incoming: RowShift | None = None) -> float:
        """m + 1 - H, where H is the h-index of the counts of rows within 8 eta, divided by the number of records that may differ."""
        need_filled(self.name, space)
        grid = cluster_grid(space.radius)
        x = read_points(rows, grid, space.d, need_n(n))
        return crowd_distance([x], grid, self._uncrowded(space), incoming)

    def fit_confidential(self, rows: Rows, space: Space, n: int) -> ConfidentialMap:
        need_filled(self.name, space)
        grid = cluster_grid(space.radius)
        clusters = Clusters.of(read_points(rows, grid, space.d, n), grid, self.eta)
        points, which = clusters.rows.points, clusters.representative
        size = np.bincount(which, minlength=len(which) + 1)
        members = np.flatnonzero(size[which] > 1) if len(which) else which
        members = members[which[members] < len(which)]
        centres, target = np.unique(which[members], return_inverse=True)
        if self.representative == "centre":
            images = points[centres].astype(np.float64) * grid.step
        else:
            images = _means(points, clusters.rows.count, members, target, len(centres)) * grid.step
        return Snap(grid, as_keys(points[members]), target.astype(np.int64), images)


def _means(
    points: NDArray[Any],
    count: NDArray[np.int64],
    members: NDArray[np.int64],
    target: NDArray[np.int64],
    clusters: int,
) -> Floats:
    """Mean of the rows of each cluster, (clusters, d): exact integer sums, one rounded division."""
    total = np.zeros((clusters, points.shape[1]))
    order = np.argsort(target, kind="stable")
    for start in range(0, len(order), _CHUNK):
        part = order[start : start + _CHUNK]
        starts = np.flatnonzero(np.diff(target[part], prepend=-1))
        rows = points[members[part]].astype(np.float64) * count[members[part]][:, None]
        total[target[part[starts]]] += np.add.reduceat(rows, starts, axis=0)
    weight = np.bincount(target, weights=count[members], minlength=clusters)
    return np.asarray(total / weight[:, None])


@dataclass(frozen=True)
class QuantizeCells(Step):
    """Move each row to the centre of its cell in a declared grid of cubes. Free.

    Parameters
    ----------
    side : float
        Side of the cells, in the units of the rows. No row moves by more than side sqrt(d) / 2, apart from clipping
        to the declared box and ball.
    offset : float, default 0.0
        Where the centre of one cell is, in every coordinate.
    payment : None
        The step depends on no data.

    Raises
    ------
    ValueError
        For a side that is not positive.

    Notes
    -----
    Proof: docs/proofs/quantize.md.

    Examples
    --------
    >>> import numpy as np, prepriv
    >>> from prepriv.preprocessing import QuantizeCells
    >>> space = prepriv.Domain.box(0, 1, features=2, classes=[0, 1]).space
    >>> QuantizeCells(0.25).free(space).transform(np.array([[0.3, 0.6]])).tolist()
    [[0.25, 0.5]]
    """

    side: float
    offset: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_cells(self)
        check_positive("side", self.side)

    def output(self, space: Space) -> Space:
        self.free(space)  # refuses what no run could do
        return space.with_origin()  # a centre outside the ball is pulled towards it

    def lipschitz(self, space: Space) -> float:
        """Rounding is not a Lipschitz map; see `propagate`."""
        return math.inf

    def propagate(self, space: Space, incoming: RowShift) -> RowShift:
        """Two versions of a row are at most one diagonal further apart than before."""
        if incoming.rows_moved == 0:
            return incoming
        diagonal = self.side * math.sqrt(space.d) * CELL_SLACK
        row = min(incoming.row_shift + diagonal, space.diameter)
        total = min(incoming.total_shift + incoming.rows_moved * diagonal, incoming.rows_moved * row)
        return replace(incoming, row_shift=row, total_shift=total)

    def free(self, space: Space) -> ReleasedMap:
        need_filled(self.name, space)
        return Cells.of(self.side, self.offset, space)
