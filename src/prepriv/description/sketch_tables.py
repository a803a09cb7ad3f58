"""A sketch as tables: its noisy counts with their intervals, and rows drawn from it; both as the lines of a CSV file, which are the same wherever they are made."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from typing import Any

from numpy.typing import NDArray

from prepriv._text import csv_cell
from prepriv.description.estimates import SURE, Estimate
from prepriv.sketches.tablesketch import TableSketch, raw_columns

DATA_FILE, PAGE_FILE, COUNTS_FILE, ROWS_FILE = (
    "sketch.json",
    "sketch.html",
    "tables.csv",
    "rows-with-these-marginals-only.csv",
)
"""The files of a sketch. The last two follow from the first."""
MOST_IN_FILE = 10**6
"""Rows in a file."""
_AT_ONCE = 4096  # rows that are held as Python's numbers


def counts_of(sketch: TableSketch, column: str) -> dict[tuple[str, str], Estimate]:
    """The noisy counts of one column with the label, by (value of the cell, class). ValueError for a column that it does not have."""
    plan = sketch.plan
    if column not in plan.columns:
        raise ValueError(f"the sketch has no table of {column!r}; it has {', '.join(plan.columns)}")
    counts = sketch.counts[list(plan.columns).index(column)]
    classes = [*map(str, plan.domain.classes)] if plan.classes > 1 else ["all"]
    half = SURE * plan.noise("tables")
    return {
        (name, label): Estimate.around(float(counts[i, y]), half).within(0, float("inf"))
        for i, name in enumerate(sketch.names(column))
        for y, label in enumerate(classes)
    }


def drawn_of(sketch: TableSketch, rows: int, seed: int = 0) -> dict[str, Any]:
    """Rows drawn from it, as arrays of raw cells by the name of their column."""
    plan = sketch.plan
    drawn, labels = sketch.draw(rows, seed)
    columns: dict[str, Any] = raw_columns(drawn, plan.domain)
    if plan.domain.target is not None and len(drawn) > len(columns):
        target = plan.domain.target
        columns[plan.target_name] = target.numbers(drawn[-1])
    elif plan.classes > 1:
        columns[plan.target_name] = plan.domain.labels[labels]
    return columns


def count_lines(sketch: TableSketch) -> Iterator[str]:
    """The lines of its counts, the header line first."""
    yield from _lines(["column", "cell", "class", "noisy count", "95 % from", "95 % to"], _counts(sketch))


def _counts(sketch: TableSketch) -> Iterator[tuple[object, ...]]:
    for column in sketch.plan.columns:
        for (cell, label), e in counts_of(sketch, column).items():
            yield csv_cell(column), csv_cell(cell), csv_cell(label), e.value, e.low, e.high


def row_lines(sketch: TableSketch, rows: int, seed: int) -> Iterator[str]:
    """The lines of rows drawn from it, the header line first."""
    columns = drawn_of(sketch, rows, seed)
    yield from _lines([csv_cell(name) for name in columns], _rows([*columns.values()]))


def _rows(columns: list[NDArray[Any]]) -> Iterator[list[str]]:
    for at in range(0, len(columns[0]), _AT_ONCE):
        part = (column[at : at + _AT_ONCE].tolist() for column in columns)
        yield from ([*map(_cell, row)] for row in zip(*part, strict=True))


def _cell(value: Any) -> str:
    if type(value) is float and value >= 0:
        return repr(value)  # as `csv_cell`, and faster
    return "" if value is None or value != value else csv_cell(value)


class _Line:
    """What a writer of CSV writes to: it hands each line back."""

    def write(self, text: str) -> str:
        return text


def _lines(header: list[str], rows: Iterable[Iterable[object]]) -> Iterator[str]:
    writer: Any = csv.writer(_Line(), lineterminator="\n")
    yield writer.writerow(header)
    for row in rows:
        yield writer.writerow(row)
