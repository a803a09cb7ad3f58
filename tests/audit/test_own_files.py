"""What somebody who writes a step, a mechanism or a reader from CONTRIBUTING alone met: each case, as it ends now."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import prepriv
from prepriv.audit.own_mechanisms import OwnMechanism, try_mechanism
from prepriv.audit.own_steps import judgement, rehearsed, targets
from prepriv.commands.audit import app
from prepriv.commands.data import opened
from prepriv.learners import GradientDescent, Logistic
from prepriv.preprocessing import RowShift
from prepriv.preprocessing.center import Subtract

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))
import smallest

DOMAIN = prepriv.Domain.box(0, 1, features=2, classes=[0, 1], n=100)


@dataclass(frozen=True)
class Mean(smallest.NoisyMean):
    """The three ways in one class."""

    ways = ("public", "budget", "sensitivity")
    at_prediction = False

    def output(self, space):
        return smallest.NoisyMean.output(self, space)

    def lipschitz(self, space):
        return 1.0

    def fit_public(self, rows, space, n):
        return smallest.NoisyMean.fit_public(self, rows, space, n)

    def fit_budget(self, rows, space, n, mechanisms):
        return smallest.NoisyMean.fit_budget(self, rows, space, n, mechanisms)

    def fit_confidential(self, rows, space, n):
        return smallest.Less(np.concatenate(list(rows)).sum(axis=0) / n)

    def sensitivity(self, space, n, incoming=None):
        space, came = getattr(space, "space", space), incoming or RowShift()
        each = (space.diameter + came.total_shift) / n * (1 + 1e-9)
        return came.plus(RowShift(rows_moved=n - 1, row_shift=each, total_shift=(n - 1) * each), n=n)


@pytest.mark.parametrize("listed", [prepriv.Budget(0.1), prepriv.Sensitivity()])
def test_a_step_is_attacked_after_what_it_may_follow_in_each_way(listed):
    """The attack by sensitivity took what the way of the file may follow: a place in which no plan puts it."""
    names = [t.case.name for t in targets(DOMAIN, [Mean(payment=listed)], 20) if t.case is not None]
    assert any("by budget" in name and "after drops" in name for name in names)
    assert not any("by sensitivity" in name and "after drops" in name for name in names)


@dataclass(frozen=True)
class Peeks(Mean):
    """Reads labels, and does not say so."""

    def fit_budget(self, rows, space, n, mechanisms):
        return Subtract(mechanisms.sum(rows, dim=space.d, radius=space.radius) / n * rows.labels.mean())


@dataclass(frozen=True)
class Tires(Mean):
    """From the twentieth row on what it hands over depends on the rows before."""

    def l2_sensitivity(self, space, adjacency, incoming):
        return 2 * space.radius

    def fit_budget(self, rows, space, n, mechanisms):
        x = np.concatenate(list(rows))
        many = np.cumsum(x.sum(axis=1)) > 20
        return Subtract(
            mechanisms.sum([np.where(many[:, None], 0.0, x)], dim=space.d, radius=space.radius) / n
        )


@pytest.mark.parametrize(
    ("step", "said"),
    [(Peeks, "`reads_labels`"), (Tires, "hands its mechanism rows that are not made row by row")],
)
def test_what_a_fit_refuses_is_not_held(step, said):
    one = step(payment=prepriv.Budget(0.1))
    sentence = judgement([], rehearsed(DOMAIN, [one], 100)).sentence
    assert sentence.startswith("not decided") and said in sentence and "a fit refuses it" in sentence
    with pytest.raises(ValueError, match=r"reads_labels|row by row"):
        prepriv.make_plan(DOMAIN, [one], GradientDescent(Logistic()), epsilon=1.0, delta=1e-6, n=100)


def test_what_a_fit_takes_is_rehearsed_without_a_word():
    for payment in (prepriv.Public(np.zeros((5, 2))), prepriv.Budget(0.1), prepriv.Sensitivity()):
        assert rehearsed(DOMAIN, [smallest.Halve(), Mean(payment=payment)], 100) == []


def test_a_step_without_a_constant_is_not_called_no_step(tmp_path):
    file = tmp_path / "own.py"
    folder = str(Path(smallest.__file__).parent)
    file.write_text(
        f"import sys; sys.path.insert(0, {folder!r})\nimport prepriv, smallest\n"
        "domain = prepriv.Domain.box(0, 1, features=2, classes=[0, 1])\nsteps = [smallest.Halve()]\n",
        encoding="utf-8",
    )
    done = CliRunner().invoke(app, ["sensitivity", str(file), "--seconds", "0.05"])
    last = " ".join(done.output.split())
    assert done.exit_code == 8 and "override lipschitz" in last and "put it before such steps" in last


@dataclass(frozen=True)
class Words(smallest.NoisyCount):
    """Its private value is a list of words."""

    def perform(self, exact, source):
        return super().perform(len(exact), source)


def test_a_private_value_without_a_distance_names_what_to_write():
    said = try_mechanism(OwnMechanism.of((Words(1.0), ["a"], ["a", "b"]), 1), seed=0, seconds=0.01).open
    assert "override `recorded`" in said and "ufunc" not in said


def test_the_reader_of_the_example_hands_on_every_line(tmp_path, monkeypatch):
    import json_lines

    rng, jobs = np.random.default_rng(0), ["clerk", "smith"]
    records = [
        {"age": int(rng.integers(17, 90)), "job": jobs[i % 2], "income": "high" if i % 3 else "low"}
        for i in range(2500)
    ]
    lines = [json.dumps(record) for record in records]
    lines[7], lines[8] = "not JSON", "[1, 2]"
    lines[9], lines[10] = "[" * 200_000, '{"age": 30, "job": "\\ud800"}'
    file = tmp_path / "people.jsonl"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    monkeypatch.setattr(json_lines, "FILE", str(file))
    domain = prepriv.Domain(
        {"age": prepriv.Numeric(17, 90), "job": prepriv.Categorical(jobs)},
        classes=("low", "high"),
        n=2500,
    )
    table = json_lines.people().read_all().to_pylist()
    assert len(table) == 2500 and table[7] == dict.fromkeys(("age", "job", "income"))
    assert table[9] == table[7] and table[10] == {"age": "30", "job": "?", "income": None}
    assert table[0] == {name: str(value) for name, value in records[0].items()}
    made = prepriv.PrivateClassifier(domain, epsilon=1.0, delta=1e-6).fit(
        opened("reader:json_lines:people"), "income"
    )
    assert made.guarantee_.epsilon(1e-6) <= 1.0
