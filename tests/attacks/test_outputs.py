"""Outputs destroy nothing that was not written for that purpose, and nothing in them acts on who reads them.

Findings: `predict --out` replaced its own input if its first column was named prediction; `train --out` replaced a
paid-for model without a word; terminal escapes, markup and formulas of labels went through.
"""

from __future__ import annotations

import csv
import json
import os
from pathlib import Path

import pytest

from prepriv import Domain, Numeric
from prepriv._text import csv_cell, printable
from prepriv.cli import run
from prepriv.learners.gradient_descent import GradientDescent
from prepriv.learners.losses import Logistic
from prepriv.plans.plan import make_plan
from prepriv.release.model import Model
from prepriv.release.report import Evaluation, Report

SCHEMA = """
label: {name: y, classes: [no, yes]}
rows: 40
columns: {prediction: {type: numeric, low: 0, high: 1}, b: {type: numeric, low: 0, high: 1}}
"""
TRAIN = ["train", "t.csv", "--schema", "s.yaml"]
EVIL = "\x1b[2J\x1b]0;title\x07[red]x[/red][/foo]\x9b\u202e\u2028"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [f"{k % 7 / 7:.2f},{k % 5 / 5:.2f},{'no' if k % 2 else 'yes'}" for k in range(40)]
    Path("t.csv").write_text("\n".join(["prediction,b,y", *rows, ""]))
    Path("s.yaml").write_text(SCHEMA)
    return tmp_path


def contents():
    return {p: p.read_bytes() for p in Path().rglob("*") if p.is_file()}


def refused(capsys, *arguments):
    """The one line of a refusal that changed no file."""
    before = contents()
    capsys.readouterr()
    assert run([str(a) for a in arguments]) == 2
    out, err = capsys.readouterr()
    assert contents() == before and out == "" and err.count("\n") == 1, (out, err)
    return err


# ------------------------------------------------------------------------------------------------- predict


def test_predict_never_replaces_what_it_reads_or_what_it_did_not_write(folder, capsys):
    assert run(TRAIN) == 0
    Path("one.csv").write_text("prediction,b\n0.5,0.5\n")  # the finding: the first column is named prediction
    Path("same.csv").hardlink_to("one.csv")
    Path("link.csv").symlink_to("one.csv")
    Path("only.csv").write_text("prediction\nno\n")
    Path("mine.csv").write_text("prediction,age\n1,2\n")
    Path("close.csv").write_text("prediction,p(no),age\n1,2,3\n")
    Path("nul.csv").write_bytes(b"\0" * 50)
    for out in ("one.csv", "same.csv", "link.csv", "t.csv", "mine.csv", "close.csv", "nul.csv"):
        assert "is not overwritten" in refused(capsys, "predict", "run", "one.csv", "--out", out), out
    for out in ("run/model/model.json", "run/report.html", "run/report.json", "s.yaml"):
        assert "is not overwritten" in refused(capsys, "predict", "run", "one.csv", "--out", out)
    Path("only.csv").unlink()
    Path("only.csv").write_text("prediction\n0.5\n")
    Path("narrow.yaml").write_text(SCHEMA.replace(", b: {type: numeric, low: 0, high: 1}", ""))
    assert run(["train", "t.csv", "--schema", "narrow.yaml", "--out", "narrow"]) == 0
    assert "is read itself" in refused(capsys, "predict", "narrow", "only.csv", "--out", "only.csv")
    assert "is a folder" in refused(capsys, "predict", "run", "one.csv", "--out", "run")


def test_predict_replaces_its_own_output_and_an_empty_file(folder, capsys):
    assert run(TRAIN) == 0
    Path("p.csv").touch()
    for more in ([], ["--proba"], []):
        assert run(["predict", "run", "t.csv", "--out", "p.csv", *more]) == 0
    assert Path("p.csv").read_text().splitlines()[0] == "prediction"


# --------------------------------------------------------------------------------------------------- train


def test_train_replaces_a_private_model_only_when_told_to(folder, capsys):
    assert run(TRAIN) == 0
    first = Path("run/model/model.json").read_bytes()
    for command in (TRAIN, ["demo"], [*TRAIN, "--epsilon", "inf"]):
        assert "--overwrite" in refused(capsys, *command)
    assert run([*TRAIN, "--overwrite"]) == 0
    assert Path("run/model/model.json").read_bytes() != first
    old = Path("run/model/model.json").read_text().replace("prepriv-model-2", "prepriv-model-0")
    Path("run/model/model.json").write_text(old)  # of another version: it may be paid for, too
    assert "--overwrite" in refused(capsys, *TRAIN)


