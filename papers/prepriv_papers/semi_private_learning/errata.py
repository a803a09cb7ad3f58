"""Counter-examples to How to Make Semi-Private Learning Effective, by its own definitions: exact laws and enumeration.

`python errata.py`, or `python errata.py H1 H9`. NumPy and SciPy alone. Each returns what is compared, what the paper says, what
is, and the relation ("<=": what is should be at most what the paper says) that the paper's statement implies.
"""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Callable

import numpy as np
from scipy.stats import binom, chi2, norm

Erratum = tuple[str, float, float, str]
HOLDS = {
    "<=": operator.le,
    ">=": operator.ge,
    "=": lambda found, said: math.isclose(found, said, rel_tol=1e-6),
}


def refuted(erratum: Erratum) -> bool:
    """Whether what is breaks what is said."""
    _, said, found, relation = erratum
    return not HOLDS[relation](found, said)


def turned(degrees: float) -> np.ndarray:
    """A unit vector in the plane."""
    return np.array([math.cos(math.radians(degrees)), math.sin(math.radians(degrees))])


def h1() -> Erratum:
    """Theorem 1: a (0.3, 0.1)-large margin low rank law on which every halfspace in the first direction errs on 10 %."""
    tilt, away = math.degrees(math.acos(0.9)), math.degrees(math.acos(0.3))
    u, z, mirrored = turned(tilt), turned(-away), turned(2 * tilt + away)
    x = np.array([u, -u, z, -z, mirrored, -mirrored])
    y, chance = np.sign(x[:, 0]), np.array([0.4, 0.4, 0.05, 0.05, 0.05, 0.05])
    values, vectors = np.linalg.eigh((x * chance[:, None]).T @ x)
    top = vectors[:, 1]
    assert (x[:, 0] * y).min() >= 0.3 - 1e-12 and abs(top[0]) >= 0.9 - 1e-12  # w* = (1, 0): γ and 1 − ξ
    assert values[1] - values[0] > 0.5 and 0.3 * (1 - 0.1 - 0.03) > 0.26  # the gap; ζ is positive
    errors = []
    for degrees in np.linspace(-7, 7, 29):  # public directions near the first one
        near = np.array([turned(degrees), turned(degrees + 90)]).T @ top
        errors += [float(chance[np.sign(x @ (s * near)) != y].sum()) for s in (1, -1)]
    return (
        "least error in the projected space, any number of rows; α = 1 % is promised",
        0.01,
        min(errors),
        "<=",
    )


def h2() -> Erratum:
    """Algorithm 1, step 1: Σxxᵀ/n is uncentred; the first direction is then the mean, and tells nothing. γ = 0.3, ξ₁ = 0."""
    x, y = np.array([[math.sqrt(0.91), 0.3], [math.sqrt(0.91), -0.3]]), np.array([1, -1])
    centred = x - x.mean(axis=0)
    assert (y * x[:, 1]).min() >= 0.3 and abs(np.linalg.eigh(centred.T @ centred)[1][1, 1]) > 1 - 1e-12
    scores = x @ np.linalg.eigh(x.T @ x)[1][:, 1]
    error = 0.5 if np.ptp(scores) < 1e-12 else 0.0  # two rows with two labels become one
    return "error in the first direction; α = 1 % is promised", 0.01, error, "<="


def spent(epsilon: float, power: int, n: int = 20, delta: float = 1e-5) -> float:
    """δ that Algorithm 2 attains at ε, noise variance over ε^power: a linear loss of slope 1, the last of n rows is 1 or −1."""
    steps = n**2 - 1
    drawn = np.arange(steps + 1)
    law = binom.pmf(drawn, steps, 1 / n)
    deviation = math.sqrt(32 * n**2 * math.log(n / delta) * math.log(1 / delta) / epsilon**power * steps)
    best = 0.0
    for at in np.linspace(0, 6 * deviation, 2000):
        up, low = (float(law @ norm.sf((at - s * n * drawn) / deviation)) for s in (1, -1))
        best = max(best, up - math.exp(epsilon) * low)
    return best


def h3() -> Erratum:
    """Algorithm 2, step 1: σ² has 1/ε where its source has 1/ε²; not private as printed."""
    assert spent(1e-4, 2) <= 1e-5 and spent(0.5, 2) <= 1e-5
    return "δ at ε = 1e-4, n = 20", 1e-5, spent(1e-4, 1), "<="


