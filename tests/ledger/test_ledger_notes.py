"""What was charged, in a word of the user's, its steps and the hash of what came of it: `ledger show`."""

from __future__ import annotations

import hashlib
import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import prepriv
from prepriv.cli import run
from prepriv.ledger import Ledger, LedgerError, LedgerUnavailable, Noted, NotNoted
from prepriv.release.model import Model

X = np.random.default_rng(0).random((400, 2))
Y = (X[:, 0] > 0.5).astype(int)
DOMAIN = prepriv.Domain.box(0, 1, 2, [0, 1])


@pytest.fixture
def at(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Ledger.create("L.db", "people", epsilon=100, delta=1e-3)
    return lambda note: Noted("L.db", note)


def notes():
    return [entry.note for entry in Ledger.open("L.db").entries() if entry.kind == "charged"]


def test_every_release_in_python_takes_a_note(at, capsys):
    clf = prepriv.PrivateClassifier(DOMAIN, steps="linear", ledger=at("the fit"))
    clf = clone(pickle.loads(pickle.dumps(clf))).fit(X, Y)
    made = clf.evaluate(X, Y, epsilon=1.0, ledger=at("how good"))
    assert made.receipt is not None
    prepriv.choose(
        {"steps": "linear", "threshold": [0.4, 0.6]}, X, Y, DOMAIN, epsilon=1.0, ledger=at("which")
    )
    prepriv.mean(X[:, 0], 0, 1, epsilon=0.1, ledger=at("a mean"))
    table = pd.DataFrame({"a": X[:, 0], "y": Y})
    prepriv.Domain.draft(table, epsilon=5.0, ledger=at("unknown"))
    domain = prepriv.Domain({"a": prepriv.Numeric(0, 1)}, [0, 1], label="y")
    prepriv.describe(table, domain, epsilon=1.0, ledger=at("a look"))
    assert [n.split(",")[0] for n in notes()] == [
        "the fit",
        "how good",
        "which",
        "a mean",
        "unknown",
        "a look",
    ]
    assert notes()[0].startswith("the fit, train: ")

    path = clf.model_.save("run", ledger="L.db")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    page = made.save("e.html", ledger="L.db")
    assert run(["ledger", "show", "L.db"]) == 0
    first, second = (
        line for line in capsys.readouterr().out.splitlines() if "the fit" in line or "how good" in line
    )
    assert f"artifact {digest[:12]}  the fit, train: " in first
    assert (
        f"artifact {hashlib.sha256(page.read_bytes()).hexdigest()[:12]}  how good, evaluate model " in second
    )


def test_the_command_line_takes_one(at, capsys):
    pd.DataFrame({"a": X[:, 0], "y": np.where(Y, "yes", "no")}).to_csv("t.csv", index=False)
    by = ["--rows", "400", "--ledger", "L.db", "--note"]
    lines = [
        ["schema", "init", "t.csv", "--epsilon", "5", "--out", "S.yaml", *by, "one"],
        ["describe", "t.csv", "--schema", "S.yaml", *by, "two"],
        ["train", "t.csv", "--schema", "S.yaml", *by, "three"],
        ["evaluate", "run/model", "t.csv", *by, "four"],
    ]
    for line in lines:
        assert run(line) == 0, capsys.readouterr().err
    assert [n.split(",")[0] for n in notes()] == ["one", "two", "three", "four"]
    assert run(["evaluate", "run/model", "t.csv", "--rows", "400", "--note", "no ledger"]) == 2
    assert run([*lines[3][:-1], "a, b"]) == 2 and len(notes()) == 4


@pytest.mark.parametrize("before", ["", "pilot | March, ", "one `id`: a | b | c, "])
def test_a_charge_on_conditions_is_shown_as_one_whatever_stands_before_them(tmp_path, before):
    """A note with " | " was taken for what the charge rests on, and the cap shown as one without conditions."""
    ledger = Ledger.create(tmp_path / "L.db", "people", epsilon=1, delta=0)
    note = f"{before}train: MeanImputer | holds if at most 2 % are missing"
    ledger.charge("a", "5e" * 32, adjacency="replace-one", epsilon=0.1, delta=0, note=note)
    (entry,) = ledger.entries()
    assert entry.conditional and replace(entry, note=note.partition(" | holds")[0]).conditional is False


def test_a_hash_that_cannot_be_noted_is_no_refused_charge(at, monkeypatch, capsys):
    """The model is paid for and written: "nothing was granted" with exit code 4 was said of it."""
    pd.DataFrame({"a": X[:, 0], "y": np.where(Y, "yes", "no")}).to_csv("t.csv", index=False)
    schema = "label: {name: y, classes: ['no', 'yes']}\nrows: 400\ncolumns: {a: {type: numeric, low: 0, high: 1}}\n"
    Path("S.yaml").write_text(schema)

    def locked(*_, **__):
        raise LedgerUnavailable("L.db: database is locked; nothing was granted")

    with monkeypatch.context() as patched:
        patched.setattr(Ledger, "released", locked)
        assert run(["train", "t.csv", "--schema", "S.yaml", "--ledger", "L.db"]) == 70
        said = capsys.readouterr().err
        assert "is written, and its charge stays" in said and "database is locked. Once" in said
        assert "nothing was granted" not in said and "Traceback" not in said
        model = Model.load("run/model")
        with pytest.raises(NotNoted, match="is written") as told:
            model.save("again", ledger="L.db")
        assert not isinstance(told.value, LedgerError)
    exec(str(told.value).partition("Once the ledger can be written: ")[2].replace("(...)", "('L.db')"))
    assert Ledger.open("L.db").entries()[-1].kind == "released"


@pytest.mark.parametrize(
    "note", ["", " ", "a, b", "pilot | March", "a|b", "one `id`: a", "x" * 61, "line\nline", None, 3]
)
def test_other_notes_are_refused(note):
    with pytest.raises(ValueError, match="note must"):
        Noted("L.db", note)


@pytest.mark.parametrize("path", ["", None, 3])
def test_so_is_what_is_no_path(path):
    with pytest.raises(ValueError, match="path must"):
        Noted(path, "note")
