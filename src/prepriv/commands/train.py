"""`prepriv train`: a raw table in, a private model out."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from prepriv._progress import progress_bar
from prepriv.commands.common import (
    ByOption,
    Came,
    ErrorBoundOption,
    LedgerAt,
    MeasureOption,
    Note,
    counted_rows,
    head_to_keep,
    load,
    noted,
    private_run,
    read_columns,
    says_what_stays,
)
from prepriv.commands.data import (
    DATA,
    DeltaOption,
    LedgerOption,
    QueryOption,
    RowsOption,
    SchemaOption,
    opened,
    say_other_rows,
)
from prepriv.commands.earlier import say_drafted, say_earlier
from prepriv.commands.exits import Stop, print_json
from prepriv.commands.outputs import Overwrite, paid_output, reserved_run
from prepriv.commands.plan import (
    AdjacencyOption,
    ClassWeight,
    Epsilon,
    LearnerOption,
    ThresholdOption,
    plan_for,
)
from prepriv.commands.printing import (
    AsJson,
    console,
    print_guarantee,
    print_measured,
    print_summary,
    print_table,
)
from prepriv.domain import Domain
from prepriv.engines.engine import Engine, Room
from prepriv.engines.named import named
from prepriv.evaluation.expected import hardly_measured
from prepriv.evaluation.found_hashes import found_note
from prepriv.evaluation.holdout import Holdout, HoldoutPlan, plan_holdout, train_and_evaluate
from prepriv.evaluation.result import PrivateEvaluation
from prepriv.guarantees.gaussian import gdp_epsilon, gdp_mu
from prepriv.guarantees.notes import FEWEST_SIGNALS, weak_claims
from prepriv.guarantees.printed import USELESS, exact, up
from prepriv.placed.checks import check_budget
from prepriv.placed.rows import PrivateTable
from prepriv.plans.plan import Plan
from prepriv.release.advice import below_the_mean_in_words
from prepriv.release.audited import audit_in_words
from prepriv.release.model import FILE, Model
from prepriv.release.report import Errors, Evaluation, Report, paid_for
from prepriv.runs.apart import check_other_file
from prepriv.runs.charge import released
from prepriv.runs.run import Progress, Trained, room_for
from prepriv.runs.self_audit import check_audit
from prepriv.runs.train import train as run_plan
from prepriv.schemas.persons import may_say_whose, one_row_one_person
from prepriv.schemas.schema import Schema
from prepriv.tables.column import numbers_in
from prepriv.tables.encoding import encode_labels, label_column
from prepriv.tables.readers import BadData
from prepriv.tables.stream import Stream


def train(
    data: Annotated[str, typer.Argument(help=f"The private table: {DATA}")],
    schema: SchemaOption,
    query: QueryOption = None,
    label: Annotated[str | None, typer.Option(help="The label column (default: from the schema).")] = None,
    epsilon: Epsilon = 1.0,
    delta: DeltaOption = 1e-5,
    out: Annotated[Path, typer.Option(help="Folder for the model and its reports.")] = Path("run"),
    rows: RowsOption = None,
    adjacency: AdjacencyOption = None,
    learner: LearnerOption = None,
    class_weight: ClassWeight = None,
    threshold: ThresholdOption = None,
    ledger: LedgerOption = None,
    note: Note = None,
    public_test: Annotated[
        Path | None, typer.Option(help="A labelled table that you declare PUBLIC, to score the model on.")
    ] = None,
    memory: Annotated[
        str | None,
        typer.Option(
            help="Memory for rows, such as 2GB (default: half of what is free). Rows that do not fit go to disk."
        ),
    ] = None,
    engine: Annotated[
        str | None,
        typer.Option(
            help="What adds up the rows: threads (default), torch, torch:cuda, dask or dask://HOST:PORT."
        ),
    ] = None,
    period: Annotated[
        list[str] | None,
        typer.Option(
            help="Read the rows of this month (2026-11) or year (2026) alone, where the schema declares periods. Repeat the option for several."
        ),
    ] = None,
    holdout: Annotated[
        float | None,
        typer.Option(help="Set this share of the records aside at random, and measure the model on them."),
    ] = None,
    evaluate_epsilon: Annotated[
        float | None,
        typer.Option(
            help="Budget of that measurement (default: that of training, at no extra cost, because these are other records)."
        ),
    ] = None,
    measure: MeasureOption = None,
    by: ByOption = None,
    error_bound: ErrorBoundOption = None,
    audit: Annotated[
        str | None,
        typer.Option(
            help="canaries=10000 adds made-up rows with which the run audits itself. The claim does not change."
        ),
    ] = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Train a private model on a table; write OUT/model, OUT/report.html and OUT/report.json.

    Cells that do not fit the schema (decimal commas, another encoding, labels that are not declared) are not reported, because a
    report would reveal records. The curator can run `prepriv validate` first, which ends with 1 where classes seem misspelled:
    prepriv validate DATA --schema S.yaml && prepriv train DATA --schema S.yaml
    """
    came, canaries = Came(), _canaries(audit)
    given = {
        "--measure": measure or None,
        "--evaluate-epsilon": evaluate_epsilon,
        "--by": by,
        "--error-bound": error_bound,
    }
    said = next((option for option, value in given.items() if value is not None), None)
    if holdout is None and said is not None:
        raise Stop(f"{said} changes what --holdout measures: give both")
    with says_what_stays(came, out):
        declared = load(schema, label).with_options(learner, class_weight, threshold)
        with named(engine, memory) as chosen:
            job = Job(
                opened(data, query),
                declared,
                schema.parent,
                epsilon,
                delta,
                rows,
                adjacency,
                noted(ledger, note),
                chosen,
                public_test=public_test,
                holdout=None
                if holdout is None
                else Holdout(holdout, evaluate_epsilon, measure or None, by, error_bound),
                audit=canaries,
                read=tuple(period or ()),
            )
            report = job.run(out, overwrite, came)
    if as_json:
        print_json(report.to_json())


