"""The automatic recipe: steps and learner from (n, d, classes, epsilon, delta, adjacency) alone. No tuning.

How the constants were chosen: docs/recipe.md. They never depend on a record.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from prepriv import payment as pay
from prepriv.domain import Domain, Numeric, Space
from prepriv.guarantees import gdp_mu
from prepriv.learners.base import Learner
from prepriv.learners.gradient_descent import GradientDescent
from prepriv.learners.losses import Logistic, Loss, Softmax
from prepriv.pipeline.checks import check_learner, check_steps
from prepriv.preprocessing.base import UNTOUCHED, Step, need_n, walk
from prepriv.preprocessing.center import Center
from prepriv.preprocessing.homogenize import Homogenize
from prepriv.preprocessing.impute import MeanImputer
from prepriv.preprocessing.instance_optimal_center import InstanceOptimalCenter
from prepriv.preprocessing.normalize import Normalize, Rescale
from prepriv.preprocessing.random_features import RandomFeatures
from prepriv.preprocessing.scale import StandardScaler
from prepriv.preprocessing.square_root import SquareRoot

SCALE = 5.0  # norm of a row when the gradient is clipped to 1
CENTER_SHARE, LARGEST_CENTER_SHARE = 0.02, 0.1
FEATURES, FEATURE_WEIGHT = 1024, 1.6  # random features of a wide matrix, and the norm of that part
WIDE = 64  # numeric columns from which on the norm of a row says little, and columns share a scale
SCALE_SHARE, LEAST_DEVIATION = 0.05, 0.02  # of a table: budget of the scales; a column's least, in its width
TABLE_LEVEL, TABLE_FEATURES, TABLE_WEIGHT = 1.25, 512, 1.0  # constant feature, random features, their norm
MUCH, MORE_FEATURES = (
    5000.0,
    1024,
)  # n mu / 2 from which on a table has more features to learn from, and how many
SEARCHED_COLUMNS = 64  # a search reads all rows some forty times
STEPS = 100  # more steps at the same reach cost time, not privacy, and gain nothing
REACH = 1.0  # steps * learning rate, in units of n mu / sqrt(d)
LONGEST, SHORTEST = 2000.0, 10.0
LITTLE = 600.0  # n mu below which half of the iterates are averaged, above it the last 0.15
WEIGHT_BOUND = 10.0  # only where a step is paid for by sensitivity

AnyLearner = TypeVar("AnyLearner", bound=Learner)


def recipe(
    domain: Domain,
    *,
    n: int,
    epsilon: float,
    delta: float,
    steps: str | Sequence[Step] = "auto",
    learner: str | AnyLearner = "auto",
) -> tuple[tuple[Step, ...], GradientDescent | AnyLearner]:
    """(steps, learner), each automatic unless given. Raises ValueError for anything else.

    steps "linear": the automatic ones without random features, so that the model has one weight a column.
    """
    n = need_n(n)
    if isinstance(steps, str):
        if steps not in ("auto", "linear"):
            raise ValueError(f"steps must be 'auto', 'linear' or a list of steps; got {steps!r}")
        steps = auto_steps(domain, n=n, epsilon=epsilon, delta=delta, linear=steps == "linear")
    check_steps(steps)
    if not isinstance(learner, str):
        check_learner(learner)
        return tuple(steps), learner
    if learner != "auto":
        raise ValueError(f"learner must be 'auto' or a learner; got {learner!r}")
    paid = any(not s.paid.leaves for s in steps)
    d = [domain.space.d, *(after.d for _, _, after in walk(steps, domain.space))][-1]
    return tuple(steps), auto_learner(domain, n=n, epsilon=epsilon, delta=delta, moved=paid, d=d)


def auto_steps(domain: Domain, *, n: int, epsilon: float, delta: float, linear: bool) -> list[Step]:
    """Impute what is declared so; centre, rows of one norm, random features.

    Imputation is paid by budget: by sensitivity it costs three times the noise, and the claim needs a cap.
    """
    space = domain.space
    impute: list[Step] = [MeanImputer(payment=pay.Budget(CENTER_SHARE))] if space.may_miss.any() else []
    roots = [SquareRoot()] if zero_is_least(domain) else []
    if is_table(domain):
        *_, before = (space, *(after for _, _, after in walk([*impute, *roots], space)))
        even = _even_columns(domain, before, n=n, epsilon=epsilon, delta=delta)
        features, weight = _table_features(domain, n, epsilon, delta), TABLE_WEIGHT
    else:
        center = _ball_center(space.d, n, epsilon, delta) if domain.is_ball else _center()
        even = [Normalize(1.0), center, Normalize(1.0)]
        features, weight = FEATURES, FEATURE_WEIGHT
    more = [] if linear else [RandomFeatures(features, weight=weight), Normalize(1.0)]
    return [*impute, *roots, *even, *more, Rescale(SCALE)]


def is_table(domain: Domain) -> bool:
    """Whether columns have units of their own, and the norm of a row a meaning: categories, or few columns."""
    return not domain.is_ball and (domain.space.d > len(domain.columns) or domain.space.d < WIDE)


def _even_columns(domain: Domain, space: Space, *, n: int, epsilon: float, delta: float) -> list[Step]:
    """Private scales for numeric columns, a private mean for categories, a constant feature, rows of norm one.

    No column is divided by less than the noise of its deviation: little data, little scaling.
    """
    numeric = tuple(name for name, column in domain.columns.items() if isinstance(column, Numeric))
    steps: list[Step] = []
    if numeric:
        scaler = StandardScaler(columns=numeric, payment=pay.Budget(SCALE_SHARE))
        mu = gdp_mu(epsilon, delta) if math.isfinite(epsilon) else math.inf
        shift = scaler.l2_sensitivity(space, domain.adjacency, UNTOUCHED)
        noise = shift / (n * mu * math.sqrt(SCALE_SHARE))  # of a variance, in squared half widths
        floor = min(0.5, max(LEAST_DEVIATION, 0.5 * math.sqrt(noise)))
        steps.append(replace(scaler, floor=floor))
    if len(numeric) < len(domain.columns):
        steps.append(_center())
    return [*steps, Homogenize(TABLE_LEVEL)]


def _center() -> Center:
    return Center(payment=pay.Budget(CENTER_SHARE))


def _table_features(domain: Domain, n: int, epsilon: float, delta: float) -> int:
    """Random features of a table: the more, the further its signal reaches. Where the rows live plays no part."""
    return MORE_FEATURES if _signal(domain, n, epsilon, delta) >= MUCH else TABLE_FEATURES


def _signal(domain: Domain, n: int, epsilon: float, delta: float) -> float:
    """n mu over how often one record counts: the signal-to-noise ratio of one whole-budget gradient."""
    mu = gdp_mu(epsilon, delta) if math.isfinite(epsilon) else math.inf
    return n * mu / (2 if domain.adjacency == "replace-one" else 1)


def _ball_center(d: int, n: int, epsilon: float, delta: float) -> Center:
    """The instance-optimal mean where a tenth of the budget is enough for its searches, else a plain mean.

    Columns have bounds of their own, a ball has one radius: rows in it may sit close together, far out. Enough:
    the noise of one count is at most n / 8.
    """
    width, rounds = 1 << (d - 1).bit_length(), 2 * math.log2(n + 1) + 8
    mu = gdp_mu(epsilon, delta) if math.isfinite(epsilon) else math.inf
    share = max(CENTER_SHARE, 256 * width * rounds / (n * mu) / (n * mu))
    if d > SEARCHED_COLUMNS or share > LARGEST_CENTER_SHARE:
        return Center(payment=pay.Budget(CENTER_SHARE))
    return InstanceOptimalCenter(payment=pay.Budget(share))


def zero_is_least(domain: Domain) -> bool:
    """Whether every column is declared numeric from 0 on: intensities, counts, amounts."""
    columns = domain.columns.values()
    return not domain.is_ball and all(isinstance(c, Numeric) and c.low == 0 for c in columns)


def auto_loss(domain: Domain) -> Loss:
    """Logistic for two classes, softmax for more."""
    return Logistic() if len(domain.classes) == 2 else Softmax()


def auto_learner(
    domain: Domain, *, n: int, epsilon: float, delta: float, moved: bool, d: int | None = None
) -> GradientDescent:
    """Steps, learning rate and clip from declared numbers alone (docs/recipe.md).

    d: columns of the rows it is trained on (None: as declared).

    After T steps of rate lr the noise in the weights is that of lr * T = reach, whatever T: the reach is set
    in proportion to the signal-to-noise ratio n mu / sqrt(d) of one whole-budget gradient.
    """
    if math.isinf(epsilon):
        return GradientDescent(
            auto_loss(domain), steps=400, learning_rate=1.0, clip_norm=math.inf, average=0.1
        )
    width = (domain.space.d if d is None else d) + 1
    signal = _signal(domain, n, epsilon, delta)
    reach = min(LONGEST, max(SHORTEST, REACH * signal / math.sqrt(width)))
    return GradientDescent(
        auto_loss(domain),
        steps=STEPS,
        learning_rate=reach / STEPS,
        clip_norm=1.0,
        weight_bound=WEIGHT_BOUND if moved else math.inf,
        average=0.5 if signal < LITTLE else 0.15,
    )
