"""Independent values for the shuffling bounds: integers, mpmath and enumeration of real mechanisms."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Sequence
from functools import cache

import mpmath as mp

DIGITS = 60


@cache
def _tail_counts(c: int) -> list[int]:
    # sum over x >= m of C(c, x), m = 0..c+1
    total, out = 0, [0] * (c + 2)
    for x in range(c, -1, -1):
        total += math.comb(c, x)
        out[x] = total
    return out


def pair_delta(n: int, epsilon0: float, epsilon: float, *, paper: bool = False) -> mp.mpf:
    """The hockey-stick divergence of the clone pair from its definition: exact integers, 60 digits.

    Unlike the library it searches the sign change of every term and uses no closed form of theta.
    """
    with mp.workdps(DIGITS):
        grow, e = mp.exp(mp.mpf(epsilon0)), mp.exp(mp.mpf(epsilon))
        w = 1 / (1 + grow)
        if paper:
            k1, k2 = 1 - 2 * w, e - 2 * w
        else:
            k1, k2 = (1 - w) - w * e, (1 - w) * e - w
            if k1 <= 0:
                return mp.mpf(0)
        total = mp.mpf(0)
        p = 2 * w
        for c in range(n):
            # first x with k1 C(c, x-1) > k2 C(c, x), i.e. k1 x > k2 (c + 1 - x)
            m = int(mp.floor(k2 * (c + 1) / (k1 + k2))) + 1
            tails = _tail_counts(c)
            inside = k1 * tails[m - 1] - k2 * (tails[m] if m <= c else 0)
            total += math.comb(n - 1, c) * p**c * (1 - p) ** (n - 1 - c) * inside / mp.mpf(2) ** c
        return total


def pair_beta(n: int, epsilon0: float, alpha: float) -> mp.mpf:
    """T(P, Q)(alpha) of the clone pair by sorting likelihood ratios (Neyman and Pearson)."""
    with mp.workdps(30):
        w = 1 / (1 + mp.exp(mp.mpf(epsilon0)))
        p = 2 * w
        cells = []
        for c in range(n):
            weight = math.comb(n - 1, c) * p**c * (1 - p) ** (n - 1 - c) / mp.mpf(2) ** c
            for x in range(c + 2):
                zero = math.comb(c, x - 1) if x > 0 else 0
                one = math.comb(c, x) if x <= c else 0
                cells.append((weight * ((1 - w) * zero + w * one), weight * ((1 - w) * one + w * zero)))
        cells.sort(key=lambda cell: -cell[1] / cell[0])
        left, beta = mp.mpf(alpha), mp.mpf(1)
        for a, b in cells:
            part = min(mp.mpf(1), left / a)
            beta -= part * b
            left -= part * a
            if left <= 0:
                break
        return beta


def pair_cells(n: int, epsilon0: float) -> list[tuple[float, float]]:
    """(P, Q) masses of every outcome of the clone pair."""
    w = 1.0 / (1.0 + math.exp(epsilon0))
    cells = []
    for c in range(n):
        weight = math.comb(n - 1, c) * (2 * w) ** c * (1 - 2 * w) ** (n - 1 - c) * 2.0**-c
        for x in range(c + 2):
            zero = math.comb(c, x - 1) if x > 0 else 0
            one = math.comb(c, x) if x <= c else 0
            cells.append((weight * ((1 - w) * zero + w * one), weight * ((1 - w) * one + w * zero)))
    return cells


def histograms(rows: Sequence[Sequence[float]]) -> dict[tuple[int, ...], float]:
    """Law of the histogram of independent reports, row j the law of report j."""
    law: dict[tuple[int, ...], float] = {(0,) * len(rows[0]) if rows else (): 1.0}
    for row in rows:
        longer: dict[tuple[int, ...], float] = defaultdict(float)
        for counts, mass in law.items():
            for v, chance in enumerate(row):
                if chance > 0.0:
                    longer[(*counts[:v], counts[v] + 1, *counts[v + 1 :])] += mass * chance
        law = longer
    return law


def shuffled_delta(
    zero: Sequence[float], one: Sequence[float], others: Sequence[Sequence[float]], epsilon: float
) -> float:
    """True hockey-stick divergence of the shuffled reports, the larger of both orders."""
    law = histograms(others) if others else {(0,) * len(zero): 1.0}
    p: dict[tuple[int, ...], float] = defaultdict(float)
    q: dict[tuple[int, ...], float] = defaultdict(float)
    for counts, mass in law.items():
        for v in range(len(zero)):
            grown = (*counts[:v], counts[v] + 1, *counts[v + 1 :])
            p[grown] += mass * zero[v]
            q[grown] += mass * one[v]
    e = math.exp(epsilon)
    forward = math.fsum(max(0.0, p[h] - e * q[h]) for h in p)
    return max(forward, math.fsum(max(0.0, q[h] - e * p[h]) for h in p))


def randomized_response(k: int, epsilon0: float) -> list[list[float]]:
    """Rows of k-ary randomized response."""
    q = 1.0 / (math.exp(epsilon0) + k - 1)
    return [[q * (math.exp(epsilon0) if v == x else 1.0) for v in range(k)] for x in range(k)]


def corollary_43_as_printed(n: int, epsilon0: float, epsilon: float) -> float | None:
    """Corollary 4.3 of Unified Enhancement of Privacy Bounds with t_eps from the printed l(t); None if no t satisfies the infimum."""
    w = 1.0 / (1.0 + math.exp(epsilon0))
    weight = [math.comb(n - 1, i) * (2 * w) ** i * (1 - 2 * w) ** (n - 1 - i) for i in range(n)]

    def pmf(i: int, x: int) -> float:
        return math.comb(i, x) * 2.0**-i if 0 <= x <= i else 0.0

    def cdf(i: int, x: float) -> float:
        return math.fsum(pmf(i, v) for v in range(math.floor(x) + 1))

    def at(i: int, numerator: int, denominator: int) -> tuple[int, int]:
        # (i+1)/(t+1) with t + 1 = numerator/denominator, floored exactly
        share = -((-(i + 1) * denominator) // numerator)  # ceiling of (i+1)/(t+1)
        return i + 1 - share, i - share

    # knots: t + 1 = (i+1)/j for all i, j
    knots = {
        ((i + 1) // math.gcd(i + 1, j), j // math.gcd(i + 1, j)) for i in range(n) for j in range(1, i + 2)
    }
    for numerator, denominator in sorted(knots, key=lambda f: f[0] / f[1]):
        places = [at(i, numerator, denominator) for i in range(n)]
        top = math.fsum(weight[i] * pmf(i, places[i][0]) for i in range(n))
        bottom = math.fsum(weight[i] * pmf(i, places[i][1]) for i in range(n))
        if bottom > 0.0 and -2 * w - (1 - 2 * w) * top / bottom >= -math.exp(epsilon):
            first = math.fsum(weight[i] * cdf(i, places[i][1]) for i in range(n))
            second = math.fsum(weight[i] * cdf(i, places[i][0]) for i in range(n))
            return (2 * w - math.exp(epsilon)) * first + (1 - 2 * w) * second
    return None


def two_coordinate_variation_ratio(n: int, k: int, epsilon0: float, epsilon: float) -> float:
    """The (p, beta, q) pair of the literature for k-ary randomized response, by enumeration."""
    p, e = math.exp(epsilon0), math.exp(epsilon)
    alpha = 1.0 / (p + k - 1)
    rest = 1.0 - alpha - p * alpha
    one: dict[tuple[int, int], float] = defaultdict(float)
    two: dict[tuple[int, int], float] = defaultdict(float)
    for c in range(n):
        weight = math.comb(n - 1, c) * (2 * alpha) ** c * (1 - 2 * alpha) ** (n - 1 - c)
        for a in range(c + 1):
            mass = weight * math.comb(c, a) * 2.0**-c
            for law, up, down in ((one, p * alpha, alpha), (two, alpha, p * alpha)):
                law[a + 1, c - a] += mass * up
                law[a, c - a + 1] += mass * down
                law[a, c - a] += mass * rest
    return math.fsum(max(0.0, one[h] - e * two[h]) for h in one)


def blanket_delta(n: int, signal: float, epsilon0: float, epsilon: float) -> float:
    """(1/n) E (Y_1 + ... + Y_n)_+ of the blanket bound, by enumeration of the multinomial counts."""
    p, e = math.exp(epsilon0), math.exp(epsilon)
    a = signal / (p - 1)
    rest = max(1 - signal - 2 * a, 0.0)
    nothing = 1 - 2 * a - rest
    total = []
    for x, y, z in itertools.product(range(n + 1), repeat=3):
        left = n - x - y - z
        if left < 0:
            continue
        value = x * (p - e) + y * (1 - p * e) + z * (1 - e)
        if value > 0:
            ways = math.factorial(n) // (
                math.factorial(x) * math.factorial(y) * math.factorial(z) * math.factorial(left)
            )
            total.append(value * ways * a ** (x + y) * rest**z * nothing**left)
    return math.fsum(total) / n
