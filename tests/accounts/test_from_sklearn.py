"""Pipelines of scikit-learn: the same maps as the steps they become, or a refusal by name."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn import preprocessing as sk
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer, make_column_selector, make_column_transformer
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.feature_selection import VarianceThreshold
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.utils import all_estimators

from prepriv import Categorical, Domain, Numeric, account, private
from prepriv import from_sklearn as undeclared
from prepriv.accounts.from_sklearn import REFUSED, RawUnits, Unpriced
from prepriv.cli import run
from prepriv.guarantees.printed import epsilon_at, separated
from prepriv.learners import GradientDescent, Logistic
from prepriv.preprocessing.base import walk

TABLE = Domain(
    {
        "age": Numeric(17, 90, "impute"),
        "hours": Numeric(0, 100),
        "work": Categorical(("private", "state")),
    },
    ("no", "yes"),
    n=1000,
)
BOX = Domain.box(-2.0, 6.0, features=3, classes=[0, 1], n=400)
NUMBERS, CATEGORIES = ["age", "hours"], [["private", "state"]]


def from_sklearn(part, domain, missing=0.05, deviation=0.1):
    """With both facts declared."""
    return undeclared(part, domain, missing=missing, deviation=deviation)


def usual():
    numbers = make_pipeline(SimpleImputer(), sk.StandardScaler())
    texts = sk.OneHotEncoder(categories=CATEGORIES, handle_unknown="ignore")
    return make_pipeline(
        ColumnTransformer([("n", numbers, NUMBERS), ("t", texts, ["work"])]), LogisticRegression()
    )


def test_the_usual_pipeline_is_read():
    names = [step.name for step in from_sklearn(usual(), TABLE)]
    assert names == ["RawUnits", "MeanImputer", "StandardScaler"]


def fitted(steps, domain, raw):
    """What the steps make of raw numeric rows."""
    x = (raw - [c.low for c in domain.columns.values()]) / [c.high - c.low for c in domain.columns.values()]
    for step, before, _ in walk(steps, domain.space):
        if isinstance(step, RawUnits):
            x = raw
        elif step.paid.private:
            x = step.fit_confidential([x], before, len(x)).transform(x)
        else:
            x = step.free(before).transform(x)
    return x


@pytest.mark.parametrize("missing", ["impute", "midpoint"])
@pytest.mark.parametrize(
    "part",
    [
        sk.StandardScaler(),
        SimpleImputer(),
        SimpleImputer(strategy="constant", fill_value=9.0, keep_empty_features=True),
        sk.Normalizer(),
        None,
    ],
    ids=lambda part: type(part).__name__,
)
def test_scikit_learn_computes_what_the_steps_compute(rng, part, missing):
    domain = Domain.box([-2.0, 0.0, 10.0], [6.0, 1.0, 90.0], 3, [0, 1], n=400, missing=missing)
    raw = rng.uniform([-2.0, 0.0, 10.0], [6.0, 1.0, 90.0], (400, 3))
    parts = [part] if part is not None else [SimpleImputer(), sk.StandardScaler(), sk.Normalizer()]
    if missing == "impute":
        raw[rng.random(raw.shape) < 0.03] = np.nan
        parts = parts if isinstance(parts[0], SimpleImputer) else [SimpleImputer(), *parts]
    pipeline = make_pipeline(*parts)
    assert np.allclose(
        fitted(from_sklearn(pipeline, domain), domain, raw), pipeline.fit_transform(raw), atol=1e-9
    )


def test_every_transformer_of_scikit_learn_is_priced_or_refused_in_one_sentence():
    priced, refused = set(), set()
    for name, kind in all_estimators(type_filter="transformer"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                part = kind()
            except TypeError:  # it needs other estimators
                part = kind.__new__(kind)
        try:
            steps = from_sklearn(part, BOX)
        except Unpriced as error:
            told = str(error)
            assert name.split("(")[0] in told and "\n" not in told and len(told) < 400, told
            refused.add(name)
        except AttributeError:
            assert name in ("ColumnTransformer", "Pipeline")  # made without its parts, above
        else:
            priced.add(name)
            assert all(step.name for step in steps)
    assert priced == {"StandardScaler", "SimpleImputer", "Normalizer"}
    assert set(REFUSED) - refused <= {
        "CountVectorizer",
        "TfidfVectorizer",
        "IterativeImputer",
    }  # listed elsewhere


class Mine(TransformerMixin, BaseEstimator):
    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return X


class MyScaler(sk.StandardScaler):
    """A subclass can do anything."""


@pytest.mark.parametrize(
    "part, says",
    [
        (PCA(2), "PCA has no price"),
        (sk.MinMaxScaler(), "MinMaxScaler has no price"),
        (TfidfVectorizer(), "vocabulary"),
        (KNNImputer(), "copies other records"),
        (VarianceThreshold(), "which columns stay"),
        (Mine(), "Mine has no price"),
        (MyScaler(), "MyScaler has no price"),
        (sk.StandardScaler(with_mean=False), "with_mean"),
        (sk.StandardScaler(with_std=False), "Center"),
        (sk.Normalizer("l1"), "l2"),
        (sk.OneHotEncoder(), "auto"),
        (sk.OneHotEncoder(categories=[[0, 1]] * 3), "declare the columns 'x0', 'x1', 'x2' as categorical"),
        (FeatureUnion([("a", sk.StandardScaler())]), "FeatureUnion"),
        (sk.FunctionTransformer(np.log1p), "FunctionTransformer"),
        (Pipeline([("a", PCA(1)), ("b", sk.MaxAbsScaler())]), "MaxAbsScaler"),
        (
            ColumnTransformer([("a", sk.StandardScaler(), make_column_selector())]),
            "a function chooses columns",
        ),
        (
            ColumnTransformer([("a", sk.StandardScaler(), ["x0"]), ("b", sk.Normalizer(), ["x0"])]),
            "two transformers",
        ),
        (ColumnTransformer([("a", sk.Normalizer(), ["x0"])]), "on some of the columns"),
    ],
    ids=lambda given: given if isinstance(given, str) else type(given).__name__,
)
def test_what_has_no_price_is_refused_by_name(part, says):
    with pytest.raises(Unpriced) as told:
        from_sklearn(part, BOX)
    assert says in str(told.value) and "\n" not in str(told.value)


def test_imputers_must_fill_what_can_be_missing():
    domain = Domain({"age": Numeric(0, 1, "impute"), "b": Numeric(0, 1, "impute")}, (0, 1), n=100)
    with pytest.raises(Unpriced, match=r"'age' can miss"):
        from_sklearn(ColumnTransformer([("a", SimpleImputer(), ["b"])]), domain)
    for strategy in ("median", "most_frequent"):
        with pytest.raises(Unpriced, match=strategy):
            from_sklearn(
                SimpleImputer(strategy=strategy), TABLE.__class__.box(0, 1, 2, [0, 1], missing="impute")
            )
    with pytest.raises(Unpriced, match="add_indicator"):
        from_sklearn(SimpleImputer(add_indicator=True), Domain.box(0, 1, 2, [0, 1], missing="impute"))


@pytest.mark.parametrize("columns", [["nobody"], [7], 3.5, None])
def test_columns_that_are_not_there_are_one_sentence(columns):
    with pytest.raises(ValueError, match="not a column"):
        from_sklearn(ColumnTransformer([("a", sk.StandardScaler(), columns)]), BOX)


@pytest.mark.parametrize("columns", [[1], slice(1, 2), [False, True, False], np.array([1]), ["x1"]])
def test_columns_are_named_as_in_scikit_learn(columns):
    (_, scaler) = from_sklearn(ColumnTransformer([("a", sk.StandardScaler(), columns)]), BOX)
    assert scaler.columns == ("x1",)


def test_the_account_of_a_pipeline_says_what_it_rests_on():
    learner = GradientDescent(Logistic(), steps=20, weight_bound=1.0)
    result = account(from_sklearn(usual(), TABLE), learner, domain=TABLE, noise_multiplier=2000.0)
    alone = float(result.training_alone.epsilon(1e-5))
    assert float(result.epsilon(1e-5)) > alone
    assert any("standard deviation of 'hours'" in c for c in result.conditions)
    assert any("records miss 'age'" in c for c in result.conditions)
    assert any("within its declared bounds" in note for note in result.notes)
    assert any("MeanImputer are needed on new rows" in note for note in result.notes)
    assert any("in the place of LogisticRegression" in note for note in result.notes)
    assert any("without weights" in note for note in result.notes)


def test_raw_units_count():
    """Rows in years are further apart than rows in shares of a century: the account of unscaled columns knows it."""
    found = []
    for width in (1.0, 100.0):
        domain = Domain.box(0, width, features=2, classes=[0, 1], n=1000, missing="impute")
        learner = GradientDescent(Logistic(), steps=5, weight_bound=1.0, clip_norm=1.0)
        found.append(
            account(
                from_sklearn(SimpleImputer(), domain), learner, domain=domain, noise_multiplier=500.0
            ).shift.total_shift
        )
    assert found[1] == pytest.approx(100 * found[0], rel=1e-9)


def test_columns_and_parts_with_one_reason_are_one_line(tmp_path, capsys):
    """It was a sentence for each column; on the command line each reason is a line."""
    words = {f"w{i}": Categorical(["x", "y"]) for i in range(7)}
    domain = Domain({"a": Numeric(0, 1)} | words, classes=[0, 1], n=900)
    with pytest.raises(Unpriced) as told:
        from_sklearn(make_pipeline(PCA(1), TruncatedSVD(1)), domain)
    *lines, way_out = told.value.lines
    assert len(lines) == 2 and lines[0].startswith("PCA, TruncatedSVD have no price: one record can turn")
    assert "the columns 'w0', 'w1', 'w2', 'w3', 'w4' and 2 more are declared categorical" in lines[1]
    assert way_out.startswith("PCA, TruncatedSVD can stay") and len(told.value.refused) == 3
    pair = make_column_transformer(
        (sk.OrdinalEncoder(categories=[["x", "y"]] * 2), ["w0", "w1"]), remainder="drop"
    )
    with pytest.raises(Unpriced, match="'w0', 'w1' have ordinal codes"):
        from_sklearn(pair, domain)
    (tmp_path / "mine.py").write_text("from sklearn.decomposition import PCA\npipeline = PCA(1)\n")
    columns = "".join(f"    {name}: {{type: categorical, categories: [x, y]}}\n" for name in words)
    (tmp_path / "p.yaml").write_text(
        "rows: 900\ndelta: 1.0e-5\nsklearn: mine.py\nschema: s.yaml\n"
        "learner: {kind: Opacus, noise_multiplier: 1.1, max_grad_norm: 1.0, sample_rate: 0.01, epochs: 5}\n"
    )
    (tmp_path / "s.yaml").write_text(f"label: {{name: y, classes: [a, b]}}\ncolumns:\n{columns}")
    assert run(["account", str(tmp_path / "p.yaml")]) == 2
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 3 and all(line.startswith("prepriv: ") for line in said)


def test_columns_of_an_encoder_do_not_pass_through_and_words_have_no_mean():
    domain = Domain({"a": Numeric(0, 1, "impute"), "w": Categorical(["x", "y"])}, classes=[0, 1], n=900)
    words = make_pipeline(SimpleImputer(strategy="most_frequent"), sk.OneHotEncoder())
    both = make_column_transformer((SimpleImputer(), ["a"]), (words, ["w"]))
    with pytest.raises(Unpriced) as told:
        from_sklearn(both, domain, missing=0.1)
    said = dict(told.value.refused)
    assert {*said} == {"SimpleImputer(strategy='most_frequent')", 'OneHotEncoder(categories="auto")'}
    assert "'w'" in said["SimpleImputer(strategy='most_frequent')"] and "mean" not in str(told.value)
    left = make_column_transformer((SimpleImputer(strategy="median"), ["a"]), remainder="passthrough")
    with pytest.raises(Unpriced, match="would reach the learner"):
        from_sklearn(left, domain, missing=0.1)


def test_a_column_that_the_domain_lacks_is_said_to_be_missing_there():
    domain = Domain({"a": Numeric(0, 1)}, classes=[0, 1], n=900)
    pipeline = make_pipeline(make_column_transformer((sk.StandardScaler(), ["a", "b"])), LogisticRegression())
    with pytest.raises(ValueError, match=r"'b'.*domain does not declare"):
        private(pipeline, domain)


def test_an_account_prints_its_epsilon_first():
    domain = Domain.box(0, 1, features=2, classes=[0, 1], n=1000)
    steps = from_sklearn(make_pipeline(sk.StandardScaler()), domain, deviation=0.5)
    found = account(steps, GradientDescent(Logistic()), domain=domain, noise_multiplier=50.0, delta=1e-6)
    first, *rest = str(found).splitlines()
    shown = found._repr_html_()  # each line of the text once
    assert shown.count("no useful bound at") == str(found).count("no useful bound at") and shown.count(
        "<li>"
    ) == len(rest)
    real, alone = (epsilon_at(f.epsilon(1e-6), 1e-6) for f in (found, found.training_alone))
    assert first.startswith(real) and first.endswith(alone)
    assert all(any(separated(c) in line for line in rest) for c in found.conditions) and found.conditions
