"""One cell, by itself: what a value of any type says, as a number or as a text, whatever column it stood in.

A library types a whole column by all its cells, so one odd cell can turn every other cell of its column into
another type: 1 into 1.0 or "1", True into 1.0 or "true", a date into a time stamp of nanoseconds. Hence a cell
is read by its value alone: every spelling of a value that such a change can bring about is read alike. Every text
that `float()` reads is that number ("+1", "01234", ".5", "Infinity", "1_000"), and so is what Arrow's CSV reader
takes for a whole number besides ("0x1F"). What a reader takes for a gap is an empty cell ("", "NA", "#N/A"): declared
as a category or a label, it is that of all empty cells.
Everything here is total: no value, of any class, can raise.
"""

from __future__ import annotations

import math
import numbers
import re
from collections.abc import Callable
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

Cell: TypeAlias = float | str | None
"""What a cell says: a number (never NaN, never -0.0), a text (trimmed), or nothing (None)."""

UNREADABLE = "\0unreadable"
LONGEST = 65_536
"""Bytes of UTF-8 in the longest text that is read; a longer one is UNREADABLE, so that no cell costs more."""
_WORDS = {"true": 1.0, "false": 0.0, "0j": 0.0, "-0j": 0.0}  # zero beside a complex number
# What the readers of pandas and Arrow take for a gap, in a column of numbers if not in one of texts; and pandas' NaT.
_GAPS = frozenset(
    ["", "NA", "N/A", "n/a", "NULL", "null", "None", "<NA>", "NaT", "#N/A", "#NA", "#N/A N/A"]
    + ["-1.#IND", "1.#IND", "-1.#QNAN", "1.#QNAN"]
)
_HEXADECIMAL = re.compile(r"0[xX]([0-9a-fA-F]{1,16})")  # what Arrow reads as the 64 bits of an integer
_COMPLEX = re.compile(r"\((\S+)[+-]0j\)")
_INTERVAL = re.compile(
    r"[(\[]([^,]+), ([^,]+)[)\]]"
)  # one gap makes the ends of all pandas' intervals floats
_INSTANT = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})"
    r"(?:[T ]([0-9]{2})(?::([0-9]{2})(?::([0-9]{2})(?:\.([0-9]+))?)?)?( ?(?:Z|UTC|[+-][0-9]{2}:?[0-9]{2}))?)?"
)
_CLOCK = re.compile(r"(?:[01][0-9]|2[0-3]):[0-5][0-9]")  # Arrow's CSV reader makes a time of it
_SPAN = re.compile(
    r"(?:(-?[0-9]{1,18}) days?)?(?:,? ?(?<![0-9])\+?([0-9]{1,2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]{1,18}))?)?"
)
_SECOND = 10**18  # attoseconds, the finest unit there is
_UNITS = {
    "W": 604_800 * _SECOND,
    "D": 86_400 * _SECOND,
    "h": 3_600 * _SECOND,
    "m": 60 * _SECOND,
    "s": _SECOND,
    "ms": 10**15,
    "us": 10**12,
    "ns": 10**9,
    "ps": 10**6,
    "fs": 10**3,
    "as": 1,
}
_LAST_DAY = 3 * 10**9  # days the calendar below can name, more than 8 million years each way


def cell_of(value: Any) -> Cell:
    """What a value of any type says. Never raises; what it cannot read is the text UNREADABLE."""
    try:
        reader = _EXACT.get(type(value))
        cell = reader(value) if reader is not None else _read(value)
    except Exception:
        return UNREADABLE
    return cell if cell is None or type(cell) is float or type(cell) is str else UNREADABLE


def text_of(value: Any) -> str:
    """One spelling for a category or label: "1" for 1, 1.0, True, " 1" and "1.0"; bytes are read as UTF-8."""
    return text(cell_of(value))


def number_of(value: Any) -> float:
    """The number in a cell, NaN where there is none. Infinities stay, to be clamped."""
    return number_in_cell(cell_of(value))


def text(cell: Cell) -> str:
    """A cell as a text; "nan" for an empty one."""
    if isinstance(cell, str):
        return cell
    if cell is None:
        return "nan"
    return str(int(cell)) if cell.is_integer() else repr(cell)


def number_in_cell(cell: Cell) -> float:
    """A cell as a number; NaN where it is none: a text that is one has been read as such."""
    return cell if isinstance(cell, float) else math.nan


# ------------------------------------------------------------------------------------------- type by type


