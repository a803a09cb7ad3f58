"""A pipeline of scikit-learn as plain data and back: the classes of scikit-learn itself and their parameters, nothing else.

What is rebuilt from plain data has no state, no subclass, no output setting and no code of a third party. Proof: docs/proofs/fitted.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from prepriv._arguments import number
from prepriv.columns import Column
from prepriv.preprocessing.base import Step
from prepriv.preprocessing.sklearn_not_taken import NOT_TAKEN
from prepriv.preprocessing.sklearn_places import check_selectors, mask_of, places_of

_SCALER = "StandardScaler(payment=Budget(0.05))"
_LISTED = "A list takes the place of the recipe, so without a scaler at its end nothing brings the rows to the length that the learner needs"
_NOT_TAKEN = "docs/your-pipeline.md, What is not taken"
CONTAINERS = ("Pipeline", "ColumnTransformer", "FeatureUnion")
_IGNORED = ("verbose", "n_jobs", "verbose_feature_names_out", "force_int_remainder_cols", "copy")
UFUNCS = (
    "absolute", "arctan", "cbrt", "cos", "exp", "expm1", "log", "log10", "log1p", "log2", "negative", "reciprocal", "sign", "sin", "sqrt",
    "square", "tanh",
)  # fmt: skip
_SCORES = (
    "chi2",
    "f_classif",
    "f_regression",
    "mutual_info_classif",
    "mutual_info_regression",
    "r_regression",
)


def spec_of(estimator: Any, columns: Sequence[str] | Mapping[str, Column] | None = None) -> dict[str, Any]:
    """An estimator of scikit-learn as plain data. columns: names of the columns that reach it, where they have names; with what is declared
    about them, a selector by type is read, too.

    ValueError for a class or a parameter that has no form as plain data.
    """
    kind = type(estimator)
    if kind.__module__.startswith("sklearn.") and kind.__name__ in NOT_TAKEN:
        why, instead, differs = NOT_TAKEN[kind.__name__]
        raise ValueError(f"{kind.__name__} is not taken: {why}; use {instead} ({differs})")
    path = class_path(kind)
    check_values(estimator)
    if kind.__name__ == "Pipeline":
        if estimator.memory is not None:
            raise ValueError("memory= of a Pipeline keeps fits in files: leave it out")
        if getattr(estimator, "transform_input", None) is not None:
            raise ValueError("transform_input= of a Pipeline is not read: leave it out")
        parts: list[dict[str, Any]] = []
        for _, step in estimator.steps:
            if step is None or (isinstance(step, str) and step == "passthrough"):
                continue
            parts.append(spec_of(step, None if parts else columns))
        return {"kind": path, "steps": parts}
    if kind.__name__ == "FeatureUnion":
        weights = dict(estimator.transformer_weights or {})
        parts = [
            {
                "part": "passthrough" if t == "passthrough" else spec_of(t, columns),
                "weight": _weight(weights, name),
            }
            for name, t in estimator.transformer_list
            if not (isinstance(t, str) and t == "drop")
        ]
        return {"kind": path, "parts": parts}
    if kind.__name__ == "ColumnTransformer":
        weights = dict(estimator.transformer_weights or {})
        check_selectors([chosen for _, _, chosen in estimator.transformers], columns)
        parts = []
        for name, t, chosen in estimator.transformers:
            at = places_of(chosen, columns)
            part = t if isinstance(t, str) else spec_of(t, _some(columns, at))
            mask = {} if columns is not None else mask_of(chosen)
            parts.append({"part": part, "of": at, "weight": _weight(weights, name)} | mask)
        rest = estimator.remainder if isinstance(estimator.remainder, str) else spec_of(estimator.remainder)
        return {"kind": path, "parts": parts, "remainder": rest}
    return {
        "kind": path,
        "params": {
            name: _plain(value, f"{name} of {kind.__name__}")
            for name, value in sorted(estimator.get_params(deep=False).items())
            if name not in _IGNORED
        },
    }


def _weight(weights: Mapping[str, Any], name: str) -> float:
    return number("transformer_weights", weights.get(name, 1.0))


def class_path(kind: type) -> str:
    """sklearn.module.Class, if it is that class. ValueError for any other."""
    package = ".".join(kind.__module__.split(".")[:2])
    try:
        own = getattr(import_module(package), kind.__name__, None) if package.startswith("sklearn.") else None
    except ModuleNotFoundError:
        own = None
    if own is not kind and issubclass(kind, Step):
        raise ValueError(
            f"{kind.__name__} is a step of prepriv, which does not stand inside a Pipeline of scikit-learn: give it after the pipeline's "
            f"transformers, PrivateClassifier(domain, steps=[Fitted.of(transformers, domain, payment=Sketch()), {kind.__name__}(...), {_SCALER}]) (PrivateRegressor for a number), or "
            f"with other steps of prepriv ({_NOT_TAKEN}). {_LISTED}"
        )
    if own is not kind:
        raise ValueError(
            f"{kind.__name__} is not a transformer of scikit-learn that is read here: other code could remember rows. Nearest: a class of "
            "scikit-learn itself, a FunctionTransformer of a NumPy function of one number where nothing is learned, or a prepriv Step of "
            f"your own in steps=[YourStep(...), {_SCALER}] of PrivateClassifier, or of PrivateRegressor for a number (examples/smallest.py has the smallest; {_NOT_TAKEN}). {_LISTED}"
        )
    return f"{package}.{kind.__name__}"


def _some(columns: Sequence[str] | Mapping[str, Column] | None, at: Sequence[int]) -> Any:
    """Those at these places, in their order."""
    names = list(columns or ())
    own = [names[i] for i in at if i < len(names)]
    return None if columns is None else {n: columns[n] for n in own} if isinstance(columns, Mapping) else own


def check_values(estimator: Any) -> None:
    """ValueError for a value that scikit-learn itself would refuse at a fit, by its own table of allowed values, and for a method of
    this one object."""
    kind = type(estimator)
    parameters = kind._get_param_names()
    own = [name for name in vars(estimator) if name not in parameters and callable(getattr(kind, name, None))]
    if own:
        raise ValueError(
            f"{kind.__name__} has a method that was set by hand ({own[0]}), which would not be read: only its class and the parameters of its "
            "constructor are. Make a new one, and write what yours does as a FunctionTransformer or a prepriv Step of your own"
        )
    if hasattr(kind, "_parameter_constraints"):
        try:
            kind._validate_params(estimator)  # the class's own, whatever an instance was given by hand
        except (TypeError, ValueError) as error:
            raise ValueError(str(error)) from None


def _plain(value: Any, what: str) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return {"number": repr(value)}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, type) and value.__module__ in ("numpy", "builtins"):
        return {"type": np.dtype(value).name}
    if isinstance(value, tuple):
        return {"tuple": [_plain(v, what) for v in value]}
    if isinstance(value, list):
        return [_plain(v, what) for v in value]
    if isinstance(value, Mapping) and not value:
        return {"mapping": []}
    if hasattr(value, "get_params") and not isinstance(value, type):
        return {"estimator": spec_of(value)}
    name = getattr(value, "__name__", "")
    if isinstance(value, np.ufunc) and name in UFUNCS and getattr(np, name) is value:
        return {"ufunc": name}
    if name in _SCORES and getattr(import_module("sklearn.feature_selection"), name) is value:
        return {"score": name}
    raise ValueError(
        f"{what} has no form as plain data: numbers, texts, lists, estimators, scores of scikit-learn and some functions of NumPy have. "
        + (
            f"Take one of these of NumPy: {', '.join(UFUNCS)}. Or compute the column yourself before its bounds are "
            f"declared ({_NOT_TAKEN})"
            if callable(value)
            else f"({_NOT_TAKEN})"
        )
    )


def made_of(spec: Mapping[str, Any]) -> Any:
    """The estimator of plain data (`spec_of`), not fitted; none of the three containers. Random ones are made repeatable."""
    package, _, name = str(spec["kind"]).rpartition(".")
    if not package.startswith("sklearn.") or package.count(".") != 1 or name.startswith("_"):
        raise ValueError("these data do not describe a pipeline of scikit-learn")
    from sklearn.base import BaseEstimator

    kind = getattr(import_module(package), name, None)
    if not (isinstance(kind, type) and issubclass(kind, BaseEstimator)):
        raise ValueError(f"scikit-learn has no {name} here")
    params = {key: _back(value) for key, value in spec["params"].items()}
    if "random_state" in params and params["random_state"] is None:
        params["random_state"] = 0
    return kind(**params)


def _back(value: Any) -> Any:
    if isinstance(value, list):
        return [_back(v) for v in value]
    if not isinstance(value, dict):
        return value
    if "number" in value:
        return float(value["number"])
    if "tuple" in value:
        return tuple(_back(v) for v in value["tuple"])
    if "type" in value:
        return np.dtype(value["type"]).type
    if "mapping" in value:
        return {}
    if "ufunc" in value and value["ufunc"] in UFUNCS:
        return getattr(np, value["ufunc"])
    if "score" in value and value["score"] in _SCORES:
        return getattr(import_module("sklearn.feature_selection"), value["score"])
    if "estimator" in value:
        return made_of(value["estimator"])
    raise ValueError("these data do not describe a pipeline of scikit-learn")
