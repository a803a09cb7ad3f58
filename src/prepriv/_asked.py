"""Names of a package, imported when they are asked for: a fit and a command need few of the files of a package."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def when_asked(
    package: str, homes: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a package. homes: the module below the package that each name comes from.

    A name is not a module of the package: an import of that module would take its place.
    """

    def asked(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{homes[name]}"), name)

    return asked, lambda: sorted({*homes, *vars(sys.modules[package])})


def ask_for_all(package: Any) -> None:
    """Import every module that a public name comes from of a package: where a class is found by its name in a file."""
    for name in package.__all__:
        getattr(package, name)
