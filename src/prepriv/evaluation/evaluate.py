"""A released model on private test rows: priced, charged, then counted with noise."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prepriv._arrays import Floats
from prepriv._callers import callers_level
from prepriv.evaluation.cells import GROUP_CELLS, RowEntries, row_entries
from prepriv.evaluation.evaluation_plan import (
    ERROR_OF_MEAN,
    EvaluationPlan,
    as_trained,
    model_hash,
    plan_evaluation,
    which_rows,
)
from prepriv.evaluation.expected import hardly_measured
from prepriv.evaluation.figures import mean_place
from prepriv.evaluation.result import PrivateEvaluation
from prepriv.mechanisms.histogram import private_histogram
from prepriv.mechanisms.session import Session
from prepriv.mechanisms.split import private_split
from prepriv.placed.rows import PrivateTable
from prepriv.rehearsals.rehearsal import check_released
from prepriv.release.model import Model
from prepriv.runs.admit import admit
from prepriv.tables.encoding import count_rows
from prepriv.tables.stream import as_stream


def evaluate(
    plan: EvaluationPlan,
    model: Model,
    rows: Any,
    labels: Any = None,
    *,
    ledger: str | os.PathLike[str] | None = None,
    session: Session | None = None,
    counted: bool = True,
    reached: Callable[[str], Any] | None = None,
) -> PrivateEvaluation:
    """Carry out a plan on private test rows (any table of the model's columns) and their labels, (n,).

    A stream (`prepriv.tables.stream.as_stream`) is read part by part; labels: the name of its column. rows can be a
    `PrivateTable`, too. ledger, session, counted, reached: as in `prepriv.runs.admit.admit`.

    Raises ValueError, with nothing charged, for rows of another form or number than the plan's; a LedgerError, with no
    cell read, where no charge is granted.
    """
    if (model.domain.classes, model.domain.target) != (plan.domain.classes, plan.domain.target):
        raise ValueError("the plan is for a model of other classes, or of another target")
    if (model.domain.unit, model.domain.rows_per_unit) != (plan.domain.unit, plan.domain.rows_per_unit):
        raise ValueError("the plan is for a model of other units")
    if model.domain.shape_of_rows() != plan.domain.shape_of_rows():
        raise ValueError("the plan is for a model of other columns, or of other bounds")
    if plan.model not in (None, model_hash(model)):
        raise ValueError("the plan is for another model: plan the evaluation of this one")
    if plan.class_weight:
        model = replace(model, plan={**model.plan, "class_weight": plan.class_weight})
    check_released(model.maps, model.domain)
    rows_of = which_rows(plan, model)
    table = (
        rows
        if isinstance(rows, PrivateTable)
        else PrivateTable(rows, labels, plan.reads, plan.n, what="test rows")
    )
    paid = admit(plan, table, ledger=ledger, session=session, counted=counted, reached=reached)
    counts = release(plan, row_entries(plan, model, *paid.rows), paid.session)
    weighed = model.class_weight is not None
    return PrivateEvaluation(
        plan, counts, paid.session.private, paid.receipt, weighed=weighed, which_rows=rows_of
    )


def measure_model(
    model: Model,
    X: Any,
    y: Any,
    *,
    epsilon: float,
    delta: float,
    ledger: str | os.PathLike[str] | None = None,
    session: Callable[[EvaluationPlan], Session | None] = lambda _: None,
    **options: Any,
) -> PrivateEvaluation:
    """`PrivateEstimator.evaluate` and `Model.evaluate`: the plan of these rows, carried out. options: of `plan_evaluation`."""
    stream = as_stream(X)
    there = count_rows(X, y, model.domain) if stream is None else stream.rows
    if model.domain.n_is_public:
        options.setdefault("n", there)
    if options.get("n") is None:
        counted = "test rows" if model.domain.unit is None else "units in the test rows"
        raise ValueError(
            f"n, the declared number of {counted}, must be given: the true one is private, or known only by reading them"
        )
    if stream is not None:
        X, options["source"] = stream, stream.source
    plan = plan_evaluation(model, epsilon=epsilon, delta=delta, **options)
    for why in filter(None, (hardly_measured(plan), as_trained(plan, model))):  # before the charge
        warnings.warn(why, UserWarning, stacklevel=callers_level())
    return evaluate(plan, model, X, y, ledger=ledger, session=session(plan))


def release(plan: EvaluationPlan, of: RowEntries, session: Session) -> dict[str, Floats]:
    """The noisy counts of each release of the plan: all that depends on a record and leaves."""
    classes = len(plan.domain.classes)
    bins = len(plan.edges) + 1
    shapes = {"confusion": (classes, classes), "scores": (bins, 2), "residuals": (bins,)}
    found: dict[str, Floats] = {}
    for name in plan.releases:
        options: dict[str, Any] = {
            "name": name,
            "n": plan.n,
            "adjacency": plan.domain.adjacency,
            "noise_multiplier": plan.noise_multiplier,
            "session": session,
        }
        groups = len(plan.groups)
        if (shape := shapes.get(name)) is None:
            within: dict[str, Any] = {"group": of[GROUP_CELLS], "groups": groups} if groups else {}
            shares = _off_the_mean(plan, of, found["target"]) if name == ERROR_OF_MEAN else of[name]
            found[name] = private_split(shares, **within, **options)
            continue
        cells, place = math.prod(shape), of[name]
        if groups:  # one histogram of all groups: a row is in one cell of one of them
            place = np.where(place < 0, -1, of[GROUP_CELLS].astype(np.int64) * cells + place)
            shape = (groups, *shape)
        found[name] = private_histogram(place, bins=math.prod(shape), **options).reshape(shape)
    return found


def _off_the_mean(plan: EvaluationPlan, of: RowEntries, released: Floats) -> NDArray[Any]:
    """Squared error of always predicting the noisy mean that has been released, cut as the model's are: a share of the largest."""
    off = np.abs(of["target"] - mean_place(plan, released)) / plan.error_share
    return np.square(np.minimum(off, 1.0))
