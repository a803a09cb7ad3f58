"""Whatever is wrong with the file, nothing is granted, with an exit code that says what it was."""

import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

import pytest

import prepriv
from prepriv.ledger import (
    BudgetExceeded,
    Ledger,
    LedgerCorrupt,
    LedgerError,
    LedgerUnavailable,
    PlanRefused,
    book,
    mounts,
    sql_schema,
    store,
    verification,
    verify_file,
)
from prepriv.ledger.store import files_of_a_run, foreign_side_files

NOBODY = 65534


def test_every_failure_has_its_own_exit_code():
    kinds = [BudgetExceeded, LedgerUnavailable, LedgerCorrupt, PlanRefused]
    assert [kind.exit_code for kind in kinds] == [3, 4, 5, 6]
    assert all(issubclass(kind, LedgerError) for kind in kinds)


def test_a_missing_ledger_is_unavailable_and_is_not_made_anew(tmp_path, ledger, pay):
    with pytest.raises(LedgerUnavailable, match="no such ledger"):
        Ledger.open(tmp_path / "none.db")
    ledger.path.unlink()
    for action in (lambda: pay(ledger, "x"), ledger.remaining, ledger.entries, ledger.verify):
        with pytest.raises(LedgerUnavailable, match="no such ledger"):
            action()
    with pytest.raises(LedgerUnavailable):
        Ledger.create(tmp_path / "no" / "such" / "folder.db", "census", epsilon=1.0, delta=0)
    assert list(tmp_path.iterdir()) == []


def test_a_ledger_removed_at_the_last_moment_is_not_made_anew(ledger, pay, monkeypatch):
    ledger.path.unlink()
    monkeypatch.setattr(Path, "is_file", lambda self: True)  # it went after the look
    with pytest.raises(LedgerUnavailable, match="unable to open"):
        pay(ledger, "x")
    assert list(ledger.path.parent.iterdir()) == []


@pytest.mark.parametrize(
    "content", [b"", b"not a database, but long enough to be one" * 100, b"SQLite format 3\0"]
)
def test_what_is_no_ledger_is_corrupt(tmp_path, content):
    path = tmp_path / "l.db"
    path.write_bytes(content)
    with pytest.raises(LedgerCorrupt):
        Ledger.open(path)
    assert verify_file(path) != [] and path.read_bytes() == content
    with pytest.raises(LedgerUnavailable):
        Ledger.open(tmp_path)


def test_another_programs_database_is_corrupt(tmp_path):
    path = tmp_path / "l.db"
    db = sqlite3.connect(path)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("CREATE TABLE header (a)")
    db.close()
    with pytest.raises(LedgerCorrupt, match="not a ledger"):
        Ledger.open(path)


@pytest.mark.parametrize("ending", ["-wal", "-shm", "-journal"])
@pytest.mark.parametrize(
    "text", [b"row 17: Boston, callback", b"\0" * 48 + b"row 17", None], ids=["text", "zeros", "folder"]
)
def test_a_look_deletes_nothing_that_someone_laid_where_sqlite_keeps_its_log(ledger, ending, text):
    """`ledger verify` ended with 0, and deleted such a file from the folder of whoever looked."""
    beside = Path(f"{ledger.path}{ending}")
    if text is None:
        beside.mkdir()
    else:
        beside.write_bytes(text)
    before = ledger.path.read_bytes()
    opened = Ledger.open(ledger.path)
    assert (len(opened.entries()), opened.verify(), verify_file(ledger.path)) == (4, [], [])
    assert foreign_side_files(ledger.path) == (beside,)
    assert beside.is_dir() if text is None else beside.read_bytes() == text
    assert ledger.path.read_bytes() == before
    assert {*ledger.path.parent.glob(f"{ledger.path.name}*")} == {ledger.path, beside}


