"""Table 3 of Provable Privacy with Non-Private Pre-Processing: data sets on which the sensitivities of imputations are read off."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from prepriv import payment as pay
from prepriv import preprocessing as pre
from prepriv._arrays import Floats
from prepriv.space import Space


def box_space(d: int, missing: Iterable[int] = ()) -> Space:
    """[-1, 1]^d, the paper's interval; cells of the columns in `missing` may be missing."""
    side, may = np.ones(d), np.zeros(d, dtype=bool)
    may[list(missing)] = True
    return Space(-side, side, math.sqrt(d), may)


def table_3() -> list[dict[str, Any]]:
    """Per imputation: the paper's bound on the row shift, a pair of neighbours, and ours on the same pair."""
    return [_mean(), _median(), _trimmed(), _regression()]


def _mean() -> dict[str, Any]:
    # 100 complete rows at zero; of each of 100 columns, 50 rows that have it alone, at -1; the record has 0.1 in all its
    # cells, or none. p is the number of rows that imputation changes, as Corollary 4 and Table 2 have it.
    d, complete, each = 100, 100, 50
    n = complete + d * each + 1
    rows = np.full((n, d), np.nan)
    rows[1 : complete + 1] = 0.0
    rows[np.arange(complete + 1, n), np.repeat(np.arange(d), each)] = -1.0
    other = rows.copy()
    other[0] = 0.1
    step = pre.MeanImputer(payment=pay.Sensitivity({"missing": (n - complete - each) / n}))
    space = box_space(d, missing=range(d))
    imputed = rows[-1:].copy()  # a row of both data sets
    return {
        "imputation": "mean",
        "paper": 2 / complete,
        "happens": _moves(step, space, rows, other, imputed),
        "ours": step.sensitivity(space, n).row_shift,
        "data": f"{complete} complete rows, {each} with each of {d} columns alone; the record gains all its cells",
    }


def _median() -> dict[str, Any]:
    # five observed values -1, -1, x, 1, 1: the median is the record. The paper's is a difference of order
    # statistics over the collection, x_((n+1)/2) of one minus x_(n/2) of the other: -1 at the better reading.
    column = np.array([-1.0, -1.0, -1.0, 1.0, 1.0, np.nan])
    other = column.copy()
    other[0] = 1.0
    n = len(column)
    step = pre.MedianImputer(payment=pay.Sensitivity({"missing": 1 / n, "gap": 1.0}))
    space = box_space(1, missing=[0])
    ordered = np.sort(np.stack([column[:-1], other[:-1]]), axis=1)
    seen = ordered.shape[1]
    paper = float(ordered[:, (seen + 1) // 2 - 1].max() - ordered[:, seen // 2 - 1].min())
    return {
        "imputation": "median",
        "paper": paper,
        "happens": _moves(step, space, column[:, None], other[:, None], np.full((1, 1), np.nan)),
        "ours": step.sensitivity(space, n).row_shift,
        "data": "five cells -1, -1, x, 1, 1; indices read with the observed count, not n: then a width",
    }


def _trimmed() -> dict[str, Any]:
    # a uniform grid, m = 4 of 16 trimmed at each end: x_(m) - x_(n-m) is below zero
    seen, m = 17, 4
    column = np.append(np.linspace(-1.0, 1.0, seen), np.nan)
    other = column.copy()
    other[0] = 1.0
    n = len(column)
    step = pre.TrimmedMeanImputer(
        trim=(m - 0.5) / n, payment=pay.Sensitivity({"missing": 1 / n, "spread": 1.0})
    )
    space = box_space(1, missing=[0])
    ordered = np.sort(np.stack([column[:-1], other[:-1]]), axis=1)
    paper = float(ordered[:, m - 1].max() - ordered[:, seen - m - 1].min()) / (seen - 2 * m)
    return {
        "imputation": "trimmed mean",
        "paper": paper,
        "happens": _moves(step, space, column[:, None], other[:, None], np.full((1, 1), np.nan)),
        "ours": step.sensitivity(space, n).row_shift,
        "data": f"{seen} cells on a uniform grid, {m} trimmed at each end",
    }


def _regression() -> dict[str, Any]:
    # one predictor at +-1/2, target half of it; the record turns its target round. Least squares, as printed,
    # and ours: ridge with weights in a ball, whose bound needs no eigenvalue.
    n = 400
    z = np.where(np.arange(n) % 2 == 0, 0.5, -0.5)
    rows = np.stack([z, z / 2], axis=1)
    rows[-1, 1] = np.nan
    other = rows.copy()
    other[0] = (0.5, -0.5)
    step = pre.RegressionImputer(ridge=0.1, payment=pay.Sensitivity({"missing": 1 / n}))
    space = box_space(2, missing=[1])
    spread = float(z[:-1] @ z[:-1])
    return {
        "imputation": "regression",
        "paper": spread**2 / ((spread + 1) * spread**2) + 1 / spread,
        "happens": _moves(step, space, rows, other, np.array([[0.5, np.nan]])),
        "ours": step.sensitivity(space, n).row_shift,
        "data": "least squares, one record added (paper); ridge 0.1, one replaced, no eigenvalue assumed (ours)",
    }


def _moves(step: Any, space: Space, one: Floats, two: Floats, row: Floats) -> float:
    """How far the step, fitted on each of two data sets, sends one row."""
    images = [step.fit_confidential([x], space, len(x)).transform(row.copy()) for x in (one, two)]
    return float(np.linalg.norm(images[0] - images[1]))
