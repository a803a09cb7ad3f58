"""Multiple-precision contexts: one a thread, since the precision of mpmath's shared one belongs to others."""

from __future__ import annotations

import threading
from typing import Any

_local = threading.local()


def context(bits: int) -> Any:
    """This thread's mpmath context, set to `bits` bits of precision."""
    if not hasattr(_local, "context"):
        import mpmath  # a plan does without

        _local.context = mpmath.MPContext()  # costs milliseconds
    _local.context.prec = bits
    return _local.context
