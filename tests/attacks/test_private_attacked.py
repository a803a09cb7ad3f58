"""Pipelines that a stranger hands to `prepriv.private`: each is taken, with the same bits row by row, or refused in one sentence
before a charge."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import sklearn
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.cluster import KMeans
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import SelectFromModel, SelectKBest
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MinMaxScaler,
    OneHotEncoder,
    SplineTransformer,
    StandardScaler,
)

from prepriv import Categorical, Domain, Numeric
from prepriv.private_pipeline import reading
from transformers import rows_of

DOMAIN = Domain(
    {"a": Numeric(0, 10), "b": Categorical(["x", "y"]), "c": Numeric(-3, 3)}, classes=["no", "yes"], n=4000
)
HOT, NUMBERS = (OneHotEncoder(), ["b"]), ["a", "c"]


class Counts(TransformerMixin, BaseEstimator):
    """State in transform: the number of calls."""

    def fit(self, x, y=None):
        self.calls = 0
        return self

    def transform(self, x):
        self.calls += 1
        return x + self.calls


class Sub(StandardScaler):
    """Of a third party."""


class SubPipeline(Pipeline):
    """Of a third party."""


def on_numbers(*parts, hot=HOT, last=(), **options):
    first = make_column_transformer((make_pipeline(*parts), NUMBERS), hot, **options)
    return make_pipeline(first, *last, LogisticRegression())


def changed(**attributes):
    made = StandardScaler()
    for name, value in attributes.items():
        setattr(made, name, value)
    return made


SCALED = make_column_transformer((StandardScaler(), NUMBERS), HOT)
TAKEN = {
    "a parameter set after construction": on_numbers(changed(with_std=False)),
    "the inverse of a function": on_numbers(
        FunctionTransformer(np.cbrt, inverse_func=np.square), MinMaxScaler()
    ),
    "a pipeline at the end of one": make_pipeline(SCALED, make_pipeline(PCA(2), LogisticRegression())),
    "passthrough and None": Pipeline(
        [("x", "passthrough"), ("s", SCALED), ("n", None), ("m", LogisticRegression())]
    ),
    "a remainder": make_pipeline(
        make_column_transformer(HOT, remainder=StandardScaler()), LogisticRegression()
    ),
    "a remainder that passes": make_pipeline(
        make_column_transformer((StandardScaler(), ["a"]), HOT, remainder="passthrough"), LogisticRegression()
    ),
    "a column twice, and none": make_pipeline(
        make_column_transformer(
            (StandardScaler(), ["a"]), (MinMaxScaler(), ["a"]), (MinMaxScaler(), []), HOT
        ),
        LogisticRegression(),
    ),
    "places": make_pipeline(
        make_column_transformer((StandardScaler(), [0, -1]), (OneHotEncoder(), slice(1, 2))),
        LogisticRegression(),
    ),
    "a union with weights": make_pipeline(
        SCALED,
        FeatureUnion([("p", PCA(2)), ("i", "passthrough"), ("d", "drop")], transformer_weights={"p": 3.0}),
        LogisticRegression(),
    ),
    "random features": on_numbers(StandardScaler(), RBFSampler(n_components=20)),
    "clusters": on_numbers(StandardScaler(), KMeans(3, n_init=1)),
    "a category that drawn rows may lack": on_numbers(
        StandardScaler(), hot=(OneHotEncoder(drop=["y"]), ["b"]), last=(FunctionTransformer(),)
    ),  # after which it is dropped
    "pandas as output": on_numbers(
        StandardScaler(), hot=(OneHotEncoder(sparse_output=False), ["b"])
    ).set_output(transform="pandas"),
    "more columns asked for than there are": on_numbers(StandardScaler(), last=(SelectKBest(k=50),)),
}
REFUSED = {
    "a method replaced on the object": (
        on_numbers(changed(transform=lambda x: 0 * x)),
        "a method that was set by hand",
    ),
    "state in transform": (on_numbers(Counts()), "Counts is not a transformer of scikit-learn"),
    "a subclass": (on_numbers(Sub()), "Sub is not a transformer"),
    "a subclass of Pipeline": (
        SubPipeline([("s", SCALED), ("m", LogisticRegression())]),
        "SubPipeline is not",
    ),
    "a function": (on_numbers(FunctionTransformer(lambda x: x - x.mean())), "no form as plain data"),
    "a function of whole columns": (on_numbers(FunctionTransformer(np.cumsum)), "no form as plain data"),
    "a score of one's own": (
        on_numbers(MinMaxScaler(), last=(SelectKBest(lambda x, y: x.sum(0)),)),
        "score_func",
    ),
    "a source of random numbers": (
        on_numbers(RBFSampler(random_state=np.random.RandomState(0))),
        "random_state",
    ),
    "a cache inside": (
        make_pipeline(SCALED, Pipeline([("p", PCA(2)), ("m", LogisticRegression())], memory="x")),
        "memory=",
    ),
    "an end that is no estimator": (
        Pipeline([("s", SCALED), ("m", LogisticRegression()), ("p", "passthrough")]),
        "must end in",
    ),
    "a class": (Pipeline([("s", StandardScaler), ("m", LogisticRegression())]), "is not a transformer"),
    "a search": (GridSearchCV(make_pipeline(SCALED, LogisticRegression()), {}), "no private learner"),
    "settings chosen by records": (make_pipeline(SCALED, LogisticRegressionCV()), "take LogisticRegression"),
    "a fit that was made elsewhere": (
        on_numbers(StandardScaler(), last=(SelectFromModel(LogisticRegression(), prefit=True),)),
        "prefit",
    ),
    "a model with weights of classes": (
        on_numbers(
            StandardScaler(), last=(SelectFromModel(RandomForestClassifier(5, class_weight={0: 1, 1: 2})),)
        ),
        "class_weight",
    ),
    "a choice of columns by a function": (
        make_pipeline(
            make_column_transformer((StandardScaler(), lambda table: [0]), HOT), LogisticRegression()
        ),
        "by a function",
    ),
    "a giant width": (on_numbers(SplineTransformer(n_knots=3000)), "makes 6004 columns; at most 4096"),
    "words that pass": (
        make_pipeline(
            make_column_transformer((StandardScaler(), NUMBERS), remainder="passthrough"),
            LogisticRegression(),
        ),
        "a column of categories comes out",
    ),
    "listed categories without a rule for others": (
        on_numbers(StandardScaler(), hot=(OneHotEncoder(categories=[["x", "y"]]), ["b"])),
        "give handle_unknown='ignore'",
    ),
    "a weight that is no number": (
        make_pipeline(
            ColumnTransformer([("s", StandardScaler(), NUMBERS)], transformer_weights={"s": float("nan")}),
            LogisticRegression(),
        ),
        "transformer_weights must lie",
    ),
    "nothing kept": (
        make_pipeline(make_column_transformer(("drop", ["a", "b", "c"])), LogisticRegression()),
        "keeps no column",
    ),
    "not a pipeline": ("abc", "must end in an estimator"),
    "a function without a number for declared cells": (
        on_numbers(FunctionTransformer(np.log1p), MinMaxScaler()),
        "gives no number for",
    ),
    "the same at one end alone": (
        make_pipeline(
            make_column_transformer((FunctionTransformer(np.log), ["a"]), HOT), LogisticRegression()
        ),
        "gives no number for",
    ),
    "an estimator in the middle": (
        make_pipeline(SCALED, LogisticRegression(), LogisticRegression()),
        "LogisticRegression is not taken",
    ),
}


def step_of(pipeline):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return reading(pipeline, DOMAIN).ways.fitted


@pytest.mark.parametrize("name", TAKEN)
def test_what_is_taken_makes_the_same_bits_of_each_row(name):
    step = step_of(TAKEN[name])
    x, labels = rows_of(DOMAIN, 130, seed=3)
    made = step.free(DOMAIN.space) if step.way == "free" else step.fit_drawn(x, labels)
    whole = made.transform(x)
    assert np.isfinite(whole).all() and np.abs(whole).max() <= 1 and np.ptp(whole, axis=0).max() > 0
    for size in (1, 7, 64):
        for order in "CF":
            parts = [made.transform(np.array(x[i : i + size], order=order)) for i in range(0, len(x), size)]
            assert np.array_equal(np.vstack(parts), whole)


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_taken_is_one_sentence(name):
    pipeline, said = REFUSED[name]
    with pytest.raises(ValueError, match=said) as caught:
        reading(pipeline, DOMAIN)
    assert "\n" not in str(caught.value)


def test_what_a_program_sets_for_scikit_learn_changes_nothing():
    step = step_of(on_numbers(StandardScaler()))
    x, labels = rows_of(DOMAIN, 60)
    plain = step.fit_drawn(x, labels).ops
    with sklearn.config_context(transform_output="pandas", enable_metadata_routing=True):
        assert step_of(on_numbers(StandardScaler())) == step and step.fit_drawn(x, labels).ops == plain
