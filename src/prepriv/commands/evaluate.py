"""`prepriv evaluate`: a released model on private test rows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from prepriv.commands.common import (
    AsJson,
    LedgerAt,
    MeasureOption,
    Note,
    console,
    noted,
    print_json,
    print_measured,
    private_data_open,
    writable_own,
)
from prepriv.commands.exits import AFTER_TOUCH, INTERRUPTED, Stop, reason
from prepriv.domain import Domain
from prepriv.evaluation.evaluate import evaluate as run_plan
from prepriv.evaluation.plan import EvaluationPlan, plan_evaluation
from prepriv.evaluation.result import PrivateEvaluation
from prepriv.guarantees.printed import down, exact, up
from prepriv.pipeline.charge import charge
from prepriv.pipeline.checks import check_budget
from prepriv.release.model import Model
from prepriv.tables.readers import BadData, check_table_file, read_table

_MARKS = {".json": b'"evaluation": [', ".html": b"<title>prepriv evaluation</title>"}


def evaluate(
    model: Annotated[Path, typer.Argument(help="The released model: its folder, its file or its run.")],
    test: Annotated[Path, typer.Argument(help="The private test rows, with labels: CSV or Parquet.")],
    epsilon: Annotated[float, typer.Option(help="Privacy budget, of the people in TEST.")] = 0.1,
    delta: Annotated[float, typer.Option(help="Well below 1 / rows.")] = 1e-5,
    rows: Annotated[int | None, typer.Option(help="Declared number of records of TEST (public).")] = None,
    label: Annotated[str | None, typer.Option(help="The label column (default: the model's).")] = None,
    measure: MeasureOption = None,
    error_bound: Annotated[
        float | None,
        typer.Option(
            help="Of a number: the largest error that counts (default: a quarter of the distance of the bounds)."
        ),
    ] = None,
    ledger: Annotated[
        str | None,
        typer.Option(help="Charge this ledger (a file or postgresql://...) before TEST is opened."),
    ] = None,
    note: Note = None,
    out: Annotated[Path | None, typer.Option(help="Write it to this .html or .json.")] = None,
    as_json: AsJson = False,
) -> None:
    """How good a released model is on private test rows, as noisy counts with intervals.

    Rows that the model was trained on are paid for a second time: with one ledger for both, it adds them up.
    """
    charged = False
    account = noted(ledger, note)
    try:
        check_budget(epsilon, delta)
        released = Model.load(model)
        if out is not None:
            _check_out(out)
        check_table_file(test)
        name = _label(released.domain, label)
        plan = plan_evaluation(
            released,
            n=_rows(released, test, name, rows, account),
            epsilon=epsilon,
            delta=delta,
            measures=measure or None,
            error_bound=error_bound,
        )
        _say_plan(plan)
        receipt = charge(account, plan) if account is not None else None
        charged = receipt is not None
        made = _run(plan, released, test, name, receipt)
        print_measured(made)
        if out is not None:
            _write(made, out, account)
        if as_json:
            print_json(made.to_json())
    except KeyboardInterrupt:
        told = "after the charge, which stays" if charged else "before a charge was granted"
        raise Stop(f"interrupted {told}", INTERRUPTED) from None
    except BadData as error:
        if not charged:
            raise
        raise Stop(f"{error} (seen only after the charge, which stays)", AFTER_TOUCH) from None


def _say_plan(plan: EvaluationPlan) -> None:
    g = plan.guarantee
    console.print(
        f"to spend: ε = {up(g.epsilon(plan.delta))} at δ = {exact(plan.delta)} ({up(g.mu or 0.0, 5)}-GDP) on counts of "
        f"{', '.join(plan.releases)} with noise {down(plan.noise, 4)}",
        soft_wrap=True,
    )
    for note in g.notes:
        console.print(f"  {note}")


def _run(plan: EvaluationPlan, model: Model, test: Path, label: str, receipt: Any) -> PrivateEvaluation:
    with private_data_open():
        raw = _read(model.domain, test, label)
        if plan.domain.unit is None and plan.domain.adjacency == "replace-one" and raw.num_rows != plan.n:
            raise BadData(f"the plan is for {plan.n} test rows, which is not what the table has")
        names = [c for c in raw.column_names if c != label]
        return run_plan(plan, model, raw.select(names), raw[label], receipt=receipt)


def _read(domain: Domain, test: Path, label: str) -> Any:
    units = [] if domain.unit is None else [domain.unit]
    raw = read_table(test, None if domain.is_ball else [*domain.columns, label, *units])
    if raw.column_names.count(label) != 1:
        raise BadData(f"the table has no column {label!r}, or two; --label names another")
    return raw


def _label(domain: Domain, label: str | None) -> str:
    if label is not None and domain.label is not None and label != domain.label:
        raise Stop(f"--label {label} is not the label of the model, {domain.label}")
    name = label if label is not None else domain.label
    if name is None:
        raise Stop("--label: the model names no label column, so it must be given")
    if name in domain.columns:
        raise Stop(f"--label {name} is one of the model's columns")
    return name


def _rows(model: Model, test: Path, label: str, rows: int | None, ledger: LedgerAt) -> int:
    """The declared number of test rows; under replace-one, where it is public, counted if not declared."""
    if rows is not None:
        return rows
    if model.domain.unit is not None:
        raise Stop(f"--rows must be declared: how many {model.domain.unit!r} there are in TEST, not rows")
    if model.domain.adjacency != "replace-one":
        raise Stop("--rows must be declared under add-or-remove-one: the true count is private")
    if ledger is not None:
        raise Stop("--rows must be declared with --ledger: the plan is charged before the data is opened")
    count = int(_read(model.domain, test, label).num_rows)
    if count == 0:
        raise BadData(f"{test} has no rows")
    return count


def _check_out(out: Path) -> None:
    if out.suffix not in _MARKS:
        raise Stop(f"--out must end in .html or .json; got {out.suffix or 'no ending'}")
    writable_own(out, _MARKS[out.suffix], "no evaluation of this library")
    if out.exists() and out.stat().st_size:
        raise Stop(f"{out} holds an evaluation that privacy was paid for: choose another --out")


def _write(made: PrivateEvaluation, out: Path, ledger: LedgerAt) -> None:
    try:
        made.save(out, ledger=ledger)
    except OSError as error:
        raise Stop(f"cannot write to {out}: {reason(error)} (a charge, if any, stays)", AFTER_TOUCH) from None
    console.print(f"wrote {out}")
