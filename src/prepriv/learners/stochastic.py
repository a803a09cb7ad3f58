"""DP-SGD for linear models: Poisson batches, and batches of a fixed size. Proof: docs/proofs/stochastic.md.

Each learner draws its own batches and computes its own account; there is no sampler to choose, so none can be
paired with the account of another. Every step adds noise, an empty batch included, and divides by the declared
batch size, never by the number of records drawn.
"""

from __future__ import annotations

import abc
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from prepriv._arguments import OMITTED
from prepriv._arrays import Floats
from prepriv._rounding import FAR_UP, UP
from prepriv.adjacency import n_is_public, rows_changed
from prepriv.engines.engine import Held
from prepriv.guarantees import gaussian
from prepriv.guarantees.loss_distribution import Part, compose
from prepriv.guarantees.second_account import Event, Events, NoEvents, Sampling
from prepriv.guarantees.smooth_mechanisms import sampled_gradient
from prepriv.guarantees.smooth_renyi import SmoothMechanism
from prepriv.guarantees.tradeoff import TradeoffFunction
from prepriv.learners.accounts import MovedRows, poisson_parts, without_replacement_parts
from prepriv.learners.learner import Learner, Momentum, Run, Setting
from prepriv.learners.losses import Loss
from prepriv.learners.subsets import uniform_subset, without_replacement
from prepriv.mechanisms.gaussian_sum import coarse_steps
from prepriv.mechanisms.lattice_noise import poisson_rate, poisson_threshold
from prepriv.mechanisms.noise import NoiseSource
from prepriv.preprocessing.base import UNTOUCHED

HOPELESS = 50.0  # a batch that can move by this many noise scales is not worth a loss distribution
SMALLEST_MULTIPLIER = 0.1  # less noise than a tenth of the clip norm hides nothing worth the name


