"""Which cell of each table a row falls into: a function of the released model and of that row alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prepriv.evaluation.plan import LOSS_BOUND
from prepriv.exact.ball import row_norms
from prepriv.preprocessing.base import Floats
from prepriv.release.link import softmax, winners
from prepriv.release.model import Model
from prepriv.tables.table import Table


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
        scores, norms = row_scores(model, table)
        p = _probabilities(model, scores, norms)
        chosen = winners(scores) if model.class_weight is None else model.decided(p)
        return _cells(chosen, p, targets.astype(np.int64), edges)


def predicted(model: Model, table: Table) -> NDArray[np.intp]:
    """Index of the class that is predicted of each row, (n,), with the same bits wherever a row stands."""
    scores, norms = row_scores(model, table)
    return (
        winners(scores) if model.class_weight is None else model.decided(_probabilities(model, scores, norms))
    )


def row_scores(model: Model, table: Table) -> tuple[Floats, Floats]:
    """(scores (n, K), norms (n,)) as of `predict_scores`, up to rounding: a row has the same bits wherever it stands.

    One record more or less moves all that follow; a product of matrices may then round the others' scores otherwise,
    and more than one record would change its cell. A sum along a row does not.
    """
    bodies = np.ascontiguousarray(model.weights[:-1].T)
    out, norms = np.empty((table.n, len(bodies))), np.empty(table.n)
    with np.errstate(all="ignore"):
        for start, x in table.blocks():
            stop = start + len(x)
            for fitted in model.maps:
                x = fitted.transform(np.ascontiguousarray(x))
            x = np.ascontiguousarray(x)
            for k, body in enumerate(bodies):
                out[start:stop, k] = (x * body).sum(axis=1) + model.weights[-1, k]
            norms[start:stop] = row_norms(x)[:, 0]
    return out, norms


def _probabilities(model: Model, scores: Floats, norms: Floats) -> Floats:
    """(n, classes) as `Model.predict_proba`. Row by row: a link multiplies matrices, whose rounding knows the others."""
    if model.link is None:
        return softmax(scores)
    link, out = model.link, np.empty((len(scores), len(model.domain.classes)))
    for i in range(len(scores)):
        out[i] = link.probabilities(scores[i : i + 1], norms[i : i + 1])[0]
    return out


def _cells(predicted: NDArray[np.intp], p: Floats, y: NDArray[np.int64], edges: Sequence[float]) -> Cells:
    known, right, classes = y >= 0, predicted == y, p.shape[1]
    score, hit = (p[:, 1], y) if classes == 2 else (p.max(axis=1), right.astype(np.int64))
    place = np.searchsorted(np.asarray(edges), score, side="right")
    loss = -np.log(np.take_along_axis(p, np.maximum(y, 0)[:, None], axis=1)[:, 0])
    return Cells(
        np.where(known & right, 1.0, 0.0),
        np.where(known, y * classes + predicted, -1),
        np.where(known, 2 * place + hit, -1),
        np.where(known & (loss <= LOSS_BOUND), np.maximum(loss, 0.0) / LOSS_BOUND, 1.0),  # NaN: the largest
    )
