"""What a caller hands to a plan, checked before anything else: a mistake of type is one sentence."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from prepriv._arguments import kind, real, shown
from prepriv._said import check_said
from prepriv.domain import Domain
from prepriv.learners.learner import CLAIMS, TRAINS, Learner
from prepriv.learners.losses import BOUNDS, Loss
from prepriv.learners.targets import TargetLoss
from prepriv.preprocessing.base import Step
from prepriv.tables.encoding import unnamed

LEAST_EPSILON, _LARGEST_EPSILON = 1e-6, 1e6  # beyond, nothing is learned or nothing is protected


def check_budget(epsilon: float, delta: float) -> tuple[float, float]:
    """(epsilon, delta) as floats; ValueError unless epsilon is in 1e-6..1e6 or inf (no privacy) and 0 < delta < 1."""
    number = real(epsilon)
    if not number > 0:
        raise ValueError(f"epsilon must be a positive number; got {shown(epsilon)}")
    if not (LEAST_EPSILON <= number <= _LARGEST_EPSILON or math.isinf(number)):
        raise ValueError(
            f"epsilon must lie between {LEAST_EPSILON:g} and {_LARGEST_EPSILON:g}, or be inf (no privacy); "
            f"got {shown(epsilon)}"
        )
    if not 0 < real(delta) < 1:
        raise ValueError(f"delta must be a number in (0, 1); got {shown(delta)}")
    return number, real(delta)


def check_domain(domain: Any, *, trained: bool = False) -> None:
    """ValueError unless it is a Domain. trained: for training, which reads the rows of some periods alone if it says so."""
    if not isinstance(domain, Domain):
        raise ValueError(
            "domain must be a prepriv.Domain, or one read from a schema (prepriv.schemas.schema.load_schema); "
            f"got {kind(domain)}"
        )
    if domain.periods is not None and not trained:
        raise ValueError(
            "periods: only training and evaluation read the rows of some periods alone; leave periods out of the domain"
        )


def text_names(table: Any) -> list[str] | None:
    """Of the columns of a table; None where it has none, or not texts."""
    names = getattr(table, "columns", None)
    listed = [] if names is None else list(names)
    return listed if listed and all(isinstance(c, str) for c in listed) else None


def check_places(domain: Domain, fitted: Iterable[str] | None, table: Any) -> None:
    """ValueError for a table whose columns would be taken by position and are not those of the fit."""
    given = text_names(table)
    if fitted is None or given is None or given == [*fitted]:
        return
    there = not domain.is_ball and {*domain.columns} <= {*given} & {*fitted}
    if domain.is_ball or (unnamed(domain) and not there):
        raise ValueError(
            "the feature names should match those that were passed during fit, in their order: the domain declares "
            "no names, so columns are taken by their places"
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


def check_named(steps: Any, learner: Any, known: Sequence[str], learners: Sequence[str] = ("auto",)) -> None:
    """ValueError unless steps are a list or one of these names, and the learner is one or has one of its names."""
    if not isinstance(steps, str):
        check_steps(steps)
    elif steps not in known:
        raise ValueError(f"steps must be one of {', '.join(known)}, or a list of steps; got {steps!r}")
    if not isinstance(learner, str):
        check_learner(learner)
    elif learner not in learners:
        raise ValueError(f"learner must be {' or '.join(map(repr, learners))} or a learner; got {learner!r}")


def check_loss(learner: Learner, domain: Domain) -> None:
    """ValueError unless the loss is of what the domain declares: classes, or a target."""
    if domain.target is None and not domain.classes:
        raise ValueError("the domain declares nothing to learn: give classes=, or target= for a number")
    name, classes = type(learner.loss).__name__, len(domain.classes)
    if domain.target is not None and not isinstance(learner.loss, TargetLoss) and learner.loss.trains:
        raise ValueError(
            f"the domain declares a target, and {name} is for classes: use SquaredError or Huber"
        )
    if domain.target is None and isinstance(learner.loss, TargetLoss):
        raise ValueError(f"the domain declares classes, and {name} is for a target: use Logistic or Softmax")
    outputs, allowed = learner.loss.outputs(classes), (1, classes) if classes == 2 else (classes or 1,)
    if type(outputs) is not int or outputs not in allowed:
        raise ValueError(
            f"{name} must have {' or '.join(map(str, allowed))} outputs for {classes or 'no'} classes, of which a model decides; got "
            f"{shown(outputs)}"
        )


def check_counts(steps: Sequence[Step], domain: Domain) -> None:
    """ValueError unless steps that count classes count those of the domain."""
    for step in steps:
        if step.counts_classes not in (None, len(domain.classes)):
            raise ValueError(
                f"{step.name} counts {step.counts_classes} classes; the domain declares {len(domain.classes)}"
            )


def check_records(domain: Domain) -> None:
    """ValueError if units of several rows are declared where someone else trains, or trained."""
    if domain.unit is not None:
        raise ValueError(
            "a training of another library is accounted for record by record: what clips the rows of a unit as one is not "
            "known of it; leave out unit, or train with prepriv"
        )


def records_of(domain: Domain, n: int | None) -> int:
    """The number of records, declared in one of two places, or the same in both. ValueError otherwise."""
    if n is not None and domain.n is not None and n != domain.n:
        raise ValueError(f"the domain declares n={domain.n} records; got n={n}")
    n = domain.n if n is None else n
    if n is None:
        raise ValueError("n, the number of records, must be declared")
    return n


def check_takes_units(learner: Learner, domain: Domain) -> None:
    """ValueError if units of several rows are declared for a learner whose account knows records alone."""
    if domain.unit is not None and not learner.takes_units:
        raise ValueError(
            f"{learner.name} has no account of units of several rows; use GradientDescent or PoissonSGD"
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
    for part in (learner, learner.loss):
        if isinstance(part, Learner | Loss) and not dataclasses.is_dataclass(part):
            raise ValueError(f"{type(part).__name__} must be a dataclass: a plan writes down its fields")
    check_said(type(learner), Learner, CLAIMS, TRAINS)
    if isinstance(learner.loss, Loss):
        check_said(type(learner.loss), Loss, BOUNDS, ("residual", "value", "outputs"))
