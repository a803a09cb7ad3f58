"""A released model on private test rows: priced, charged, then counted with noise."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from typing import Any

from prepriv.evaluation.cells import Cells, cells
from prepriv.evaluation.intervals import Floats
from prepriv.evaluation.plan import EvaluationPlan, model_hash
from prepriv.evaluation.result import PrivateEvaluation
from prepriv.mechanisms.histogram import private_histogram
from prepriv.mechanisms.session import NoisySession, Session
from prepriv.mechanisms.split import private_split
from prepriv.pipeline import odometer
from prepriv.pipeline.charge import charge, check_ledger
from prepriv.pipeline.rows import private_rows
from prepriv.release.model import Model
from prepriv.tables.encode import check_stream, count_rows, label_of
from prepriv.tables.readers import BadData
from prepriv.tables.stream import as_stream
from prepriv.tables.units import check_units


def evaluate(
    plan: EvaluationPlan,
    model: Model,
    rows: Any,
    labels: Any,
    *,
    ledger: str | os.PathLike[str] | None = None,
    receipt: Mapping[str, Any] | None = None,
    session: Session | None = None,
    counted: bool = True,
) -> PrivateEvaluation:
    """Carry out a plan on private test rows (any table of the model's columns) and their labels, (n,).

    A stream (`prepriv.tables.stream.as_stream`) is read part by part; labels: the name of its column.

    ledger: charged before a cell is read; receipt: of a charge made before. session: where noise comes from (default:
    the operating system). counted: False where the odometer knows of these rows already.

    Raises ValueError, with nothing charged, for rows of another form or number than the plan's; a LedgerError, with no
    cell read, where no charge is granted.
    """
    check_ledger(ledger)
    stream, there = as_stream(rows), plan.n
    if stream is None:
        there = count_rows(rows, labels, model.domain)
    else:
        check_stream(stream, plan.domain, label_of(labels, plan.domain))
    if plan.domain.unit is not None:
        check_units(rows, plan.domain)
    elif plan.domain.adjacency == "replace-one" and there != plan.n:
        raise BadData(f"the plan is for n={plan.n} test rows, the table has {there}")
    if (model.domain.classes, model.domain.target) != (plan.domain.classes, plan.domain.target):
        raise ValueError("the plan is for a model of other classes, or of another target")
    if (model.domain.unit, model.domain.rows_per_unit) != (plan.domain.unit, plan.domain.rows_per_unit):
        raise ValueError("the plan is for a model of other units")
    if model.domain.shape_of_rows() != plan.domain.shape_of_rows():
        raise ValueError("the plan is for a model of other columns, or of other bounds")
    if plan.model not in (None, model_hash(model)):
        raise ValueError("the plan is for another model: plan the evaluation of this one")
    session = session or NoisySession()
    if ledger is not None:
        receipt = charge(ledger, plan)
    if counted:
        odometer.record(plan, session.private, receipt)
    table, targets = private_rows(rows, labels, plan.domain, n=plan.n, memory=0)  # no cell before
    if (
        stream is not None
        and plan.domain.unit is None
        and plan.domain.adjacency == "replace-one"
        and table.n != plan.n
    ):
        raise BadData(f"the plan is for {plan.n} test rows, which is not what the table has")
    counts = release(plan, cells(plan, model, table, targets), session)
    return PrivateEvaluation(plan, counts, session.private, receipt)


def release(plan: EvaluationPlan, of: Cells, session: Session) -> dict[str, Floats]:
    """The noisy counts of each release of the plan: all that depends on a record and leaves."""
    classes = len(plan.domain.classes)
    bins = len(plan.edges) + 1
    shapes = {"confusion": (classes, classes), "scores": (bins, 2), "residuals": (bins,)}
    found = {}
    for name in plan.releases:
        options: dict[str, Any] = {
            "name": name,
            "n": plan.n,
            "adjacency": plan.domain.adjacency,
            "noise_multiplier": plan.noise_multiplier,
            "session": session,
        }
        if (shape := shapes.get(name)) is not None:
            flat = private_histogram(of[name], bins=math.prod(shape), **options)
            found[name] = flat.reshape(shape)
        else:
            found[name] = private_split(of[name], **options)
    return found
