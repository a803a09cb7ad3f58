"""10,000 random configurations of the whole set of operations against mpmath at 50 digits."""

import math
from collections.abc import Callable

import mpmath as mp
import numpy as np
import pytest
from tests.guarantees import oracles

from prepriv import guarantees as g

Rng = np.random.Generator
CASES = 10_000


def _scale(rng: Rng, low: float = -5.0, high: float = 1.3) -> float:
    return float(10.0 ** rng.uniform(low, high))


def _alpha(rng: Rng) -> float:
    kind = rng.integers(4)
    tiny = float(10.0 ** rng.uniform(-14, -1))
    return [float(rng.uniform()), tiny, 1.0 - tiny, float(rng.integers(2))][kind]


def _epsilon(rng: Rng, mu: float) -> float:
    return float(abs(mu * rng.uniform(-3, 12) + mu * mu / 2)) if rng.integers(4) else float(rng.uniform(0, 5))


def _delta(rng: Rng) -> float:
    return float(10.0 ** rng.uniform(-20, -0.01))


def gaussian_delta(rng: Rng) -> None:
    mu = _scale(rng, high=3.0)
    epsilon = _epsilon(rng, mu)
    assert g.gdp_delta(mu, epsilon) >= oracles.gaussian_delta(mu, epsilon)


def gaussian_negative_epsilon(rng: Rng) -> None:
    mu = _scale(rng)
    epsilon = -_epsilon(rng, mu)
    assert g.gaussian(mu).delta(epsilon) >= oracles.gaussian_delta(mu, epsilon)


def gaussian_beta(rng: Rng) -> None:
    mu, alpha = _scale(rng), _alpha(rng)
    assert g.gaussian(mu)(alpha) <= oracles.gaussian_beta(mu, alpha)


def gaussian_conjugate(rng: Rng) -> None:
    mu, y = _scale(rng, high=0.5), -_scale(rng, -4, 4)
    truth = oracles.gaussian_delta(mu, mp.log(-mp.mpf(y))) - 1
    assert g.gaussian(mu).conjugate(y) >= truth


def gaussian_epsilon(rng: Rng) -> None:
    mu, delta = _scale(rng, -3, 1), _delta(rng)
    epsilon = g.gdp_epsilon(mu, delta)
    assert oracles.gaussian_delta(mu, epsilon) <= delta
    if epsilon > 0.0:
        assert oracles.gaussian_delta(mu, epsilon * (1 - 1e-9)) > mp.mpf(delta) * (1 - mp.mpf(10) ** -6)


def gaussian_mu(rng: Rng) -> None:
    epsilon, delta = _scale(rng, -3, 1), _delta(rng)
    mu = g.gdp_mu(epsilon, delta)
    assert oracles.gaussian_delta(mu, epsilon) <= delta
    assert oracles.gaussian_delta(mu * (1 + 1e-7), epsilon) > delta


def laplace_curve(rng: Rng) -> None:
    e0, alpha = _scale(rng), _alpha(rng)
    epsilon = float(rng.uniform(-1.2, 1.2)) * e0
    f = g.laplace(e0)
    assert f.delta(epsilon) >= oracles.laplace_delta(e0, epsilon)
    assert f(alpha) <= oracles.laplace_beta(e0, alpha)


def approximate_curve(rng: Rng) -> None:
    e0, alpha, d0 = _scale(rng), _alpha(rng), _delta(rng) if rng.integers(2) else 0.0
    epsilon = float(rng.uniform(-1.2, 1.2)) * e0
    f = g.approximate_dp(e0, d0)
    assert f.delta(epsilon) >= oracles.approximate_delta(e0, d0, epsilon)
    assert f(alpha) <= oracles.approximate_beta(e0, d0, alpha)


def closed_epsilon(rng: Rng) -> None:
    e0, delta = _scale(rng), _delta(rng)
    d0 = delta * float(rng.uniform()) if rng.integers(2) else 0.0
    assert oracles.laplace_delta(e0, g.laplace(e0).epsilon(delta)) <= delta
    assert oracles.approximate_delta(e0, d0, g.approximate_dp(e0, d0).epsilon(delta)) <= delta


def mixture_delta(rng: Rng) -> None:
    mu, e0, w = _scale(rng, -2, 0.5), _scale(rng, -2, 0.5), float(rng.uniform())
    epsilon = float(rng.uniform(-2, 4))
    f = g.mixture([g.gaussian(mu), g.laplace(e0)], [w, 1.0 - w])
    share = mp.mpf(w) / (mp.mpf(w) + mp.mpf(1.0 - w))
    truth = share * oracles.gaussian_delta(mu, epsilon) + (1 - share) * oracles.laplace_delta(e0, epsilon)
    assert f.delta(epsilon) >= truth


