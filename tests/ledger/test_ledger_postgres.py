"""A ledger on a PostgreSQL server: what a file promises, kept by the same code on another store."""

import itertools
import multiprocessing
import random
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path

import numpy as np
import pytest
from postgres_server import Server
from tampering_cases import EDITS, HASH, REFUSED
from typer.testing import CliRunner

from prepriv import Domain, PrivateClassifier
from prepriv.commands.ledger import app
from prepriv.learners.gradient_descent import GradientDescent
from prepriv.learners.losses import Logistic
from prepriv.ledger import (
    BudgetExceeded,
    Charge,
    Ledger,
    LedgerCorrupt,
    LedgerError,
    LedgerUnavailable,
    PlanRefused,
    hash_chain,
    postgres,
    sql_rows,
    verify_file,
)
from prepriv.ledger.currency import Quanta
from prepriv.placed.rows import PrivateTable
from prepriv.runs import admit as admission

_NAMES = itertools.count()
TIMEOUT = 300.0


@pytest.fixture(scope="module")
def server():
    made = Server()
    yield made
    made.close()


@pytest.fixture
def url(server):
    return server.url(f"test_{next(_NAMES)}")


@pytest.fixture
def remote(url, pay):
    """The ledger of conftest.py, on the server."""
    made = Ledger.create(url, "census-2020", epsilon=1.0, delta=1e-5)
    for name in "abc":
        pay(made, name, 0.1, 1e-7)
    made.released("a", "7a" * 32)
    return made


def edit(url, *statements):
    """As the owner of the tables would, from any other program."""
    import psycopg

    store = postgres.Server.at(url, 10.0)
    with psycopg.connect(store.url, autocommit=True) as db:
        db.execute(f"SET search_path = {store.schema}")
        for statement in statements:
            db.execute(statement)


def without_triggers(*statements):
    tables = ("header", "entries")
    return [
        *(f"ALTER TABLE {table} DISABLE TRIGGER ALL" for table in tables),
        *statements,
        *(
            f"ALTER TABLE {t} ENABLE ALWAYS TRIGGER {t}_{name}"
            for t in tables
            for name in ("append", "never")
        ),
    ]


# --------------------------------------------------------------------------------- the same as a file


def test_a_server_and_a_file_keep_the_same_chain(remote, ledger, url):
    assert [e.head for e in remote.entries()] == [e.head for e in ledger.entries()]
    assert remote.remaining() == ledger.remaining() and remote.cap == ledger.cap
    assert remote.verify() == [] == verify_file(url)
    last = ledger.entries()[-1]
    assert verify_file(url, [Charge(last.sequence, last.head)]) == []
    assert "rolled back" in verify_file(url, [Charge(9, HASH)])[0]


def test_caps_uids_and_releases_are_kept(remote, pay):
    pay(remote, "d", 0.7, 1e-7)
    with pytest.raises(BudgetExceeded, match=r"epsilon 0.*is left"):
        pay(remote, "e", 1e-9)
    with pytest.raises(PlanRefused, match="charged before"):
        pay(remote, "d", 0, 1e-9)
    with pytest.raises(PlanRefused, match="never charged"):
        remote.released("e", HASH)
    assert remote.confirm("d", HASH).sequence == 5
    with pytest.raises(PlanRefused, match="edited"):
        remote.confirm("d", "0f" * 32)
    assert len(remote.entries()) == 5


def test_one_database_holds_many_ledgers_and_none_is_overwritten(server, url, remote, pay):
    other = Ledger.create(server.url("another"), "people", unit="gdp", mu=1.0)
    assert other.entries() == () and len(remote.entries()) == 4
    with pytest.raises(ValueError, match="never overwritten"):
        Ledger.create(url, "x", epsilon=1.0, delta=0)
    assert len(remote.entries()) == 4
    with pytest.raises(AttributeError, match="not a file"):
        _ = remote.path


