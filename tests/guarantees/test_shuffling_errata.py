"""What Unified Enhancement of Privacy Bounds says of shuffling and does not hold, each with its counter-example (docs/errata.md)."""

from __future__ import annotations

import math

import pytest
from clone_pair_oracle import (
    corollary_43_as_printed,
    pair_beta,
    pair_cells,
    pair_delta,
    randomized_response,
    shuffled_delta,
)

from prepriv import guarantees as g


def worst_randomized_response(k: int, n: int, epsilon0: float, epsilon: float) -> float:
    """True delta of shuffled k-ary randomized response, the others all holding one fixed value."""
    rows = randomized_response(k, epsilon0)
    return max(shuffled_delta(rows[0], rows[1], [rows[x]] * (n - 1), epsilon) for x in range(k))


def test_e1_corollary_43_as_printed_under_reports_randomized_response() -> None:
    printed = corollary_43_as_printed(20, 2.0, 0.5)
    assert printed is not None
    assert printed == pytest.approx(0.00958, rel=2e-3)
    two, three = worst_randomized_response(2, 20, 2.0, 0.5), worst_randomized_response(3, 20, 2.0, 0.5)
    assert two == pytest.approx(0.0996, rel=2e-3)
    assert three == pytest.approx(0.1136, rel=2e-3)
    assert printed < 0.1 * two < three <= g.shuffle(2.0, 20).delta(0.5)
    assert three <= g.shuffle(2.0, 20, method="paper").delta(0.5)


def test_e1_three_users_attain_the_exact_pair_and_the_printed_formula_is_below() -> None:
    truth = worst_randomized_response(2, 3, 1.0, 0.5)
    assert truth == pytest.approx(0.15373312, abs=1e-8)
    assert g.shuffle(1.0, 3).delta(0.5) == pytest.approx(truth, rel=1e-10)
    printed = corollary_43_as_printed(3, 1.0, 0.5)
    assert printed is not None and printed < 0.5 * truth


def test_e1_for_two_users_no_threshold_exists() -> None:
    assert corollary_43_as_printed(2, 2.0, 0.1) is None


def test_e1_with_the_right_slope_the_printed_delta_is_the_conjugate() -> None:
    # t = (1-2w)/(e^eps - 2w): equal to H_tau(P0 || Q0) (1-2w) by enumeration
    for n, epsilon0, epsilon in [(3, 1.0, 0.5), (20, 2.0, 0.5), (40, 3.0, 1.0)]:
        w = 1.0 / (1.0 + math.exp(epsilon0))
        t = (1.0 - 2.0 * w) / (math.exp(epsilon) - 2.0 * w)
        total = 0.0
        for i in range(n):
            weight = math.comb(n - 1, i) * (2 * w) ** i * (1 - 2 * w) ** (n - 1 - i)
            first, second = (
                math.fsum(math.comb(i, x) * 2.0**-i for x in range(max(math.floor(edge) + 1, 0)) if x <= i)
                for edge in (i - (i + 1) / (t + 1), i + 1 - (i + 1) / (t + 1))
            )
            total += weight * ((2 * w - math.exp(epsilon)) * first + (1 - 2 * w) * second)
        assert total == pytest.approx(float(pair_delta(n, epsilon0, epsilon, paper=True)), rel=1e-9)
        assert g.shuffle(epsilon0, n, method="paper").delta(epsilon) == pytest.approx(total, rel=1e-9)


def test_e2_quantile_at_zero_minus_infinity_would_claim_f_of_zero_is_one() -> None:
    n, epsilon0 = 8, 1.0
    truth = 1.0 - (math.exp(epsilon0) / (1.0 + math.exp(epsilon0))) ** (n - 1)  # of T(P0, Q0)
    weight = 2.0 / (1.0 + math.exp(epsilon0))
    by_parts = math.fsum(
        math.comb(n - 1, i) * weight**i * (1 - weight) ** (n - 1 - i) * (1.0 - 2.0**-i) for i in range(n)
    )
    assert by_parts == pytest.approx(truth, rel=1e-12) and truth < 1.0


