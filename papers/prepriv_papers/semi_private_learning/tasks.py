"""Data sets of `prepriv reproduce pillar`: public unlabelled rows, private rows and test rows of each.

A tenth of the training rows is public and loses its labels. Public maps do not depend on k, so they are applied once;
every point is then a run of the library's classifier on the first k public directions, under a declared ball.
"""

from __future__ import annotations

import csv
import dataclasses
import gzip
import hashlib
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import prepriv
from prepriv._arrays import Floats
from prepriv.domain import Domain
from prepriv.learners.losses import Hinge, Logistic, Loss, Softmax
from prepriv.preprocessing.normalize import Rescale
from prepriv.recipes.automatic import SCALE
from prepriv.recipes.pillar import ZETA, before_pca, projected_learner, recommend_k
from prepriv_papers.semi_private_learning.patch_features import PatchFeatures
from prepriv_papers.user_data import Collection

DELTA = 1e-5
FLOOR = 1e-4  # least eigenvalue that is divided by in whitening, over the largest
Labels = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Raw:
    """Rows of norm at most one as the classifier would get them: public, private and test rows, with labels."""

    name: str
    public: Floats
    public_labels: Labels
    rows: Floats
    labels: Labels
    test: Floats
    answers: Labels
    balanced: bool = False

    @property
    def classes(self) -> int:
        """Number of classes; labels are 0, 1, ..."""
        return 1 + int(max(self.answers.max(), self.labels.max()))


@dataclass(frozen=True, eq=False)
class Task:
    """Rows in the frame of the public directions, the first the strongest, (n, d); spectrum (d,)."""

    name: str
    raw: Raw
    rows: Floats
    test: Floats
    spectrum: Floats

    @staticmethod
    def of(raw: Raw, public: Floats | None = None, name: str | None = None) -> Task:
        """Centre by the public mean, rows to norm one, public directions: what `pillar` does up to PCA."""
        public = raw.public if public is None else public
        frame, spectrum = directions(public)
        mean = public.mean(axis=0)
        rows, test = (unit(x - mean) @ frame for x in (raw.rows, raw.test))
        return Task(name or raw.name, raw, rows, test, spectrum)

    def with_equal_deviations(self) -> Task:
        """Every public direction brought to the same deviation, rows to norm one: whitened features."""
        factor = np.maximum(self.spectrum, FLOOR * self.spectrum[0]) ** -0.5
        flat = np.full(len(factor), 1 / len(factor))
        name = f"{self.name}, whitened"
        return Task(name, self.raw, unit(self.rows * factor), unit(self.test * factor), flat)

    def recommended(self, epsilon: float, n: int) -> int:
        """k from public rows, n and the budget alone."""
        found = recommend_k(
            self.spectrum,
            n=n,
            epsilon=epsilon,
            delta=DELTA,
            public_rows=len(self.raw.public),
            classes=self.raw.classes,
        )
        return found.k

    def accuracy(self, k: int, epsilon: float, n: int) -> float:
        """Test accuracy of one private run on n rows in the first k directions."""
        kept = self.spectrum[:k].sum() / self.spectrum.sum() if math.isfinite(epsilon) else 1.0
        domain = Domain.ball(k, range(self.raw.classes), radius=1.0, n=n)
        loss = loss_of(self.raw.classes)
        learner = projected_learner("gd", loss, domain, k, n, epsilon, DELTA)
        steps = [Rescale(SCALE / math.sqrt(min(float(kept), 1.0)))]
        clf = prepriv.PrivateClassifier(domain, epsilon=epsilon, delta=DELTA, steps=steps, learner=learner)
        clf.fit(self.rows[:n, :k], self.raw.labels[:n])
        return self._score(clf.predict(self.test[:, :k]))

    def default(self, epsilon: float, n: int) -> float:
        """The same for the library's default, which has no public rows: all dimensions, a private mean."""
        raw = self.raw
        domain = Domain.ball(raw.rows.shape[1], range(raw.classes), radius=1.0, n=n)
        clf = prepriv.PrivateClassifier(domain, epsilon=epsilon, delta=DELTA)
        return self._score(clf.fit(raw.rows[:n], raw.labels[:n]).predict(raw.test))

    def paper(self, epsilon: float, n: int) -> float:
        """The same for the paper's learner, noisy SGD on the scaled hinge, one-versus-rest, in all dimensions."""
        raw = self.raw
        d = raw.rows.shape[1]
        domain = Domain.ball(d, range(raw.classes), radius=1.0, n=n)
        steps = [*before_pca(domain, raw.public), Rescale(SCALE)]
        hinge = Hinge(raw.classes, ZETA * SCALE)
        learner = projected_learner("noisy-sgd", hinge, domain, d, n, epsilon, DELTA)
        clf = prepriv.PrivateClassifier(domain, epsilon=epsilon, delta=DELTA, steps=steps, learner=learner)
        return self._score(clf.fit(raw.rows[:n], raw.labels[:n]).predict(raw.test))

    def _score(self, guess: Any) -> float:
        answers = self.raw.answers
        hit = np.asarray(guess) == answers
        if self.raw.balanced:
            return float(np.mean([hit[answers == c].mean() for c in range(self.raw.classes)]))
        return float(hit.mean())


