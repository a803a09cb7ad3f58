"""Tighter shuffling bounds for randomizers of which more than epsilon0 is known: their blanket.

If every report is, with probability b, drawn from one law whatever the data (the blanket: the
smallest density over all inputs), the shuffled divergence is at most (1/n) E (Y_1 + ... + Y_n)_+ for
independent Y_i with four values. k-ary randomized response has b = k / (e^eps0 + k - 1), Laplace
noise on [0, 1] has b = e^{-eps0/2}. Proof: docs/proofs/variation_ratio.md. The two-coordinate
"variation-ratio" pair of the literature is not used: it under-reports delta for k >= 4.
"""

from __future__ import annotations

import abc
import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from prepriv.guarantees._binomial import Binomial, clones, half_pmf, running_sum
from prepriv.guarantees._clone_pair import DeltaBounds, clone_pair_bounds
from prepriv.guarantees.arguments import FloatArray, integer, number

_BLOCKS = 128  # of the number of uninformative blanket reports; gap of delta ~ 1e-2, of epsilon ~ 1e-4
_TAIL_ERROR = 1e-10  # relative error granted to binomial tails; measured 2e-13


class LocalRandomizer(abc.ABC):
    """What is known of a pure-DP local randomizer besides its epsilon0."""

    @abc.abstractmethod
    def signal(self, epsilon0: float) -> float:
        """1 - blanket mass, rounded up: the part of a report that may depend on the data."""


@dataclass(frozen=True)
class KRandomizedResponse(LocalRandomizer):
    """Report one of k categories, the true one e^epsilon0 times as likely as each other one."""

    k: int

    def signal(self, epsilon0: float) -> float:
        """(e^eps0 - 1)/(e^eps0 + k - 1)."""
        return -math.expm1(-epsilon0) / (1.0 + (self.k - 1) * math.exp(-epsilon0)) * (1.0 + 1e-15)


@dataclass(frozen=True)
class LocalLaplace(LocalRandomizer):
    """Report x + Laplace(1/epsilon0) for a number x in [0, 1] (for a range of width r: noise r/epsilon0)."""

    def signal(self, epsilon0: float) -> float:
        """1 - e^{-eps0/2}: the smallest density over [0, 1] is e^{-eps0/2} times Laplace around 1/2."""
        return -math.expm1(-0.5 * epsilon0) * (1.0 + 1e-15)


@dataclass(frozen=True)
class Blanket(LocalRandomizer):
    """A declared blanket: mass = integral of the smallest density over all inputs."""

    mass: float

    def signal(self, epsilon0: float) -> float:
        """1 - mass."""
        return 1.0 - self.mass


def k_randomized_response(k: int) -> KRandomizedResponse:
    """k-ary randomized response, k >= 2 (k = 2 gains nothing over epsilon0 alone)."""
    return KRandomizedResponse(integer("k", k, at_least=2))


def local_laplace() -> LocalLaplace:
    """Laplace noise of scale 1/epsilon0 on a number in [0, 1]."""
    return LocalLaplace()


def blanket(mass: float) -> Blanket:
    """A randomizer with blanket mass at least `mass`, in [0, 1]."""
    return Blanket(number("mass", mass, at_least=0.0, at_most=1.0))


