"""`prepriv evaluate`: a released model on private test rows."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Annotated

import typer

from prepriv._progress import waiting
from prepriv.commands.common import (
    ByOption,
    Came,
    ErrorBoundOption,
    LedgerAt,
    MeasureOption,
    Note,
    counted_rows,
    declared_weights,
    head_to_keep,
    noted,
    private_run,
    says_what_stays,
)
from prepriv.commands.data import DATA, DeltaOption, LedgerOption, QueryOption, opened
from prepriv.commands.earlier import say_drafted
from prepriv.commands.exits import Stop, print_json
from prepriv.commands.outputs import paid_output, reserved_file, writable_once
from prepriv.commands.printing import AsJson, console, print_measured, print_quality
from prepriv.domain import Domain
from prepriv.evaluation.evaluate import evaluate as run_plan
from prepriv.evaluation.evaluation_plan import EvaluationPlan, as_trained, plan_evaluation
from prepriv.evaluation.expected import hardly_measured
from prepriv.guarantees.drafts import drafts_cost
from prepriv.guarantees.printed import down, epsilon_at, up
from prepriv.placed.checks import check_budget
from prepriv.placed.rows import PrivateTable
from prepriv.release.model import Model
from prepriv.tables.stream import Stream

_MARKS = {".json": b'"evaluation": [', ".html": b"<title>prepriv evaluation</title>"}


def evaluate(
    model: Annotated[
        Path, typer.Argument(help="The released model: its folder, its file or the folder of its run.")
    ],
    test: Annotated[str, typer.Argument(help=f"The private test rows, with labels: {DATA}")],
    query: QueryOption = None,
    epsilon: Annotated[float, typer.Option(help="Privacy budget of the people in TEST.")] = 0.1,
    delta: DeltaOption = 1e-5,
    rows: Annotated[int | None, typer.Option(help="Number of records in TEST, declared and public.")] = None,
    label: Annotated[str | None, typer.Option(help="The label column (default: the model's).")] = None,
    measure: MeasureOption = None,
    error_bound: ErrorBoundOption = None,
    by: ByOption = None,
    group: Annotated[
        list[str] | None,
        typer.Option(
            help="A category of --by that the schema does not declare. Repeat the option for several."
        ),
    ] = None,
    period: Annotated[
        list[str] | None,
        typer.Option(
            help="For a model trained by periods: read the test rows of this period alone (default: those of training)."
        ),
    ] = None,
    class_weight: Annotated[
        str | None,
        typer.Option(
            help="Measure predictions with these weights of the classes, such as '{yes: 5}', in place of the model's, as `predict` takes them."
        ),
    ] = None,
    ledger: LedgerOption = None,
    note: Note = None,
    out: Annotated[Path | None, typer.Option(help="Write the result to this .html or .json file.")] = None,
    as_json: AsJson = False,
) -> None:
    """Measure a released model on private test rows: noisy counts with intervals.

    Rows that the model was trained on are paid for a second time. Use one ledger for both, and it adds up the two charges.
    """
    came, account = Came(), noted(ledger, note)
    with says_what_stays(came, out), contextlib.ExitStack() as taken:
        check_budget(epsilon, delta)
        released = Model.load(model)
        taken.enter_context(reserved_file(out, _check_out))
        stream, name = opened(test, query), _label(released.domain, label)
        plan = plan_evaluation(
            released,
            n=_rows(released.domain, stream, name, account) if rows is None else rows,
            epsilon=epsilon,
            delta=delta,
            measures=measure or None,
            error_bound=error_bound,
            by=by,
            groups=group or None,
            read=tuple(period or ()),
            source=stream.source,
            class_weight=None if class_weight is None else declared_weights(class_weight),
        )
        _say_plan(plan)
        _say_same(plan, released)
        if account is None and released.receipt is not None:
            console.print(
                "no ledger adds this measurement up, and one paid for the model: name it with --ledger if the test rows can hold the same people",
                soft_wrap=True,
            )
        say_drafted(plan.domain, account, others=True)
        unread = PrivateTable(stream, name, plan.reads, plan.n, "test rows")
        with private_run(came), waiting("reading"):
            made = run_plan(plan, released, unread, ledger=account, reached=came)
        if out is not None:  # before anything is printed: standard output can end early
            came.writing = True
            with paid_output(out, lambda: json.dumps(made.to_json(), indent=1) + "\n"):
                made.save(out, ledger=account)
        print_quality(made.quality, weighed=made.weighed)
        if not as_trained(plan, released):  # otherwise it was said before anything was charged
            console.print(made.which_rows, soft_wrap=True)
        print_measured(made)
        if out is not None:
            console.print(f"wrote {out}")
        if account is not None:
            console.print(head_to_keep(account), soft_wrap=True)
    if as_json:
        print_json(made.to_json())


def _say_plan(plan: EvaluationPlan) -> None:
    g = plan.guarantee
    console.print(
        f"to spend: {epsilon_at(g.epsilon(plan.delta), plan.delta)} ({up(g.mu or 0.0, 4)}-GDP) on counts of "
        f"{', '.join(plan.releases)} with noise {down(plan.noise, 4)}",
        soft_wrap=True,
    )
    for note in g.notes:
        console.print(f"  {note}")
    if plan.domain.drafts:
        console.print(
            f"  the claim below is higher, because it adds {drafts_cost(plan.domain)}: someone may be in both tables. For people who are in "
            "the test rows alone this measurement is all there is",
            soft_wrap=True,
        )


def _say_same(plan: EvaluationPlan, model: Model) -> None:
    """Loudly, before anything is spent: where nothing could be said, and where the test rows may be those of the training, as many
    of which were declared."""
    for why in filter(None, (hardly_measured(plan), as_trained(plan, model))):
        console.print(f"WARNING: {why}", soft_wrap=True)


def _label(domain: Domain, label: str | None) -> str:
    if label is not None and domain.label is not None and label != domain.label:
        raise Stop(
            f"--label {label} is not the label of the model, {domain.label}: leave --label out, or rename the column in the header line of the test rows"
        )
    name = label if label is not None else domain.label
    if name is None:
        raise Stop("--label: the model names no label column, so it must be given")
    if name in domain.columns:
        raise Stop(f"--label {name} is one of the model's columns")
    return name


def _rows(domain: Domain, stream: Stream, label: str, ledger: LedgerAt) -> int:
    """The number of test rows, where it is not declared."""
    return counted_rows(
        stream,
        [*domain.columns, label],
        unit=domain.unit,
        adjacency=domain.adjacency,
        ledger=ledger,
    )


def _check_out(out: Path) -> None:
    if out.suffix not in _MARKS:
        raise Stop(f"--out must end in .html or .json; got {out.suffix or 'no ending'}")
    writable_once(out, _MARKS[out.suffix], "evaluation")
