"""The automatic recipe for a declared target: steps and learner from declared facts alone. Reasons: docs/regression.md."""

from __future__ import annotations

import math
from collections.abc import Sequence

from prepriv import payment as pay
from prepriv.columns import Categorical, Column, Numeric
from prepriv.domain import Domain
from prepriv.learners.gradient_descent import GradientDescent
from prepriv.learners.learner import Learner
from prepriv.learners.mean_error import share_of_mean_error
from prepriv.learners.sufficient_statistics import LARGEST_D, SufficientStatistics
from prepriv.learners.targets import SquaredError
from prepriv.placed.checks import check_named
from prepriv.plans.plan import signal
from prepriv.preprocessing.base import UNTOUCHED, Step, walk
from prepriv.preprocessing.bins import Bins
from prepriv.preprocessing.center import Center
from prepriv.preprocessing.impute import MeanImputer
from prepriv.preprocessing.normalize import ClipNorm, Rescale
from prepriv.preprocessing.random_features import RandomFeatures
from prepriv.preprocessing.scale import StandardScaler
from prepriv.recipes.additive import additive_steps
from prepriv.space import Space

SHARE, SCALE_SHARE = 0.02, 0.05  # of the budget, for a mean and for the scales
LEAST_DEVIATION = 0.02  # of a column, in its width: no column is divided by less
LENGTH = 1.25  # norm up to which rows weigh the same, in root mean squares of a row of independent columns
CUT = 8.0  # norm to which they are cut, in the same unit
BIAS = 0.5  # of rows of norm one
_ENOUGH = 1000.0  # signal over d^1.5 from which on the noise of second moments is no loss
_BENT_STEPS = 140  # of descent in two parts
_STEPS, CLIP, REACH, _LONGEST, SHORTEST = 100, 0.25, 0.25, 200.0, 0.3  # of descent; reach: steps times rate
_SLOWEST = (
    0.06  # reach over signal where there is hardly any: noise moves the centre by a tenth of the bounds
)
_FAR, _SURE = 9.0, 100.0  # reach that many columns of categories need, from this signal on
OF_A_TARGET = ("auto", "linear", "additive", "curves")  # by name
# signal from which on curves gain more than their noise costs: for each column, and for each of its cells
CURVED, CURVED_CELL = 110.0, 25.0
WEIGHT, FEATURES, PER_COLUMN = 0.8, 256, 128  # of random features: beside the row; how many
_BINS, _CELLS, OUTERMOST = 26, 512, 6.0  # of a column; of all columns, about; the last edge, in deviations
CODE = 0.5  # squared length of a code, about
_CLEAR = (
    10.0  # signal for each feature from which on gradients of longer rows are cut where they are longer, too
)
_FURTHER, _PLENTY = 4.0, 15.0  # times the reach at most, and signal for each feature from which on
_LONGER, _MOST = 2.0, 400  # times as many passes at most, where the rate is limited; and passes in all
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
    """(steps, learner), each automatic unless given; "linear" is "auto"; "curves": with curves, where there is signal for them; "additive": a function of each column. Raises ValueError for anything else."""
    check_named(steps, learner, OF_A_TARGET)
    row, square, d = None, None, None  # see `regression_learner`; None: as the steps say
    centred = False
    if steps == "additive":
        # a row has that norm at most: the space, a box after bins, knows less of categories
        steps, row, square = additive_steps(domain, 1.0), 1.0, 1.0
    elif isinstance(steps, str):
        known = signal(domain, n=n, epsilon=epsilon, delta=delta)
        curved = steps == "curves" and isinstance(
            learner, str
        )  # a given learner has settings for the rows of a line
        steps, row, square, centred = regression_steps(domain, known, curved=curved), 1.0, LENGTH**-2, True
        d = domain.space.d if any(isinstance(step, RandomFeatures) for step in steps) else None
    if not isinstance(learner, str):
        return tuple(steps), learner
    *_, last = (domain.space, *(after for _, _, after in walk(steps, domain.space)))
    s = signal(domain, n=n, epsilon=epsilon, delta=delta)
    moved, square = any(not step.paid.leaves for step in steps), square or mean_square(domain, steps)
    return tuple(steps), regression_learner(
        last,
        s,
        moved=moved,
        square=square,
        row=row,
        d=d,
        centred=centred,
        cells=_cells(domain),
        mean_error=_mean_error(domain, steps, last.d, s),
    )


