"""Which columns a part of a ColumnTransformer takes: by name, place, slice, mask, or a selector that what is declared decides.

No record is looked at, so a choice that hangs on the records, or on how a frame happens to store them, is refused. This file states no
bound: docs/proofs/fitted.md proves what a pipeline that was read this way may do.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from prepriv.columns import Column, Numeric

_Columns = Sequence[str] | Mapping[str, Column] | None
_STORED = {True: ("float64", "float32", "int64", "int32"), False: ("object", "str", "category")}
"""How a frame may store a column: of numbers, and of categories."""


def places_of(chosen: Any, columns: _Columns) -> list[int]:
    """The places of the columns that a part takes. columns: those that reach it, None where they have no names."""
    if callable(chosen):
        names = list(columns or ())
        return [names.index(name) for name in selected(chosen, columns)]
    if isinstance(chosen, slice):
        return _of_slice(chosen, columns)
    listed, mask = _listed(chosen), mask_of(chosen)
    if mask:
        if columns is not None and mask["width"] != len(columns):
            raise ValueError(
                f"a ColumnTransformer has a mask of {mask['width']} columns, and {len(columns)} are declared"
            )
        return [i for i, taken in enumerate(listed) if taken]
    return [_place(c, columns) for c in listed]


def by_name(chosen: Any) -> bool:
    """Whether a part lists its columns by their names alone."""
    return not (callable(chosen) or isinstance(chosen, slice)) and all(
        isinstance(c, str) for c in _listed(chosen)
    )


def _listed(chosen: Any) -> list[Any]:
    return [chosen] if isinstance(chosen, str | int | np.integer) else list(chosen)


def _place(c: Any, columns: _Columns) -> int:
    if isinstance(c, str):
        if columns is None or c not in columns:
            raise ValueError(
                f"a ColumnTransformer takes the column {c!r}, which does not reach it: the domain does not declare it, or an earlier part does "
                "not pass it on by this name"
            )
        return list(columns).index(c)
    if isinstance(c, bool | np.bool_) or not isinstance(c, int | np.integer):
        raise ValueError(
            f"a ColumnTransformer takes columns by names, whole numbers, a slice, or a mask of all of them; got {c!r}"
        )
    if columns is None:
        return int(c)
    if not -len(columns) <= int(c) < len(columns):
        raise ValueError(f"a ColumnTransformer takes column {int(c)}, which does not reach it")
    return int(c) % len(columns)


def mask_of(chosen: Any) -> dict[str, int]:
    """How many columns a mask is about, as {"width": count}; {} for what is not a mask."""
    if callable(chosen) or isinstance(chosen, slice | str):
        return {}
    listed = _listed(chosen)
    return {"width": len(listed)} if listed and all(isinstance(c, bool | np.bool_) for c in listed) else {}


def _of_slice(chosen: slice, columns: _Columns) -> list[int]:
    """Of a slice of places, or of names, whose last one it takes, as a frame does."""
    if columns is None:
        raise ValueError("a slice of columns that are not the declared ones: list their places")
    names, ends = list(columns), (chosen.start, chosen.stop)
    if not any(isinstance(end, str) for end in ends):
        return list(range(len(names)))[chosen]
    if chosen.step is not None or any(not (end is None or end in names) for end in ends):
        raise ValueError(
            f"a ColumnTransformer takes the columns from {chosen.start!r} to {chosen.stop!r}: both have to be declared, and no step"
        )
    first = 0 if chosen.start is None else names.index(chosen.start)
    last = len(names) - 1 if chosen.stop is None else names.index(chosen.stop)
    return list(range(first, last + 1))


def selected(chosen: Any, columns: _Columns) -> list[str]:
    """The declared columns that a `make_column_selector` takes: numbers are numbers, and categories are texts, objects and categories alike.

    ValueError for any other function, and where it tells numbers apart that are declared alike.
    """
    from sklearn.compose import make_column_selector

    if type(chosen) is not make_column_selector:
        raise ValueError(
            "a ColumnTransformer chooses columns by a function, which may look at the records: name them, or use make_column_selector"
        )
    if not isinstance(columns, Mapping):
        raise ValueError(
            "make_column_selector after another transformer chooses by what that makes: list places"
        )
    return [
        name
        for name, column in columns.items()
        if _hits(chosen, "dtype_include", name, column)
        and not _hits(chosen, "dtype_exclude", name, column)
        and _hits(chosen, "pattern", name, column)
    ]


def _hits(chosen: Any, setting: str, name: str, column: Column) -> bool:
    """Whether one setting of a selector is about this column; one that is not given is about all, an exclusion about none."""
    import pandas as pd
    from sklearn.compose import make_column_selector

    if (asked := getattr(chosen, setting)) is None:
        return setting != "dtype_exclude"
    number = isinstance(column, Numeric)
    only = make_column_selector(**{"dtype_include" if setting == "dtype_exclude" else setting: asked})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a library on names of types
        found = {bool(only(pd.DataFrame({name: pd.Series([], dtype=kind)}))) for kind in _STORED[number]}
    if len(found) > 1 and number:
        raise ValueError(
            f"make_column_selector({setting}={asked!r}) tells whole numbers from others, and the domain declares {name!r} as a number: name the "
            'columns, or take "number"'
        )
    return True in found


def check_selectors(chosen: Sequence[Any], columns: _Columns) -> None:
    """ValueError where two selectors by type take one column of categories, which a frame's way to store it would tell apart."""
    taken = set[str]()
    for one in chosen:
        if callable(one) and getattr(one, "dtype_include", None) is not None:
            own = set(selected(one, columns))
            if own & taken:
                raise ValueError(
                    f"two selectors by type take {min(own & taken)!r}, and the domain does not say how a frame stores it: name the columns"
                )
            taken |= own
