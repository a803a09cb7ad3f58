"""What version 0.1.0 wrote still loads, or is refused with a sentence that says what to do."""

import sqlite3
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from prepriv.cli import run
from prepriv.ledger import Ledger
from prepriv.release.model import BadArtifact, Model

OLD = Path(__file__).parent / "version_0_1_0"


def test_a_model_is_refused_with_what_to_do(capsys):
    with pytest.raises(BadArtifact, match=r"written by prepriv 0\.1\.0 .*train again"):
        Model.load(OLD)
    assert run(["report", str(OLD)]) == 2
    assert "train again" in capsys.readouterr().err


def test_a_schema_trains_and_a_ledger_is_charged_on(tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"age": rng.integers(18, 91, 400), "job": rng.choice(["clerk", "smith"], 400)})
    table["income"] = np.where(table.age > 60, "high", "low")
    table.to_csv(tmp_path / "t.csv", index=False)
    ledger = tmp_path / "L.db"
    with sqlite3.connect(ledger) as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.executescript((OLD / "ledger.sql").read_text())
        db.execute("PRAGMA application_id = 1886539894")
        db.execute("PRAGMA user_version = 1")
    db.close()
    budget = ["--rows", "400", "--epsilon", "1", "--delta", "1e-5", "--ledger", str(ledger)]
    paths = ["--schema", str(OLD / "schema.yaml"), "--out", str(tmp_path / "run")]
    assert run(["train", str(tmp_path / "t.csv"), *paths, *budget]) == 0
    assert Model.load(tmp_path / "run").guarantee.epsilon(1e-5) <= 1
    assert run(["ledger", "verify", str(ledger)]) == 0
    entries = Ledger.open(ledger).entries()
    assert [entry.kind for entry in entries] == ["charged", "released"] * 2


def test_a_pipeline_is_priced(capsys):
    learner = yaml.safe_load((OLD / "pipeline.yaml").read_text())["learner"]
    assert learner["kind"] == "dp-sgd" and learner["loss"] == "logistic"  # as they were called then
    assert run(["account", str(OLD / "pipeline.yaml")]) == 0
    assert "really has" in capsys.readouterr().out
