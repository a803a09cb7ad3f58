"""Counter-examples to The Importance of Feature Preprocessing, by its own definitions: exact laws, and a linear programme.

`python errata.py`, or `python errata.py F1 F4`. NumPy and SciPy alone. Each returns what is compared, what the paper says, what
is, and the relation ("<=": what is should be at most what the paper says) that the paper's statement implies.
"""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Callable

import numpy as np
from scipy.optimize import linprog
from scipy.stats import binom, norm

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


DELTA = 1e-5


def attained(n: int, batch: int, epsilon: float, *, averaged: bool) -> float:
    """P(A(D) ∈ O) − e^ε P(A(D′) ∈ O) of one step of Algorithm 1, O a half line of the first weight.

    D holds n − 1 rows at 0 and one at (2C, 0, …), y = 1; D′ is D without it. Hinge loss before its kink: each draw of that row
    adds C to the sum. averaged: a noise in each summand, as equation (2) prints.
    """
    sigma = math.sqrt(8 * math.log(1 / DELTA)) / (n * epsilon)
    deviation = sigma / math.sqrt(batch) if averaged else sigma
    draws = np.arange(400)
    law = binom.pmf(draws, batch, 1 / n)
    at = np.linspace(0.0, 3 * max(1 / n, 4 / batch), 4000)[:, None]
    with_row = norm.sf((at - draws / batch) / deviation) @ law
    return float((with_row - math.exp(epsilon) * norm.sf(at[:, 0] / deviation)).max())


def f1() -> Erratum:
    """Algorithm 1, equation (2): noise in each summand of the mean has variance σ²/B, and is not private."""
    assert attained(10_000, 10_000, 1.0, averaged=False) <= DELTA  # noise on the mean, as the appendix has it
    return "δ at ε = 1, n = B = 10⁴, one step", DELTA, attained(10_000, 10_000, 1.0, averaged=True), "<="


def f2() -> Erratum:
    """Lemma 1: where all features are 0 it promises excess loss 0, which no private algorithm has for both majorities."""
    n, epsilon = 11, 0.5
    b = np.linspace(-2, 2, 401)
    losses = [(k * np.maximum(1 - b, 0) + (n - k) * np.maximum(1 + b, 0)) / n for k in (5, 6)]
    best = [b[loss <= loss.min() + 1e-12] for loss in losses]
    assert (
        best[0].max() < 0 < best[1].min()
    )  # the sets of minimisers do not meet, so each excess below is of a miss
    # P(b ∈ best₁ | D′) ≥ e^(−2ε)(P(b ∈ best₁ | D) − (1 + e^ε) δ): were both zero, this mass would be, too. Two records apart.
    mass = math.exp(-2 * epsilon) * (1 - (1 + math.exp(epsilon)) * DELTA)
    miss = min(
        float(loss[(b >= 0) if i == 0 else (b <= 0)].min() - loss.min()) for i, loss in enumerate(losses)
    )
    return (
        "excess loss on one of two data sets, all features 0, n = 11, ε = 0.5",
        0.0,
        miss * mass / (1 + math.exp(-2 * epsilon)),
        "<=",
    )


def f3() -> Erratum:
    """Section 2: ‖v M vᵀ‖ is no seminorm but the square of one."""
    m, v = np.diag([1.0, 0.0]), np.array([3.0, 4.0])
    return "Q(2v) over Q(v)", 2.0, float((2 * v) @ m @ (2 * v) / (v @ m @ v)), "="


