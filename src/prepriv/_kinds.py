"""Classes found by name among those that are imported already: a file can name one and never have one imported."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any

_PATH = re.compile(r"[A-Za-z_][A-Za-z_0-9]*(\.[A-Za-z_][A-Za-z_0-9]*)*")


class NotImported(ValueError):
    """A third-party class that is not imported here."""


def is_ours(cls: type[Any]) -> bool:
    """Whether the class is of this package."""
    return f"{cls.__module__}.".startswith("prepriv.")


def kind_of(cls: type[Any]) -> str:
    """How a class is named in files: a short name for ours, the import path for anybody else's."""
    if is_ours(cls):
        name = getattr(cls, "name", None)
        return name if isinstance(name, str) else cls.__name__
    return f"{cls.__module__}.{cls.__qualname__}"


def check_class(cls: type[Any]) -> None:
    """ValueError for a class that no file could name: one that is defined in a function."""
    if "<locals>" in cls.__qualname__:
        raise ValueError(f"{cls.__qualname__} is defined in a function: no model with it could be loaded")


def find_kind(base: Any, kind: Any) -> Any:
    """The imported subclass of that kind, the last one defined. Raises NotImported, or ValueError for no such name."""
    found = [c for c in _subclasses(base) if kind_of(c) == kind and not inspect.isabstract(c)]
    if found:
        return found[-1]
    if isinstance(kind, str) and len(kind) <= 200 and "." in kind and _PATH.fullmatch(kind):
        raise NotImported(
            f"it needs {kind}, which nothing has imported here; if you trust it, import it first"
        )
    raise ValueError("no such kind")


def _subclasses(base: Any) -> Iterator[Any]:
    for cls in base.__subclasses__():
        yield cls
        yield from _subclasses(cls)