def test_a_role_that_may_read_and_append_can_charge_and_nothing_else(url, remote, pay, server):
    schema = postgres.Server.at(url, 1.0).schema
    edit(
        url,
        "CREATE ROLE analyst LOGIN",
        f"GRANT USAGE ON SCHEMA {schema} TO analyst",
        f"GRANT SELECT, INSERT ON ALL TABLES IN SCHEMA {schema} TO analyst",
    )
    theirs = url.replace("ledger@", "analyst@")
    assert pay(Ledger.open(theirs), "d").sequence == 5
    for statement in ("DELETE FROM entries", "ALTER TABLE entries DISABLE TRIGGER ALL", "TRUNCATE entries"):
        with pytest.raises(Exception, match=r"permission denied|must be owner"):
            edit(theirs, statement)
    with pytest.raises(LedgerUnavailable, match="permission denied"):
        Ledger.create(theirs.replace("ledger=", "ledger=x"), "x", epsilon=1.0, delta=0)
    assert remote.verify() == []


def _worker(pay, url, name, count, queue):
    try:
        ledger, granted = Ledger.open(url, timeout=TIMEOUT), 0
        for turn in range(count):
            try:
                pay(ledger, f"{name}-{turn}", 0.01, 1e-8)
                granted += 1
            except BudgetExceeded:
                pass
        queue.put(granted)
    except Exception as error:
        queue.put(repr(error))


@pytest.mark.parametrize(
    "processes,charges", [(4, 10), pytest.param(8, 100, marks=pytest.mark.slow)], ids=["4 x 10", "8 x 100"]
)
def test_processes_meet_the_cap_exactly(url, pay, processes, charges):
    """Budget for 5/8 of the charges that are wanted: exactly floor(cap / amount) are granted."""
    affordable = processes * charges * 5 // 8
    Ledger.create(url, "census", epsilon=affordable * 0.01 + 0.005, delta=1e-3)
    fork = multiprocessing.get_context("fork")
    queue = fork.Queue()
    workers = [fork.Process(target=_worker, args=(pay, url, n, charges, queue)) for n in range(processes)]
    start = time.perf_counter()
    for worker in workers:
        worker.start()
    granted = [queue.get(timeout=TIMEOUT) for _ in workers]
    for worker in workers:
        worker.join()
    print(
        f"{processes * charges} charges wanted, {sum(granted)} granted, {time.perf_counter() - start:.1f} s"
    )
    ledger = Ledger.open(url)
    assert sum(granted) == affordable == len(ledger.entries())
    assert ledger.remaining().epsilon == 0.005 and ledger.verify() == []


def test_without_the_lock_serialisable_transactions_keep_the_cap(url, pay, monkeypatch):
    """A connection pooler can take the lock from its transaction: then writers fail, and none is granted too much."""
    locks = itertools.count(1)
    monkeypatch.setattr(postgres.Server, "_lock", lambda self: next(locks))
    Ledger.create(url, "census", epsilon=0.05, delta=0, timeout=TIMEOUT)
    ready = threading.Barrier(4)

    def work(name):
        ready.wait()
        granted = 0
        for turn in range(8):
            try:
                pay(Ledger.open(url, timeout=TIMEOUT), f"{name}-{turn}", 0.01)
                granted += 1
            except (BudgetExceeded, LedgerUnavailable, LedgerCorrupt):
                pass
        return granted

    with ThreadPoolExecutor(4) as pool:
        granted = sum(pool.map(work, range(4)))
    ledger = Ledger.open(url)
    assert granted == len(ledger.entries()) <= 5 and ledger.verify() == []


# ------------------------------------------------------------------------------------------- tampering


@pytest.mark.parametrize(
    "statement",
    # SQLite's own words; and half a quantum, which a bigint rounds: the hash finds it
    [s for s in REFUSED if " OR REPLACE " not in s and "0.5" not in s]
    + ["TRUNCATE entries", "TRUNCATE header"],
)
def test_the_server_itself_refuses_all_but_appending(remote, url, statement):
    before = remote.entries()
    with pytest.raises(
        Exception, match=r"append-only|must be in its bounds|sequence|chain|totals|cap|invalid input"
    ):
        edit(url, statement.replace("HEAD", before[-1].head))
    assert remote.entries() == before


