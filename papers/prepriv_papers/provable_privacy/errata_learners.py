"""Counter-examples to Provable Privacy with Non-Private Pre-Processing, by its own definitions: learners and accounting.

`python errata_learners.py`, or `python errata_learners.py L1 L22`. NumPy and SciPy alone; every divergence by exact integration.
Each returns what is compared, what the paper says, what is, and the relation ("<=": what is should be at most what the paper
says) that the paper's statement implies. Where what is stays below, the statement holds and is loose.
"""

from __future__ import annotations

import itertools
import math
import operator
import sys
from collections.abc import Callable, Sequence

import numpy as np
from scipy.special import logsumexp
from scipy.stats import norm

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


Parts = Sequence[tuple[float, float, float]]  # weight, mean, deviation


def renyi(one: Parts, two: Parts, order: float) -> float:
    """Rényi divergence of two mixtures of Gaussians on the line: trapezoids of 60 001 points, 40 deviations out."""
    wide = max(s for *_, s in (*one, *two))
    low, high = (f(m for _, m, _ in (*one, *two)) for f in (min, max))
    reach = 40 * wide + order * (high - low)
    x = np.linspace(low - reach, high + reach, 60_001)

    def logs(parts: Parts) -> np.ndarray:
        return np.asarray(logsumexp([math.log(w) + norm.logpdf(x, m, s) for w, m, s in parts], axis=0))

    p, q = logs(one), logs(two)
    return float((logsumexp(order * p + (1 - order) * q) + math.log(x[1] - x[0])) / (order - 1))


def l1() -> Erratum:
    """Theorem 13: DP-GD is said to be (α, αε²/2)-RDP at σ = L√T/(εn); its proof and Table 1 have 2αε²."""
    n, steps, epsilon, order = 100, 50, 0.7, 3.0
    sigma = math.sqrt(steps) / (epsilon * n)
    one_step = renyi(
        [(1, 1 / n, sigma)], [(1, -1 / n, sigma)], order
    )  # a linear loss: gradients +1 and −1 of one record
    return "divergence of order 3, n = 100, T = 50, ε = 0.7", order * epsilon**2 / 2, steps * one_step, "<="


def l2() -> Erratum:
    """Lemma 4: 2ατ²L/(σ²(n − t + 1)); 100 rows may differ, all of the shift is on the last, and the past is forgotten."""
    kappa, order, sigma, tau = 100, 2.0, 5.0, 1.0
    happens = renyi([(1, tau, sigma)], [(1, 0.0, sigma)], order)
    return (
        "divergence of order 2, κ = 100, σ = 5, τ = L = µ = 1",
        2 * order * tau**2 / (sigma**2 * kappa),
        happens,
        "<=",
    )


def l3() -> Erratum:
    """Table 1, Theorem 15, SRDP: ε² is missing; its own last line gives ε²/32 where ½ is printed. Loose where σ's condition holds."""
    epsilon = 0.02
    return (
        "the factor before ατ²µ²n log(n − κ + 2)/((n − κ + 1)L² log n), ε = 0.02",
        0.5,
        epsilon**2 / 32,
        "<=",
    )


def stops(last: int, mean: float, sigma: float, rate: float = 1.0) -> Parts:
    """The last iterate, stopped at a step drawn from 1 … last; the record is the first, losses are linear."""
    return [(1 / last, rate * mean, sigma * rate * math.sqrt(t)) for t in range(1, last + 1)]


def l4() -> Erratum:
    """Table 1, SGD by iteration: noise 8ηL√(2 log n)/(ε√n), on the gradient as A.2.2 adds it: η² too little. η = 0.1."""
    n, epsilon, order, rate = 1000, 0.002, 3.0, 0.1
    sigma = 8 * rate * math.sqrt(2 * math.log(n)) / (epsilon * math.sqrt(n))
    last = 30
    happens = renyi(stops(last, 1.0, sigma, rate), stops(last, -1.0, sigma, rate), order)
    return "divergence of order 3, n = 1000, κ = 971, ε = 0.002", order * epsilon**2 / 2, happens, "<="


