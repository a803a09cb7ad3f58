"""The part of a table that is expected to train beside a holdout: what forecasts before a charge are about. No record is read.

A forecast is about that part whatever number the coins of the holdout choose, and counts records of the whole table. So a plan and its fit say the same.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(frozen=True)
class TrainingPart:
    """Of n records, or units, those that train. held: the share that coins set aside."""

    n: int
    held: float

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
