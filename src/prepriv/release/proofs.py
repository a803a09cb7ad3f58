"""From a plan to the proofs of all that it does: pages, tests, attacks and machine-checked theorems, by their paths in the repository.

The data beside this file is made from the code by `python docs/proof_table.py` (docs/proof-table.md).
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cache
from importlib import resources
from typing import Any

from prepriv._kinds import is_ours
from prepriv.guarantees.premise import Premise
from prepriv.plans.plan import Plan
from prepriv.release.reported import Reported

_ALWAYS = (
    ("what all releases add up to", "composition"),
    ("the noise, drawn on integers", "lattice"),
    ("sums of integers in any order", "gradient_sum"),
)


@cache
def _known() -> dict[str, Any]:
    text = resources.files("prepriv.release").joinpath("proofs.json").read_text(encoding="utf-8")
    data: dict[str, Any] = json.loads(text)
    return data


def proofs_of(plan: Plan) -> list[dict[str, Any]]:
    """Find the proof of each step, of the learner, its loss and each premise, and of the whole.

    Parameters
    ----------
    plan : Plan
        Of what ran or will run.

    Returns
    -------
    list of dict
        "what", "kind", and the paths "proofs", "tests", "attacks", "machine_checked"; all empty for third-party code.

    Examples
    --------
    >>> import prepriv
    >>> from prepriv.learners import GradientDescent, Logistic
    >>> from prepriv.release.proofs import proofs_of
    >>> domain = prepriv.Domain.ball(2, classes=[0, 1], n=1000)
    >>> plan = prepriv.make_plan(domain, [], GradientDescent(Logistic()), epsilon=1.0, delta=1e-5)
    >>> [line["proofs"] for line in proofs_of(plan)][:2]
    [['docs/proofs/gradient_descent.md', 'docs/proofs/mean_error.md'], ['docs/proofs/losses.md']]
    """
    found = [_of_class("step", type(step)) for step in plan.pipeline]
    found += [_of_class("learner", type(plan.learner)), _of_class("loss", type(plan.learner.loss))]
    found += [_of_class("premise", kind) for kind in _premises(plan)]
    whole = list(_ALWAYS)
    if any(not step.paid.leaves for step in plan.pipeline):
        whole.append(("steps one after another", "chaining"))
    if plan.chain.tested:
        whole.append(("the test of caps", "propose_test_release"))
    if plan.domain.unit is not None:
        whole.append(("units of several rows", "units"))
    if plan.periods is not None:
        whole.append(("rows of some periods", "periods"))
    if plan.domain.source is not None:
        whole.append(("rows of a query or a reader", "one_table"))
    if plan.domain.drafts:
        whole.append(("the private draft of the schema", "stability_histogram"))
    found += [_of_page(what, page) for what, page in whole]
    return list({line["what"]: line for line in found}.values())


def proofs_of_report(report: Reported) -> list[dict[str, Any]]:
    """Find the proofs of a plan, and of what a report claims beside it: a measurement, a choice, a second account.

    Parameters
    ----------
    report : Report
        Of the run.

    Returns
    -------
    list of dict
        As `proofs_of`.
    """
    found = proofs_of(report.plan)
    if report.measured is not None:
        found.append(_of_page("what was measured", "evaluation"))
        if report.measured.whole is not None:
            found.append(_of_page("rows set aside by coins", "holdout"))
    if report.model is not None and report.model.choice is not None:
        found.append(_of_page("the choice among candidates", "choose"))
    return [*found, _of_page("the claim by a second accountant", "second_account")]


def _premises(plan: Plan) -> Iterable[type[Premise]]:
    """Of what the claim rests on, and of what a test covers."""
    each = [premise for planned in plan.steps for premise in planned.conditions]
    return dict.fromkeys(type(premise) for premise in each)


def _of_class(kind: str, cls: type[Any]) -> dict[str, Any]:
    known = _known()["classes"].get(cls.__name__) if is_ours(cls) else None
    if known is None:
        return _line(f"{cls.__name__} (third-party)", kind, [], [], [], [])
    paths = (known[name] for name in ("proofs", "tests", "attacks", "machine_checked"))
    return _line(cls.__name__, kind, *paths)


def _of_page(what: str, name: str) -> dict[str, Any]:
    path = f"docs/proofs/{name}.md"
    page = _known()["pages"][path]
    return _line(what, "claim", [path], page["tests"], [], page["machine_checked"])


def _line(
    what: str, kind: str, proofs: list[str], tests: list[str], attacks: list[str], checked: list[str]
) -> dict[str, Any]:
    paths = {"proofs": proofs, "tests": tests, "attacks": attacks, "machine_checked": checked}
    return {"what": what, "kind": kind, **{name: list(value) for name, value in paths.items()}}
