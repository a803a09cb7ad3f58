"""Lemma 1 and Theorems 1 to 3 of The Importance of Feature Preprocessing on the two-cluster example, beside runs written here."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import norm

from prepriv_papers.feature_preprocessing.bounds import (
    Problem,
    algorithm_1_noise,
    lemma_1,
    theorem_1,
    theorem_2_order,
    theorem_3,
    two_cluster_problem,
)

N, EPSILON, DELTA = 4000, 1.0, 1e-5


def _excess(mu: float, rate: float, clip: float, noise: float, steps: int, runs: int = 300) -> float:
    """Mean excess hinge loss on the worse of the two data sets of full-batch DPSGD from (0, 0), runs at once."""
    rng = np.random.default_rng(1)
    worst = 0.0
    for sign in (1.0, -1.0):
        x = np.array([[mu, sign], [mu, -sign]])  # one row a cluster; both have n/2
        y = np.array([1.0, -1.0])
        w, total = np.zeros((runs, 2)), np.zeros((runs, 2))
        for _ in range(steps):
            active = (w @ x.T) * y < 1
            size = min(1.0, clip / math.hypot(mu, 1))
            gradient = -(active * y * size) @ x / 2
            w = w - rate * (gradient + rng.normal(scale=noise * clip, size=w.shape))
            total += w
        scores = (total / steps) @ x.T * y
        worst = max(worst, float(np.maximum(1 - scores, 0).mean()))
    return worst


def _gdp_noise(steps: int) -> float:
    """Least sigma/C of an averaged gradient: T Gaussian mechanisms of one record each are (EPSILON, DELTA)-DP."""

    def left(mu: float) -> float:
        spent = norm.cdf(-EPSILON / mu + mu / 2) - math.exp(EPSILON) * norm.cdf(-EPSILON / mu - mu / 2)
        return float(spent - DELTA)

    return math.sqrt(steps) / (N * brentq(left, 0.01, 2))


def test_dpsgd_keeps_lemma_1_near_the_origin_and_dpsgd_f_is_not_needed() -> None:
    mu, steps = 3.0, 400
    bound = lemma_1(two_cluster_problem(N, mu), EPSILON, DELTA)
    clip, noise = math.hypot(mu, 1), _gdp_noise(steps)
    rates = [1 / (clip * math.sqrt(steps) * r) for r in (0.3, 1, 3, 10)]
    assert min(_excess(mu, r, clip, noise, steps) for r in rates) <= bound < 0.02


@pytest.mark.parametrize("mu", [1000.0, 4000.0, 1e5])
@pytest.mark.parametrize("rate", [0.01, 1.0, 100.0])
def test_dpsgd_never_beats_theorem_3(mu: float, rate: float) -> None:
    """The least is reached as mu grows: 0.46 of the loss 1 of zero weights, at mu = n epsilon and everywhere beyond."""
    for steps, clip in ((1, 1.0), (50, 1.0), (50, 1e4)):
        noise = algorithm_1_noise(N, steps, EPSILON, DELTA)
        least = theorem_3(N, mu, EPSILON, DELTA, steps=steps)
        assert _excess(mu, rate, clip, noise, steps) >= least - 0.1  # 300 runs
        assert least <= 0.5


def test_theorem_3_is_half_at_most_and_nothing_near() -> None:
    assert theorem_3(N, 4000.0, EPSILON, DELTA) == pytest.approx(norm.cdf(-1 / 9.5970518), abs=1e-6)
    assert theorem_3(N, 1.0, EPSILON, DELTA) < 1e-20
    assert theorem_3(N, 1e9, EPSILON, DELTA, steps=50) == pytest.approx(0.5, abs=1e-4)
    assert theorem_3(N, 10.0, EPSILON, DELTA, noise=0.0) == 0.0


def test_theorem_1_forgets_the_distance_and_says_nothing_at_the_size_of_the_example() -> None:
    near, far = (theorem_1(two_cluster_problem(10**6, mu), EPSILON, DELTA) for mu in (1.0, 1e6))
    assert far == pytest.approx(near, rel=1e-3)
    assert theorem_1(two_cluster_problem(N, 1.0), EPSILON, DELTA) > 1.0  # zero weights lose 1
    assert lemma_1(two_cluster_problem(10**6, 1e6), EPSILON, DELTA) > 1.0 > far


def test_orders_of_the_lower_bound() -> None:
    p = two_cluster_problem(N, 100.0)
    assert theorem_2_order(p, EPSILON) == pytest.approx(2 * math.sqrt(2) / N)
    assert theorem_2_order(p, EPSILON) < theorem_1(p, EPSILON, DELTA)
    assert theorem_2_order(Problem(2, 1.0, 1.5, 9, 5.0), 0.1) == 1.5


def test_lemma_1_as_printed_is_nothing_at_zero() -> None:
    p = Problem(11, 0.0, 0.0, 1, 1.0)
    assert lemma_1(p, EPSILON, DELTA, mended=False) == 0.0 < lemma_1(p, EPSILON, DELTA)


def test_bad_numbers_are_one_sentence() -> None:
    for bad in (dict(n=1), dict(rank=0), dict(norm=-1.0), dict(diameter=math.nan)):
        with pytest.raises(ValueError, match="must be"):
            Problem(**({"n": 5, "norm": 1.0, "diameter": 1.0, "rank": 1, "theta_norm": 1.0} | bad))
    with pytest.raises(ValueError, match="epsilon must be positive"):
        lemma_1(two_cluster_problem(5, 1.0), 0.0, DELTA)
    with pytest.raises(ValueError, match="must be at least 1"):
        theorem_3(4, 1.0, 1.0, DELTA, steps=0)
