"""Deduplication: by good clusters (Provable Privacy with Non-Private Pre-Processing, Proposition 3, corrected) and by cells of a declared grid.

Proofs: docs/proofs/deduplicate.md. At training only: new rows are scored as they are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from prepriv import payment as pay
from prepriv._arguments import settle, truth
from prepriv._arrays import Floats
from prepriv._rounding import UP
from prepriv.domain import Domain, as_space
from prepriv.preprocessing._cells import CELL_SLACK, Cells, check_cells
from prepriv.preprocessing._crowd import (
    CrowdCaps,
    Uncrowded,
    changed_rows,
    check_eta,
    cluster_grid,
    crowd_distance,
    rows_by_label,
)
from prepriv.preprocessing._neighbours import Clusters, Distinct, read_points
from prepriv.preprocessing.base import (
    UNTOUCHED,
    ConfidentialMap,
    LabelledRows,
    ReleasedMap,
    Rows,
    RowShift,
    Step,
    need_filled,
    need_n,
)
from prepriv.space import Space


@dataclass(frozen=True, eq=False)
class Drop(ConfidentialMap):
    """Keep the rows marked in `kept` (n,), by their number; `cells` moves what stays to its centre."""

    kept: NDArray[np.bool_]
    cells: ReleasedMap | None = None

    def transform(self, x: Floats) -> Floats:
        return x if self.cells is None else self.cells.transform(x)

    def keep(self, x: Floats, start: int) -> NDArray[np.bool_]:
        return self.kept[start : start + len(x)]


def labels_of(step: Step, rows: Rows, n: int) -> NDArray[Any] | None:
    """The class indices that came with the rows if the step reads them. ValueError if they are missing."""
    if not step.reads_labels:
        return None
    if not isinstance(rows, LabelledRows):
        raise ValueError(f"{step.name} compares labels too: it must be handed rows with `labels`")
    labels = np.asarray(rows.labels)
    if labels.shape != (n,):
        raise ValueError(f"labels must have one entry for each of the {n} rows; got shape {labels.shape}")
    return labels


@dataclass(frozen=True)
class _Dropping(Step):
    """What both steps share: they drop rows, and the model does not need them on new rows."""

    ways: ClassVar[tuple[str, ...]] = ("sensitivity",)
    at_prediction: ClassVar[bool] = False

    @property
    def drops(self) -> bool:
        return True

    @property
    def after_drops(self) -> bool:
        return False  # the zero rows of dropped ones would be neighbours of each other

    def output(self, space: Space) -> Space:
        need_filled(self.name, space)
        return space.with_origin()  # a dropped row is a row of zeros, and the record may be one


@dataclass(frozen=True)
class Deduplicate(_Dropping):
    """Keep one row of each good cluster, a centre. Rows that are in no good cluster all stay.

    Parameters
    ----------
    eta : float
        The distance within which rows count as near, in the units of the rows as they reach the step.
    by_label : bool, default False
        If true, rows with different labels never count as near.
    payment : Sensitivity
        With the declared cap `max_neighbors` = m (default 10): no record has more than m records within 4 eta of it. One
        replaced record then changes the fate of at most 2 (m - 1) common rows.

    Raises
    ------
    ValueError
        For an eta that is not positive, or another payment.

    Notes
    -----
    A row c is a good centre if every row within 3 eta of it is within eta (closed balls). Its cluster is all rows
    within eta. Of several centres, the first by content stays, and of equal rows the first. Distances are exact,
    after rows are rounded to 2^-23 of the declared radius. The step acts at training only: new rows are scored as
    they are. Source: Provable Privacy with Non-Private Pre-Processing, Proposition 3, corrected. Proof:
    docs/proofs/deduplicate.md.

    Examples
    --------
    >>> import prepriv
    >>> from prepriv.preprocessing import Deduplicate
    >>> step = Deduplicate(0.01, payment=prepriv.Sensitivity({"max_neighbors": 5}))
    >>> step.sensitivity(prepriv.Domain.ball(3, [0, 1]), n=1000).rows_dropped
    8.0
    """

    eta: float
    by_label: bool = False

    why_not: ClassVar[dict[str, str]] = {
        "public": "which rows are duplicates cannot be learnt from other rows",
        "budget": "which rows are duplicates cannot be released; DeduplicateCells costs nothing",
    }
    Caps: ClassVar[type[CrowdCaps]] = CrowdCaps

    def __post_init__(self) -> None:
        super().__post_init__()
        settle(self, eta=check_eta(self.eta))
        truth("by_label", self.by_label)

    @property
    def reads_labels(self) -> bool:
        return self.by_label

    def _uncrowded(self, space: Space) -> Uncrowded:
        m = CrowdCaps.of(self.name, self.paid).max_neighbors
        return Uncrowded.of(m, self.eta, space, by_label=self.by_label)

    def sensitivity(self, domain: Domain | Space, n: int, incoming: RowShift | None = None) -> RowShift:
        """rows_dropped is 2 (m - 1) for each record that differs, plus the moved rows themselves."""
        space, n, incoming = as_space(domain), need_n(n), incoming or UNTOUCHED
        need_filled(self.name, space)
        few = self._uncrowded(space)
        dropped = min(changed_rows(few.m, incoming) + incoming.rows_moved, n - 1.0)
        own = RowShift(rows_dropped=dropped, conditions=(few,))
        return incoming.plus(own, n=n)

    def distance(self, rows: Rows, space: Space, n: int, incoming: RowShift | None = None) -> float:
        """m + 1 - H, where H is the h-index of the counts of rows within 8 eta, divided by the number of records that may differ."""
        need_filled(self.name, space)
        grid = cluster_grid(space.radius)
        x = read_points(rows, grid, space.d, need_n(n))
        groups = rows_by_label(x, labels_of(self, rows, len(x)))
        return crowd_distance([x[g] for g in groups], grid, self._uncrowded(space), incoming)

    def fit_confidential(self, rows: Rows, space: Space, n: int) -> ConfidentialMap:
        need_filled(self.name, space)
        grid = cluster_grid(space.radius)
        x = read_points(rows, grid, space.d, n)
        kept = np.zeros(len(x), dtype=bool)
        for group in rows_by_label(x, labels_of(self, rows, len(x))):
            clusters = Clusters.of(x[group], grid, self.eta)
            same, centre = clusters.rows, clusters.representative
            kept[group] = (centre == len(centre))[same.inverse]  # in no good cluster
            kept[group[same.first[centre == np.arange(len(centre))]]] = True
        return Drop(kept)


@dataclass(frozen=True)
class DeduplicateCells(_Dropping):
    """For each label and each cell of a declared grid, keep only one row: the first by content.

    Parameters
    ----------
    side : float, default 0.0
        Side of the cubic cells, in the units of the rows. 0: only equal rows are duplicates.
    offset : float, default 0.0
        Where the centre of one cell is, in every coordinate.
    centre : bool, default True
        Whether the row that stays moves to the centre of its cell.
    payment : Sensitivity
        No caps are needed.

    Raises
    ------
    ValueError
        For a negative side, or another payment.

    Notes
    -----
    The bound is unconditional. With centre, or with side = 0, the step costs nothing: the rows that stay are the
    occupied cells, and one record occupies one cell. Otherwise a cell may keep another row, so that one row moves by
    a diagonal. Rows are matched by content (`any_order`), so nothing that follows may depend on their order. Proof:
    docs/proofs/deduplicate.md.

    Examples
    --------
    >>> import prepriv
    >>> from prepriv.preprocessing import DeduplicateCells
    >>> step = DeduplicateCells(0.1, payment=prepriv.Sensitivity())
    >>> step.sensitivity(prepriv.Domain.ball(3, [0, 1]), n=1000).total_shift
    0.0
    """

    side: float = 0.0
    offset: float = 0.0
    centre: bool = True

    why_not: ClassVar[dict[str, str]] = {
        "public": "which rows are duplicates cannot be learnt from other rows",
        "budget": "by sensitivity it costs nothing",
    }
    Caps: ClassVar[type[pay.Caps]] = pay.Caps

    def __post_init__(self) -> None:
        super().__post_init__()
        check_cells(self)
        truth("centre", self.centre)

    @property
    def reads_labels(self) -> bool:
        return True

    def output(self, space: Space) -> Space:
        Cells.of(self.side, self.offset, space)  # refuses a side with too many cells
        return super().output(space)

    def sensitivity(self, domain: Domain | Space, n: int, incoming: RowShift | None = None) -> RowShift:
        """No shift, or one row by a diagonal. A row that has already moved could leave one cell and fill another."""
        space, n, incoming = as_space(domain), need_n(n), incoming or UNTOUCHED
        need_filled(self.name, space)
        if incoming.rows_dropped > 0:
            raise ValueError(f"{self.name} cannot follow a step that drops rows: deduplicate once")
        if incoming.rows_moved > 0:
            raise ValueError(
                f"{self.name} cannot follow a step paid for by sensitivity that moves rows: put it first, "
                "or use Deduplicate"
            )
        if self.centre or self.side == 0:
            return RowShift(conditions=incoming.conditions, any_order=True)
        diagonal = min(self.side * math.sqrt(space.d) * CELL_SLACK, space.diameter) * UP
        return RowShift(1.0, diagonal, diagonal, 0.0, incoming.conditions, any_order=True)

    def fit_confidential(self, rows: Rows, space: Space, n: int) -> ConfidentialMap:
        need_filled(self.name, space)
        cells = Cells.of(self.side, self.offset, space)
        content = self.side > 0 and not self.centre  # else rows of a cell are, or become, equal
        where = np.zeros((n, space.d), dtype=np.int32 if self.side > 0 else np.float64)
        x = np.zeros((n, space.d)) if content else where
        at = 0
        for block in rows:
            where[at : at + len(block)] = cells.index(block)
            if content:
                x[at : at + len(block)] = block
            at += len(block)
        kept = np.zeros(n, dtype=bool)
        for group in rows_by_label(where, labels_of(self, rows, n)):
            cell = Distinct.of(where[group]).inverse
            rank = Distinct.of(x[group]).inverse if content else cell
            order = np.lexsort((rank, cell))
            first = np.ones(len(group), dtype=bool)
            first[1:] = cell[order[1:]] != cell[order[:-1]]
            kept[group[order[first]]] = True
        return Drop(kept, cells if self.centre and self.side > 0 else None)
