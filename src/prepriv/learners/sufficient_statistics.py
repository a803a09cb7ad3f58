"""Least squares from one noisy release of its sufficient statistics. Proof: docs/proofs/regression.md.

The sum of x (x, T y)ᵀ over all records, x with its bias feature, is released once with Gaussian noise. T is the norm that
rows have at most, or a smaller one: products of longer rows are then scaled down to √2 T². Weights are a ridge regression on it: post-processing. Source: Wang 2018 (AdaSSP), whose three releases are one
here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from prepriv._arguments import length_or_inf, number, settle
from prepriv._arrays import Floats
from prepriv._rounding import FAR_UP, UP
from prepriv.adjacency import n_is_public
from prepriv.engines.engine import Held
from prepriv.guarantees import gaussian
from prepriv.guarantees.loss_distribution import Part
from prepriv.guarantees.second_account import Event, Events
from prepriv.learners.learner import Learner, Run, Setting
from prepriv.learners.losses import Loss
from prepriv.learners.targets import SquaredError, decoded, shrinkage

LARGEST_D = 2000  # features: a sum then has 4 million entries, and as many eigenvectors
_ROUNDED = (
    1e-7  # of the largest eigenvalue: without noise, those below it are of the rounding of rows, about 1e-9
)


@dataclass(frozen=True)
class _Products:
    """A "loss" whose gradient at the identity is x (x, T y)ᵀ: so the sums of all learners add it up, exactly.

    norm: T.
    """

    norm: float
    averages: ClassVar[bool] = True  # the rows of a unit: a mean of products stays among products

    def residual(
        self, scores: NDArray[np.float64], targets: NDArray[Any], out: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]:
        """(x, T y) of scores (x, 0), (b, d + 2)."""
        both = scores.copy() if out is None else out
        if both is not scores:
            np.copyto(both, scores)
        both[:, -1] = self.norm * decoded(targets)
        return both


@dataclass(frozen=True)
class SufficientStatistics(Learner):
    """One release of the second moments that least squares needs, then ridge regression on them.

    Parameters
    ----------
    loss : SquaredError, default SquaredError()
        The only loss it takes.
    ridge : float, default 0.4
        The penalty, in units of the largest eigenvalue that noise alone is expected to have.
    bias : float, default 1.0
        Value of the appended bias feature. It counts in the norm of a row.
    longest : float, default inf
        The row norm, bias feature included, for which the noise is set. A longer record gets less weight. Its row and
        its target are scaled alike, so that a linear relation stays the same.

    Raises
    ------
    ValueError
        For a setting out of range, or another loss.

    Notes
    -----
    Proof: docs/proofs/regression.md.

    Examples
    --------
    >>> import prepriv
    >>> from prepriv.learners import SufficientStatistics
    >>> domain = prepriv.Domain.box(0, 1, features=3, target=prepriv.Numeric(0, 10), n=5000)
    >>> prepriv.make_plan(domain, [], SufficientStatistics(), epsilon=1.0, delta=1e-6).guarantee.epsilon(1e-6) <= 1.0
    True
    """

    exact: ClassVar[bool] = True
    takes_units: ClassVar[bool] = True
    loss: Loss = field(default_factory=SquaredError)
    ridge: float = 0.4
    bias: float = 1.0
    longest: float = math.inf
    steps: int = field(default=1, init=False)
    learning_rate: float = field(default=1.0, init=False)
    clip_norm: float = field(default=math.inf, init=False)
    weight_bound: float = field(default=math.inf, init=False)

    def __post_init__(self) -> None:
        self.check_settings()
        if not isinstance(self.loss, SquaredError):
            raise ValueError(f"loss must be SquaredError() for {self.name}; got {type(self.loss).__name__}")
        settle(self, ridge=number("ridge", self.ridge, at_least=0.0, at_most=1e6))
        settle(self, longest=length_or_inf("longest", self.longest))

    def premise(self, n: int) -> str:
        return f"one sum of products over all {n} records"

    def clip(self, radius: float) -> float:
        """Norm of one record's products, ‖x‖·‖(x, T y)‖, scaled down to √2 T² if it is larger."""
        norm = self.scale(radius)
        return norm * math.hypot(norm, norm) * UP

    def scale(self, radius: float) -> float:
        """T: the factor of the target, and the norm up to which all rows have the same weight."""
        return min(self.longest, self.row_norm(radius))

    def unit(self, setting: Setting) -> float:
        """How far the sum moves between neighbours: √4.5 T² for a record replaced, √2 T² for one added or removed.

        A row that moves changes its products by at most R + √(R² + T²) times its distance, where R is the norm of
        rows. A dropped row counts as removed. The mean of a unit's rows lies between theirs, except for what is cut
        off each (docs/proofs/units.md).
        """
        clip, norm, scale = (of(setting.radius) for of in (self.clip, self.row_norm, self.scale))
        if setting.d > LARGEST_D:
            raise ValueError(f"{self.name} takes at most {LARGEST_D} features; got {setting.d}")
        rounding = self.grid(setting.radius, setting.n, setting.incoming).rounding(
            2 if setting.rows == 1 else 8 * setting.rows, setting.d + 1, setting.d + 2, norm, 0.0
        )
        record = math.sqrt(2 * clip**2 + scale**4 / 2) + rounding + (2e-8 * clip if setting.rows > 1 else 0.0)
        if not n_is_public(setting.adjacency):
            record = clip
        return self.shift(setting, record, (norm + math.hypot(norm, scale)) * (1 + 1e-3), setting.d + 2)

    def parts(self, noise_multiplier: float, setting: Setting, *, delta: float = 1e-6) -> tuple[Part, ...]:
        """One Gaussian release."""
        return ((gaussian(1 / noise_multiplier * UP), 1),)

    def events(self, noise_multiplier: float, setting: Setting) -> Events:
        return (Event(self.name, noise_multiplier),)

    def train(self, rows: Held, setting: Setting, run: Run) -> Floats:
        scale, width = self.scale(setting.radius), rows.shape[1]
        sensitivity = math.ceil(self.unit(setting) * 2.0**-rows.grid.exponent * FAR_UP)
        with rows.gradient_sum(_Products(scale)) as products:
            total = products(np.eye(width, width + 1))
        noisy = run.gradient(total, sensitivity, rows.grid, setting.n)
        run.done(1, 1)
        noise = run.noise_multiplier * self.unit(setting) if run.session.private else 0.0
        moment, labels = noisy[:, :width], noisy[:, -1:] / scale
        return drawn_to_centre(moment, labels, noise, scale, self.ridge, self.bias)


