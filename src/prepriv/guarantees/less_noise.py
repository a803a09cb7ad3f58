"""How much less noise is enough for something, and the ε that buys it: what is named before a charge. No record is read.

With a holdout such a forecast is about the part that is expected to train, whatever number its coins choose, and counts records of the whole table.
So a plan and its fit say the same.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from prepriv.guarantees.gaussian import gdp_epsilon, gdp_mu
from prepriv.guarantees.printed import up

MOST_NAMED = 10.0
"""An ε above which a claim is weak: none is named."""
_STEP, _MOST = 1.02, 1046  # up to 9.9e8 times less


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


def less_noise(enough: Callable[[float], bool]) -> float:
    """How many times less noise, or more records, it takes, from 1 on; infinite where a thousand million times is not enough. What is enough is so with
    less noise, too."""
    most = 1
    while not enough(_STEP**most):
        if most == _MOST:
            return math.inf
        most = min(2 * most, _MOST)
    return _STEP ** bisect_left(range(most), True, key=lambda steps: enough(_STEP**steps))


def larger_epsilon(factor: float, epsilon: float, delta: float) -> float:
    """The ε that leaves so many times less noise, rounded up."""
    if factor == math.inf:
        return math.inf
    return float(up(gdp_epsilon(gdp_mu(epsilon, delta) * factor, delta), 2))
