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
from functools import lru_cache
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from prepriv._arguments import integer, number
from prepriv._arrays import Floats
from prepriv._rounding import DOWN, UP
from prepriv.guarantees.shuffling._binomial import Binomial, clones, half_pmf
from prepriv.guarantees.shuffling._clone_pair import DeltaBounds, clone_pair_bounds

_BLOCKS = 128  # of the number of uninformative blanket reports; gap of delta ~ 1e-2, of epsilon ~ 1e-4
_TAIL_ERROR = 1e-10  # relative error granted to binomial tails; measured 2e-13
_CHUNK = 1 << 16


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
    """Describe k-ary randomized response, for `shuffle`.

    Parameters
    ----------
    k : int
        At least 2 (2 gains nothing over epsilon0 alone).

    Returns
    -------
    KRandomizedResponse

    Notes
    -----
    Proof: docs/proofs/variation_ratio.md.

    Examples
    --------
    >>> from prepriv import guarantees as g
    >>> with_k = g.shuffle(2.0, 1000, randomizer=g.k_randomized_response(10))
    >>> with_k.epsilon(1e-6) < g.shuffle(2.0, 1000).epsilon(1e-6)
    True
    """
    return KRandomizedResponse(integer("k", k, at_least=2))


def local_laplace() -> LocalLaplace:
    """Describe Laplace noise of scale 1/epsilon0 on a number in [0, 1], for `shuffle`.

    Returns
    -------
    LocalLaplace

    Notes
    -----
    Proof: docs/proofs/variation_ratio.md.

    Examples
    --------
    >>> from prepriv import guarantees as g
    >>> g.shuffle(1.0, 1000, randomizer=g.local_laplace()).epsilon(1e-6) < 1.0
    True
    """
    return LocalLaplace()


def blanket(mass: float) -> Blanket:
    """Describe a randomizer by its blanket mass, for `shuffle`.

    Parameters
    ----------
    mass : float
        A lower bound of the mass, in [0, 1].

    Returns
    -------
    Blanket

    Notes
    -----
    Proof: docs/proofs/variation_ratio.md.

    Examples
    --------
    >>> from prepriv import guarantees as g
    >>> g.shuffle(1.0, 1000, randomizer=g.blanket(0.5)).epsilon(1e-6) < 1.0
    True
    """
    return Blanket(number("mass", mass, at_least=0.0, at_most=1.0))


@lru_cache(maxsize=4096)
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
    if share == 0.0:
        return DeltaBounds(0.0, 1e-300, 0.0)
    pure = -math.expm1(epsilon - epsilon0) / (1.0 + math.exp(-epsilon0))  # value at one user
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
        below, above = _mean_excess(clones(epsilon0, n), np.minimum(ends, n), offset, shift, log_tail)
        tail = math.exp(log_tail)
        above = np.minimum(scale * above + 4.0 * pure * tail, pure)
        # a block of one count needs no other end
        least_in_block = np.where(np.diff(ends) == 1, below[:-1], below[1:])
        least = scale * float(np.sum(weights * least_in_block)) * (1.0 - 1e-11)
        # z above the window counts as the first count there, z below it at the most there can be
        most = float(np.sum(weights * above[:-1])) * (1.0 + 1e-11) + 1e-13 * float(above[-1]) + pure * tail
        if tail * pure <= 1e-10 * least or least < 1e-290:
            break
        log_tail = math.log(1e-12 * least)
    upper = min(max(most, 1e-300), general.upper)
    return DeltaBounds(min(least, upper), upper, min(1.0, 3.0 * tail + 1e-13))


