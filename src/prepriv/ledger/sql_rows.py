"""The rows of a ledger in SQL that every store understands, with `?` for a value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from prepriv.ledger.currency import Quanta, check_currency
from prepriv.ledger.errors import LedgerCorrupt
from prepriv.ledger.hash_chain import Entry, Header

_HEADER = "dataset_id, adjacency, unit, cap, cap_delta, genesis"
_COLUMNS = (
    "sequence, kind, plan_uid, plan_hash, amount, delta, spent, spent_delta,"
    " artifact, note, previous, head, day"
)
_ENTRY_TYPES = (int, str, str, str, int, int, int, int, str, str, str, str, str)


class Connection(Protocol):
    """An open transaction: SQLite's own connection, or one that speaks like it."""

    def execute(self, sql: str, parameters: Sequence[Any] = ..., /) -> Any:
        """Run one statement; the answer has fetchone and fetchall, and can be iterated over."""


class Store(Protocol):
    """Where a ledger is kept. Whatever goes wrong there is LedgerUnavailable or LedgerCorrupt, and no charge."""

    @property
    def name(self) -> str:
        """What messages call it; no password."""

    def create(self, header: Header) -> None:
        """Make an empty ledger; on any failure nothing is left. ValueError where one is already."""

    def transaction(self, *, write: bool) -> AbstractContextManager[Connection]:
        """A transaction after all earlier ones: durable on a normal end of a `write`, else rolled back."""

    def problems(self, db: Connection) -> list[str]:
        """How the format differs from what `create` makes. LedgerUnavailable for a newer one."""

    def damage(self, db: Connection) -> list[str]:
        """What the store itself finds wrong. LedgerUnavailable where it cannot be trusted."""


def read_header(db: Connection) -> tuple[Header, str]:
    """The header and its stored hash. Raises LedgerCorrupt unless there is exactly one, well formed."""
    rows = db.execute("SELECT * FROM header").fetchall()  # in a ledger by periods it has a column more
    types = (int, str, str, str, int, int, str)
    if len(rows) != 1 or tuple(map(type, rows[0])) not in (types, (*types, str)):
        raise LedgerCorrupt("the header is missing or malformed")
    _, dataset_id, adjacency, unit, cap, cap_delta, genesis, *periods = rows[0]
    try:
        return Header(dataset_id, adjacency, check_currency(unit), Quanta(cap, cap_delta), *periods), genesis
    except ValueError:
        raise LedgerCorrupt("the header names a unit that does not exist") from None


def read_entries(db: Connection, after: int) -> Iterator[Entry]:
    """The rows with a sequence number above `after`, in order. Raises LedgerCorrupt for a malformed one."""
    for row in db.execute("SELECT * FROM entries WHERE sequence > ? ORDER BY sequence", (after,)):
        if tuple(map(type, row)) not in (_ENTRY_TYPES, (*_ENTRY_TYPES, str)):
            raise LedgerCorrupt("a row is malformed")
        sequence, kind, uid, plan_hash, amount, delta, spent, spent_delta, *rest = row
        yield Entry(sequence, kind, uid, plan_hash, Quanta(amount, delta), Quanta(spent, spent_delta), *rest)


def append(db: Connection, entry: Entry) -> None:
    """Insert one row; the triggers of sql_schema.py check it again. LedgerCorrupt unless it is there then, as it was sent."""
    values = (
        entry.sequence,
        entry.kind,
        entry.plan_uid,
        entry.plan_hash,
        entry.cost.main,
        entry.cost.delta,
        entry.spent.main,
        entry.spent.delta,
        entry.artifact,
        entry.note,
        entry.previous,
        entry.head,
        entry.day,
        *([entry.period] if entry.period else []),
    )
    columns = f"{_COLUMNS}, period" if entry.period else _COLUMNS
    db.execute(f"INSERT INTO entries ({columns}) VALUES ({', '.join('?' * len(values))})", values)
    if list(read_entries(db, entry.sequence - 1)) != [entry]:
        raise LedgerCorrupt("the row is not in the ledger as it was sent: a trigger or rule is in the way")


def append_header(db: Connection, header: Header) -> None:
    """Insert the header of a new ledger."""
    row = (
        header.dataset_id,
        header.adjacency,
        header.unit,
        header.cap.main,
        header.cap.delta,
        header.genesis,
        *([header.periods] if header.periods else []),
    )
    columns = f"{_HEADER}, periods" if header.periods else _HEADER
    db.execute(f"INSERT INTO header (id, {columns}) VALUES (1, {', '.join('?' * len(row))})", row)


def find_entries(db: Connection, kind: str, plan_uid: str) -> list[Entry]:
    """The rows of this kind for this run: one, and of a charge by periods one for each."""
    asked = "SELECT sequence FROM entries WHERE kind = ? AND plan_uid = ? ORDER BY sequence"
    found = db.execute(asked, (kind, plan_uid)).fetchall()
    return [next(read_entries(db, sequence - 1)) for (sequence,) in found]


def spent_before(db: Connection, period: str, sequence: int) -> Quanta:
    """What was charged to a period in the rows before this one."""
    asked = "SELECT spent, spent_delta FROM entries WHERE period = ? AND sequence < ? ORDER BY sequence DESC LIMIT 1"
    found = db.execute(asked, (period, sequence)).fetchone()
    return Quanta(*found) if found else Quanta(0)
