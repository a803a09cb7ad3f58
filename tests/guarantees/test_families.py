"""Closed families against the mechanisms they describe."""

import itertools
import math

import numpy as np
import pytest
from scipy.integrate import trapezoid
from scipy.special import ndtr
from tests.guarantees import oracles

from prepriv import guarantees as g


def test_gaussian_curve_at_reference_points():
    assert g.gdp_delta(1.0, 1.0) == pytest.approx(0.12693673750664397, rel=1e-12)
    assert g.gdp_epsilon(1.0, 1e-5) == pytest.approx(4.377178095682323, rel=1e-11)
    assert g.gaussian(1.0)(0.05) == pytest.approx(float(oracles.gaussian_beta(1.0, 0.05)), rel=1e-12)


@pytest.mark.parametrize("mu", [1e-8, 1e-3, 0.1, 1.0, 10.0, 100.0])
def test_gaussian_delta_is_tight_in_the_tails(mu):
    for z in (0.0, 1.0, 5.0, 20.0, 35.0):
        epsilon = mu * mu / 2 + z * mu
        truth = float(oracles.gaussian_delta(mu, epsilon))
        assert truth <= g.gdp_delta(mu, epsilon) <= truth * (1 + 1e-10 + 2e-13 / mu)


def test_calibration_is_monotone_and_broadcasts():
    mus = [g.gdp_mu(1.0, 10.0**-k) for k in range(1, 12)]
    assert all(a > b for a, b in itertools.pairwise(mus))
    table = g.gdp_delta(np.array([[0.5], [1.0]]), np.array([0.0, 1.0, 2.0]))
    assert table.shape == (2, 3) and np.all(np.diff(table, axis=1) < 0) and np.all(table[1] > table[0])
    assert g.gdp_mu(1.0, 1e-5) == pytest.approx(0.268051123211, rel=1e-10)
    assert g.gdp_mu(0.0, 0.5) == pytest.approx(2 * 0.674489750196, rel=1e-9)  # 2 Phi(mu/2) - 1 = 1/2


def test_laplace_mechanism_by_sampling_free_integration():
    """delta(eps) = integral of (q - e^eps p)_+ for two shifted Laplace densities, on a grid."""
    x = np.linspace(-40, 45, 2_000_001)
    p, q = 0.5 * np.exp(-np.abs(x)), 0.5 * np.exp(-np.abs(x - 1.3))
    f = g.laplace(1.3)
    for epsilon in (-0.7, 0.0, 0.6, 1.2):
        area = float(trapezoid(np.maximum(q - math.exp(epsilon) * p, 0), x))
        assert f.delta(epsilon) == pytest.approx(area, abs=1e-8)


def test_randomized_response_is_its_two_point_pair():
    p = math.exp(1.1) / (1 + math.exp(1.1))
    pair = g.discrete_pair([p, 1 - p], [1 - p, p])
    f = g.randomized_response(1.1)
    epsilons = np.linspace(-2, 2, 41)
    assert np.allclose(f.delta(epsilons), pair.delta(epsilons), atol=1e-13)
    alphas = np.linspace(0, 1, 41)
    assert np.allclose(f(alphas), pair(alphas), atol=1e-13)
    assert f.epsilon(1e-300) == pytest.approx(1.1, rel=1e-12)


def test_approximate_dp_is_four_point_pair():
    """The worst (eps, delta)-DP pair of Kairouz, Oh and Viswanath."""
    e, d = 0.8, 0.02
    a, b = (1 - d) / (1 + math.exp(-e)), (1 - d) / (1 + math.exp(e))
    pair = g.discrete_pair([d, a, b, 0.0], [0.0, b, a, d])
    f = g.approximate_dp(e, d)
    epsilons = np.linspace(-3, 3, 61)
    assert np.allclose(f.delta(epsilons), pair.delta(epsilons), atol=1e-13)


def test_monte_carlo_of_the_best_test_meets_the_gaussian_curve():
    """The likelihood-ratio test at several thresholds: exact errors lie on the curve."""
    thresholds = np.linspace(-2, 4, 13)
    alpha, beta = ndtr(-thresholds), ndtr(thresholds - 1.4)
    f = g.gaussian(1.4)(alpha)
    assert np.all(f <= beta * (1 + 1e-14)) and np.allclose(f, beta, rtol=1e-12)
