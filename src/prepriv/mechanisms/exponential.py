"""The exponential mechanism over finitely many candidates, drawn exactly from integer weights.

Proof: docs/proofs/exponential.md (privacy of the rounded law, bounded range, Gaussian equivalent).
"""

from __future__ import annotations

import bisect
import itertools
import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from prepriv._arguments import integer, number
from prepriv.guarantees.tradeoff import TradeoffFunction
from prepriv.mechanisms._bounded_range import BoundedRange, bounded_range_epsilon, bounded_range_mu
from prepriv.mechanisms._precision import context
from prepriv.mechanisms.mechanism import Cost, Mechanism
from prepriv.mechanisms.noise import NoiseSource

WEIGHT_BITS = 208  # weight of the best candidate; the least weight keeps 80 of them
_REACH = 128 * math.log(2.0)  # candidates this many nats below the best all count as this far below
_EXTRA_BITS = 80  # beyond the total weight and the counts, for the uniform that chooses
_RESERVE = Fraction(1, 2**30)  # share of epsilon kept for all rounding


@dataclass(frozen=True, eq=False)
class Scores:
    """The private values of an exponential mechanism, as `ExponentialMechanism.choose` takes them.

    values: the scores, int64, (m,). copies: how many of each candidate, int64, (m,). The set of all copies must not
    depend on any record.
    """

    values: NDArray[np.int64]
    copies: NDArray[np.int64]

    @classmethod
    def single(cls, values: NDArray[np.int64]) -> Scores:
        """One copy of each candidate."""
        return cls(values, np.ones(len(values), dtype=np.int64))

    def place(self, number: int) -> tuple[int, int]:
        """(candidate, copy) for a number among all copies in order."""
        ends = np.cumsum(self.copies)
        candidate = int(np.searchsorted(ends, number, side="right"))
        return candidate, number - int(ends[candidate] - self.copies[candidate])