def _canaries(audit: str | None) -> int | None:
    """Of --audit canaries=N."""
    if audit is None:
        return None
    found = re.fullmatch(r"canaries=(\d{1,9})", audit)
    if found is None:
        raise Stop("--audit must be canaries=N, such as canaries=10000")
    return int(found[1])


@dataclass(frozen=True)
class Job:
    """A table to train on, what is declared about it, and the budget: everything said on the command line but where to write.

    base: the folder of the schema. public_test: a table declared public, to score. holdout: records that are set aside.
    read: the periods whose rows are read.
    """

    data: Stream
    declared: Schema
    base: Path
    epsilon: float
    delta: float
    rows: int | None
    adjacency: str | None
    ledger: LedgerAt
    engine: Engine
    public_test: Path | None = None
    holdout: Holdout | None = None
    audit: int | None = None
    read: tuple[str, ...] = ()

    def run(self, out: Path, overwrite: bool, came: Came) -> Report:
        """Plan, charge, train, write, and say what was spent. came: told how far it got."""
        check_budget(self.epsilon, self.delta)
        if self.public_test is not None:
            check_other_file(self.public_test, self.data)
        frozen, whole = self._plans()
        if self.audit is not None:
            check_audit(frozen, self.audit)
        test = self._test_table(frozen)
        room = room_for(frozen, self.engine)
        if room.note is not None:
            console.print(room.note)
        with reserved_run(out, overwrite) as folder:
            _say_few(frozen, measured=whole is not None or test is not None)
            for _, why in () if frozen.guarantee is None else weak_claims(frozen.guarantee.notes):
                console.print(f"WARNING: the claim is weak: {why}", soft_wrap=True)
            if whole is not None and (why := hardly_measured(whole.evaluation)):
                console.print(f"WARNING: the holdout: {why}", soft_wrap=True)
            say_drafted(frozen.domain, self.ledger)
            if self.ledger is None:
                say_earlier(out, frozen.domain, (whole or frozen).guarantee, frozen.delta, frozen.n)
            with private_run(came), progress_bar() as progress:
                trained, measured = self._trained(frozen, whole, room, progress, came)
                model, evaluation = Model.of(trained), None
                if test is not None and self.public_test is not None:
                    name = self.public_test.name  # a path would tell of this machine
                    evaluation = scored(model, test, frozen.domain, name)
                model = replace(model, found=found_note(measured, trained.audited, evaluation))
                report = Report.of(
                    frozen,
                    private=trained.private,
                    evaluation=evaluation,
                    receipt=trained.receipt,
                    measured=measured,
                    model=model,
                    audited=trained.audited,
                )
            came.writing = True
            with paid_output(out, lambda: model.text() + report.text()):
                model.save(folder / "model", overwrite=overwrite)
            try:
                with paid_output(out, report.text):
                    report.save(folder / "report.json")
                    report.save(folder / "report.html")
            finally:  # of what was written, whoever replaced it since
                released(self.ledger, trained.receipt, model.text().encode(), model.found)
        _tell(report, measured, folder)
        if self.ledger is not None:
            console.print(head_to_keep(self.ledger), soft_wrap=True)
        return report

    def _trained(
        self,
        plan: Plan,
        whole: HoldoutPlan | None,
        room: Room,
        progress: Progress | None,
        came: Came,
    ) -> tuple[Trained, PrivateEvaluation | None]:
        """Admit the plan to the table, or the whole one whose part it is. No record is read before the charge of a ledger."""
        n, label, ledger = (whole or plan).n, self.declared.label.name, self.ledger
        table = PrivateTable(self.data, label, plan.domain, n)
        if whole is not None:
            return train_and_evaluate(
                whole, table, ledger=ledger, room=room, progress=progress, reached=came, audit=self.audit
            )
        trained = run_plan(
            plan, table, ledger=ledger, room=room, progress=progress, reached=came, audit=self.audit
        )
        return trained, None

    def _plans(self) -> tuple[Plan, HoldoutPlan | None]:
        """The plan of the training, and the one of training and measurement whose part it is."""
        n = self._rows()

        def made(count: int) -> Plan:
            return plan_for(
                self.declared,
                self.base,
                rows=count,
                epsilon=self.epsilon,
                delta=self.delta,
                adjacency=self.adjacency,
                private=self.data,
                read=self.read,
            )

        if self.holdout is None:
            return made(n), None
        declared = self.declared.domain(adjacency=self.adjacency, read=self.read, source=self.data.source)
        whole = plan_holdout(self.holdout, made, n, declared)
        return whole.training, whole

    def _rows(self) -> int:
        """The declared number of records; under replace-one, where it is public, counted if not declared."""
        schema = self.declared
        say_other_rows(schema, self.rows)
        n = self.rows if self.rows is not None else schema.rows
        if n is not None:
            return n
        return counted_rows(
            self.data,
            [*schema.columns, schema.label.name],
            unit=schema.unit,
            adjacency=self.adjacency or schema.adjacency,
            ledger=self.ledger,
        )

    def _test_table(self, plan: Plan) -> Any:
        """The public table as it was read, or None."""
        if self.public_test is None:
            return None
        test = read_columns(self.public_test, self.declared, label=True)
        if test.num_rows == 0:
            raise BadData(f"{self.public_test} has no rows")
        target, labels = plan.domain.target, test[self.declared.label.name]
        if target is None and not (encode_labels(labels, plan.domain.classes) >= 0).any():
            raise BadData(f"{self.public_test} holds no label that is a declared class")
        if target is not None and not np.isfinite(numbers_in(label_column(labels), target.written)).any():
            raise BadData(f"{self.public_test} holds no target that is a number")
        return test


