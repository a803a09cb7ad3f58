"""The curve, its dual, inverse, symmetrisation, divergences, comparison and refusals."""

import math
from dataclasses import dataclass

import mpmath as mp
import numpy as np
import pytest
from tests.guarantees import oracles

from prepriv import guarantees as g
from prepriv.guarantees.divergences import renyi_of_lines
from prepriv.guarantees.lines import support_lines
from prepriv.guarantees.tradeoff import TradeoffFunction

ALPHAS = np.unique(np.concatenate([np.linspace(0, 1, 101), np.geomspace(1e-12, 0.1, 30)]))
FAMILIES = [
    g.gaussian(0.0),
    g.gaussian(1e-4),
    g.gaussian(1.0),
    g.gaussian(6.0),
    g.laplace(0.7),
    g.randomized_response(1.5),
    g.approximate_dp(0.5, 1e-3),
    g.discrete_pair([0.5, 0.3, 0.2], [0.1, 0.3, 0.6]),
    g.discrete_pair([0.5, 0.5, 0.0], [0.0, 0.6, 0.4]),
    g.mixture([g.gaussian(0.5), g.laplace(2.0)], [0.7, 0.3]),
    g.swap_mixture(g.discrete_pair([0.7, 0.2, 0.1], [0.1, 0.3, 0.6]), 0.2),
    g.randomized_response(0.3).compose(3),
]


@dataclass(frozen=True)
class Hidden(TradeoffFunction):
    """A function known only by its delta: the defaults of the base class are what is tested."""

    base: TradeoffFunction

    def _delta(self, epsilon):
        return self.base._delta(epsilon)

    def inverse(self):
        return self if self.base.symmetric else Hidden(self.base.inverse())


@pytest.mark.parametrize("f", FAMILIES, ids=lambda f: type(f).__name__)
def test_a_curve_is_convex_decreasing_and_below_the_diagonal(f):
    beta = f(ALPHAS)
    assert np.all(beta <= 1.0 - ALPHAS) and np.all(beta >= 0.0)
    assert np.all(np.diff(beta) <= 1e-12)
    even = f(np.linspace(0.0, 1.0, 101))
    assert np.all(np.diff(even, 2) >= -1e-12)


@pytest.mark.parametrize("f", FAMILIES, ids=lambda f: type(f).__name__)
def test_delta_is_the_conjugate_of_the_curve(f):
    """1 + f*(-e^eps) from f itself, on a fine grid, meets delta from below."""
    knots = f.lines().knots
    grid = np.unique(np.concatenate([np.linspace(0, 1, 4001), np.geomspace(1e-9, 1, 2000), knots]))
    beta = f(grid)
    for epsilon in (-2.0, -0.3, 0.0, 0.2, 1.0, 2.5):
        primal = float(np.max(1.0 - beta - math.exp(epsilon) * grid))
        assert primal <= f.delta(epsilon) + 2e-5
        assert f.delta(epsilon) <= primal + 2e-5
        assert f.conjugate(-math.exp(epsilon)) == pytest.approx(f.delta(epsilon) - 1.0, abs=1e-12)


@pytest.mark.parametrize("f", FAMILIES, ids=lambda f: type(f).__name__)
def test_epsilon_and_delta_invert_each_other(f):
    for delta in (0.3, 1e-2, 1e-5):
        epsilon = f.epsilon(delta)
        if math.isinf(epsilon):
            assert f.delta(50.0) > delta
            continue
        assert f.delta(epsilon) <= delta * (1.0 + 1e-12)
        if epsilon > 1e-9:
            assert f.delta(epsilon * (1 - 1e-6)) >= delta * (1 - 1e-6)


@pytest.mark.parametrize("f", FAMILIES, ids=lambda f: type(f).__name__)
def test_inverse_exchanges_the_errors(f):
    back = f.inverse()
    assert f.symmetric == (back is f)
    inside = ALPHAS[(ALPHAS > 1e-6) & (ALPHAS < 1 - 1e-6)]
    beta = f(inside)
    kept = beta > 1e-6
    assert np.allclose(back(beta[kept]), inside[kept], atol=3e-5)
    again = back.inverse()
    assert np.allclose(again.delta(np.linspace(-2, 2, 21)), f.delta(np.linspace(-2, 2, 21)), atol=1e-12)
    for epsilon in (-1.0, 0.0, 0.4):  # H(P || Q) = 1 - e^eps + e^eps H_{e^-eps}(Q || P)
        grow = math.exp(epsilon)
        assert back.delta(epsilon) == pytest.approx(1 - grow + grow * f.delta(-epsilon), abs=1e-12)