def l5() -> Erratum:
    """Theorem 15: its condition max(L, τL)√(2α(α − 1)) < σ; the largest ε at n = 1000, α = 11, L = τ = 1."""
    n, order = 1000, 11.0
    most = 8 * math.sqrt(2 * math.log(n) / n) / math.sqrt(2 * order * (order - 1))
    return (
        "largest ε that Theorem 15 is about, n = 1000, α = 11 (its Table 2 asks for α ≥ 11)",
        1.0,
        most,
        "<=",
    )


def l6() -> Erratum:
    """Theorem 14: σ = Ω(L√T/(εn)) without a constant. Read as an equality it is not refuted: the worst pair, 100 steps."""
    n, batch, steps, epsilon, order = 1000, 100, 100, 0.05, 11.0
    q, sigma = batch / n, batch * math.sqrt(steps) / (epsilon * n)  # of the sum over the batch
    worst = 0.0
    for others in np.linspace(-1, 1, 9):  # the gradient of every other record
        pair = [[(1 - q, others, sigma), (q, sign, sigma)] for sign in (1.0, -1.0)]
        worst = max(worst, renyi(pair[0], pair[1], order), renyi(pair[1], pair[0], order))
    return (
        "divergence of order 11, batches of 100 of 1000, 100 steps, ε = 0.05",
        (order * epsilon) ** 2 / 2,
        steps * worst,
        "<=",
    )


def l7() -> Erratum:
    """Theorem 17(iii): γ = 1 after PCA, since Δ∞ = n; Definition 7 asks that all rows move alike, and rows of small norm do not."""
    rows = np.zeros((60, 3))
    rows[:30, 0], rows[30:, 0], rows[0] = 1.0, 1e-3, (0.0, 1.0, 0.0)
    other = rows.copy()
    other[0] = 0.6, 0.8, 0.0
    tops = [np.linalg.eigh(x.T @ x)[1][:, 2] for x in (rows, other)]
    moved = np.linalg.norm(rows[1:] @ (np.outer(tops[0], tops[0]) - np.outer(tops[1], tops[1])), axis=1)
    k = math.floor(moved.sum() / moved.max() * (1 + 1e-12))
    return "γ of a pair, 60 rows", 1.0, len(moved) / k, "<="


def l8() -> Erratum:
    """Lemma 3: a batch drawn with replacement shifts by at most τ; the moved record can be drawn twice."""
    moved = np.zeros(5)
    moved[3] = 1.0
    most = max(moved[list(batch)].sum() for batch in itertools.product(range(5), repeat=2))
    return "largest shift of a batch of two, τ = 1", 1.0, float(most), "<="


def l9() -> Erratum:
    """Theorem 2: the larger of two forms; each alone bounds both directions. Gaussians, a = b = 1, c = 2, order 11."""
    order, c = 11.0, 2.0
    said = (order * c - 1) / (c * (order - 1)) * order * c / 2 + (order * c - 1) / (c - 1) / 2
    return "divergence of N(2) from N(0), unit deviation", said, renyi([(1, 2, 1)], [(1, 0, 1)], order), "<="


def l10() -> Erratum:
    """Theorem 17 names no order; its 1.05 is (2α − 1)/(2(α − 1)), which is 1.125 at α = 5 (Table 2 asks for α ≥ 11)."""
    return "the constant at α = 5", 1.05, 9 / 8, "<="


def l11() -> Erratum:
    """Table 2, SGD by iteration: the last step of its proof fails where few records are left; n ≥ min{101, p} allows that."""
    m = 3
    return (
        "1.05 log(m + 2)/(m + 1), m = n − p = 3",
        1.1 * math.log(m) / m,
        1.05 * math.log(m + 2) / (m + 1),
        "<=",
    )


