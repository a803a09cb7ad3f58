"""What a library has to say of a cell is said of a record: it is not said."""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

from prepriv.guarantees.notes import PrivacyWarning

_LOCK = threading.RLock()


@contextmanager
def quiet() -> Iterator[None]:
    """No warning is shown or raised inside, but ours on privacy: another thread can have one to say.

    Filters of warnings are those of the process: two threads that each put back what they found would leave the first one's for good.
    """
    with _LOCK, warnings.catch_warnings():
        action = next(
            (
                f[0]
                for f in warnings.filters
                if f[1] is None and f[3] is None and issubclass(PrivacyWarning, f[2])
            ),
            "default",
        )
        warnings.simplefilter("ignore")
        warnings.simplefilter(cast(Any, action), PrivacyWarning)
        yield


def _new_lock() -> None:
    global _LOCK
    _LOCK = threading.RLock()


if hasattr(os, "register_at_fork"):  # a child whose parent's thread held it would wait for ever
    os.register_at_fork(after_in_child=_new_lock)
