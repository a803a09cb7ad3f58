"""One thread for products of matrices, whoever asks for it at the same time."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

_SEVERAL = 1024  # rows, some blocks of them


@cache
def _libraries() -> list[Any]:
    """The libraries of products in this process, looked for once: that takes as long as a pass over ten thousand rows."""
    from threadpoolctl import ThreadpoolController

    return [one for one in ThreadpoolController().lib_controllers if one.user_api == "blas"]


def _set(library: Any, threads: int) -> None:
    """threadpoolctl lets the first Python thread alone set it, and does nothing for others: then no limit holds, or one stays for good."""
    getattr(library, "_real_set_num_threads", library.set_num_threads)(threads)


class _Held:
    """How many ask for one thread, and what the first of them found."""

    lock = threading.Lock()
    asked = 0
    before: tuple[int, ...] = ()


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
            _Held.before = tuple(one.get_num_threads() for one in _libraries())
            for one in _libraries():
                _set(one, 1)
        _Held.asked += 1
    try:
        yield
    finally:
        with _Held.lock:
            _Held.asked -= 1
            if _Held.asked == 0:
                for one, threads in zip(_libraries(), _Held.before):
                    _set(one, threads)
