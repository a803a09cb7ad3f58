"""The number in a cell that is written otherwise than as a number: with a decimal comma, with separators, as an amount, a date, a time.

How a column is written is declared, and each cell is read by itself: what does not fit is a gap. A cell that is a number already says
that number, unless dates or times are declared. So it makes no difference whether a library had read the column as numbers before.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import date, datetime, timedelta
from typing import Any, Literal, TypeAlias, get_args

from prepriv.tables.cell import Cell, cell_of, number_in_cell

Written: TypeAlias = Literal["number", "comma", "thousands", "amount", "yes_no", "date", "dmy", "mdy", "time"]
WAYS_WRITTEN: tuple[str, ...] = get_args(Written)
DATES, TIMES = ("date", "dmy", "mdy"), ("date", "dmy", "mdy", "time")
_LONGEST = 60  # characters of a cell that is read
_SPACE = " \u00a0\u2009\u202f"
_WHOLE = (
    r"[0-9]{1,3}(?:([" + _SPACE + r"'’%s])[0-9]{3})(?:\3[0-9]{3})*|[0-9]+"
)  # \3: the first separator, behind a sign and all digits
_COMMA = re.compile(rf"([+-]?)({_WHOLE % '.'})(?:,([0-9]+))?")
_POINT = re.compile(rf"([+-]?)({_WHOLE % ','})(?:\.([0-9]+))?")
_LETTERS = r"[^\W\d_]"
_AMOUNT = re.compile(
    r"(?:[<>≤≥≈~]=? ?)?([+-]?)(?:[$€£¥] ?)?([0-9][0-9,]*(?:\.[0-9]+)?)"
    rf"[{_SPACE}]?(?:[$€£¥]|[%‰°]?{_LETTERS}{{0,12}}[²³]?(?:/{_LETTERS}{{1,12}}[²³]?)?)"
)
_YES_NO = {"yes": 1.0, "y": 1.0, "on": 1.0, "no": 0.0, "n": 0.0, "off": 0.0}
_DATE = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})(?: (.+?)(?:\+00:00)?)?")
_DAY_FIRST = re.compile(r"([0-9]{1,2})([./-])([0-9]{1,2})\2([0-9]{4})(?:,? (.+))?")
_SPAN = re.compile(
    r"(?:(-?[0-9]{1,9}) days?(?:, |$))?(?:([0-9]{1,2}):([0-9]{2})(?::([0-9]{2}(?:\.[0-9]+)?))?)?"
)
_TWELVE = re.compile(r"(.+?) ?([AaPp])\.?[Mm]\.?")
_FIRST = date(1970, 1, 1).toordinal()


def number_written(cell: Cell, written: str = "number") -> float:
    """The number in a cell of a column that is written so; NaN where there is none. Never raises.

    >>> number_written("1.234,5", "comma"), number_written("1,234.5", "thousands"), number_written("< 80 kg", "amount")
    (1234.5, 1234.5, 80.0)
    >>> number_written("Yes", "yes_no"), number_written("1970-01-11", "date"), number_written("31.12.1970", "dmy")
    (1.0, 10.0, 364.0)
    >>> number_written("14:30:00", "time"), number_written("1,5 kg", "amount"), number_written(7.0, "date")
    (14.5, nan, nan)
    """
    if written == "number" or cell is None:
        return number_in_cell(cell)
    if isinstance(cell, float):
        return math.nan if written in TIMES else cell
    if len(cell) > _LONGEST:
        return math.nan
    try:
        return _READERS[written](cell)
    except (ValueError, OverflowError, KeyError):
        return math.nan


def bound_written(bound: Any, written: str) -> Any:
    """A declared bound as a number: a date or a time as its text, too. What it cannot read stays as it is."""
    if written == "number" or isinstance(bound, int | float):
        return bound
    found = number_written(cell_of(bound), written)
    return bound if math.isnan(found) else found


def spelled(number: float, written: str) -> str | float:
    """A number as a cell of such a column: of a date or a time the text, of others the number itself.

    >>> spelled(10.0, "dmy"), spelled(14.5, "time"), spelled(2.5, "comma")
    ('1970-01-11', '14:30', 2.5)
    >>> number_written(spelled(-25.5, "time"), "time")
    -25.5
    """
    if written not in TIMES or not math.isfinite(number):
        return number
    try:
        if written == "time":
            days, minutes = divmod(round(number * 60), 24 * 60)
            return (f"{days} days, " if days else "") + f"{minutes // 60}:{minutes % 60:02d}"
        at = datetime(1970, 1, 1) + timedelta(days=number)
    except (ValueError, OverflowError):
        return number
    return at.date().isoformat() if number.is_integer() else at.isoformat(" ", "minutes")


def span_of(written: str) -> str:
    """The unit of differences of such a column, as `Estimate` prints it: "number" where they have none.

    >>> span_of("dmy"), span_of("time"), span_of("comma")
    ('days', 'hours', 'number')
    """
    return {"time": "hours"}.get(written, "days" if written in DATES else "number")


def _separated(form: re.Pattern[str], cell: str) -> float:
    found = form.fullmatch(cell)
    if found is None:
        raise ValueError
    sign, whole, _, fraction = found.groups()
    digits = "".join(c for c in whole if c.isdigit())
    return float(f"{sign}{digits}.{fraction or 0}") + 0.0


def _amount(cell: str) -> float:
    found = _AMOUNT.fullmatch(cell.removesuffix(", 0:00:00"))  # "3 days", as every library's span is read
    if found is None:
        raise ValueError
    sign, number = found.groups()
    return _separated(_POINT, sign + number)


def _days(year: str, month: str, day: str, clock: str | None) -> float:
    whole = date(int(year), int(month), int(day)).toordinal() - _FIRST
    return whole + (0.0 if clock is None else _hours(clock) / 24)


def _date(cell: str) -> float:
    found = _DATE.fullmatch(cell)
    if found is None:
        raise ValueError
    return _days(*found.groups())


def _in_order(cell: str, month_first: bool) -> float:
    found = _DAY_FIRST.fullmatch(cell)
    if found is None:
        return _date(cell)
    one, _, two, year, clock = found.groups()
    return _days(year, one, two, clock) if month_first else _days(year, two, one, clock)


def _hours(cell: str) -> float:
    half = _TWELVE.fullmatch(cell)
    found = _SPAN.fullmatch(cell if half is None else half[1])
    if found is None or not any(found.groups()):
        raise ValueError
    days, hour, minute, second = found.groups()
    h, m, s = int(hour or 0), int(minute or 0), float(second or 0)
    if h > 23 or m > 59 or s >= 60:
        raise ValueError
    if half is not None:
        if not 1 <= h <= 12 or days is not None:
            raise ValueError
        h = h % 12 + (12 if half[2] in "pP" else 0)
    return int(days or 0) * 24.0 + h + m / 60 + s / 3600


_READERS: dict[str, Callable[[str], float]] = {
    "comma": lambda cell: _separated(_COMMA, cell),
    "thousands": lambda cell: _separated(_POINT, cell),
    "amount": _amount,
    "yes_no": lambda cell: _YES_NO[cell.lower()],
    "date": _date,
    "dmy": lambda cell: _in_order(cell, False),
    "mdy": lambda cell: _in_order(cell, True),
    "time": _hours,
}
