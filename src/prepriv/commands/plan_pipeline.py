"""`prepriv plan pipeline.py`: what `prepriv.private` gives for a pipeline of scikit-learn, part by part, before anything is paid."""

from __future__ import annotations

import ast
import dataclasses
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from prepriv.adjacency import check_adjacency
from prepriv.commands.audit_files import ran
from prepriv.commands.exits import Stop, print_json
from prepriv.commands.printing import console, print_guarantee, print_prices, print_proofs, print_table
from prepriv.domain import Domain
from prepriv.guarantees.drafts import with_drafts
from prepriv.guarantees.printed import percent
from prepriv.payment import FREE
from prepriv.plans.decision import decision_in_words
from prepriv.plans.plan import Plan
from prepriv.plans.price import prices
from prepriv.preprocessing.fitted import Fitted
from prepriv.private_pipeline import PipelineReading, private, reading
from prepriv.recipes.automatic import WeakSignal
from prepriv.release.proofs import proofs_of
from prepriv.release.report import Report, paid_for
from prepriv.sketches.signal import signal_of

_LOOKS = {"columns": "columns, one by one", "labels": "columns with the label", "pairs": "pairs of columns"}

_SETTINGS = ("way", "share", "missing")
_ON_THE_LINE = ("epsilon", "delta", "n", "rows", "adjacency")


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
    check_all_read(path, named)
    if adjacency is not None:
        domain = dataclasses.replace(domain, adjacency=check_adjacency(adjacency))
    n = domain.n if rows is None else rows
    if n is None:
        raise Stop("--rows: the number of records must be declared, here or as Domain(..., n=...)")
    domain = domain.with_n(n)
    asked = {name: named[name] for name in _SETTINGS if name in named}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        read = reading(pipeline, domain, epsilon=epsilon, delta=delta, n=n, **asked)
        plan = private(pipeline, domain, epsilon=epsilon, delta=delta, n=n, **asked).plan(n)
    console.print(
        f"{path} was run: it is your own code, and prepriv does not check what it does. No record was read here, and nothing is charged.",
        soft_wrap=True,
    )
    print_guarantee(plan, plan.private, with_drafts(plan.guarantee, plan.domain, plan.delta, plan.n))
    lines, ways = parts_in_words(read, plan), ways_in_words(read)
    print_table("Its transformers", ("part", "looks at", "paid by", "price", "or"), lines)
    print_table(
        "All of them, in each way", ("way", "takes of the budget", "noise of training", "what holds"), ways
    )
    for sentence in dict.fromkeys([*_signal(plan), *_weighed(plan), *read.says, *weak(caught)]):
        console.print(f"- {sentence}", soft_wrap=True)
    steps = [placed.step for placed in plan.steps]
    table = (
        prices(steps, plan.domain, plan.learner, epsilon=epsilon, delta=delta, n=n) if plan.private else []
    )
    # Means under a cap are priced above, as declared or refused: never under a default cap, which this way does not assume.
    table = [line for line in table if line.chosen or (line.step, line.way) != ("MeanImputer", "sensitivity")]
    if table:
        print_prices(table)
    if plan.private:
        print_proofs(proofs_of(plan))
    if as_json:
        made = Report(plan, plan.private, tuple(table), paid=tuple(paid_for(plan))).to_json()
        print_json(made | {"transformers": lines, "ways": ways, "differs": list(read.says)})


def _weighed(plan: Plan) -> list[str]:
    said = decision_in_words(plan.class_weight, plan.domain.classes)
    return [said] if said else []


def check_all_read(path: Path, named: Mapping[str, Any]) -> None:
    """Stop for a setting that the file assigns and nobody reads: a number, a text or a bool with a public name in lower case. One that the
    file itself uses is read, unless it has the name of a setting of the command line."""
    tree = ast.parse(path.read_bytes())
    used = {
        node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    }
    written = {
        node.id
        for line in tree.body
        if isinstance(line, ast.Assign | ast.AnnAssign)
        for node in ast.walk(line)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    unread = [
        name
        for name in sorted(written - {"domain", "pipeline", *_SETTINGS} - (used - {*_ON_THE_LINE}))
        if name == name.lower()
        and not name.startswith("_")
        and isinstance(named.get(name), bool | int | float | str)
    ]
    if unread:
        raise Stop(
            f"{path} sets {', '.join(unread)}, which nothing reads. It reads domain, pipeline, {', '.join(_SETTINGS)}; --epsilon, --delta and --rows "
            "belong on the command line. A number that the file itself uses is fine"
        )


def parts_in_words(read: PipelineReading, plan: Plan) -> list[tuple[str, str, str, str, str]]:
    """A line for each transformer: what it looks at, what pays, and what else could."""
    kept = isinstance(plan.steps[0].step, Fitted) and plan.steps[0].step.way != "free"
    steps, found = {p.step.name: p.step for p in plan.steps}, []
    for part, own in zip(read.parts, read.ways.own.parts, strict=True):
        if not part.learns:
            found.append((part.name, "nothing but what is declared", "free", "nothing", ""))
        elif kept:
            price = f"one sketch for all: {percent(steps['Fitted'].paid.share)} of the budget"
            instead = f"{own.step} of prepriv by budget" if own.step else own.why
            found.append((part.name, _LOOKS[part.looks_at], "sketch", price, instead))
        else:
            paid = steps[own.step].paid if own.step in steps else FREE
            instead = f"a sketch ({_LOOKS[part.looks_at]})"
            terms = f"{own.step} of prepriv: {paid.terms()}" if own.step in steps else f"{own.step}: nothing"
            found.append((part.name, _LOOKS[part.looks_at], paid.way, terms, instead))
    return found


def ways_in_words(read: PipelineReading) -> list[tuple[str, str, str, str]]:
    """A line for each way to pay for all transformers, the one that is taken first."""
    found = []
    for place, option in enumerate(read.options):
        paid = [
            f"{step} {percent(share)}" if share else f"{step} (by {way})"
            for step, way, share in option.shares
        ]
        spent = ", ".join(paid) or "nothing"
        name = f"{option.way} (taken)" if place == 0 else option.way
        if option.open:
            found.append((name, spent, f"x {option.factor:.3g}", option.why or "small noise"))
        else:
            found.append((name, "", "", f"not available: {option.why}"))
    return found


def _signal(plan: Plan) -> list[str]:
    sketch = plan.steps[0].sketch
    return (
        [] if sketch is None or not plan.private else [signal_of(sketch, (plan.epsilon, plan.delta)).sentence]
    )


def weak(caught: list[warnings.WarningMessage]) -> list[str]:
    """What was warned of while it was planned, each sentence once."""
    return [str(w.message) for w in caught if issubclass(w.category, WeakSignal)]
