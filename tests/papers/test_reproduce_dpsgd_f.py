"""`reproduce dpsgd-f` and `demo --recipe`: small runs, files written, mistakes in one line."""

from __future__ import annotations

import json

import numpy as np
import pytest

from prepriv.cli import run
from prepriv_papers.feature_preprocessing import as_printed, dpsgd_f, measured
from prepriv_papers.feature_preprocessing import two_clusters as example


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


@pytest.fixture
def quick(monkeypatch):
    """One distance of the clusters, nothing long without privacy."""
    monkeypatch.setattr(dpsgd_f, "SMALL_DISTANCES", (1.0,))
    monkeypatch.setattr(dpsgd_f, "DISTANCES", (10.0,))
    monkeypatch.setattr(as_printed, "SGD_EPOCHS", 1)


def test_reproduction_writes_tables_pictures_and_verdicts(folder, capsys, quick, rng):
    for name in dpsgd_f.NAMES:
        x, y = rng.integers(0, 256, (80, 3, 3)).astype(np.uint8), np.arange(80) % 10
        np.savez(folder / f"{name}.npz", x_train=x[:60], y_train=y[:60], x_test=x[60:], y_test=y[60:])
    (folder / "cifar").mkdir()
    for part, n in (("train", 40), ("test", 20)):
        np.save(folder / f"cifar/{part}.npy", rng.normal(size=(n, 5)))
        np.save(folder / f"cifar/{part}_labels.npy", np.arange(n) % 4)
    command = ["reproduce", "dpsgd-f", "--data", ".", "--collection", "cifar", "--out", "o", "--small"]
    assert run(command) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "verdicts" in out and "87.4, 77.2; 89.6, 78.7" in out
    numbers = json.loads((folder / "o/numbers.json").read_text())
    assert len(numbers["table_1"]) == 9 and len(numbers["table_2"]) == 3
    assert {r["data"] for r in numbers["table_1"]} == {"MNIST", "FMNIST", "cifar"}
    for name in ("two_clusters", "table_1"):
        assert (folder / f"o/{name}.png").stat().st_size > 10_000
    tables = {"table_1.csv", "table_2.csv", "two_clusters.csv", "bounds.csv"}
    assert {p.name for p in (folder / "o").glob("*.csv")} == tables
    rows = (folder / "o/rows.jsonl").read_bytes()
    assert run(command) == 0 and (folder / "o/rows.jsonl").read_bytes() == rows  # nothing is computed twice


def test_missing_data_is_one_line(folder, capsys, quick):
    assert run(["reproduce", "dpsgd-f", "--data", "nowhere", "--small"]) == 2
    assert "is not there" in capsys.readouterr().err and not (folder / "run").exists()
    assert run(["reproduce", "dpsgd-f", "--collection", ".", "--small"]) == 2
    assert "holds neither train.npy" in capsys.readouterr().err


def test_descent_as_printed_learns_and_has_the_printed_noise(rng):
    """Two separated clouds; and a gradient of nothing but noise has the deviation of Algorithm 1."""
    y = np.arange(400) % 2
    x = (rng.normal(size=(400, 3)) + 3 * (2 * y[:, None] - 1)).astype(np.float32)
    how = as_printed.algorithm_1(400, 4, 50.0, 1e-5, averaged_noise=False)
    assert as_printed.accuracy(how, (x, y, x, y)) > 0.95
    assert how.noise == pytest.approx(np.sqrt(8 * 73 * np.log(1e5)) / (400 * 50))
    averaged = as_printed.algorithm_1(400, 4, 50.0, 1e-5, averaged_noise=True)
    assert averaged.noise == pytest.approx(how.noise / 20)
    silent = as_printed.Descent(10, 1, 1.0, 1e-9, 0.5)
    w = silent.weights(np.ones((10, 4000), dtype=np.float32), np.arange(10) % 2, as_printed.NoiseSource())
    assert w.std() == pytest.approx(0.5, rel=0.05)
    assert as_printed.without_privacy(60_000).steps == 80 * 60_000 // 256


def test_concentration_against_all_pairs(rng):
    x = rng.integers(0, 256, (50, 9))
    row = measured.concentration("MNIST", x)
    unit = x / np.linalg.norm(x, axis=1, keepdims=True)
    apart = np.linalg.norm(unit[:, None] - unit[None], axis=2)
    away = np.linalg.norm(unit - unit.mean(axis=0), axis=1)
    assert row["diameter"] == pytest.approx(apart.max(), abs=1e-3)
    assert row["max ‖x − µ‖"] == pytest.approx(away.max(), abs=1e-3)
    assert row["mean ‖x − µ‖"] == pytest.approx(away.mean(), abs=1e-3)
    assert measured.diameter(unit, block=7) == pytest.approx(apart.max(), abs=1e-9)
