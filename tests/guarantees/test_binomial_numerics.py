"""The parts that the shuffling bounds stand on, against mpmath at sizes where plain floats fail."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest

from prepriv.guarantees.shuffling._binomial import Binomial, clones, half_pmf, running_sum, two_product
from prepriv.guarantees.shuffling._clone_pair import Threshold


def true_pmf(n: int, k: int, p: mp.mpf) -> mp.mpf:
    return mp.exp(
        mp.loggamma(n + 1)
        - mp.loggamma(k + 1)
        - mp.loggamma(n - k + 1)
        + k * mp.log(p)
        + (n - k) * mp.log(1 - p)
    )


@pytest.mark.parametrize("n", [1, 2, 15, 40, 1000, 10**6, 10**9, 10**12])
def test_half_pmf_to_twelve_digits(n: int) -> None:
    with mp.workdps(60):
        for deviations in (0.0, 0.7, 3.0, 10.0, 30.0):
            k = min(n, n // 2 + round(deviations * math.sqrt(n) / 2))
            truth = true_pmf(n, k, mp.mpf(1) / 2)
            if truth > mp.mpf(10) ** -290:
                found = float(half_pmf(np.array([float(n)]), np.array([float(k)]))[0])
                assert abs(found / truth - 1) < 1e-12


@pytest.mark.parametrize("n", [1, 3, 200, 10**6, 10**9])
@pytest.mark.parametrize("epsilon0", [1e-6, 0.3, 1.0, 4.444, 9.0])
def test_pmf_of_the_clone_count_to_twelve_digits(n: int, epsilon0: float) -> None:
    law = clones(epsilon0, n)
    with mp.workdps(60):
        # the smaller probability is taken at its word
        p = mp.mpf(law.p) if law.p <= law.q else 1 - mp.mpf(law.q)
        spread = math.sqrt(n * law.p * law.q)
        for deviations in (-30.0, -5.0, -0.5, 0.0, 2.0, 20.0):
            k = min(max(math.floor(law.means[0] + deviations * spread), 0), n)
            truth = true_pmf(n, k, p)
            if truth > mp.mpf(10) ** -290:
                assert abs(float(law.pmf(k, k)[0]) / truth - 1) < 1e-12


def test_probabilities_are_relatively_accurate() -> None:
    with mp.workdps(40):
        for epsilon0 in (1e-9, 0.1, 1.0986, 1.0987, 30.0, 700.0):
            law = clones(epsilon0, 5)
            p = 2 / (1 + mp.exp(mp.mpf(epsilon0)))
            assert abs(law.p / p - 1) < 5e-16 and abs(law.q / (1 - p) - 1) < 5e-16


@pytest.mark.parametrize("offset", [1e-12, 3.3e-5, 0.01, 0.2, 0.2499])
def test_split_keeps_relative_accuracy_where_the_product_is_nearly_whole(offset: float) -> None:
    line = Threshold(offset, 0.5 - offset)
    exact = Fraction(1, 2) + Fraction(offset)
    sizes = list(range(1, 400)) + list(range(10**9, 10**9 + 3000, 7))
    # sizes at which theta * size is closest to a whole number, by continued fraction
    for k in range(5, 30):
        near = exact.limit_denominator(2**k)
        if near.denominator < 2 * 10**9:
            sizes.append(near.denominator)
    x, s, t = line.split(np.array(sizes, dtype=np.float64))
    for size, whole, above, below in zip(sizes, x, s, t):
        true_s = exact * size - int(whole)
        true_t = 1 - true_s
        assert above >= 0.0 and below >= 0.0
        # absolute 1e-24 stands for the rounding of the low part itself
        assert abs(Fraction(float(above)) - true_s) <= Fraction(1, 10**13) * abs(true_s) + Fraction(1, 10**21)
        assert abs(Fraction(float(below)) - true_t) <= Fraction(1, 10**13) * abs(true_t) + Fraction(1, 10**21)


@pytest.mark.parametrize("complement", [0.2, 0.01, 1e-5, 1e-9])
def test_split_near_one(complement: float) -> None:
    line = Threshold(0.5 - complement, complement)
    exact = 1 - Fraction(complement)
    sizes = [*range(1, 500), *range(10**8, 10**8 + 300)]
    x, s, t = line.split(np.array(sizes, dtype=np.float64))
    for size, whole, above, below in zip(sizes, x, s, t):
        true_s = exact * size - int(whole)
        assert abs(Fraction(float(above)) - true_s) <= Fraction(1, 10**13) * abs(true_s) + Fraction(1, 10**21)
        assert abs(Fraction(float(below)) - (1 - true_s)) <= Fraction(1, 10**13) * abs(1 - true_s) + Fraction(
            1, 10**21
        )


def test_two_product_is_exact() -> None:
    rng = np.random.default_rng(10)
    for _ in range(200):
        a, b = float(rng.uniform()), float(rng.integers(1, 2**40))
        high, low = two_product(a, np.array([b]))
        assert Fraction(float(high[0])) + Fraction(float(low[0])) == Fraction(a) * Fraction(b)


def test_windows_hold_what_they_promise() -> None:
    rng = np.random.default_rng(11)
    for _ in range(40):
        n, p = int(rng.integers(1, 400)), float(rng.uniform())
        law = Binomial(n, p, 1.0 - p)
        lower, upper = -float(rng.uniform(1, 60)), -float(rng.uniform(1, 60))
        low, high = law.window(lower, upper)
        with mp.workdps(50):
            below = mp.fsum(true_pmf(n, k, mp.mpf(p)) for k in range(low))
            above = mp.fsum(true_pmf(n, k, mp.mpf(p)) for k in range(high + 1, n + 1))
        assert below <= mp.exp(lower) and above <= mp.exp(upper)


def test_running_sum_of_many_terms() -> None:
    values = np.random.default_rng(12).uniform(size=200_001)
    total = running_sum(values)
    for end in (1, 77, 20_000, 200_001):
        assert total[end - 1] == pytest.approx(math.fsum(values[:end]), rel=1e-14)
