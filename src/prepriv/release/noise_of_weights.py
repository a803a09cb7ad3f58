"""How much of a weight is noise, where what was released says how far its column varies. Proof: docs/proofs/gradient_descent.md,
"Columns that vary".

The loss holds a weight the more firmly, the more its column varies. What was released says how far: the deviation that a scale
divides by, the share of each category that was subtracted. Rows are made up of these numbers, and no record is read.
"""

from __future__ import annotations

import functools
import hashlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from prepriv._arrays import Floats
from prepriv._kinds import is_ours
from prepriv.columns import Categorical
from prepriv.domain import Domain
from prepriv.learners.gradient_descent import GradientDescent
from prepriv.learners.losses import Logistic, Softmax
from prepriv.learners.targets import Huber, SquaredError
from prepriv.plans.link import softmax
from prepriv.plans.plan import Plan
from prepriv.plans.shrink import made_up_rows, mean_noise, mean_released
from prepriv.preprocessing.base import ReleasedMap
from prepriv.preprocessing.center import Center, Subtract
from prepriv.preprocessing.class_counts import CountedClasses
from prepriv.preprocessing.compiled import CompiledMap
from prepriv.preprocessing.homogenize import HomogeneousRows
from prepriv.preprocessing.impute_caps import FillReleased
from prepriv.preprocessing.pca import Project
from prepriv.preprocessing.root_columns import Roots
from prepriv.preprocessing.scale import StandardScaler
from prepriv.preprocessing.scale_map import ScaleReleased
from prepriv.preprocessing.shrunk_center import ShrunkCenter

THERE = 3.0
"""Standard deviations of its noise from which on the released share of a category says that records have it, and a released variance that a
column varies."""
KEEP_CATEGORIES = (FillReleased, CountedClasses, Roots)
"""Maps of one column at a time that leave the cells of a category, 0 or 1, as they are."""
_TOLD = 0.5  # of what a direction varies, left after what other columns tell: rows are made up as if columns were independent
_GRID, _LARGEST = 24, 1500  # curvatures that are tried; weights of all classes together
_ALONE = 32  # scaled columns whose noise is tried one at a time; of more, so many signs of all


@dataclass(frozen=True)
class CellsOfCategories:
    """share: of each cell of the domain, (d,), as it was released, 0 where nothing says it. there: (d,), whether records have it, beyond its noise.
    perhaps_empty: (d,), the cells of categories whose share does not say so. average: (d,), what an average record has of each cell, by released
    shares less the part of them that is noise: those of one category add up to 1. noise: the standard deviation of that in a share, (d,)."""

    share: Floats
    there: NDArray[np.bool_]
    perhaps_empty: NDArray[np.bool_]
    average: Floats
    noise: Floats

    def apart(self, domain: Domain, values: Floats) -> Floats:
        """Less that of an average record, for each category of which a cell is there, (d, k)."""
        out = values.copy()
        for at in self._compared(domain):
            out[at] -= self.average[at] @ values[at]
        return out

    def apart_squared(self, domain: Domain, squares: Floats) -> Floats:
        """The same of variances of independent values, (d,)."""
        out = squares.copy()
        for at in self._compared(domain):
            out[at] += np.square(self.average[at]) @ squares[at] - 2.0 * self.average[at] * squares[at]
        return out

    def noise_of_average(self, domain: Domain, apart: Floats, squares: Floats) -> Floats:
        """Standard deviation of what the noise of shares moves values by that are `apart`, (d,). squares: variances of their own noise, (d,), a part
        of how far they are apart that says nothing. Of several outputs the largest."""
        out = np.zeros(len(apart))
        for at in self._compared(domain):
            far = np.maximum(np.square(apart[at]) - squares[at, None], 0.0)
            out[at] = math.sqrt((np.square(self.noise[at]) @ far).max())
        return out

    def _compared(self, domain: Domain) -> Iterator[slice]:
        """The cells of each category that is compared with an average record: of which records have a cell, as far as noise shows."""
        start = 0
        for column in domain.columns.values():
            at = slice(start, start := start + column.width)
            if isinstance(column, Categorical) and self.there[at].any():
                yield at


