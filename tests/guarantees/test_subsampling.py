"""Pairs of subsampled Gaussian mechanisms: exact values, dominance under attack, transitivity."""

import math

import mpmath
import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld
from scipy.stats import norm

from prepriv import guarantees as g
from prepriv.guarantees.subsampling import (
    GaussianMixture,
    PoissonAdd,
    PoissonRemove,
    PoissonReplace,
    SubsampledWithoutReplacement,
    transitive,
)

SHIFTS_AND_RATES = [
    (1.0, 0.01),
    (0.25, 0.3),
    (3.0, 0.001),
    (0.01, 0.5),
    (0.001, 1e-5),
    (8.0, 0.9),
    (1.0, 1.0),
]


def exact_delta(p, q, epsilon):
    """∫ (p − e^ε q)_+ for mixtures of unit Gaussians given as {mean: weight} with a monotone ratio."""
    with mpmath.workdps(60):

        def cdf(mix, x):
            return mpmath.fsum(w * mpmath.erfc((x - m) / mpmath.sqrt(2)) / 2 for m, w in mix.items())

        def log_ratio(x):
            def log_pdf(mix):
                return mpmath.log(mpmath.fsum(w * mpmath.exp(-((x - m) ** 2) / 2) for m, w in mix.items()))

            return log_pdf(p) - log_pdf(q) - epsilon

        low, high = mpmath.mpf(-60), mpmath.mpf(60)
        sign = 1 if log_ratio(high) > log_ratio(low) else -1
        if sign * log_ratio(high) < 0 or sign * log_ratio(low) > 0:
            ends = [1 - mpmath.exp(epsilon) if log_ratio(high) > 0 else mpmath.mpf(0)]
            return max(ends)
        for _ in range(220):
            middle = (low + high) / 2
            if sign * log_ratio(middle) > 0:
                high = middle
            else:
                low = middle
        upper = cdf(p, low) - mpmath.exp(epsilon) * cdf(q, low)
        return upper if sign > 0 else (1 - cdf(p, low)) - mpmath.exp(epsilon) * (1 - cdf(q, low))


@pytest.mark.parametrize("shift,rate", SHIFTS_AND_RATES)
def test_delta_is_exact_and_rounded_up(shift, rate):
    with mpmath.workdps(60):
        m, q, zero, sure = mpmath.mpf(shift), mpmath.mpf(rate), mpmath.mpf(0), mpmath.mpf(1)
        none, one, two = {zero: 1 - q, m: q}, {zero: sure}, {zero: 1 - q, -m: q}
    for name, f, p, other in (
        ("remove", PoissonRemove(shift, rate), none, one),
        ("add", PoissonAdd(shift, rate), one, none),
        ("replace", PoissonReplace(shift, rate), none, two),
    ):
        for epsilon in (0.0, 1e-6, 1e-3, 0.05, 0.5, 2.0, 7.0):
            exact = exact_delta(p, other, mpmath.mpf(epsilon))
            value = f.delta(epsilon)
            assert value >= exact * (1 - mpmath.mpf(10) ** -30), (name, epsilon)
            if exact > 1e-250:
                assert value <= float(exact) * (1 + 1e-6) + 1e-15 * rate, (name, epsilon)


def test_replace_at_rate_one_is_a_gaussian_of_twice_the_shift():
    epsilon = np.linspace(0, 6, 25)
    assert PoissonReplace(0.4, 1.0).delta(epsilon) == pytest.approx(g.gaussian(0.8).delta(epsilon), rel=1e-9)
    assert SubsampledWithoutReplacement(0.8, 1.0).delta(epsilon) == pytest.approx(
        g.gaussian(0.8).delta(epsilon), rel=1e-9
    )


def test_the_two_orders_are_dual():
    f, epsilon = PoissonRemove(1.3, 0.07), np.linspace(-0.5, 3.0, 30)
    assert f.inverse().inverse() == f
    # delta(−e) = 1 − e^{−e}(1 − delta of the inverse at e)
    dual = 1 - np.exp(-np.abs(epsilon)) * (1 - f.inverse().delta(np.abs(epsilon)))
    assert f.delta(-np.abs(epsilon)) == pytest.approx(dual, rel=1e-12)


@pytest.mark.parametrize("shift,rate,steps", [(1.0, 0.01, 300), (0.5, 0.07, 400), (1 / 0.6, 0.001, 1000)])
def test_composition_agrees_with_dp_accounting(shift, rate, steps):
    for f, relation in (
        (PoissonRemove(shift, rate), pld.NeighborRel.ADD_OR_REMOVE_ONE),
        (PoissonReplace(shift, rate), pld.NeighborRel.REPLACE_ONE),
    ):
        theirs = pld.from_gaussian_mechanism(
            1 / shift,
            1,
            sampling_prob=rate,
            neighboring_relation=relation,
            value_discretization_interval=3e-4,
        ).self_compose(steps)
        ours = f.compose(steps).symmetrized()
        for delta in (1e-3, 1e-5, 1e-8):
            assert ours.epsilon(delta) == pytest.approx(theirs.get_epsilon_for_delta(delta), rel=2e-3)


def hockey_stick_on_grid(p, q, epsilon, half_width=9.0, points=400):
    """2-D: p, q lists of (weight, centre); midpoint rule."""
    axis = np.linspace(-half_width, half_width, points)
    x, y = np.meshgrid(axis, axis, indexing="ij")

    def density(mix):
        return sum(w * norm.pdf(x - c[0]) * norm.pdf(y - c[1]) for w, c in mix)

    cell = (axis[1] - axis[0]) ** 2
    return float(np.maximum(density(p) - math.exp(epsilon) * density(q), 0).sum() * cell)


