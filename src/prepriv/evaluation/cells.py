"""Which cell of each table a row falls into: a function of the released model and of that row alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prepriv._arrays import Floats
from prepriv._blas import one_blas_thread
from prepriv._copies import copied
from prepriv.columns import Numeric
from prepriv.evaluation.evaluation_plan import LOSS_BOUND, MEAN_RESIDUAL, EvaluationPlan
from prepriv.exact.ball import row_norms
from prepriv.learners.targets import decoded
from prepriv.placed.handed import placeless
from prepriv.plans.link import softmax, winners
from prepriv.release.model import Model
from prepriv.runs.failures import sealed
from prepriv.tables.readers import BadData
from prepriv.tables.table import Streamed, Table

RowEntries = dict[str, NDArray[Any]]
"""For each release of a plan one entry a row, (n,).

accuracy: whether it is labelled right (1 or 0). confusion: its cell (true, predicted). scores: its cell (bin, hit).
log_loss: as a share of LOSS_BOUND. Of a number: absolute_error, squared_error: as a share of the largest that counts; target: where it is
between the bounds; residuals: bin of its target less its prediction; mean_residual: where that is between
minus and plus the largest error that counts. A row whose label is not a declared class, or not a number, has cell
-1 and the share NaN: it is counted as such, and no figure is about it. GROUP: of a plan with groups, the one that the row is in.
"""
GROUP_CELLS = "group"


def row_entries(plan: EvaluationPlan, model: Model, table: Table, targets: NDArray[np.int32]) -> RowEntries:
    """The cells of encoded rows with these class indices (-1: no declared class) or places between the bounds."""
    groups = (
        {} if plan.by is None else {GROUP_CELLS: column_codes(table, [*plan.reads.columns].index(plan.by))}
    )
    return groups | _measured(plan, model, _as_modelled(table, plan) if plan.own else table, targets)


def _as_modelled(table: Table, plan: EvaluationPlan) -> Table:
    """The same rows without the column that only the groups are made of, which is the last."""
    if isinstance(table, Streamed):
        return replace(
            table,
            domain=plan.domain,
            parts=lambda: (_as_modelled(part, plan) for part in table.parts()),
            between=None,
        )
    return replace(table, domain=plan.domain, columns=table.columns[:-1])


def column_codes(table: Table, place: int) -> NDArray[np.int64]:
    """Position of each row's cell in (categories..., other, missing) of a declared categorical column, (n,)."""
    if not isinstance(table, Streamed):
        return table.columns[place].astype(np.int64)
    parts = [np.zeros(0, np.int64), *(part.columns[place].astype(np.int64) for part in table.parts())]
    codes = np.concatenate(parts)
    if len(codes) != table.n:
        raise BadData("the table did not have the same number of rows in each pass")
    return codes


def _measured(plan: EvaluationPlan, model: Model, table: Table, targets: NDArray[np.int32]) -> RowEntries:
    with np.errstate(all="ignore"):  # a numeric warning would depend on records
        scores, norms = row_scores(model, table)
        if plan.domain.target is not None:
            target = plan.domain.target
            off = target_errors(scores, targets, target) / plan.error_share
            cut = np.where(off <= 1.0, off, 1.0)  # NaN: the largest
            has = targets >= 0
            signed = residuals(scores, targets, target) / plan.error_share
            return {
                "absolute_error": np.where(has, cut, np.nan),
                "squared_error": np.where(has, cut * cut, np.nan),
                "target": np.where(has, _share((decoded(targets) + 1) / 2, target), np.nan),
                "residuals": _bins(signed, plan.edges),
                MEAN_RESIDUAL: (np.clip(signed, -1.0, 1.0) + 1) / 2,
            }
        p = _probabilities(model, scores, norms)
        chosen = winners(scores) if model.class_weight is None else model.decided(p)
        return _cells(chosen, p, targets.astype(np.int64), plan.edges)


