"""`prepriv report --ledger`: a ledger paid for this very model, or one line says why not."""

import contextlib
import hashlib
import json
import pickle
import re
import shutil
import sqlite3
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import prepriv
from prepriv._version import own_version
from prepriv.cli import run
from prepriv.commands.charged import _not_shown, charge_problems, is_what_was_released, to_ask
from prepriv.commands.exits import Stop
from prepriv.evaluation.found_hashes import found_hashes, found_in, found_note
from prepriv.guarantees.in_words import guesses_in_words
from prepriv.guarantees.one_run import OneRun
from prepriv.learners import GradientDescent, Logistic
from prepriv.ledger import Ledger, Noted, condition_note
from prepriv.ledger.currency import Quanta, amount_in_words
from prepriv.ledger.noted import MOST_NOTE
from prepriv.periods import Periods
from prepriv.release.page import data_of
from prepriv.release.report import Evaluation, Report, as_text

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
    Ledger.create(folder / "L.db", "people", epsilon=4, delta=1e-3)
    return folder, made(folder, "a", folder / "L.db"), made(folder, "b", folder / "L.db", 0.25)


def test_a_model_that_was_paid_for(paid, capsys):
    folder, _, _ = paid
    for name, other in (("a", "row 3, a model (epsilon 0.25"), ("b", "row 1, a model (epsilon 1")):
        assert run(["report", str(folder / name), "--ledger", str(folder / "L.db")]) == 8
        out = capsys.readouterr().out
        assert "charged: the ledger is sound" in out and "not verified" not in out
        asked = f"ASK BEFORE YOU SIGN: what {folder / 'L.db'} paid for beside this model: {other}"
        assert asked in out and out.count("ASK BEFORE") == 1


def test_a_ledger_without_any_delta_left_says_that_no_score_fits(tmp_path, capsys):
    """The page recommends to measure a model, and the ledger refuses each measurement: "delta is used up"."""
    for delta in (1e-5, 2e-5):
        ledger = tmp_path / f"{delta}.db"
        Ledger.create(ledger, "people", epsilon=4, delta=delta)
        made(tmp_path, f"m{delta}", ledger)
        assert run(["report", str(tmp_path / f"m{delta}"), "--ledger", str(ledger)]) == 0
        said = (
            "so no run that has one fits any more, and no score can be charged here"
            in capsys.readouterr().out
        )
        assert said == (delta == 1e-5)


@pytest.mark.parametrize("ledger, code", [("L.db", 8), ("missing.db", 4)])
def test_a_program_gets_every_line_that_was_checked(paid, tmp_path, capsys, ledger, code):
    """--json held the page again, and not one word of what was verified or charged."""
    folder, a, _ = paid
    page = tmp_path / "a.html"
    prepriv.Report.of(a.declared, private=True, receipt=a.receipt, model=a).save(page)
    asked = ["report", str(folder / "a"), "--verify", str(page), "--ledger", str(folder / ledger)]
    assert run(asked) == code
    printed = capsys.readouterr().out
    assert run([*asked, "--json"]) == code
    told = json.loads(capsys.readouterr().out)
    assert told["checked"][0].startswith("verified: ")
    assert all(line in printed for line in told["checked"])
    assert any(line.startswith("charged: ") for line in told["checked"]) == (code == 8)
    assert ("wrong" in told) == (code == 4)


def test_a_page_of_another_model_is_called_that_and_compared_no_further(paid, tmp_path, capsys):
    """Its numbers of rows were added to those of this model, and a number was printed that stood nowhere."""
    _, a, b = paid
    path, other = a.save(tmp_path / "run" / "model"), b.save(tmp_path / "b")
    for name, model in (("report.html", b), ("report.json", a), ("x.json", b)):
        prepriv.Report.of(model.declared, private=True, receipt=model.receipt, model=model).save(
            tmp_path / "run" / name
        )
    line = ["report", str(tmp_path / "run" / "model")]
    wrong, right = (str(tmp_path / "run" / name) for name in ("report.html", "report.json"))
    assert run([*line, "--verify", wrong]) == 1
    said = capsys.readouterr()
    hashes = [hashlib.sha256(file.read_bytes()).hexdigest()[:12] for file in (other, path)]
    assert "the page of another model: it names" in said.err and "differs" not in said.out
    assert all(one in said.err for one in hashes) and f"--verify {right}` checks it" in said.out
    assert run(line) == 0
    out = capsys.readouterr().out
    assert f"{right} stands beside" in out and f"--verify {right}" in out
    assert f"{wrong} stands beside this model, and is not its page" in out and "x.json stands" in out
    assert run([*line, "--verify", right]) == 0
    text = Path(wrong).read_text(encoding="utf-8").replace(b.receipt["plan_uid"], a.receipt["plan_uid"])
    (tmp_path / "edited.html").write_text(text, encoding="utf-8")
    assert run([*line, "--verify", str(tmp_path / "edited.html")]) == 1
    assert "differs: data: artifact" in capsys.readouterr().out


def test_a_model_with_other_line_endings_and_a_charge_that_is_not_there_say_what_to_do(
    paid, tmp_path, capsys
):
    """A mail made CRLF of it, which was called damaged, and "not in this ledger" gave no next step."""
    folder, a, _ = paid
    file = a.save(tmp_path / "model")
    file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))
    assert run(["ledger", "verify", str(folder / "L.db"), str(file)]) == 5
    assert "with other line endings alone (CR or CRLF" in capsys.readouterr().out
    assert run(["report", str(file), "--ledger", str(folder / "L.db")]) == 2
    assert "has other line endings (CR or CRLF" in capsys.readouterr().err
    Ledger.create(tmp_path / "M.db", "people", epsilon=4, delta=1e-3)
    made(tmp_path, "c", tmp_path / "M.db")
    for name, said in (("a", "holds another charge in that row"), ("b", "ends at row 2, is older")):
        assert run(["ledger", "verify", str(tmp_path / "M.db"), str(folder / name)]) == 5
        out = capsys.readouterr().out
        assert said in out and "Ask for the current ledger" in out
        assert run(["report", str(folder / name), "--ledger", str(tmp_path / "M.db")]) == 1
        assert said in capsys.readouterr().out


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
        ({"head": "0" * 64, "plan_uid": "0" * 32}, "not in this ledger"),
        ({"head": "0" * 64}, "L.db was made again: a part of it is that of row 1 of "),
        ({"sequence": 99}, "the receipt of the model was edited: a part of it is that of row 1 of "),
        ({"plan_uid": "0" * 32}, "the receipt of the model was edited: a part of it is that of row 1 of "),
        (None, "holds no receipt"),
    ],
)
def test_a_receipt_that_is_made_up(paid, change, said):
    folder, a, _ = paid
    model = replace(a, receipt=None if change is None else dict(a.receipt) | change)
    wrong, _ = charge_problems(str(folder / "L.db"), model, b"")
    assert len(wrong) == 1 and said in wrong[0]


def with_receipt(file, **change):
    """Write a file again with a receipt of which a part is another one."""
    data = json.loads(file.read_text())
    told = dict(data["ledger"])
    text = file.read_text()
    for name, becomes in change.items():
        text = text.replace(json.dumps(told[name]), json.dumps(becomes(told[name])))
    assert text != file.read_text()
    file.write_text(text)


def other_digit(text):
    return ("1" if text[0] == "0" else "0") + text[1:]


@pytest.mark.parametrize("part, becomes", [("head", other_digit), ("plan_uid", other_digit)])
def test_an_edited_receipt_is_called_edited_in_every_kind_of_file(
    tmp_path, monkeypatch, capsys, part, becomes
):
    """One digit of a head was another one, and the ledger was said to be made again: its row had the run of the file."""
    monkeypatch.chdir(tmp_path)
    Ledger.create("L.db", "people", epsilon=20, delta=1e-3)
    made(Path(), "m", "L.db")
    table, y = "t.csv", ["no", "yes"] * 25
    ROWS[["dose"]].assign(y=y).to_csv(table, index=False)
    Path("S.yaml").write_text(
        "label: {name: y, classes: ['no', 'yes']}\ncolumns: {dose: {type: numeric, low: 0, high: 1}}\nrows: 50\n"
    )
    asked = ["--schema", "S.yaml", "--epsilon", "1.3", "--ledger", "L.db", "--out"]
    assert run(["ask", table, "mean(dose)", *asked, "answers.json"]) == 0
    assert run(["describe", table, *asked, "page.html"]) == 0
    asked[asked.index("1.3")] = "9"
    assert run(["sketch", table, *asked, "sketch"]) == 0
    files = ("m/model.json", "answers.json", "page.json", "sketch/sketch.json")
    for row, name in zip((1, 3, 5, 7), files):
        with_receipt(Path(name), **{part: becomes})
        capsys.readouterr()
        assert run(["ledger", "verify", "L.db", name]) == 5
        said = f"{name}: WRONG: its receipt was edited: a part of it is that of row {row} of L.db, and the rest is not"
        out = capsys.readouterr().out
        assert said in out and "made again" not in out and "is not in" not in out
    assert run(["report", "m", "--ledger", "L.db"]) == 1
    assert (
        "the receipt of the model was edited: a part of it is that of row 1 of L.db"
        in capsys.readouterr().out
    )


def test_an_edited_sequence_is_called_edited(paid, tmp_path, capsys):
    """Sequence 3 became 1: that row holds another charge, and the head of the file is in row 3."""
    folder, _, b = paid
    file = forged(folder, "b", dict(b.receipt) | {"sequence": 1})
    assert run(["ledger", "verify", str(folder / "L.db"), str(file)]) == 5
    out = capsys.readouterr().out
    assert "its receipt was edited: a part of it is that of row 3 of " in out and "made again" not in out


def test_an_edited_model_is_not_asked_for_a_score_that_nobody_paid_for(paid, tmp_path, capsys):
    """A column got another name, and the page with the score was asked for: the row paid for training alone."""
    folder, _, _ = paid
    file, ledger = tmp_path / "model.json", str(folder / "L.db")
    text = (folder / "a" / "model.json").read_text()
    file.write_text(text.replace('"dose"', '"dosis"'))
    assert run(["report", str(file), "--ledger", ledger]) == 1
    out = capsys.readouterr().out
    assert "not charged: row 1 paid for a file that is not this model" in out
    assert "the page with the score" not in out and "paid for more than this model" not in out
    schema = tmp_path / "S.yaml"
    schema.write_text(
        "label: {name: y, classes: ['no', 'yes']}\ncolumns: {dosis: {type: numeric, low: 0, high: 1}}\nrows: 60\n"
    )
    assert run(["ledger", "verify", ledger, str(file), str(schema)]) == 5
    out = capsys.readouterr().out
    assert "trained on 50, and its file is not the one that row 1 paid for" in out
    assert "paid for more than" not in out and "the page with the score" not in out