def _mean_error(domain: Domain, steps: Sequence[Step], d: int, s: float) -> float:
    """The share for the mean error. Of a logarithm none: its errors are as often above as below, and sums are of the number itself."""
    if domain.target is None or domain.target.log or domain.unit is not None:
        return 0.0
    moved = any(not step.paid.leaves for step in steps)
    return 0.0 if moved else share_of_mean_error(s, d, domain.adjacency)


def _cells(domain: Domain) -> float:
    """Features for each column: many where categories have many cells, in each of which few rows vary."""
    columns = domain.columns.values()
    if not columns or not all(isinstance(c, Categorical | Numeric) for c in columns):
        return 1.0
    return sum(c.width for c in columns) / len(columns)


def mean_square(domain: Domain, steps: Sequence[Step]) -> float:
    """The mean squared norm of the rows after these steps, at most, for all data, but for the noise of released deviations.

    A column of the domain adds at most 1, and after a scaler 1 for each of its features. Where a step says no more, it is the
    radius, squared: every row could be as long.
    """
    square = domain.space.radius**2 if domain.is_ball else float(len(domain.columns))
    columns = True  # whether features are still those of the columns
    for step, before, after in walk(steps, domain.space):
        own = step.paid.private  # what public rows say need not be so of others
        if isinstance(step, StandardScaler) and own and step.columns is None:
            square = float(after.d)
        elif isinstance(step, StandardScaler) and own and columns:
            square += sum(domain.columns[name].width - 1.0 for name in step.columns or ())
        elif isinstance(step, Rescale):
            square *= step.lipschitz(before) ** 2
        elif not (isinstance(step, Center | MeanImputer) and own) and not isinstance(step, ClipNorm):
            square, columns = math.inf, False
        square = min(square, after.radius**2)
    return square


def regression_steps(domain: Domain, s: float, curved: bool = False) -> list[Step]:
    """Impute what is declared so; columns of one scale, about their means; LENGTH becomes 1. curved: curves, where they pay."""
    space = domain.space
    more = curves(domain, s) if curved else []
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
    cut, even = even_rows(last, len(domain.columns))
    if not more:
        return [*steps, cut, even]
    steps += [cut, *more]
    *_, last = (space, *(after for _, _, after in walk(steps, space)))
    root = math.sqrt(len(domain.columns) + CODE * len(numeric))
    return [*steps, Rescale(max(1.0, last.radius / (LENGTH * root)))]


def even_rows(space: Space, columns: int) -> tuple[Step, ...]:
    """Rows of so many columns of one scale: cut where they are far out, then LENGTH becomes 1."""
    root = math.sqrt(columns)
    cut = ClipNorm(CUT * root)
    return cut, Rescale(max(1.0, cut.output(space).radius / (LENGTH * root)))


