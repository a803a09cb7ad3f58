"""Copies of third-party objects: what code notes in itself ends with the copy that it ran on."""

from __future__ import annotations

import copy
import dataclasses
import enum
import re
from abc import ABC
from collections.abc import Iterator
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from prepriv._kinds import is_ours

_T = TypeVar("_T")
_PLAIN = (
    str,
    bytes,
    int,
    float,
    complex,
    bool,
    type(None),
    np.generic,
    enum.Enum,
    re.Pattern,
    type,
    MappingProxyType,
)


def copied(thing: _T, *parts: object) -> _T:
    """A copy of a thing whose class, or that of one of its parts, is third-party; one of this package as it is.

    ValueError, which names the class and nothing else, where there is no copy.
    """
    if all(is_ours(type(one)) for one in (thing, *parts)):
        return thing
    try:
        made = copy.deepcopy(thing)
    except Exception:
        made = thing
    if made is thing or type(made) is not type(thing):
        raise ValueError(
            f"{type(thing).__name__} cannot be copied: a run works on a copy, so that what it notes of records ends with it; "
            "make it a dataclass of plain data"
        )
    return made


@contextmanager
def nothing_noted(*things: object) -> Iterator[None]:
    """ValueError where the class of a third-party thing holds what can change, or changes meanwhile: no copy ends that."""
    before = [_held(type(thing)) for thing in things]
    yield
    for thing, held in zip(things, before):
        now = _held(type(thing))
        changed = [key for key in {*now, *held} if now.get(key) is not held.get(key)]
        if changed:
            _refuse(*min(changed))


def _held(cls: type[Any]) -> dict[tuple[str, str], Any]:
    """(name of a third-party class, name) -> what that class holds itself and is not code. ValueError for what can change."""
    known = {name for c in cls.__mro__ if is_ours(c) for name in vars(c)}
    found: dict[tuple[str, str], Any] = {}
    for c in cls.__mro__:
        if is_ours(c) or c in (object, ABC, Generic, Protocol):
            continue
        own = {f.name for f in dataclasses.fields(c)} if dataclasses.is_dataclass(c) else set()
        for name, value in vars(c).items():
            if name.startswith(("__", "_abc_")) or name in own or hasattr(type(value), "__get__"):
                continue
            found[c.__name__, name] = value
            if name not in known and not _is_plain(value):
                _refuse(c.__name__, name)
    return found


def _is_plain(value: Any) -> bool:
    """Whether it is what nobody can change."""
    if isinstance(value, tuple | frozenset):
        return all(map(_is_plain, value))
    if isinstance(value, np.ndarray):
        return not value.flags.writeable
    return isinstance(value, _PLAIN) or is_ours(type(value))


def _refuse(cls: str, name: str) -> None:
    raise ValueError(
        f"{cls} holds {name} in the class, where what it notes of records would outlive a run, which works on a copy: hold numbers, "
        "texts and tuples there, and anything else in a field"
    )
