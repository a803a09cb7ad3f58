"""Counter-examples to Unified Enhancement of Privacy Bounds, by its own definitions: exact enumeration or integration.

`python errata.py`, or `python errata.py E1 E8`. NumPy and SciPy alone. Each returns what is compared, what the paper says, what
is, and the relation ("<=": what is should be at most what the paper says) that the paper's statement implies.
"""

from __future__ import annotations

import math
import operator
import sys
from collections import defaultdict
from collections.abc import Callable, Sequence

import numpy as np
from scipy import integrate, stats
from scipy.optimize import brentq

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


# ---- shuffled reports -------------------------------------------------------------------------------------
def randomized_response(k: int, epsilon0: float) -> list[list[float]]:
    """Rows of k-ary randomized response."""
    q = 1.0 / (math.exp(epsilon0) + k - 1)
    return [[q * (math.exp(epsilon0) if v == x else 1.0) for v in range(k)] for x in range(k)]


def shuffled_delta(one: Sequence[float], two: Sequence[float], others: list[list[float]], e: float) -> float:
    """Hockey-stick divergence at ε = e of the histograms of all reports, the larger of both orders, by enumeration."""
    law = {(0,) * len(one): 1.0}
    for row in others:
        grown: dict[tuple[int, ...], float] = defaultdict(float)
        for counts, mass in law.items():
            for v, chance in enumerate(row):
                grown[(*counts[:v], counts[v] + 1, *counts[v + 1 :])] += mass * chance
        law = grown
    laws: tuple[dict[tuple[int, ...], float], ...] = (defaultdict(float), defaultdict(float))
    for counts, mass in law.items():
        for v in range(len(one)):
            for held, report in zip(laws, (one, two), strict=True):
                held[(*counts[:v], counts[v] + 1, *counts[v + 1 :])] += mass * report[v]
    p, q = laws
    orders = [math.fsum(max(0.0, a[h] - math.exp(e) * b.get(h, 0.0)) for h in a) for a, b in ((p, q), (q, p))]
    return max(orders)


def clone_cells(n: int, epsilon0: float) -> list[tuple[float, float]]:
    """(P0, Q0) of every outcome (x, y): A + 1, C − A against A, C − A + 1, by enumeration."""
    w = 1.0 / (1.0 + math.exp(epsilon0))
    cells = []
    for c in range(n):
        mass = math.comb(n - 1, c) * (2 * w) ** c * (1 - 2 * w) ** (n - 1 - c) * 2.0**-c
        for x in range(c + 2):
            cells.append((mass * (math.comb(c, x - 1) if x else 0), mass * math.comb(c, x)))
    return cells


def mixed_cells(n: int, epsilon0: float) -> list[tuple[float, float]]:
    """(P, Q) = ((1 − w) P0 + w Q0, (1 − w) Q0 + w P0)."""
    w = 1.0 / (1.0 + math.exp(epsilon0))
    return [((1 - w) * p + w * q, (1 - w) * q + w * p) for p, q in clone_cells(n, epsilon0)]


def delta_of(cells: list[tuple[float, float]], e: float) -> float:
    """Σ (p − e^ε q)_+."""
    return math.fsum(max(0.0, p - math.exp(e) * q) for p, q in cells)


def type_ii(cells: list[tuple[float, float]], alpha: float) -> float:
    """T(P, Q)(α) by Neyman and Pearson."""
    left, beta = alpha, 1.0
    for p, q in sorted(cells, key=lambda cell: -cell[1] / cell[0] if cell[0] else -math.inf):
        part = 1.0 if p == 0.0 else min(1.0, max(left, 0.0) / p)
        beta, left = beta - part * q, left - part * p
    return beta


def theorem_4_2(n: int, epsilon0: float, e: float) -> float:
    """δ of Proposition 6.4 at ε, with the slope −1/t: (1 − 2w) H_τ(P0 ‖ Q0), τ = 1 + (e^ε − 1)/(1 − 2w)."""
    w = 1.0 / (1.0 + math.exp(epsilon0))
    tau = 1 + math.expm1(e) / (1 - 2 * w)
    return (1 - 2 * w) * delta_of(clone_cells(n, epsilon0), math.log(tau))