def curves(domain: Domain, s: float) -> list[Step]:
    """Random features and the codes of bins beside the numbers, where there is signal for them; free."""
    numeric = [j for j, column in enumerate(_features(domain)) if isinstance(column, Numeric)]
    if not 1 <= len(numeric) <= _CELLS // 4 or s < curved_from(domain):
        return []
    inside = 1 / math.hypot(1.0, WEIGHT)  # what random features leave of a number
    bins = max(4, min(_BINS, _CELLS // len(numeric)))
    at = [math.sinh(2.8 * (2 * i / bins - 1)) / math.sinh(2.8) for i in range(1, bins)]
    edges = [round(OUTERMOST / at[-1] * a * inside, 4) for a in at]
    features = min(FEATURES, PER_COLUMN * domain.space.d)
    return [
        RandomFeatures(features, weight=WEIGHT),
        Bins({f"x{j}": edges for j in numeric}, math.exp(-1.6 / bins), beside=True),
    ]


def curved_from(domain: Domain) -> float:
    """The signal from which on curves are learned. The line through many categories needs its own."""
    cells = sum(c.width if isinstance(c, Categorical) else 1 for c in domain.columns.values())
    return max(CURVED * len(domain.columns), CURVED_CELL * cells)


def _features(domain: Domain) -> list[Column]:
    """The column of each encoded feature."""
    return [column for column in domain.columns.values() for _ in range(column.width)]


def regression_learner(
    space: Space,
    s: float,
    *,
    moved: bool,
    square: float,
    row: float | None = None,
    d: int | None = None,
    centred: bool = False,
    cells: float = 1.0,
    mean_error: float = 0.0,
) -> Learner:
    """Second moments where d^2 of them can be held and their noise is small; gradient descent elsewhere.

    Descent clips what a record far from its prediction says, so it has less noise; it does not reach directions in
    which rows hardly vary, which second moments do. square: of the norm of the rows, in the mean, at most. row: the norm up to which rows weigh the
    same, that of the space if None. d: how many features the others are made of, all if None; those are learned first. centred, cells, mean_error: see `_descent`.
    """
    d, longest = space.d if d is None else d, space.radius if row is None else row
    row = min(space.radius, LENGTH * math.sqrt(square)) if row is None else row
    enough = _ENOUGH * d**1.5 * (longest / row) ** 2  # their noise grows with the square of the longest row
    if space.d == d <= LARGEST_D and s >= enough:
        bias = BIAS * longest
        even = math.hypot(longest, bias) if math.isfinite(s) else math.inf
        return SufficientStatistics(bias=bias, longest=even)
    return _descent(
        space,
        s,
        moved=moved,
        square=square,
        row=row,
        d=d,
        centred=centred,
        cells=cells,
        mean_error=mean_error,
    )


def typical_norm(domain: Domain, steps: Sequence[Step], radius: float) -> float:
    """The norm of rows after these steps, in the root mean square, or more. radius: the most."""
    return min(radius, math.sqrt(mean_square(domain, steps)))


def quantile_clip(domain: Domain, steps: Sequence[Step], radius: float, level: float, bias: float) -> float:
    """The clip that leaves the two slopes of a `Quantile` as they are on typical rows. A shorter one evens them, which draws predictions to the median."""
    return max(level, 1 - level) * math.hypot(typical_norm(domain, steps, radius), bias)


def regression_descent(domain: Domain, steps: Sequence[Step], s: float) -> GradientDescent:
    """The descent after these steps, whatever second moments would do there."""
    *_, last = (domain.space, *(after for _, _, after in walk(steps, domain.space)))
    moved = any(not step.paid.leaves for step in steps)
    square = mean_square(domain, steps)
    row = min(last.radius, LENGTH * math.sqrt(square))
    return _descent(
        last,
        s,
        moved=moved,
        square=square,
        row=row,
        d=last.d,
        cells=_cells(domain),
        mean_error=_mean_error(domain, steps, last.d, s),
    )


def _descent(
    space: Space,
    s: float,
    *,
    moved: bool,
    square: float,
    row: float,
    d: int,
    centred: bool = False,
    cells: float = 1.0,
    mean_error: float = 0.0,
) -> GradientDescent:
    """Its rate times the largest curvature that rows can have is at most 1, so that no data make it swing (docs/proofs/gradient_descent.md).

    That is the first eigenvalue of the second moment of rows with their bias feature, at most the mean of their squared norm. centred:
    whether rows lie about zero; then the bias feature is a direction of its own. cells: features for each column (`_cells`); rows vary
    less along each of them, so that descent has to reach further, where there is signal for that. mean_error: as in `GradientDescent`.
    """
    bias, lead = BIAS * row, d if d < space.d else 0
    sure = min(1.0, s / _SURE) ** 2
    further = max(1.0, min(_FURTHER, cells, s / (_PLENTY * d)))
    least = max(min(SHORTEST, _SLOWEST * s), _FAR * sure)
    reach = max(least, further * min(_LONGEST, REACH * s / math.sqrt(d + 1)))
    rate, most = reach / _STEPS, 1.0 / (max(square, bias**2) if centred else square + bias**2)
    steps = _BENT_STEPS if lead else _STEPS
    longer = min(_LONGER * min(further, 2.0), rate / most / max(1.0, row**2))
    return GradientDescent(
        SquaredError(),
        steps=max(steps, min(_MOST, math.ceil(steps * longer))),
        learning_rate=min(rate, most),
        clip_norm=CLIP * row ** min(1.0, s / (_CLEAR * d)) if math.isfinite(s) else math.inf,
        bias=bias,
        lead=lead,
        mean_error=mean_error,
        weight_bound=WEIGHT_BOUND if moved or not math.isfinite(s) else math.inf,
    )