def l12() -> Erratum:
    """Theorem 10: f Lipschitz in the Frobenius norm, price Lτ: loose by √400 where 400 rows move alike."""
    moved = np.full(400, 0.01)
    return "Frobenius norm of a shift of total 4", float(moved.sum()), float(np.linalg.norm(moved)), "<="


def l15() -> Erratum:
    """Theorem 8, one bad data set: its good neighbour passes with chance e^ε δ/4, above δ beyond ε = log 4."""
    epsilon, delta = 5.0, 1e-6
    threshold = math.log(2 / delta) / epsilon
    chance = 0.5 * math.exp(-epsilon * (threshold - 1))  # Laplace noise above threshold − 1, at distance 1
    return "chance of an output that the bad data set does not have, ε = 5, δ = 1e-6", delta, chance, "<="


def l16() -> Erratum:
    """Theorem 8, conversion: δ = exp(−1.05A) makes the best order 2, where the constant is 1.5."""
    return "(2α − 1)/(2(α − 1)) at α = 2", 1.05, 1.5, "<="


def l18() -> Erratum:
    """Proposition 9: excess risk 2LΛ in the end; centred rows (±.9, ±.1), label the sign of the second, hinge loss: 0.1."""
    rows = np.array([[a, b] for a in (0.9, -0.9) for b in (0.1, -0.1)])
    labels = np.sign(rows[:, 1])
    values, vectors = np.linalg.eigh(rows.T @ rows / 4)
    projected = rows @ np.outer(vectors[:, 1], vectors[:, 1])
    ball = [
        r * np.array([math.cos(t), math.sin(t)]) for r in (0.3, 1.0) for t in np.linspace(0, 2 * np.pi, 721)
    ]
    losses = [[float(np.maximum(0, 1 - labels * (x @ w)).mean()) for w in ball] for x in (projected, rows)]
    assert (
        np.ptp(losses[0]) < 1e-12
    )  # every weight loses the same on projected rows: the output is noise, its mean loss 1
    return "excess risk for n → ∞, Λ = 0.01, L = 1", 2 * float(values[0]), 1.0 - min(losses[1]), "<="


def theorem_15(n: int, last: int, epsilon: float, order: float) -> tuple[float, float]:
    """(said, attained) RDP of Theorem 15 at κ = n − last + 1, by exact integration; linear losses ±Lθ, η = 1."""
    sigma = 8 / epsilon * math.sqrt(2 * math.log(n) / n)
    assert math.sqrt(2 * order * (order - 1)) < sigma  # its condition, τ ≤ 1
    return order * epsilon**2 / 2, renyi(stops(last, 1.0, sigma), stops(last, -1.0, sigma), order)


def l22() -> Erratum:
    """Theorem 15, RDP: the stop is drawn from 1 … n − κ + 1, and for κ near n hides nothing. n = 1000, κ = n, ε = 0.02, α = 11.

    At κ = n the divergence is αε²n/(64 log n), above αε²/2 as soon as n > 32 log n. Lemma H, which it rests on, is about a stop
    drawn from 1 … n.
    """
    said, attained = theorem_15(1000, 1, 0.02, 11.0)
    return "divergence of order 11", said, attained, "<="


ERRATA: dict[str, Callable[[], Erratum]] = {
    f.__name__.upper(): f for f in (l1, l2, l3, l4, l5, l6, l7, l8, l9, l10, l11, l12, l15, l16, l18, l22)
}

if __name__ == "__main__":
    for name in sys.argv[1:] or ERRATA:
        made = ERRATA[name]()
        print(f"{name}: {str(ERRATA[name].__doc__).splitlines()[0]}")
        print(
            f"    {made[0]}: said {made[1]:.6g}, is {made[2]:.6g}: {'refuted' if refuted(made) else 'holds'}"
        )
