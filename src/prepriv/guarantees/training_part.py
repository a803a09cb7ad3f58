"""The part of a table that is expected to train beside a holdout, and a candidate's part of a budget: what forecasts before a charge are about. No
record is read.

A forecast is about that part whatever number the coins of the holdout choose. It counts records of the whole table and names ε of the whole budget. So
a plan and its fit say the same, and what is named can be typed.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from prepriv.guarantees.less_noise import MOST_NAMED
from prepriv.guarantees.printed import up

_TRIES = 8
LEAVES_MORE = "A larger ε for the whole choice, more records or fewer candidates leave more to each"


@dataclass(frozen=True)
class TrainingPart:
    """Of n records, or units, those that train. held: the share that coins set aside. whole: the ε that several candidates divide, None: not divided.
    leaves: what a candidate has of another ε for so many records, 0 if that is not known; None: no number is named."""

    n: int
    held: float
    whole: float | None = None
    leaves: Callable[[float, int], float] | None = None

    @property
    def trains(self) -> int:
        """How many are expected to."""
        return min(max(self.n - round(self.held * self.n), 1), self.n)


_PART: ContextVar[TrainingPart | None] = ContextVar("the part that trains", default=None)


@contextmanager
def training_on(part: TrainingPart) -> Iterator[None]:
    """Forecasts are about this part."""
    before = _PART.set(part)
    try:
        yield
    finally:
        _PART.reset(before)


def forecast_n(n: int) -> int:
    """The number that a forecast is about, where n train."""
    part = _PART.get()
    return n if part is None else part.trains


def trains_of(whole: int) -> int:
    """How many of so many are expected to train."""
    part = _PART.get()
    return whole if part is None else TrainingPart(whole, part.held).trains


def table_of(n: int) -> int:
    """The fewest in the table of which n are expected to train."""
    part = _PART.get()
    if part is None:
        return n
    most = math.ceil((n + 1) / (1 - part.held))
    return n + bisect_left(range(n, most), n, key=trains_of)


def table_now(n: int, whose: str = "") -> str:
    """The number in the table where n is what a forecast is about, in words."""
    part, noun = _PART.get(), f" {whose}" if whose else ""
    return f"{n:,}{noun}" if part is None else f"{part.n:,}{noun}, of which about {part.trains:,} train"


def divided() -> bool:
    """Whether candidates divide the budget."""
    part = _PART.get()
    return part is not None and part.whole is not None


def names_none() -> bool:
    """Whether no number may be named that would be enough."""
    part = _PART.get()
    return part is not None and part.whole is not None and part.leaves is None


def price_now(epsilon: float) -> float:
    """The whole budget, where a forecast is about this much of it."""
    part = _PART.get()
    return epsilon if part is None or part.whole is None else part.whole


def candidate_has(whole: float) -> float:
    """What a whole budget leaves to what a forecast is about."""
    part = _PART.get()
    return whole if part is None or part.leaves is None else part.leaves(whole, part.n)


def price_of(epsilon: float) -> float:
    """A whole budget that leaves so much, rounded up. Infinite: none that may be named."""
    part = _PART.get()
    if part is None or part.whole is None:
        return epsilon
    whole = epsilon * part.whole / (candidate_has(part.whole) or math.inf)
    for _ in range(_TRIES):
        whole = float(up(whole, 2))
        if not 0 < whole <= MOST_NAMED:
            break
        if candidate_has(whole) >= epsilon:
            return whole
        whole *= 1.01
    return math.inf


def leaves_as_much(table: int) -> bool:
    """Whether the same budget leaves as much where so many records stand in the table."""
    part = _PART.get()
    if part is None or part.whole is None:
        return True
    return part.leaves is not None and part.leaves(part.whole, table) >= part.leaves(part.whole, part.n) > 0
