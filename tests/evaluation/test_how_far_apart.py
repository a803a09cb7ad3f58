"""A choice is as sharp as its noise allows, and says before the charge how far apart candidates have to be."""

from __future__ import annotations

import math
import re
import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import prepriv
from evaluation.test_choose import CHEAP, DOMAIN, X, Y
from prepriv.adjacency import rows_changed
from prepriv.domain import ADJACENCIES
from prepriv.evaluation import choose as of_choose
from prepriv.evaluation.candidates import candidates_of
from prepriv.evaluation.choose import choose, plan_choice
from prepriv.evaluation.how_far_apart import apart_in_words, far_apart_in_words, records_apart
from prepriv.learners import Huber, Logistic, Quantile, SquaredError
from prepriv.learners.gradient_descent import GradientDescent
from prepriv.ledger import Ledger
from prepriv.mechanisms.session import NoisySession
from prepriv.release.report import Report
from prepriv.runs.chosen import TRIALS, score_steps
from prepriv.tables.encoding import encode, encode_targets

NUMBER = prepriv.Domain.box(0, 1, 2, target=prepriv.Numeric(0, 30))


def planned(domain=DOMAIN, n=900, epsilon=1.0, learners=CHEAP, **more):
    options = {"holdout": 0.2, "method": None, "session": NoisySession()} | more
    return plan_choice(candidates_of(learners), domain, n, (epsilon, 1e-5), **options)[0]


def scores(errors, monkeypatch):
    """Of models with these errors, (k, n)."""
    models = [SimpleNamespace(domain=NUMBER, place=j) for j in range(len(errors))]
    monkeypatch.setattr(of_choose, "_errors", lambda model, test, truth: np.asarray(errors[model.place]))
    return np.array(of_choose._scores_beside(models, None, None))


def test_what_all_candidates_miss_moves_no_score(monkeypatch):
    errors = np.array([[0.0, 0.01, 0.02], [0.01, 0.01, 0.04]])
    base = scores(errors, monkeypatch)
    assert base[0] == 3 * 1024 and abs(base[0] - base[1] - 16 * 1024 * 0.03) <= 2
    assert np.array_equal(scores(errors + 0.5, monkeypatch)[:1], base[:1])
    assert abs(scores(errors + 0.5, monkeypatch)[1] - base[1]) <= 3
    assert scores([[0.0], [1.0]], monkeypatch).tolist() == [1024, 0]  # as much as a record counts


def test_no_record_moves_scores_further_than_the_mechanism_pays_for(monkeypatch):
    """Replace one: all changes in an interval of length 2 m; one more: in 0 to m."""
    rng, m = np.random.default_rng(0), score_steps(NUMBER)
    for _ in range(200):
        k = int(rng.integers(2, 6))
        errors = rng.choice([0.0, 1e-3, 0.01, 0.0624, 0.0625, 0.3, 1.0], (k, 5)) * rng.choice([1.0, 0.5])
        base, other = scores(errors, monkeypatch), errors.copy()
        other[:, 0] = rng.choice([0.0, 0.02, 0.0625, 1.0], k)
        moved = scores(other, monkeypatch) - base
        assert np.ptp(moved) <= 2 * m
        gone = base - scores(errors[:, 1:], monkeypatch)
        assert gone.min() >= 0 and gone.max() <= m


def test_the_better_of_two_models_of_a_number_is_chosen():
    """It was hardly more than a coin: errors of 1 % of wide bounds were compared as shares of these bounds."""
    rng = np.random.default_rng(0)
    rows = rng.random((1000, 2))
    y = np.clip(3 + 1.2 * rows[:, 0] + 0.25 * rng.normal(size=1000), 0, 30)
    good, worse = (GradientDescent(SquaredError(), steps=k, learning_rate=r) for k, r in ((25, 2), (1, 1e-3)))
    won = [choose([worse, good], rows, y, NUMBER, epsilon=4.0).number for _ in range(12)]
    error = [
        np.abs(prepriv.PrivateRegressor(NUMBER, learner=one, epsilon=2.5).fit(rows, y).predict(rows) - y)
        for one in (good, worse)
    ]
    assert error[0].mean() < error[1].mean() and sum(won) >= 11


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("k", [2, 4])
def test_so_far_apart_the_better_one_is_chosen_95_of_100_times(adjacency, k):
    learners = [GradientDescent(Logistic(), steps=s) for s in range(2, 2 + k)]
    domain = prepriv.Domain.box(0, 1, 3, [0, 1], adjacency=adjacency)
    chosen = planned(domain, learners=learners, method="same rows").chosen
    ahead = records_apart(chosen)
    others = (k - 1) * math.exp(-chosen.epsilon * ahead / rows_changed(adjacency))
    assert 1 / (1 + others) == pytest.approx(0.95)