def _say_few(plan: Plan, *, measured: bool) -> None:
    """Of a plan whose model would be noise: the ε from which it is not, before anything is charged. measured: whether a score will
    say whether a number is predicted better than its mean."""
    if not plan.private:
        return
    if not measured and (below := below_the_mean_in_words(plan, often=True)):
        console.print(f"WARNING: nothing measures this model (`--holdout 0.2` does). {below}", soft_wrap=True)
        return
    strength = plan.n * gdp_mu(plan.epsilon, plan.delta)
    if strength >= FEWEST_SIGNALS:
        return
    enough = gdp_epsilon(gdp_mu(plan.epsilon, plan.delta) * FEWEST_SIGNALS / strength, plan.delta)
    least = f"about --epsilon {up(enough, 2)} is" if enough < USELESS else "only more records are"
    said = f"a model of {plan.n:,} {'records' if plan.domain.unit is None else 'units'} at ε = {exact(plan.epsilon)} is mostly noise: {least} the least that can show more"
    said += ". A good model takes many times that: `prepriv plan SCHEMA --epsilons 0.1,0.5,1,2,4` shows "
    said += (
        "what tables that we measured took"
        if plan.domain.target is None
        else "from where on it is hardly ever worse than the mean"
    )
    console.print(f"WARNING: {said}", soft_wrap=True)


def _tell(report: Report, measured: PrivateEvaluation | None, folder: Path) -> None:
    """What was predicted and how well; what was spent, what was measured, what was written."""
    print_summary(report)
    console.print()
    print_guarantee(report.plan, report.private, report.guarantee)
    if report.private and report.plan.domain.unit is None and may_say_whose(report.plan.domain.columns):
        console.print(one_row_one_person(report.plan.domain.columns), soft_wrap=True)
    print_table("What was paid for what", ("step", "paid by", "cost"), paid_for(report.plan))
    if report.audited is not None:
        console.print(audit_in_words(report.plan, report.audited), soft_wrap=True)
    if measured is not None:
        print_measured(measured)
    if report.evaluation is not None:
        console.print(str(report.evaluation))
    console.print(f"wrote {folder / 'model' / FILE}, {folder / 'report.html'}, {folder / 'report.json'}")


def scored(model: Model, table: Any, domain: Domain, name: str) -> Evaluation | Errors:
    """How good a model is on a labelled Arrow table, declared public."""
    if domain.target is None:
        assert domain.label is not None
        targets = encode_labels(table[domain.label], domain.classes)
        return Evaluation.of(
            model.predict_index(table.select(list(domain.columns))), targets, domain.classes, name
        )
    truth = numbers_in(label_column(table[domain.label]), domain.target.written)
    return Errors.of(model, table.select(list(domain.columns)), truth, name)
