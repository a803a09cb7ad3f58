"""docs/scikit-learn.md: every line of it runs, one block after the other, and what it prints is what its comments say."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier, StackingClassifier, VotingClassifier
from sklearn.feature_selection import RFE, SelectFromModel
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    KFold,
    TunedThresholdClassifierCV,
    cross_val_predict,
    cross_val_score,
    cross_validate,
    learning_curve,
)
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier, OutputCodeClassifier
from sklearn.multioutput import MultiOutputClassifier

from prepriv import Domain, Numeric, PrivateRegressor

PAGE = (Path(__file__).parents[1] / "docs" / "scikit-learn.md").read_text(encoding="utf-8")
DECLARED = "Numeric(0, np.log1p(60))"
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.S)


@pytest.mark.filterwarnings("ignore")
def test_every_line_runs_and_prints_what_it_says(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in BLOCKS:
        exec(compile(block, "scikit-learn.md", "exec"), names)
    out = capsys.readouterr().out
    assert re.search(
        r"the plan costs epsilon 1, delta 0\.00001, and epsilon 0\.000\d*, delta 0\.00007 is left",
        out,
    ), out
    assert re.search(r"the plan costs mu\^2 0\.\d+, and mu\^2 0\.\d+ is left", out)
    for said in (
        "train: Center (budget), GradientDescent",
        "row 1 is not a row of 2 cells, which the model reads",
        "sample_weight",
        "private runs in this process",
    ):
        assert said in out


@pytest.mark.filterwarnings("ignore")
def test_the_bounds_of_a_transformed_target_are_those_after_the_function():
    """With those of the raw target, noise is that of 60 where the target reaches 4.1: a newcomer had R² of -1.6."""
    rng = np.random.default_rng(0)
    X = rng.random((400, 2))
    y = np.minimum(60, np.expm1(2 * X[:, 0] + 0.4 * rng.normal(size=400)).clip(0))
    assert f"`{DECLARED}`" in PAGE

    def r2(target):
        reg = PrivateRegressor(Domain.box(0, 1, features=2, target=target), threads=1)
        model = TransformedTargetRegressor(reg, func=np.log1p, inverse_func=np.expm1)
        return np.mean([model.fit(X, y).score(X, y) for _ in range(5)])

    assert r2(eval(DECLARED)) > 0.5 > 0.45 > r2(Numeric(0, 60))


def test_each_tool_of_the_table_has_its_words():
    for tool in (
        "Pipeline",
        "cross_val_score",
        "GridSearchCV",
        "CalibratedClassifierCV",
        "SMOTE",
        "TunedThresholdClassifierCV",
        "TransformedTargetRegressor",
        "StratifiedKFold",
    ):
        assert tool in PAGE
    (tuned,) = (line for line in PAGE.splitlines() if line.startswith("| `TunedThresholdClassifierCV`"))
    assert "private scores" in tuned and "evaluate" in tuned
    assert len(BLOCKS) >= 10 and "```\n\n```" not in PAGE


class Seen(ClassifierMixin, BaseEstimator):
    """Keeps the labels that its fits are given."""

    labels: set = set()  # noqa: RUF012 read after a fit

    def __init__(self, a=1):
        self.a = a

    def fit(self, X, y, sample_weight=None):
        Seen.labels |= set(np.unique(y).tolist())
        self.classes_, self.coef_ = np.unique(y), np.ones((1, X.shape[1]))
        return self

    def predict(self, X):
        return np.where(np.asarray(X)[:, 0] > 0.5, self.classes_[-1], self.classes_[0])

    def predict_proba(self, X):
        share = np.asarray(X)[:, :1]
        return np.hstack([1 - share, share])


X, FOLDS = np.random.default_rng(0).random((60, 3)), KFold(3)
WORDS = np.where(X[:, 0] > 0.5, "good", "bad")
ENCODE = {
    "cross_val_predict": lambda: cross_val_predict(Seen(), X, WORDS, cv=FOLDS, method="predict_proba"),
    "VotingClassifier": lambda: VotingClassifier([("a", Seen())]).fit(X, WORDS),
    "StackingClassifier": lambda: StackingClassifier([("a", Seen())], cv=FOLDS).fit(X, WORDS),
    "BaggingClassifier": lambda: BaggingClassifier(Seen(), 2).fit(X, WORDS),
    "OneVsRestClassifier": lambda: OneVsRestClassifier(Seen()).fit(X, WORDS),
    "OneVsOneClassifier": lambda: OneVsOneClassifier(Seen()).fit(X, WORDS),
    "OutputCodeClassifier": lambda: OutputCodeClassifier(Seen(), code_size=4, random_state=0).fit(X, WORDS),
}
AS_GIVEN = {
    "cross_val_score": lambda: cross_val_score(Seen(), X, WORDS, cv=FOLDS),
    "cross_validate": lambda: cross_validate(Seen(), X, WORDS, cv=FOLDS),
    "cross_val_predict": lambda: cross_val_predict(Seen(), X, WORDS, cv=FOLDS),
    "learning_curve": lambda: learning_curve(Seen(), X, WORDS, cv=FOLDS),
    "GridSearchCV": lambda: GridSearchCV(Seen(), {"a": [1]}, cv=FOLDS).fit(X, WORDS),
    "CalibratedClassifierCV": lambda: CalibratedClassifierCV(Seen(), cv=FOLDS).fit(X, WORDS),
    "TunedThresholdClassifierCV": lambda: TunedThresholdClassifierCV(Seen(), cv=FOLDS).fit(X, WORDS),
    "FixedThresholdClassifier": lambda: FixedThresholdClassifier(Seen()).fit(X, WORDS),
    "MultiOutputClassifier": lambda: MultiOutputClassifier(Seen()).fit(X, np.c_[WORDS, WORDS]),
    "SelectFromModel": lambda: SelectFromModel(Seen()).fit(X, WORDS),
    "AdaBoostClassifier": lambda: AdaBoostClassifier(Seen(), n_estimators=1).fit(X, WORDS),
    "RFE": lambda: RFE(Seen(), n_features_to_select=2).fit(X, WORDS),
}


@pytest.mark.parametrize("name", [*ENCODE, *(f"{name}, as given" for name in AS_GIVEN)])
def test_the_page_says_which_tools_encode_the_labels(name):
    """With words as classes no label of such a tool is a declared class, and its fits learn from noise."""
    tool, _, given = name.partition(", ")
    Seen.labels = set()
    (AS_GIVEN if given else ENCODE)[tool]()
    assert Seen.labels == {"bad", "good"} if given else Seen.labels and not Seen.labels & {"bad", "good"}
    rows = [
        line.split("|") for line in PAGE.partition("## Tools that encode y")[2].splitlines() if "|" in line
    ]
    says = [row[2] for row in rows if f"`{tool}`" in row[1]]
    assert any("as given" in said for said in says) if given else any("as given" not in s for s in says)
