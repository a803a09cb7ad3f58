"""Plans: priced before data, chained, refused with a sentence."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from prepriv import Budget, Categorical, Domain, Numeric, Public, Sensitivity, make_plan
from prepriv import preprocessing as pre
from prepriv.guarantees import gdp_epsilon, gdp_mu
from prepriv.learners.gradient_descent import GradientDescent
from prepriv.learners.losses import Logistic
from prepriv.learners.stochastic import PoissonSGD
from prepriv.plans.price import prices
from prepriv.preprocessing.base import sum_shift

TABLE = Domain({"age": Numeric(0, 100, "impute"), "job": Categorical(("a", "b"))}, (0, 1), n=1000)
LEARNER = GradientDescent(Logistic(), steps=50, weight_bound=4.0)
IMPUTE = pre.MeanImputer(payment=Sensitivity({"missing": 0.02}))
CENTER = pre.Center(payment=Budget(0.1))


def plan(steps, domain=TABLE, epsilon=1.0, delta=1e-5, learner=LEARNER, **more):
    return make_plan(domain, steps, learner, epsilon=epsilon, delta=delta, **more)


def test_guarantee_is_within_the_budget_and_close_to_it():
    for epsilon in (0.01, 0.1, 1.0, 3.0, 8.0):
        for delta in (1e-9, 1e-5, 1e-2):
            made = plan([IMPUTE, CENTER], epsilon=epsilon, delta=delta)
            claimed = made.guarantee.epsilon(delta)
            assert epsilon * (1 - 1e-6) <= claimed <= epsilon


def test_noise_multipliers_compose_to_the_budget():
    made = plan([IMPUTE, CENTER])
    center = made.steps[1].noise_multiplier
    mu = math.sqrt(1 / center**2 + LEARNER.steps / made.learner_noise_multiplier**2)
    assert mu <= gdp_mu(1.0, 1e-5)
    assert 1 / center**2 == pytest.approx(0.1 * mu**2)


def test_a_step_paid_by_sensitivity_raises_the_noise_of_every_later_mechanism():
    with_, without = plan([IMPUTE, CENTER]), plan([pre.MeanImputer(payment=Public(np.zeros((5, 2)))), CENTER])
    tau = with_.steps[0].outgoing.total_shift
    assert tau >= 20 * 1.0 / 980
    assert with_.steps[1].shift == pytest.approx(without.steps[1].shift + tau)
    mu = Logistic().input_lipschitz(LEARNER.row_norm(with_.space.radius), 4.0)
    assert with_.learner_shift >= without.learner_shift + mu * tau
    assert with_.guarantee.conditions == (
        "at most 20 of the 1000 records miss 'age', where a cell in which `prepriv validate` finds no number counts as missing",
    )
    assert without.guarantee.conditions == ()


def test_shift_passes_maps_with_their_lipschitz_constant():
    made = plan([IMPUTE, pre.Rescale(10.0)])
    before, after = made.steps[0].outgoing, made.steps[1].outgoing
    assert after.total_shift == pytest.approx(before.total_shift * 10 / math.sqrt(2))
    made = plan([IMPUTE, pre.Normalize(1.0, floor=0.5)])
    assert made.steps[1].outgoing.total_shift == pytest.approx(before.total_shift * 2)


def test_sum_shift_counts_the_record_the_moved_and_the_dropped():
    space = TABLE.space
    moved = pre.RowShift(10, 0.5, 2.0, 3.0)
    assert sum_shift(space, "replace-one") == pytest.approx(space.diameter)
    assert sum_shift(space, "add-or-remove-one") == pytest.approx(space.radius)
    assert sum_shift(space, "replace-one", moved) == pytest.approx(space.diameter + 2.0 + 3 * space.radius)


@pytest.mark.parametrize(
    "make, says",
    [
        (lambda: plan([IMPUTE], epsilon=0), "epsilon must be a positive"),
        (lambda: plan([IMPUTE], epsilon=-1), "epsilon must be a positive"),
        (lambda: plan([IMPUTE], epsilon=math.nan), "epsilon must be a positive"),
        (lambda: plan([IMPUTE], delta=1.0), "delta must be a number in"),
        (lambda: plan([IMPUTE], delta=0.0), "delta must be a number in"),
        (lambda: plan([CENTER]), "declared missing: impute"),
        (lambda: plan([IMPUTE, pre.Normalize(1.0)]), "not a Lipschitz map"),
        (
            lambda: plan([IMPUTE], domain=dataclasses.replace(TABLE, adjacency="add-or-remove-one")),
            "replace-one",
        ),
        (lambda: plan([IMPUTE, CENTER, pre.Center(payment=Budget(0.95))]), "leave something"),
        (lambda: plan([IMPUTE], domain=dataclasses.replace(TABLE, n=None)), "must be declared"),
        (lambda: plan([IMPUTE], n=999), "declares n=1,000"),
        (lambda: pre.Center(), "needs payment"),
        (lambda: pre.Center(payment=Sensitivity()), "has to be released"),
        (lambda: pre.Rescale(1.0, payment=Budget(0.1)), "free"),
        (lambda: Budget(0), "share must lie"),
        (lambda: Budget(1.5), "share must lie"),
        (lambda: plan([pre.MeanImputer(payment=Sensitivity({"missing": {"size": 0.1}}))]), "'size'"),
    ],
)
def test_what_cannot_be_done_is_refused_with_a_sentence(make, says):
    with pytest.raises(ValueError, match=says):
        make()


def test_prices_cover_all_three_ways_and_mark_the_chosen_one():
    table = prices([IMPUTE, CENTER], TABLE, LEARNER, epsilon=1.0, delta=1e-5, n=1000)
    assert [(p.step, p.way) for p in table] == [
        (s, w) for s in ("MeanImputer", "Center") for w in ("public", "budget", "sensitivity")
    ]
    by = {(p.step, p.way): p for p in table}
    assert [p.way for p in table if p.chosen] == ["sensitivity", "budget"]
    assert by["Center", "public"].factor == pytest.approx(1.0)
    assert by["Center", "budget"].factor == pytest.approx(1 / math.sqrt(0.9))
    assert not by["Center", "sensitivity"].open
    assert by["MeanImputer", "sensitivity"].factor > 1.0
    # What it costs to ignore a step: all that runs, squares of µ added; the other step pays as it did.
    whole, grown = gdp_mu(1.0, 1e-5) ** 2, by["MeanImputer", "sensitivity"].factor ** 2
    for key, share in {
        ("MeanImputer", "budget"): 1 + 0.02,
        ("MeanImputer", "sensitivity"): 0.1 + 0.9 * grown,
        ("Center", "budget"): 1 + 0.1,
    }.items():
        assert by[key].epsilon == pytest.approx(gdp_epsilon(math.sqrt(whole * share), 1e-5))
    assert {key for key, price in by.items() if price.epsilon is None} == {
        ("MeanImputer", "public"),
        ("Center", "public"),
        ("Center", "sensitivity"),
    }


def test_a_step_that_the_model_needs_on_new_rows_has_a_price_by_sensitivity_and_no_release():
    scaler = pre.StandardScaler(0.2, payment=Budget(0.1))
    table = prices([IMPUTE, scaler], TABLE, LEARNER, epsilon=1.0, delta=1e-5, n=1000)
    by = {(p.step, p.way): p for p in table}
    price = by["StandardScaler", "sensitivity"]
    assert price.open and price.factor > by["StandardScaler", "budget"].factor > 1
    assert "could not leave" in price.note and "could not leave" not in by["MeanImputer", "sensitivity"].note
    real = [IMPUTE, pre.StandardScaler(0.2, payment=Sensitivity())]
    alone = {
        (p.step, p.way): p
        for p in prices(real, TABLE, LEARNER, epsilon=1.0, delta=1e-5, n=1000, release=False)
    }
    assert alone["StandardScaler", "sensitivity"].factor == pytest.approx(price.factor)
    assert alone["StandardScaler", "sensitivity"].note == "default caps; never released"
    with pytest.raises(ValueError, match="may not leave"):
        plan(real)


def test_a_plan_is_the_same_bytes_every_time_and_its_hash_sees_every_change():
    one, same = plan([IMPUTE, CENTER]), plan([IMPUTE, CENTER])
    assert one.to_json() == same.to_json() and one.hash == same.hash
    others = [
        plan([IMPUTE, CENTER], epsilon=1.1),
        plan([IMPUTE, CENTER], delta=1e-6),
        plan([IMPUTE, pre.Center(payment=Budget(0.11))]),
        plan([pre.MeanImputer(payment=Sensitivity({"missing": 0.03})), CENTER]),
        plan([IMPUTE, CENTER], learner=dataclasses.replace(LEARNER, steps=51)),
        plan([IMPUTE, CENTER], domain=TABLE.with_n(1001)),
    ]
    assert len({one.hash, *(o.hash for o in others)}) == 7


@dataclasses.dataclass(frozen=True)
class _Noting(PoissonSGD):
    """A learner of one's own that holds a list, so that it cannot be looked up."""

    seen: list = dataclasses.field(default_factory=list)


def test_a_learner_that_cannot_be_looked_up_is_calibrated_like_the_same_one_that_can():
    settings = {"batch_size": 50, "steps": 30}
    domain = Domain.box(0, 1, 5, [0, 1], n=5000)
    plain, own = (
        make_plan(domain, [], kind(Logistic(), **settings), epsilon=1.0, delta=1e-5)
        for kind in (PoissonSGD, _Noting)
    )
    assert plain.learner_noise_multiplier == own.learner_noise_multiplier
