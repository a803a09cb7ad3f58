"""The learner of the recipe in fewer passes over the rows. How it was chosen: docs/recipe.md."""

from __future__ import annotations

import math
from dataclasses import replace

from prepriv.learners.gradient_descent import GradientDescent

SLOWER = 0.7  # momentum of short steps
PASSES = 25
# (up to which length of a step of the fewest passes, passes)
SHORT = ((0.6, PASSES), (1.2, 40))
# Beyond: passes over the root of all rates, so that no direction of a table overshoots, or of a wide matrix, whose rows have
# less in common; passes times (1 - momentum), so that iterates settle; the last share of them that is averaged.
_STRIDE, _WIDE_STRIDE, _SETTLED, _AVERAGED = 11.7, 5.85, 10.0, 0.55
_RISING = 0.1  # of the steps, in which the rate rises
_SEVERAL = 60  # passes at least, of tables of more than two classes
_CUT = 1.2  # with more classes a gradient is clipped first, and steps are that much shorter, about
# Passes over the root of all rates times the curvature, so that no step overshoots; the most passes.
_SAFE, MOST_PASSES = 9.2, 560
_SURE = 20_000.0  # signal from which on passes are for rows that have ever more in common
# Of a row's squared length in one direction: that of _STRIDE, and that of more than two classes.
_SHARE, _SEVERAL_SHARE = 7 / 26, 0.4
_USUAL = (
    1.2  # times _SHARE, up to which short steps were tried: rows of one to three columns have more in common
)


def fast(
    learner: GradientDescent,
    radius: float,
    norm: float | None = None,
    *,
    wide: bool = False,
    surer: float = 1.0,
) -> GradientDescent:
    """The fewest passes that do not overshoot on rows of this norm at most: from declared numbers alone.

    norm: of most rows with their bias feature; None: the most. wide: whether rows are those of a wide matrix. surer: that of `sure`.
    """
    norm = learner.row_norm(radius) if norm is None else norm
    long = step_length(learner, norm)
    for limit, times in SHORT:
        safe = surer <= _USUAL or times >= _safe(learner, radius, min(1.0, surer * _SHARE))
        if long <= limit and safe:
            return as_far(learner, times)
    rates, least = learner.steps * learner.learning_rate, SHORT[-1][1]
    if learner.loss.outputs(2) > 1:
        least = least if wide else _SEVERAL
        rates *= min(1.0, _CUT * learner.clip(radius) / norm)
    times = max(least, math.ceil((_WIDE_STRIDE if wide else _STRIDE) * math.sqrt(rates * surer)))
    share = min(1.0, surer * _SEVERAL_SHARE / (4.0 if wide else 1.0))
    if learner.loss.outputs(2) > 1:
        times = max(times, _safe(learner, radius, share))
    if times < learner.steps:
        return fewer(learner, times)
    return steady(learner, radius, share)


def fast_for_any(learner: GradientDescent, radius: float, norm: float) -> GradientDescent:
    """The same for rows of which nothing says how little they have in common, such as codes that no mean is taken off: no rows of this norm
    make the weights swing. norm: as for `fast`."""
    long, safe = step_length(learner, norm), _safe(learner, radius, 1.0)
    for limit, times in SHORT:
        if long <= limit and safe <= times:
            return as_far(learner, times)
    times = max(safe, _SEVERAL) if learner.loss.outputs(2) > 1 else safe
    if times < learner.steps:
        return _equal_reach(learner, replace(learner, steps=times, momentum=1.0 - _SETTLED / times))
    return steady(learner, radius)


def sure(s: float, constant: float = 0.0) -> float:
    """Times the share of a row's squared length in one direction for which there are passes: with much signal every share is safe.

    constant: the share of what is the same in all rows.
    """
    return max(1.0, s / _SURE, constant / _SHARE)


def steady(
    learner: GradientDescent, radius: float, share: float = 1.0, *, most: int = MOST_PASSES
) -> GradientDescent:
    """The same, or in as many passes that no step overshoots where this share of a row's squared length lies in one direction; as
    far, or as far as `most` passes get. With a share of 1 no rows of this norm make the weights swing (docs/recipe.md)."""
    rates, curved = learner.steps * learner.learning_rate, share * curvature(learner, radius)
    if learner.learning_rate * curved <= (100 / _SAFE) ** 2 / 100:  # 100 passes at momentum 0.9
        return learner
    far = min(rates, (most / _SAFE) ** 2 / curved)
    short = replace(learner, learning_rate=far / learner.steps)
    times = _safe(short, radius, share)
    return _equal_reach(short, replace(short, steps=times, momentum=1.0 - _SETTLED / times))


def curvature(learner: GradientDescent, radius: float) -> float:
    """The largest curvature of the mean loss of rows of this norm with their bias feature, for gradients that are clipped.

    A row between two classes has it, and its gradient is then as long as the root of it. Where the clip is shorter, that gradient has the same
    length on either side, so that the curvature falls off fast.
    """
    largest = learner.loss.smoothness(learner.row_norm(radius))
    return largest * min(1.0, learner.clip(radius) ** 2 / largest) ** 2


def _safe(learner: GradientDescent, radius: float, share: float) -> int:
    rates = learner.steps * learner.learning_rate
    return max(1, math.floor(_SAFE * math.sqrt(rates * share * curvature(learner, radius))))


def as_far(learner: GradientDescent, times: int) -> GradientDescent:
    """So many passes, by which a constant gradient moves the averaged weights as far."""
    return _equal_reach(learner, replace(learner, momentum=SLOWER, steps=times))


def fewer(learner: GradientDescent, times: int) -> GradientDescent:
    """So many passes with as much momentum as settles among them, and a rate that rises at first; as far."""
    made = replace(learner, steps=times, momentum=1.0 - _SETTLED / times, average=_AVERAGED, warm_up=_RISING)
    return _equal_reach(learner, made)


def averaged(learner: GradientDescent, share: float) -> GradientDescent:
    """The average of this last share of the iterates, by which a constant gradient moves the averaged weights as far."""
    return _equal_reach(learner, replace(learner, average=share))


def _equal_reach(learner: GradientDescent, made: GradientDescent) -> GradientDescent:
    return replace(made, learning_rate=made.learning_rate * learner.response(0.0)[1] / made.response(0.0)[1])


def step_length(learner: GradientDescent, norm: float) -> float:
    """How far the fewest passes move a weight in one step, over the norm of a row with its bias feature: from declared numbers alone."""
    rate = as_far(learner, PASSES).learning_rate
    return rate * min(learner.clip_norm, learner.loss.gradient_norm(norm, learner.weight_bound)) / norm
