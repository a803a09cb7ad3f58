"""Propose-test-release, attacked exactly. Claims of docs/proofs/propose_test_release.md."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from prepriv import guarantees as g
from prepriv.mechanisms._laws import DiscreteLaplace, RoundedGaussian
from prepriv.mechanisms.noise import NoiseSource
from prepriv.mechanisms.propose_test_release import _STEPS, GaussianTest, LaplaceTest

TESTS = [
    LaplaceTest(epsilon=0.2, delta=1e-5),
    LaplaceTest(epsilon=1.0, delta=1e-6),
    LaplaceTest(epsilon=3.0, delta=0.01, error=0.25),
    LaplaceTest(epsilon=5.0, delta=1e-8),
    GaussianTest(mu=0.2, delta=1e-5),
    GaussianTest(mu=1.0, delta=1e-6),
    GaussianTest(mu=3.0, delta=0.01, error=0.25),
]
EPSILONS = [0.0, 0.1, 0.5, 1.0, 2.0, 3.0, 5.0, 8.0]


def pass_probability(test, steps):
    """P(steps + noise >= threshold), to 40 digits, from the law of the noise."""
    law = DiscreteLaplace(test.scale) if isinstance(test, LaplaceTest) else RoundedGaussian(test.scale)
    m = test.threshold - steps
    with mpmath.workdps(40):
        if m > 0:
            return law.survival(m, mpmath.mp) / 2
        return 1 - law.survival(1 - m, mpmath.mp) / 2


def hockey_stick(p1, p2, m, epsilon):
    """H_{e^epsilon} of the outputs: refused, or with chance p N(0, 1) against N(m, 1); m = inf: disjoint."""
    refused = max(mpmath.mpf(0), (1 - p1) - mpmath.exp(epsilon) * (1 - p2))
    if m == math.inf:
        return refused + p1
    level = epsilon + mpmath.log(p2 / p1)  # p1 P - e^epsilon p2 Q
    high, low = mpmath.ncdf(-level / m + m / 2), mpmath.ncdf(-level / m - m / 2)
    return refused + p1 * (high - mpmath.exp(level) * low)


def worst(test, pairs, m, epsilon):
    """The largest hockey-stick divergence over ordered pairs of neighbours, given by their steps."""
    with mpmath.workdps(40):
        values = []
        for a, b in pairs:
            p, q = pass_probability(test, a), pass_probability(test, b)
            values += [hockey_stick(p, q, m, epsilon), hockey_stick(q, p, m, epsilon)]
        return max(values)


# --- the test itself -------------------------------------------------------------------------------------


@pytest.mark.parametrize("test", TESTS, ids=str)
def test_bad_data_and_their_neighbours_pass_with_chance_at_most_delta(test):
    # the worst numbers a distance can be given as: bad data up to error, a neighbour up to 1 + error
    assert pass_probability(test, test.steps(test.error)) <= test.delta
    near = pass_probability(test, test.steps(1 + test.error))
    assert near <= test.delta
    assert near > test.delta * 0.999  # and the threshold is not higher than it has to be


@pytest.mark.parametrize("test", TESTS, ids=str)
def test_threshold_is_the_one_of_the_design(test):
    if isinstance(test, LaplaceTest):
        expected = 1 + math.log(1 / (2 * test.delta)) / test.epsilon * (1 + 2 * test.error)
    else:
        expected = 1 + stats.norm.isf(test.delta) / test.mu * (1 + 2 * test.error)
    assert expected <= test.threshold / _STEPS < expected * (1 + 1e-4) + 1e-4


@settings(max_examples=500)
@given(
    st.floats(-(2.0**31), 2.0**31),
    st.floats(-1, 1),
    st.floats(-1, 1),
    st.floats(-1, 1),
    st.sampled_from(TESTS),
)
def test_steps_move_by_at_most_the_sensitivity(true, move, error1, error2, test):
    one = test.steps(true + error1 * test.error)
    two = test.steps(true + move + error2 * test.error)
    assert abs(one - two) <= test.sensitivity


@given(st.floats(-1e300, 0.0), st.floats(-1, 1), st.sampled_from(TESTS))
def test_failed_conditions_have_no_positive_steps(true, error, test):
    assert test.steps(true + error * test.error) <= 0


@pytest.mark.parametrize("test", TESTS, ids=str)
def test_every_float_is_a_distance(test):
    for value in (math.nan, math.inf, -math.inf, 1e308, -1e308, 5e-324, -0.0, 0.0):
        assert test.passes(value, NoiseSource.for_tests(1)) in (True, False)
    assert test.steps(math.nan) == test.steps(-math.inf) < 0
    assert test.passes(1e6, NoiseSource.for_tests(1)) and not test.passes(-1e6, NoiseSource.for_tests(1))


@pytest.mark.parametrize("test", [TESTS[1], TESTS[5]], ids=str)
def test_passes_at_the_stated_rate(test):
    source = NoiseSource.for_tests(2)
    for gap in (-1.0, 0.0, 0.7):
        distance = test.threshold / _STEPS + gap
        passed = sum(test.passes(distance, source) for _ in range(3000))
        assert (
            stats.binomtest(passed, 3000, float(pass_probability(test, test.steps(distance)))).pvalue > 1e-6
        )


# --- the guarantee ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("test", TESTS, ids=str)
@pytest.mark.parametrize("m", [0.3, 1.0])
def test_combined_guarantee_covers_every_pair_of_neighbours(test, m):
    combined, move, top = test.combined(g.gaussian(m)), test.sensitivity, test.threshold
    good = [
        (top + int(x * _STEPS), top + int(x * _STEPS) + shift)
        for x in np.linspace(-8, 8, 17)
        for shift in (move, 1)
    ]
    limit = test.steps(1 + test.error)
    bad = [(0, limit), (-5 * _STEPS, min(limit, move - 5 * _STEPS)), (0, 0), (limit, 0)]
    for epsilon in EPSILONS:
        delta = combined.delta(epsilon)
        assert worst(test, good, m, epsilon) <= delta
        assert worst(test, bad, math.inf, epsilon) <= delta


def test_combined_guarantee_is_not_loose():
    for test in (TESTS[1], TESTS[5]):
        m, combined = 1.0, test.combined(g.gaussian(1.0))
        pairs = [
            (test.threshold + int(x * _STEPS), test.threshold + int((x + 1) * _STEPS))
            for x in np.linspace(-3, 3, 61)
        ]
        assert worst(test, pairs, m, 1.0) > 0.6 * combined.delta(1.0)
        assert worst(test, [(0, _STEPS)], math.inf, 8.0) > 0.999 * combined.delta(8.0)


def test_combined_guarantee_beats_adding_epsilons():
    test = LaplaceTest(epsilon=0.5, delta=1e-6)
    combined = test.combined(g.gaussian(1.0))
    assert combined.epsilon(1e-5) < 0.5 + g.gdp_epsilon(1.0, 1e-5)
    # and is never worse than (epsilon0 + epsilon1, max(delta0, delta1))
    for epsilon1 in (0.2, 1.0, 3.0, 6.0):
        simple = max(test.delta, g.gdp_delta(1.0, epsilon1))
        assert combined.delta(0.5 + epsilon1) <= simple * (1 + 1e-6)
    assert math.isinf(combined.epsilon(0.9e-6))


def test_gaussian_twin_composes_exactly_and_asks_for_less_distance():
    twin = GaussianTest(mu=0.5, delta=1e-6)
    assert twin.combined(g.gaussian(1.0)).epsilon(1e-5) == pytest.approx(
        g.gdp_epsilon(math.hypot(0.5, 1.0), 1e-5)
    )
    assert twin.threshold < 0.4 * LaplaceTest(epsilon=0.5, delta=1e-6).threshold


def test_what_always_runs_is_counted_in_both_cases():
    test, m, always = TESTS[2], 1.0, 2.0
    combined = test.combined(g.gaussian(m), always=g.gaussian(always))
    for epsilon in EPSILONS:
        with mpmath.workdps(40):
            # bad pair: a leak of probability delta beside a Gaussian release
            high = mpmath.ncdf(-epsilon / mpmath.mpf(always) + always / 2)
            low = mpmath.ncdf(-epsilon / mpmath.mpf(always) - always / 2)
            leak = test.delta + (1 - test.delta) * (high - mpmath.exp(epsilon) * low)
        assert leak <= combined.delta(epsilon)
        assert combined.delta(epsilon) >= test.combined(g.gaussian(m)).delta(epsilon)
        assert combined.delta(epsilon) >= g.gaussian(math.hypot(m, always)).delta(epsilon)


def test_combined_curve_is_a_tradeoff_function():
    combined = TESTS[1].combined(g.gaussian(1.0))
    alpha = np.linspace(0, 1, 101)
    beta = combined(alpha)
    assert (np.diff(beta) <= 1e-12).all() and (np.diff(beta, 2) >= -1e-9).all() and combined.symmetric
    assert (beta <= g.gaussian(1.0)(alpha) + 1e-9).all()
    assert combined.compose(2).delta(3.0) >= combined.delta(3.0)
    skew = g.discrete_pair([0.9, 0.1], [0.5, 0.5])
    one = TESTS[1].combined(skew)
    assert one.inverse().delta(0.5) == pytest.approx(TESTS[1].combined(skew.inverse()).delta(0.5))


@pytest.mark.parametrize("scale, shift", [(1.0, 1), (3.0, 2), (40.0, 7)])
def test_discrete_laplace_lies_above_a_laplace_curve_two_steps_further(scale, shift):
    k = np.arange(-2000, 2001)
    p = np.exp(-np.abs(k) / scale)
    q = np.exp(-np.abs(k - shift) / scale)
    below = 0.0
    for epsilon in np.linspace(0, 1.5 * shift / scale, 200):
        exact = np.maximum(q / q.sum() - math.exp(epsilon) * p / p.sum(), 0).sum()
        assert exact <= g.laplace((shift + 2) / scale).delta(epsilon) + 1e-12
        below = max(below, exact - g.laplace(shift / scale).delta(epsilon))
    assert below > 1e-5  # so the two steps are needed: the continuous curve itself does not hold


# --- the paper's theorem ---------------------------------------------------------------------------------


def paper_pass_probability(epsilon, delta, distance):
    """Provable Privacy with Non-Private Pre-Processing, Algorithm 1: pass if distance + Lap(1 / epsilon) > log(2 / delta) / epsilon."""
    return 0.5 * math.exp(-epsilon * (math.log(2 / delta) / epsilon - distance))


@pytest.mark.parametrize("epsilon, times", [(3.0, 5.02), (5.0, 37.1)])
def test_theorem_8_of_the_paper_is_false_beyond_log_4(epsilon, times):
    # S1 bad, S2 next to it at distance 1: A(S2) gives itself away, at any epsilon'
    delta = 1e-6
    leak = paper_pass_probability(epsilon, delta, 1.0)
    assert leak == pytest.approx(times * delta, rel=1e-2)
    assert paper_pass_probability(math.log(4) * 1.001, delta, 1.0) > delta
    assert paper_pass_probability(math.log(4) * 0.999, delta, 1.0) < delta
    ours = LaplaceTest(epsilon=epsilon, delta=delta)
    assert worst(ours, [(0, _STEPS)], math.inf, epsilon + 10) <= delta


def test_a_threshold_that_forgets_the_neighbour_would_be_caught():
    # planted bug: the distance that a neighbour of bad data can have is left out
    class Forgetful(LaplaceTest):
        @property
        def threshold(self):
            return self._quantile()

    test = Forgetful(epsilon=3.0, delta=1e-6)
    assert pass_probability(test, test.steps(0.0)) <= test.delta
    assert pass_probability(test, test.steps(1.0)) > 20 * test.delta


def test_threshold_in_floats_of_the_distance_would_be_caught():
    # planted bug: a distance computed a little high on bad data, and no error declared
    test = LaplaceTest(epsilon=5.0, delta=1e-8)
    assert pass_probability(test, test.steps(1.0 + 1e-3)) > test.delta
    declared = LaplaceTest(epsilon=5.0, delta=1e-8, error=1e-3)
    assert pass_probability(declared, declared.steps(1.0 + 1e-3)) <= test.delta


# --- arguments -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("delta", [0.0, -1e-6, 0.3, 1.0, math.nan])
def test_bad_deltas_are_refused(delta):
    for make in (lambda d: LaplaceTest(epsilon=1.0, delta=d), lambda d: GaussianTest(mu=1.0, delta=d)):
        with pytest.raises(ValueError, match="delta"):
            make(delta)


@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf, 1e-9, 1000.0])
def test_bad_budgets_are_refused(value):
    with pytest.raises(ValueError, match="epsilon"):
        LaplaceTest(epsilon=value, delta=1e-6)
    with pytest.raises(ValueError, match="mu"):
        GaussianTest(mu=value, delta=1e-6)


@pytest.mark.parametrize("error", [-0.1, 1.1, math.nan])
def test_bad_errors_are_refused(error):
    with pytest.raises(ValueError, match="error"):
        LaplaceTest(epsilon=1.0, delta=1e-6, error=error)


def test_extreme_settings_still_make_a_test():
    for test in (LaplaceTest(epsilon=1e-6, delta=1e-300), GaussianTest(mu=1e-6, delta=1e-300)):
        assert test.passes(-1.0, NoiseSource.for_tests(1)) is False
    assert pass_probability(GaussianTest(mu=100.0, delta=1e-9), _STEPS) <= 1e-9
