"""Predictions of a target are drawn to their centre by the known noise: its law, the best multiple, and what comes of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from prepriv import Budget, Categorical, Domain, Model, Numeric, PrivateRegressor, make_plan
from prepriv import preprocessing as pre
from prepriv.learners import GradientDescent, Huber, Logistic, Quantile, SquaredError
from prepriv.learners.learner import Run
from prepriv.learners.sufficient_statistics import drawn_to_centre, ridge_regression
from prepriv.learners.targets import shrinkage
from prepriv.mechanisms.session import ExactSession
from prepriv.plans.shrink import centred, mean_released, share_kept, shrunk
from prepriv.preprocessing.center import Subtract
from prepriv.preprocessing.normalize import ScaleRows

N, D = 2000, 10
LEARNER = GradientDescent(SquaredError(), steps=60, learning_rate=0.05, clip_norm=0.5)


MIDDLE = pre.Center(payment=Budget(0.02))
MAPS = (Subtract(np.zeros(D)), ScaleRows(1.0, 1.0))  # of `ball`


def plan_of(steps=(), learner=LEARNER, epsilon=0.3, **declared):
    declared = declared or {"target": Numeric(-4, 4)}
    domain = Domain.box(-4, 4, features=D, n=N, **declared)
    return make_plan(domain, steps, learner, epsilon=epsilon, delta=1e-5)


def mapped(plan, rows, weights):
    return rows @ weights[:-1, 0] + plan.learner.bias * weights[-1, 0]


def ball():
    """A plan whose rows are centred at the origin and of norm one."""
    domain = Domain.ball(D, n=N, target=Numeric(-4, 4))
    return make_plan(domain, [MIDDLE, pre.ClipNorm(1.0)], LEARNER, epsilon=0.3, delta=1e-5)


@pytest.mark.parametrize("curvature, warm_up", [(0.0, 0.0), (0.05, 0.0), (0.6, 0.0), (0.05, 0.5), (0.0, 0.5)])
def test_the_response_of_descent_is_what_descent_does(curvature, warm_up):
    """Descent itself, on a quadratic, its noise drawn: the mean and the deviation of a weight."""
    learner = replace(LEARNER, warm_up=warm_up)
    rng, width, level, sigma = np.random.default_rng(0), 4000, 0.3, 0.2

    def gradient(w):
        return curvature * w - level + sigma * rng.normal(size=w.shape)

    made = learner.descend((width, 1), gradient, Run(ExactSession(), 1.0))[:, 0]
    gain, pull = learner.response(curvature)
    assert made.mean() == pytest.approx(level * pull, abs=4 * sigma * gain / width**0.5)
    assert made.std() == pytest.approx(sigma * gain, rel=0.05)
    assert learner.response(0.0)[0] == pytest.approx(learner.noise_gain(), rel=1e-12)


@pytest.mark.parametrize("d", [1, 2, 5, 30, 200])
def test_what_is_left_of_pure_noise_is_about_that_of_one_weight(d):
    w = np.random.default_rng(d).normal(size=(20_000, d))
    square = (w * w).sum(axis=1)
    kept = np.array([shrinkage(d, q) for q in square])
    assert (kept >= 0).all() and (kept <= 1).all()
    assert (kept**2 * square).mean() < 1.1


@pytest.mark.parametrize("factor", [0.1, 0.8, 1.2, 2.0, 5.0, 100.0])
def test_the_slopes_that_are_left_say_what_was_kept_of_them(factor):
    plan = ball()
    weights = np.append(np.random.default_rng(1).normal(size=D), 0.2)[:, None]
    weights[:-1] *= factor * LEARNER.response(1 / D)[0] * plan.learner_noise / plan.n
    left = shrunk(plan, MAPS, weights)
    kept = float(np.linalg.norm(left[:-1]) / np.linalg.norm(weights[:-1]))
    found = share_kept(plan, MAPS, left)
    if factor < 50:
        assert found == pytest.approx(kept, rel=1e-6) and (factor > 1.0 or kept == 0.0)
    else:  # scores longer than any target: shorter slopes leave as much
        assert kept < found <= 1.0


def test_noise_alone_leaves_the_centre_and_signal_stays():
    plan = ball()
    noise = plan.learner_noise / plan.n
    gain, pull = LEARNER.response(1 / D)
    rng = np.random.default_rng(1)
    alone = gain * noise * rng.normal(size=(D + 1, 1))
    strong = np.append(np.full(D, 0.6), 0.2)[:, None]
    assert np.linalg.norm(shrunk(plan, MAPS, alone)[:-1]) < 0.8 * np.linalg.norm(alone[:-1])
    assert np.linalg.norm(shrunk(plan, MAPS, 0.5 * alone)[:-1]) == 0
    np.testing.assert_allclose(
        shrunk(plan, MAPS, strong)[:-1], strong[:-1], rtol=1e-12
    )  # stopped early: not shrunk again
    assert 0.1 < shrunk(plan, MAPS, strong)[-1, 0] <= 0.2
    # The best multiple of weights that stopped early, by simulation: that which is released is about as good.
    best, ours, theirs, truth = [], [], [], 3 * gain * noise * rng.normal(size=D)
    early = pull / D
    for _ in range(2000):
        w = np.append(early * truth + gain * noise * rng.normal(size=D), 0.0)[:, None]
        best.append(w[:-1, 0])
        ours.append(shrunk(plan, MAPS, w)[:-1, 0])
        theirs.append(w[:-1, 0])
    best = np.array(best)
    multiple = min(1.0, float((best @ truth).sum() / (best * best).sum()))
    error = [((np.array(x) - truth) ** 2).sum(axis=1).mean() for x in (multiple * best, ours, theirs)]
    assert error[1] < 1.3 * error[0] and error[1] < 1.02 * error[2], error


@pytest.mark.parametrize("loss", [SquaredError(), Huber(0.25), Quantile(0.5)])
def test_the_score_of_the_centre_is_held(loss):
    """Rows of a box about 0.5 in encoded cells: slopes that are shrunk there would move every prediction otherwise."""
    plan = plan_of([MIDDLE], GradientDescent(loss, steps=60, learning_rate=0.05, clip_norm=0.5))
    maps = MAPS[:1]
    at, norm = centred(plan, maps)
    assert 0.01 < at.min() <= at.max() <= 0.5 and norm == plan.space.radius
    weights = np.append(np.full(D, 0.12), 0.3)[:, None]
    out = shrunk(plan, maps, weights)
    was, now = mapped(plan, at[None], weights)[0], mapped(plan, at[None], out)[0]
    assert 0.8 * was < now <= was
    assert 0 < np.linalg.norm(out[:-1]) < 0.99 * np.linalg.norm(weights[:-1])


def test_a_longer_clip_norm_does_not_make_slopes_noise():
    """A reader's model of prices was worse at ε = 4 than at 1: a recipe cuts less there, and the noise of rows was taken to be larger."""
    domain = Domain.ball(D, n=N, target=Numeric(-4, 4))
    weights = np.append(np.full(D, 0.03), 0.1)[:, None]

    def kept(clip_norm):
        learner = replace(LEARNER, steps=400, learning_rate=0.5, clip_norm=clip_norm)
        plan = make_plan(domain, [MIDDLE, pre.ClipNorm(1.0)], learner, epsilon=90.0, delta=1e-5)
        return float(shrunk(plan, MAPS, weights)[0, 0] / weights[0, 0])

    assert 0.5 < kept(0.25) < kept(0.125) < 1.0  # no residual is larger than its cut
    assert kept(1.0) == pytest.approx(kept(0.25), rel=0.02)


