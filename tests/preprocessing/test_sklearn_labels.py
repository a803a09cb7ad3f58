"""Transformers that scikit-learn lets guess from labels read the label that the domain declares, and nothing is charged before they do."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.feature_selection import (
    RFE,
    RFECV,
    GenericUnivariateSelect,
    SelectFdr,
    SelectFpr,
    SelectFromModel,
    SelectFwe,
    SelectKBest,
    SelectPercentile,
    SequentialFeatureSelector,
    chi2,
    f_classif,
    f_regression,
    mutual_info_classif,
)
from sklearn.linear_model import Lasso, LogisticRegression, Ridge, RidgeClassifier
from sklearn.neighbors import NeighborhoodComponentsAnalysis
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler, TargetEncoder

import prepriv
from prepriv import Categorical, Domain, Numeric
from prepriv.ledger import Ledger
from prepriv.preprocessing import Fitted
from prepriv.private_pipeline import reading

TEN = Domain.box(-1, 1, features=10, target=Numeric(-4, 4))
OF_CLASSES = {
    "f_regression": [
        SelectKBest(k=2),
        SelectKBest(f_classif, k=2),
        SelectPercentile(chi2),
        SelectFpr(),
        SelectFdr(),
        SelectFwe(),
        FeatureUnion([("a", StandardScaler()), ("b", make_pipeline(StandardScaler(), SelectKBest(k=2)))]),
    ],
    "mutual_info_regression": [GenericUnivariateSelect(mutual_info_classif)],
    "Ridge": [
        SelectFromModel(LogisticRegression()),
        RFE(LogisticRegression()),
        RFECV(RidgeClassifier()),
        SequentialFeatureSelector(LogisticRegression()),
    ],
    "PLSRegression": [LinearDiscriminantAnalysis(), NeighborhoodComponentsAnalysis(2)],
}


@pytest.mark.parametrize(
    ("instead", "part"),
    [(instead, part) for instead, parts in OF_CLASSES.items() for part in parts],
    ids=lambda v: v if isinstance(v, str) else type(v).__name__,
)
def test_what_reads_classes_is_refused_before_a_numeric_target(instead, part):
    with pytest.raises(ValueError, match="numeric target") as told:
        prepriv.private(make_pipeline(StandardScaler(), part, Ridge()), TEN)
    assert instead in str(told.value)
    of_classes = Domain.box(0, 1, features=10, classes=["a", "b", "c"])
    if instead not in ("PLSRegression", "Ridge"):
        assert Fitted.of(part, of_classes).reads_labels


@pytest.mark.parametrize("part", [SelectFromModel(Lasso(1e-6)), RFE(Ridge()), SelectKBest(f_regression, k=2)])
def test_what_reads_a_number_is_taken(part):
    assert Fitted.of(part, TEN).reads_labels


def test_the_type_of_a_target_encoder_is_that_of_the_domain():
    columns = {"sex": Categorical(["f", "m"])}
    numeric = Domain(columns, target=Numeric(0, 80))
    assert Fitted.of(TargetEncoder(), numeric).settings == ("TargetEncoder(target_type='continuous')",)
    for asked, domain, own in (
        ("binary", numeric, "continuous"),
        ("multiclass", numeric, "continuous"),
        ("binary", Domain(columns, ["a", "b", "c"]), "multiclass"),
        ("continuous", Domain(columns, ["a", "b", "c"]), "multiclass"),
        ("multiclass", Domain(columns, ["a", "b"]), "binary"),
    ):
        with pytest.raises(ValueError, match=f"write target_type='{own}'"):
            Fitted.of(TargetEncoder(target_type=asked), domain)
    for_classes = Fitted.of(TargetEncoder(), Domain(columns, ["a", "b"]))
    with pytest.raises(ValueError, match="made for classes"):
        for_classes.check_place(numeric, first=True)


def test_a_target_encoder_in_a_regression_finds_two_categories_and_refuses_more(tmp_path):
    rng = np.random.default_rng(0)
    sex, place, age = rng.integers(0, 2, 4000), rng.integers(0, 4, 4000), rng.uniform(18, 70, 4000)
    table = pd.DataFrame(
        {"sex": np.array(["f", "m"])[sex], "place": np.array(list("abcd"))[place], "age": age}
    )
    y = np.clip(20 + 25 * sex + 0.2 * age + rng.normal(0, 3, 4000), 0, 80)
    columns = {
        "sex": Categorical(["f", "m"]),
        "place": Categorical(list("abcd")),
        "age": Numeric(18, 70),
    }
    domain = Domain(columns, target=Numeric(0, 80))
    Ledger.create(tmp_path / "L.db", dataset_id="people", epsilon=5, delta=1e-4)
    for names in (["sex"], ["sex", "place"]):
        parts = make_column_transformer((TargetEncoder(), names), (StandardScaler(), ["age"]))
        if "place" not in names:
            made = prepriv.private(make_pipeline(parts, Ridge()), domain, ledger=tmp_path / "L.db").fit(
                table, y
            )
            assert made.score(table, y) > 0.8 and len(made.model_.weights) == 3
            continue
        with pytest.raises(ValueError, match="OneHotEncoder"):
            prepriv.private(make_pipeline(parts, Ridge()), domain, ledger=tmp_path / "L.db")
    assert len(Ledger.open(tmp_path / "L.db").entries()) == 1


def test_a_selection_by_a_numeric_target_sees_how_columns_go_with_it():
    rng = np.random.default_rng(1)
    x = rng.uniform(-1, 1, (20000, 10))
    y = 2 * x[:, 7] + 0.3 * rng.normal(size=20000)
    pipeline = make_pipeline(SelectKBest(f_regression, k=1), Ridge())
    made = prepriv.private(pipeline, TEN, epsilon=2.0)
    placed = made.plan(20000).steps[0]
    assert placed.sketch.paired and "pairs" in placed.sketch.mechanisms
    assert made.fit(x, y).score(x, y) > 0.8


def test_what_a_sketch_keeps_of_categories_beside_a_target_is_said():
    domain = Domain({"c": Categorical(list("abc")), "x": Numeric(0, 1)}, target=Numeric(0, 1), n=5000)
    hot = make_column_transformer((OneHotEncoder(), ["c"]), (StandardScaler(), ["x"]))
    chosen = make_pipeline(hot, SelectKBest(f_regression, k=2), Ridge())
    assert any("c is related to the target" in said for said in reading(chosen, domain).says)
    assert not any("related" in said for said in reading(make_pipeline(hot, Ridge()), domain).says)
    alone = make_pipeline(make_column_transformer((SelectKBest(f_regression, k=1), ["x"])), Ridge())
    assert not any("related" in said for said in reading(alone, domain).says)
