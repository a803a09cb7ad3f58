"""Ledgers as whoever holds the file can change them."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

from prepriv.ledger import Ledger


def without_last(ledger: Path, rows: int = 1) -> str:
    """Take the last rows off a ledger, and give the run of the last of all."""
    with sqlite3.connect(ledger) as db:
        triggers = db.execute("select name, sql from sqlite_master where type = 'trigger'").fetchall()
        for name, _ in triggers:
            db.execute(f'drop trigger "{name}"')
        uid = db.execute("select plan_uid from entries order by sequence desc limit 1").fetchone()[0]
        db.execute("delete from entries where sequence > (select max(sequence) from entries) - ?", (rows,))
        for _, made in triggers:
            db.execute(made)
    db.close()
    return str(uid)


def made_again(ledger: Path, noted: Callable[[str], str], folder: Path) -> None:
    """Write a ledger of ε and δ again from its rows, with other notes. Its new heads go into the files of a folder.

    Nobody can tell who has not kept a head.
    """
    old = Ledger.open(ledger)
    rows, header = old.entries(), old.header
    ledger.unlink()
    amounts = {"epsilon": _amount(header.cap.main, 9), "delta": _amount(header.cap.delta, 18)}
    new = Ledger.create(ledger, header.dataset_id, adjacency=header.adjacency, **amounts)
    files = [file for file in folder.rglob("*.*") if file.suffix in (".json", ".html")]
    before = {_digest(file): file for file in files}
    for row in rows:
        if row.kind == "charged":
            cost = {"epsilon": _amount(row.cost.main, 9), "delta": _amount(row.cost.delta, 18)}
            made = new.charge(
                row.plan_uid, row.plan_hash, adjacency=header.adjacency, note=noted(row.note), **cost
            )
            for file in files:
                file.write_text(file.read_text().replace(row.head, made.head))
        else:
            here = {old: _digest(file) for old, file in before.items()}
            note = row.note
            for old, digest in here.items():
                note = note.replace(old, digest)
            new.released(row.plan_uid, here.get(row.artifact, row.artifact), note=note)


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _amount(quanta: int, digits: int) -> Decimal:
    return Decimal(quanta) / 10**digits
