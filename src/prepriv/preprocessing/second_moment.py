"""Second moments of rows: exact sums in one pass over blocks, and how far one record moves them.

Proof: docs/proofs/pca.md. Source: Provable Privacy with Non-Private Pre-Processing, Proposition 5 (corrected: docs/errata.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from prepriv._arrays import Floats
from prepriv._rounding import UP
from prepriv.adjacency import Adjacency, rows_changed
from prepriv.preprocessing._grid import RowGrid, finite_rows
from prepriv.preprocessing._sums import Total, pieces
from prepriv.preprocessing.base import UNTOUCHED, Rows, RowShift

_CHUNK = 256  # rows: a product of 22-bit integers over 2^8 rows stays below 2^52
LAPACK_ERROR = (
    8 * 2.0**-52
)  # times d and the norm: backward error of a symmetric eigenvalue or Cholesky routine


@dataclass(frozen=True, eq=False)
class RowMoments:
    """moment: (d, d), (1/n) sum of x x^T, of x - mean if centred; mean: (d,), zero if not centred.

    Of the rows cut to the grid, dropped rows counted as zero rows, always over the declared n.
    """

    moment: Floats
    mean: Floats


def moment_grid(radius: float, n: int) -> RowGrid:
    """The grid of the rows: 22 bits, fewer if a sum over n records would not fit into 63."""
    return RowGrid.of(radius, min(22, (62 - math.ceil(math.log2(n + 1))) // 2))


def moments(rows: Rows, grid: RowGrid, d: int, n: int, *, centred: bool = False) -> RowMoments:
    """One pass over the blocks; the sums are integers, so no order of rows or threads changes a bit."""
    total, linear = np.zeros((d, d), dtype=np.int64), np.zeros(d, dtype=np.int64)
    for block in rows:
        for start in range(0, len(block), _CHUNK):
            x = grid.ints(block[start : start + _CHUNK])
            total += (x.T @ x).astype(np.int64)
            linear += x.sum(axis=0).astype(np.int64)
    moment = total.astype(np.float64) * (grid.step**2 / n)
    mean = linear.astype(np.float64) * (grid.step / n)
    if not centred:
        return RowMoments(moment, np.zeros(d))
    return RowMoments(moment - np.outer(mean, mean), mean)


def raw_moment(rows: Rows, n: int, *, centred: bool) -> Floats:
    """The second moment (d, d) of the rows as they are, cut to no grid: for conditions, which are about those.

    A row that is not finite counts as the zero row that it is to the fit.
    """
    total: Total | None = None
    for piece in pieces(rows):
        x = np.hstack([finite_rows(piece), np.ones((len(piece), 1))])
        total = total or Total((x.shape[1], x.shape[1]))
        total.add(x.T @ x)
    if total is None:
        raise ValueError("there are no rows")
    whole = total.value / n
    moment, mean = whole[:-1, :-1], whole[:-1, -1]
    return np.asarray(moment - np.outer(mean, mean) if centred else moment)


@dataclass(frozen=True)
class MomentShift:
    """How far apart the moments of two neighbouring data sets are, after what earlier steps did to them.

    operator, frobenius, nuclear: norms of the difference E of the second moments. Weyl: no eigenvalue moves
    by more than operator; no gap between neighbouring eigenvalues by more than nuclear. mean: distance of the
    means (0 if not centred).
    """

    operator: float
    frobenius: float
    nuclear: float
    mean: float


def moment_shift(
    radius: float, n: int, incoming: RowShift = UNTOUCHED, *, centred: bool = False
) -> MomentShift:
    """Replace-one neighbours in a ball, the common rows moved by incoming.total_shift in all.

    Uncentred: R^2/n, sqrt2 R^2/n and 2 R^2/n, plus 2 R tau / n for moved rows and R^2/n a dropped row.
    Centred (divided by n): 4 R^2, 4 R^2 and 3 sqrt3 R^2 times (n - 1)/n^2, plus 4 R tau / n and 3 R^2/n.
    Each is capped by what two moments of trace <= R^2 allow.
    """
    tau, dropped, square = incoming.total_shift, incoming.rows_dropped, radius**2
    if centred:
        record = (n - 1) / n * square
        more = 4 * radius * tau + 3 * square * dropped
        each = (4 * record, 4 * record, 3 * math.sqrt(3) * record)
        mean = min((2 * radius + tau + radius * dropped) / n, 2 * radius)
    else:
        more = 2 * radius * tau + square * dropped
        each = (square, math.sqrt(2) * square, 2 * square)
        mean = 0.0
    caps = (square, math.sqrt(2) * square, 2 * square)
    op, frobenius, nuclear = (min((e + more) / n, cap) * UP for e, cap in zip(each, caps))
    return MomentShift(op, frobenius, nuclear, mean * UP)


def second_moment_shift(radius: float, adjacency: Adjacency, incoming: RowShift) -> float:
    """How far the sum of x x^T moves in Frobenius norm: the sensitivity of a private second moment."""
    record = math.sqrt(rows_changed(adjacency))
    square = radius**2
    return (record * square + 2 * radius * incoming.total_shift + square * incoming.rows_dropped) * (
        1 + 1e-12
    )