def f4() -> Erratum:
    """Lemma 3, Theorem 1: at R = 1 the condition on n is void (log R = 0), in two dimensions, where log d is not.

    All rows at (1, 0), or all at (−1, 0). A linear programme over laws on three values of the first coordinate, private along the
    chain of data sets between the two, bounds the worse error of every mechanism from below.
    """
    n, epsilon = 10, 0.01
    values = np.array([-1.0, 0.0, 1.0])  # mass moved to these changes neither error
    sets, points = 2 * n + 1, 3  # k rows turned, a row missing on every second set
    pairs = [(i, j) for i in range(sets - 1) for j in ((i, i + 1), (i + 1, i))]
    size = sets * points
    total = size + len(pairs) * points + 1
    above, right = [], []
    for row, (_, (i, j)) in enumerate(pairs):
        slack_sum = np.zeros(total)
        for o in range(points):
            line, slack = np.zeros(total), size + row * points + o
            line[i * points + o], line[j * points + o], line[slack] = 1.0, -math.exp(epsilon / 3), -1.0
            slack_sum[slack] = 1.0
            above.append(line)
            right.append(0.0)
        above.append(slack_sum)
        right.append(DELTA / 3)
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
    return (
        "error of the mean, R = 1, d = 2, n = 10, ε = 0.01, least of any mechanism",
        2 / n**2,
        found.fun,
        "<=",
    )


def f5() -> Erratum:
    """Algorithm 2, step 6: b = θ[d + 1]τ − µ̂ adds a number and a vector; ⟨µ̂, w⟩ is meant, and gives the scores of D′."""
    rng = np.random.default_rng(0)
    x, mean, theta, tau = rng.normal(size=(20, 3)), rng.normal(size=3), rng.normal(size=4), 1.7
    scores = np.column_stack([x - mean, np.full(20, tau)]) @ theta
    assert np.allclose(x @ theta[:3] + theta[3] * tau - mean @ theta[:3], scores)
    return "entries of the b that it returns", 1, float(np.size(theta[3] * tau - mean)), "="


def f6() -> Erratum:
    """Algorithm 3, step 1: N(0, σ_F C_F I) on a mean that one record moves by C_F/n: far more noise than is needed.

    As printed the variance is σ_F C_F; read as a deviation of σ_F C_F it is n times too much. Only utility suffers.
    """
    n, radius, sigma = 60_000, 10.0, 74.0  # σ_F at ε_F = 0.05, δ = 1e-5, about
    return (
        "printed deviation over the deviation that is needed",
        1.0,
        math.sqrt(sigma * radius) / (sigma * radius / n),
        "=",
    )


def f7() -> Erratum:
    """Proof of Lemma 8: P(w̄(2) ≤ 0) ≤ P(X ≤ 0) is printed; ≥ holds, and is what the lemma says. One step from −5."""
    n, mu, epsilon, start = 4000, 4000.0, 1.0, -5.0
    sigma = math.sqrt(8 * math.log(1 / DELTA)) / (n * epsilon)
    mean = 1 / math.hypot(mu, 1)
    return (
        "P(w̄(2) ≤ 0), µ = nε",
        float(norm.cdf(-mean / sigma)),
        float(norm.cdf((-start - mean) / sigma)),
        "<=",
    )


def f8() -> Erratum:
    """Lemma 6: rank(M(D′)) ≤ rank(M(D)) + 5 is loose: (x − µ̂, τ) is a linear image of (x, 1), so + 1."""
    rng, most = np.random.default_rng(0), -math.inf
    for _ in range(300):
        d, r = int(rng.integers(1, 8)), int(rng.integers(1, 6))
        x = rng.normal(size=(12, r)) @ rng.normal(size=(r, d))
        moved = np.column_stack([x - rng.normal(size=d), np.full(12, 0.7)])
        most = max(most, float(np.linalg.matrix_rank(moved) - np.linalg.matrix_rank(x)))
    return "largest growth of the rank in 300 random data sets", 5.0, most, "<="


ERRATA: dict[str, Callable[[], Erratum]] = {f.__name__.upper(): f for f in (f1, f2, f3, f4, f5, f6, f7, f8)}

if __name__ == "__main__":
    for name in sys.argv[1:] or ERRATA:
        made = ERRATA[name]()
        print(f"{name}: {str(ERRATA[name].__doc__).splitlines()[0]}")
        print(
            f"    {made[0]}: said {made[1]:.6g}, is {made[2]:.6g}: {'refuted' if refuted(made) else 'holds'}"
        )
