"""What all learners of linear models share: checked settings, the bound on one record's gradient, its grid."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from prepriv._arguments import LARGEST, instance, integer, length, length_or_inf, number, settle
from prepriv.learners.gradient_sum import Grid
from prepriv.learners.losses import Loss
from prepriv.preprocessing.base import Sensitivity


class LinearLearner:
    """Settings that mean the same in every learner. Subclasses are frozen dataclasses with these fields."""

    loss: Loss
    steps: int
    learning_rate: float
    clip_norm: float
    weight_bound: float
    bias: float

    def check_settings(self, *whole: str) -> None:
        """ValueError naming the first setting that is out of range; `whole`: names of the whole numbers."""
        for name in whole:
            settle(self, **{name: integer(name, getattr(self, name))})
        instance("loss", self.loss, Loss, "a loss, such as prepriv.learners.losses.Logistic()")
        settle(
            self,
            learning_rate=length("learning_rate", self.learning_rate),
            clip_norm=length_or_inf("clip_norm", self.clip_norm),
            weight_bound=length_or_inf("weight_bound", self.weight_bound),
            bias=number("bias", self.bias, at_least=0.0, at_most=LARGEST),
        )

    @property
    def name(self) -> str:
        """The learner's name in plans and reports."""
        return type(self).__name__

    def row_norm(self, radius: float) -> float:
        """Norm bound of a row with its bias feature."""
        return math.hypot(radius, self.bias)

    def clip(self, radius: float) -> float:
        """The bound on one record's gradient that holds: clip_norm, or the loss's own if that is smaller."""
        return min(self.clip_norm, self.loss.gradient_norm(self.row_norm(radius), self.weight_bound))

    def grid(self, radius: float, n: int, incoming: Sensitivity) -> Grid:
        """The integer grid of rows and residuals: fine where moved rows would pay for coarse rounding."""
        return Grid.of(self.row_norm(radius), self.clip(radius), n, fine=incoming.rows_moved > 0)


def check_averaged_descent(momentum: float, average: float) -> None:
    """ValueError unless momentum lies in [0, 1) and the averaged share of the iterates in (0, 1]."""
    number("momentum", momentum, at_least=0.0, below=1.0)
    number("average", average, above=0.0, at_most=1.0)


def project(weights: NDArray[np.float64], bound: float) -> NDArray[np.float64]:
    """The nearest point of the ball of radius `bound`, a hair inside it; an infinite bound changes nothing."""
    if math.isinf(bound):
        return weights
    norm, limit = float(np.linalg.norm(weights)), bound * (1 - 1e-12)
    return weights if norm <= limit else weights * (limit / norm)
