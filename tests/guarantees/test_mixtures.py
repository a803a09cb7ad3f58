"""Mixtures against the exact trade-off function of Gaussian mixtures and against enumeration."""

import math

import numpy as np
import pytest
from scipy.integrate import trapezoid
from scipy.optimize import brentq
from scipy.special import ndtr
from tests.guarantees.oracles import GaussianMixtures, hockey_stick

from prepriv import guarantees as g

EPSILONS = (-1.0, -0.2, 0.0, 0.1, 0.5, 1.0, 2.0)


def random_gaussian_mixture(rng, k=2):
    w = rng.dirichlet(np.ones(k))
    return w, rng.uniform(-1, 1, k), rng.uniform(-1, 2, k)


def test_joint_concavity_holds_for_gaussian_mixtures():
    """Lemma 3.1: below the exact curve at its own tests, delta above the exact delta."""
    rng = np.random.default_rng(3)
    for _ in range(8):
        w, a, b = random_gaussian_mixture(rng, 3)
        f = g.mixture([g.gaussian(abs(y - x)) for x, y in zip(a, b)], w)
        exact = GaussianMixtures(w, a, b)
        for t in (-1.5, -0.3, 0.0, 0.4, 1.5):
            assert f.delta(t) >= exact.delta(t) - 1e-13
            alpha, beta = exact.point(t)
            assert f(alpha) <= beta + 1e-13


def test_joint_concavity_is_the_pair_that_shows_the_component():
    """Errors of the likelihood-ratio test of ((X, I), (Y, I)) at one threshold t for all components."""
    w, mu = np.array([0.6, 0.4]), np.array([0.4, 2.5])
    f = g.mixture([g.gaussian(m) for m in mu], w)
    for t in np.linspace(-3, 5, 17):  # reject where log(q/p) = mu x - mu^2/2 > t
        alpha, beta = w @ ndtr(-(t / mu + mu / 2)), w @ ndtr(t / mu - mu / 2)
        assert f(alpha) <= beta + 1e-14
        assert f(alpha) == pytest.approx(beta, abs=2e-5)


def test_averaging_at_one_alpha_would_over_report():
    """The pair that shows the component has a test that beats the averaged curve."""
    w, mu = np.array([0.5, 0.5]), np.array([0.2, 1.5])
    t = brentq(lambda t: w @ ndtr(-(t / mu + mu / 2)) - 0.05, -5, 5)
    attained = float(w @ ndtr(t / mu - mu / 2))
    averaged = sum(x * g.gaussian(m)(0.05) for x, m in zip(w, mu))
    assert averaged > attained + 1e-3
    assert g.mixture([g.gaussian(m) for m in mu], w)(0.05) <= attained


def test_mixture_of_symmetric_components_is_symmetric():
    """Proposition 3.2, and its failure without the hypothesis."""
    f = g.mixture([g.gaussian(1.0), g.laplace(0.5)], [0.3, 0.7])
    assert f.symmetric
    alphas = np.linspace(0.01, 0.99, 50)
    assert np.allclose(f(f(alphas)), alphas, atol=3e-5)
    lopsided = g.discrete_pair([0.5, 0.3, 0.2], [0.1, 0.3, 0.6])
    h = g.mixture([g.gaussian(1.0), lopsided], [0.3, 0.7])
    assert not h.symmetric
    assert abs(h.delta(0.5) - h.inverse().delta(0.5)) > 1e-3


def test_counterexample_to_proposition_6_1():
    """The paper's condition holds here, Lemma 3.1 gives (1 - alpha)/2 and the truth is 1 - alpha."""
    q, p, w = np.array([[0.5, 0.5], [0.5, 0.5]]), np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([0.5, 0.5])
    x = w @ p  # law of X under P_w; the paper's condition, outcome by outcome
    left = (w @ p) / (w @ q)
    right = w[0] * p[0] / q[0] + w[1] * p[1] / q[1]
    assert np.all((left == right) | (x == 0))
    shown = g.mixture([g.discrete_pair(p[i], q[i]) for i in range(2)], w)
    truth = g.discrete_pair(w @ p, w @ q)
    assert truth(0.4) == pytest.approx(0.6, abs=1e-12)
    assert shown(0.4) == pytest.approx(0.3, abs=1e-12)
    assert not g.joint_concavity_is_exact(p, q, w)


def test_corrected_condition_of_proposition_6_1_decides_equality():
    rng = np.random.default_rng(5)
    seen = set()
    for trial in range(60):
        p, q = rng.dirichlet(np.ones(4), 2), rng.dirichlet(np.ones(4), 2)
        if trial % 3 == 1:  # disjoint supports, as for shuffling
            p = np.hstack([np.vstack([p[0], 0 * p[0]]), np.vstack([0 * p[1], p[1]])])
            q = np.hstack([np.vstack([q[0], 0 * q[0]]), np.vstack([0 * q[1], q[1]])])
        if trial % 3 == 2:  # one likelihood ratio on the overlap
            p[1], q[1] = p[0], q[0]
        w = rng.dirichlet(np.ones(2))
        shown = g.mixture([g.discrete_pair(p[i], q[i]) for i in range(2)], w)
        truth = g.discrete_pair(w @ p, w @ q)
        equal = all(abs(shown.delta(e) - truth.delta(e)) < 1e-12 for e in np.linspace(-3, 3, 61))
        assert equal == g.joint_concavity_is_exact(p, q, w)
        seen.add(equal)
    assert seen == {True, False}


