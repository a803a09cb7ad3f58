"""`prepriv reproduce own`: the papers' rows on a data set that is not ours to ship, from a folder of features, of images, of CIFAR's own files."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from prepriv.commands.app import app
from prepriv.commands.exits import Stop
from prepriv_papers.own_data import DATA_SETS
from prepriv_papers.user_data import collection
from stand_ins import features, images


def run(*arguments: str) -> object:
    return CliRunner().invoke(app, ["reproduce", "own", *arguments])


def test_the_rows_of_a_data_set_stand_beside_the_printed_ones(tmp_path: Path) -> None:
    first, second = features(tmp_path / "sl", 300), features(tmp_path / "byol", 300, d=6)
    result = run(
        "cifar-100", str(first), "--names", str(second), "--out", str(tmp_path / "o"), "--rows", "200"
    )
    assert result.exit_code == 0, (result.output, result.exception)
    rows = json.loads((tmp_path / "o/numbers.json").read_text(encoding="utf-8"))["rows"]
    assert len(rows) == 2 * len(DATA_SETS["cifar-100"]) and {r["features"] for r in rows} == {"sl", "byol"}
    assert [r["printed"] for r in rows[:4]] == [56.8, 51.9, 18.3, 7.53]
    assert all(0 <= r["yours"] <= 100 and r["k"] <= 8 for r in rows)
    text = " ".join(result.output.split())
    assert "71.6" in text and "Table 1" in text and "Figure 4" in text


def test_every_data_set_has_rows_and_numbers_of_the_paper_or_a_curve() -> None:
    for name, rows in DATA_SETS.items():
        assert rows and (name in ("pcam", "dermnet", "pneumonia")) == all(math.isnan(r.printed) for r in rows)


def test_images_give_pixels_and_patches(tmp_path: Path) -> None:
    result = run("pcam", str(images(tmp_path / "p", 30)), "--out", str(tmp_path / "o"))
    assert result.exit_code == 0, (result.output, result.exception)
    rows = json.loads((tmp_path / "o/numbers.json").read_text(encoding="utf-8"))["rows"]
    assert {r["features"] for r in rows} == {"p_pixels", "p_patches"}


@pytest.mark.parametrize("kind", ["cifar-10", "cifar-100"])
def test_the_binary_version_of_cifar_is_read(tmp_path: Path, kind: str) -> None:
    rng = np.random.default_rng(0)
    train = [f"data_batch_{i}.bin" for i in range(1, 6)] if kind == "cifar-10" else ["train.bin"]
    test = "test_batch.bin" if kind == "cifar-10" else "test.bin"
    for name in (*train, test):
        labels = np.arange(6) % 3
        before = labels[:, None] if kind == "cifar-10" else np.column_stack([labels * 0 + 9, labels])
        pixels = rng.integers(0, 256, (6, 3072))
        pixels[0] = 255
        np.concatenate([before, pixels], axis=1).astype(np.uint8).tofile(tmp_path / name)
    found = collection(tmp_path)
    assert found.images and found.rows.shape == (6 * len(train), 32, 32) and found.test.shape == (6, 32, 32)
    assert set(found.labels) == {0, 1, 2} and found.test[0] == pytest.approx(np.ones((32, 32)), abs=1e-6)
    (tmp_path / test).write_bytes(b"short")
    with pytest.raises(Stop, match=r"records of 307[34] bytes"):
        collection(tmp_path)


def test_mistakes_are_named(tmp_path: Path) -> None:
    for arguments in (("mnist", str(tmp_path)), ("cifar-10", str(tmp_path))):
        result = run(*arguments, "--out", str(tmp_path / "o"))
        assert isinstance(result.exception, Stop) and not (tmp_path / "o").exists()
