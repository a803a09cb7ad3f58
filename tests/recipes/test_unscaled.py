"""A list of steps without a scaler is spoken of before it is charged; what makes rows even is not."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.compose import make_column_transformer
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MinMaxScaler,
    OneHotEncoder,
    StandardScaler,
)

import prepriv
from prepriv import preprocessing as pre

SCALER = pre.StandardScaler(payment=prepriv.Budget(0.05))
CENTER = pre.Center(payment=prepriv.Budget(0.05))
BOX = prepriv.Domain.box(0, 1, features=3, classes=[0, 1], n=1500)
NUMBER = prepriv.Domain({"a": prepriv.Numeric(0, 1)}, target=prepriv.Numeric(0, 9), n=1500)
WORDS = prepriv.Domain({"a": prepriv.Categorical(["u", "v"])}, classes=[0, 1], n=1500)
WIDE = prepriv.Domain.box(0, 1, features=61, classes=[0, 1], n=1500)


def said(domain: prepriv.Domain, steps: object, epsilon: float = 1.0, **more: object) -> list[str]:
    """What its plan warns of, about a scaler."""
    kind = prepriv.PrivateClassifier if domain.target is None else prepriv.PrivateRegressor
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        kind(domain, epsilon=epsilon, delta=1e-6, steps=steps, **more).plan()
    return [str(w.message) for w in caught if "No step of the list scales" in str(w.message)]


@pytest.mark.parametrize("steps", [[], [CENTER], [pre.Normalize()], (pre.ClipNorm(1.0),)])
def test_a_list_without_a_scaler_is_spoken_of_with_what_was_measured(steps):
    (of_classes,) = said(BOX, steps)
    assert (
        "Of 96 fits" in of_classes
        and "below the recipe in 93" in of_classes
        and "StandardScaler" in of_classes
    )
    (of_number,) = said(NUMBER, steps)
    assert "Of 87 fits" in of_number and "R²" in of_number and "lowered it in 9" in of_number


@pytest.mark.parametrize(
    "steps",
    [
        [SCALER],
        [CENTER, SCALER],
        [pre.MinMaxScaler(payment=prepriv.Budget(0.05))],
        "auto",
        "linear",
        [pre.ClipNorm(1.0), "linear"],
    ],
)
def test_a_scaler_or_a_recipe_is_enough(steps):
    assert said(BOX, steps) == []


def test_what_was_not_measured_is_not_spoken_of():
    from prepriv.learners import GradientDescent, Logistic

    assert said(WORDS, [CENTER]) == [] and said(WIDE, [CENTER]) == []
    assert said(BOX, [CENTER], epsilon=np.inf) == []  # nothing is private
    assert said(BOX, [CENTER], learner=GradientDescent(Logistic())) == []  # a learner of one's own


def test_the_named_cure_cures():
    rng = np.random.default_rng(5)
    x = rng.normal([500, 2, 0.1], [20, 0.1, 0.02], size=(3000, 3))
    y = (x @ [0.05, 10, 50] > 50).astype(int)
    domain = prepriv.Domain(
        {"a": prepriv.Numeric(0, 1000), "b": prepriv.Numeric(0, 10), "c": prepriv.Numeric(0, 1)},
        classes=[0, 1],
    )

    def right(steps):
        clf = prepriv.PrivateClassifier(domain, epsilon=2, delta=1e-6, steps=steps)
        return (clf.fit(x[:1500], y[:1500]).predict(x[1500:]) == y[1500:]).mean()

    most = max(y[1500:].mean(), 1 - y[1500:].mean())
    assert right([CENTER, SCALER]) > most + 0.15 > right([CENTER]) + 0.05


def test_a_command_warns_in_a_line_without_a_place_in_the_program(tmp_path, capsys):
    from prepriv.cli import run

    (tmp_path / "s.yaml").write_text(
        "rows: 1500\nlabel: {name: y, classes: ['0', '1']}\ncolumns: {a: {type: numeric, low: 0, high: 1}}\nsteps: [{step: Center, pay: budget, share: 0.02}]\n"
    )
    assert run(["plan", str(tmp_path / "s.yaml"), "--epsilon", "1"]) == 0
    lines = capsys.readouterr().err.splitlines()
    assert [line[:40] for line in lines] == ["WARNING: No step of the list scales numb"]


def test_a_pipeline_without_a_scaler_is_spoken_of():
    table = prepriv.Domain({"a": prepriv.Numeric(0, 1, "impute"), "b": prepriv.Numeric(0, 9)}, [0, 1], n=1500)

    def warned(*steps, domain=table, epsilon=1.0):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            prepriv.private(make_pipeline(*steps), domain, epsilon=epsilon).plan()
        return [str(w.message) for w in caught if "does not scale its numbers" in str(w.message)]

    (told,) = warned(SimpleImputer(), LogisticRegression())
    assert "Of 34 fits" in told and "in 15 and lower in 2" in told and "StandardScaler()" in told
    assert warned(FunctionTransformer(), LogisticRegression()) == [told]
    for scaler in (StandardScaler(), MinMaxScaler(), KBinsDiscretizer(4)):
        assert warned(SimpleImputer(), scaler, LogisticRegression()) == []
    assert warned(SimpleImputer(), LogisticRegression(), epsilon=np.inf) == []
    assert warned(OneHotEncoder(), LogisticRegression(), domain=WORDS) == []
    assert warned(FunctionTransformer(), Ridge(), domain=NUMBER) == []


@pytest.mark.parametrize("way", ["budget", "sketch", "auto"])
def test_gaps_that_no_step_fills_are_spoken_of(way):
    """They became the middle of the bounds without a word."""

    def warned(gaps, *steps, **more):
        kinds = {"a": prepriv.Numeric(0, 1, gaps), "b": prepriv.Numeric(0, 9)}
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            table = prepriv.Domain(kinds, [0, 1], n=1500)
            prepriv.private(
                make_pipeline(*steps, LogisticRegression()), table, epsilon=1.0, way=way, **more
            ).plan()
        return [str(w.message) for w in caught if "the middle of the declared bounds" in str(w.message)]

    (told,) = warned("impute", StandardScaler())
    assert "SimpleImputer()" in told and "missing='midpoint'" in told
    assert warned("midpoint", StandardScaler()) == []
    assert warned("impute", SimpleImputer(), StandardScaler()) == []
    if way == "budget":
        return
    for filled in (
        SimpleImputer(add_indicator=True),
        SimpleImputer(strategy="most_frequent"),
        KNNImputer(),
        make_pipeline(SimpleImputer(add_indicator=True), StandardScaler()),
        make_column_transformer((SimpleImputer(add_indicator=True), ["a"]), remainder="passthrough"),
    ):  # no private fit fills so, and a sketch does
        assert warned("impute", filled) == warned("midpoint", filled) == []