def test_lemma_6_2_for_every_sign_of_epsilon():
    """Also with e^eps0 below 1, which the paper excludes and Lemma 6.3 needs."""
    rng = np.random.default_rng(6)
    for _ in range(300):
        p, q = rng.dirichlet(np.ones(5), 2), rng.dirichlet(np.ones(5), 2)
        w, gamma, eta = rng.uniform(0.05, 0.95), rng.uniform(0, 1), rng.uniform(0, 1)
        gamma, eta = w * gamma, w + (1 - w) * eta
        grow = math.exp(rng.uniform(-2, 2))
        a = grow * (eta - w) / ((1 - w) * (eta - gamma))
        b = grow * (w - gamma) / (w * (eta - gamma))
        assert (1 - w) * a + w * b == pytest.approx(grow)
        left = hockey_stick((1 - w) * p[0] + w * p[1], (1 - w) * q[0] + w * q[1], math.log(grow))
        right = (1 - w) * np.maximum(p[0] - a * ((1 - gamma) * q[0] + gamma * q[1]), 0).sum()
        right += w * np.maximum(p[1] - b * ((1 - eta) * q[0] + eta * q[1]), 0).sum()
        assert left <= right + 1e-14


def test_advanced_joint_concavity_is_valid_and_never_worse_than_joint():
    """Lemma 6.3 on random discrete pairs, no symmetry assumed, gamma and eta optimised or not."""
    rng = np.random.default_rng(7)
    gained = 0
    at = np.array(EPSILONS)
    for trial in range(24):
        p, q = rng.dirichlet(np.ones(5), 2), rng.dirichlet(np.ones(5), 2)
        if trial % 3 == 0:
            q = p[::-1].copy()
        w = rng.uniform(0.05, 0.95)
        pairs = tuple(tuple(g.discrete_pair(p[i], q[j]) for j in range(2)) for i in range(2))
        best = g.advanced_mixture(pairs, w)
        fixed = g.advanced_mixture(pairs, w, gamma=w * rng.uniform(), eta=w + (1 - w) * rng.uniform())
        limit = g.advanced_mixture(pairs, w, gamma=w, eta=w)
        joint = g.mixture([pairs[0][0], pairs[1][1]], [1 - w, w])
        one, two = (1 - w) * p[0] + w * p[1], (1 - w) * q[0] + w * q[1]
        truth = np.array([hockey_stick(two, one, e) for e in EPSILONS])
        back = np.array([hockey_stick(one, two, e) for e in EPSILONS])
        for f in (best, fixed, limit):
            assert np.all(f.delta(at) >= truth - 1e-15)
            assert np.all(f.inverse().delta(at) >= back - 1e-15)
        assert np.all(best.delta(at) <= joint.delta(at) + 1e-13)
        gained += int(np.sum(best.delta(at) < 0.99 * joint.delta(at)))
    assert gained > 50


def test_advanced_joint_concavity_on_gaussian_mixtures():
    rng = np.random.default_rng(8)
    for _ in range(2):
        w, a, b = random_gaussian_mixture(rng)
        pairs = tuple(tuple(g.gaussian(abs(b[j] - a[i])) for j in range(2)) for i in range(2))
        f, exact = g.advanced_mixture(pairs, float(w[1])), GaussianMixtures(w, a, b)
        for t in (-1.0, 0.0, 1.1):
            assert f.delta(t) >= exact.delta(t) - 1e-13
            alpha, beta = exact.point(t)
            assert f(alpha) <= beta + 1e-13


def test_advanced_joint_concavity_contains_amplification_by_subsampling():
    """P1 = Q1: the bound of Balle, Barthe and Gaboardi, which Lemma 3.1 misses."""
    q, mu = 0.05, 1.0
    pairs = (g.gaussian(0.0), g.gaussian(mu)), (g.gaussian(mu), g.gaussian(mu))
    f = g.advanced_mixture(pairs, q)
    joint = g.mixture([g.gaussian(0.0), g.gaussian(mu)], [1 - q, q])
    for epsilon in (0.05, 0.2, 0.5):
        amplified = q * g.gdp_delta(mu, math.log1p(math.expm1(epsilon) / q))
        assert f.delta(epsilon) == pytest.approx(amplified, rel=1e-3)
        assert f.delta(epsilon) < 0.8 * joint.delta(epsilon)


