"""Edits, deletions, rollbacks and clones: refused by SQLite itself, or found by verify and receipts."""

import shutil
import sqlite3
from dataclasses import replace

import pytest
from tampering_cases import EDITS, HASH, REFUSED, ROW

from prepriv.ledger import Charge, Ledger, LedgerCorrupt, hash_chain, sql_rows, sql_schema, store, verify_file
from prepriv.ledger.currency import Quanta


def edit(path, *statements: str) -> None:
    db = sqlite3.connect(path, isolation_level=None)
    try:
        for statement in statements:
            db.execute(statement)
    finally:
        db.close()


def without_triggers(*statements: str) -> list[str]:
    """The attack that SQLite cannot refuse: drop the triggers, edit, put the triggers back."""
    triggers = {name: sql for name, sql in sql_schema.STATEMENTS.items() if sql.startswith("CREATE TRIGGER")}
    return [*(f"DROP TRIGGER {name}" for name in triggers), *statements, *triggers.values()]


@pytest.mark.parametrize("statement", REFUSED)
def test_sqlite_itself_refuses_all_but_appending(ledger, statement):
    """For any program that opens the file; the chain's head is filled in, so only the named fault remains."""
    before = ledger.entries()
    with pytest.raises(sqlite3.IntegrityError):
        edit(ledger.path, statement.replace("HEAD", before[-1].head))
    assert ledger.entries() == before


def test_the_row_used_above_is_refused_for_its_fault_alone(ledger):
    edit(ledger.path, f"INSERT INTO entries VALUES (5, {ROW})".replace("HEAD", ledger.entries()[-1].head))
    assert any("hash" in problem for problem in ledger.verify())


def test_a_release_for_another_plan_hash_is_refused_by_sqlite(ledger):
    entry = hash_chain.extend(
        hash_chain.Tail.after(ledger.entries()[-1]),
        "released",
        "b",
        "0f" * 32,
        day="2999-01-01",
        artifact=HASH,
    )
    opened = store.transaction(ledger.path, timeout=1.0, write=True)
    with pytest.raises(LedgerCorrupt, match="without a charge"), opened as db:
        sql_rows.append(db, entry)
    assert len(ledger.entries()) == 4


@pytest.mark.parametrize(
    "statements",
    [
        ["DROP TRIGGER entries_no_delete"],
        [
            "DROP TRIGGER entries_append",
            "CREATE TRIGGER entries_append BEFORE INSERT ON entries BEGIN SELECT 1; END",
        ],
        ["CREATE TABLE more (a)"],
        ["CREATE TRIGGER more AFTER INSERT ON entries BEGIN SELECT 1; END"],
        ["PRAGMA application_id = 0"],
    ],
    ids=lambda statements: statements[-1][:24],
)
def test_a_changed_format_is_found(ledger, pay, statements):
    edit(ledger.path, *statements)
    assert ledger.verify() != []
    with pytest.raises(LedgerCorrupt):
        pay(ledger, "x")
    with pytest.raises(LedgerCorrupt):
        Ledger.open(ledger.path)


HIDDEN = {  # type and name, as the table of the schema has them
    "a name of SQLite's": ("trigger", "sqlite_x"),
    "a name that is there": ("trigger", "entries_append"),
    "the name of its index": ("index", "sqlite_autoindex_entries_1"),
    "statistics": ("table", "sqlite_stat1"),
}


def hide(path, kind, name):
    """A trigger under a name that stands for something else: every row is swallowed without an error."""
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA writable_schema = ON")
    what = "CREATE TRIGGER sqlite_x BEFORE INSERT ON entries BEGIN SELECT RAISE(IGNORE); END"
    db.execute("INSERT INTO sqlite_master VALUES (?, ?, 'entries', 0, ?)", (kind, name, what))
    version = db.execute("PRAGMA schema_version").fetchone()[0]
    db.execute(f"PRAGMA schema_version = {version + 1}")
    db.close()


