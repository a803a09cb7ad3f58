"""What is wrong with a table: exact counts for its curator, and the form of new rows. Not private, either of them."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np

from prepriv._arrays import Floats
from prepriv.columns import OTHER, Column, Numeric, Text, bounds_in_words, middle_in_words
from prepriv.domain import Domain
from prepriv.tables.cell import text, text_of
from prepriv.tables.column import cells, numbers_in
from prepriv.tables.encoding import MISSING_TEXT, check_stream, columns_of, encode, label_column
from prepriv.tables.images import images_in_turn
from prepriv.tables.lists import as_row
from prepriv.tables.readers import BadData
from prepriv.tables.sparse import is_sparse
from prepriv.tables.stream import as_stream
from prepriv.tables.written import TIMES, number_written

FAULTS = ("missing", "no number", "out of bounds", "unknown")
CROWDED = 50  # a column is asked about whose numbers fill less than one part in so many of its bounds
_OF_RARE = 0.01  # numbers on either side which do not count there


@dataclass(frozen=True)
class Counted:
    """A column (or the labels) as found beside what is declared about it.

    found: the type its container gives it. faults: how many cells are of each of FAULTS: empty; a text that is not a
    number; a number outside the bounds (as an infinite one is); a category or label that is not declared. unmatched:
    the most frequent texts that are read as nothing or as other, with their counts. counts: of each declared class. becomes: what an empty cell of a number is filled with, if it is not imputed.
    words: the words for a gap that cells say and that are not declared, such as none, with their counts. crowded: whether nearly all numbers lie in less than
    one part in CROWDED of the bounds, and within them.
    """

    name: str
    declared: str
    found: str
    faults: tuple[int, int, int, int]
    unmatched: tuple[tuple[str, int], ...] = ()
    counts: tuple[tuple[Hashable, int], ...] = ()
    becomes: str = ""
    words: tuple[tuple[str, int], ...] = ()
    crowded: bool = False


def counted_columns(data: Any, domain: Domain) -> list[Counted]:
    """Each declared column of a table; of a ball, each feature. Raises BadData where the form does not fit."""
    return [
        _counted(*declared, column) for declared, column in zip(_declared(domain), columns_of(data, domain))
    ]


def _declared(domain: Domain) -> Sequence[tuple[str, Column | None]]:
    """(name, what is declared about it) of each column; None: a feature of a ball."""
    return list(domain.columns.items()) or [(f"feature {j}", None) for j in range(domain.n_inputs)]


def counted_labels(labels: Any, domain: Domain) -> Counted:
    """The labels beside the declared classes."""
    column = label_column(labels)
    if domain.target is not None:
        return _counted(domain.label or "target", domain.target, column)
    tally = _tally(column)
    known = tuple((name, tally.pop(text_of(name), 0)) for name in domain.classes)
    words = _gap_words(tally)
    missing = _gaps(tally)
    faults = (missing, 0, 0, sum(tally.values()))
    said = f"{len(domain.classes)} classes"
    return Counted(domain.label or "labels", said, _type(column), faults, _most(tally), known, words=words)


def _counted(name: str, kind: Column | None, column: Any) -> Counted:
    tally = _tally(column)
    if isinstance(kind, Text):
        return Counted(name, "a text", _type(column), (_gaps(tally), 0, 0, 0), ())
    if kind is not None and not isinstance(kind, Numeric):
        for category in (*kind.categories, OTHER):  # a cell that says other is as it says
            tally.pop(text_of(category), None)
        words = _gap_words(tally)
        missing = _gaps(tally)
        said = f"{len(kind.categories)} categor{'y' if len(kind.categories) == 1 else 'ies'}"
        faults = (missing, 0, 0, sum(tally.values()))
        return Counted(name, said, _type(column), faults, _most(tally), words=words)
    written = "number" if kind is None else kind.written
    values = numbers_in(column, written)
    _gaps(tally)
    _, distinct = cells(column)
    wrong = {text(cell) for cell in distinct if math.isnan(number_written(cell, written))}
    tally = {said: count for said, count in tally.items() if said in wrong}
    bad, empty = sum(tally.values()), int(np.isnan(values).sum())
    low, high = (kind.low, kind.high) if kind is not None else (-math.inf, math.inf)
    outside = (values < low) | (values > high) | np.isinf(values)
    said = bounds_in_words(kind) if kind is not None else "a number"
    becomes = middle_in_words(kind) if kind is not None and kind.missing == "midpoint" else ""
    return Counted(
        name,
        said,
        _type(column),
        (empty - bad, bad, int(outside.sum()), 0),
        _most(tally),
        becomes=becomes,
        crowded=_crowded(values[np.isfinite(values)], low, high),
    )


def _crowded(values: Floats, low: float, high: float) -> bool:
    """Whether these numbers leave nearly all of their bounds empty: as where a unit is another one."""
    if not values.size or math.isinf(high - low):
        return False
    first, last = np.quantile(values, (_OF_RARE, 1 - _OF_RARE), method="nearest")
    return bool(low <= first and last <= high and (last - first) * CROWDED < high - low)


def _tally(column: Any) -> dict[str, int]:
    """How often each text stands in a column, as categories and labels are spelled; "nan": an empty cell."""
    codes, distinct = cells(column)
    counts = np.bincount(codes + 1, minlength=len(distinct) + 1).tolist()
    tally: dict[str, int] = {}
    for cell, count in zip([None, *distinct], counts):
        if count:
            tally[text(cell)] = tally.get(text(cell), 0) + count
    return tally


def _gap_words(tally: dict[str, int]) -> tuple[tuple[str, int], ...]:
    """The texts of a tally that are read as gaps and may be meant as values, by frequency."""
    return _most({said: n for said, n in tally.items() if said.lower() in MISSING_TEXT - {"", "nan"}})


def _gaps(tally: dict[str, int]) -> int:
    """Take the spellings of an empty cell out of a tally: how many cells those are."""
    return sum(tally.pop(spelled) for spelled in list(tally) if spelled.lower() in MISSING_TEXT)


def _most(tally: dict[str, int]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(tally.items(), key=lambda pair: (-pair[1], pair[0]))[:10])


def _type(column: Any) -> str:
    named = str(getattr(column, "dtype", "object"))
    return "text" if named == "Binary" else named  # as cells of a CSV file are kept


def check_new_rows(data: Any, domain: Domain) -> None:
    """BadData unless the form of rows to predict is the declared one: nothing is guessed for the rows of a user.

    Beyond what `encode` refuses: a row in a list whose length is not the domain's, and a numeric column none of
    whose cells is a number. Training reads both as missing cells, since no private record may stop it.
    """
    if (stream := as_stream(data)) is not None:
        check_stream(stream, domain)
        return
    if domain.is_ball and is_sparse(data):
        encode(data, domain)
        return
    if isinstance(data, list | tuple):
        width = domain.n_inputs
        for i, row in enumerate(as_row(row, width) for row in images_in_turn(data, domain.image)):
            if isinstance(row, str | bytes) or not hasattr(row, "__len__") or len(row) != width:
                raise BadData(f"row {i} is not a row of {width} cells, which the model reads")
    for (name, kind), column in zip(_declared(domain), columns_of(data, domain)):
        if kind is not None and not isinstance(kind, Numeric):
            continue
        typed = isinstance(column, np.ndarray) and column.dtype.kind in "iufb"
        typed = typed or (isinstance(column, nw.Series) and column.dtype.is_numeric())
        if typed and (kind is None or kind.written not in TIMES):
            continue
        said = _counted(name, kind, column)
        empty, bad, _, _ = said.faults
        if bad and empty + bad == len(column):
            raise BadData(f"column {name!r} holds no number in any row, and the model reads numbers there")
