"""Shuffling: value and time of our bounds beside published code, re-implemented from its formulas, and peers.

    python benchmarks/shuffling.py            # a minute or two; prints markdown
    python benchmarks/shuffling.py --quick

Baselines: the numerical bounds of Feldman, McMillan and Talwar (2021, clones with p = e^-eps0; 2023,
p = 2/(e^eps0 + 1)), written here from the formulas, and their closed forms. dp-accounting, autodp and
riskcal have no shuffling; they are given the clone pair as a finite pair, which they can evaluate for
small n. A peer that is not installed is said to be so.
"""

from __future__ import annotations

import argparse
import math
import platform
import time
import tracemalloc
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy.stats import binom

from prepriv import guarantees as g

CASES = [
    (10_000, 4.444, 5e-5, 1),
    (10_000, 4.444, 9e-11, 1),
    (100_000, 4.0, 1e-6, 1),
    (1_000_000, 4.0, 1e-8, 100),
    (1_000_000, 1.0, 1e-8, 100),
    (1_000_000_000, 4.444, 1e-8, 10_000),
]
PEER_CASE = (300, 1.0, 1e-6)


# ---- the numerical bounds of 2021 and 2023, from the formulas ------------------------------------------
def clone_delta(n: int, epsilon0: float, epsilon: float, p: float, step: int, least: float) -> float:
    """Sum over c in steps of P[C in step] delta_c, from the middle of C outwards; the rest is added."""
    w = 1.0 / (1.0 + math.exp(epsilon0))
    e = math.exp(epsilon)
    if epsilon >= epsilon0:
        return 0.0
    theta = ((1 - w) * e - w) / ((1 - 2 * w) * (1 + e))
    middle = int(p * (n - 1))
    total, mass = 0.0, 0.0
    spread = 0
    while mass < 1.0 - least and spread <= n:
        for start in {middle + spread, middle - spread - step}:
            low, high = max(start, 0), min(start + step, n)
            if low < high:
                weight = float(binom.cdf(high - 1, n - 1, p) - binom.cdf(low - 1, n - 1, p))
                m = math.floor(theta * (low + 1)) + 1
                up = float(binom.sf(m - 2, low, 0.5))
                down = float(binom.sf(m - 1, low, 0.5))
                total += weight * max(((1 - w) - w * e) * up - ((1 - w) * e - w) * down, 0.0)
                mass += weight
        spread += step
    return total + max(1.0 - mass, 0.0)


def clone_epsilon(n: int, epsilon0: float, delta: float, p: float, step: int) -> float:
    """Bisection on epsilon, 20 steps, the safe end."""
    low, high = 0.0, epsilon0
    for _ in range(20):
        middle = 0.5 * (low + high)
        if clone_delta(n, epsilon0, middle, p, step, 0.01 * delta) <= delta:
            high = middle
        else:
            low = middle
    return high


def closed_form_2021(n: int, epsilon0: float, delta: float) -> float:
    """Theorem 3.1 of the 2021 paper; epsilon0 where its condition fails."""
    if epsilon0 > math.log(n / (16.0 * math.log(2.0 / delta))):
        return epsilon0
    grow = math.exp(epsilon0)
    part = 8.0 * math.sqrt(grow * math.log(4.0 / delta) / n) + 8.0 * grow / n
    return min(epsilon0, math.log1p((grow - 1.0) / (grow + 1.0) * part))


# ---- measuring -----------------------------------------------------------------------------------------
def timed(function: Callable[[], float], repeat: int = 3) -> tuple[float, float]:
    """Value and the best of `repeat` wall times, caches of the library cleared before each."""
    best, value = math.inf, math.nan
    for _ in range(repeat):
        _clear()
        start = time.perf_counter()
        value = function()
        best = min(best, time.perf_counter() - start)
    return value, best


def _clear() -> None:
    from prepriv.guarantees.shuffling import _binomial, _clone_pair, variation_ratio

    for cached in (
        _binomial._window,
        _binomial._cumulative,
        _clone_pair.clone_pair_bounds,
        _clone_pair.joint_concavity_bounds,
        variation_ratio.blanket_bounds,
    ):
        cached.cache_clear()


