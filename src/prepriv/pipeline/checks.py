"""What a caller hands to a plan, checked before anything else: a mistake of type is one sentence."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from prepriv._arguments import kind, real, shown
from prepriv.domain import Domain
from prepriv.learners.base import Learner
from prepriv.learners.losses import Loss
from prepriv.preprocessing.base import Step

_LEAST_EPSILON, _LARGEST_EPSILON = 1e-6, 1e6  # beyond, nothing is learned or nothing is protected


def check_budget(epsilon: float, delta: float) -> tuple[float, float]:
    """(epsilon, delta) as floats; ValueError unless epsilon is in 1e-6..1e6 or inf (no privacy) and 0 < delta < 1."""
    number = real(epsilon)
    if not number > 0:
        raise ValueError(f"epsilon must be a positive number; got {shown(epsilon)}")
    if not (_LEAST_EPSILON <= number <= _LARGEST_EPSILON or math.isinf(number)):
        raise ValueError(
            f"epsilon must lie between {_LEAST_EPSILON:g} and {_LARGEST_EPSILON:g}, or be inf (no privacy); "
            f"got {shown(epsilon)}"
        )
    if not 0 < real(delta) < 1:
        raise ValueError(f"delta must be a number in (0, 1); got {shown(delta)}")
    return number, real(delta)


def check_domain(domain: Any) -> None:
    """ValueError unless it is a Domain."""
    if not isinstance(domain, Domain):
        raise ValueError(
            "domain must be a prepriv.Domain, or one read from a schema (prepriv.pipeline.schema.load_schema); "
            f"got {kind(domain)}"
        )


def check_steps(steps: Any) -> None:
    """ValueError unless it is a sequence of steps."""
    if isinstance(steps, str | bytes | Mapping | Step) or not isinstance(steps, Sequence):
        raise ValueError(f"steps must be a list of steps; got {kind(steps)}")
    for i, step in enumerate(steps):
        if not isinstance(step, Step):
            raise ValueError(
                f"steps[{i}] must be a step such as prepriv.preprocessing.Center(payment=...); got {kind(step)}"
            )


def check_learner(learner: Any) -> None:
    """ValueError unless it is a learner."""
    if isinstance(learner, Loss):
        raise ValueError(
            f"learner must be a learner; got the loss {type(learner).__name__}: "
            f"give GradientDescent(loss={type(learner).__name__}(...))"
        )
    if not isinstance(learner, Learner):
        raise ValueError(
            f"learner must be one of prepriv.learners, such as GradientDescent; got {kind(learner)}"
        )