def test_train_replaces_a_model_without_privacy(folder, capsys):
    assert run([*TRAIN, "--epsilon", "inf"]) == 0
    assert run(TRAIN) == 0
    assert Model.load("run").private


@pytest.mark.parametrize("name", ["report.html", "report.json", "model/model.json"])
def test_train_never_replaces_what_no_run_wrote(folder, capsys, name):
    Path("mine.txt").write_text("<html>my own")
    for place, make in (("a", os.link), ("b", os.symlink)):
        target = Path(place) / name
        target.parent.mkdir(parents=True)
        make(Path("mine.txt").resolve(), target)
        for more in ([], ["--overwrite"]):
            assert "is not overwritten" in refused(capsys, *TRAIN, "--out", place, *more)


# --------------------------------------------------------------------------------------------- what is shown


def test_a_formula_as_a_label_is_a_text_in_the_predictions(folder, capsys):
    labels = ["=cmd|' /C calc'!A0", "@SUM(A1)", "+1+1", "-2+3|x", "\t=1", " =1", "＝1"]
    for label in labels:
        cell = csv_cell(label)
        assert cell.startswith("'") or cell.startswith("\\t"), label
    for number in (-1, -1.5, "-1", "+1", "-.5", "-1e-3", float("-inf"), "a=b", "x-y", ""):
        assert csv_cell(number) == str(number)
    Path("s.yaml").write_text(
        SCHEMA.replace("[no, yes]", json.dumps([labels[0], "-1"])).replace("rows: 40", "")
    )
    assert run(TRAIN) == 0
    assert run(["predict", "run", "t.csv", "--proba", "--out", "p.csv"]) == 0
    with Path("p.csv").open(newline="") as file:
        header, *rows = csv.reader(file)
    assert header == ["prediction", "p(-1)", f"p('{labels[0]})"]
    assert {row[0] for row in rows} <= {f"'{labels[0]}", "-1"}


def acts(character):
    """Control characters but line ends, separators of lines, changes of direction: by their numbers, not by the code under test."""
    n = ord(character)
    return (
        (n < 32 and n != 10)
        or 127 <= n < 160
        or n in (0x2028, 0x2029)
        or 0x202A <= n <= 0x202E
        or 0x2066 <= n <= 0x2069
    )


def test_no_escape_sequence_or_markup_of_a_name_acts(folder, capsys):
    columns = {EVIL: {"type": "numeric", "low": 0, "high": 1, "missing": "impute"}}
    schema = {"label": {"name": "y", "classes": [EVIL, "b"]}, "rows": 4, "columns": columns}
    schema["steps"] = [{"step": "MeanImputer", "pay": "sensitivity", "missing": {EVIL: 0.5}}]
    Path("s.yaml").write_text(json.dumps(schema))
    with Path("t.csv").open("w", newline="") as file:
        csv.writer(file).writerows([[EVIL, "y"], [1, EVIL], [0, "b"], [1, "b"], [0, EVIL]])
    said = ""
    for arguments in (
        ["plan", "s.yaml"],
        TRAIN,
        ["report", "run"],
        ["predict", "run", "t.csv", "--proba"],
        ["validate", "t.csv", "--schema", "s.yaml"],
        ["predict", f"no{EVIL}", "t.csv"],
    ):
        run(arguments)
        said += "".join(capsys.readouterr())
    said += Path("run/report.html").read_text() + Path("run/report.json").read_text()
    assert not {c for c in said if acts(c)}
    assert "[red]x[/red][/foo]" in said  # as it is: nobody takes it for markup


def test_markup_and_escapes_in_a_page_are_text(folder):
    name = "<script>alert(1)</script>{{ 7 * 7 }}" + EVIL
    domain = Domain({"a": Numeric(0, 1)}, (0, name), n=40)
    plan = make_plan(domain, (), GradientDescent(Logistic(), steps=2), epsilon=1.0, delta=1e-5)
    page = Report.of(plan, private=True, evaluation=Evaluation(4, 0.5, table=name)).to_html()
    assert "<script>" not in page and "{{ 7 * 7 }}" in page
    assert not {c for c in page if acts(c)}


def test_texts_in_every_script_stay_as_they_are():
    for text in ("plain", "Größe", "年齢", "عمر", "возраст", "a\u200cb", "é", "😀", ""):
        assert printable(text) == text
    assert printable("a\x1b[31mb\x00\x7f\x9b\u202e\ud800\r\n") == r"a\x1b[31mb\x00\x7f\x9b\u202e\ud800\r\n"