def cell(value: float, seconds: float) -> str:
    """value (time)."""
    return f"{value:.6f} ({seconds * 1e3:.3g} ms)" if seconds < 1.0 else f"{value:.6f} ({seconds:.2g} s)"


def table(title: str, columns: list[str], rows: list[list[str]]) -> None:
    """A markdown table."""
    print(f"\n## {title}\n\n| {' | '.join(columns)} |\n|{'---|' * len(columns)}")
    for row in rows:
        print(f"| {' | '.join(row)} |")


def epsilon_table(quick: bool) -> None:
    """epsilon at delta by every method."""
    rows = []
    for n, epsilon0, delta, step in CASES[: 3 if quick else None]:
        exact, paper, closed = (g.shuffle(epsilon0, n, method=m) for m in ("exact", "paper", "fmt"))
        row = [f"{n:.0e}, {epsilon0:g}, {delta:g}"]
        row += [cell(*timed(partial(f.epsilon, delta))) for f in (exact, paper, closed)]
        row.append(cell(closed_form_2021(n, epsilon0, delta), 0.0))
        for p in (2.0 / (math.exp(epsilon0) + 1.0), math.exp(-epsilon0)):
            row.append(
                cell(*timed(partial(clone_epsilon, n, epsilon0, delta, p, step), 1)) + f", step {step}"
            )
        rows.append(row)
    columns = [
        "n, ε0, δ",
        "exact",
        "Unified Enhancement of Privacy Bounds, Thm 4.2",
        "closed form 2023",
        "closed form 2021",
    ]
    table("ε at δ: value (time)", [*columns, "numerical, 2023 clones", "numerical, 2021 clones"], rows)


def delta_table(quick: bool) -> None:
    """One delta(epsilon) at four deviations: time, memory, two-sided gap, truncated mass."""
    rows = []
    for n in (10**3, 10**4, 10**5, 10**6, 10**7, 10**8, 10**9)[: 4 if quick else None]:
        for epsilon0 in (1.0, 4.444):
            deviation = 2.0 * math.tanh(epsilon0 / 2) / math.sqrt(2.0 * n / (1.0 + math.exp(epsilon0)))
            f = g.shuffle(epsilon0, n)
            epsilon = min(4.0 * deviation, 0.9 * epsilon0)
            _, seconds = timed(lambda f=f, e=epsilon: f.delta(e))
            _clear()
            tracemalloc.start()
            found = f.bounds(epsilon)
            peak = tracemalloc.get_traced_memory()[1] / 2**20
            tracemalloc.stop()
            gap = found.upper / found.lower - 1.0
            rows.append(
                [
                    f"{n:.0e}",
                    f"{epsilon0:g}",
                    f"{epsilon:.3e}",
                    f"{found.upper:.6e}",
                    f"{seconds * 1e3:.3g} ms",
                ]
                + [f"{peak:.1f} MB", f"{gap:.0e}", f"{found.truncated_mass:.0e}"]
            )
    columns = ["n", "ε0", "ε", "δ(ε), upper", "time", "peak memory", "upper/lower − 1", "truncated mass"]
    table("One exact δ(ε)", columns, rows)


def known_table(quick: bool) -> None:
    """Randomizers of which more is known."""
    rows = []
    for n in (10**4, 10**6) if quick else (10**4, 10**6, 10**8):
        randomizers: list[tuple[str, Any]] = [("any ε0-DP", None)]
        randomizers += [(f"{k}-RR", g.k_randomized_response(k)) for k in (3, 10, 100)]
        randomizers.append(("Laplace on [0, 1]", g.local_laplace()))
        row = [f"{n:.0e}, 4, 1e-06"]
        for _, known in randomizers:
            f = g.shuffle(4.0, n, randomizer=known)
            row.append(cell(*timed(lambda f=f: f.epsilon(1e-6), 1)))
        rows.append(row)
    table("ε at δ, randomizer known: value (time)", ["n, ε0, δ", *(name for name, _ in randomizers)], rows)


