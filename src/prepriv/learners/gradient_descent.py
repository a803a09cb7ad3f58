"""Full-batch differentially private gradient descent: the default learner. Proof: docs/proofs/gradient_descent.md.

Each of T steps releases the clipped gradient sum with Gaussian noise; momentum, projection and averaging are
post-processing. If the sum moves by at most s between neighbours and the noise is sigma, the whole run is
exactly (s sqrt(T) / sigma)-GDP (docs/proofs/gradient_descent.md; Dong, Roth and Su: Gaussian mechanisms compose
adaptively without loss).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from prepriv.domain import Adjacency
from prepriv.guarantees import gaussian
from prepriv.guarantees.loss_distribution import Part
from prepriv.guarantees.smooth_renyi import SmoothMechanism, full_batch_gradient
from prepriv.learners.base import Floats, Learner, Setting, check_averaged_descent, project
from prepriv.learners.gradient_sum import GradientSum, QuantizedRows
from prepriv.learners.losses import Loss
from prepriv.mechanisms.session import Session, coarse_steps
from prepriv.preprocessing.base import RowShift


@dataclass(frozen=True)
class GradientDescent(Learner):
    """T noisy full-batch steps with Nesterov momentum, averaged over the late iterates.

    steps: T. learning_rate: step size on the mean clipped gradient. clip_norm: C, bound on one record's
    gradient; inf clips nothing and is only for runs without privacy. momentum: in [0, 1). weight_bound: B, a
    ball every point at which a gradient is taken is projected on (inf: none); needed wherever a step is paid
    for by sensitivity. average: the last share of the iterates that is averaged. bias: value of the appended
    bias feature; it counts in the norm of a row.
    """

    exact: ClassVar[bool] = True
    loss: Loss
    steps: int = 100
    learning_rate: float = 1.0
    clip_norm: float = 1.0
    momentum: float = 0.9
    weight_bound: float = math.inf
    average: float = 0.5
    bias: float = 1.0

    def __post_init__(self) -> None:
        self.check_settings("steps")
        check_averaged_descent(self.momentum, self.average)

    def premise(self, n: int) -> str:
        return f"every step sums the gradients of all {n} records (full batch)"

    def shift(
        self, radius: float, d: int, outputs: int, n: int, adjacency: Adjacency, incoming: RowShift
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

    def unit(self, setting: Setting) -> float:
        """`shift` in this setting."""
        at = setting
        shift = self.shift(at.radius, at.d, at.outputs, at.n, at.adjacency, at.incoming)
        if not math.isfinite(shift):
            raise ValueError(
                "the gradient has no finite bound: give the learner a clip_norm or a weight_bound"
            )
        return shift

    def parts(self, noise_multiplier: float, setting: Setting, *, delta: float = 1e-6) -> tuple[Part, ...]:
        """One Gaussian release: the steps compose without loss."""
        return ((gaussian(math.sqrt(self.steps) / noise_multiplier * (1 + 1e-12)), 1),)

    def smooth(self, noise: float, setting: Setting) -> SmoothMechanism | None:
        clip, norm, incoming = self.clip(setting.radius), self.row_norm(setting.radius), setting.incoming
        mu = self.loss.input_lipschitz(norm, self.weight_bound)
        if not math.isfinite(mu):
            return None
        grid = self.grid(setting.radius, setting.n, incoming)
        rounding = grid.rounding(incoming.rows_moved, setting.d + 1, setting.outputs, norm, mu)
        # A release is rounded to a coarser grid, once for each of the two legs (docs/proofs/smooth_renyi.md).
        coarse = coarse_steps((setting.d + 1) * setting.outputs) * self.unit(setting)
        return full_batch_gradient(
            lipschitz=clip * (1 + 1e-9) + coarse / 2,
            smoothness=mu * (1 + 1e-9),
            noise=noise * clip / setting.n,
            n=setting.n,
            steps=self.steps,
            rounding=rounding * (1 + 1e-9) + coarse,
        )

    def train(
        self,
        rows: QuantizedRows,
        setting: Setting,
        *,
        noise_multiplier: float,
        session: Session,
        threads: int | None = None,
        progress: Callable[[int, int], Any] | None = None,
    ) -> Floats:
        return self.fit(
            rows,
            setting.outputs,
            n=setting.n,
            shift=self.unit(setting),
            noise_multiplier=noise_multiplier,
            session=session,
            threads=threads,
            progress=progress,
        )

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
                ahead = project(weights + self.momentum * velocity, self.weight_bound)
                noisy = session.noisy_sum(
                    "gradient",
                    gradient_sum(ahead),
                    sensitivity,
                    noise_multiplier,
                    exponent=grid.exponent,
                    largest=max(2 * n, 1) * grid.clip,
                )
                new = project(ahead - self.learning_rate * (noisy / n), self.weight_bound)
                velocity = new - weights
                weights = new
                if step >= first:
                    average += weights
                    averaged += 1
                if progress is not None:
                    progress(step + 1, self.steps)
        return average / averaged
