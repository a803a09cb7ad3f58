"""`prepriv report --ledger`: a ledger paid for this very model, or one line says why not."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import prepriv
from prepriv.cli import run
from prepriv.commands.charged import charge_problems
from prepriv.learners import GradientDescent, Logistic
from prepriv.ledger import Ledger
from prepriv.periods import Periods

LEARNER = GradientDescent(Logistic(), steps=2)
ROWS = pd.DataFrame({"dose": np.linspace(0, 1, 50), "seen": ["2026-10-01", "2026-11-01"] * 25})
LABELS = ["no", "yes"] * 25


def made(folder, name, ledger, epsilon=1.0, **declared):
    """A model in FOLDER/NAME that was charged to a ledger."""
    domain = prepriv.Domain({"dose": prepriv.Numeric(0, 1)}, classes=["no", "yes"], **{"n": 50} | declared)
    clf = prepriv.PrivateClassifier(
        domain, epsilon=epsilon, steps=[], learner=LEARNER, ledger=ledger, threads=1
    )
    clf.fit(ROWS, LABELS).model_.save(folder / name, ledger=ledger)
    return prepriv.Model.load(folder / name)


@pytest.fixture(scope="module")
def paid(tmp_path_factory):
    """A ledger that paid for "a" and for the cheaper "b"."""
    folder = tmp_path_factory.mktemp("paid")
    Ledger.create(folder / "L.db", "people", epsilon=9, delta=1e-3)
    return folder, made(folder, "a", folder / "L.db"), made(folder, "b", folder / "L.db", 0.25)


def test_a_model_that_was_paid_for(paid, capsys):
    folder, _, _ = paid
    for name in "ab":
        assert run(["report", str(folder / name), "--ledger", str(folder / "L.db")]) == 0
        out = capsys.readouterr().out
        assert "charged: the ledger is sound" in out and "not to be checked" not in out


def forged(folder, name, receipt):
    """The same file with the receipt of another."""
    data = json.loads((folder / name / "model.json").read_text())
    data["ledger"] = receipt
    path = folder / f"forged-{name}.json"
    path.write_text(json.dumps(data))
    return path


@pytest.mark.parametrize("name, other", ["ab", "ba"])
def test_the_receipt_of_another_model_is_found_out(paid, capsys, name, other):
    """`ledger verify --receipt` finds it in the chain: it says of no model that it is its own."""
    folder, a, b = paid
    theirs = {"a": a, "b": b}[other].receipt
    path = forged(folder, name, dict(theirs))
    assert (
        run(["ledger", "verify", str(folder / "L.db"), "--receipt", f"{theirs['sequence']}:{theirs['head']}"])
        == 0
    )
    capsys.readouterr()
    assert run(["report", str(path), "--ledger", str(folder / "L.db")]) == 1
    out = capsys.readouterr().out
    assert "paid for another file" in out and ("booked less" in out) == (name == "a")


def test_an_edit_of_what_the_receipt_tells_is_another_file(paid, capsys):
    folder, a, _ = paid
    path = forged(folder, "a", dict(a.receipt) | {"dataset": "other people"})
    assert run(["report", str(path), "--ledger", str(folder / "L.db")]) == 1
    assert "paid for another file" in capsys.readouterr().out


@pytest.mark.parametrize(
    "change, said",
    [
        ({"head": "0" * 64}, "not in this ledger"),
        ({"sequence": 99}, "not in this ledger"),
        ({"plan_uid": "0" * 32}, "not the charge of this run"),
        (None, "holds no receipt"),
    ],
)
def test_a_receipt_that_is_made_up(paid, change, said):
    folder, a, _ = paid
    model = replace(a, receipt=None if change is None else dict(a.receipt) | change)
    wrong, _ = charge_problems(str(folder / "L.db"), model, b"")
    assert len(wrong) == 1 and said in wrong[0]


def test_another_plan_that_was_charged_and_never_noted_pays_for_nothing(tmp_path):
    """A stranger to the run holds the receipt of one that died."""
    place = tmp_path / "L.db"
    book = Ledger.create(place, "people", epsilon=9, delta=1e-3)
    model = made(tmp_path, "a", place)
    died = book.charge("died", "0" * 64, adjacency="replace-one", epsilon=2.0, delta=1e-4)
    stolen = {"plan_uid": "died", "sequence": died.sequence, "head": died.head}
    wrong, unchecked = charge_problems(str(place), replace(model, receipt=stolen), b"")
    assert "charge of another plan" in wrong[0] and "names no artifact" in unchecked[0]


def test_a_holdout_is_charged_as_a_whole_which_is_said(tmp_path):
    place = tmp_path / "L.db"
    Ledger.create(place, "people", epsilon=9, delta=1e-3)
    domain = prepriv.Domain({"dose": prepriv.Numeric(0, 1)}, classes=["no", "yes"], n=50)
    clf = prepriv.PrivateClassifier(domain, steps=[], learner=LEARNER, ledger=place, holdout=0.5, threads=1)
    path = Path(clf.fit(ROWS, LABELS).model_.save(tmp_path / "m", ledger=place))
    wrong, unchecked = charge_problems(
        str(place), prepriv.Model.load(path), (tmp_path / "m" / "model.json").read_bytes()
    )
    assert wrong == [] and len(unchecked) == 1 and "as its part (hold out 0.5" in unchecked[0]


def test_a_month_is_charged_as_that_month_and_unit(tmp_path):
    place = tmp_path / "L.db"
    common = {"adjacency": "add-or-remove-one"}
    book = Ledger.create(place, "people", epsilon=9, delta=1e-3, periods="month of `seen`", **common)
    model = made(tmp_path, "m", place, periods=Periods("seen", "month", ["2026-11"]), **common)
    file = (tmp_path / "m" / "model.json").read_bytes()
    assert charge_problems(str(place), model, file) == ([], [])
    amounts = {"epsilon": 2.0, "delta": 1e-4, "adjacency": "add-or-remove-one", "scheme": "month of `seen`"}
    other = book.charge("x", model.declared.hash, periods=["2026-10"], **amounts)
    receipt = {"plan_uid": "x", "sequence": other.sequence, "head": other.head}
    wrong, _ = charge_problems(str(place), replace(model, receipt=receipt), file)
    assert wrong == ["it was charged on other periods than those whose rows the model was trained on"]


def test_a_ledger_of_persons_does_not_pay_for_records_nor_another_adjacency(paid, tmp_path):
    _, a, _ = paid
    hash_of, amounts = a.declared.hash, {"epsilon": 2.0, "delta": 1e-4}
    for adjacency, note, said in (
        ("replace-one", "one `who`: train", "its charge is of one `who`"),
        ("add-or-remove-one", "train", "its neighbours are add-or-remove-one"),
    ):
        book = Ledger.create(
            tmp_path / f"{adjacency}.db", "people", epsilon=9, delta=1e-3, adjacency=adjacency
        )
        row = book.charge("x", hash_of, adjacency=adjacency, note=note, **amounts)
        receipt = {"plan_uid": "x", "sequence": row.sequence, "head": row.head}
        wrong, _ = charge_problems(str(book.path), replace(a, receipt=receipt), b"")
        assert len(wrong) == 1 and said in wrong[0]


def test_a_damaged_ledger_decides_nothing(paid, tmp_path, capsys):
    folder, _, _ = paid
    (tmp_path / "L.db").write_bytes((folder / "L.db").read_bytes()[:5000])
    assert run(["report", str(folder / "a"), "--ledger", str(tmp_path / "L.db")]) == 5
    assert run(["report", str(folder / "a"), "--ledger", str(tmp_path / "none.db")]) == 4
