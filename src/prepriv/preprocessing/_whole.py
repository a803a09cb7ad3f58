"""Maps of whole data sets that are Lipschitz in Frobenius norm, and what that says about the common rows.

Standard scaling projects each column on a ball; soft PCA applies an odd Lipschitz function to the singular
values. Both move a data set, all its rows at once, by at most a constant times the root of the summed squares of
what came in: for many rows that moved or were dropped, far less than each of them by itself would cost.
Proof: docs/proofs/whole.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from prepriv.preprocessing.base import RowShift

_FEW = 512  # numbers of dropped rows that are looked at one by one; more of them in intervals


def square_shift(incoming: RowShift, dropped: float, radius: float) -> float:
    """Sum of the squares of the distances between common rows, a dropped row having become a zero row."""
    return incoming.row_shift * incoming.total_shift + dropped * radius**2


def whole_shift(kept: float, constant: float, squares: float) -> float:
    """Total shift of `kept` common rows: Cauchy-Schwarz on a Frobenius norm of constant * sqrt(squares)."""
    return math.sqrt(max(0.0, kept)) * constant * math.sqrt(squares)


def worst_drop(n: int, incoming: RowShift, total: Callable[[float, float], float]) -> float:
    """The largest total(kept, dropped) over how many rows may have been dropped in one data set.

    What is dropped is not kept: kept <= n - 1 - dropped. total must not fall in either argument; where many rows
    may be dropped, both ends of an interval are taken at their worst.
    """
    most = min(math.ceil(incoming.rows_dropped), n - 1)
    ends = np.arange(most + 1)
    if most > _FEW:
        far = np.ceil(np.geomspace(_FEW, most, _FEW)).astype(np.int64)
        ends = np.unique(np.concatenate([np.arange(_FEW), far, [most]]))
    starts = np.concatenate([[0], ends[:-1] + 1])
    return max(total(float(n - 1 - a), float(b)) for a, b in zip(starts, ends))