def corollary_4_3(n: int, epsilon0: float, e: float) -> float:
    """As printed, t_ε by its l(t)."""
    w = 1.0 / (1.0 + math.exp(epsilon0))
    weight = stats.binom.pmf(np.arange(n), n - 1, 2 * w)
    i = np.arange(n)
    knots = sorted({(k + 1) / j for k in range(n) for j in range(1, k + 2)})
    for knot in knots:  # t + 1
        near = np.round((i + 1) / knot, 9)
        share = np.ceil(near)  # ⌊i + 1 − (i + 1)/(t + 1)⌋ = i + 1 − share
        top = weight @ stats.binom.pmf(i + 1 - share, i, 0.5)
        bottom = weight @ stats.binom.pmf(i - share, i, 0.5)
        if bottom > 0 and -2 * w - (1 - 2 * w) * top / bottom >= -math.exp(e):
            first = weight @ stats.binom.cdf(i - share, i, 0.5)
            second = weight @ stats.binom.cdf(i + 1 - share, i, 0.5)
            return float((2 * w - math.exp(e)) * first + (1 - 2 * w) * second)
    return math.inf


def exact_delta(n: int, epsilon0: float, e: float, paper: bool = False) -> float:
    """δ of the clone pair for large n, cell by cell in closed form; paper: of Theorem 4.2."""
    w = 1.0 / (1.0 + math.exp(epsilon0))
    c = np.arange(n)
    mass = stats.binom.pmf(c, n - 1, 2 * w)
    c, mass = c[mass > 1e-30], mass[mass > 1e-30]
    factor, tau = (1 - w) - w * math.exp(e), ((1 - w) * math.exp(e) - w) / ((1 - w) - w * math.exp(e))
    if paper:
        factor, tau = 1 - 2 * w, 1 + math.expm1(e) / (1 - 2 * w)
    m = np.floor(tau / (1 + tau) * (c + 1)) + 1
    cells = stats.binom.pmf(m - 1, c, 0.5) - (tau - 1) * stats.binom.sf(m - 1, c, 0.5)
    return factor * float(mass @ np.maximum(cells, 0.0))


# ---- E1 to E12 --------------------------------------------------------------------------------------------
def e1() -> Erratum:
    """Corollary 4.3: t_ε by the slope of the last atoms under-reports."""
    rows = randomized_response(2, 2.0)
    true = max(shuffled_delta(rows[0], rows[1], [rows[x]] * 19, 0.5) for x in range(2))
    return "δ at ε = 0.5, binary randomized response, n = 20, ε0 = 2", corollary_4_3(20, 2.0, 0.5), true, "<="


def e2() -> Erratum:
    """Proposition 4.1, Theorem 4.2: the quantile at 0 must be −1; with −∞ the first knot says f(0) = 1."""
    power = math.fsum(q for p, q in clone_cells(8, 1.0) if p == 0.0)
    return "power of a test of P0 against Q0 without type I error, n = 8, ε0 = 1", 0.0, power, "<="


def e3() -> Erratum:
    """Theorem 4.2: f_Shuffle without C(·) is no bound."""
    w = 1.0 / (1.0 + math.exp(2.0))
    alone = 2 * w * 0.5 + (1 - 2 * w) * type_ii(clone_cells(20, 2.0), 0.5)
    return "T(P, Q)(0.5), n = 20, ε0 = 2, beside f_Shuffle", alone, type_ii(mixed_cells(20, 2.0), 0.5), ">="


def e4() -> Erratum:
    """Theorem 4.2 does not know that the mechanism is ε0-DP: loose."""
    return "δ at ε = ε0 = 1, n = 5", theorem_4_2(5, 1.0, 1.0), delta_of(mixed_cells(5, 1.0), 1.0), "<="


