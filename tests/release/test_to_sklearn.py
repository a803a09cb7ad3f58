"""Linear models as models of scikit-learn, weights in the units of the columns."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from exported_models import fitted
from sklearn.metrics import get_scorer

from prepriv import Budget, Categorical, Domain, Numeric, PrivateClassifier, PrivateRegressor
from prepriv import preprocessing as pre
from prepriv.learners import GradientDescent, Logistic, Softmax


def test_a_linear_classifier_has_the_same_labels_and_scores():
    model, x = fitted("linear")
    x, theirs = x[1:], model.to_sklearn()  # the first row is out of bounds, where cells are clipped
    named = pd.DataFrame(x, columns=theirs.feature_names_in_)
    assert (theirs.predict(named) == model.predict(x)).all()
    np.testing.assert_allclose(theirs.decision_function(named), model.scores(x)[:, 0], atol=1e-9)


@pytest.mark.parametrize("classes", [("a", "b"), ("c", "b", "a")])
def test_categories_are_columns_of_zeros_and_ones(classes):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"age": rng.uniform(20, 90, 300), "job": rng.choice(["x", "y"], 300)})
    domain = Domain({"age": Numeric(20, 90, "impute"), "job": Categorical(("x", "y"))}, classes)
    steps = [pre.ConstantImputer(0.5), pre.Center(payment=Budget(0.1))]
    model = PrivateClassifier(domain, epsilon=9.0, steps=steps).fit(table, rng.choice(classes, 300)).model_
    theirs = model.to_sklearn()
    rows = pd.DataFrame(0.0, index=table.index, columns=theirs.feature_names_in_)
    rows["age"] = table["age"]
    for job in "xy":
        rows[f"job={job}"] = (table["job"] == job) * 1.0
    assert (theirs.predict(rows) == model.predict(table)).all()
    assert theirs.classes_.tolist() == sorted(classes)


@pytest.mark.parametrize("classes", [("good", "bad"), ("c", "a", "b")])
@pytest.mark.parametrize("steps", ["linear", [pre.Center(payment=Budget(0.1))]])
@pytest.mark.parametrize("loss", [Logistic(), Softmax()])
def test_classes_stand_in_order_as_scorers_expect(classes, steps, loss):
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (400, 2))
    y = np.array(classes)[np.digitize(x[:, 0], [0.0] if len(classes) == 2 else [-0.3, 0.3])]
    plain = Domain.box(-1, 1, 2, classes).to_json()
    domain = Domain.from_json(plain | {"classes": list(classes)})  # as an earlier version declared it
    learner = GradientDescent(loss if len(classes) == 2 else Softmax(), steps=20)
    clf = PrivateClassifier(domain, epsilon=20.0, steps=steps, learner=learner).fit(x, y)
    theirs = clf.model_.to_sklearn()
    assert theirs.classes_.tolist() == clf.classes_.tolist() == sorted(classes)
    named = pd.DataFrame(x, columns=getattr(theirs, "feature_names_in_", domain.feature_names))
    np.testing.assert_allclose(theirs.decision_function(named), clf.decision_function(x), atol=1e-9)
    assert (theirs.predict(named) == clf.predict(x)).all()
    auc = get_scorer("roc_auc_ovr")
    assert min(auc(theirs, named, y), auc(clf, x, y)) > 0.85
    if len(classes) == 2:
        auc = get_scorer("roc_auc")
        assert auc(theirs, named, y) == pytest.approx(auc(clf, x, y))


def test_a_linear_regression_predicts_in_the_units_of_the_target():
    rng = np.random.default_rng(0)
    x = rng.uniform(-4, 4, (500, 3))
    domain = Domain.box(-4, 4, 3, target=Numeric(-100, 300))
    model = PrivateRegressor(domain, epsilon=9.0, steps=[]).fit(x, 100 + 20 * x[:, 0]).model_
    theirs = model.to_sklearn()
    predicted = theirs.predict(pd.DataFrame(x, columns=theirs.feature_names_in_))
    np.testing.assert_allclose(predicted, model.predict(x), atol=1e-9)
    far = x * [9, 1, 1]  # the bounds of columns cut the model's rows, so the weights alone are asked
    assert theirs.predict(far).max() == 300 and theirs.predict(far).min() == -100
    assert theirs.regressor_.predict(far).max() > 300


def test_two_scores_of_two_classes_are_one_of_scikit_learn():
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (300, 2))
    learner = GradientDescent(Softmax(), steps=20)
    domain = Domain.box(-1, 1, 2, classes=[0, 1])
    model = (
        PrivateClassifier(domain, epsilon=50.0, steps=[], learner=learner).fit(x, x[:, 0] > x[:, 1]).model_
    )
    theirs = model.to_sklearn()
    named = pd.DataFrame(x, columns=theirs.feature_names_in_)
    assert model.scores(x).shape[1] == 2 and (theirs.predict(named) == model.predict(x)).all()
    np.testing.assert_allclose(theirs.decision_function(named), np.diff(model.scores(x))[:, 0], atol=1e-9)


@pytest.mark.parametrize("case", ["ball", "texts"])
def test_what_is_not_linear_is_a_pipeline_of_raw_rows(case):
    model, rows = fitted(case)
    assert (model.to_sklearn().predict(rows) == model.predict(rows)).all()


@pytest.mark.parametrize("classes", [("b", "a"), ("a", "b", "c"), None])
def test_the_linear_recipe_is_a_pipeline_of_scikit_learn(classes):
    rng = np.random.default_rng(0)
    pay = rng.uniform(0, 9e4, 300)
    table = pd.DataFrame({"age": rng.uniform(20, 90, 300), "pay": pay, "job": rng.choice(["x", "y"], 300)})
    columns = {"age": Numeric(20, 90), "pay": Numeric(0, 9e4), "job": Categorical(("x", "y"))}
    if classes is None:
        domain = Domain(columns, target=Numeric(-5, 5))
        model = PrivateRegressor(domain, epsilon=9.0, steps="linear").fit(table, table["age"] / 30).model_
        theirs = np.clip(model.to_sklearn().predict(table), -5, 5)
        np.testing.assert_allclose(theirs, model.predict(table), atol=1e-9)
        return
    y = np.asarray(classes)[np.minimum(table["age"] // 30, len(classes) - 1).astype(int)]
    model = PrivateClassifier(Domain(columns, classes), epsilon=9.0, steps="linear").fit(table, y).model_
    theirs, scores = model.to_sklearn(), model.scores(table)
    assert (theirs.predict(table) == model.predict(table)).all()
    scores = scores if scores.shape[1] > 1 else scores[:, 0]
    np.testing.assert_allclose(theirs.decision_function(table), scores, atol=1e-9)


def test_mapped_features_have_names_and_a_pickle_knows_them_too():
    """A reader's: `get_feature_names_out` ended in the advice to call what was called."""
    rng = np.random.default_rng(0)
    x = rng.random((300, 3))
    model = PrivateClassifier(Domain.box(0, 1, 3, [0, 1]), epsilon=3.0, steps="linear", threads=1)
    theirs = model.fit(x, (x[:, 0] > 0.5).astype(int)).model_.to_sklearn()
    for pipeline in (theirs, pickle.loads(pickle.dumps(theirs))):
        assert list(pipeline[:-1].get_feature_names_out()) == ["x0", "x1", "x2", "(constant)"]
        assert pipeline[:-1].transform(x).shape == (300, 4)


