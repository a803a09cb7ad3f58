"""Generated stand-ins for collections of images and of features that a user would have."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
from PIL import Image
from sklearn.datasets import load_digits


def features(folder: Path, train: int = 60, classes: int = 3, d: int = 8) -> Path:
    """Random rows around a centre for each class, as a network's features would be."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(classes, d))
    folder.mkdir(exist_ok=True)
    for part, n in (("train", train), ("test", 30)):
        labels = np.sort(np.arange(n) % classes) + 5  # not from 0 on, sorted by class
        np.save(folder / f"{part}.npy", centres[labels - 5] + rng.normal(scale=0.1, size=(n, d)))
        np.save(folder / f"{part}_labels.npy", labels)
    return folder


def images(folder: Path, n: int = 4) -> Path:
    """Coloured pictures of two kinds, of odd sizes."""
    rng = np.random.default_rng(0)
    for part in ("train", "test"):
        for label, kind in enumerate(("stop", "yield")):
            (folder / part / kind).mkdir(parents=True)
            for i in range(n):
                pixels = rng.integers(100 * label, 100 * label + 100, (20 + i, 30, 3)).astype(np.uint8)
                Image.fromarray(pixels).save(folder / part / kind / f"{i}.{'png' if i % 2 else 'ppm'}")
    return folder


def sets(folder: Path) -> Path:
    """Digits as two sets of images, messages, and embeddings of these."""
    x, y = load_digits(return_X_y=True)
    x = np.kron((x * 15).reshape(-1, 8, 8), np.ones((1, 2, 2))).astype(np.uint8)
    for name in ("mnist", "fashion_mnist"):
        np.savez(folder / f"{name}.npz", x_train=x[:1500], y_train=y[:1500], x_test=x[1500:], y_test=y[1500:])
    words = [("spam", "win a free prize now"), ("ham", "see you at lunch"), ("ham", "ok, later")]
    lines = [f"{kind}\t{text} {i}" for i in range(40) for kind, text in words]
    with gzip.open(folder / "sms_spam.tsv.gz", "wt", encoding="utf-8") as file:
        file.write("\n".join(["Label\tSMS", *lines]) + "\n")
    np.save(folder / "embeddings.npy", np.random.default_rng(0).normal(size=(120, 6)))
    return folder
