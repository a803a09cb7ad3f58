"""Every audit ends with one sentence and an exit code: held, broken where, not decided because (finding E4)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from prepriv.audit.judgement import Finding, grouped_findings, judged
from prepriv.cli import run

EXAMPLES = str(Path(__file__).parents[2] / "examples")

LIAR = """
import dataclasses, winsorize
from prepriv import Domain, Sensitivity
from prepriv.learners import GradientDescent, Logistic

@dataclasses.dataclass(frozen=True)
class Liar(winsorize.Winsorize):
    def sensitivity(self, *args, **kwargs):
        s = super().sensitivity(*args, **kwargs)
        moved = s.rows_moved if SHARE else 0.0
        return dataclasses.replace(s, rows_moved=moved, row_shift=s.row_shift * SHARE, total_shift=s.total_shift * SHARE)

domain = Domain.box(0, 1, features=3, classes=[0, 1], n=60)
steps = [Liar(payment=Sensitivity({"gap": 0.2}))]
learner = GradientDescent(Logistic(), steps=5, weight_bound=2.0)
"""

OWN = """
import dataclasses, math
import numpy as np
from prepriv import Budget, Domain, Numeric, Public, Sensitivity
from prepriv import preprocessing as pre
from prepriv.learners import GradientDescent, Logistic
from prepriv.preprocessing.base import Identity, ReleasedMap, RowShift, Step
from prepriv.space import Space

ALL = ("public", "budget", "sensitivity")

class Again:
    def __init__(self, make): self.make = make
    def __iter__(self): return iter(self.make())

@dataclasses.dataclass(frozen=True)
class SteepMap(ReleasedMap):
    by: float = 9.0
    def transform(self, x): return np.clip(self.by * (x - 0.5) + 0.5, 0.0, 1.0)
    def to_json(self): return {"map": "steep", "by": self.by}

@dataclasses.dataclass(frozen=True)
class Steep(Step):
    says: float = 1.0
    def output(self, space): return Space(np.zeros(space.d), np.ones(space.d), math.sqrt(space.d) * (1 + 1e-9), np.zeros(space.d, bool), space.names)
    def lipschitz(self, space): return self.says
    def free(self, space): return SteepMap()

@dataclasses.dataclass(frozen=True)
class Above(ReleasedMap):
    def transform(self, x): return x
    def keep(self, x, start): return x[:, 0] >= 0.5
    def to_json(self): return {"map": "above"}

@dataclasses.dataclass(frozen=True)
class KeepAbove(Step):
    @property
    def drops(self): return True
    def output(self, space): return space
    def lipschitz(self, space): return 1.0
    def propagate(self, space, incoming): return incoming
    def free(self, space): return Above()

@dataclasses.dataclass(frozen=True)
class Squares(Step):
    says: float = 1.0
    ways = ("budget",)
    def output(self, space): return space
    def lipschitz(self, space): return 1.0
    def l2_sensitivity(self, space, adjacency, incoming):
        if not incoming.is_zero: raise ValueError("rows must be untouched")
        return self.says * space.radius**2 * 2
    def fit_budget(self, rows, space, n, mechanisms):
        mechanisms.sum(Again(lambda: (x * np.abs(x) for x in rows)), dim=space.d, radius=space.radius**2)
        return Identity()

@dataclasses.dataclass(frozen=True)
class Reads(Squares):
    def fit_budget(self, rows, space, n, mechanisms):
        if any((x > 0.99).any() for x in rows): raise ValueError("a large cell")
        return super().fit_budget(rows, space, n, mechanisms)

learner = GradientDescent(Logistic(), steps=2, weight_bound=2.0)
box = Domain.box(0, 1, 2, (0, 1), n=20)
ball = Domain.ball(2, (0, 1), radius=10.0, n=20)
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(EXAMPLES)
    return tmp_path


def ended(capsys, *arguments: str) -> tuple[int, dict]:
    """Exit code and JSON of an audit."""
    code = run(["audit", *arguments, "--json"])
    captured = capsys.readouterr()
    assert captured.out, captured.err
    told = json.loads(captured.out)
    assert told["sentence"].startswith(told["verdict"]) and told["sentence"][-1] != "."
    return code, told


# ------------------------------------------------------------------------------------------------------- replay


