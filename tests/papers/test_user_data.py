"""A user's CIFAR, GTSRB, ...: folders of images or of features, on a generated stand-in."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from prepriv.commands.exits import Stop
from prepriv_papers.user_data import SIDE, collection
from stand_ins import features, images


def test_features_are_read_mixed_and_relabelled(tmp_path: Path) -> None:
    found = collection(features(tmp_path / "cifar100"))
    assert found.name == "cifar100" and not found.images and found.rows.shape == (60, 8)
    assert set(found.labels) == set(found.answers) == {0, 1, 2}
    assert len(set(found.labels[:10])) == 3  # the file is sorted by class, the collection is not
    near = np.linalg.norm(found.rows[:, None] - found.test[None], axis=2).argmin(axis=1)
    assert (found.labels == found.answers[near]).all()


def test_images_of_any_size_and_kind_become_grey_squares(tmp_path: Path) -> None:
    found = collection(images(tmp_path / "gtsrb"))
    assert found.images and found.rows.shape == (8, SIDE, SIDE)
    assert found.rows.min() >= 0 and found.rows.max() <= 1
    assert ((found.rows.mean(axis=(1, 2)) > 0.39) == (found.labels == 1)).all()


def _no_labels(folder: Path) -> None:
    (folder / "test_labels.npy").unlink()


def _objects(folder: Path) -> None:
    np.save(folder / "train.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)


def _infinite(folder: Path) -> None:
    np.save(folder / "test.npy", np.full((30, 8), np.inf))


def _short(folder: Path) -> None:
    np.save(folder / "train_labels.npy", np.arange(5))


def _wide(folder: Path) -> None:
    np.save(folder / "test.npy", np.zeros((30, 9)))


def _other(folder: Path) -> None:
    np.save(folder / "test_labels.npy", np.full(30, 99))


def _nothing(folder: Path) -> None:
    (folder / "train.npy").unlink()


BAD = {
    _no_labels: "test_labels.npy must be arrays",
    _objects: "must be arrays of numbers",
    _infinite: "finite numbers",
    _short: "60 whole numbers",
    _wide: "test rows",
    _other: "must be among them",
    _nothing: "holds neither train.npy",
}


@pytest.mark.parametrize("spoil", BAD)
def test_what_is_missing_or_wrong_is_said(tmp_path: Path, spoil: object) -> None:
    folder = features(tmp_path / "x")
    spoil(folder)  # type: ignore[operator]
    with pytest.raises(Stop, match=BAD[spoil]):
        collection(folder)


def test_a_file_that_is_no_image_is_named(tmp_path: Path) -> None:
    folder = images(tmp_path / "x")
    (folder / "train/stop/9.png").write_bytes(b"no image")
    with pytest.raises(Stop, match=r"9\.png is no readable image"):
        collection(folder)
    for path in [*(folder / "test").rglob("*.p*"), folder / "train/stop/9.png"]:
        path.unlink()
    with pytest.raises(Stop, match="holds no image"):
        collection(folder)