@pytest.mark.parametrize("statement", EDITS)
def test_every_edit_behind_the_triggers_is_found(remote, url, statement):
    edit(url, *without_triggers(statement))
    assert verify_file(url) != []
    with pytest.raises(LedgerCorrupt):
        Ledger.open(url)


@pytest.mark.parametrize("deleted", ["sequence = 4", "sequence > 1", "1 = 1"])
def test_rows_cut_off_the_end_are_found_by_receipts_and_by_whoever_saw_them(remote, url, pay, deleted):
    receipts = [Charge(entry.sequence, entry.head) for entry in remote.entries()]
    edit(url, *without_triggers(f"DELETE FROM entries WHERE {deleted}"))
    assert verify_file(url) == [] and "rolled back" in verify_file(url, receipts)[0]
    for action in (lambda: pay(remote, "x"), remote.remaining, lambda: remote.released("b", HASH)):
        with pytest.raises(LedgerCorrupt, match="rolled back or edited"):
            action()


CHANGED = {
    "a trigger is off": ("entries_never", "ALTER TABLE entries DISABLE TRIGGER entries_never"),
    "a trigger is off for replicas": ("entries_append", "ALTER TABLE entries ENABLE TRIGGER entries_append"),
    "a trigger is gone": ("header_append", "DROP TRIGGER header_append ON header"),
    "the guard sleeps": (
        "guard",
        "CREATE OR REPLACE FUNCTION guard() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RETURN NEW; END$$",
    ),
    "a crash would empty it": ("entries", "ALTER TABLE entries SET UNLOGGED"),
    "rows can be hidden": ("entries", "ALTER TABLE entries ENABLE ROW LEVEL SECURITY"),
    "another table": ("more", "CREATE TABLE more (a int)"),
    "rows from elsewhere": ("entries", "CREATE TABLE public.more () INHERITS (entries)"),
    "a column": ("entries", "ALTER TABLE entries ADD COLUMN more text"),
    "an index is gone": ("entries_uid", "DROP INDEX entries_uid"),
    "a guard of another schema": (
        "entries_never",
        "CREATE SCHEMA IF NOT EXISTS other; CREATE OR REPLACE FUNCTION other.guard() RETURNS trigger LANGUAGE plpgsql AS "
        "$$BEGIN RETURN NULL; END$$; DROP TRIGGER entries_never ON entries; CREATE TRIGGER entries_never BEFORE UPDATE OR "
        "DELETE OR TRUNCATE ON entries FOR EACH STATEMENT EXECUTE FUNCTION other.guard(); "
        "ALTER TABLE entries ENABLE ALWAYS TRIGGER entries_never",
    ),
    "some columns are guarded": (
        "entries_never",
        "DROP TRIGGER entries_never ON entries; CREATE TRIGGER entries_never BEFORE UPDATE OF day OR DELETE OR TRUNCATE "
        "ON entries FOR EACH STATEMENT EXECUTE FUNCTION guard(); ALTER TABLE entries ENABLE ALWAYS TRIGGER entries_never",
    ),
    "rows are deleted through a parent": (
        "entries",
        "CREATE TABLE public.more (LIKE entries); ALTER TABLE entries INHERIT public.more",
    ),
    "a rule": ("entries", "CREATE RULE nothing AS ON INSERT TO entries DO INSTEAD NOTHING"),
}


@pytest.mark.parametrize("change", CHANGED)
def test_a_changed_format_is_found(remote, url, pay, change):
    name, statement = CHANGED[change]
    edit(url, "DROP TABLE IF EXISTS public.more CASCADE", statement)
    assert any(repr(name) in problem for problem in verify_file(url)), verify_file(url)
    with pytest.raises(LedgerCorrupt, match=name):
        pay(remote, "x")


