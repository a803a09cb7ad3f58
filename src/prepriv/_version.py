"""The version of this package."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version


def own_version() -> str:
    """As it is installed; "0" of a source tree that is not."""
    try:
        return version("prepriv")
    except PackageNotFoundError:
        return "0"