@pytest.mark.parametrize("w", [1e-6, 0.05, 0.3, 0.499, 0.5])
@pytest.mark.parametrize("mu", [0.3, 1.0, 4.0])
def test_swapping_rule_is_exact_for_gaussians_and_proposition_6_4_is_above_it(mu, w):
    exact = GaussianMixtures([1 - w, w], [0.0, mu], [mu, 0.0])
    rule, paper = g.swap_mixture(g.gaussian(mu), w), g.swap_mixture(g.gaussian(mu), w, method="paper")
    end = math.log((1 - w) / w)
    for epsilon in np.linspace(0.0, min(1.2 * end + 0.1, 6.0), 7):
        truth = exact.delta(epsilon) if epsilon < end else 0.0
        assert truth - 1e-14 <= rule.delta(epsilon) <= truth + 1e-12
        assert paper.delta(epsilon) >= rule.delta(epsilon) * (1 - 1e-12)
    for t in (-0.5, 0.0, 0.3):
        alpha, beta = exact.point(t)
        assert rule(alpha) <= beta + 1e-13
        assert rule(alpha) == pytest.approx(beta, abs=1e-4)


def test_swapping_rule_for_asymmetric_pairs():
    rng = np.random.default_rng(9)
    for _ in range(60):
        p0, q0 = rng.dirichlet(np.ones(5), 2)
        w = rng.uniform(0, 0.5)
        f = g.swap_mixture(g.discrete_pair(p0, q0), w)
        p, q = (1 - w) * p0 + w * q0, (1 - w) * q0 + w * p0
        for epsilon in EPSILONS:
            assert f.delta(epsilon) == pytest.approx(hockey_stick(q, p, epsilon), abs=1e-12)
            assert f.inverse().delta(epsilon) == pytest.approx(hockey_stick(p, q, epsilon), abs=1e-12)
        assert f._pure_epsilon() <= math.log((1 - w) / w) * (1 + 1e-12)


def test_swapping_does_not_move_the_ends():
    assert g.swap_mixture(g.gaussian(1.0), 0.0).mu == 1.0
    assert g.swap_mixture(g.gaussian(1.0), 0.5).delta(0.0) == 0.0


def test_divergences_of_mixtures_bound_the_truth():
    """Joint convexity of KL and of the Renyi moment, against integration on a grid."""
    w, a, b = np.array([0.7, 0.3]), np.array([0.0, 0.5]), np.array([1.0, -0.4])
    f = g.mixture([g.gaussian(1.0), g.gaussian(0.9)], w)
    x = np.linspace(-12, 12, 400_001)
    p, q = (w @ np.exp(-0.5 * (x - m[:, None]) ** 2) / math.sqrt(2 * math.pi) for m in (a, b))
    assert f.divergence("kl") >= trapezoid(p * np.log(p / q), x)
    assert f.divergence("kl") == pytest.approx(0.7 * 0.5 + 0.3 * 0.405, rel=1e-12)
    for order in (1.5, 3.0):
        assert f.divergence("renyi", order=order) >= np.log(trapezoid(p**order * q ** (1 - order), x)) / (
            order - 1
        )
    r = g.swap_mixture(g.gaussian(1.0), 0.3)
    one = 0.7 * np.exp(-0.5 * x**2) + 0.3 * np.exp(-0.5 * (x - 1) ** 2)
    two = 0.3 * np.exp(-0.5 * x**2) + 0.7 * np.exp(-0.5 * (x - 1) ** 2)
    truth = trapezoid(one * np.log(one / two), x) / math.sqrt(2 * math.pi)
    assert truth <= r.divergence("kl") <= truth * 1.001


@pytest.mark.parametrize(
    "call, name",
    [
        (lambda: g.mixture([g.gaussian(1.0)], [0.9]), "weights"),
        (lambda: g.mixture([g.gaussian(1.0)], [0.5, 0.5]), "weights"),
        (lambda: g.mixture([g.gaussian(1.0), g.gaussian(2.0)], [1.5, -0.5]), "weights"),
        (lambda: g.mixture([1.0], [1.0]), "components"),
        (lambda: g.swap_mixture(g.gaussian(1.0), 0.6), "weight"),
        (lambda: g.swap_mixture(g.gaussian(1.0), math.nan), "weight"),
        (lambda: g.swap_mixture(g.gaussian(1.0), 0.1, method="printed"), "method"),
        (lambda: g.advanced_mixture(((g.gaussian(1.0),) * 2,) * 2, 0.0), "weight"),
        (lambda: g.advanced_mixture(((g.gaussian(1.0),) * 2,) * 2, 0.3, gamma=0.4, eta=0.5), "gamma"),
        (lambda: g.advanced_mixture(((g.gaussian(1.0),) * 2,) * 2, 0.3, gamma=0.1), "gamma and eta"),
        (lambda: g.joint_concavity_is_exact([[1.0]], [[1.0, 0.0]], [1.0]), "p, q, weights"),
    ],
)
def test_bad_arguments_are_named(call, name):
    with pytest.raises(ValueError) as caught:
        call()
    assert str(caught.value).startswith(name)
