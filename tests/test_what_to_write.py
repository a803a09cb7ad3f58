"""What a newcomer wrote first, and the sentence that names what to write instead: nothing is charged, and nothing is lost."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import prepriv
from prepriv import Categorical, Domain, Numeric
from prepriv.cli import run
from prepriv.description.draft import DraftWarning
from prepriv.ledger import Ledger

N = 3000
DOMAIN = Domain({"sex": Categorical(["f", "m"]), "age": Numeric(18, 80)}, classes=["no", "yes"])
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
