"""Columns and categories as scikit-learn names them, in the names of a domain."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from prepriv.pipeline.settings import whole
from prepriv.tables.cell import text_of


def named(wanted: Any, every: Sequence[str]) -> tuple[str, ...] | None:
    """The columns that a ColumnTransformer names: by name, by number, by a slice or a mask. None where one is not there."""
    try:
        if isinstance(wanted, slice):
            wanted = every[wanted]
        listed = [wanted] if isinstance(wanted, str | int) else list(wanted)
        if listed and all(isinstance(w, bool | np.bool_) for w in listed):
            listed = [name for name, chosen in zip(every, listed, strict=True) if chosen]
        if all(map(whole, listed)):
            listed = [every[int(w)] for w in listed]
    except (TypeError, ValueError, IndexError):
        return None
    return tuple(map(str, listed)) if all(isinstance(w, str) and w in every for w in listed) else None


def same_categories(theirs: Sequence[Any], declared: Sequence[Any]) -> bool:
    """Whether they are the same, in any order and in one spelling: 1 and 1.0 are one category of a table."""
    return sorted(map(text_of, theirs)) == sorted(map(text_of, declared))
