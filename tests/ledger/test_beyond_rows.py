"""A ledger that is published carries its rows and nothing else, or a look at it says so."""

from __future__ import annotations

import random
import re
import secrets
import sqlite3

import pytest

from prepriv.cli import run
from prepriv.ledger import Ledger, verify_file
from prepriv.ledger.beyond_rows import beyond_rows

RECORDS = [f"{at},Anna Svensson {at * 7},19{at % 90:02d}-03-04,cancer" for at in range(300)]


def _after_its_pages(place: str) -> None:
    with open(place, "ab") as file:
        file.write("\n".join(RECORDS).encode())


def _in_a_dropped_table(place: str) -> None:
    db = sqlite3.connect(place, isolation_level=None)
    db.execute("PRAGMA secure_delete = OFF")
    db.execute("CREATE TABLE t(a)")
    db.executemany("INSERT INTO t VALUES (?)", [(one,) for one in RECORDS])
    db.execute("DROP TABLE t")
    db.close()


def _between_rows(place: str) -> None:
    with open(place, "r+b") as file:
        file.seek(4096 * 2 + 500)  # the page of the entries, whose last bytes alone are used
        file.write("\n".join(RECORDS[:2]).encode())


def _in_statistics(place: str) -> None:
    db = sqlite3.connect(place, isolation_level=None)
    db.execute("ANALYZE")
    db.executemany("INSERT INTO sqlite_stat1 VALUES (?, ?, ?)", [(one, one, one) for one in RECORDS])
    db.close()


@pytest.mark.parametrize("hide", [_after_its_pages, _in_a_dropped_table, _between_rows, _in_statistics])
def test_records_beside_the_rows_of_a_ledger_are_asked_about(ledger, hide, capsys):
    """An officer's: `ok`, exit code 0, and 300 raw records inside."""
    place = str(ledger.path)
    assert beyond_rows(place) == []
    hide(place)
    assert b"Anna Svensson" in ledger.path.read_bytes() and verify_file(place) == []
    assert run(["ledger", "verify", place]) == 8
    said = capsys.readouterr().out
    assert f"{place}: ASK, see below" in said and f"ASK BEFORE YOU SIGN: what else {place} holds" in said
    if hide is _in_a_dropped_table:
        assert len(re.findall(r"\d+", said.split("bytes of no row in pages ")[1].split(" such")[0])) > 3
    db = sqlite3.connect(place, isolation_level=None)
    for name in re.findall(r"DROP TABLE (sqlite_stat\d)", said):  # as the line says
        db.execute(f"DROP TABLE {name}")
    db.execute("VACUUM")
    db.close()
    assert b"Anna Svensson" not in ledger.path.read_bytes() and run(["ledger", "verify", place]) == 0


def test_what_moving_rows_between_pages_leaves_is_not_asked_about(tmp_path):
    place, draw = str(tmp_path / "L.db"), random.Random(0)
    grown = Ledger.create(place, "census", epsilon=1000, delta=1e-3)
    for at in range(150):
        uid = secrets.token_hex(16)
        note = draw.choice(["questions", "train: " + "Center, " * 10])
        grown.charge(uid, secrets.token_hex(32), epsilon=1, delta=1e-9, adjacency="replace-one", note=note)
        if draw.random() < 0.8:
            grown.released(
                uid, secrets.token_hex(32), note=draw.choice(["", f"score {secrets.token_hex(32)}"])
            )
        if at % 10 == 0:
            assert beyond_rows(place) == []
    db = sqlite3.connect(place, isolation_level=None)
    db.execute("ANALYZE")
    db.close()
    (asked,) = beyond_rows(place)  # nothing tells its numbers from others
    assert "sqlite_stat1" in asked
