"""`prepriv report --verify` shows where two lines differ, however long they are."""

from __future__ import annotations

import numpy as np
import pandas as pd

import prepriv
from prepriv.cli import run
from prepriv.commands.verify import lines_apart
from prepriv.evaluation.evaluate import evaluate
from prepriv.evaluation.evaluation_plan import plan_evaluation
from prepriv.learners import GradientDescent, Logistic
from prepriv.ledger import Ledger


def test_what_differs_is_shown():
    alike = "x" * 5000
    said = lines_apart(alike + "ε = 1", alike + "ε = 9")
    assert "ε = 1" in said and "ε = 9" in said and len(said) < 200
    assert lines_apart("a", None) == "'a'; the model's: nothing"
    assert lines_apart("same and more", "same") == "'same and more'; the model's: 'same'"


def test_what_is_not_a_report_of_this_model_is_named(tmp_path, capsys):
    """Two lines that look alike stood for CRLF, and a page of `evaluate` was called damaged."""
    rows, labels = pd.DataFrame({"dose": np.linspace(0, 1, 50)}), ["no", "yes"] * 25
    domain = prepriv.Domain({"dose": prepriv.Numeric(0, 1)}, classes=["no", "yes"], n=50)
    clf = prepriv.PrivateClassifier(domain, steps=[], learner=GradientDescent(Logistic(), steps=2), threads=1)
    model = clf.fit(rows, labels).model_
    model.save(tmp_path / "m")
    page, ledger = clf.report_.save(tmp_path / "page.html"), tmp_path / "L.db"
    line = ["report", str(tmp_path / "m"), "--verify"]
    page.write_bytes(page.read_bytes().replace(b"\n", b"\r\n"))
    assert run([*line, str(page)]) == 1
    assert "differs: its line endings alone" in capsys.readouterr().out
    Ledger.create(ledger, "people", epsilon=9, delta=1e-3)
    found = evaluate(plan_evaluation(model, n=50, epsilon=1.0), model, rows, labels, ledger=ledger)
    for name in ("ev.html", "ev.json"):
        copy = found.save(tmp_path / name, ledger=ledger if name == "ev.html" else None)
        assert run([*line, str(copy)]) == 2
        assert "is a measurement" in capsys.readouterr().err
        noted = name == "ev.html"  # a ledger holds one hash beside a charge
        assert run(["ledger", "verify", str(ledger), str(copy)]) == (0 if noted else 8)
        said = capsys.readouterr().out
        assert ("ok, charge 1" if noted else "NOT DECIDED, charge 1") in said
    assert "of another file, so this file is not the one that was released" in said
    with (tmp_path / "ev.html").open("a") as opened:
        opened.write(" ")
    assert run(["ledger", "verify", str(ledger), str(tmp_path / "ev.html")]) == 5
    assert "no release in this ledger is this file" in capsys.readouterr().out


def test_blanks_are_shown_where_they_are_all_that_differs():
    """`'</html>'; the model's: '</html>'` showed two equal lines."""
    assert lines_apart("</html> ", "</html>") == "'</html> '; the model's: '</html>'"


def test_an_edit_inside_a_measurement_is_named(tmp_path, capsys):
    rows, labels = pd.DataFrame({"dose": np.linspace(0, 1, 50)}), ["no", "yes"] * 25
    domain = prepriv.Domain(
        {"dose": prepriv.Numeric(0, 1)}, classes=["no", "yes"], n=50, declared_by="K. Lindqvist"
    )
    clf = prepriv.PrivateClassifier(
        domain, steps=[], learner=GradientDescent(Logistic(), steps=2), holdout=0.5, threads=1
    )
    clf.fit(rows, labels).model_.save(tmp_path / "m")
    page = clf.report_.save(tmp_path / "page.html")
    page.write_text(page.read_text().replace("K. Lindqvist", "A. Other"))
    assert run(["report", str(tmp_path / "m"), "--verify", str(page)]) == 1
    assert "measured_in_private.plan.domain.declared_by" in " ".join(capsys.readouterr().err.split())
