"""Losses of regression. Targets are whole numbers between the declared bounds, as `tables.encode` makes them.

A target y lies in [-1, 1] about the middle of its bounds; a score is a prediction on that scale. Constants are rounded
up, residuals are elementwise in the records (`prepriv.learners.losses`). Proofs: docs/proofs/regression.md.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from prepriv._arguments import number, settle
from prepriv._arrays import Floats
from prepriv._rounding import UP
from prepriv.domain import TARGET_STEPS
from prepriv.learners.loss_arrays import as_matrix
from prepriv.learners.losses import Loss


def decoded(targets: NDArray[Any]) -> Floats:
    """Targets (b,) of 0 to TARGET_STEPS as numbers in [-1, 1], exactly; 0 for any other."""
    return np.where(_outside(targets), 0.0, np.asarray(targets) * (2.0 / TARGET_STEPS) - 1.0)


def _outside(targets: NDArray[Any]) -> NDArray[np.bool_]:
    targets = np.asarray(targets)
    return (targets < 0) | (targets > TARGET_STEPS)


def shrinkage(noise: float, square: float) -> float:
    """The positive part of James and Stein's factor, in [0, 1], of a vector of this squared norm and expected squared noise."""
    return min(1.0, max(0.0, 1.0 - noise / square)) if square > 0 else 0.0


class TargetLoss(Loss):
    """A loss of score - y, one output."""

    @property
    def quantile(self) -> float | None:
        """The level of the quantile that its scores are; None of a loss of which they are not."""
        return None

    def outputs(self, n_classes: int) -> int:
        if n_classes:
            raise ValueError(
                f"{type(self).__name__} is for a declared target, not for classes: use Logistic or Softmax"
            )
        return 1

    def value(self, scores: Floats, targets: NDArray[Any]) -> Floats:
        error = as_matrix(scores, 1)[:, 0] - decoded(targets)
        return np.where(_outside(targets), 0.0, self._value(error))

    def residual(self, scores: Floats, targets: NDArray[Any], out: Floats | None = None) -> Floats:
        error = np.subtract(as_matrix(scores, 1), decoded(targets)[:, None], out=out)
        error[_outside(targets)] = 0.0
        return self._slope(error)

    @abstractmethod
    def _value(self, error: Floats) -> Floats:
        """The loss of errors, of any shape."""

    @abstractmethod
    def _slope(self, error: Floats) -> Floats:
        """Its derivative at errors, in place; 0 at 0."""


@dataclass(frozen=True)
class SquaredError(TargetLoss):
    """Half the squared error of a regression target: ½(score − y)².

    Notes
    -----
    It takes no parameters. A target y is scaled to [-1, 1] by its declared bounds, and a score is a prediction on
    that scale. Constants: docs/proofs/regression.md.

    Examples
    --------
    >>> from prepriv.learners import GradientDescent, SquaredError
    >>> GradientDescent(SquaredError(), clip_norm=0.5).loss
    SquaredError()
    """

    name: ClassVar[str] = "squared-error"
    convex: ClassVar[bool] = True

    def _value(self, error: Floats) -> Floats:
        with np.errstate(over="ignore"):
            return np.asarray(0.5 * np.square(error))

    def _slope(self, error: Floats) -> Floats:
        return error

    def gradient_norm(self, radius: float, weight_norm: float) -> float:
        return 0.0 if radius == 0 else radius * (radius * weight_norm + 1.0) * UP

    def input_lipschitz(self, radius: float, weight_norm: float) -> float:
        return math.inf if math.isinf(weight_norm) else (2.0 * radius * weight_norm + 1.0) * UP

    def smoothness(self, radius: float) -> float:
        return radius**2 * UP


@dataclass(frozen=True)
class Huber(TargetLoss):
    """Half the squared error for small errors, and linear for larger ones, so that outliers have a bounded influence.

    Parameters
    ----------
    width : float, default 0.25
        In [1e-6, 4], in units of half the width of the declared bounds. The loss is ½e² for an error |e| ≤ width, and
        width(|e| − width/2) beyond.

    Raises
    ------
    ValueError
        For a width out of range.

    Notes
    -----
    Constants: docs/proofs/regression.md.

    Examples
    --------
    >>> from prepriv.learners import Huber
    >>> round(Huber(0.25).gradient_norm(radius=1.0, weight_norm=5.0), 6)
    0.25
    """

    width: float = 0.25

    name: ClassVar[str] = "huber"
    convex: ClassVar[bool] = True

    def __post_init__(self) -> None:
        settle(self, width=number("width", self.width, at_least=1e-6, at_most=4.0))

    def _value(self, error: Floats) -> Floats:
        size = np.abs(error)
        inside = np.minimum(size, self.width)
        return np.asarray(0.5 * inside * inside + self.width * (size - inside))

    def _slope(self, error: Floats) -> Floats:
        return np.clip(error, -self.width, self.width, out=error)

    def gradient_norm(self, radius: float, weight_norm: float) -> float:
        return radius * min(self.width, SquaredError().gradient_norm(1.0, radius * weight_norm)) * UP

    def input_lipschitz(self, radius: float, weight_norm: float) -> float:
        # In direction v the gradient r x moves by r v + (w·v) x where |r| < width, and by r v elsewhere.
        return math.inf if math.isinf(weight_norm) else (self.width + radius * weight_norm) * UP

    def smoothness(self, radius: float) -> float:
        return radius**2 * UP


@dataclass(frozen=True)
class Quantile(TargetLoss):
    """The pinball loss, whose scores are quantiles: level·(y − score) if the score is below the target, (1 − level)·(score − y) above.

    Parameters
    ----------
    level : float, default 0.5
        In [0.01, 0.99]; 0.5 is the median.

    Raises
    ------
    ValueError
        For a level out of range.

    Notes
    -----
    Its slope does not shrink near the quantile, so steps must be short: a learning rate of 0.2 is a good start, and less where there is little signal (docs/regression.md).
    Its gradient jumps, so µ and β are infinite. The cost of moved rows then depends on their number. Constants:
    docs/proofs/regression.md.

    Examples
    --------
    >>> from prepriv.learners import Quantile
    >>> round(Quantile(0.9).gradient_norm(radius=1.0, weight_norm=5.0), 6)
    0.9
    """

    level: float = 0.5

    name: ClassVar[str] = "quantile"
    convex: ClassVar[bool] = True

    @property
    def quantile(self) -> float:
        return self.level

    def __post_init__(self) -> None:
        settle(self, level=number("level", self.level, at_least=0.01, at_most=0.99))

    def _value(self, error: Floats) -> Floats:
        return np.where(error > 0, (1.0 - self.level) * error, -self.level * error)

    def _slope(self, error: Floats) -> Floats:
        np.copyto(error, np.where(error > 0, 1.0 - self.level, np.where(error < 0, -self.level, 0.0)))
        return error

    def gradient_norm(self, radius: float, weight_norm: float) -> float:
        return radius * max(self.level, 1.0 - self.level) * UP

    def input_lipschitz(self, radius: float, weight_norm: float) -> float:
        return math.inf

    def smoothness(self, radius: float) -> float:
        return math.inf
