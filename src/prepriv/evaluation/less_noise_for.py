"""What would give a figure that was refused: the same measurement with less noise. From its plan and from what was released, so it is free."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from prepriv.evaluation.evaluation_plan import EvaluationPlan
from prepriv.evaluation.expected import takes
from prepriv.evaluation.figures import Measured
from prepriv.guarantees.less_noise import MOST_NAMED
from prepriv.guarantees.printed import up
from prepriv.release.takes import LessNoise, Takes

_TIMES = (2, 4, 8, 16, 32, 64, 128)  # as much ε, or as many records
_CUTS_FEW = 2.0  # errors of the mean within an error bound
_SURELY = 2.0  # deviations of noise above a number of records
_WIDE = 20.0  # such errors between the bounds


def for_recall(rows: Measured) -> Takes | None:
    """How many records of a class recall takes; None where it was not measured, or is refused for no class."""
    named = [figure for name, figure in rows.figures.items() if name.startswith("recall of ")]
    refused = [k for k, figure in enumerate(named) if figure.value is None]
    if not refused:
        return None
    of_class = rows.confusion.sum(axis=1)[refused]
    noise = rows.noise * math.sqrt(len(named))
    least, most = float(of_class.min()) - noise, float(of_class.max()) + _SURELY * noise
    ways = [
        LessNoise(kind, setting, takes(plan, "recall"))
        for kind, setting, plan in _changed(rows.plan, "confusion")
    ]
    ways += [way for way in _with_more(rows.plan, "recall", least) if way.kind == "epsilon"]
    return Takes(takes(rows.plan, "recall"), tuple(ways), most, counted=_counted(rows.plan))


def for_r2(rows: Measured) -> Takes | None:
    """How much a target has to deviate for R²; None where it was not measured, or not refused.

    What the target is taken to have is the root mean squared error, less one deviation of its noise: errors of a model that is no worse than the mean
    are no larger than that. At most it is taken to have twice the upper end of those errors, as where R² is 0.75.
    """
    plan, r2 = rows.plan, rows.figures.get("R2")
    if r2 is None or r2.value is not None:
        return None
    bound, squared = plan.error_bound or 0.0, rows._pair("mean squared error", "squared_error")
    least = math.sqrt(max(0.0, (squared.value or 0.0) - (squared.noise or 0.0))) * bound
    most = math.inf if squared.high is None else 2 * math.sqrt(squared.high) * bound
    ways = [LessNoise(kind, setting, takes(one, "R2")) for kind, setting, one in _changed(plan, "r2")]
    halved = max(bound / 2, float(up(_CUTS_FEW * least, 2)))
    if halved < bound:
        ways.append(LessNoise("error_bound", halved, takes(replace(plan, error_bound=halved), "R2")))
    ways += _with_more(plan, "R2", least)
    return Takes(
        takes(plan, "R2"), tuple(ways), most, bound / plan.error_share > _WIDE * most / 2, _counted(plan)
    )


def _counted(plan: EvaluationPlan) -> str:
    """What the number of rows is of."""
    return "records" if plan.domain.unit is None else "units"


def _changed(plan: EvaluationPlan, measure: str) -> Iterator[tuple[str, float, EvaluationPlan]]:
    """The same with fewer measures, or without groups, where it has more."""
    alone = replace(plan, measures=(measure,))
    if len(alone.releases) < len(plan.releases):
        yield "alone", 1.0, alone
    if plan.by is not None:
        yield "ungrouped", 1.0, replace(plan, by=None, own=())


def _with_more(plan: EvaluationPlan, figure: str, has: float) -> Iterator[LessNoise]:
    """The least of some larger ε, and of some larger numbers of records, that are enough for data that have so much, or the first."""
    budgets = [min(k * plan.epsilon, MOST_NAMED) for k in _TIMES if k * plan.epsilon <= 2 * MOST_NAMED]
    plans = {
        "epsilon": [(e, replace(plan, epsilon=e)) for e in budgets if e > plan.epsilon],
        "rows": [(float(k * plan.n), replace(plan, domain=plan.domain.with_n(k * plan.n))) for k in _TIMES],
    }
    for kind, larger in plans.items():
        ways = [LessNoise(kind, setting, takes(one, figure)) for setting, one in larger]
        enough = [way for way in ways if way.takes <= has]
        yield from (enough or [way for way in ways if way.takes < math.inf])[:1]
