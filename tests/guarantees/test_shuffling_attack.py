"""Real mechanisms against the claim: no epsilon0-DP randomizer may beat the bound."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from clone_pair_oracle import pair_cells, randomized_response, shuffled_delta
from scipy.optimize import linprog

from prepriv import guarantees as g


def staircase(rng: np.random.Generator, epsilon0: float, inputs: int) -> list[list[float]] | None:
    """A random extremal epsilon0-DP randomizer: every outcome has chances theta or e^eps0 theta."""
    patterns = np.array(list(itertools.product([1.0, math.exp(epsilon0)], repeat=inputs)))
    points = []
    for _ in range(3):
        answer = linprog(
            rng.normal(size=len(patterns)), A_eq=patterns.T, b_eq=np.ones(inputs), bounds=(0, None)
        )
        if answer.success:
            points.append(answer.x)
    if not points:
        return None
    theta = rng.dirichlet(0.4 * np.ones(len(points))) @ np.array(points)
    keep = theta > 1e-12
    return (patterns[keep] * theta[keep, None]).T.tolist()


def attack(tries: int, seed: int, most_users: int) -> float:
    rng = np.random.default_rng(seed)
    worst = 0.0
    for _ in range(tries):
        epsilon0 = float(rng.choice([0.3, 1.0, 2.0, 4.0]))
        epsilon = epsilon0 * float(rng.choice([0.0, 0.05, 0.3, 0.7, 0.95]))
        inputs, n = int(rng.integers(2, 5)), int(rng.integers(1, most_users + 1))
        rows = staircase(rng, epsilon0, inputs)
        if rows is None or len(rows[0]) > 5:
            continue
        others = [rows[int(i)] for i in rng.integers(0, inputs, size=n - 1)]
        truth = shuffled_delta(rows[0], rows[1], others, epsilon)
        worst = max(worst, truth / g.shuffle(epsilon0, n).delta(epsilon))
    return worst


def test_no_staircase_randomizer_beats_the_exact_pair() -> None:
    worst = attack(250, seed=11, most_users=4)
    assert 0.9 < worst <= 1.0


@pytest.mark.slow
def test_no_staircase_randomizer_beats_the_exact_pair_long() -> None:
    assert attack(6000, seed=12, most_users=6) <= 1.0


def test_an_outcome_both_victims_favour_and_the_others_do_not() -> None:
    # outcome law (p, p, 1): the decomposition into clones with p = 2/(e^eps0 + 1) does not exist here
    epsilon0 = 2.0
    grow = math.exp(epsilon0)
    patterns = np.array([[grow, grow, 1.0], [grow, 1.0, 1.0], [1.0, grow, 1.0], [1.0, 1.0, grow]])
    for weight in (0.01, 0.05, 0.1):
        c, b = np.linalg.solve([[grow + 1.0, 1.0], [2.0, grow]], [1.0 - grow * weight, 1.0 - weight])
        assert c > 0.0 and b > 0.0
        rows = (patterns * np.array([weight, c, c, b])[:, None]).T.tolist()
        assert all(math.fsum(row) == pytest.approx(1.0) for row in rows)
        zero, one, other = rows
        shared = (zero[0] + one[0]) / (grow + 1.0)
        assert shared > other[0]  # more clones than the other users have mass for
        for n in (2, 4, 6):
            for epsilon in (0.0, 0.3, 1.2):
                truth = shuffled_delta(zero, one, [other] * (n - 1), epsilon)
                assert truth <= g.shuffle(epsilon0, n).delta(epsilon)


def test_randomized_response_with_any_other_users() -> None:
    for k, n, epsilon0 in [(2, 6, 1.0), (3, 5, 2.0), (4, 4, 3.0)]:
        rows = randomized_response(k, epsilon0)
        f = g.shuffle(epsilon0, n)
        for others in itertools.combinations_with_replacement(range(k), n - 1):
            for epsilon in (0.0, 0.2 * epsilon0, 0.8 * epsilon0):
                assert shuffled_delta(rows[0], rows[1], [rows[x] for x in others], epsilon) <= f.delta(
                    epsilon
                )


def composed_truth(n: int, epsilon0: float, times: int, epsilon: float) -> float:
    cells = pair_cells(n, epsilon0)
    p, q = np.array([c[0] for c in cells]), np.array([c[1] for c in cells])
    one, two = p, q
    for _ in range(times - 1):
        one, two = np.outer(one, p).ravel(), np.outer(two, q).ravel()
    return float(np.sum(np.maximum(one - math.exp(epsilon) * two, 0.0)))


@pytest.mark.parametrize("n, times", [(3, 2), (12, 2), (5, 3)])
def test_composition_dominates_brute_force_and_is_close(n: int, times: int) -> None:
    f = g.shuffle(1.0, n).compose(times)
    for epsilon in (0.0, 0.2, 0.6, 1.5):
        truth = composed_truth(n, 1.0, times, epsilon)
        assert truth <= f.delta(epsilon) <= truth * 1.001 + 1e-11


@pytest.mark.parametrize("n, epsilon0", [(1, 0.5), (40, 1.0), (10_000, 4.444), (10**6, 4.0), (10**9, 1.0)])
def test_loss_atoms_dominate_the_pair(n: int, epsilon0: float) -> None:
    f = g.shuffle(epsilon0, n)
    law = f._loss_atoms()
    assert law is not None
    assert math.fsum(law.masses) + law.infinite_mass >= 1.0
    spread = math.sqrt(float(law.masses @ law.losses**2))
    for deviations in (0.0, 1.0, 3.0, 5.0):
        epsilon = min(deviations * spread, 0.95 * epsilon0)
        found = law.infinite_mass + float(law.masses @ -np.expm1(np.minimum(epsilon - law.losses, 0.0)))
        truth = f.bounds(epsilon)
        assert truth.lower <= found <= truth.upper * 1.01


def test_a_thousand_compositions() -> None:
    f = g.shuffle(1.0, 1000)
    composed = f.compose(1000)
    epsilon = composed.epsilon(1e-6)
    assert composed.delta(epsilon) <= 1e-6
    # the central limit: mu = sqrt(1000) times the root of twice the KL divergence
    mu = math.sqrt(1000.0 * 2.0 * f.divergence("kl"))
    assert epsilon == pytest.approx(g.gaussian(mu).epsilon(1e-6), rel=0.02)


def test_divergences_lie_just_above_the_lattice_sum() -> None:
    cells = pair_cells(40, 1.0)
    f = g.shuffle(1.0, 40)
    kl = math.fsum(p * math.log(p / q) for p, q in cells)
    assert kl <= f.divergence("kl") <= kl * (1 + 1e-6)
    for order in (1.5, 2.0, 20.0):
        renyi = math.log(math.fsum(p * (p / q) ** (order - 1) for p, q in cells)) / (order - 1)
        assert renyi <= f.divergence("renyi", order=order) <= renyi * (1 + 1e-6)
    assert g.shuffle(1.0, 1000).divergence("kl") == pytest.approx(7.9436303e-4, rel=1e-6)
    assert g.shuffle(1.0, 1000).divergence("renyi", order=1e6) <= 1.0
