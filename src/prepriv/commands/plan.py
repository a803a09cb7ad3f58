"""`prepriv plan`: what each step of a schema costs, and the options of a plan that other commands share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from prepriv import payment as pay
from prepriv.commands.common import (
    AsJson,
    Plot,
    check_plot,
    console,
    load,
    print_guarantee,
    print_json,
    print_prices,
    print_proofs,
    read_columns,
    write_plot,
)
from prepriv.commands.exits import Stop
from prepriv.domain import Domain
from prepriv.guarantees.drafts import with_drafts
from prepriv.guarantees.printed import down, up
from prepriv.learners.learner import Learner
from prepriv.placed.checks import check_budget
from prepriv.plans.plan import Plan, make_plan
from prepriv.plans.price import Price, prices
from prepriv.preprocessing import Step
from prepriv.recipes.automatic import recipe
from prepriv.recipes.pillar import pillar, public_spectrum, recommend_k
from prepriv.release.page import TITLES
from prepriv.release.proofs import proofs_of
from prepriv.release.report import Report, paid_for
from prepriv.runs.apart import check_other_file
from prepriv.runs.public import check_public
from prepriv.schemas.schema import Schema
from prepriv.tables.encoding import encode
from prepriv.tables.stream import Stream

SchemaFile = Annotated[Path, typer.Option("--schema", help="The declared schema (YAML).")]
LearnerOption = Annotated[
    str | None,
    typer.Option(
        help="A learner instead of the default one: OnePassSGD, or '{kind: PoissonSGD, batch_size: 256}'."
    ),
]
ClassWeight = Annotated[
    str | None,
    typer.Option(
        help="Weights of the classes in predictions: balanced (costs part of ε) or '{yes: 5}' (free)."
    ),
]
ThresholdOption = Annotated[
    float | None,
    typer.Option(help="For two classes: predict the second one above this probability (free)."),
]
Epsilon = Annotated[float, typer.Option(help="Privacy budget; inf trains without privacy.")]
Delta = Annotated[float, typer.Option(help="Chance left out of the guarantee; well below 1 / rows.")]
RowsOption = Annotated[
    int | None,
    typer.Option(
        help="Number of records, declared and public. Count them before dropping any because of what they hold."
    ),
]
AdjacencyOption = Annotated[
    str | None, typer.Option(help="replace-one or add-or-remove-one; replaces the schema's.")
]


def plan_for(
    schema: Schema,
    base: Path,
    *,
    rows: int,
    epsilon: float,
    delta: float,
    adjacency: str | None,
    private: Stream | None = None,
    read: Sequence[str] = (),
) -> Plan:
    """The frozen plan of a schema. Reads public tables (paths relative to `base`), no private one.

    private: the private table, if there is one: a public table must be another file. read: the periods whose rows it reads.
    """
    source = None if private is None else private.source
    domain = schema.domain(rows=rows, adjacency=adjacency, read=read, source=source)

    def read_public(path: str) -> Any:
        if private is not None:
            check_other_file(base / path, private)
        return read_columns(base / path, schema, label=False)

    built, learner = _recipe(schema, read_public, domain, rows, epsilon, delta)
    more, weights = schema.decision(domain)
    frozen = make_plan(domain, (*built, *more), learner, epsilon=epsilon, delta=delta, n=rows)
    frozen = replace(frozen, class_weight=weights) if weights else frozen
    check_public(frozen)  # before anything can be charged
    return frozen


def _recipe(
    schema: Schema,
    read_public: Callable[[str], Any],
    domain: Domain,
    rows: int,
    epsilon: float,
    delta: float,
) -> tuple[tuple[Step, ...], Learner]:
    if schema.pillar is None:
        steps = schema.build_steps(read_public)
        learner = schema.build_learner()
        return recipe(domain, n=rows, epsilon=epsilon, delta=delta, steps=steps, learner=learner)
    options = schema.pillar.model_dump(exclude={"public"})
    public = read_public(schema.pillar.public)
    return pillar(domain, public, epsilon=epsilon, delta=delta, n=rows, **options)


def plan(
    schema: Annotated[
        Path,
        typer.Argument(
            help="The declared schema (YAML), or your own Python file with `domain` and `pipeline` (a Pipeline of scikit-learn), which is run."
        ),
    ],
    rows: RowsOption = None,
    epsilon: Epsilon = 1.0,
    delta: Delta = 1e-5,
    adjacency: AdjacencyOption = None,
    plot: Plot = None,
    as_json: AsJson = False,
    learner: LearnerOption = None,
    class_weight: ClassWeight = None,
    threshold: ThresholdOption = None,
) -> None:
    """Price every step in each way to pay. Reads no private data."""
    check_plot(plot)
    check_budget(epsilon, delta)
    if schema.suffix == ".py":
        from prepriv.commands.plan_pipeline import plan_pipeline

        for option, given in (
            ("--plot", plot),
            ("--learner", learner),
            ("--class-weight", class_weight),
            ("--threshold", threshold),
        ):
            if given is not None:
                raise Stop(
                    f"{option} is for schemas: a pipeline names its own estimator, and prints its prices"
                )
        plan_pipeline(schema, rows=rows, epsilon=epsilon, delta=delta, adjacency=adjacency, as_json=as_json)
        return
    declared = load(schema).with_options(learner, class_weight, threshold)
    n = rows if rows is not None else declared.rows
    if n is None:
        raise Stop("--rows: the number of records must be declared, here or as rows: in the schema")
    frozen = plan_for(declared, schema.parent, rows=n, epsilon=epsilon, delta=delta, adjacency=adjacency)
    whole = with_drafts(frozen.guarantee, frozen.domain, frozen.delta, frozen.n)
    print_guarantee(frozen, frozen.private, whole)
    show_learner(frozen)
    table: list[Price] = []
    if frozen.private:
        steps = [p.step for p in frozen.steps]
        table = prices(steps, frozen.domain, frozen.learner, epsilon=epsilon, delta=delta, n=n)
        print_prices(table)
        write_plot(
            plot,
            "Noise of training, times that of a free step",
            [
                (f"{p.step}, {TITLES[p.way]}{' (paid)' if p.chosen else ''}", p.factor)
                for p in table
                if p.open
            ],
        )
    _recommend(frozen)
    if frozen.private:
        print_proofs(proofs_of(frozen))
    if as_json:
        print_json(Report(frozen, frozen.private, tuple(table), paid=tuple(paid_for(frozen))).to_json())


def show_learner(plan: Plan) -> None:
    """Its settings, how far one record moves what it sums, and its noise: one line."""
    learner, setting = plan.learner, plan.setting
    share = getattr(learner, "flatten", 0.0)
    flat = f", flatten {share:g}" if share else ""
    console.print(
        f"{learner.name}: {learner.loss.name}, {learner.steps} steps, learning rate {learner.learning_rate:.4g}, "
        f"clip {learner.clip_norm:g}{flat}; one record moves a gradient sum by at most "
        f"{up(float(learner.reach(setting)) * learner.unit(setting), 5)}, noise {down(plan.learner_noise, 5)}"
    )


def _recommend(plan: Plan) -> None:
    """For a PCA on public rows: the k that public rows, n and the budget speak for."""
    for at, planned in enumerate(plan.steps):
        step = planned.step
        before = [p.step for p in plan.steps[:at]]
        if step.directions is None or step.way != pay.Public.way:
            continue
        if any(s.way not in ("free", pay.Public.way) for s in before):
            continue  # what its rows look like is not known before the run
        data = step.paid.data
        best = recommend_k(
            public_spectrum(data, plan.domain, before),
            n=plan.n,
            epsilon=plan.epsilon,
            delta=plan.delta,
            adjacency=plan.domain.adjacency,
            public_rows=encode(data, plan.domain).n,
            classes=len(plan.domain.classes) or 2,
        )
        console.print(
            f"{step.name} on public data: k={step.directions} declared, k={best.k} recommended "
            f"({100 * best.tail:.1f} % of the public second moment left out)"
        )