def test_mapped_features_have_the_names_of_their_columns_where_no_map_mixes_them():
    rng = np.random.default_rng(3)
    table = pd.DataFrame(
        {
            "age": rng.uniform(20, 90, 800),
            "job": rng.choice(["x", "y"], 800),
            "pay": rng.uniform(0, 9, 800),
        }
    )
    columns = {"age": Numeric(20, 90), "job": Categorical(("x", "y")), "pay": Numeric(0, 9)}
    domain, y = Domain(columns, (0, 1)), rng.integers(0, 2, 800)
    binned = PrivateClassifier(domain, epsilon=9.0, steps="additive").fit(table, y).model_.to_sklearn()
    names = [str(name) for name in binned[:-1].get_feature_names_out()]
    before = binned[:-1].transform(table)
    for column, other in (("age", 88.0), ("job", "y"), ("pay", 0.1)):
        moved = (binned[:-1].transform(table.assign(**{column: other})) != before).any(axis=0)
        assert moved.any() and moved.tolist() == [
            bool(m) and name.startswith(f"{column}=") for m, name in zip(moved, names)
        ]
    made = PrivateClassifier(domain, epsilon=9.0, steps="linear").fit(table, y).model_
    assert list(made.to_sklearn()[:-1].get_feature_names_out()) == list(made.coefficients_.names)
    mixed = PrivateClassifier(domain, epsilon=9.0, steps="auto").fit(table, y).model_
    assert mixed.to_sklearn()[:-1].get_feature_names_out()[0] == "mapped0"
