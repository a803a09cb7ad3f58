"""The choke point: every number that depends on private records and leaves a run leaves through a `Session`.

A session turns an exact integer sum into a noisy one and writes down what it did. The audit replaces it by
one that records and replays (audit/replay.py); a run without privacy uses `Exact`, and its artifact says so.
"""

from __future__ import annotations

import abc
import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from prepriv.mechanisms.exponential import ExponentialMechanism
from prepriv.mechanisms.lattice import CAPACITY, NOISE_REACH, gaussian_sum_release, laplace_scale
from prepriv.mechanisms.noise import NoiseSource
from prepriv.mechanisms.propose_test_release import GaussianTest, LaplaceTest
from prepriv.mechanisms.stability_histogram import StabilityHistogram

RELEASE_BITS = 20  # the integer sensitivity a release is coarsened to: the noise is then drawn fast


@dataclass(frozen=True)
class Release:
    """One call of a mechanism, by its name: what was asked. Holds nothing that depends on a record: 0 coordinates
    where their number does.

    sensitivity: L2, in grid steps. noise_multiplier: the noise's deviation over it."""

    name: str
    sensitivity: int
    noise_multiplier: float
    coordinates: int


def coarsen(total: NDArray[np.int64], sensitivity: int) -> tuple[NDArray[np.int64], int, int]:
    """Round a sum to a coarser grid: (sum, its integer sensitivity, how many bits were dropped).

    Rounding moves each coordinate's difference by less than one step, so the L2 sensitivity grows by at most
    sqrt(coordinates) coarse steps. A sum that wrapped modulo 2^64 leaves a residue modulo 2^(64 - bits
    dropped) (docs/proofs/lattice.md).
    """
    shift = max(0, int(sensitivity).bit_length() - RELEASE_BITS)
    if shift == 0:
        return total, int(sensitivity), 0
    rounded = (total + np.int64(1 << (shift - 1))) >> np.int64(shift)
    grown = -(-int(sensitivity) // (1 << shift)) + math.isqrt(total.size) + 1
    return rounded, grown, shift


def coarse_steps(coordinates: int) -> float:
    """How far `coarsen` moves two sums of so many coordinates apart, at most, over the declared sensitivity."""
    return (math.isqrt(coordinates) + 1) * 2.0 ** (1 - RELEASE_BITS)


def check_room(name: str, sensitivity: int, noise_multiplier: float, largest: int) -> None:
    """ValueError, from public numbers alone, unless a sum and 40 deviations of its noise stay below 2^62."""
    if int(largest) + NOISE_REACH * noise_multiplier * sensitivity >= CAPACITY:
        raise ValueError(
            f"the sum of {name} and its noise could overflow 64 bits; use fewer steps, a larger epsilon or a smaller n"
        )


class Session(abc.ABC):
    """Hands out noisy sums. `releases` lists the calls made, in order."""

    private: bool

    def __init__(self) -> None:
        self.releases: list[Release] = []

    def noisy_sum(
        self,
        name: str,
        total: NDArray[np.int64],
        sensitivity: int,
        noise_multiplier: float,
        *,
        exponent: int,
        largest: int,
    ) -> NDArray[np.float64]:
        """(total + Gaussian noise) * 2^exponent, with noise of noise_multiplier * sensitivity grid steps.

        total: exact integer sum, any shape, that moves by at most `sensitivity` (L2, grid steps) between
        neighbours. largest: a declared bound on the absolute value of each coordinate; it and the noise must
        stay below 2^62 (ValueError from public numbers alone, before any noise is drawn).
        """
        check_room(name, sensitivity, noise_multiplier, largest)
        coarse, grown, shift = coarsen(total, sensitivity)
        self.releases.append(Release(name, grown, noise_multiplier, int(total.size)))
        return self._draw(name, coarse, grown, noise_multiplier, exponent + shift, 64 - shift)

    def passes(self, name: str, distance: float, test: GaussianTest | LaplaceTest) -> bool:
        """The one bit of a propose-test-release: whether the noisy distance is above the test's threshold."""
        self.releases.append(Release(name, test.sensitivity, test.scale / test.sensitivity, 1))
        return self._passes(name, distance, test)

    def choose(
        self,
        name: str,
        mechanism: ExponentialMechanism,
        scores: NDArray[np.int64],
        *,
        counts: NDArray[np.int64] | None = None,
    ) -> int:
        """The candidate that the exponential mechanism chooses: its number among all copies, in order.

        scores, counts: as in `ExponentialMechanism.choose`. The set of all copies depends on no record.
        """
        copies = np.ones(len(scores), dtype=np.int64) if counts is None else counts
        self.releases.append(Release(name, mechanism.score_range, 1 / mechanism.mu, 1))
        return self._choose(name, mechanism, scores, copies)

    def common(self, name: str, mechanism: StabilityHistogram, counts: Mapping[str, int]) -> dict[str, float]:
        """The values whose noisy count passes the mechanism's threshold, with that count, in the order of the names."""
        self.releases.append(Release(name, mechanism.sensitivity, mechanism.noise_multiplier, 0))
        return self._common(name, mechanism, counts)

    def pure_sum(
        self, name: str, total: NDArray[np.int64], sensitivity: int, epsilon: float, *, largest: int
    ) -> NDArray[np.int64]:
        """total + discrete Laplace noise, whole numbers: epsilon-DP where `total` moves by at most `sensitivity` (L1).

        largest: a declared bound on the absolute value of each coordinate; it and the noise must stay below 2^62.
        """
        check_room(name, sensitivity, 1 / epsilon, largest)
        self.releases.append(Release(name, sensitivity, 1 / epsilon, int(total.size)))
        return self._pure(name, np.asarray(total), sensitivity, epsilon)

    def batch_source(self) -> NoiseSource:
        """Where random batches are drawn from: as unpredictable as the noise. An audit freezes it."""
        return NoiseSource()

    @abc.abstractmethod
    def _draw(
        self,
        name: str,
        total: NDArray[np.int64],
        sensitivity: int,
        noise_multiplier: float,
        exponent: int,
        bits: int,
    ) -> NDArray[np.float64]:
        """The noisy sum; `total` stands for a residue modulo 2^bits."""

    @abc.abstractmethod
    def _passes(self, name: str, distance: float, test: GaussianTest | LaplaceTest) -> bool: ...

    def _choose(
        self,
        name: str,
        mechanism: ExponentialMechanism,
        scores: NDArray[np.int64],
        copies: NDArray[np.int64],
    ) -> int:
        raise TypeError(f"{type(self).__name__} answers no exponential mechanism")

    def _common(
        self, name: str, mechanism: StabilityHistogram, counts: Mapping[str, int]
    ) -> dict[str, float]:
        raise TypeError(f"{type(self).__name__} answers no stability histogram")

    def _pure(
        self, name: str, total: NDArray[np.int64], sensitivity: int, epsilon: float
    ) -> NDArray[np.int64]:
        raise TypeError(f"{type(self).__name__} answers no pure sum")


def candidate(choice: tuple[int, int], copies: NDArray[np.int64]) -> int:
    """The number, among all copies in order, of copy j of candidate i, for choice = (i, j)."""
    return int(copies[: choice[0]].sum()) + choice[1]


class NoisySession(Session):
    """The real one: exact Gaussian noise from a `NoiseSource`."""

    def __init__(self, source: NoiseSource | None = None) -> None:
        super().__init__()
        self._source = source or NoiseSource()
        self.private = self._source.private

    def _draw(
        self,
        name: str,
        total: NDArray[np.int64],
        sensitivity: int,
        noise_multiplier: float,
        exponent: int,
        bits: int,
    ) -> NDArray[np.float64]:
        return gaussian_sum_release(
            total, sensitivity, noise_multiplier, self._source, exponent=exponent, bits=bits
        )

    def _passes(self, name: str, distance: float, test: GaussianTest | LaplaceTest) -> bool:
        return test.passes(distance, self._source)

    def _choose(
        self,
        name: str,
        mechanism: ExponentialMechanism,
        scores: NDArray[np.int64],
        copies: NDArray[np.int64],
    ) -> int:
        return candidate(mechanism.choose(scores, self._source, counts=copies), copies)

    def _common(
        self, name: str, mechanism: StabilityHistogram, counts: Mapping[str, int]
    ) -> dict[str, float]:
        return mechanism.release(counts, self._source)

    def _pure(
        self, name: str, total: NDArray[np.int64], sensitivity: int, epsilon: float
    ) -> NDArray[np.int64]:
        noise = self._source.discrete_laplace(laplace_scale(sensitivity, epsilon), total.size)
        return np.asarray(total + noise.reshape(total.shape))


class SpentError(RuntimeError):
    """More was asked of a mechanism than its share of the budget pays for. Names the step only."""


class Metered(Session):
    """A session that pays for so much and no more: each release is counted before anything is drawn.

    mu_squared: what the releases may add up to; a release of noise multiplier z costs 1 / z^2. delta: the same, of
    releases that have one.
    """

    def __init__(self, session: Session, name: str, mu_squared: float, delta: float = 0.0) -> None:
        super().__init__()
        self._session, self._name = session, name
        self._left = Fraction(mu_squared) * (1 + Fraction(1, 10**9))
        self._delta_left = Fraction(delta) * (1 + Fraction(1, 10**9))
        self.private = session.private
        self.releases = session.releases

    def _spend(self, mu_squared: Fraction, delta: Fraction = Fraction(0)) -> None:
        if mu_squared > self._left or delta > self._delta_left:
            raise SpentError(f"{self._name} asked for more releases than its share of the budget pays for")
        self._left -= mu_squared
        self._delta_left -= delta

    def noisy_sum(
        self,
        name: str,
        total: NDArray[np.int64],
        sensitivity: int,
        noise_multiplier: float,
        *,
        exponent: int,
        largest: int,
    ) -> NDArray[np.float64]:
        if not noise_multiplier > 0:
            raise SpentError(f"{self._name} asked for a release without noise")
        self._spend(1 / Fraction(noise_multiplier) ** 2)
        return self._session.noisy_sum(
            name, total, sensitivity, noise_multiplier, exponent=exponent, largest=largest
        )

    def passes(self, name: str, distance: float, test: GaussianTest | LaplaceTest) -> bool:
        if not isinstance(test, GaussianTest):
            raise SpentError(f"{self._name} asked for a test that no share of a Gaussian budget pays for")
        self._spend(Fraction(test.mu) ** 2)
        return self._session.passes(name, distance, test)

    def choose(
        self,
        name: str,
        mechanism: ExponentialMechanism,
        scores: NDArray[np.int64],
        *,
        counts: NDArray[np.int64] | None = None,
    ) -> int:
        self._spend(Fraction(mechanism.mu) ** 2)
        return self._session.choose(name, mechanism, scores, counts=counts)

    def common(self, name: str, mechanism: StabilityHistogram, counts: Mapping[str, int]) -> dict[str, float]:
        self._spend(1 / Fraction(mechanism.noise_multiplier) ** 2, Fraction(mechanism.delta))
        return self._session.common(name, mechanism, counts)

    def batch_source(self) -> NoiseSource:
        return self._session.batch_source()

    def _draw(
        self,
        name: str,
        total: NDArray[np.int64],
        sensitivity: int,
        noise_multiplier: float,
        exponent: int,
        bits: int,
    ) -> NDArray[np.float64]:
        raise TypeError("a metered session draws through the one it counts for")

    def _passes(self, name: str, distance: float, test: GaussianTest | LaplaceTest) -> bool:
        raise TypeError("a metered session tests through the one it counts for")


class ExactSession(Session):
    """No noise: for a run without privacy (epsilon = inf). Nothing it releases is private."""

    private = False

    def _draw(
        self,
        name: str,
        total: NDArray[np.int64],
        sensitivity: int,
        noise_multiplier: float,
        exponent: int,
        bits: int,
    ) -> NDArray[np.float64]:
        return np.ldexp(total.astype(np.float64), exponent)

    def _passes(self, name: str, distance: float, test: GaussianTest | LaplaceTest) -> bool:
        return True

    def _choose(
        self,
        name: str,
        mechanism: ExponentialMechanism,
        scores: NDArray[np.int64],
        copies: NDArray[np.int64],
    ) -> int:
        there = copies > 0
        best = int(np.flatnonzero(there & (scores == scores[there].max()))[0])
        return candidate((best, (int(copies[best]) - 1) // 2), copies)
