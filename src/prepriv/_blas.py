"""One thread for products of matrices, whoever asks for it at the same time."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

_SEVERAL = 1024  # rows, some blocks of them


@cache
def _controller() -> Any:
    """The libraries of products in this process, looked for once: that takes as long as a pass over ten thousand rows."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


class _Held:
    """How many ask for one thread, and what they found."""

    lock = threading.Lock()
    asked = 0
    before: Any = None


@contextmanager
def one_blas_thread(rows: int | None = None) -> Iterator[None]:
    """Products take one thread: of blocks of some hundred rows more of them wait for each other, which takes twice the time of
    the processor. The last of several threads that ask for it gives back what the first one found. rows: how many there are;
    of a few nothing is changed, which would take longer.
    """
    if rows is not None and rows < _SEVERAL:
        yield
        return
    with _Held.lock:
        if _Held.asked == 0:
            _Held.before = _controller().limit(limits=1, user_api="blas")
        _Held.asked += 1
    try:
        yield
    finally:
        with _Held.lock:
            _Held.asked -= 1
            if _Held.asked == 0:
                _Held.before.restore_original_limits()