@pytest.mark.parametrize("f", FAMILIES, ids=lambda f: type(f).__name__)
def test_lines_are_below_the_curve_and_close(f):
    lines = f.lines()
    below = f(ALPHAS) - lines.beta(ALPHAS)
    assert np.all(below >= -1e-12)  # closed forms give away up to this much
    assert np.max(below) < 1e-4
    epsilons = np.linspace(-3, 3, 61)
    assert np.all(lines.delta(epsilons) >= f.delta(epsilons) * (1 - 1e-9) - 1e-15)


def test_interpolating_points_of_the_curve_would_over_report_it():
    """Why lines: a chord of a convex curve lies above it."""
    f = g.gaussian(1.0)
    knots = np.linspace(0, 1, 11)
    chord = np.interp(0.05, knots, f(knots))
    assert chord > oracles.gaussian_beta(1.0, 0.05) > f(0.05)


def test_generic_path_agrees_with_the_closed_gaussian_from_below():
    for mu in (1e-3, 0.3, 2.0, 8.0):
        exact, generic = g.gaussian(mu), Hidden(g.gaussian(mu))
        gap = exact(ALPHAS) - generic(ALPHAS)
        assert np.all(gap >= -1e-12) and np.max(gap) < 1e-5
        assert generic.epsilon(1e-6) == pytest.approx(exact.epsilon(1e-6), rel=1e-11)


def test_symmetrisation_is_below_both_orders_and_tight():
    f = g.discrete_pair([0.5, 0.3, 0.2], [0.1, 0.3, 0.6])
    c = f.symmetrized()
    assert c.symmetric and c.symmetrized() is c
    assert np.all(c(ALPHAS) <= np.minimum(f(ALPHAS), f.inverse()(ALPHAS)) + 1e-12)
    epsilons = np.linspace(-2, 2, 81)
    larger = np.maximum(f.delta(epsilons), f.inverse().delta(epsilons))
    assert np.allclose(c.delta(epsilons), larger, atol=1e-12)
    both = f.symmetrized(both_orders=True)
    assert np.all(both(ALPHAS) >= np.maximum(f(ALPHAS), f.inverse()(ALPHAS)) - 2e-5)
    assert g.gaussian(1.0).symmetrized().mu == 1.0


def test_divergences_of_a_pair_match_their_definitions():
    rng = np.random.default_rng(1)
    for _ in range(40):
        p, q = rng.dirichlet(np.ones(6), 2)
        f = g.discrete_pair(p, q)
        kl = float(np.sum(p * np.log(p / q)))
        assert kl <= f.divergence("kl") <= kl + 1e-10
        for order in (1.01, 2.0, 7.5):
            truth = float(np.log(np.sum(p**order * q ** (1 - order)))) / (order - 1)
            assert truth <= f.divergence("renyi", order=order) <= truth + 1e-9
        chi2 = float(np.sum(p * p / q)) - 1.0
        assert chi2 <= f.divergence("chi2") <= chi2 * (1 + 1e-9)
        assert f.divergence("tv") == pytest.approx(0.5 * np.abs(p - q).sum(), abs=1e-12)
        forward = oracles.hockey_stick(p, q, 0.4)
        assert f.divergence("hockey-stick", epsilon=0.4) == pytest.approx(forward, abs=1e-12)


def test_divergence_is_infinite_where_p_has_mass_that_q_has_not():
    """The boundary term that Proposition 3.3 leaves out: F'(inf) times |{f' = 0}|."""
    f = g.discrete_pair([0.5, 0.5, 0.0], [0.0, 0.6, 0.4])
    for name, order in (("kl", None), ("chi2", None), ("renyi", 1.5)):
        assert f.divergence(name, order=order) == math.inf
    one_sided = g.discrete_pair([0.5, 0.5, 0.0], [0.3, 0.3, 0.4])
    assert one_sided.divergence("kl") == pytest.approx(math.log(0.5 / 0.3), abs=1e-9)
    assert one_sided.inverse().divergence("kl") == math.inf
    assert g.approximate_dp(1.0, 1e-6).divergence("kl") == math.inf


