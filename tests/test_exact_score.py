"""`score`: about the rows that have a label, as a measurement is, inside the tools of scikit-learn, too."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import prepriv
from prepriv import Domain, Numeric

N = 1500
RNG = np.random.default_rng(0)
X = pd.DataFrame({"a": RNG.random(N), "b": RNG.random(N)})
GAP = RNG.random(N) < 0.4
COLUMNS = {"a": Numeric(0, 1), "b": Numeric(0, 1)}
WAGES = pd.Series(np.where(GAP, np.nan, 8 * X.a + RNG.normal(0, 0.5, N)))
WORDS = pd.Series(np.where(X.a > 0.5, "high", "low"), dtype=object)
WORDS[GAP] = np.nan
WORDS[~GAP & (X.b > 0.9)] = "unknown"  # not declared
NUMBER = Domain(COLUMNS, target=Numeric(0, 10), label="wages")
CLASSES = Domain(COLUMNS, classes=["low", "high"], label="level")


def models(kind):
    """The estimator, and what `private` makes, with labels of which many are missing."""
    if kind == "number":
        pipeline = make_pipeline(StandardScaler(), Ridge())
        alone = prepriv.PrivateRegressor(NUMBER, epsilon=5.0, threads=1)
        return alone, prepriv.private(pipeline, NUMBER, epsilon=5.0), WAGES
    pipeline = make_pipeline(StandardScaler(), LogisticRegression())
    alone = prepriv.PrivateClassifier(CLASSES, epsilon=5.0, threads=1)
    return alone, prepriv.private(pipeline, CLASSES, epsilon=5.0), WORDS


@pytest.mark.filterwarnings("ignore::prepriv.CompositionWarning")
@pytest.mark.parametrize("kind", ["number", "classes"])
def test_cross_validation_and_a_grid_search_score_the_rows_that_have_a_label(kind):
    alone, made, y = models(kind)
    for model in (alone, made):
        assert min(cross_val_score(model, X, y, cv=KFold(3), error_score="raise")) > 0.7
    found = cross_validate(made, X, y, cv=KFold(2), error_score="raise")
    assert min(found["test_score"]) > 0.7
    search = GridSearchCV(made, {"epsilon": [0.01, 5.0]}, cv=KFold(2), error_score="raise").fit(X, y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all() and search.best_params_ == {
        "epsilon": 5.0
    }


@pytest.mark.filterwarnings("ignore::prepriv.CompositionWarning")
@pytest.mark.parametrize("kind", ["number", "classes"])
def test_score_is_that_of_scikit_learn_on_the_labelled_rows(kind):
    model, _, y = models(kind)
    model.fit(X, y)
    there = y.notna() if kind == "number" else y.isin(["low", "high"])
    of = r2_score if kind == "number" else accuracy_score
    weights = RNG.random(N)
    weights[:200] = 0
    assert model.score(X, y) == pytest.approx(of(y[there], model.predict(X[there])))
    assert model.score(X, y, sample_weight=weights) == pytest.approx(
        of(y[there], model.predict(X[there]), sample_weight=weights[there])
    )
    assert model.score(X, y.astype(object).where(there, None)) == model.score(X, y)
    assert model.score(X, list(y)) == model.score(X, y)
    with pytest.raises(ValueError, match="one number for each row"):
        model.score(X, y, sample_weight=weights[1:])
    with pytest.raises(ValueError, match="different numbers of rows"):
        model.score(X, y[1:])
    with pytest.warns(UserWarning, match="score is NaN"):
        assert math.isnan(model.score(X[~there], y[~there]))
    with pytest.warns(UserWarning, match="score is NaN"):
        assert math.isnan(model.score(X, y, sample_weight=np.zeros(N)))


def test_targets_out_of_bounds_and_written_in_another_way_are_scored_as_they_are():
    comma = Domain(COLUMNS, target=Numeric(0, 10, written="comma"))
    model = prepriv.PrivateRegressor(comma, epsilon=math.inf, threads=1)
    texts = [f"{v:.3f}".replace(".", ",") for v in WAGES[~GAP]]
    model.fit(X[~GAP], texts)
    assert model.score(X[~GAP], texts) == pytest.approx(
        r2_score(WAGES[~GAP].round(3), model.predict(X[~GAP])), abs=1e-9
    )
    numbers = prepriv.PrivateRegressor(NUMBER, epsilon=math.inf, threads=1).fit(X, WAGES)
    far = WAGES.copy()
    far[0], far[1] = 1000.0, np.inf  # the second counts as the declared bound
    exact = far.replace(np.inf, 10.0).dropna()
    assert numbers.score(X, far) == pytest.approx(r2_score(exact, numbers.predict(X.loc[exact.index])))


@pytest.mark.filterwarnings("ignore::prepriv.CompositionWarning")
def test_none_for_the_labels_is_the_column_that_the_domain_names():
    table = X.assign(wages=WAGES, level=WORDS)
    reg = prepriv.PrivateRegressor(NUMBER, epsilon=5.0, threads=1).fit(table, None)
    assert reg.score(table, None) == reg.score(X, WAGES) > 0.7
    assert list(reg.feature_names_in_) == ["a", "b"]
    assert reg.evaluate(table[:700], None, epsilon=5.0, measures="r2")["R2"].value > 0.5
    made = models("classes")[1].fit(table, None)
    assert made.score(table, None) == made.score(X, WORDS) > 0.7
    with pytest.raises(ValueError, match="the domain's label, 'wages'"):
        reg.fit(X, None)
    with pytest.raises(ValueError, match="requires y to be passed"):
        prepriv.PrivateClassifier(Domain(COLUMNS, classes=["low", "high"])).fit(table, None)