def test_a_run_that_was_charged_twice_without_its_index_is_found(remote, url, monkeypatch):
    """In a chain that is perfect otherwise, on a server whose index was damaged."""
    monkeypatch.setattr(postgres.Server, "problems", lambda self, db: [])
    last = hash_chain.Tail.after(remote.entries()[-1])
    again = hash_chain.extend(last, "charged", "b", HASH, day=last.day, cost=Quanta(1))
    edit(url, "DROP INDEX entries_uid", "ALTER TABLE entries DISABLE TRIGGER ALL")
    with remote._store.transaction(write=True) as db:
        sql_rows.append(db, again)
    assert verify_file(url) == ["row 5: its run was charged before"]


def test_a_newer_format_is_unavailable_and_a_foreign_schema_is_no_ledger(remote, url, pay):
    schema = postgres.Server.at(url, 1.0).schema
    edit(url, f"COMMENT ON SCHEMA {schema} IS 'prepriv-ledger 4'")
    with pytest.raises(LedgerUnavailable, match="format 4"):
        pay(remote, "x")
    edit(url, f"COMMENT ON SCHEMA {schema} IS 'accounts'")
    with pytest.raises(LedgerCorrupt, match="is not a ledger"):
        pay(remote, "x")


# ------------------------------------------------------------------- who may insert may spend, and no more

HOSTILE = {
    "a wrong hash": {"head": "f" * 64},
    "a note that acts": {"note": "x\x1b[2J"},
    "a note of two lines": {"note": "x\nleft       epsilon 5"},
    "a note that turns round": {"note": "x\u202ecba"},
    "a uid that acts": {"plan_uid": "u\x1b[31m"},
    "a hash of a plan that is none": {"plan_hash": "F" * 64},
    "a day in the future": {"day": "2999-01-01"},
    "a day in the past": {"day": "2001-01-01"},
    "a day that is none": {"day": "tomorrow.."},
    "another unit": {"note": "one `id`: fit"},
}
NOTES = (
    "",
    "ε = 1, \"quoted\" and 'so', 100 %",
    "back\\slash \\u0041 \\\\",
    "\U0001f980 \ud7ff \ue000 \uffff \x7e \xa0",
    "a" * 200,
)


def as_analyst(url, entry, *setup):
    """Insert a row from another program, with settings of its own."""
    import psycopg

    store = postgres.Server.at(url, 10.0)
    tables = postgres.tables(postgres.BY_PERIOD if entry.period else postgres.FORMAT)
    fields = [c.split()[0] for c in tables["entries"].split(", ")]
    amounts = {"amount": entry.cost.main, "delta": entry.cost.delta}
    amounts |= {"spent": entry.spent.main, "spent_delta": entry.spent.delta}
    values = [amounts[f] if f in amounts else getattr(entry, f) for f in fields]
    with psycopg.connect(store.url, autocommit=True) as db:
        for statement in setup:
            db.execute(statement)
        db.execute(f"INSERT INTO {store.schema}.entries VALUES ({', '.join(['%s'] * len(values))})", values)


@pytest.mark.parametrize("row", HOSTILE)
def test_a_row_that_no_charge_would_write_is_refused_by_the_server(remote, url, pay, row):
    last = hash_chain.Tail.after(remote.entries()[-1])
    honest = hash_chain.extend(last, "charged", "x", HASH, day=last.day, cost=Quanta(1))
    forged = replace(honest, **HOSTILE[row])
    if "head" not in HOSTILE[row]:
        forged = replace(forged, head=forged.digest())
    for setup in ((), ("SET standard_conforming_strings = off", "SET timezone = 'Pacific/Kiritimati'")):
        with pytest.raises(
            Exception, match=r"is not one that|in the future|dated before|different units|its hash"
        ):
            as_analyst(url, forged, *setup)
    as_analyst(url, honest)
    assert pay(remote, "y").sequence == 6 and remote.verify() == []


