"""Released maps in an artifact: how each is written down and read back.

A third-party map stands under its import path. It is read back where it is imported already, and nothing is imported
because a file names it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

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
from prepriv.preprocessing.impute_regression import RegressionReleased
from prepriv.preprocessing.normalize import Multiply, ScaleRows
from prepriv.preprocessing.pca import Project
from prepriv.preprocessing.quantile_transform import Ranks
from prepriv.preprocessing.random_features import MOST_FEATURES, AddRandomFeatures
from prepriv.preprocessing.root_columns import Roots
from prepriv.preprocessing.scale_map import ScaleReleased
from prepriv.preprocessing.scattering import Scatter
from prepriv.preprocessing.square_root import SignedRoot
from prepriv.preprocessing.stored_map import StoredMap, read_fields


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


def _random_features(data: Mapping[str, Any]) -> AddRandomFeatures:
    made = read_fields(AddRandomFeatures, data)
    if not 1 <= made.features <= MOST_FEATURES:
        raise ValueError("features is out of range")
    if made.signs not in (1, 4, 16, 64):
        raise ValueError("signs is out of range")
    return made


_FIELDS: tuple[type[StoredMap], ...] = (
    SignedRoot,
    Roots,
    Augment,
    ScaleRows,
    HomogeneousRows,
    Multiply,
    Subtract,
    FillReleased,
    RegressionReleased,
    Project,
    Ranks,
    ScaleReleased,
    CompiledMap,
    CountedClasses,
    ClipMap,
    OneHotMap,
    Cells,
)
# How each released map is read back; arrays are packed by name on the way out.
_READERS: dict[str, Callable[[Mapping[str, Any]], ReleasedMap]] = {
    **{cls.written_as: partial(read_fields, cls) for cls in _FIELDS},
    "identity": lambda m: Identity(),
    "random_features": _random_features,
    "scattering": Scatter.from_json,
    "bins": partial(read_fields, BinCodes),
    "encoder": Encoded.from_json,
}