def test_what_no_target_can_be_is_noise():
    """A score of the centre beyond the declared bounds, and slopes whose scores would be, whatever the law says."""
    plan = ball()
    far = np.append(np.zeros(D), 4.0)[:, None]
    assert shrunk(plan, MAPS, far)[-1, 0] <= 0.25
    steep = np.append(np.full(D, 4.0), 0.5)[:, None]
    assert shrunk(plan, MAPS, steep)[:-1].max() < 2.0


def mixed(high=80.0, **more):
    """Two columns of categories and two of numbers, as tables of persons have them."""
    columns = {
        "sex": Categorical(("f", "m")),
        "age": Numeric(18, 70),
        "region": Categorical(("n", "e", "s", "w")),
        "years": Numeric(0, 20),
    }
    return Domain(columns, target=Numeric(0, high), **more)


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 4.0])
@pytest.mark.parametrize("rate", [0.5, 1.5, 5.0])
@pytest.mark.parametrize("steps", [(), (pre.ClipNorm(4.0),), (pre.Rescale(1.0),), (pre.Normalize(2.0),)])
@pytest.mark.parametrize("middle", [(), (pre.Center(payment=Budget(0.02)),)], ids=["a guess", "a mean"])
def test_a_clear_score_of_the_centre_stays_whatever_the_rate(middle, steps, rate, epsilon):
    """Found by a newcomer: the law of noise was that of a descent that swings, 10^37 where the noise was .001, so that
    every prediction was moved by half of the bounds."""
    learner = GradientDescent(SquaredError(), learning_rate=rate, clip_norm=0.25, bias=0.64)
    plan = make_plan(mixed(n=10**7), [*middle, *steps], learner, epsilon=epsilon, delta=1e-5)
    maps = [Subtract(np.full(12, 0.2)) if s.step in middle else s.step.free(s.before) for s in plan.steps]
    assert mean_released(plan, maps) == bool(middle)
    at, _ = centred(plan, maps)
    weights = np.append(np.full(len(at), 0.1), 0.0)[:, None]
    weights[-1] = (-0.6 - mapped(plan, at[None], weights)[0]) / 0.64
    out = shrunk(plan, maps, weights)
    assert mapped(plan, at[None], out)[0] == pytest.approx(-0.6, abs=0.01)
    np.testing.assert_allclose(out[:-1], weights[:-1], rtol=0.05)


