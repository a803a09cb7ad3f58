"""Propose-test-release: check in private that the data satisfy a declared condition, else refuse.

A distance is a number q(S) that changes by at most 1 when one record changes and is at most 0 unless the
condition holds. The test releases one bit, q plus noise above a threshold; only if it passes may a
mechanism run whose guarantee needs the condition. A refusal is an output: it is charged in full and says
nothing but "refused". Proof: docs/proofs/propose_test_release.md. It replaces Provable Privacy with Non-Private Pre-Processing, Theorem 8, which
is false for epsilon > log 4.
"""

from __future__ import annotations

import abc
import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from prepriv._arguments import number
from prepriv._rounding import FAR_UP
from prepriv.guarantees.families import approximate_dp, gaussian, laplace
from prepriv.guarantees.tradeoff import TradeoffFunction
from prepriv.mechanisms.lattice_noise import laplace_scale, noise_scale
from prepriv.mechanisms.mechanism import Cost, Mechanism
from prepriv.mechanisms.noise import NoiseSource

_STEPS = 2**20  # grid steps for a distance of one
LARGEST_TEST_DELTA = 0.25
_FURTHEST = 2.0**30  # distances are clamped to this: beyond, the test passes anyway


@dataclass(frozen=True, kw_only=True)
class DistanceTest(Mechanism):
    """The test of propose-test-release.

    delta: bound on the probability to pass on data for which the condition, or that of a neighbour, fails.
    error: bound on the absolute numerical error of the distances given to `passes`.
    """

    delta: float
    error: float = 0.0

    def __post_init__(self) -> None:
        number("delta", self.delta, above=0.0, at_most=LARGEST_TEST_DELTA)
        number("error", self.error, at_least=0.0, at_most=1.0)

    def passes(self, distance: float, source: NoiseSource) -> bool:
        """Whether the noisy distance is above the threshold: the only number that may leave.

        distance: q(S), or a number within `error` of it; NaN counts as a failed condition.
        """
        steps = self.steps(distance)
        return steps + int(self._noise(source)[0]) >= self.threshold

    @property
    def reach(self) -> int:
        return self.sensitivity

    def perform(self, exact: float, source: NoiseSource) -> bool:
        return self.passes(exact, source)

    def noiseless(self, exact: float) -> bool:
        """A run without privacy is not tested."""
        return True

    def recorded(self, exact: float) -> NDArray[np.int64]:
        return np.array([self.steps(exact)], dtype=np.int64)

    def steps(self, distance: float) -> int:
        """The distance less its error, in grid steps rounded down: at most 0 if the condition fails."""
        if math.isnan(distance):
            distance = -math.inf
        clamped = min(max(float(distance), -_FURTHEST), _FURTHEST)
        return math.floor((clamped - self.error) * _STEPS)

    @property
    def sensitivity(self) -> int:
        """How far `steps` moves between neighbours: both errors and the rounding down included."""
        return math.ceil((1 + 2 * Fraction(self.error)) * _STEPS) + 2

    @property
    def threshold(self) -> int:
        """Grid steps needed: what a neighbour of bad data may have and the noise adds with chance delta."""
        return _STEPS + self._quantile()

    @property
    @abc.abstractmethod
    def tradeoff(self) -> TradeoffFunction:
        """What the released bit satisfies by itself."""

    @abc.abstractmethod
    def _noise(self, source: NoiseSource) -> NDArray[np.int64]: ...

    @abc.abstractmethod
    def _quantile(self) -> int:
        """An integer that the noise reaches with probability at most delta."""

    def combined(
        self, conditional: TradeoffFunction, always: TradeoffFunction | None = None
    ) -> TradeoffFunction:
        """The unconditional guarantee of test and release together.

        conditional: what runs only if the test passes satisfies, between neighbours that both meet the
        condition. At every epsilon >= 0 its delta is the larger of: both composed; a leak of probability `delta`.
        always: what else has run satisfies, between all neighbours. Which of the two cases a pair is in may depend
        on its output, so it is composed with the lower of the two curves, not with each.
        """
        either = EitherCase(self.tradeoff.compose(conditional), approximate_dp(0.0, self.delta))
        return either if always is None else either.compose(always)


