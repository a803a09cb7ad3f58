"""`GradientDescent.lead`: features that are learned first, and curves that are kept only where they stand out of the noise."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from training import train

from prepriv import Categorical, Domain, Model, Numeric, PrivateRegressor, make_plan
from prepriv import preprocessing as pre
from prepriv.domain import TARGET_STEPS
from prepriv.exact.gradient_sum import GradientSum, QuantizedRows
from prepriv.learners import GradientDescent, Softmax, SquaredError
from prepriv.mechanisms.session import ExactSession
from prepriv.plans.shrink import shrunk, typical_rows
from prepriv.preprocessing.base import UNTOUCHED
from prepriv.recipes.automatic import recipe
from prepriv.recipes.regression import curved_from, curves

N, D = 4000, 4
LED = GradientDescent(SquaredError(), steps=20, learning_rate=0.5, clip_norm=0.5, bias=0.5, lead=D)
CURVES = (pre.RandomFeatures(30, weight=0.8), pre.Bins({"x0": [-0.3, 0.0, 0.3]}, 0.5, beside=True))


def test_the_first_features_are_learned_first_and_no_more_sums_are_asked_for(rng, monkeypatch):
    x, y = rng.normal(size=(300, 9)) / 3, rng.integers(0, TARGET_STEPS, 300).astype(np.int32)
    rows = QuantizedRows(LED.grid(5.0, 300, UNTOUCHED), 300, 9, LED.bias)
    rows.fill(0, x, y)
    asked, original = [], GradientSum.__call__
    monkeypatch.setattr(
        GradientSum, "__call__", lambda self, w: (asked.append(w.copy()), original(self, w))[1]
    )
    made = train(LED, rows, 1, n=300, radius=5.0, session=ExactSession(), noise_multiplier=1.0)
    assert len(asked) == LED.steps and LED.first_steps == 6
    assert all((w[D:-1] == 0).all() for w in asked[:7]) and not (asked[8][D:-1] == 0).any()
    assert made.shape == (10, 2) and (made[D:-1, 0] == 0).all() and made[-1, 0] != 0
    np.testing.assert_array_equal(asked[6], made[:, :1])  # where the second part begins


def test_its_account_is_that_of_all_its_steps_and_a_plan_says_it_only_where_it_is_set():
    domain = Domain.box(0, 1, D, n=N, target=Numeric(0, 1))
    led, plain = (
        make_plan(domain, CURVES, learner, epsilon=1.0, delta=1e-5)
        for learner in (LED, dataclasses.replace(LED, lead=0))
    )
    assert led.learner_noise == plain.learner_noise
    assert led.guarantee.epsilon(1e-5) == plain.guarantee.epsilon(1e-5)
    assert led.hash != plain.hash and "lead" not in plain.to_json()["learner"]


@pytest.mark.parametrize("more", [{"steps": 1}, {"flatten": 0.1}, {"lead": -1}, {"lead": 1.5}])
def test_settings_that_cannot_be_are_refused(more):
    with pytest.raises(ValueError, match="lead"):
        dataclasses.replace(LED, **more)


def test_more_features_than_there_are_and_several_outputs_are_refused(rng):
    rows = QuantizedRows(LED.grid(5.0, 10, UNTOUCHED), 10, 3, LED.bias)
    rows.fill(0, rng.normal(size=(10, 3)), np.zeros(10, np.int32))
    for learner, outputs in ((LED, 1), (GradientDescent(Softmax(), lead=2), 3)):
        with pytest.raises(ValueError, match="lead"):
            train(learner, rows, outputs, n=10, radius=5.0, session=ExactSession(), noise_multiplier=1.0)


def test_a_lead_of_more_features_is_refused_when_planned():
    """It was found by the run, after the charge."""
    with pytest.raises(ValueError, match="lead: 99"):
        _plan(dataclasses.replace(LED, lead=99), steps=())


def _plan(learner=LED, epsilon=1.0, steps=CURVES):
    domain = Domain.box(0, 1, D, n=N, target=Numeric(-1, 1))
    return make_plan(domain, steps, learner, epsilon=epsilon, delta=1e-5)


def test_curves_that_are_noise_leave_the_line_and_clear_ones_stay():
    """What the second part learned, drawn by its law: none of it is left of noise, nearly all of a curve."""
    plan = _plan()
    maps, space = [], plan.domain.space
    for planned in plan.steps:
        maps.append(planned.step.free(space))
        space = planned.after
    rows = typical_rows(plan, maps)
    about = rows - rows.mean(axis=0)
    along, vectors = np.linalg.eigh(about.T @ about / len(rows))
    own = dataclasses.replace(LED, steps=LED.steps - LED.first_steps, lead=0)
    gains = np.array([own.response(max(a, 0.0))[0] for a in along]) * plan.learner_noise / plan.n
    rng, line = np.random.default_rng(0), np.zeros((space.d + 1, 1))
    line[:D] = 0.9
    left, whole = [], []
    for _ in range(6):
        noise = np.append(vectors @ (gains * rng.normal(size=space.d)), 0.0)[:, None]
        out = shrunk(plan, maps, np.hstack([line, line + noise]))
        left.append(np.square(about @ (out[:-1, 0] - line[:-1, 0])).mean())
        whole.append(np.square(about @ noise[:-1, 0]).mean())
    assert np.mean(left) < 0.1 * np.mean(whole)
    curve = np.zeros_like(line)
    curve[-4:-1, 0] = 3.0
    out = shrunk(plan, maps, np.hstack([line, line + curve]))
    assert out.shape == line.shape and np.linalg.norm(out[:-1] - line[:-1]) > 0.9 * np.linalg.norm(curve)


def test_the_law_of_noise_follows_how_much_rows_vary_in_each_direction():
    """Most features made of others hardly vary: by the norm of their weights, clear slopes would be taken for noise."""
    plan = _plan(dataclasses.replace(LED, lead=0, steps=100, learning_rate=2.0), steps=CURVES[:1])
    maps = [plan.steps[0].step.free(plan.domain.space)]
    rows, d = typical_rows(plan, maps), plan.space.d
    about = rows - rows.mean(axis=0)
    along, vectors = np.linalg.eigh(about.T @ about / len(rows))
    gains = np.array([plan.learner.response(max(a, 0.0))[0] for a in along]) * plan.learner_noise / plan.n
    weights = np.append(vectors @ (gains * np.random.default_rng(0).normal(size=d)), 0.0)[:, None]
    noise = np.square(about @ weights[:-1, 0]).mean()
    weights[:D] += 0.5
    kept = np.linalg.norm(shrunk(plan, maps, weights)[:-1]) / np.linalg.norm(weights[:-1])
    best = 1 - noise / np.square(about @ weights[:-1, 0]).mean()
    assert 0.9 * best < kept < 1.02 * best


def test_typical_rows_are_of_what_was_released_and_of_no_record():
    domain = Domain({"a": Numeric(0, 1), "b": Numeric(0, 1)}, n=N, target=Numeric(0, 1))
    rng = np.random.default_rng(1)
    x = np.column_stack([rng.normal(0.7, 0.05, N), rng.normal(0.2, 0.1, N)])
    reg = PrivateRegressor(domain, epsilon=2.0, steps="curves").fit(x, x[:, 0])
    rows = typical_rows(reg.plan_, reg.model_.maps)
    assert rows.shape == (256, reg.plan_.space.d)
    np.testing.assert_array_equal(rows, typical_rows(reg.plan_, reg.model_.maps))
    ball, plain = Domain.ball(3, n=N, target=Numeric(0, 1)), dataclasses.replace(LED, lead=0)
    assert typical_rows(make_plan(ball, (), plain, epsilon=1.0, delta=1e-5), ()) is None


def test_curves_are_bought_where_there_is_signal_for_each_column_and_pay_there(tmp_path):
    rng = np.random.default_rng(2)
    x = rng.uniform(-1, 1, (N, 3))
    y = np.abs(x[:, 0]) + x[:, 1] * x[:, 2] + 0.1 * rng.normal(size=N)
    domain = Domain.box(-1, 1, 3, target=Numeric(-2, 3))
    few, _ = recipe(domain, n=N, epsilon=0.2, delta=1e-5, steps="curves")
    more, learner = recipe(domain, n=N, epsilon=4.0, delta=1e-5, steps="curves")
    line, _ = recipe(domain, n=N, epsilon=4.0, delta=1e-5)
    assert not any(isinstance(s, pre.RandomFeatures) for s in (*few, *line)) and learner.lead == 3
    assert [type(s) for s in more if isinstance(s, pre.RandomFeatures | pre.Bins)] == [
        pre.RandomFeatures,
        pre.Bins,
    ]
    bent = PrivateRegressor(domain, epsilon=4.0, steps="curves").fit(x, y)
    straight = PrivateRegressor(domain, epsilon=4.0).fit(x, y)
    assert bent.score(x, y) > 0.7 > 0.2 > straight.score(x, y)
    read = Model.load(bent.model_.save(tmp_path))
    np.testing.assert_array_equal(read.predict(x[:9]), bent.predict(x[:9]))


def test_curves_that_were_asked_for_are_learned_without_privacy_too(rng):
    """At ε = ∞ they were a straight line."""
    x = rng.uniform(-1, 1, (2000, 2))
    y = np.clip(x[:, 0] ** 2 * 2 - 0.7 + 0.1 * x[:, 1], -1, 1.5)
    domain = Domain.box(-1, 1, 2, target=Numeric(-1, 1.5))
    fits = {
        steps: PrivateRegressor(domain, epsilon=float("inf"), steps=steps, threads=1).fit(x, y)
        for steps in ("auto", "curves")
    }
    assert fits["auto"].score(x, y) < 0.1 and fits["curves"].score(x, y) > 0.9


@pytest.mark.parametrize(
    ("categories", "enough"), [("c", 220), ("cdefghijklm", 350)]
)  # two columns; 14 cells, with codes for other words and for gaps
def test_many_categories_need_more_signal_before_curves_are_learned(categories, enough):
    """A table of 78 of them lost .06 of its R² to curves: the line through them was not learned yet."""
    domain = Domain({"a": Numeric(0, 1), "b": Categorical(tuple(categories))}, target=Numeric(0, 1))
    assert curved_from(domain) == enough
    assert not curves(domain, enough - 1) and curves(domain, enough)


def test_the_line_through_many_categories_is_learned_as_far_as_without_curves():
    """It was learned a quarter as far: .02 to .07 of R² on tables of many categories."""
    domain = Domain({"a": Numeric(0, 1), "b": Categorical(tuple("cdefghijklm"))}, target=Numeric(0, 1))
    made = {s: recipe(domain, n=10**5, epsilon=4.0, delta=1e-6, steps=s)[1] for s in ("linear", "curves")}
    assert made["curves"].lead and made["curves"].learning_rate * made["curves"].steps >= 0.9 * (
        made["linear"].learning_rate * made["linear"].steps
    )