@dataclass(frozen=True)
class StochasticLearner(Learner, abc.ABC):
    """What learners share that see a few records a step. Subclasses own a sampler and its account.

    batch_size: b, declared; a noisy sum is divided by it. steps: T noisy steps. learning_rate: step size on the mean
    clipped gradient of a batch. clip_norm: C, the bound on one record's gradient. weight_bound: B, radius of the ball
    every gradient is taken in (inf: none). bias: value of the appended bias feature; it counts in the norm of a row.
    """

    samples: ClassVar[bool] = True
    loss: Loss
    batch_size: int = 256
    steps: int = 1000
    learning_rate: float = 1.0
    clip_norm: float = 1.0
    weight_bound: float = math.inf
    bias: float = 1.0

    def __post_init__(self) -> None:
        self.check_settings("batch_size", "steps")

    def moved_rows(self, setting: Setting) -> MovedRows:
        """What the incoming shift does to gradients, in units of the clip norm."""
        incoming = setting.incoming
        if incoming.is_zero:
            return MovedRows()
        clip, mu = self.clip(setting.radius), self.row_lipschitz(setting)
        cut = self._cut(setting, mu)
        rows = math.ceil(incoming.rows_moved)
        each = total = 0.0  # a dropped row needs no Lipschitz constant
        if rows:
            shift = mu * incoming.row_shift if incoming.row_shift > 0 else 0.0
            each = min(shift + cut, 2 * clip)
            along = mu * incoming.total_shift if incoming.total_shift > 0 else 0.0
            total = min(along + cut * rows, each * rows)
        return MovedRows(
            rows,
            each / clip * FAR_UP,
            total / clip * FAR_UP,
            math.ceil(incoming.rows_dropped),
            # Releases are rounded to a coarser grid (mechanisms.session.coarsen).
            coarse_steps((setting.d + 1) * setting.outputs),
        )

    def _cut(self, setting: Setting, mu: float) -> float:
        """What rounding to the grid, and the float rounding of a residual, add for each moved row."""
        norm, grid = self.row_norm(setting.radius), self.grid(setting.radius, setting.n, setting.incoming)
        return grid.rounding(1, setting.d + 1, setting.outputs, norm, mu) + 1e-14 * norm

    def parts(self, noise_multiplier: float, setting: Setting, *, delta: float = 1e-6) -> tuple[Part, ...]:
        """What a run costs, as parts to compose with those of other mechanisms. Symmetrize after composition.

        noise_multiplier: z, noise over the clip norm. delta: where to choose between valid accounts, if several.
        """
        if not (math.isfinite(noise_multiplier) and noise_multiplier >= SMALLEST_MULTIPLIER):
            raise ValueError(
                f"noise_multiplier must be finite and >= {SMALLEST_MULTIPLIER}; got {noise_multiplier}"
            )
        if not self.batch_size <= setting.n:
            raise ValueError(f"batch_size {self.batch_size} is larger than n={setting.n}")
        if not math.isfinite(self.clip(setting.radius)):
            raise ValueError(
                "the gradient has no finite bound: give the learner a clip_norm or a weight_bound"
            )
        return (*self._parts(noise_multiplier, setting, delta), *self.once_parts(noise_multiplier, setting))

    def unit(self, setting: Setting) -> float:
        """The bound on one record's gradient."""
        return self.clip(setting.radius)

    def reach(self, setting: Setting) -> Fraction:
        """The account counts it: the record, and all that moved if one batch held it."""
        moved = self.moved_rows(setting)
        record = rows_changed(setting.adjacency)
        most = min(moved.total, moved.count * moved.each)
        return record + Fraction(most) + moved.dropped + Fraction(moved.rounding)

    def accounts(self, noise_multiplier: float, setting: Setting, delta: float) -> list[tuple[Part, ...]]:
        # Whatever the batches are, one sum moves by at most its reach: no amplification.
        most = float(self.reach(setting)) * UP
        plain: tuple[Part, ...] = (
            (gaussian(most / noise_multiplier * math.sqrt(self.steps) * UP), 1),
            *self.once_parts(noise_multiplier, setting),
        )
        if most - 2 > HOPELESS * noise_multiplier:
            unmoved = replace(UNTOUCHED, any_order=setting.incoming.any_order)
            self.parts(
                noise_multiplier, replace(setting, incoming=unmoved), delta=delta
            )  # refuses what cannot run
            return [plain]
        return [self.parts(noise_multiplier, setting, delta=delta), plain]

    def sampled(self, noise_multiplier: float, setting: Setting, sampling: Sampling) -> Events:
        """The events of batches in which nothing but the one record differs. NoEvents where rows have moved."""
        if not setting.incoming.is_zero:
            raise NoEvents(
                f"an earlier step, paid for by sensitivity, moves rows that {self.name} draws into its batches: dp-accounting has no "
                "event for that"
            )
        rate = min(1.0, self.batch_size / setting.n)
        return (
            Event(self.name, noise_multiplier, self.steps, sampling, rate),
            *self.once_events(noise_multiplier, setting),
        )

    def tradeoff(self, noise_multiplier: float, setting: Setting, *, delta: float = 1e-6) -> TradeoffFunction:
        """The guarantee of one run on its own."""
        return compose(self.parts(noise_multiplier, setting, delta=delta)).symmetrized()

    def calibrate(
        self,
        epsilon: float,
        delta: float,
        setting: Setting,
        *,
        others: Sequence[Part] = (),
        tolerance: float = 1e-3,
    ) -> float:
        """The smallest noise multiplier, to `tolerance`, with which a run and the `others` are (epsilon, delta)-DP.

        Raises ValueError if no noise is enough (the others alone spend more).
        """

        def cost(z: float) -> float:
            parts = (*self.parts(z, setting, delta=delta), *others)
            return compose(parts).symmetrized().epsilon(delta)

        return smallest_noise(cost, epsilon, tolerance)

    @abc.abstractmethod
    def _parts(self, noise_multiplier: float, setting: Setting, delta: float) -> tuple[Part, ...]: ...


@dataclass(frozen=True)
class BatchLearner(Momentum, StochasticLearner):
    """Noisy sums over batches, each released: what is done with them is post-processing.

    momentum: Nesterov's, in [0, 1). average: the last share of the iterates that is averaged. flatten: share of the budget for
    the mean of all rows. warm_up: the first share of the steps, over which the rate rises.
    """

    takes_units: ClassVar[bool] = True
    momentum: float = 0.0
    average: float = 0.5
    flatten: float = field(default=0.0, metadata=OMITTED)
    warm_up: float = field(default=0.0, metadata=OMITTED)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_descent()

    def about_least_mu(self, noise_multiplier: float, n: int) -> float:
        return self.seen(n) * math.sqrt(self.steps) / noise_multiplier

    def seen(self, n: int) -> float:
        return self.batch_size / n

    @abc.abstractmethod
    def _batch(self, source: NoiseSource, rows: int, n: int) -> NDArray[np.intp]:
        """Row numbers of one batch; `rows` are there, `n` are declared."""

    def train(self, rows: Held, setting: Setting, run: Run) -> Floats:
        source, n, grid = run.batches(), setting.n, rows.grid
        flat = self.flattener(rows, setting, run)
        with rows.gradient_sum(self.loss) as gradient_sum:

            def mean(weights: Floats) -> Floats:
                batch = self._batch(source, rows.shape[0], n)
                return run.gradient(gradient_sum(weights, batch), grid.clip, grid, n) / self.batch_size

            return self.descend((rows.shape[1], setting.outputs), lambda w: flat(mean(w)), run)