@dataclass(frozen=True, eq=False)
class Group:
    """One data set: one task, or the same rows split in several ways, over which accuracies are averaged."""

    name: str
    tasks: Sequence[Task]
    runs: int = 1

    @property
    def rows(self) -> int:
        """Private rows of a task."""
        return len(self.tasks[0].rows)

    @property
    def dimension(self) -> int:
        """Features of a task."""
        return self.tasks[0].rows.shape[1]

    @property
    def chance(self) -> float:
        """Accuracy of guessing (balanced accuracy for sets whose classes differ in size)."""
        return 1 / self.tasks[0].raw.classes

    def recommended(self, epsilon: float, n: int) -> int:
        """The median over splits."""
        return int(np.median([t.recommended(epsilon, n) for t in self.tasks]))

    def mean(self, epsilon: float, n: int, how: int | str, runs: int | None = None) -> tuple[float, float]:
        """(mean, standard error) over splits and runs. how: k, "recommended", "default" or "paper"."""
        found = [self._once(t, epsilon, n, how) for t in self.tasks for _ in range(runs or self.runs)]
        error = float(np.std(found, ddof=1) / math.sqrt(len(found))) if len(found) > 1 else math.nan
        return float(np.mean(found)), error

    @staticmethod
    def _once(task: Task, epsilon: float, n: int, how: int | str) -> float:
        if how == "default":
            return task.default(epsilon, n)
        if how == "paper":
            return task.paper(epsilon, n)
        return task.accuracy(task.recommended(epsilon, n) if isinstance(how, str) else how, epsilon, n)


def loss_of(classes: int) -> Loss:
    """Logistic or softmax."""
    return Logistic() if classes == 2 else Softmax()


def directions(public: Floats) -> tuple[Floats, Floats]:
    """(orthonormal directions (d, d), spectrum (d,)) of public rows, centred and of norm one."""
    centred = unit(public - public.mean(axis=0))
    values, vectors = np.linalg.eigh(centred.T @ centred / len(centred))
    return np.asarray(vectors[:, ::-1]), np.maximum(values[::-1], 0.0)


def unit(x: Floats) -> Floats:
    """Rows to norm one."""
    return np.asarray(x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-12))


# ---------------------------------------------------------------------------------------------- data sets


def pixels(path: Path, rows: int, test: int) -> Raw:
    """Square roots of pixels, rows of norm one: the recipe's features for intensities."""
    x, y, t, a = _images(path)
    tenth, end = len(x) // 10, min(len(x), len(x) // 10 + rows)  # sorted by nothing that tells the class
    root = [
        unit(np.sqrt(v.reshape(len(v), -1).astype(np.float64))) for v in (x[:tenth], x[tenth:end], t[:test])
    ]
    return Raw(path.stem, root[0], y[:tenth], root[1], y[tenth:end], root[2], a[:test])


def patches(path: Path, rows: int, test: int, filters: int = 100) -> Raw:
    """The same images by a fixed extractor made of the public ones (`PatchFeatures`)."""
    x, y, t, a = _images(path)
    tenth, end = len(x) // 10, min(len(x), len(x) // 10 + rows)
    extract = PatchFeatures.of(x[:tenth], filters)
    found = [unit(extract(v)) for v in (x[:tenth], x[tenth:end], t[:test])]
    return Raw(f"{path.stem}_patches", found[0], y[:tenth], found[1], y[tenth:end], found[2], a[:test])


