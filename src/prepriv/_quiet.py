"""Silence for third-party code that reads private rows: whether it warns, and of what, can depend on records."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class _Here:
    """Stands for the text of a filter of warnings: each text, in threads that are silent, and none in others."""

    def match(self, text: str) -> bool:
        return getattr(_THREAD, "silent", 0) > 0


_THREAD, _LOCK, _SILENT = threading.local(), threading.Lock(), [0]
_FILTER: Any = ("ignore", _Here(), Warning, None, 0)


@contextmanager
def silent() -> Iterator[None]:
    """No warning is shown or raised in this thread.

    Filters are those of the process: `warnings.catch_warnings` would silence other threads, and might leave that for good.
    """
    with _LOCK:
        _SILENT[0] += 1
        filters: Any = warnings.filters
        if filters[:1] != [_FILTER]:
            filters.insert(0, _FILTER)
    _THREAD.silent = getattr(_THREAD, "silent", 0) + 1
    try:
        yield
    finally:
        _THREAD.silent -= 1
        with _LOCK:
            _SILENT[0] -= 1
            filters = warnings.filters
            while not _SILENT[0] and _FILTER in filters:
                filters.remove(_FILTER)