def test_the_server_computes_the_hash_that_the_library_computes(remote, url, pay):
    for turn, note in enumerate(NOTES):
        last = hash_chain.Tail.after(remote.entries()[-1])
        as_analyst(
            url,
            hash_chain.extend(last, "charged", f"x-{turn}", HASH, day=last.day, cost=Quanta(1), note=note),
        )
    pay(remote, "y", note='ε 🦀 \\ "')
    assert remote.verify() == [] and [e.note for e in remote.entries()][4:-1] == list(NOTES)


def test_a_ledger_by_periods_keeps_the_same_chain_and_refuses_the_same(tmp_path, url):
    """A charge of two months is two rows; a total of another month, another hash or kind of month is refused by the server."""
    days = "month of `visited`"
    given = {"epsilon": 1.0, "delta": 1e-5, "adjacency": "add-or-remove-one", "periods": days}
    books = [Ledger.create(place, "visits", **given) for place in (url, tmp_path / "v.db")]
    cost = {"epsilon": 0.4, "delta": 1e-7, "adjacency": "add-or-remove-one", "scheme": days}
    for book in books:
        book.charge("a", HASH, periods=["2026-10", "2026-11"], note="é", **cost)
        book.charge("b", HASH, periods=["2026-11"], **cost)
        book.released("a", "7a" * 32)
        with pytest.raises(BudgetExceeded, match="left of 2026-11"):
            book.charge("c", HASH, periods=["2026-12", "2026-11"], **cost)
        assert book.verify() == [] and book.remaining("2026-11").epsilon == 0.2
    remote, local = books
    assert remote.entries() == local.entries() and len(remote.entries()) == 4
    assert Ledger.open(url).header == remote.header
    last = replace(hash_chain.Tail.after(remote.entries()[-1]), spent=remote.booked_of("2026-10"))
    honest = hash_chain.extend(last, "charged", "x", HASH, day=last.day, cost=Quanta(1), period="2026-10")
    forged = [
        {"spent": Quanta(1)},
        {"period": "2026-12"},
        {"period": "2026"},
        {"period": "2026-13"},
        {"plan_uid": "a"},
    ]
    for row in [*({**change, "head": ""} for change in forged), {"head": "5e" * 32}]:
        bad = replace(honest, **row)
        with pytest.raises(Exception, match=r"totals|declared|not one that|before|its hash"):
            as_analyst(url, bad if bad.head else replace(bad, head=bad.digest()))
    as_analyst(url, honest)
    assert remote.verify() == [] and remote.entries()[-1] == honest
    edit(url, *without_triggers("UPDATE entries SET period = '2026-12' WHERE sequence = 1"))
    assert any("row 1: its content" in problem for problem in verify_file(url))


def test_a_ledger_of_version_0_2_keeps_its_guard_and_works(url, pay, monkeypatch):
    with monkeypatch.context() as older:
        older.setattr(postgres, "FORMAT", 1)
        made = Ledger.create(url, "census", epsilon=1.0, delta=0)
    assert pay(Ledger.open(url), "x").sequence == 1 and made.verify() == []
    schema = postgres.Server.at(url, 1.0).schema
    edit(url, f"COMMENT ON SCHEMA {schema} IS 'prepriv-ledger 2'")  # it claims a guard that it has not
    with pytest.raises(LedgerCorrupt, match="'guard' was changed"):
        pay(made, "y")


def test_a_row_that_corrupts_an_older_ledger_is_named_and_can_be_taken_off(url, pay, monkeypatch):
    """docs/ledger.md, On a server: what the owner of the tables does then. No charge was granted behind the row."""
    with monkeypatch.context() as older:
        older.setattr(postgres, "FORMAT", 1)
        made = Ledger.create(url, "census", epsilon=1.0, delta=0)
    receipt = pay(made, "x")
    last = hash_chain.Tail.after(made.entries()[-1])
    row = hash_chain.extend(last, "charged", "y", HASH, day=last.day, cost=Quanta(1))
    as_analyst(url, replace(row, head="f" * 64))
    assert verify_file(url) == ["row 2: its content does not match its hash"]
    with pytest.raises(LedgerCorrupt, match="row 2"):
        pay(made, "z")
    edit(
        url,
        "ALTER TABLE entries DISABLE TRIGGER entries_never",
        "DELETE FROM entries WHERE sequence = 2",
        "ALTER TABLE entries ENABLE ALWAYS TRIGGER entries_never",
    )
    assert verify_file(url, [receipt]) == [] and pay(made, "z").sequence == 2


