"""Predictions of a target drawn to their centre where noise outweighs what was learned. Proof: docs/proofs/shrunk_predictions.md.

A score is the score of one public row, the centre, and how far slopes take another row from it. Both are partly noise of
training, whose law the plan gives. Each is multiplied by the estimate of James and Stein. No record is read, it costs nothing.
"""

from __future__ import annotations

import functools
import hashlib
import math
import statistics
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from prepriv._arrays import Floats
from prepriv._kinds import is_ours
from prepriv.columns import Categorical, Numeric
from prepriv.learners.gradient_descent import GradientDescent
from prepriv.learners.row_mean import gain as gain_along
from prepriv.learners.targets import TargetLoss, shrinkage
from prepriv.placed.chain import PlannedStep
from prepriv.plans.plan import Plan
from prepriv.preprocessing.base import ReleasedMap
from prepriv.preprocessing.bins import Bins
from prepriv.preprocessing.center import Center, Subtract
from prepriv.preprocessing.impute import MeanImputer
from prepriv.preprocessing.impute_caps import FillReleased
from prepriv.preprocessing.normalize import ClipNorm, Normalize, Rescale
from prepriv.preprocessing.random_features import RandomFeatures
from prepriv.preprocessing.scale import StandardScaler
from prepriv.preprocessing.scale_map import ScaleReleased, chosen_columns
from prepriv.space import Space

_FEATURES = (Bins, RandomFeatures)  # steps that make features of others, with a law of their own
_ROWS, _GRID = 256, 24  # made-up rows; curvatures at which the response of descent is computed
_LENGTHS = 150  # of slopes, that are tried
_RESIDUAL = 0.25  # over the norm of rows with their bias feature: where recipes cut residuals while there is little signal


def shrunk(plan: Plan, maps: Sequence[ReleasedMap], weights: Floats) -> Floats:
    """Weights (d + 1, 1) of the rows that reach the learner, the bias feature last, with less of their noise.

    Of descent in two parts (`GradientDescent.lead`) the first column is what the first part has learned, and does not leave. maps:
    what the steps released, in order. Anything but descent on the loss of a target stays as it is, and so do weights of rows whose
    mean no step has released.
    """
    learner = plan.learner
    led = weights[:, :1]
    weights = weights if weights.shape[1] == plan.outputs else weights[:, -1:]  # two of descent in two parts
    if type(learner) is not GradientDescent or not isinstance(learner.loss, TargetLoss) or not plan.private:
        return weights
    rows = typical_rows(plan, maps) if any(type(s.step) in _FEATURES for s in plan.steps) else None
    if rows is not None:
        return _shrunk_along(plan, learner, rows, led, weights)
    if not mean_released(plan, maps):  # drawn to a guess, all predictions move by what it is off
        return weights
    noise, slopes, bias = plan.learner_noise / plan.n, weights[:-1, 0], learner.bias
    at, norm = centred(plan, maps)
    kept, uncut = _slopes_kept(plan, learner, norm, len(slopes), float(slopes @ slopes))
    score, length = float(at @ slopes + bias * weights[-1, 0]), float(at @ at) + bias**2
    held = _held(learner, length, uncut, noise, score)
    if bias == 0:  # without an intercept nothing can hold the centre
        return weights * kept
    out = np.append(kept * slopes, (held * score - kept * float(at @ slopes)) / bias)
    return np.asarray(out[:, None]) if np.isfinite(out).all() else weights


def _residuals(plan: Plan, learner: GradientDescent, norm: float) -> tuple[float, float]:
    """(where residuals of rows of this norm are cut, how large they are taken to be in the law of the noise of the rows).

    The second is a guess, at most the first: a longer clip norm lets larger residuals through, and does not make them larger.
    """
    length = math.hypot(norm, learner.bias)
    if not length:
        return 0.0, 0.0
    cut = min(1.0, learner.clip(plan.space.radius) / length)
    return cut, min(cut, _RESIDUAL / length)


