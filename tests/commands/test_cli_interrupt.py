"""Ctrl-C: one line and exit code 130 at any moment, which says what is left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import prepriv
from prepriv.cli import run
from prepriv.commands import plan, train, validate
from prepriv.ledger import Ledger
from prepriv.release.model import Model
from prepriv.release.report import Report

SCHEMA = "label: {name: y, classes: [0, 1]}\nrows: 40\ncolumns:\n  a: {type: numeric, low: 0, high: 40}\n"
TRAIN = ["train", "t.csv", "--schema", "s.yaml", "--out", "run"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Report, "to_html", lambda self: "")
    Path("t.csv").write_text("a,y\n" + "".join(f"{i},{i % 2}\n" for i in range(40)))
    Path("s.yaml").write_text(SCHEMA)
    Ledger.create("l.db", "d", epsilon=9, delta=1e-3)
    return tmp_path


def interrupt(*_args, **_kwargs):
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("at", "says", "without_ledger"),
    [
        ("prepriv.commands.train.plan_for", "before anything was charged; nothing was written", None),
        (
            "prepriv.runs.admit.charge",
            "while the ledger was charged; a charge that `prepriv ledger show` lists stays; nothing",
            "",
        ),
        ("prepriv.runs.train.execute", "after the charge, which stays; nothing was written", None),
        (
            "Model.save",
            "after the charge, which stays, while run was written",
            "charged, while run was written",
        ),
    ],
)
def test_an_interrupted_run_says_what_stays(folder, monkeypatch, capsys, at, says, without_ledger):
    if at == "Model.save":
        monkeypatch.setattr(Model, "save", interrupt)
    else:
        monkeypatch.setattr(at, interrupt)
    assert run([*TRAIN, "--ledger", "l.db"]) == 130
    err = capsys.readouterr().err
    assert err.startswith(f"prepriv: interrupted {says}") and len(err.splitlines()) == 1
    assert len(Ledger.open("l.db").entries()) == (at in ("prepriv.runs.train.execute", "Model.save"))
    if without_ledger != "":
        assert run(TRAIN) == 130
        err = capsys.readouterr().err
        assert "before anything was charged" in err and (without_ledger or "nothing was written") in err
    assert not list(Path("run").rglob("*.json"))


@pytest.mark.parametrize("command", ["plan", "predict", "validate"])
def test_other_commands_say_that_they_were_interrupted(folder, monkeypatch, capsys, command):
    for module in (plan, validate):
        monkeypatch.setattr(module, "load", interrupt)
    monkeypatch.setattr(train.Model, "load", interrupt)
    arguments = {"plan": ["s.yaml"], "predict": ["run", "t.csv"], "validate": ["t.csv", "--schema", "s.yaml"]}
    assert run([command, *arguments[command]]) == 130
    assert capsys.readouterr().err == "prepriv: interrupted\n"


def test_nothing_heavy_is_imported_before_the_entry_point_sees_to_an_interrupt():
    code = (
        "import sys, prepriv.cli; print([m for m in ('numpy', 'scipy', 'typer', 'rich') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize("module", ["numpy", "typer", "yaml", "prepriv.release.report"])
def test_an_interrupt_while_libraries_are_imported(tmp_path, module):
    """The signal comes while `module` is looked for, where whoever imports it catches everything."""
    code = f"""
import builtins, os, signal, sys
import prepriv.cli
class Finder:
    def find_spec(self, name, *_):
        if name == {module!r}:
            try:
                os.kill(os.getpid(), signal.SIGINT)
                for _ in range(1000): pass
            except BaseException:
                pass
sys.meta_path.insert(0, Finder())
sys.argv = ["prepriv", "plan", "none.yaml"]
prepriv.cli.main()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "prepriv: interrupted\n")


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_an_ignored_interrupt_stays_ignored(tmp_path):
    """As under nohup, or in the background of a script."""
    code = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_IGN)
import prepriv.cli
class Finder:
    def find_spec(self, name, *_):
        if name == "numpy":
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Finder())
sys.argv = ["prepriv", "plan", "none.yaml"]
try:
    prepriv.cli.main()
finally:
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, "prepriv: no such schema file: none.yaml\n")


def test_the_public_names_are_there_when_they_are_asked_for():
    for name in (*prepriv.__all__, "__version__", "tables"):
        assert getattr(prepriv, name) is not None
    assert prepriv.account is prepriv.accounts.account.account
    assert not hasattr(prepriv, "nothing_of_that_name") and not hasattr(prepriv, "_csvx")
    left_alone = (
        signal.default_int_handler,
        signal.SIG_IGN,
    )  # ignored where a shell runs the suite in the background
    assert signal.getsignal(signal.SIGINT) in left_alone
