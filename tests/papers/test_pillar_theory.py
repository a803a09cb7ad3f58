"""How to Make Semi-Private Learning Effective's theorems as calculators: constants, the mended margin, and the errata, against independent oracles."""

from __future__ import annotations

import math

import numpy as np
import pytest

from prepriv.mechanisms.noise import NoiseSource
from prepriv_papers.semi_private_learning import pillar_theory as t
from prepriv_papers.semi_private_learning.statements import corrected_size


def test_the_printed_margin_of_theorem_1_is_broken_by_one_row() -> None:
    """A row with margin gamma for w* that lands on the wrong side after projection on A A^T with xi_k = xi."""
    gamma, xi = 0.3, 0.1
    c = 1 - xi
    w = np.array([c, math.sqrt(1 - c * c), 0.0])  # projector: first and third axis
    p = np.diag([1.0, 0.0, 1.0])
    away = np.array([-math.sqrt(1 - c * c), c, 0.0])  # orthogonal to w
    z = gamma * w + math.sqrt(1 - gamma**2) * away
    assert z @ w == pytest.approx(gamma) and np.linalg.norm(p @ w) == pytest.approx(1 - xi)
    kept = (p @ z) @ (p @ w) / np.linalg.norm(p @ w)
    assert kept < 0 < t.paper_zeta(gamma, xi)
    assert kept == pytest.approx(t.projected_margin(gamma, xi))  # and ours is attained


def test_no_row_goes_below_the_mended_margin() -> None:
    rng = np.random.default_rng(0)
    for _ in range(300):
        d, k = 6, int(rng.integers(1, 6))
        q = np.linalg.qr(rng.normal(size=(d, d)))[0][:, :k]
        w = q @ rng.normal(size=k) + 0.2 * rng.normal(size=d)
        w /= np.linalg.norm(w)
        xi = 1 - np.linalg.norm(q.T @ w)
        z = rng.normal(size=(200, d))
        z /= np.linalg.norm(z, axis=1, keepdims=True)
        gamma = np.clip(np.abs(z @ w), 0, 1)
        z *= np.sign(z @ w)[:, None]
        kept = (z @ q) @ (q.T @ w) / np.linalg.norm(q.T @ w)
        for g, m in zip(gamma, kept):
            assert m >= t.projected_margin(float(g), float(xi)) - 1e-9


def test_sizes_have_the_constants_of_the_paper() -> None:
    beta, gamma, gap = 0.1, 0.5, 0.2
    root = 1 + math.sqrt(math.log(2 / beta) / 2)
    assert t.unlabelled_size(gamma, gap, beta) == math.ceil(1600 * root**2 / (gamma * gap) ** 2)
    assert t.labelled_order(4, 0.1, 0.5, 0.2) == pytest.approx(200.0)
    assert t.paper_zeta(0.5, 0.1, eta=0.01, gap=0.2) == pytest.approx(0.5 * (1 - 0.1 - 0.05 - 0.35))
    n = t.generalisation_size(3, 0.1, 0.1)

    def left(m: int) -> float:
        return 4 * ((2.0 * m) ** 4 + 1) * math.exp(-0.1 * m / 16)

    assert left(n) <= 0.025 < left(n - 1)


def test_projector_error_stays_below_equation_4() -> None:
    rng = np.random.default_rng(1)
    signs = np.sqrt(np.array([0.5, 0.3, 0.1, 0.1]))
    gap, n, beta = 0.2, 4000, 0.1
    allowed = 4 * (1 + math.sqrt(math.log(2 / beta) / 2)) / (gap * math.sqrt(n))
    assert t.unlabelled_size(1.0, gap, beta, error=allowed) <= n + 1
    for _ in range(20):
        x = rng.choice([-1.0, 1.0], size=(n, 4)) * signs
        q = np.linalg.eigh(x.T @ x / n)[1][:, 2:]
        assert np.linalg.norm(q @ q.T - np.diag([1.0, 1, 0, 0]), 2) <= allowed


def test_tolerance_leaves_a_margin_and_beyond_it_the_paper_promises_too_much() -> None:
    gamma, gap = 0.6, 0.4
    eta = t.tolerance(gamma, 0.0, gap)
    assert 0 < eta <= gap / 4
    assert t.projected_margin(gamma, 0.0, gamma / 10 + 2 * eta / gap) >= -1e-12
    assert t.tolerance(0.1, 0.3, gap) == 0.0 < t.paper_tolerance(0.1, 0.3, gap)
    assert t.paper_zeta(gamma, 0.1, eta=t.paper_tolerance(gamma, 0.1, gap), gap=gap) == pytest.approx(0.0)