def test_only_a_charge_that_names_a_score_is_asked_for_one_where_the_file_was_edited(paid, tmp_path):
    """The plan of an edited file says nothing about its charge; a mail that changes line endings edits nothing."""
    folder, _, _ = paid
    file = tmp_path / "model.json"
    data = (folder / "a" / "model.json").read_bytes()
    file.write_bytes(data.replace(b'"dose"', b'"dosis"'))
    rows, model = Ledger.open(folder / "L.db").entries(), prepriv.Model.load(file)
    assert not is_what_was_released(rows, rows[0], file.read_bytes())
    assert is_what_was_released(rows, rows[0], data.replace(b"\n", b"\r\n"))
    assert is_what_was_released([rows[0]], rows[0], b"")  # no hash of what was released
    held = [replace(rows[0], note="hold out 0.25, evaluate: accuracy, train: x"), *rows[1:]]
    for entries, edited, asked in ((rows, True, 0), (held, True, 1), (rows, False, 1)):
        assert len(_not_shown(entries, entries[0], model, None, "", edited=edited)) == asked


@pytest.mark.parametrize(
    "name, said",
    [
        ("sketch/sketch.html", "is a sketch (`prepriv sketch`)"),
        ("sketch/sketch.json", "is a sketch (`prepriv sketch`)"),
        ("page.html", "is a description (`prepriv describe`)"),
        ("page.json", "is a description (`prepriv describe`)"),
        ("answers.json", "holds answers (`prepriv ask`)"),
        ("S.yaml", "is a schema"),
    ],
)
def test_what_is_named_as_a_page_and_is_another_file_is_called_by_its_kind(paid, others, capsys, name, said):
    """A sketch was called no report of this library, or a damaged one; its JSON one of another version."""
    assert run(["report", str(paid[0] / "a"), "--verify", str(others / name)]) == 2
    told = " ".join(capsys.readouterr().err.split())
    assert f"{said} and not a report: no model gives it. `prepriv ledger verify LEDGER " in told


@pytest.fixture(scope="module")
def others(tmp_path_factory):
    """Answers, a description, a sketch and a schema."""
    folder = tmp_path_factory.mktemp("others")
    ROWS[["dose"]].assign(y=LABELS).to_csv(folder / "t.csv", index=False)
    (folder / "S.yaml").write_text(
        "label: {name: y, classes: ['no', 'yes']}\ncolumns: {dose: {type: numeric, low: 0, high: 1}}\nrows: 50\n"
    )
    asked = ["--schema", str(folder / "S.yaml"), "--epsilon", "1.3", "--out"]
    assert run(["ask", str(folder / "t.csv"), "mean(dose)", *asked, str(folder / "answers.json")]) == 0
    assert run(["describe", str(folder / "t.csv"), *asked, str(folder / "page.html")]) == 0
    asked[asked.index("1.3")] = "9"
    assert run(["sketch", str(folder / "t.csv"), *asked, str(folder / "sketch")]) == 0
    return folder


def test_another_plan_that_was_charged_and_never_noted_pays_for_nothing(tmp_path):
    """A stranger to the run holds the receipt of one that died."""
    place = tmp_path / "L.db"
    book = Ledger.create(place, "people", epsilon=4, delta=1e-3)
    model = made(tmp_path, "a", place)
    died = book.charge("died", "0" * 64, adjacency="replace-one", epsilon=2.0, delta=1e-4)
    stolen = {"plan_uid": "died", "sequence": died.sequence, "head": died.head}
    wrong, unchecked = charge_problems(str(place), replace(model, receipt=stolen), b"")
    assert "charge of another plan" in wrong[0] and "names no artifact" in unchecked[0]


def test_a_holdout_is_charged_as_a_whole_which_is_said(tmp_path):
    place = tmp_path / "L.db"
    Ledger.create(place, "people", epsilon=4, delta=1e-3)
    domain = prepriv.Domain({"dose": prepriv.Numeric(0, 1)}, classes=["no", "yes"], n=50)
    clf = prepriv.PrivateClassifier(domain, steps=[], learner=LEARNER, ledger=place, holdout=0.5, threads=1)
    path = Path(clf.fit(ROWS, LABELS).model_.save(tmp_path / "m", ledger=place))
    wrong, unchecked = charge_problems(
        str(place), prepriv.Model.load(path), (tmp_path / "m" / "model.json").read_bytes()
    )
    assert (
        wrong == []
        and len(unchecked) == 1
        and "is a part of what row 1 paid for (hold out 0.5" in unchecked[0]
    )


def test_a_month_is_charged_as_that_month_and_unit(tmp_path):
    place = tmp_path / "L.db"
    common = {"adjacency": "add-or-remove-one"}
    book = Ledger.create(place, "people", epsilon=4, delta=1e-3, periods="month of `seen`", **common)
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
            tmp_path / f"{adjacency}.db", "people", epsilon=4, delta=1e-3, adjacency=adjacency
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
    Ledger.create(folder / "L.db", "people", epsilon=4, delta=1e-3)
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


def test_a_measurement_that_another_version_worded_is_not_called_forged(measured, tmp_path, capsys):
    """Where a note of the claim is worded otherwise since, the page was said to hold a measurement that its counts do not give."""
    text = (measured / "page.html").read_text()
    data = data_of(text)
    data["measured_in_private"]["guarantee"]["notes"] = ["worded otherwise"]
    for version, code, said in (
        ("0.2.9", 8, "it was not made by version"),
        (own_version(), 5, "the evaluation in the report is not what"),
    ):
        page = tmp_path / f"{version}.json"
        page.write_text(json.dumps(data | {"version": version}))
        assert verified(measured, page, capsys)[0] == 1
        assert run(["ledger", "verify", str(measured / "L.db"), str(page), str(measured / "m")]) == code
        assert said in capsys.readouterr().out


def test_a_page_with_its_score_shows_the_whole_plan_that_was_charged(measured, capsys):
    code, out = verified(measured, measured / "page.html", capsys)
    assert code == 0 and "is a part of what row" not in out and "shows no score" not in out
    assert "(UTC)" in out and "left of its cap" in out and "ASK BEFORE YOU SIGN" not in out


