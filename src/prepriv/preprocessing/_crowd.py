"""What deduplication and quantization by good clusters share: the declared crowd, and its test.

Proof: docs/proofs/deduplicate.md. Source: paper 000, Proposition 3 (false as printed: docs/errata.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prepriv.domain import Space
from prepriv.guarantees.printed import CONDITION_DIGITS, exact, up
from prepriv.preprocessing._grid import RowGrid
from prepriv.preprocessing._neighbours import (
    BITS,
    Distinct,
    Points,
    count_within,
    h_index,
    squared_steps,
)
from prepriv.preprocessing.base import Sensitivity, check_positive

DEFAULT_CROWD = 10


def cluster_grid(radius: float) -> RowGrid:
    """Rows are compared on this grid: 2^-23 of the radius or finer."""
    return RowGrid.of(radius, BITS)


def check_eta(eta: float) -> float:
    """A positive distance, or ValueError."""
    return check_positive("eta", eta)


def crowd(caps: Mapping[str, Any]) -> int:
    """The declared cap `crowd`: the most records within 4 eta of one record, itself included."""
    unknown = sorted(set(caps) - {"crowd"})
    if unknown:
        raise ValueError(f"the cap of clusters is 'crowd'; got {unknown[0]!r}")
    m = caps.get("crowd", DEFAULT_CROWD)
    if isinstance(m, bool) or not isinstance(m, int) or m < 1:
        raise ValueError(f"crowd must be a whole number >= 1; got {m!r}")
    return m


def crowd_words(m: int, eta: float, space: Space) -> str:
    """The condition in words, with the units of the rows it is about."""
    return (
        f"no record has more than {m} records within {up(4 * eta, CONDITION_DIGITS)} of it, itself included, "
        f"with rows scaled to norm {exact(space.radius)}"
    )


def changed_rows(m: int, incoming: Sensitivity) -> float:
    """Common unmoved rows that may fare differently: those within 4 eta of a point that differs.

    The replaced record and every moved row differ in two points each; around each stand at most m - 1 others.
    """
    if incoming.rows_dropped > 0:
        raise ValueError("clusters cannot follow a step that drops rows: deduplicate once, or quantize first")
    return 2.0 * (1 + incoming.rows_moved) * (m - 1)


def crowd_distance(groups: Sequence[Points], grid: RowGrid, eta: float, m: int) -> float:
    """m + 1 - H, H the h-index of the counts within 8 eta: above zero only if the condition holds.

    1-Lipschitz: one record changes each other count by at most one, and how many counts there are by at most
    one; and a ball of radius 4 eta with k records holds k records with counts >= k.
    """
    counts: list[NDArray[np.int64]] = []
    weights: list[NDArray[np.int64]] = []
    for x in groups:
        rows = Distinct.of(x)
        counts += count_within(rows.points, rows.count, [squared_steps(grid, eta, 8)])
        weights.append(rows.count)
    if not counts:
        return float(m + 1)
    return float(m + 1 - h_index(np.concatenate(counts), np.concatenate(weights)))


def grouped(x: Points, labels: NDArray[Any] | None) -> list[NDArray[np.intp]]:
    """Row numbers of each label, or of all rows."""
    if labels is None:
        return [np.arange(len(x))]
    if len(labels) != len(x):
        raise ValueError(f"there are {len(labels)} labels for {len(x)} rows")
    return [np.flatnonzero(labels == c) for c in np.unique(labels)]
