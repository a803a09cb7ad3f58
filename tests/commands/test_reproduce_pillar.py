"""`prepriv reproduce pillar` writes every figure with its numbers; `prepriv plan` recommends k, and refuses."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits
from typer.testing import CliRunner

from prepriv.cli import app
from prepriv.commands.reproduce import pillar


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    x, y = load_digits(return_X_y=True)
    x = (x * 15).astype(np.uint8).reshape(-1, 8, 8)
    for name in ("mnist", "fashion_mnist"):
        np.savez(
            tmp_path / f"{name}.npz", x_train=x[:1500], y_train=y[:1500], x_test=x[1500:], y_test=y[1500:]
        )
    return tmp_path


def test_every_figure_comes_with_its_numbers(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tiny = pillar.Size(800, 200, (10,), 1, ("mnist",), (0.5,), (4,))
    monkeypatch.setattr(pillar, "SMALL", tiny)
    out = folder / "out"
    result = CliRunner().invoke(
        app, ["reproduce", "pillar", "--data", str(folder), "--out", str(out), "--small"]
    )
    assert result.exit_code == 0, (result.output, result.exception)
    numbers = json.loads((out / "numbers.json").read_text(encoding="utf-8"))
    assert set(numbers) == {
        "mixture", "accuracy_mnist", "low_data_mnist", "accuracy_mnist_whitened", "low_data_mnist_whitened",
        "xi_mnist", "shift_mnist",
    }  # fmt: skip
    for name, rows in numbers.items():
        assert (out / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        with (out / f"{name}.csv").open(encoding="utf-8") as file:
            assert len(list(csv.DictReader(file))) == len(rows) > 0
    last = numbers["accuracy_mnist"][-1]
    assert last["k"] == 64 and last["epsilon_inf"] > 0.7
    assert sum(r["recommended_0.1"] for r in numbers["accuracy_mnist"]) == 1
    xi = [r["pixels"] for r in numbers["xi_mnist"]]
    assert xi == sorted(xi, reverse=True)


def test_a_folder_without_the_data_is_refused(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["reproduce", "pillar", "--data", str(tmp_path)])
    assert result.exit_code != 0 and not (tmp_path / "run").exists()


SCHEMA = """label: {{name: y, classes: [0, 1]}}
adjacency: replace-one
rows: 1000
columns:
  a: {{type: numeric, low: 0, high: 1}}
  b: {{type: numeric, low: 0, high: 1}}
  c: {{type: numeric, low: 0, high: 1}}
steps:
  - {{step: PCA, k: {k}, pay: public, data: public.csv}}
"""


def _schema(folder: Path, rows: int, k: int, constant: bool = False) -> Path:
    values = np.random.default_rng(0).uniform(size=(rows, 3))
    if constant:
        values[:, 1:] = values[:1, 1:]
    np.savetxt(folder / "public.csv", values, delimiter=",", header="a,b,c", comments="")
    path = folder / "schema.yaml"
    path.write_text(SCHEMA.format(k=k), encoding="utf-8")
    return path


def test_plan_recommends_k_for_public_pca(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["plan", str(_schema(tmp_path, 50, 2))])
    assert result.exit_code == 0, (result.output, result.exception)
    assert "k=2 declared" in result.output and "recommended" in result.output


@pytest.mark.parametrize(("rows", "constant", "words"), [(1, False, "public rows"), (50, True, "vary in")])
def test_a_bad_public_table_is_refused_before_anything_is_charged(
    tmp_path: Path, rows: int, constant: bool, words: str
) -> None:
    schema = _schema(tmp_path, rows, 3, constant)
    book = tmp_path / "book.db"
    made = CliRunner().invoke(
        app, ["train", str(tmp_path / "none.csv"), "--schema", str(schema), "--ledger", str(book)]
    )
    assert made.exit_code != 0 and words in f"{made.output} {made.exception}"
    assert not book.exists()  # refused before the ledger and the private table were looked at
