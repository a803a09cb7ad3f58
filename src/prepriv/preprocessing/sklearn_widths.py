"""How many columns a pipeline of scikit-learn can make at most, whatever it is fitted on: declared before anything is read.
Where it is used: docs/proofs/fitted.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import comb
from typing import Any

from prepriv.preprocessing.compile_sklearn import MOST_FEATURES

Widths = list[int | None]
"""Of the columns that reach a transformer: how many values one of categories has, None for a number."""


def most_columns(spec: Mapping[str, Any], columns: Widths, classes: int) -> Widths:
    """The columns after a pipeline as plain data, none left out. classes: of the label; 1 for a number."""
    name = str(spec["kind"]).rpartition(".")[2]
    if name == "Pipeline":
        for part in spec["steps"]:
            columns = most_columns(part, columns, classes)
        return columns
    if name in ("ColumnTransformer", "FeatureUnion"):
        return _beside(spec, columns, classes)
    made = _MADE.get(name)
    return columns if made is None else made(spec["params"], columns, classes)


def _beside(spec: Mapping[str, Any], columns: Widths, classes: int) -> Widths:
    every, found = list(range(len(columns))), Widths()
    parts = [(p["part"], p.get("of", every)) for p in spec["parts"]]
    if "remainder" in spec:
        taken = {i for _, of in parts for i in of}
        parts.append((spec["remainder"], [i for i in every if i not in taken]))
    for part, of in parts:
        own = [columns[i] for i in of if i < len(columns)]
        if part == "drop" or not own:
            continue
        found += own if part == "passthrough" else most_columns(part, own, classes)
    return found


Params = Mapping[str, Any]


def _numbers(count: int) -> Widths:
    if count > MOST_FEATURES:
        raise ValueError(f"the pipeline can make {count} columns; at most {MOST_FEATURES} are compiled")
    return [None] * count


def _one_hot(p: Params, columns: Widths, classes: int) -> Widths:
    return _numbers(sum(columns_values + 1 for columns_values in columns if columns_values is not None))


def _target(p: Params, columns: Widths, classes: int) -> Widths:
    return _numbers(len(columns) * (classes if classes > 2 else 1))


def _imputer(p: Params, columns: Widths, classes: int) -> Widths:
    own: Widths = [None if c is None else c + 1 for c in columns]  # a value to fill in may be a new one
    return own + (_numbers(len(columns)) if p["add_indicator"] else [])


def _components(key: str) -> Any:
    def made(p: Params, columns: Widths, classes: int) -> Widths:
        asked = p[key]
        whole = isinstance(asked, int) and not isinstance(asked, bool)
        return _numbers(asked if whole else len(columns))

    return made


def _kept(key: str) -> Any:
    def made(p: Params, columns: Widths, classes: int) -> Widths:
        asked = p[key]
        whole = isinstance(asked, int) and not isinstance(asked, bool)
        return columns[:asked] if whole and all(c is None for c in columns) else columns

    return made


def _bins(p: Params, columns: Widths, classes: int) -> Widths:
    each: Sequence[int] = p["n_bins"] if isinstance(p["n_bins"], list) else [p["n_bins"]] * len(columns)
    return _numbers(len(columns) if p["encode"] == "ordinal" else sum(each))


def _splines(p: Params, columns: Widths, classes: int) -> Widths:
    knots = p["n_knots"] if not isinstance(p["knots"], list) else len(p["knots"])
    return _numbers(len(columns) * (knots + p["degree"] - 1))


def _polynomials(p: Params, columns: Widths, classes: int) -> Widths:
    degree, d = p["degree"], len(columns)
    high = degree[1] if isinstance(degree, list | tuple) else degree
    if isinstance(degree, dict):
        high = degree["tuple"][1]
    return _numbers(sum(comb(d + k - 1, k) for k in range(high + 1)))


def _few_classes(p: Params, columns: Widths, classes: int) -> Widths:
    return _numbers(min(len(columns), max(classes - 1, 1)))


_MADE: Mapping[str, Any] = {
    "BisectingKMeans": _components("n_clusters"),
    "CCA": _components("n_components"),
    "NeighborhoodComponentsAnalysis": _components("n_components"),
    "PLSCanonical": _components("n_components"),
    "PLSSVD": _components("n_components"),
    "FactorAnalysis": _components("n_components"),
    "FastICA": _components("n_components"),
    "GaussianRandomProjection": _components("n_components"),
    "IncrementalPCA": _components("n_components"),
    "IterativeImputer": _imputer,
    "KBinsDiscretizer": _bins,
    "KNNImputer": _imputer,
    "KMeans": _components("n_clusters"),
    "LinearDiscriminantAnalysis": _few_classes,
    "MiniBatchKMeans": _components("n_clusters"),
    "MiniBatchSparsePCA": _components("n_components"),
    "NMF": _components("n_components"),
    "Nystroem": _components("n_components"),
    "OneHotEncoder": _one_hot,
    "OrdinalEncoder": lambda p, columns, classes: _numbers(len(columns)),
    "PCA": _components("n_components"),
    "PLSRegression": _components("n_components"),
    "PolynomialFeatures": _polynomials,
    "RBFSampler": _components("n_components"),
    "SelectKBest": _kept("k"),
    "SimpleImputer": _imputer,
    "SparsePCA": _components("n_components"),
    "SparseRandomProjection": _components("n_components"),
    "SplineTransformer": _splines,
    "TargetEncoder": _target,
    "TruncatedSVD": _components("n_components"),
}
