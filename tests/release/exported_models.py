"""Models of every kind that can leave: each released map, column, learner and link. For the ways out of this library."""

from __future__ import annotations

import functools
from dataclasses import replace

import numpy as np
import pandas as pd

from prepriv import Budget, Categorical, Domain, Numeric, PrivateClassifier, PrivateRegressor, Text
from prepriv import preprocessing as pre
from prepriv.preprocessing._cells import Cells
from prepriv.preprocessing.augment_by_distance import Augment
from prepriv.preprocessing.base import Identity
from prepriv.preprocessing.bins import BinCodes
from prepriv.preprocessing.center import Subtract
from prepriv.preprocessing.class_counts import CountedClasses
from prepriv.preprocessing.encode import ClipMap, OneHotMap
from prepriv.preprocessing.homogenize import HomogeneousRows
from prepriv.preprocessing.impute_caps import FillReleased
from prepriv.preprocessing.impute_regression import Frame, RegressionReleased
from prepriv.preprocessing.normalize import Multiply, ScaleRows
from prepriv.preprocessing.pca import Project
from prepriv.preprocessing.quantile_transform import Ranks
from prepriv.preprocessing.random_features import AddRandomFeatures
from prepriv.preprocessing.root_columns import Roots
from prepriv.preprocessing.scale_map import Affine, ScaleReleased
from prepriv.preprocessing.square_root import SignedRoot

_A = np.array
MAPS = {
    "identity": Identity(),
    "class_counts": CountedClasses(_A([3.0, 40.0])),
    "signed_root": SignedRoot(),
    "roots": Roots(_A([0.0, 0.5, 4.0, 1e6])),
    "augment": Augment(0.8),
    "scale_rows": ScaleRows(1.5, 0.2),
    "homogeneous_rows": HomogeneousRows(0.7, 2.0, 0.9),
    "multiply": Multiply(0.37),
    "random_features": AddRandomFeatures(40, 1.0, 1.2, 16),
    "subtract": Subtract(_A([0.1, -0.2, 0.3, 0.4])),
    "fill": FillReleased(_A([0.1, 0.2, 0.3, 0.4])),
    "fill_regression": RegressionReleased(
        Frame(_A([1, 3]), _A([0, 2]), _A([0.5, 0.4]), 0.6, _A([0.5, 0.5]), _A([0.5, 0.4])),
        _A([[0.3, -2.0, 0.1], [1.0, 0.2, 0.9]]),
    ),
    "project": Project.onto(np.linalg.qr(np.arange(8.0).reshape(4, 2) ** 2 + 1)[0]),
    "ranks": Ranks(_A([1, 2]), _A([[0.1, 0.2, 0.2, 0.9], [0.0, 0.5, 0.5, 1.0]])),
    "scale": ScaleReleased(Affine(_A([0.5] * 4), _A([3.0, 0.1, 1.0, 9.0]), _A([-1.0] * 4), _A([1.0] * 4), 1.3)),
    "clip_features": ClipMap(_A([0.2] * 4), _A([0.7] * 4)),
    "one_hot": OneHotMap(_A([2, 0]), _A([3, 2]), _A([0.0, 0.0]), _A([1.0, 1.0])),
    "bins": BinCodes(_A([2, 0]), _A([3, 2]), _A([0.2, 0.5, 0.5, 0.125, 0.8]), _A([0, 1]), 0.7),
    "cells": Cells(0.25, 0.05, _A([0.0] * 4), _A([1.0] * 4), 1.5),
}  # fmt: skip
GAPS = {"bins", "fill", "fill_regression", "one_hot", "clip_features"}


@functools.cache
def plain():
    """A fitted model over four columns, whose maps `with_map` replaces."""
    x = np.random.default_rng(3).random((300, 4))
    domain = Domain({f"x{j}": Numeric(0, 1, "impute") for j in range(4)}, ("a", "b"))
    steps = [pre.ConstantImputer(0.5), pre.Normalize(1.0)]
    return PrivateClassifier(domain, steps=steps).fit(x, np.where(x[:, 0] > 0.5, "a", "b")).model_


def with_map(kind):
    """(model with that one map, rows)."""
    rng, released = np.random.default_rng(5), MAPS[kind]
    x = rng.random((70, 4))
    x[:5] = [[0, 0, 0, 0], [1, 1, 1, 1], [0.2, 0.2, 0.5, 0.5], [0.5, 0.1, 0.125, 0.625], [1e-300, 0, 0, 0]]
    if kind in GAPS:
        x[::3, 0] = np.nan
    d = released.transform(x).shape[1]
    last = (FillReleased(np.zeros(d)),) if kind == "clip_features" else ()
    return replace(plain(), maps=(released, *last), weights=rng.normal(size=(d + 1, 1))), x


def _table(n, texts):
    rng = np.random.default_rng(7)
    words = ["", "Hello, world", "grüße dich", "1.0", "free PRIZE!! call 08001 now now", "a", "?"]
    work = ["private", " state", 1.0, "1", "2.50", "other", "?", None, "NA", "true"]
    table = {
        "age": rng.choice([17.5, 90, 200, np.nan, -4, np.inf], n),
        "hours": rng.choice(_A([1, "40", " 7 ", None, "many"], dtype=object), n),
        "work": rng.choice(_A(work, dtype=object), n),
    }
    if texts:
        table["note"] = rng.choice(_A(words, dtype=object), n)
    return pd.DataFrame(table), rng.choice(["x", "y", "z"], n)


@functools.cache
def fitted(case):
    """(model, rows that were not all seen) of a kind of model."""
    rng = np.random.default_rng(9)
    if case in ("table", "texts"):
        columns = {"age": Numeric(17, 90, "impute"), "hours": Numeric(-3, 100)}
        columns |= {"work": Categorical(("private", "state", 1, 2.5, "nan"))}
        columns |= {"note": Text(64)} if case == "texts" else {}
        table, y = _table(400, case == "texts")
        return PrivateClassifier(Domain(columns, ("x", "y", "z")), epsilon=20.0).fit(table, y).model_, table
    x = rng.normal(size=(300, 64 if case == "images" else 5))
    y = (x[:, 0] > 0).astype(int)
    if case == "images":
        x = np.abs(x) * 60
        model = PrivateClassifier(Domain.images(8, 8, 1, range(3)), epsilon=8.0).fit(x, y).model_
    elif case == "target":
        domain = Domain.box(-4, 4, 5, target=Numeric(-2, 3))
        model = PrivateRegressor(domain, epsilon=8.0).fit(x, x[:, 1]).model_
    elif case in ("linear", "flat"):
        steps = [pre.Center(payment=Budget(0.1)), pre.PCA(3, payment=Budget(0.1)), pre.Rescale(1.0)]
        model = PrivateClassifier(Domain.box(-4, 4, 5, [0, 1]), epsilon=8.0, steps=steps).fit(x, y).model_
        model = model.flattened() if case == "flat" else model
    else:
        domain = Domain.ball(5, [0, 1] if case == "ball" else range(6))
        weight = {3: 9.0} if case == "weights" else None
        model = PrivateClassifier(domain, epsilon=8.0, class_weight=weight).fit(x, y).model_
    x[0] = x[0] * 100
    return model, x


CASES = ("table", "texts", "images", "target", "linear", "flat", "ball", "many classes", "weights")