def e5() -> Erratum:
    """After Proposition 6.4: an exact closed form exists, below "almost the tightest"."""
    exact = exact_delta(20, 2.0, 0.5)
    assert math.isclose(exact, delta_of(mixed_cells(20, 2.0), 0.5), rel_tol=1e-9)
    return (
        "δ at ε = 0.5, n = 20, ε0 = 2: Theorem 4.2 and the exact form",
        theorem_4_2(20, 2.0, 0.5),
        exact,
        "<=",
    )


def fmt_epsilon(n: int, epsilon0: float, delta: float) -> float:
    """Theorem 3.2 of Feldman, McMillan and Talwar (2023), the closed form of [23]."""
    g = math.exp(epsilon0)
    return math.log1p((g - 1) * (4 * math.sqrt(2 * math.log(4 / delta) / ((g + 1) * n)) + 4 / n))


def e6() -> Erratum:
    """Table 2: "numerical upper bound" is the closed form of [23]; a numerical bound is far below."""
    assert round(fmt_epsilon(10_000, 4.444, 5e-5), 3) == 1.014
    exact = brentq(lambda e: exact_delta(10_000, 4.444, e) - 5e-5, 0.1, 1.0)
    return "ε at δ = 5e-5, n = 10000, ε0 = 4.444, computed numerically", 1.014, exact, "="


def e7() -> Erratum:
    """Proposition 3.3: its middle term lacks w_i."""

    def term(x: float) -> float:  # F(1/|f'|)|f'| of F(t) = t log t for the pair N(0, 1), N(1, 1): x = Φ(−z)
        return float(math.log(1 / math.exp(stats.norm.isf(x) - 0.5)))

    middle = 2 * integrate.quad(term, 0, 1, limit=200)[0]  # two components, the same pair, w = (½, ½)
    return "middle over right side, KL, two equal components of N(0, 1), N(1, 1)", 1.0, middle / 0.5, "="


def e8() -> Erratum:
    """Proposition 6.1: its condition holds and equality fails."""
    p1, p2, q = (1.0, 0.0), (0.0, 1.0), (0.5, 0.5)
    for x in (0, 1):
        assert (0.5 * p1[x] + 0.5 * p2[x]) / q[x] == 0.5 * p1[x] / q[x] + 0.5 * p2[x] / q[x]
    mixture = type_ii([(0.5, 0.5), (0.5, 0.5)], 0.3)
    shown = [(0.5 * p[x], 0.5 * q[x]) for p in (p1, p2) for x in (0, 1)]
    return (
        "type II error at α = 0.3: with the index shown, and of the mixture",
        type_ii(shown, 0.3),
        mixture,
        "=",
    )


def e9() -> Erratum:
    """Lemma 6.2 needs no non-negative ε': the least slack over 4000 random laws, at any three positive factors."""
    rng, least = np.random.default_rng(0), math.inf
    for _ in range(4000):
        p1, p2, q1, q2 = rng.dirichlet(np.full(3, 0.5), 4)
        w, gamma, eta, big = rng.uniform(), *np.sort(rng.uniform(size=2)), math.exp(rng.normal())
        if not gamma < w < eta:
            continue
        a = big * (eta - w) / ((1 - w) * (eta - gamma))
        b = big * (w - gamma) / (w * (eta - gamma))

        def stick(p: np.ndarray, q: np.ndarray, factor: float) -> float:
            return float(np.maximum(p - factor * q, 0).sum())

        right = (1 - w) * stick(p1, (1 - gamma) * q1 + gamma * q2, a) + w * stick(
            p2, (1 - eta) * q1 + eta * q2, b
        )
        least = min(least, right - stick((1 - w) * p1 + w * p2, (1 - w) * q1 + w * q2, big))
    return "least slack of Lemma 6.2 where its ε may be negative", -1e-12, least, ">="


def e10() -> Erratum:
    """Section 5: the Rényi divergence of N(0, 1) from N(0, 2) is finite at every order; the other way round it is not."""
    order = 50.0
    log_density = lambda x, v: -x * x / (2 * v) - 0.5 * math.log(2 * math.pi * v)  # noqa: E731
    moment = integrate.quad(
        lambda x: math.exp(order * log_density(x, 1.0) + (1 - order) * log_density(x, 2.0)), -20, 20
    )[0]
    return "R_50(N(0, 1) ‖ N(0, 2))", math.inf, math.log(moment) / (order - 1), "="