# ---- peers ---------------------------------------------------------------------------------------------
def pair_masses(n: int, epsilon0: float) -> tuple[np.ndarray, np.ndarray]:
    """All outcomes of the clone pair of n users."""
    w = 1.0 / (1.0 + math.exp(epsilon0))
    one, two = [], []
    for c in range(n):
        weight = float(binom.pmf(c, n - 1, 2 * w))
        x = np.arange(c + 2)
        zero, other = binom.pmf(x - 1, c, 0.5), binom.pmf(x, c, 0.5)
        one.append(weight * ((1 - w) * zero + w * other))
        two.append(weight * ((1 - w) * other + w * zero))
    return np.concatenate(one), np.concatenate(two)


def dp_accounting_pld(n: int, epsilon0: float) -> Any:
    """The pair as a dp-accounting privacy loss distribution, interval 1e-4."""
    from dp_accounting.pld import privacy_loss_distribution as pld

    p, q = pair_masses(n, epsilon0)
    keep = (p > 1e-300) & (q > 1e-300)
    lower = dict(enumerate(np.log(q[keep]).tolist()))
    upper = dict(enumerate(np.log(p[keep]).tolist()))
    return pld.from_two_probability_mass_functions(lower, upper, symmetric=True)


def with_dp_accounting(n: int, epsilon0: float, delta: float, uses: int) -> float:
    """epsilon of `uses` compositions."""
    return float(dp_accounting_pld(n, epsilon0).self_compose(uses).get_epsilon_for_delta(delta))


def with_autodp(n: int, epsilon0: float, delta: float, uses: int) -> float:
    """epsilon by its conversion from the exact Renyi curve."""
    from autodp.autodp_core import Mechanism

    p, q = pair_masses(n, epsilon0)
    keep = (p > 1e-300) & (q > 1e-300)
    ratio, mass = np.log(p[keep]) - np.log(q[keep]), p[keep]

    def renyi(order: float) -> float:
        if order <= 1.0 or math.isinf(order):
            return uses * (float(mass @ ratio) if order <= 1.0 else epsilon0)
        return uses * math.log(float(np.sum(mass * np.exp((order - 1) * ratio)))) / (order - 1)

    mechanism = Mechanism()
    mechanism.propagate_updates(renyi, "RDP")
    return float(mechanism.get_approxDP(delta))


def with_riskcal(n: int, epsilon0: float, alpha: float) -> float:
    """Type II error at alpha from the dp-accounting distribution."""
    from riskcal.analysis import get_beta_from_pld

    return float(get_beta_from_pld(dp_accounting_pld(n, epsilon0), alpha=alpha))


def attempt(function: Callable[[], float]) -> str:
    """Value and time, or why there is none."""
    try:
        return cell(*timed(function, 1))
    except ImportError:
        return "not installed"
    except Exception as error:
        return f"failed ({type(error).__name__})"


def peer_table() -> None:
    """The clone pair of a few hundred users through the peers."""
    n, epsilon0, delta = PEER_CASE
    f = g.shuffle(epsilon0, n)
    rows = []
    for uses in (1, 100):
        rows.append(
            [
                f"ε at δ = {delta:g}, {uses} use{'s' if uses > 1 else ''}",
                attempt(lambda uses=uses: g.shuffle(epsilon0, n).compose(uses).epsilon(delta)),
                attempt(lambda uses=uses: with_dp_accounting(n, epsilon0, delta, uses)),
                attempt(lambda uses=uses: with_autodp(n, epsilon0, delta, uses)),
                "-",
            ]
        )
    rows.append(
        [
            "β at α = 0.05",
            attempt(lambda: f(0.05)),
            "-",
            "-",
            attempt(lambda: with_riskcal(n, epsilon0, 0.05)),
        ]
    )
    columns = ["", "ours", "dp-accounting (pair enumerated)", "autodp (RDP of the pair)", "riskcal"]
    table(f"Peers given the pair, n = {n}, ε0 = {epsilon0:g}", columns, rows)


def main() -> None:
    """Print every table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="the small cases only")
    quick = parser.parse_args().quick
    print(
        f"Python {platform.python_version()}, numpy {np.__version__}, one process, best of three for our times"
    )
    epsilon_table(quick)
    delta_table(quick)
    known_table(quick)
    peer_table()


if __name__ == "__main__":
    main()