def h4() -> Erratum:
    """Lemma 5: 7η and a third moment; η is enough, and reached: 300 random laws at total variation η."""
    rng, most = np.random.default_rng(0), 0.0
    for _ in range(300):
        x = rng.normal(size=(6, 3))
        x /= np.linalg.norm(x, axis=1, keepdims=True)
        x = np.vstack([x, -x])
        f, g = (np.tile(rng.dirichlet(np.ones(6)), 2) / 2 for _ in range(2))
        eta = np.abs(f - g).sum() / 2
        most = max(most, float(np.linalg.norm((x * (f - g)[:, None]).T @ x, 2) / eta))
    two = float(np.linalg.norm(np.diag([0.3, -0.3]), 2)) / 0.3  # laws on ±e₁ and ±e₂ at total variation 0.3
    return "largest distance of second moments over η", 7.0, max(most, two), "<="


def h5() -> Erratum:
    """Definition 5: w* with ⟨µ, w*⟩ = 0 as the separator: y⟨w*, x⟩ is symmetric about 0. µ separates."""
    mu, w, covariance = np.array([1.0, 0, 0]), np.array([0, 1.0, 0]), np.diag([0.05, 0.1, 0.05])
    assert norm.cdf(-(mu @ mu) / math.sqrt(mu @ covariance @ mu)) < 1e-5
    return (
        "error of w*, θ = σ² = 0.05",
        0.01,
        float(norm.cdf(-(mu @ w) / math.sqrt(w @ covariance @ w))),
        "<=",
    )


def h6() -> Erratum:
    """Lemma 7: ‖Σ‖ stands for its root: Σ = I/100, d = 400, δ = 0.01, by the chi-square law of the norm."""
    d, variance, delta = 400, 0.01, 0.01
    printed = 4 * variance * math.sqrt(d) + 2 * variance * math.sqrt(math.log(1 / delta))
    return "chance that a row lies further away", delta, float(chi2.sf(printed**2 / variance, d)), "<="


def h8() -> Erratum:
    """Section 4.3: "approximately 0.25 times the original value" of 57.3 and 15.3."""
    return "15.3/57.3, to two digits", 0.25, round(15.3 / 57.3, 2), "="


def h9() -> Erratum:
    """Proposition 4: Õ(1/(ζα²)) rows are not enough for any learner; 1/(ζα)² is the rate.

    d orthonormal rows in pairs, labels opposite within a pair, else random: w* = Σ yᵢeᵢ/√d has margin 1/√d, lies in the d − 1
    leading directions (the covariance is (I − 11ᵀ/d)/d, and 1 ⊥ w*), ξ = 0. A row whose pair was not drawn is guessed, so any
    learner errs on average on at least ½ (1 − 2/d)ⁿ. α = 0.2, β = 0.2, d = 10¹⁴.
    """
    d, alpha, beta = 10**14, 0.2, 0.2
    small = 64
    y = np.tile([1.0, -1.0], small // 2)
    values, vectors = np.linalg.eigh(np.eye(small) / small - np.ones((small, small)) / small**2)
    assert (
        np.isclose(np.linalg.norm(vectors[:, 1:].T @ y) / math.sqrt(small), 1.0)
        and values[1] > values[0] + 1e-3
    )
    zeta = (1 - 0.1 / math.sqrt(d)) / math.sqrt(d)
    n = math.log(d) ** 2 / (zeta * alpha**2)  # the Õ, with a square of a logarithm
    error = 0.5 * math.exp(n * math.log1p(-2 / d))
    return "mean error of the best learner; α + β is the most that is promised", alpha + beta, error, "<="


def h10() -> Erratum:
    """Lemma 6: printed for the chance that the bound holds (≤ η); meant is that it fails. One hypothesis that never errs."""
    n, eta, zeta = 1000, 0.5, 1.0
    printed = 4 * 1 * math.exp(-eta * zeta * n / (4 * (zeta + 1)))
    return "P(L − (1 + ζ) L̂ ≤ η), L = 0, n = 1000", printed, 1.0, "<="


ERRATA: dict[str, Callable[[], Erratum]] = {
    f.__name__.upper(): f for f in (h1, h2, h3, h4, h5, h6, h8, h9, h10)
}

if __name__ == "__main__":
    for name in sys.argv[1:] or ERRATA:
        made = ERRATA[name]()
        print(f"{name}: {str(ERRATA[name].__doc__).splitlines()[0]}")
        print(
            f"    {made[0]}: said {made[1]:.6g}, is {made[2]:.6g}: {'refuted' if refuted(made) else 'holds'}"
        )
