"""Shares and errors with their intervals, as readers without statistics see them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from prepriv._text import printable
from prepriv.guarantees.printed import measured

MOST = 5
"""So many classes, or groups, are named."""


@dataclass(frozen=True)
class Share:
    """A share with its interval, None where too few rows stood beside the noise.

    Parameters
    ----------
    name : str
        Of the class or group it is of.
    value, low, high : float, optional
        The share, in [0, 1], and the ends of its interval.

    Examples
    --------
    >>> from prepriv.release.shares import Share
    >>> print(Share("ill", 0.844, 0.80, 0.88))
    84 (80 to 88)
    >>> print(Share("ill", 0.0, 0.0, 0.22))  # where noise alone can take the value, its end of the interval says nothing
    at most 22
    """

    name: str
    value: float | None = None
    low: float | None = None
    high: float | None = None

    def __str__(self) -> str:
        if self.value is None:
            return "unknown"
        if self.low is None or self.high is None or self.low == self.high:
            return f"{100 * self.value:.1f}"
        value, low, high = measured(self.value, self.low, self.high, digits=1, shift=2)
        if self.value == self.low == 0.0:
            return f"at most {high}"
        return f"at least {low}" if self.value == self.high == 1.0 else f"{value} ({low} to {high})"

    @property
    def floor(self) -> float:
        """The least that is shown."""
        return self.low if self.low is not None else self.value or 0.0


@dataclass(frozen=True)
class GroupError:
    """How far predictions of a number are off for one group, in the unit of the target; None where too few rows stood beside the noise.

    Parameters
    ----------
    name : str
        Of the group.
    value, low, high : float, optional
        The error, and the ends of its interval.

    Examples
    --------
    >>> from prepriv.release.shares import GroupError
    >>> print(GroupError("E", 10.63, 9.1, 12.04))
    10.6 (9.1 to 12.1)
    >>> print(GroupError("E", 0.0, 0.0, 14.3))
    at most 14.3
    """

    name: str
    value: float | None = None
    low: float | None = None
    high: float | None = None

    def __str__(self) -> str:
        if self.value is None or self.low is None or self.high is None:
            return "unknown"
        value, low, high = measured(self.value, self.low, self.high)
        return f"at most {high}" if self.value == self.low == 0.0 else f"{value} ({low} to {high})"


def in_quotes(share: Share | GroupError) -> str:
    """Its name in quotation marks."""
    return f'"{printable(share.name)}"'


def lowest(shares: tuple[Share, ...]) -> list[Share]:
    """Those that are known, the lowest first, as many as are named."""
    known = [s for s in shares if s.value is not None]
    return sorted(known, key=lambda s: (s.value or 0.0, s.name))[:MOST]


def first_of(names: Sequence[str]) -> str:
    """Names in quotation marks, the first of them, and how many more there are."""
    more = f" and {len(names) - MOST} more" if len(names) > MOST else ""
    return ", ".join(in_quotes(Share(name)) for name in names[:MOST]) + more
