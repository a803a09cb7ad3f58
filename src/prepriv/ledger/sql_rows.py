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
    rows = db.execute(f"SELECT {_HEADER} FROM header").fetchall()
    if len(rows) != 1 or tuple(map(type, rows[0])) != (str, str, str, int, int, str):
        raise LedgerCorrupt("the header is missing or malformed")
    dataset_id, adjacency, unit, cap, cap_delta, genesis = rows[0]
    try:
        return Header(dataset_id, adjacency, check_currency(unit), Quanta(cap, cap_delta)), genesis
    except ValueError:
        raise LedgerCorrupt("the header names a unit that does not exist") from None


def read_entries(db: Connection, after: int) -> Iterator[Entry]:
    """The rows with a sequence number above `after`, in order. Raises LedgerCorrupt for a malformed one."""
    for row in db.execute(f"SELECT {_COLUMNS} FROM entries WHERE sequence > ? ORDER BY sequence", (after,)):
        if tuple(map(type, row)) != _ENTRY_TYPES:
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
    )
    db.execute(f"INSERT INTO entries ({_COLUMNS}) VALUES ({', '.join('?' * len(values))})", values)
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
    )
    db.execute(f"INSERT INTO header (id, {_HEADER}) VALUES (1, ?, ?, ?, ?, ?, ?)", row)


def find_entry(db: Connection, kind: str, plan_uid: str) -> Entry | None:
    """The row of this kind for this run, if there is one."""
    found = db.execute(
        "SELECT sequence FROM entries WHERE kind = ? AND plan_uid = ?", (kind, plan_uid)
    ).fetchone()
    return next(read_entries(db, found[0] - 1)) if found else None
