"""What the figures of How to Make Semi-Private Learning Effective measure, on data that are here. Accuracies are in %."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import prepriv
from prepriv._arrays import Floats
from prepriv.domain import Domain
from prepriv.learners.losses import Logistic
from prepriv.mechanisms.noise import NoiseSource
from prepriv.preprocessing.normalize import Rescale
from prepriv.recipes.automatic import SCALE
from prepriv.recipes.pillar import projected_learner
from prepriv_papers.semi_private_learning.learned_features import NetworkFeatures
from prepriv_papers.semi_private_learning.pillar_theory import Estimate, GaussianMixture, estimate
from prepriv_papers.semi_private_learning.tasks import (
    DELTA,
    FLOOR,
    Group,
    Labels,
    Raw,
    Task,
    directions,
    tenths,
    unit,
)

EPSILONS = (0.1, 0.7, math.inf)
Line = dict[str, float]


@dataclasses.dataclass(frozen=True)
class Size:
    """How much is run. pixels: private rows of images at most where all rows are used; few: elsewhere, a small private
    collection. ks: dimensions beside the recommended and the full one. splits, runs: of the small sets; images have one
    split. filters, words: features of images and messages. dimensions, draws: of the mixture. hidden: of the network.
    tenth_runs: runs a number on a tenth of the rows."""

    pixels: int = 54_000
    few: int = 5_400
    test: int = 5_000
    ks: tuple[int, ...] = (5, 10, 20, 40, 80, 160)
    splits: int = 4
    runs: int = 2
    filters: int = 100
    words: int = 1024
    sets: tuple[str, ...] = ("mnist", "fashion_mnist")
    fractions: tuple[float, ...] = (0.05, 0.1, 0.25, 0.5, 0.75)
    dimensions: tuple[int, ...] = (10, 50, 200, 800)
    draws: int = 16
    hidden: int = 256
    tenth_runs: int = 20


SMALL = Size(1000, 800, 500, (10,), 1, 1, 8, 128, ("mnist",), (0.1,), (10, 40), 2, 32, 1)


def accuracy_against_k(group: Group, size: Size) -> list[Line]:
    """One line a dimension, all private rows; the recommended one of every epsilon is among them."""
    n, d = group.rows, group.dimension
    best = {e: min(group.recommended(e, n), d) for e in EPSILONS}
    return [
        {"k": float(k)}
        | _accuracies({f"epsilon_{e:g}": group.mean(e, n, k, None if e < 1 else 1) for e in EPSILONS})
        | {f"recommended_{e:g}": float(k == best[e]) for e in EPSILONS}
        for k in sorted({*(k for k in size.ks if k < d), *best.values(), d})
    ]


def low_data(group: Group, size: Size) -> list[Line]:
    """Accuracy at the recommended k and at full dimension, same learner, on a share of the private rows."""
    lines = []
    for fraction in size.fractions:
        n = max(1, round(fraction * group.rows))
        line = {"fraction": fraction, "n": float(n)}
        for e in EPSILONS[:2]:
            pca, full = (group.mean(e, n, how) for how in ("recommended", group.dimension))
            line |= _accuracies({f"pca_epsilon_{e:g}": pca, f"full_epsilon_{e:g}": full})
            line |= {f"k_{e:g}": float(group.recommended(e, n))}
            line |= {f"ratio_{e:g}": _ratio(pca[0], full[0], group.chance)}
        lines.append(line)
    return lines


def ten_percent(groups: Sequence[Group], size: Size) -> list[dict[str, Any]]:
    """A tenth of the private rows, epsilon = 0.7: the recommended k beside three baselines at full dimension.

    Of a set with one split, ten disjoint tenths in turn; of the others the first tenth of every split.
    """
    lines: list[dict[str, Any]] = []
    for group in groups:
        n = max(1, round(0.1 * group.rows))
        spread = group if len(group.tasks) > 1 else tenths(group.tasks[0])
        spread = Group(group.name, spread.tasks[: size.tenth_runs])
        runs = math.ceil(size.tenth_runs / len(spread.tasks))
        found = {
            how: spread.mean(0.7, n, at, runs)
            for how, at in (("pca", "recommended"), ("full", group.dimension), ("default", "default"))
        }
        some = Group(group.name, spread.tasks[:4])  # the paper's: its account takes longer than its training
        found["paper"] = some.mean(0.7, n, "paper")
        line: dict[str, Any] = {
            "data": group.name,
            "n": n,
            "d": group.dimension,
            "chance": 100 * group.chance,
        }
        line["k"] = spread.recommended(0.7, n)
        line |= _accuracies(found)
        line |= {
            f"ratio_{how}": _ratio(found["pca"][0], found[how][0], group.chance)
            for how in ("full", "default", "paper")
        }
        lines.append(line)
    return lines


def _ratio(one: float, other: float, chance: float) -> float:
    """Accuracy above chance, at least 0, over accuracy above chance, at least one point."""
    return max(one - chance, 0.0) / max(other - chance, 0.01)


def _accuracies(found: Mapping[str, tuple[float, float]]) -> Line:
    """Means in %, and their standard errors where there are several runs."""
    means = {name: 100 * mean for name, (mean, _) in found.items()}
    return means | {f"error_{name}": 100 * e if math.isfinite(e) else 0.0 for name, (_, e) in found.items()}


def all_rows(group: Group) -> list[Line]:
    """All private rows of an image set: the recommended k beside full dimension, same learner."""
    n = group.rows
    lines = []
    for e in EPSILONS[:2]:
        k = group.recommended(e, n)
        pca, full = (group.mean(e, n, at) for at in (k, group.dimension))
        lines.append({"epsilon": e, "n": float(n), "k": float(k)} | _accuracies({"pca": pca, "full": full}))
    return lines


def whitened(group: Group, plain: Task) -> list[Line]:
    """Whitened features at a tenth of the rows, epsilon = 0.7: k of the plain spectrum beside full dimension."""
    n = round(0.1 * group.rows)
    k = plain.recommended(0.7, n)
    pca, full = (group.mean(0.7, n, at) for at in (k, group.dimension))
    ratio = _ratio(pca[0], full[0], group.chance)
    return [{"n": float(n), "k": float(k)} | _accuracies({"pca": pca, "full": full}) | {"ratio": ratio}]


def xi_against_k(raw: Raw, embedded: Raw, hidden: int) -> list[Line]:
    """xi_k of a linear SVM on public rows of the first two classes, with their labels (Figure 5): raw pixels, patch
    features, and the hidden layer of a network trained on the first half of the public rows, with all classes or
    without those two. All are measured on the second half, and the accuracy of the SVM stands beside them."""
    half = len(raw.public) // 2
    labels, pixels = raw.public_labels, raw.public
    others = np.flatnonzero(labels[:half] >= 2)
    rows = {
        "pixels": pixels[half:],
        "patches": embedded.public[half:],
        "network_all_classes": NetworkFeatures.of(pixels[:half], labels[:half], hidden)(pixels[half:]),
        "network_other_classes": NetworkFeatures.of(pixels[others], labels[others], hidden)(pixels[half:]),
    }
    found = {name: separator(r, labels[half:]) for name, r in rows.items()}
    found["pixels_whitened"] = separator(rows["pixels"], labels[half:], whiten=True)
    ks = [k for k in (1, 2, 5, 10, 20, 40, 80, 160, 320) if k <= min(len(e.xi) for e in found.values())]
    accuracies = {f"svm_{name}": 100 * e.accuracy for name, e in found.items()}
    return [
        {"k": float(k)} | {name: float(e.xi[k - 1]) for name, e in found.items()} | accuracies for k in ks
    ]


def separator(rows: Floats, labels: Labels, *, whiten: bool = False) -> Estimate:
    """The best separator of the first two classes, and its ξ_k by the directions of all these rows."""
    pair = labels < 2
    rows = unit(rows)
    frame, spectrum = directions(rows)
    rows = (rows - rows.mean(axis=0)) @ frame
    if whiten:
        rows = rows * np.maximum(spectrum, FLOOR * spectrum[0]) ** -0.5
    return estimate(rows[pair], labels[pair] == 1, unlabelled=rows)


def reduction(accuracies: Mapping[str, Sequence[Line]]) -> list[dict[str, Any]]:
    """Figure 8: of two kinds of features of one data set, which loses less by privacy.

    accuracies: lines of `accuracy_against_k` by the name of the group, "DATA_KIND". For each epsilon the part of the
    best accuracy without privacy (of either kind, any k) that the best private k of each kind loses. Best by the test
    rows, as in the paper: a comparison, no accuracy that a user would get.
    """
    kinds: dict[str, list[str]] = {}
    for name in accuracies:
        kinds.setdefault(name.rpartition("_")[0], []).append(name)
    out: list[dict[str, Any]] = []
    for data, names in kinds.items():
        best = max(line["epsilon_inf"] for name in names for line in accuracies[name])
        for e in EPSILONS[:2] if len(names) > 1 else ():
            first, second = (
                1 - max(line[f"epsilon_{e:g}"] for line in accuracies[name]) / best for name in names[:2]
            )
            out.append(
                {
                    "data": data,
                    "epsilon": e,
                    "best_public": best,
                    "raw": first,
                    "learned": second,
                    "kinds": ", ".join(n.rpartition("_")[2] for n in names[:2]),
                }
            )
    return out


def shift(same: Task, other: Task, size: Size) -> list[Line]:
    """Directions of the same distribution beside directions of another one, epsilon = 0.7."""
    n = len(same.rows)
    return [
        {"k": float(k), "same": 100 * same.accuracy(k, 0.7, n), "other": 100 * other.accuracy(k, 0.7, n)}
        for k in size.ks
    ]


def mixture(size: Size) -> list[Line]:
    """Labelled rows for 90 % accuracy at epsilon = 0.5, theta = sigma2 = 1/sqrt(d), with and without public PCA."""
    return [
        {
            "d": float(d),
            "full": float(_needed(d, d, size.draws)),
            "public_pca": float(_needed(d, 2, size.draws)),
            "order_sqrt_d": math.sqrt(d),
        }
        for d in size.dimensions
    ]


def _needed(d: int, k: int, draws: int) -> int:
    """The least n among 10 * sqrt2^i with mean accuracy at least 0.9, over several samples of n rows."""
    law = GaussianMixture(d, 1 / math.sqrt(d), 1 / math.sqrt(d))
    source = NoiseSource.for_tests(d)
    public, test, answers = law.draw(4000, source)[0], *law.draw(2000, source)
    frame = np.linalg.eigh(public.T @ public)[1][:, ::-1][:, :k] if k < d else np.eye(d)
    norm = math.sqrt(float(((public @ frame) ** 2).sum(axis=1).mean()))
    radius = 1 + law.reach(1000, 0.5)
    for i in range(25):
        n = round(10 * math.sqrt(2) ** i)
        total = 0.0
        for _ in range(draws):
            x, y = law.draw(n, source)
            domain = Domain.ball(k, range(2), radius=radius, n=n)
            learner = projected_learner("gd", Logistic(), domain, k, n, 0.5, DELTA)
            steps = [Rescale(SCALE * radius / norm)]
            clf = prepriv.PrivateClassifier(domain, epsilon=0.5, delta=DELTA, steps=steps, learner=learner)
            total += float(clf.fit(x @ frame, y).score(test @ frame, answers))
        if total / draws >= 0.9:
            return n
    raise ValueError(f"no n up to {n} was enough for d={d}")