def known_cells(plan: Plan, maps: Sequence[ReleasedMap]) -> CellsOfCategories:
    """What the released mean says about categories: nothing where no step has released one of the cells of the domain, or drawn it to 0."""
    categories = _categories(plan.domain)
    nothing = np.zeros(len(categories))
    for planned, released in zip(plan.steps, maps):
        if isinstance(released, KEEP_CATEGORIES):
            continue
        if isinstance(released, ScaleReleased) and isinstance(planned.step, StandardScaler):
            if not (categories & (released.affine.factor != 1.0)).any():
                continue
        elif isinstance(released, Subtract) and isinstance(planned.step, Center):
            noise = mean_noise(planned, plan.n, released) if plan.private else nothing
            if (planned.step.way != "budget" and plan.private) or noise is None or not released.offset.any():
                break
            share = released.offset
            if isinstance(planned.step, ShrunkCenter):
                left = planned.step.mean_left(released, float(np.linalg.norm(noise)))
                share = share + np.sign(share) * left
            there = categories & (share > THERE * noise)
            average = _adding_up(plan.domain, np.where(categories, share, 0.0), noise)
            away = categories & ~there & plan.private  # without noise an empty one has no weight of its own
            noise = np.where(categories, noise, 0.0)
            return CellsOfCategories(np.where(there, share, 0.0), there, away, average, noise)
        break
    return CellsOfCategories(nothing, nothing > 0, nothing > 0, nothing, nothing)


def _adding_up(domain: Domain, share: Floats, noise: Floats) -> Floats:
    """Shares less the part of them that is noise, so that an empty cell has nearly none and no small one counts in full or not at all; those of
    one category add up to 1, as the cells of each record do, (d,)."""
    out, start = np.maximum(share - np.square(noise) / np.maximum(share, 1e-300), 0.0), 0
    for column in domain.columns.values():
        at = slice(start, start := start + column.width)
        out[at] /= max(out[at].sum(), 1e-300)
    return out


def _categories(domain: Domain) -> NDArray[np.bool_]:
    """Which cells of the domain are those of categories, (d,)."""
    if not domain.columns:  # a ball
        return np.zeros(domain.space.d, bool)
    return np.repeat(
        [isinstance(c, Categorical) for c in domain.columns.values()],
        [c.width for c in domain.columns.values()],
    )


@dataclass(frozen=True)
class Law:
    """most: the standard deviation of a weight that nothing holds. along: directions in which something does, (m, K, d). less: by
    how much the variance is smaller there, (m,). moved: by how much weights would differ per raw unit, had released scales other noise, (j, K, d):
    the squares of all add up to their variance."""

    most: float
    along: Floats
    less: Floats
    moved: Floats

    def share(self, domain: Domain, cells: CellsOfCategories, unit: Floats) -> Floats:
        """How much of the noise that they have at most is in weights of the domain, (d,), less what cells share; unit: (d,), what each
        weight is multiplied by before. Of several outputs the largest."""
        d = len(unit)
        largest = np.maximum(self.most**2 * cells.apart_squared(domain, np.square(unit)), 1e-300)
        out = np.zeros(d)
        for k in range(self.along.shape[1]):
            turned = cells.apart(domain, unit[:, None] * self.along[:, k, :d].T)
            out = np.maximum(out, 1.0 - np.square(turned) @ self.less / largest)
        return np.sqrt(np.clip(out, 0.0, 1.0))

    def of_scales(self, domain: Domain, cells: CellsOfCategories, unit: Floats) -> Floats:
        """Standard deviation of the noise that released scales leave in weights of the domain, (d,), less what cells share; unit: as for
        `share`. Of several outputs the largest."""
        squares = np.zeros((len(unit), self.along.shape[1]))
        for one in self.moved:
            squares += np.square(cells.apart(domain, unit[:, None] * one[:, : len(unit)].T))
        return np.asarray(np.sqrt(squares.max(axis=1)))