@pytest.mark.parametrize("k", [2, 6])
def test_the_same_of_random_trials_where_the_better_one_is_tried(k):
    rng = np.random.default_rng(1)
    chosen = planned(
        learners=[GradientDescent(Logistic(), steps=s) for s in range(2, 2 + k)], method=TRIALS
    ).chosen
    ahead, right, tried = records_apart(chosen) * chosen.epsilon, 0, 0
    for _ in range(20_000):
        drawn = rng.integers(0, k, rng.geometric(chosen.stop))
        if (drawn == 0).any():
            tried += 1
            right += drawn[np.argmax(rng.normal(size=len(drawn)) + ahead * (drawn == 0))] == 0
    assert right / tried == pytest.approx(0.95, abs=0.01) and 0.7 < tried / 20_000 < 0.9
    assert "if it is tried (a chance of 80 %)" in apart_in_words(chosen, 900, 0.2)


def test_a_large_distance_is_warned_of_before_the_charge_and_what_is_named_is_enough(tmp_path):
    path = tmp_path / "L.db"
    Ledger.create(path, "people", epsilon=100, delta=1e-4)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="The noise leaves the better candidate")
        with pytest.raises(UserWarning, match="percentage points") as told:
            choose(CHEAP, X, Y, DOMAIN, epsilon=1.0, ledger=path)
    assert not Ledger.open(path).entries()
    said = str(told.value)
    assert "a larger epsilon, more records or a larger holdout" in said and "fewer candidates" not in said
    enough = int(re.search(r"From about ([\d,]+) records", said)[1].replace(",", ""))
    for n, far in ((enough, False), (int(0.9 * enough), True)):
        plan = planned(n=n)
        assert bool(far_apart_in_words(plan.chosen, n, plan.holdout)) is far
    several = [GradientDescent(Logistic(), steps=s) for s in (2, 3, 4)]
    with pytest.warns(UserWarning, match="larger holdout or fewer candidates"):
        planned(n=300, learners=several)
    with pytest.warns(UserWarning, match="narrower bounds of the target"):
        planned(NUMBER, n=300, learners=[GradientDescent(SquaredError(), steps=s) for s in (2, 3)])


def test_the_distance_is_in_the_unit_of_the_number_and_halves_with_its_bounds():
    learners = [GradientDescent(SquaredError(), steps=s) for s in (2, 3)]
    found = []
    for high in (30, 15):
        domain = prepriv.Domain.box(0, 1, 2, target=prepriv.Numeric(0, high))
        said = planned(domain, n=2000, learners=learners).apart
        assert f"counts up to {high / 16:.3g}." in said and "absolute error" in said
        found.append(float(re.search(r"better by ([\d.]+)\.", said)[1]))
    assert found[1] == pytest.approx(found[0] / 2, rel=0.1)
    alone = planned(domain, n=2000, learners=learners, method=TRIALS).apart
    assert "An error counts up to 3.75." in alone


def test_print_says_it_and_so_few_records_that_nothing_is_enough():
    assert "95 of 100" in str(choose(CHEAP, X, Y, DOMAIN, epsilon=2.0))
    assert apart_in_words(planned().chosen, 20, 0.2).startswith("No difference of accuracy")


def test_what_would_be_enough_for_the_winner_is_the_epsilon_of_the_whole_choice():
    """An ε below the one that was given was named: that of the part that one candidate trains with."""
    rng = np.random.default_rng(0)
    rows = rng.random((1400, 2))
    learners = [GradientDescent(SquaredError(), steps=s) for s in (20, 25)]

    def told(epsilon):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            made = choose(learners, rows, 30 * rows[:, 0], NUMBER, epsilon=epsilon)
        said = [str(w.message) for w in caught if "worse than the mean" in str(w.message)]
        return made, [
            float(e) for s in said for e in re.findall(r"about ε = ([\d.]+) for the whole choice", s)
        ]

    made, (enough,) = told(0.6)
    assert enough > 0.6
    assert not told(1.05 * enough)[1]  # coins set aside a few records more or fewer
    report = Report.of(made.model_.declared, private=True, model=made.model_)
    (below,) = (s for s in report.summary.to_do if s.startswith("At this ε a model of a number"))
    assert "a larger ε for the whole choice leaves more" in below and "about ε" not in below


