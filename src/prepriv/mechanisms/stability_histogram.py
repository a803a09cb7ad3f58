"""Counts of values that nobody declared: only those whose noisy count passes a threshold leave.

Stability histogram (Korolova, Kenthapadi, Mishra and Ntoulas 2009; Vadhan 2017, Theorem 3.5), with Gaussian noise.
Proof under both adjacencies: docs/proofs/stability_histogram.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from prepriv._arguments import length, number
from prepriv._rounding import CLOSE_UP, FAR_UP
from prepriv.adjacency import Adjacency, check_adjacency
from prepriv.guarantees.families import approximate_dp, gaussian
from prepriv.guarantees.tradeoff import TradeoffFunction
from prepriv.mechanisms._counts import COUNT_BITS, count_sensitivity
from prepriv.mechanisms.lattice_noise import noise_scale
from prepriv.mechanisms.mechanism import Cost, Mechanism
from prepriv.mechanisms.noise import NoiseSource


@dataclass(frozen=True, kw_only=True)
class StabilityHistogram(Mechanism):
    """Noisy counts of the values that occur. Counts below a threshold are left out.

    noise_multiplier: the standard deviation of the noise divided by the L2 sensitivity of the counts. delta: in (0,
    0.25], the chance that a value which only one record has is shown. adjacency: what neighbours are. The names that
    pass are released with their noisy counts. Values that do not occur cannot pass, so they need no noise. ValueError
    outside these ranges.

    >>> mechanism = StabilityHistogram(noise_multiplier=1.0, delta=1e-6, adjacency="add-or-remove-one")
    >>> round(mechanism.least, 2)
    5.75
    >>> list(mechanism.release({"rare": 1, "common": 1000}, NoiseSource.for_tests(0)))
    ['common']
    """

    noise_multiplier: float
    delta: float
    adjacency: Adjacency

    def __post_init__(self) -> None:
        length("noise_multiplier", self.noise_multiplier)
        number("delta", self.delta, above=0.0, at_most=0.25)
        check_adjacency(self.adjacency)

    @property
    def cost(self) -> Cost | None:
        return Cost.of_noise(self.noise_multiplier, self.delta)

    @property
    def reach(self) -> int:
        return self.sensitivity

    def perform(self, exact: Mapping[str, int], source: NoiseSource) -> dict[str, float]:
        return self.release(exact, source)

    def recorded(self, exact: Mapping[str, int]) -> dict[str, int]:
        return dict(exact)

    def moved_squared(self, one: Mapping[str, int], two: Mapping[str, int]) -> int:
        return sum((one.get(v, 0) - two.get(v, 0)) ** 2 for v in {**one, **two}) << 2 * COUNT_BITS

    @property
    def sensitivity(self) -> int:
        """L2 sensitivity of the counts in grid steps."""
        return count_sensitivity(self.adjacency)

    @property
    def threshold(self) -> int:
        """The threshold in grid steps: the count of one record, plus what noise exceeds with a chance of at most delta."""
        # P(round(N) >= q) <= P(N >= q - 1)
        scale = noise_scale(self.sensitivity, self.noise_multiplier)
        return (1 << COUNT_BITS) + math.ceil(-float(ndtri(self.delta)) * scale * FAR_UP) + 1

    @property
    def least(self) -> float:
        """The threshold in records."""
        return math.ldexp(float(self.threshold), -COUNT_BITS)

    @property
    def tradeoff(self) -> TradeoffFunction:
        """The trade-off function of the whole release: the Gaussian curve for the common values, and delta once."""
        mu = 1 / self.noise_multiplier * CLOSE_UP
        return gaussian(mu).compose(approximate_dp(0.0, self.delta))

    def release(self, counts: Mapping[str, int], source: NoiseSource) -> dict[str, float]:
        """The names that pass and their noisy counts, sorted by name, never in the order in which they appear.

        counts: how often each value occurs. A record counts for at most one value.
        """
        names = sorted(name for name, count in counts.items() if count > 0)
        exact = np.array([counts[name] for name in names], dtype=np.int64) << COUNT_BITS
        noise = source.rounded_gaussian(noise_scale(self.sensitivity, self.noise_multiplier), len(names))
        noisy, threshold = exact + noise, self.threshold
        return {
            name: math.ldexp(float(steps), -COUNT_BITS)
            for name, steps in zip(names, noisy.tolist())
            if steps >= threshold
        }