def _slopes_kept(
    plan: Plan, learner: GradientDescent, norm: float, d: int, square: float
) -> tuple[float, float]:
    """(what is kept of d slopes of this squared norm, the share of residuals that is not cut); norm: of the rows."""
    cut, residual = _residuals(plan, learner, norm)
    # Where scores are longer than the cut, most residuals are cut, and have no curvature.
    uncut = min(1.0, cut / max(norm * math.sqrt(square / max(d, 1)), 1e-300))
    curvature = _along(learner, norm**2 / max(d, 1) * uncut)
    gain, pull = learner.response(curvature)
    # Of one slope: the noise of training, and that of the rows themselves.
    variance = (gain * plan.learner_noise / plan.n) ** 2 + (pull * residual) ** 2 * curvature / plan.n
    # Of signal: no target lies further than 1 from the middle, and rows are no longer than the domain says.
    longest = d / max(min(norm**2, _spread(plan)), 1e-300)
    kept = shrinkage(max(d * variance, square - longest), square)
    # Descent that stops early has shrunk them already.
    return min(1.0, kept / max(pull * curvature, 1e-12)), uncut


def share_kept(plan: Plan, maps: Sequence[ReleasedMap], weights: Floats) -> float:
    """What `shrunk` has multiplied the slopes of one weight per column by, of what left it, (d + 1, 1).

    The longer slopes were, the more of them is left, up to those of scores longer than any target. So the length that is left says
    how long they were. Where two lengths leave the same, it is the smaller one, of which more was kept.
    """
    learner, slopes = plan.learner, weights[:-1, 0]
    if not (plan.private and type(learner) is GradientDescent and isinstance(learner.loss, TargetLoss)):
        return 1.0
    if not slopes.any():
        return 0.0
    if any(type(s.step) in _FEATURES for s in plan.steps) or not mean_released(plan, maps):
        return 1.0
    norm, square = centred(plan, maps)[1], float(slopes @ slopes)

    def kept(before: float) -> float:
        return _slopes_kept(plan, learner, norm, len(slopes), before)[0]

    tried = square * np.geomspace(1.0, 1e6, _LENGTHS)
    left = np.array([kept(one) ** 2 * one for one in tried])
    enough = np.flatnonzero(left >= square * (1.0 - 1e-9))
    if not len(enough):  # between two lengths that were tried
        return kept(float(tried[np.argmax(left)]))
    high = float(tried[enough[0]])
    low = float(tried[max(enough[0] - 1, 0)])
    for _ in range(40):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if kept(middle) ** 2 * middle >= square else (middle, high)
    return kept(high)


def _shrunk_along(plan: Plan, learner: GradientDescent, rows: Floats, led: Floats, weights: Floats) -> Floats:
    """The same by the noise of the predictions of these rows, (k, d), which need not vary alike in all directions.

    Features made of other features vary little in most directions, so that the norm of the weights is nearly all noise, and says
    nothing about predictions. Of descent in two parts, what each has learned is multiplied apart.
    """
    noise, bias = plan.learner_noise / plan.n, learner.bias
    at = rows.mean(axis=0)
    about = (rows - at) / math.sqrt(len(rows))
    spread = math.sqrt(float(np.square(about).sum()))
    cut, residual = _residuals(plan, learner, spread)
    size = math.sqrt(float(np.square(about @ weights[:-1, 0]).sum()))
    uncut = min(1.0, cut / max(size, 1e-300))

    def kept(part: Floats, seen: Floats, steps: int) -> float:
        """Of slopes that so many steps have learned of these features of the rows."""
        along = np.maximum(
            np.linalg.eigvalsh(seen @ seen.T), 0.0
        )  # curvature in each direction that rows have
        own = replace(learner, steps=steps, lead=0)
        grid = np.concatenate([[0.0], np.geomspace(1e-6, 1.0, _GRID) * max(float(along[-1]), 1e-300)])
        gain, pull = np.array([own.response(_along(own, uncut * c)) for c in grid]).T
        gain, pull = np.interp(along, grid, gain), np.interp(along, grid, pull)
        variance = np.square(gain * noise) + np.square(pull * residual) * along * (uncut / plan.n)
        said = float(np.square(about @ part).sum())
        return shrinkage(max(float(variance @ along), said - 1.0), said)  # no target lies further than 1 away

    slopes, steps = weights[:-1, 0], learner.steps - learner.first_steps
    if learner.lead:
        first = led[:-1, 0]
        straight = kept(first, about[:, : learner.lead], learner.first_steps)
        bent = kept(slopes - first, about, steps)
        out = (1.0 - bent) * straight * first + bent * slopes
    else:
        out = kept(slopes, about, steps) * slopes
    score, length = float(at @ slopes + bias * weights[-1, 0]), float(at @ at) + bias**2
    held = _held(replace(learner, steps=steps, lead=0), length, uncut, noise, score)
    last = (held * score - float(at @ out)) / bias if bias else 0.0
    made = np.append(out, last)
    return np.asarray(made[:, None]) if np.isfinite(made).all() else weights


