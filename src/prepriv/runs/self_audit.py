"""Canaries in coordinates that no record has: a run audits itself, at no cost of the claim. Proof: docs/proofs/self_audit.md.

Each canary is a row of the largest declared norm with a coordinate of its own, beside those of the data. It goes through the same
grid, clip, sampler, sum and draw of noise as a record; its coin decides which of two gradients it has. A record has zero there,
so what leaves of these coordinates says nothing about a record.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from prepriv._arguments import integer
from prepriv._arrays import Floats
from prepriv._kinds import is_ours
from prepriv.adjacency import n_is_public
from prepriv.domain import TARGET_STEPS
from prepriv.engines.engine import Held, Sums
from prepriv.exact.gradient_sum import QuantizedRows, ScoreLoss
from prepriv.exact.grid import IntegerGrid
from prepriv.guarantees.one_run import OneRun
from prepriv.guarantees.printed import down, up
from prepriv.learners.mean_error import ErrorSum
from prepriv.learners.row_mean import RowSum
from prepriv.mechanisms.beside import BesideSession
from prepriv.mechanisms.coins import record_coins
from prepriv.mechanisms.session import Session
from prepriv.plans.plan import Plan

FEWEST_CANARIES, MOST_CANARIES = 100, 1_000_000
_GROUP = 100  # canaries that are added up together, each in a coordinate of its own
_LONG = 1 - 1e-4  # of the largest norm: rounding to the grid must not make a row longer than it may be
_STEER = 1 / 32  # of that norm: in the coordinate that steers the score
_SURE = 40.0  # a score at which a loss is certain


def check_audit(plan: Plan, canaries: int) -> int:
    """Check that a plan can audit itself.

    Parameters
    ----------
    plan : Plan
        To be trained.
    canaries : int
        How many, 100 to 1,000,000.

    Returns
    -------
    int

    Raises
    ------
    ValueError
        For another number, a plan without privacy, units of several rows, or a learner whose records are not drawn independently of
        each other.

    Examples
    --------
    >>> import prepriv
    >>> from prepriv.learners import GradientDescent, Logistic
    >>> from prepriv.runs.self_audit import check_audit
    >>> domain = prepriv.Domain.ball(2, classes=[0, 1], n=1000)
    >>> plan = prepriv.make_plan(domain, [], GradientDescent(Logistic()), epsilon=1.0, delta=1e-5)
    >>> check_audit(plan, 1000)
    1000
    """
    canaries = integer("audit", canaries, at_least=FEWEST_CANARIES, at_most=MOST_CANARIES)
    learner = plan.learner
    if not plan.private:
        raise ValueError("audit: without privacy there is no noise to audit")
    if plan.domain.unit is not None:
        raise ValueError(
            "audit: rows of one unit are clipped as one, which canaries of one row do not go through"
        )
    if not (is_ours(type(learner)) and is_ours(type(learner.loss))):
        raise ValueError(
            "audit: a third-party learner or loss may look at other rows than its own coordinate's"
        )
    rate = learner.canary_rate(plan.setting)
    if rate is None:
        raise ValueError(
            f"audit: canaries would take the places of records in the batches of {learner.name}, or have no gradient of their own; use "
            "GradientDescent or PoissonSGD"
        )
    if rate < 1 and not plan.incoming.is_zero:
        raise ValueError("audit: rows that moved are in the batches; use GradientDescent")
    return canaries


@dataclass(frozen=True)
class Canary:
    """The two rows of a canary and what the plan lets them add, from the plan alone.

    score: of the row in the coordinate that steers. labels: of the two. direction: (K,) of the gradient of the first.
    """

    plan: Plan

    @cached_property
    def norm(self) -> float:
        """Of a row."""
        return self.plan.learner.row_norm(self.plan.space.radius) * _LONG

    @property
    def steer(self) -> float:
        """Its number in the steering coordinate."""
        return self.norm * _STEER

    @property
    def own(self) -> float:
        """Its number in its own."""
        return math.sqrt(self.norm**2 - self.steer**2)

    @property
    def labels(self) -> tuple[int, int]:
        """Of the two, each the one that its score is certain to be wrong on."""
        if self.plan.domain.target is not None:
            return 0, TARGET_STEPS
        return (0, 1) if self.plan.outputs == 1 else (1, 0)

    @property
    def weights(self) -> Floats:
        """(K,) of the steering coordinate, at which the first is scored as certain of what it is not."""
        out = np.zeros(self.plan.outputs)
        out[0] = _SURE / self.steer
        if len(out) > 1:
            out[1] = -out[0]
        return out

    @property
    def residual(self) -> Floats:
        """(K,) of the first, in floating point."""
        score = (self.weights * self.steer)[None, :]
        return np.asarray(
            self.plan.learner.loss.residual(score.copy(), np.array([self.labels[0]], dtype=np.int32))
        )[0]

    @property
    def direction(self) -> Floats:
        """(K,) of unit length."""
        return self.residual / np.linalg.norm(self.residual)

    @property
    def shift(self) -> float:
        """The length of its clipped gradient in its own coordinate, in noise deviations: no engine is asked."""
        long = float(np.linalg.norm(self.residual)) * self.norm
        clipped = min(long, self.plan.learner.clip(self.plan.space.radius))
        return clipped * self.own / self.norm / self.plan.learner_noise


class CanaryRun:
    """One audited run: rows and session to train with, and afterwards what was found."""

    def __init__(self, plan: Plan, canaries: int, rows: Held, session: Session) -> None:
        self.plan, self.count = plan, canaries
        self.canary = Canary(plan)
        self.coins = record_coins(canaries, 0.5, session)
        self.rows = CanaryRows(rows, self._quantized(rows.grid), self.canary.weights)
        self.session = BesideSession(session, self.rows.waiting, self.take)
        self.rate = rate_of(plan)
        self._evidence = np.zeros(canaries)
        self._squares, self._sums = 0.0, 0

    def _quantized(self, grid: IntegerGrid) -> QuantizedRows:
        """The canaries as integers: coordinate 0 steers, then one for each of a group."""
        made = QuantizedRows(grid, self.count, _GROUP + 1, 0.0)
        labels = np.where(self.coins, *self.canary.labels)
        signs = np.where(self.coins, 1.0, -1.0)
        if not n_is_public(self.plan.domain.adjacency):  # the coin says whether it is there
            labels, signs = np.where(self.coins, self.canary.labels[0], -1), np.ones(self.count)
        for start in range(0, self.count, _GROUP):
            stop = min(start + _GROUP, self.count)
            x = np.zeros((stop - start, _GROUP + 1))
            x[:, 0] = signs[start:stop] * self.canary.steer
            x[np.arange(stop - start), 1 + np.arange(stop - start)] = self.canary.own
            made.fill(start, x, labels[start:stop].astype(np.int32))
        return made

    def take(self, answer: Floats) -> None:
        """What left of the canaries' coordinates in one sum, (m, K) in gradient units."""
        g, q = self.canary.shift, self.rate
        x = answer @ self.canary.direction / self.plan.learner_noise
        two_sided = n_is_public(self.plan.domain.adjacency)
        centred = x - self._expected() if q == 1.0 else x
        self._squares += float(centred @ centred)
        self._sums += 1
        with np.errstate(over="ignore"):
            told = _odds(g * x - g * g / 2, q)
            self._evidence += told - _odds(-g * x - g * g / 2, q) if two_sided else told

    def _expected(self) -> Floats:
        here = np.where(self.coins, 1.0, -1.0 if n_is_public(self.plan.domain.adjacency) else 0.0)
        return np.asarray(here * self.canary.shift)

    @property
    def found(self) -> OneRun:
        """What the run showed: of its canaries alone."""
        correct = int(((self._evidence > 0) == self.coins).sum())
        noise = math.sqrt(self._squares / max(1, self.count * self._sums))
        return one_run(self.plan, self.count, correct, noise)


