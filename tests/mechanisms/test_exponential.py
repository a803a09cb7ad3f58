"""The exponential mechanism: its rounded law keeps the promise. Claims of docs/proofs/exponential.md."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from exponential_oracle import Words, exact_law, log_ratio_range, words_drawn
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special, stats

from prepriv import guarantees as g
from prepriv.guarantees import discrete_pair
from prepriv.mechanisms import exponential
from prepriv.mechanisms._bounded_range import BoundedRange, bounded_range_epsilon, bounded_range_mu
from prepriv.mechanisms.exponential import ExponentialMechanism
from prepriv.mechanisms.noise import NoiseSource

SCORES = st.one_of(
    st.integers(-5, 5), st.integers(-(10**6), 10**6), st.sampled_from([-(2**63), 2**63 - 1, 0, 2**62])
)


# --- the law ---------------------------------------------------------------------------------------------


def test_law_is_the_exponential_one_to_seventy_bits():
    mechanism = ExponentialMechanism(1.3, 4)
    scores = np.array([5, 0, -7, 5, 30])
    with mpmath.workdps(60):
        rate = mpmath.mpf(1.3) * (1 - mpmath.mpf(2) ** -30) / 4
        weights = [mpmath.exp(rate * int(s)) for s in scores]
        for (p, _), w in zip(exact_law(mechanism, scores), weights):
            assert abs(mpmath.mpf(p.numerator) / p.denominator / (w / sum(weights)) - 1) < 2.0**-70


def test_choices_follow_the_law():
    mechanism, source = ExponentialMechanism(1.0, 2), NoiseSource.for_tests(1)
    scores, counts = np.array([0, 3, -4, 2, 1]), np.array([7, 1, 4, 0, 2])
    drawn = [mechanism.choose(scores, source, counts=counts) for _ in range(10_000)]
    law = exact_law(mechanism, scores, counts)
    cells = [(i, j) for i, c in enumerate(counts) for j in range(c)]
    seen = [drawn.count(cell) for cell in cells]
    assert sum(seen) == len(drawn)
    assert stats.chisquare(seen, [float(law[i][0]) * len(drawn) for i, _ in cells]).pvalue > 1e-6


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(SCORES, st.integers(0, 5)), min_size=1, max_size=6), st.floats(0.01, 10), st.data())
def test_choose_inverts_the_law_it_is_said_to_have(candidates, epsilon, data):
    scores, counts = (np.array(column, np.int64) for column in zip(*candidates))
    if not counts.any():
        counts[0] = 1
    mechanism = ExponentialMechanism(epsilon, 2)
    law = exact_law(mechanism, scores, counts)
    total = 2 ** (64 * words_drawn(mechanism))
    i = data.draw(st.sampled_from([i for i, c in enumerate(counts) if c]))
    before = sum(sum(exact_law_of(mechanism, scores, counts, k)) for k in range(i))
    # the first and the last uniform of a candidate's first copy, and the one before it
    first = int(before * total)
    assert mechanism.choose(scores, Words(first), counts=counts) == (i, 0)
    assert mechanism.choose(scores, Words(first + int(law[i][0] * total) - 1), counts=counts) == (i, 0)
    if first:
        assert mechanism.choose(scores, Words(first - 1), counts=counts)[0] < i
    assert mechanism.choose(scores, Words(total - 1), counts=counts)[0] == max(np.flatnonzero(counts))


def exact_law_of(mechanism, scores, counts, k):
    """Probabilities of all copies of candidate k."""
    expanded = np.repeat(scores, counts)
    law = exact_law(mechanism, expanded)
    start = int(counts[:k].sum())
    return [p for p, _ in law[start : start + int(counts[k])]]


# --- privacy of the rounded law --------------------------------------------------------------------------


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.tuples(SCORES, st.integers(-1, 1)), min_size=2, max_size=8),
    st.floats(2.0**-20, 100, allow_subnormal=False),
    st.integers(1, 1000),
)
def test_log_ratios_stay_in_a_range_of_epsilon(candidates, epsilon, sensitivity):
    scores = [max(min(s, 2**62), -(2**62)) for s, _ in candidates]
    moved = [s + move * sensitivity for s, (_, move) in zip(scores, candidates)]
    mechanism = ExponentialMechanism(epsilon, 2 * sensitivity)
    assert log_ratio_range(exact_law(mechanism, scores), exact_law(mechanism, moved)) <= epsilon


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(SCORES, st.integers(0, 3)), min_size=2, max_size=8), st.floats(0.01, 20))
def test_scores_that_move_one_way_need_half_the_range(candidates, epsilon):
    scores = [max(min(s, 2**62), -(2**62)) for s, _ in candidates]
    mechanism = ExponentialMechanism(epsilon, 3)
    law = exact_law(mechanism, [s + move for s, (_, move) in zip(scores, candidates)])
    assert log_ratio_range(exact_law(mechanism, scores), law) <= epsilon


def test_copies_may_move_between_candidates():
    # 12 fixed copies, grouped differently by two data sets: the claim is about copies
    mechanism = ExponentialMechanism(0.7, 2)
    one = exact_law(mechanism, np.repeat([3, 1, 0], [4, 4, 4]))
    two = exact_law(mechanism, np.repeat([3, 2, 0], [5, 3, 4]))
    assert log_ratio_range(one, two) <= 0.7
    grouped = exact_law(mechanism, [3, 1, 0], np.array([4, 4, 4]))
    for group, copy in zip(grouped, one[::4]):
        assert abs(group[0] - copy[0]) <= Fraction(2, 2 ** (64 * words_drawn(mechanism)))


def test_the_range_is_attained_so_the_bound_is_tight():
    mechanism = ExponentialMechanism(1.0, 2)
    worst = log_ratio_range(exact_law(mechanism, [0, 0]), exact_law(mechanism, [1, -1]))
    assert 1 - 1e-8 < worst <= 1


def test_single_sensitivity_as_range_is_caught():
    # planted bug: the factor 2 forgotten
    mechanism = ExponentialMechanism(1.0, 1)
    assert log_ratio_range(exact_law(mechanism, [0, 0]), exact_law(mechanism, [1, -1])) > 1.5


def test_without_the_cap_far_candidates_would_vanish(monkeypatch):
    # planted bug: weights that round to 0 make the support depend on the data
    monkeypatch.setattr(exponential, "_REACH", 1e6)
    mechanism = ExponentialMechanism(1.0, 2)
    weights = mechanism._weights(np.array([0, 286, 287, 5000], dtype=np.uint64))
    assert weights[5000] == 0  # and a neighbour may give it a positive one
    monkeypatch.undo()
    assert min(ExponentialMechanism(1.0, 2)._weights(np.array([0, 5000, 2**63], np.uint64)).values()) >= 2**79


def test_without_a_reserve_rounding_eats_into_epsilon(monkeypatch):
    # planted bug: all of epsilon given to the exact law, nothing to rounding
    monkeypatch.setattr(exponential, "_RESERVE", Fraction(0))
    monkeypatch.setattr(exponential, "WEIGHT_BITS", 140)
    rng, broken = np.random.default_rng(0), 0
    for _ in range(50):
        epsilon = float(rng.uniform(0.5, 2))
        mechanism = ExponentialMechanism(epsilon, 2)
        scores = rng.integers(0, 150, 6)
        moved = scores + rng.permutation([1, -1, 1, -1, 0, 0])
        broken += log_ratio_range(exact_law(mechanism, scores), exact_law(mechanism, moved)) > epsilon
    assert broken > 0


# --- the curve and its Gaussian equivalent ---------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [1e-4, 0.1, 1.0, 5.0, 30.0])
def test_curve_is_the_supremum_over_binary_pairs(epsilon):
    curve = BoundedRange(epsilon)
    levels = np.linspace(-epsilon - 30, 30, 4001)
    q, p = special.expit(levels), special.expit(levels + epsilon)
    for slope in np.linspace(0, 1.05 * epsilon, 9):
        best = max(0.0, float(np.max(p - math.exp(slope) * q)))
        assert best <= curve.delta(slope)
        assert curve.delta(slope) <= best + 1e-4 * math.tanh(epsilon / 4)
    for alpha in (0.0, 1e-6, 0.05, 0.3, 0.9, 1.0):
        truth = (1 - alpha) / (1 - alpha + alpha * math.exp(epsilon))
        assert truth * (1 - 1e-9) - 1e-15 <= curve(alpha) <= truth
    assert curve.delta(epsilon) == 0.0 and curve.symmetric
    assert curve.delta(0.0) == pytest.approx(math.tanh(epsilon / 4), rel=1e-9)


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 2.0])
def test_laws_of_the_mechanism_lie_above_the_curve(epsilon):
    mechanism, rng = ExponentialMechanism(epsilon, 2), np.random.default_rng(2)
    for _ in range(30):
        scores = rng.integers(-3, 4, 5)
        laws = [exact_law(mechanism, s) for s in (scores, scores + rng.integers(-1, 2, 5))]
        p, q = (np.array([float(first) for first, _ in law]) for law in laws)
        pair = discrete_pair(p / p.sum(), q / q.sum())
        assert pair.dominates(mechanism.tradeoff)
        assert pair.dominates(g.gaussian(mechanism.mu))


@settings(max_examples=300)
@given(st.floats(1e-5, 30), st.floats(-60, 60))
def test_gaussian_equivalent_covers_every_binary_pair(epsilon, level):
    # log-odds move by at most epsilon; no such move is further than mu in normal quantiles
    lower, upper = level, level + epsilon
    with mpmath.workdps(40):

        def quantile(x):
            p = 1 / (1 + mpmath.exp(abs(x)))
            z = mpmath.mpf(float(special.ndtri(float(p))))
            for _ in range(3):
                z -= (mpmath.ncdf(z) - p) / mpmath.npdf(z)
            return z if x < 0 else -z

        assert quantile(mpmath.mpf(upper)) - quantile(mpmath.mpf(lower)) <= bounded_range_mu(epsilon)


def test_gaussian_equivalent_is_tight_and_beats_pure_privacy():
    for epsilon in (0.01, 1.0, 4.0):
        curve, mu = BoundedRange(epsilon), bounded_range_mu(epsilon)
        assert curve.dominates(g.gaussian(mu))
        assert not curve.dominates(g.gaussian(mu * (1 - 1e-4)), tolerance=1e-12)
        pure = -2 * special.ndtri(1 / (1 + math.exp(epsilon)))
        assert mu < 0.56 * pure if epsilon <= 1 else mu < pure


@settings(max_examples=300)
@given(st.floats(1e-6, 12))
def test_conversions_round_towards_safety(mu):
    epsilon = bounded_range_epsilon(mu)
    with mpmath.workdps(40):
        exact = 2 * mpmath.log(mpmath.ncdf(mpmath.mpf(mu) / 2) / mpmath.ncdf(-mpmath.mpf(mu) / 2))
        assert 0 < epsilon <= exact
        assert epsilon >= exact * (1 - mpmath.mpf(10) ** -8)
    if epsilon >= 2.0**-20:
        assert bounded_range_mu(epsilon) >= mu * (1 - 1e-8)
        assert ExponentialMechanism.of_gdp(mu, 2).epsilon == epsilon


def test_renyi_bound_covers_the_exact_divergence_of_binary_pairs():
    for epsilon in (0.1, 1.0, 6.0):
        curve = BoundedRange(epsilon)
        for level in np.linspace(-epsilon - 4, 4, 60):
            p, q = special.expit(level + epsilon), special.expit(level)
            for order in (1.5, 2.0, 20.0):
                exact = math.log(p**order * q ** (1 - order) + (1 - p) ** order * (1 - q) ** (1 - order)) / (
                    order - 1
                )
                assert exact <= curve.divergence("renyi", order=order)
            kl = p * math.log(p / q) + (1 - p) * math.log((1 - p) / (1 - q))
            assert kl <= curve.divergence("kl")


# --- arguments -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.nan, math.inf, 1e-7, 101.0])
def test_bad_epsilons_are_refused(epsilon):
    with pytest.raises(ValueError, match="epsilon"):
        ExponentialMechanism(epsilon, 2)


@pytest.mark.parametrize("score_range", [0, -1, 1.5])
def test_bad_ranges_are_refused(score_range):
    with pytest.raises(ValueError, match="score_range"):
        ExponentialMechanism(1.0, score_range)


@pytest.mark.parametrize(
    "scores, counts, name",
    [
        (np.zeros(2), None, "scores"),
        (np.zeros((2, 2), np.int64), None, "scores"),
        (np.zeros(0, np.int64), None, "scores"),
        (np.zeros(2, np.int64), np.zeros(2, np.int64), "counts"),
        (np.zeros(2, np.int64), np.array([-1, 3]), "counts"),
        (np.zeros(2, np.int64), np.array([2**62, 0]), "counts"),
        (np.zeros(2, np.int64), np.array([2**62, 2**62, 2**62]), "counts"),
        (np.zeros(2, np.int64), np.ones(2), "counts"),
    ],
)
def test_bad_candidates_are_refused(scores, counts, name):
    with pytest.raises(ValueError, match=name):
        ExponentialMechanism(1.0, 2).choose(scores, NoiseSource.for_tests(1), counts=counts)