@pytest.mark.parametrize("share", ["0.0", "0.02"])
def test_a_step_that_declares_too_little_is_broken_where_it_stands(folder, capsys, share):
    """Its gradient sums stay within what is declared, so nothing else shows it."""
    (folder / "liar.py").write_text(LIAR.replace("SHARE", share))
    code, told = ended(capsys, "replay", "liar.py", "--pairs", "40")
    assert code == 1 and max(told["reach"].values()) < 1
    assert told["sentence"].startswith("broken: at step 1 (Liar): ") and " declared " in told["sentence"]
    assert ", found " in told["sentence"] and told["of"] == "made-up neighbours"


def test_the_step_that_declares_the_truth_holds(folder, capsys):
    (folder / "liar.py").write_text(LIAR.replace("SHARE", "1.0"))
    code, told = ended(capsys, "replay", "liar.py", "--pairs", "40")
    assert code == 0 and "made-up neighbours" in told["sentence"]
    (row,) = told["rows_found_and_declared"]
    assert row["after"] == "step 1 (Liar)" and 0 < row["total_shift"][0] < row["total_shift"][1]


def test_a_steep_map_after_moved_rows_is_broken(folder, capsys):
    """What came in moved far less than it may: the map is held to what it declares of rows that far apart."""
    text = """
domain = Domain({"a": Numeric(0, 1, "impute"), "b": Numeric(0, 1)}, (0, 1))
steps = [pre.MeanImputer(payment=Sensitivity({"missing": 0.2})), Steep(STATED)]
"""
    (folder / "steep.py").write_text(OWN + text.replace("STATED", "1.0"))
    code, told = ended(capsys, "replay", "steep.py", "--pairs", "60", "--missing", "0.1")
    assert code == 1 and told["sentence"].startswith("broken: at step 2 (Steep): ")
    assert any("for rows that came in as far apart as these" in f["what"] for f in told["findings"])
    (folder / "steep.py").write_text(OWN + text.replace("STATED", "9.0"))
    assert ended(capsys, "replay", "steep.py", "--pairs", "60", "--missing", "0.1")[0] == 0


def test_rows_outside_the_declared_space_are_refused_before_any_replay(folder, capsys):
    """A plan tries the map on made-up rows; rows that it did not see leave the space are held in it by the run."""
    text = "domain = ball\nsteps = [Steep()]\nSteep.output = lambda self, space: Space.ball(2, 0.5)\n"
    (folder / "out.py").write_text(OWN + text)
    assert run(["audit", "replay", "out.py", "--pairs", "8", "--rows", "20"]) == 2
    assert "the map of Steep leaves the space that `output` declares" in capsys.readouterr().err


def test_rows_outside_the_declared_ball_that_no_plan_tried_are_found_by_a_replay(folder, capsys):
    """The run holds them in the ball, so that nothing else shows them: they are in the box, and the rows of others stay."""
    text = "domain = dataclasses.replace(ball, label='label')\nsteps = [Steep()]\nSteep.output = lambda self, space: space\n"
    text += "SteepMap.transform = lambda self, x: np.where((x == [9.0, 0.25]).all(axis=1)[:, None], [9.0, Y], x)\n"
    (folder / "t.csv").write_text("a,b,label\n" + "".join(f"{x},0.25,{x % 2}\n" for x in range(10)))
    for y, code in (("9.0", 1), ("0.5", 0)):
        (folder / "far.py").write_text(OWN + text.replace("Y]", f"{y}]"))
        got, told = ended(capsys, "replay", "far.py", "--data", "t.csv", "--pairs", "4")
        assert got == code
        found = "at step 1 (Steep): norm of a row declared at most 10, found 12.7279"
        assert (found in told["sentence"]) == (y == "9.0")
    (folder / "far.py").write_text(OWN + "domain = ball\nsteps = []\n")
    assert run(["audit", "replay", "far.py", "--data", "t.csv", "--pairs", "4"]) == 2
    assert "has 3 columns beside the declared label; the domain has 2" in capsys.readouterr().err


def test_a_pipeline_that_fails_decides_nothing(folder, capsys):
    """It failed alike on both data sets, which is the same of all that left: that is not a run that held."""
    text = (
        "domain = box\nsteps = [Steep()]\nSteepMap.transform = lambda self, x: x if len(x) <= 8 else 1 / 0\n"
    )
    (folder / "dies.py").write_text(OWN + text)
    code, told = ended(capsys, "replay", "dies.py", "--pairs", "8", "--rows", "20")
    assert code == 8 and told["sentence"].startswith("not decided because ")
    assert "runs failed with ZeroDivisionError" in told["sentence"]


