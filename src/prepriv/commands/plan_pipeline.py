"""`prepriv plan pipeline.py`: what `prepriv.private` makes of a pipeline of scikit-learn, part by part, before anything is paid."""

from __future__ import annotations

import dataclasses
import warnings
from pathlib import Path

from prepriv import preprocessing as pre
from prepriv.adjacency import check_adjacency
from prepriv.commands.audit_files import ran
from prepriv.commands.common import (
    console,
    print_guarantee,
    print_json,
    print_prices,
    print_proofs,
    print_table,
)
from prepriv.commands.exits import Stop
from prepriv.domain import Domain
from prepriv.guarantees.drafts import with_drafts
from prepriv.guarantees.printed import percent
from prepriv.payment import default_payment
from prepriv.plans.plan import Plan
from prepriv.plans.price import prices
from prepriv.preprocessing.base import Step
from prepriv.private_pipeline import PipelineReading, private, reading
from prepriv.recipes.automatic import WeakSignal
from prepriv.release.proofs import proofs_of
from prepriv.release.report import Report, paid_for
from prepriv.sketches.signal import signal_of

_OWN: dict[str, type[Step]] = {
    "IterativeImputer": pre.RegressionImputer,
    "KBinsDiscretizer": pre.Bins,
    "MinMaxScaler": pre.MinMaxScaler,
    "PCA": pre.PCA,
    "QuantileTransformer": pre.QuantileTransform,
    "SimpleImputer": pre.MeanImputer,
    "StandardScaler": pre.StandardScaler,
}
"""By transformer: the step of prepriv that does the like, with a private fit of its own."""
_LOOKS = {"columns": "columns, one by one", "labels": "columns with the label", "pairs": "pairs of columns"}


def plan_pipeline(
    path: Path,
    *,
    rows: int | None,
    epsilon: float,
    delta: float,
    adjacency: str | None,
    as_json: bool,
) -> None:
    """Print what `prepriv.private` would do. The file is run, as Python code of the user; no private record is read here."""
    named = ran(path)
    domain, pipeline = named.get("domain"), named.get("pipeline")
    if not isinstance(domain, Domain) or pipeline is None:
        raise Stop(
            f"{path} must define `domain`, a Domain, and `pipeline`, a Pipeline of scikit-learn that ends in an estimator"
        )
    if adjacency is not None:
        domain = dataclasses.replace(domain, adjacency=check_adjacency(adjacency))
    n = domain.n if rows is None else rows
    if n is None:
        raise Stop("--rows: the number of records must be declared, here or as Domain(..., n=...)")
    domain = domain.with_n(n)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        read = reading(pipeline, domain)
        plan = private(pipeline, domain, epsilon=epsilon, delta=delta).plan(n)
    console.print(
        f"{path} was run: it is your own code, and what it does by itself is not looked at. No record was read here, and nothing is charged.",
        soft_wrap=True,
    )
    print_guarantee(plan, plan.private, with_drafts(plan.guarantee, plan.domain, plan.delta, plan.n))
    lines = parts_in_words(read, plan)
    print_table("Its transformers", ("part", "looks at", "paid by", "price", "or a step of prepriv"), lines)
    for sentence in dict.fromkeys([*_signal(plan), *read.says, *weak(caught)]):
        console.print(f"- {sentence}", soft_wrap=True)
    steps = [placed.step for placed in plan.steps]
    table = (
        prices(steps, plan.domain, plan.learner, epsilon=epsilon, delta=delta, n=n) if plan.private else []
    )
    if table:
        print_prices(table)
    if plan.private:
        print_proofs(proofs_of(plan))
    if as_json:
        made = Report(plan, plan.private, tuple(table), paid=tuple(paid_for(plan))).to_json()
        print_json(made | {"transformers": lines, "differs": list(read.says)})


def parts_in_words(read: PipelineReading, plan: Plan) -> list[tuple[str, str, str, str, str]]:
    """A line for each transformer: what it looks at, what pays, and the step of prepriv that does the like."""
    share = plan.steps[0].step.paid.share
    found = []
    for part in read.parts:
        own = _OWN.get(part.name)
        if not part.learns:
            found.append((part.name, "nothing but what is declared", "free", "nothing", ""))
            continue
        price = f"one sketch for all: {percent(share)} of the budget"
        instead = "" if own is None else f"{own.__name__} by {' or '.join(map(_offered, own.ways))}"
        found.append((part.name, _LOOKS[part.looks_at], "sketch", price, instead))
    return found


def _offered(way: str) -> str:
    terms = default_payment(way).terms().partition(";")[0]
    return f"{way} ({terms})" if way == "budget" else way


def _signal(plan: Plan) -> list[str]:
    sketch = plan.steps[0].sketch
    return [] if sketch is None or not plan.private else [signal_of(sketch).sentence]


def weak(caught: list[warnings.WarningMessage]) -> list[str]:
    """What was warned of while it was planned, each sentence once."""
    return [str(w.message) for w in caught if issubclass(w.category, WeakSignal)]