@dataclass(frozen=True)
class _Descent:
    """Made-up rows, as descent sees them. cells: the rows of the domain, (b, d). rows: as they reach the learner, (b, D). roots: of the curvature of
    the loss of each row, (b, K, K). curvature, along: in the directions that rows have, (m,) and (m, K, D + 1)."""

    learner: GradientDescent
    cells: Floats
    rows: Floats
    roots: Floats
    curvature: Floats
    along: Floats

    @functools.cached_property
    def pull(self) -> Floats:
        """The weight over a constant gradient, along each direction, (m,); none goes further than to the end."""
        grid, _, pulls = _gains(self.learner)
        return np.minimum(np.interp(self.curvature, grid, pulls), 1.0 / self.curvature)

    def answer(self, rows: Floats, lost: Floats) -> Floats:
        """What training adds to weights of these rows, (K, D), whose scores have lost so much, (b, K)."""
        x = np.column_stack([rows, np.full(len(rows), self.learner.bias)])
        wanted = np.einsum("bij,bkj,bk->bi", self.roots, self.roots, lost).T @ x / len(x)
        return np.asarray(
            np.tensordot(self.pull * np.tensordot(self.along, wanted, 2), self.along, 1)[:, :-1]
        )


def law(plan: Plan, maps: Sequence[ReleasedMap], weights: Floats, cells: CellsOfCategories) -> Law | None:
    """Of the weights (d + 1, K) of the last rows, the bias last. None where no rows can be made up, or the loss has no curvature."""
    made = _descent(plan, maps, weights, cells)
    if made is None:
        return None
    grid, gains, _ = _gains(made.learner)
    gain = np.interp(_TOLD * made.curvature, grid, gains)
    single = plan.learner_noise / plan.n
    return Law(
        gains[0] * single,
        made.along[:, :, :-1],
        np.maximum(gains[0] ** 2 - np.square(gain), 0.0) * single**2,
        _moved_by_scales(plan, maps, weights[:-1], made),
    )


def score_of_average_rows(plan: Plan, maps: Sequence[ReleasedMap], weights: Floats) -> Floats | None:
    """The mean score of rows that are made up of what steps have released, (K,); None where none can be, as where no mean of each column was released. One cell of
    each category is 1 in each of them: in a released mean the noise of all its cells adds up, and in a record it does not."""
    if not mean_released(plan, maps):
        return None
    if any(isinstance(m, CompiledMap) for m in maps):
        return None  # means of features that transformers made are not means of columns
    start = made_up_rows(plan, (), *numbers_released(plan, maps, 1.0), known_cells(plan, maps).average)
    rows = None if start is None else _through(maps, start)
    if rows is None or rows.shape[1] != len(weights) - 1:
        return None
    return np.asarray((rows @ weights[:-1] + weights[-1]).mean(axis=0))


def part_learned(
    plan: Plan, maps: Sequence[ReleasedMap], weights: Floats, cells: CellsOfCategories
) -> Floats | None:
    """The part of the effect of each cell of the domain that training surely learns, (d,), if no other column has an effect. Of several outputs the
    smallest; 0 where nothing says how far a column varies. None: as for `law`.

    A number is taken to vary as little as the noise of its released variance allows: one that came out too large would hide it.
    """
    made = _descent(plan, maps, weights, cells, away=THERE)
    if made is None:
        return None
    domain, d = plan.domain, plan.domain.space.d
    outputs, learned = made.along.shape[1], made.pull * made.curvature
    out, alone = np.ones(d), np.diag(cells.apart(domain, np.eye(d)))
    for k in range(outputs):
        one = np.eye(outputs)[k]
        if outputs > 1:  # what all scores share says nothing
            one = one - 1.0 / outputs
        along = np.tensordot(one, made.along, (0, 1))[:, :d]
        of_cells = np.diag(cells.apart(domain, (along.T * learned) @ along))
        out = np.minimum(out, of_cells / np.maximum(alone * (one @ one), 1e-12))
    return out


