"""Whether the rows of a table meet the conditions that a plan rests on. For the curator: the answer is private."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from prepriv.mechanisms.session import Session
from prepriv.pipeline.chain import PlannedStep
from prepriv.pipeline.plan import Plan
from prepriv.pipeline.rows import Mapped
from prepriv.pipeline.run import prepare
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
    found: list[tuple[str, Condition, bool]] = []

    def look(planned: PlannedStep, rows: Mapped) -> None:
        found.extend((planned.step.name, c, c.holds(rows, plan.n)) for c in planned.conditions)

    prepare(dataclasses.replace(plan, epsilon=math.inf), table, targets, session, watch=look)
    return iter(found)