def _along(learner: GradientDescent, curvature: float) -> float:
    """An estimate of the curvature in one direction, at most that at which the steps settle: beyond, the recursion of its law swings ever
    further. A recipe has no longer steps than all rows that are declared allow, so that no curvature is larger."""
    return min(curvature, 1.0 / learner.learning_rate)


def _held(learner: GradientDescent, length: float, uncut: float, noise: float, score: float) -> float:
    """What is kept of the score of the centre; length: of the centre with its bias feature, squared."""
    kept = gain_along(length) if learner.flatten else 1.0  # rows are centred there: it is about their mean
    law = (kept * learner.response(_along(learner, kept * length * uncut))[0] * noise) ** 2 * length
    return shrinkage(max(law, score**2 - 1.0), score**2)


def typical_rows(plan: Plan, maps: Sequence[ReleasedMap]) -> Floats | None:
    """Made-up rows as the learner would see them, (k, d), of what was declared and released: no record is read.

    Columns are independent. A number is normal with the released mean and deviation, or uniform between its bounds; a category as
    often as its released mean says, or all alike. None: of a ball, or where a map is not released or not ours.
    """
    domain = plan.domain
    if domain.is_ball or not all(
        s.step.paid.leaves and is_ours(type(m)) for s, m in zip(plan.steps, maps, strict=True)
    ):
        return None
    mean, deviation, shares = (np.full(domain.space.d, np.nan) for _ in range(3))
    for released in maps:
        if isinstance(released, ScaleReleased) and len(released.affine.offset) == len(mean):
            mean, deviation = released.affine.offset, 1.0 / np.maximum(released.affine.factor, 1e-300)
        elif isinstance(released, Subtract) and len(released.offset) == len(shares):
            shares = released.offset
        elif not isinstance(released, FillReleased):
            break
    return made_up_rows(plan, maps, mean, deviation, shares)


def made_up_rows(
    plan: Plan, maps: Sequence[ReleasedMap], mean: Floats, deviation: Floats, shares: Floats
) -> Floats | None:
    """The same of other numbers, (d,) each: the mean and deviation of columns of numbers, and the shares of the cells of categories.
    NaN: not known. A category with deviations and shares of 0 has its mean in all rows."""
    domain = plan.domain
    if domain.is_ball:
        return None
    rows, first = np.zeros((_ROWS, domain.space.d)), 0
    for j, column in enumerate(domain.columns.values()):
        at = slice(first, first := first + column.width)
        even = (_order(j) + 0.5) / _ROWS
        if isinstance(column, Numeric) and np.isfinite(mean[at]).all():
            rows[:, at] = np.clip(mean[at] + deviation[at] * _normal()[_order(j), None], 0.0, 1.0)
        elif isinstance(column, Numeric):
            rows[:, at] = even[:, None]
        elif isinstance(column, Categorical):
            share = np.maximum(np.nan_to_num(shares[at], nan=1.0), 0.0)
            if not deviation[at].any() and not share.any():  # nothing is known: all alike
                rows[:, at] = mean[at]
                continue
            share = share if share.sum() > 0 else np.ones(column.width)
            cell = np.searchsorted(np.cumsum(share) / share.sum(), even).clip(0, column.width - 1)
            rows[np.arange(_ROWS), first - column.width + cell] = 1.0
        else:
            return None
    for released in maps:
        rows = released.transform(rows)
    return rows if np.isfinite(rows).all() else None


@functools.lru_cache(maxsize=1)
def _normal() -> Floats:
    """Quantiles of the standard normal law, ascending, (k,)."""
    law = statistics.NormalDist()
    return np.array([law.inv_cdf((i + 0.5) / _ROWS) for i in range(_ROWS)])


@functools.lru_cache(maxsize=256)
def _order(column: int) -> NDArray[np.intp]:
    """A public order of the made-up rows, another one for each column."""
    bits = hashlib.shake_128(f"prepriv typical rows, {column}".encode()).digest(8 * _ROWS)
    return np.argsort(np.frombuffer(bits, "<u8"), kind="stable")