@dataclass(frozen=True, kw_only=True)
class LaplaceTest(DistanceTest):
    """A propose-test-release with discrete Laplace noise. The bit is epsilon-DP.

    delta: the largest chance of a pass where the condition fails. error: bound on the float error of a distance, in
    records. ValueError outside their ranges. docs/proofs/propose_test_release.md.

    In units of the distance, the threshold is 1 + log(1 / (2 delta)) / epsilon, and a few millionths more.

    >>> test = LaplaceTest(epsilon=0.5, delta=1e-6)
    >>> round(test.threshold / _STEPS, 3)
    27.245
    >>> test.passes(60.0, NoiseSource()), test.passes(-3.0, NoiseSource())
    (True, False)
    """

    epsilon: float

    def __post_init__(self) -> None:
        super().__post_init__()
        number("epsilon", self.epsilon, at_least=1e-6, at_most=100.0)

    @property
    def tradeoff(self) -> TradeoffFunction:
        return laplace(float(self.epsilon))

    @property
    def cost(self) -> None:
        return None

    @property
    def scale(self) -> float:
        """Scale of the noise in grid steps."""
        # two steps more: the curve of discrete Laplace noise lies that close to the continuous one's
        return laplace_scale(self.sensitivity + 2, self.epsilon)

    def _noise(self, source: NoiseSource) -> NDArray[np.int64]:
        return source.discrete_laplace(self.scale, 1)

    def _quantile(self) -> int:
        # P(L >= T) = t^T / (1 + t), t = e^{-1 / scale}
        log_odds = -math.log(self.delta) - math.log1p(math.exp(-1.0 / self.scale))
        return math.ceil(self.scale * log_odds * FAR_UP) + 1


@dataclass(frozen=True, kw_only=True)
class GaussianTest(DistanceTest):
    """A propose-test-release with rounded Gaussian noise. The bit is mu-GDP and composes with Gaussian releases exactly.

    delta: the largest chance of a pass where the condition fails. error: bound on the float error of a distance, in
    records. ValueError outside their ranges. docs/proofs/propose_test_release.md.

    In units of the distance, the threshold is 1 + Phi^-1(1 - delta) / mu. For small delta that is much lower than the
    threshold of the Laplace test for the same total guarantee.
    """

    mu: float

    def __post_init__(self) -> None:
        super().__post_init__()
        number("mu", self.mu, at_least=1e-6, at_most=100.0)

    @property
    def tradeoff(self) -> TradeoffFunction:
        return gaussian(float(self.mu))

    @property
    def cost(self) -> Cost:
        return Cost(Fraction(self.mu) ** 2)

    @property
    def scale(self) -> float:
        """Standard deviation of the noise in grid steps."""
        return noise_scale(self.sensitivity, math.nextafter(1.0 / self.mu, math.inf))

    def _noise(self, source: NoiseSource) -> NDArray[np.int64]:
        return source.rounded_gaussian(self.scale, 1)

    def _quantile(self) -> int:
        return math.ceil(-float(ndtri(self.delta)) * self.scale * FAR_UP) + 1


@dataclass(frozen=True, eq=False)
class EitherCase(TradeoffFunction):
    """The lower of two trade-off functions, convexified: every pair of neighbours satisfies one of them."""

    one: TradeoffFunction
    two: TradeoffFunction

    def _delta(self, epsilon: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.maximum(self.one._delta(epsilon), self.two._delta(epsilon))

    def inverse(self) -> TradeoffFunction:
        """The same with both functions inverted."""
        if self.one.symmetric and self.two.symmetric:
            return self
        return EitherCase(self.one.inverse(), self.two.inverse())

    def _pure_epsilon(self) -> float:
        return max(self.one._pure_epsilon(), self.two._pure_epsilon())
