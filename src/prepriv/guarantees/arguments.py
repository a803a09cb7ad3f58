"""Checks of public arguments: one sentence that names the argument, what was got and what is allowed."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]


def number(
    name: str,
    value: Any,
    *,
    above: float | None = None,
    at_least: float | None = None,
    below: float | None = None,
    at_most: float | None = None,
) -> float:
    """One finite number in a range; ValueError names argument, value and range."""
    try:
        result = float(value)
    except (TypeError, ValueError):
        result = float("nan")
    array = _in_range(name, np.float64(result), value, above, at_least, below, at_most)
    return float(array)


def integer(name: str, value: Any, *, at_least: int = 1) -> int:
    """One whole number, at_least or more."""
    good = not isinstance(value, bool) and isinstance(value, (int, float, np.integer, np.floating))
    if not good or not np.isfinite(value) or int(value) != value or value < at_least:
        raise ValueError(f"{name} must be a whole number, {at_least} or more; got {value!r}")
    return int(value)


def numbers(
    name: str,
    value: Any,
    *,
    above: float | None = None,
    at_least: float | None = None,
    below: float | None = None,
    at_most: float | None = None,
) -> FloatArray:
    """An array of finite numbers in a range (a scalar gives shape ())."""
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must hold numbers; got {value!r}") from error
    return _in_range(name, array, value, above, at_least, below, at_most)


def _in_range(
    name: str,
    array: Any,
    shown: Any,
    above: float | None,
    at_least: float | None,
    below: float | None,
    at_most: float | None,
) -> FloatArray:
    array = np.asarray(array, dtype=np.float64)
    good = np.isfinite(array)
    if above is not None:
        good &= array > above
    if at_least is not None:
        good &= array >= at_least
    if below is not None:
        good &= array < below
    if at_most is not None:
        good &= array <= at_most
    if not np.all(good):
        left = f"({above:g}" if above is not None else f"[{at_least:g}" if at_least is not None else "(-inf"
        right = f"{below:g})" if below is not None else f"{at_most:g}]" if at_most is not None else "inf)"
        got = repr(shown) if array.ndim == 0 else f"{array[~good].flat[0]!r} among {array.size} values"
        raise ValueError(f"{name} must lie in {left}, {right}; got {got}")
    return array
