"""`prepriv plan`: what each step of a schema costs, and the options of a plan that other commands share."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer

from prepriv import payment as pay
from prepriv._arguments import number
from prepriv._progress import waiting
from prepriv.adjacency import n_is_public
from prepriv.columns import Text
from prepriv.commands.common import load, read_columns
from prepriv.commands.data import DeltaOption, RowsOption, declared_number
from prepriv.commands.exits import Stop, print_json
from prepriv.commands.outputs import Plot, check_plot, write_plot
from prepriv.commands.printing import (
    AsJson,
    console,
    print_guarantee,
    print_prices,
    print_proofs,
    print_table,
)
from prepriv.domain import Domain
from prepriv.guarantees.drafts import with_drafts
from prepriv.guarantees.in_words import right_guesses
from prepriv.guarantees.notes import notes_on
from prepriv.guarantees.printed import down, exact, percent, places, plain, up
from prepriv.learners.learner import Learner
from prepriv.placed.checks import check_budget
from prepriv.plans.decision import decision_in_words, warn_of_weights
from prepriv.plans.plan import Plan, make_plan
from prepriv.plans.price import Price, prices
from prepriv.preprocessing import Step
from prepriv.recipes.automatic import recipe
from prepriv.recipes.pillar import pillar, public_spectrum, recommend_k
from prepriv.recipes.worth import Worth, per_column, worth_at
from prepriv.release.advice import HELD, below_the_mean_in_words, sure_in_words
from prepriv.release.proofs import proofs_of
from prepriv.release.report import TITLES, Report, paid_for
from prepriv.release.summary import whose_rows
from prepriv.runs.apart import check_other_file
from prepriv.runs.public import check_public
from prepriv.schemas.schema import Schema
from prepriv.tables.encoding import encode
from prepriv.tables.stream import Stream
from prepriv.tables.written import span_of

LearnerOption = Annotated[
    str | None,
    typer.Option(
        help="A learner instead of the default one: OnePassSGD, fast, or '{kind: PoissonSGD, batch_size: 256}'."
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
    typer.Option(
        help="For two classes: predict the one that comes second in ascending order above this probability (free)."
    ),
]
Epsilon = Annotated[float, typer.Option(help="Privacy budget; inf trains without privacy.")]
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
    if more or weights:
        warn_of_weights(frozen)
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
    delta: DeltaOption = 1e-5,
    adjacency: AdjacencyOption = None,
    plot: Plot = None,
    as_json: AsJson = False,
    learner: LearnerOption = None,
    class_weight: ClassWeight = None,
    threshold: ThresholdOption = None,
    epsilons: Annotated[
        str | None,
        typer.Option(
            help="In place of --epsilon: compare these budgets, such as 0.1,0.5,1,2,4. Prints what each promises, its noise, and what it was worth on tables we measured."
        ),
    ] = None,
    holdout: Annotated[
        float | None,
        typer.Option(
            help="Also print how well `train --holdout` with this share of the records would know its score."
        ),
    ] = None,
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
            ("--epsilons", epsilons),
            ("--holdout", holdout),
        ):
            if given is not None and option == "--epsilons":
                first = epsilons.split(",")[0] if epsilons else "0.1"
                counted = "" if rows is None else f" --rows {rows}"
                raise Stop(
                    f"--epsilons compares what schemas are worth on tables we measured, and a pipeline names its own estimator: run "
                    f"`prepriv plan {schema}{counted or ' --rows N'} --epsilon {first}` once for each ε, or give --epsilons to a schema of the same columns"
                )
            if given is not None:
                raise Stop(
                    f"{option} is for schemas, because a pipeline names its own estimator and prints its own prices"
                )
        plan_pipeline(schema, rows=rows, epsilon=epsilon, delta=delta, adjacency=adjacency, as_json=as_json)
        return
    declared = load(schema).with_options(learner, class_weight, threshold)
    n = declared_number(declared, rows)

    def made(budget: float) -> Plan:
        return plan_for(declared, schema.parent, rows=n, epsilon=budget, delta=delta, adjacency=adjacency)

    if epsilons is not None:
        if plot is not None:
            raise Stop("--plot is for one ε, so leave out --epsilons")
        budgets = _budgets(epsilons, delta)
        with waiting("pricing"):
            plans = [made(budget) for budget in budgets]
            lines = compared(plans)
            scores = [
                f"ε = {plan.epsilon:g}, {score_in_words(plan, holdout)}"
                for plan in plans
                if holdout is not None
            ]
        show_compared(lines, plans[0].domain.unit)
        said = (
            *scores,
            recall_in_words(plans),
            target_in_words(plans),
            *weak_delta(plans[0]),
            after_draft(plans[0].domain),
        )
        for sentence in filter(None, said):
            console.print(sentence, soft_wrap=not console.is_terminal)
        if as_json:
            print_json({"epsilons": [line.to_json() for line in lines]})
        return
    frozen = made(epsilon)
    expected = None if holdout is None else score_in_words(frozen, holdout)
    whole = with_drafts(frozen.guarantee, frozen.domain, frozen.delta, frozen.n)
    print_guarantee(frozen, frozen.private, whole)
    show_learner(frozen)
    if weighed := decision_in_words(frozen.class_weight, frozen.domain.classes):
        console.print(weighed, soft_wrap=True)
    for sentence in texts_in_words(frozen):
        console.print(sentence, soft_wrap=not console.is_terminal)
    below = below_the_mean_in_words(frozen, often=True) or sure_in_words(frozen)
    if below and holdout is not None:
        below += " With the holdout s is less, by that share."
    for line in filter(None, (expected, below)):
        console.print(line, soft_wrap=not console.is_terminal)
    table: list[Price] = []
    if frozen.private:
        steps = [p.step for p in frozen.steps]
        with waiting("pricing"):
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
        console.print(
            f"Before you train: `prepriv validate DATA --schema {schema}` counts labels and cells that are not as declared, such as misspelled classes. Training "
            "cannot say so. Its counts are for the curator alone",
            soft_wrap=True,
        )
    if as_json:
        print_json(Report(frozen, frozen.private, tuple(table), paid=tuple(paid_for(frozen))).to_json())


class Compared(NamedTuple):
    """One ε of several: what it promises, its noise, and what it was worth elsewhere.

    right_guesses: of the best attacker, a share. noise: of training, over that of the first ε. per_column: n·µ/d. worth: what runs
    with that n·µ/d had (`prepriv.recipes.worth`); None of a numeric target, where it was not measured.
    """

    epsilon: float
    right_guesses: float
    noise: float
    per_column: float
    worth: Worth | None

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        worth = None if self.worth is None else self.worth._asdict() | {"high": plain(self.worth.high)}
        return self._asdict() | {"worth": worth}


def _budgets(text: str, delta: float) -> list[float]:
    """Of --epsilons."""
    try:
        found = [float(part) for part in text.split(",")]
    except ValueError:
        raise Stop(
            f"--epsilons must be numbers with commas between them, such as 0.1,1,4; got {text!r}"
        ) from None
    if len(found) > _MOST_BUDGETS or not all(map(math.isfinite, found)):
        raise Stop(f"--epsilons takes up to {_MOST_BUDGETS} finite numbers; got {text!r}")
    for budget in found:
        check_budget(budget, delta)
    return found


def compared(plans: Sequence[Plan]) -> list[Compared]:
    """The same plan at several budgets, side by side. Reads no private data."""
    out = []
    for plan in plans:
        assert plan.guarantee is not None
        whole = with_drafts(plan.guarantee, plan.domain, plan.delta, plan.n)
        at = per_column(plan.domain, n=plan.n, epsilon=plan.epsilon, delta=plan.delta)
        worth = worth_at(at) if plan.domain.target is None else None
        noise = plan.learner_noise_multiplier / plans[0].learner_noise_multiplier
        out.append(Compared(plan.epsilon, right_guesses(whole), noise, at, worth))
    return out


def target_in_words(plans: Sequence[Plan]) -> str:
    """Where a model of a number can be worse than its mean, at these budgets; "" for classes, and where it is not so."""
    weak = [plan for plan in plans if plan.domain.target is not None and plan.signal < HELD]
    if not weak:
        return ""
    now = ", ".join(f"{float(f'{plan.signal:.2g}'):g} at ε = {plan.epsilon:g}" for plan in weak)
    return (
        f"Below s = {HELD} (records times the budget, n·µ/2 under replace-one) a model of a number can be worse than the mean, answered for every row. "
        f"Here s is {now}; with a holdout it is less, by that share. That is for numbers whose standard deviation is 10 to 20 % of the distance of their bounds. One of 5 %, such as a count with a few large values, takes up to four times as much, and many columns take more: docs/regression.md"
    )


def recall_in_words(plans: Sequence[Plan]) -> str:
    """From how many records of a class on its recall is known to ten points, at each budget; "" for a target. A holdout of a fifth
    measures it; half of them are recognised, which is the worst case, and intervals are those of `prepriv.evaluation`."""
    from prepriv.evaluation.evaluation_plan import plan_evaluation
    from prepriv.evaluation.intervals import FEWEST, Z_SQUARED

    rows, classes = round(_HELD_OUT * plans[0].n), len(plans[0].domain.classes)
    if classes < 2 or rows < 1:
        return ""

    def records(plan: Plan, measures: str | None) -> str:
        made = plan_evaluation(plan.domain, n=rows, epsilon=plan.epsilon, delta=plan.delta, measures=measures)
        noise = made.noise
        # of r records that the holdout sees: points^2 r^2 = z^2 (r / 4 + noise of the counts)
        a, b, c = _POINTS**2, Z_SQUARED / 4, Z_SQUARED * noise**2 * classes / 4
        seen = (b + math.sqrt(b**2 + 4 * a * c)) / (2 * a)
        seen = max(seen, FEWEST * noise * math.sqrt(classes)) / _HELD_OUT
        return f"{float(f'{seen:.2g}'):,.0f} at ε = {exact(plan.epsilon)}"

    return (
        "recall: accuracy hides a rare class. With --holdout 0.2 its recall is known to 10 points if the table has about so many "
        f"records of it: {', '.join(records(plan, None) for plan in plans)}. `train --measure confusion` measures nothing else and needs "
        f"fewer: {', '.join(records(plan, 'confusion') for plan in plans)}. A larger --holdout or a second labelled file (`prepriv evaluate`) "
        "measures more records. `--class-weight` makes the model find more of the class."
    )


def weak_delta(plan: Plan) -> list[str]:
    """That δ is not well below 1/n, as the claim of a run would say it."""
    return [note for note in notes_on(0.0, plan.delta, plan.n, math.inf) if note.startswith("weak:")]


def after_draft(domain: Domain) -> str:
    """Where a private draft made the schema: that an ε chosen now is chosen after it, and how to choose it before."""
    if not domain.drafts:
        return ""
    return (
        "WARNING: this schema was drafted from the table, and the claim of draft and training holds only if ε and δ were chosen before "
        "anyone saw the draft. An ε chosen from these lines is chosen after it. Choose it before, from the number of records and columns: "
        "the table in docs/learn/which-epsilon.md, or this command on a schema that you write by hand, where guessed bounds will do"
    )


def texts_in_words(plan: Plan) -> list[str]:
    """What each column of texts costs in signal, and why: a sentence each."""
    domain, out = plan.domain, list[str]()
    if not plan.private or domain.is_ball:
        return out
    d = domain.space.d
    signal = per_column(domain, n=plan.n, epsilon=plan.epsilon, delta=plan.delta)
    for name, column in domain.columns.items():
        if isinstance(column, Text) and d > column.features:
            out.append(
                f"{name!r} is a column of texts, {column.features:,} of the {d:,} encoded columns, and each of them is trained with noise: "
                f"n·µ/d is {signal:.3g} with it and {signal * d / (d - column.features):.3g} without"
            )
    return out


def score_in_words(plan: Plan, share: float) -> str:
    """Half of the interval of a score of a holdout, from declared facts alone: that of a model which is right half of the time, or off by
    half of what counts, which is the widest, and of noisy counts that are too low, as hardly ever. ValueError for a share that is not in (0, 1)."""
    from prepriv.evaluation.evaluation_plan import plan_evaluation
    from prepriv.evaluation.intervals import share as share_in
    from prepriv.evaluation.intervals import share_of_n

    rows = max(round(number("holdout", share, above=0.0, below=1.0) * plan.n), 1)
    counted = f"{rows:,} {'records' if plan.domain.unit is None else 'units'}"
    made = plan_evaluation(plan.domain, n=rows, epsilon=plan.epsilon, delta=plan.delta)
    low = _SURELY * made.noise / math.sqrt(2)  # each of two, so that their sum is as low as it hardly ever is
    half = np.array([rows / 2 - low, rows / 2 - low, 2 * low])
    found = (
        share_of_n("", half, rows, made.noise)
        if n_is_public(plan.domain.adjacency)
        else share_in("", half[:1], half[1:2], made.noise)
    )
    off = math.inf if found.low is None or found.high is None else (found.high - found.low) / 2
    if off >= _NOTHING_KNOWN:
        return f"--holdout {share:g}: about {counted} are too few beside the noise to measure a score"
    target = plan.domain.target
    if target is None:
        told = f"the accuracy would be known to ± {100 * off:.2g} points or better, in nearly all runs, without --by if each has a label"
    else:
        bound, unit = made.error_bound or 0.0, span_of(target.written)
        unit = "" if unit == "number" else f" {unit}"
        told = (
            f"the mean absolute error would be known to ± {off * bound:.2g}{unit} or better, in nearly all runs, without --by if each has a label, where errors above {bound:.3g}{unit} count as "
            f"{bound:.3g}"
        )
    return (
        f"--holdout {share:g}: of about {counted} that are set aside, {told}. With --by it is known less closely, because each group has noise of its own. The rest of this plan trains on all {plan.n:,}; with the holdout it is about "
        f"{plan.n - rows:,}, and the noise weighs {plan.n / max(plan.n - rows, 1):.3g} times as much"
    )


def show_compared(lines: Sequence[Compared], unit: str | None = None) -> None:
    """The table, and what its columns mean. unit: the column that says to whom rows belong."""
    rows = []
    for line in lines:
        w = line.worth
        told = (
            ("not measured", "", "")
            if w is None
            else (w.in_words, f"{w.half:g} / {w.most:g}", f"{w.beat} of {w.runs}")
        )
        rows.append(
            (
                exact(line.epsilon),
                percent(line.right_guesses),
                f"x {places(line.noise, 2)}",
                f"{line.per_column:.3g}",
                *told,
            )
        )
    measured = any(line.worth is not None for line in lines)  # of classes alone
    columns = (
        "ε",
        "attacker right, at most",
        "noise",
        "n·µ/d",
        "accuracy to expect",
        "errors more",
        "beat commonest",
    )
    print_table(
        f"What each ε promises{', and what accuracy it left on tables we measured' if measured else ''}",
        columns if measured else columns[:4],
        rows if measured else [row[:4] for row in rows],
        right=(0, 1, 2, 3, 5, 6) if measured else (0, 1, 2, 3),
    )
    guesses = f"attacker right: of 100 guesses about {whose_rows(unit)}, at most so many are right; a coin has 50. With a private draft of the schema, of both."
    for sentence in (guesses, *(_READING if measured else (*_READING[:2], _OF_NUMBERS, _READING[-1]))):
        console.print(sentence, soft_wrap=not console.is_terminal)


_MOST_BUDGETS = 20
_SURELY = 2.0  # deviations
_NOTHING_KNOWN = 0.5  # half of an interval that is the whole scale
_HELD_OUT, _POINTS = 0.2, 0.1  # of the table, and how far from the recall the ends of its interval may be
_READING = (
    "noise: of one step of training, times that of the first line.",
    "n·µ/d: records (or units) times budget per column. It decides what noise leaves of the signal.",
    "accuracy to expect: beside the same model without noise, which may itself be worthless. The last two columns tell more.",
    "errors more: in 100, than without privacy; half of the runs on 42 public tables at such an n·µ/d had at most the first number, and "
    "8 of 10 at most the second. Your table can differ.",
    "beat commonest: how many of those runs were right more often than always predicting the commonest class.",
    "Which ε? docs/learn/which-epsilon.md",
)


_OF_NUMBERS = (
    "What an ε was worth was measured for classes alone: docs/regression.md has runs with numeric targets."
)


def show_learner(plan: Plan) -> None:
    """Its settings, how far one record or unit moves what it sums, and its noise: one line."""
    learner, setting = plan.learner, plan.setting
    share = getattr(learner, "flatten", 0.0)
    flat = f", flatten {share:g}" if share else ""
    share = getattr(learner, "mean_error", 0.0)
    flat += f", mean error {share:g}" if share else ""
    rising = getattr(learner, "warm_up", 0.0)
    first = f" (rising in the first {rising:.0%} of them)" if rising else ""
    console.print(
        f"{learner.name}: {learner.loss.name}, {learner.steps} steps, learning rate {learner.learning_rate:.4g}{first}, "
        f"clip {learner.clip_norm:g}{flat}; {'one record' if plan.domain.unit is None else 'one unit'} moves a gradient sum by at most "
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
