"""`prepriv reproduce network-features` on a folder of features: every figure with its numbers, resumed, refused by a sentence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from prepriv.commands.app import app
from prepriv_papers import REPRODUCTIONS, everything
from prepriv_papers.network_features import measured, network_features
from prepriv_papers.semi_private_learning.tasks import Task
from prepriv_papers.user_data import collection
from stand_ins import features, sets

TINY = measured.Sizes(
    pixels=60, few=40, test=30, ks=(2,), splits=1, runs=1, fractions=(0.5,), tenth_runs=1, table_runs=1
)


@pytest.fixture
def held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Features of the digits that stand in for two sets of images, and of the messages."""
    folder = sets(tmp_path)
    monkeypatch.setattr(network_features.Drawing, "save", lambda *_: None)  # test_reproduce_pillar.py draws
    frame = np.random.default_rng(1).normal(size=(256, 12)) / 16
    for name in network_features.SETS:
        (folder / "features" / name).mkdir(parents=True)
        with np.load(folder / f"{name}.npz") as z:
            for part in ("train", "test"):
                rows = np.maximum(z[f"x_{part}"].reshape(-1, 256) / 255 @ frame, 0)
                np.save(folder / "features" / name / f"{part}.npy", rows.astype(np.float32))
                np.save(folder / "features" / name / f"{part}_labels.npy", z[f"y_{part}"])
    np.save(folder / "features/sms.npy", np.load(folder / "embeddings.npy"))
    return folder


def run(held: Path, *options: str, features: str = "features") -> Any:
    arguments = ["reproduce", "network-features", "--features", str(held / features), "--small"]
    return CliRunner().invoke(app, [*arguments, "--out", str(held / "out"), *options])


def test_every_figure_comes_with_its_numbers_and_goes_on(held: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network_features, "SMALL", TINY)
    for baseline in ("paper", "default"):
        monkeypatch.setattr(Task, baseline, lambda self, epsilon, n: 0.5)
    monkeypatch.setattr(Task, "accuracy", lambda self, k, e, n: 0.9 - 0.2 / (1 + e) - 0.01 * k)
    result = run(held, "--data", str(held))
    assert result.exit_code == 0, (result.output, result.exception)
    numbers = json.loads((held / "out/numbers.json").read_text(encoding="utf-8"))
    images = {f"{f}_{s}" for s in network_features.SETS for f in ("table_2", "xi", "table_1")}
    figures = {f"{f}_{s}" for s in (*network_features.SETS, "sms") for f in ("accuracy", "ten_percent")}
    more = {"all_rows_fashion_mnist", "low_data_fashion_mnist", "low_data_sms"}
    assert set(numbers) == images | figures | more
    for name in numbers:
        assert (held / "out" / f"{name}.csv").is_file()
    assert numbers["ten_percent_sms"][0]["chance"] == 50
    assert numbers["table_1_fashion_mnist"][0]["n"] == 40 and numbers["all_rows_fashion_mnist"][0]["n"] == 60
    for kind in ("pixels", "features"):
        xi = [r[kind] for r in numbers["xi_mnist"]]
        assert xi == sorted(xi, reverse=True) and xi[0] > 0
    text = " ".join(result.output.split())
    assert "not decided at this size" in text and "81.3 and 76.9" in text and "this run has no" not in text
    before = (held / "out/rows.jsonl").read_bytes()
    monkeypatch.setattr(Task, "accuracy", None)  # there already: nothing is computed again
    again = run(held, "--data", str(held))
    assert again.exit_code == 0 and (held / "out/rows.jsonl").read_bytes() == before
    some = run(held, "--data", str(held), "--only", "xi")
    assert some.exit_code == 0 and "this run has no" in " ".join(some.output.split())
    assert run(held).exit_code != 0  # another setting is not mixed in


def test_pixels_stand_beside_the_features_of_the_same_images(held: Path) -> None:
    found = collection(held / "features/mnist")
    frame = np.random.default_rng(1).normal(size=(256, 12)) / 16
    rows = np.maximum(measured.pixels_of(found, held / "mnist.npz") @ frame, 0)
    np.testing.assert_allclose(rows, found.rows, atol=1e-6)


def test_what_is_missing_or_belongs_to_other_images_is_refused(held: Path) -> None:
    (held / "empty").mkdir()
    none = run(held, features="empty")
    assert none.exit_code != 0 and "holds none of fashion_mnist, mnist, nor sms.npy" in str(none.exception)
    with np.load(held / "mnist.npz") as z:
        other = dict(z) | {"y_train": z["y_train"][::-1]}
    np.savez(held / "mnist.npz", **other)
    wrong = run(held, "--data", str(held))
    assert wrong.exit_code != 0 and "they must be of the same images" in str(wrong.exception)
    np.save(held / "features/sms.npy", np.zeros((7, 6)))
    few = run(held, "--data", str(held))
    assert few.exit_code != 0 and "sms.npy: 7 rows for 120 messages" in str(few.exception)


def test_without_a_folder_of_features_the_items_are_not_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    commands = {"network-features": REPRODUCTIONS["network-features"]}
    everything.run_all(commands, {"data": features(tmp_path / "x"), "features": None}, tmp_path, True)
    text = " ".join(capsys.readouterr().out.split())
    assert "network-features: not run, it needs --features" in text and "not run: it needs --features" in text