def e11() -> Erratum:
    """Theorem 5.1 where µ_I may be 0: α(t) jumps at 0 and leaves levels out; µ_I is 0 or 1 with equal chance."""

    def alpha(t: float) -> float:
        whole = float(stats.norm.cdf(t - 0.5))  # Φ(−t_I) at µ = 1
        return 0.5 * whole + 0.5 * (t > 0)  # the limit µ → 0: t_I → ∓∞

    return "jump of α(t) at t = 0 if P(µ_I = 0) = ½", 0.0, alpha(1e-12) - alpha(-1e-12), "="


def e12() -> Erratum:
    """Figure 3: no n gives both numbers."""
    w, e = 1 / 3, 0.5
    far = []
    for n in range(20, 401):
        advanced = exact_delta(n, math.log(2), e, paper=True)
        c = np.arange(n)
        mass = stats.binom.pmf(c, n - 1, 2 * w)
        tau = math.exp(e)
        m = np.floor(tau / (1 + tau) * (c + 1)) + 1
        joint = float(
            mass @ np.maximum(stats.binom.pmf(m - 1, c, 0.5) - (tau - 1) * stats.binom.sf(m - 1, c, 0.5), 0)
        )
        far.append(max(abs(advanced / 1.5e-6 - 1), abs(joint / 0.0020 - 1)))
    return "relative distance from both numbers at the best n (two digits allow 0.05)", 0.05, min(far), "<="


# ---- the literature it builds on --------------------------------------------------------------------------
def e14() -> Erratum:
    """The usual derivation of the clone pair: an outcome both of the victim's laws favour and another's does not."""
    grow, share = math.exp(2.0), 0.05
    return (
        "w (Q⁰ + Q¹) at that outcome, and what the other user's law has there",
        share,
        2 * grow * share / (grow + 1),
        "<=",
    )


def e15() -> Erratum:
    """The two-coordinate pair for k-ary randomized response, k = 5, n = 7, ε0 = 1, ε = 0.3."""
    n, k, epsilon0, e = 7, 5, 1.0, 0.3
    p = math.exp(epsilon0)
    alpha = 1.0 / (p + k - 1)
    laws: tuple[dict[tuple[int, int], float], ...] = (defaultdict(float), defaultdict(float))
    for c, a in [(whole, part) for whole in range(n) for part in range(whole + 1)]:
        mass = (
            math.comb(n - 1, c)
            * (2 * alpha) ** c
            * (1 - 2 * alpha) ** (n - 1 - c)
            * math.comb(c, a)
            * 2.0**-c
        )
        for law, up, down in ((laws[0], p * alpha, alpha), (laws[1], alpha, p * alpha)):
            law[a + 1, c - a] += mass * up
            law[a, c - a + 1] += mass * down
            law[a, c - a] += mass * (1 - alpha - p * alpha)
    pair = math.fsum(max(0.0, laws[0][h] - math.exp(e) * laws[1][h]) for h in laws[0])
    rows = randomized_response(k, epsilon0)
    return (
        "δ at ε = 0.3, five categories, n = 7, ε0 = 1",
        pair,
        shuffled_delta(rows[0], rows[1], [rows[2]] * 6, e),
        "<=",
    )


ERRATA: dict[str, Callable[[], Erratum]] = {
    f.__name__.upper(): f for f in (e1, e2, e3, e4, e5, e6, e7, e8, e9, e10, e11, e12, e14, e15)
}

if __name__ == "__main__":
    for name in sys.argv[1:] or ERRATA:
        made = ERRATA[name]()
        print(f"{name}: {str(ERRATA[name].__doc__).splitlines()[0]}")
        print(
            f"    {made[0]}: said {made[1]:.6g}, is {made[2]:.6g}: {'refuted' if refuted(made) else 'holds'}"
        )
