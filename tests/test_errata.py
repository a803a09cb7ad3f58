"""Counter-examples to Provable Privacy with Non-Private Pre-Processing on learners and accounting that no other file holds (docs/errata.md)."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import integrate, stats

from prepriv import guarantees as g
from prepriv import payment as pay
from prepriv import preprocessing as pre
from prepriv.guarantees import smooth_mechanisms as mechanisms
from prepriv.guarantees import smooth_renyi as smooth
from prepriv.guarantees.subsampling import PoissonReplace
from prepriv.learners.gradient_descent import GradientDescent
from prepriv.learners.learner import Setting
from prepriv.learners.losses import Logistic
from prepriv.space import Space


# ---- Theorem 13: a quarter of the divergence ------------------------------------------------------------
def test_theorem_13_claims_less_than_two_data_sets_attain() -> None:
    """DP-GD, sigma = L sqrt(T) / (eps n): gradients +L and -L of one record are 2 eps apart in GDP."""
    n, steps, epsilon, delta = 100, 50, 0.7, 1e-5
    noise = math.sqrt(steps) / (epsilon * n)
    mean_moves = 2.0 / n  # every step, whatever the weights: a linear loss
    attained = g.gdp_epsilon(mean_moves / noise * math.sqrt(steps), delta)
    claimed = g.zcdp(epsilon**2 / 2).epsilon(delta)
    assert attained > 1.5 * claimed
    assert attained <= g.zcdp(2 * epsilon**2).epsilon(delta)  # Table 1 is right
    learner = GradientDescent(Logistic(), steps=steps, clip_norm=1.0, bias=0.0)
    clip = learner.clip(1.0)
    assert learner.unit(Setting(1.0, 3, 1, n, "replace-one")) == pytest.approx(2 * clip)


# ---- DP-SGD with subsampling ----------------------------------------------------------------------------
def hockey_stick(
    top: list[tuple[float, float]], bottom: list[tuple[float, float]], std: float, e: float
) -> float:
    """Integral of (P - e^eps Q)_+ for mixtures of (weight, mean) with one standard deviation."""

    def density(parts: list[tuple[float, float]], x: float) -> float:
        return sum(w * stats.norm.pdf(x, m, std) for w, m in parts)

    def excess(x: float) -> float:
        return max(0.0, density(top, x) - math.exp(e) * density(bottom, x))

    edges = np.linspace(-12 * std, 12 * std, 97)
    return sum(integrate.quad(excess, a, b, epsabs=1e-16)[0] for a, b in itertools.pairwise(edges))


def test_the_pair_of_gaussian_mixtures_does_not_dominate_under_replace_one() -> None:
    """[h, h + 2L] with weights [1 - q, q] against N(0): one order misses nearly all of delta."""
    rate, std, width, epsilon = 0.01, 2.0, 2.0, 0.01  # 2L = 2, h = 0
    with_record, without = [(1 - rate, 0.0), (rate, width)], [(1.0, 0.0)]
    forth = hockey_stick(with_record, without, std, epsilon)
    back = hockey_stick(without, with_record, std, epsilon)
    assert forth == pytest.approx(1.9e-3, rel=0.02)
    assert back < 1e-10
    one, other = [(1 - rate, 0.0), (rate, 1.0)], [(1 - rate, 0.0), (rate, -1.0)]
    truth = hockey_stick(one, other, std, epsilon)
    assert truth > 1e6 * back  # a pair of records attains this: that order is no bound
    assert truth <= float(PoissonReplace(0.5, rate).delta(epsilon)) * (1 + 1e-9)


def test_rows_behind_pca_do_not_all_move_alike() -> None:
    """ "gamma = 1 for PCA since Delta_inf = n": rows of small norm stay, so Definition 7 gives more."""
    rows = np.zeros((60, 3))
    rows[:30, 0], rows[30:, 0], rows[0] = 1.0, 1e-3, (0.0, 1.0, 0.0)
    other = rows.copy()
    other[0] = (0.6, 0.8, 0.0)
    step, space = pre.RankReduction(1, payment=pay.Sensitivity({"gap": 0.1})), Space.ball(3, 1.0)
    images = [step.fit_confidential([x], space, 60).transform(rows[1:]) for x in (rows, other)]
    moved = np.linalg.norm(images[0] - images[1], axis=1)
    assert moved.max() > 1e-3
    assert smooth.inverse_pointwise_distance(moved) > 1.9


# ---- DP-SGD with iteration ------------------------------------------------------------------------------
def test_the_one_pass_entry_has_lost_its_epsilon() -> None:
    """Printed 1/2, derived eps^2/32: the printed smooth parameter is too small beyond eps = 4."""
    assert 4.001**2 / 32 > 0.5 > 3.999**2 / 32
    n, epsilon, order, tau = 1000, 8.0, 2.0, 1.0
    common = order * tau**2 * n * math.log(2) / math.log(n)
    assert common / 2 < common * epsilon**2 / 32


def test_noise_meant_for_the_iterate_is_too_small_for_the_gradient() -> None:
    """sigma = 8 eta L sqrt(2 log n) / (eps sqrt n) on gradients: order alpha / eta^2 too much."""
    n, epsilon, rate = 1000, 0.05, 0.01
    noise = 8 * math.sqrt(2 * math.log(n)) / (epsilon * math.sqrt(n))
    last = mechanisms.one_pass_gradient(lipschitz=1.0, smoothness=1.0, noise=rate * noise, last=1)
    right = mechanisms.one_pass_gradient(lipschitz=1.0, smoothness=1.0, noise=noise, last=1)
    assert last.renyi(2.0) == pytest.approx(right.renyi(2.0) / rate**2, rel=1e-6)


def test_the_one_pass_row_of_table_2_fails_for_few_records_left() -> None:
    """1.05 log(m + 2) / (m + 1) <= 1.1 log(m) / m, m = n - p: the last step of its proof."""
    failing = [m for m in range(2, 200) if 1.05 * math.log(m + 2) / (m + 1) > 1.1 * math.log(m) / m]
    assert failing and max(failing) < 10  # so n >= min{101, p} has to be a condition on n - p


# ---- Theorem 2 and Theorem 8 ----------------------------------------------------------------------------
def test_theorem_8_uses_a_constant_at_an_order_where_it_does_not_hold() -> None:
    """delta = exp(-1.05 A) makes the best order 2; (2a - 1) / (2 (a - 1)) is 1.5 there, not 1.05."""
    price = 1.05 * 3.0
    best = 1 + math.sqrt(price / price)  # argmin over a of a c + log(1 / delta) / (a - 1), log(1 / delta) = c
    assert best == 2.0
    assert (2 * best - 1) / (2 * (best - 1)) == 1.5 > 1.05 > (2 * 11 - 1) / (2 * (11 - 1)) * 0.9999


def test_a_statistic_lipschitz_in_frobenius_norm_pays_for_less_than_the_total_shift() -> None:
    """Theorem 10 assumes that norm: sqrt(sum d^2) <= sqrt(Delta_2 Delta_12), sqrt(Delta_inf) below tau."""
    moved = np.full(400, 0.01)
    frobenius, total = float(np.linalg.norm(moved)), float(moved.sum())
    assert total / frobenius == pytest.approx(math.sqrt(400))
    assert frobenius <= math.sqrt(moved.max() * total) * (1 + 1e-12)


def test_a_sample_with_replacement_can_hold_the_moved_record_twice() -> None:
    """Lemma 3: the shift of a batch of b is up to b tau, not tau."""
    one, two = np.zeros(5), np.zeros(5)
    two[3] = 1.0
    batches = list(itertools.product(range(5), repeat=2))
    assert max(abs(two[list(b)] - one[list(b)]).sum() for b in batches) == 2.0


# ---- Proposition 9 and the experiments ------------------------------------------------------------------
def test_proposition_9_bounds_a_mean_of_norms_by_a_mean_of_squares() -> None:
    """Residuals of norm 0.1: their mean is 0.1 = sqrt(Lambda), and Lambda is 0.01."""
    rows = np.full((200, 2), 0.9)
    rows[::2, 1], rows[1::2, 1] = 0.1, -0.1
    values, vectors = np.linalg.eigh(rows.T @ rows / 200)
    residuals = np.linalg.norm(rows - rows @ np.outer(vectors[:, 1], vectors[:, 1]), axis=1)
    assert values[0] == pytest.approx(0.01) and residuals.mean() == pytest.approx(0.1)
    assert residuals.mean() > 9 * values[0]
    assert residuals.mean() <= math.sqrt(values[0]) * (1 + 1e-12)
