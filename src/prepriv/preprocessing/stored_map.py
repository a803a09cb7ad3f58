"""Released maps of ours that are what their fields hold: written down by field, and read back by the types of the fields.

This file states no bound. What a released map may do to private rows: docs/proofs/chaining.md.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any, ClassVar, TypeVar, get_type_hints

import numpy as np
from numpy.typing import NDArray

from prepriv._arrays import Floats
from prepriv.preprocessing.arrays import unpack
from prepriv.preprocessing.base import ReleasedMap

M = TypeVar("M")


class StoredMap(ReleasedMap):
    """A dataclass of numbers, texts and arrays, or of such dataclasses. written_as: its kind in an artifact."""

    written_as: ClassVar[str]

    def to_json(self) -> dict[str, Any]:
        return {"map": self.written_as, **_plain(self)}


def _plain(value: Any) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for f in dataclasses.fields(value):
        held = getattr(value, f.name)
        if f.metadata.get("omitted") and held == f.default:
            continue
        if dataclasses.is_dataclass(held):
            out |= _plain(held)
        else:
            out[f.name] = held.tolist() if isinstance(held, np.ndarray) else held
    return out


def read_fields(cls: type[M], data: Mapping[str, Any]) -> M:
    """Inverse of `to_json`, arrays packed. A field that is not there has its default. ValueError or KeyError on anything malformed."""
    given, kinds = {}, get_type_hints(cls)
    for f in dataclasses.fields(cls):  # type: ignore[arg-type]
        kind = kinds[f.name]
        if isinstance(kind, type) and dataclasses.is_dataclass(kind):
            given[f.name] = read_fields(kind, data)
        elif f.name in data or f.default is dataclasses.MISSING:
            given[f.name] = _READ[kind](data[f.name], f.name)
    return cls(**given)


def _number(value: Any, name: str) -> float:
    try:
        if not isinstance(value, bool) and isinstance(value, int | float) and math.isfinite(value):
            return float(value)
    except OverflowError:  # a whole number beyond all floats
        pass
    raise ValueError(f"{name} is not a finite number")


def _whole(value: Any, name: str) -> int:
    number = _number(value, name)
    if number != int(number):
        raise ValueError(f"{name} is not a whole number")
    return int(number)


def _text(value: Any, name: str) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{name} is not a text")
    return value


def _whole_array(value: Any, name: str) -> NDArray[np.intp]:
    values = unpack(value, name)
    if (values != np.trunc(values)).any() or (np.abs(values) > 2**31).any():
        raise ValueError(f"{name} holds a number that is not whole")
    return values.astype(np.intp)


_READ: Mapping[Any, Any] = {
    float: _number,
    float | None: lambda value, name: None if value is None else _number(value, name),
    int: _whole,
    bool: lambda value, name: value is True,
    str: _text,
    Floats: unpack,
    NDArray[np.intp]: _whole_array,
}
