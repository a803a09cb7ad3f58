"""Image collections of the papers that are not part of this repository (CIFAR-10, CIFAR-100, GTSRB, ...), from a folder of the user's.

Three layouts. Features: train.npy (n, d), train_labels.npy (n,), test.npy, test_labels.npy, as of a pre-trained network that
saw no private image. Images: train/CLASS/*.png and test/CLASS/*.png (also jpg, jpeg, ppm, bmp), made grey and SIDE x SIDE.
The binary version of CIFAR: data_batch_1.bin, ..., test_batch.bin, or train.bin and test.bin (fine labels), made grey.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from prepriv.commands.exits import Stop

SIDE = 32
ENDINGS = (".png", ".jpg", ".jpeg", ".ppm", ".bmp")
PARTS = ("train", "test")


@dataclass(frozen=True, eq=False)
class Collection:
    """rows: (n, d) features, or (n, SIDE, SIDE) grey images in [0, 1]; labels 0, 1, ...; in a fixed mixed order."""

    name: str
    rows: NDArray[np.float32]
    labels: NDArray[np.int64]
    test: NDArray[np.float32]
    answers: NDArray[np.int64]

    @property
    def images(self) -> bool:
        """Whether rows are images rather than features."""
        return self.rows.ndim == 3


def collection(folder: Path) -> Collection:
    """The collection in a folder, named after it. Raises Stop with what is missing or wrong."""
    if (folder / "train.npy").is_file():
        parts = [_features(folder, part) for part in PARTS]
    elif all((folder / part).is_dir() for part in PARTS):
        classes = sorted(p.name for p in (folder / "train").iterdir() if p.is_dir())
        parts = [_images(folder / part, classes) for part in PARTS]
    elif (names := _binary(folder)) is not None:
        parts = [_cifar([folder / name for name in part]) for part in names]
    else:
        raise Stop(
            f"{folder} holds neither train.npy, train_labels.npy, test.npy, test_labels.npy nor the folders "
            "train/CLASS and test/CLASS with images, nor the binary version of CIFAR"
        )
    (rows, labels), (test, answers) = parts
    if rows.shape[1:] != test.shape[1:]:
        raise Stop(f"{folder}: training rows have shape {rows.shape[1:]}, test rows {test.shape[1:]}")
    kinds = np.unique(labels)
    if len(kinds) < 2 or not np.isin(answers, kinds).all():
        raise Stop(
            f"{folder}: labels must hold two classes or more, and those of the test rows must be among them"
        )
    order = mixed(len(rows))
    labels, answers = np.searchsorted(kinds, labels), np.searchsorted(kinds, answers)
    return Collection(folder.name, rows[order], labels[order], test, answers)


def mixed(n: int) -> NDArray[np.intp]:
    """The order in which a collection holds the rows of its files, which are often sorted by class."""
    return np.argsort(np.arange(n) * 2_654_435_761 % 2**32)


def _features(folder: Path, part: str) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    try:
        rows = np.load(folder / f"{part}.npy", allow_pickle=False)
        labels = np.load(folder / f"{part}_labels.npy", allow_pickle=False)
    except (OSError, ValueError) as error:
        raise Stop(f"{folder}: {part}.npy and {part}_labels.npy must be arrays of numbers: {error}") from None
    if rows.ndim != 2 or rows.dtype.kind not in "fiu" or not np.isfinite(rows).all():
        raise Stop(
            f"{folder}/{part}.npy must be finite numbers of shape (n, d); got {rows.dtype}, {rows.shape}"
        )
    if labels.shape != rows.shape[:1] or labels.dtype.kind not in "iu":
        raise Stop(
            f"{folder}/{part}_labels.npy must be {len(rows)} whole numbers; got {labels.dtype}, {labels.shape}"
        )
    return rows.astype(np.float32), labels.astype(np.int64)


def _binary(folder: Path) -> tuple[list[str], list[str]] | None:
    """The files of CIFAR-10's or CIFAR-100's binary version, training and test, if they are there."""
    ten = ([f"data_batch_{i}.bin" for i in range(1, 6)], ["test_batch.bin"])
    for train, test in (ten, (["train.bin"], ["test.bin"])):
        if all((folder / name).is_file() for name in (*train, *test)):
            return train, test
    return None


def _cifar(paths: list[Path]) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Records of one label (CIFAR-10) or two, of which the second is fine (CIFAR-100), and 3 x 32 x 32 bytes."""
    before = 1 if paths[0].name.startswith(("data_batch", "test_batch")) else 2
    held = [np.frombuffer(path.read_bytes(), dtype=np.uint8) for path in paths]
    size = before + 3 * SIDE * SIDE
    for path, bytes_ in zip(paths, held, strict=True):
        if not len(bytes_) or len(bytes_) % size:
            raise Stop(f"{path} must hold records of {size} bytes; got {len(bytes_)} bytes")
    records = np.concatenate(held).reshape(-1, size)
    colours = records[:, before:].reshape(-1, 3, SIDE, SIDE).astype(np.float32) / 255
    grey = np.tensordot(np.array([0.299, 0.587, 0.114], dtype=np.float32), colours, axes=(0, 1))
    return np.asarray(grey, dtype=np.float32), records[:, before - 1].astype(np.int64)


def _images(folder: Path, classes: list[str]) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    try:
        from PIL import Image
    except ImportError:
        raise Stop(
            "folders of images need Pillow (pip install pillow); or give features as train.npy, ..."
        ) from None
    rows, labels = [], []
    for label, name in enumerate(classes):
        for path in sorted(p for p in (folder / name).glob("*") if p.suffix.lower() in ENDINGS):
            try:
                with Image.open(path) as image:
                    rows.append(np.asarray(image.convert("L").resize((SIDE, SIDE)), dtype=np.float32) / 255)
            except OSError as error:
                raise Stop(f"{path} is no readable image: {error}") from None
            labels.append(label)
    if not rows:
        raise Stop(f"{folder}/CLASS holds no image ({', '.join(ENDINGS)})")
    return np.stack(rows), np.array(labels, dtype=np.int64)
