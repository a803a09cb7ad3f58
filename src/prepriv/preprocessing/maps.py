"""Released maps in an artifact: how each is written down and read back.

A third-party map stands under its import path. It is read back where it is imported already, and nothing is imported
because a file names it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prepriv._arrays import Floats
from prepriv._kinds import check_class, find_kind, is_ours, kind_of
from prepriv.preprocessing._cells import Cells
from prepriv.preprocessing.arrays import pack, unpack
from prepriv.preprocessing.augment_by_distance import Augment
from prepriv.preprocessing.base import Identity, ReleasedMap
from prepriv.preprocessing.bins import BinCodes
from prepriv.preprocessing.center import Subtract
from prepriv.preprocessing.class_counts import CountedClasses
from prepriv.preprocessing.compiled import CompiledMap
from prepriv.preprocessing.encode import ClipMap, OneHotMap
from prepriv.preprocessing.encoder import Encoded
from prepriv.preprocessing.homogenize import HomogeneousRows
from prepriv.preprocessing.impute_caps import FillReleased
from prepriv.preprocessing.impute_regression import Frame, RegressionReleased
from prepriv.preprocessing.normalize import Multiply, ScaleRows
from prepriv.preprocessing.pca import Project
from prepriv.preprocessing.quantile_transform import Ranks
from prepriv.preprocessing.random_features import MOST_FEATURES, AddRandomFeatures
from prepriv.preprocessing.root_columns import Roots
from prepriv.preprocessing.scale_map import Affine, ScaleReleased
from prepriv.preprocessing.scattering import Scatter
from prepriv.preprocessing.square_root import SignedRoot


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


def _packed(value: Any) -> Any:
    if not isinstance(value, list | np.ndarray):
        return value
    array = np.asarray(value)
    return pack(array.astype(np.float64)) if array.dtype.kind in "biuf" else value


def _number(data: Mapping[str, Any], name: str) -> float:
    value = data[name]
    if isinstance(value, bool) or not isinstance(value, int | float) or not np.isfinite(value):
        raise ValueError(f"{name} is not a finite number")
    return float(value)


def _text(data: Mapping[str, Any], name: str) -> str:
    if not isinstance(data[name], str):
        raise ValueError(f"{name} is not a text")
    return str(data[name])


def _array(data: Mapping[str, Any], name: str) -> Floats:
    return unpack(data[name], name)


def _whole(data: Mapping[str, Any], name: str) -> NDArray[np.intp]:
    values = _array(data, name)
    if (values != np.trunc(values)).any() or (np.abs(values) > 2**31).any():
        raise ValueError(f"{name} holds a number that is not whole")
    return values.astype(np.intp)


def _affine(m: Mapping[str, Any]) -> Affine:
    return Affine(
        _array(m, "offset"), _array(m, "factor"), _array(m, "low"), _array(m, "high"), _number(m, "radius")
    )


def _regression(m: Mapping[str, Any]) -> RegressionReleased:
    frame = Frame(
        _whole(m, "predictors"),
        _whole(m, "targets"),
        _array(m, "centre"),
        _number(m, "radius"),
        _array(m, "middle"),
        _array(m, "half"),
    )
    return RegressionReleased(frame, _array(m, "weights"))


def _random_features(m: Mapping[str, Any]) -> AddRandomFeatures:
    features = _number(m, "features")
    if features != int(features) or not 1 <= features <= MOST_FEATURES:
        raise ValueError("features is out of range")
    signs = _number(m, "signs") if "signs" in m else 1  # models from before sums of signs
    if signs not in (1, 4, 16, 64):
        raise ValueError("signs is out of range")
    return AddRandomFeatures(int(features), _number(m, "weight"), _number(m, "radius"), int(signs))


# How each released map is read back; arrays are packed by name on the way out.
_READERS: dict[str, Callable[[Mapping[str, Any]], ReleasedMap]] = {
    "identity": lambda m: Identity(),
    "signed_root": lambda m: SignedRoot(),
    "roots": lambda m: Roots(_array(m, "start")),
    "augment": lambda m: Augment(_number(m, "tau")),
    "scale_rows": lambda m: ScaleRows(_number(m, "factor"), _number(m, "floor")),
    "homogeneous_rows": lambda m: HomogeneousRows(_number(m, "level"), _number(m, "radius")),
    "multiply": lambda m: Multiply(_number(m, "factor")),
    "random_features": _random_features,
    "scattering": Scatter.from_json,
    "subtract": lambda m: Subtract(_array(m, "offset")),
    "fill": lambda m: FillReleased(_array(m, "fill")),
    "fill_regression": _regression,
    "project": lambda m: Project(_array(m, "components")),
    "ranks": lambda m: Ranks(_whole(m, "columns"), _array(m, "knots")),
    "scale": lambda m: ScaleReleased(_affine(m)),
    "bins": lambda m: BinCodes(
        _whole(m, "columns"),
        _whole(m, "counts"),
        _array(m, "edges"),
        _whole(m, "gaps"),
        None if m["smooth"] is None else _number(m, "smooth"),
        m.get("beside", False) is True,
    ),
    "compiled": lambda m: CompiledMap(
        _text(m, "columns"), _text(m, "ops"), int(_number(m, "features")), _text(m, "check")
    ),
    "encoder": Encoded.from_json,
    "class_counts": lambda m: CountedClasses(_array(m, "counts")),
    "clip_features": lambda m: ClipMap(_array(m, "low"), _array(m, "high")),
    "one_hot": lambda m: OneHotMap(
        _whole(m, "columns"), _whole(m, "counts"), _array(m, "low"), _array(m, "width")
    ),
    "cells": lambda m: Cells(
        _number(m, "side"), _number(m, "offset"), _array(m, "low"), _array(m, "high"), _number(m, "radius")
    ),
}
