"""The refusals that remain: a line each in docs/your-pipeline.md, as the code has them."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
import sklearn.experimental.enable_iterative_imputer
from sklearn.base import BaseEstimator
from sklearn.utils import all_estimators

import prepriv
from prepriv.preprocessing import Center, Fitted
from prepriv.preprocessing.compile_sklearn import taken
from prepriv.preprocessing.sklearn_not_taken import NOT_TAKEN
from prepriv.preprocessing.sklearn_spec import CONTAINERS
from prepriv.private_pipeline import reading

PAGE = (Path(prepriv.__file__).parents[2] / "docs" / "your-pipeline.md").read_text(encoding="utf-8")
ROWS = [
    [cell.strip() for cell in line.strip("|").split(" | ")]
    for line in PAGE.partition("### What is not taken")[2].partition("\n### ")[0].splitlines()
    if line.startswith("| ") and not line.startswith("| part")
]
SETTINGS = [row for row in ROWS if row[0].startswith("`")]
NAMES = {name: kind for name, kind in all_estimators()}
BOX = prepriv.Domain.box(0, 1, features=3, classes=[0, 1])
MIXED = prepriv.Domain(
    {"a": prepriv.Numeric(0, 1), "b": prepriv.Numeric(0, 2), "c": prepriv.Categorical(["x"])},
    classes=[0, 1],
    n=100,
)


def test_every_transformer_of_scikit_learn_is_taken_or_has_a_reason():
    assert sklearn.experimental is not None
    every = {name for name, _ in all_estimators(type_filter="transformer")}
    assert every == (set(taken()) | set(CONTAINERS) | set(NOT_TAKEN)) & every
    assert not set(taken()) & set(NOT_TAKEN)


def test_the_page_lists_them_as_the_code_has_them():
    listed = {row[0]: tuple(row[1:]) for row in ROWS if row not in SETTINGS}
    assert listed == NOT_TAKEN


@pytest.mark.parametrize("name", [n for n in NOT_TAKEN if n in NAMES])
def test_each_is_refused_with_its_line(name):
    made = object.__new__(NAMES[name])
    for domain in (prepriv.Domain.box(0, 1, features=2, classes=[0, 1]),):
        with pytest.raises(ValueError, match=f"{name} is not taken: .*; "):
            Fitted.of(made, domain)


class MyScaler(BaseEstimator):
    def fit(self, x, y=None):
        return self

    def transform(self, x):
        return x


@pytest.mark.parametrize("row", SETTINGS, ids=lambda row: re.sub(r"\W+", " ", row[0]))
def test_each_setting_on_the_page_is_refused(row):
    code, names = (
        row[0].strip("`"),
        {**NAMES, "np": np, "MyScaler": MyScaler, "YourStep": Center, "Budget": prepriv.Budget},
    )
    last = names["LogisticRegression"]()
    made = eval(code, names)
    ends = hasattr(made, "predict")
    pipeline = names["Pipeline"](
        [("a", names["StandardScaler"]()), ("m", made)] if ends else [("a", made), ("m", last)]
    )
    numbers = prepriv.Domain(dict(list(MIXED.columns.items())[:2]), classes=[0, 1], n=100)
    for domain in (numbers, MIXED):
        with pytest.raises(ValueError) as told:
            reading(pipeline, domain)
        if made.__class__ in (MyScaler, Center) or ("lambda" in code and "Function" in code):
            assert "docs/your-pipeline.md" in str(
                told.value
            )  # code of your own: the page has what to write instead


def test_what_the_page_writes_for_a_step_of_your_own_can_be_planned():
    kept = Fitted.of(NAMES["PCA"](1), BOX, payment=prepriv.Sketch())
    own = Center(payment=prepriv.Budget(0.05))
    made = prepriv.PrivateClassifier(BOX, steps=[kept, own]).plan(9000)
    assert [planned.step.name for planned in made.steps] == ["Fitted", "Center"]
    rule = prepriv.private(
        NAMES["Pipeline"]([("a", NAMES["PCA"](1)), ("m", NAMES["LogisticRegression"]())]), BOX
    )
    with pytest.raises(ValueError, match=r"stands alone.*Fitted\.of"):
        prepriv.PrivateClassifier(rule.domain, steps=[rule.steps, own]).plan(9000)
