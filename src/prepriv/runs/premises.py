"""What a plan rests on, of the rows at hand: whether a table meets it (for the curator: the answer is private), and whether
a part of the records that coins choose inherits it (docs/proofs/holdout.md, "Premises").
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from prepriv._kinds import is_ours
from prepriv._said import says
from prepriv.guarantees.premise import Premise
from prepriv.mechanisms.session import Session
from prepriv.payment import Caps, Sensitivity
from prepriv.placed.chain import PlannedStep
from prepriv.placed.rows import Mapped
from prepriv.plans.plan import Plan, make_plan
from prepriv.preprocessing.base import Step
from prepriv.runs.run import prepare
from prepriv.tables.encoding import Table


def check_premises(
    plan: Plan, table: Table, targets: NDArray[np.int32], session: Session
) -> Iterator[tuple[str, Premise, bool]]:
    """(step, condition, whether it holds) for each condition of the plan, tested ones too.

    Each is checked on the rows as they reach its step, before the step rounds or cuts anything. What an earlier step
    releases is what `session` gives for it, for the curator without noise: after it, a run may see rows of which
    something else holds.
    table, targets: encoded rows and class indices, as many as the plan's n.
    """
    found: list[tuple[str, Premise, bool]] = []

    def look(planned: PlannedStep, rows: Mapped) -> None:
        found.extend((planned.step.name, c, c.holds(rows, plan.n)) for c in planned.conditions)

    prepare(dataclasses.replace(plan, epsilon=math.inf), table, targets, session, watch=look)
    return iter(found)


def of_part(plan: Plan, whole: int) -> Plan:
    """The plan of a part of `whole` records that coins chose, whose premises are declared about all of them.

    Caps that are shares of all records become numbers of records, which no part exceeds. Raises ValueError, in one
    sentence, for a premise that a part need not inherit.
    """
    steps = tuple(_counted(p, whole) for p in plan.steps)
    if any(new is not old for new, old in zip(steps, plan.pipeline)):
        made = make_plan(plan.domain, steps, plan.learner, epsilon=plan.epsilon, delta=plan.delta)
        plan = dataclasses.replace(made, class_weight=plan.class_weight)
    fitted: list[str] = []
    for planned in plan.steps:
        if planned.conditions and planned.step.paid.test == 0:
            _check_caps(planned.step)
        for premise in planned.conditions if planned.step.paid.test == 0 else ():
            _check_inherited(planned.step, premise, fitted)
        fitted += [planned.step.name] if planned.step.paid.private else []
    return plan


def _counted(planned: PlannedStep, whole: int) -> Step:
    """The step with caps that are numbers of records, where it rests on some."""
    step, paid = planned.step, planned.step.paid
    if not planned.conditions or step.Caps is None:
        return step
    declared = step.Caps.of(step.name, paid)
    counted = declared.of_part(whole)
    if counted is declared:
        return step
    said = {**paid.caps, **counted}  # a share that was declared is printed, also where it is the default
    return dataclasses.replace(step, payment=Sensitivity(said, paid.test))


def _check_caps(step: Step) -> None:
    """ValueError for third-party caps that do not say what they are of a part."""
    caps = step.Caps
    if not is_ours(caps) and dataclasses.fields(caps) and not says(caps, Caps, "of_part", ("__post_init__",)):
        raise ValueError(
            f"{step.name} declares caps of the whole table, and {caps.__qualname__} does not say what they are of a part that "
            "coins choose: override of_part, test its caps, or train on all records"
        )


def _check_inherited(step: Step, premise: Premise, fitted: list[str]) -> None:
    """ValueError unless every part of the rows meets the premise where all rows do."""
    if not premise.inherited:
        why = "which need not hold of a part that coins choose"
    elif fitted and not premise.of_gaps:
        why = f"of rows after {', '.join(fitted)}, which is fitted again on a part that coins choose"
    else:
        return
    instead = [f"pay for it by {way}" for way in step.ways if way != Sensitivity.way]
    if type(step).distance is not Step.distance:
        instead.append("test its caps, Sensitivity(caps, test=0.1)")
    raise ValueError(
        f"{step.name} rests on a premise of the whole table ({premise.says}), {why}: "
        f"{', '.join([*instead, 'or train on all records'])}"
    )