def test_second_moments_differ_by_at_most_the_total_variation() -> None:
    rng = np.random.default_rng(2)
    points = rng.normal(size=(30, 4))
    points /= np.maximum(np.linalg.norm(points, axis=1, keepdims=True), 1)
    for _ in range(100):
        p, q = rng.dirichlet(np.full(30, 0.2)), rng.dirichlet(np.full(30, 0.2))
        eta = 0.5 * np.abs(p - q).sum()
        assert np.linalg.norm((points.T * (p - q)) @ points, 2) <= eta + 1e-12


def test_estimates_of_a_mixture_whose_halfspace_is_known() -> None:
    mixture = t.GaussianMixture(8, theta=0.01, sigma2=0.005)
    x, y = mixture.draw(2000, NoiseSource.for_tests(1))
    found = t.estimate(x, y == 1)
    assert found.accuracy == 1.0 and found.gamma > 0.3
    assert found.xi[-1] < 1e-9 and (np.diff(found.xi) <= 1e-12).all() and found.xi[1] < 0.1
    assert found.gaps.argmax() == 0
    with pytest.raises(ValueError, match="both classes"):
        t.estimate(x, np.zeros(len(x), bool))


def test_the_mixture_has_the_moments_of_definition_5_and_its_w_tells_nothing() -> None:
    mixture = t.GaussianMixture(5, theta=0.3, sigma2=0.2)
    x, y = mixture.draw(100_000, NoiseSource.for_tests(2))
    s = 2 * y - 1
    np.testing.assert_allclose((x * s[:, None]).mean(axis=0), [1, 0, 0, 0, 0], atol=0.01)
    np.testing.assert_allclose(x.T @ x / len(x), np.diag([1.2, 0.5, 0.2, 0.2, 0.2]), atol=0.02)
    assert abs(np.mean((x[:, 1] > 0) == (s > 0)) - 0.5) < 0.01


def test_the_printed_reach_is_too_small_and_the_mended_one_holds() -> None:
    mixture = t.GaussianMixture(400, theta=1e-4, sigma2=1e-3)
    x, y = mixture.draw(500, NoiseSource.for_tests(3))
    x[:, 0] -= 2 * y - 1
    farthest = np.linalg.norm(x, axis=1).max()
    assert mixture.paper_reach(500, 0.01) < farthest < mixture.reach(500, 0.01)
    gamma, length = mixture.paper_margin(500, 0.01)
    assert gamma + length == pytest.approx(2.0)
    public, labelled = mixture.paper_sizes(500, 0.1, 0.01, 0.5)
    assert public == pytest.approx(math.log(200) / (gamma * 1e-4) ** 2)
    assert labelled == pytest.approx(length * math.sqrt(2) / (0.05 * gamma * (1 - 0.1 * gamma)))
    with pytest.raises(ValueError, match="no margin"):
        t.GaussianMixture(400, 0.1, 0.1).paper_sizes(500, 0.1, 0.01, 0.5)


def test_proposition_4_needs_rows_of_the_order_of_the_squared_margin() -> None:
    """On paired orthonormal rows any learner needs (d/2) log(1/(2(alpha + beta))) rows: the corrected size is above, the printed one is not."""
    alpha, beta, shares = 0.2, 0.2, []
    for d in (10**2, 10**4, 10**6, 10**8):
        zeta = (1 - 0.1 / math.sqrt(d)) / math.sqrt(d)
        needed = math.log(1 / (2 * (alpha + beta))) / -math.log1p(-2 / d)
        shares.append(corrected_size(zeta, alpha, beta) / needed)
        assert shares[-1] > 1
    assert max(shares) < 1.5 * min(shares)
    assert (
        math.log(1e8) ** 2 / (1e-4 * alpha**2) > needed > 1 / (1e-4 * alpha**2)
    )  # printed, with and without logarithms
    rng, d = np.random.default_rng(0), 16  # ERM on few of the rows of that law: the bound on the error holds
    y = np.repeat(rng.choice([-1.0, 1.0], d // 2), 2) * np.tile([1.0, -1.0], d // 2)
    errors = []
    for _ in range(400):
        seen = np.unique(rng.integers(0, d, 10))
        guess = np.where(np.isin(np.arange(d), seen), y, 0.0)
        other = np.arange(d) ^ 1  # the other row of the pair has the other label
        guess = np.where(guess == 0, -guess[other], guess)
        errors.append(float(np.mean(np.where(guess == 0, 0.5, guess != y))))
    assert np.mean(errors) == pytest.approx(0.5 * (1 - 2 / d) ** 10, rel=0.1)  # the best learner attains it
