"""From a raw CSV whose schema nobody knows to a model with a private score: five commands, one ledger, total ε = 2."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from prepriv.cli import run
from prepriv.release.model import Model
from prepriv.schemas.schema import load_schema
from real_data import real_data

BY_HAND = Path(__file__).parents[2] / "examples" / "adult.yaml"
PEOPLE = """
label: {name: label, classes: [high, low]}
columns:
  age: {type: numeric, low: 17, high: 90}
  hours: {type: numeric, low: 0, high: 80, missing: impute}
  job: {type: categorical, categories: [clerk, diver, smith]}
"""


def people(n=24_000):
    """Made up, as a stand-in: an identifier, two numbers, gaps, a category."""
    rng = np.random.default_rng(0)
    age, hours = rng.integers(17, 91, n), rng.normal(40, 8, n).round(1)
    job = rng.choice(["clerk", "smith", "diver"], n, p=[0.6, 0.3, 0.1])
    rich = age + 25 * (job == "smith") + (hours - 40) + rng.normal(0, 12, n) > 60
    table = pd.DataFrame(
        {"id": [f"p{i}" for i in range(n)], "age": age.astype(str), "hours": hours.astype(str)}
    )
    table.loc[rng.random(n) < 0.05, "hours"] = ""
    return table.assign(job=job, label=np.where(rich, "high", "low"))


def job(table, by_hand, options, capsys):
    """(accuracy with nothing declared by hand, accuracy of the schema by hand at the same total ε)."""
    test = np.arange(len(table)) % 5 == 0
    table[~test].to_csv("train.csv", index=False)
    table[test].to_csv("test.csv", index=False)
    n, held = str(int((~test).sum())), str(int(test.sum()))
    commands = f"""
    ledger create L.db --dataset people --epsilon 2 --delta 1e-4
    schema init train.csv --epsilon 0.2 --delta 1e-6 --rows {n} --out S.yaml --ledger L.db
    describe train.csv --schema S.yaml --epsilon 0.1 --out page.html --ledger L.db
    train train.csv --schema S.yaml --epsilon 1.6 --out run --ledger L.db{options}
    evaluate run/model test.csv --epsilon 0.1 --rows {held} --out score.html --ledger L.db
    """
    for line in commands.strip().splitlines():
        assert run(line.split()) == 0, (line, capsys.readouterr().err)
    capsys.readouterr()
    assert run(["ledger", "show", "L.db", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    charged = [float(row["cost"]["epsilon"]) for row in shown["rows"] if row["kind"] == "charged"]
    assert len(charged) == 4 and float(shown["booked"]["epsilon"]) == pytest.approx(sum(charged), abs=1e-8)
    assert sum(charged) == pytest.approx(2.0, abs=1e-3) and sum(charged) <= 2.0
    notes = [
        row["note"].split(":")[0].split(" model ")[0] for row in shown["rows"] if row["kind"] == "charged"
    ]
    assert notes == ["schema draft", "description", "train", "evaluate"]

    named = [*load_schema(by_hand).columns, "label"]
    table[~test][named].to_csv("by_hand.csv", index=False)
    line = f"train by_hand.csv --schema {by_hand} --epsilon 2 --rows {n} --out hand{options}"
    assert run(line.split()) == 0

    def accuracy(folder):
        model = Model.load(folder)
        return float((model.predict(table[test][list(model.domain.columns)]) == table[test].label).mean())

    found = accuracy("run/model"), accuracy("hand/model")
    print(f"nothing declared by hand: {100 * found[0]:.2f} %, by hand: {100 * found[1]:.2f} %")
    return found


def test_nothing_declared_by_hand_on_made_up_people(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("hand.yaml").write_text(PEOPLE)
    drafted, hand = job(people(), "hand.yaml", "", capsys)
    assert drafted > hand - 0.01 and hand > 0.8


def test_nothing_declared_by_hand_is_within_a_point_on_adult(tmp_path, monkeypatch, capsys):
    table = pd.read_csv(real_data("adult.csv.gz"), dtype=str)
    monkeypatch.chdir(tmp_path)
    drafted, hand = job(table, BY_HAND, "", capsys)
    assert drafted > hand - 0.01
