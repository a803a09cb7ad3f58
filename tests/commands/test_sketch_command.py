"""`prepriv sketch` and `prepriv plan pipeline.py`: what they write and say, and what costs nothing."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from prepriv.cli import run
from prepriv.ledger import Ledger
from prepriv.sketches.tablesketch import WHAT, TableSketch

N = 600
FILES = {"sketch.json", "sketch.html", "tables.csv", "rows-with-these-marginals-only.csv"}


@pytest.fixture
def place(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    age = rng.uniform(0, 100, N)
    lines = [f"{a:.1f},{j},{'yes' if a > 50 else 'no'}" for a, j in zip(age, rng.choice(["u", "=1+1"], N))]
    (tmp_path / "p.csv").write_text("age,job,y\n" + "\n".join(lines) + "\n")
    (tmp_path / "S.yaml").write_text(
        "label: {name: y, classes: ['no', 'yes']}\nrows: 600\n"
        "columns: {age: {type: numeric, low: 0, high: 100}, job: {type: categorical, categories: [u, =1+1]}}\n"
    )
    Ledger.create(tmp_path / "L.db", "people", epsilon=9, delta=1e-3)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def charges():
    return sum(e.kind == "charged" for e in Ledger.open("L.db").entries())


SKETCH = ["sketch", "p.csv", "--schema", "S.yaml", "--ledger", "L.db", "--epsilon", "2"]


def test_a_folder_holds_numbers_picture_tables_and_rows(place, capsys):
    assert run([*SKETCH, "--out", "s", "--draw", "50", "--seed", "3"]) == 0
    assert {p.name for p in (place / "s").iterdir()} == FILES and charges() == 1
    said = capsys.readouterr().out
    assert WHAT in said and "ε = 2" in said
    data = json.loads((place / "s/sketch.json").read_text())
    assert data["what"] == WHAT and data["ledger"]["sequence"] == 1
    rows = pd.read_csv(place / "s/rows-with-these-marginals-only.csv")
    drawn = TableSketch.from_json(data["sketch"]).draw(50, 3)[1]
    assert rows["y"].tolist() == np.array(["no", "yes"])[drawn].tolist() and list(rows) == ["age", "job", "y"]
    tables = pd.read_csv(place / "s/tables.csv")
    assert set(tables["column"]) == {"age", "job"} and (tables["95 % from"] <= tables["noisy count"]).all()
    for name in FILES:
        assert (
            "\n=1" not in (place / "s" / name).read_text() and ",=1" not in (place / "s" / name).read_text()
        )
    assert run([*SKETCH, "--out", "s"]) == 2 and charges() == 1  # it is paid for, and stays


@pytest.mark.parametrize(
    "more, said",
    [
        (["--epsilon", "0.001", "--out", "s"], "nothing was charged: a sketch of this table"),
        ([], "--out: name a folder"),
        (["--out", "p.csv"], "must be a folder"),
        (["--out", "s", "--draw", "0"], "--draw"),
        (["--out", "s", "--rows", "0"], "n must"),
        (["--out", "there"], "is there already"),
    ],
)
def test_what_is_refused_costs_nothing(place, capsys, more, said):
    (place / "there").mkdir()
    (place / "there/tables.csv").write_text("mine")
    given = (
        SKETCH[: SKETCH.index("--epsilon")] + SKETCH[SKETCH.index("--epsilon") + 2 :]
        if "--epsilon" in more
        else SKETCH
    )
    assert run([*given, *more]) == 2 and said in capsys.readouterr().err
    assert charges() == 0 and not (place / "s").exists()


def test_names_are_compared_before_the_charge_and_rows_are_counted_after_it(place, capsys):
    (place / "p.csv").write_text("age,y\nSECRET,no\n")
    assert run([*SKETCH, "--out", "s"]) == 2 and charges() == 0
    said = capsys.readouterr()
    assert "no column 'job'" in said.err and "SECRET" not in said.err + said.out
    (place / "p.csv").write_text("age,job,y\nSECRET,u,no\n")
    assert run([*SKETCH, "--out", "s"]) == 70 and charges() == 1
    said = capsys.readouterr()
    assert "charge, which stays" in said.err and "SECRET" not in said.err + said.out


def test_the_price_alone(place, capsys):
    assert run([*SKETCH, "--price", "--pairs", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["shares"]["pairs"] == 0.25 and told["verdict"] in ("enough", "coarse") and charges() == 0


PIPELINE = """
import prepriv
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

