"""`prepriv report --ledger`: a ledger paid for this very model, or one line says why not."""

import hashlib
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
        assert "charged: the ledger is sound" in out and "cannot be checked" not in out


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
    assert "paid for a file that is not this model" in out and ("booked less" in out) == (name == "a")


def test_an_edit_of_what_the_receipt_tells_is_another_file(paid, capsys):
    folder, a, _ = paid
    path = forged(folder, "a", dict(a.receipt) | {"dataset": "other people"})
    assert run(["report", str(path), "--ledger", str(folder / "L.db")]) == 1
    assert "paid for a file that is not this model" in capsys.readouterr().out


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


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """A ledger, and a model with a page whose score one charge paid for, too."""
    folder = tmp_path_factory.mktemp("measured")
    Ledger.create(folder / "L.db", "people", epsilon=9, delta=1e-3)
    domain = prepriv.Domain({"dose": prepriv.Numeric(0, 1)}, classes=["no", "yes"], n=50)
    clf = prepriv.PrivateClassifier(
        domain, steps=[], learner=LEARNER, ledger=folder / "L.db", holdout=0.5, threads=1
    )
    clf.fit(ROWS, LABELS).model_.save(folder / "m", ledger=folder / "L.db")
    clf.report_.save(folder / "page.html")
    return folder


def verified(folder, page, capsys):
    code = run(["report", str(folder / "m"), "--verify", str(page), "--ledger", str(folder / "L.db")])
    return code, capsys.readouterr().out


def test_a_page_with_its_score_shows_the_whole_plan_that_was_charged(measured, capsys):
    code, out = verified(measured, measured / "page.html", capsys)
    assert code == 0 and "as its part" not in out and "shows no score" not in out
    assert "(UTC)" in out and "left of its cap" in out


def test_a_score_left_out_of_a_page_is_named(measured, capsys):
    page = measured / "without.html"
    assert run(["report", str(measured / "m"), "--html", str(page)]) == 0
    capsys.readouterr()
    code, out = verified(measured, page, capsys)
    assert code == 0 and "shows no score: row 1 paid for one (evaluate: accuracy" in out
    assert run(["report", str(measured / "m"), "--verify", str(page)]) == 0
    assert "no score stands on this page" in capsys.readouterr().out


def test_a_measure_left_out_of_a_page_was_charged(measured):
    """The rest of the page is consistent by itself: only the charge shows it."""
    model = prepriv.Model.load(measured / "m")
    bytes_ = (measured / "m" / "model.json").read_bytes()
    plan = prepriv.evaluation.evaluation_plan.plan_evaluation(
        model.domain, n=25, epsilon=1.0, measures="accuracy"
    )
    counts = {"accuracy": np.array([20.0])}
    less = prepriv.evaluation.result.PrivateEvaluation(plan, counts, True, None, None)
    page = prepriv.Report.of(model.declared, private=True, model=model, measured=less)
    wrong, _ = charge_problems(str(measured / "L.db"), model, bytes_, page)
    assert len(wrong) == 1 and "evaluate: accuracy, confusion" in wrong[0]


@pytest.mark.parametrize("name", ["cap", "total", "dataset"])
def test_the_ledger_block_of_a_page_cannot_be_edited(measured, capsys, name):
    model = prepriv.Model.load(measured / "m")
    text = (measured / "page.html").read_text()
    page = measured / f"{name}.html"
    page.write_text(text.replace(str(model.receipt[name]), "something else"))
    code, out = verified(measured, page, capsys)
    assert code == 1 and "differs: data: ledger" in out


def test_the_page_shows_the_hash_of_the_file_and_the_receipt(measured):
    text, model = (measured / "page.html").read_text(), prepriv.Model.load(measured / "m")
    digest = hashlib.sha256((measured / "m" / "model.json").read_bytes()).hexdigest()
    assert digest in text and f"{model.receipt['sequence']}:{model.receipt['head']}" in text
    assert "epsilon 8" in text  # left of the cap
