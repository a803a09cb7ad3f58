"""Checks of what a caller hands in: one sentence that names the argument, what was got and what is allowed.

Below all layers. What counts as a number is a real number, of Python or NumPy: no text, no truth value, no Decimal.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping
from numbers import Real
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from prepriv._arrays import Floats

OMITTED = MappingProxyType({"omitted": True})
"""Of an option that a plan leaves out while it has its default: plans that were written before it keep their hash."""

LEAST, LARGEST = 1e-30, 1e30  # of a length: its fourth power is then a float, and so is one over it


_FEW = 12  # entries of a list or mapping that are shown: settings have few, and the labels of a table many


class Frozen(dict[Any, Any]):
    """A copy of a mapping, and of those in it, that nobody changes: what a plan was made with stays what it says."""

    @staticmethod
    def of(mapping: Mapping[Any, Any]) -> Frozen:
        """The copy."""
        return Frozen({k: Frozen.of(v) if isinstance(v, Mapping) else v for k, v in mapping.items()})

    def _refuse(self, *_: Any, **__: Any) -> Any:
        raise TypeError("declared facts are not changed: make a new payment or step")

    __setitem__ = __delitem__ = __ior__ = update = pop = popitem = clear = setdefault = _refuse

    def __reduce__(self) -> tuple[Any, ...]:
        return Frozen, (dict(self),)


def kind(value: Any) -> str:
    """Its type, for a sentence about what is neither a number nor a text."""
    return f"the class {value.__name__}: call it" if isinstance(value, type) else type(value).__name__


def shown(value: Any) -> str:
    """What was got, for a sentence: short, on one line, whatever it is. Of what can hold the cells of a table, its type alone."""
    if isinstance(value, type):
        return kind(value)
    try:
        if not isinstance(value, str | bytes | np.generic) and (
            hasattr(value, "__array__")
            or hasattr(value, "__dataframe__")
            or hasattr(value, "__arrow_c_stream__")
            or (hasattr(value, "__len__") and len(value) > _FEW)
        ):
            return f"a value of type {type(value).__name__}"
        text = " ".join(repr(value).split())
    except Exception:  # an integer of 5000 digits, for one
        return f"a value of type {type(value).__name__}"
    return text if len(text) <= 80 else f"{text[:77]}..."


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
    array = _in_range(name, np.float64(real(value)), value, above, at_least, below, at_most)
    return float(array)


def real(value: Any) -> float:
    """A real number as a float; NaN for anything else, and for what no float holds."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, bool) or not isinstance(value, Real):
        return math.nan
    try:
        return float(value)
    except (OverflowError, ValueError, TypeError):
        return math.nan


def length(name: str, value: Any) -> float:
    """A positive number in 1e-30..1e30: beyond, its powers overflow or vanish in the middle of a run."""
    got = real(value)
    if not (math.isfinite(got) and got > 0):
        raise ValueError(f"{name} must be a finite positive number; got {shown(value)}")
    if not LEAST <= got <= LARGEST:
        raise ValueError(f"{name} must lie in [{LEAST:g}, {LARGEST:g}]; got {shown(value)}")
    return got


def length_or_inf(name: str, value: Any) -> float:
    """The same, or infinity."""
    return math.inf if real(value) == math.inf else length(name, value)


def integer(name: str, value: Any, *, at_least: int = 1, at_most: int = 2**62) -> int:
    """One whole number in a range."""
    got = real(value)
    if not math.isfinite(got) or got != math.floor(got) or got < at_least:
        raise ValueError(f"{name} must be a whole number, {at_least} or more; got {shown(value)}")
    if int(value) > at_most:
        raise ValueError(f"{name} must be a whole number of at most {at_most:.3g}; got {shown(value)}")
    return int(value)


def numbers(
    name: str,
    value: Any,
    *,
    above: float | None = None,
    at_least: float | None = None,
    below: float | None = None,
    at_most: float | None = None,
) -> Floats:
    """An array of finite numbers in a range (a scalar gives shape ())."""
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "iuf":
            cells = array.astype(object).ravel()
            array = np.array([real(cell) for cell in cells], dtype=np.float64).reshape(array.shape)
        array = array.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} must hold numbers; got {shown(value)}") from None
    return _in_range(name, array, value, above, at_least, below, at_most)


def choice(name: str, value: Any, allowed: Iterable[str]) -> str:
    """One of some texts."""
    known = list(allowed)
    if not isinstance(value, str) or value not in known:
        most, last = ", ".join(map(repr, known[:-1])), repr(known[-1])
        raise ValueError(f"{name} must be {most} or {last}; got {shown(value)}")
    return value


def truth(name: str, value: Any) -> bool:
    """True or False."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True or False; got {shown(value)}")
    return bool(value)


def names(name: str, value: Any) -> tuple[str, ...]:
    """Some texts, as a tuple; a single text is none."""
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise ValueError(f"{name} must be a list of names; got {shown(value)}")
    listed = tuple(value)
    if not listed or not all(isinstance(one, str) for one in listed):
        raise ValueError(f"{name} must name at least one feature, in texts; got {shown(value)}")
    return listed


def instance(name: str, value: Any, kind: type | tuple[type, ...], such_as: str) -> None:
    """ValueError unless it is an instance; `such_as`: what to give."""
    if not isinstance(value, kind):
        raise ValueError(f"{name} must be {such_as}; got {shown(value)}")


def path_of(name: str, value: Any) -> Path:
    """The path of a file, given as a text or a path."""
    if not isinstance(value, str | os.PathLike):
        raise ValueError(f"{name} must be the path of a file; got {shown(value)}")
    return Path(value)


def settle(thing: Any, **checked: Any) -> None:
    """Put checked numbers in place of what NumPy or others handed in; Python's own stay as they were written."""
    for name, value in checked.items():
        if type(getattr(thing, name)) not in (int, float) or type(value) is tuple:
            object.__setattr__(thing, name, value)


def _in_range(
    name: str,
    array: Any,
    given: Any,
    above: float | None,
    at_least: float | None,
    below: float | None,
    at_most: float | None,
) -> Floats:
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
        got = shown(given) if array.ndim == 0 else f"{array[~good].flat[0]!r} among {array.size} values"
        raise ValueError(f"{name} must lie in {left}, {right}; got {got}")
    return array