def test_a_log_without_a_commit_is_left_where_it_is(ledger, pay):
    """A header that SQLite would write, and records after it: `ledger verify` ended with 0, and SQLite deleted the file."""
    held = sqlite3.connect(ledger.path)
    held.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()
    pay(ledger, "x")
    log = Path(f"{ledger.path}-wal")
    whole = log.read_bytes()
    held.close()
    assert not log.exists() and len(ledger.entries()) == 5
    frame = 24 + int.from_bytes(whole[8:12], "big")
    (commit,) = [at for at in range(32, len(whole), frame) if any(whole[at + 4 : at + 8])]
    other_salt = whole[:40] + b"otherone" + whole[48:]
    for content in (whole[:32] + b"31,12,yes\n" * 1000, whole[:commit] + b"31,12,yes\n" * 9, other_salt):
        log.write_bytes(content)
        assert foreign_side_files(ledger.path) == (log,)
        assert len(Ledger.open(ledger.path).entries()) == 5 and log.read_bytes() == content
        assert files_of_a_run(ledger.path) == ()
    log.write_bytes(whole)  # with what a process committed before it was killed
    assert foreign_side_files(ledger.path) == () and files_of_a_run(ledger.path) == (log,)
    assert len(Ledger.open(ledger.path).entries()) == 5 and not log.exists()
    log.write_bytes(whole[:32])
    Path(f"{ledger.path}-shm").write_bytes((3007000).to_bytes(4, sys.byteorder))  # a process uses it
    assert foreign_side_files(ledger.path) == ()
    assert files_of_a_run(ledger.path) == (log, Path(f"{ledger.path}-shm"))


def test_a_log_with_charges_is_read_and_never_passed_over_for_a_file_beside_it(ledger, pay):
    held = sqlite3.connect(ledger.path)  # keeps the log from being folded back
    held.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()
    try:
        pay(ledger, "x")
        assert Path(f"{ledger.path}-wal").stat().st_size > 32
        assert foreign_side_files(ledger.path) == () and len(Ledger.open(ledger.path).entries()) == 5
        Path(f"{ledger.path}-journal").write_bytes(b"row 17")
        with pytest.raises(LedgerUnavailable, match="may hold charges"):
            ledger.entries()
        assert Path(f"{ledger.path}-journal").read_bytes() == b"row 17"
        Path(f"{ledger.path}-journal").unlink()
    finally:
        held.close()
    assert len(ledger.entries()) == 5


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_read_only_ledger_can_be_read_and_not_charged(ledger, pay, in_child):
    folder = Path(tempfile.mkdtemp())  # pytest's own folders are closed to other users
    path = folder / "l.db"
    try:
        shutil.copy(ledger.path, path)
        for locked_folder in (True, False):
            folder.chmod(0o555 if locked_folder else 0o777)
            path.chmod(0o444)
            answer = in_child(lambda: _use_as_nobody(path, pay))
            assert answer == [0.7, 4, [], "LedgerUnavailable", "LedgerUnavailable"], locked_folder
        assert Ledger.open(path).remaining().epsilon == 0.7
    finally:
        folder.chmod(0o755)
        shutil.rmtree(folder)


def _use_as_nobody(path, pay):
    if os.getuid() == 0:  # root may write anywhere
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    opened = Ledger.open(path, timeout=0.2)
    answer = [opened.remaining().epsilon, len(opened.entries()), opened.verify()]
    for action in (lambda: pay(opened, "x"), lambda: opened.released("b", "0f" * 32)):
        try:
            action()
            answer.append("granted")
        except LedgerError as error:
            answer.append(type(error).__name__)
    return answer


