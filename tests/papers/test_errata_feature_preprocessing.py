"""Counter-examples to The Importance of Feature Preprocessing, by its own definitions. Nothing of the library is imported."""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import linprog
from scipy.stats import binom, norm

DELTA = 1e-5


def _attack(n: int, batch: int, steps: int, epsilon: float, clip: float, *, averaged: bool) -> float:
    """P(A(D) in O) - e^epsilon P(A(D') in O) for Algorithm 1, no bias, O a half line of the last iterate's first weight.

    D holds n - 1 rows at 0, whose gradients are 0, and one at (2 clip, 0, ...) with y = 1; D' is D without that row
    (Definition 1: one data point more). With a loss of slope -1 (hinge before its kink, small rate) each draw
    of that row adds `clip` to the sum. averaged: a noise for each summand, as equation (2) prints.
    """
    sigma = math.sqrt(8 * steps * clip**2 * math.log(1 / DELTA) / (n * epsilon) ** 2)
    deviation = sigma * math.sqrt(steps) / (math.sqrt(batch) if averaged else 1.0)  # of the sum of all steps
    draws = np.arange(0, 400)
    law = binom.pmf(draws, batch * steps, 1 / n)
    best = 0.0
    for threshold in np.linspace(0.0, 3.0 * steps * clip * max(1 / n, 4 / batch), 4000):
        with_row = float(law @ norm.sf((threshold - draws * clip / batch) / deviation))
        best = max(best, with_row - math.exp(epsilon) * float(norm.sf(threshold / deviation)))
    return best


def test_noise_averaged_over_the_batch_breaks_the_claim_of_algorithm_1() -> None:
    """F1: equation (2) draws a noise for each record of the batch and averages: variance sigma^2/B for sigma^2."""
    n = 10_000
    assert n * math.sqrt(1 / 4) <= n  # the batch is as large as Algorithm 1 asks
    assert _attack(n, n, 1, 1.0, 1.0, averaged=True) > 0.6 > 1000 * DELTA
    assert _attack(n, n // 10, 100, 1.0, 1.0, averaged=True) > 0.5
    assert _attack(n, n, 1, 1.0, 1.0, averaged=False) <= DELTA  # noise on the mean, as the appendix has it


def test_lemma_1_promises_perfect_learning_where_all_features_are_zero() -> None:
    """F2: R = 0 makes the bound 0, so a private b would be a minimiser almost surely, for either majority."""
    n, epsilon = 11, 0.5
    b = np.linspace(-2, 2, 401)

    def loss(positive: int) -> np.ndarray:
        return (positive * np.maximum(1 - b, 0) + (n - positive) * np.maximum(1 + b, 0)) / n

    right = [b[loss(k) <= loss(k).min() + 1e-12] for k in (5, 6)]
    assert right[0].max() < 0 < right[1].min()  # disjoint
    steps = 2  # the two sets differ in one label: one record out, one in
    most = sum(math.exp(i * epsilon) * DELTA for i in range(steps))
    assert most < 1.0  # P(O | D') >= e^(-2 epsilon) (P(O | D) - most) > 0 for O = right[1], which should be 0


def test_the_seminorm_is_a_square() -> None:
    """F3: norm(v)_M = norm(v M v^T)_2 has Q(2v) = 4 Q(v); footnote 2 asks for 2 Q(v). The root is meant."""
    m, v = np.diag([1.0, 0.0]), np.array([3.0, 4.0])
    assert (2 * v) @ m @ (2 * v) == 4 * (v @ m @ v) and math.sqrt(v @ m @ v) == np.linalg.norm(m @ v)


def test_lemma_3_fails_where_log_r_is_zero() -> None:
    """F4: with R = 1 its condition on n is empty. All rows at 1, or all at -1: no (epsilon/3, delta/3)-DP mean errs
    by diam + 2R/n^2 = 0.02 on both. The least error over all mechanisms, by a linear programme."""
    n, epsilon, delta = 10, 0.01, 1e-5
    values = np.array([-1.0, 0.0, 1.0])  # mass moved to these changes no E|m -+ 1|
    sets, points = 2 * n + 1, len(values)  # k rows turned, with one row missing on every second set
    size = sets * points
    pairs = [(i, j) for i in range(sets - 1) for j in ((i, i + 1), (i + 1, i))]
    total = size + len(pairs) * points + 1  # laws, slacks, the worse error
    above, right = [], []
    grow = math.exp(epsilon / 3)
    for row, (_, (i, j)) in enumerate(pairs):
        sum_row = np.zeros(total)
        for o in range(points):
            line = np.zeros(total)
            line[i * points + o], line[j * points + o] = 1.0, -grow
            slack = size + row * points + o
            line[slack], sum_row[slack] = -1.0, 1.0
            above.append(line)
            right.append(0.0)
        above.append(sum_row)
        right.append(delta / 3)
    for end, target in ((0, 1.0), (sets - 1, -1.0)):
        line = np.zeros(total)
        line[end * points : (end + 1) * points], line[-1] = np.abs(values - target), -1.0
        above.append(line)
        right.append(0.0)
    laws = np.zeros((sets, total))
    for i in range(sets):
        laws[i, i * points : (i + 1) * points] = 1.0
    cost = np.zeros(total)
    cost[-1] = 1.0
    found = linprog(cost, np.array(above), np.array(right), laws, np.ones(sets))
    assert found.status == 0 and found.fun > 0.9 > 0.02 == 2 / n**2


def test_step_6_of_algorithm_2_adds_a_number_and_a_vector() -> None:
    """F5: b = theta[d+1] tau - mean is no number; with Lemma 5's inner product the scores are those of D'."""
    rng = np.random.default_rng(0)
    x, mean, theta, tau = rng.normal(size=(20, 3)), rng.normal(size=3), rng.normal(size=4), 1.7
    scores = np.column_stack([x - mean, np.full(20, tau)]) @ theta
    assert np.allclose(x @ theta[:3] + theta[3] * tau - mean @ theta[:3], scores)
    assert np.shape(theta[3] * tau - mean) == (3,)


def test_noise_of_algorithm_3_on_the_mean_is_n_times_too_large() -> None:
    """F6: step 1 adds N(0, (sigma_F C_F)^2) to a mean that one record moves by C_F/n (2 C_F/n if it is replaced)."""
    n, radius, d = 60_000, 10.0, 784
    rows = np.full((3, d), radius / math.sqrt(d))
    mean, without = rows.sum(axis=0) / n, rows[1:].sum(axis=0) / n
    assert np.isclose(np.linalg.norm(mean - without), radius / n)
    sigma = 3.7 / 0.05  # of epsilon_F = 0.05, about
    assert sigma * radius * math.sqrt(d) > 1000 * radius  # as printed the released mean is noise alone


def test_the_inequality_of_the_appendix_points_the_wrong_way() -> None:
    """F7: w(2) <= X, so P(w(2) <= 0) >= P(X <= 0); the proof of Lemma 8 prints <=. One step of DPSGD at mu = n epsilon,
    from a second weight of -5: it never becomes positive, and P(X <= 0) is 0.46."""
    n, mu, epsilon, start = 4000, 4000.0, 1.0, -5.0
    sigma = math.sqrt(8 * math.log(1 / DELTA)) / (n * epsilon)
    mean = 1 / math.hypot(mu, 1)
    bound = norm.cdf(-mean / sigma)
    assert norm.cdf((-start - mean) / sigma) > 0.99 > 0.46 > bound > 0.45
