"""Every module of the package imported, for tests that walk its classes: packages import their names when these are asked for."""

from __future__ import annotations

import contextlib
import importlib
import pkgutil

import prepriv


def import_all() -> None:
    for module in pkgutil.walk_packages(prepriv.__path__, "prepriv."):
        if not module.name.endswith("__main__"):
            with contextlib.suppress(ImportError):  # torch, dask: an extra
                importlib.import_module(module.name)