SCHEMA = """
label: {name: y, classes: [no, yes]}
columns:
  a: {type: numeric, low: 0, high: 1, missing: impute}
  b: {type: numeric, low: 0, high: 1}
steps:
  - {step: MeanImputer, pay: PAY}
  - {step: Center, pay: budget, share: 0.1}
learner: {kind: GradientDescent, steps: 2, loss: Logistic}
"""


@pytest.mark.parametrize("pay", ["sensitivity, missing: 0.1", "public, data: p.csv"])
def test_a_models_folder_is_replayed(folder, capsys, pay):
    """Its own plan and steps; a made-up table stands in for a public one, which no artifact holds."""
    (folder / "s.yaml").write_text(SCHEMA.replace("PAY", pay))
    rows = [f"{i % 10 / 10},{i % 7 / 7},{('no', 'yes')[i % 2]}" for i in range(300)]
    for name in ("t.csv", "p.csv"):
        (folder / name).write_text("\n".join(["a,b,y", *(rows if name == "t.csv" else rows[:100]), ""]))
    assert run(["train", "t.csv", "--schema", "s.yaml", "--epsilon", "4", "--delta", "1e-5"]) == 0
    capsys.readouterr()
    for where in ("run/model", "run/model/model.json", "run"):
        pairs = "12" if where == "run/model" else "2"
        code, told = ended(capsys, "replay", where, "--pairs", pairs, "--missing", "0.05")
        assert code == 0 and told["verdict"] == "held" and "Center" in told["reach"]
        assert [r["after"] for r in told["rows_found_and_declared"]][:1] == ["step 1 (MeanImputer)"]
    assert run(["audit", "replay", "run/model", "--epsilon", "2"]) == 2
    assert "--epsilon is the model's own" in capsys.readouterr().err
    assert run(["audit", "replay", str(folder)]) == 2  # a folder without a model


def test_what_the_made_up_tables_stand_in_for_is_counted_as_declared(folder, capsys):
    """Of a model of households: 60 made-up "records" in place of its 8,715."""
    schema = SCHEMA.replace("  - {step: MeanImputer, pay: PAY}\n", "").replace(", missing: impute", "")
    for unit, counted in (("", "records"), ("unit: hh\nrows_per_unit: 1\n", "units")):
        name, out = f"{counted}.yaml", f"of-{counted}"
        (folder / name).write_text(f"rows: 300\n{unit}{schema}")
        rows = [f"{i % 10 / 10},{i % 7 / 7},{('no', 'yes')[i % 2]},{i}" for i in range(300)]
        (folder / "t.csv").write_text("\n".join(["a,b,y,hh", *rows, ""]))
        assert (
            run(["train", "t.csv", "--schema", name, "--epsilon", "4", "--delta", "1e-5", "--out", out]) == 0
        )
        capsys.readouterr()
        run(["audit", "replay", out, "--pairs", "2"])
        assert f"for 60 made-up {counted} in place of its 300 (--rows)" in capsys.readouterr().out
        own = (
            OWN
            + f"domain = Domain({{'a': Numeric(0, 1)}}, classes=['no', 'yes'], n=300{UNIT if unit else ''})\nsteps = []\n"
        )
        (folder / "own.py").write_text(own)
        run(["audit", "replay", "own.py", "--pairs", "2"])
        assert f"on 60 of the declared 300 {counted}: ask for more with --rows" in capsys.readouterr().out


# ------------------------------------------------------------------------------------------- steps of one's own