def ridge_regression(moment: Floats, products: Floats, noise: float, ridge: float) -> Floats:
    """Weights (d, 1) of a noisy second moment (d, d) and noisy products (d, 1), the noise of each entry known.

    Averaged with its transpose, noise off the diagonal has deviation noise / √2 and its largest eigenvalue is about
    √(2 d) noise. Eigenvalues below that say nothing: all are raised by `ridge` times it, and none is negative.
    Without noise a direction in which rows do not vary, but for their rounding, has weight 0: the solution is the shortest.
    """
    values, vectors = np.linalg.eigh((moment + moment.T) / 2)
    edge = math.sqrt(2 * len(values)) * noise
    raised = np.maximum(values, 0.0) + max(ridge * edge, 1e-9 * max(float(values[-1]), 1e-12))
    if noise == 0:
        raised[values <= _ROUNDED * values[-1]] = math.inf
    return np.asarray(vectors @ ((vectors.T @ products) / raised[:, None]))


def drawn_to_centre(
    moment: Floats, products: Floats, noise: float, scale: float, ridge: float, bias: float
) -> Floats:
    """The weights of `ridge_regression`, (d + 1, 1), with less of their noise: post-processing of the same release.

    A score is that of the mean row, which the release holds, and how far slopes take another row from it. Each is multiplied by
    the estimate of James and Stein. scale: T, over which products were multiplied. Proof: docs/proofs/shrunk_predictions.md.
    """
    weights = ridge_regression(moment, products, noise, ridge)
    count = float(moment[-1, -1])
    if noise == 0 or bias == 0 or count <= 0:
        return weights
    values, vectors = np.linalg.eigh((moment + moment.T) / 2)
    edge, values = math.sqrt(2 * len(values)) * noise, np.maximum(values, 0.0)
    raised = values + max(ridge * edge, 1e-9 * max(float(values[-1]), 1e-12))
    kept = (vectors * values) @ vectors.T  # the part of the moment that is a moment
    inverse = (vectors / raised**2) @ vectors.T
    row = np.append((moment[:-1, -1] + moment[-1, :-1]) * bias / (2 * count), bias)
    about = kept[:-1, :-1] - np.outer(row[:-1], row[:-1]) * count / bias**2
    slopes, last = weights[:-1, 0], float(weights[-1, 0])

    def variance(square: float) -> float:
        """Of each of the products less moment times weights of this squared norm: what the inverse carries to the weights."""
        return noise**2 * (1 / scale**2 + square / 2)

    square, said = float(slopes @ slopes), float(slopes @ about @ slopes)
    factor = shrinkage(variance(square + last**2) * float((inverse[:-1, :-1] * about).sum()), said)
    pull = float(weights[:, 0] @ (vectors * (values**2 / raised)) @ vectors.T @ weights[:, 0])
    whole = float(weights[:, 0] @ kept @ weights[:, 0])
    factor = min(1.0, factor * whole / pull) if pull > 0 else factor  # the ridge has shrunk them already
    score = float(row @ weights[:, 0])
    left = variance((score / bias) ** 2) * float(row @ inverse @ row)
    held = shrinkage(left, score**2) * score
    out = np.append(factor * slopes, (held - factor * float(row[:-1] @ slopes)) / bias)
    return np.asarray(out[:, None]) if np.isfinite(out).all() else weights
