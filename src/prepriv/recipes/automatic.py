"""The automatic recipe: steps and learner from (n, d, classes, epsilon, delta, adjacency) alone. No tuning.

How the constants were chosen: docs/recipe.md. They never depend on a record.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

from prepriv import payment as pay
from prepriv._callers import callers_level
from prepriv.adjacency import rows_changed
from prepriv.columns import Numeric, Text
from prepriv.domain import Domain, what_n_counts
from prepriv.guarantees import gdp_mu
from prepriv.guarantees.training_part import divided, forecast_n, price_now, table_now
from prepriv.learners.gradient_descent import GradientDescent
from prepriv.learners.learner import Learner
from prepriv.learners.stochastic import PoissonSGD
from prepriv.learners.sufficient_statistics import SufficientStatistics
from prepriv.placed.checks import check_named, check_steps
from prepriv.plans.plan import signal
from prepriv.preprocessing.base import UNTOUCHED, Step, need_filled, need_n, walk
from prepriv.preprocessing.bins import Bins
from prepriv.preprocessing.center import Center
from prepriv.preprocessing.homogenize import Homogenize
from prepriv.preprocessing.impute import MeanImputer
from prepriv.preprocessing.instance_optimal_center import InstanceOptimalCenter
from prepriv.preprocessing.normalize import Normalize, Rescale
from prepriv.preprocessing.random_features import RandomFeatures
from prepriv.preprocessing.root_columns import STRAIGHT, RootColumns
from prepriv.preprocessing.scale import StandardScaler
from prepriv.preprocessing.scattering import Scattering, image_features
from prepriv.preprocessing.shrunk_center import ShrunkCenter
from prepriv.recipes.additive import additive_steps
from prepriv.recipes.dpsgd_f import RECIPES
from prepriv.recipes.fast import MOST_PASSES, averaged, fast, fast_for_any, steady, sure
from prepriv.recipes.loss import auto_loss
from prepriv.recipes.regression import regression, regression_descent
from prepriv.recipes.step_rule import LearnerRule, StepRule
from prepriv.recipes.weak import (
    CENTRED,
    LATE,
    RECIPE_LEVEL,
    WAVELET_CLIP,
    center_of_columns,
    late_share,
    level,
    means_pay,
    wavelet_clip,
)
from prepriv.space import Space

_OLD = "-0.2"  # ends the names of what version 0.2 did
_OURS = ("auto", "linear", "additive")
NAMED = (*_OURS, *(name + _OLD for name in _OURS), *RECIPES)  # by name
LEARNERS = ("auto", "fast")
SCALE = 5.0  # norm of a row
ADDITIVE_BIAS = 2.0  # beside rows of codes: with less, a rare class is told from the cells that most records have (docs/weights.md)
CENTER_SHARE, LARGEST_CENTER_SHARE = 0.02, 0.1
WIDE = 64  # numeric columns from which on the norm of a row says little, and columns share a scale
SCALE_SHARE, LEAST_DEVIATION = 0.05, 0.02  # of a table: budget of the scales; a column's least, in its width
_BINS, _CELLS, OUTERMOST = (
    26,
    512,
    6.0,
)  # of a column; of all columns, about; the last edge, in standard deviations
CODED = 100.0  # signal from which on codes of bins do no harm; below, numbers alone are learned better
FEATURES, TABLE_FEATURES = 1024, 512  # random features; of a table with less signal than MUCH
PER_COLUMN = 128  # random features of an encoded column; more see nothing new
MUCH = 5000.0
PAYING = 1500.0  # signal at which random features weigh as much as the row
LEAST_WEIGHT = 0.05  # below it there are none
# The same of a ball of WIDE columns and more, which a network made nearly linear, and the largest such weight.
AFTER_NETWORK, MOST_AFTER_NETWORK = 15_000.0, 0.3
EMBEDDED_AVERAGE = 0.12  # of such a ball: the last share of the iterates, where half are of others
ALIKE = 2  # columns up to which random features of most rows are alike, too
SEARCHED_COLUMNS = 64  # a search reads all rows some forty times
_STEPS, MOST_STEPS = 100, 400  # more steps at the same reach cost time, not privacy, and gain nothing
MANY, SHARE, _LEAST_SHARE = 2**18, 16.0, 4.0  # records from which on a step reads a random one in so many
_FAR = 1e6  # rates without noise, to go on as long as there are passes
MOST_ALONE = 1000  # passes over a table without noise
_APART = 0.25  # of a wide row's squared length in one direction, or of a text's: less than in a table
_FITTED = 0.12  # among random features: the longest reach over classes * n^0.75
WEIGHT_BOUND = 10.0  # only where a step is paid for by sensitivity
# Of images: signal over reach where there is much; the last share of the iterates.
WAVELET_REACH, WAVELET_AVERAGE = 28.0, 0.15
NOISE_ALONE = 10.0  # signal below which models were no better than the commonest class on most tables


def recipe(
    domain: Domain,
    *,
    n: int,
    epsilon: float,
    delta: float,
    steps: str | Sequence[Step | pay.Public | str] | StepRule = "auto",
    learner: str | Learner | LearnerRule = "auto",
) -> tuple[tuple[Step, ...], Learner]:
    """(steps, learner), each automatic unless given. Raises ValueError for anything else.

    steps that end in a name, [Encode("encoder.onnx"), "auto"]: those, which cost nothing, and the recipe for the rows after them.
    With public unlabelled rows before the name, [Encode("encoder.onnx"), Public(rows), "auto"], it learns in their directions.

    steps "linear": the automatic ones without random features, so that the model has one weight a column; "additive": a
    function of each column, learned in bins; "auto-0.2", "linear-0.2" and "additive-0.2": what version 0.2 made of these
    names, learner and all; "dpsgd-f", "dpsgd-f-modified", "dpsgd": Algorithms 2, 3 and 1 of The Importance of
    Feature Preprocessing, with their own learners (docs/dpsgd-f.md). learner "fast": fewer passes also where the
    recipe keeps a hundred of them, as that was not measured (docs/recipe.md).
    """
    n = need_n(n)
    if isinstance(learner, LearnerRule):
        found, automatic = recipe(domain, n=n, epsilon=epsilon, delta=delta, steps=steps)
        if isinstance(automatic, SufficientStatistics):  # of squared errors alone
            s = signal(domain, n=n, epsilon=epsilon, delta=delta)
            automatic = regression_descent(domain, found, s)
        return found, learner.learner_for(automatic)
    listed = isinstance(steps, list | tuple)
    if isinstance(steps, StepRule):
        steps = steps.steps_for(domain, n=n, epsilon=epsilon, delta=delta)
    if isinstance(steps, list | tuple) and any(isinstance(step, StepRule) for step in steps):
        raise ValueError(
            "model.steps of prepriv.private stands alone. With a step of your own after its transformers, write "
            "steps=[Fitted.of(transformers, model.domain, payment=Sketch()), YourStep(...), StandardScaler(payment=Budget(0.05))] for PrivateClassifier(model.domain)"
        )
    if isinstance(steps, list | tuple) and steps and isinstance(steps[-1], str):
        return _after(domain, steps[:-1], steps[-1], n=n, epsilon=epsilon, delta=delta, learner=learner)
    steps = cast("str | Sequence[Step]", steps)  # `check_named` sees that it is
    if listed and isinstance(learner, str):
        from prepriv.recipes.unscaled import no_scaler_in_words, warn_of_no_scaler  # a recipe needs none

        check_steps(steps)
        warn_of_no_scaler(no_scaler_in_words(domain, cast("Sequence[Step]", steps)), epsilon)
    if domain.target is not None:
        return regression(domain, n=n, epsilon=epsilon, delta=delta, steps=steps, learner=learner)
    check_named(steps, learner, NAMED, LEARNERS)
    old = isinstance(steps, str) and steps.endswith(_OLD)
    given = not isinstance(steps, str)
    additive = isinstance(steps, str) and steps.removesuffix(_OLD) == "additive"
    few = learner == "fast" or (isinstance(steps, str) and not old and _columns_alone(domain))
    if isinstance(steps, str):
        if steps in RECIPES:
            if learner == "fast":
                raise ValueError(
                    f"learner 'fast' is of the automatic recipe: {steps} has a learner of its own"
                )
            steps, own = RECIPES[steps](domain, n=n, epsilon=epsilon, delta=delta)
            learner = own if learner == "auto" else learner
        elif additive:
            steps = additive_steps(domain, SCALE)
        else:
            linear = steps.removesuffix(_OLD) == "linear"
            steps = auto_steps(domain, n=n, epsilon=epsilon, delta=delta, linear=linear, old=old)
    if not isinstance(learner, str):
        return tuple(steps), learner
    # Steps that do not follow each other are refused.
    *_, last = (domain.space, *(after for _, _, after in walk(steps, domain.space)))
    seen = forecast_n(n)
    s = signal(domain, n=seen, epsilon=epsilon, delta=delta)
    if s < NOISE_ALONE:
        for_all = " for all candidates" if divided() else ""
        warnings.warn(
            f"weak signal: {table_now(seen, what_n_counts(domain))} at epsilon {price_now(epsilon):g}{for_all} are {s:.2g} times as strong as the noise of one sum over "
            f"them; below {NOISE_ALONE:g} models are mostly noise. More {what_n_counts(domain)} or a larger epsilon help",
            WeakSignal,
            stacklevel=callers_level(),
        )
    s = signal(domain, n=n, epsilon=epsilon, delta=delta)
    center = _center_of(steps)
    # Of the recipe's own rows, where the space knows less. What was subtracted of a constant feature is left to the bias.
    radius = last.radius if given or center else SCALE
    bias = round(math.hypot(last.radius * center / math.hypot(1.0, center), 1.0), 3)
    learned = auto_learner(
        domain,
        n=n,
        epsilon=epsilon,
        delta=delta,
        steps=steps,
        old=old,
        radius=radius,
        bias=ADDITIVE_BIAS if additive and not old and s >= CENTRED else bias,
    )
    moved = _moved(steps)
    if math.isfinite(epsilon) and not old and not _wavelets(steps):
        if few and n < MANY and not moved and additive:
            learned = fast_for_any(learned, radius, math.hypot(SCALE, 1))
        elif few and n < MANY and not moved:
            wide, surer = not is_table(domain) and domain.space.d >= WIDE, sure(s, _constant(domain, steps))
            learned = fast(learned, radius, math.hypot(SCALE, 1), wide=wide, surer=surer)
        else:
            learned = steady(learned, radius, 1.0 if is_table(domain) else min(1.0, _APART * sure(s)))
    return tuple(steps), learned if moved else in_batches(learned, n=n, epsilon=epsilon, delta=delta)


def _after(
    domain: Domain,
    first: Sequence[Any],
    then: str,
    *,
    n: int,
    epsilon: float,
    delta: float,
    learner: str | Learner,
) -> tuple[tuple[Step, ...], Learner]:
    """The recipe `then` for the rows after steps that neither cost nor move anything: they lie in a ball.

    Public(rows) right before the name: the recipe reads the directions of these.
    """
    last: Any = first[-1] if first else None
    public = pay.public_of(last)
    first = first if public is None else first[:-1]
    check_steps(first)
    space = domain.space
    for step, _, after in walk(first, space):
        if step.paid.private:
            raise ValueError(
                f"{step.name} is paid for by {step.way}: before a recipe, [..., {then!r}], stand free and public steps alone"
            )
        space = after
    need_filled(f"the recipe {then!r} after other steps", space)
    if public is not None:
        if then not in ("auto", "linear"):
            raise ValueError(
                f"the recipes 'auto' and 'linear' read public rows; {then!r} does not: leave them out"
            )
        from prepriv.recipes.public_directions import in_public_directions  # which is made of this recipe

        return in_public_directions(domain, first, public, n=n, epsilon=epsilon, delta=delta, learner=learner)
    ball = Domain.ball(
        space.d,
        domain.classes,
        radius=space.radius,
        n=domain.n,
        adjacency=domain.adjacency,
        target=domain.target,
    )
    steps, learned = recipe(ball, n=n, epsilon=epsilon, delta=delta, steps=then, learner=learner)
    return (*first, *steps), learned


class WeakSignal(UserWarning):
    """So few records, or so small an epsilon, that little but noise can be learned."""


def auto_steps(
    domain: Domain, *, n: int, epsilon: float, delta: float, linear: bool, old: bool = False
) -> list[Step]:
    """Impute what is declared so; centre, rows of one norm, random features. old: as in version 0.2.

    Imputation is paid by budget: by sensitivity it costs three times the noise, and the claim needs a cap.
    """
    if domain.image is not None and not linear and min(domain.image[:2]) > 1:
        return [image_features(domain.image), Normalize(1.0), _center(), Normalize(1.0), Rescale(SCALE)]
    space, s = domain.space, signal(domain, n=n, epsilon=epsilon, delta=delta)
    impute: list[Step] = [MeanImputer(payment=pay.Budget(CENTER_SHARE))] if space.may_miss.any() else []
    texts = any(isinstance(c, Text) for c in domain.columns.values())  # the root is for numbers from zero on
    roots = [] if domain.is_ball or texts else [RootColumns.of(domain)]
    roots = [r for r in roots if min(r.start) < STRAIGHT]
    table = is_table(domain)
    if table:
        *_, before = (space, *(after for _, _, after in walk([*impute, *roots], space)))
        even = _even_columns(domain, before, s=s, linear=linear, old=old)
    else:
        center = _ball_center(space.d, n, epsilon, delta) if _ball(domain) else _center()
        even = [Normalize(1.0), center, Normalize(1.0)]
    features, weight = TABLE_FEATURES if table and s < MUCH else FEATURES, feature_weight(domain, s, old=old)
    features = min(features, PER_COLUMN * space.d)
    pays = not linear and weight >= LEAST_WEIGHT and (_ball(domain) or not _texts_alone(domain))
    more = [RandomFeatures(features, weight=weight), Normalize(1.0)] if pays else []
    *_, last = *even, *more
    return [*impute, *roots, *even, *more, at_scale(last)]


def at_scale(last: Step) -> Rescale:
    """What brings rows of norm one, or those of a centred constant feature, to the norm that learners are made for."""
    return Rescale(SCALE * math.hypot(1.0, last.center) if isinstance(last, Homogenize) else SCALE)


def _center_of(steps: Sequence[Step]) -> float:
    """What was subtracted from the constant feature of rows, over their norm; 0: nothing."""
    return next((step.center / step.radius for step in steps if isinstance(step, Homogenize)), 0.0)


def _numeric(domain: Domain) -> tuple[str, ...]:
    return tuple(name for name, column in domain.columns.items() if isinstance(column, Numeric))


def is_table(domain: Domain) -> bool:
    """Whether columns have units of their own, and the norm of a row a meaning: few numeric ones."""
    return not domain.is_ball and not _texts_alone(domain) and len(_numeric(domain)) < WIDE


def _columns_alone(domain: Domain) -> bool:
    """Whether there are numbers and categories alone, one row per record, on which fewer passes were measured."""
    return (
        not domain.is_ball
        and domain.unit is None
        and not any(isinstance(c, Text) for c in domain.columns.values())
    )


def _texts_alone(domain: Domain) -> bool:
    """Whether rows are directions in a space of words, where a hyperplane sees what there is."""
    return not domain.is_ball and all(isinstance(c, Text) for c in domain.columns.values())


def _ball(domain: Domain) -> bool:
    """Whether rows are points of a ball: declared so, or texts alone that a network made vectors of."""
    return domain.is_ball or 0 < len(domain.columns) == domain.encoded_texts


def _embedded(domain: Domain) -> bool:
    """Whether rows are what a network made of records: points of a wide ball."""
    return _ball(domain) and domain.space.d >= WIDE


def feature_weight(domain: Domain, s: float, *, old: bool = False) -> float:
    """Norm of the random features over that of the row: in proportion to the signal, up to 1, or 1.6 in many columns, and to
    the share of columns that hold numbers, as categories are not curves.

    Below they cost more, in what noise does to rows that are longer in directions that say little, than they tell. In a wide ball,
    of embeddings, they tell little: a network has made of a record what a hyperplane sees. old: as in version 0.2.
    """
    if _embedded(domain) and not old:
        return min(s / AFTER_NETWORK, MOST_AFTER_NETWORK)
    columns = domain.space.d if domain.is_ball else len(_numeric(domain))
    numbers = 1.0 if domain.is_ball else len(_numeric(domain)) / len(domain.columns)
    return numbers * min(s / PAYING, min(1.6, max(1.0, (columns / WIDE) ** 0.2)))


def _even_columns(domain: Domain, space: Space, *, s: float, linear: bool, old: bool) -> list[Step]:
    """Private scales for numeric columns, a private mean for categories, a constant feature, rows of norm one.

    Unless linear, and where there is signal for them, beside each number the code of its bin, in standard deviations: free, for
    what is a curve in one column.

    No column is divided by less than the noise of its deviation: little data, little scaling.
    """
    numeric = _numeric(domain)
    steps: list[Step] = []
    if numeric:
        scaler = StandardScaler(columns=numeric, shrink=not old, payment=pay.Budget(SCALE_SHARE))
        record = rows_changed(domain.adjacency)
        shift = scaler.l2_sensitivity(space, domain.adjacency, UNTOUCHED) / record
        noise = shift / (s * math.sqrt(SCALE_SHARE))  # of a variance, in squared half widths
        floor = min(0.5, max(LEAST_DEVIATION, 0.5 * math.sqrt(noise)))
        steps.append(replace(scaler, floor=floor))
    if len(numeric) < len(domain.columns) and (old or means_pay(s, space.d)):
        steps.append(_center())
    if numeric and not linear and s >= CODED:
        steps.append(_codes(numeric))
    constant = RECIPE_LEVEL if old else level(s, space.d)
    center = 0.0 if old else center_of_columns(constant, len(domain.columns), s)
    return [*steps, Homogenize(constant, center=center)]


def _codes(numeric: tuple[str, ...]) -> Bins:
    """Bins of columns with deviation 1, narrow about the mean; a value speaks for some eight bins of 26 on either side."""
    bins = max(4, min(_BINS, _CELLS // len(numeric)))
    at = [math.sinh(2.8 * (2 * i / bins - 1)) / math.sinh(2.8) * OUTERMOST for i in range(1, bins)]
    edges = [round(OUTERMOST / at[-1] * a, 3) for a in at]
    return Bins(dict.fromkeys(numeric, edges), math.exp(-1.6 / bins), beside=True)


def _center() -> Center:
    return ShrunkCenter(payment=pay.Budget(CENTER_SHARE))


def _ball_center(d: int, n: int, epsilon: float, delta: float) -> Center:
    """The instance-optimal mean where a tenth of the budget is enough for its searches, else a plain mean.

    Columns have bounds of their own, a ball has one radius: rows in it may sit close together, far out. Enough:
    the noise of one count is at most n / 8.
    """
    width, rounds = 1 << (d - 1).bit_length(), 2 * math.log2(n + 1) + 8
    mu = gdp_mu(epsilon, delta) if math.isfinite(epsilon) else math.inf
    share = max(CENTER_SHARE, 256 * width * rounds / (n * mu) / (n * mu))
    if d > SEARCHED_COLUMNS or share > LARGEST_CENTER_SHARE:
        return _center()
    return InstanceOptimalCenter(payment=pay.Budget(share))


def _wavelets(steps: Sequence[Step]) -> bool:
    return any(isinstance(step, Scattering) for step in steps)


def _moved(steps: Sequence[Step]) -> bool:
    """Whether a step is paid for by sensitivity."""
    return any(not s.paid.leaves for s in steps)


def auto_learner(
    domain: Domain,
    *,
    n: int,
    epsilon: float,
    delta: float,
    steps: Sequence[Step] = (),
    old: bool = False,
    radius: float = SCALE,
    bias: float = 1.0,
) -> GradientDescent:
    """Steps, learning rate and clip from declared numbers alone (docs/recipe.md). For rows of norm about 5 after `steps`.

    After T steps of rate lr the noise in a score is that of reach = T lr clip_norm, whatever T and the number of
    columns: reach follows the signal, and so does the clip, until at much signal nothing is clipped. Few classes want less
    reach and a wider clip: a score then has less to tell apart, and a gradient is no longer than half a row at the start.
    Among random features reach levels off where the number of records limits what can be learned, not noise: with hundreds
    of free weights and next to no noise, descent would fit the records one by one. Without noise it goes on to the exact fit elsewhere. radius:
    of the rows after `steps`. bias: beside them; most rows are about as long with it as without where it is not 1.
    """
    loss, classes = auto_loss(domain), len(domain.classes)
    featured = any(isinstance(step, RandomFeatures) for step in steps)
    if math.isinf(epsilon):
        if old:
            return GradientDescent(
                loss, steps=400, learning_rate=1.0, clip_norm=math.inf, average=0.1, bias=bias
            )
        reach = max(1.0, classes / 5) * _FITTED * classes * n**0.75 if featured else math.inf
        rate = min(reach / loss.gradient_norm(math.hypot(SCALE, 1), math.inf), _FAR) / MOST_STEPS
        plain = GradientDescent(loss, steps=MOST_STEPS, learning_rate=rate, clip_norm=math.inf, bias=bias)
        return steady(plain, radius, most=MOST_ALONE if is_table(domain) else MOST_PASSES)
    s, norm = signal(domain, n=n, epsilon=epsilon, delta=delta), math.hypot(SCALE, 1)
    wavelets = _wavelets(steps)
    longest = 1 + 200 / (300 + s)
    if wavelets:
        longest = 33 / WAVELET_REACH if old else max(33 / WAVELET_REACH, longest)
    reach = s / 33 * min(max(0.8 - 30 / (100 + s), classes / 5), longest)
    if featured:
        reach /= math.hypot(1, reach / (_FITTED * classes * n**0.75))
    clip = min(loss.gradient_norm(norm, math.inf), math.sqrt(1 + (24 + s / 60) / classes**2))
    if wavelets:
        clip *= WAVELET_CLIP if old else wavelet_clip(s)
    # Where nothing is clipped steps of rate 1 are the longest that do not overshoot; clipped to c, of rate norm / c.
    count = min(MOST_STEPS, max(_STEPS, math.ceil(reach / norm)))
    learner = GradientDescent(
        loss,
        steps=count,
        learning_rate=min(reach / count, norm) / clip,
        clip_norm=clip,
        weight_bound=WEIGHT_BOUND if _moved(steps) else math.inf,
        bias=bias,
        average=min(WAVELET_AVERAGE, WAVELET_AVERAGE if old else late_share(s)) if wavelets else LATE,
    )
    share = min(EMBEDDED_AVERAGE if _embedded(domain) else LATE, late_share(s))
    return learner if old or wavelets or share == LATE else averaged(learner, share)


def _constant(domain: Domain, steps: Sequence[Step]) -> float:
    """The share of a row's squared length that is the same in all rows of a table: the constant feature and the bias."""
    share = 0.0
    for step in steps:
        if isinstance(step, Homogenize):
            share = step.level**2 / (step.level**2 + len(domain.columns))
        if isinstance(step, RandomFeatures) and len(domain.columns) > ALIKE:
            share /= 1 + step.weight**2
    return (SCALE**2 * share + 1) / (SCALE**2 + 1)


def in_batches(
    learner: GradientDescent, *, n: int, epsilon: float, delta: float
) -> GradientDescent | PoissonSGD:
    """The same steps on Poisson batches where there are so many records that a batch says what all of them say.

    Sampling hides as much as it takes away, so that the noise of a mean stays, but only while its multiplier on a batch is
    at least about one: rate * sqrt(T) / mu. A step then reads down to a sixteenth of the rows.
    """
    share = 0.0 if math.isinf(epsilon) else min(SHARE, math.sqrt(learner.steps) / gdp_mu(epsilon, delta))
    if n < MANY or share < _LEAST_SHARE:
        return learner
    return PoissonSGD(
        learner.loss,
        batch_size=math.ceil(n / share),
        steps=learner.steps,
        learning_rate=learner.learning_rate,
        clip_norm=learner.clip_norm,
        momentum=learner.momentum,
        average=learner.average,
        bias=learner.bias,
        flatten=learner.flatten,
        warm_up=learner.warm_up,
    )
