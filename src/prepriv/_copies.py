"""Copies of third-party objects: what code notes in itself ends with the copy that it ran on."""

from __future__ import annotations

import copy
from typing import TypeVar

from prepriv._kinds import is_ours

T = TypeVar("T")


def copied(thing: T, *parts: object) -> T:
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
