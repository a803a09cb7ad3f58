"""Blanket bounds for k-ary randomized response and Laplace noise, and the pair they replace."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from clone_pair_oracle import (
    blanket_delta,
    randomized_response,
    shuffled_delta,
    two_coordinate_variation_ratio,
)

from prepriv import guarantees as g
from prepriv.guarantees.shuffling.variation_ratio import blanket_bounds


def signal_of(k: int, epsilon0: float) -> float:
    return (math.exp(epsilon0) - 1) / (math.exp(epsilon0) + k - 1)


@pytest.mark.parametrize("k", [3, 5, 40])
def test_agrees_with_enumeration(k: int) -> None:
    for n in (1, 2, 3, 7, 14):
        for epsilon0, share in [(0.2, 0.5), (1.0, 0.0), (1.0, 0.3), (2.0, 0.25), (3.0, 0.8), (6.0, 0.1)]:
            found = g.shuffle(epsilon0, n, randomizer=g.k_randomized_response(k)).bounds(share * epsilon0)
            truth = blanket_delta(n, signal_of(k, epsilon0), epsilon0, share * epsilon0)
            assert found.lower <= truth * (1 + 1e-12) and truth <= found.upper * (1 + 1e-12)
            assert found.upper <= truth * (1 + 1e-7)


def test_random_blankets_against_enumeration() -> None:
    rng = np.random.default_rng(8)
    for _ in range(150):
        n, epsilon0 = int(rng.integers(1, 12)), float(rng.uniform(0.05, 5.0))
        epsilon, signal = (
            epsilon0 * float(rng.uniform()) ** 2,
            math.tanh(epsilon0 / 2) * float(rng.uniform(0.02, 1.0)),
        )
        found = blanket_bounds(epsilon0, n, signal, epsilon)
        truth = blanket_delta(n, signal, epsilon0, epsilon)
        assert found.lower <= truth * (1 + 1e-12) and truth <= found.upper * (1 + 1e-12)


@pytest.mark.parametrize("n", [3000, 10**6, pytest.param(10**9, marks=pytest.mark.slow)])
def test_blocks_bracket_the_value_at_any_size(n: int) -> None:
    for k in (3, 100):
        f = g.shuffle(4.0, n, randomizer=g.k_randomized_response(k))
        epsilon = f.epsilon(1e-6)
        found = f.bounds(epsilon)
        assert found.upper <= 1e-6 and 0.0 < found.lower <= found.upper <= found.lower * 1.02
        assert epsilon < g.shuffle(4.0, n).epsilon(1e-6)


def test_real_randomized_response_never_beats_the_bound() -> None:
    for k, n, epsilon0 in [(3, 5, 1.0), (4, 5, 2.0), (5, 4, 3.0)]:
        rows = randomized_response(k, epsilon0)
        f = g.shuffle(epsilon0, n, randomizer=g.k_randomized_response(k))
        for others in itertools.combinations_with_replacement(range(k), n - 1):
            for share in (0.0, 0.2, 0.7):
                truth = shuffled_delta(rows[0], rows[1], [rows[x] for x in others], share * epsilon0)
                assert truth <= f.delta(share * epsilon0)


def test_the_bound_is_close_to_what_randomized_response_attains() -> None:
    rows = randomized_response(4, 1.0)
    truth = shuffled_delta(rows[0], rows[1], [rows[2]] * 5, 0.3)
    assert truth <= g.shuffle(1.0, 6, randomizer=g.k_randomized_response(4)).delta(0.3) <= 1.02 * truth


@pytest.mark.parametrize("k, n, epsilon0, epsilon", [(5, 7, 1.0, 0.3), (4, 7, 1.0, 0.3), (5, 5, 2.0, 0.5)])
def test_two_coordinate_variation_ratio_pair_under_reports_from_four_categories_on(
    k: int, n: int, epsilon0: float, epsilon: float
) -> None:
    rows = randomized_response(k, epsilon0)
    truth = shuffled_delta(rows[0], rows[1], [rows[2]] * (n - 1), epsilon)
    assert two_coordinate_variation_ratio(n, k, epsilon0, epsilon) < truth * (1 - 1e-4)
    assert truth <= g.shuffle(epsilon0, n, randomizer=g.k_randomized_response(k)).delta(epsilon)


def test_for_three_categories_the_two_coordinate_pair_is_attained() -> None:
    rows = randomized_response(3, 1.0)
    truth = shuffled_delta(rows[0], rows[1], [rows[2]] * 6, 0.3)
    assert two_coordinate_variation_ratio(7, 3, 1.0, 0.3) == pytest.approx(truth, rel=1e-12)


def laplace_cells(x: float, epsilon0: float, edges: np.ndarray) -> list[float]:
    def cdf(v: np.ndarray) -> np.ndarray:
        tail = 0.5 * np.exp(-epsilon0 * np.abs(v - x))
        return np.where(v < x, tail, 1.0 - tail)

    return np.diff(np.concatenate([[0.0], cdf(edges), [1.0]])).tolist()


def test_real_laplace_noise_never_beats_the_bound() -> None:
    # reports rounded to cells: a post-processing, so its delta is attained by the mechanism
    for epsilon0 in (0.7, 2.0, 5.0):
        edges = np.linspace(0.0, 1.0, 8)
        f1, f3 = (g.shuffle(epsilon0, n, randomizer=g.local_laplace()) for n in (1, 3))
        for zero, one in [(0.0, 1.0), (0.0, 0.5), (0.2, 0.9), (0.3, 0.4)]:
            rows = [laplace_cells(x, epsilon0, edges) for x in (zero, one)]
            for share in (0.0, 0.3, 0.8):
                assert shuffled_delta(*rows, [], share * epsilon0) <= f1.delta(share * epsilon0)
                for others in [(0.0, 0.0), (0.0, 1.0), (0.5, 0.5), (1.0, 1.0)]:
                    rest = [laplace_cells(x, epsilon0, edges) for x in others]
                    assert shuffled_delta(*rows, rest, share * epsilon0) <= f3.delta(share * epsilon0)


def test_the_laplace_blanket_is_the_integral_of_the_smallest_density() -> None:
    for epsilon0 in (0.3, 1.0, 4.0):
        v = np.linspace(-60.0, 61.0, 2_000_001)
        density = 0.5 * epsilon0 * np.exp(-epsilon0 * np.maximum(np.abs(v), np.abs(v - 1.0)))
        mass = float(np.sum(density)) * (v[1] - v[0])
        assert 1.0 - g.local_laplace().signal(epsilon0) == pytest.approx(mass, rel=1e-4)


def test_staircase_randomizers_respect_the_blanket_they_have() -> None:
    rng = np.random.default_rng(9)
    for _ in range(150):
        epsilon0, outcomes = float(rng.uniform(0.5, 3.0)), int(rng.integers(3, 6))
        rows = rng.choice([1.0, math.exp(epsilon0)], size=(3, outcomes))
        # one more outcome makes the rows sum to one and stay within e^eps0 of each other
        theta = 1.0 / (rows.sum(axis=1).max() + 1.0)
        full = np.column_stack([rows * theta, 1.0 - theta * rows.sum(axis=1)])
        if full[:, -1].max() > math.exp(epsilon0) * full[:, -1].min():
            continue
        f = g.shuffle(epsilon0, 4, randomizer=g.blanket(float(full.min(axis=0).sum()) * (1 - 1e-12)))
        for share in (0.0, 0.3, 0.9):
            truth = shuffled_delta(
                full[0].tolist(), full[1].tolist(), [full[2].tolist()] * 3, share * epsilon0
            )
            assert truth <= f.delta(share * epsilon0) * (1 + 1e-12)


def test_never_above_the_bound_for_all_randomizers_and_falling_in_k() -> None:
    for n, epsilon0, epsilon in [(10, 1.0, 0.2), (500, 2.0, 0.3), (10**5, 4.0, 0.1)]:
        last = g.shuffle(epsilon0, n).delta(epsilon)
        assert g.shuffle(epsilon0, n, randomizer=g.k_randomized_response(2)).delta(epsilon) == last
        for k in (3, 4, 10, 100):
            here = g.shuffle(epsilon0, n, randomizer=g.k_randomized_response(k)).delta(epsilon)
            assert here < last
            last = here


def test_reference_values_at_a_million_users() -> None:
    f = {k: g.shuffle(4.0, 10**6, randomizer=g.k_randomized_response(k)) for k in (3, 10, 100)}
    assert g.shuffle(4.0, 10**6).delta(0.03) == pytest.approx(4.686437e-6, rel=1e-6)
    assert f[3].delta(0.03) == pytest.approx(4.2344e-6, rel=1e-3)
    assert f[10].delta(0.03) == pytest.approx(2.1019e-6, rel=1e-3)
    assert f[100].delta(0.03) == pytest.approx(5.487e-10, rel=2e-3)
    laplace = g.shuffle(4.0, 10**6, randomizer=g.local_laplace())
    assert laplace.delta(0.03) == pytest.approx(2.4661e-6, rel=1e-3)


def test_a_blanket_too_thin_to_help_is_ignored() -> None:
    assert g.shuffle(1.0, 50, randomizer=g.blanket(0.1)) == g.shuffle(1.0, 50)
    everything = g.shuffle(1.0, 50, randomizer=g.blanket(1.0))
    assert everything.delta(0.0) == 1e-300


def test_composition_and_curve_of_a_blanket_bound() -> None:
    f = g.shuffle(2.0, 60, randomizer=g.k_randomized_response(10))
    general = g.shuffle(2.0, 60)
    assert f(0.1) > general(0.1)
    assert f.compose(20).epsilon(1e-6) < general.compose(20).epsilon(1e-6)


@pytest.mark.parametrize("k", [1, 0, 2.5, math.nan])
def test_bad_k(k: float) -> None:
    with pytest.raises(ValueError, match=r"^k must .* 2 or"):
        g.k_randomized_response(k)


@pytest.mark.parametrize("mass", [-0.1, 1.1, math.nan])
def test_bad_mass(mass: float) -> None:
    with pytest.raises(ValueError, match=r"^mass must .* \[0, 1\]"):
        g.blanket(mass)


def test_a_randomizer_needs_the_exact_method() -> None:
    with pytest.raises(ValueError, match=r"^randomizer needs"):
        g.shuffle(1.0, 10, "paper", randomizer=g.local_laplace())
