"""Shuffling: published digits, the exact value against integers, the shape of the curve, bad input."""

from __future__ import annotations

import math
import tracemalloc

import numpy as np
import pytest
from clone_pair_oracle import pair_beta, pair_cells, pair_delta

from prepriv import guarantees as g

EPSILONS = [0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
EXACT = [2.744638e-06, 1.084410e-07, 3.021527e-09, 6.243054e-11, 1.015467e-12, 1.374583e-14]
PAPER = [3.030862e-06, 1.271099e-07, 3.825480e-09, 8.700924e-11, 1.585357e-12, 2.445521e-14]
TABLE_2 = {5e-5: (0.397451901395, 0.399589143444), 3e-6: (0.497069127222, 0.500344055711)}
TABLE_2 |= {1e-7: (0.602372242201, 0.607143254434), 4e-9: (0.692499176217, 0.698810826418)}
TABLE_2 |= {9e-11: (0.790854441353, 0.799135703193)}


def six_digits(value: float) -> str:
    return f"{value:.6e}"


@pytest.mark.parametrize("epsilon, expected", list(zip(EPSILONS, PAPER)))
def test_paper_method_gives_table_1_to_six_digits(epsilon: float, expected: float) -> None:
    assert six_digits(g.shuffle(4.444, 10_000, method="paper").delta(epsilon)) == six_digits(expected)


@pytest.mark.parametrize("epsilon, expected", list(zip(EPSILONS, EXACT)))
def test_exact_method_to_six_digits(epsilon: float, expected: float) -> None:
    assert six_digits(g.shuffle(4.444, 10_000).delta(epsilon)) == six_digits(expected)


def test_table_2_within_the_printed_digits_and_ours_not_above() -> None:
    exact, paper = g.shuffle(4.444, 10_000), g.shuffle(4.444, 10_000, method="paper")
    for printed, (delta, (ours, theirs)) in zip([0.4, 0.5, 0.6, 0.7, 0.8], TABLE_2.items()):
        assert abs(paper.epsilon(delta) - theirs) < 2e-12
        assert abs(exact.epsilon(delta) - ours) < 2e-12
        assert abs(paper.epsilon(delta) - printed) < 0.05
        assert exact.epsilon(delta) <= paper.epsilon(delta)


@pytest.mark.parametrize("method", ["exact", "paper"])
def test_agrees_with_enumeration_for_every_n_up_to_60(method: str) -> None:
    for n in range(1, 61):
        epsilon0 = 0.05 * n
        for epsilon in (0.0, 0.01 * epsilon0, 0.5 * epsilon0, 0.999 * epsilon0):
            truth = pair_delta(n, epsilon0, epsilon, paper=method == "paper")
            found = g.shuffle(epsilon0, n, method=method).bounds(epsilon)
            assert found.lower <= truth <= found.upper
            assert found.upper <= float(truth) * (1.0 + 3e-11)


def random_configurations(count: int, largest: int, seed: int) -> list[tuple[int, float, float]]:
    rng = np.random.default_rng(seed)
    out = []
    for _ in range(count):
        n = int(rng.integers(1, largest + 1))
        epsilon0 = float(np.exp(rng.uniform(math.log(1e-3), math.log(16.0))))
        share = rng.choice([0.0, 1e-9, rng.uniform(), rng.uniform() ** 4, 1 - 1e-6, 1 - 1e-3 * rng.uniform()])
        out.append((n, epsilon0, epsilon0 * float(share)))
    return out


def violations(configurations: list[tuple[int, float, float]]) -> list[tuple[int, float, float]]:
    bad = []
    for n, epsilon0, epsilon in configurations:
        for method in ("exact", "paper"):
            truth = pair_delta(n, epsilon0, epsilon, paper=method == "paper")
            found = g.shuffle(epsilon0, n, method=method).bounds(epsilon)
            tight = found.upper <= max(float(truth) * (1.0 + 3e-11), 1e-300)
            if not (found.lower <= truth <= found.upper and tight):
                bad.append((n, epsilon0, epsilon))
    return bad


def test_no_violation_in_random_small_configurations() -> None:
    assert violations(random_configurations(600, 40, seed=1)) == []


@pytest.mark.slow
def test_no_violation_in_ten_thousand_random_configurations() -> None:
    assert violations(random_configurations(10_000, 90, seed=2)) == []


@pytest.mark.slow
def test_no_violation_at_a_thousand_users() -> None:
    assert violations(random_configurations(30, 1500, seed=3)) == []


def test_bounds_stay_two_sided_at_any_size() -> None:
    for n in (10**3, 10**6, 10**9, 10**10):
        for epsilon0 in (0.01, 1.0, 4.444, 20.0):
            f = g.shuffle(epsilon0, n)
            deviation = 2.0 * math.tanh(epsilon0 / 2) / math.sqrt(1 + 2 * n / (1 + math.exp(epsilon0)))
            found = f.bounds(min(4.0 * deviation, 0.9 * epsilon0))
            assert 0.0 < found.lower <= found.upper <= found.lower * (1.0 + 3e-11)


def test_beyond_ten_billion_users_the_bracket_is_wider_but_holds() -> None:
    near, far = g.shuffle(1.0, 10**10).bounds(5e-5), g.shuffle(1.0, 10**12).bounds(5e-6)
    assert far.lower <= far.upper <= far.lower * 1.02
    # the central limit: a tenth of the deviation, and delta is proportional to it
    assert near.upper / far.upper == pytest.approx(10.0, rel=1e-3)
    assert g.shuffle(1.0, 2**53).bounds(5e-6).upper == pytest.approx(far.upper, rel=1e-8)


def test_epsilon_zero_gives_nothing_away() -> None:
    f = g.shuffle(0.0, 10)
    assert f.delta(0.0) == 0.0
    assert f.epsilon(1e-9) == 0.0
    assert f.delta(-0.5) == pytest.approx(-math.expm1(-0.5), rel=1e-12)


def test_one_user_is_randomized_response() -> None:
    for epsilon0 in (1e-6, 0.3, 3.0, 50.0):
        f = g.shuffle(epsilon0, 1)
        for share in (0.0, 0.3, 0.99):
            epsilon = share * epsilon0
            truth = -math.expm1(epsilon - epsilon0) / (1.0 + math.exp(-epsilon0))
            assert f.delta(epsilon) == pytest.approx(truth, rel=1e-10)
        assert f.delta(epsilon0) == 0.0


@pytest.mark.parametrize("epsilon0", [700.0, 800.0, 1e5, 1e300])
def test_huge_local_epsilon_needs_no_exponential(epsilon0: float) -> None:
    f = g.shuffle(epsilon0, 10**6)
    assert f.delta(1.0) == pytest.approx(1.0, rel=1e-10)
    assert f.delta(epsilon0) == 0.0
    assert 0.0 < f.epsilon(1e-9) <= epsilon0
    assert g.shuffle(epsilon0, 10, method="paper").delta(5.0) == pytest.approx(1.0, rel=1e-10)
    assert g.shuffle(epsilon0, 10, method="fmt").epsilon(1e-5) <= epsilon0


def test_tiny_local_epsilon() -> None:
    for epsilon0 in (1e-300, 1e-100, 1e-12):
        f = g.shuffle(epsilon0, 100)
        assert 0.0 <= f.bounds(0.0).lower <= f.delta(0.0) <= epsilon0
        assert f.epsilon(0.5) == 0.0


def test_delta_is_zero_from_epsilon0_on_and_positive_before() -> None:
    f = g.shuffle(2.0, 10**7)
    assert f.delta(2.0) == 0.0 == f.delta(3.0)
    assert f.delta(1.999) == 1e-300  # too small to compute, never reported as 0


def test_monotone_in_epsilon_n_and_epsilon0() -> None:
    rng = np.random.default_rng(4)
    slack = 1.0 + 2.1e-11
    for _ in range(200):
        n = int(np.exp(rng.uniform(0.0, math.log(1e5)))) + 1
        epsilon0 = float(np.exp(rng.uniform(-4.0, 2.0)))
        epsilon = epsilon0 * float(rng.uniform(0.0, 0.6)) / math.sqrt(n)
        here = g.shuffle(epsilon0, n).delta(epsilon)
        assert g.shuffle(epsilon0, n).delta(epsilon * 1.1) <= here * slack
        assert g.shuffle(epsilon0, n + int(rng.integers(1, n + 1))).delta(epsilon) <= here * slack
        assert g.shuffle(epsilon0 * 1.05, n).delta(epsilon) * slack >= here


def test_epsilon_is_the_certified_end() -> None:
    for n, epsilon0, delta in [
        (50, 1.0, 1e-3),
        (10**4, 0.5, 1e-10),
        (10**6, 4.444, 1e-8),
        (10**8, 1.0, 1e-6),
    ]:
        f = g.shuffle(epsilon0, n)
        epsilon = f.epsilon(delta)
        assert f.delta(epsilon) <= delta < f.delta(epsilon * (1.0 - 1e-9))


@pytest.mark.parametrize(
    "n, epsilon0, delta, expected",
    [
        (10**3, 0.1, 1e-10, 0.0165081618),
        (10**3, 1.0, 1e-6, 0.148670616),
        (10**3, 4.444, 1e-6, 4.31817866),
        (10**4, 6.0, 1e-10, 2.96426079),
        (10**5, 4.0, 1e-6, 0.1181530665),
        (10**6, 1.0, 1e-8, 0.0050116208),
        (10**6, 4.444, 1e-10, None),
    ],
)
def test_epsilon_reference_values(n: int, epsilon0: float, delta: float, expected: float | None) -> None:
    exact, paper = g.shuffle(epsilon0, n), g.shuffle(epsilon0, n, method="paper")
    if expected is not None:
        assert exact.epsilon(delta) == pytest.approx(expected, rel=2e-8)
    assert exact.epsilon(delta) <= paper.epsilon(delta) <= epsilon0


def test_the_curve_lies_below_the_true_trade_off_function() -> None:
    f = g.shuffle(2.0, 20)
    for alpha in (1e-6, 0.01, 0.2, 0.5, 0.9):
        truth = float(pair_beta(20, 2.0, alpha))
        assert truth - 5e-5 <= f(alpha) <= truth
    assert f(0.0) == pytest.approx(1.0 - 1e-9, abs=2e-9)


def test_negative_epsilon_follows_from_symmetry() -> None:
    f = g.shuffle(1.5, 12)
    cells = pair_cells(12, 1.5)
    for epsilon in (-2.0, -0.7, -0.1):
        truth = math.fsum(max(0.0, p - math.exp(epsilon) * q) for p, q in cells)
        assert f.delta(epsilon) == pytest.approx(truth, rel=1e-9)
        found = f.bounds(epsilon)
        assert found.lower <= truth * (1 + 1e-12) and truth <= found.upper * (1 + 1e-12)


def test_memory_at_a_billion_users_and_truncated_mass_reported() -> None:
    f = g.shuffle(1.0, 10**9)
    tracemalloc.start()
    found = f.bounds(1.6e-4)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 200 * 2**20
    assert 0.0 < found.truncated_mass < 1e-12
    assert found.lower < found.upper


def test_truncated_mass_is_really_outside_the_window() -> None:
    from prepriv.guarantees.shuffling._binomial import clones

    law = clones(1.0, 5000)
    low, high = law.window(math.log(1e-9), math.log(1e-7))
    mass = law.pmf(0, 5000)
    assert low > 0 and high < 5000
    assert 0.0 < mass[:low].sum() <= 1e-9
    assert 0.0 < mass[high + 1 :].sum() <= 1e-7
    assert mass.sum() == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize(
    "arguments, name",
    [
        ((-1.0, 10), "epsilon0"),
        ((math.nan, 10), "epsilon0"),
        ((math.inf, 10), "epsilon0"),
        (("one", 10), "epsilon0"),
        ((1.0, 0), "n"),
        ((1.0, -3), "n"),
        ((1.0, 2.5), "n"),
        ((1.0, math.nan), "n"),
        ((1.0, 2**54), "n"),
        ((1.0, 10, "best"), "method"),
    ],
)
def test_bad_arguments_are_named(arguments: tuple, name: str) -> None:
    with pytest.raises(ValueError, match=rf"^{name} must"):
        g.shuffle(*arguments)


@pytest.mark.parametrize("method", ["exact", "paper", "fmt"])
def test_bad_numbers_are_named(method: str) -> None:
    f = g.shuffle(1.0, 10, method=method)
    for delta in (0.0, 1.0, -0.1, math.nan):
        with pytest.raises(ValueError, match=r"^delta must .* \(0, 1\)"):
            f.epsilon(delta)
    with pytest.raises(ValueError, match=r"^epsilon must"):
        f.delta(math.nan)
    with pytest.raises(ValueError, match=r"^epsilon must"):
        f.bounds(math.inf)
    with pytest.raises(ValueError, match=r"^k must .* 1 or"):
        f.compose(0)
    with pytest.raises(ValueError, match=r"^alpha must .* \[0, 1\]"):
        f(1.5)


def test_no_argument_in_range_fails_or_warns() -> None:
    rng = np.random.default_rng(13)
    for _ in range(60):
        epsilon0 = float(
            10.0 ** rng.choice([rng.uniform(-308, 3), rng.uniform(-3, 1.3), rng.uniform(2, 308)])
        )
        n = int(10.0 ** rng.choice([rng.uniform(0, 1), rng.uniform(0, 5), rng.uniform(0, 9)]))
        share = float(
            rng.choice([0.0, rng.uniform(), -rng.uniform(), 1.0 - 1e-15, 10.0 ** rng.uniform(-12, 0)])
        )
        choices = [{"method": m} for m in ("exact", "paper", "fmt")]
        if n < 10**6:
            choices += [{"randomizer": g.local_laplace()}, {"randomizer": g.blanket(float(rng.uniform()))}]
        for options in choices:
            f = g.shuffle(epsilon0, n, **options)
            found = f.bounds(share * epsilon0)
            assert 0.0 <= found.lower <= found.upper <= 1.0
            assert found.lower * (1 - 1e-12) <= f.delta(share * epsilon0) <= found.upper * (1 + 1e-12) + 4e-15