@pytest.mark.parametrize("hidden", HIDDEN)
def test_a_trigger_under_another_name_is_found_and_nothing_is_granted(ledger, pay, hidden, monkeypatch):
    """30 charges of 0.9 were granted under a cap of 1, with no row written, and `verify` said ok."""
    hide(ledger.path, *HIDDEN[hidden])
    assert verify_file(ledger.path) != []
    with pytest.raises(LedgerCorrupt):
        pay(ledger, "x")
    monkeypatch.setattr(sql_schema, "problems", lambda db: [])
    with pytest.raises(LedgerCorrupt):  # the row is read back
        pay(ledger, "x")


def test_statistics_that_another_program_made_change_nothing(ledger, pay):
    edit(ledger.path, "ANALYZE")
    assert ledger.verify() == [] and pay(ledger, "x").sequence == 5


@pytest.mark.parametrize("statement", EDITS)
def test_every_edit_behind_the_triggers_is_found(ledger, pay, statement):
    edit(ledger.path, *without_triggers(statement))
    assert verify_file(ledger.path) != []
    with pytest.raises(LedgerCorrupt):
        Ledger.open(ledger.path)


@pytest.mark.parametrize("change", ["note = x'00'", "amount = 'many'", "delta = 0.5", "plan_uid = x'61'"])
def test_values_of_another_type_are_found(ledger, change):
    unchecked = ["PRAGMA ignore_check_constraints = ON", f"UPDATE entries SET {change} WHERE sequence = 2"]
    edit(ledger.path, *without_triggers(*unchecked))
    assert verify_file(ledger.path) != []
    with pytest.raises(LedgerCorrupt):
        Ledger.open(ledger.path)


@pytest.mark.parametrize(
    "change", ["cap = 4000000000", "adjacency = 'add-or-remove-one'", "genesis = upper(genesis)"]
)
def test_an_edited_header_stops_a_process_that_has_the_ledger_open(ledger, pay, change):
    edit(ledger.path, *without_triggers(f"UPDATE header SET {change}"))
    for action in (lambda: pay(ledger, "x"), ledger.remaining, lambda: ledger.released("b", HASH)):
        with pytest.raises(LedgerCorrupt, match="header changed"):
            action()


def test_an_edited_last_row_stops_a_process_that_has_the_ledger_open(ledger, pay):
    edit(ledger.path, *without_triggers("UPDATE entries SET note = 'other' WHERE sequence = 4"))
    with pytest.raises(LedgerCorrupt, match="rolled back or edited"):
        pay(ledger, "x")


def test_a_forged_new_row_stops_a_process_that_has_the_ledger_open(ledger, pay):
    edit(ledger.path, f"INSERT INTO entries VALUES (5, {ROW})".replace("HEAD", ledger.entries()[-1].head))
    with pytest.raises(LedgerCorrupt, match=r"row 5: .* hash"):
        pay(ledger, "x")


@pytest.mark.parametrize("deleted", ["sequence = 4", "sequence > 1", "1 = 1"])
def test_rows_cut_off_the_end_are_found_by_receipts_and_by_whoever_saw_them(ledger, pay, deleted):
    """The rest is consistent in itself: this is a rollback."""
    receipts = [Charge(entry.sequence, entry.head) for entry in ledger.entries()]
    edit(ledger.path, *without_triggers(f"DELETE FROM entries WHERE {deleted}"))
    assert verify_file(ledger.path) == []
    assert "rolled back" in verify_file(ledger.path, receipts)[0]
    assert "rolled back" in ledger.verify()[0], "this object remembers"
    for action in (lambda: pay(ledger, "x"), ledger.remaining, lambda: ledger.released("b", HASH)):
        with pytest.raises(LedgerCorrupt, match="rolled back or edited"):
            action()


