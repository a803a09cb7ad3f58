"""Full-batch differentially private gradient descent: the default learner. Proof: docs/proofs/gradient_descent.md.

Each of T steps releases the clipped gradient sum with Gaussian noise; momentum, projection and averaging are
post-processing. If the sum moves by at most s between neighbours and the noise is sigma, the whole run is
exactly (s sqrt(T) / sigma)-GDP (docs/proofs/gradient_descent.md; Dong, Roth and Su: Gaussian mechanisms compose
adaptively without loss).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from prepriv._arguments import OMITTED, integer, number, settle
from prepriv._arrays import Floats
from prepriv._rounding import FAR_UP, UP
from prepriv.adjacency import rows_changed
from prepriv.engines.engine import Held
from prepriv.guarantees import gaussian
from prepriv.guarantees.guarantee import GaussianEvent
from prepriv.guarantees.loss_distribution import Part
from prepriv.guarantees.second_account import Event, Events
from prepriv.guarantees.smooth_mechanisms import full_batch_gradient
from prepriv.guarantees.smooth_renyi import SmoothMechanism
from prepriv.learners.learner import Momentum, Run, Setting
from prepriv.learners.losses import Loss
from prepriv.learners.mean_error import LARGEST_ERROR, moved, summed, width_of
from prepriv.learners.targets import SquaredError, shrinkage
from prepriv.mechanisms.gaussian_sum import coarse_steps


@dataclass(frozen=True)
class GradientDescent(Momentum):
    """Noisy full-batch steps with Nesterov momentum, averaged over the late iterates.

    Parameters
    ----------
    loss : Loss
        One of `prepriv.learners`.
    steps : int, default 100
        How many there are.
    learning_rate : float, default 1.0
        Step size on the mean clipped gradient.
    clip_norm : float, default 1.0
        Bound on one record's gradient. inf does not clip, if the loss has a bound of its own.
    momentum : float, default 0.9
        Nesterov momentum, in [0, 1).
    weight_bound : float, default inf
        Radius of a ball. Every point at which a gradient is taken is projected on it. It is needed if a step is paid
        for by sensitivity.
    average : float, default 0.5
        The last share of the iterates that is averaged, in (0, 1].
    bias : float, default 1.0
        Value of the appended bias feature. It counts in the norm of a row.
    flatten : float, default 0.0
        Share of the budget of training, in [0, 1), for the mean of the rows. If rows have much in common, gradients
        are shortened along that mean, so that fewer and longer steps do not overshoot. 0: none.
    warm_up : float, default 0.0
        The first share of the steps, in [0, 1), over which the rate rises evenly to `learning_rate`. Long steps then
        do not overshoot while all records are undecided.
        0: the rate is the same in all steps.
    lead : int, default 0
        Number of leading features that are learned alone in the first 30 % of the steps. The other steps start from
        there. Only for one output. 0: all features in all steps.
    mean_error : float, default 0.0
        Share of the budget of training, in [0, 1), for the mean error of the finished model over its training rows, by
        which the intercept is then moved. Clipped gradients draw predictions of a skewed target to its median; this
        takes them back to the mean. Only with `SquaredError`. 0: none.

    Raises
    ------
    ValueError
        For a setting out of range.

    Notes
    -----
    The steps compose without loss: a run is one Gaussian release. Proof: docs/proofs/gradient_descent.md. The mean error:
    docs/proofs/mean_error.md.

    Examples
    --------
    >>> import prepriv
    >>> from prepriv.learners import GradientDescent, Softmax
    >>> learner = GradientDescent(Softmax(), steps=50, clip_norm=0.5)
    >>> domain = prepriv.Domain.ball(3, classes=["a", "b", "c"], n=5000)
    >>> plan = prepriv.make_plan(domain, [], learner, epsilon=1.0, delta=1e-6)
    >>> plan.guarantee.epsilon(1e-6) <= 1.0, round(plan.learner_shift, 6)
    (True, 1.0)
    """

    exact: ClassVar[bool] = True
    takes_units: ClassVar[bool] = True
    loss: Loss
    steps: int = 100
    learning_rate: float = 1.0
    clip_norm: float = 1.0
    momentum: float = 0.9
    weight_bound: float = math.inf
    average: float = 0.5
    bias: float = 1.0
    flatten: float = field(default=0.0, metadata=OMITTED)
    warm_up: float = field(default=0.0, metadata=OMITTED)
    lead: int = field(default=0, metadata=OMITTED)
    mean_error: float = field(default=0.0, metadata=OMITTED)

    def __post_init__(self) -> None:
        self.check_settings("steps")
        self.check_descent()
        settle(self, lead=integer("lead", self.lead, at_least=0))
        if self.lead and (self.steps < 2 or self.flatten):
            raise ValueError("lead: descent in two parts needs at least 2 steps, and no flatten")
        settle(self, mean_error=number("mean_error", self.mean_error, at_least=0.0, below=1.0))
        if self.mean_error and (type(self.loss) is not SquaredError or self.flatten or not self.bias):
            raise ValueError("mean_error: it needs SquaredError and a bias feature, and no flatten")

    def premise(self, n: int) -> str:
        before = f"the rows of all {n} records are summed once, and " if self.flatten else ""
        after = f", and then the errors of all {n} records are summed once" if self.mean_error else ""
        return f"{before}every step sums the gradients of all {n} records (full batch){after}"

    def unit(self, setting: Setting) -> float:
        """s: how far the sum of clipped gradients moves between neighbours, in gradient units (section 0).

        2C (C under add-or-remove-one) for the record, min(µ·Δ12, 2C·Δ∞) for rows that moved, and C for each dropped
        row.
        """
        clip = self.clip(setting.radius)
        mu = self.row_lipschitz(setting)
        record = rows_changed(setting.adjacency) * clip
        return self.shift(setting, record, mu, setting.outputs)

    def parts(self, noise_multiplier: float, setting: Setting, *, delta: float = 1e-6) -> tuple[Part, ...]:
        """One Gaussian release, because the steps compose without loss. In addition the sum of the rows, if it is released."""
        steps = (gaussian(math.sqrt(self.steps) / noise_multiplier * UP), 1)
        return (steps, *self.once_parts(noise_multiplier, setting))

    def once(self, noise_multiplier: float, setting: Setting) -> tuple[GaussianEvent, ...]:
        """The sum of the rows, or that of errors. ValueError for errors of rows that moved, or of units of several rows."""
        if not self.mean_error:
            return super().once(noise_multiplier, setting)
        return (GaussianEvent(self._of_errors, self._error_multiplier(noise_multiplier, setting)),)

    @property
    def _of_errors(self) -> str:
        """The name of the release of the mean error."""
        return f"{self.name}: mean error"

    def _error_multiplier(self, noise_multiplier: float, setting: Setting) -> float:
        """Noise of the sum of errors over how far it moves: `mean_error` of the µ² of a run."""
        if not setting.incoming.is_zero or setting.rows > 1:
            raise ValueError(
                "mean_error: rows that a record moves, and units of several rows, are not proved; use mean_error=0"
            )
        return noise_multiplier * math.sqrt((1.0 - self.mean_error) / (self.steps * self.mean_error))

    def mean_error_release(self, noise_multiplier: float, setting: Setting) -> tuple[float, float] | None:
        if not self.mean_error:
            return None
        multiplier = self._error_multiplier(noise_multiplier, setting)
        width = width_of(setting.n / (multiplier * math.sqrt(self.mean_error)) if multiplier else math.inf)
        return multiplier * moved(width, setting.adjacency) / setting.n, width

    def events(self, noise_multiplier: float, setting: Setting) -> Events:
        return (Event(self.name, noise_multiplier, self.steps), *self.once_events(noise_multiplier, setting))

    def canary_rate(self, setting: Setting) -> float:
        return 1.0

    def smooth(self, noise: float, setting: Setting) -> SmoothMechanism | None:
        clip, norm, incoming = self.clip(setting.radius), self.row_norm(setting.radius), setting.incoming
        mu = self.loss.input_lipschitz(norm, self.weight_bound)
        if not math.isfinite(mu) or self.flatten or self.mean_error:  # the curves know of no such release
            return None
        grid = self.grid(setting.radius, setting.n, incoming)
        rounding = grid.rounding(incoming.rows_moved, setting.d + 1, setting.outputs, norm, mu)
        # A release is rounded to a coarser grid, once for each of the two legs (docs/proofs/smooth_renyi.md).
        coarse = coarse_steps((setting.d + 1) * setting.outputs) * self.unit(setting)
        return full_batch_gradient(
            lipschitz=clip * FAR_UP + coarse / 2,
            smoothness=mu * FAR_UP,
            noise=noise * clip / setting.n,
            n=setting.n,
            steps=self.steps,
            rounding=rounding * FAR_UP + coarse,
        )

    def weight_noise(self, noise: float, n: int) -> float:
        return self.noise_gain() * noise / n

    def farthest(self, radius: float) -> float | None:
        return None if self.flatten else self.response(0.0)[1] * self.clip(radius)

    def check_room(self, noise_multiplier: float, setting: Setting) -> None:
        self._check_lead(setting)
        super().check_room(noise_multiplier, setting)

    def _check_lead(self, setting: Setting) -> None:
        if self.lead and (setting.outputs != 1 or self.lead > setting.d):
            raise ValueError(
                f"lead: {self.lead} of {setting.d} features, {setting.outputs} outputs; it needs one output"
            )

    def train(self, rows: Held, setting: Setting, run: Run) -> Floats:
        self._check_lead(setting)
        sensitivity = math.ceil(self.unit(setting) * 2.0**-rows.grid.exponent * FAR_UP)
        flat = self.flattener(rows, setting, run)
        with rows.gradient_sum(self.loss) as gradient_sum:

            def mean(weights: Floats) -> Floats:
                return run.gradient(gradient_sum(weights), sensitivity, rows.grid, setting.n) / setting.n

            shape = (rows.shape[1], setting.outputs)
            if not self.lead:
                return self.descend(shape, lambda w: flat(mean(w)), run)
            alone = np.ones(shape)
            alone[self.lead : -1] = 0.0
            first = self.descend(shape, lambda w: alone * mean(w), run, count=self.first_steps)
            then = self.descend(
                shape, mean, run, count=self.steps - self.first_steps, start=first, done=self.first_steps
            )
            return np.hstack([first, then])

    def finished(self, rows: Held, setting: Setting, run: Run, weights: Floats) -> Floats:
        released = self.mean_error_release(run.noise_multiplier, setting)
        if released is None:
            return weights
        noise, width = released
        factor = self.clip(setting.radius) / (
            self.row_norm(setting.radius) * LARGEST_ERROR
        )  # no row is clipped
        total, most = summed(rows, weights, factor, self.bias, width, setting.adjacency)
        multiplier = self._error_multiplier(run.noise_multiplier, setting)
        noisy = run.total(self._of_errors, multiplier, total, most, rows.grid, setting.n)
        error = float(noisy[0, 0]) / (setting.n * factor * self.bias)
        out = weights.copy()
        out[-1] += (
            error * shrinkage(noise * noise, error * error) / self.bias
        )  # what noise explains moves little
        return out

    @property
    def first_steps(self) -> int:
        """Steps in which the leading features are learned alone."""
        return max(1, round(0.3 * self.steps)) if self.lead else 0
