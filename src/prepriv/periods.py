"""Which rows a run reads: those of some months or years, by a declared column of dates."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any, Literal

from prepriv._arguments import shown

_LENGTHS = {"month": 7, "year": 4}
_NAME = re.compile(r"[0-9]{4}(-(0[1-9]|1[0-2]))?")
_DATE = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})([T ].*)?", re.DOTALL)


@dataclass(frozen=True)
class Periods:
    """The months or years whose rows are read, and no other row (docs/ledger.md, "Month by month").

    Parameters
    ----------
    column : str
        Name of the column with the date of a row: a date, or a text that begins with one, such as 2026-11-03. A row
        without a date is left out.
    by : {"month", "year"}
        How long a period is.
    read : sequence of str
        The periods, such as "2026-11" for a month or "2026" for a year.

    Raises
    ------
    ValueError
        For another kind of period, a malformed one, one named twice, or none.

    Examples
    --------
    >>> from prepriv.periods import Periods
    >>> november = Periods("visited", "month", ["2026-11"])
    >>> november.scheme, november.read
    ('month of `visited`', ('2026-11',))
    """

    column: str
    by: Literal["month", "year"]
    read: tuple[str, ...]

    def __post_init__(self) -> None:
        name = self.column
        if not isinstance(name, str) or not name.isprintable() or not 1 <= len(name) <= 60 or "`" in name:
            raise ValueError(
                f"periods: column must be 1 to 60 printable characters, none a backtick; got {shown(name)}"
            )
        if not isinstance(self.by, str) or self.by not in _LENGTHS:
            raise ValueError(f"periods: by must be month or year; got {shown(self.by)}")
        read = tuple(self.read) if isinstance(self.read, list | tuple) else ()
        if not read:
            raise ValueError(
                f"periods: read must name the {self.by}s whose rows are read; got {shown(self.read)}"
            )
        for period in read:
            if not isinstance(period, str) or len(period) != _LENGTHS[self.by] or not _NAME.fullmatch(period):
                example = {"month": "2026-11", "year": "2026"}[self.by]
                raise ValueError(f"periods: a {self.by} is written as {example}; got {shown(period)}")
        if len(set(read)) < len(read):
            raise ValueError(f"periods: read must name each {self.by} once")
        object.__setattr__(self, "read", tuple(sorted(read)))

    @property
    def scheme(self) -> str:
        """Which periods there are, as a ledger says it: "month of `visited`"."""
        return f"{self.by} of `{self.column}`"

    def of(self, text: str) -> str | None:
        """The period of a date, if that period is read. The text of the date alone decides."""
        found = _DATE.fullmatch(text)
        try:
            period = date.fromisoformat(found[1]).isoformat()[: _LENGTHS[self.by]] if found else None
        except ValueError:
            return None
        return period if period in self.read else None

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {"column": self.column, "by": self.by, "read": list(self.read)}

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Periods:
        """Read from `to_json`. Raises ValueError for anything malformed."""
        return Periods(data["column"], data["by"], data["read"])
