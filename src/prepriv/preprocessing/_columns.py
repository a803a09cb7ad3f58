"""Whole columns out of blocks of rows, a few at a time: for order statistics, which no running sum gives."""

from __future__ import annotations

import abc
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prepriv._arrays import Floats
from prepriv.columns import NO_NUMBER
from prepriv.guarantees.premise import Premise
from prepriv.guarantees.printed import exact
from prepriv.preprocessing.base import Rows
from prepriv.space import Space

_CELLS = 2**24  # at most this many cells are held at once (twice 128 MB while they are put together)


def sorted_columns(rows: Rows, columns: NDArray[np.intp], n: int) -> Iterator[tuple[int, Floats]]:
    """(index, ascending observed cells) of each column, in as few passes over the rows as memory allows."""
    at_once = max(1, _CELLS // max(n, 1))
    for start in range(0, len(columns), at_once):
        some = columns[start : start + at_once]
        blocks = [np.asarray(block[:, some]).T for block in rows]
        cells = np.concatenate(blocks, axis=1) if blocks else np.empty((len(some), 0))
        del blocks
        for k, j in enumerate(some):
            column = cells[k]
            yield int(j), np.sort(column[~np.isnan(column)])


@dataclass(frozen=True)
class PremiseColumn:
    """A column that a premise is about: its number, its name, its declared bounds."""

    index: int
    name: str
    low: float
    high: float

    @staticmethod
    def of(space: Space, index: int) -> PremiseColumn:
        """A column of a declared space."""
        name = space.names[index] if space.names else f"x{index}"
        return PremiseColumn(int(index), name, float(space.low[index]), float(space.high[index]))

    @property
    def units(self) -> str:
        """What the numbers of the premise are in, in words: a step sees encoded cells, the reader thinks of raw ones."""
        return f"in units in which the declared bounds of {self.name!r} are {exact(self.low)}..{exact(self.high)}"

    @property
    def width(self) -> float:
        """Distance of the declared bounds."""
        return self.high - self.low

    def ranked(self, rows: Rows, n: int) -> Floats:
        """The observed cells in ascending order, (N,)."""
        ((_, cells),) = sorted_columns(rows, np.array([self.index]), n)
        return cells


@dataclass(frozen=True)
class ColumnPremise(Premise):
    """A premise on the observed cells of one column, taken in order; it can be tested."""

    column: PremiseColumn

    @abc.abstractmethod
    def met(self, ranked: Floats) -> bool:
        """Whether cells (N,), in ascending order, meet it."""

    @abc.abstractmethod
    def distance(self, ranked: Floats) -> float:
        """Cells, of any record, that must change before it fails, or fewer, 1-Lipschitz in them; inf: never."""

    def holds(self, rows: Rows, n: int) -> bool:
        return self.met(self.column.ranked(rows, n))

    @property
    def read(self) -> str:
        """A value is that of a cell that is there, cut at its bounds, before whatever else happens to rows."""
        if self.reading.after:
            return f"{self.reading.words}, and the values are those of cells that are not missing"
        return f"a value beyond the bounds counts as the nearer bound, and a cell {NO_NUMBER} has none"


def padded(ascending: Floats, low: float, high: float) -> Floats:
    """Sorted cells by rank 1..N, with the declared bounds at 0 and N + 1."""
    return np.concatenate([[low], ascending, [high]])