def test_a_verified_page_is_what_is_printed_and_given_as_json(tmp_path, monkeypatch, capsys):
    """The claim and the JSON were those of the model alone, without the score that stands on the page."""
    monkeypatch.chdir(tmp_path)
    ROWS.assign(y=LABELS).to_csv("t.csv", index=False)
    Path("S.yaml").write_text(
        "label: {name: y, classes: ['no', 'yes']}\ncolumns: {dose: {type: numeric, low: 0, high: 1}}\nrows: 50\n"
    )
    asked = ["--schema", "S.yaml", "--holdout", "0.5", "--evaluate-epsilon", "2", "--out", "run"]
    Ledger.create("L.db", "people", epsilon=4, delta=1e-3)
    assert run(["train", "t.csv", *asked, "--ledger", "L.db"]) == 0
    assert Ledger.open("L.db").entries()[1].note.startswith("score ")
    line = ["report", "run/model", "--verify", "run/report.html"]
    capsys.readouterr()
    assert run(line) == 0 and "\nε = 2 at δ" in capsys.readouterr().out
    assert run([*line, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told.pop("checked")[0] == "verified: run/report.html is exactly the report that this model gives"
    assert told == data_of(Path("run/report.html").read_text()) and "measured_in_private" in told


def test_a_score_left_out_of_a_page_is_named(measured, capsys):
    page = measured / "without.html"
    assert run(["report", str(measured / "m"), "--html", str(page)]) == 0
    capsys.readouterr()
    code, out = verified(measured, page, capsys)
    last = out.strip().split("\n")[-1]  # after all that is routine
    assert (
        code == 8
        and last.startswith("ASK BEFORE YOU SIGN")
        and "row 1 paid for one (evaluate: accuracy" in last
    )
    assert run(["report", str(measured / "m"), "--verify", str(page)]) == 0
    assert "no score stands on this page" in capsys.readouterr().out


def test_a_score_left_out_is_named_where_the_note_of_its_charge_was_cut(tmp_path, capsys):
    """A long `--note` leaves no place for the measures in it."""
    Ledger.create(tmp_path / "L.db", "people", epsilon=4, delta=1e-3)
    domain = prepriv.Domain({"dose": prepriv.Numeric(0, 1)}, classes=["no", "yes"], n=50)
    account = Noted(tmp_path / "L.db", note="n" * MOST_NOTE)
    clf = prepriv.PrivateClassifier(domain, steps=[], learner=LEARNER, ledger=account, holdout=0.5, threads=1)
    clf.fit(ROWS, LABELS).model_.save(tmp_path / "m", ledger=account)
    assert run(["report", str(tmp_path / "m"), "--html", str(tmp_path / "page.html")]) == 0
    code, out = verified(tmp_path, tmp_path / "page.html", capsys)
    assert code == 8 and "row 1 paid for" in out.strip().split("\n")[-1]
    assert Ledger.open(tmp_path / "L.db").entries()[0].note.count("train") == 0


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
    assert len(wrong) == 2 and "evaluate: accuracy, confusion" in wrong[0] and "whose hash" in wrong[1]


def test_the_kind_of_a_charge_stays_in_its_note_however_long_a_persons_is(tmp_path):
    """Behind a note of 60 characters and the mark of a unit "schema draft" was cut, and the draft was not asked for."""
    note = condition_note([], what="schema draft", unit="patient_id", note="n" * MOST_NOTE)
    assert note.endswith(", schema draft") and note.startswith("one `patient_id`: nnnn") and len(note) <= 90
    long = condition_note([], what="hold out 0.5, evaluate: accuracy, train: Center", note="n" * MOST_NOTE)
    assert "n, hold out 0.5" in long and len(long) <= 90
    scored = condition_note([], what=f"evaluate model {'0' * 12}: accuracy, confusion", note="n" * MOST_NOTE)
    assert scored.endswith(f", evaluate model {'0' * 12}: accuracy, ...") and len(scored) <= 90
    assert condition_note([], what="train: Center", note="pilot") == "pilot, train: Center"
    assert ", schema draft" in condition_note([], what="schema draft", unit="u" * 60, note="n" * MOST_NOTE)


def test_a_measure_left_out_is_asked_for_where_the_note_was_cut(tmp_path):
    Ledger.create(tmp_path / "L.db", "people", epsilon=4, delta=1e-3)
    domain = prepriv.Domain({"dose": prepriv.Numeric(0, 1)}, classes=["no", "yes"], n=50)
    account = Noted(tmp_path / "L.db", note="n" * MOST_NOTE)
    clf = prepriv.PrivateClassifier(domain, steps=[], learner=LEARNER, ledger=account, holdout=0.5, threads=1)
    clf.fit(ROWS, LABELS).model_.save(tmp_path / "m", ledger=account)
    model, ledger = prepriv.Model.load(tmp_path / "m"), str(tmp_path / "L.db")
    assert to_ask(ledger, model, clf.report_) == []
    shown = clf.report_.measured
    less = prepriv.evaluation.evaluation_plan.plan_evaluation(
        model.domain, n=shown.plan.n, epsilon=1.0, measures="accuracy"
    )
    made_up = prepriv.evaluation.result.PrivateEvaluation(
        less, {"accuracy": np.array([20.0])}, True, None, None
    )
    page = prepriv.Report.of(model.declared, private=True, model=model, measured=made_up)
    (asked,) = to_ask(ledger, model, page)
    assert "not the one that the page and the model state" in asked


@pytest.mark.parametrize("share, note", [(1 / 3, "a third"), (0.5, "hold out 0.1"), (0.5, "no schema draft")])
def test_a_share_is_read_as_it_was_declared_and_a_persons_words_decide_nothing(tmp_path, share, note):
    """A third was charged as 0.333333, whose plan is another."""
    Ledger.create(tmp_path / "L.db", "people", epsilon=4, delta=1e-3)
    domain = prepriv.Domain({"dose": prepriv.Numeric(0, 1)}, classes=["no", "yes"], n=50)
    account = Noted(tmp_path / "L.db", note)
    clf = prepriv.PrivateClassifier(
        domain, steps=[], learner=LEARNER, ledger=account, holdout=share, threads=1
    )
    path = clf.fit(ROWS, LABELS).model_.save(tmp_path / "m", ledger=account)
    asked = str(tmp_path / "L.db"), prepriv.Model.load(path)
    assert charge_problems(*asked, path.read_bytes(), clf.report_) == ([], [])
    assert to_ask(*asked, clf.report_) == []


@pytest.mark.parametrize("note", ["", "n" * MOST_NOTE, "train"])
def test_a_later_score_of_the_model_is_asked_for(tmp_path, note):
    """A long note cut the model off, and one that begins with another kind hid what it was."""
    Ledger.create(tmp_path / "L.db", "people", epsilon=4, delta=1e-3)
    model = made(tmp_path, "m", tmp_path / "L.db")
    page = prepriv.Report.of(model.declared, private=True, model=model)
    assert to_ask(str(tmp_path / "L.db"), model, page) == []
    plan = prepriv.evaluation.evaluation_plan.plan_evaluation(model, n=50, epsilon=1.0)
    account = Noted(tmp_path / "L.db", note) if note else tmp_path / "L.db"
    prepriv.evaluation.evaluate.evaluate(plan, model, ROWS, LABELS, ledger=account)
    (asked,) = to_ask(str(tmp_path / "L.db"), model, page)
    assert "row 3 paid to evaluate this model" in asked


def test_every_score_that_was_charged_is_shown_or_asked_for_and_names_its_model(measured, tmp_path, capsys):
    """A page with its holdout score hid a later one, and the score of another model passed as one of this package."""
    ledger, folder = str(shutil.copy(measured / "L.db", tmp_path / "L.db")), tmp_path / "run"
    for name in ("m/model.json", "page.html"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(measured / name, folder / name)
    other = made(tmp_path, "other", ledger)
    found = dict[str, str]()
    for name, model in (("late", prepriv.Model.load(folder / "m")), ("others", other)):
        plan = prepriv.evaluation.evaluation_plan.plan_evaluation(model, n=50, epsilon=1.0)
        score = prepriv.evaluation.evaluate.evaluate(plan, model, ROWS, LABELS, ledger=ledger)
        found[name] = str(score.save(tmp_path / f"{name}.html", ledger=ledger))
        digest = prepriv.evaluation.evaluation_plan.model_hash(model)
        assert digest in Path(found[name]).read_text(encoding="utf-8")

    def judged(*files):
        code = run(["ledger", "verify", ledger, *map(str, files)])
        return code, capsys.readouterr().out

    code, said = judged(folder)
    row = next(one.sequence for one in Ledger.open(ledger).entries() if "evaluate model" in one.note)
    assert code == 8 and f"row {row} paid to evaluate this model" in said
    assert f"row {row}, a score of {folder / 'm' / 'model.json'} (" in said
    code, said = judged(folder, found["late"])
    scored = f"late.html: ASK, see below, charge {row}; a score of {folder / 'm' / 'model.json'}"
    assert code == 8 and scored in said and "nothing given here shows it" not in said
    asked = (
        "late.html: on which rows this score was measured, and whether the model was trained on any of them"
    )
    assert asked in said and "50 test rows are declared" in said.partition(asked)[2]
    assert f"what {ledger} paid for beside these files: row {row - 2}, a model" in said
    code, said = judged(folder, found["others"], found["late"])
    assert code == 8 and f"others.html: NOT DECIDED, charge {row + 2}" in said
    assert "no file given is that model" in said and "nothing given here shows it" not in said
    code, said = judged(folder, found["others"], found["late"], tmp_path / "other")
    assert code == 8 and said.count("ASK BEFORE") == 2 and said.count("on which rows this score") == 2
    line = ["report", str(folder / "m"), "--verify", str(folder / "page.html"), "--ledger", ledger]
    assert run(line) == 8
    out = capsys.readouterr().out
    assert f"row {row}, a score of this model (" in out and f"row {row} paid to evaluate this model" in out
    digits = prepriv.evaluation.evaluation_plan.model_hash(other)[:12]
    assert f"row {row + 2}, a score of model {digits} (" in out
    shutil.copy(found["late"], folder)
    shutil.copy(found["others"], folder)
    assert run(line) == 8
    out = capsys.readouterr().out
    assert f"late.html stands beside this model, and is its score that row {row} paid" in out
    assert "others.html" not in out and asked in out and "paid to evaluate" not in out
    assert f"paid for beside this model: row {row - 2}, a model (" in out  # and not the files that lie there
    old = str(shutil.copy(measured / "L.db", tmp_path / "old.db"))  # as it was before both scores
    assert run([*line[:-1], old]) == 8
    (asked,) = [one for one in capsys.readouterr().out.split("\n") if "where the charge of" in one]
    assert "late.html" in asked and "copies may be old" in asked and "others.html" not in asked
    costs = {one.sequence: one.cost for one in Ledger.open(ledger).entries()}
    total = Quanta(costs[1].main + costs[row].main, costs[1].delta + costs[row].delta)
    (late,) = (line for line in out.split("\n") if "late.html stands" in line)
    for line in (
        late,
        judged(folder, found["late"])[1],
    ):  # a later score was presented as covered by the page
        assert "The promise of the model's page does not cover it" in line and f"(charges 1, {row})" in line
        assert guesses_in_words(amount_in_words("basic", total)) in line and "at most epsilon 2 " in line


@pytest.mark.parametrize("name", ["cap", "total", "dataset"])
def test_the_ledger_block_of_a_page_cannot_be_edited(measured, capsys, name):
    model = prepriv.Model.load(measured / "m")
    text = (measured / "page.html").read_text()
    page = measured / f"{name}.html"
    page.write_text(text.replace(str(model.receipt[name]), "something else"))
    code, out = verified(measured, page, capsys)
    assert code == 1 and "differs: data: ledger" in out


def test_what_stands_in_the_receipt_of_the_measurement_of_a_page_is_compared(measured, tmp_path, capsys):
    """Any text in its place was verified: it was taken from the page."""
    data = data_of((measured / "page.html").read_text())
    data["measured_in_private"]["ledger"]["more"] = "J. Smith, 1952-03-02, cancer"
    page = tmp_path / "page.json"
    page.write_text(as_text(data))
    code, _ = verified(measured, page, capsys)
    assert code == 1
    assert run(["ledger", "verify", str(measured / "L.db"), str(page), str(measured / "m")]) == 5
    assert "page.json: WRONG" in capsys.readouterr().out


def test_the_page_shows_the_hash_of_the_file_and_the_receipt(measured):
    text, model = (measured / "page.html").read_text(), prepriv.Model.load(measured / "m")
    digest = hashlib.sha256((measured / "m" / "model.json").read_bytes()).hexdigest()
    assert digest in text and f"{model.receipt['sequence']}:{model.receipt['head']}" in text
    assert "epsilon 3" in text  # left of the cap


def test_what_the_ledger_holds_beside_the_model_is_said(paid, capsys):
    """55.5 of 100 was said of "all that was released", and the ledger held four times as much."""
    folder, _, b = paid
    assert run(["report", str(folder / "b"), "--ledger", str(folder / "L.db")]) == 8
    out = capsys.readouterr().out
    sha = hashlib.sha256((folder / "a" / "model.json").read_bytes()).hexdigest()[:12]
    assert (
        f"1 charge came before: row 1, a model (epsilon 1, delta 0.00001, artifact {sha})\n" in out
        and "in this copy of the ledger no charge came later" in out
    )
    booked = next(line for line in out.split("\n") if "all that is booked in this copy" in line)
    cap = next(line for line in out.split("\n") if "may ever hold" in line and "copy" not in line)
    assert "epsilon 1.25 at delta 2e-05" in booked and "epsilon 4 at delta 0.001" in cap
    e = np.exp(4)
    (right,) = [float(words.split()[0]) for words in cap.split("right at most ")[1:2]]
    assert 0 <= right - 100 * (e + 1e-3) / (e + 1) < 0.1
    page = prepriv.Report.of(b.declared, private=True, model=b, receipt=b.receipt)
    promise = page.summary.promise
    assert "sees this model can" in promise[0] and cap.partition(": ")[2].strip() + "." in promise[2]
    assert promise[2] in page.to_html() and promise[2] in json.dumps(page.to_json(), ensure_ascii=False)
    assert "0.9999" not in page.to_html()  # of the ledger's sum, which is rounded up


@pytest.mark.parametrize(
    "cap, said",
    [
        (
            "mu^2 1",
            "at most 1-GDP, and guesses about one record (one unit, where units are counted) are right at most 69.2",
        ),
        ("rho 0.5", "at most rho 0.5"),
        ("epsilon 2000, delta 0", "right at most 100 "),
        ("epsilon 0, delta 1", "right at most 100 "),
        ("something else", ""),
    ],
)
def test_a_cap_in_guesses(cap, said):
    assert said in guesses_in_words(cap) and bool(said) == bool(guesses_in_words(cap))


def test_files_that_were_given_out_show_what_a_copy_of_the_ledger_lacks(paid, tmp_path, capsys):
    """A question was deleted from the file, and "no charge came later" was said as a fact."""
    folder, _, _ = paid
    older, newer = tmp_path / "older.db", tmp_path / "newer.db"
    older.write_bytes((folder / "L.db").read_bytes())
    newer.write_bytes((folder / "L.db").read_bytes())
    domain = prepriv.Domain({"dose": prepriv.Numeric(0, 1)}, n=50)
    answers = prepriv.ask(ROWS[["dose"]], domain, ["mean(dose)"], epsilon=0.5, ledger=newer)
    (tmp_path / "answers.json").write_text(json.dumps(answers.to_json()))
    files = [str(folder / "a"), str(folder / "b" / "model.json"), str(tmp_path / "answers.json")]
    assert run(["ledger", "verify", str(older), *files[:2]]) == 0
    assert capsys.readouterr().out.count("ok") == 3
    assert run(["ledger", "verify", str(newer), *files[:2]]) == 8
    assert f"what {newer} paid for beside these files: row 5, answers to questions" in capsys.readouterr().out
    assert (
        run(["ledger", "verify", str(newer), *files]) == 8
    )  # nothing can say whether these were the answers
    said = capsys.readouterr().out
    assert said.count("ok") == 3 and "answers.json: NOT DECIDED, charge 5; what it states was not" in said
    assert run(["ledger", "verify", str(older), *files]) == 5
    assert "answers.json: WRONG: its charge 5 is not in this ledger" in capsys.readouterr().out
    assert run(["ledger", "verify", str(older), *files, "--json"]) == 5
    found = json.loads(capsys.readouterr().out)
    assert [len(problems) for problems in found["files"].values()] == [0, 0, 1]
    assert run(["ledger", "verify", *files]) == 2  # no ledger
    (tmp_path / "none.json").write_text("{}")
    assert run(["ledger", "verify", str(newer), str(tmp_path / "none.json"), files[0]]) == 8
    said = capsys.readouterr().out
    assert "none.json: NOT DECIDED, not compared: it holds no receipt" in said
    assert f"{Path(files[0]) / 'model.json'}: ok, charge 1" in said
    assert run(["ledger", "verify", str(newer), str(tmp_path / "gone.json")]) == 2


def test_no_file_of_a_folder_hides_behind_the_receipt_of_another(paid, tmp_path, capsys):
    """The receipts of a folder, and of a run and its draft, were taken together."""
    folder, a, _ = paid
    out = tmp_path / "given" / "deep"
    out.mkdir(parents=True)
    data = json.loads((folder / "a" / "model.json").read_text())
    (out / "a.json").write_bytes((folder / "a" / "model.json").read_bytes())
    by_hand = "label: {name: y, classes: ['no', 'yes']}\ncolumns: {dose: {type: numeric, low: 0, high: 1}}\nrows: 50\n"
    (out / "S.yaml").write_text(by_hand)  # nothing was paid for it
    line = ["ledger", "verify", str(folder / "L.db"), str(tmp_path / "given")]
    assert run(line) == 8  # what Python saved names no label
    said = capsys.readouterr().out
    assert f"{out / 'a.json'}: ok, charge 1" in said and "its name of the label was not compared" in said
    assert f"it declares what {out / 'a.json'} declares: columns, rows, label" in said
    (out / "S.yaml").write_text(by_hand.replace("high: 1", "high: 2"))
    assert run(line) == 8
    said = capsys.readouterr().out
    assert "S.yaml: NOT DECIDED, a schema declared by hand" in said
    assert "has other columns, bounds or categories (`dose`: high 2 in this schema, 1 in the model)" in said
    (out / "S.yaml").write_text(f"{by_hand}declared_by: J. Doe\n")
    assert run(line) == 8
    assert 'has other `declared_by:` ("J. Doe" here, nobody there)' in capsys.readouterr().out
    (out / "S.yaml").unlink()
    draft = {key: a.receipt[key] for key in ("plan_uid", "sequence", "head")}
    (out / "b.json").write_text(json.dumps(data | {"ledger": None, "drafted": [{"ledger": draft}]}))
    assert run(line) == 8 and "b.json: NOT DECIDED, not compared: it holds no" in capsys.readouterr().out
    (out / "b.json").unlink()
    (out / "D.yaml").write_text("drafted: [{epsilon: 1}]\n")
    assert run(line) == 8 and "D.yaml: NOT DECIDED, not compared: it holds no" in capsys.readouterr().out


def test_each_file_of_a_folder_that_was_not_compared_is_named(paid, tmp_path, capsys):
    """A file of names was passed over and the command ended with 0; a page of another tool stopped it, with 2."""
    folder, _, _ = paid
    given = tmp_path / "given"
    shutil.copytree(folder / "a", given / "a")
    shutil.copytree(folder / "b", given / "b")
    shutil.copy(folder / "L.db", given / "L.db")
    (given / "L.db-wal").write_bytes(b"")
    line = ["ledger", "verify", str(given / "L.db"), str(given)]
    assert run(line) == 0 and "NOT DECIDED" not in capsys.readouterr().out
    (given / "deep").mkdir()  # a name alone has room for records, too
    assert run(line) == 8 and f"{given / 'deep'}: NOT DECIDED" in capsys.readouterr().out
    strange = ["raw.csv", "notes.docx", "deep/model.pkl", "deep/page.htm", "other.html", "a.json", "b.yaml"]
    for name in strange:
        (given / name).write_text("name, husby\n")
    (given / "other.db").write_bytes((folder / "L.db").read_bytes())
    (given / "link").symlink_to(folder)
    assert run(line) == 8
    said = capsys.readouterr().out.split("\n")
    assert any("model.json: ok, charge 1" in one for one in said)
    for name in (*strange, "other.db", "link"):
        (one,) = [one for one in said if one.startswith(f"{given / name}: ")]
        assert "NOT DECIDED, not compared: " in one
    assert run([*line, "--json"]) == 8
    assert len(json.loads(capsys.readouterr().out)["not_decided"]) == 9
    for number in range(20):
        (given / f"{number}.png").write_bytes(b"")
    assert run(line) == 8  # many are one line
    (one,) = [one for one in capsys.readouterr().out.split("\n") if ".png" in one]
    assert one.count(".png") == 20 and "raw.csv" in one


def test_a_link_out_of_a_folder_is_no_file_of_it(paid, tmp_path, capsys):
    """It was judged like a file, and what it names can be replaced without a trace in the package."""
    folder, _, _ = paid
    given = tmp_path / "given"
    (given / "a").mkdir(parents=True)
    shutil.copytree(folder / "a", given / "kept")
    for name in ("model.json", "report.html"):
        if (folder / "a" / name).exists():
            (given / "a" / name).symlink_to(folder / "a" / name)
    (given / "again.json").symlink_to(given / "kept" / "model.json")
    assert run(["ledger", "verify", str(folder / "L.db"), str(given)]) == 8
    said = capsys.readouterr().out
    assert f"{given / 'a' / 'model.json'}: NOT DECIDED, not compared: a link" in said
    assert f"{given / 'kept' / 'model.json'}: ok" in said and f"{given / 'again.json'}: ok" in said
    run(["ledger", "verify", str(folder / "L.db"), str(given / "a" / "model.json")])  # named itself
    assert "a link" not in capsys.readouterr().out


def test_a_named_file_is_judged_as_in_a_folder(measured, tmp_path, capsys):
    """A table, a text or a picture among the files named was taken for a damaged ledger, and nothing was judged."""
    given = tmp_path / "given"
    shutil.copytree(measured / "m", given / "m")
    shutil.copy(measured / "L.db", given / "L.db")
    shutil.copy(measured / "L.db", given / "head.dat")
    with (given / "head.dat").open("r+b") as file:  # a damaged ledger of another name is one
        file.write(b"X" * 20)
    page = (measured / "page.html").read_text().replace("ε = 1", "ε = 0.1")
    (given / "page.html").write_text(page)
    others = ["0.csv", "empty.csv", "x.txt", "x.pdf", "x.md", "x.docx", "x.png", "README"]
    for name in others:
        (given / name).write_text("" if name == "empty.csv" else "name, husby\n")
    (given / "p.csv").write_text("prediction\nyes\n")
    (given / "L.db-wal").write_text("row 17")
    every = [str(one) for one in sorted(given.iterdir()) if one.name != "head.dat"]
    assert every[0].endswith("0.csv")
    assert run(["ledger", "verify", *every]) == 5
    said = capsys.readouterr().out
    assert "page.html: WRONG: it is not the page that" in said and "not a database" not in said
    assert f"{given / 'L.db'}: ok" in said and said.count("L.db-wal: ") == 1
    for name in (*others, "p.csv"):
        assert f"{given / name}: NOT DECIDED, not compared: " in said
    (given / "page.html").write_text((measured / "page.html").read_text())
    assert run(["ledger", "verify", *every]) == 8
    (given / "L.db-wal").write_bytes(b"")  # as SQLite leaves it
    capsys.readouterr()
    assert (
        run(
            [
                "ledger",
                "verify",
                *map(str, (given / "L.db", given / "L.db-wal", given / "m", given / "page.html")),
            ]
        )
        == 0
    )
    assert "L.db-wal" not in capsys.readouterr().out
    (given / "e.db").write_bytes(b"")
    for damaged in (given / "head.dat", given / "e.db"):
        for line in ([damaged, *every], [*every, damaged], [damaged, given / "page.html"]):
            assert run(["ledger", "verify", *map(str, line)]) == 5
            said = capsys.readouterr().out
            assert f"{damaged}: " in said and "no file was judged" in said
    for line in ([given / "0.csv"], [given / "page.html", given / "0.csv", given / "x.md"]):
        assert run(["ledger", "verify", *map(str, line)]) == 5  # nothing else can be the ledger
        assert "0.csv: WRONG: file is not a database" in capsys.readouterr().out


def test_a_file_may_be_named_twice_or_beside_its_folder(measured, tmp_path, capsys, monkeypatch):
    """ "holds no file with a receipt" was said of a good page, and nothing was judged."""
    given = tmp_path / "given"
    shutil.copytree(measured / "m", given / "m")
    shutil.copy(measured / "page.html", given / "page.html")
    ledger, page = str(measured / "L.db"), str(given / "page.html")
    monkeypatch.chdir(given)
    model = str(next((given / "m").glob("*.json")))
    alone = run(["ledger", "verify", ledger, str(given)])
    once = capsys.readouterr().out.count("page.html: ")
    for places in (
        [given, page],
        [page, given, page],
        [given, given],
        [given, given / "m", model],
        [".", "page.html"],
    ):
        assert run(["ledger", "verify", ledger, *map(str, places)]) == alone != 5
        said = capsys.readouterr().out
        assert "no file with a receipt" not in said and said.count("page.html: ") == once


def test_every_file_that_carries_a_receipt_is_read(measured, tmp_path, capsys):
    receipt = prepriv.Model.load(measured / "m").receipt
    kept = {key: receipt[key] for key in ("plan_uid", "sequence", "head")}
    (tmp_path / "schema.yaml").write_text(json.dumps({"drafted": [{"ledger": kept}]}))
    (tmp_path / "other.yaml").write_text(json.dumps({"drafted": [{"ledger": kept | {"head": "0" * 64}}]}))
    good = [str(measured / "page.html"), str(tmp_path / "schema.yaml"), str(measured / "m")]
    capsys.readouterr()
    assert run(["ledger", "verify", str(measured / "L.db"), *good]) == 8
    said = capsys.readouterr().out
    assert said.count("ok") == 3 and "schema.yaml: NOT DECIDED, charge 1" in said
    assert run(["ledger", "verify", str(measured / "L.db"), str(tmp_path / "other.yaml")]) == 5


def test_what_a_page_says_of_a_public_table_is_that_of_the_run(tmp_path, monkeypatch, capsys):
    """It was "stated by the page alone" and "ok": such lists are as long as one likes, and hold names."""
    monkeypatch.chdir(tmp_path)
    for name in ("t.csv", "p.csv"):
        ROWS.assign(y=LABELS).to_csv(name, index=False)
    Path("p.csv").write_text(Path("p.csv").read_text().replace(",yes", ",no", 1))
    columns = "".join(f"  {name}: {{type: numeric, low: 0, high: 1}}\n" for name in ROWS.columns)
    Path("S.yaml").write_text(f"label: {{name: y, classes: ['no', 'yes']}}\ncolumns:\n{columns}")
    assert run(["ledger", "create", "L.db", "--dataset", "d", "--epsilon", "1", "--delta", "0.01"]) == 0
    train = [
        "train",
        "t.csv",
        "--schema",
        "S.yaml",
        "--rows",
        str(len(ROWS)),
        "--epsilon",
        "0.9",
        "--delta",
        "0.001",
    ]
    assert run([*train, "--public-test", "p.csv", "--ledger", "L.db", "--out", "run"]) == 0
    capsys.readouterr()
    assert (
        run(["ledger", "verify", "L.db", "run"]) == 0 and "by the page alone" not in capsys.readouterr().out
    )
    check = ["report", "run/model", "--verify", "run/report.json", "--ledger", "L.db"]
    assert run(check) == 0 and "by their hash: what was measured on a table that" in capsys.readouterr().out
    data = json.loads(Path("run/report.json").read_text())
    model = prepriv.Model.load("run/model")
    said = data["evaluation_on_public_table"]
    said |= {"by_epsilon": [[1952.0, 0.02], [19.0, 0.4]], "recalls": [*said["recalls"], ["J. Smith", 0.5]]}
    told = said | {key: tuple(map(tuple, said[key])) for key in ("by_epsilon", "recalls", "alarms")}
    forged = Report.of(
        model.declared,
        private=True,
        evaluation=Evaluation(**told | {"commonest": tuple(said["commonest"])}),
        receipt=model.receipt,
        model=model,
    )
    forged.save(Path("run/report.json"))
    assert run(check) == 1
    assert (
        "the measurement of a public table on the page is not the one whose hash" in capsys.readouterr().out
    )
    assert run(["ledger", "verify", "L.db", "run"]) == 5


def test_a_page_whose_numbers_have_other_last_digits_is_not_decided(measured, tmp_path, capsys):
    """An officer's: a record in the last digits of 43 numbers, and every word was "what the model gives". Sketches had been mended alone."""
    text = (measured / "page.html").read_text()
    figure = re.search(r"&#34;epsilon&#34;: (0\.\d{12,})", text)[1]
    page = tmp_path / "page.html"
    page.write_text(text.replace(figure, repr(float(np.nextafter(float(figure), 0)))))
    assert run(["ledger", "verify", str(measured / "L.db"), str(page), str(measured / "m")]) == 8
    said = capsys.readouterr().out
    assert f"{page}: NOT DECIDED" in said and "last digits" in said and "every word" not in said


def test_a_page_is_ok_only_where_its_words_were_compared(measured, tmp_path, capsys):
    """A page with a forged ε and score had the receipt and the hash of its model, and ended as ok."""
    ledger, model = str(measured / "L.db"), str(measured / "m")
    true, forged, beside = measured / "page.html", tmp_path / "forged.html", tmp_path / "run"
    forged.write_text(true.read_text().replace("ε = 1", "ε = 0.1"))
    assert run(["ledger", "verify", ledger, str(true), model]) == 0
    assert "page.html: ok, charge 1; every word is what" in capsys.readouterr().out
    for page in (true, forged):  # nothing at hand can tell them apart
        assert run(["ledger", "verify", ledger, str(page)]) == 8
        said = capsys.readouterr().out
        assert f"{page}: NOT DECIDED, charge 1" in said and "prepriv report MODEL --verify" in said
    beside.mkdir()
    shutil.copytree(model, beside / "model")
    shutil.copy(forged, beside / "report.html")
    for files in ([str(forged), model], [str(beside / "report.html")], [str(beside)]):
        assert run(["ledger", "verify", ledger, *files]) == 5
        said = capsys.readouterr().out
        assert "it is not the page that" in said and "html: ok" not in said
    (tmp_path / "other.html").write_text(true.read_text().replace(own_version(), "9.9.9"))
    assert run(["ledger", "verify", ledger, str(tmp_path / "other.html"), model]) == 8
    assert "it was not made by version" in capsys.readouterr().out


@pytest.fixture(scope="module")
def by_hand(tmp_path_factory):
    """A schema that a person wrote, and what was released with it: a model with a holdout, its page and its ledger."""
    folder = tmp_path_factory.mktemp("by_hand")
    ROWS.assign(y=LABELS).to_csv(folder / "t.csv", index=False)
    Ledger.create(folder / "L.db", "people", epsilon=4, delta=1e-3)
    columns = "columns: {dose: {type: numeric, low: 0, high: 1}}\n"
    (folder / "S.yaml").write_text(f"label: {{name: y, classes: ['no', 'yes']}}\nrows: 50\n{columns}")
    learner = ["--learner", "{kind: GradientDescent, steps: 2}", "--epsilon", "1", "--holdout", "0.5"]
    places = ["--schema", str(folder / "S.yaml"), "--ledger", str(folder / "L.db"), "--out"]
    assert run(["train", str(folder / "t.csv"), *learner, *places, str(folder / "run")]) == 0
    return folder


def test_the_rows_that_trained_are_not_all_rows_of_a_schema(by_hand, tmp_path, capsys):
    """A schema with the number of those alone was said to declare what its model declares."""
    shutil.copytree(by_hand, given := tmp_path / "p")
    trained = prepriv.Model.load(given / "run" / "model").declared.n
    schema = given / "S.yaml"
    schema.write_text(schema.read_text().replace("rows: 50", f"rows: {trained}"))
    asked = ["ledger", "verify", str(given / "L.db"), str(schema), str(given / "run")]
    assert trained < 50 and run(asked) == 8
    assert f"`rows: {trained}` is not the number of the model and its page" in capsys.readouterr().out
    (given / "run" / "report.html").unlink()
    (given / "run" / "report.json").unlink()
    assert run(asked) == 8 and f"`rows: {trained}` was not compared" in capsys.readouterr().out


@pytest.mark.parametrize(
    "old, new, said",
    [
        ("rows: 50", "rows: 50", ""),
        ("rows: 50", "rows: 9999", "its `rows: 9999` is not the number of the model and its page"),
        ("rows: 50", "rows: 1", "its `rows: 1` is not the number of the model and its page"),
        ("rows: 50", "rows: 50\nsteps: []", "its `steps:` was not compared"),
        ("rows: 50", "rows: 50\nlearner: {kind: row 17}\nsteps: []", "its `learner:` and `steps:` were not"),
        ("'yes']", "'yes'], threshold: 0.17", "its `threshold:` of the label was not compared"),
        ("rows: 50", "rows: 50 # row 17: Boston, black, f", "comments were not compared, on 1 line"),
        ("rows: 50", "rows: 50\n#17\n# Boston", "comments were not compared, on 2 lines"),
        ("rows: 50", "rows: &boston 50", "its anchors, tags or comments were not compared, on 1 line"),
        (
            "high: 1}",
            "high: 1.000000000000000001953041204711}",
            "on line 3 a number is written longer than its value needs: read it",
        ),
        ("rows: 50", "rows: 50   ", "on line 2 there are spaces at the end"),
    ],
)
def test_a_schema_by_hand_is_passed_only_where_all_of_it_was_compared(
    by_hand, tmp_path, monkeypatch, capsys, old, new, said
):
    """With other rows, steps and a record in a comment it was said to declare what its model declares, and the command ended with 0."""
    shutil.copytree(by_hand, tmp_path / "p")
    monkeypatch.chdir(tmp_path / "p")
    Path("t.csv").unlink()
    Path("S.yaml").write_text(Path("S.yaml").read_text().replace(old, new))
    capsys.readouterr()
    assert run(["ledger", "verify", "L.db", "."]) == (8 if said else 0)
    line = next(one for one in capsys.readouterr().out.splitlines() if one.startswith("S.yaml"))
    assert said in line and line.startswith(f"S.yaml: {'NOT DECIDED' if said else 'ok'}, a schema")
    assert "it declares what run/model/model.json declares: columns" in line
    assert ("rows, label" in line) == ("`rows:" not in line)
    assert run(["ledger", "verify", "L.db", "S.yaml"]) == 8
    assert "no model was given with it" in capsys.readouterr().out


@pytest.mark.parametrize("ending", ["-wal", "-shm", "-journal"])
def test_a_file_that_passes_for_a_log_of_the_ledger_is_named_and_left(by_hand, tmp_path, capsys, ending):
    ledger, beside = tmp_path / "L.db", tmp_path / f"L.db{ending}"
    shutil.copy(by_hand / "L.db", ledger)
    capsys.readouterr()
    assert run(["ledger", "verify", str(ledger)]) == 0
    beside.write_text("row 17: Boston, black, f, callback")
    for places in ([ledger], [ledger, by_hand / "run"], [ledger, tmp_path]):
        assert run(["ledger", "verify", *map(str, places)]) == 8
        assert f"{beside}: NOT DECIDED, not compared: it lies where SQLite" in capsys.readouterr().out
    assert run(["ledger", "show", str(ledger)]) == 0
    run(["report", str(by_hand / "run"), "--ledger", str(ledger)])
    assert beside.read_text() == "row 17: Boston, black, f, callback"


@pytest.mark.parametrize("ends", [("-wal", "-shm"), ("-wal",), ("-shm",)])
def test_what_a_look_folds_in_or_deletes_is_asked_about(by_hand, tmp_path, capsys, ends):
    """A log can hold records in pages that a later commit wrote over, its index in all of its bytes: exit code 0, and nothing was left to see."""
    ledger, kept = tmp_path / "L.db", tmp_path / "kept"
    shutil.copy(by_hand / "L.db", ledger)
    kept.mkdir()
    with contextlib.closing(sqlite3.connect(ledger)) as held:
        held.execute("PRAGMA wal_autocheckpoint = 0")
        (version,) = held.execute("PRAGMA user_version").fetchone()
        for other in (version + 1, version):  # the first page is in the log twice
            held.execute(f"PRAGMA user_version = {other}")
        for end in ("", *ends):
            shutil.copy(f"{ledger}{end}", kept / f"L.db{end}")
    named = [f"{ledger}{end}" for end in ends]
    for line in (
        ["ledger", "verify", str(ledger)],
        ["ledger", "verify", str(ledger), *named],
        ["report", str(by_hand / "run"), "--ledger", str(ledger)],
    ):
        shutil.copytree(kept, tmp_path, dirs_exist_ok=True)
        capsys.readouterr()
        assert run(line) == 8
        said = capsys.readouterr().out
        assert "after `prepriv ledger show`, alone" in said and "not charged" not in said
        assert all(f"{one}: " in said and not Path(one).exists() for one in named)
    assert run(["ledger", "verify", str(ledger)]) == 0


def test_a_copied_receipt_makes_no_file_ok(measured, tmp_path, capsys):
    receipt = dict(prepriv.Model.load(measured / "m").receipt)
    path, ledger = tmp_path / "any.json", str(measured / "L.db")
    path.write_text(json.dumps({"ledger": receipt, "claim": "ε = 0.1"}))
    assert run(["ledger", "verify", ledger, str(path), "--json"]) == 8
    hashed, kind = json.loads(capsys.readouterr().out)["not_decided"][str(path)]
    assert "the hash beside its charge is of another file" in hashed
    assert "none of the files that prepriv writes" in kind


def test_counts_that_were_edited_with_all_that_follows_are_found_by_their_hash(measured, tmp_path, capsys):
    """ "verified: ... exactly the report that this model gives", and "charged", of a page with another score."""
    ledger, model = str(measured / "L.db"), prepriv.Model.load(measured / "m")
    true = data_of((measured / "page.html").read_text())["measured_in_private"]
    release = Ledger.open(ledger).entries()[1]
    assert release.kind == "released" and re.fullmatch("score [0-9a-f]{64}", release.note)
    assert run(["ledger", "show", ledger]) == 0
    assert f"  {release.note[:18]}\n" in capsys.readouterr().out  # and not all 64 digits
    for more, code in ((0.0, 0), (1.0, 1)):
        counts = {name: np.array(values, dtype=float) for name, values in true["counts"].items()}
        counts["accuracy"] = counts["accuracy"] + more
        plan = prepriv.evaluation.evaluation_plan.plan_evaluation(
            model.domain, n=true["plan"]["n"], epsilon=1.0
        )
        whole = prepriv.guarantees.algebra.beside([model.part, plan.guarantee])
        score = prepriv.evaluation.result.PrivateEvaluation(plan, counts, True, true.get("ledger"), whole)
        page = prepriv.Report.of(
            model.declared, private=True, model=model, measured=score, receipt=model.receipt
        ).save(tmp_path / f"{code}.html")
        assert run(["report", str(measured / "m"), "--verify", str(page)]) == 0
        assert "stated by the report alone: the noisy counts" in capsys.readouterr().out
        line = ["report", str(measured / "m"), "--verify", str(page), "--ledger", ledger]
        assert run(line) == code
        said = " ".join(capsys.readouterr().out.split())
        assert ("by their hash: the noisy counts" in said) == (code == 0)
        assert ("not charged: the score on the page is not the one whose hash" in said) == (code == 1)
        assert run(["ledger", "verify", ledger, str(measured / "m"), str(page)]) == (5 if code else 0)
        assert "stated by the page alone" not in capsys.readouterr().out


def test_a_model_alone_reveals_no_hash_of_its_score():
    """Its claim does not cover the score, and whoever guesses the counts could check the guess."""
    domain = prepriv.Domain({"dose": prepriv.Numeric(0, 1)}, classes=["no", "yes"], n=50)
    clf = prepriv.PrivateClassifier(domain, steps=[], learner=LEARNER, holdout=0.5, threads=1)
    model = clf.fit(ROWS, LABELS).model_
    digest = found_in(model.found)["score"]
    assert digest not in model.text() and digest.encode() not in pickle.dumps(model)
    assert pickle.loads(pickle.dumps(model)).found == ""


def test_guessed_canaries_have_a_hash_of_their_own():
    run_ = OneRun(1000, 553, 0.0134, 100, 1.0, "replace-one", 1.0)
    noted = found_note(None, run_)
    assert found_in(noted) == found_hashes(None, run_) and noted.startswith("canaries ")
    assert found_hashes(None, replace(run_, correct=554)) != found_hashes(None, run_)
    assert found_note(None, None) == "" and found_in("pilot of March") == {}
    public = Evaluation(10, 0.5, table="p.csv", recalls=(("yes", 0.25),))
    both = found_note(None, run_, public)
    assert found_in(both) == found_hashes(None, run_, public) and f"score {'0' * 64}, {both}".__len__() <= 200
    assert found_hashes(None, None, replace(public, recalls=(("J. Smith", 0.25),))) != found_hashes(
        None, None, public
    )


def test_answers_descriptions_and_sketches_are_known_by_their_hash(tmp_path, monkeypatch, capsys):
    """Of answers only the receipt was compared, and a folder with a description was not read."""
    monkeypatch.chdir(tmp_path)
    pd.DataFrame({"dose": np.linspace(0, 1, 400), "y": ["no", "yes"] * 200}).to_csv("t.csv", index=False)
    Path("S.yaml").write_text(
        "label: {name: y, classes: ['no', 'yes']}\ncolumns: {dose: {type: numeric, low: 0, high: 1}}\nrows: 400\n"
    )
    Ledger.create("L.db", "people", epsilon=4, delta=1e-3)
    asked = ["--schema", "S.yaml", "--epsilon", "1.3", "--ledger", "L.db", "--out"]
    assert run(["ask", "t.csv", "mean(dose)", *asked, "out/answers.json"]) == 0
    assert run(["describe", "t.csv", *asked, "out/page.html"]) == 0
    assert run(["sketch", "t.csv", *asked, "out/sketch"]) == 0
    capsys.readouterr()
    assert run(["ledger", "verify", "L.db", "out"]) == 0  # the tables of a sketch follow from its JSON
    said = capsys.readouterr().out
    assert said.count(": ok, charge") == 7 and said.count(".csv: ok, charge") == 2
    for table in Path("out/sketch").glob("*.csv"):
        table.unlink()
    assert run(["ledger", "verify", "L.db", "out"]) == 0
    for name in ("answers.json", "page.html", "page.json", "sketch/sketch.json"):
        file = Path("out", name)
        file.write_text(file.read_text() + " ")
        assert run(["ledger", "verify", "L.db", str(file)]) == 5  # 8, "perhaps of its page", of answers
        said = capsys.readouterr().out
        assert (
            "paid for a file that is not this one" in said or "no release in this ledger is this file" in said
        )


def test_a_verify_of_files_asks_what_the_report_of_a_model_asks(measured, tmp_path, capsys):
    ledger, model, page = str(measured / "L.db"), str(measured / "m"), str(tmp_path / "page.html")
    assert run(["report", model, "--html", page]) == 0
    whole = ["report", model, "--ledger", ledger, "--verify", page]
    for line in (whole, ["ledger", "verify", ledger, model, page]):
        assert run(line) == 8
        assert "why the page shows no score: row 1 paid for one" in capsys.readouterr().out


def test_a_score_whose_page_is_not_given_is_asked_for(measured, capsys):
    """A bad score was hidden by deleting its page, and both commands ended with exit code 0."""
    ledger, model, page = (str(measured / name) for name in ("L.db", "m", "page.html"))
    row = "where the page with the score is: row 1 paid for one (evaluate: accuracy, confusion"
    for line in (["report", model, "--ledger", ledger], ["ledger", "verify", ledger, model]):
        assert run(line) == 8 and row in capsys.readouterr().out
    assert run(["ledger", "verify", ledger, model, page]) == 0 and "score is" not in capsys.readouterr().out


def test_an_audit_whose_page_is_not_given_is_asked_for(tmp_path, capsys):
    """Its hash is in the ledger, and a page without it was verified."""
    Ledger.create(ledger := str(tmp_path / "L.db"), "people", epsilon=4, delta=1e-3)
    domain = prepriv.Domain({"dose": prepriv.Numeric(0, 1)}, classes=["no", "yes"], n=50)
    clf = prepriv.PrivateClassifier(domain, steps=[], learner=LEARNER, ledger=ledger, audit=1000, threads=1)
    clf.fit(ROWS, LABELS).model_.save(tmp_path / "m", ledger=ledger)
    assert "canaries " in Ledger.open(ledger).entries()[1].note
    clf.report_.save(tmp_path / "page.html")
    model, without = str(tmp_path / "m"), str(tmp_path / "without.html")
    assert run(["report", model, "--html", without]) == 0
    for page, code in ((None, 8), (without, 8), (str(tmp_path / "page.html"), 0)):
        given = ["--verify", page] if page else []
        for line in (
            ["report", model, *given, "--ledger", ledger],
            ["ledger", "verify", ledger, model, *given[1:]],
        ):
            capsys.readouterr()
            assert run(line) == code
            assert ("what the audit of the run found: the release of row 1" in capsys.readouterr().out) is (
                code == 8
            )
    found = clf.report_.audited
    page = replace(clf.report_, audited=replace(found, correct=found.correct - 1)).save(tmp_path / "e.html")
    assert run(["report", model, "--verify", str(page), "--ledger", ledger]) == 1
    said = " ".join(capsys.readouterr().out.split())  # "the canaries on the page is not the one"
    assert "not charged: the canaries on the page are not those whose hash the ledger holds" in said


def test_a_page_says_what_its_claim_covers_and_whose_word_the_rest_is(measured):
    model, text = prepriv.Model.load(measured / "m"), (measured / "page.html").read_text()
    trained = model.declared.n
    assert (
        f"Of the 50 declared records of the data set &quot;people&quot;, as its ledger calls it, coins chose {trained} to train on and {50 - trained} to measure on"
        in text
    )
    shown, data = text.split('<pre id="data">')
    assert "to train on, which coins chose of 50 declared" in shown
    assert "<td>dose</td><td>number</td><td>0 to 1</td>" in shown and "<td>no, yes</td>" in shown
    # the promise, the claim and what reviewers ask; the first and the last stand in the data, too
    assert (
        shown.count("this model and the score of its holdout"),
        data.count("this model and the score of its holdout"),
    ) == (3, 2)
    assert "Only they can say" in text and "Where do the bounds, classes and categories come from?" in text
    assert "prepriv ledger verify LEDGER FILES" in text and "<details><summary>Its proofs" in text
    alone = prepriv.Report.of(model.declared, private=True, model=model)
    assert alone.summary.predicts[1] == f"It was trained on {trained} declared records."
    assert "sees this model can" in alone.summary.promise[0] and len(alone.summary.promise) == 2


def test_counts_that_are_private_are_not_split(tmp_path):
    """Under add-or-remove-one n only normalises: nobody says how many records a coin sent where."""
    domain = prepriv.Domain(
        {"dose": prepriv.Numeric(0, 1)}, classes=["no", "yes"], n=50, adjacency="add-or-remove-one"
    )
    clf = prepriv.PrivateClassifier(domain, steps=[], learner=LEARNER, holdout=0.5, threads=1)
    said = clf.fit(ROWS, LABELS).report_.summary
    assert (
        "coins chose" not in " ".join(said.predicts)
        and "sees this model and the score of its holdout" in said.promise[0]
    )


def without_last_row(place, copy):
    """A copy of a ledger that lacks its last row, as a run that was killed leaves it."""
    copy.write_bytes(place.read_bytes())
    db = sqlite3.connect(copy)
    guards = db.execute("select name, sql from sqlite_master where type = 'trigger'").fetchall()
    tables = [name for (name,) in db.execute("select name from sqlite_master where type = 'table'")]
    (rows,) = (name for name in tables if "head" in {c[1] for c in db.execute(f"pragma table_info({name})")})
    for name, _ in guards:
        db.execute(f"drop trigger {name}")
    db.execute(f"delete from {rows} where sequence = (select max(sequence) from {rows})")
    for _, made_by in guards:
        db.execute(made_by)
    db.commit()
    db.close()
    return copy


def test_a_charge_whose_release_is_not_recorded_is_a_charge(measured, tmp_path, capsys):
    """An honest model with a holdout was accused of the charge of another plan, and `ledger verify` said ok."""
    cut = without_last_row(measured / "L.db", tmp_path / "cut.db")
    line = ["report", str(measured / "m"), "--ledger", str(cut)]
    assert run([*line, "--verify", str(measured / "page.html")]) == 8
    out = " ".join(capsys.readouterr().out.split())
    assert "charged: the ledger is sound" in out and "its release is not recorded" in out
    assert "ASK BEFORE YOU SIGN: whether this is the file that was released: charged in row 1, but no" in out
    assert run(line) == 8  # undecided without the page
    assert "give that page with `--verify`" in capsys.readouterr().err
    assert run(["ledger", "verify", str(cut), str(measured / "m")]) == 8
    assert "NOT DECIDED, charge 1" in capsys.readouterr().out
    files = [str(measured / "m"), str(measured / "page.html")]
    assert run(["ledger", "verify", str(cut), *files]) == 8
    said = capsys.readouterr().out
    assert said.count("NOT DECIDED, charge 1; charged in row 1, but no row holds the hash of what") == 2


def test_edited_weights_are_never_ok_where_no_release_is_recorded(paid, tmp_path, capsys):
    """All weights were negated, the row of the release was taken off, and both commands ended with 0."""
    folder, _, _ = paid
    cut = without_last_row(folder / "L.db", tmp_path / "cut.db")
    true = prepriv.Model.load(folder / "b")
    model = replace(true, weights=-true.weights)
    model.save(tmp_path / "m")
    page = tmp_path / "page.html"
    prepriv.Report.of(model.declared, private=True, receipt=model.receipt, model=model).save(page)
    line = ["report", str(tmp_path / "m"), "--verify", str(page), "--ledger"]
    assert run([*line, str(folder / "L.db")]) == 1
    assert run([*line, str(cut)]) == 8
    assert "shows whether one was" in " ".join(capsys.readouterr().out.split())
    assert run(["ledger", "verify", str(cut), str(tmp_path / "m"), str(page)]) == 8
    said = capsys.readouterr().out
    assert said.count("ok") == 1 and said.count("NOT DECIDED, charge 3") == 2  # the ledger alone
    kept = Ledger.open(folder / "L.db").entries()[-1]
    assert run(["ledger", "verify", str(cut), "--receipt", f"{kept.sequence}:{kept.head}"]) == 5


def test_a_killed_run_with_another_holdout_pays_for_no_model(measured, tmp_path):
    """The receipt of a run that died is in the chain, and names no file."""
    place = tmp_path / "L.db"
    Ledger.create(place, "people", epsilon=4, delta=1e-3)
    domain = prepriv.Domain({"dose": prepriv.Numeric(0, 1)}, classes=["no", "yes"], n=50)
    other = GradientDescent(Logistic(), steps=3)
    clf = prepriv.PrivateClassifier(domain, steps=[], learner=other, ledger=place, holdout=0.5, threads=1)
    stolen = clf.fit(ROWS, LABELS).model_.receipt  # never saved, so that no release is recorded
    model = replace(prepriv.Model.load(measured / "m"), receipt=stolen)
    page = prepriv.Report.of(model.declared, private=True, model=model, measured=clf.report_.measured)
    wrong, _ = charge_problems(str(place), model, b"", page)
    assert "charge of another plan" in wrong[0]


@pytest.mark.parametrize("name", ["model.json", "page.html"])
def test_a_file_that_a_charge_did_not_pay_for_is_found_by_its_receipt(measured, tmp_path, capsys, name):
    text = (measured / ("m/model.json" if name == "model.json" else name)).read_text()
    digest = hashlib.sha256((measured / "m" / "model.json").read_bytes()).hexdigest()
    (tmp_path / name).write_text(text.replace(digest, "0" * 64) if digest in text else text + "\n")
    assert run(["ledger", "verify", str(measured / "L.db"), str(tmp_path / name)]) == 5
    assert "paid for a file that is not this one" in capsys.readouterr().out


def test_a_damaged_ledger_judges_no_file(paid, tmp_path, capsys):
    """Each file was said to lack its charge."""
    folder, _, _ = paid
    (tmp_path / "L.db").write_bytes((folder / "L.db").read_bytes()[:5000])
    assert run(["ledger", "verify", str(tmp_path / "L.db"), str(folder / "a"), str(folder / "b")]) == 5
    said = capsys.readouterr().out
    assert "its charge" not in said and said.count("no file was judged") == 1


@pytest.mark.parametrize(
    "key, value",
    [("dataset", "others"), ("cap", "epsilon 1, delta 0.001"), ("total", "epsilon 0.1, delta 0")],
)
def test_what_a_model_says_about_its_ledger_is_compared_where_no_release_is_recorded(
    measured, tmp_path, key, value
):
    cut = without_last_row(measured / "L.db", tmp_path / "cut.db")
    model = prepriv.Model.load(measured / "m")
    forged = replace(model, receipt=dict(model.receipt) | {key: value})
    page = prepriv.Report.of(model.declared, private=True, model=forged)
    wrong, _ = charge_problems(str(cut), forged, b"", page)
    assert any("that is not the ledger's" in line for line in wrong)


def test_verified_says_what_is_taken_on_trust_without_a_ledger(measured, capsys):
    """A page of a model with an edited cap and name was verified, and nothing said that they were its word."""
    line = ["report", str(measured / "m"), "--verify", str(measured / "page.html")]
    assert run(line) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "not verified without a ledger: the name and the cap of the data set" in out
    assert "that the weights are those that were released" in out
    assert "that nothing was drafted" in out and "who declared" not in out
    assert run([*line, "--ledger", str(measured / "L.db")]) == 0
    assert "without a ledger" not in capsys.readouterr().out


def test_a_choice_whose_release_is_not_recorded_is_not_decided(tmp_path):
    """Its plan needs the number of all records, which its winner does not hold."""
    place = tmp_path / "L.db"
    Ledger.create(place, "people", epsilon=4, delta=1e-3)
    domain = prepriv.Domain.box(0, 1, features=2, classes=[0, 1])
    x, y = np.repeat([[0.0, 1.0], [1.0, 0.0]], 200, axis=0), np.repeat([0, 1], 200)
    candidates = [{"steps": [], "learner": GradientDescent(Logistic(), steps=k)} for k in (2, 3)]
    model = prepriv.choose(candidates, x, y, domain, epsilon=2.0, ledger=place).model_
    with pytest.raises(Stop, match="cannot be recomputed") as stopped:
        charge_problems(str(place), model, b"")
    assert stopped.value.code == 8


def test_names_that_may_mean_one_data_set_are_asked_about(paid, tmp_path, capsys):
    """Two ledgers of "couples-1993" and "couples 1993" ended with 0."""
    folder, _, _ = paid
    for name in ("Couples-1993", "couples_1993 ", "couples 1994"):
        Ledger.create(tmp_path / f"{name.strip()}.db", name, epsilon=2, delta=1e-4)
    first, second, other = (
        str(tmp_path / f"{name}.db") for name in ("Couples-1993", "couples_1993", "couples 1994")
    )
    assert run(["ledger", "verify", first, other]) == 0
    capsys.readouterr()
    assert run(["ledger", "verify", first, second]) == 8
    said = capsys.readouterr().out
    assert "ASK BEFORE YOU SIGN: whether 'Couples-1993' and 'couples_1993 ' are the same data set" in said
    assert "add up to epsilon 4, delta 0.0002" in said
    assert run(["ledger", "verify", first, second, "--json"]) == 8
    assert len(json.loads(capsys.readouterr().out)["ask_of_ledgers"]) == 1
    Ledger.create(tmp_path / "more.db", "Peo_ple", epsilon=3, delta=1e-4)
    line = ["report", str(folder / "a"), "--ledger", str(folder / "L.db"), "--ledger"]
    assert run([*line, other]) == 8
    said = " ".join(capsys.readouterr().out.split())
    assert said.count("ASK BEFORE") == 2 and said.count("together is at most epsilon 6 at") == 1  # 99.8
    assert run([*line, str(tmp_path / "more.db")]) == 8
    assert "whether 'people' and 'Peo_ple' are the same" in " ".join(capsys.readouterr().out.split())


def test_a_charge_without_a_note_leaves_no_empty_brackets(paid, tmp_path):
    _, a, _ = paid
    book = Ledger.create(tmp_path / "L.db", "people", epsilon=4, delta=1e-3)
    row = book.charge("x", "0" * 64, adjacency="replace-one", epsilon=2.0, delta=1e-4)
    model = replace(a, receipt={"plan_uid": "x", "sequence": row.sequence, "head": row.head})
    page = prepriv.Report.of(model.declared, private=True, model=model)
    said = [*to_ask(str(book.path), model, page), *charge_problems(str(book.path), model, b"")[1]]
    assert any("paid for more than this model." in one for one in said) and "()" not in "".join(said)


def test_a_file_of_answers_is_not_a_damaged_model(tmp_path, capsys):
    domain = prepriv.Domain({"dose": prepriv.Numeric(0, 1)}, n=50)
    answers = prepriv.ask(ROWS[["dose"]], domain, ["mean(dose)"], epsilon=0.5)
    (tmp_path / "answers.json").write_text(json.dumps(answers.to_json()))
    assert run(["report", str(tmp_path / "answers.json")]) == 2
    assert "holds answers (`prepriv ask`) and not a model" in " ".join(capsys.readouterr().err.split())


@pytest.mark.filterwarnings("ignore:As far as what was released")
def test_a_weak_claim_is_asked_about_wherever_the_model_is_judged(tmp_path, capsys):
    """δ = 0.05 over 50 records: the front part asked for no change, and both commands ended with 0."""
    ledger, folder = str(tmp_path / "L.db"), tmp_path / "m"
    Ledger.create(ledger, "people", epsilon=2, delta=0.06)
    domain = prepriv.Domain({"dose": prepriv.Numeric(0, 1)}, classes=["no", "yes"], n=50)
    clf = prepriv.PrivateClassifier(domain, delta=0.05, steps=[], learner=LEARNER, ledger=ledger, threads=1)
    with pytest.warns(match="weak: δ"):
        weak = clf.fit(ROWS, LABELS).model_
    weak.save(folder, ledger=ledger)
    page = prepriv.Report.of(weak.declared, private=True, receipt=weak.receipt, model=weak).to_html()
    advice = page.partition("What to do about it")[2].partition("</section>")[0]
    assert "Do not publish it with this δ" in advice and "Nothing in these numbers" not in advice
    assert "Who accepts this δ" in page.partition("Before you sign")[2]
    record = tmp_path / "r.yaml"
    for command in (
        ["report", str(folder)],
        ["report", str(folder), "--ledger", ledger, "--record", str(record)],
        ["ledger", "verify", ledger, str(folder)],
    ):
        assert run(command) == 8
        *_, asked = re.findall(r"ASK BEFORE YOU SIGN.*Who accepts this δ.*", capsys.readouterr().out)
        assert "(n = 50)" in asked
    told = record.read_text("utf-8")
    assert "It is weak: δ" in told and "QUESTION: Who accepts this δ" in told
    assert "leaves open why the δ of the cap" in told


@pytest.mark.parametrize(("delta", "asked"), ((1e-3, True), (1.8e-4, True), (1.6e-4, False)))
def test_a_cap_whose_delta_is_not_below_one_over_the_records_is_asked_about(tmp_path, capsys, delta, asked):
    """The page says not to sign such a δ, and the cap is what one signs. Of a holdout the page knows all declared records: 6,000, and not 4,800."""
    rng, ledger = np.random.default_rng(0), str(tmp_path / "L.db")
    Ledger.create(ledger, "people", epsilon=2, delta=delta)
    rows = rng.uniform(0, 1, (6000, 1))
    domain = prepriv.Domain({"dose": prepriv.Numeric(0, 1)}, classes=["no", "yes"])
    clf = prepriv.PrivateClassifier(domain, ledger=ledger, holdout=0.2, threads=1)
    clf.fit(rows, np.where(rows[:, 0] > 0.5, "yes", "no"))
    clf.model_.save(tmp_path / "m", ledger=ledger)
    clf.report_.save(tmp_path / "r.html")
    code = run(["report", str(tmp_path / "m"), "--verify", str(tmp_path / "r.html"), "--ledger", ledger])
    assert ("why the δ of the cap" in capsys.readouterr().out, code) == (asked, 8 if asked else 0)


def test_several_ledgers_of_one_data_set_are_asked_about_and_no_cap_stands_for_all(paid, tmp_path, capsys):
    """Two ledgers: the page's flat sentence was filed with one of them, and the exit code was 0."""
    folder, a, _ = paid
    ledger, other = str(folder / "L.db"), str(tmp_path / "M.db")
    Ledger.create(other, "people", epsilon=3, delta=1e-4)
    page = prepriv.Report.of(a.declared, private=True, receipt=a.receipt, model=a)
    assert "Another ledger of the same people would add to it" in page.summary.promise[-1]
    assert "data set together" not in page.to_html()
    record = tmp_path / "r.yaml"
    places = ["--ledger", ledger, "--ledger", other]
    assert run(["report", str(folder / "a"), *places, "--record", str(record)]) == 8
    out = capsys.readouterr().out
    last = [line for line in out.splitlines() if "ASK BEFORE YOU SIGN" in line]
    assert "epsilon 7, delta 0.0011" in last[0] and "paid for beside this model" in last[1] and len(last) == 2
    of_one = ("left of its cap", "all that is booked in this copy", "everything that this ledger")
    assert all(
        line.strip().startswith(f"of {ledger} alone")
        for line in out.splitlines()
        if any(said in line for said in of_one)
    )
    assert "epsilon 7, delta 0.0011" in record.read_text("utf-8")
    Ledger.create(tmp_path / "N.db", "other people", epsilon=3, delta=1e-4)
    assert run(["report", str(folder / "a"), "--ledger", ledger, "--ledger", str(tmp_path / "N.db")]) == 8
    said = capsys.readouterr().out
    assert "why there are" not in said and said.count("ASK BEFORE") == 2  # their caps together are high


def test_a_page_a_score_or_a_schema_that_lies_beside_another_model_is_asked_about(tmp_path, capsys):
    """Pages were swapped between two folders, and each was "ok; every word is what the other model gives"."""
    ledger, ages = (
        tmp_path / "L.db",
        prepriv.Domain({"age": prepriv.Numeric(0, 9)}, classes=["no", "yes"], n=50),
    )
    Ledger.create(ledger, "people", epsilon=4, delta=1e-3)
    doses = prepriv.Domain({"dose": prepriv.Numeric(0, 1)}, classes=["no", "yes"], n=50)
    for name, domain in (("good", doses), ("bad", ages)):
        (column,) = domain.columns
        clf = prepriv.PrivateClassifier(domain, steps=[], learner=LEARNER, ledger=ledger, threads=1)
        rows = ROWS.rename(columns={"dose": column})[[column]]
        model = clf.fit(rows, LABELS).model_
        model.save(tmp_path / name / "model", ledger=ledger)
        for ending in ("html", "json"):
            clf.report_.save(tmp_path / name / f"report.{ending}")
        plan = prepriv.evaluation.evaluation_plan.plan_evaluation(model, n=50, epsilon=1.0)
        score = prepriv.evaluation.evaluate.evaluate(plan, model, rows, LABELS, ledger=ledger)
        score.save(tmp_path / name / "score.html", ledger=ledger)
        (tmp_path / name / "s.yaml").write_text(
            f"columns: {{{column}: {{type: numeric, low: 0, high: {1 if column == 'dose' else 9}}}}}\n"
            'label: {name: y, classes: ["no", "yes"]}\nadjacency: replace-one\nrows: 50\n'
        )
    good, bad = tmp_path / "good", tmp_path / "bad"
    of = {one: str(one / "model" / "model.json") for one in (good, bad)}

    def judged(*more):
        code = run(["ledger", "verify", str(ledger), str(good), str(bad), *more])
        return code, capsys.readouterr().out

    _, out = judged()
    assert "swapped" not in out and f"{good / 'report.html'}: ok" in out
    told = json.loads(judged("--json")[1])["models"]
    for name in ("report.html", "report.json", "score.html", "s.yaml"):
        assert told[str(good / name)] == of[good] and told[str(bad / name)] == of[bad]
        (good / name).rename(tmp_path / "x")
        (bad / name).rename(good / name)
        (tmp_path / "x").rename(bad / name)
    code, out = judged()
    assert code == 8 and out.count("whether it was swapped") == 6  # both pages of a model share one
    for name, what in (
        ("report.html", "page"),
        ("report.json", "page"),
        ("score.html", "score"),
        ("s.yaml", "schema"),
    ):
        assert f"{good / name}: ok" not in out
        asked = next(line for line in out.split("\n") if "swapped" in line and f"{good / name}" in line)
        assert f"{what} of {of[bad]} and lies beside {of[good]}" in asked
    assert (
        "whose schema has other columns, bounds or categories (`age`: in this schema alone; `dose`: in the model alone)"
        in out
    )
    assert run(["ledger", "verify", str(tmp_path)]) == 2  # without a ledger, which lies in that folder
    assert f"name a ledger before the files: nothing else says which charges there are. {ledger} lies" in (
        capsys.readouterr().err
    )
    assert f"whose own page is {bad / 'report.html'} and {bad / 'report.json'}" in out
    assert json.loads(judged("--json")[1])["models"][str(good / "report.html")] == of[bad]
    digits = hashlib.sha256(Path(of[bad]).read_bytes()).hexdigest()[:12]
    code = run(["ledger", "verify", str(ledger), str(good / "report.html")])  # neither model is given
    out = capsys.readouterr().out
    assert code == 8 and f"it is the page of a model that was not given ({digits})" in out
    assert f"lies beside {of[good]}, whose own page is not among the files given" in out


@pytest.mark.parametrize(
    ("note", "said"),
    [
        ("train: Rescale", "plan of the model is not the one that row 1 paid for"),
        ("hold out 0.5, evaluate: scores, train: Rescale", "the page with the score is: row 1 paid for one"),
    ],
)
def test_a_model_of_another_plan_is_not_asked_for_a_score_that_nobody_paid_for(tmp_path, capsys, note, said):
    """A reader signed models with other bounds again, and was sent to ask for a page with a score that never was."""
    book = Ledger.create(tmp_path / "L.db", "people", epsilon=4, delta=1e-3)
    domain = prepriv.Domain({"dose": prepriv.Numeric(0, 2)}, classes=["no", "yes"], n=50)
    model = prepriv.PrivateClassifier(domain, steps=[], learner=LEARNER, threads=1).fit(ROWS, LABELS).model_
    amounts = {"adjacency": "replace-one", "epsilon": model.declared.epsilon, "delta": model.declared.delta}
    charge = book.charge("x", "0" * 64, note=note, **amounts)
    receipt = {"plan_uid": "x", "sequence": charge.sequence, "head": charge.head}
    replace(model, receipt=receipt).save(tmp_path / "m")
    book.released("x", hashlib.sha256((tmp_path / "m" / "model.json").read_bytes()).hexdigest())
    assert run(["report", str(tmp_path / "m"), "--ledger", str(tmp_path / "L.db")]) == 8
    told = " ".join(capsys.readouterr().out.split())
    assert said in told and ("the page with the score" in told) == note.startswith("hold out")
