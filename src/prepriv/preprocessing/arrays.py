"""Numbers in JSON: arrays as base64 of little-endian float64, with their shape. Readable with any JSON parser.

This file states no bound. What a released map may do to private rows: docs/proofs/chaining.md.
"""

from __future__ import annotations

import base64
import binascii
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

_LARGEST = 10**8  # numbers in one array: refuse what no linear model needs before allocating it


def pack(array: NDArray[np.float64]) -> dict[str, Any]:
    """An array as plain data."""
    little = np.ascontiguousarray(array, dtype="<f8")
    return {"shape": list(little.shape), "float64": base64.b64encode(little.tobytes()).decode("ascii")}


def unpack(data: Any, what: str) -> NDArray[np.float64]:
    """Inverse of `pack`. Raises ValueError naming `what` on anything malformed or not finite."""
    try:
        shape = [int(s) for s in data["shape"]]
        text = data["float64"]
        if len(shape) > 2 or any(s < 0 or s != t for s, t in zip(shape, data["shape"])):
            raise ValueError
        size = math.prod(shape)
        if size > _LARGEST or not isinstance(text, str) or len(text) > 16 * size + 16:
            raise ValueError
        raw = base64.b64decode(text, validate=True)
        if len(raw) != 8 * size:
            raise ValueError
    except (TypeError, KeyError, ValueError, binascii.Error):
        raise ValueError(f"{what} is not a valid array") from None
    array = np.frombuffer(raw, dtype="<f8").astype(np.float64).reshape(shape)
    if not np.isfinite(array).all():
        raise ValueError(f"{what} holds a number that is not finite")
    return array