domain = prepriv.Domain({"age": prepriv.Numeric(0, 100), "job": prepriv.Categorical(["u"])}, classes=["no", "yes"], n=4000)
first = make_column_transformer((make_pipeline(SimpleImputer(), StandardScaler()), ["age"]), (OneHotEncoder(), ["job"]))
pipeline = make_pipeline(first, PCA(2), LogisticRegression())
"""


def test_a_plan_of_a_pipeline_says_what_pays_for_each_part_and_how_it_differs(tmp_path, capsys):
    (tmp_path / "p.py").write_text(PIPELINE)
    assert run(["plan", str(tmp_path / "p.py"), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    paid = {part[0]: part[2] for part in told["transformers"]}
    assert paid == {
        "SimpleImputer": "budget",
        "StandardScaler": "budget",
        "OneHotEncoder": "free",
        "PCA": "budget",
    }
    assert "LogisticRegression is found by a few noisy gradient steps" in " ".join(told["differs"])
    assert run(["plan", str(tmp_path / "p.py"), "--epsilon", "0.5"]) == 0  # in words
    said = " ".join(capsys.readouterr().out.split())
    assert "it is your own code" in said and "nothing is charged" in said and "ε = 0.5" in said
    assert "a sketch (pairs of columns)" in said and "ε if ignored: that of all that runs" in said
    assert "no finite ε if it is fitted without noise and leaves with the model" in said
    (tmp_path / "p.py").write_text(
        PIPELINE.replace("pipeline =", "k = 2\npipeline =").replace("PCA(2)", "PCA(k)")
    )
    assert run(["plan", str(tmp_path / "p.py"), "--json"]) == 0  # the file itself uses k
    capsys.readouterr()
    (tmp_path / "p.py").write_text(PIPELINE.replace("PCA(2)", "PCA(0.9)"))
    assert run(["plan", str(tmp_path / "p.py"), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert {part[2] for part in told["transformers"]} == {"sketch", "free"}
    assert [way[0] for way in told["ways"]] == ["sketch (taken)", "budget", "sensitivity"]
    assert "chooses by the records" in told["ways"][1][3]


@pytest.mark.parametrize(
    "change, more, said",
    [
        (
            "LogisticRegression()",
            "RandomForestClassifier()",
            "RandomForestClassifier: it has no private learner here",
        ),
        ("PCA(2)", "PCA(0.9)", "cannot be paid for. By a sketch"),
        ("pipeline =", "other =", "must define `domain`"),
        (
            "pipeline =",
            "epsilon, shares, _of_mine, MINE = 3, 'a', 1, 2\npipeline =",
            "sets epsilon, shares, which",
        ),
        (
            "pipeline =",
            "n = 2\nstr(n)\npipeline =",
            "sets n, which",
        ),
        ("import prepriv\n", "import prepriv\n1 / 0\n", "does not run to its end (ZeroDivisionError"),
    ],
)
def test_a_pipeline_that_is_not_taken_is_one_sentence(tmp_path, capsys, change, more, said):
    (tmp_path / "p.py").write_text(PIPELINE.replace(change, more))
    assert run(["plan", str(tmp_path / "p.py"), "--rows", "50"]) == 2 and said in capsys.readouterr().err


def test_options_of_schemas_are_refused_for_a_pipeline(tmp_path, capsys):
    (tmp_path / "p.py").write_text(PIPELINE)
    assert run(["plan", str(tmp_path / "p.py"), "--threshold", "0.3"]) == 2
    assert "--threshold is for schemas" in capsys.readouterr().err
