"""Binomial probabilities to 13 digits at any size, and where their mass lies, for the shuffling bounds.

Loader's saddle-point form (C. Loader 2000, "Fast and accurate computation of binomial
probabilities") keeps its relative error at 1e-15 times the exponent, where differences of log-gamma
lose nine digits at n = 1e9. Products that are then floored are carried in two floats.
Error budget: docs/proofs/shuffling.md, "Rounding".
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from prepriv._arrays import Floats
from prepriv._rounding import FAR_DOWN

_SPLIT = 134217729.0  # 2^27 + 1, Veltkamp
_STIRLING = np.array(  # log n! - log(sqrt(2 pi n) (n/e)^n), n = 0..15 (entry 0 is never used)
    [
        0.0,
        0.08106146679532726,
        0.0413406959554093,
        0.02767792568499834,
        0.020790672103765093,
        0.016644691189821193,
        0.013876128823070748,
        0.01189670994589177,
        0.010411265261972096,
        0.009255462182712733,
        0.00833056343336287,
        0.007573675487951841,
        0.00694284010720953,
        0.006408994188004207,
        0.0059513701127588475,
        0.005554733551962801,
    ]
)


def two_product(a: float, b: Floats) -> tuple[Floats, Floats]:
    """a * b as an unevaluated sum of two floats (Veltkamp and Dekker; no overflow below 1e300)."""
    high = a * b
    t = _SPLIT * a
    a1 = t - (t - a)
    a2 = a - a1
    u = _SPLIT * b
    b1 = u - (u - b)
    b2 = b - b1
    return high, ((a1 * b1 - high) + a1 * b2 + a2 * b1) + a2 * b2


def stirling_error(n: Floats) -> Floats:
    """log n! minus Stirling's formula, for whole n >= 1."""
    inverse = 1.0 / np.maximum(n, 1.0)
    square = inverse * inverse
    series = 1 / 1188 - square * (691 / 360360)
    for coefficient in (1 / 1680, 1 / 1260, 1 / 360, 1 / 12):
        series = coefficient - square * series
    if not np.any(n < 16.0):
        return np.asarray(series * inverse)
    return np.where(n < 16.0, _STIRLING[np.minimum(n, 15.0).astype(np.int64)], series * inverse)


def half_pmf(c: Floats, x: Floats) -> Floats:
    """P[Bin(c, 1/2) = x] for whole 0 <= x <= c; shapes broadcast. Relative error below 1e-12."""
    c, x = np.broadcast_arrays(np.asarray(c, np.float64), np.asarray(x, np.float64))
    y = c - x
    inner = (x > 0.0) & (y > 0.0)
    size, left, right = np.where(inner, c, 2.0), np.where(inner, x, 1.0), np.where(inner, y, 1.0)
    v = (left - right) / size
    square = v * v
    near = np.where(square < 0.0625, square, 0.0)
    # (1+v) log(1+v) + (1-v) log(1-v) = sum of v^{2j} / (j (2j-1))
    series = np.zeros_like(near)
    for j in range(_terms(near), 0, -1):
        series = (series + 1.0 / (j * (2 * j - 1))) * near
    if np.any(square >= 0.0625):
        w = np.abs(np.where(square < 0.0625, 0.5, v))
        series = np.where(square < 0.0625, series, (1.0 + w) * np.log1p(w) + (1.0 - w) * np.log1p(-w))
    exponent = stirling_error(size) - stirling_error(left) - stirling_error(right) - 0.5 * size * series
    value = np.sqrt(size / left / right / (2.0 * math.pi)) * np.exp(np.maximum(exponent, -745.0))
    return np.where(inner, value, np.exp2(-np.minimum(c, 1074.0)))


