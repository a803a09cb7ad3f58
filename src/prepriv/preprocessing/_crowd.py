"""What deduplication and quantization by good clusters share: the declared cap of neighbours, and its test.

Proof: docs/proofs/deduplicate.md. Source: Provable Privacy with Non-Private Pre-Processing, Proposition 3 (false as printed: docs/errata.md).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from prepriv import payment as pay
from prepriv._arguments import integer
from prepriv._arrays import Floats
from prepriv._rounding import FAR_UP, UP
from prepriv.guarantees.premise import Premise, at_least, radius_units
from prepriv.guarantees.printed import exact
from prepriv.preprocessing._grid import RowGrid, finite_rows
from prepriv.preprocessing._neighbours import (
    CROWD_BITS,
    Distinct,
    Points,
    count_within,
    h_index,
)
from prepriv.preprocessing.base import UNTOUCHED, LabelledRows, Rows, RowShift, check_positive
from prepriv.space import Space


def cluster_grid(radius: float) -> RowGrid:
    """Rows are compared on this grid: 2^-23 of the radius or finer."""
    return RowGrid.of(radius, CROWD_BITS)


def check_eta(eta: float) -> float:
    """A positive distance, or ValueError."""
    return check_positive("eta", eta)


@dataclass(frozen=True, eq=False)
class CrowdCaps(pay.Caps):
    """max_neighbors: the most records within 4 eta of one record (of its label), itself included."""

    max_neighbors: int = 10
    renamed: ClassVar[Mapping[str, str]] = MappingProxyType({"crowd": "max_neighbors"})

    def __post_init__(self) -> None:
        object.__setattr__(self, "max_neighbors", integer("max_neighbors", self.max_neighbors))


@dataclass(frozen=True)
class Uncrowded(Premise):
    """No record has more than m records (of its label) within `reach` of it, itself included. In any part, none has more.

    d, radius: dimension and declared norm of the rows. The records need not be cut to the grid: `reach` is 4 eta and
    all that the cut can hide (docs/proofs/deduplicate.md, "Exactness").
    """

    m: int
    reach: float
    d: int
    radius: float
    by_label: bool = False

    inherited: ClassVar[bool] = True

    @staticmethod
    def of(m: int, eta: float, space: Space, *, by_label: bool = False) -> Uncrowded:
        """The condition of clusters of radius eta."""
        hidden = 2 * math.sqrt(space.d) * cluster_grid(space.radius).step
        reach = (4 * eta + hidden) * FAR_UP  # and what floats do to a distance
        return Uncrowded(m, at_least(reach), space.d, space.radius, by_label, reading=space.reading)

    def holds(self, rows: Rows, n: int) -> bool:
        x = np.zeros((n, self.d))
        at = 0
        for block in rows:
            x[at : at + len(block)] = finite_rows(block)
            at += len(block)
        labels = rows.labels if self.by_label and isinstance(rows, LabelledRows) else None
        return all(self._few(x[group]) for group in rows_by_label(x, labels))

    def _few(self, x: Floats) -> bool:
        """Of the rows of one label. Only rows with many others near them on the grid are looked at again."""
        grid = cluster_grid(self.radius)
        distinct = Distinct.of(grid.ints(x).astype(np.float32))
        wide = _squared(grid, self.reach + math.sqrt(self.d) * grid.step)
        (near,) = count_within(distinct.points, distinct.count, [wide])
        crowded = np.flatnonzero(near[distinct.inverse] > self.m)
        for i in crowded:
            apart = x - x[i]
            if (np.einsum("ij,ij->i", apart, apart) <= self.reach**2).sum() > self.m:
                return False
        return True

    @property
    def says(self) -> str:
        whose = " of its label" if self.by_label else ""
        return (
            f"no record has more than {self.m} records{whose} within {exact(self.reach)} of it, itself included, "
            f"{radius_units(self.radius)}"
        )

    @property
    def read(self) -> str:
        return self.reading.words + (f", and {self.reading.label_words}" if self.by_label else "")


def _squared(grid: RowGrid, reach: float) -> int:
    """A bound on squared distances in steps that no pair within `reach` exceeds."""
    return math.ceil((reach / grid.step) ** 2 * UP)


def changed_rows(m: int, incoming: RowShift) -> float:
    """Common unmoved rows that may fare differently: those within 4 eta of a point that differs.

    The replaced record and every moved row differ in two points each; around each stand at most m - 1 others.
    """
    if incoming.rows_dropped > 0:
        raise ValueError("clusters cannot follow a step that drops rows: deduplicate once, or quantize first")
    return 2.0 * (1 + incoming.rows_moved) * (m - 1)


def crowd_distance(
    groups: Sequence[Points], grid: RowGrid, condition: Uncrowded, incoming: RowShift | None
) -> float:
    """m + 1 - H, H the h-index of the counts within twice the reach: above zero only if the condition holds.

    1-Lipschitz: one record changes each other count by at most one, and how many counts there are by at most
    one; and a ball of the reach with k records holds k records with counts >= k. Rows are cut to the grid, which puts
    two of them further apart by sqrt(d) steps at most.
    """
    within = _squared(grid, 2 * condition.reach + math.sqrt(condition.d) * grid.step)
    counts: list[NDArray[np.int64]] = []
    weights: list[NDArray[np.int64]] = []
    for x in groups:
        rows = Distinct.of(x)
        counts += count_within(rows.points, rows.count, [within])
        weights.append(rows.count)
    most = h_index(np.concatenate(counts), np.concatenate(weights)) if counts else 0
    return float(condition.m + 1 - most) / (incoming or UNTOUCHED).records


def rows_by_label(x: NDArray[Any], labels: NDArray[Any] | None) -> list[NDArray[np.intp]]:
    """Row numbers of each label, or of all rows."""
    if labels is None:
        return [np.arange(len(x))]
    if len(labels) != len(x):
        raise ValueError(f"there are {len(labels)} labels for {len(x)} rows")
    return [np.flatnonzero(labels == c) for c in np.unique(labels)]
