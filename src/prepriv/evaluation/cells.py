"""Which cell of each table a row falls into: a function of the released model and of that row alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prepriv.evaluation.plan import LOSS_BOUND
from prepriv.preprocessing.base import Floats
from prepriv.release.model import Model
from prepriv.tables.encode import BLOCK, Table


@dataclass(frozen=True, eq=False)
class Cells:
    """For each row, (n,): whether it is labelled right (1 or 0), its cell (true, predicted) of the confusion matrix, its
    cell (bin, hit) of the scores, its log loss as a share of LOSS_BOUND.

    A label that is no declared class has cell -1, counts as wrong and has the largest loss.
    """

    right: Floats
    confusion: NDArray[np.int64]
    scores: NDArray[np.int64]
    loss: Floats


def cells(model: Model, table: Table, targets: NDArray[np.int32], edges: Sequence[float]) -> Cells:
    """The cells of encoded rows with these class indices (-1: no declared class)."""
    with np.errstate(all="ignore"):  # a numeric warning would depend on records
        return _cells(row_scores(model, table), targets.astype(np.int64), len(model.domain.classes), edges)


def row_scores(model: Model, table: Table) -> Floats:
    """Scores (n, K) as `Model.scores`, up to rounding: here each row has the same bits wherever it stands.

    One record more or less moves all that follow; a product of matrices may then round the others' scores otherwise,
    and more than one record would change its cell. A sum along a row does not.
    """
    bodies = np.ascontiguousarray(model.weights[:-1].T)
    out = np.empty((table.n, len(bodies)))
    with np.errstate(all="ignore"):
        for start in range(0, table.n, BLOCK):
            x = table.block(start, min(start + BLOCK, table.n))
            for fitted in model.maps:
                x = fitted.transform(np.ascontiguousarray(x))
            x = np.ascontiguousarray(x)
            for k, body in enumerate(bodies):
                out[start : start + len(x), k] = (x * body).sum(axis=1) + model.weights[-1, k]
    return out


def _cells(scores: Floats, y: NDArray[np.int64], classes: int, edges: Sequence[float]) -> Cells:
    at = np.asarray(edges)
    if classes == 2:
        margin = scores[:, 0] if scores.shape[1] == 1 else scores[:, 1] - scores[:, 0]
        predicted, hit = (margin > 0).astype(np.int64), y
        place = np.searchsorted(np.log(at) - np.log1p(-at), margin, side="right")
        loss = np.logaddexp(0.0, np.where(y == 1, -margin, margin))
    else:
        predicted = scores.argmax(axis=1)
        best, hit = scores.max(axis=1), (predicted == y).astype(np.int64)
        total = sum(np.exp(scores[:, k] - best) for k in range(classes))
        place = np.searchsorted(at, 1 / total, side="right")
        loss = np.log(total) + best - np.take_along_axis(scores, np.maximum(y, 0)[:, None], 1)[:, 0]
    known = y >= 0
    return Cells(
        np.where(known & (predicted == y), 1.0, 0.0),
        np.where(known, y * classes + predicted, -1),
        np.where(known, 2 * place + hit, -1),
        np.where(known & (loss <= LOSS_BOUND), loss / LOSS_BOUND, 1.0),  # NaN: the largest
    )