def _descent(
    plan: Plan,
    maps: Sequence[ReleasedMap],
    weights: Floats,
    cells: CellsOfCategories,
    away: float = 1.0,
) -> _Descent | None:
    """away: by so many deviations of its noise a released variance is taken to be too large."""
    learner = plan.learner
    if type(learner) is not GradientDescent or learner.lead or learner.weight_bound < math.inf:
        return None
    if any(isinstance(m, Project) or not is_ours(type(m)) for m in maps) or weights.size > _LARGEST:
        return None
    start = made_up_rows(plan, (), *numbers_released(plan, maps, away), cells.share)
    rows = None if start is None else _through(maps, start)
    if start is None or rows is None or rows.shape[1] != len(weights) - 1:
        return None
    x = np.column_stack([rows, np.full(len(rows), learner.bias)])
    roots = _roots(learner, plan.space.radius, x, rows @ weights[:-1] + weights[-1])
    if roots is None or not np.isfinite(roots).all():
        return None
    held = _held(roots, x)
    curvature, along = np.linalg.eigh(held.T @ held / len(rows))
    kept = curvature > 1e-9 * max(float(curvature[-1]), 1e-300)
    directions = along.T[kept].reshape(-1, weights.shape[1], len(weights))
    return _Descent(learner, start, rows, roots, curvature[kept], directions)


def _through(maps: Sequence[ReleasedMap], rows: Floats) -> Floats | None:
    """Made-up rows after these maps, but for the first ones, in whose output they are made up. None: not finite."""
    first = next((i for i, m in enumerate(maps) if not isinstance(m, KEEP_CATEGORIES)), len(maps))
    for released in maps[first:]:
        rows = released.transform(rows)
    return rows if np.isfinite(rows).all() else None


def _moved_by_scales(plan: Plan, maps: Sequence[ReleasedMap], weights: Floats, made: _Descent) -> Floats:
    """By how much weights differ per raw unit with other noise of released scales, (j, K, D): the squares of all add up to their variance.

    Up to the last affine map a scale drops out. `Homogenize` divides a row by its length, which has the scale in it: weights of the same effect
    per raw unit then have other scores, and training answers what is lost.
    """
    moved = [np.zeros((0, *made.along.shape[1:]))[:, :, :-1]]
    if any(isinstance(m, HomogeneousRows) for m in maps):
        for others, ratio, part in _other_scales(plan, maps):
            rows = _through(others, made.cells)
            if rows is not None and len(weights) - len(ratio) in (0, 1):
                times = np.append(ratio, np.ones(len(weights) - len(ratio)))
                lost = made.rows @ weights - rows @ (weights / times[:, None])
                moved.append((part * times * made.answer(rows, lost))[None])
    return np.concatenate(moved)


def _other_scales(
    plan: Plan, maps: Sequence[ReleasedMap]
) -> Iterator[tuple[list[ReleasedMap], Floats, float]]:
    """(maps with other noise of a released scale, what it multiplies each feature by over what was released (d,), the root of its share of the
    variance). Each column has its noise alone, one deviation lower or higher; of many columns all have it, with public signs."""
    for i, (planned, released) in enumerate(zip(plan.steps, maps)):
        step = planned.step
        if not (isinstance(step, StandardScaler) and isinstance(released, ScaleReleased)):
            continue
        if step.way != "budget" or step.common:
            continue
        one = (planned.noise_multiplier or 0.0) * (planned.shift or 0.0) / plan.n
        factor, beside = released.affine.factor, step.factors_beside(planned.before, one, released)
        for signs, part in _signs(np.flatnonzero((beside != factor).any(axis=0)), len(factor)):
            other = np.where(signs > 0, beside[1], np.where(signs < 0, beside[0], factor))
            ratio = other / factor
            others = [*maps[:i], ScaleReleased(replace(released.affine, factor=other))]
            others += [_in_unit(later, ratio) for later in maps[i + 1 :]]
            yield others, ratio, part


def _in_unit(released: ReleasedMap, ratio: Floats) -> ReleasedMap:
    """A mean that is released after a scale is in its unit."""
    if isinstance(released, Subtract) and len(released.offset) == len(ratio):
        return Subtract(released.offset * ratio)
    return released


def _signs(columns: NDArray[np.intp], d: int) -> Iterator[tuple[Floats, float]]:
    """(the sign of the noise of each feature, 0 of one that has none (d,); the root of its share of the variance)."""
    count = 1
    patterns: Floats = np.eye(len(columns))
    if len(columns) > _ALONE:
        bits = hashlib.shake_128(b"prepriv signs of scales").digest(_ALONE * len(columns))
        odd = np.frombuffer(bits, np.uint8).reshape(_ALONE, -1) % 2
        patterns, count = np.where(odd, 1.0, -1.0), _ALONE
    for pattern in patterns:
        for way in (-1.0, 1.0):
            signs = np.zeros(d)
            signs[columns] = way * pattern
            yield signs, math.sqrt(0.5 / count)