def mean_released(plan: Plan, maps: Sequence[ReleasedMap]) -> bool:
    """Whether a step has subtracted a released mean of every feature, so that the centre of the rows is known up to noise."""
    from prepriv.preprocessing.compiled import CompiledMap  # which a fit without such a map does without

    left = set(range(plan.domain.space.d))
    for planned, released in zip(plan.steps, maps, strict=True):
        step = planned.step
        if not (step.paid.leaves and is_ours(type(released))):
            return False
        if isinstance(step, Center):
            return True
        if isinstance(step, StandardScaler):
            left -= features_of(step, planned.before)
            if not left:
                return True
        elif isinstance(released, CompiledMap) or planned.after.d != planned.before.d:
            # Of other features: what was centred before need not be now.
            left = set(range(planned.after.d))
    return False


def features_of(step: StandardScaler, space: Space) -> set[int]:
    """Which features of this space a scaler centres. By place: after a step that makes features of others they have other names than the columns of the domain."""
    return set(chosen_columns(step.name, space, step.columns).tolist())


def mean_noise(planned: PlannedStep, n: int, released: ReleasedMap) -> Floats | None:
    """Standard deviation of the noise in the mean that a step has subtracted, of each feature; None of a step that subtracts none."""
    if not isinstance(planned.step, StandardScaler | Center):
        return None
    cell = (planned.noise_multiplier or 0.0) * (planned.shift or 0.0) / n
    return planned.step.mean_noise(planned.before, cell, released)


def _spread(plan: Plan) -> float:
    """The mean squared norm of the rows that reach the learner, at most, as far as the domain says: the cells of a category have 1
    together, however many they are. inf after a step that scales in another way."""
    columns = plan.domain.columns
    known = bool(columns) and all(isinstance(c, Categorical | Numeric) for c in columns.values())
    square = float(len(columns)) if known else math.inf
    for planned in plan.steps:
        step = planned.step
        if isinstance(step, StandardScaler):
            scaled = columns if step.columns is None else step.columns
            square += sum(c.width - 1.0 for name, c in columns.items() if name in scaled)
        elif isinstance(step, Rescale):
            square *= step.lipschitz(planned.before) ** 2
        elif not isinstance(step, Center | ClipNorm | MeanImputer):
            square = math.inf
    return square


def centred(plan: Plan, maps: Sequence[ReleasedMap]) -> tuple[Floats, float]:
    """(where the rows that the learner sees are centred, (d,); their root mean square norm), as far as public numbers tell.

    The centre is the middle of the declared bounds, or the origin where a step has subtracted a mean; between the two by the
    known noise of that mean, which moves all rows alike. The norm is the bound of the rows where no step says more.
    """
    space, known = plan.domain.space, True
    middle, noise, norm = (space.low + space.high)[None] / 2, math.inf, math.inf
    for planned, released in zip(plan.steps, maps, strict=True):
        step, before, after = planned.step, planned.before, planned.after
        known = known and step.paid.leaves and is_ours(type(released))
        if isinstance(step, Normalize) and math.isfinite(norm):
            factor = after.radius / max(math.hypot(norm, float(np.linalg.norm(middle))), 1e-300)
            middle, noise, norm = factor * middle, factor**2 * noise, after.radius
            continue
        middle = released.transform(middle) if known else middle
        if isinstance(step, Rescale):
            norm, noise = norm * step.lipschitz(before), noise * step.lipschitz(before) ** 2
        elif isinstance(step, StandardScaler):
            norm = math.sqrt(after.d)  # columns of deviation one
        norm = min(norm, after.radius) if isinstance(step, Normalize) or math.isfinite(norm) else norm
        if known and isinstance(step, StandardScaler | Center):
            each = mean_noise(planned, plan.n, released)
            error = None if each is None else float(np.square(each).sum())
            noise = noise if error is None else error + (noise if math.isfinite(noise) else 0.0)
    at = middle[0] if known else np.zeros(plan.space.d)
    square = float(at @ at)
    if not math.isfinite(square):
        at, square = np.zeros(len(at)), 0.0
    return at * (1.0 if noise >= square else noise / square), min(norm, plan.space.radius)
