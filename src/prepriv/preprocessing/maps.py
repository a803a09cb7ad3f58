"""Released maps in an artifact: how each is written down and read back.

A third-party map stands under its import path. It is read back where it is imported already, and nothing is imported
because a file names it. This file states no bound. What a released map may do to private rows:
docs/proofs/chaining.md.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from prepriv._kinds import check_class, find_kind, is_ours, kind_of
from prepriv.preprocessing.arrays import pack, unpack
from prepriv.preprocessing.base import Identity, ReleasedMap, Step


def write_map(released: ReleasedMap) -> dict[str, Any]:
    """Plain data, arrays packed. Raises ValueError for a third-party map that could never be read back."""
    data, cls = dict(released.to_json()), type(released)
    if not is_ours(cls):
        check_class(cls)
        data["map"] = kind_of(cls)
    return {k: _packed(v) for k, v in data.items()}


def read_map(data: Mapping[str, Any]) -> ReleasedMap:
    """Inverse of `write_map`. Raises NotImported for a third-party map that is not imported, and many kinds of error."""
    kind = data["map"]
    if kind in _READERS:
        return _READERS[kind](data)
    cls = find_kind(ReleasedMap, kind)
    if is_ours(cls):
        raise ValueError("no such map")
    return cls.from_json({k: unpack(v, k) if isinstance(v, dict) else v for k, v in data.items()})


def text_of_map(released: ReleasedMap) -> str:
    """All that a model file holds of the map."""
    return json.dumps(write_map(released), sort_keys=True, allow_nan=False)


def as_written(released: ReleasedMap, step: Step) -> ReleasedMap:
    """A map that leaves, as a model file gives it back: one that third-party code made may hold more than what it writes."""
    ours = is_ours(type(step)) and is_ours(type(released))
    return released if ours else read_map(json.loads(text_of_map(released)))


def _packed(value: Any) -> Any:
    if not isinstance(value, list | np.ndarray):
        return value
    array = np.asarray(value)
    return pack(array.astype(np.float64)) if array.dtype.kind in "biuf" else value


def _home(module: str, name: str) -> Any:
    """A class of ours, imported when a map of it is read: a fit reads none."""
    return getattr(import_module(f"prepriv.preprocessing.{module}"), name)


def _by_fields(module: str, name: str, data: Mapping[str, Any]) -> Any:
    from prepriv.preprocessing.stored_map import read_fields

    return read_fields(_home(module, name), data)


def _random_features(data: Mapping[str, Any]) -> Any:
    from prepriv.preprocessing.random_features import MOST_FEATURES

    made = _by_fields("random_features", "AddRandomFeatures", data)
    if not 1 <= made.features <= MOST_FEATURES:
        raise ValueError("features is out of range")
    if made.signs not in (1, 4, 16, 64):
        raise ValueError("signs is out of range")
    return made


_FIELDS = {
    "signed_root": ("square_root", "SignedRoot"),
    "roots": ("root_columns", "Roots"),
    "augment": ("augment_by_distance", "Augment"),
    "scale_rows": ("normalize", "ScaleRows"),
    "homogeneous_rows": ("homogenize", "HomogeneousRows"),
    "multiply": ("normalize", "Multiply"),
    "subtract": ("center", "Subtract"),
    "fill": ("impute_caps", "FillReleased"),
    "fill_regression": ("impute_regression", "RegressionReleased"),
    "project": ("pca", "Project"),
    "ranks": ("quantile_transform", "Ranks"),
    "scale": ("scale_map", "ScaleReleased"),
    "compiled": ("compiled", "CompiledMap"),
    "class_counts": ("class_counts", "CountedClasses"),
    "clip_features": ("encode", "ClipMap"),
    "one_hot": ("encode", "OneHotMap"),
    "cells": ("_cells", "Cells"),
    "bins": ("bins", "BinCodes"),
}
# How each released map is read back; arrays are packed by name on the way out.
_READERS: dict[str, Callable[[Mapping[str, Any]], ReleasedMap]] = {
    **{kind: partial(_by_fields, *home) for kind, home in _FIELDS.items()},
    "identity": lambda m: Identity(),
    "random_features": _random_features,
    "scattering": lambda m: _home("scattering", "Scatter").from_json(m),
    "encoder": lambda m: _home("encoder", "Encoded").from_json(m),
}