@dataclass(frozen=True)
class ExponentialMechanism(Mechanism):
    """Chooses candidate i with probability in proportion to exp(epsilon * score_i / score_range).

    score_range: a positive integer R. Between neighbouring data sets the changes of all scores must lie in an
    interval of length R. That is twice the sensitivity of a single score, or once if one record moves all scores in
    the same direction. The choice then has epsilon-bounded range (so it is epsilon-DP and `mu`-GDP), with all
    rounding included. If only the best candidate is wanted, this is better than noise on every score.

    ValueError for an epsilon outside 2^-20 to 100, or a range that is not a whole number. docs/proofs/exponential.md.

    >>> mechanism = ExponentialMechanism(epsilon=2.0, score_range=2)
    >>> mechanism.choose(np.array([10, 30, 29]), NoiseSource.for_tests(1))[0]
    1
    """

    epsilon: float
    score_range: int

    def __post_init__(self) -> None:
        number("epsilon", self.epsilon, at_least=2.0**-20, at_most=100.0)
        integer("score_range", self.score_range)

    @classmethod
    def of_gdp(cls, mu: float, score_range: int) -> ExponentialMechanism:
        """The mechanism that costs as much as one Gaussian release of noise multiplier 1 / mu."""
        return cls(bounded_range_epsilon(mu), score_range)

    @property
    def mu(self) -> float:
        """The mechanism is mu-GDP with this mu: the smallest one that holds, rounded up."""
        return bounded_range_mu(self.epsilon)

    @property
    def tradeoff(self) -> TradeoffFunction:
        """Its trade-off function: the exact curve for bounded range."""
        return BoundedRange(float(self.epsilon))

    @property
    def cost(self) -> Cost:
        return Cost(Fraction(self.mu) ** 2)

    @property
    def reach(self) -> int:
        return self.score_range

    def perform(self, exact: Scores, source: NoiseSource) -> int:
        """The number of the chosen candidate among all copies, in order."""
        i, j = self.choose(exact.values, source, counts=exact.copies)
        return int(exact.copies[:i].sum()) + j

    def noiseless(self, exact: Scores) -> int:
        """The middle copy of the first candidate with the best score."""
        there = exact.copies > 0
        best = int(np.flatnonzero(there & (exact.values == exact.values[there].max()))[0])
        return int(exact.copies[:best].sum()) + (int(exact.copies[best]) - 1) // 2

    def recorded(self, exact: Scores) -> Scores:
        return Scores(exact.values.copy(), exact.copies.copy())

    def moved_squared(self, one: Scores, two: Scores) -> int:
        """The square of the largest difference between the movements of two candidates' scores."""
        # Scores are compared wherever a group of either data set ends: candidates are public, groups are not.
        ends = [np.cumsum(scores.copies) for scores in (one, two)]
        last = np.union1d(*ends) - 1
        of = [s.values[np.searchsorted(e, last[last >= 0], side="right")] for s, e in zip((one, two), ends)]
        moves = [int(a) - int(b) for a, b in zip(*of)]
        return (max(moves) - min(moves)) ** 2 if moves else 0

    def choose(
        self,
        scores: NDArray[np.int64],
        source: NoiseSource,
        *,
        counts: NDArray[np.int64] | None = None,
    ) -> tuple[int, int]:
        """(i, j): candidate i, and copy j of its counts[i] copies with the same score, 0 <= j < counts[i].

        scores: int64, shape (m,). counts: int64, shape (m,), at least 0 and below 2^62 in total (default: one copy
        each). The privacy claim treats the copies as candidates. So the counts may depend on the data if the set of
        all copies does not. It draws a fixed number of random words. ValueError for other shapes or types, or if
        there is no copy at all.
        """
        shortfall, copies = _candidates(scores, counts)
        weights = self._weights(np.unique(shortfall))
        # candidates in order; the weight of one copy of each, and the running total over all copies
        one = [weights[int(a)] for a in shortfall]
        running = list(itertools.accumulate(w * int(c) for w, c in zip(one, copies)))
        words = -(-(WEIGHT_BITS + 62 + _EXTRA_BITS) // 64)
        uniform = int.from_bytes(source.uint64(words).tobytes(), "little")
        target = (uniform * running[-1]) >> (64 * words)
        i = bisect.bisect_right(running, target)
        return i, (target - (running[i - 1] if i else 0)) // one[i]

    def _weights(self, shortfalls: NDArray[np.uint64]) -> dict[int, int]:
        """floor(2^208 exp(-rate * shortfall)) for scores that much below the best, the shortfall capped."""
        rate = Fraction(float(self.epsilon)) * (1 - _RESERVE) / int(self.score_range)
        furthest = int(Fraction(_REACH) / rate)
        precise = context(WEIGHT_BITS + 64)
        slope = -precise.mpf(rate.numerator) / rate.denominator
        cache: dict[int, int] = {}
        for a in shortfalls.tolist():
            near = min(a, furthest)
            if near not in cache:
                cache[near] = int(precise.floor(precise.exp(slope * near) * 2**WEIGHT_BITS))
            cache[a] = cache[near]
        return cache


def _candidates(
    scores: NDArray[np.int64], counts: NDArray[np.int64] | None
) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """How far each score is below the best that has a copy (0 for one above it without), and the counts."""
    scores = np.asarray(scores)
    copies = np.ones(scores.shape, dtype=np.int64) if counts is None else np.asarray(counts)
    if scores.dtype != np.int64 or scores.ndim != 1 or not len(scores):
        raise ValueError(
            f"scores: got {scores.dtype} of shape {scores.shape}, need int64 of shape (m,), m >= 1"
        )
    if copies.dtype != np.int64 or copies.shape != scores.shape:
        raise ValueError(
            f"counts: got {copies.dtype} of shape {copies.shape}, need int64 of shape {scores.shape}"
        )
    total = sum(copies.tolist())
    if copies.min() < 0 or not 0 < total < 2**62:
        raise ValueError("counts: need numbers >= 0 with a total from 1 to 2^62 - 1")
    best = scores[copies > 0].max()
    # unsigned arithmetic modulo 2^64: exact for any two int64
    shortfall = best.astype(np.uint64) - np.minimum(scores, best).astype(np.uint64)
    return shortfall, copies