def smallest_noise(cost: Callable[[float], float], epsilon: float, tolerance: float) -> float:
    """The least noise multiplier with cost(z) ≤ epsilon, to a relative tolerance from above.

    Comes down from large noise, so that no cost far above the target is ever computed. Every answer was
    itself checked: how the next guess is made cannot make it wrong.
    """
    high = 64.0
    cost_high = cost(high)
    while cost_high > epsilon:
        high *= 8.0
        cost_high = cost(high)
        if high > 1e7:
            raise ValueError(
                f"epsilon {epsilon} cannot be met by any noise, because the other releases already spend it"
            )
    while True:
        if high == SMALLEST_MULTIPLIER:
            return high
        low = max(high / 4.0, SMALLEST_MULTIPLIER)
        cost_low = cost(low)
        if cost_low > epsilon:
            break
        high, cost_high = low, cost_low
    while high > low * (1.0 + tolerance):
        # Interpolate in logarithms, aim a little to the safe side, and stay well inside the bracket.
        slope = math.log(cost_low / cost_high) / math.log(high / low) if cost_high > 0.0 else 1.0
        guess = high * (cost_high / epsilon) ** (1.0 / max(slope, 0.1)) if cost_high > 0.0 else 0.0
        guess = min(
            max(guess * (1.0 + tolerance / 2.0), low * (1.0 + tolerance / 2.0)),
            high / (1.0 + tolerance / 2.0),
        )
        if high / low > 1.05:
            guess = min(max(guess, low * (high / low) ** 0.05), high * (low / high) ** 0.05)
        value = cost(guess)
        if value <= epsilon:
            high, cost_high = guess, value
        else:
            low, cost_low = guess, value
    return high


@dataclass(frozen=True)
class PoissonSGD(BatchLearner):
    """DP-SGD in which every record is in every batch with probability b/n, independently.

    Parameters
    ----------
    loss : Loss
        One of `prepriv.learners`.
    batch_size : int, default 256
        b, the expected size of a batch, at most n. Noisy sums are divided by it.
    steps : int, default 1000
        How many noisy batches there are.
    learning_rate : float, default 1.0
        Step size on the mean clipped gradient of a batch.
    clip_norm : float, default 1.0
        Bound on one record's gradient.
    weight_bound : float, default inf
        Radius of the ball in which every gradient is taken. It is needed if a step is paid for by sensitivity.
    bias : float, default 1.0
        Value of the appended bias feature. It counts in the norm of a row.
    momentum : float, default 0.0
        Nesterov momentum, in [0, 1).
    average : float, default 0.5
        The last share of the iterates that is averaged, in (0, 1].
    flatten : float, default 0.0
        Share of the budget of training, in [0, 1), for the mean of all rows, as in `GradientDescent`. 0: none.
    warm_up : float, default 0.0
        The first share of the steps, in [0, 1), over which the rate rises evenly to `learning_rate`.
        0: the rate is the same in all steps.

    Raises
    ------
    ValueError
        For a setting out of range.

    Notes
    -----
    It is for both adjacencies. Prefer it to `FixedBatchSGD`, because it costs less. The probability that is used is
    the smallest k/2^64 at or above b/n, and the account is computed for it. Proofs: docs/proofs/stochastic.md,
    docs/proofs/subsampling.md.

    Examples
    --------
    >>> import prepriv
    >>> from prepriv.learners import AnyModel, PoissonSGD
    >>> sgd = PoissonSGD(AnyModel(), batch_size=200, steps=10)
    >>> domain = prepriv.Domain.ball(512, classes=[0, 1], n=20_000)
    >>> prepriv.account([], sgd, domain=domain, noise_multiplier=2.0).epsilon(1e-5) < 1
    True
    """

    def premise(self, n: int) -> str:
        return (
            f"every batch is a fresh Poisson sample, each of the {n} records in it with probability {self.batch_size}/{n}, "
            "independently (shuffled batches and batches of a fixed size are other samplers), and its sum is divided by a number that "
            "is fixed beforehand, never by the size of the batch that was drawn"
        )

    def _rate(self, n: int) -> int:
        return poisson_threshold(min(1.0, self.batch_size / n))

    def _parts(self, noise_multiplier: float, setting: Setting, delta: float) -> tuple[Part, ...]:
        rate = poisson_rate(self._rate(setting.n))
        moved = self.moved_rows(setting)
        return poisson_parts(noise_multiplier, rate, self.steps, setting.adjacency, moved, delta)

    def events(self, noise_multiplier: float, setting: Setting) -> Events:
        return self.sampled(noise_multiplier, setting, "poisson")

    def canary_rate(self, setting: Setting) -> float:
        return min(1.0, self.batch_size / setting.n)

    def _batch(self, source: NoiseSource, rows: int, n: int) -> NDArray[np.intp]:
        return np.flatnonzero(source.bernoulli_mask(self._rate(n), rows))


