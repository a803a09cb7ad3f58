"""`reproduce dpsgd-f` and `demo --recipe`: small runs, files written, mistakes in one line."""

from __future__ import annotations

import json

import numpy as np
import pytest

from prepriv.cli import run
from prepriv.papers.feature_preprocessing import dpsgd_f
from prepriv.papers.provable_privacy import two_clusters as example


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_demo_of_every_recipe(folder, capsys):
    assert run(["demo", "--recipe", "dpsgd-f", "--epsilon", "4", "--out", "f"]) == 0
    out = capsys.readouterr().out
    assert "InstanceOptimalCenter" in out and "AugmentByDistance" in out
    report = json.loads((folder / "f/report.json").read_text())
    assert report["guarantee"]["epsilon"] <= 4 and (folder / "f/model").exists()
    assert run(["demo", "--recipe", "best", "--out", "g"]) == 2
    assert "--recipe must be auto, dpsgd-f" in capsys.readouterr().err


def test_counter_example_only_stops_dpsgd():
    """Theorem 3 at n epsilon < mu; with few records too far for a test of chance."""
    far = 100_000.0
    assert example.accuracy("DPSGD-F", far, 1) > 0.99 and example.accuracy("DPSGD-F", far, -1) > 0.99
    for rate in example.RATES:
        assert min(example.accuracy("DPSGD", far, sign, rate) for sign in (1, -1)) < 0.6
    assert example.accuracy("DPSGD", 1.0, 1) > 0.99


def test_reproduction_writes_tables_and_picture(folder, capsys, monkeypatch, rng):
    monkeypatch.setattr(dpsgd_f, "two_clusters", lambda runs: example.two_clusters(runs, (1.0,)))
    for name in dpsgd_f.NAMES:
        x, y = rng.integers(0, 256, (80, 3, 3)).astype(np.uint8), np.arange(80) % 10
        np.savez(folder / f"{name}.npz", x_train=x[:60], y_train=y[:60], x_test=x[60:], y_test=y[60:])
    assert run(["reproduce", "dpsgd-f", "--data", str(folder), "--out", "o", "--runs", "2"]) == 0
    assert "DPSGD-F, paper" in capsys.readouterr().out
    numbers = json.loads((folder / "o/numbers.json").read_text())
    assert len(numbers["table_1"]) == 6 and len(numbers["table_2"]) == 2
    assert (folder / "o/two_clusters.png").stat().st_size > 10_000
    assert {p.name for p in (folder / "o").glob("*.csv")} == {
        "table_1.csv",
        "table_2.csv",
        "two_clusters.csv",
    }


def test_missing_data_is_one_line(folder, capsys, monkeypatch):
    monkeypatch.setattr(dpsgd_f, "two_clusters", lambda runs: example.two_clusters(runs, (1.0,)))
    assert run(["reproduce", "dpsgd-f", "--data", "nowhere", "--runs", "1"]) == 2
    assert "is not there" in capsys.readouterr().err


def test_concentration_against_all_pairs(rng):
    x = rng.integers(0, 256, (50, 9))
    row = dpsgd_f._concentration("mnist", x)
    unit = x / np.linalg.norm(x, axis=1, keepdims=True)
    apart = np.linalg.norm(unit[:, None] - unit[None], axis=2)
    away = np.linalg.norm(unit - unit.mean(axis=0), axis=1)
    assert row["diameter"] == pytest.approx(apart.max(), abs=1e-3)
    assert row["max ‖x − µ‖"] == pytest.approx(away.max(), abs=1e-3)
    assert row["mean ‖x − µ‖"] == pytest.approx(away.mean(), abs=1e-3)
    assert dpsgd_f._diameter(unit, block=7) == pytest.approx(apart.max(), abs=1e-9)
