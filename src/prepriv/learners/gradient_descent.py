"""Full-batch differentially private gradient descent: the default learner. Proof: docs/proofs/gradient_descent.md.

Each of T steps releases the clipped gradient sum with Gaussian noise; momentum, projection and averaging are
post-processing. If the sum moves by at most s between neighbours and the noise is sigma, the whole run is
exactly (s sqrt(T) / sigma)-GDP (sensitivities.md, section 9a; Dong, Roth and Su: Gaussian mechanisms compose
adaptively without loss).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prepriv.domain import Adjacency
from prepriv.learners.gradient_sum import GradientSum, Grid, QuantizedRows
from prepriv.learners.losses import Loss
from prepriv.mechanisms.session import Session
from prepriv.preprocessing.base import Sensitivity

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class GradientDescent:
    """T noisy full-batch steps with Nesterov momentum, averaged over the late iterates.

    steps: T. learning_rate: step size on the mean clipped gradient. clip_norm: C, bound on one record's
    gradient; inf clips nothing and is only for runs without privacy. momentum: in [0, 1). weight_bound: B, a
    ball every point at which a gradient is taken is projected on (inf: none); needed wherever a step is paid
    for by sensitivity. average: the last share of the iterates that is averaged. bias: value of the appended
    bias feature; it counts in the norm of a row.
    """

    loss: Loss
    steps: int = 100
    learning_rate: float = 1.0
    clip_norm: float = 1.0
    momentum: float = 0.9
    weight_bound: float = math.inf
    average: float = 0.5
    bias: float = 1.0

    def __post_init__(self) -> None:
        if isinstance(self.steps, bool) or int(self.steps) != self.steps or self.steps < 1:
            raise ValueError(f"steps must be a whole number >= 1; got {self.steps}")
        for name in ("learning_rate", "clip_norm", "weight_bound"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} must be positive; got {getattr(self, name)}")
        if not 0 <= self.momentum < 1:
            raise ValueError(f"momentum must lie in [0, 1); got {self.momentum}")
        if not 0 < self.average <= 1:
            raise ValueError(f"average must lie in (0, 1]; got {self.average}")
        if not (math.isfinite(self.bias) and self.bias >= 0):
            raise ValueError(f"bias must be finite and >= 0; got {self.bias}")

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

    def shift(
        self, radius: float, d: int, outputs: int, n: int, adjacency: Adjacency, incoming: Sensitivity
    ) -> float:
        """s: how far the clipped gradient sum moves between neighbours, in gradient units (section 0).

        2C (C under add-or-remove-one) for the record, min(µ·Δ12, 2C·Δ∞) for rows that moved, C a dropped row.
        """
        clip = self.clip(radius)
        record = 2 * clip if adjacency == "replace-one" else clip
        moved = 0.0
        if incoming.rows_moved > 0:
            mu = self.loss.input_lipschitz(self.row_norm(radius), self.weight_bound)
            rounding = self.grid(radius, n, incoming).rounding(
                incoming.rows_moved, d + 1, outputs, self.row_norm(radius), mu
            )
            moved = min(mu * incoming.total_shift + rounding, 2 * clip * incoming.rows_moved)
        return (record + moved + clip * incoming.rows_dropped) * (1 + 1e-9)

    def fit(
        self,
        rows: QuantizedRows,
        outputs: int,
        *,
        n: int,
        shift: float,
        noise_multiplier: float,
        session: Session,
        threads: int | None = None,
        progress: Callable[[int, int], Any] | None = None,
    ) -> Floats:
        """Train on quantised rows; weights (d + 1, outputs), bias last.

        n: the declared number of records the sum is divided by (never a count). shift: `shift(...)`.
        noise_multiplier: noise over shift, of each step. progress: called with (step, steps): public numbers.
        """
        grid = rows.grid
        sensitivity = math.ceil(shift * 2.0**-grid.exponent * (1 + 1e-9))
        weights = np.zeros((rows.shape[1], outputs))
        velocity = np.zeros_like(weights)
        average, averaged = np.zeros_like(weights), 0
        first = self.steps - max(1, round(self.average * self.steps))
        with GradientSum(rows, self.loss, threads=threads) as gradient_sum:
            for step in range(self.steps):
                ahead = self._project(weights + self.momentum * velocity)
                noisy = session.noisy_sum(
                    "gradient",
                    gradient_sum(ahead),
                    sensitivity,
                    noise_multiplier,
                    exponent=grid.exponent,
                    largest=max(2 * n, 1) * grid.clip,
                )
                new = self._project(ahead - self.learning_rate * (noisy / n))
                velocity = new - weights
                weights = new
                if step >= first:
                    average += weights
                    averaged += 1
                if progress is not None:
                    progress(step + 1, self.steps)
        return average / averaged

    def _project(self, weights: Floats) -> Floats:
        if math.isinf(self.weight_bound):
            return weights
        norm = float(np.linalg.norm(weights))
        bound = self.weight_bound * (1 - 1e-12)
        return weights if norm <= bound else weights * (bound / norm)