def test_pipelines_that_fill_no_gap_are_compared_where_gaps_are_the_middle():
    """They were refused: one of them lets gaps through to where they become the middle, and the other takes none."""
    pytest.importorskip("sklearn")
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import Ridge
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import SplineTransformer, StandardScaler

    domain = prepriv.Domain({"a": prepriv.Numeric(0, 1)}, target=prepriv.Numeric(0, 1))
    a = np.linspace(0, 1, 1500)
    table = pd.DataFrame({"a": np.where(np.arange(1500) % 7 == 0, np.nan, a)})
    line, bent, filled = (
        prepriv.private(make_pipeline(*steps, Ridge()), domain)
        for steps in ([StandardScaler()], [SplineTransformer()], [SimpleImputer(), StandardScaler()])
    )
    made = prepriv.choose([line, bent, prepriv.PrivateRegressor(domain)], table, a, domain, epsilon=4.0)
    assert made.model_.domain.columns == domain.columns
    other = line.steps.with_the_middle
    assert other is not None and other[1].columns == domain.columns != line.domain.columns
    kept = prepriv.choose([line, filled], table, a, domain, epsilon=4.0).model_.domain
    assert kept.columns == line.domain.columns != domain.columns
    with pytest.raises(ValueError, match=r"candidate 3 takes gaps"):
        prepriv.choose([line, bent, filled], table, a, domain, epsilon=4.0)


@pytest.mark.parametrize("level", [0.1, 0.9])
def test_quantiles_are_trained_at_their_level_and_compared_by_their_own_loss(rng, level):
    """The clip of the recipe evened the two slopes: 69 to 76 of 100 targets were below a .9 quantile. And absolute errors prefer a median."""
    x = rng.uniform(0, 1, (3000, 2))
    y = np.exp(rng.normal(1.5 * x[:, 0], 0.6)).clip(0, 20)
    domain = prepriv.Domain.box(0, 1, 2, target=prepriv.Numeric(0, 20))
    made = choose({"loss": Quantile(level), "steps": ["auto", "additive"]}, x, y, domain, epsilon=8.0)
    assert abs((y <= made.model_.predict(x)).mean() - level) < 0.06
    assert "mean pinball loss" in str(made)
    for other in (Quantile(0.5), Huber(0.1), SquaredError()):
        with pytest.raises(
            ValueError, match=f"{level:g} quantiles and (means|0.5 quantiles)|0.5 quantiles and 0.9"
        ):
            choose([other, Quantile(level)], x, y, domain, epsilon=8.0)
    assert choose([Huber(0.1), Quantile(0.5)], x, y, domain, epsilon=8.0).number in (0, 1)


def test_the_loss_of_a_quantile_is_its_own_and_no_larger_than_the_error():
    """Of the same error above and below."""
    x, y = np.array([[0.2]] * 4), np.array([2.0, 4.0, 6.0, 8.0])
    domain = prepriv.Domain.box(0, 1, 1, target=prepriv.Numeric(0, 10), n=4)
    learner = GradientDescent(Quantile(0.9), clip_norm=1.0, learning_rate=0.2)
    model = prepriv.PrivateRegressor(domain, epsilon=1e6, learner=learner).fit(x, y).model_
    table, targets = encode(x, domain), encode_targets(y, domain)
    off = (y - model.predict(x)) / 10
    found = of_choose._errors(model, table, targets)
    assert found == pytest.approx(np.where(off > 0, 0.9 * off, -0.1 * off), abs=1e-6)
    assert (found <= np.abs(off) + 1e-9).all()


def test_another_loss_is_chosen_among_with_much_signal(rng):
    """It stopped with "mean_error: it needs SquaredError", which nobody had named."""
    x, y = rng.uniform(0, 1, (12_000, 2)), rng.uniform(0, 30, 12_000)
    made = choose({"loss": [SquaredError(), Huber(0.25)]}, x, y, NUMBER, epsilon=8.0)
    assert made.number in (0, 1)
