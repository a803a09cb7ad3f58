"""`PrivateRegressor`: from declared bounds to a saved model, with bad input on the way."""

from __future__ import annotations

import json
import math

import mpmath
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from prepriv import (
    Budget,
    Categorical,
    Domain,
    Model,
    Numeric,
    PrivateClassifier,
    PrivateRegressor,
    make_plan,
)
from prepriv import preprocessing as pre
from prepriv.domain import TARGET_STEPS
from prepriv.evaluation.evaluation_plan import plan_evaluation
from prepriv.learners import (
    GradientDescent,
    Huber,
    LeastSquares,
    Quantile,
    Softmax,
    SquaredError,
    SufficientStatistics,
)
from prepriv.learners.targets import decoded
from prepriv.ledger import BudgetExceeded, Ledger
from prepriv.recipes.automatic import recipe
from prepriv.release.model import BadArtifact
from prepriv.tables.encoding import encode_targets

TARGET = Numeric(-10, 30)


def made(n=4000, d=3, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(0, 1, (n, d))
    return x, 10 + 12 * x[:, 0] - 6 * x[:, 1] + rng.normal(size=n)


def domain(d=3, **more):
    return Domain.box(0, 1, d, target=TARGET, **more)


@pytest.mark.parametrize(
    "learner", ["auto", SufficientStatistics(), GradientDescent(Huber(0.5), clip_norm=0.25)]
)
@pytest.mark.parametrize("adjacency", ["replace-one", "add-or-remove-one"])
def test_a_line_is_found_within_the_budget(learner, adjacency):
    x, y = made()
    reg = PrivateRegressor(domain(adjacency=adjacency, n=4000), epsilon=2.0, learner=learner).fit(x, y)
    assert reg.guarantee_.epsilon(1e-5) <= 2.0
    assert reg.score(x, y) > 0.8
    assert reg.predict(x).min() >= -10 and reg.predict(x).max() <= 30


def test_on_skewed_columns_more_budget_is_no_loss():
    """Rows far out are weighed, not cut: at a large epsilon it is least squares, which knows the line."""
    rng = np.random.default_rng(2)
    x = rng.exponential(size=(6000, 4))
    y = x @ [1.0, -1.0, 0.5, 0.0] + 0.5 * rng.normal(size=6000)
    declared = Domain.box(0, 50, 4, target=Numeric(-15, 15))
    some, much = (PrivateRegressor(declared, epsilon=e).fit(x[:4000], y[:4000]) for e in (2.0, 100.0))
    best = 1 - 0.25 / y[4000:].var()
    assert isinstance(much.plan_.learner, SufficientStatistics) and math.isfinite(much.plan_.learner.longest)
    assert some.score(x[4000:], y[4000:]) - 0.005 < much.score(x[4000:], y[4000:])
    assert much.score(x[4000:], y[4000:]) > best - 0.01


def test_a_quantile_lies_above_its_share_of_the_targets():
    x, y = made()
    for level in (0.2, 0.8):
        learner = GradientDescent(Quantile(level), clip_norm=1.0, learning_rate=0.2)
        reg = PrivateRegressor(domain(), epsilon=4.0, learner=learner).fit(x, y)
        assert (y <= reg.predict(x)).mean() == pytest.approx(level, abs=0.08)


@pytest.mark.parametrize(("adjacency", "records"), [("replace-one", 1.5), ("add-or-remove-one", 1.0)])
def test_the_claim_is_the_gaussian_formula_for_the_noise_that_is_drawn(adjacency, records):
    """delta(epsilon) by mpmath, from the deviation of the noise and the furthest pair of products, not from the plan."""
    declared = Domain.ball(3, target=TARGET, n=1000, adjacency=adjacency)
    plan = PrivateRegressor(declared, epsilon=1.0, steps=[], learner=SufficientStatistics(bias=1.0)).plan(
        1000
    )
    furthest = records * math.sqrt(2) * 2.0  # R^2 = 2
    mu = mpmath.mpf(furthest) / plan.learner_noise
    delta = mpmath.ncdf(mu / 2 - 1 / mu) - mpmath.e * mpmath.ncdf(-mu / 2 - 1 / mu)
    assert 0.98e-5 <= delta <= 1e-5


def test_without_privacy_it_is_least_squares():
    x, y = made()
    steps = [pre.Rescale(1.0)]
    learner = SufficientStatistics(bias=1.0)
    reg = PrivateRegressor(domain(), epsilon=math.inf, steps=steps, learner=learner).fit(x, y)
    whole = np.column_stack([x, np.ones(len(x))])
    exact = whole @ np.linalg.lstsq(whole, y, rcond=None)[0]
    assert np.abs(reg.predict(x) - exact).max() < 0.05
    assert reg.guarantee_ is None


def test_saved_loaded_and_the_same(tmp_path):
    x, y = made()
    reg = PrivateRegressor(domain(), epsilon=1.0).fit(x, y)
    reg.model_.save(tmp_path)
    loaded = Model.load(tmp_path)
    assert (loaded.predict(x) == reg.predict(x)).all()
    assert loaded.guarantee.epsilon(1e-5) == reg.guarantee_.epsilon(1e-5)
    assert loaded.domain.target == TARGET and Domain.from_json(loaded.domain.to_json()) == loaded.domain
    for ask in (loaded.predict_proba, loaded.predict_index):
        with pytest.raises(ValueError, match="predicts a number"):
            ask(x)
    data = json.loads((tmp_path / "model.json").read_text())
    data["plan"]["domain"]["target"]["high"] = 31
    (tmp_path / "model.json").write_text(json.dumps(data))
    with pytest.raises(BadArtifact):
        Model.load(tmp_path)


def test_frames_categories_missing_cells_and_odd_targets():
    rng = np.random.default_rng(1)
    n = 3000
    frame = pd.DataFrame({"age": rng.uniform(20, 60, n), "job": rng.choice(["a", "b"], n)})
    y = (frame["age"] / 4 + 5 * (frame["job"] == "a")).astype(object)
    frame.loc[::50, "age"] = np.nan
    y[::100], y[1::100], y[2::100] = "none", 10**400, None
    declared = Domain(
        {"age": Numeric(20, 60, "impute"), "job": Categorical(("a", "b"))}, target=Numeric(0, 25)
    )
    reg = PrivateRegressor(declared, epsilon=3.0).fit(frame, y)
    old = reg.predict(pd.DataFrame({"age": [60.0], "job": ["a"]}))
    young = reg.predict(pd.DataFrame({"age": [20.0], "job": ["b"]}))
    assert old[0] > young[0] + 5


def test_targets_are_cut_to_their_bounds_and_what_is_no_number_counts_as_nothing():
    cells = [-10, 30, 10, -1e308, math.inf, math.nan, "12", "twelve", None, 10**400, [1, 2]]
    found = encode_targets(cells, domain())
    assert found.tolist()[:3] == [0, TARGET_STEPS, TARGET_STEPS // 2]
    assert found.tolist()[3:5] == [0, TARGET_STEPS]
    assert (found[[5, 7, 8, 10]] == -1).all() and decoded(found[6:7]) == pytest.approx((12 - 10) / 20)
    y = np.random.default_rng(0).uniform(-10, 30, 1000)
    assert 10 + 20 * decoded(encode_targets(y, domain())) == pytest.approx(y, abs=2e-6)


def test_it_is_charged_to_a_ledger(tmp_path):
    Ledger.create(tmp_path / "led.db", "made up", epsilon=1.5, delta=1e-5)
    x, y = made(500)
    reg = PrivateRegressor(domain(), epsilon=1.0, delta=4e-6, ledger=tmp_path / "led.db").fit(x, y)
    assert reg.model_.receipt is not None
    with pytest.raises(BudgetExceeded):
        clone(reg).fit(x, y)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Domain.box(0, 1, 2, [0, 1], target=TARGET), "not both"),
        (lambda: Domain.box(0, 1, 2, [0]), "at least two"),
        (lambda: Domain(Domain.box(0, 1, 2).columns, label="y"), "at least two"),
        (lambda: PrivateClassifier(Domain.box(0, 1, 2)).plan(100), "nothing to learn"),
        (lambda: Domain.box(0, 1, 2, target=(0, 1)), "target must be Numeric"),
        (lambda: Domain.box(0, 1, 2, target=Numeric(0, 1, "impute")), "missing target"),
        (lambda: PrivateRegressor(Domain.box(0, 1, 3, [0, 1])).plan(100), "declare target"),
        (lambda: PrivateClassifier(domain()).plan(100), "use PrivateRegressor"),
        (
            lambda: PrivateRegressor(domain(), learner=GradientDescent(Softmax())).plan(100),
            "Softmax is for classes",
        ),
        (
            lambda: PrivateRegressor(domain(), learner=GradientDescent(LeastSquares(1.0))).plan(100),
            "LeastSquares is for classes",
        ),
        (
            lambda: make_plan(
                Domain.box(0, 1, 3, [0, 1]), (), SufficientStatistics(), epsilon=1.0, delta=1e-5, n=99
            ),
            "is for a target",
        ),
        (lambda: SufficientStatistics(Huber()), "SquaredError"),
        (lambda: SufficientStatistics(ridge=-1.0), "ridge"),
        (lambda: SufficientStatistics(bias=-1.0), "bias"),
        (lambda: Huber(0.0), "width"),
        (lambda: Quantile(1.0), "level"),
        (lambda: PrivateRegressor(domain(3000), learner=SufficientStatistics()).plan(9999), "at most 2000"),
        (lambda: PrivateRegressor(domain(), steps="fast").plan(99), "steps must be"),
        (lambda: PrivateRegressor(domain(), learner="fast").plan(99), "learner must be"),
        (lambda: plan_evaluation(domain(), n=99, measures="accuracy"), "some of absolute_error"),
    ],
)
def test_mistakes_are_one_sentence(make, said):
    with pytest.raises(ValueError, match=said) as error:
        make()
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "n, columns, reach",
    [(1000, 60, 9.0), (1000, 3, 16.75), (300, 60, 1.454), (20_000, 60, 85.8), (100, 3, 1.675)],
)
def test_columns_of_categories_do_not_shorten_the_way_to_where_the_signal_is_sure(n, columns, reach):
    domain = Domain.box(0, 1, columns, target=Numeric(0, 1))
    _, learner = recipe(domain, n=n, epsilon=1.0, delta=1e-5)
    assert 100 * learner.learning_rate == pytest.approx(reach, rel=0.01)


def test_the_learner_is_chosen_by_declared_numbers_alone():
    def chosen(n, d, epsilon):
        return type(PrivateRegressor(domain(d), epsilon=epsilon).plan(n).learner)

    assert chosen(10**6, 5, 1.0) is SufficientStatistics
    assert chosen(400, 10, 1.0) is GradientDescent
    assert chosen(10**6, 2500, 4.0) is GradientDescent
    ball = Domain.ball(4, target=TARGET)
    assert PrivateRegressor(ball, epsilon=1.0).plan(10**6).learner.name == "SufficientStatistics"
    paid = PrivateRegressor(domain(), steps=[pre.Center(payment=Budget(0.1))]).plan(500)
    assert isinstance(paid.learner.loss, SquaredError)
