"""A first schema for a table, to be edited: bounds and categories come from the data itself, and it says so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray

from prepriv._arguments import LARGEST, LEAST
from prepriv.columns import OTHER
from prepriv.domain import check_unit
from prepriv.schemas.declared_file import BadSchema, written_yaml
from prepriv.schemas.schema import Schema
from prepriv.tables.cell import Cell, text_of
from prepriv.tables.column import cells
from prepriv.tables.encoding import SURELY_MISSING
from prepriv.tables.readers import names_of, no_label, wrong_header
from prepriv.tables.written import number_written

WARNING = (
    "This draft reads bounds, categories and classes OFF THE DATA. If the data is private, releasing anything\n"
    "that depends on this file leaks: replace every bound and category by what you know without looking."
)
CHECK = (
    "Training can say nothing about cells that do not fit (decimal commas, another encoding, labels that are\n"
    "not declared classes): the curator sees their counts with `prepriv validate DATA --schema THIS_FILE`."
)
_LONGEST = 100  # values in a list of categories, or of classes
MOST_CLASSES = 20  # that are all numbers: more of them are values of a number, to be learned as a target
_IN_ORDER = (
    "number",
    "comma",
    "thousands",
    "date",
    "dmy",
    "mdy",
    "time",
    "amount",
)  # the first that reads all cells
FEW_ROWS = 20  # below, whole numbers may all differ by chance


@dataclass(frozen=True)
class Draft:
    """A drafted schema. text: YAML, with the notes as comments; notes: what to look at, one line each."""

    text: str
    notes: tuple[str, ...]


def draft(table: Any, label: str | None, unit: str | None = None, rows_per_unit: int | None = None) -> Draft:
    """The draft for an Arrow table; `label` is its last column where None. unit: of which no more than the name is declared.

    An error quotes no column name but `label`, and one that differs from it by capitals, spaces and punctuation alone: where the file has no header line, its first record is one.

    Raises
    ------
    BadSchema
        For one column only, or no column of that name.
    """
    if len(set(table.column_names)) < table.num_columns:
        raise BadSchema(
            "two columns of the table have the same name (or its header line is missing): rename one"
        )
    frame = nw.from_native(table, eager_only=True)
    if wrong := wrong_header(frame.columns):
        raise BadSchema(f"a schema needs a label and a column beside it; {wrong}")
    told = "the last column, taken as label," if label is None else f"the label {label!r}"
    label = frame.columns[-1] if label is None else label
    if label not in frame.columns:
        raise BadSchema(no_label(label, frame.columns))
    if unit is not None and (check_unit(unit) not in frame.columns or unit == label):
        raise BadSchema(f"the table has no column {unit!r} beside its label; {names_of(frame.columns)}")
    columns: dict[str, Any] = {}
    notes: list[str] = []
    learned: dict[str, Any] = {}
    for name in frame.columns:
        if name == unit:
            continue
        codes, distinct = cells(frame[name])
        used = [i for i, v in enumerate(distinct) if text_of(v).lower() not in SURELY_MISSING]
        times = np.bincount(codes[codes >= 0], minlength=len(distinct))[used]
        values = [distinct[i] for i in used]
        if name == label:
            learned = _learned(told, values)
            continue
        column = _column(values, missing=int(times.sum()) < len(codes))
        if column is None:
            many = len(values) > _LONGEST and any(isinstance(v, str) for v in values)
            why = (
                f"its {len(values)} different texts are too many for a list of categories"
                if many
                else f"its numbers are beyond {LARGEST:g}, or less than {LEAST:g} apart"
            )
            notes.append(f"{name!r}: left out, for {why}; leave it dropped, or declare it by hand")
        else:
            columns[name] = column
            if _identifies(values, times):
                notes.append(f"{name!r}: no value stands twice, as in an identifier; drop it if it is one")
    body: dict[str, Any] = {"label": {"name": label} | learned, "adjacency": "replace-one"}
    body |= {} if unit is None else {"unit": unit, "rows_per_unit": rows_per_unit}
    body["columns"] = columns
    head = [*WARNING.splitlines(), *CHECK.splitlines(), *(f"LOOK AT {note}" for note in notes)]
    _check_loads(body)
    text = written_yaml(body)
    mark = "draft: true  # plan, train, account refuse it: remove this line when no bound, category or class is off the data\n"
    return Draft("".join(f"# {line}\n" for line in head) + mark + text, tuple(notes))


def _check_loads(body: dict[str, Any]) -> None:
    """BadSchema where the draft could not be loaded. Names are not told: see `draft`."""
    if not body["columns"]:
        raise BadSchema(
            "no column of the table beside its label can be declared from its cells: declare them by hand"
        )
    try:
        Schema.model_validate(body).domain()
    except ValueError:
        raise BadSchema(
            "no schema drafted of this table would load: rename its columns, or declare them by hand"
        ) from None


def _learned(told: str, values: Sequence[Cell]) -> dict[str, Any]:
    """The classes of a label; the bounds of a target, where its values are numbers and many."""
    names = sorted({text_of(v) for v in values})
    if (
        len(names) > MOST_CLASSES
        and (target := _column(values, missing=False))
        and target.pop("type") == "numeric"
    ):
        return target
    if len(names) > _LONGEST:
        raise BadSchema(
            f"{told} has {len(names)} different values, too many for classes: name another column "
            "with --label, or declare its classes by hand"
        )
    if len(names) < 2:
        raise BadSchema(f"{told} has fewer than two different values: name another column with --label")
    return {"classes": names}


def _column(values: Sequence[Cell], *, missing: bool) -> dict[str, Any] | None:
    """What is declared about a column with these distinct values; None if they are too many to be categories."""
    for way in _IN_ORDER if values else ():
        numbers = np.array([number_written(v, way) for v in values])
        if not np.isfinite(numbers).all():
            continue
        low, high = float(numbers.min()), float(numbers.max())
        high = high if high > low else low + 1
        if max(-low, high) > LARGEST or not high - low >= LEAST:
            return None
        bounds = {"type": "numeric", "low": low, "high": high}
        if way != "number":
            bounds |= {"written": way}
        return bounds | {"missing": "impute"} if missing else bounds
    names = sorted({text_of(v) for v in values} - {OTHER})  # which is always there
    return {"type": "categorical", "categories": names or ["a"]} if len(names) <= _LONGEST else None


def _identifies(values: Sequence[Cell], times: NDArray[np.intp]) -> bool:
    """Whether every record has a whole number, or a text, of its own."""
    whole = all(isinstance(v, str) or float(v or 0.0).is_integer() for v in values)
    return len(values) >= FEW_ROWS and int(times.max()) == 1 and whole