# ------------------------------------------------------------------------------------- which server it is


def test_a_server_beyond_this_machine_has_to_prove_that_it_is_the_one(remote, url, pay, monkeypatch):
    for options, address in (
        ({}, b""),
        ({"sslmode": "prefer"}, b"127.0.0.1"),
        ({}, b"::1"),
        ({"sslmode": "verify-full"}, b"10.0.0.7"),
        ({"sslmode": "verify-ca"}, b"fe80::1%eth0"),
        ({"sslmode": "prefer", "gssencmode": "require"}, b"10.0.0.7"),
    ):
        postgres.check_way(options, address)
    for mode in ("", "disable", "allow", "prefer", "require"):
        with pytest.raises(ValueError, match="sslmode=verify-full"):
            postgres.check_way({"sslmode": mode, "gssencmode": "prefer"}, b"10.0.0.7")
    asked = []
    monkeypatch.setattr(
        postgres, "check_way", lambda options, address: asked.append((options["sslmode"], address))
    )
    pay(remote, "x")
    assert [mode for mode, _ in asked] == ["prefer", "prefer"]
    assert asked[0][1] == str(Path(remote._store.url.partition("host=")[2])).encode()  # before it is tried
    assert asked[1][1] == b""  # what it came to


BEYOND = {
    "an address": ("me@10.0.0.7/x", {}),
    "a name": ("me@db.example/x", {}),
    "a name and this machine": ("me@localhost,db.example/x", {}),
    "an address of a name of here": ("me@localhost/x?hostaddr=10.0.0.7", {}),
    "one address of two": ("me@localhost,db.example/x?hostaddr=127.0.0.1,", {}),
    "of the environment": ("me@/x", {"PGHOST": "db.example"}),
    "an address of the environment": ("me@localhost/x", {"PGHOSTADDR": "10.0.0.7"}),
    "of a service": ("me@/x?service=theirs", {}),
    "of a service with a name of here": ("me@localhost/x?service=theirs", {"PGSSLMODE": "verify-full"}),
    "with TLS that proves nothing": ("me@db.example/x?sslmode=require", {}),
}


@pytest.mark.parametrize("place", BEYOND)
def test_a_server_that_is_not_proven_is_refused_before_it_is_asked(monkeypatch, place):
    """It asked for the password in clear, got it, and was refused then."""
    import psycopg

    def connect(*_, **__):
        raise AssertionError("it was asked")

    url, environment = BEYOND[place]
    for name, value in {"PGPASSWORD": "secret", **environment}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(psycopg, "connect", connect)
    with pytest.raises(ValueError, match="sslmode=verify-full"):
        Ledger.open(f"postgresql://{url}")
    proven = f"postgresql://{url}{'&' if '?' in url else '?'}sslmode=verify-full"
    with pytest.raises(AssertionError, match="was asked"):
        Ledger.open(proven.replace("sslmode=require&", ""))


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "[::1]", "localhost,127.0.0.2", "%2Frun%2Fpg"])
def test_this_machine_needs_no_proof(host):
    postgres.check_hosts(postgres.libpq_options(f"postgresql://me@{host}/x"))


def test_errors_that_say_nothing_of_the_ledger_do_not_call_it_corrupt(remote, url, pay, monkeypatch):
    """Such as that of a process that was stopped for a minute in the middle of a charge."""
    begin = postgres.Server._begin

    def stopped(self, db, write):
        begin(self, db, write)
        db.execute("SET LOCAL idle_in_transaction_session_timeout = '1ms'")
        time.sleep(0.2)

    monkeypatch.setattr(postgres.Server, "_begin", stopped)
    with pytest.raises(LedgerUnavailable, match=r"idle-in-transaction|closed|terminating"):
        pay(remote, "x")
    monkeypatch.undo()
    assert pay(remote, "x").sequence == 5


