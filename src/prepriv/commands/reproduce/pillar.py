"""`prepriv reproduce pillar`: the figures of paper 002 on real data, as PNG and numbers (docs/pillar.md).

Ten percent of the training rows are taken as public and lose their labels. Public maps do not depend on k, so they
are applied once; every point is then a run of the library's classifier on the first k public directions, under a
declared ball.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from prepriv.commands.common import Stop, console
from prepriv.commands.reproduce.preprocessing_figures import new_figure
from prepriv.commands.reproduce.preprocessing_tables import show, write_csv
from prepriv.domain import Domain
from prepriv.estimators import PrivateClassifier
from prepriv.mechanisms.noise import NoiseSource
from prepriv.pipeline.pillar import recommend_k
from prepriv.pipeline.pillar_theory import GaussianMixture, estimate
from prepriv.pipeline.recipes import SCALE
from prepriv.preprocessing.base import Floats
from prepriv.preprocessing.normalize import Rescale

DELTA = 1e-5
EPSILONS = (0.1, 0.7, math.inf)
FRACTIONS = (0.05, 0.1, 0.25, 0.5, 0.75)
FLOOR = 1e-4  # least eigenvalue that is divided by in whitening, over the largest
SETS = {"mnist": "fashion_mnist", "fashion_mnist": "mnist"}  # and the public rows of another distribution


@dataclass(frozen=True, eq=False)
class Task:
    """Rows in the frame of the public directions, the first the strongest, (n, d); spectrum (d,)."""

    name: str
    rows: Floats
    labels: NDArray[np.int64]
    test: Floats
    answers: NDArray[np.int64]
    spectrum: Floats
    whitened: bool = False

    def accuracy(self, k: int, epsilon: float, n: int, runs: int = 1) -> float:
        """Mean test accuracy of `runs` private runs on n rows in the first k directions."""
        x, test = _unit(self.rows[:n, :k]) if self.whitened else self.rows[:n, :k], self.test[:, :k]
        if self.whitened:
            test = _unit(test)
        domain = Domain.ball(k, range(10), radius=1.0, n=n)
        total = 0.0
        for _ in range(runs):
            clf = PrivateClassifier(domain, epsilon=epsilon, delta=DELTA, steps=[Rescale(SCALE)])
            total += float(clf.fit(x, self.labels[:n]).score(test, self.answers))
        return total / runs

    def recommended(self, epsilon: float, n: int) -> int:
        """k from public rows, n and the budget alone."""
        found = recommend_k(
            self.spectrum, n=n, epsilon=epsilon, delta=DELTA, whitened=self.whitened, classes=10
        )
        return found.k

    def with_equal_deviations(self) -> Task:
        """Every public direction brought to the same deviation: standardised features, as embeddings often are."""
        factor = np.maximum(self.spectrum, FLOOR * self.spectrum[0]) ** -0.5
        return Task(
            f"{self.name}, whitened",
            self.rows * factor,
            self.labels,
            self.test * factor,
            self.answers,
            self.spectrum,
            True,
        )


@dataclass(frozen=True)
class Size:
    """How much is run. rows, test: at most so many; ks: dimensions beside the recommended and the full one."""

    rows: int = 54_000
    test: int = 10_000
    ks: tuple[int, ...] = (5, 10, 20, 40, 80, 160, 320)
    runs: int = 2
    sets: tuple[str, ...] = ("mnist", "fashion_mnist")
    fractions: tuple[float, ...] = FRACTIONS
    dimensions: tuple[int, ...] = (10, 50, 200, 800)


SMALL = Size(2000, 500, (10, 40), 1, ("mnist",), (0.25, 0.75), (10, 100))


def pillar(
    data: Annotated[Path, typer.Option(help="Folder with mnist.npz and fashion_mnist.npz.")],
    out: Annotated[Path, typer.Option(help="Folder for the pictures (PNG) and numbers (CSV, JSON).")] = Path(
        "run/pillar"
    ),
    small: Annotated[bool, typer.Option("--small", help="One data set, 2000 rows: under a minute.")] = False,
    rows: Annotated[int, typer.Option(help="Private rows at most.")] = 54_000,
) -> None:
    """Accuracy against k, low-data regimes, xi against k, distribution shift, Gaussian mixtures."""
    size = SMALL if small else Size(rows=rows)
    files = {name: data / f"{name}.npz" for name in SETS}
    for path in files.values():
        if not path.is_file():
            raise Stop(f"--data: no such file: {path.name}")
    out.mkdir(parents=True, exist_ok=True)
    numbers: dict[str, Any] = {}
    numbers["mixture"] = mixture(size)
    _finish(out, "mixture", numbers["mixture"], "d", "rows", ("full", "public_pca"), log=True)
    loaded = {name: _load(path, size) for name, path in files.items()}
    for name in size.sets:
        here, other = loaded[name], loaded[SETS[name]]
        task, shifted = make_task(name, here, here), make_task(f"{name}, shifted", here, other)
        white = task.with_equal_deviations()
        for t in (task, white):
            key = t.name.replace(", ", "_")
            numbers[f"accuracy_{key}"] = accuracy_against_k(t, size)
            _finish(out, f"accuracy_{key}", numbers[f"accuracy_{key}"], "k", "test accuracy",
                    [f"epsilon_{e:g}" for e in EPSILONS], log=True)  # fmt: skip
            numbers[f"low_data_{key}"] = low_data(t, size)
            _finish(out, f"low_data_{key}", numbers[f"low_data_{key}"], "fraction", "test accuracy",
                    [f"{w}_epsilon_{e:g}" for e in EPSILONS[:2] for w in ("pca", "full")])  # fmt: skip
        numbers[f"xi_{name}"] = xi_against_k(here, task)
        _finish(out, f"xi_{name}", numbers[f"xi_{name}"], "k", "ξ_k", ("pixels", "whitened"), log=True)
        numbers[f"shift_{name}"] = shift(task, shifted, size)
        _finish(out, f"shift_{name}", numbers[f"shift_{name}"], "k", "test accuracy, ε = 0.7",
                ("same", "other"), log=True)  # fmt: skip
    text = json.dumps(numbers, indent=1, ensure_ascii=False)
    (out / "numbers.json").write_text(text + "\n", encoding="utf-8")
    console.print(f"wrote {out / 'numbers.json'}, one CSV and one PNG a figure")


# -------------------------------------------------------------------------------------------- the figures


def accuracy_against_k(task: Task, size: Size) -> list[dict[str, float]]:
    """One line a dimension; the recommended one of every epsilon is among them."""
    n, d = len(task.rows), task.rows.shape[1]
    best = {e: task.recommended(e, n) for e in EPSILONS}
    ks = sorted({*(k for k in size.ks if k < d), *(min(k, d) for k in best.values()), d})
    return [
        {"k": float(k)}
        | {f"epsilon_{e:g}": task.accuracy(k, e, n, size.runs if e < 1 else 1) for e in EPSILONS}
        | {f"recommended_{e:g}": float(k == min(best[e], d)) for e in EPSILONS}
        for k in ks
    ]


def low_data(task: Task, size: Size) -> list[dict[str, float]]:
    """Accuracy at the recommended k and at full dimension, on a share of the private rows."""
    lines = []
    for fraction in size.fractions:
        n = round(fraction * len(task.rows))
        line = {"fraction": fraction, "n": float(n)}
        for e in EPSILONS[:2]:
            k = task.recommended(e, n)
            pca, full = (task.accuracy(j, e, n, size.runs) for j in (k, task.rows.shape[1]))
            line |= {f"k_{e:g}": float(k), f"pca_epsilon_{e:g}": pca, f"full_epsilon_{e:g}": full}
            line[f"ratio_above_chance_{e:g}"] = (pca - 0.1) / max(full - 0.1, 0.01)
        lines.append(line)
    return lines


def xi_against_k(raw: Raw, task: Task) -> list[dict[str, float]]:
    """xi_k of a linear SVM on the public rows of the first two classes, with their labels (paper 002, Figure 5)."""
    pair = raw.public_labels < 2
    frame = (raw.public - raw.public.mean(axis=0)) @ _directions(raw.public)[0]
    factor = np.maximum(task.spectrum, FLOOR * task.spectrum[0]) ** -0.5
    found = {
        name: estimate(x[pair], raw.public_labels[pair] == 1, unlabelled=x).xi
        for name, x in (("pixels", frame), ("whitened", frame * factor))
    }
    ks = [k for k in (1, 2, 5, 10, 20, 40, 80, 160, 320, 640) if k <= frame.shape[1]]
    return [{"k": float(k)} | {name: float(xi[k - 1]) for name, xi in found.items()} for k in ks]


def shift(same: Task, other: Task, size: Size) -> list[dict[str, float]]:
    """Directions of the same distribution beside directions of another one, epsilon = 0.7."""
    n = len(same.rows)
    return [
        {"k": float(k), "same": same.accuracy(k, 0.7, n), "other": other.accuracy(k, 0.7, n)} for k in size.ks
    ]


def mixture(size: Size) -> list[dict[str, float]]:
    """Labelled rows for 90 % accuracy at epsilon = 0.5, theta = sigma2 = 1/sqrt(d), with and without public PCA."""
    return [
        {
            "d": float(d),
            "full": float(_needed(d, d, size.runs)),
            "public_pca": float(_needed(d, 2, size.runs)),
            "order_sqrt_d": math.sqrt(d),
        }
        for d in size.dimensions
    ]


def _needed(d: int, k: int, runs: int) -> int:
    """The least n among 50 * sqrt2^i with mean accuracy at least 0.9."""
    law = GaussianMixture(d, 1 / math.sqrt(d), 1 / math.sqrt(d))
    source = NoiseSource.for_tests(d)
    public, test, answers = law.draw(4000, source)[0], *law.draw(2000, source)
    frame = np.linalg.eigh(public.T @ public)[1][:, ::-1][:, :k] if k < d else np.eye(d)
    radius = 1 + law.reach(1000, 0.5)
    for i in range(20):
        n = round(50 * math.sqrt(2) ** i)
        total = 0.0
        for _ in range(max(2, runs)):
            x, y = law.draw(n, source)
            domain = Domain.ball(k, range(2), radius=radius, n=n)
            clf = PrivateClassifier(domain, epsilon=0.5, delta=DELTA, steps=[Rescale(SCALE)])
            total += float(clf.fit(x @ frame, y).score(test @ frame, answers))
        if total / max(2, runs) >= 0.9:
            return n
    raise ValueError(f"no n up to {n} was enough for d={d}")


# ------------------------------------------------------------------------------------------------ data


@dataclass(frozen=True, eq=False)
class Raw:
    """Pixels of norm one: public rows, private rows and test rows, with labels."""

    public: Floats
    public_labels: NDArray[np.int64]
    rows: Floats
    labels: NDArray[np.int64]
    test: Floats
    answers: NDArray[np.int64]


def _load(path: Path, size: Size) -> Raw:
    with np.load(path) as z:
        x, y = z["x_train"].reshape(len(z["x_train"]), -1), z["y_train"].astype(np.int64)
        test, answers = z["x_test"].reshape(len(z["x_test"]), -1), z["y_test"].astype(np.int64)
    tenth = len(x) // 10  # both files are shuffled, or sorted by nothing that tells the class
    end = tenth + min(size.rows, len(x) - tenth)
    return Raw(
        _unit(x[:tenth] / 255.0),
        y[:tenth],
        _unit(x[tenth:end] / 255.0),
        y[tenth:end],
        _unit(test[: size.test] / 255.0),
        answers[: size.test],
    )


def make_task(name: str, raw: Raw, public: Raw) -> Task:
    """Centre by the public mean, rows to norm one, public directions: the steps of `pillar` up to PCA."""
    mean = public.public.mean(axis=0)
    frame, spectrum = _directions(public.public)
    rows, test = (_unit(x - mean) @ frame for x in (raw.rows, raw.test))
    return Task(name, rows, raw.labels, test, raw.answers, spectrum)


def _directions(public: Floats) -> tuple[Floats, Floats]:
    centred = _unit(public - public.mean(axis=0))
    values, vectors = np.linalg.eigh(centred.T @ centred / len(centred))
    return np.asarray(vectors[:, ::-1]), np.maximum(values[::-1], 0.0)


def _unit(x: Floats) -> Floats:
    return np.asarray(x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-12))


def _finish(
    out: Path,
    name: str,
    rows: Sequence[dict[str, float]],
    x: str,
    label: str,
    curves: Sequence[str],
    *,
    log: bool = False,
) -> None:
    write_csv(out / f"{name}.csv", rows)
    show(name.replace("_", " "), list(rows[0]), rows)
    figure = new_figure(6.0, 4.0)
    axes = figure.add_subplot()
    for curve in curves:
        axes.plot([r[x] for r in rows], [r[curve] for r in rows], marker=".", label=curve.replace("_", " "))
    axes.set(xlabel=x, ylabel=label)
    if log:
        axes.set_xscale("log")
    axes.legend()
    figure.savefig(out / f"{name}.png", dpi=130)
