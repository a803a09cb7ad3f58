"""Settings of what others made: which values of each are read, and a sentence for every other one.

A setting that stands in no table is refused by name, also at its default: a default of a version that was not read here is
a claim that nobody has looked at.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from prepriv._arguments import shown


@dataclass(frozen=True)
class Allowed:
    """The values of one setting with which what runs is what is priced. must: the same in words. why: and what to do."""

    ok: Callable[[Any], bool]
    must: str
    why: str = ""

    def sentence(self, name: str, value: Any) -> str:
        """Why this value is refused."""
        return f"{name} must be {self.must}; got {shown(value)}" + (f": {self.why}" if self.why else "")


def only(*values: Any, why: str = "") -> Allowed:
    """One of some values, each of its own type: 1 is not True."""
    return Allowed(
        lambda got: any(type(got) is type(v) and got == v for v in values),
        " or ".join(map(repr, values)),
        why,
    )


def whole(value: Any) -> bool:
    """Whether it is a whole number of Python or NumPy."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _real(value: Any) -> bool:
    return isinstance(value, float | np.floating) or whole(value)


READ = Allowed(lambda _: True, "read")  # by the code that prices it
FLAG = only(True, False)
NONE_OR_WHOLE = Allowed(lambda v: v is None or whole(v), "None or a whole number")
NUMBER = Allowed(lambda v: _real(v) and math.isfinite(v), "a finite number")
NAN = Allowed(lambda v: isinstance(v, float | np.floating) and math.isnan(v), "nan")


def norm(value: Any) -> bool:
    """Whether it is a length to clip to."""
    return NUMBER.ok(value) and value > 0


def bounds(value: Any) -> bool:
    """Whether it is (low, high): two numbers, or two lists of as many numbers each."""
    if not isinstance(value, tuple | list) or len(value) != 2:
        return False
    low, high = (list(end) if isinstance(end, tuple | list | np.ndarray) else [end] for end in value)
    return len(low) == len(high) > 0 and all(
        NUMBER.ok(a) and NUMBER.ok(b) and a <= b for a, b in zip(low, high)
    )


def given(why: str) -> Allowed:
    """Anything but None."""
    return Allowed(lambda v: v is not None, "given", why)


def never(why: str) -> Allowed:
    """No value: the setting is refused wherever it is given."""
    return Allowed(lambda _: False, "left out", why)


def unread(settings: Mapping[str, Any], table: Mapping[str, Allowed]) -> Iterator[tuple[str, str]]:
    """(setting, sentence) of each setting that is in no table, or has a value that is not allowed."""
    for name, value in settings.items():
        if name not in table:
            yield (
                name,
                f"unknown setting {name!r}, refused at its default, too; known are {', '.join(table)}",
            )
        elif not table[name].ok(value):
            yield name, table[name].sentence(name, value)
