"""One-pass DP-SGD whose iterates stay hidden: amplification by iteration. Proof: docs/proofs/one_pass.md.

Records are read once, in their order, and the run stops after a number of steps drawn uniformly; only the last
iterate leaves. Each step is a contraction with noise, so the trace of a record fades with every later step.
The noise deviation can then be far below what releasing every iterate would need.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prepriv.engines.base import Held
from prepriv.exact.grid import Grid
from prepriv.guarantees.iteration import random_stopping
from prepriv.guarantees.loss_distribution import Part
from prepriv.guarantees.printed import down, up
from prepriv.learners.base import Floats, Run, Setting, project
from prepriv.learners.stochastic import StochasticLearner
from prepriv.mechanisms.session import RELEASE_BITS

_CLAMP = 2.0**50  # grid steps: no coordinate of an iterate leaves this box (a projection, like the ball)


@dataclass(frozen=True)
class OnePassSGD(StochasticLearner):
    """SGD over the records in a fixed order, batch_size at a time, stopped at a uniform step of 1 … steps.

    Replace-one only. steps: M, at most ceil(n / batch_size). learning_rate: at most 2/β (`largest_rate`).
    weight_bound: must be finite. clip_norm: for losses with several outputs it must not cut (`Softmax`), since
    clipping a vector of residuals is no contraction. Where every iterate may be released, or several passes are
    affordable, `PoissonSGD` and `GradientDescent` are more accurate; this is for a single pass.
    """

    def premise(self, n: int) -> str:
        return (
            f"the {n} records are read once, {self.batch_size} at a time in a fixed order, the run stops at a step drawn "
            f"uniformly from 1 to {self.steps}, which stays hidden, and only the last iterate leaves"
        )

    def largest_rate(self, radius: float) -> float:
        """The largest learning rate for which a step is a contraction, 2/β."""
        beta = self.loss.smoothness(self._norm(radius))
        return 2.0 / beta if beta > 0 else math.inf

    def clip(self, radius: float) -> float:
        """clip_norm, or the loss's own bound a little rounded up: a bound that the loss keeps never cuts."""
        return min(self.clip_norm, self.loss.gradient_norm(self._norm(radius), self.weight_bound))

    def check_room(self, noise_multiplier: float, setting: Setting) -> None:
        """Its sums are iterates, on a grid of their own."""

    def _norm(self, radius: float) -> float:
        """Norm bound of a row on the grid, which may stick out of the ball by a part in 2^13."""
        return self.row_norm(radius) * (1 + 1e-3)

    def _parts(self, noise_multiplier: float, setting: Setting, delta: float) -> tuple[Part, ...]:
        self._check(setting)
        moved = self.moved_rows(setting)
        blocks = -(-setting.n // self.batch_size)
        if self.steps > blocks:
            raise ValueError(f"steps must be at most {blocks}, one pass over n={setting.n}; got {self.steps}")
        drift = self._drift(setting)
        curve = random_stopping(
            self.steps,
            2.0 / noise_multiplier,
            total=(moved.total + moved.dropped) / noise_multiplier,
            step=self.batch_size * moved.largest / noise_multiplier,
            rounding=drift / noise_multiplier,
        )
        return ((curve, 1),)

    def _check(self, setting: Setting) -> None:
        if setting.adjacency != "replace-one":
            raise ValueError("one pass in a fixed order needs adjacency replace-one")
        if setting.incoming.any_order:
            raise ValueError("one pass depends on the order of the rows, which an earlier step may change")
        if not math.isfinite(self.weight_bound):
            raise ValueError("weight_bound must be finite for OnePassSGD")
        if self.learning_rate > self.largest_rate(setting.radius):
            raise ValueError(
                f"learning_rate must be at most {down(self.largest_rate(setting.radius))}, 2/smoothness, for a "
                f"contraction; got {self.learning_rate}"
            )
        own = self.loss.gradient_norm(self._norm(setting.radius), self.weight_bound)
        if setting.outputs > 1 and self.clip_norm < own:
            raise ValueError(
                f"clip_norm must be at least {up(own)}, the loss's own bound, with {setting.outputs} outputs: a "
                f"clipped step would be no contraction; got {self.clip_norm}"
            )

    def _drift(self, setting: Setting) -> float:
        """How far a step strays from a contraction, twice, in units of the clip norm: rounding of every kind."""
        grid = self.grid(setting.radius, setting.n, setting.incoming)
        clip, norm = self.clip(setting.radius), self._norm(setting.radius)
        coordinates = (setting.d + 1) * setting.outputs
        beta = self.loss.smoothness(norm)
        # One record's gradient: residual cut to the grid, its float error, weights cut to the grid.
        cut = math.sqrt(setting.outputs) * 2.0**-grid.r_bits * norm + 1e-14 * norm
        weights = math.sqrt(coordinates) * self.weight_bound * (grid.norm + 2) * 2.0**-50
        gradient = (cut + beta * weights) / clip * self.batch_size
        # The iterate: rounded once before the noise and once after, and float arithmetic.
        unit = 1.0 / self._scale(self._reach(grid))
        floats = 2.0**-48 * self.batch_size * (1.0 + self.weight_bound / (self.learning_rate * clip))
        return 2.0 * (gradient + math.sqrt(coordinates) * unit + floats) * (1 + 1e-6)

    def _reach(self, grid: Grid) -> float:
        """What one record moves the iterate by: in the account and in the run this very number."""
        return self.learning_rate / self.batch_size * grid.clip * 2.0**grid.exponent

    def _scale(self, reach: float) -> float:
        """The reach in grid steps of the iterate, a number in [2^18, 2^19)."""
        return math.ldexp(reach, -self._exponent(reach))

    def _exponent(self, reach: float) -> int:
        return math.frexp(reach)[1] - (RELEASE_BITS - 1)

    def train(self, rows: Held, setting: Setting, run: Run) -> Floats:
        """The last iterate of a run that stops at a random step."""
        n, source = setting.n, run.batches()
        if rows.shape[0] != n:  # public under replace-one
            raise ValueError(f"n={n} records are declared, the table has {rows.shape[0]}")
        stop = int(source.uniform_below(self.steps, 1)[0]) + 1
        grid, coordinates = rows.grid, rows.shape[1] * setting.outputs
        reach = self._reach(grid)
        exponent = self._exponent(reach)
        # What one record moves the iterate by; the rounding of the iterate is inside it.
        sensitivity = math.ceil(self._scale(reach)) + math.isqrt(coordinates) + 1
        iterate = np.zeros((rows.shape[1], setting.outputs))
        with rows.gradient_sum(self.loss) as gradient_sum:
            for step in range(stop):
                block = np.arange(step * self.batch_size, min((step + 1) * self.batch_size, n), dtype=np.intp)
                point = project(iterate, self.weight_bound)
                descent = np.ldexp(gradient_sum(point, block).astype(np.float64), grid.exponent)
                moved = point - self.learning_rate / self.batch_size * descent
                iterate = run.session.noisy_sum(
                    "gradient",
                    _to_grid(moved, exponent),
                    sensitivity,
                    run.noise_multiplier,
                    exponent=exponent,
                    largest=int(_CLAMP),
                )
        run.done(
            self.steps, self.steps
        )  # not before: when the run stops is hidden, the guarantee rests on it
        return project(iterate, self.weight_bound)


def _to_grid(weights: Floats, exponent: int) -> NDArray[np.int64]:
    """Weights in grid steps, rounded to the nearest, inside the box."""
    return np.asarray(np.rint(np.clip(np.ldexp(weights, -exponent), -_CLAMP, _CLAMP)), dtype=np.int64)
