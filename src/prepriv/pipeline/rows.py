"""Encoded rows after some fitted maps: private ones inside a run, public ones before and inside it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prepriv.domain import Domain
from prepriv.mechanisms.handle import Mechanisms
from prepriv.preprocessing.base import FittedMap, Floats, ReleasedMap
from prepriv.tables.encode import Table, encode, encode_stream, encode_targets, label_of
from prepriv.tables.stream import as_stream
from prepriv.tables.units import by_unit


@dataclass(frozen=True, eq=False)
class Mapped:
    """Encoded rows after some fitted maps; rows that a map drops become zero rows."""

    table: Table
    maps: Sequence[FittedMap]
    labels: NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))

    def __iter__(self) -> Iterator[Floats]:
        for x, _, _ in self.blocks():
            yield x

    def blocks(self) -> Iterator[tuple[Floats, NDArray[np.bool_] | None, int]]:
        """(rows, which of them stay, first row number) of each block."""
        for start, block in self.table.blocks():
            x, kept = np.ascontiguousarray(block), None
            for fitted in self.maps:
                keep = fitted.keep(x, start)
                x = np.ascontiguousarray(fitted.transform(x))  # sums along a row: the same bits in any block
                if keep is not None:
                    kept = keep if kept is None else kept & keep
            if kept is not None:
                x = np.where(kept[:, None], x, 0.0)
            yield x, kept, start


@dataclass(frozen=True, eq=False)
class OpenRows:
    """Rows (n, d) and labels (n,) that need no protection, those of an audit or made up: one block."""

    x: Floats
    labels: NDArray[np.integer[Any]]

    def __iter__(self) -> Iterator[Floats]:
        yield self.x


@dataclass(frozen=True, eq=False)
class OpenAccess:
    """What a fit on such rows sees (`payment.Access`): they stand for public ones, too, and no noise is drawn."""

    rows: OpenRows
    n: int

    def public(self, data: Any) -> tuple[OpenRows, int]:
        return self.rows, self.n

    def private(self) -> OpenRows:
        return self.rows

    def mechanisms(self) -> Mechanisms:
        return Mechanisms.exact("no step", self.n)


def private_rows(
    rows: Any, labels: Any, domain: Domain, *, n: int, memory: int
) -> tuple[Table, NDArray[np.int32]]:
    """Private rows and their class indices. The n declared rows of a stream stay in memory if they fit.

    Of a domain with units one row of each, which holds the others (`prepriv.tables.units.UnitTable`).
    """
    if domain.unit is not None:
        return by_unit(rows, labels, domain, n)
    if (stream := as_stream(rows)) is None:
        return encode(rows, domain), encode_targets(labels, domain)
    keep = stream.once or n * 8 * domain.n_inputs <= memory
    return encode_stream(stream, domain, label_of(labels, domain), keep=keep)


def public_rows(data: Any, domain: Domain, maps: Sequence[ReleasedMap]) -> Mapped:
    """Public rows of the declared columns, encoded, after some maps. ValueError without a table, columns or rows."""
    if data is None:
        raise ValueError("Public() needs the public table: Public(data)")
    table = encode(data, domain)
    if table.n < 1:
        raise ValueError("the public table has no rows")
    return Mapped(table, maps)