def test_lines_of_an_unbounded_loss_have_infinite_kl_and_closed_forms_do_not():
    assert Hidden(g.gaussian(1.0)).divergence("kl") == math.inf
    assert g.gaussian(1.0).divergence("kl") == pytest.approx(0.5, rel=1e-12)
    assert g.gaussian(1.0).divergence("renyi", order=3.0) == pytest.approx(1.5, rel=1e-12)
    assert g.gaussian(1.0).divergence("chi2") == pytest.approx(math.e - 1, rel=1e-12)


@pytest.mark.parametrize("f", [g.laplace(0.8), g.randomized_response(2.0)], ids=["laplace", "response"])
def test_lines_of_a_bounded_loss_bound_the_closed_divergences(f):
    for order in (1.0, 1.5, 4.0, 40.0):
        closed = f._renyi(order)
        from_lines = renyi_of_lines(f.lines(), order, -f._pure_epsilon())
        assert closed * (1 - 1e-9) <= from_lines <= closed * (1 + 2e-4)


def test_gaussian_kl_by_quadrature():
    density = lambda x: mp.exp(-x * x / 2) / mp.sqrt(2 * mp.pi)  # noqa: E731
    kl = oracles.integral(lambda x: density(x) * (mp.mpf(9) / 8 - mp.mpf(3) / 2 * x), [-20, 0, 20])
    assert g.gaussian(1.5).divergence("kl") == pytest.approx(float(kl), rel=1e-12)


def test_comparison():
    assert g.gaussian(0.9).dominates(g.gaussian(1.0))
    assert not g.gaussian(1.0).dominates(g.gaussian(0.9))
    assert g.laplace(1.0).dominates(g.randomized_response(1.0))
    assert not g.gaussian(1.0).dominates(g.randomized_response(1.0))
    assert not g.randomized_response(1.0).dominates(g.gaussian(1.0))


def test_claims_make_the_best_curve_that_follows_from_them():
    f = g.piecewise_linear([0.5, 1.0], [1e-2, 1e-5])
    one, two = g.approximate_dp(0.5, 1e-2), g.approximate_dp(1.0, 1e-5)
    assert f.symmetric
    assert np.all(f(ALPHAS) >= np.maximum(one(ALPHAS), two(ALPHAS)) - 1e-12)
    assert f.delta(0.5) == pytest.approx(1e-2, rel=1e-12)
    assert f.delta(1.0) == pytest.approx(1e-5, rel=1e-9)
    weight = math.expm1(0.25) / math.expm1(0.5)  # between two claims, delta is convex in e^eps
    assert f.delta(0.75) == pytest.approx(1e-2 * (1 - weight) + 1e-5 * weight, rel=1e-9)
    assert f.delta(3.0) == pytest.approx(1e-5, rel=1e-9)
    assert g.piecewise_linear([0.5], [1e-2], symmetric=False).inverse().delta(0.5) > 0.3


@pytest.mark.parametrize("seed", range(40))
def test_the_envelope_is_that_of_all_lines_and_has_no_line_too_many(seed):
    rng = np.random.default_rng(seed)
    slopes = np.round(rng.normal(0.0, [0.1, 1.0, 10.0][seed % 3], 50), seed % 4 + 1)
    deltas = np.where(seed % 2, np.exp(-30.0 * rng.random(50)), rng.random(50))
    alpha = np.append(np.geomspace(1e-12, 1.0, 400), 0.0)
    highest = np.max(1.0 - deltas[:, None] - np.exp(slopes)[:, None] * alpha, axis=0).clip(0.0)
    lines = support_lines(slopes, deltas)
    assert np.allclose(lines.beta(alpha), highest, rtol=0.0, atol=1e-12)
    assert np.all(np.diff(lines._log_knots) < 0)