@pytest.mark.parametrize("high, epsilon", [(80.0, 10.0), (80.0, 40.0), (400.0, 40.0)])
@pytest.mark.parametrize("way", ["additive", "auto"])
def test_predictions_of_tables_with_categories_are_about_their_targets(way, high, epsilon):
    """R² was -8 in every run of `additive` on such a table, the mean prediction 48 where that of the targets was 19."""
    rng, n = np.random.default_rng(6), 4000
    age, years = rng.integers(18, 70, n), rng.integers(0, 20, n)
    rows = pd.DataFrame({"sex": rng.choice(["f", "m"], n), "age": age, "years": years})
    rows.insert(2, "region", rng.choice(["n", "e", "s", "w"], n, p=[0.7, 0.1, 0.1, 0.1]))
    pay = 5 + 0.1 * age + 0.5 * years + 3 * (rows["sex"] == "m") + 2 * rng.normal(size=n)
    reg = PrivateRegressor(mixed(high), epsilon=epsilon, steps=way, threads=1).fit(rows, pay)
    assert abs(np.mean(reg.predict(rows) - pay)) < 0.01 * high
    assert reg.score(rows, pay) > 0.3


def test_slopes_of_many_categories_are_not_taken_for_noise():
    """Found by a newcomer: the interest of 35 grades. The cells of a category were counted as long as columns of numbers each, so that what
    they had learned was more than a target can be: R² fell from .66 at ε = 4 to .55 at 10, where least squares have .99."""
    rng, n, levels = np.random.default_rng(7), 6000, 35
    grade = rng.choice(levels, n, p=np.exp(-np.arange(levels) / 12) / np.exp(-np.arange(levels) / 12).sum())
    names = tuple(f"g{k:02d}" for k in range(levels))
    rows = pd.DataFrame({"grade": np.array(names)[grade]})
    columns = {"grade": Categorical(names)}
    for k in range(3):
        rows[f"x{k}"], columns[f"x{k}"] = rng.uniform(0, 1, n), Numeric(0, 1)
    rate = 5 + 0.6 * grade + rng.normal(size=n)
    found = []
    for epsilon in (1.0, 4.0, 20.0):
        reg = PrivateRegressor(Domain(columns, target=Numeric(0, 35)), epsilon=epsilon, threads=1).fit(
            rows, rate
        )
        found.append(reg.score(rows, rate))
    assert found[0] > 0.6 and found[1] > 0.93 and found[2] > found[1] - 0.01


def skewed(n):
    """Counts that are mostly small, in wide bounds, and columns of categories that are mostly one."""
    rng = np.random.default_rng(8)
    rows = {f"c{i}": rng.choice(list("abcde"), n, p=[0.8, 0.05, 0.05, 0.05, 0.05]) for i in range(12)}
    rows |= {f"x{i}": rng.exponential(2.0, n).clip(0, 100) for i in range(4)}
    target = (1 + rows["x0"] + 3 * (rows["c0"] == "a") + rng.exponential(2.0, n)).clip(0, 90)
    columns = {k: Categorical(tuple("abcde")) if k[0] == "c" else Numeric(0, 100) for k in rows}
    return Domain(columns, target=Numeric(0, 90)), pd.DataFrame(rows), target


@pytest.mark.parametrize("epsilon", [10.0, 100.0])
def test_slopes_shrunk_about_a_guess_do_not_move_all_predictions(epsilon):
    """4,406 people with many categories: slopes were shrunk by the noise of the rows themselves, about a row that nobody has, and R² was -3.7."""
    domain, rows, target = skewed(2000)
    reg = PrivateRegressor(domain, epsilon=epsilon, steps="additive", threads=1).fit(rows, target)
    assert abs(np.mean(reg.predict(rows) - target)) < 0.5
    assert reg.score(rows, target) > 0.2


