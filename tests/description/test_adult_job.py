"""From a raw CSV whose schema nobody knows to a model with a private score: five commands, one ledger, total ε = 2."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from prepriv.cli import run
from prepriv.pipeline.schema import load_schema
from prepriv.release.model import Model
from real_data import real_data

BY_HAND = Path(__file__).parents[2] / "examples" / "adult.yaml"


@pytest.mark.slow
def test_nothing_declared_by_hand_is_within_a_point(tmp_path, monkeypatch, capsys):
    table = pd.read_csv(real_data("adult.csv.gz"), dtype=str)
    monkeypatch.chdir(tmp_path)
    test = np.arange(len(table)) % 5 == 0
    table[~test].to_csv("train.csv", index=False)
    table[test].to_csv("test.csv", index=False)
    n, held = str(int((~test).sum())), str(int(test.sum()))
    by = ["--ledger", "L.db"]
    assert run(["ledger", "create", "L.db", "--dataset", "adult", "--epsilon", "2", "--delta", "1e-4"]) == 0
    for line in (
        [
            "schema",
            "init",
            "train.csv",
            "--epsilon",
            "0.2",
            "--delta",
            "1e-6",
            "--rows",
            n,
            "--out",
            "S.yaml",
            *by,
        ],
        ["describe", "train.csv", "--schema", "S.yaml", "--epsilon", "0.2", "--out", "page.html", *by],
        ["train", "train.csv", "--schema", "S.yaml", "--epsilon", "1.5", "--out", "run", *by],
        ["evaluate", "run/model", "test.csv", "--epsilon", "0.1", "--rows", held, *by],
    ):
        assert run(line) == 0, (line, capsys.readouterr().err)
    capsys.readouterr()
    assert run(["ledger", "show", "L.db", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    charged = [float(row["cost"]["epsilon"]) for row in shown["rows"] if row["kind"] == "charged"]
    assert len(charged) == 4 and float(shown["booked"]["epsilon"]) == pytest.approx(sum(charged), abs=1e-8)
    assert sum(charged) == pytest.approx(2.0, abs=1e-3) and sum(charged) <= 2.0

    schema = load_schema(BY_HAND)
    named = [*schema.columns, "label"]
    table[~test][named].to_csv("by_hand.csv", index=False)
    line = ["train", "by_hand.csv", "--schema", str(BY_HAND), "--epsilon", "2", "--rows", n, "--out", "hand"]
    assert run(line) == 0

    def accuracy(folder):
        model = Model.load(folder)
        return float((model.predict(table[test][list(model.domain.columns)]) == table[test].label).mean())

    job, hand = accuracy("run/model"), accuracy("hand/model")
    print(f"nothing declared by hand: {100 * job:.2f} %, by hand: {100 * hand:.2f} %")
    assert job > hand - 0.01
