"""Killed or interrupted at any instant: every acknowledged charge is in the file, which stays sound."""

import inspect
import os
import random
import signal
import sys
import time

import pytest

from prepriv.ledger import Ledger, book, hash_chain, store

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


def _charge_until_killed(path, name, pay, pipe):
    ledger = Ledger.open(path)
    for turn in range(10**6):
        charge = pay(ledger, f"{name}-{turn}", 1e-6)
        os.write(
            pipe, f"{charge.sequence}:{charge.head}\n".encode()
        )  # the acknowledgement: data may be opened


def _kill_a_charging_process(path, name, pay, after, delay):
    """The acknowledgements of a process killed `delay` seconds after the `after`-th of them."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            _charge_until_killed(path, name, pay, write)
        finally:
            os._exit(1)
    os.close(write)
    with os.fdopen(read) as pipe:
        lines = [pipe.readline() for _ in range(after)]
        time.sleep(delay)
        os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
        lines += pipe.readlines()
    assert os.WIFSIGNALED(status), "the child ended by itself"
    return [line.strip().split(":") for line in lines]


def check_kills(tmp_path, pay, kills):
    path = tmp_path / "l.db"
    Ledger.create(path, "census", epsilon=1000.0, delta=0)
    draw, acknowledged = random.Random(kills), {}
    for kill in range(kills):
        fresh = _kill_a_charging_process(path, kill, pay, draw.randrange(4), draw.uniform(0.0, 0.01))
        acknowledged |= {int(sequence): head for sequence, head in fresh}
        ledger = Ledger.open(path)
        assert ledger.verify([book.Charge(*receipt) for receipt in acknowledged.items()]) == []
        assert [file.name for file in tmp_path.iterdir()] == ["l.db"], "one file at rest again"
    entries = Ledger.open(path).entries()
    booked = {entry.sequence: entry.head for entry in entries}
    assert acknowledged.items() <= booked.items()
    assert len(booked) - len(acknowledged) <= kills, "at most the charge in progress is unacknowledged"
    assert entries[-1].spent.main == sum(entry.cost.main for entry in entries)
    assert len(acknowledged) >= kills
    return len(acknowledged), len(booked)


def test_kill_9_loses_no_acknowledged_charge(tmp_path, pay):
    check_kills(tmp_path, pay, 15)


@pytest.mark.slow
def test_200_kills_lose_no_acknowledged_charge(tmp_path, pay):
    acknowledged, booked = check_kills(tmp_path, pay, 200)
    print(f"200 kills: {acknowledged} acknowledged, {booked} booked")


def _interrupted_at(line: int, action) -> bool:
    """Run `action` with Ctrl-C at the `line`-th line executed in the ledger; whether it came to that."""
    files = {inspect.getfile(module) for module in (book, hash_chain, store)}
    count = 0

    def trace(frame, event, arg):
        nonlocal count
        if frame.f_code.co_filename not in files:
            return None
        if event == "line":
            count += 1
            if count == line:
                raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        action()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
    return False


def test_ctrl_c_at_any_line_leaves_a_sound_ledger_and_never_an_unbooked_grant(tmp_path, pay):
    ledger = Ledger.create(tmp_path / "l.db", "census", epsilon=1000.0, delta=0)
    pay(ledger, "first")
    granted, line, booked_without_grant = [], 0, 0
    while True:
        line += 1
        uid = f"run-{line}"
        if not _interrupted_at(line, lambda uid=uid: granted.append(pay(ledger, uid).sequence)):
            break
        entries = Ledger.open(ledger.path).entries()
        booked_without_grant += entries[-1].plan_uid == uid
        assert not granted
    assert line > 100, "the trace saw too little of the code"
    assert 0 < booked_without_grant < line / 3, "Ctrl-C after the commit leaves the charge, before it none"
    assert granted == [2 + booked_without_grant] and ledger.verify() == []


def test_ctrl_c_while_creating_leaves_nothing_or_a_whole_ledger(tmp_path, pay):
    for line in range(1, 10_000):
        path = tmp_path / f"{line}.db"
        if not _interrupted_at(line, lambda path=path: Ledger.create(path, "census", epsilon=1.0, delta=0)):
            break
        if path.exists():
            assert pay(Ledger.open(path), "run").sequence == 1
        assert not list(tmp_path.glob("*.db-*"))
    assert line > 40
