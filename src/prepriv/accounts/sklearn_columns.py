"""Columns and categories as scikit-learn names them, in the names of a domain."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from prepriv.accounts.settings import NUMBER, whole
from prepriv.columns import Numeric
from prepriv.tables.cell import text_of


def columns_named(wanted: Any, every: Sequence[str]) -> tuple[str, ...] | None:
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


def no_codes(column: str, declared: Numeric, categories: Sequence[Any]) -> str:
    """Why an OrdinalEncoder with these categories does not give codes within the declared bounds; "" where it does."""
    most = len(categories) - 1
    if (declared.low, declared.high) != (0, most):
        return f"declare the column {column!r} as Numeric(0, {most}) in the domain"
    if declared.missing == "impute":
        return f"the column {column!r} can miss cells, and one that does stops the fit: fill it before the pipeline, record by record"
    if not all(isinstance(c, str) or NUMBER.ok(c) for c in categories):
        return f"the categories of {column!r} must be texts or finite numbers: the code of a missing cell is missing"
    return ""