def swapped_delta(rng: Rng) -> None:
    mu, w = _scale(rng, -2, 0.7), float(rng.uniform(1e-6, 0.5)) ** (1 + int(rng.integers(3)))
    end = math.log1p(-w) - math.log(w)
    epsilon = end * float(rng.uniform()) if rng.integers(2) else end * (1 - 10.0 ** rng.uniform(-12, -1))
    grow, weight = mp.exp(mp.mpf(epsilon)), mp.mpf(w)
    kept = (1 - weight) - weight * grow
    truth = mp.mpf(0)
    if kept > 0:
        truth = kept * oracles.gaussian_delta(mu, mp.log(((1 - weight) * grow - weight) / kept))
    assert g.swap_mixture(g.gaussian(mu), w).delta(epsilon) >= truth


def lines_of_a_pair(rng: Rng) -> None:
    # every operation that goes through supporting lines, on a pair whose truth is a finite sum
    p, q = (rng.dirichlet(np.full(5, 0.7)) for _ in range(2))
    f = g.discrete_pair(p, q)
    epsilon, alpha = float(rng.uniform(-3, 3)), _alpha(rng)
    grow = mp.exp(mp.mpf(epsilon))
    p_sum, q_sum = (mp.fsum(mp.mpf(float(x)) for x in v) for v in (p, q))
    one, two = ([mp.mpf(float(x)) / total for x in v] for v, total in ((p, p_sum), (q, q_sum)))
    slack = mp.mpf(10) ** -15  # the pair itself is normalised in floating point
    assert f.delta(epsilon) >= mp.fsum(max(b - grow * a, 0) for a, b in zip(one, two)) - slack
    assert f.inverse().delta(epsilon) >= mp.fsum(max(a - grow * b, 0) for a, b in zip(one, two)) - slack
    spent, beta = mp.mpf(0), mp.mpf(1)
    for a, b in sorted(zip(one, two), key=lambda x: x[0] / x[1] if x[1] else mp.inf):
        share = min(mp.mpf(1), max(mp.mpf(0), (alpha - spent) / a)) if a else mp.mpf(1)
        spent, beta = spent + share * a, beta - share * b
    assert f(alpha) <= beta + slack


def renyi_closed_forms(rng: Rng) -> None:
    e0, order = _scale(rng, -3, 1), 1.0 + _scale(rng, -2, 2)
    a, e = mp.mpf(order), mp.mpf(e0)
    p, q = 1 / (1 + mp.exp(-e)), 1 / (1 + mp.exp(e))
    binary = mp.log(p**a * q ** (1 - a) + q**a * p ** (1 - a)) / (a - 1)
    assert g.randomized_response(e0).divergence("renyi", order=order) >= binary
    double = mp.log(a / (2 * a - 1) * mp.exp((a - 1) * e) + (a - 1) / (2 * a - 1) * mp.exp(-a * e)) / (a - 1)
    assert g.laplace(e0).divergence("renyi", order=order) >= double


def zcdp_conversion(rng: Rng) -> None:
    # zCDP of rho holds for a Gaussian of mu = sqrt(2 rho): the converted claim must be true of it
    rho, delta = _scale(rng, -4, 0.5), _delta(rng)
    assert oracles.gaussian_delta(math.sqrt(2 * rho) * (1 - 1e-15), g.zcdp(rho).epsilon(delta)) <= delta


OPERATIONS: list[tuple[Callable[[Rng], None], int]] = [
    (gaussian_delta, 14),
    (gaussian_negative_epsilon, 10),
    (gaussian_beta, 8),
    (gaussian_conjugate, 8),
    (gaussian_epsilon, 4),
    (gaussian_mu, 4),
    (laplace_curve, 10),
    (approximate_curve, 10),
    (closed_epsilon, 8),
    (mixture_delta, 8),
    (swapped_delta, 6),
    (lines_of_a_pair, 4),
    (renyi_closed_forms, 5),
    (zcdp_conversion, 1),
]


@pytest.mark.parametrize("operation, share", OPERATIONS, ids=lambda x: getattr(x, "__name__", ""))
def test_no_rounding_violation(operation: Callable[[Rng], None], share: int) -> None:
    assert sum(part for _, part in OPERATIONS) == 100
    rng = np.random.default_rng([share, len(operation.__name__)])
    for _ in range(CASES * share // 100):
        operation(rng)