def test_a_day_that_an_analyst_writes_stops_nobody(remote, url, pay, monkeypatch):
    """Tomorrow is the last that the guard takes: "the clock was moved", and no charge until midnight."""
    tomorrow = (datetime.now(timezone.utc) + timedelta(1)).date().isoformat()
    last = hash_chain.Tail.after(remote.entries()[-1])
    as_analyst(url, hash_chain.extend(last, "charged", "x", HASH, day=tomorrow, cost=Quanta(1)))
    assert verify_file(url) == [] and pay(remote, "y").sequence == 6
    assert remote.entries()[-1].day == tomorrow and verify_file(url) == []


# ----------------------------------------------------------------------------------------- fail closed


def test_out_of_reach_is_one_sentence_without_the_password(monkeypatch):
    monkeypatch.setenv("PGPASSWORD", "secret")  # a URL may hold none
    for url, says in (
        ("postgresql://me@127.0.0.1:1/people", "Connection refused"),
        ("postgresql://me@/people?host=/no/such/folder", "No such file"),
    ):
        for action in (Ledger.open, verify_file, lambda u: Ledger.create(u, "x", epsilon=1.0, delta=0)):
            with pytest.raises(LedgerUnavailable, match=says) as error:
                action(url)
            assert "secret" not in str(error.value) and len(str(error.value).splitlines()) == 1
        told = CliRunner().invoke(app, ["verify", url])
        assert told.exit_code == 4 and "secret" not in told.output and told.output.count("\n") == 1


@pytest.mark.parametrize(
    "url,says",
    [
        ("postgresql://me:secret@host/db", "holds a password"),
        ("postgresql://me@host/db?nonsense=1", "does not understand the URL"),
        ("postgresql://me@host/db?ledger=Bad-Name", "at most 40"),
        ("postgresql://me@host/db?ledger=", "at most 40"),
        (Path("postgresql://me:secret@host/db"), "as a text"),
    ],
)
def test_a_wrong_url_is_bad_input(url, says):
    with pytest.raises(ValueError, match=says) as error:
        Ledger.open(url)
    assert "secret" not in str(error.value)


def test_a_missing_ledger_a_missing_database_and_a_missing_driver(server, url, monkeypatch):
    with pytest.raises(LedgerUnavailable, match=r"no such ledger .* create`"):
        Ledger.open(url)
    with pytest.raises(LedgerUnavailable, match="does not exist"):
        Ledger.open(url.replace("/postgres?", "/nowhere?"))
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(LedgerUnavailable, match=r'pip install "prepriv\[postgres\]"'):
        Ledger.open(url)


def test_a_lock_held_too_long_is_unavailable_and_reading_goes_on(remote, url, pay):
    impatient = Ledger.open(url, timeout=0.2)
    with remote._store.transaction(write=True):
        with pytest.raises(LedgerUnavailable, match="lock timeout"):
            pay(impatient, "x")
        assert impatient.remaining().epsilon == 0.7
    assert pay(impatient, "x").sequence == 5


def test_a_server_that_would_lose_a_commit_is_refused(remote, url, pay):
    try:
        edit(url, "ALTER SYSTEM SET fsync = off", "SELECT pg_reload_conf()")
        until = time.monotonic() + 20
        while time.monotonic() < until:
            try:  # the server hears of it in a moment
                pay(remote, f"x{time.monotonic_ns()}", 1e-6)
            except LedgerUnavailable:
                break
        with pytest.raises(LedgerUnavailable, match="fsync off"):
            pay(remote, "x")
    finally:
        edit(url, "ALTER SYSTEM RESET fsync", "SELECT pg_reload_conf()")