def from_collection(found: Collection, rows: int, test: int, filters: int = 100) -> list[Raw]:
    """A user's collection: its features, or pixels and patch features of its images. A tenth of the rows is public."""
    tenth, end = len(found.rows) // 10, min(len(found.rows), len(found.rows) // 10 + rows)
    parts = (found.rows[:tenth], found.rows[tenth:end], found.test[:test])
    kinds = {found.name: [np.asarray(v, dtype=np.float64) for v in parts]}
    if found.images:
        extract = PatchFeatures.of(parts[0], filters)
        flat = [np.sqrt(v.reshape(len(v), -1).astype(np.float64)) for v in parts]
        kinds = {f"{found.name}_pixels": flat, f"{found.name}_patches": [extract(v) for v in parts]}
    labels = (found.labels[:tenth], found.labels[tenth:end], found.answers[:test])
    return [
        Raw(name, unit(public), labels[0], unit(private), labels[1], unit(tests), labels[2])
        for name, (public, private, tests) in kinds.items()
    ]


def _images(path: Path) -> tuple[NDArray[np.float32], Labels, NDArray[np.float32], Labels]:
    with np.load(path) as z:
        x, t = (z[k].astype(np.float32) / np.float32(255) for k in ("x_train", "x_test"))
        return x, z["y_train"].astype(np.int64), t, z["y_test"].astype(np.int64)


def messages(path: Path) -> tuple[list[str], Labels]:
    """Texts and classes (1: spam) of the SMS table."""
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        rows = [r for r in csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE) if len(r) == 2][1:]
    return [r[1] for r in rows], np.array([r[0].strip('"') == "spam" for r in rows]).astype(np.int64)


def hashed_words(texts: Sequence[str], columns: int) -> Floats:
    """(n, columns) square roots of counts of words, digits and signs, in columns by a hash; rows of norm one."""
    out = np.zeros((len(texts), columns))
    for row, text in zip(out, texts):
        for word in re.findall(r"[a-z]+|\d|[^\sa-z\d]", text.lower()):
            row[int.from_bytes(hashlib.sha256(word.encode()).digest()[:4], "big") % columns] += 1
    return unit(np.sqrt(out))


def cancer_cells() -> tuple[Floats, Labels]:
    """Breast cancer (UCI, shipped with scikit-learn): 569 rows, 30 measurements in units of their own."""
    from sklearn.datasets import load_breast_cancer

    x, y = load_breast_cancer(return_X_y=True)
    return np.asarray(x, dtype=np.float64), y.astype(np.int64)


def split(name: str, x: Floats, y: Labels, seed: int, *, standardize: bool = False) -> Raw:
    """A tenth public, a fifth for tests, in an order that a hash makes. Balanced accuracy."""
    order = np.argsort([hashlib.sha256(f"{seed}:{i}".encode()).digest() for i in range(len(x))])
    x, y = x[order], y[order]
    tenth, end = len(x) // 10, len(x) - len(x) // 5
    if standardize:  # by public rows
        deviation = x[:tenth].std(axis=0)
        x = (x - x[:tenth].mean(axis=0)) / np.where(deviation > 0, deviation, 1.0)
    x = unit(x)
    return Raw(name, x[:tenth], y[:tenth], x[tenth:end], y[tenth:end], x[end:], y[end:], balanced=True)


def grouped(name: str, x: Floats, y: Labels, splits: int, runs: int, *, standardize: bool = False) -> Group:
    """The same rows, split in several ways."""
    raws = [split(name, x, y, seed, standardize=standardize) for seed in range(splits)]
    return Group(name, [Task.of(raw) for raw in raws], runs)


def tenths(task: Task) -> Group:
    """Ten tasks with a tenth of the private rows each, disjoint; the same public and test rows."""
    n = max(1, len(task.rows) // 10)
    return Group(task.name, [shortened(task, n, n * i) for i in range(10)])


def shortened(task: Task, rows: int, start: int = 0) -> Task:
    """The same task with fewer private rows, from `start` on."""
    some = slice(start, start + rows)
    raw = dataclasses.replace(task.raw, rows=task.raw.rows[some], labels=task.raw.labels[some])
    return dataclasses.replace(task, raw=raw, rows=task.rows[some])
