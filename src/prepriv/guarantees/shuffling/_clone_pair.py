"""Hockey-stick divergence of the clone pair, exact up to a certified two-sided rounding.

H = k sum_c P[C = c] h_c, h_c = sum_x (b_c(x - 1) - tau b_c(x))_+, b_c(x) = C(c, x) 2^-c,
tau = theta / (1 - theta), C ~ Bin(n - 1, p). Both the exact value of the dominating pair and
Theorem 4.2 of Unified Enhancement of Privacy Bounds have this form; they differ in k and theta. h_c does not increase in c, so
H is summed by parts: all terms are positive, nothing cancels. docs/proofs/shuffling.md, section 3.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from prepriv._arrays import Floats
from prepriv.guarantees.shuffling._binomial import Binomial, clones, half_pmf, two_product

PAIR_SLACK = 1e-11  # rounding, at most 2.1e-13 in 66,000 comparisons with exact integers
SMALLEST = 1e-300
_CHUNK = 1 << 15
_LARGEST_WINDOW = 1 << 21  # beyond it: bracket the whole window by its two ends
_REACH = 10**12  # n beyond it is evaluated here (the divergence does not increase in n)


@dataclass(frozen=True)
class DeltaBounds:
    """lower <= delta <= upper; truncated_mass: probability of the clone counts left out of the sum.

    What was left out is included in `upper` at its largest possible value.
    """

    lower: float
    upper: float
    truncated_mass: float


@dataclass(frozen=True)
class Threshold:
    """The line theta (c + 1): theta = 1/2 + offset, complement = 1 - theta, both relatively accurate."""

    offset: float
    complement: float

    def split(self, size: Floats) -> tuple[Floats, Floats, Floats]:
        """x = floor(theta size), s = theta size - x and 1 - s, each with small relative error.

        size: whole numbers >= 1. s near 0 or 1 decides single terms of the sum, hence the care.
        """
        if self.offset < 0.25:
            high, low = two_product(self.offset, size)
            whole = np.floor(high)
            part = high - whole
            odd = np.mod(size, 2.0) == 1.0
            over = odd & (part >= 0.5)
            s = np.where(odd, np.where(over, part - 0.5, part + 0.5), part)
            t = np.where(odd, np.where(over, 1.5 - part, 0.5 - part), 1.0 - part)
            x = np.floor(0.5 * size) + whole + over
            s, t = s + low, t - low
        else:
            high, low = two_product(self.complement, size)
            up = np.ceil(high)
            s, t = up - high, high - (up - 1.0)
            x = size - up
            s, t = s - low, t + low
        below, above = s < 0.0, t <= 0.0
        x = x - below + above
        s, t = (
            np.where(below, 1.0 + s, np.where(above, -t, s)),
            np.where(below, -s, np.where(above, 1.0 + t, t)),
        )
        return x, s, t


@lru_cache(maxsize=4096)
def clone_pair_bounds(epsilon0: float, n: int, epsilon: float) -> DeltaBounds:
    """H_{e^epsilon}(P || Q) of the clone pair of n users, 0 <= epsilon < epsilon0: no inequality in it."""
    drop = -math.expm1(epsilon - epsilon0)
    scale = drop / (1.0 + math.exp(-epsilon0))  # (1-w) - w e^eps
    if epsilon0 < 1e-200:
        return DeltaBounds(0.0, scale, 0.0)  # floats end here; the trivial bound costs nothing
    offset = 0.5 * math.tanh(0.5 * epsilon) / math.tanh(0.5 * epsilon0)
    shrink = math.exp(-epsilon)
    complement = shrink * drop / (-math.expm1(-epsilon0) * (1.0 + shrink))
    return hockey_stick(clones(epsilon0, n - 1), scale, Threshold(offset, complement))


@lru_cache(maxsize=4096)
def joint_concavity_bounds(epsilon0: float, n: int, epsilon: float) -> DeltaBounds:
    """(1-2w) H_tau(P0 || Q0), tau = (e^eps - 2w)/(1 - 2w): Corollary 4.3 of Unified Enhancement of Privacy Bounds with the right t."""
    scale = math.tanh(0.5 * epsilon0)  # 1 - 2w
    if epsilon0 < 1e-200:
        return DeltaBounds(0.0, scale, 0.0)
    shrink, drop = math.exp(-epsilon), -math.expm1(-epsilon)
    total = 2.0 * scale * shrink + drop
    line = Threshold(0.5 * drop / total, scale * shrink / total)
    return hockey_stick(clones(epsilon0, n - 1), scale, line)


def hockey_stick(count: Binomial, scale: float, line: Threshold) -> DeltaBounds:
    """H for C ~ count, k = scale, theta from line. O(sqrt(trials)) time, bounded memory."""
    if count.trials > _REACH:
        far = hockey_stick(Binomial(_REACH, count.p, count.q), scale, line)
        return DeltaBounds(0.0, far.upper, 1.0)
    if line.complement * (count.trials + 1) <= 1.0:
        # only x = c + 1 has a positive term, for every c: H = k E 2^-C
        value = scale * math.exp(count.trials * math.log1p(-0.5 * count.p)) if count.trials else scale
        return _rounded(value, value, scale, 0.0)
    log_lower, log_upper = math.log(1e-13 * _first_term(count, line)), math.log(1e-13)
    while True:
        low, high = count.window(log_lower, log_upper)
        below = math.exp(log_lower) if low > 0 else 0.0
        above = math.exp(log_upper) if high < count.trials else 0.0
        if high - low > _LARGEST_WINDOW:
            least, most = _tail(high, line)[0] * (1.0 - above), _tail(low, line)[1] + below
        else:
            last, last_up = _tail(high + 1, line) if high < count.trials else _tail(high, line)
            inner = _summed_by_parts(count, low, high, line)
            least, most = inner + last * (1.0 - above), inner + last_up + below
        if below <= 1e-13 * least or least < 1e-290:
            return _rounded(scale * least, scale * most, scale, below + above)
        log_lower = math.log(1e-14 * least)


def _rounded(least: float, most: float, scale: float, truncated: float) -> DeltaBounds:
    upper = min(max(most * (1.0 + PAIR_SLACK), SMALLEST), scale * (1.0 + 1e-14), 1.0)
    return DeltaBounds(min(least / (1.0 + PAIR_SLACK), upper), upper, truncated)


def _first_term(count: Binomial, line: Threshold) -> float:
    # a rough size of H / k, only to choose the first window
    c = np.array([math.floor(count.means[0])], dtype=np.float64)
    x, _, t = line.split(c + 1.0)
    return max(float((half_pmf(c, x) * t / (line.complement * (x + 1.0)))[0]), 1e-290)


def _summed_by_parts(count: Binomial, low: int, high: int, line: Threshold) -> float:
    # sum over c in [low, high] of P[low <= C <= c] (h_c - h_{c+1}); at c = trials h_{c+1} is kept by
    # the caller, so that term is left out there
    stop = high + 1 if high < count.trials else high
    weight = count.cumulative(low, high)
    parts = []
    for start in range(low, stop, _CHUNK):
        c = np.arange(start, min(start + _CHUNK, stop), dtype=np.float64)
        x, s, t = line.split(c + 1.0)
        drop = np.minimum(s / (c + 1.0 - x), t / (x + 1.0)) * half_pmf(c, x)
        parts.append(float(np.sum(drop * weight[start - low : start - low + len(c)])))
    return math.fsum(parts) * 0.5 / line.complement


def _tail(c: int, line: Threshold) -> tuple[float, float]:
    """h_c by direct summation of positive terms: the sum, and the sum with a bound of what is left."""
    size = np.array([c + 1.0])
    x, _, t = (float(part[0]) for part in line.split(size))
    step = min(max(64, int(math.sqrt(c))), 1 << 17)
    total, start = 0.0, x
    while True:
        a = np.arange(start, min(start + step, c + 1.0))
        mass = half_pmf(np.full(1, float(c)), a)
        total += float(np.sum(mass * ((a - x) + t) / (line.complement * (a + 1.0))))
        start += step
        if start > c:
            return total, total
        # later terms are at most b_c(a), and those fall at least geometrically
        ratio = (c - start + 1.0) / start
        if ratio < 1.0:
            rest = float(mass[-1]) * ratio / (1.0 - ratio)
            if rest <= 1e-17 * total or total == 0.0:
                return total, total + rest
