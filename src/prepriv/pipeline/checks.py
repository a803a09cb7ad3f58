"""What a caller hands to a plan, checked before anything else: a mistake of type is one sentence."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any, TypeAlias

from prepriv.domain import Domain
from prepriv.learners.gradient_descent import GradientDescent
from prepriv.learners.losses import Loss
from prepriv.learners.stochastic import StochasticLearner
from prepriv.preprocessing.base import Step

Learner: TypeAlias = GradientDescent | StochasticLearner
_LEAST_EPSILON, _LARGEST_EPSILON = 1e-6, 1e6  # beyond, nothing is learned or nothing is protected


def check_budget(epsilon: float, delta: float) -> tuple[float, float]:
    """(epsilon, delta) as floats; ValueError unless epsilon is in 1e-6..1e6 or inf (no privacy) and 0 < delta < 1."""
    if not (isinstance(epsilon, Real) and not isinstance(epsilon, bool) and _float(epsilon) > 0):
        raise ValueError(f"epsilon must be a positive number; got {epsilon!r}")
    if not (_LEAST_EPSILON <= epsilon <= _LARGEST_EPSILON or math.isinf(_float(epsilon))):
        raise ValueError(
            f"epsilon must lie between {_LEAST_EPSILON:g} and {_LARGEST_EPSILON:g}, or be inf (no privacy); got {epsilon!r}"
        )
    if not (isinstance(delta, Real) and 0 < _float(delta) < 1):
        raise ValueError(f"delta must be a number in (0, 1); got {delta!r}")
    return _float(epsilon), _float(delta)


def _float(number: Real) -> float:
    """NaN for what is too large."""
    try:
        return float(number)
    except OverflowError:
        return math.nan


def check_domain(domain: Any) -> None:
    """ValueError unless it is a Domain."""
    if not isinstance(domain, Domain):
        raise ValueError(
            "domain must be a prepriv.Domain, or one read from a schema (prepriv.pipeline.schema.load_schema); "
            f"got {_kind(domain)}"
        )


def check_steps(steps: Any) -> None:
    """ValueError unless it is a sequence of steps."""
    if isinstance(steps, str | bytes | Mapping | Step) or not isinstance(steps, Sequence):
        raise ValueError(f"steps must be a list of steps; got {_kind(steps)}")
    for i, step in enumerate(steps):
        if not isinstance(step, Step):
            raise ValueError(
                f"steps[{i}] must be a step such as prepriv.preprocessing.Center(payment=...); got {_kind(step)}"
            )


def check_learner(learner: Any) -> None:
    """ValueError unless it is a learner."""
    if isinstance(learner, Loss):
        raise ValueError(
            f"learner must be a learner; got the loss {type(learner).__name__}: "
            f"give GradientDescent(loss={type(learner).__name__}(...))"
        )
    if not isinstance(learner, GradientDescent | StochasticLearner):
        raise ValueError(
            f"learner must be one of prepriv.learners, such as GradientDescent; got {_kind(learner)}"
        )


def _kind(value: Any) -> str:
    return f"the class {value.__name__}: call it" if isinstance(value, type) else type(value).__name__
