"""How a described table is read, in sentences: which rows, what is cut, what is left out, what "other" is. No record is read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from prepriv.columns import Categorical, Column, Numeric, Text, cut_in_words
from prepriv.description.estimates import Estimate

_SHOWN = 3  # cells that are named, of those that share a line
_NAMED = 3  # so many columns with equal bounds are named, of more than twice as many
_MANY_GAPS = 0.1  # of the cells: where surely more are gaps, a line says what its correlations are about

_GAPS = (
    "A cell that is empty or cannot be read as a number is left out of the means, sums, quantiles and histograms of its column, and counts as "
    "missing, also where the schema fills such cells for a model."
)
_OTHERS = '"other" counts the values that are not listed, and "missing" the gaps.'


def cut_columns(columns: Mapping[str, Column]) -> dict[str, dict[str, Any]]:
    """Of each numeric column its bounds, and how numbers beyond them count, as plain data."""
    return {
        name: {"low": column.low, "high": column.high, "in_words": cut_in_words(column)}
        for name, column in columns.items()
        if isinstance(column, Numeric)
    }


def cut_lines(columns: Mapping[str, Column]) -> list[tuple[str, str]]:
    """(names of numeric columns with equal bounds, how numbers beyond these count)."""
    alike: dict[str, list[str]] = {}
    for name, column in columns.items():
        if isinstance(column, Numeric):
            alike.setdefault(cut_in_words(column), []).append(str(name))
    return [(_named(names), said) for said, names in alike.items()]


def _named(names: list[str]) -> str:
    more = len(names) - _NAMED
    return ", ".join(names) if more <= _NAMED else f"{', '.join(names[:_NAMED])} and {more:,} more"


def gaps_and_others(columns: Iterable[Column]) -> list[str]:
    """What becomes of cells that hold no number, and of values that are not listed."""
    kinds = list(columns)
    out = [_GAPS] if any(isinstance(column, Numeric) for column in kinds) else []
    return out + ([_OTHERS] if any(isinstance(column, Categorical | Text) for column in kinds) else [])


def read_of_units(unit: str | None, most: int = 1) -> list[str]:
    """What numbers about a table with units count; nothing where each row is a record. unit: whose rows, as a
    claim names it (`prepriv.domain.Domain.protected`). most: how many of one are read."""
    if unit is None:
        return []
    if most == 1:
        return [
            f"One row of each `{unit}` is read. A fixed hash picks it as if by lot, each row of a `{unit}` as likely as any other. So every number about the "
            f"table is of `{unit}`s, each by that one row, also where it says records or rows. It is not a number of all rows. A `{unit}` that has a "
            "value only in rows that are not read is not counted with it. There can be many of those."
        ]
    return [
        f"At most {most:,} rows of each `{unit}` are read. A fixed hash picks them as if by lot, each row of a `{unit}` as likely as any other. Each row that is "
        f"read counts by itself. So the counts are of rows that are read, neither of all rows nor of `{unit}`s."
    ]


def filled_in_words(gaps: Mapping[str, Estimate]) -> list[str]:
    """What is said about correlations of columns whose released share of gaps is surely large; nothing where there are none."""
    many = [str(name) for name, share in gaps.items() if share.low > _MANY_GAPS]
    if not many:
        return []
    return [
        f"More than {_MANY_GAPS:.0%} of the cells of {', '.join(many)} are gaps, by the 95 % interval of each share missing. Each gap counts as the middle of "
        "the bounds, so correlations with such a column are in part about who has a gap. The question covariance(A, B) of `prepriv ask`, which has a price "
        "of its own, takes only the records that have both cells."
    ]


def some_of(names: Sequence[str]) -> str:
    """Names of cells that share a line: the first few, and how many more there are."""
    more = len(names) - _SHOWN
    return "; ".join([*names[:_SHOWN], *([f"and {more:,} more"] if more > 0 else [])])


def not_above_zero(most: Estimate) -> str:
    """What is told where cells may well be empty. most: the one that reaches highest."""
    return f"not shown to be above 0 (95 %: each at most {most.texts[2]})"


def says_little(e: Estimate, low: float, high: float) -> bool:
    """Whether an interval says next to nothing about a quantile: it is at least half as wide as the bounds of its column."""
    return e.high - e.low >= (high - low) / 2


def between(e: Estimate) -> str:
    """What is said about such a quantile: the ends alone, as the value between them is mostly noise."""
    _, low, high = e.texts
    return f"between {low} and {high} (95 %): noise hides where"