def blanket_bounds(epsilon0: float, n: int, signal: float, epsilon: float) -> DeltaBounds:
    """Two-sided (1/n) E (Y_1 + ... + Y_n)_+ at 0 <= epsilon < epsilon0; upper is at most the clone pair's.

    With p = e^eps0, E = e^eps, a = signal/(p - 1): Y = p - E or 1 - pE with probability a each, 1 - E
    with probability 1 - signal - 2a, else 0. Given the number z of the third kind, the others are the
    clone pair's, and the mean does not increase in z: blocks of z are replaced by their ends.
    """
    general = clone_pair_bounds(epsilon0, n, epsilon)
    share = min(signal / math.tanh(0.5 * epsilon0), 1.0)  # of reports that are not of the third kind
    if share == 1.0 or epsilon0 > 600.0:
        return general
    pure = -math.expm1(epsilon - epsilon0) / (1.0 + math.exp(-epsilon0))
    # (p - 1)(1 + E)/n times the mean excess of the first coordinate over its threshold
    scale = math.expm1(epsilon0) * (1.0 + math.exp(epsilon)) / n
    offset = 0.5 * math.tanh(0.5 * epsilon) / math.tanh(0.5 * epsilon0)
    shift = math.tanh(0.5 * epsilon) / math.expm1(epsilon0)
    others = Binomial(n, 1.0 - share, share)
    log_tail = math.log(1e-13 * max(general.lower, 1e-290))
    while True:
        low, high = others.window(log_tail, math.log(1e-13))
        ends = _block_ends(others, low, high)
        weights = np.add.reduceat(others.pmf(low, high), ends[:-1] - low)
        least, most = 0.0, 0.0
        left_out = 4.0 * pure * math.exp(log_tail)  # of the inner sums, at most
        below = above = 0.0
        for i, z in enumerate(ends.tolist()):
            one = i > 0 and z == ends[i - 1] + 1  # a block of one count: its own value is the lower bound
            before = below
            below, above = _mean_excess(clones(epsilon0, max(n - z, 0)), offset, shift * z, log_tail)
            if i < len(weights):
                most += float(weights[i]) * min(scale * above + left_out, pure)
            if i > 0:
                least += float(weights[i - 1]) * scale * (before if one else below)
        # z above the window counts as the first count there, z below it at the most there can be
        most = most * (1.0 + 1e-11) + 1e-13 * min(scale * above + left_out, pure) + pure * math.exp(log_tail)
        if math.exp(log_tail) * pure <= 1e-10 * least or least < 1e-290:
            break
        log_tail = math.log(1e-12 * least)
    upper = min(max(most, 1e-300), general.upper)
    return DeltaBounds(min(least * (1.0 - 1e-11), upper), upper, min(1.0, 2.0 * math.exp(log_tail) + 1e-13))


def _block_ends(others: Binomial, low: int, high: int) -> np.ndarray:
    # starts of the blocks, and one past the last: closer where the mass is
    blocks = max(12, int(_BLOCKS * min(1.0, 1e3 / math.sqrt(others.trials))))
    if high - low < blocks:
        return np.arange(low, high + 2)
    spread = math.sqrt(2.0 * others.trials * others.p * others.q)
    inner = [others.means[0] + spread * NormalDist().inv_cdf(i / blocks) for i in range(1, blocks)]
    points = np.rint(np.clip(inner, low, high)).astype(np.int64)
    return np.unique(np.concatenate([[low], points, [high + 1]]))


def _mean_excess(count: Binomial, offset: float, shift: float, log_tail: float) -> tuple[float, float]:
    """Two-sided sum over the window of P[M] E (X - theta M - shift)_+, X ~ Bin(M, 1/2), M ~ count."""
    low, high = count.window(log_tail, log_tail)
    m = np.arange(low, high + 1, dtype=np.float64)
    odd = 0.5 * np.mod(m, 2.0)
    excess = offset * m + shift  # threshold above m/2
    x = np.floor(0.5 * m) + np.floor(odd + excess)
    inside = x <= m
    at = np.where(inside, half_pmf(m, np.minimum(x, m)), 0.0)
    after = at * np.maximum(m - x, 0.0) / (x + 1.0)
    tail = _tails(m, x, at, after, min(max(int(count.means[0]) - low, 0), high - low))
    error = _TAIL_ERROR * (tail + tail[len(m) // 2])
    first = 0.5 * (x + 1.0) * after
    mass = count.pmf(low, high)
    above = float(
        np.sum(mass * np.maximum(first * (1.0 + 1e-12) - excess * np.maximum(tail - error, 0.0), 0.0))
    )
    below = float(np.sum(mass * np.maximum(first * (1.0 - 1e-12) - excess * (tail + error), 0.0)))
    return below * (1.0 - 1e-11), above * (1.0 + 1e-11)


def _tails(m: FloatArray, x: FloatArray, at: FloatArray, after: FloatArray, anchor: int) -> FloatArray:
    # P[Bin(m, 1/2) > x(m)]: summed at one m, then carried along by adding a coin at a time
    step = np.where(np.diff(x) == 0.0, 0.5 * at[:-1], -0.5 * after[:-1])
    start = _one_tail(float(m[anchor]), float(x[anchor]))
    forward = start + running_sum(step[anchor:])
    backward = start - running_sum(step[:anchor][::-1])[::-1]
    return np.maximum(np.concatenate([backward, [start], forward]), 0.0)


def _one_tail(m: float, x: float) -> float:
    width = max(64, int(math.sqrt(m)))
    total, start = 0.0, x + 1.0
    while start <= m:
        part = float(np.sum(half_pmf(np.full(1, m), np.arange(start, min(start + width, m + 1.0)))))
        total += part
        start += width
        if part <= 1e-17 * total:
            break
    return total