@functools.lru_cache(maxsize=16)
def _gains(learner: GradientDescent) -> tuple[Floats, Floats, Floats]:
    """(curvatures; the noise of a weight along them over that of one mean gradient; the weight over a constant gradient)."""
    grid = np.concatenate([[0.0], np.geomspace(1e-6, 1.0, _GRID)]) / learner.learning_rate
    gains, pulls = np.array([learner.response(c) for c in grid]).T
    return grid, gains, pulls


def numbers_released(plan: Plan, maps: Sequence[ReleasedMap], away: float) -> tuple[Floats, Floats]:
    """(mean, deviation) of each feature of the domain, (d,), as steps have released it; deviation 0 where none says beyond `THERE` that it varies.
    away: as for `_descent`."""
    mean, factor, deviation = (
        np.zeros(plan.domain.space.d),
        np.ones(plan.domain.space.d),
        np.zeros(plan.domain.space.d),
    )
    for planned, released in zip(plan.steps, maps):
        step = planned.step
        if isinstance(released, KEEP_CATEGORIES):
            continue
        if isinstance(step, StandardScaler) and isinstance(released, ScaleReleased):
            if step.way == "budget":
                one = (planned.noise_multiplier or 0.0) * (planned.shift or 0.0) / plan.n
                shown, surely = (
                    step.deviation_shown(planned.before, times * one, released) for times in (away, THERE)
                )
                deviation = np.where(surely > 0, shown / factor, deviation)
            mean, factor = mean + released.affine.offset / factor, factor * released.affine.factor
            continue
        if isinstance(released, Subtract):
            mean = mean + released.offset / factor
        break
    return mean, deviation


def _roots(learner: GradientDescent, radius: float, x: Floats, scores: Floats) -> Floats | None:
    """The root of the curvature of the loss of each row with its bias feature, (b, K, K); None of a loss without."""
    room = learner.clip(radius) / np.maximum(np.linalg.norm(x, axis=1), 1e-300)  # of a residual, uncut
    if isinstance(learner.loss, Logistic):
        p = softmax(scores)[:, 1]
        uncut = p * (1 - p <= room) + (1 - p) * (p <= room)
        return np.asarray(np.sqrt(p * (1 - p) * uncut)[:, None, None])
    if isinstance(learner.loss, SquaredError | Huber):  # errors as if even between the declared bounds
        wide = learner.loss.width if isinstance(learner.loss, Huber) else 1.0
        return np.asarray(np.sqrt(np.minimum(room, min(wide, 1.0)))[:, None, None])
    return _roots_of_softmax(softmax(scores), room) if isinstance(learner.loss, Softmax) else None


def _held(roots: Floats, x: Floats) -> Floats:
    """Rows with their bias feature, each times the root of the curvature of its loss, (b K, K (d + 1))."""
    return np.asarray((roots[:, :, :, None] * x[:, None, None, :]).reshape(len(x) * roots.shape[1], -1))


def _roots_of_softmax(p: Floats, room: Floats) -> Floats:
    """The same of several classes: a residual that is cut has no curvature along itself."""
    classes = p.shape[1]
    one = np.eye(classes)
    root = _root(p[:, :, None] * one - p[:, :, None] * p[:, None, :])
    left = np.zeros_like(root)
    for y in range(classes):
        residual = p - one[y]
        length = np.maximum(np.linalg.norm(residual, axis=1), 1e-300)
        beside = one - (residual / length[:, None])[:, :, None] * (residual / length[:, None])[:, None, :]
        cut = (room / length)[:, None, None] * beside
        left += p[:, y, None, None] * np.where((length <= room)[:, None, None], one, cut)
    return _root(root @ left @ root)


def _root(squares: Floats) -> Floats:
    """The symmetric root of each symmetric matrix, (b, K, K)."""
    values, vectors = np.linalg.eigh(squares)
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]) @ vectors.transpose(0, 2, 1))
