"""`prepriv train --ledger`, killed, interrupted and starved: no artifact without a charge, no data before one."""

from __future__ import annotations

import builtins
import functools
import io
import json
import os
import resource
import signal
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from prepriv.cli import run
from prepriv.ledger import BudgetExceeded, Ledger, LedgerCorrupt, LedgerUnavailable
from prepriv.release.model import Model
from prepriv.release.report import Report
from prepriv.tables.stream import Files

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")

SCHEMA = """
label: {name: y, classes: [0, 1]}
rows: 2000
columns: {a: {type: numeric, low: 0, high: 1}, b: {type: numeric, low: 0, high: 1}}
steps:
  - {step: Center, pay: budget, share: 0.1}
"""
TRAIN = ["train", "t.csv", "--schema", "s.yaml", "--ledger", "l.db"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    rng = np.random.default_rng(3)
    lines = [f"{a:.3f},{b:.3f},{int(a > b)}" for a, b in rng.random((2000, 2))]
    (tmp_path / "t.csv").write_text("a,b,y\n" + "\n".join(lines) + "\n")
    (tmp_path / "s.yaml").write_text(SCHEMA)
    monkeypatch.chdir(tmp_path)
    Ledger.create("l.db", "d", epsilon=10**6, delta=0.5)
    return tmp_path


# ---------------------------------------------------------------------------------------------- kill -9

KILLER = """
import json, os, random, signal, sys, time
from prepriv.cli import run
from prepriv.tables.stream import Files

kills, seed = int(sys.argv[1]), int(sys.argv[2])
draw = random.Random(seed)
honest = Files.parts

def marked(self, columns):
    os.close(os.open(f"{folder}.touched", os.O_CREAT))  # before the first record is read
    yield from honest(self, columns)

Files.parts = marked

def child():
    for stream in (1, 2):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
    os._exit(run(["train", "t.csv", "--schema", "s.yaml", "--ledger", "l.db", "--out", folder]))

folder = "whole"
start = time.monotonic()
pid = os.fork()
if pid == 0:
    child()
assert os.waitpid(pid, 0)[1] == 0
whole = time.monotonic() - start
ended = 0
for k in range(kills):
    folder = f"run{k}"
    delay = draw.uniform(0, whole * (1.1 if k % 2 else 0.4))  # every other one early: charge, reading, training
    pid = os.fork()
    if pid == 0:
        child()
    time.sleep(delay)
    os.kill(pid, signal.SIGKILL)
    ended += os.WIFEXITED(os.waitpid(pid, 0)[1])
print(json.dumps([ended, whole]))
"""


def check_kills(folder, kills):
    """Kill real runs at random instants; whatever is on disk afterwards must have been paid for."""
    done = subprocess.run(
        [sys.executable, "-c", KILLER, str(kills), "11"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    ended, _ = json.loads(done.stdout)
    ledger = Ledger.open("l.db")
    assert ledger.verify() == []
    entries = ledger.entries()
    heads = {e.sequence: (e.head, e.plan_uid) for e in entries if e.kind == "charged"}
    artifacts = sorted(Path().glob("run*/model/model.json"))
    for path in artifacts:
        receipt = Model.load(path).receipt  # whole: it loads
        assert heads[receipt["sequence"]] == (receipt["head"], receipt["plan_uid"]), (
            "an artifact that nobody paid for"
        )
    touched = len(list(Path().glob("run*.touched")))
    assert touched + 1 <= len(heads) <= kills + 1
    charged = [e for e in entries if e.kind == "charged"]
    assert entries[-1].spent.main == sum(e.cost.main for e in charged)
    assert sum(e.kind == "released" for e in entries) <= len(artifacts) + 1
    assert not [p for p in Path().iterdir() if p.name.startswith("l.db-")] or ledger.verify() == []
    return {
        "kills": kills,
        "ended before the kill": ended,
        "touched": touched,
        "charged": len(heads) - 1,
        "artifacts": len(artifacts),
    }


def test_a_run_killed_at_any_instant_leaves_no_artifact_without_a_charge(folder):
    seen = check_kills(folder, 10)
    assert seen["ended before the kill"] < 10


@pytest.mark.slow
def test_200_kills_leave_no_artifact_without_a_charge(folder):
    seen = check_kills(folder, 200)
    print(seen)
    assert seen["artifacts"] > 5 and seen["ended before the kill"] < 100
    assert seen["touched"] > 20, "too few kills came after a record was read"


# ------------------------------------------------------------------------------- interrupted at any call


class Interrupt:
    """Raises `error` at the k-th call of a function of the package, in the main thread; counts them."""

    def __init__(self, k: int, error: BaseException | None) -> None:
        self.k, self.error, self.count = k, error, 0

    def __enter__(self):
        sys.setprofile(self._event)
        return self

    def __exit__(self, *_):
        sys.setprofile(None)

    def _event(self, frame, event, _arg):
        if (
            event == "call"
            and "/prepriv/" in frame.f_code.co_filename
            and threading.current_thread() is threading.main_thread()
        ):
            self.count += 1
            if self.count == self.k and self.error is not None:
                sys.setprofile(None)
                raise self.error


def ctrl_c_at(points, folder, monkeypatch):
    monkeypatch.setattr(Report, "to_html", lambda self: "")
    (folder / "s.yaml").write_text(SCHEMA + "  - {step: Rescale, radius: 2}\n")
    read = []
    honest = Files.parts
    monkeypatch.setattr(Files, "parts", lambda *a: read.append(1) or honest(*a))
    with Interrupt(0, None) as whole:
        assert run([*TRAIN, "--out", "whole"]) == 0
    assert read
    charged = 1
    for i in range(points):
        read.clear()
        with Interrupt(1 + whole.count * i // points, KeyboardInterrupt()):
            try:
                code = run([*TRAIN, "--out", f"run{i}"])
            except KeyboardInterrupt:  # before or behind the command's own handling
                code = 130
        assert code in (130, 0)
        entries = Ledger.open("l.db").entries()
        now = sum(e.kind == "charged" for e in entries)
        assert now - charged >= bool(read), "a record was read without a charge"
        if Path(f"run{i}/model/model.json").exists():
            assert now > charged
        charged = now
        assert not list(Path(f"run{i}").rglob(".tmp*"))
    assert Ledger.open("l.db").verify() == []
    return charged - 1


def test_ctrl_c_at_any_call_never_leaves_records_read_or_an_artifact_without_a_charge(folder, monkeypatch):
    assert 0 < ctrl_c_at(12, folder, monkeypatch) <= 12


@pytest.mark.slow
def test_ctrl_c_at_200_calls(folder, monkeypatch):
    assert 0 < ctrl_c_at(200, folder, monkeypatch) <= 200


# ------------------------------------------------------------------------------------------ fail closed


class Watched:
    """An open table, which notes what is handed out of it after its first line."""

    def __init__(self, file, seen):
        self.file, self.seen = file, seen

    def __getattr__(self, name):
        return getattr(self.file, name)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.file.close()

    def readline(self, *size):
        if self.file.tell() != 0:
            self.seen.append("a later line")
        return self.file.readline(*size)

    def read(self, *size):
        self.seen.append("records")
        return self.file.read(*size)


@pytest.fixture
def read(monkeypatch, folder):
    """What the process reads of the table beyond its first line, the names of its columns."""
    seen = []
    honest = builtins.open

    def watched(path, *a, **k):
        file = honest(path, *a, **k)
        return Watched(file, seen) if str(path).endswith("t.csv") else file

    monkeypatch.setattr(builtins, "open", watched)
    return seen


def nothing_happened(folder, read):
    return not read and not list(folder.glob("run/*"))


def test_a_charge_in_order_reads_the_records(folder, read):
    assert run(TRAIN) == 0
    assert not nothing_happened(folder, read) and read


def spoil_missing(folder):
    (folder / "l.db").unlink()


def spoil_garbage(folder):
    (folder / "l.db").write_bytes(b"no ledger at all" * 500)


def spoil_byte(folder):
    path = folder / "l.db"
    content = bytearray(path.read_bytes())
    at = content.index(b"replace-one\x00") if b"replace-one\x00" in content else content.index(b"basic")
    content[at] ^= 1
    path.write_bytes(bytes(content))


def spoil_truncated(folder):
    path = folder / "l.db"
    path.write_bytes(path.read_bytes()[:5000])


def spoil_triggers(folder):
    db = sqlite3.connect(folder / "l.db")
    db.execute("DROP TRIGGER entries_no_delete")
    db.commit()
    db.close()


def spoil_format(folder):
    db = sqlite3.connect(folder / "l.db")
    db.execute("PRAGMA user_version = 99")
    db.close()


def spoil_cap(folder):
    (folder / "l.db").unlink()
    Ledger.create("l.db", "d", epsilon=0.5, delta=0.5)


def spoil_adjacency(folder):
    (folder / "l.db").unlink()
    Ledger.create("l.db", "d", epsilon=9, delta=0.5, adjacency="add-or-remove-one")


SPOILT = {
    spoil_missing: LedgerUnavailable.exit_code,
    spoil_garbage: LedgerCorrupt.exit_code,
    spoil_byte: LedgerCorrupt.exit_code,
    spoil_truncated: LedgerCorrupt.exit_code,
    spoil_triggers: LedgerCorrupt.exit_code,
    spoil_format: LedgerUnavailable.exit_code,
    spoil_cap: BudgetExceeded.exit_code,
    spoil_adjacency: 2,
}


@pytest.mark.parametrize("spoil", SPOILT, ids=lambda f: f.__name__)
def test_a_ledger_that_cannot_be_charged_leaves_every_record_unread(folder, read, capsys, spoil):
    spoil(folder)
    read.clear()
    assert run(TRAIN) == SPOILT[spoil]
    assert nothing_happened(folder, read)
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_a_locked_ledger_leaves_every_record_unread(folder, read, monkeypatch):
    monkeypatch.setattr(Ledger, "open", functools.partial(Ledger.open, timeout=0.05))
    holder = sqlite3.connect("l.db", isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    assert run(TRAIN) == LedgerUnavailable.exit_code
    holder.execute("ROLLBACK")
    assert nothing_happened(folder, read)
    assert run(TRAIN) == 0


def test_a_clock_set_back_leaves_every_record_unread(folder, read, monkeypatch):
    assert run([*TRAIN, "--out", "first"]) == 0
    read.clear()
    monkeypatch.setattr("prepriv.ledger.book.utc_date", lambda: "1999-01-01")
    assert run(TRAIN) == LedgerUnavailable.exit_code
    assert nothing_happened(folder, read)


def in_child(function):
    """Exit code of a forked process."""
    pid = os.fork()
    if pid == 0:
        code = 99
        try:
            code = function()
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def test_a_full_disk_leaves_every_record_unread(folder, read):
    def starved():
        sys.stdout = sys.stderr = io.StringIO()  # pytest's are files, too
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
        code = run(TRAIN)
        return code if nothing_happened(folder, read) else 98

    assert in_child(starved) == LedgerUnavailable.exit_code
    assert Ledger.open("l.db").verify() == []


@pytest.mark.skipif(os.getuid() != 0, reason="needs to become another user")
def test_a_read_only_ledger_leaves_every_record_unread(tmp_path_factory, folder, read):
    (folder / "l.db").chmod(0o444)
    (folder / "out").mkdir(mode=0o777)
    (folder / "out").chmod(0o777)
    for parent in (folder, *folder.parents):
        if parent.stat().st_uid == 0 and str(parent).startswith("/tmp/pytest"):
            parent.chmod(0o755)

    def as_nobody():
        os.setgid(65534)
        os.setuid(65534)
        code = run([*TRAIN, "--out", "out"])
        return code if nothing_happened(folder, read) and not os.listdir("out") else 98

    assert in_child(as_nobody) == LedgerUnavailable.exit_code


def test_a_disk_that_fills_up_after_the_charge_keeps_the_charge_and_leaves_no_artifact(
    folder, monkeypatch, capsys
):
    def full(*_args, **_kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    assert run(TRAIN) == 70
    assert [e.kind for e in Ledger.open("l.db").entries()] == ["charged"]
    assert not [p for p in (folder / "run").rglob("*") if p.is_file()]


def test_errors_before_a_record_is_read_cost_nothing_and_after_it_keep_the_charge(folder, monkeypatch):
    for arguments in (["--epsilon", "0"], ["--rows", "0"], ["--label", "a"], ["--public-test", "none.csv"]):
        assert run([*TRAIN, *arguments]) == 2
    assert Ledger.open("l.db").entries() == ()
    assert run([*TRAIN, "--rows", "1999"]) == 70  # seen only once the table is read: it stays charged
    assert [e.kind for e in Ledger.open("l.db").entries()] == ["charged"]


def test_a_plan_edited_after_the_charge_is_refused_before_a_record_is_read(folder, read, monkeypatch):
    honest = Ledger.charge
    monkeypatch.setattr(Ledger, "charge", lambda self, uid, digest, **k: honest(self, uid, "0" * 64, **k))
    assert run(TRAIN) == 6
    assert nothing_happened(folder, read)


def test_processes_that_run_at_once_meet_the_cap_exactly(folder):
    """Four real runs, room for two."""
    (folder / "l.db").unlink()
    Ledger.create("l.db", "d", epsilon=2.0, delta=2e-5)
    children = []
    for k in range(4):
        pid = os.fork()
        if pid == 0:
            code = 99
            try:
                code = run([*TRAIN, "--out", f"run{k}"])
            finally:
                os._exit(code)
        children.append(pid)
    codes = sorted(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children)
    assert codes == [0, 0, 3, 3]
    assert len(list(Path().glob("run*/model/model.json"))) == 2
    assert Ledger.open("l.db").remaining().epsilon < 1e-6


def test_a_model_that_was_charged_is_not_overwritten_and_nothing_is_charged_for_trying(folder, capsys):
    assert run(TRAIN) == 0
    kept, booked = Path("run/model/model.json").read_bytes(), len(Ledger.open("l.db").entries())
    assert run(TRAIN) == 2
    assert "choose another --out" in capsys.readouterr().err
    assert Path("run/model/model.json").read_bytes() == kept and len(Ledger.open("l.db").entries()) == booked


def test_a_run_that_is_refused_leaves_no_folder(folder):
    assert run([*TRAIN, "--adjacency", "add-or-remove-one", "--out", "a/b"]) == 2
    assert not Path("a").exists()


def test_a_conditional_claim_is_booked_with_its_conditions(folder, capsys):
    steps = "steps:\n  - {step: Deduplicate, eta: 0.01, pay: sensitivity, max_neighbors: 5%s}\n"
    for test in ("", ", test: 0.2"):
        (folder / "s.yaml").write_text(SCHEMA.split("steps:")[0] + steps % test)
        out = f"run-{len(test)}"
        assert run([*TRAIN, "--out", out]) in (0, 7)  # 7: the test refused, charged like any other outcome
    charged = [e for e in Ledger.open("l.db").entries() if e.kind == "charged"]
    assert [e.conditional for e in charged] == [True, False]
    assert (
        charged[0].note.startswith("train: ") and " | holds if " in charged[0].note and charged[0].conditional
    )
    assert len(charged[0].note) <= 200
    capsys.readouterr()
    assert run(["ledger", "show", "l.db"]) == 0
    assert f"conditions noted in rows {charged[0].sequence}\n" in capsys.readouterr().out
    assert run(["ledger", "show", "l.db", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"][0]["conditional"] is True
