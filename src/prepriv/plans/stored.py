"""A plan read back from what `Plan.to_json` wrote. Nothing it states is believed: all that follows is recomputed.

Public tables are not stored. What is claimed does not depend on them: that a step is paid for by public data is enough.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from prepriv import learners, preprocessing
from prepriv import payment as pay
from prepriv._asked import ask_for_all
from prepriv._kinds import NotImported, find_kind
from prepriv.domain import Domain
from prepriv.guarantees.drafts import check_drafts
from prepriv.learners.learner import Learner
from prepriv.learners.losses import Loss
from prepriv.placed.checks import check_budget, check_learner
from prepriv.plans.plan import Plan, budget
from prepriv.preprocessing.base import Step

_CLOSE = 1e-9  # relative, of computed numbers: another machine may round otherwise
_WHOLE = 2**20  # largest whole option of a step, which can be a number of features
_STEPS = 64
_MOST_STEPS = 10**8  # of a learner: nobody waits for more
_INFINITE = {"inf": math.inf, "-inf": -math.inf}


class OtherClaim(ValueError):
    """What is stated does not follow from what is declared."""


def plan_from_json(data: Any, largest: int = _WHOLE) -> Plan:
    """The plan that these plain data declare (`Plan.to_json`), with its guarantee recomputed, if one is stated.

    largest: of the whole numbers among the options of steps, which can be numbers of features.

    Raises
    ------
    OtherClaim
        If another guarantee, shift, noise or test is stated than the declared facts give.
    NotImported
        For a step, learner or loss of a third party that is not imported here.
    ValueError
        For anything else that is wrong, without details.
    """
    try:
        with np.errstate(all="ignore"):
            plan = _plan(data, largest)
            made = {} if _hopeless(plan) else plan.to_json()
            if not plan.chain.tested and plan.test_delta != 0:
                raise ValueError
    except NotImported:
        raise
    except Exception:
        raise ValueError("these data do not describe a plan") from None
    if data.get("guarantee") is None:  # nothing is claimed: of a run without its noise
        made["guarantee"] = None
    if not same(made, data):
        raise OtherClaim("the guarantee it states is not the one that its plan gives")
    check_drafts(plan.domain, plan.delta)
    if plan.guarantee is not None and not plan.guarantee.epsilon(plan.delta) <= plan.epsilon:
        raise OtherClaim("its plan spends more than the budget it states")
    return plan


def _hopeless(plan: Plan) -> bool:
    """Whether the plan is so far above its budget that its account, which could take long, need not be computed."""
    learner, noise = plan.learner, plan.learner_noise_multiplier
    if learner.steps > _MOST_STEPS:
        return True
    if not plan.private:
        return False
    return learner.about_least_mu(noise, plan.n) > 8 * budget(plan.epsilon, plan.delta) + 1


def _plan(data: Mapping[str, Any], largest: int) -> Plan:
    epsilon, delta = check_budget(_finite_or_not(data["epsilon"]), data["delta"])
    if len(data["steps"]) > _STEPS:
        raise ValueError
    learner = _learner(data["learner"])
    check_learner(learner)
    return Plan(
        Domain.from_json(data["domain"]),
        epsilon,
        delta,
        tuple(_step(step, largest) for step in data["steps"]),
        learner,
        data["learner"]["noise_multiplier"],
        data["test_delta"],
        tuple(data.get("class_weight", ())),
    )


def _step(data: Mapping[str, Any], largest: int) -> Step:
    ask_for_all(preprocessing)
    kind = find_kind(Step, data["step"])
    options = _options(kind, data, leave="payment")
    for field in dataclasses.fields(kind):
        if "int" in str(field.type):
            _check_whole(options.get(field.name), largest)
    return kind(payment=_payment(data), **options)


def _payment(data: Mapping[str, Any]) -> pay.Payment | None:
    way = data["way"]
    if way == "free":
        return None
    if way == pay.Public.way:
        return pay.Public()
    if way == pay.Budget.way:
        return pay.Budget(data["share"])
    if way == pay.Sketch.way:
        return pay.Sketch(data["share"])
    if way == pay.Sensitivity.way:
        return pay.Sensitivity(_deep(data["caps"], numbers=True), data.get("test_share", 0.0))
    raise ValueError


def _learner(data: Mapping[str, Any]) -> Learner:
    ask_for_all(learners)
    kind = find_kind(Learner, data["name"])
    loss = find_kind(Loss, data["loss"]["name"])
    return kind(loss=loss(**_options(loss, data["loss"])), **_options(kind, data, leave="loss"))


def _options(kind: type[Any], data: Mapping[str, Any], leave: str = "") -> dict[str, Any]:
    fields = [f for f in dataclasses.fields(kind) if f.init and f.name != leave]
    names = [f.name for f in fields if f.name in data or not f.metadata.get("omitted")]
    return {name: _finite_or_not(_deep(data[name])) for name in names}


def _finite_or_not(value: Any) -> Any:
    return _INFINITE.get(value, value) if isinstance(value, str) else value


def _deep(value: Any, numbers: bool = False) -> Any:
    """Lists as tuples; numbers: texts stand for infinite numbers, at any depth."""
    if isinstance(value, list):
        return tuple(_deep(v, numbers) for v in value)
    if isinstance(value, dict):
        return {k: _deep(v, numbers) for k, v in value.items()}
    return _finite_or_not(value) if numbers else value


def _check_whole(value: Any, largest: int) -> None:
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, tuple) else [value]
    if sum(abs(v) for v in parts if isinstance(v, int | float)) > largest:
        raise ValueError


def same(made: Any, stated: Any) -> bool:
    """Whether plain data are the same: types and texts exactly, numbers up to rounding."""
    if isinstance(made, dict) and isinstance(stated, dict):
        return made.keys() == stated.keys() and all(same(v, stated[k]) for k, v in made.items())
    if isinstance(made, list | tuple) and isinstance(stated, list | tuple):
        return len(made) == len(stated) and all(map(same, made, stated))
    if isinstance(made, bool | str | None) or isinstance(stated, bool | str | None):
        return type(made) is type(stated) and bool(made == stated)
    if isinstance(made, int) and isinstance(stated, int):
        return made == stated
    return isinstance(stated, int | float) and math.isclose(made, stated, rel_tol=_CLOSE)
