"""`prepriv evaluate`: what it prints, what it writes, what it charges, and every mistake in one line."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from prepriv.cli import run
from prepriv.guarantees.printed import measured
from prepriv.ledger import Ledger

SCHEMA = """label: {name: ill, classes: [no, yes]}
adjacency: ADJACENCY
columns:
  age: {type: numeric, low: 0, high: 100}
  dose: {type: numeric, low: 0, high: 1}
"""


@pytest.fixture(scope="module", params=["replace-one", "add-or-remove-one"])
def folder(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    rng = np.random.default_rng(0)
    for name in ("train.csv", "test.csv"):
        age, dose = rng.integers(0, 101, 500), rng.random(500)
        ill = np.where(age / 100 + dose + 0.1 * rng.normal(size=500) > 1, "yes", "no")
        lines = [f"{a},{d:.3f},{i}" for a, d, i in zip(age, dose, ill)]
        (folder / name).write_text("\n".join(["age,dose,ill", *lines]) + "\n")
    (folder / "S.yaml").write_text(SCHEMA.replace("ADJACENCY", request.param))
    assert train(folder) == 0
    Ledger.create(folder / "L.db", "people", epsilon=0.3, delta=1e-3, adjacency=request.param)
    return folder


def train(folder):
    return run(
        ["train", f"{folder}/train.csv", "--schema", f"{folder}/S.yaml", "--rows", "500", "--epsilon", "5"]
        + ["--out", f"{folder}/run"]
    )


def test_a_run_is_evaluated_charged_and_written(folder, capsys):
    code = run(
        ["evaluate", f"{folder}/run", f"{folder}/test.csv", "--rows", "500", "--epsilon", "0.2"]
        + ["--ledger", f"{folder}/L.db", "--out", f"{folder}/e.json"]
    )
    printed = capsys.readouterr().out
    assert code == 0 and "ε = 0.2 at δ = 1e-05" in printed and "balanced accuracy" in printed
    made = json.loads((folder / "e.json").read_text())
    entries = Ledger.open(folder / "L.db").entries()
    assert [e.kind for e in entries] == ["charged", "released"]
    assert entries[0].plan_hash == made["plan_hash"] and made["ledger"]["plan_uid"] == entries[0].plan_uid
    for said in made["figures"]:
        if said["value"] is not None:
            assert measured(said["value"], said["low"], said["high"])[0] in printed
    assert (  # what privacy was paid for is not replaced
        run(["evaluate", f"{folder}/run", f"{folder}/test.csv", "--rows", "500", "--out", f"{folder}/e.json"])
        == 2
    )
    before = len(Ledger.open(folder / "L.db").entries())
    assert (
        run(
            ["evaluate", f"{folder}/run", f"{folder}/test.csv", "--rows", "500", "--ledger", f"{folder}/L.db"]
        )
        == 0
    )
    assert (
        run(
            ["evaluate", f"{folder}/run", f"{folder}/test.csv", "--rows", "500", "--ledger", f"{folder}/L.db"]
        )
        == 3
    )
    assert len(Ledger.open(folder / "L.db").entries()) == before + 1


@pytest.mark.parametrize(
    "extra, code, says",
    [
        (["--epsilon", "0"], 2, "epsilon must be a positive number"),
        (["--measure", "f1"], 2, "measures must be some of"),
        (["--label", "age"], 2, "or rename the column in the header"),
        (["--out", "e.txt"], 2, "--out must end in .html or .json"),
        (["--rows", "500"], 2, "--rows is given twice"),
    ],
)
def test_mistakes_are_one_line_and_cost_nothing(folder, extra, code, says, capsys):
    before = Ledger.open(folder / "L.db").entries()
    got = run(
        ["evaluate", f"{folder}/run", f"{folder}/test.csv", "--rows", "500", "--ledger", f"{folder}/L.db"]
        + extra
    )
    said = capsys.readouterr().err
    assert got == code and says in said and said.count("\n") == 1
    assert Ledger.open(folder / "L.db").entries() == before


def test_a_number_of_rows_below_one_is_one_line(folder, capsys):
    assert run(["evaluate", f"{folder}/run", f"{folder}/test.csv", "--rows", "-1"]) == 2
    assert "n must be a whole number" in capsys.readouterr().err


def test_files_that_do_not_fit_are_one_line(folder, capsys):
    (folder / "other.csv").write_text("a,b\n1,2\n")
    for model, test, code in (("nothing", "test.csv", 2), ("run", "nothing.csv", 2), ("run", "other.csv", 2)):
        assert run(["evaluate", f"{folder}/{model}", f"{folder}/{test}", "--rows", "1"]) == code
        assert capsys.readouterr().err.count("\n") == 1
    Ledger.create(folder / "M.db", "people", epsilon=1, delta=1e-3, adjacency=adjacency(folder))
    got = run(
        ["evaluate", f"{folder}/run", f"{folder}/other.csv", "--rows", "1", "--ledger", f"{folder}/M.db"]
    )
    assert got == 2 and "no column 'age'" in capsys.readouterr().err  # names are public: before the charge
    assert not Ledger.open(folder / "M.db").entries()


def test_the_number_of_rows(folder, capsys):
    """Counted where it is public and nothing is charged; declared elsewhere."""
    got = run(["evaluate", f"{folder}/run", f"{folder}/test.csv"])
    assert got == (0 if adjacency(folder) == "replace-one" else 2)
    assert run(["evaluate", f"{folder}/run", f"{folder}/test.csv", "--ledger", f"{folder}/L.db"]) == 2
    got = run(["evaluate", f"{folder}/run", f"{folder}/test.csv", "--rows", "499"])
    assert got == (2 if adjacency(folder) == "replace-one" else 0)
    capsys.readouterr()


def adjacency(folder):
    return re.search("adjacency: (.*)", (folder / "S.yaml").read_text())[1]


PAGE = (Path(__file__).parents[2] / "docs" / "evaluate.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("block", re.findall(r"```python\n(.*?)```", PAGE, re.S))
def test_python_blocks_of_the_page_run(block, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(block, "docs/evaluate.md", "exec"), {})


@pytest.mark.parametrize("command", sorted(set(re.findall(r"^prepriv (.*)$", PAGE, re.M))))
def test_options_of_the_page_exist(command, capsys):
    words = command.split()
    assert run([words[0], "--help"]) == 0
    helped = capsys.readouterr().out
    assert all(word in helped for word in words if word.startswith("--"))