def test_e3_without_symmetrisation_theorem_42_is_above_the_truth() -> None:
    n, epsilon0, alpha = 20, 2.0, 0.5
    w = 1.0 / (1.0 + math.exp(epsilon0))
    truth = float(pair_beta(n, epsilon0, alpha))
    assert truth == pytest.approx(0.2371228, abs=1e-7)
    # f_Shuffle = 2w Id + (1-2w) T(P0, Q0) at the same alpha, T(P0, Q0) by Neyman and Pearson
    cells = []
    for c in range(n):
        mass = math.comb(n - 1, c) * (2 * w) ** c * (1 - 2 * w) ** (n - 1 - c) * 2.0**-c
        for x in range(c + 2):
            zero, one = (math.comb(c, x - 1) if x else 0), (math.comb(c, x) if x <= c else 0)
            cells.append((mass * zero, mass * one))
    cells.sort(key=lambda cell: -cell[1] / cell[0] if cell[0] else -math.inf)
    left, beta = alpha, 1.0
    for p, q in cells:
        part = 1.0 if p == 0.0 else min(1.0, max(left, 0.0) / p)
        beta, left = beta - part * q, left - part * p
    unsymmetrised = 2 * w * (1 - alpha) + (1 - 2 * w) * beta
    assert unsymmetrised == pytest.approx(0.2473232, abs=1e-7)
    assert unsymmetrised > truth >= g.shuffle(epsilon0, n)(alpha)
    assert g.shuffle(epsilon0, n, method="paper")(alpha) <= truth


def test_e4_theorem_42_does_not_know_the_cap_and_ours_does() -> None:
    n, epsilon0 = 5, 1.0
    uncapped = float(pair_delta(n, epsilon0, epsilon0, paper=True))
    assert uncapped == pytest.approx(0.132, abs=1e-3)
    w = 1.0 / (1.0 + math.exp(epsilon0))
    limit = (1 - 2 * w) * (1 - w) ** (n - 1)
    assert float(pair_delta(n, epsilon0, 30.0, paper=True)) == pytest.approx(limit, rel=1e-9)
    assert g.shuffle(epsilon0, n, method="paper").delta(epsilon0) == 0.0
    assert g.shuffle(epsilon0, n).delta(epsilon0) == 0.0


def test_e5_the_pair_has_an_exact_closed_form() -> None:
    for n, epsilon0, epsilon in [(2, 0.5, 0.1), (7, 1.0, 0.9), (25, 3.0, 0.4)]:
        e = math.exp(epsilon)
        truth = math.fsum(max(0.0, p - e * q) for p, q in pair_cells(n, epsilon0))
        assert g.shuffle(epsilon0, n).delta(epsilon) == pytest.approx(truth, rel=1e-10)
        assert float(pair_delta(n, epsilon0, epsilon, paper=True)) > truth * (1.0 + 1e-6)


def test_e6_the_upper_bounds_of_table_2_are_the_closed_form_not_the_numerical_code() -> None:
    f = g.shuffle(4.444, 10_000, method="fmt")
    assert f.epsilon(5e-5) == pytest.approx(1.013965, abs=1e-6)
    assert f.epsilon(3e-6) == pytest.approx(1.084936, abs=1e-6)
    for delta in (1e-7, 4e-9, 9e-11):
        assert f.epsilon(delta) == pytest.approx(4.444, abs=1e-6)  # nothing but epsilon0 is left


def test_e8_proposition_61_fails_as_printed() -> None:
    # q1 = q2 = (1/2, 1/2), p1 = (1, 0), p2 = (0, 1), w = 1/2: the printed condition holds, equality fails
    p1, p2, q = (1.0, 0.0), (0.0, 1.0), (0.5, 0.5)
    for x in (0, 1):
        mixture = (0.5 * p1[x] + 0.5 * p2[x]) / q[x]
        assert mixture == 0.5 * p1[x] / q[x] + 0.5 * p2[x] / q[x]
    mixed = g.discrete_pair([0.5, 0.5], q)
    joint = g.mixture([g.discrete_pair(p1, q), g.discrete_pair(p2, q)], [0.5, 0.5])
    for alpha in (0.0, 0.3, 0.8):
        assert mixed(alpha) == pytest.approx(1.0 - alpha, abs=1e-9)
        assert joint(alpha) == pytest.approx(0.5 * (1.0 - alpha), abs=1e-9)


def test_e12_the_numbers_of_figure_3_fit_no_single_n() -> None:
    # w = 1/3, eps = 0.5: joint concavity without the mixing rule is sum over the two labels
    def paper(n: int) -> float:
        return float(pair_delta(n, math.log(2.0), 0.5, paper=True))

    assert paper(94) == pytest.approx(1.4966e-6, rel=1e-4)
    assert paper(110) == pytest.approx(3.2e-7, rel=0.05)


def test_printed_baseline_row_of_table_1() -> None:
    f = g.shuffle(4.444, 10_000, method="fmt")
    for epsilon, printed in [(0.9, 0.0018), (1.0, 8e-5)]:
        assert f.delta(epsilon) == pytest.approx(printed, rel=0.05)
    assert f.delta(0.7) == pytest.approx(0.1038, rel=0.005)
