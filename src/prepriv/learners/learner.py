"""What every learner of linear models has: checked settings, the bound on one record's gradient, its own account.

The pipeline asks a learner, it never asks which one it is: what the noise multiplies, what a run costs, how it trains.
"""

from __future__ import annotations

import abc
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from prepriv._arguments import LARGEST, instance, integer, length, length_or_inf, number, settle
from prepriv._arrays import Floats
from prepriv._rounding import DOWN, FAR_UP, UP
from prepriv.adjacency import Adjacency
from prepriv.engines.engine import Held
from prepriv.exact.grid import IntegerGrid
from prepriv.guarantees import gaussian
from prepriv.guarantees.guarantee import GaussianEvent
from prepriv.guarantees.loss_distribution import Part
from prepriv.guarantees.second_account import Event, Events, NoEvents
from prepriv.guarantees.smooth_renyi import SmoothMechanism
from prepriv.learners.losses import Loss
from prepriv.learners.row_mean import RowSum, flattener
from prepriv.mechanisms.gaussian_sum import GaussianSum, check_room
from prepriv.mechanisms.noise import NoiseSource
from prepriv.mechanisms.session import Session
from prepriv.preprocessing.base import UNTOUCHED, RowShift


@dataclass(frozen=True)
class Setting:
    """What is declared about the rows that reach a learner.

    Parameters
    ----------
    radius : float
        Norm bound of a row, without the bias.
    d : int
        Number of features.
    outputs : int
        Columns of the weights.
    n : int
        Number of records (or units).
    adjacency : {"replace-one", "add-or-remove-one"}
        What neighbouring data sets are.
    incoming : RowShift, default UNTOUCHED
        How far the common rows of two neighbours are apart after the steps before.
    rows : int, default 1
        Number of rows of a record: more than one if it is a unit.

    Examples
    --------
    >>> from prepriv.learners import GradientDescent, Logistic, Setting
    >>> setting = Setting(radius=1.0, d=4, outputs=1, n=20_000, adjacency="replace-one")
    >>> round(GradientDescent(Logistic(), clip_norm=0.5).unit(setting), 6)  # twice the clip norm
    1.0
    """

    radius: float
    d: int
    outputs: int
    n: int
    adjacency: Adjacency
    incoming: RowShift = UNTOUCHED
    rows: int = 1


@dataclass(frozen=True)
class Run:
    """What a training run gets in addition to its rows: the noise, where it comes from, and what reports its progress.

    Parameters
    ----------
    session : Session
        Where noisy sums come from.
    noise_multiplier : float
        The standard deviation of the noise, divided by the learner's `unit`.
    source : NoiseSource, optional
        Where batches are drawn from, as unpredictable as the noise. None: the session's.
    progress : callable, optional
        Called with (step, steps), which are public. None: it is not called.
    heard : callable, optional
        Called with each noisy sum of gradients, after its release. None: it is not called.

    Examples
    --------
    >>> from prepriv.learners import Run
    >>> from prepriv.mechanisms import ExactSession
    >>> Run(ExactSession(), noise_multiplier=1.0).done(1, 100)
    """

    session: Session
    noise_multiplier: float
    source: NoiseSource | None = None
    progress: Callable[[int, int], Any] | None = None
    heard: Callable[[Floats], Any] | None = None

    def batches(self) -> NoiseSource:
        """Where batches are drawn from. ValueError for a test source in a private run."""
        source = self.source or self.session.batch_source()
        if self.session.private and not source.private:
            raise ValueError("source: batches of a private run cannot be drawn from a test source")
        return source

    def gradient(self, total: NDArray[np.int64], sensitivity: int, grid: IntegerGrid, n: int) -> Floats:
        """A noisy sum of gradients, in gradient units. sensitivity: in grid steps."""
        noisy = self.total("gradient", self.noise_multiplier, total, sensitivity, grid, n)
        if self.heard is not None:
            self.heard(noisy)
        return noisy

    def total(
        self,
        name: str,
        noise_multiplier: float,
        total: NDArray[np.int64],
        sensitivity: int,
        grid: IntegerGrid,
        n: int,
    ) -> Floats:
        """A noisy sum over records with another noise multiplier, released under its own name."""
        return self.session.release(
            name,
            GaussianSum(
                sensitivity=sensitivity,
                noise_multiplier=noise_multiplier,
                exponent=grid.exponent,
                largest=2 * max(n, 1) * grid.clip,
                coordinates=total.size,
            ),
            total,
        )

    def done(self, step: int, steps: int) -> None:
        """Report that one more of `steps` is done."""
        if self.progress is not None:
            self.progress(step, steps)


