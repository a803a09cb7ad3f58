"""Guarantees composed, what is left of a budget, and events of dp-accounting in and out."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from dp_accounting import dp_event
from dp_accounting.pld import PLDAccountant

from prepriv import guarantees as g
from prepriv.guarantees import dp_events
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
    with pytest.raises(ValueError, match="not a Gaussian event"):
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


@pytest.mark.parametrize(
    ("event", "said"),
    [
        (dp_event.SelfComposedDpEvent(dp_event.GaussianDpEvent(1.0), 3.9), "count of a SelfComposedDpEvent"),
        (dp_event.SelfComposedDpEvent(dp_event.GaussianDpEvent(1.0), -3), "count of a SelfComposedDpEvent"),
        (dp_event.SelfComposedDpEvent(dp_event.GaussianDpEvent(1.0), math.nan), "count of a SelfComposed"),
        (dp_event.GaussianDpEvent(-1.0), "noise_multiplier of a GaussianDpEvent"),
        (dp_event.GaussianDpEvent(0.0), "noise_multiplier of a GaussianDpEvent"),
        (dp_event.GaussianDpEvent(math.inf), "noise_multiplier of a GaussianDpEvent"),
        (dp_event.LaplaceDpEvent(math.nan), "noise_multiplier of a LaplaceDpEvent"),
        (dp_event.PoissonSampledDpEvent(1.5, dp_event.GaussianDpEvent(1.0)), "sampling_probability"),
        (dp_event.PoissonSampledDpEvent(0.1, dp_event.GaussianDpEvent(-1.0)), "noise_multiplier"),
    ],
    ids=str,
)
def test_a_field_that_no_event_can_hold_is_refused(event, said):
    """A count of 3.9 was composed as 3."""
    with pytest.raises(ValueError, match=said):
        Guarantee.from_dp_event(event, ADD)


def test_an_event_says_nothing_that_is_not_read():
    """Every field of every kind that is read; another class of the same name, or with one field more, is refused."""
    for name, fields in dp_events._FIELDS.items():
        assert {f.name for f in getattr(dp_event, name).__attrs_attrs__} == set(fields), name

    class GaussianDpEvent(dp_event.GaussianDpEvent):
        pass

    with pytest.raises(ValueError, match="has no trade-off function here"):
        Guarantee.from_dp_event(GaussianDpEvent(1.0), ADD)
    assert Guarantee.from_dp_event(dp_event.SelfComposedDpEvent(EVENTS["gaussian"], 0), ADD).mu == 0


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"conditions": ("at most 3 miss",)}, "1 condition,"),
        ({"unit": "patient"}, "the unit 'patient',"),
        ({"notes": ("holds only while the coins are secret",)}, "1 premise,"),
        ({"conditions": ("a", "b"), "unit": "patient"}, "2 conditions and the unit 'patient',"),
    ],
)
def test_no_event_goes_out_without_what_the_guarantee_rests_on(more, said):
    """Conditions, unit and premises were dropped: what came back claimed the same of all data."""
    with pytest.raises(ValueError, match=said):
        of(0.5, **more).to_dp_event()
    assert of(0.5, notes=("weak: epsilon is large",)).to_dp_event().noise_multiplier > 0


def test_composition_is_of_guarantees_that_are_fixed_in_advance():
    """Randomised response of odds 2, then a guarantee chosen by its answer: the whole costs 4/3 of what both compose to."""
    d = Fraction(1, 1000)
    first = Guarantee(g.randomized_response(math.log(2)), REPLACE)
    rare = [float(9 * d / 4), 1 - float(9 * d / 4)]
    after = {
        1: Guarantee(g.mixture([g.randomized_response(math.log(8)), g.gaussian(0.0)], rare), REPLACE),
        0: Guarantee(g.approximate_dp(0.0, float(d)), REPLACE),
    }

    def law(record):
        out = {}
        for answer in (0, 1):
            p = Fraction(2, 3) if answer == record else Fraction(1, 3)
            told, odds = (9 * d / 4, Fraction(8, 9)) if answer else (d, Fraction(1))
            for bit in (0, 1):
                out[answer, bit] = p * told * (odds if bit == record else 1 - odds)
            out[answer, None] = p * (1 - told)
        return out

    true = sum(max(law(1)[o] - 4 * law(0)[o], 0) for o in law(1))
    composed = max(first.compose(chosen).delta(math.log(4)) for chosen in after.values())
    assert float(true) == pytest.approx(4 / 3 * composed, rel=1e-3)
    assert "after seeing an output, the result is false" in " ".join(Guarantee.compose.__doc__.split())


def test_a_sample_of_nobody_costs_nothing_and_events_too_deep_are_one_sentence():
    event = dp_event.PoissonSampledDpEvent(0.0, dp_event.GaussianDpEvent(1.0))
    assert Guarantee.from_dp_event(event, "add-or-remove-one").epsilon(1e-5) == 0.0
    rounded, least = (
        Guarantee.from_dp_event(dp_event.PoissonSampledDpEvent(rate, dp_event.GaussianDpEvent(1.0)), ADD)
        for rate in (1e-15, 1e-12)
    )
    assert rounded.delta(0.0) == least.delta(0.0) > 0
    for _ in range(3000):
        event = dp_event.SelfComposedDpEvent(event, 1)
    with pytest.raises(ValueError, match="too deep"):
        Guarantee.from_dp_event(event, "add-or-remove-one")
