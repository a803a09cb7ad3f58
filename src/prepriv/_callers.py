"""Where a warning points: the user's own line, not one of this package."""

from __future__ import annotations

import sys


def callers_level() -> int:
    """Of a warning given by the function that asks: the nearest frame outside this package."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "prepriv":
        level, frame = level + 1, frame.f_back
    return level
