"""`prepriv train` with a declared target: from a schema to predictions, and each mistake with nothing charged."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import prepriv
from prepriv.cli import run
from prepriv.commands.plan import plan_for
from prepriv.ledger import Ledger
from prepriv.release.model import Model
from prepriv.schemas.schema import load_schema

SCHEMA = """
label: {name: price, low: -5, high: 45}
rows: 1500
columns:
  size: {type: numeric, low: 0, high: 10}
  kind: {type: categorical, categories: [flat, house]}
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    rng = np.random.default_rng(3)
    table = pd.DataFrame({"size": rng.uniform(0, 10, 1800), "kind": rng.choice(["flat", "house"], 1800)})
    table["price"] = 3 * table["size"] + 5 * (table["kind"] == "house") + rng.normal(size=1800)
    table[:1500].to_csv(tmp_path / "t.csv", index=False)
    table[1500:].to_csv(tmp_path / "public.csv", index=False)
    table[1500:].assign(price="none").to_csv(tmp_path / "no_target.csv", index=False)
    (tmp_path / "s.yaml").write_text(SCHEMA)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_from_a_schema_to_predictions(folder, capsys):
    Ledger.create(folder / "led.db", "prices", epsilon=3.0, delta=1e-4)
    command = ["train", "t.csv", "--schema", "s.yaml", "--epsilon", "3", "--ledger", "led.db"]
    assert run([*command, "--public-test", "public.csv"]) == 0
    said = capsys.readouterr().out
    assert "R² on public.csv (declared public): 0.9" in said
    report = json.loads((folder / "run" / "report.json").read_text())
    assert report["evaluation_on_public_table"]["rows"] == 300
    assert report["guarantee"]["epsilon"] <= 3
    assert "root mean squared error" in (folder / "run" / "report.html").read_text()
    model = Model.load(folder / "run")
    assert model.domain.target == load_schema(folder / "s.yaml").label.target
    assert run(["predict", "run", "public.csv", "--out", "p.csv"]) == 0
    found = pd.read_csv(folder / "p.csv")["prediction"]
    assert np.corrcoef(found, pd.read_csv(folder / "public.csv")["price"])[0, 1] > 0.95
    assert run(["report", "run"]) == 0
    capsys.readouterr()
    assert run([*command, "--out", "more"]) == 3  # the cap


def test_curves_are_asked_for_in_a_schema_as_in_python(folder, capsys):
    """A reader of docs/regression.md wrote `steps: curves` into a schema, which refused it."""
    (folder / "c.yaml").write_text(SCHEMA + "steps: curves\n")
    domain, plan = load_schema(folder / "c.yaml").domain(), {"rows": 1500, "delta": 1e-5, "adjacency": None}
    for epsilon, curved in ((8.0, True), (0.1, False)):
        made = plan_for(load_schema(folder / "c.yaml"), folder, epsilon=epsilon, **plan)
        line = plan_for(load_schema(folder / "s.yaml"), folder, epsilon=epsilon, **plan)
        own = prepriv.PrivateRegressor(domain, epsilon=epsilon, delta=1e-5, steps="curves").plan(1500)
        assert made.hash == own.hash and (made.hash != line.hash) == curved
    assert run(["train", "t.csv", "--schema", "c.yaml", "--epsilon", "8"]) == 0
    (folder / "classes.yaml").write_text(
        SCHEMA.replace("low: -5, high: 45", "classes: [low, high]") + "steps: curves\n"
    )
    capsys.readouterr()
    assert run(["plan", "classes.yaml"]) == 2
    assert "steps: curves is for a numeric target" in capsys.readouterr().err
    (folder / "odd.yaml").write_text(SCHEMA + "steps: bends\n")
    assert run(["plan", "odd.yaml"]) == 2
    assert "got 'bends'. Of a numeric target it may be curves, too" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("low: -5, high: 45", "low: 45, high: -5", "label: bounds must be finite with low < high"),
        ("low: -5, high: 45", "low: -5", "needs classes:, or low: and high:"),
        ("low: -5, high: 45", "low: -5, high: 45, classes: [a, b]", "needs classes:, or low: and high:"),
        ("low: -5, high: 45", "low: true, high: 45", "must be a number; got true"),
        (
            "rows: 1500",
            "rows: 1500\nlearner: {kind: GradientDescent, loss: Softmax}",
            "Softmax is for classes",
        ),
    ],
)
def test_mistakes_in_the_schema(folder, capsys, old, new, said):
    (folder / "s.yaml").write_text(SCHEMA.replace(old, new))
    assert run(["train", "t.csv", "--schema", "s.yaml"]) == 2
    told = capsys.readouterr().err
    assert said in told and told.count("\n") == 1 and not (folder / "run").exists()


def test_what_is_for_classes_alone_is_refused_before_a_charge(folder, capsys):
    Ledger.create(folder / "led.db", "prices", epsilon=3.0, delta=1e-4)
    command = ["train", "t.csv", "--schema", "s.yaml", "--ledger", "led.db"]
    for more in (["--public-test", "no_target.csv"],):
        assert run([*command, *more]) == 2
        assert "target" in capsys.readouterr().err
    assert run([*command, "--out", "run"]) == 0
    capsys.readouterr()
    assert run(["predict", "run", "public.csv", "--proba"]) == 2
    assert "predicts a number" in capsys.readouterr().err


def test_a_declared_learner_has_a_loss_of_numbers(folder):
    (folder / "s.yaml").write_text(SCHEMA + "learner: {kind: GradientDescent, steps: 20, clip_norm: 0.25}\n")
    assert load_schema("s.yaml").build_learner().loss.name == "squared-error"
    (folder / "s.yaml").write_text(
        SCHEMA + "learner: {kind: SufficientStatistics}\nsteps: [{step: Rescale}]\n"
    )
    assert run(["train", "t.csv", "--schema", "s.yaml", "--epsilon", "4"]) == 0


def test_the_target_is_described_and_validated_as_a_column(folder, capsys):
    assert run(["describe", "t.csv", "--schema", "s.yaml", "--epsilon", "3"]) == 0
    assert "price" in capsys.readouterr().out
    assert run(["validate", "t.csv", "--schema", "s.yaml"]) == 0
    assert "-5 to 45" in capsys.readouterr().out
