"""Bounds of Provable Privacy with Non-Private Pre-Processing that are false, as printed: the search has to beat them (docs/errata.md).

Each takes the pair itself as the paper's collection of data sets, which is the reading kindest to the paper.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from prepriv._arrays import Floats
from prepriv.audit.sensitivity_case import Pair
from prepriv.preprocessing.base import RowShift


def mean_imputation(pair: Pair) -> RowShift:
    """Corollary 4: rows in the unit ball move by 2 / (n - p), n - p the least observed count of a feature."""
    seen = min(int((~np.isnan(x)).sum(axis=0).min()) for x in (pair.first, pair.second))
    if seen < 1:
        return RowShift(math.inf, math.inf, math.inf)
    cells = float(max(np.isnan(x).sum() for x in (pair.first, pair.second)))
    return RowShift(max(cells, 1.0), 2 / seen, max(cells, 1.0) * 2 / seen)


def standard_scaling(pair: Pair) -> RowShift:
    """Proposition 6: a row of one feature in [-1, 1] moves by 2 / (sigma^3 n) + 2 / (sigma n)."""
    sigma = min(float(x.std()) for x in (pair.first, pair.second))
    if sigma <= 0:
        return RowShift(math.inf, math.inf, math.inf)
    row = (2 / sigma**3 + 2 / sigma) / pair.n
    return RowShift(float(pair.n), row, pair.n * row)


def good_clusters(eta: float) -> Callable[[Pair], RowShift]:
    """Proposition 3: deduplication changes at most twice the rows of the largest good cluster."""

    def bound(pair: Pair) -> RowShift:
        largest = max(_largest_good_cluster(x, eta) for x in (pair.first, pair.second))
        rows = 2.0 * max(largest, 1)
        return RowShift(rows, math.inf, rows * eta)

    return bound


def _largest_good_cluster(x: Floats, eta: float) -> int:
    """Kindly: distances within 1e-4 of a threshold count on whichever side makes the cluster larger."""
    far = np.sqrt(((x[:, None, :] - x[None, :, :]) ** 2).sum(axis=2))
    near = (far <= eta * (1 + 1e-4)).sum(axis=1)
    good = near >= (far <= 3 * eta * (1 - 1e-4)).sum(axis=1)
    return int(near[good].max(initial=0))
