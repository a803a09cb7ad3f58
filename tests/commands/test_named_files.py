"""A file that is not what a command reads is named for what it is: a schema that is not valid, and what was given in place of a model."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import prepriv
from prepriv.cli import run
from prepriv.commands.receipts import booked_by_then
from prepriv.learners import GradientDescent, Logistic
from prepriv.ledger import Ledger

SCHEMA = "label: {name: y, classes: ['no', 'yes']}\ncolumns: {age: {type: numeric, low: 0, high: 100}}\nrows: 300\n"
AGES, LABELS = np.arange(300) % 100, ["no", "yes"] * 150


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pd.DataFrame({"age": AGES, "y": LABELS}).to_csv("t.csv", index=False)
    (tmp_path / "s.yaml").write_text(SCHEMA)
    Ledger.create("L.db", "people", epsilon=4, delta=1e-3)
    return tmp_path


@pytest.mark.parametrize(
    "old, new, said",
    [
        ("high: 100", "high: 100, missing: 0", "it is not a valid schema: columns.age.numeric.missing: input should be"),
        ("rows: 300", "rows: 300\nunit: hh", "it is not a valid schema: declare unit and rows_per_unit together"),
        ("low: 0, high: 100", "low: 95, high: 0", "it is not a valid schema: columns.age: bounds must be finite with low < high"),
        ("rows: 300", "draft: true", "it is a draft, with bounds, categories and classes read off the data"),
        (SCHEMA, "services: {web: 1}\n", "it holds no receipt"),
    ],
)  # fmt: skip
def test_a_schema_that_is_not_valid_says_why(folder, capsys, old, new, said):
    """A schema written by hand was "not compared: it holds no receipt", which it does not need."""
    (folder / "a.yaml").write_text(SCHEMA.replace(old, new))
    assert run(["ledger", "verify", "L.db", "a.yaml"]) == 8
    assert f"a.yaml: NOT DECIDED, not compared: {said}" in capsys.readouterr().out
    if "not a valid" in said:
        assert run(["plan", "a.yaml"]) == 2
        assert said.partition("schema: ")[2] in capsys.readouterr().err


def test_what_was_named_in_place_of_a_model_is_named_with_its_command(folder, capsys):
    """A description, a sketch and a schema were "not a model of this library, or it is damaged"."""
    budget = ["--schema", "s.yaml", "--ledger", "L.db"]
    assert run(["describe", "t.csv", *budget, "--epsilon", "0.5", "--out", "d.html"]) == 0
    assert run(["sketch", "t.csv", *budget, "--epsilon", "1", "--out", "sk"]) == 0
    domain = prepriv.Domain({"age": prepriv.Numeric(0, 100)}, classes=["no", "yes"], n=300)
    clf = prepriv.PrivateClassifier(domain, steps=[], learner=GradientDescent(Logistic(), steps=2), threads=1)
    model = clf.fit(pd.DataFrame({"age": AGES}), LABELS).model_
    plan = prepriv.evaluation.evaluation_plan.plan_evaluation(model, n=300, epsilon=1.0)
    score = prepriv.evaluation.evaluate.evaluate(plan, model, pd.DataFrame({"age": AGES}), LABELS)
    for ending in ("html", "json"):
        clf.report_.save(folder / f"page.{ending}")
        score.save(folder / f"score.{ending}")
    capsys.readouterr()
    charge = "and not a model. `prepriv ledger verify LEDGER {} ` compares it with its charge"
    for name, what in (
        ("d.json", "holds a description (`prepriv describe`)"),
        ("d.html", "holds a description (`prepriv describe`)"),
        ("sk/sketch.json", "holds a sketch (`prepriv sketch`)"),
        ("sk/sketch.html", "holds a sketch (`prepriv sketch`)"),
        ("score.json", "holds a score (`prepriv evaluate`)"),
        ("score.html", "holds a score (`prepriv evaluate`)"),
        ("page.json", "is the page of a model and not the model itself. `prepriv report MODEL --verify page.json`"),
        ("page.html", "is the page of a model and not the model itself. `prepriv report MODEL --verify page.html`"),
        ("s.yaml", "is a schema and not a model. `prepriv ledger verify LEDGER s.yaml MODEL`"),
    ):  # fmt: skip
        assert run(["report", name]) == run(["report", name, "--ledger", "L.db"]) == 2
        said = " ".join(capsys.readouterr().err.split())
        assert said.count(f"{name} {what}") == 2 and "damaged" not in said
        assert "holds" not in what or charge.replace(" ` ", "` ").format(name) in said
    for name, text in (
        ("o.yaml", "services: {web: 1}\n"),
        ("o.json", "[1]"),
        ("no.json", None),
        ("t.html", "<p>"),
    ):
        if text is not None:
            (folder / name).write_text(text)
        assert run(["report", name]) == 2
        assert "is not a model of this library" in (err := capsys.readouterr().err) or "no model at" in err


def test_what_a_file_states_of_its_ledger_is_said_where_the_ledger_given_is_older(folder, capsys):
    """ "its charge 3 is not in this ledger" left out what the file itself says was booked by then."""
    domain = prepriv.Domain({"age": prepriv.Numeric(0, 100)}, classes=["no", "yes"], n=300)
    Ledger.create("old.db", "people", epsilon=4, delta=1e-3)
    rows = pd.DataFrame({"age": AGES})
    answers = [
        prepriv.ask(rows, prepriv.Domain(domain.columns, n=300), ["mean(age)"], epsilon=e, ledger="L.db")
        for e in (1.5, 1.0)
    ]
    (folder / "answers.json").write_text(json.dumps(answers[1].to_json()))
    said = (
        "By what it states itself, epsilon {}, delta {} of a cap of epsilon 4, delta 0.001 was booked by then"
    )
    assert run(["ledger", "verify", "old.db", "answers.json"]) == 5
    assert f"for that of this file. {said.format(2.5, 2e-6)}" in capsys.readouterr().out.replace(
        "2e-06", "2e-06"
    )
    clf = prepriv.PrivateClassifier(
        domain, epsilon=0.5, steps=[], learner=GradientDescent(Logistic(), steps=2), ledger="L.db", threads=1
    )
    clf.fit(rows, LABELS).model_.save(folder / "m", ledger="L.db")
    for line in (["report", "m", "--ledger", "old.db"], ["ledger", "verify", "old.db", "m"]):
        assert run(line) in (1, 5)
        assert said.format(3, 1.2e-05) in capsys.readouterr().out


@pytest.mark.parametrize(
    "told", [None, {}, {"total": 3}, {"total": "everything is fine"}, {"total": "epsilon 1. Sign it"}, {"total": f"epsilon {'9' * 400}"}, {"cap": "epsilon 1"}]
)  # fmt: skip
def test_only_amounts_are_repeated_from_a_file(told):
    assert booked_by_then(told) == ""
    assert booked_by_then({"total": "mu^2 0.25", "cap": told}) == ". By what it states itself, mu^2 0.25 was booked by then"  # fmt: skip
