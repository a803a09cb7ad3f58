"""A rehearsal of third-party losses and learners on made-up rows, before any charge (`rehearsal`)."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prepriv._arrays import Floats
from prepriv._copies import copied, nothing_noted
from prepriv._kinds import is_ours
from prepriv.domain import Domain
from prepriv.engines.local import THREADS
from prepriv.learners.learner import Learner, Run, Setting, allowance
from prepriv.learners.losses import Loss
from prepriv.mechanisms.handle import NotCovered
from prepriv.mechanisms.session import MadeUpSession, Metered, Session, SpentError
from prepriv.rehearsals.made_up import (
    CELLS,
    FEW,
    MISTAKES,
    MORE,
    ROUNDING,
    array_of,
    check_each_row,
    made_up,
    targets_of,
    told,
)
from prepriv.space import Space


@np.errstate(all="ignore")
def rehearse_training(
    learner: Learner, setting: Setting, domain: Domain, noise_multiplier: float, private: bool
) -> None:
    """ValueError for a third-party loss or learner that a run would refuse, or that no claim covers: it learns made-up rows."""
    with nothing_noted(learner.loss, learner):
        if not is_ours(type(learner.loss)):
            check_residual(learner.loss, setting.outputs, domain)
        if not is_ours(type(learner)):
            _check_training(learner, setting, domain, noise_multiplier, private)


def _check_training(
    learner: Learner, setting: Setting, domain: Domain, noise_multiplier: float, private: bool
) -> None:
    """ValueError for a third-party learner whose training a run would refuse, or a report."""
    _check_weight_noise(learner, setting, noise_multiplier)
    n = min(setting.n, max(FEW, min(MORE, CELLS // setting.d)))
    rows = made_up(Space.ball(setting.d, setting.radius), domain, max(n, FEW))
    session: Session = MadeUpSession()
    if private:
        session = Metered(session, learner.name, allowance(learner, noise_multiplier, setting))
    try:
        room = THREADS.room(learner.grid(setting.radius, setting.n, setting.incoming), n, setting.d)
        blocks = [(rows.x[:n], rows.labels[:n], 0)]
        held = (
            room.load(blocks, n, learner.bias)
            if domain.unit is None
            else room.load_units(blocks, np.ones(n, np.int64), learner.bias)
        )
        run = Run(session, noise_multiplier)
        weights: Any = copied(learner, learner.loss).train(held, dataclasses.replace(setting, n=n), run)
    except (NotCovered, SpentError) as refused:
        raise ValueError(str(refused)) from None
    except Exception as error:
        if n == setting.n or isinstance(error, MISTAKES):
            raise ValueError(f"{learner.name} fails on {n} made-up rows: {told(error)}") from None
        return  # its batches, say, are larger
    shape = (setting.d + 1, setting.outputs)
    good = isinstance(weights, np.ndarray) and weights.dtype.kind == "f" and weights.shape == shape
    if not (good and np.isfinite(weights).all()):
        raise ValueError(
            f"{learner.name} must hand back weights as an array of finite floats of shape {shape}, the bias last; it does not on "
            "made-up rows"
        )


def _check_weight_noise(learner: Learner, setting: Setting, noise_multiplier: float) -> None:
    try:
        noise: Any = copied(learner, learner.loss).weight_noise(
            noise_multiplier * learner.unit(setting), setting.n
        )
    except Exception as error:
        raise ValueError(f"weight_noise of {learner.name} fails: {told(error)}") from None
    if noise is not None and (isinstance(noise, bool) or not isinstance(noise, int | float | np.floating)):
        raise ValueError(
            f"weight_noise of {learner.name} must be a number or None; got {type(noise).__name__}"
        )


def check_residual(loss: Loss, outputs: int, domain: Domain) -> None:
    """ValueError unless the residual of a record is made of its own scores and target alone."""
    mine, said = copied(loss), f"the residual of {type(loss).__name__}"

    def residual(scores: Floats, targets: NDArray[Any]) -> NDArray[Any]:
        buffer = np.asfortranarray(scores)  # as in a run
        return array_of(said, mine.residual(buffer, targets, out=buffer))

    k, targets = outputs, targets_of(domain, FEW)
    scores = np.outer(np.linspace(-3.0, 3.0, FEW), np.linspace(1.0, 2.0, k))
    try:
        shape = residual(scores.copy(), targets).shape
    except Exception as error:
        raise ValueError(f"{said} fails on made-up scores: {told(error)}") from None
    if shape != scores.shape:
        raise ValueError(f"{said} must have the shape of its scores, {scores.shape}; got {shape}")
    for scale in (1.0, 10.0, 1e3, 1e6):
        check_each_row(said, residual, scale * scores, targets)
    if loss.says_convex():
        turned = scores * np.sin(np.outer(np.arange(FEW), np.arange(1.0, k + 1.0)))
        for target in np.unique(targets):
            _check_convex(mine, residual, np.vstack([scores, turned]), np.full(2 * FEW, target))


def _check_convex(loss: Loss, residual: Callable[..., Floats], scores: Floats, targets: NDArray[Any]) -> None:
    """ValueError where the value of a loss that says `convex` lies below a tangent, which its residual is the slope of."""
    slope, value = residual(scores.copy(), targets), np.asarray(loss.value(scores.copy(), targets))
    rise = (slope[:, None, :] * (scores[None] - scores[:, None])).sum(axis=2)
    room = ROUNDING * (1 + np.abs(value).max() + np.abs(rise).max())
    if not (value[None] - value[:, None] >= rise - room).all():
        name = type(loss).__name__
        raise ValueError(
            f"the loss {name} says that it is convex, and on made-up scores its value lies below its tangent, of slope residual"
        )