def _read(value: Any) -> Cell:
    """By class, subclasses included: the methods of the base class, whatever a subclass gives for them."""
    for kind, reader in _BY_CLASS:
        if isinstance(value, kind):
            return reader(value)
    if getattr(value, "ndim", None) == 0 and hasattr(value, "item"):
        if np.ma.is_masked(value):
            return None
        return cell_of(value.item())  # an array of no dimension is a number
    if hasattr(type(value), "__len__") or hasattr(type(value), "__iter__"):
        return UNREADABLE  # several values in one cell
    if hasattr(type(value), "__float__") or hasattr(type(value), "__index__"):
        return _float(float(value))
    return _text(str(value))


def _float(value: float) -> Cell:
    return None if value != value else value + 0.0  # no minus zero


def _int(value: int) -> Cell:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _decimal(value: Decimal) -> Cell:
    return None if Decimal.is_nan(value) else float(Decimal.__str__(value)) + 0.0


def _fraction(value: Fraction) -> Cell:
    above, below = value.numerator, value.denominator
    try:
        return _float(float(above / below))
    except OverflowError:
        return math.inf if above > 0 else -math.inf


def _complex(value: complex) -> Cell:
    return _float(float(value.real)) if value.imag == 0 else UNREADABLE


def _bytes(value: bytes) -> Cell:
    kept = value.rstrip(b"\0")
    return UNREADABLE if len(kept) > LONGEST else _text(kept.decode("utf-8", "replace"))


def _text(value: str) -> Cell:
    """A text; a number, a truth value, a date or a span of time in a spelling libraries give it is that value."""
    text = value.rstrip("\0")  # fixed-width texts cannot hold NULs at the end
    if len(text) > LONGEST // 4 and (len(text) > LONGEST or len(text.encode("utf-8", "replace")) > LONGEST):
        return UNREADABLE
    text = text.strip()
    while text.endswith("\0"):  # behind which there was a space: a text read again is that text
        text = text.rstrip("\0").strip()
    try:
        return _float(float(text))
    except ValueError:
        pass
    if text in _GAPS:
        return None
    if len(text) < 6 and (lower := text.lower()) in _WORDS:
        return _WORDS[lower]
    first = text[:1]
    if first.isdecimal() or first in ("-", "+"):
        if found := _HEXADECIMAL.fullmatch(text):
            bits = int(found[1], 16)
            return float(bits - 2**64 if bits >= 2**63 else bits)
        if len(text) < 60:
            return _time_in(text)
    elif first in ("(", "[") and len(text) < 120:
        if found := _COMPLEX.fullmatch(text):
            return cell_of(found[1])
        if found := _INTERVAL.fullmatch(text):
            return f"{first}{text_of(found[1])}, {text_of(found[2])}{text[-1]}"
    return text


# --------------------------------------------------------------------------------------------------- time


def _time_in(text: str) -> str:
    if found := _INSTANT.fullmatch(text):
        year, month, day, hour, minute, second, fraction, zone = found.groups()
        try:
            hms = int(hour or 0), int(minute or 0), int(second or 0)
            at = datetime(int(year), int(month), int(day), *hms, tzinfo=timezone.utc)
            if zone and zone.strip() not in ("Z", "UTC"):
                sign, digits = zone.strip()[0], zone.strip()[1:].replace(":", "")
                away = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
                at = at + away if sign == "-" else at - away
            seconds = round((at - _EPOCH).total_seconds())
        except (ValueError, OverflowError):
            return text  # no date of the calendar
        return _instant(seconds * _SECOND + int((fraction or "0")[:18].ljust(18, "0")), zone is not None)
    if _CLOCK.fullmatch(text):
        text += ":00"
    if (found := _SPAN.fullmatch(text)) and any(found.groups()):
        days, hour, minute, second, fraction = found.groups()
        whole = (int(days or 0) * 24 + int(hour or 0)) * 3600 + int(minute or 0) * 60 + int(second or 0)
        return _span(whole * _SECOND + int((fraction or "0").ljust(18, "0")))
    return text


_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def _clock(rest: int, hours: str) -> str:
    """Attoseconds within a day as h:mm:ss.f, with no zeros at the end."""
    seconds, fraction = divmod(rest, _SECOND)
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    tail = f".{fraction:018d}".rstrip("0") if fraction else ""
    return f"{format(hour, hours)}:{minute:02d}:{second:02d}{tail}"