def test_a_lock_held_too_long_is_unavailable_and_reading_goes_on(ledger, pay):
    holder = sqlite3.connect(ledger.path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    impatient = Ledger.open(ledger.path, timeout=0.05)
    with pytest.raises(LedgerUnavailable, match="locked"):
        pay(impatient, "x")
    assert impatient.remaining().epsilon == 0.7
    holder.execute("ROLLBACK")
    assert pay(impatient, "x").sequence == 5
    holder.execute("PRAGMA locking_mode = EXCLUSIVE")
    holder.execute("BEGIN EXCLUSIVE")
    with pytest.raises(LedgerUnavailable):
        pay(impatient, "y")
    holder.close()
    assert impatient.verify() == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_no_room_for_the_log_is_unavailable_and_acknowledged_charges_stay(ledger, pay, in_child):
    """The log cannot grow beyond the file size limit: the write fails in the middle of a COMMIT."""
    keep_log = sqlite3.connect(ledger.path, isolation_level=None)
    keep_log.execute("BEGIN")
    keep_log.execute(
        "SELECT COUNT(*) FROM entries"
    ).fetchone()  # this snapshot keeps the log from being folded
    acknowledged, error = in_child(lambda: _charge_under_file_size_limit(ledger, pay, 120_000))
    keep_log.close()
    assert error == "LedgerUnavailable"
    assert len(acknowledged) > 2
    entries = Ledger.open(ledger.path).entries()
    assert acknowledged == [[entry.sequence, entry.head] for entry in entries[4:]]
    assert ledger.verify() == [] and pay(ledger, "after").sequence == len(entries) + 1


def _charge_under_file_size_limit(ledger, pay, limit):
    import resource

    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    acknowledged = []
    for turn in range(1000):
        try:
            charge = pay(ledger, f"run-{turn}", 1e-4)
        except LedgerError as error:
            return acknowledged, type(error).__name__
        acknowledged.append((charge.sequence, charge.head))
    return acknowledged, "never full"


FILL_A_SMALL_DISK = """
import sys, os
from prepriv.ledger import Ledger, LedgerUnavailable
from prepriv.ledger.store import foreign_side_files
folder = sys.argv[1]
ledger = Ledger.create(folder + "/l.db", "census", epsilon=1000.0, delta=0)
acknowledged = []
def charge(n):
    acknowledged.append(ledger.charge(f"run-{n}", "5e" * 32, adjacency="replace-one", epsilon=0.1, delta=0))
charge(0)
with open(folder + "/filler", "wb") as filler:
    try:
        while True:
            os.write(filler.fileno(), bytes(512))
    except OSError:
        pass
try:
    charge(1)
    sys.exit("granted on a full disk")
except LedgerUnavailable as error:
    print("refused:", error)
os.unlink(folder + "/filler")
charge(2)
assert ledger.verify(acknowledged) == [], ledger.verify(acknowledged)
assert [entry.plan_uid for entry in ledger.entries()] == ["run-0", "run-2"], ledger.entries()
try:
    with open(folder + "/filler", "wb") as filler:
        while True:
            os.write(filler.fileno(), bytes(512))
except OSError:
    pass
try:
    Ledger.create(folder + "/second.db", "census", epsilon=1.0, delta=0)
    sys.exit("created on a full disk")
except LedgerUnavailable:
    assert sorted(os.listdir(folder)) == ["filler", "l.db"], os.listdir(folder)
"""


def test_a_full_disk_is_unavailable(tmp_path):
    unshare = shutil.which("unshare")
    mount = 'mount -t tmpfs -o size=256k none "$1" || exit 77; shift; exec "$@"'
    if unshare is None:
        pytest.skip("needs unshare")
    command = [
        unshare,
        "-rm",
        "sh",
        "-c",
        mount,
        "sh",
        tmp_path,
        sys.executable,
        "-c",
        FILL_A_SMALL_DISK,
        tmp_path,
    ]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    if done.returncode == 77 or "unshare" in done.stderr:
        pytest.skip("needs a private mount")
    assert done.returncode == 0, done.stderr
    assert "refused:" in done.stdout


class _FailingConnection(sqlite3.Connection):
    failure: tuple[str, str] = ("", "")

    def execute(self, sql, *values):
        if sql.startswith(self.failure[0]):
            raise sqlite3.OperationalError(self.failure[1])
        return super().execute(sql, *values)


@pytest.mark.parametrize(
    "statement", ["PRAGMA trusted", "PRAGMA synch", "PRAGMA journal", "BEGIN", "SELECT", "INSERT", "COMMIT"]
)
@pytest.mark.parametrize("message", ["database or disk is full", "disk I/O error", "database is locked"])
def test_a_failure_at_any_statement_grants_nothing(ledger, pay, monkeypatch, statement, message):
    real = sqlite3.connect
    impatient = Ledger.open(ledger.path, timeout=0.02)
    monkeypatch.setattr(_FailingConnection, "failure", (statement, message))
    monkeypatch.setattr(store.sqlite3, "connect", lambda *a, **k: real(*a, factory=_FailingConnection, **k))
    with pytest.raises(LedgerUnavailable, match=message):
        pay(impatient, "x")
    monkeypatch.undo()
    assert len(ledger.entries()) == 4 and pay(ledger, "x").sequence == 5


@pytest.mark.parametrize("value,code", [("NORMAL", 2), ("OFF", 2)])
def test_weaker_durability_is_noticed_by_reading_it_back(ledger, pay, monkeypatch, value, code):
    monkeypatch.setitem(store.DURABLE, "synchronous", (value, code))
    with pytest.raises(LedgerUnavailable, match="not be durable"):
        pay(ledger, "x")


def test_commits_are_synchronous_and_logged(ledger, monkeypatch):
    with store.transaction(ledger.path, timeout=1.0, write=True) as db:
        assert db.execute("PRAGMA synchronous").fetchone() == (2,)
        assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        with pytest.raises(sqlite3.OperationalError):
            sqlite3.connect(ledger.path, timeout=0, isolation_level=None).execute("BEGIN IMMEDIATE")


def test_a_ledger_out_of_write_ahead_mode_is_refused(ledger, pay):
    db = sqlite3.connect(ledger.path)
    db.execute("PRAGMA journal_mode = DELETE")
    db.close()
    with pytest.raises(LedgerCorrupt, match="write-ahead"):
        pay(ledger, "x")


def test_a_newer_format_is_unavailable_and_an_impossible_one_corrupt(ledger, pay):
    for version, error in ((sql_schema.BY_PERIOD + 1, LedgerUnavailable), (0, LedgerCorrupt)):
        db = sqlite3.connect(ledger.path)
        db.execute(f"PRAGMA user_version = {version}")
        db.close()
        with pytest.raises(error, match=f"format {version}"):
            pay(ledger, "x")
        with pytest.raises(error, match=f"format {version}"):
            Ledger.open(ledger.path)


def test_a_clock_set_back_is_unavailable(ledger, pay, monkeypatch):
    monkeypatch.setattr(book, "utc_date", lambda: "2001-01-01")
    monkeypatch.setattr(verification, "utc_date", lambda: "2001-01-01")
    with pytest.raises(LedgerUnavailable, match="clock"):
        pay(ledger, "x")
    assert any("clock" in problem for problem in ledger.verify())
    assert len(Ledger.open(ledger.path).entries()) == 4, "reading needs no clock"


def test_a_clock_a_day_apart_is_that_of_another_machine(ledger, pay, monkeypatch):
    last = date.fromisoformat(ledger.entries()[-1].day)
    for days, granted in ((1, True), (2, False)):
        today = (last - timedelta(days)).isoformat()
        monkeypatch.setattr(book, "utc_date", lambda today=today: today)
        monkeypatch.setattr(verification, "utc_date", lambda today=today: today)
        assert (ledger.verify() == []) == granted
        if granted:
            pay(ledger, "x")
            continue
        with pytest.raises(LedgerUnavailable, match="the clock says"):
            pay(ledger, "y")
    assert ledger.entries()[-1].day == last.isoformat()


@pytest.mark.parametrize("timeout", [None, "5", float("nan"), float("inf"), -1, 1e9, True])
@pytest.mark.parametrize("place", ["L.db", "postgresql:///x"])
def test_a_timeout_that_is_none_is_bad_input(place, timeout):
    for opens in (Ledger.open, verification.verify_file):
        with pytest.raises(ValueError, match=r"timeout must .* seconds"):
            opens(place, timeout=timeout)


def test_network_mounts_and_hard_links_are_refused(tmp_path, ledger, monkeypatch):
    os.link(ledger.path, tmp_path / "second-name.db")
    with pytest.raises(LedgerUnavailable, match="hard links"):
        Ledger.open(ledger.path)
    (tmp_path / "second-name.db").unlink()
    for kind in ("nfs", "nfs4", "cifs", "smb3", "9p", "fuse.sshfs", "fuse.glusterfs", "ceph"):
        monkeypatch.setattr(mounts, "file_system", lambda path, kind=kind: kind)
        with pytest.raises(LedgerUnavailable, match="network file system"):
            Ledger.open(ledger.path)
        with pytest.raises(LedgerUnavailable, match="network file system"):
            Ledger.create(tmp_path / "new.db", "census", epsilon=1.0, delta=0)
    for kind in ("ext4", "xfs", "btrfs", "zfs", "apfs", "tmpfs", "overlay", "fuseblk", "ntfs3", ""):
        monkeypatch.setattr(mounts, "file_system", lambda path, kind=kind: kind)
        Ledger.open(ledger.path)
    assert [file.name for file in tmp_path.iterdir()] == ["ledger.db"]


def test_the_file_system_is_that_of_the_deepest_mount(tmp_path):
    """By the table alone, where the system does not say by which mount a file is reached."""
    (tmp_path / "mountinfo").write_text(
        "1 0 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
        "2 1 0:40 / /mnt rw - nfs4 server:/x rw\n"
        "3 2 0:41 / /mnt/my\\040disk rw shared:2 master:1 - xfs /dev/sdb rw\n"
        "4 2 0:42 / /mnt/over rw - xfs /dev/sdc rw\n"
        "5 4 0:43 / /mnt/over rw - cifs //host/share rw\n"
        "6 2 0:44 / /mnt/covered/deep rw - ext4 /dev/sdd rw\n"
        "7 2 0:45 / /mnt/covered rw - 9p host rw\n"
    )
    for path, kind in {
        "/home/l.db": "ext4",
        "/mnt/l.db": "nfs4",
        "/mntx/l.db": "ext4",
        "/mnt/my disk/l.db": "xfs",
        "/mnt/over/l.db": "cifs",
        "/mnt/covered/deep/l.db": "9p",
    }.items():
        assert mounts._reached(Path(path), mounts._mounts(tmp_path)).kind == kind
    (tmp_path / "l.db").touch()
    assert mounts.file_system(tmp_path / "l.db", tmp_path) == "ext4"
    assert mounts.file_system(tmp_path / "l.db", tmp_path / "none") is None


def _check_damaged(path: Path, good: bytes, bad: bytes, pay) -> bool:
    """Nothing but a LedgerError, or the very same rows (unused bytes were hit). Whether it was refused.

    But for the day, which the hash does not cover (hash_chain.py): on some days a flipped bit makes it an earlier one.
    """
    path.write_bytes(good)
    expected = Ledger.open(path, timeout=0.05).entries()
    path.write_bytes(bad)
    try:
        opened = Ledger.open(path, timeout=0.05)
    except (LedgerCorrupt, LedgerUnavailable):
        for file in store.side_files(path):
            file.unlink(missing_ok=True)
        return True
    assert [replace(e, day="") for e in opened.entries()] == [replace(e, day="") for e in expected]
    assert pay(opened, "x").sequence == len(expected) + 1
    return False


def _damage(good: bytes, draw: random.Random) -> bytes:
    kind, at = draw.randrange(4), draw.randrange(len(good))
    if kind == 0:
        return good[:at]
    if kind == 1:
        page = at // 4096 * 4096
        return good[:page] + bytes(4096) + good[page + 4096 :]
    if kind == 2:
        return good[:at] + draw.randbytes(64) + good[at + 64 :]
    return good[:at] + bytes([good[at] ^ 1 << draw.randrange(8)]) + good[at + 1 :]


def check_damage(ledger, pay, times):
    good, draw = ledger.path.read_bytes(), random.Random(times)
    refused = sum(_check_damaged(ledger.path, good, _damage(good, draw), pay) for _ in range(times))
    assert refused > times / 5
    return refused


def test_damaged_bytes_are_refused_or_without_effect(ledger, pay):
    check_damage(ledger, pay, 150)


@pytest.mark.slow
def test_damaged_bytes_are_refused_or_without_effect_5000_times(ledger, pay):
    print(f"{check_damage(ledger, pay, 5000)} of 5000 damaged files refused, the others without effect")


def test_damage_that_sqlite_quotes_in_its_message_is_corrupt_too(ledger, pay):
    """The message is then no UTF-8, which must not look like bad input."""
    damaged = ledger.path.read_bytes().replace(
        b"CREATE TRIGGER entries_append", b"CREATE TRIGGER \x83ntries append"
    )
    damaged = damaged.replace(b"triggerentries_append", b"trigger\x83ntries_append")
    ledger.path.write_bytes(damaged)
    with pytest.raises(LedgerCorrupt):
        Ledger.open(ledger.path)
    with pytest.raises(LedgerCorrupt):
        pay(ledger, "x")


def test_a_damaged_index_is_found_although_every_row_is_right(ledger):
    """The index answers whether a uid was charged: with a wrong one a plan could be charged twice."""
    good = ledger.path.read_bytes()
    in_index = b"chargedb\x02"
    assert good.count(in_index) == 1
    ledger.path.write_bytes(good.replace(in_index, b"chargedz\x02"))
    with pytest.raises(LedgerCorrupt, match="index"):
        Ledger.open(ledger.path)


def test_every_used_byte_of_a_row_is_covered(ledger):
    """Flip each byte of every text of a row in the raw file: never opened with other content."""
    good = ledger.path.read_bytes()
    expected = ledger.entries()
    texts = {value for entry in expected for value in (entry.head, entry.previous, entry.plan_hash)}
    for text in texts:
        at = good.find(text.encode())
        assert at > 0
        ledger.path.write_bytes(good[:at] + bytes([good[at] ^ 1]) + good[at + 1 :])
        with pytest.raises(LedgerCorrupt):
            Ledger.open(ledger.path)


def test_a_charge_that_cannot_be_confirmed_is_said_to_stay(tmp_path, monkeypatch):
    """ "nothing was granted" was said of a charge that was booked."""
    book = Ledger.create(tmp_path / "L.db", "people", epsilon=9, delta=1e-3)

    def lost(*_):
        raise LedgerUnavailable("L.db: the connection is lost; nothing was granted")

    monkeypatch.setattr(Ledger, "confirm", lost)
    domain = prepriv.Domain.box(0, 1, features=2, classes=[0, 1])
    with pytest.raises(LedgerUnavailable, match=r"no row was .* charge 1 stays$"):
        prepriv.PrivateClassifier(domain, ledger=tmp_path / "L.db").fit([[0.5, 0.5]] * 50, [0, 1] * 25)
    assert len(book.entries()) == 1


def test_a_url_names_one_ledger():
    pytest.importorskip("psycopg")
    with pytest.raises(ValueError, match="names 2 ledgers"):
        Ledger.open("postgresql://user@localhost/db?ledger=a&ledger=b")
