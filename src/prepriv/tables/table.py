"""Encoded rows: in memory, in compact columns; or encoded again in each pass, part by part."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prepriv.columns import Numeric, Text
from prepriv.domain import Domain
from prepriv.tables.hashed_text import hashed
from prepriv.tables.readers import BadData

BLOCK = 256


@dataclass(frozen=True, eq=False)
class Table:
    """Raw private rows, encoded block by block into the declared space. Iterate for (b, d) float64 blocks.

    Holds a matrix (a sparse one of SciPy, by rows, where rows are points of a ball), or one compact array a column; never the whole encoded matrix.
    """

    domain: Domain
    n: int
    matrix: Any
    columns: tuple[NDArray[Any], ...] = ()

    def __iter__(self) -> Iterator[NDArray[np.float64]]:
        for _, x in self.blocks():
            yield x

    def blocks(self) -> Iterator[tuple[int, NDArray[np.float64]]]:
        """(number of the first row, encoded rows) of blocks of BLOCK rows, the last one maybe shorter."""
        for start in range(0, self.n, BLOCK):
            yield start, self.block(start, min(start + BLOCK, self.n))

    def block(self, start: int, stop: int) -> NDArray[np.float64]:
        """Encoded rows start to stop, (b, d) float64; NaN only in features that have to be imputed."""
        if self.matrix is not None:
            rows: Any = self.matrix[start:stop]
            return self._matrix_block(rows.toarray() if hasattr(rows, "toarray") else rows)
        kinds = list(self.domain.columns.values())
        out = np.zeros((stop - start, sum(c.width for c in kinds)))
        at = 0
        for kind, column in zip(kinds, self.columns):
            if isinstance(kind, Numeric):
                out[:, at] = column[start:stop]
            elif isinstance(kind, Text) and kind.encoder:
                out[:, at : at + kind.width] = _to_norm_one(column[start:stop])
            elif isinstance(kind, Text):
                out[:, at : at + kind.width] = hashed(column[start:stop], kind.width)
            else:
                out[np.arange(stop - start), at + column[start:stop]] = 1.0
            at += kind.width
        return out

    def _matrix_block(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        with np.errstate(all="ignore"):
            x = np.array(rows, dtype=np.float64, order="C")  # a row's bits as in any block
            x += 0.0  # no minus zero
        if self.domain.ball_radius is not None:
            bad = ~np.isfinite(x).all(axis=1)
            x[bad] = 0.0
            biggest = np.maximum(np.abs(x).max(axis=1, keepdims=True), 1.0)
            norms = biggest * np.sqrt(((x / biggest) ** 2).sum(axis=1, keepdims=True))
            with np.errstate(over="ignore"):
                return np.asarray(x * np.minimum(1.0, self.domain.ball_radius / np.maximum(norms, 1e-300)))
        low, high, impute = self._declared
        with np.errstate(over="ignore", invalid="ignore"):
            np.clip(x, low, high, out=x)
            x -= low
            x /= high - low
            np.clip(x, 0.0, 1.0, out=x)
        if not impute.all():
            x[np.isnan(x) & ~impute] = 0.5
        return x

    @cached_property
    def _declared(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]:
        """Low, high and whether a missing cell is imputed later, of the columns of a matrix, (d,) each. Kept with the rows,
        not with the domain, which leaves: whether a table is a matrix can follow from one cell."""
        kinds = [c for c in self.domain.columns.values() if isinstance(c, Numeric)]
        low, high = (np.array([getattr(c, end) for c in kinds]) for end in ("low", "high"))
        return low, high, np.array([c.missing == "impute" for c in kinds])

    def some(self, chosen: NDArray[np.bool_]) -> Table:
        """The chosen rows, as a table of their own."""
        matrix = None if self.matrix is None else self.matrix[chosen]
        return Table(self.domain, int(chosen.sum()), matrix, tuple(c[chosen] for c in self.columns))

    def part(self, start: int, stop: int) -> Table | None:
        """These rows, by their numbers, as something that can be read elsewhere; None where they are in this memory only."""
        return None


def _to_norm_one(rows: NDArray[np.float32]) -> NDArray[np.float64]:
    """Rows of norm 1 to seven digits brought to it; zeros stay."""
    x = rows.astype(np.float64)
    norms = np.sqrt((x * x).sum(axis=1, keepdims=True))
    return np.asarray(x / np.where(norms > 0, norms, 1.0))


@dataclass(frozen=True, eq=False, kw_only=True)
class Streamed(Table):
    """Rows that no memory holds: `parts` encodes them again, in order, for each pass. n: as the first pass counted.

    Blocks are those of a table in memory, however the rows fall into parts, and so is every sum. first: the number of the
    first row; between: the rows from one number to another, where they can be found by it.
    """

    matrix: None = None
    parts: Callable[[], Iterator[Table]]
    first: int = 0
    between: Callable[[int, int], Streamed] | None = None

    def blocks(self) -> Iterator[tuple[int, NDArray[np.float64]]]:
        start, rest = 0, np.zeros((0, self.domain.space.d))
        for part in self.parts():
            at = 0
            while len(rest) + part.n - at >= BLOCK:
                stop = at + BLOCK - len(rest)
                yield self.first + start, np.concatenate([rest, part.block(at, stop)])
                start, at, rest = start + BLOCK, stop, rest[:0]
            rest = np.concatenate([rest, part.block(at, part.n)])
        if start + len(rest) != self.n:
            raise BadData("the table did not have the same number of rows in each pass")
        if len(rest):
            yield self.first + start, rest

    def some(self, chosen: NDArray[np.bool_]) -> Streamed:
        return replace(
            self,
            n=int(chosen.sum()),
            parts=lambda: self._some(chosen),
            between=None if self.between is None else partial(self._some_between, np.flatnonzero(chosen)),
        )

    def part(self, start: int, stop: int) -> Table | None:
        return None if self.between is None else replace(self.between(start, stop), first=start)

    def _some_between(self, places: NDArray[np.intp], start: int, stop: int) -> Streamed:
        """Of the rows at these places those from one number to another."""
        assert self.between is not None
        low, high = int(places[start]), int(places[stop - 1]) + 1
        chosen = np.zeros(high - low, bool)
        chosen[places[start:stop] - low] = True
        return self.between(low, high).some(chosen)

    def _some(self, chosen: NDArray[np.bool_]) -> Iterator[Table]:
        at = 0
        for part in self.parts():
            yield part.some(_places(chosen[at : at + part.n], part.n))
            at += part.n

    def block(self, start: int, stop: int) -> NDArray[np.float64]:
        """TypeError: a stream is read from its beginning."""
        raise TypeError("a streamed table has no rows at hand: iterate over its blocks")


def _places(chosen: NDArray[np.bool_], n: int) -> NDArray[np.bool_]:
    if len(chosen) != n:
        raise BadData("the table did not have the same number of rows in each pass")
    return chosen


def joined(tables: list[Table]) -> Table:
    """One table in memory of at least one, which it empties the list of."""
    domain, n = tables[0].domain, sum(t.n for t in tables)
    if tables[0].matrix is not None:
        return Table(domain, n, np.concatenate([np.asarray(t.matrix) for t in tables]))
    columns = [[*column] for column in zip(*(t.columns for t in tables))]
    tables.clear()
    for j, pieces in enumerate(columns):
        columns[j] = np.concatenate(pieces)  # type: ignore[call-overload]
    return Table(domain, n, None, tuple(columns))  # type: ignore[arg-type]