UNIT = ", unit='hh', rows_per_unit=1"
BROKEN = {
    "a sensitivity of a fiftieth": (
        LIAR.replace("SHARE", "0.02"),
        "at step 1 (Liar, by sensitivity): total move of the common rows declared ",
    ),
    "a Lipschitz constant of 1, which is 9": (
        OWN + "domain = box\nsteps = [Steep(1.0)]\n",
        "at step 1 (Steep, free): total move of the common rows declared ",
    ),
    "moved rows that are dropped on one side": (
        OWN + "domain = box\nsteps = [KeepAbove()]\n",
        "at step 1 (KeepAbove, free): common rows dropped on one side declared 0, found ",
    ),
    "a sum that moves four times as far": (
        OWN + "domain = ball\nsteps = [Squares(0.25, payment=Budget(0.2))]\n",
        "at step 1 (Squares, by budget): move of its sum declared 50, found ",
    ),
    "a fit that fails on some data alone": (
        OWN + "domain = box\nsteps = [Reads(payment=Budget(0.2))]\n",
        ": on one of two neighbours it fails, or asks its mechanisms for something else",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_wrong_word_of_a_step_of_ones_own_is_found(folder, capsys, name):
    text, says = BROKEN[name]
    (folder / "own.py").write_text(text)
    code, told = ended(capsys, "sensitivity", "own.py", "--seconds", "0.25", "--rows", "30")
    assert code == 1 and told["sentence"].startswith("broken: at step 1 (") and says in told["sentence"]


HELD = {
    "Winsorize in three ways": LIAR.replace("SHARE", "1.0"),
    "a steep map that says so": OWN + "domain = box\nsteps = [Steep(9.0)]\n",
    "a sum that moves as far as stated": OWN + "domain = ball\nsteps = [Squares(payment=Budget(0.2))]\n",
}


@pytest.mark.parametrize("name", HELD)
def test_true_words_hold(folder, capsys, name):
    (folder / "own.py").write_text(HELD[name])
    code, told = ended(capsys, "sensitivity", "own.py", "--seconds", "0.1", "--rows", "30")
    assert code == 0 and told["verdict"] == "held" and "made-up neighbours" in told["sentence"]
    ways = {" by sensitivity)" in a["attack"] for a in told["attacks"]}
    assert ways == ({True, False} if "three" in name else {False})


def test_what_cannot_be_attacked_is_not_held(folder, capsys):
    """A condition that no made-up pair meets; a step that refuses to run."""
    never = (
        OWN
        + """
from prepriv.guarantees.premise import Premise
class No(Premise):
    says = "nothing meets it"
    def holds(self, rows, n): return False
class Unmet(pre.MeanImputer):
    def conditions(self, space, n, incoming=None): return (No(reading=space.reading),)
    def sensitivity(self, space, n, incoming=None):
        return dataclasses.replace(super().sensitivity(space, n, incoming), conditions=self.conditions(space, n))
domain = Domain({"a": Numeric(0, 1, "impute")}, (0, 1))
steps = [Unmet(payment=Sensitivity({"missing": 0.2}))]
"""
    )
    refuses = (
        OWN
        + "domain = ball\nsteps = [Squares(payment=Budget(0.2))]\nSquares.l2_sensitivity = Step.l2_sensitivity\n"
    )
    refuses += "Squares.fit_budget = lambda self, rows, space, n, mechanisms: mechanisms.sum(rows, dim=2, radius=99.0)\n"
    for text in (never, refuses):
        (folder / "own.py").write_text(text)
        code, told = ended(capsys, "sensitivity", "own.py", "--seconds", "0.1", "--rows", "20")
        assert code == 8 and told["sentence"].startswith("not decided because at step 1 (")


def test_options_of_the_other_kind_are_refused(folder, capsys):
    (folder / "own.py").write_text(OWN + "domain = box\nsteps = [Steep()]\n")
    assert run(["audit", "sensitivity", "own.py", "--table", "t.md"]) == 2
    assert run(["audit", "sensitivity", "Center", "--rows", "20"]) == 2
    assert run(["audit", "sensitivity", "none.py"]) == 2


# ---------------------------------------------------------------------------------------------------- the verdict


def test_broken_comes_before_open_and_open_before_held():
    assert judged(["a", "b"], ["c"], "d").sentence == "broken: a (and 1 more)"
    assert judged([], ["c"], "d").sentence == "not decided because c"
    assert judged([], [], "d").sentence == "held: d"


def test_findings_of_one_kind_are_told_once_the_furthest_first():
    found = [Finding("k", f"at step 2: found {s}", "002 total", s) for s in (1.0, 3.0, 2.0)]
    found += [Finding("k", "stdout differs")] * 4 + [Finding("k", "at step 1: found 9", "001 total", 9.0)]
    assert [(f.what, count) for f, count in grouped_findings(found)] == [
        ("at step 1: found 9", 1),
        ("at step 2: found 3.0", 3),
        ("stdout differs", 4),
    ]