def target_errors(scores: Floats, targets: NDArray[np.int32], target: Numeric) -> Floats:
    """How far the predictions of `row_scores` are off, as a share of the distance of the bounds; 1 where no number has to be met."""
    off = np.abs(residuals(scores, targets, target))
    return np.where(off <= 1.0, off, 1.0)


def residuals(scores: Floats, targets: NDArray[np.int32], target: Numeric) -> Floats:
    """Targets less the predictions of `row_scores`, as shares of the distance of the bounds; NaN where there is no number."""
    said, at = decoded(targets), np.clip(scores[:, 0], -1.0, 1.0)
    with np.errstate(all="ignore"):
        if target.log:
            off = _share((said + 1) / 2, target) - _share((at + 1) / 2, target)
        else:
            off = (said - at) / 2
    return np.where(targets >= 0, off, np.nan)


def _share(shares: Floats, target: Numeric) -> Floats:
    """Where numbers stand between the bounds in their own unit, whatever was learned of them."""
    return (target.numbers(shares) - target.low) / (target.high - target.low) if target.log else shares


def _bins(share: Floats, edges: Sequence[float]) -> NDArray[np.int64]:
    """The bin of each error, as a share of the largest; beyond that the last one. -1 where there is none."""
    place = np.searchsorted(np.asarray(edges), (share + 1) / 2, side="right")
    return np.where(np.isnan(share), -1, place)


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
    return sealed(model.maps, model.private, partial(_row_scores, model, table))


def _row_scores(model: Model, table: Table) -> tuple[Floats, Floats]:
    bodies, maps = np.ascontiguousarray(model.weights[:-1].T), [placeless(copied(m)) for m in model.maps]
    out, norms = np.empty((table.n, len(bodies))), np.empty(table.n)
    with np.errstate(all="ignore"), one_blas_thread(table.n):
        for start, x in table.blocks():
            stop = start + len(x)
            for fitted in maps:
                x = fitted.transform(np.ascontiguousarray(x))
            x = np.ascontiguousarray(x)
            for k, body in enumerate(bodies):
                out[start:stop, k] = (x * body).sum(axis=1) + model.weights[-1, k]
            norms[start:stop] = row_norms(x)[:, 0]
    return out, norms


def _probabilities(model: Model, scores: Floats, norms: Floats) -> Floats:
    """(n, classes) as `Model.predict_proba`. Row by row, unless one score tells two classes apart: for more of them a link
    multiplies matrices, whose rounding knows the other rows."""
    if model.link is None:
        return softmax(scores)
    if scores.shape[1] == 1:
        return model.link.probabilities(scores, norms)
    link, out = model.link, np.empty((len(scores), len(model.domain.classes)))
    for i in range(len(scores)):
        out[i] = link.probabilities(scores[i : i + 1], norms[i : i + 1])[0]
    return out


def _cells(
    predicted: NDArray[np.intp], p: Floats, y: NDArray[np.int64], edges: Sequence[float]
) -> RowEntries:
    known, right, classes = y >= 0, predicted == y, p.shape[1]
    of_predicted = np.take_along_axis(p, predicted[:, None], axis=1)[:, 0]
    score, hit = (p[:, 1], y) if classes == 2 else (of_predicted, right.astype(np.int64))
    place = np.searchsorted(np.asarray(edges), score, side="right")
    loss = -np.log(np.take_along_axis(p, np.maximum(y, 0)[:, None], axis=1)[:, 0])
    return {
        "accuracy": np.where(known, right.astype(np.float64), np.nan),
        "confusion": np.where(known, y * classes + predicted, -1),
        "scores": np.where(known, 2 * place + hit, -1),
        "log_loss": np.where(
            known, np.where(loss <= LOSS_BOUND, np.maximum(loss, 0.0) / LOSS_BOUND, 1.0), np.nan
        ),  # of a probability that is NaN: the largest
    }