def test_hull_drops_lines_that_say_nothing():
    slopes = np.array([0.0, 0.5, 1.0, 1.0, 2.0])
    lines = support_lines(slopes, np.array([0.3, 0.29, 0.1, 0.2, 0.1]))
    assert list(lines.slopes) == [0.0, 1.0]


def test_scalars_give_floats_and_arrays_give_arrays():
    f = g.gaussian(1.0)
    assert isinstance(f(0.1), float) and isinstance(f.delta(1), float) and isinstance(f.epsilon(0.1), float)
    grid = np.array([[0.1, 0.2], [0.3, 0.4]])
    for method in (f, f.delta, f.epsilon, f.conjugate):
        assert method(grid).shape == (2, 2)
    assert f([0.1, 0.2]).shape == (2,)


def test_tails_never_read_zero_and_large_epsilon_does_not_overflow():
    assert 0.0 < g.gdp_delta(1.0, 60.0) <= 1e-300
    assert g.gdp_delta(1.0, 1e6) > 0.0
    assert g.laplace(1.0).delta(1e6) == 0.0
    assert g.randomized_response(900.0).delta(800.0) == pytest.approx(1.0)
    assert g.gaussian(0.0).delta([0.0, 1.0]).tolist() == [0.0, 0.0]
    assert g.gaussian(0.0).epsilon(1e-9) == 0.0
    assert g.approximate_dp(1.0, 1e-3).epsilon(1e-4) == math.inf


def test_plot(tmp_path):
    path = tmp_path / "curve.png"
    figure = g.gaussian(1.0).plot(str(path))
    assert path.stat().st_size > 1000
    assert len(figure.axes[0].lines) == 2


@pytest.mark.parametrize(
    "call, name, shown",
    [
        (lambda: g.gaussian(-1.0), "mu", r"\[0, inf\)"),
        (lambda: g.gaussian(math.nan), "mu", "nan"),
        (lambda: g.gaussian(math.inf), "mu", "inf"),
        (lambda: g.laplace("wide"), "epsilon", "wide"),
        (lambda: g.approximate_dp(1.0, 1.0), "delta", r"\[0, 1\)"),
        (lambda: g.gaussian(1.0)(1.5), "alpha", r"\[0, 1\]"),
        (lambda: g.gaussian(1.0)([0.5, math.nan]), "alpha", "nan"),
        (lambda: g.gaussian(1.0).delta(math.nan), "epsilon", "nan"),
        (lambda: g.gaussian(1.0).epsilon(0.0), "delta", r"\(0, 1\)"),
        (lambda: g.gaussian(1.0).epsilon(1.0), "delta", r"\(0, 1\)"),
        (lambda: g.gaussian(1.0).compose(0), "k", "1 or more"),
        (lambda: g.gaussian(1.0).compose(2.5), "k", "whole"),
        (lambda: g.gaussian(1.0).compose(math.nan), "k", "whole"),
        (lambda: g.gaussian(1.0).compose(True), "k", "whole"),
        (lambda: g.gaussian(1.0).divergence("renyi"), "order", ">= 1"),
        (lambda: g.gaussian(1.0).divergence("renyi", order=0.5), "order", r"\[1, inf\)"),
        (lambda: g.gaussian(1.0).divergence("hockey-stick"), "epsilon", "real"),
        (lambda: g.gaussian(1.0).divergence("bregman"), "name", "renyi"),
        (lambda: g.gdp_mu(-1.0, 1e-5), "epsilon", r"\[0, inf\)"),
        (lambda: g.gdp_mu(1.0, 0.0), "delta", r"1\)"),
        (lambda: g.gdp_mu(1.0, 1e-301), "delta", "1e-300"),
        (lambda: g.piecewise_linear([1.0], [0.1, 0.2]), "epsilons", "length"),
        (lambda: g.piecewise_linear([-1.0], [0.1]), "deltas", "1 - e"),
        (lambda: g.discrete_pair([0.5, 0.6], [0.5, 0.5]), "p", "sum 1"),
    ],
)
def test_bad_arguments_are_named(call, name, shown):
    with pytest.raises(ValueError, match=shown) as caught:
        call()
    assert str(caught.value).startswith(name)