CLAIMS = (
    "exact",
    "takes_units",
    "samples",
    "premise",
    "unit",
    "shift",
    "parts",
    "accounts",
    "once",
    "smooth",
    "reach",
)
"""What an account rests on: the words of a learner, each of them about its own run."""
TRAINS = ("train", "finished", "grid", "clip", "row_norm", "check_settings")
"""The methods of a learner that a run is made of."""


class Learner(abc.ABC):
    """The base of every learner of linear models: what a pipeline asks it. Subclasses are frozen dataclasses.

    Attributes
    ----------
    loss : Loss
        What is minimised.
    steps : int
        Number of steps. `counted` says what is counted.
    learning_rate : float
        Step size on the mean clipped gradient.
    clip_norm : float
        Bound on one record's gradient.
    weight_bound : float
        Radius of the ball of the weights. inf: there is none.
    bias : float
        Value of the appended bias feature. It counts in the norm of a row.
    exact : bool
        A class attribute: whether a run is one Gaussian release, with µ = sqrt(steps) / multiplier.
    samples : bool
        A class attribute: whether a step sees a random part of the rows, chosen by their places.
    takes_units : bool
        A class attribute: whether its account is about records in any order, so that a unit of several rows can take
        the place of a record (docs/proofs/units.md).
    counted : str
        A class attribute: what `steps` counts, in words.

    Notes
    -----
    No default here is a claim, and a subclass has to say again what holds for a run that it replaces (`CLAIMS`). It
    defines `unit`, `parts`, `premise` and `train`.

    Examples
    --------
    >>> from prepriv.learners import GradientDescent, Learner, Logistic
    >>> learner = GradientDescent(Logistic())
    >>> isinstance(learner, Learner), learner.exact, learner.name
    (True, True, 'GradientDescent')
    """

    exact: ClassVar[bool] = False
    samples: ClassVar[bool] = False
    takes_units: ClassVar[bool] = False
    counted: ClassVar[str] = "steps"
    _words: ClassVar[tuple[str, ...]] = CLAIMS
    loss: Loss
    steps: int
    learning_rate: float
    clip_norm: float
    weight_bound: float
    bias: float

    def check_settings(self, *whole: str) -> None:
        """ValueError that names the first setting out of range. whole: the names of settings that are whole numbers."""
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
        """The norm bound of a row with its bias feature."""
        return math.hypot(radius, self.bias)

    def clip(self, radius: float) -> float:
        """The bound on one record's gradient: clip_norm, or the loss's own bound if that is smaller."""
        return min(self.clip_norm, self.loss.gradient_norm(self.row_norm(radius), self.weight_bound))

    def grid(self, radius: float, n: int, incoming: RowShift) -> IntegerGrid:
        """The integer grid of rows and residuals. It is fine if coarse rounding would make moved rows more expensive."""
        return IntegerGrid.of(self.row_norm(radius), self.clip(radius), n, fine=incoming.rows_moved > 0)

    @abc.abstractmethod
    def premise(self, n: int) -> str:
        """Which records a step of the run sees, in words, for n records. The account rests on this."""

    @abc.abstractmethod
    def unit(self, setting: Setting) -> float:
        """The shift that the noise multiplier multiplies, in gradient units. ValueError if a gradient has no bound."""

    @abc.abstractmethod
    def parts(self, noise_multiplier: float, setting: Setting, *, delta: float = 1e-6) -> tuple[Part, ...]:
        """What a run costs, as parts to compose with those of other mechanisms. Symmetrize after composition.

        noise_multiplier: the standard deviation of the noise divided by `unit`. delta: where valid accounts are
        compared, if there are several.
        """

    def accounts(self, noise_multiplier: float, setting: Setting, delta: float) -> list[tuple[Part, ...]]:
        """Every valid account of a run. Each is an upper bound on what the run costs."""
        return [self.parts(noise_multiplier, setting, delta=delta)]

    def events(self, noise_multiplier: float, setting: Setting) -> Events:
        """A run as events of another accountant. NoEvents if it cannot be written so. Only learners of this package are asked.

        The events are made from what runs (noise, batch size, steps), independently of `parts`.
        """
        raise NoEvents(f"dp-accounting has no event for {self.name}")

    def canary_rate(self, setting: Setting) -> float | None:
        """The chance that one more row is in a released sum, if no record's chance depends on that row and every sum is released.

        None: a run cannot audit itself with canaries (docs/proofs/self_audit.md). Only learners of this package are
        asked.
        """
        return None

    def about_least_mu(self, noise_multiplier: float, n: int) -> float:
        """An approximate lower bound of the GDP parameter of a whole run (central limit theorem of Bu et al. 2020). 0: not known.

        It is not a claim. If it is far above a budget, the account, which can be slow, need not be computed.
        """
        return 0.0

    def once(self, noise_multiplier: float, setting: Setting) -> tuple[GaussianEvent, ...]:
        """What a run releases once, in addition to its steps. `parts` counts it, and releases of third-party learners are metered by it."""
        return ()

    def once_parts(self, noise_multiplier: float, setting: Setting) -> tuple[Part, ...]:
        """The releases of `once`, as parts to compose."""
        once = self.once(noise_multiplier, setting)
        return tuple((gaussian(UP / e.noise_multiplier), e.count) for e in once)

    def once_events(self, noise_multiplier: float, setting: Setting) -> Events:
        """The releases of `once`, as events of another accountant."""
        once = self.once(noise_multiplier, setting)
        return tuple(Event(e.name, e.noise_multiplier, e.count) for e in once)

    def mean_error_release(self, noise_multiplier: float, setting: Setting) -> tuple[float, float] | None:
        """(the noise in the mean error of the finished model, the length of the interval in which errors count), in half the distance
        of the bounds of a target; None: a run does not release it. Functions of the plan."""
        return None

    def smooth(self, noise: float, setting: Setting) -> SmoothMechanism | None:
        """Its two Renyi curves, if "Provable Privacy with Non-Private Pre-Processing" (corrected) has them.

        noise: its standard deviation divided by the clip norm.
        """
        return None

    def weight_noise(self, noise: float, n: int) -> float | None:
        """The standard deviation of what noise alone does to one weight, if that is known. It depends on the plan only.

        noise: its standard deviation on a sum of gradients. n: the declared number of records.
        """
        return None

    def farthest(self, radius: float) -> float | None:
        """How far a weight moves if every gradient of a run pulls it at full clip, if full batches of rows within this radius give it.

        It depends on the plan only.
        """
        return None

    def row_lipschitz(self, setting: Setting) -> float:
        """The Lipschitz constant of what a record adds to a sum, in its row."""
        return self.loss.input_lipschitz(self.row_norm(setting.radius), self.weight_bound)

    def shift(self, setting: Setting, record: float, lipschitz: float, outputs: int) -> float:
        """How far a sum of clipped gradients moves between neighbours (docs/proofs/gradient_descent.md).

        record: how far the one record moves it. lipschitz: the Lipschitz constant of a gradient in its row, for rows
        that moved. outputs: the number of outputs.
        """
        clip, incoming, moved = self.clip(setting.radius), setting.incoming, 0.0
        if incoming.rows_moved > 0:
            grid, norm = self.grid(setting.radius, setting.n, incoming), self.row_norm(setting.radius)
            rounding = grid.rounding(incoming.rows_moved, setting.d + 1, outputs, norm, lipschitz)
            moved = min(lipschitz * incoming.total_shift + rounding, 2 * clip * incoming.rows_moved)
        shift = (record + moved + clip * incoming.rows_dropped) * FAR_UP
        if not math.isfinite(shift):
            raise ValueError(
                "the gradient has no finite bound: give the learner a clip_norm or a weight_bound"
            )
        return shift

    def reach(self, setting: Setting) -> Fraction:
        """The largest number of units that the sum of one release moves between neighbours."""
        return Fraction(1)

    def check_room(self, noise_multiplier: float, setting: Setting) -> None:
        """ValueError if the noise of a release is too large to be drawn: before any charge."""
        grid = self.grid(setting.radius, setting.n, setting.incoming)
        largest = 2 * max(setting.n, 1) * grid.clip
        steps = math.ceil(self.unit(setting) * 2.0**-grid.exponent * FAR_UP)
        check_room(self.name, steps, noise_multiplier, largest)
        for event in self.once(noise_multiplier, setting):
            check_room(event.name, self.whole(setting, grid), event.noise_multiplier, largest)

    def whole(self, setting: Setting, grid: IntegerGrid) -> int:
        """The most that a sum of the clipped gradients of all rows moves between neighbours, in grid steps."""
        return math.ceil(float(self.reach(setting)) * self.unit(setting) * 2.0**-grid.exponent * FAR_UP)

    @abc.abstractmethod
    def train(self, rows: Held, setting: Setting, run: Run) -> Floats:
        """Train on quantised rows: returns the weights, (d + 1, outputs), the bias last. setting: what was declared about the rows.

        Sums are divided by declared numbers, never by a count of rows.
        """

    def finished(self, rows: Held, setting: Setting, run: Run, weights: Floats) -> Floats:
        """What becomes of the weights that leave, (d + 1, outputs): here nothing. A release that this makes is one of `once`."""
        return weights


