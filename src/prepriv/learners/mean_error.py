"""The mean error of a finished model over its training rows, released once to move the intercept. Proof: docs/proofs/mean_error.md."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prepriv._arrays import Floats
from prepriv.adjacency import Adjacency, rows_changed
from prepriv.domain import TARGET_STEPS
from prepriv.engines.engine import Held
from prepriv.learners.targets import decoded

OVERLAP = 0.1  # of half the distance of the bounds: how far predictions may lie from the intercept before errors are cut
LARGEST_ERROR = 2.0  # of an error, since targets and predictions lie in [-1, 1]
_NARROWEST, _WIDEST = (
    1.1,
    2.2,
)  # interval in which errors count: wide where there is much signal, else its noise is too large
_PER_WIDTH = 2000.0  # n µ for each unit of that width
_LEAST, _FINE = 900.0, 0.0015  # n µ from which on the mean error is bought, and the noise that is aimed at
_LEAST_SHARE, _MOST_SHARE = 0.02, 0.08  # of the budget of training
_PER_FEATURE = 500.0  # signal for each feature at which all of it could be spent: with less, the noise of slopes costs more


@dataclass(frozen=True)
class ErrorSum:
    """In place of a loss: the gradient of a record is its row times its error, cut to low and high, times `factor`.

    An error is the target less the prediction, both within the bounds. Of the sum only the coordinate of the bias feature is read.
    """

    factor: float
    low: float
    high: float

    def residual(
        self, scores: NDArray[np.float64], targets: NDArray[np.int32], out: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]:
        error = np.clip(scores, -1.0, 1.0, out=out)
        np.subtract(decoded(targets)[:, None], error, out=error)
        np.clip(error, self.low, self.high, out=error)
        error[(targets < 0) | (targets > TARGET_STEPS)] = 0.0
        error *= self.factor
        return error


def width_of(strength: float) -> float:
    """The length of the interval in which errors count, in half the distance of the bounds; strength: n µ of training."""
    return min(_WIDEST, max(_NARROWEST, strength / _PER_WIDTH))


def moved(width: float, adjacency: Adjacency) -> float:
    """How far one record moves the sum of errors, in half the distance of the bounds."""
    return width if rows_changed(adjacency) > 1 else min(LARGEST_ERROR, width - OVERLAP)


def share_of_mean_error(signal: float, features: int, adjacency: Adjacency) -> float:
    """The share of the budget of training that the mean error is worth: 0 where its noise could be larger than the error.

    signal: n µ of the whole budget over the rows that a neighbour changes. It follows from declared facts, so no record decides.
    """
    strength = signal * rows_changed(adjacency)
    if not _LEAST <= strength < math.inf:
        return 0.0
    noise = moved(width_of(strength), adjacency) / strength  # for the whole budget
    share = min(_MOST_SHARE, (noise / _FINE) ** 2, signal / (_PER_FEATURE * features))
    return round(max(_LEAST_SHARE, share), 4)


def error_ends(width: float, score: float) -> tuple[float, float]:
    """The interval of that length in which errors count: it reaches from predictions near `score`, cut to [-1, 1], to the nearer bound
    and beyond it; what is left of its length lies on the other side, where a skewed target has large errors."""
    at = float(np.clip(np.nan_to_num(score), -1.0, 1.0))
    near = min(1.0 - abs(at) + OVERLAP, width / 2)
    return (-near, width - near) if at <= 0 else (near - width, near)


def summed(
    rows: Held, weights: Floats, factor: float, bias: float, width: float, adjacency: Adjacency
) -> tuple[NDArray[np.int64], int]:
    """(the sum of errors times factor and bias, (1, 1), how far one record moves it), both in grid steps.

    weights: (d + 1, 1) that were released, the bias feature last.
    """
    grid = rows.grid
    with rows.gradient_sum(ErrorSum(factor, *error_ends(width, bias * weights[-1, 0]))) as errors:
        total = errors(weights)[-1:]
    most = math.ceil(moved(width, adjacency) * factor * 2.0**grid.r_bits) + 2  # both ends are cut to the grid
    return total, most * math.floor(bias * 2.0**grid.x_bits)
