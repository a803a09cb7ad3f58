"""Checking a whole ledger: what `Ledger.open` demands and `prepriv ledger verify` reports."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta, timezone

from prepriv.ledger import hash_chain, sql_rows
from prepriv.ledger.currency import Quanta
from prepriv.ledger.errors import LedgerCorrupt
from prepriv.ledger.hash_chain import Entry, Header, Tail
from prepriv.ledger.places import locate
from prepriv.ledger.sql_rows import Connection, Store

_SHOWN = 20  # problems listed before "and more"


@dataclass(frozen=True)
class Charge:
    """Proof of a committed charge, to be embedded in the artifact.

    Parameters
    ----------
    sequence : int
        The row's number.
    head : str
        The head of the hash chain after it, a SHA-256.
    total : Quanta
        From `Ledger.confirm`: everything that was charged up to and including this charge, in quanta of the ledger's
        unit. In a ledger by periods, that of the period with the most. Otherwise 0.

    Examples
    --------
    >>> from prepriv.ledger import Charge
    >>> Charge(1, "0" * 64).sequence
    1
    """

    sequence: int
    head: str
    total: Quanta = field(default=Quanta(0), compare=False)


@dataclass(frozen=True)
class Inspection:
    """A ledger as found: what is wrong with it, and what could be read (header None: nothing)."""

    problems: tuple[str, ...]
    header: Header | None
    tail: Tail
    entries: tuple[Entry, ...]


def verify_file(
    path: str | os.PathLike[str], receipts: Iterable[Charge] = (), *, timeout: float = 10.0
) -> list[str]:
    """Check a ledger. An empty list means that nothing is wrong.

    It checks SQLite's own integrity, format and triggers, the hash chain from the header on, the sequence, totals and
    caps, releases against charges, and that a charge could have written every text.

    Parameters
    ----------
    path : path or URL
        A file, or postgresql://... (`Ledger.open`).
    receipts : iterable of Charge, default ()
        (sequence, head) pairs from artifacts. A ledger that was restored from an older copy, or rewritten from
        scratch, is consistent by itself. Only what was published since then can show it.
    timeout : float, default 10.0
        How many seconds to wait for other processes.

    Returns
    -------
    list of str
        What is wrong, in words.

    Raises
    ------
    LedgerUnavailable
        If it is missing, locked, or of a newer format.

    Examples
    --------
    >>> import tempfile
    >>> from prepriv.ledger import Ledger, verify_file
    >>> path = f"{tempfile.mkdtemp()}/L.db"
    >>> ledger = Ledger.create(path, "census", epsilon=1.0, delta=1e-6)
    >>> verify_file(path)
    []
    """
    return verify(locate(path, timeout), receipts)


def verify(store: Store, receipts: Iterable[Charge] = ()) -> list[str]:
    """`verify_file`, wherever the ledger is kept."""
    found = inspect(store)
    problems = list(found.problems)
    if found.header is not None:
        problems += _receipt_problems(found.header, found.entries, receipts)
    problems += odd_days(found.entries)
    return problems[:_SHOWN] + [f"and {len(problems) - _SHOWN} more"] * (len(problems) > _SHOWN)


def inspect(store: Store) -> Inspection:
    """Read and check the whole ledger. Raises LedgerUnavailable (missing, locked, newer format)."""
    problems: list[str] = []
    header: Header | None = None
    entries: list[Entry] = []
    try:
        with store.transaction(write=False) as db:
            # the format first: what a store says about foreign tables means nothing
            problems += store.problems(db)
            if not problems:
                problems += store.damage(db)
                header, genesis = sql_rows.read_header(db)
                problems += hash_chain.check_header(header)
                if genesis != header.genesis:
                    problems.append("the header does not match its hash: the cap or the data set was edited")
                entries = list(sql_rows.read_entries(db, 0))
    except LedgerCorrupt as error:
        # the name is said by whoever reports, and a look grants nothing anyway
        problems.append(str(error).removeprefix(f"{store.name}: ").removesuffix("; nothing was granted"))
    if header is None:
        return Inspection(tuple(problems), None, Tail(0, "", Quanta(0), ""), ())
    tail = Tail.start(header)
    charged, seen = set(), set()
    books: dict[str, Quanta] = {}
    for entry in entries:
        tail = replace(tail, spent=books.get(entry.period, Quanta(0)))
        problems += hash_chain.check_entry(header, tail, entry)
        books[entry.period] = entry.spent
        if (run := (entry.kind, entry.plan_uid, entry.period * (entry.kind == "charged"))) in seen:
            problems.append(f"row {entry.sequence}: its run was {entry.kind} before")
        seen.add(run)
        if entry.kind == "charged":
            charged.add((entry.plan_uid, entry.plan_hash))
        elif (entry.plan_uid, entry.plan_hash) not in charged:
            problems.append(f"row {entry.sequence}: its plan was never charged")
        tail = Tail.after(entry)
    problems += hash_chain.check_whose(entries)
    return Inspection(tuple(problems), header, tail, tuple(entries))


def header_problems(db: Connection, header: Header) -> list[str]:
    """Whether the stored header is still `header`. Raises LedgerCorrupt for a malformed one."""
    found, genesis = sql_rows.read_header(db)
    same = found == header and genesis == header.genesis
    return [] if same else ["the header changed: the cap or the data set was edited"]


def utc_date() -> str:
    """Today as YYYY-MM-DD in UTC. No finer time is kept: gaps between rows would tell how long runs took."""
    return datetime.now(timezone.utc).date().isoformat()


def odd_days(entries: Sequence[Entry]) -> list[str]:
    """What is wrong with the days of charges, which no hash covers: one in the future, or one that no calendar has. Sentences."""
    told = []
    if entries and is_far(entries[-1].day, utc_date()):
        told.append("the last charge is dated in the future: the clock was moved")
    for entry in entries:
        try:
            date.fromisoformat(entry.day)
        except ValueError:
            told.append(f"row {entry.sequence}: no calendar has its day")
            break
    return told


def is_far(day: str, today: str) -> bool:
    """Whether a day is later than tomorrow: the clocks of two machines stand on either side of midnight, and no further apart."""
    return day > (date.fromisoformat(today) + timedelta(1)).isoformat()


def _receipt_problems(header: Header, entries: Iterable[Entry], receipts: Iterable[Charge]) -> list[str]:
    heads = {0: header.genesis} | {entry.sequence: entry.head for entry in entries}
    missing = [receipt for receipt in receipts if heads.get(receipt.sequence) != receipt.head]
    return [
        f"receipt or head {receipt.sequence}:{receipt.head[:12]} is not in this ledger: "
        + (
            f"its row {receipt.sequence} has another one, so that row, or one before it, was made again"
            if receipt.sequence in heads
            else f"it ends with row {max(heads)}, so it was rolled back, or made again with fewer rows"
        )
        + ". Or the receipt is of another ledger. Ask who keeps receipts of earlier rows: the last one that is in this ledger shows which rows are as they were"
        for receipt in missing
    ]