def allowance(learner: Learner, noise_multiplier: float, setting: Setting) -> float:
    """µ² of the steps that a learner declares and of what it releases once: what a third-party one may take."""
    once = learner.once(noise_multiplier, setting)
    return learner.steps / noise_multiplier**2 + sum(e.count / e.noise_multiplier**2 for e in once)


class Momentum(Learner):
    """Descent with Nesterov momentum, in [0, 1), and the average of the last share of the iterates, in (0, 1].

    flatten: share of the budget, in [0, 1), for the mean of the rows, along which gradients are then shortened; 0: none.
    warm_up: the first share of the steps, in [0, 1), over which the rate rises. What is done with noisy gradients is
    post-processing.
    """

    momentum: float
    average: float
    flatten: float
    warm_up: float

    def check_descent(self) -> None:
        """ValueError unless momentum, average, flatten and warm_up are in range."""
        number("momentum", self.momentum, at_least=0.0, below=1.0)
        number("average", self.average, above=0.0, at_most=1.0)
        number("flatten", self.flatten, at_least=0.0, below=1.0)
        number("warm_up", self.warm_up, at_least=0.0, below=1.0)

    def rates(self, count: int) -> Floats:
        """The rate of each of so many steps: it rises evenly over the first of them, then it stays."""
        first = round(self.warm_up * count)
        return self.learning_rate * np.minimum(1.0, np.arange(1, count + 1) / (first + 1))

    def seen(self, n: int) -> float:
        """The share of the records that a step sees."""
        return 1.0

    def once(self, noise_multiplier: float, setting: Setting) -> tuple[GaussianEvent, ...]:
        """The sum of the rows, if there is one."""
        if not self.flatten:
            return ()
        return (GaussianEvent(f"{self.name}: mean row", self.mean_multiplier(noise_multiplier, setting)),)

    def mean_multiplier(self, noise_multiplier: float, setting: Setting) -> float:
        """Noise of the sum of the rows over how far it moves: `flatten` of the µ² of a run, to first order in `seen`."""
        steps = math.sqrt(self.steps * self.flatten / (1.0 - self.flatten))
        return noise_multiplier / (steps * self.seen(setting.n) * float(self.reach(setting)))

    def row_lipschitz(self, setting: Setting) -> float:
        mu = super().row_lipschitz(setting)
        return max(mu, self._row_factor(setting)) if self.flatten else mu

    def _row_factor(self, setting: Setting) -> float:
        """What brings rows to the clip norm, where the sum of gradients has its grid and its bound."""
        return self.clip(setting.radius) / self.row_norm(setting.radius)

    def flattener(self, rows: Held, setting: Setting, run: Run) -> Callable[[Floats], Floats]:
        """What noisy mean gradients become, in each step alike (`row_mean.flattener`); it asks for the sum of the rows."""
        if not self.flatten:
            return lambda gradient: gradient
        factor, grid = self._row_factor(setting), rows.grid
        with rows.gradient_sum(RowSum(factor)) as row_sum:
            total = row_sum(np.zeros((rows.shape[1], 1)))
        multiplier = self.mean_multiplier(run.noise_multiplier, setting)
        name = f"{self.name}: mean row"
        noisy = run.total(name, multiplier, total, self.whole(setting, grid), grid, setting.n)
        return flattener(noisy / (setting.n * factor))

    def noise_gain(self) -> float:
        """Standard deviation of an averaged weight over that of the noise in one mean gradient, where the loss has no curvature:
        `descend` is linear in its gradients. Post-processing of the plan. With `flatten` at most that, in every direction."""
        weights, velocity, average = (np.zeros(self.steps) for _ in range(3))
        kept = max(1, round(self.average * self.steps))
        for step, rate in enumerate(self.rates(self.steps)):
            ahead = weights + self.momentum * velocity
            ahead[step] -= rate
            velocity, weights = ahead - weights, ahead
            if step >= self.steps - kept:
                average += weights
        return float(np.linalg.norm(average)) / kept

    def response(self, curvature: float) -> tuple[float, float]:
        """What gradients do to an averaged weight where the loss has this curvature along it: a function of the plan.

        (standard deviation of the weight over that of independent noise in the mean gradients, the weight over a constant that
        is in all of them). With curvature 0 the first is `noise_gain`.
        """
        weights, velocity, average = (np.zeros(self.steps) for _ in range(3))
        kept = max(1, round(self.average * self.steps))
        with np.errstate(all="ignore"):
            for step, rate in enumerate(self.rates(self.steps)):
                ahead = weights + self.momentum * velocity
                new = ahead - rate * curvature * ahead
                new[step] -= rate
                velocity, weights = new - weights, new
                if step >= self.steps - kept:
                    average += weights
            return float(np.linalg.norm(average)) / kept, -float(average.sum()) / kept

    def descend(
        self,
        shape: tuple[int, int],
        gradient: Callable[[Floats], Floats],
        run: Run,
        *,
        count: int | None = None,
        start: Floats | None = None,
        done: int = 0,
    ) -> Floats:
        """From zero weights of this shape, or from `start`; `gradient` is asked once a step, at a point of the ball.

        count: of steps, all if None. done: steps before these, in what is shown.
        """
        count = self.steps if count is None else count
        weights = np.zeros(shape) if start is None else start.copy()
        velocity, average = np.zeros(shape), np.zeros(shape)
        kept = max(1, round(self.average * count))
        for step, rate in enumerate(self.rates(count)):
            ahead = project(weights + self.momentum * velocity, self.weight_bound)
            new = project(ahead - rate * gradient(ahead), self.weight_bound)
            velocity, weights = new - weights, new
            if step >= count - kept:
                average += weights
            run.done(done + step + 1, self.steps)
        return average / kept


def project(weights: NDArray[np.float64], bound: float) -> NDArray[np.float64]:
    """The nearest point of the ball of radius `bound`, a hair inside it; an infinite bound changes nothing."""
    if math.isinf(bound):
        return weights
    norm, limit = float(np.linalg.norm(weights)), bound * DOWN
    return weights if norm <= limit else weights * (limit / norm)
