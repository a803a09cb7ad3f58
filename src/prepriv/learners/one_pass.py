"""DP-SGD whose iterates stay hidden, in one pass or several: amplification by iteration. Proof: docs/proofs/one_pass.md.

Records are read in their order, and the run stops after a number of steps drawn uniformly from those of the last pass; only
the last iterate leaves. Each step is a contraction with noise, so the trace of a record fades with every later step.
The noise deviation can then be far below what releasing every iterate would need.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from prepriv._arguments import LARGEST, number, settle
from prepriv._arrays import Floats
from prepriv._rounding import DOWN, FAR_UP
from prepriv.adjacency import n_is_public
from prepriv.engines.engine import Held
from prepriv.exact.grid import IntegerGrid
from prepriv.guarantees.iteration import Passes, random_stopping
from prepriv.guarantees.loss_distribution import Part
from prepriv.guarantees.printed import down, exact, up
from prepriv.guarantees.second_account import Events, NoEvents
from prepriv.learners.learner import Run, Setting, project
from prepriv.learners.stochastic import StochasticLearner
from prepriv.mechanisms.gaussian_sum import RELEASE_BITS, GaussianSum

_CLAMP = 2.0**50  # grid steps: no coordinate of an iterate leaves this box (a projection, like the ball)


@dataclass(frozen=True)
class OnePassSGD(StochasticLearner):
    """SGD over the records in a fixed order, batch_size at a time, stopped at a step drawn uniformly from 1 … steps.

    Parameters
    ----------
    loss : Loss
        A convex, smooth one of `prepriv.learners`.
    batch_size : int, default 256
        Number of records in a block.
    steps : int, default 1000
        At most ceil(n / batch_size), which is one pass.
    learning_rate : float, default 1.0
        At most 2/β, where β is the smoothness of the loss (`largest_rate`).
    clip_norm : float, default 1.0
        Bound on one record's gradient. For losses with several outputs it must never clip (`Softmax`), because
        clipping a vector of residuals is not a contraction.
    weight_bound : float, default inf
        Radius of the ball on which every step is projected. It must be finite to train.
    bias : float, default 1.0
        Value of the appended bias feature. It counts in the norm of a row.

    Raises
    ------
    ValueError
        For a setting out of range. When it is priced: under add-or-remove-one, and for a step that is not a
        contraction.

    Notes
    -----
    Replace-one only. It is for a single pass (`CyclicSGD`: for several). If every iterate may be released, or if
    several passes are affordable, `PoissonSGD` and `GradientDescent` are more accurate. Proof:
    docs/proofs/one_pass.md.

    Examples
    --------
    >>> from prepriv.learners import Logistic, OnePassSGD
    >>> learner = OnePassSGD(Logistic(), batch_size=100, steps=10, weight_bound=2.0)
    >>> 3.9 < learner.largest_rate(radius=1.0) < 4.1
    True
    """

    weight_decay: ClassVar[float] = 0.0

    def premise(self, n: int) -> str:
        return (
            f"the {n} records are read {self._times()}, {self.batch_size} at a time in a fixed order, the run stops at a step drawn "
            f"uniformly from {self.steps - self._last(n) + 1} to {self.steps}, which stays hidden, and only the last iterate leaves; every step "
            f"begins by projecting on the ball and descends the convex, smooth loss {type(self.loss).__name__} at rate "
            f"{exact(self.learning_rate)}, with weight decay {exact(self.weight_decay)}"
        )

    def _times(self) -> str:
        return "once"

    def _last(self, n: int) -> int:
        """How many steps it may stop at: one pass, or all steps if they are fewer."""
        return min(self.steps, -(-n // self.batch_size))

    def largest_rate(self, radius: float) -> float:
        """The largest learning rate for which a step is a contraction, 2/(β + 2 weight_decay)."""
        curvature = self.loss.smoothness(self._norm(radius)) + 2.0 * self.weight_decay
        return 2.0 / curvature if curvature > 0 else math.inf

    def clip(self, radius: float) -> float:
        """clip_norm, or the loss's own bound, rounded up a little so that it never clips."""
        return min(self.clip_norm, self.loss.gradient_norm(self._norm(radius), self.weight_bound))

    def check_room(self, noise_multiplier: float, setting: Setting) -> None:
        """Check the room for its sums, which are iterates on a grid of their own."""

    def _norm(self, radius: float) -> float:
        """Norm bound of a row on the grid, which may stick out of the ball by a part in 2^13."""
        return self.row_norm(radius) * (1 + 1e-3)

    def _parts(self, noise_multiplier: float, setting: Setting, delta: float) -> tuple[Part, ...]:
        self._check(setting)
        moved = self.moved_rows(setting)
        blocks, drift = -(-setting.n // self.batch_size), self._drift(setting)
        # The ball, in which `project` ends, in units of what one record's clip norm moves an iterate.
        reach = self._reach(self.grid(setting.radius, setting.n, setting.incoming))
        curve = random_stopping(
            self._last(setting.n),
            2.0 / noise_multiplier,
            total=(moved.total + moved.dropped) / noise_multiplier,
            step=self.batch_size * moved.largest / noise_multiplier,
            rounding=drift / noise_multiplier,
            again=Passes(
                -(-self.steps // blocks),
                self.learning_rate * self.weight_decay * DOWN,
                2.0 * self.weight_bound / (reach * noise_multiplier) * FAR_UP,
            ),
        )
        return ((curve, 1),)

    def events(self, noise_multiplier: float, setting: Setting) -> Events:
        raise NoEvents(
            f"{self.name} hides its iterates and when it stops (amplification by iteration): dp-accounting has no event for that"
        )

    def _check(self, setting: Setting) -> None:
        if not n_is_public(setting.adjacency):
            raise ValueError("a pass in a fixed order needs adjacency replace-one")
        if not self.loss.says_convex():
            raise ValueError(
                f"{self.name} needs a convex loss, of which a step is a contraction, and {type(self.loss).__name__} does not say that it "
                "is one (`convex`): use GradientDescent or PoissonSGD"
            )
        if setting.incoming.any_order:
            raise ValueError(
                "a pass depends on the order of the rows, which a query does not fix and an earlier step may change"
            )
        if not math.isfinite(self.weight_bound):
            raise ValueError(f"weight_bound must be finite for {self.name}")
        self._check_steps(-(-setting.n // self.batch_size), setting.n)
        if self.learning_rate > self.largest_rate(setting.radius):
            raise ValueError(
                f"learning_rate must be at most {down(self.largest_rate(setting.radius))}, 2/(smoothness + 2 weight_decay), for a "
                f"contraction; got {self.learning_rate}"
            )
        own = self.loss.gradient_norm(self._norm(setting.radius), self.weight_bound)
        if setting.outputs > 1 and self.clip_norm < own:
            raise ValueError(
                f"clip_norm must be at least {up(own)}, the loss's own bound, with {setting.outputs} outputs: a "
                f"clipped step would be no contraction; got {self.clip_norm}"
            )

    def _check_steps(self, blocks: int, n: int) -> None:
        if self.steps > blocks:
            raise ValueError(
                f"steps must be at most {blocks}, one pass over n={n} (CyclicSGD takes several); got {self.steps}"
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

    def _reach(self, grid: IntegerGrid) -> float:
        """What one record moves the iterate by: in the account and in the run this very number."""
        return self.learning_rate / self.batch_size * grid.clip * 2.0**grid.exponent

    def _scale(self, reach: float) -> float:
        """The reach in grid steps of the iterate, a number in [2^18, 2^19)."""
        return math.ldexp(reach, -self._exponent(reach))

    def _exponent(self, reach: float) -> int:
        return math.frexp(reach)[1] - (RELEASE_BITS - 1)

    def train(self, rows: Held, setting: Setting, run: Run) -> Floats:
        """Train until a random step of the last pass, and return the last iterate."""
        n, source = setting.n, run.batches()
        if rows.shape[0] != n:  # public under replace-one
            raise ValueError(f"n={n:,} records are declared, the table has {rows.shape[0]:,}")
        last, blocks = self._last(n), -(-n // self.batch_size)
        stop = self.steps - last + int(source.uniform_below(last, 1)[0]) + 1
        kept = 1.0 - self.learning_rate * self.weight_decay
        grid, coordinates = rows.grid, rows.shape[1] * setting.outputs
        reach = self._reach(grid)
        exponent = self._exponent(reach)
        # What one record moves the iterate by; the rounding of the iterate is inside it.
        sensitivity = math.ceil(self._scale(reach)) + math.isqrt(coordinates) + 1
        iterate = np.zeros((rows.shape[1], setting.outputs))
        with rows.gradient_sum(self.loss) as gradient_sum:
            for step in range(stop):
                first = step % blocks * self.batch_size
                block = np.arange(first, min(first + self.batch_size, n), dtype=np.intp)
                point = project(iterate, self.weight_bound)
                descent = np.ldexp(gradient_sum(point, block).astype(np.float64), grid.exponent)
                moved = kept * point - self.learning_rate / self.batch_size * descent
                iterate = run.session.release(
                    "gradient",
                    GaussianSum(
                        sensitivity=sensitivity,
                        noise_multiplier=run.noise_multiplier,
                        exponent=exponent,
                        largest=int(_CLAMP),
                        coordinates=coordinates,
                    ),
                    _to_grid(moved, exponent),
                )
        run.done(
            self.steps, self.steps
        )  # not before: when the run stops is hidden, the guarantee rests on it
        return project(iterate, self.weight_bound)


@dataclass(frozen=True)
class CyclicSGD(OnePassSGD):
    """SGD over the records in a fixed order, in several passes, stopped at a uniformly random step of the last pass.

    Parameters
    ----------
    loss : Loss
        A convex, smooth one of `prepriv.learners`.
    batch_size : int, default 256
        Number of records in a block. The blocks are the same in every pass.
    steps : int, default 1000
        Number of steps of all passes together.
    learning_rate : float, default 1.0
        At most 2/(β + 2λ), where β is the smoothness of the loss and λ is weight_decay (`largest_rate`).
    clip_norm : float, default 1.0
        Bound on one record's gradient. For losses with several outputs it must never clip.
    weight_bound : float, default inf
        Radius of the ball on which every step is projected. It must be finite to train.
    bias : float, default 1.0
        Value of the appended bias feature. It counts in the norm of a row.
    weight_decay : float, default 0.0
        λ in a penalty λ|w|²/2 on the weights. With it, what a pass reveals about a record fades by itself.

    Raises
    ------
    ValueError
        For a setting out of range. When it is priced: under add-or-remove-one, and for a step that is not a
        contraction.

    Notes
    -----
    Replace-one only. At some number of passes the necessary noise stops growing: late because of the ball of
    `weight_bound`, early because of weight_decay. Proof: docs/proofs/one_pass.md.

    Examples
    --------
    >>> import prepriv
    >>> from prepriv.learners import CyclicSGD, Logistic
    >>> learner = CyclicSGD(Logistic(), batch_size=100, steps=30, weight_bound=2.0)
    >>> domain = prepriv.Domain.ball(3, classes=[0, 1], n=1000)
    >>> prepriv.make_plan(domain, [], learner, epsilon=1.0, delta=1e-5).guarantee.epsilon(1e-5) <= 1.0
    True
    """

    weight_decay: float = 0.0  # type: ignore[misc]

    def __post_init__(self) -> None:
        super().__post_init__()
        settle(self, weight_decay=number("weight_decay", self.weight_decay, at_least=0.0, at_most=LARGEST))

    def _times(self) -> str:
        return "again and again"

    def _check_steps(self, blocks: int, n: int) -> None:
        """Any number of passes."""


def _to_grid(weights: Floats, exponent: int) -> NDArray[np.int64]:
    """Weights in grid steps, rounded to the nearest, inside the box."""
    return np.asarray(np.rint(np.clip(np.ldexp(weights, -exponent), -_CLAMP, _CLAMP)), dtype=np.int64)
