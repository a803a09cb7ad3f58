"""Silence for third-party code that reads private rows: whether it warns, and of what, can depend on records."""

from __future__ import annotations

import re
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class _Here(threading.local):
    """Stands for the text of a filter of warnings: each text, in threads that are silent, and none in others.

    No Python code runs in `match`. Otherwise a thread could be stopped there while it looks through the filters, and skip one when another thread takes
    this one away: an error that someone asked for was not raised.
    """

    silent = 0
    match = staticmethod(re.compile(r"(?!)").match)  # of no text

    def __reduce__(self) -> str:
        return "_HERE"  # joblib sends filters to its workers


_EACH = re.compile("").match
_HERE, _LOCK, _SILENT = _Here(), threading.Lock(), [0]
_FILTER: Any = ("ignore", _HERE, Warning, None, 0)


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
    _HERE.silent += 1
    _HERE.match = _EACH
    try:
        yield
    finally:
        _HERE.silent -= 1
        if not _HERE.silent:
            del _HERE.match
        with _LOCK:
            _SILENT[0] -= 1
            filters = warnings.filters
            while not _SILENT[0] and _FILTER in filters:
                filters.remove(_FILTER)
