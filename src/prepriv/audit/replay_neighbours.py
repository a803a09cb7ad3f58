"""Neighbouring raw tables for the replay: one record replaced, added or removed, by whatever could do harm."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prepriv.adjacency import n_is_public
from prepriv.audit.replay import Neighbour
from prepriv.audit.sensitivity_draws import Draws
from prepriv.columns import Categorical, Column, Numeric, Text
from prepriv.domain import Domain
from prepriv.tables.units import id_of

# What a cell can hold instead of what its column declares: floats at every edge, integers no float holds,
# texts that look like numbers, other types.
HOSTILE: dict[str, Any] = {
    "NaN": math.nan,
    "infinity": math.inf,
    "minus infinity": -math.inf,
    "1e308": 1e308,
    "-1e308": -1e308,
    "subnormal": 5e-324,
    "minus zero": -0.0,
    "least int64": -(2**63),
    "2^64": 2**64,
    "10^400": 10**400,
    "10^5000": 10**5000,
    "text 1e400": "1e400",
    "text of a number": " 1 ",
    "unseen category": "no such category",
    "empty text": "",
    "missing": None,
    "bytes": b"\xff\xfe",
    "boolean": True,
    "list": [1, 2],
    "mapping": {"a": 1},
    "complex": 1 + 2j,
    "type": object,
    "lone surrogate": "\ud800",
    "NUL": "a\0b",
    "long text": "x" * 5000,
}


@dataclass(frozen=True, eq=False)
class RawTable:
    """A table before it is read.

    Parameters
    ----------
    rows : array, (n, inputs)
        The cells, which can be any Python objects.
    labels : tuple, (n,)
        The labels, of any kind, one per row.
    units : tuple, default ()
        Whose row each is, where the domain has units.

    Examples
    --------
    >>> import numpy as np
    >>> from prepriv.audit import RawTable
    >>> RawTable(np.array([["17", None]], dtype=object), ("yes",)).rows.shape
    (1, 2)
    """

    rows: NDArray[Any]
    labels: tuple[Any, ...]
    units: tuple[Any, ...] = ()

    @staticmethod
    def of(rows: list[list[Any]], labels: list[Any], inputs: int, units: Sequence[Any] = ()) -> RawTable:
        """From lists of cells."""
        cells = np.empty((len(rows), inputs), dtype=object)
        for i, row in enumerate(rows):
            for j, cell in enumerate(row):
                cells[i, j] = cell
        return RawTable(cells, tuple(labels), tuple(units))

    @property
    def n(self) -> int:
        """Number of records."""
        return len(self.labels)

    def replaced(self, i: int, row: list[Any], label: Any) -> RawTable:
        """Record i replaced."""
        rows = self.rows.copy()
        for j, cell in enumerate(row):
            rows[i, j] = cell
        return RawTable(rows, (*self.labels[:i], label, *self.labels[i + 1 :]))

    def removed(self, i: int) -> RawTable:
        """Without record i."""
        return RawTable(np.delete(self.rows, i, axis=0), self.labels[:i] + self.labels[i + 1 :])

    def added(self, i: int, row: list[Any], label: Any) -> RawTable:
        """With one more record, before record i."""
        grown = np.empty((1, self.rows.shape[1]), dtype=object)
        for j, cell in enumerate(row):
            grown[0, j] = cell
        rows = np.concatenate([self.rows[:i], grown, self.rows[i:]])
        return RawTable(rows, (*self.labels[:i], label, *self.labels[i:]))


def synthetic(domain: Domain, n: int, draws: Draws, *, missing: float = 0.0, alike: bool = False) -> RawTable:
    """Draw a table of n records from a declared domain.

    Parameters
    ----------
    domain : Domain
        What is declared.
    n : int
        Number of records.
    draws : Draws
        The random choices, which can be repeated.
    missing : float, default 0.0
        Share of empty cells in columns to be imputed. It is about reached and never exceeded.
    alike : bool, default False
        Whether the table is n copies of one record, so that only the changed record of a neighbour is far out.

    Returns
    -------
    RawTable

    Examples
    --------
    >>> import prepriv
    >>> from prepriv.audit import Draws, synthetic
    >>> synthetic(prepriv.Domain.box(0, 1, features=2, classes=[0, 1]), 5, Draws(0)).rows.shape
    (5, 2)
    """
    rows = [[_ordinary(c, draws) for c in _columns(domain)] for _ in range(n)]
    if alike:
        rows = [list(rows[0]) for _ in rows]
    for j, column in enumerate(_columns(domain)):
        if isinstance(column, Numeric) and column.missing == "impute":
            for _ in range(math.floor(missing * n)):
                rows[draws.below(n)][j] = None
    if domain.ball_radius is not None:
        matrix = np.array(rows, dtype=np.float64).reshape(n, domain.ball_features)
        norms = np.linalg.norm(matrix, axis=1, keepdims=True)
        far = draws.uniform(n, 1)
        rows = (
            matrix / np.maximum(norms, 1e-9) * (domain.ball_radius * (far[:1] if alike else far))
        ).tolist()
    return RawTable.of(rows, [_declared(domain, draws) for _ in range(n)], domain.n_inputs)


def neighbours(
    table: RawTable, domain: Domain, draws: Draws, count: int, *, at_end: bool = False
) -> Iterator[Neighbour[RawTable]]:
    """Make neighbours of a table under the domain's adjacency, every kind of record in turn.

    Parameters
    ----------
    table : RawTable
        The first data set of each pair.
    domain : Domain
        What is declared about it.
    draws : Draws
        The random choices, which can be repeated.
    count : int
        How many.
    at_end : bool, default False
        Records are added and removed at the end only. This is for samplers, whose coins belong to positions.

    Returns
    -------
    iterator of Neighbour

    Examples
    --------
    >>> import prepriv
    >>> from prepriv.audit import Draws, neighbours, synthetic
    >>> domain = prepriv.Domain.box(0, 1, features=2, classes=[0, 1])
    >>> table = synthetic(domain, 5, Draws(0))
    >>> [len(other.data.labels) for other in neighbours(table, domain, Draws(1), 2)]
    [5, 5]
    """
    start = draws.below(6 * len(HOSTILE))  # so that few pairs of each of many pipelines see every kind
    for k in range(start, start + count):
        kind, row, label = _record(k, table, domain, draws)
        if n_is_public(domain.adjacency):
            if table.n:
                yield Neighbour(kind, table.replaced(draws.below(table.n), row, label))
        elif k % 3 == 2 and table.n:
            yield Neighbour("removed", table.removed(table.n - 1 if at_end else draws.below(table.n)))
        else:
            yield Neighbour(kind, table.added(table.n if at_end else draws.below(table.n + 1), row, label))


def synthetic_units(
    domain: Domain, n: int, draws: Draws, *, missing: float = 0.0, alike: bool = False
) -> RawTable:
    """A table of n units of 1 to `rows_per_unit` + 2 rows each, in any order. Otherwise as `synthetic`."""
    assert domain.rows_per_unit is not None
    ids = [f"u{i:06}" for i in range(n) for _ in range(1 + draws.below(domain.rows_per_unit + 2))]
    ids.sort(key=lambda _: draws.below(2**40))
    made = synthetic(domain, len(ids), draws, missing=missing, alike=alike)
    return RawTable(made.rows, made.labels, tuple(ids))


def unit_neighbours(
    table: RawTable, domain: Domain, draws: Draws, count: int, *, at_end: bool = False
) -> Iterator[Neighbour[RawTable]]:
    """`count` neighbours of `table` that differ in all rows of one unit: hostile rows, copies, many, few or none.

    at_end: only the last unit differs, whose position is that of whoever replaces it.
    """
    assert domain.rows_per_unit is not None
    names = sorted({one for one in table.units if id_of(one) is not None}, key=str)
    for k in range(count):
        whole = n_is_public(domain.adjacency) or k % 2 == 0
        gone = names[-1 if at_end else draws.below(len(names))] if whole else None
        stays = [i for i, one in enumerate(table.units) if gone is None or one != gone]
        kept = RawTable(
            table.rows[stays], tuple(table.labels[i] for i in stays), tuple(table.units[i] for i in stays)
        )
        new = draws.below(2 * domain.rows_per_unit + 3) if n_is_public(domain.adjacency) or not whole else 0
        kind = f"a unit of {new} rows"
        name = gone if gone is not None and (at_end or k % 3) else "v"  # its own name, or the last of all
        for _ in range(new):
            said, row, label = _record(draws.below(6 * len(HOSTILE)), table, domain, draws)
            at = draws.below(kept.n + 1)
            grown = kept.added(at, row, label)
            kept = RawTable(grown.rows, grown.labels, (*kept.units[:at], name, *kept.units[at:]))
            kind = f"{said}, in a unit"
        yield Neighbour(kind, kept)


def _record(k: int, table: RawTable, domain: Domain, draws: Draws) -> tuple[str, list[Any], Any]:
    """The k-th record: a hostile cell in an ordinary row, a row of them, a corner, a copy, nothing at all."""
    columns = _columns(domain)
    row = [_ordinary(c, draws) for c in columns]
    label = _label(k, domain, draws)
    names = list(HOSTILE)
    turn, shape = k // 6, k % 6
    name = names[turn % len(names)]
    if shape == 0:
        row[draws.below(len(row))] = HOSTILE[name]
        return f"a cell: {name}", row, label
    if shape == 1:
        return f"every cell: {name}", [HOSTILE[name]] * len(row), label
    if shape == 2:
        return "a corner of the declared box", [_corner(c, draws) for c in columns], label
    if shape == 3 and table.n:
        return "a copy of another record", list(table.rows[draws.below(table.n)]), label
    if shape == 4:
        return "nothing but missing cells", [None] * len(row), label
    if turn % 2:
        return "hostile cells", [HOSTILE[names[draws.below(len(names))]] for _ in columns], label
    return "an ordinary record", row, label


def _label(k: int, domain: Domain, draws: Draws) -> Any:
    """Mostly a declared class; now and then one that is not, or no label."""
    if k % 4 == 3:
        return list(HOSTILE.values())[draws.below(len(HOSTILE))]
    return _declared(domain, draws)


def _declared(domain: Domain, draws: Draws) -> Any:
    """A class, or a number between the bounds of the target, as often one of the bounds."""
    if domain.target is not None:
        return (_corner if draws.below(2) else _ordinary)(domain.target, draws)
    return domain.classes[draws.below(len(domain.classes))]


def _columns(domain: Domain) -> list[Column]:
    if domain.ball_radius is not None:
        return [Numeric(-domain.ball_radius, domain.ball_radius)] * domain.ball_features
    return list(domain.columns.values())


def _ordinary(column: Column, draws: Draws) -> Any:
    if isinstance(column, Categorical):
        return column.categories[draws.below(len(column.categories))]
    if isinstance(column, Text):
        return " ".join(
            ["free", "call", "now", "you", "later"][draws.below(5)] for _ in range(1 + draws.below(5))
        )
    return column.low + (column.high - column.low) * float(draws.uniform(1)[0])


def _corner(column: Column, draws: Draws) -> Any:
    if isinstance(column, Categorical):
        return column.categories[-1]
    if isinstance(column, Text):
        return "win " * 20_000 if draws.below(2) else "!"  # longer than any text that is read
    return column.low if draws.below(2) else column.high