def test_an_older_copy_put_back_is_found(tmp_path, ledger, pay):
    copy = tmp_path / "copy.db"
    shutil.copy(ledger.path, copy)
    receipt = pay(ledger, "costly", 0.7)
    shutil.copy(copy, ledger.path)
    with pytest.raises(LedgerCorrupt):
        pay(ledger, "again", 0.7)
    assert verify_file(ledger.path) == []
    assert len(verify_file(ledger.path, [receipt])) == 1
    # and the fork of history is found from either artifact once both copies went on
    other = pay(Ledger.open(ledger.path), "again", 0.7)
    assert other.sequence == receipt.sequence
    assert len(verify_file(ledger.path, [receipt, other])) == 1


def test_a_ledger_written_anew_by_someone_who_knows_the_format_is_found_by_receipts(tmp_path, ledger, pay):
    forged = Ledger.create(tmp_path / "forged.db", "census-2020", epsilon=100.0, delta=1e-5)
    receipts = [Charge(entry.sequence, entry.head) for entry in ledger.entries()]
    for name in "abc":
        pay(forged, name, 0.1, 1e-7)
    assert verify_file(forged.path) == []
    assert len(verify_file(forged.path, receipts)) == len(receipts)
    assert verify_file(ledger.path, [*receipts, Charge(0, ledger.header.genesis)]) == []


def test_totals_above_the_cap_are_found_even_in_a_perfect_chain(ledger):
    """Someone recomputed every hash after editing a row."""
    entries = ledger.entries()
    tail = hash_chain.Tail.after(entries[-1])
    forged = hash_chain.extend(tail, "charged", "x", HASH, day=tail.day, cost=Quanta(800_000_000))
    assert hash_chain.check_entry(ledger.header, tail, forged) == ["row 5: its totals exceed the cap"]
    refund = hash_chain.extend(tail, "charged", "x", HASH, day=tail.day, cost=Quanta(-1))
    assert hash_chain.check_entry(ledger.header, tail, refund) == [
        "row 5: its kind and cost do not belong together"
    ]
    other = hash_chain.extend(replace(tail, head=HASH), "charged", "x", HASH, day=tail.day, cost=Quanta(1))
    assert hash_chain.check_entry(ledger.header, tail, other) == [
        "row 5: it does not continue the hash chain"
    ]
    wrong = replace(
        hash_chain.extend(tail, "charged", "x", HASH, day=tail.day, cost=Quanta(1)), spent=Quanta(1)
    )
    wrong = replace(wrong, head=wrong.digest())
    assert hash_chain.check_entry(ledger.header, tail, wrong) == ["row 5: its totals do not add up"]


def test_a_release_of_an_uncharged_plan_is_found_even_in_a_perfect_chain(ledger):
    tail = hash_chain.Tail.after(ledger.entries()[-1])
    forged = hash_chain.extend(tail, "released", "never-charged", HASH, day=tail.day, artifact=HASH)
    edit(ledger.path, *(sql for sql in without_triggers() if sql.startswith("DROP")))
    with store.transaction(ledger.path, timeout=1.0, write=True) as db:
        sql_rows.append(db, forged)
    edit(ledger.path, *(sql for sql in without_triggers() if sql.startswith("CREATE")))
    assert verify_file(ledger.path) == ["row 5: its plan was never charged"]


def test_a_log_lost_after_a_crash_is_found_by_receipts(tmp_path, ledger, pay):
    """The one moment when part of the ledger is in a second file: between a crash and the next use."""
    keep_log = sqlite3.connect(ledger.path, isolation_level=None)
    keep_log.execute("SELECT COUNT(*) FROM entries").fetchone()
    receipt = pay(ledger, "last")
    copy = tmp_path / "copy.db"
    shutil.copy(ledger.path, copy)
    keep_log.close()
    assert verify_file(copy) == [] and len(Ledger.open(copy).entries()) == 4
    assert len(verify_file(copy, [receipt])) == 1
    assert verify_file(ledger.path, [receipt]) == []


def test_many_problems_are_summed_up(ledger):
    receipts = [Charge(n, HASH) for n in range(100, 150)]
    problems = ledger.verify(receipts)
    assert len(problems) == 21 and problems[-1] == "and 30 more"