def _block_ends(others: Binomial, low: int, high: int) -> npt.NDArray[np.int64]:
    # starts of the blocks, and one past the last: closer where the mass is
    blocks = max(6, int(_BLOCKS * min(1.0, (1e4 / others.trials) ** 0.25)))
    if high - low < blocks:
        return np.arange(low, high + 2)
    spread = math.sqrt(2.0 * others.trials * others.p * others.q)
    inner = [others.means[0] + spread * NormalDist().inv_cdf(i / blocks) for i in range(1, blocks)]
    points = np.rint(np.clip(inner, low, high)).astype(np.int64)
    return np.unique(np.concatenate([[low], points, [high + 1]]))


def _mean_excess(
    law: Binomial, z: npt.NDArray[np.int64], offset: float, shift: float, log_tail: float
) -> tuple[Floats, Floats]:
    """Two-sided E (X - M/2 - offset M - shift z)_+ for each z (k,), over a window of M.

    M ~ Bin(law.trials - z, law.p), X ~ Bin(M, 1/2); what lies outside the window has mass 2 e^log_tail.
    """
    low = Binomial(law.trials - int(z[-1]), law.p, law.q).window(log_tail, log_tail)[0]
    largest = law.trials - int(z[0])
    high = Binomial(largest, law.p, law.q).window(log_tail, log_tail)[1]
    high = min(high + 1, largest)  # so that P[M >= high] is below the tail
    rows = max(1, _CHUNK // (high - low + 1))
    parts = [
        _excess_rows(law, low, high, z[i : i + rows].astype(np.float64), offset, shift)
        for i in range(0, len(z), rows)
    ]
    return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])


def _excess_rows(
    law: Binomial, low: int, high: int, z: Floats, offset: float, shift: float
) -> tuple[Floats, Floats]:
    m = np.arange(low, high + 1, dtype=np.float64)
    excess = offset * m + shift * z[:, None]  # threshold above m/2
    x = np.floor(0.5 * m) + np.floor(0.5 * np.mod(m, 2.0) + excess)
    size = np.broadcast_to(m, x.shape)
    at = np.where(x <= size, half_pmf(size, np.minimum(x, size)), 0.0)
    after = at * np.maximum(size - x, 0.0) / (x + 1.0)  # P[X = x + 1]
    middle = min(max(int(law.means[0]) - low, 0), high - low)
    tail = _tails(x, at, after, float(m[middle]), middle)
    error = _TAIL_ERROR * (tail + tail[:, middle : middle + 1])
    first = 0.5 * (x + 1.0) * after
    mass = law.pmf_rows(law.trials - z, low, high)
    above = np.maximum(first * UP - excess * np.maximum(tail - error, 0.0), 0.0)
    below = np.maximum(first * DOWN - excess * (tail + error), 0.0)
    return np.sum(mass * below, axis=1) * (1.0 - 1e-11), np.sum(mass * above, axis=1) * (1.0 + 1e-11)


def _tails(x: Floats, at: Floats, after: Floats, m: float, middle: int) -> Floats:
    # P[Bin(m, 1/2) > x]: summed at one m, then carried along by adding or taking away a coin
    step = np.where(np.diff(x, axis=1) == 0.0, 0.5 * at[:, :-1], -0.5 * after[:, :-1])
    start = _tails_at(m, x[:, middle])[:, None]
    forward = start + np.cumsum(step[:, middle:], axis=1)
    backward = start - np.cumsum(step[:, :middle][:, ::-1], axis=1)[:, ::-1]
    return np.maximum(np.concatenate([backward, start, forward], axis=1), 0.0)


def _tails_at(m: float, x: Floats) -> Floats:
    """P[Bin(m, 1/2) > x] for ascending whole x: sums of positive terms, the far tail left out."""
    first = float(x[0]) + 1.0
    last = min(m, float(x[-1]) + 1.0 + 20.0 * math.sqrt(m + 1.0))
    if first > m:
        return np.zeros(len(x))
    values = half_pmf(np.full(1, m), np.arange(first, last + 1.0))
    sums = np.append(np.cumsum(values[::-1])[::-1], 0.0)
    return sums[np.minimum(x - x[0], len(values)).astype(np.int64)]