def test_weights_stay_where_no_step_has_released_the_mean_of_all_columns():
    """A scaler of numbers leaves categories where they are; the mean of public rows is a released one."""
    numbers = pre.StandardScaler(columns=("age", "years"), payment=Budget(0.05))
    every = pre.StandardScaler(payment=Budget(0.05))
    middle = pre.Center(payment=Budget(0.02))
    found = {}
    for name, steps in {"numbers": [numbers], "all": [every], "both": [numbers, middle], "none": []}.items():
        reg = PrivateRegressor(mixed(), epsilon=1.0, steps=steps, learner=LEARNER, threads=1)
        rows = pd.DataFrame({"sex": ["f"] * 50, "age": 30, "region": "n", "years": 3})
        reg.fit(rows, np.full(50, 20.0))
        found[name] = mean_released(reg.plan_, reg.model_.maps)
        given = np.full(reg.model_.weights.shape, 1e-3)
        assert (shrunk(reg.plan_, reg.model_.maps, given) is given) != found[name]
    assert found == {"numbers": False, "all": True, "both": True, "none": False}


def test_classes_other_learners_and_runs_without_noise_stay_as_they_are():
    weights = np.full((D + 1, 1), 1e-9)
    classes = plan_of([MIDDLE, pre.ClipNorm(1.0)], GradientDescent(Logistic(), clip_norm=0.5), classes=(0, 1))
    assert shrunk(classes, MAPS, weights) is weights
    free = plan_of((), LEARNER, epsilon=np.inf)
    assert shrunk(free, (), weights) is weights
    moments = np.diag(np.full(D + 1, 100.0))
    exact = drawn_to_centre(moments, np.ones((D + 1, 1)), 0.0, 1.0, 0.4, 1.0)
    np.testing.assert_array_equal(exact, ridge_regression(moments, np.ones((D + 1, 1)), 0.0, 0.4))


def test_a_mean_that_is_mostly_noise_is_not_taken_for_the_centre():
    """Behind a scaler the centre is the origin where its mean is known, and the image of the middle where it is not."""
    scaler = pre.StandardScaler(0.05, payment=Budget(0.05))
    rows = np.random.default_rng(3).normal(1.0, 1.0, (N, D)).clip(-4, 4)
    length = []
    for epsilon in (0.02, 100.0):
        plan = plan_of([scaler], epsilon=epsilon)
        reg = PrivateRegressor(plan.domain, epsilon=epsilon, steps=[scaler], learner=LEARNER).fit(
            rows, rows[:, 0]
        )
        at, norm = centred(plan, reg.model_.maps)
        image = reg.model_.maps[0].transform(np.full((1, D), 0.5))[0]
        length.append(np.linalg.norm(at) / np.linalg.norm(image))
        assert norm == pytest.approx(D**0.5)
    assert length[0] > 0.5 and length[1] < 1e-3


def test_moments_that_are_noise_predict_the_mean_and_clear_ones_their_line():
    rng = np.random.default_rng(4)
    x = np.column_stack([rng.normal(size=(N, 5)) / 5**0.5, np.ones(N)])
    line = np.array([0.3, -0.2, 0.1, 0.0, 0.2, 0.25])
    for truth, noise, least in ((np.append(np.zeros(5), 0.25), 150.0, 0.8), (line, 1.0, 0.0)):
        y = x @ truth + 0.1 * rng.normal(size=N)
        worse, better = [], []
        for _ in range(50):
            moment = x.T @ x + noise * rng.normal(size=(6, 6))
            products = (x.T @ y)[:, None] + noise * rng.normal(size=(6, 1))
            plain = ridge_regression(moment, products, noise, 0.4)
            drawn = drawn_to_centre(moment, products, noise, 1.0, 0.4, 1.0)
            for errors, w in ((worse, plain), (better, drawn)):
                errors.append(((x @ w[:, 0] - x @ truth) ** 2).mean())
        assert np.mean(better) < (1 - least) * np.mean(worse) + 1e-6 + 1.05 * (least == 0) * np.mean(worse)


def test_a_file_holds_the_weights_that_predict(tmp_path):
    """One set of weights: a model that is read back, and scikit-learn's, predict the same."""
    rows = np.random.default_rng(5).uniform(-4, 4, (N, D))
    domain = Domain.box(-4, 4, features=D, target=Numeric(-4, 4))
    reg = PrivateRegressor(domain, epsilon=0.3, steps=[], learner=LEARNER).fit(rows, rows[:, 0] / 2)
    said = reg.predict(rows[:20])
    np.testing.assert_array_equal(Model.load(reg.model_.save(tmp_path)).predict(rows[:20]), said)
    np.testing.assert_allclose(np.clip(reg.model_.to_sklearn().predict(rows[:20]), -4, 4), said, atol=1e-9)
