"""What is read of transformers of scikit-learn: every parameter that one has, with the values that have a price.

Of a class itself, never of one that inherits from it, and of nothing that was set beside its parameters.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import numpy as np

from prepriv.accounts.settings import FLAG, NAN, NONE_OR_WHOLE, NUMBER, READ, Allowed, only, unread

_COPY = only(
    True, why="with False the caller's table is overwritten, and whatever reads it next reads other rows"
)
_RARE = only(
    None,
    why="which categories are rare depends on every record; join them in the table, by a rule fixed in advance",
)


def _exact(value: Any) -> bool:
    if not isinstance(value, type | str | np.dtype):
        return False
    try:
        return np.dtype(value).name in ("float64", "int64", "int32")
    except TypeError:
        return False


def _tuples(length: int) -> Allowed:
    def ok(value: Any) -> bool:
        return isinstance(value, list | tuple) and all(
            isinstance(one, list | tuple) and len(one) == length and (one[1] is None or _transformer(one[1]))
            for one in value
        )

    return Allowed(ok, f"a list of tuples of {length}, a name and a transformer first")


def _listed(value: Any) -> bool:
    lists = (list, tuple, np.ndarray)
    return isinstance(value, str) or (isinstance(value, lists) and all(isinstance(v, lists) for v in value))


def _transformer(value: Any) -> bool:
    named = isinstance(value, str) and value in ("drop", "passthrough")
    return named or (hasattr(value, "fit") and not isinstance(value, type))


_CODES: dict[str, Allowed] = {
    "categories": Allowed(_listed, "'auto' or a list of categories for each column"),
    "dtype": Allowed(_exact, "float64, int64 or int32", "others round codes or wrap them round"),
    "min_frequency": _RARE,
    "max_categories": _RARE,
}
HOMES = {
    "Pipeline": "sklearn.pipeline",
    "ColumnTransformer": "sklearn.compose",
    "StandardScaler": "sklearn.preprocessing",
    "SimpleImputer": "sklearn.impute",
    "OneHotEncoder": "sklearn.preprocessing",
    "OrdinalEncoder": "sklearn.preprocessing",
    "Normalizer": "sklearn.preprocessing",
}
SETTINGS: Mapping[str, Mapping[str, Allowed]] = {
    "Pipeline": {
        "steps": _tuples(2),
        "memory": only(None, why="a cache keeps fitted maps and private rows on disk, and can give those of another fit"),
        "transform_input": only(None, why="it hands arguments of fit through the steps, which no price counts"),
        "verbose": FLAG,
    },
    "ColumnTransformer": {
        "transformers": _tuples(3),
        "remainder": Allowed(_transformer, "'drop', 'passthrough' or a transformer"),
        "sparse_threshold": NUMBER,
        "n_jobs": NONE_OR_WHOLE,
        "transformer_weights": only(
            None, why="a weight moves rows as many times as far; declare bounds of the columns in the weighted units instead"
        ),
        "verbose": FLAG,
        "verbose_feature_names_out": FLAG,
        "force_int_remainder_cols": only(True, False, "deprecated"),
    },
    "StandardScaler": {"copy": _COPY, "with_mean": FLAG, "with_std": FLAG},
    "SimpleImputer": {
        "missing_values": Allowed(
            NAN.ok, "nan", "cells of another value are overwritten; replace them by nan in the table, cell by cell"
        ),
        "strategy": only("mean", "median", "most_frequent", "constant", why="a function reads what it likes"),
        "fill_value": READ,
        "copy": _COPY,
        "add_indicator": only(
            False, why="which columns it adds depends on the records; declare missing cells as a category"
        ),
        "keep_empty_features": FLAG,
    },
    "OneHotEncoder": _CODES
    | {
        "drop": only(None, "first", "if_binary"),
        "sparse_output": FLAG,
        "handle_unknown": only("error", "ignore", why="nothing else is priced"),
        "feature_name_combiner": only("concat", why="a function reads what it likes"),
    },
    "OrdinalEncoder": _CODES
    | {
        "handle_unknown": only("error", why="another code would lie outside the declared bounds of the column"),
        "unknown_value": only(None, why="it would lie outside the declared bounds of the column"),
        "encoded_missing_value": NAN,
    },
    "Normalizer": {"norm": only("l1", "l2", "max"), "copy": _COPY},
}  # fmt: skip


def is_known(part: Any) -> bool:
    """Whether it is of one of these classes of scikit-learn, and not of another that has the name or inherits."""
    name = type(part).__name__
    return type(part) is getattr(sys.modules.get(HOMES.get(name, "")), name, None)


def unread_settings(part: Any) -> list[tuple[str, str]]:
    """(part with the setting, why) of everything set on a known transformer that has no price."""
    name = type(part).__name__
    beside = next(_set_beside(part), None)
    if beside is not None:  # which its own `get_params` could be
        return [(f"{name} with {beside!r} set by hand", _BESIDE.get(beside, _SET))]
    parameters = part.get_params(deep=False)
    return [(f"{name}({setting}=)", why) for setting, why in unread(parameters, SETTINGS[name])]


_SET = "only parameters of its constructor are read; make a new one, and set nothing else"
_BESIDE = {
    "_skl_callbacks": "set_callbacks hands the private rows of a fit to other code, and can stop it; make a new one",
    "_metadata_request": "set_fit_request hands weights or other arguments to fit, which no price counts; make a new one",
}


_MADE = {  # by the fit of these classes, and the container of set_output, which holds the same numbers
    "_sklearn_output_config",
    "_fit_dtype",
    "_fill_dtype",
    "_n_features",
    "_drop_idx_after_grouping",
    "_infrequent_enabled",
    "_missing_indices",
    "_n_features_outs",
    "_columns",
    "_remainder",
    "_transformer_to_input_indices",
}


def _set_beside(part: Any) -> Any:
    """Names of attributes that are neither parameters nor made by a fit, methods among them: no method has a name that a fit makes."""
    parameters = type(part)._get_param_names()
    for name in vars(part):
        made = name in _MADE or (name[0] != "_" and name.endswith("_"))  # by scikit-learn's own rule
        if name not in parameters and not made:
            yield name
