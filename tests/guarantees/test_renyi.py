"""Renyi curves, zCDP and the conversion to (epsilon, delta)."""

import math

import numpy as np
import pytest
from dp_accounting.rdp import rdp_privacy_accountant
from tests.guarantees.oracles import gaussian_delta

from prepriv import guarantees as g
from prepriv.guarantees.renyi import RenyiCurve, minimum_over_orders


@pytest.mark.parametrize("rho", [1e-4, 0.01, 0.5, 8.0])
@pytest.mark.parametrize("delta", [1e-2, 1e-6, 1e-12])
def test_zcdp_conversion_is_sound_near_the_gaussian_and_no_worse_than_dp_accounting(rho, delta):
    ours = g.zcdp(rho).epsilon(delta)
    exact = g.gdp_epsilon(math.sqrt(2 * rho), delta)
    assert exact <= ours <= 1.45 * exact + 1e-3
    orders = np.concatenate([1 + np.geomspace(1e-3, 1e6, 3000)])
    theirs, _ = rdp_privacy_accountant.compute_epsilon(orders, rho * orders, delta)
    assert ours <= theirs * (1 + 1e-9)
    assert ours >= theirs * (1 - 1e-3) - 1e-9


def test_conversion_formula_at_one_order():
    """Canonne, Kamath and Steinke, Proposition 12, with only order 7 known."""
    curve = RenyiCurve(lambda order: 0.3 if order == 7.0 else math.inf)
    known = 0.3 + math.log(6 / 7) - (math.log(1e-5) + math.log(7)) / 6
    best = min(known, minimum_over_orders(lambda order: curve(order) if order != 7.0 else math.inf))
    assert best == known
    rising = RenyiCurve(lambda order: 0.3 if order <= 7.0 else math.inf)
    assert rising.epsilon(1e-5) == pytest.approx(known, rel=1e-6)
    delta = math.exp(6 * (0.3 - 2.0)) / 6 * (6 / 7) ** 7
    assert rising.delta(2.0) == pytest.approx(delta, rel=1e-5)
    assert rising.delta(2.0) >= delta


def test_epsilon_and_delta_of_a_curve_invert_each_other():
    for curve in (g.zcdp(0.3), g.renyi_curve(g.laplace(1.0)).compose(3), g.gaussian_renyi(2.0)):
        for delta in (1e-3, 1e-7):
            assert curve.delta(curve.epsilon(delta)) == pytest.approx(delta, rel=1e-6)


def test_curve_of_a_pure_mechanism_ends_at_its_epsilon():
    curve = g.pure_renyi(0.7)
    assert curve(math.inf) == 0.7 and curve.epsilon(1e-300) <= 0.7 and curve.delta(0.7) == 0.0
    assert curve(2.0) == pytest.approx(
        math.log(math.exp(1.4) / (1 + math.exp(0.7)) * (1 + math.exp(-2.1))), rel=1e-9
    )
    assert g.zcdp(0.0)(math.inf) == 0.0


def test_composition_adds_and_zcdp_stays_zcdp():
    both = g.zcdp(0.1).compose(3).compose(g.gaussian_renyi(1.0))
    assert both.rho == pytest.approx(0.8, rel=1e-12)
    mixed = g.zcdp(0.1).compose(g.pure_renyi(1.0))
    assert mixed.rho is None
    assert mixed(5.0) == pytest.approx(0.5 + g.pure_renyi(1.0)(5.0), rel=1e-12)
    assert g.pure_renyi(0.5).compose(4)(3.0) == pytest.approx(4 * g.pure_renyi(0.5)(3.0))


def test_curve_of_a_trade_off_function_takes_the_larger_order():
    f = g.discrete_pair([0.5, 0.3, 0.2], [0.1, 0.3, 0.6])
    both = f.divergence("renyi", order=3.0), f.inverse().divergence("renyi", order=3.0)
    assert g.renyi_curve(f)(3.0) == max(both) > min(both)


def test_group_privacy_is_exact_for_zcdp_and_pure_and_sound_otherwise():
    assert g.zcdp(0.2).group(5).rho == pytest.approx(5.0, rel=1e-12)
    assert g.pure_renyi(0.3).group(4)(math.inf) == pytest.approx(1.2)
    for size in (1, 2, 3, 4, 7):
        grown = g.renyi_curve(g.laplace(0.2)).group(size)
        for order in (1.5, 2.0, 8.0):
            assert grown(order) >= g.laplace(0.2 * size).divergence("renyi", order=order) * (1 - 1e-12)
    unbounded = RenyiCurve(lambda order: 0.02 * order)  # not declared to be zCDP
    for size in (2, 3, 8):
        for order in (2.0, 5.0):
            assert unbounded.group(size)(order) >= 0.02 * order * size**2 * (1 - 1e-12)


def test_exponential_mechanism_never_passes_its_curve():
    """Attack: random finite score tables that move by at most 1."""
    rng = np.random.default_rng(1)
    worst = 0.0
    for trial in range(400):
        epsilon, size = rng.uniform(0.1, 4.0), int(rng.integers(2, 7))
        scores = rng.normal(size=size) * rng.choice([0.0, 1.0, 3.0])
        move = rng.uniform(-1, 1, size) if trial % 2 else rng.choice([-1.0, 1.0], size)
        p, q = (np.exp(0.5 * epsilon * s) for s in (scores, scores + move))
        p, q = p / p.sum(), q / q.sum()
        curve = g.bounded_range_renyi(epsilon)
        for order in (1.2, 2.0, 10.0):
            truth = math.log(np.sum(p**order * q ** (1 - order))) / (order - 1)
            assert truth <= curve(order) * (1 + 1e-12)
            worst = max(worst, truth / curve(order))
    assert worst > 0.8


def test_trade_off_function_of_a_curve_is_below_the_truth():
    f, exact = g.zcdp(0.5).tradeoff(), g.gaussian(1.0)
    alphas = np.linspace(0, 1, 51)
    assert np.all(f(alphas) <= exact(alphas) + 1e-12)
    assert f.epsilon(1e-5) == pytest.approx(g.zcdp(0.5).epsilon(1e-5), rel=5e-3)
    assert f.epsilon(1e-5) >= g.zcdp(0.5).epsilon(1e-5) * (1 - 1e-9)
    assert f.delta(2.0) >= gaussian_delta(1.0, 2.0)


@pytest.mark.parametrize(
    "call, name",
    [
        (lambda: g.zcdp(-1.0), "rho"),
        (lambda: g.zcdp(1.0)(1.0), "order"),
        (lambda: g.zcdp(1.0)(math.nan), "order"),
        (lambda: g.zcdp(1.0).epsilon(0.0), "delta"),
        (lambda: g.zcdp(1.0).delta(-0.1), "epsilon"),
        (lambda: g.zcdp(1.0).compose(0), "k"),
        (lambda: g.zcdp(1.0).group(0), "size"),
        (lambda: g.bounded_range_renyi(-1.0), "epsilon"),
    ],
)
def test_bad_arguments_are_named(call, name):
    with pytest.raises(ValueError) as caught:
        call()
    assert str(caught.value).startswith(name)
