"""Guarantees composed, what is left of a budget, and events of dp-accounting in and out."""

from __future__ import annotations

import math

import pytest
from dp_accounting import dp_event
from dp_accounting.pld import PLDAccountant

from prepriv import guarantees as g
from prepriv.guarantees.guarantee import GaussianEvent, Guarantee

ADD, REPLACE = "add-or-remove-one", "replace-one"
DELTA = 1e-5


def of(mu, adjacency=REPLACE, **more):
    return Guarantee(g.gaussian(mu), adjacency, mu=mu, **more)


def oracle(event):
    accountant = PLDAccountant(value_discretization_interval=1e-4)
    return accountant.compose(event).get_epsilon(DELTA)


EVENTS = {
    "gaussian": dp_event.GaussianDpEvent(1.3),
    "ten gaussians": dp_event.SelfComposedDpEvent(dp_event.GaussianDpEvent(4.0), 10),
    "laplace": dp_event.LaplaceDpEvent(2.0),
    "both": dp_event.ComposedDpEvent([dp_event.GaussianDpEvent(2.0), dp_event.LaplaceDpEvent(2.0)]),
    "poisson": dp_event.SelfComposedDpEvent(
        dp_event.PoissonSampledDpEvent(0.02, dp_event.GaussianDpEvent(1.1)), 300
    ),
}


@pytest.mark.parametrize("name", EVENTS)
def test_events_cost_what_dp_accounting_says(name):
    ours = float(Guarantee.from_dp_event(EVENTS[name], ADD).epsilon(DELTA))
    theirs = oracle(EVENTS[name])
    assert ours == pytest.approx(theirs, rel=2e-3, abs=2e-3)


def test_a_guarantee_goes_out_and_comes_back_no_smaller():
    for mu in (0.01, 0.7, 3.0):
        back = Guarantee.from_dp_event(of(mu).to_dp_event(), REPLACE)
        assert mu <= back.mu <= mu * (1 + 1e-9)
    with pytest.raises(ValueError, match="no Gaussian event"):
        Guarantee(g.laplace(1.0), ADD).to_dp_event()


def test_composition_adds_squares_conditions_and_notes():
    one, two = of(0.3, conditions=("a",), notes=("weak: x",)), of(0.4, conditions=("a", "b"))
    both = one.compose(two)
    assert both.mu == pytest.approx(0.5) and both.mu >= 0.5 and both.conditions == ("a", "b")
    assert both.notes == ("weak: x",)
    mixed = one.compose(Guarantee(g.laplace(0.5), REPLACE))
    assert mixed.mu is None
    assert one.epsilon(DELTA) < mixed.epsilon(DELTA) <= one.epsilon(DELTA) + 0.5
    with pytest.raises(ValueError, match="does not add"):
        one.compose(of(0.1, ADD))
    with pytest.raises(ValueError, match="others"):
        one.compose(0.3)


@pytest.mark.parametrize("spent", [of(0.2), Guarantee(g.laplace(0.4), REPLACE)], ids=["GDP", "Laplace"])
@pytest.mark.parametrize("epsilon", [0.9, 3.0])
def test_what_remains_fits_and_hardly_more_does(spent, epsilon):
    mu = spent.remaining(epsilon, DELTA)
    assert spent.compose(of(mu)).epsilon(DELTA) <= epsilon
    assert spent.compose(of(mu * 1.01)).epsilon(DELTA) > epsilon


def test_nothing_remains_of_a_spent_budget():
    for spent in (of(5.0), Guarantee(g.laplace(2.0), REPLACE)):
        with pytest.raises(ValueError, match="nothing is left"):
            spent.remaining(1.0, DELTA)


@pytest.mark.parametrize(
    "event",
    [
        3,
        None,
        dp_event.UnsupportedDpEvent(),
        dp_event.NonPrivateDpEvent(),
        dp_event.PoissonSampledDpEvent(0.1, dp_event.LaplaceDpEvent(1.0)),
        dp_event.ComposedDpEvent([dp_event.GaussianDpEvent(1.0), dp_event.NonPrivateDpEvent()]),
    ],
    ids=str,
)
def test_an_event_without_a_curve_is_refused(event):
    with pytest.raises(ValueError, match="has no trade-off function here"):
        Guarantee.from_dp_event(event, ADD)


def test_poisson_samples_need_their_adjacency():
    with pytest.raises(ValueError, match="add-or-remove-one"):
        Guarantee.from_dp_event(EVENTS["poisson"], REPLACE)
    assert Guarantee.of_gaussians([GaussianEvent("a", 2.0, 4)], ADD).remaining(8.0, DELTA) > 0
    assert math.isclose(Guarantee.from_dp_event(EVENTS["ten gaussians"], REPLACE).mu, math.sqrt(10) / 4)
