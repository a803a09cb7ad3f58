"""Hostile tables through the whole job: one line at most, and never one that a cell decides."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import prepriv
from prepriv.cli import run
from prepriv.schemas.schema import load_schema

N = 300
SECRET = "s3cr3t-of-anna"
SCHEMA = """
label: {name: y, classes: [no, yes]}
columns:
  age: {type: numeric, low: 0, high: 100, missing: impute}
  job: {type: categorical, categories: [clerk, smith]}
"""
BIG = SECRET + "x" * 10_000_000


def table(**columns):
    rng = np.random.default_rng(0)
    plain = {
        "age": rng.integers(18, 90, N).astype(str),
        "job": rng.choice(["clerk", "smith"], N),
        "y": rng.choice(["no", "yes"], N),
    }
    return pd.DataFrame(plain | columns, index=range(N))


HOSTILE = {
    "all missing": lambda: table(age="", job="", y=""),
    "one value": lambda: table(age=[SECRET] + [""] * (N - 1), job=[""] * (N - 1) + [SECRET]),
    "constant": lambda: table(age="7", job="clerk", y="yes"),
    "all different": lambda: table(
        age=[f"{i}e300" for i in range(N)], job=[f"{SECRET}{i}" for i in range(N)]
    ),
    "emoji": lambda: table(age="🙂", job="👩‍👩‍👧‍👦" + SECRET, y="🏳️‍🌈"),
    "10 MB cells": lambda: table(age=[BIG] + ["1"] * (N - 1), job=["clerk"] * (N - 1) + [BIG]),
    "another label": lambda: table(y=[SECRET] + ["no"] * (N - 1)),
}


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "S.yaml").write_text(SCHEMA)
    return tmp_path


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    (folder / "S.yaml").write_text(SCHEMA)
    domain = load_schema(folder / "S.yaml").domain(rows=N)
    plain = table()
    clf = prepriv.PrivateClassifier(domain, epsilon=5.0, steps="linear").fit(plain[["age", "job"]], plain.y)
    return clf.model_.save(folder)


def said(capsys, line):
    code = run(line.split())
    out, err = capsys.readouterr()
    assert SECRET not in out + err and "🙂" not in out + err and "👩" not in out + err
    return code, err


@pytest.mark.parametrize("kind", HOSTILE)
def test_no_cell_decides_a_line(here, capsys, model, kind):
    HOSTILE[kind]().to_csv("t.csv", index=False)
    commands = {
        "describe": f"describe t.csv --schema S.yaml --rows {N} --out page.html",
        "evaluate": f"evaluate {model} t.csv --rows {N} --out score.html",
    }
    for command in commands.values():
        assert said(capsys, command) == (0, "")
    written = "".join((here / name).read_text() for name in ("page.html", "page.json", "score.html"))
    assert SECRET not in written

    # What a draft could not see is said of what it released: columns, and no cell.
    code, lines = said(capsys, f"schema init t.csv --epsilon 1 --rows {N} --out D.yaml")
    assert code == 0 and SECRET not in (here / "D.yaml").read_text()
    told = (
        "private: ",
        "Bounds are noisy by design",
        "LEFT OUT ",
        "NOT LISTED: ",
        "LOOK AT ",
        "NO GAPS WERE SEEN in these columns",
        "TO BE COMPLETED: ",
        "Free edits in the file: ",
    )
    before = (
        "before a record is read, ",
        "at ε = ",
        "few records for this ε",
        "one row, one person: ",
    )  # of the plan, and of the names of columns
    assert all(line.startswith((*told, *before)) for line in lines.splitlines())


@pytest.mark.parametrize("kind", ["all missing", "constant", "all different", "emoji", "10 MB cells"])
def test_no_cell_ends_a_choice_or_a_question(kind, tmp_path):
    hostile = HOSTILE[kind]()
    (tmp_path / "S.yaml").write_text(SCHEMA)
    domain = load_schema(tmp_path / "S.yaml").domain(rows=N)
    best = prepriv.choose(
        ["linear", {"steps": "linear", "class_weight": "balanced"}],
        hostile[["age", "job"]],
        hostile.y,
        domain,
    )
    assert SECRET not in str(best) + best.model_.text()
    prepriv.mean(hostile.age, 0, 100, epsilon=1.0)
    prepriv.histogram(hostile.age, 0, 100, epsilon=1.0, bins=5)
    prepriv.quantiles(hostile.age, [0.5], 0, 100, epsilon=1.0)


def test_a_hundred_thousand_categories(here, capsys):
    n = 100_000
    many = pd.DataFrame({"name": [f"{SECRET}{i}" for i in range(n)], "y": ["a", "b"] * (n // 2)})
    many.to_csv("many.csv", index=False)
    code, line = said(capsys, f"schema init many.csv --epsilon 1 --rows {n} --out D.yaml")
    assert code == 0 and "LEFT OUT 'name'" in line and SECRET not in (here / "D.yaml").read_text()


def test_columns_that_are_not_there_are_one_line(here, capsys, model):
    table().drop(columns="job").to_csv("t.csv", index=False)
    for command in (
        f"describe t.csv --schema S.yaml --rows {N}",
        f"evaluate {model} t.csv --epsilon 1 --rows {N}",
        f"schema init t.csv --epsilon 1 --rows {N} --label income",
    ):
        code, line = said(capsys, command)
        assert code in (2, 70) and line.count("\n") == 1 and ("job" in line or "income" in line), line
