"""Counter-examples to How to Make Semi-Private Learning Effective, by its own definitions. Nothing of the library is imported."""

from __future__ import annotations

import math

import numpy as np
from scipy.stats import binom, norm


def _turned(degrees: float) -> np.ndarray:
    return np.array([math.cos(math.radians(degrees)), math.sin(math.radians(degrees))])


def _law() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows of norm 1, labels and chances of a law in the plane: +-u (0.8), +-z and +-z' (0.1 each), z' = z mirrored at u."""
    tilt = math.degrees(math.acos(0.9))  # of u against w* = (1, 0)
    away = math.degrees(math.acos(0.3))
    u, z, mirrored = _turned(tilt), _turned(-away), _turned(2 * tilt + away)
    x = np.array([u, -u, z, -z, mirrored, -mirrored])
    return x, np.sign(x[:, 0]), np.array([0.4, 0.4, 0.05, 0.05, 0.05, 0.05])


def test_theorem_1_promises_an_accuracy_that_no_halfspace_in_k_dimensions_has() -> None:
    """H1: a (0.3, 0.1)-large margin low rank law with k = 1 on which every w in the top direction errs on 10 %.

    The projection takes z to the other side: <w*, b> = 0 does not make <A'w*, A'b> = 0 (step (a) of equation (2)).
    """
    x, y, chance = _law()
    assert np.allclose(np.linalg.norm(x, axis=1), 1) and np.allclose(chance @ x, 0)
    margin = (x[:, 0] * y).min()  # w* = (1, 0)
    values, vectors = np.linalg.eigh((x * chance[:, None]).T @ x)
    top = vectors[:, 1]
    assert margin >= 0.3 - 1e-12 and values[1] - values[0] > 0.5  # the gap Delta_1 is large
    assert abs(top[0]) >= 0.9 - 1e-12  # norm(A A' w*) = 1 - xi, xi = 0.1
    assert 0.3 * (1 - 0.1 - 0.1 * 0.3) > 0.26  # the printed zeta is positive, so any alpha is promised
    for degrees in np.linspace(-7, 7, 29):  # public directions near the top one
        turn = np.array([_turned(degrees), _turned(degrees + 90)]).T
        direction = turn @ top
        errors = [chance[np.sign(x @ (s * direction)) != y].sum() for s in (1, -1)]
        assert min(errors) >= 0.1 - 1e-12


def test_algorithm_1_as_printed_takes_the_mean_for_the_first_direction() -> None:
    """H2: step 1 sums x x' uncentred, Definition 3 has the covariance. gamma = 0.3, xi_1 = 0, and error 1/2."""
    x = np.array([[math.sqrt(0.91), 0.3], [math.sqrt(0.91), -0.3]])
    y = np.array([1, -1])
    centred = x - x.mean(axis=0)
    right = np.linalg.eigh(centred.T @ centred)[1][:, 1]
    printed = np.linalg.eigh(x.T @ x)[1][:, 1]
    assert (y * x[:, 1]).min() >= 0.3 and abs(right[1]) > 1 - 1e-12  # w* = (0, 1) lies in the first direction
    assert np.ptp(x @ printed) < 1e-12  # both rows, with both labels, become one


def test_noisy_sgd_as_printed_has_too_little_noise() -> None:
    """H3: sigma^2 has 1/epsilon for 1/epsilon^2. A linear loss of slope 1, W a long interval, eta constant: the output
    is the sum of all noisy gradients. n - 1 rows are 0; the last is 1 or -1."""
    n, delta = 20, 1e-5
    steps = n**2 - 1
    drawn = np.arange(steps + 1)
    law = binom.pmf(drawn, steps, 1 / n)

    def spent(epsilon: float, power: int) -> float:
        variance = 32 * n**2 * math.log(n / delta) * math.log(1 / delta) / epsilon**power
        deviation = math.sqrt(variance * steps)
        best = 0.0
        for at in np.linspace(0, 6 * deviation, 2000):
            up, low = (float(law @ norm.sf((at - s * n * drawn) / deviation)) for s in (1, -1))
            best = max(best, up - math.exp(epsilon) * low)
        return best

    assert spent(1e-4, 1) > 5 * delta  # claimed: (1e-4, 1e-5)
    assert spent(1e-4, 2) <= delta and spent(0.5, 2) <= delta  # with the square no attack


def test_lemma_5_is_seven_times_loose_and_needs_no_third_moment() -> None:
    """H4: (v.x)^2 lies in [0, 1], so its means differ by eta at most; reached by two laws on two axes."""
    rng = np.random.default_rng(0)
    for _ in range(50):
        x = rng.normal(size=(6, 3))
        x /= np.linalg.norm(x, axis=1, keepdims=True)
        x = np.vstack([x, -x])  # zero mean
        f, g = (np.tile(rng.dirichlet(np.ones(6)), 2) / 2 for _ in range(2))
        eta = np.abs(f - g).sum() / 2
        assert np.linalg.norm((x * (f - g)[:, None]).T @ x, 2) <= eta + 1e-12
    f, g = (np.diag([0.5 + s, 0.5 - s]) for s in (0.15, -0.15))  # second moments of laws on +-e1 and +-e2
    assert math.isclose(np.linalg.norm(f - g, 2), 0.3)  # at total variation 0.3


def test_w_of_definition_5_tells_nothing_of_the_label() -> None:
    """H5: <mu, w*> = 0, so y <w*, x> is symmetric about 0: margin none, error 1/2. mu separates."""
    mu, w, theta, sigma2 = np.array([1.0, 0, 0]), np.array([0, 1.0, 0]), 0.05, 0.05
    covariance = theta * np.outer(w, w) + sigma2 * np.eye(3)
    assert norm.cdf(-(mu @ w) / math.sqrt(w @ covariance @ w)) == 0.5
    assert norm.cdf(-(mu @ mu) / math.sqrt(mu @ covariance @ mu)) < 1e-5


def test_lemma_7_takes_the_covariance_for_its_root() -> None:
    """H6: Sigma = 0.01 I, d = 400: rows lie at 0.1 sqrt(400) = 2 from their mean, beyond the bound in one of 2 cases."""
    d, variance, delta = 400, 0.01, 0.01
    printed = 4 * variance * math.sqrt(d) + 2 * variance * math.sqrt(math.log(1 / delta))
    far = np.linalg.norm(np.random.default_rng(0).normal(scale=math.sqrt(variance), size=(200, d)), axis=1)
    assert printed < 0.85 < 1.7 < far.min()  # it should hold for 99 of 100


def test_ratios_of_the_low_data_section() -> None:
    """H8: "approximately 0.25 times" and "only 0.13 times" are 0.27 and 0.14 by the accuracies printed beside them."""
    assert round(15.3 / 57.3, 2) == 0.27 and round(4.3 / 30.2, 2) == 0.14