@dataclass(frozen=True)
class FixedBatches(StochasticLearner):
    """A learner on batches of exactly `batch_size` of the n records, drawn again at each step: its account."""

    def premise(self, n: int) -> str:
        return without_replacement(self.batch_size, n)

    def _parts(self, noise_multiplier: float, setting: Setting, delta: float) -> tuple[Part, ...]:
        if not n_is_public(setting.adjacency):
            raise ValueError("batches of a fixed size need adjacency replace-one; use PoissonSGD")
        moved = self.moved_rows(setting)
        return without_replacement_parts(
            noise_multiplier, self.batch_size, setting.n, self.steps, moved, delta
        )

    def events(self, noise_multiplier: float, setting: Setting) -> Events:
        return self.sampled(noise_multiplier, setting, "without replacement")


@dataclass(frozen=True)
class FixedBatchSGD(FixedBatches, BatchLearner):
    """DP-SGD on batches of exactly b of the n records, drawn afresh without replacement at every step.

    Parameters
    ----------
    loss : Loss
        One of `prepriv.learners`.
    batch_size : int, default 256
        b, at most n. Noisy sums are divided by it.
    steps : int, default 1000
        How many noisy batches there are.
    learning_rate : float, default 1.0
        Step size on the mean clipped gradient of a batch.
    clip_norm : float, default 1.0
        Bound on one record's gradient.
    weight_bound : float, default inf
        Radius of the ball in which every gradient is taken. It is needed if a step is paid for by sensitivity.
    bias : float, default 1.0
        Value of the appended bias feature. It counts in the norm of a row.
    momentum : float, default 0.0
        Nesterov momentum, in [0, 1).
    average : float, default 0.5
        The last share of the iterates that is averaged, in (0, 1].
    flatten : float, default 0.0
        Share of the budget of training, in [0, 1), for the mean of all rows, as in `GradientDescent`. 0: none.
    warm_up : float, default 0.0
        The first share of the steps, in [0, 1), over which the rate rises evenly to `learning_rate`.
        0: the rate is the same in all steps.

    Raises
    ------
    ValueError
        For a setting out of range. When it is priced: under add-or-remove-one.

    Notes
    -----
    Replace-one only, because n is public there. Shuffling the records and cutting them into batches is another
    sampler, which has no account here. Proof: docs/proofs/stochastic.md.

    Examples
    --------
    >>> from prepriv.learners import FixedBatchSGD, Logistic
    >>> FixedBatchSGD(Logistic(), batch_size=100, steps=50).batch_size
    100
    """

    def smooth(self, noise: float, setting: Setting) -> SmoothMechanism | None:
        clip, incoming = self.clip(setting.radius), setting.incoming
        mu = self.loss.input_lipschitz(self.row_norm(setting.radius), self.weight_bound)
        if not math.isfinite(mu) or self.flatten:
            return None
        # Of each moved row in a batch, and of the release as a whole (docs/proofs/stochastic.md).
        drawn = min(self.batch_size, math.ceil(incoming.rows_moved))
        rounding = self._cut(setting, mu) * drawn + coarse_steps((setting.d + 1) * setting.outputs) * clip
        return sampled_gradient(
            lipschitz=clip,
            smoothness=mu * FAR_UP,
            noise=noise * clip,
            n=setting.n,
            batch=self.batch_size,
            steps=self.steps,
            row_shift=incoming.row_shift,
            rounding=rounding * FAR_UP,
        )

    def _batch(self, source: NoiseSource, rows: int, n: int) -> NDArray[np.intp]:
        if rows != n:  # public under replace-one
            raise ValueError(f"n={n:,} records are declared, the table has {rows:,}")
        return uniform_subset(source, n, self.batch_size)
