"""The learner of the recipe in fewer passes: by default, and further by `learner="fast"`. How it was chosen: docs/recipe.md."""

from __future__ import annotations

import math
from dataclasses import replace

from prepriv.learners.gradient_descent import GradientDescent

SLOWER, FLATTEN = 0.7, 0.01  # momentum; share of the budget of training for the mean row
PASSES = 25
# (up to which length of a step of the fewest passes, passes, share for the mean row), for "fast" and one output, and else
ONE_OUTPUT = ((0.6, PASSES, 0.0), (1.2, 40, 0.0), (3.0, 40, FLATTEN), (5.0, 60, FLATTEN))
SEVERAL = ((0.6, PASSES, 0.0), (1.2, 40, 0.0))
Rule = tuple[tuple[float, int, float], ...]


def fast(learner: GradientDescent, radius: float, rule: Rule) -> GradientDescent:
    """The fewest passes that do not overshoot on rows of this norm; the learner itself where all of them might."""
    long = step_length(learner, radius)
    for limit, times, share in rule:
        if long <= limit:
            return as_far(learner, times, share)
    return learner


def as_far(learner: GradientDescent, times: int, share: float = 0.0) -> GradientDescent:
    """So many passes, by which a constant gradient moves the averaged weights as far."""
    return _equal_reach(learner, replace(learner, momentum=SLOWER, steps=times, flatten=share))


def averaged(learner: GradientDescent, share: float) -> GradientDescent:
    """The average of this last share of the iterates, by which a constant gradient moves the averaged weights as far."""
    return _equal_reach(learner, replace(learner, average=share))


def _equal_reach(learner: GradientDescent, made: GradientDescent) -> GradientDescent:
    return replace(made, learning_rate=made.learning_rate * learner.response(0.0)[1] / made.response(0.0)[1])


def step_length(learner: GradientDescent, radius: float) -> float:
    """How far the fewest passes move a weight in one step, over the norm of a row: from declared numbers alone."""
    rate = as_far(learner, PASSES).learning_rate
    return rate * learner.clip(radius) / math.hypot(radius, learner.bias)
