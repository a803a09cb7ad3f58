"""Whether the rows of a table meet the conditions that a plan rests on. For the curator: the answer is private."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from prepriv.mechanisms.session import Session
from prepriv.pipeline.plan import Plan
from prepriv.pipeline.rows import Mapped
from prepriv.pipeline.run import fit_step
from prepriv.preprocessing.base import FittedMap, ReleasedMap
from prepriv.preprocessing.condition import Condition
from prepriv.tables.encode import Table


def check(
    plan: Plan, table: Table, targets: NDArray[np.int32], session: Session
) -> Iterator[tuple[str, Condition, bool]]:
    """(step, condition, whether it holds) for each condition of the plan, tested ones too.

    Each is checked on the rows as they reach its step, before the step rounds or cuts anything. What an earlier step
    releases is what `session` makes of it, for the curator without noise: behind it, a run may see rows of which
    something else holds.
    table, targets: encoded rows and class indices, as many as the plan's n.
    """
    exact = dataclasses.replace(plan, epsilon=math.inf)
    private: list[FittedMap] = []
    released: list[ReleasedMap] = []
    last = max((i for i, p in enumerate(plan.steps) if p.conditions), default=-1)
    with np.errstate(all="ignore"):
        for planned in plan.steps[: last + 1]:
            rows = Mapped(table, private, targets)
            for condition in planned.conditions:
                yield planned.step.name, condition, condition.holds(rows, plan.n)
            training, prediction = fit_step(planned, exact, rows, released, session)
            private.append(training)
            released.append(prediction)