@dataclass(frozen=True)
class Binomial:
    """Bin(trials, p) for p = 2 / (e^epsilon0 + 1), the number of clones, or any p given with 1 - p.

    p and q = 1 - p both to full relative accuracy; means are carried in two floats each, the
    smaller of p, q being taken at its word and the other mean being what is left of `trials`.
    """

    trials: int
    p: float
    q: float

    @cached_property
    def means(self) -> tuple[float, float, float, float]:
        """trials * p and trials * q, each as high and low part."""
        return tuple(float(part[0]) for part in self._means(np.array([float(self.trials)])))  # type: ignore[return-value]

    def _means(self, trials: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        high, low = two_product(min(self.p, self.q), trials)
        rest = trials - high
        # exact: the error of a subtraction is a float
        other = ((trials - rest) - high) - low
        return (high, low, rest, other) if self.p <= self.q else (rest, other, high, low)

    def exponent(self, k: int) -> float:
        """trials * KL(k/trials || p): -log of the Chernoff bound of the tail that starts at k."""
        if k == 0:
            return -self.trials * _log(self.q, self.p)
        if k == self.trials:
            return -self.trials * _log(self.p, self.q)
        mean, mean_low, rest, rest_low = self.means
        return _deviance_of_one(float(k), mean, mean_low) + _deviance_of_one(
            float(self.trials - k), rest, rest_low
        )

    def pmf(self, low: int, high: int) -> Floats:
        """P[low], ..., P[high]. Relative error below 1e-12 wherever it exceeds 1e-300."""
        return self.pmf_rows(np.array([float(self.trials)]), low, high)[0]

    def pmf_rows(self, trials: Floats, low: int, high: int) -> Floats:
        """The same for each number of trials (k,) in place of self.trials: shape (k, high - low + 1)."""
        n = trials[:, None]
        k = np.arange(low, high + 1, dtype=np.float64)
        log_p, log_q = _log(self.p, self.q), _log(self.q, self.p)
        ends = np.where(k == 0.0, n * log_q, n * log_p)
        value = np.where((k == 0.0) | (k == n), np.exp(np.maximum(ends, -745.0)), 0.0)
        inner = (k > 0.0) & (k < n)
        if self.p == 0.0 or self.q == 0.0 or not inner.any():
            return value
        left, right = np.where(inner, k, 1.0), np.where(inner, n - k, 1.0)
        mean, mean_low, rest, rest_low = (part[:, None] for part in self._means(trials))
        exponent = stirling_error(n) - stirling_error(left) - stirling_error(right)
        exponent -= _deviance(left, mean, mean_low) + _deviance(right, rest, rest_low)
        size = np.where(n > 0.0, n, 1.0) / left / right / (2.0 * math.pi)
        return np.where(inner, np.sqrt(size) * np.exp(np.maximum(exponent, -745.0)), value)

    def window(self, log_lower: float, log_upper: float) -> tuple[int, int]:
        """[low, high] with P[C < low] <= e^log_lower and P[C > high] <= e^log_upper, by Chernoff."""
        if self.trials == 0 or self.p == 0.0:
            return 0, 0
        if self.q == 0.0:
            return self.trials, self.trials
        return _window(self, math.floor(log_lower), math.floor(log_upper))

    def cumulative(self, low: int, high: int) -> Floats:
        """P[low <= C <= c] for c = low..high; rounding stays below 1e-12 (two-level sums)."""
        return _cumulative(self, low, high)


def clones(epsilon0: float, trials: int) -> Binomial:
    """The law of the number of clones among `trials` users: p = 2 / (e^epsilon0 + 1)."""
    shrink = math.exp(-epsilon0)
    return Binomial(trials, 2.0 * shrink / (1.0 + shrink), math.tanh(0.5 * epsilon0))


def running_sum(values: Floats) -> Floats:
    """Cumulative sum whose error grows with the square root of the length (sums of block sums)."""
    block = max(64, math.isqrt(len(values)))
    if len(values) <= block:
        return np.cumsum(values)
    padded = np.zeros(-(-len(values) // block) * block)
    padded[: len(values)] = values
    rows = np.cumsum(padded.reshape(-1, block), axis=1)
    rows[1:] += np.cumsum(rows[:, -1])[:-1, None]
    return rows.ravel()[: len(values)]


def _terms(square: Floats) -> int:
    # of a series in `square` < 0.1 with coefficients below 1, so that the rest is below 1e-17
    largest = float(np.max(square, initial=0.0))
    return min(17, 1 + math.ceil(39.2 / -math.log(largest))) if largest > 0.0 else 1


def _log(p: float, q: float) -> float:
    if p == 0.0:
        return -1e250
    return math.log(p) if p < 0.5 else math.log1p(-q)


def _deviance(x: Floats, mean: Floats, low: Floats) -> Floats:
    # x log(x/m) + m - x for m = mean + low; a series where the three terms would cancel
    gap = (x - mean) - low
    v = gap / (x + mean)
    square = np.minimum(v * v, 0.09)
    series = np.zeros_like(square)
    for j in range(_terms(square), 0, -1):
        series = (series + 1.0 / (2 * j + 1)) * square
    near = gap * v + 2.0 * x * v * series
    if np.all(v * v < 0.09):
        return near
    base = np.maximum(mean, 1e-300)
    ratio = np.log(x) - np.log(base)
    ratio = np.where((base > 1e-280), np.log(x / np.maximum(base, 1e-280)), ratio)
    far = x * ratio - gap - x * (low / base)
    return np.where(v * v < 0.09, near, far)


def _deviance_of_one(x: float, mean: float, low: float) -> float:
    # the same for one number, in a tenth of the time
    gap = (x - mean) - low
    v = gap / (x + mean)
    if v * v >= 0.09:
        ratio = math.log(x / mean) if mean > 1e-280 else math.log(x) - math.log(mean)
        return x * ratio - gap - x * (low / mean)
    square = v * v
    series, power, j = 0.0, square, 1
    while power > 1e-18:
        series += power / (2 * j + 1)
        power *= square
        j += 1
    return gap * v + 2.0 * x * v * series


@lru_cache(maxsize=256)
def _window(law: Binomial, log_lower: int, log_upper: int) -> tuple[int, int]:
    mean = law.means[0]
    start, top = min(int(mean), law.trials), law.trials
    low = 0
    # P[C <= k] <= e^{-exponent(k)} for k below the mean: the largest k that is rare enough
    if law.exponent(0) * FAR_DOWN >= -log_lower:
        good, bad = 0, start
        while bad - good > 1:
            middle = (good + bad) // 2
            rare = law.exponent(middle) * FAR_DOWN >= -log_lower
            good, bad = (middle, bad) if rare else (good, middle)
        low = good + 1
    high = top
    if law.exponent(top) * FAR_DOWN >= -log_upper:
        good, bad = top, start
        while good - bad > 1:
            middle = (good + bad) // 2
            rare = middle > mean and law.exponent(middle) * FAR_DOWN >= -log_upper
            good, bad = (middle, bad) if rare else (good, middle)
        high = good - 1
    return min(low, start), max(high, start)


@lru_cache(maxsize=8)
def _cumulative(law: Binomial, low: int, high: int) -> Floats:
    if law.trials == 0:
        return np.ones(1)
    total = np.minimum(running_sum(law.pmf(low, high)), 1.0)
    total.setflags(write=False)
    return total
