"""What a newcomer wrote first, and the sentence that names what to write instead: nothing is charged, and nothing is lost."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn import metrics
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures, StandardScaler

import prepriv
from prepriv import Categorical, Domain, Numeric
from prepriv.cli import run
from prepriv.description.draft import DraftWarning
from prepriv.ledger import Ledger
from prepriv.private_pipeline import reading

N = 3000
DOMAIN = Domain({"sex": Categorical(["f", "m"]), "age": Numeric(18, 80)}, classes=["no", "yes"])
DOMAIN_OF_NUMBERS = Domain({"a": Numeric(0, 1), "b": Numeric(0, 1)}, classes=["no", "yes"])
NUMBER = Domain(dict(DOMAIN.columns), target=Numeric(0, 100))


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    age = rng.uniform(18, 80, N)
    yes = np.where(age + rng.normal(0, 8, N) > 60, "yes", "no")
    return pd.DataFrame({"sex": rng.choice(["f", "m"], N), "age": age, "ill": yes})


@pytest.fixture(scope="module")
def classifier(table):
    return prepriv.PrivateClassifier(DOMAIN, epsilon=2.0).fit(table[["sex", "age"]], table["ill"])


@pytest.fixture(scope="module")
def regressor(table):
    return prepriv.PrivateRegressor(NUMBER, epsilon=2.0).fit(table[["sex", "age"]], table["age"])


def test_the_name_of_the_label_in_place_of_its_column(table):
    with pytest.raises(ValueError, match=r"table\['ill'\]"):
        prepriv.PrivateClassifier(DOMAIN).fit(table, "ill")


@pytest.mark.parametrize("name", ["save", "to_sklearn", "to_onnx"])
def test_what_belongs_to_the_released_model_is_named(classifier, name):
    assert not hasattr(classifier, name) and hasattr(classifier.model_, name)
    with pytest.raises(AttributeError, match=rf"model_\.{name}"):
        getattr(classifier, name)


@pytest.mark.parametrize("made, metric", [("classifier", "accuracy_score"), ("regressor", "r2_score")])
def test_a_score_of_a_loaded_model_is_a_sentence(made, metric, table, request, tmp_path):
    """A newcomer read "'Model' object has no attribute 'score'" and nothing else."""
    model = prepriv.Model.load(request.getfixturevalue(made).model_.save(tmp_path))
    assert not hasattr(model, "score")  # for tools that ask
    with pytest.raises(AttributeError, match=r"model\.evaluate\(X, y, epsilon=0\.1\)") as said:
        model.score(table[["sex", "age"]], table["ill"])
    assert f"sklearn.metrics.{metric}(y, model.predict(X))" in str(said.value)
    X, y = table[["sex", "age"]], table["ill" if made == "classifier" else "age"]
    assert getattr(metrics, metric)(y, model.predict(X)) > 0.6  # what it names runs
    assert model.evaluate(X, y, epsilon=1.0).private


def test_a_guarantee_says_how_to_ask_for_its_epsilon(classifier):
    assert "GDP" in str(classifier.guarantee_) and ".epsilon(delta)" in str(classifier.guarantee_)
    assert ".epsilon(" not in repr(classifier.model_)  # which has its δ, and says ε


def test_thresholds_print_as_a_table_with_their_weights(classifier, table):
    made = classifier.evaluate(table[["sex", "age"]], table["ill"], epsilon=3.0, measures="scores")
    told = str(made.thresholds).splitlines()
    assert "as a weight of yes" in told[0] and len(told) == len(made.thresholds) + 2
    assert all(one.cells[1] in line for one, line in zip(made.thresholds, told[1:]))
    assert repr(made.thresholds) == str(made.thresholds) and isinstance(made.thresholds, tuple)
    none = classifier.evaluate(table[["sex", "age"]], table["ill"], epsilon=3.0, measures="accuracy")
    assert none.thresholds == () and "not measured" in str(none.thresholds)


def test_weights_without_a_known_noise_are_in_the_order_of_the_columns(regressor):
    unknown = replace(regressor.coefficients_, noise=None)  # as of sufficient statistics
    lines = [line.split(":")[0].strip() for line in str(unknown).splitlines()]
    names = [line for line in lines if line in ("age", "sex=f", "sex=m", "sex=missing", "sex=other")]
    assert sorted(names[:3]) == ["age", "sex=f", "sex=m"] and len(names) == 5


def test_an_evaluation_by_position_is_named(regressor, table):
    made = regressor.evaluate(table[["sex", "age"]], table["age"], epsilon=3.0, measures=["r2", "residuals"])
    with pytest.raises(ValueError, match=r"evaluation=\.\.\."):
        regressor.predict_interval(table[["sex", "age"]], made)


def test_labels_of_another_type_are_what_the_advice_is_about(classifier, table):
    for measures in ("accuracy", "confusion"):
        made = classifier.evaluate(
            table[["sex", "age"]], table["ill"] == "yes", epsilon=3.0, measures=measures
        )
        assert "declared class" in str(made) and "prepriv.validate(" in str(made)
        assert "Nothing in these" not in str(made)


def test_a_draft_without_a_label_says_which_column_it_takes_before_the_charge(table, tmp_path):
    Ledger.create(tmp_path / "L.db", dataset_id="people", epsilon=5, delta=1e-4)
    with warnings.catch_warnings():
        warnings.simplefilter("error", DraftWarning)
        with pytest.raises(DraftWarning, match="'age', is drafted"):
            Domain.draft(table[["sex", "age"]], epsilon=1.0, ledger=tmp_path / "L.db")
    assert Ledger.open(tmp_path / "L.db").entries() == ()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        Domain.draft(table, label="ill", epsilon=1.0)
    assert not any("is not given" in str(one.message) for one in told)


def test_several_epsilons_of_a_pipeline_are_several_plans(tmp_path, capsys):
    (tmp_path / "mine.py").write_text("pipeline = None\n")
    assert run(["plan", str(tmp_path / "mine.py"), "--epsilons", "0.5,1"]) == 2
    assert "--epsilon 0.5" in capsys.readouterr().err


def test_what_is_private_already_says_so():
    made = prepriv.private(make_pipeline(StandardScaler(), LogisticRegression()), DOMAIN_OF_NUMBERS)
    with pytest.raises(ValueError, match="is private already"):
        prepriv.private(made, DOMAIN_OF_NUMBERS)
    with pytest.raises(ValueError, match="ends in PrivateClassifier"):
        prepriv.private(make_pipeline(StandardScaler(), made), DOMAIN_OF_NUMBERS)


@pytest.mark.parametrize(
    "name, where",
    [
        ("named_steps", "plan_.steps"),
        ("get_feature_names_out", "coefficients_.names"),
        ("set_output", "classes_"),
        ("partial_fit", "part by part"),
    ],
)
def test_what_a_pipeline_has_names_where_it_is(classifier, name, where):
    assert not hasattr(classifier, name)
    with pytest.raises(AttributeError, match=where):
        getattr(classifier, name)


def test_a_lazy_csv_names_a_reader_that_keeps_texts_and_no_library_warns(tmp_path, table):
    pl = pytest.importorskip("polars")
    table.to_csv(tmp_path / "t.csv", index=False)
    lazy = pl.scan_csv(tmp_path / "t.csv")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match=r"infer_schema=False"):
            prepriv.PrivateClassifier(DOMAIN).fit(lazy, "ill")
    read = pl.read_csv(tmp_path / "t.csv", infer_schema=False)
    model = prepriv.PrivateClassifier(DOMAIN, epsilon=2.0).fit(read.drop("ill"), read["ill"])
    assert model.score(read.drop("ill"), read["ill"]) > 0.7


def test_a_choice_of_a_pipeline_and_an_estimator_says_how_gaps_are_declared(table):
    pipeline = make_pipeline(SimpleImputer(), StandardScaler(), LogisticRegression())
    domain = Domain({"age": Numeric(18, 80)}, classes=["no", "yes"])
    both = [prepriv.private(pipeline, domain), prepriv.PrivateClassifier(domain, steps="additive")]
    with pytest.raises(ValueError, match=r'Numeric\(low, high, missing="impute"\)'):
        prepriv.choose(both, table[["age"]], table["ill"], domain)
    gaps = Domain({"age": Numeric(18, 80, missing="impute")}, classes=["no", "yes"])
    both = [prepriv.private(pipeline, gaps), prepriv.PrivateClassifier(gaps, steps="additive")]
    assert prepriv.choose(both, table[["age"]], table["ill"], gaps, epsilon=4.0).number in (0, 1)


@pytest.mark.parametrize(
    "last", [LogisticRegression(penalty=None), LogisticRegression(C=np.inf), SGDClassifier(penalty=None)]
)
def test_no_penalty_is_what_is_trained_and_is_taken(last):
    found = reading(make_pipeline(StandardScaler(), last), DOMAIN_OF_NUMBERS, n=N)
    assert any("asks for no penalty" in told for told in found.says)
    with pytest.raises(ValueError, match=r"strength of a penalty"):
        reading(make_pipeline(StandardScaler(), LogisticRegression(C=0.1)), DOMAIN_OF_NUMBERS, n=N)


def test_bounds_far_wider_than_the_targets_are_said_after_the_fit(table):
    def said(high, epsilon=4.0):
        domain = Domain(dict(DOMAIN.columns), target=Numeric(0, high))
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            prepriv.PrivateRegressor(domain, epsilon=epsilon, threads=1).fit(
                table[["sex", "age"]], table["age"]
            )
        return any("declare one that is nearer" in str(one.message) for one in heard)

    assert said(4000) and not said(100) and not said(4000, epsilon=float("inf"))
    with warnings.catch_warnings():  # a filter cannot cost the model
        warnings.simplefilter("error", UserWarning)
        warnings.simplefilter("ignore", prepriv.CompositionWarning)
        domain = Domain(dict(DOMAIN.columns), target=Numeric(0, 4000))
        prepriv.PrivateRegressor(domain, epsilon=4.0, threads=1).fit(table[["sex", "age"]], table["age"])


def test_powers_of_columns_that_are_not_centred_are_said():
    for steps, said in (
        ([PolynomialFeatures(2), StandardScaler()], True),
        ([SimpleImputer(), PolynomialFeatures(2)], True),
        ([StandardScaler(), PolynomialFeatures(2)], False),
        ([StandardScaler()], False),
    ):
        found = reading(make_pipeline(*steps, LogisticRegression()), DOMAIN_OF_NUMBERS, n=N)
        assert any("a StandardScaler before PolynomialFeatures" in told for told in found.says) == said


def test_a_map_that_cannot_follow_a_sensitivity_names_its_parts():
    pipeline = make_pipeline(SimpleImputer(), PolynomialFeatures(2), StandardScaler(), LogisticRegression())
    model = prepriv.private(pipeline, DOMAIN_OF_NUMBERS, way="sensitivity", missing=0.1)
    with pytest.raises(ValueError, match=r"PolynomialFeatures.*leave way out"):
        model.plan(N)


def test_a_coarse_sketch_says_what_makes_its_cells_and_what_to_leave_out():
    columns = {f"x{i}": Numeric(0, 1) for i in range(12)} | {"job": Categorical(["a", "b"])}
    domain = Domain(columns, classes=["no", "yes"])
    pipeline = make_pipeline(
        make_column_transformer(
            (make_pipeline(StandardScaler(), PCA(2)), [f"x{i}" for i in range(12)]),
            (OneHotEncoder(), ["job"]),
        ),
        LogisticRegression(),
    )
    told = {o.way: o.why for o in reading(pipeline, domain, n=4000, epsilon=1.0).options}["sketch"]
    assert "bins for each of 12 columns of numbers" in told and "fewer columns" in told
    told = {o.way: o.why for o in reading(pipeline, domain, n=4000, epsilon=0.4).options}["sketch"]
    assert "Leave out PCA" in told and "at several columns lost accuracy" in told
    many = replace(domain, columns={**columns, "job": Categorical([f"j{i}" for i in range(300)])})
    told = {o.way: o.why for o in reading(pipeline, many, n=4000, epsilon=1.0).options}["sketch"]
    assert "up to 302 cells for a column of categories" in told and "Declare fewer categories" in told