def _span(total: int) -> str:
    """Attoseconds as Python spells them: "1 day, 0:00:05"; also the time of a day."""
    days, rest = divmod(total, 86_400 * _SECOND)
    head = f"{days} day{'s' if abs(days) != 1 else ''}, " if days else ""
    return head + _clock(rest, "d")


def _instant(total: int, zoned: bool) -> str:
    """Attoseconds since 1970 as "2020-01-01" or "2020-01-01 05:00:00"; with a time zone always in full, as UTC."""
    days, rest = divmod(total, 86_400 * _SECOND)
    if abs(days) > _LAST_DAY:
        return UNREADABLE
    in_calendar = -719_162 <= days <= 2_932_896  # years 1 to 9999; NumPy knows the others, slowly
    day = date.fromordinal(days + 719_163).isoformat() if in_calendar else str(np.datetime64(days, "D"))
    if zoned:
        return f"{day} {_clock(rest, '02d')}+00:00"
    return f"{day} {_clock(rest, '02d')}" if rest else day


def instant_of(count: int, unit: str, zoned: bool = False) -> Cell:
    """The cell of `count` units (as NumPy names them) since 1970 (UTC if zoned)."""
    return _instant(count * _UNITS[unit], zoned)


def span_of(count: int, unit: str) -> Cell:
    """The cell of a span of `count` units."""
    return _span(count * _UNITS[unit])


def _datetime64(value: np.datetime64, zoned: bool = False) -> Cell:
    if np.isnat(value):
        return None
    unit, many = np.datetime_data(value.dtype)
    if unit in ("Y", "M"):
        value, unit, many = value.astype("M8[D]"), "D", 1
    return _instant(int(value.view(np.int64)) * many * _UNITS[unit], zoned)


def _timedelta64(value: np.timedelta64) -> Cell:
    if np.isnat(value):
        return None
    unit, many = np.datetime_data(value.dtype)
    count = int(value.view(np.int64)) * many
    return _span(count * _UNITS[unit]) if unit in _UNITS else f"{count} {unit}"


def _datetime(value: datetime) -> Cell:
    stamp = getattr(value, "asm8", None)  # pandas: nanoseconds, years beyond 9999
    if isinstance(stamp, np.datetime64):
        return _datetime64(stamp, value.tzinfo is not None)
    away = value.utcoffset()
    total = datetime.replace(value, tzinfo=timezone.utc) - _EPOCH - (away or timedelta(0))
    return _instant(_attoseconds(total), away is not None)


def _date(value: date) -> Cell:
    return _instant((date.toordinal(value) - 719_163) * _UNITS["D"], False)


def _time(value: time) -> Cell:
    if value.tzinfo is not None:
        return str(value)
    seconds = value.hour * 3600 + value.minute * 60 + value.second
    return _span(seconds * _SECOND + value.microsecond * 10**12)


def _timedelta(value: timedelta) -> Cell:
    span = getattr(value, "asm8", None)
    return _timedelta64(span) if isinstance(span, np.timedelta64) else _span(_attoseconds(value))


def _attoseconds(value: timedelta) -> int:
    return ((value.days * 86_400 + value.seconds) * 10**6 + value.microseconds) * 10**12


_EXACT: dict[type, Callable[[Any], Cell]] = {
    type(None): lambda _: None,
    str: _text,
    float: _float,
    int: _int,
    bool: float,
    bytes: _bytes,
}
# In this order: NumPy's float64 is a float, its datetime64 no datetime; a time stamp is a date, NaT a time stamp.
_BY_CLASS: tuple[tuple[type | tuple[type, ...], Callable[[Any], Cell]], ...] = (
    (str, lambda v: _text(str.__str__(v))),
    (bytes, lambda v: _bytes(bytes.__add__(v, b""))),
    ((bytearray, memoryview), lambda v: _bytes(bytes(v))),
    (float, lambda v: _float(float.__add__(v, 0.0))),
    (int, lambda v: _int(int.__add__(v, 0))),
    ((np.bool_, np.floating), lambda v: _float(float(v))),
    (np.datetime64, _datetime64),
    (np.timedelta64, _timedelta64),  # before integers: it is one
    (np.integer, lambda v: _int(int(v))),
    ((complex, np.complexfloating), _complex),
    (Decimal, _decimal),
    (Fraction, _fraction),
    (datetime, _datetime),
    (date, _date),
    (time, _time),
    (timedelta, _timedelta),
    (numbers.Rational, _fraction),
)