def test_no_pair_of_records_beats_the_poisson_replace_pair():
    """Adversary: any two vectors of norm ≤ m in the plane, as what the record adds to the sum."""
    rng = np.random.default_rng(0)
    m, q = 1.2, 0.2
    f = PoissonReplace(m, q)
    closest = 0.0
    for trial in range(30):
        angle, radii = rng.uniform(0, 2 * np.pi, 2), m * rng.random(2) ** rng.choice([0.05, 1.0])
        one, two = (r * np.array([np.cos(a), np.sin(a)]) for r, a in zip(radii, angle))
        if trial == 0:
            one, two = np.array([m, 0.0]), np.array([-m, 0.0])
        for epsilon in (0.02, 0.2, 0.6):
            found = hockey_stick_on_grid(
                [(1 - q, np.zeros(2)), (q, one)], [(1 - q, np.zeros(2)), (q, two)], epsilon, points=160
            )
            assert found <= f.delta(epsilon) * (1 + 1e-3)
            closest = max(closest, found / f.delta(epsilon))
    assert closest > 0.999


def test_no_batch_beats_the_pair_without_replacement():
    """Batches of b of n planar records, one replaced; every batch enumerated by its one differing member."""
    rng = np.random.default_rng(1)
    n, radius, worst = 6, 0.7, 0.0
    rate = 1 / n
    f = SubsampledWithoutReplacement(2 * radius, rate)
    for trial in range(30):
        points = rng.normal(size=(n + 1, 2))
        points *= (radius * rng.random(n + 1) ** 0.1 / np.linalg.norm(points, axis=1))[:, None]
        if trial == 0:
            points[:] = [radius, 0.0]
            points[n] = [-radius, 0.0]
        common = [(1 / n, p) for p in points[: n - 1]]
        for epsilon in (0.0, 0.1, 0.4):
            found = hockey_stick_on_grid(
                [*common, (rate, points[n - 1])], [*common, (rate, points[n])], epsilon, points=160
            )
            assert found <= f.delta(epsilon) * (1 + 1e-3) + 1e-9
            worst = max(worst, found / f.delta(epsilon))
    assert worst > 0.99


def test_gaussian_mixture_is_the_mean_of_deltas():
    shifts, weights = np.array([0.0, 0.3, 2.0]), np.array([0.5, 0.3, 0.2])
    f = GaussianMixture(shifts, weights)
    epsilon = np.linspace(0, 4, 9)
    expected = sum(w * np.asarray(g.gaussian(s).delta(epsilon)) for s, w in zip(shifts, weights))
    assert f.delta(epsilon) == pytest.approx(expected, rel=1e-12, abs=1e-14)
    short = GaussianMixture(shifts, weights * 0.9)
    assert short.delta(50.0) == pytest.approx(0.1, rel=1e-9)
    ours = f.compose(20).epsilon(1e-5)
    theirs = g.mixture([g.gaussian(s) for s in shifts], list(weights)).compose(20).epsilon(1e-5)
    assert ours == pytest.approx(theirs, rel=2e-3)


def _lines(f, half_width):
    from prepriv.guarantees.lines import support_lines

    slopes = np.linspace(-half_width, half_width, 4001)
    return support_lines(slopes, np.asarray(f.delta(slopes)))


def test_transitivity_of_gaussians_adds_their_shifts():
    f = transitive(_lines(g.gaussian(0.5), 6.0), _lines(g.gaussian(0.7), 8.0))
    epsilon = np.linspace(-3, 6, 19)
    exact = np.asarray(g.gaussian(1.2).delta(epsilon))
    assert (f.delta(epsilon) >= exact).all()
    assert f.delta(epsilon) == pytest.approx(exact, rel=1e-4)


def test_transitivity_of_randomized_response_adds_epsilons():
    f = transitive(g.randomized_response(0.5).lines(), g.randomized_response(0.7).lines())
    assert f.delta(1.2) == pytest.approx(0.0, abs=1e-12)
    assert f.delta(0.0) <= 1 - 2 / (1 + math.exp(1.2)) + 1e-9


def test_transitive_step_holds_for_a_moved_sum():
    """P = (1−q)N(0)+qN(m), R the same moved by s, Q = (1−q)N(s)+qN(s−m): attained numbers stay below."""
    m, q, s = 1.0, 0.1, 0.3
    f = transitive(_lines(g.gaussian(s), 5.0), PoissonReplace(m, q).dense_lines())
    worst = 0.0
    for sign in (1, -1):
        p = [(1 - q, (0.0, 0.0)), (q, (m, 0.0))]
        other = [(1 - q, (sign * s, 0.0)), (q, (sign * s - m, 0.0))]
        for epsilon in (0.0, 0.1, 0.3, 0.6):
            for one, two in ((p, other), (other, p)):
                found = hockey_stick_on_grid(one, two, epsilon, points=160)
                assert found <= f.delta(epsilon) * (1 + 1e-3)
                worst = max(worst, found / f.delta(epsilon))
    assert worst > 0.9


def test_refusals():
    with pytest.raises(ValueError, match="shift"):
        PoissonReplace(31.0, 0.1)
    with pytest.raises(ValueError, match="rate"):
        PoissonRemove(1.0, 0.0)
    with pytest.raises(ValueError, match="rate"):
        SubsampledWithoutReplacement(1.0, 1.5)
