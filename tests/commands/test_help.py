"""Every command's help has one example, which the command line parses; shells complete names and options."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys

import pytest
import typer

from prepriv.cli import run
from prepriv.commands.app import EXAMPLES, app


def leaves(command, path=()):
    """(names, command) of every command that does something."""
    if not hasattr(command, "commands"):
        return [(path, command)]
    return [leaf for name, c in command.commands.items() for leaf in leaves(c, (*path, name))]


EVERY = leaves(typer.main.get_command(app))
LEAVES = [leaf for leaf in EVERY if leaf[0][0] != "reproduce"]


@pytest.mark.parametrize("path, command", LEAVES, ids=lambda x: " ".join(x) if isinstance(x, tuple) else "")
def test_every_command_has_an_example_that_parses(path, command, capsys):
    example = EXAMPLES[" ".join(path)]
    assert run([*path, "--help"]) == 0
    assert f"Example: {example}" in " ".join(capsys.readouterr().out.split())
    words = shlex.split(example)
    assert words[: 1 + len(path)] == ["prepriv", *path]
    command.make_context("prepriv", words[1 + len(path) :])  # raises a usage error


def test_examples_are_of_commands_that_exist():
    assert set(EXAMPLES) == {" ".join(path) for path, _ in LEAVES} | {"reproduce"}


@pytest.mark.parametrize("typed, meant", [("prepriv tr", "train"), ("prepriv train --hold", "--holdout")])
def test_a_shell_completes(typed, meant):
    words = {"_PREPRIV_COMPLETE": "complete_zsh", "_TYPER_COMPLETE_ARGS": typed}
    code = "import sys; sys.argv = ['prepriv']; from prepriv.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | words, capture_output=True, text=True, check=False
    )
    assert meant in done.stdout


def test_numbers_as_json_and_nothing_else(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    commands = (
        "shuffle --epsilon0 1 --n 1000 --delta 1e-6 --json",
        "ledger create L.db --dataset d --epsilon 1 --delta 1e-6 --json",
        "ledger plan L.db --json",
        "ledger show L.db --json",
        "ledger verify L.db --json",
        "reproduce list --json",
        "reproduce ptr-utility --json",
        "reproduce sgd-iteration --json",
        "audit sensitivity Center --seconds 0.05 --json",
        "audit empirical gaussian --runs 100 --json",
        "audit chains --chains 12 --pairs 4 --json",
    )
    for line in commands:
        assert run(line.split()) == 0
        assert json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("path, command", EVERY, ids=lambda x: " ".join(x) if isinstance(x, tuple) else "")
def test_every_command_has_json(path, command):
    assert any("--json" in parameter.opts for parameter in command.params)


SCHEMA = """
label: {name: y, classes: [a, b]}
columns:
  x: {type: numeric, low: 0, high: 1}
"""


def test_train_plan_evaluate_and_their_pictures(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.yaml").write_text(SCHEMA)
    (tmp_path / "t.csv").write_text("x,y\n" + "".join(f"{i / 400},{'ab'[i % 2]}\n" for i in range(400)))
    budget = "--epsilon 4 --delta 1e-5"
    out = {}
    for line in (
        f"plan s.yaml --rows 400 {budget} --plot p.svg --json",
        f"train t.csv --schema s.yaml {budget} --json",
        "evaluate run/model t.csv --epsilon 1 --json",
        "report run/model --json",
        "predict run/model t.csv --proba --json",
        "predict run/model t.csv --out p.csv --json",
        "schema init t.csv --json",
        "schema init t.csv --epsilon 1 --rows 400 --out drafted.yaml --json",
        "validate t.csv --schema s.yaml --json",
        "audit replay s.yaml --rows 20 --pairs 4 --json",
    ):
        assert run(line.split()) == 0
        out[line.split()[0]] = json.loads(capsys.readouterr().out)
    assert len(out["predict"]["prediction"]) == len((tmp_path / "p.csv").read_text().splitlines()) - 1 == 400
    assert "x" in out["schema"]["columns"] and (tmp_path / "drafted.yaml").is_file()
    assert out["plan"]["plan_hash"] == out["train"]["plan_hash"] == out["report"]["plan_hash"]
    assert (tmp_path / "p.svg").read_text().startswith("<svg ") and out["evaluate"]["figures"]
    assert run(["plan", "s.yaml", "--rows", "400", "--plot", "s.yaml"]) == 2
    assert run(f"train t.csv --schema s.yaml --out two {budget}".split()) == 0
    assert "prepriv evaluate" in capsys.readouterr().out  # and says how to get a score


def test_a_draft_says_what_to_look_at_of_what_it_released(tmp_path, monkeypatch, capsys):
    """Numbers with decimal commas, a label of numbers, and what costs nothing to change."""
    monkeypatch.chdir(tmp_path)
    lines = [f'"{i % 3},5",{i % 2},{i % 4}' for i in range(2000)]
    (tmp_path / "t.csv").write_text("price,b,stars\n" + "\n".join(lines) + "\n")
    assert (
        run(
            [
                "schema",
                "init",
                "t.csv",
                "--label",
                "stars",
                "--epsilon",
                "4",
                "--rows",
                "2000",
                "--out",
                "s.yaml",
            ]
        )
        == 0
    )
    said = capsys.readouterr().err
    assert "written: comma" in (tmp_path / "s.yaml").read_text()
    assert not any("'b'" in line for line in said.splitlines() if line.startswith("LOOK AT"))
    assert "write low: and high: in place of classes:, with the bounds of 'stars'" in said
    assert "Free edits in the file: delete the lines of a column" in said


def test_a_list_in_a_help_text_keeps_its_lines(capsys):
    """Only a backspace, not its two characters, tells the command line to leave a paragraph as it is."""
    for path, _ in LEAVES:
        assert run([*path, "--help"]) == 0
        said = capsys.readouterr().out
        assert "\\b" not in said
        if path == ("account",):
            assert "\n    PoissonSGD                Poisson sampling" in said
