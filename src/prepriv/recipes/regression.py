"""The automatic recipe for a declared target: steps and learner from declared facts alone. Reasons: docs/regression.md."""

from __future__ import annotations

import math
from collections.abc import Sequence

from prepriv import payment as pay
from prepriv.columns import Numeric
from prepriv.domain import Domain
from prepriv.learners.gradient_descent import GradientDescent
from prepriv.learners.learner import Learner
from prepriv.learners.sufficient_statistics import LARGEST_D, SufficientStatistics
from prepriv.learners.targets import SquaredError
from prepriv.placed.checks import check_named
from prepriv.plans.plan import signal
from prepriv.preprocessing.base import UNTOUCHED, Step, walk
from prepriv.preprocessing.center import Center
from prepriv.preprocessing.impute import MeanImputer
from prepriv.preprocessing.normalize import ClipNorm, Rescale
from prepriv.preprocessing.scale import StandardScaler
from prepriv.recipes.additive import additive_steps
from prepriv.space import Space

SHARE, SCALE_SHARE = 0.02, 0.05  # of the budget, for a mean and for the scales
LEAST_DEVIATION = 0.02  # of a column, in its width: no column is divided by less
LENGTH = 1.25  # norm up to which rows weigh the same, in root mean squares of a row of independent columns
CUT = 8.0  # norm to which they are cut, in the same unit
BIAS = 0.5  # of rows of norm one
_ENOUGH = 100.0  # signal over d^1.5 from which on the noise of second moments is no loss
_STEPS, CLIP, REACH, _LONGEST, SHORTEST = 100, 0.25, 0.25, 200.0, 0.3  # of descent; reach: steps times rate
_SLOWEST = (
    0.06  # reach over signal where there is hardly any: noise moves the centre by a tenth of the bounds
)
WEIGHT_BOUND = 10.0  # only where a step is paid for by sensitivity


def regression(
    domain: Domain,
    *,
    n: int,
    epsilon: float,
    delta: float,
    steps: str | Sequence[Step] = "auto",
    learner: str | Learner = "auto",
) -> tuple[tuple[Step, ...], Learner]:
    """(steps, learner), each automatic unless given; "linear" is "auto", "additive" a function of each column. Raises ValueError for anything else."""
    row = None  # norm up to which rows weigh the same, where it is not that of all rows
    check_named(steps, learner, ("auto", "linear", "additive"))
    if isinstance(steps, str):
        if steps == "additive":
            steps = additive_steps(domain, 1.0)
        else:
            steps, row = regression_steps(domain, signal(domain, n=n, epsilon=epsilon, delta=delta)), 1.0
    if not isinstance(learner, str):
        return tuple(steps), learner
    *_, last = (domain.space, *(after for _, _, after in walk(steps, domain.space)))
    s = signal(domain, n=n, epsilon=epsilon, delta=delta)
    return tuple(steps), regression_learner(
        last, s, moved=any(not step.paid.leaves for step in steps), row=row
    )


def regression_steps(domain: Domain, s: float) -> list[Step]:
    """Impute what is declared so; columns of one scale, about their means; LENGTH becomes 1."""
    space = domain.space
    if domain.is_ball:
        return [Center(payment=pay.Budget(SHARE)), Rescale(1.0)]
    steps: list[Step] = [MeanImputer(payment=pay.Budget(SHARE))] if space.may_miss.any() else []
    numeric = tuple(name for name, column in domain.columns.items() if isinstance(column, Numeric))
    if numeric:
        *_, before = (space, *(after for _, _, after in walk(steps, space)))
        scaler = StandardScaler(columns=numeric, payment=pay.Budget(SCALE_SHARE))
        shift = scaler.l2_sensitivity(before, domain.adjacency, UNTOUCHED)
        noise = shift / (2 * s * math.sqrt(SCALE_SHARE))  # of a variance, in squared half widths
        floor = min(0.5, max(LEAST_DEVIATION, 0.5 * math.sqrt(noise)))
        wide = CUT * math.sqrt(len(domain.columns))
        steps.append(StandardScaler(floor, radius=wide, columns=numeric, payment=pay.Budget(SCALE_SHARE)))
    if len(numeric) < len(domain.columns):
        steps.append(Center(payment=pay.Budget(SHARE)))
    *_, last = (space, *(after for _, _, after in walk(steps, space)))
    return [*steps, *even_rows(last, len(domain.columns))]


def even_rows(space: Space, columns: int) -> tuple[Step, ...]:
    """Rows of so many columns of one scale: cut where they are far out, then LENGTH becomes 1."""
    root = math.sqrt(columns)
    cut = ClipNorm(CUT * root)
    return cut, Rescale(max(1.0, cut.output(space).radius / (LENGTH * root)))


def regression_learner(space: Space, s: float, *, moved: bool, row: float | None = None) -> Learner:
    """Second moments where d^2 of them can be held and their noise is small; gradient descent elsewhere.

    Descent clips what a record far from its prediction says, so it has less noise; it does not reach directions in
    which rows hardly vary, which second moments do. row: the norm up to which rows weigh the same, that of the space if None.
    """
    row = space.radius if row is None else row
    bias = BIAS * row
    if space.d <= LARGEST_D and s >= _ENOUGH * space.d**1.5:
        longest = math.hypot(row, bias) if math.isfinite(s) else math.inf
        return SufficientStatistics(bias=bias, longest=longest)
    reach = min(_LONGEST, max(min(SHORTEST, _SLOWEST * s), REACH * s / math.sqrt(space.d + 1)))
    return GradientDescent(
        SquaredError(),
        steps=_STEPS,
        learning_rate=reach / _STEPS,
        clip_norm=CLIP if math.isfinite(s) else math.inf,
        bias=bias,
        weight_bound=WEIGHT_BOUND if moved else math.inf,
    )