def one_run(plan: Plan, canaries: int, correct: int, noise: float) -> OneRun:
    """What was found of a plan's canaries; the rest follows from the plan.

    Parameters
    ----------
    plan : Plan
        That ran.
    canaries, correct : int
        How many coins there were, and how many were guessed.
    noise : float
        What was found over what was planned.

    Returns
    -------
    OneRun

    Raises
    ------
    ValueError
        As `check_audit`, and for numbers out of range.
    """
    canaries, shift = check_audit(plan, canaries), Canary(plan).shift
    return OneRun(canaries, correct, shift, plan.learner.steps, rate_of(plan), plan.domain.adjacency, noise)


def rate_of(plan: Plan) -> float:
    """The chance of a canary to be in a sum."""
    rate = plan.learner.canary_rate(plan.setting)
    assert rate is not None  # `check_audit`
    return rate


def refuted_in_words(found: OneRun) -> str:
    """Why a run is refuted by its canaries, in one sentence: of canaries alone."""
    return (
        f"the run was not as planned: of {found.canaries} canaries {found.correct} were guessed, where the plan allows for a chance of "
        f"{up(found.planned, 4)}, and the noise was {down(found.noise, 4)} of the planned one. Nothing is released; please report this"
    )


def _odds(log_ratio: Floats, rate: float) -> Floats:
    """log of (1 − q) + q e^{log_ratio}."""
    if rate == 1.0:
        return log_ratio
    return np.asarray(np.logaddexp(math.log1p(-rate), math.log(rate) + log_ratio))


class CanaryRows:
    """The rows of a learner with the canaries after them; of the sums it is handed those of the rows.

    weights: (K,) of the coordinate that steers the canaries.
    """

    def __init__(self, rows: Held, canaries: QuantizedRows, weights: Floats) -> None:
        self.rows, self.canaries, self.weights = rows, canaries, weights
        self.grid = rows.grid
        self.pending: NDArray[np.int64] | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and canaries; the coordinates of the rows."""
        return self.rows.shape[0] + self.canaries.shape[0], self.rows.shape[1]

    def waiting(self) -> NDArray[np.int64] | None:
        """The sum of the canaries that belongs to the next release, once."""
        pending, self.pending = self.pending, None
        return pending

    def gradient_sum(self, loss: ScoreLoss) -> contextlib.AbstractContextManager[Sums]:
        """Sums of the rows; those of the canaries wait for the release. Canaries are in sums of gradients alone."""
        return self.rows.gradient_sum(loss) if isinstance(loss, RowSum | ErrorSum) else self._sums(loss)

    @contextlib.contextmanager
    def _sums(self, loss: ScoreLoss) -> Iterator[Sums]:
        n, m = self.rows.shape[0], self.canaries.shape[0]
        steering = np.zeros((self.canaries.shape[1], len(self.weights)))
        steering[0] = self.weights
        with self.rows.gradient_sum(loss) as ours, self.canaries.gradient_sum(loss, 1) as theirs:

            def total(weights: Floats, index: NDArray[np.intp] | None = None) -> NDArray[np.int64]:
                drawn = np.arange(m) if index is None else np.sort(index[index >= n] - n)
                groups = np.split(drawn, np.searchsorted(drawn, np.arange(_GROUP, m, _GROUP)))
                sums = [theirs(steering, group)[1 : _GROUP + 1] for group in groups]
                self.pending = np.concatenate(sums)[:m]
                return ours(weights, None if index is None else index[index < n])

            yield total
