"""What was paid for is never lost: not to a full disk, a second run, or a reader who closes the pipe."""

from __future__ import annotations

import contextlib
import errno
import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import yaml

from prepriv.cli import run
from prepriv.commands import outputs
from prepriv.ledger import Ledger
from prepriv.release import writing

N = 400


@pytest.fixture
def place(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    age = rng.uniform(0, 100, N)
    lines = [f"{a:.1f},{'b' if a > 50 else 'a'}" for a in age]
    (tmp_path / "p.csv").write_text("age,y\n" + "\n".join(lines) + "\n")
    (tmp_path / "S.yaml").write_text(
        "label: {name: y, classes: [a, b]}\ncolumns: {age: {type: numeric, low: 0, high: 100}}\n"
    )
    Ledger.create(tmp_path / "L.db", "people", epsilon=9, delta=1e-3)
    monkeypatch.chdir(tmp_path)
    assert run(["train", "p.csv", "--schema", "S.yaml", "--epsilon", "1", "--out", "run"]) == 0
    return tmp_path


LEDGER = ["--ledger", "L.db"]
COMMANDS = {
    "draft": ["schema", "init", "p.csv", "--epsilon", "2", "--rows", str(N), *LEDGER, "--out", "D.yaml"],
    "describe": ["describe", "p.csv", "--schema", "S.yaml", "--rows", str(N), *LEDGER, "--out", "page.html"],
    "evaluate": ["evaluate", "run/model", "p.csv", "--rows", str(N), *LEDGER, "--out", "e.json"],
    "sketch": ["sketch", "p.csv", "--schema", "S.yaml", "--rows", str(N), *LEDGER, "--out", "sketch"],
}


def charges():
    return sum(entry.kind == "charged" for entry in Ledger.open("L.db").entries())


@pytest.mark.parametrize("name", COMMANDS)
def test_what_cannot_be_written_stands_on_standard_output(place, monkeypatch, capsys, name):
    """Before: exit code 2, "nothing charged", after the charge, and the draft was nowhere."""

    def full(*_):
        raise OSError(errno.ENOSPC, "SECRET")

    monkeypatch.setattr(writing, "_write_atomically", full)
    capsys.readouterr()
    assert run(COMMANDS[name]) == 70
    told = capsys.readouterr()
    assert (
        "no space left on device" in told.err and "standard output" in told.err and "SECRET" not in told.err
    )
    assert charges() == 1
    if name == "draft":
        assert "age" in told.out and yaml.safe_load(told.out[told.out.index("drafted:") :] or "x")
    else:
        assert json.loads(told.out[told.out.index("{\n") :])


TRAIN = [
    "train",
    "p.csv",
    "--schema",
    "S.yaml",
    "--rows",
    str(N),
    *LEDGER,
    "--out",
    "run2",
    "--holdout",
    "0.2",
]


@pytest.mark.parametrize("kept", ["nothing", "the model"])
def test_a_model_that_cannot_be_written_stands_on_standard_output(place, monkeypatch, capsys, kept):
    """Before: nothing was printed, so a model and a measurement that were paid for were lost."""
    written = writing._write_atomically

    def full(path, *more):
        if kept == "nothing" or path.suffix != ".json" or path.parent.name != "model":
            raise OSError(errno.ENOSPC, "SECRET")
        return written(path, *more)

    monkeypatch.setattr(writing, "_write_atomically", full)
    capsys.readouterr()
    assert run(TRAIN) == 70
    told = capsys.readouterr()
    assert "no space left on device" in told.err and "standard output" in told.err
    found, at = [], told.out.index("{\n")
    while at >= 0:
        data, length = json.JSONDecoder().raw_decode(told.out[at:])
        found.append(data)
        at = told.out.find("{\n", at + length)
    assert [("weights" in data, "measured_in_private" in data) for data in found] == (
        [(True, False), (False, True)] if kept == "nothing" else [(False, True)]
    )
    entries = Ledger.open("L.db").entries()
    assert [e.kind for e in entries] == (["charged"] if kept == "nothing" else ["charged", "released"])


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "sketch"])  # which needs --out
def test_without_an_output_nothing_is_charged(place, name):
    """Before: standard output was closed, the answer was nowhere, the charge stood and the exit code was 0."""
    command = COMMANDS[name][: COMMANDS[name].index("--out")]
    code = f"import os; os.close(1); import sys; sys.stdout = None; from prepriv.cli import run; sys.exit(run({command!r}))"
    done = subprocess.run([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2 and "standard output is not available: choose --out" in done.stderr
    assert charges() == 0


@pytest.mark.parametrize("name", [*COMMANDS, "train"])
def test_a_link_that_leads_nowhere_is_seen_before_the_charge(place, capsys, name):
    """Before: charged, and the release was lost."""
    command = TRAIN if name == "train" else COMMANDS[name]
    out = place / ("run2/report.html" if name == "train" else command[-1])
    out.parent.mkdir(exist_ok=True)
    out.symlink_to(out)
    assert run(command) == 2 and charges() == 0


def test_two_outputs_that_are_one_file_are_reserved_as_one(place, monkeypatch, capsys):
    """Before: both were charged and one release was lost: a link and its target, a page and a table beside one another."""
    reserved, codes = outputs._reserved, []
    (place / "page.html").touch()
    (place / "link.html").symlink_to("page.html")
    described = COMMANDS["describe"][:-1]
    others = [
        [*described, "link.html"],
        [*COMMANDS["evaluate"][:-1], "page.json"],
    ]

    def while_held(locks, at):
        held = reserved(locks, at)
        monkeypatch.setattr(outputs, "_reserved", reserved)
        held.__enter__()
        codes.extend(run(other) for other in others)
        held.__exit__(None, None, None)
        return reserved(locks, at)

    monkeypatch.setattr(outputs, "_reserved", while_held)
    assert run([*described, "page.html"]) == 0 and codes == [2, 2] and charges() == 1
    assert not list(place.glob(".*prepriv-run*"))


@pytest.mark.parametrize("name", COMMANDS)
def test_a_file_that_a_killed_run_left_beside_it_is_in_nobodys_way(place, name):
    """A container is always process 1: its temporary file was the next one's, too."""
    (place / ".tmp-1").write_text("left over")
    assert run(COMMANDS[name]) == 0 and charges() == 1


@pytest.mark.parametrize("name", COMMANDS)
def test_two_runs_never_pay_for_one_file(place, monkeypatch, capsys, name):
    """Before: both were charged, and one release was lost."""
    first = COMMANDS[name]
    reserved, second = outputs._reserved, []

    def while_held(lock, at):
        if second:
            return reserved(lock, at)
        second.append(lock)

        class Held:
            inner = reserved(lock, at)

            def __enter__(self):
                self.inner.__enter__()
                second.append(run(first))

            def __exit__(self, *error):
                return self.inner.__exit__(*error)

        return Held()

    monkeypatch.setattr(outputs, "_reserved", while_held)
    assert run(first) == 0
    assert second[1] == 2 and "another run is writing" in capsys.readouterr().err
    assert charges() == 1 and not list(place.glob(".*prepriv-run*"))


@pytest.mark.parametrize("name", ["describe", "evaluate"])
def test_a_reader_who_closes_the_pipe_loses_nothing(place, name):
    """Before: printed first, so that `| head` lost the page; and the exit code was that of a broken audit."""
    code = f"import sys; from prepriv.cli import run; sys.exit(run({COMMANDS[name]!r}))"
    with open("/dev/full", "w") as sink:
        done = subprocess.run(
            [sys.executable, "-c", code], stdout=sink, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode not in (0, 1, 2), done.stderr
    assert (place / COMMANDS[name][-1]).is_file() or charges() == 0


def test_equal_quantiles_are_asked_for_once():
    """Before: charged, then an error, and nothing released."""
    import prepriv

    domain = prepriv.Domain.box(0, 1, features=1, classes=[0, 1])
    found = prepriv.describe(
        pd.DataFrame({"x0": np.random.default_rng(0).random(N)}), domain, epsilon=1.0, quantiles=(0.5, 0.5)
    )
    assert list(found.columns["x0"].quantiles) == [0.5]


def test_a_wait_is_shown_by_a_word_that_no_record_decides(place, monkeypatch):
    """Every command that reads private rows says so, with no number: neither of rows, nor of what was found there."""
    said = []

    @contextlib.contextmanager
    def bar():
        yield lambda *word: said.append(word)

    monkeypatch.setattr("prepriv._progress.progress_bar", bar)
    for command in (
        *COMMANDS.values(),
        ["ask", "p.csv", "mean(age)", "--schema", "S.yaml", "--rows", str(N)],
    ):
        assert run(command) == 0
        assert said[-1] == ("reading", 0, 0), command
        assert said[:-1] in ([], [("pricing", 0, 0)]), command  # a plan is priced before a record is read
        said.clear()
    assert run(["schema", "init", "p.csv"]) == 0 and said == [("reading", 0, 0)]
    assert run(["evaluate", "run/model", "p.csv"]) == 0 and said[1:] == [
        ("counting", 0, 0),
        ("reading", 0, 0),
    ]
