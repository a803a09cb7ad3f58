"""What the experiments on features of a public network measure. Accuracies are in %; test rows choose nothing."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from prepriv.commands.exits import Stop
from prepriv.recipes.dpsgd_f import dpsgd, dpsgd_f_modified
from prepriv_papers.feature_preprocessing import measured
from prepriv_papers.semi_private_learning.measures import Line, Size, separator
from prepriv_papers.semi_private_learning.tasks import Group, Task, from_collection, shortened
from prepriv_papers.user_data import Collection, mixed

KS = (1, 2, 5, 10, 20, 40, 80, 160, 320)
CONCENTRATED = 6000  # rows of which Table 2 is read: every pair of them is compared
WAYS: dict[str, Callable[..., Any]] = {"DPSGD": dpsgd, "DPSGD-F": dpsgd_f_modified}


@dataclasses.dataclass(frozen=True)
class Sizes(Size):
    """Of `prepriv reproduce network-features`: some five minutes of one idle core. table_runs: runs of each cell of Table 1."""

    pixels: int = 20_000  # private rows at most
    ks: tuple[int, ...] = (10, 40, 160)
    fractions: tuple[float, ...] = (0.1, 0.5)
    splits: int = 3
    runs: int = 1
    tenth_runs: int = 10
    table_runs: int = 2


def groups_of(found: Collection, size: Size) -> tuple[Group, Group]:
    """(few private rows, all of them) of a collection of features, a tenth of whose rows are public."""
    (raw,) = from_collection(found, size.pixels, size.test)
    task = Task.of(dataclasses.replace(raw, name=found.name))
    return Group(found.name, [shortened(task, size.few)], size.runs), Group(found.name, [task])


def xi_against_k(features: Collection, images: Path) -> list[Line]:
    """ξ_k of a linear SVM on public rows of the first two classes, with their labels (Figure 5): pixels beside features."""
    pixels = pixels_of(features, images)
    tenth = len(features.rows) // 10
    labels = features.labels[:tenth]
    found = {
        "pixels": separator(np.sqrt(pixels[:tenth].astype(np.float64)), labels),
        "features": separator(features.rows[:tenth].astype(np.float64), labels),
    }
    accuracies = {f"svm_{name}": 100 * e.accuracy for name, e in found.items()}
    shortest = min(len(e.xi) for e in found.values())
    return [
        {"k": float(k)} | {name: float(e.xi[k - 1]) for name, e in found.items()} | accuracies
        for k in KS
        if k <= shortest
    ]


def pixels_of(features: Collection, images: Path) -> np.ndarray:
    """The training images that the features were made of, as rows between 0 and 1, in the same order."""
    with np.load(images) as held:
        x, y = held["x_train"], held["y_train"].astype(np.int64)
    order = mixed(len(features.rows))
    if len(x) < len(order) or not np.array_equal(
        np.unique(y, return_inverse=True)[1][order], features.labels
    ):
        raise Stop(
            f"{images.name} and the features of {features.name} have other labels: they must be of the same images"
        )
    return np.asarray(x[order].reshape(len(order), -1) / 255.0)


def table_1(found: Collection, rows: int, runs: int) -> list[dict[str, Any]]:
    """DPSGD and DPSGD-F on the first rows at both ε, with standard deviations."""
    stop = min(rows, len(found.rows))
    images = (found.rows[:stop], found.labels[:stop], found.test, found.answers)
    lines: list[dict[str, Any]] = []
    for epsilon in measured.EPSILONS:
        line: dict[str, Any] = {"epsilon": epsilon, "n": float(stop)}
        for way, build in WAYS.items():
            got = [100 * measured.accuracy(build, epsilon, images) for _ in range(runs)]
            line[way] = float(np.mean(got))
            line[f"error_{way}"] = float(np.std(got, ddof=1)) if runs > 1 else 0.0
        lines.append(line)
    return lines


def table_2(found: Collection) -> list[dict[str, Any]]:
    """Diameter and distances from the mean, rows at norm 1."""
    return [measured.concentration(found.name, found.rows[:CONCENTRATED].astype(np.float64))]
