"""Tails of counts against 40 digits: never below, and close."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prepriv.learners import count_tails
from prepriv.learners.accounts import MovedRows, batch_shift_law, poisson_shift_law
from prepriv.learners.count_tails import binomial_tail, hypergeometric_tail


def log_choose(n, k):
    return mpmath.loggamma(n + 1) - mpmath.loggamma(k + 1) - mpmath.loggamma(n - k + 1)


def true_tail(k, most, log_pmf, ratio):
    """Sum of p(j), j > k, at 40 digits."""
    with mpmath.workdps(40):
        j, term = k + 1, mpmath.exp(log_pmf(mpmath.mpf(k + 1)))
        total, largest = term, term
        while j < most and (term == largest or term > total * mpmath.mpf(10) ** -25):
            term *= ratio(mpmath.mpf(j))
            largest = max(term, largest)
            total, j = total + term, j + 1
        return total


def hypergeometric(k, n, rows, drawn):
    return true_tail(
        k,
        min(rows, drawn),
        lambda j: log_choose(rows, j) + log_choose(n - rows, drawn - j) - log_choose(n, drawn),
        lambda j: (rows - j) * (drawn - j) / ((j + 1) * (n - rows - drawn + j + 1)),
    )


def binomial(k, n, rate):
    q = mpmath.mpf(rate)
    return true_tail(
        k,
        n,
        lambda j: log_choose(n, j) + j * mpmath.log(q) + (n - j) * mpmath.log1p(-q),
        lambda j: (n - j) / (j + 1) * q / (1 - q),
    )


def near(claimed: float, true: mpmath.mpf) -> None:
    assert mpmath.mpf(claimed) >= true
    if true > 1e-50:
        assert claimed <= true * (1 + mpmath.mpf(2) / 10**8)


def within(claimed: float, true: Fraction) -> None:
    assert true <= Fraction(claimed) <= true * (1 + Fraction(1, 10**11)) + Fraction(1, 10**55)


HYPER = [
    (30, 12, 7),
    (10**5, 10**3, 256),
    (10**6, 10**4, 1000),
    (10**8, 10**6, 10**4),
    (10**8, 10**8, 4096),
    (10**9, 10**8, 256),
    (10**9, 10**5, 10**7),
    (10**9, 10**9 - 3, 1000),
]


@pytest.mark.parametrize("n, rows, drawn", HYPER)
def test_hypergeometric_tails_at_every_size(n, rows, drawn):
    """A library's, times 1 + 1e-9, were too small by 1.25e-8 at n = 10^8 and by 2e-7 at 10^9."""
    mean = rows * drawn / n
    deviation = math.sqrt(max(mean * (1 - rows / n), 1.0))
    least, most = max(0, rows + drawn - n), min(rows, drawn)
    ks = sorted({max(least, int(mean + c * deviation)) for c in (-3, 0, 2, 5, 9, 13)})
    claimed = hypergeometric_tail(np.array(ks, dtype=float), n, rows, drawn)
    for k, bound in zip(ks, claimed):
        if k < most:
            near(float(bound), hypergeometric(k, n, rows, drawn))
        else:
            assert bound == 0.0


@pytest.mark.parametrize("n, rate", [(40, 0.3), (10**7, 1e-3), (10**9, 1e-7), (10**9, 1e-4), (10**8, 1e-300)])
def test_binomial_tails_at_every_size(n, rate):
    mean = n * rate
    ks = sorted({min(max(0, int(mean + c * math.sqrt(max(mean, 1.0)))), n - 1) for c in (-3, 0, 2, 5, 9, 13)})
    claimed = binomial_tail(np.array(ks, dtype=float), n, rate)
    for k, bound in zip(ks, claimed):
        near(float(bound), binomial(k, n, rate))


@given(st.data())
def test_small_counts_in_fractions(data):
    n = data.draw(st.integers(1, 60))
    rows, drawn = data.draw(st.integers(0, n)), data.draw(st.integers(0, n))
    k = np.arange(0.0, n + 2)
    claimed = hypergeometric_tail(k, n, rows, drawn)
    ways = [math.comb(rows, j) * math.comb(n - rows, drawn - j) if j <= drawn else 0 for j in range(n + 1)]
    for i, bound in enumerate(claimed):
        true = Fraction(sum(ways[i + 1 :]), math.comb(n, drawn))
        within(float(bound), true)
    numerator = data.draw(st.integers(0, 2**20))
    q = Fraction(numerator, 2**20)
    claimed = binomial_tail(k, n, float(q))
    chances = [math.comb(n, j) * q**j * (1 - q) ** (n - j) for j in range(n + 1)]
    for i, bound in enumerate(claimed):
        true = sum(chances[i + 1 :], Fraction(0))
        within(float(bound), true)


def test_what_is_cut_off_is_counted(monkeypatch):
    """Sums that end early must stay above: the rest is a geometric series, and too long a sum is one."""
    k = np.arange(0.0, 400.0)
    exact = hypergeometric_tail(k, 10**6, 10**5, 1000)
    monkeypatch.setattr(count_tails, "_LEAST", 1e-3)
    cut = hypergeometric_tail(k, 10**6, 10**5, 1000)
    assert (cut >= exact * (1 - 1e-12)).all() and (cut[:120] <= exact[:120] * 1.05).all()
    monkeypatch.setattr(count_tails, "_MOST_TERMS", 5)
    assert (hypergeometric_tail(k, 10**6, 10**5, 1000) == 1.0).all()
    assert (hypergeometric_tail(k, 2**52, 10**5, 1000)[:2] == 1.0).all()


@pytest.mark.parametrize("n", [10**8, 10**9])
def test_the_law_of_a_batch_of_many_records_is_above_the_truth(n):
    rows, drawn = n // 100, 10**4
    moved = MovedRows(count=rows, each=0.01, total=0.01 * rows)
    for sampler in ("batch", "poisson"):
        law = batch_shift_law(moved, drawn, n + 1) if sampler == "batch" else poisson_shift_law(moved, 1e-4)
        shifts, weights = law
        for t in shifts[:-1:7]:
            k = math.floor(float(t) / 0.01 * (1 - 1e-9))
            claimed = math.fsum(weights[shifts > t])
            if claimed < 1e-12:
                break
            true = hypergeometric(k, n, rows, drawn) if sampler == "batch" else binomial(k, rows, 1e-4)
            assert claimed >= float(true) * (1 - 1e-13)
