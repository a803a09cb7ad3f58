"""What a refused figure takes to be given: so many records of a class, or so spread a target. From plans and from what was released."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from prepriv.guarantees.printed import exact, measured_alone, up

_LESS = 0.9  # of what it takes as measured: a way that takes more than that part of it is not named


@dataclass(frozen=True)
class LessNoise:
    """One change of a measurement, and what the figure takes then. The kinds: "alone", "ungrouped", "error_bound", "epsilon", "rows"."""

    kind: str
    setting: float
    takes: float


@dataclass(frozen=True)
class Takes:
    """What a figure takes as it was measured, in records of a class or in the unit of a target, and with less noise.

    now: infinite where it is refused whatever the data are. most: the data have about so much at most, as far as was measured. wide: whether the
    bounds of the target are far apart beside its errors. counted: what the number of rows is of.
    """

    now: float
    ways: tuple[LessNoise, ...]
    most: float = math.inf
    wide: bool = False
    counted: str = "records"

    @property
    def worth_naming(self) -> tuple[LessNoise, ...]:
        """The ways that take less, and no more than the data can have."""
        return tuple(way for way in self.ways if way.takes < _LESS * self.now and way.takes <= self.most)

    def of_recall(self, alone: str, *, set_aside: bool) -> str:
        """What recalls take: the end of a sentence. alone: the option that measures them alone."""
        which = f"{self.counted} {'that were set aside' if set_aside else 'measured'}"
        ways = self._with_less_noise(alone, set_aside, _records)
        if self.now == math.inf:
            none = f"with so much noise no number of a class among the {which} is enough"
            return f"{none}{f': that takes {ways}' if ways else ''}"
        return f"that takes about {_records(self.now)} of a class among the {which}{f', or {ways}' if ways else ''}"

    def of_r2(self, alone: str, *, set_aside: bool) -> str:
        """What R² takes: the end of a sentence. alone: the option that measures it alone."""
        told = f"R2 takes a target whose standard deviation is {_deviation(self.now)} or more"
        if self.now == math.inf:
            told = "with so much noise R2 may be refused, whatever the target"
        if ways := self._with_less_noise(alone, set_aside, _deviation):
            told += f"; it takes {ways}. Each is a measurement of its own, and costs its own ε"
        else:
            told += "; neither fewer measures nor twice the ε is enough for one with such errors"
        if self.wide:
            told += ". The bounds of the target are far apart beside these errors: narrower ones, if you know them without the table, are free and leave less noise"
        return told

    def _with_less_noise(self, alone: str, set_aside: bool, amount: Callable[[float], str]) -> str:
        """What it takes in each of these ways, the least first; "" where none is worth naming."""
        told = sorted(self.worth_naming, key=lambda way: way.takes)
        return _listed([f"{amount(way.takes)} {self._in_words(way, alone, set_aside)}" for way in told])

    def _in_words(self, way: LessNoise, alone: str, set_aside: bool) -> str:
        """What is done otherwise, to stand after what it takes then."""
        python = "evaluate_" * set_aside
        if way.kind == "alone":
            return f"with {alone} alone"
        if way.kind == "ungrouped":
            return f"without `--by` (`{python}by=` in Python)"
        if way.kind == "epsilon":
            return f"with ε = {way.setting:.3g}"
        if way.kind == "rows":
            return f"with about {float(up(way.setting, 2)):,.0f} {self.counted} {'set aside' if set_aside else 'to test on'}"
        bound = exact(float(f"{way.setting:.4g}"))
        return f"with `--error-bound {bound}` (`{python}error_bound={bound}` in Python; it cuts the errors above it)"


def _listed(parts: Sequence[str]) -> str:
    *most, last = parts or [""]
    return f"{', '.join(most)} or {last}" if most else last


def _records(least: float) -> str:
    """A number of records of a class."""
    return f"{float(up(least, 2)):,.0f}"


def _deviation(least: float) -> str:
    """A standard deviation of a target."""
    return measured_alone(float(up(least, 2)))