def test_a_commit_that_the_server_takes_back_grants_nothing(remote, pay, monkeypatch):
    """COMMIT of a failed transaction is a ROLLBACK, and no error."""
    honest = postgres._Session.execute

    def failing(self, sql, parameters=()):
        if sql == "COMMIT":
            with pytest.raises(Exception, match="division"):
                honest(self, "SELECT 1/0")
        return honest(self, sql, parameters)

    monkeypatch.setattr(postgres._Session, "execute", failing)
    with pytest.raises(LedgerUnavailable, match="nothing was granted"):
        pay(remote, "x")
    monkeypatch.undo()
    assert len(remote.entries()) == 4


# ------------------------------------------------------------------------------------- killed with -9

CLASSIFIER = PrivateClassifier(
    Domain.box(0, 1, 2, [0, 1]),
    steps=(),
    learner=GradientDescent(Logistic(), steps=5, learning_rate=0.5, clip_norm=1.0),
    threads=1,
)


def check_kills(server, url, monkeypatch, kills):
    """The server dies around the COMMIT of a charge: cells are read only where that charge is found afterwards."""
    Ledger.create(url, "census", epsilon=1000, delta=0.1)
    x = np.random.default_rng(0).random((40, 2))
    draw, receipts, read, dying = random.Random(kills), [], [], []
    honest, charge, encode = postgres._Session.execute, admission.charge, PrivateTable.read

    def execute(self, sql, parameters=()):
        if sql != "COMMIT" or not dying:
            return honest(self, sql, parameters)
        moment = dying.pop()
        if moment == "before":
            server.kill()
            return honest(self, sql, parameters)
        if moment == "during":
            killer = threading.Timer(draw.uniform(0, 0.01), server.kill)
            killer.start()
            try:
                return honest(self, sql, parameters)
            finally:
                killer.join()
        answer = honest(self, sql, parameters)
        server.kill()
        return answer

    monkeypatch.setattr(postgres._Session, "execute", execute)
    monkeypatch.setattr(admission, "charge", lambda *a: receipts.append(charge(*a)) or receipts[-1])
    monkeypatch.setattr(PrivateTable, "read", lambda *a: read.append(receipts[-1]) or encode(*a))
    for kill in range(kills):
        dying.append(("before", "during", "after")[kill % 3])
        before = len(read)
        with pytest.raises(LedgerError, match=r"nothing was granted|no row .*charge [0-9]+ stays"):
            CLASSIFIER.set_params(ledger=url).fit(x, x[:, 0] > 0.5)
        assert not dying and len(read) == before
        server.start()
        CLASSIFIER.fit(x, x[:, 0] > 0.5)  # and the ledger is sound
    booked = {entry.sequence: entry.head for entry in Ledger.open(url).entries()}
    assert len(read) == kills and all(booked[r["sequence"]] == r["head"] for r in read)
    assert verify_file(url, [Charge(r["sequence"], r["head"]) for r in receipts]) == []
    assert kills + kills // 3 <= len(booked) <= 2 * kills - kills // 3
    return len(booked) - kills


def test_a_server_killed_around_the_commit_opens_no_data(server, url, monkeypatch):
    check_kills(server, url, monkeypatch, 3)


@pytest.mark.slow
def test_a_server_killed_50_times_around_the_commit_opens_no_data(server, url, monkeypatch):
    print(
        f"50 kills: no cell read; {check_kills(server, url, monkeypatch, 50)} charges booked and not granted"
    )


# ----------------------------------------------------------------------------------- the command line


def test_the_commands_take_a_url(url):
    def run(*arguments):
        return CliRunner().invoke(app, list(map(str, arguments)))

    made = run("create", url, "--dataset", "census", "--epsilon", "1", "--delta", "1e-5")
    assert made.exit_code == 0 and "(postgresql)" in made.output
    assert run("create", url, "--dataset", "census", "--epsilon", "1", "--delta", "1e-5").exit_code == 2
    assert "left       epsilon 1, delta 0.00001" in run("show", url).output
    assert "ok, rows 0" in run("verify", url).output
