"""`prepriv audit replay` on schemas, on a user's own step, on a table."""

from __future__ import annotations

import pytest

from prepriv.cli import run

SCHEMA = """
label: {name: y, classes: [no, yes]}
columns:
  a: {type: numeric, low: 0, high: 1, missing: impute}
  b: {type: categorical, categories: [u, v]}
steps:
  - {step: MeanImputer, pay: sensitivity, missing: 0.1}
  - {step: Center, pay: budget, share: 0.1}
  - {step: Rescale, radius: 3}
"""
OWN = """
from prepriv import Budget, Domain
from prepriv.learners.gradient_descent import GradientDescent
from prepriv.learners.losses import Logistic
from prepriv.preprocessing import Center

class Mine(Center):
    def fit_budget(self, rows, space, n, mechanisms):
        LEAK
        return super().fit_budget(rows, space, n, mechanisms)

domain = Domain.box(0, 1, 3, ["a", "b"])
steps = [Mine(payment=Budget(0.1))]
learner = GradientDescent(Logistic(), steps=3)
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.yaml").write_text(SCHEMA)
    return tmp_path


def test_a_schema_is_replayed_on_synthetic_tables_in_memory_and_through_csv(folder, capsys):
    assert run(["audit", "replay", "s.yaml", "--pairs", "60", "--rows", "30"]) == 0
    out = capsys.readouterr().out
    assert "60 pairs replayed" in out and "Center" in out and "curator" not in out


def test_a_table_can_be_replayed_and_the_output_is_for_the_curator(folder, capsys):
    lines = [f"{i / 40},{'uv'[i % 2]},{('no', 'yes')[i % 3 % 2]}" for i in range(40)]
    (folder / "t.csv").write_text("\n".join(["a,b,y", *lines, ""]))
    assert run(["audit", "replay", "s.yaml", "--data", "t.csv", "--pairs", "20"]) == 0
    assert "for the curator only" in capsys.readouterr().out


def test_a_users_own_step_is_replayed(folder, capsys):
    (folder / "own.py").write_text(OWN.replace("LEAK", "pass"))
    assert run(["audit", "replay", "own.py", "--pairs", "40"]) == 0
    assert "Mine" in capsys.readouterr().out


@pytest.mark.parametrize(
    "leak, says",
    [
        ("print(sum(b.sum() for b in rows))", "stdout differs"),
        ("n = sum(int(b.sum()) for b in rows) + 1", "artifact differs"),
        (
            # the plan tries a step on 8 and on 48 rows
            "x = next(iter(rows)); mechanisms.sum(rows, dim=3, radius=1.0) if len(x) > 48 and (x == 1).any() else 0",
            "calls of mechanisms",
        ),
        ("x = next(iter(rows)); assert len(x) <= 48 or x.min() > 0", "outcome differs"),
    ],
)
def test_a_leak_in_a_users_own_step_is_found_and_is_an_exit_code(folder, capsys, leak, says):
    (folder / "own.py").write_text(OWN.replace("LEAK", leak))
    assert run(["audit", "replay", "own.py", "--pairs", "40"]) == 1
    captured = capsys.readouterr()
    assert says in captured.out and captured.out.splitlines()[-1].startswith("broken: ")


@pytest.mark.parametrize("text", ["", "domain = 1\nsteps = []\n"])
def test_a_config_that_defines_nothing_is_bad_input(folder, capsys, text):
    (folder / "own.py").write_text(text)
    assert run(["audit", "replay", "own.py"]) == 2
    assert run(["audit", "replay", "none.py"]) == 2


def test_conditions_that_no_pair_meets_are_not_passed_over_in_silence(folder, capsys):
    assert run(["audit", "replay", "s.yaml", "--pairs", "8", "--missing", "0.9"]) == 8
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith("not decided because no pair met the declared conditions")
