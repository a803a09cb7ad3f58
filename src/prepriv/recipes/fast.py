"""The learner of the recipe in fewer passes: `learner="fast"`. How it was chosen, and where not: docs/recipe.md."""

from __future__ import annotations

import math
from dataclasses import replace

from prepriv.learners.gradient_descent import GradientDescent

SLOWER, FLATTEN = 0.7, 0.01  # momentum; share of the budget of training for the mean row
PASSES = 25
# (up to which length of a step of the fewest passes, passes, share for the mean row), for one output and for several
ONE_OUTPUT = ((0.6, PASSES, 0.0), (1.2, 40, 0.0), (3.0, 40, FLATTEN), (5.0, 60, FLATTEN))
SEVERAL = ((0.6, PASSES, 0.0), (1.2, 40, 0.0))


def fast(learner: GradientDescent, radius: float, outputs: int) -> GradientDescent:
    """The fewest passes that do not overshoot on rows of this norm; the learner itself where all of them might."""
    long = step_length(learner, radius)
    for limit, times, share in ONE_OUTPUT if outputs == 1 else SEVERAL:
        if long <= limit:
            return as_far(learner, times, share)
    return learner


def as_far(learner: GradientDescent, times: int, share: float = 0.0) -> GradientDescent:
    """So many passes, by which a constant gradient moves the averaged weights as far."""
    made = replace(learner, momentum=SLOWER, steps=times, flatten=share)
    return replace(made, learning_rate=made.learning_rate * learner.response(0.0)[1] / made.response(0.0)[1])


def step_length(learner: GradientDescent, radius: float) -> float:
    """How far the fewest passes move a weight in one step, over the norm of a row: from declared numbers alone."""
    rate = as_far(learner, PASSES).learning_rate
    return rate * learner.clip(radius) / math.hypot(radius, learner.bias)
