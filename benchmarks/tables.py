"""Accuracy of the automatic recipe on tables: few columns, units of their own, categories, bounds too wide.

    python benchmarks/tables.py [--adult PATH/adult.csv.gz] [--runs 3] [--peer PYTHON-WITH-DIFFPRIVLIB]
    python benchmarks/tables.py --variants          one change to the recipe at a time, mean over the tables

"norm 1": rows scaled to norm 1 without the constant feature, as the recipe does with wide matrices.

Without a file: made by scikit-learn or by a few lines here. Every method gets the same split and the same declared
bounds and categories; diffprivlib gets the encoded rows (numeric columns in [0, 1], one-hot categories) and their declared norm.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn import datasets
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import prepriv
from prepriv import preprocessing as pre
from prepriv.pipeline.recipes.automatic import recipe
from prepriv.tables.encode import encode

DELTA = 1e-5
PEER = """
import sys, warnings, numpy as np
warnings.filterwarnings("ignore")
from diffprivlib.models import LogisticRegression
d = np.load(sys.argv[1])
m = LogisticRegression(epsilon=float(sys.argv[2]), data_norm=float(d["norm"]), classes=np.unique(d["y"]), max_iter=1000)
print(m.fit(d["x"], d["y"]).score(d["xt"], d["yt"]))
"""


def numeric(x: Any, low: Any = None, high: Any = None, wide: float = 1.0) -> dict[str, prepriv.Numeric]:
    """Bounds of made-up rows, `wide` times as far apart as they need to be."""
    low, high = x.min(axis=0) if low is None else low, x.max(axis=0) if high is None else high
    middle, half = (low + high) / 2, (high - low) / 2 * wide
    return {f"x{j}": prepriv.Numeric(m - h, m + h) for j, (m, h) in enumerate(zip(middle, half))}


def frame(x: Any) -> pd.DataFrame:
    return pd.DataFrame(x, columns=[f"x{j}" for j in range(x.shape[1])])


def tables(adult: Path | None) -> Iterator[tuple[str, pd.DataFrame, Any, dict[str, Any]]]:
    """(name, rows, labels, declared columns)."""
    rng = np.random.default_rng(1)
    x = rng.random((5000, 3))
    yield "x0 > 0.8, 3 columns", frame(x), (x[:, 0] > 0.8).astype(int), numeric(x)
    x, y = datasets.make_blobs(6000, 2, centers=4, cluster_std=3, random_state=8)
    yield "4 blobs, 2 columns", frame(x), y, numeric(x)
    x, y = datasets.make_moons(6000, noise=0.2, random_state=0)
    yield "moons, 2 columns", frame(x), y, numeric(x)
    x, y = datasets.make_circles(6000, noise=0.1, factor=0.5, random_state=0)
    yield "two circles, 2 columns", frame(x), y, numeric(x)
    x, y = datasets.make_classification(6000, 10, n_informative=5, random_state=0)
    yield "make_classification, 10", frame(x), y, numeric(x)
    yield "the same, bounds 5 x too wide", frame(x), y, numeric(x, wide=5.0)
    x = rng.lognormal(0, 1, (6000, 6))
    y = (x[:, 0] + x[:, 1] > x[:, 2] + x[:, 3] + 0.3 * rng.standard_normal(6000)).astype(int)
    yield "amounts (log-normal), 6", frame(x), y, numeric(x, low=np.zeros(6))
    x, y = datasets.make_classification(6000, 8, n_informative=4, random_state=0)
    mixed = frame(x)
    for name in ("c0", "c1"):
        said = np.array(list("abcd"))[(y + rng.integers(0, 2, 6000)) % 4]
        mixed[name] = np.where(rng.random(6000) < 0.6, said, rng.choice(list("abcd"), 6000))
    kinds = {name: prepriv.Categorical(tuple("abcd")) for name in ("c0", "c1")}
    yield "8 numeric, 2 categories", mixed, y, numeric(x) | kinds
    yield "the same, bounds 6 x too wide", mixed, y, numeric(x, wide=6.0) | kinds
    x, y = datasets.load_breast_cancer(return_X_y=True)
    yield "breast cancer, 30", frame(x), y, numeric(x)
    if adult is not None:
        sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))
        from adult import domain

        data = pd.read_csv(adult)
        declared = domain(len(data))
        yield "Adult, 5 numeric, 8 categories", data, data["label"].to_numpy(), dict(declared.columns)


Steps = Sequence[pre.Step]


def changed(steps: Steps, kind: type[pre.Step], **options: Any) -> Steps:
    return [replace(s, **options) if isinstance(s, kind) else s for s in steps]


def norm_one(steps: Steps) -> Steps:
    """Centred rows to norm 1, and the random features of wide matrices."""
    center = pre.Center(payment=prepriv.Budget(0.02))
    kept = [s for s in steps if isinstance(s, pre.MeanImputer | pre.SquareRoot)]
    features = pre.RandomFeatures(1024, weight=1.6)
    return [
        *kept,
        pre.Normalize(1.0),
        center,
        pre.Normalize(1.0),
        features,
        pre.Normalize(1.0),
        pre.Rescale(5.0),
    ]


def without_scales(steps: Steps) -> Steps:
    center = pre.Center(payment=prepriv.Budget(0.02))
    kept = [s for s in steps if not isinstance(s, pre.StandardScaler | pre.Center)]
    at = next(i for i, s in enumerate(kept) if isinstance(s, pre.Homogenize))
    return [*kept[:at], center, pre.Homogenize(0.4), *kept[at + 1 :]]


VARIANTS = {
    "the recipe": lambda s: s,
    "constant feature 1": lambda s: changed(s, pre.Homogenize, level=1.0),
    "constant feature 2": lambda s: changed(s, pre.Homogenize, level=2.0),
    "weight of random features 0.5": lambda s: changed(s, pre.RandomFeatures, weight=0.5),
    "weight of random features 1.6": lambda s: changed(s, pre.RandomFeatures, weight=1.6),
    "256 random features": lambda s: changed(s, pre.RandomFeatures, features=256),
    "2 % of the budget for scales": lambda s: changed(s, pre.StandardScaler, payment=prepriv.Budget(0.02)),
    "10 % of the budget for scales": lambda s: changed(s, pre.StandardScaler, payment=prepriv.Budget(0.1)),
    "least deviation 2 % of the width": lambda s: changed(s, pre.StandardScaler, floor=0.02),
    "no scales, constant feature 0.4": without_scales,
    "no square roots": lambda s: [x for x in s if not isinstance(x, pre.SquareRoot)],
    "norm 1": norm_one,
}


def accuracy(
    domain: prepriv.Domain, epsilon: float, steps: str | Steps, rows: Any, y: Any, at: Any, to: Any
) -> float:
    clf = prepriv.PrivateClassifier(domain, epsilon=epsilon, delta=DELTA, steps=steps)
    return float(clf.fit(rows.iloc[at], y[at]).score(rows.iloc[to], y[to]))


def split(y: Any, seed: int) -> Any:
    return train_test_split(np.arange(len(y)), test_size=0.3, random_state=seed, stratify=y)


def variants(args: argparse.Namespace) -> None:
    found: dict[str, list[float]] = {name: [] for name in VARIANTS}
    for _, rows, labels, columns in tables(args.adult):
        classes, y = np.unique(labels, return_inverse=True)
        domain = prepriv.Domain(columns, tuple(range(len(classes))))
        for epsilon in args.epsilon:
            for seed in range(args.runs):
                at, to = split(y, seed)
                steps, _ = recipe(domain, n=len(at), epsilon=epsilon, delta=DELTA)
                for name, change in VARIANTS.items():
                    found[name].append(accuracy(domain, epsilon, change(steps), rows, y, at, to))
    print("| change | mean accuracy |\n|---|---|")
    for name, scores in found.items():
        print(f"| {name} | {100 * np.mean(scores):.1f} |")


def peer(python: str, train: Any, test: Any, y: Any, yt: Any, norm: float, epsilon: float) -> float:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.npz"
        np.savez(path, x=train, xt=test, y=y, yt=yt, norm=norm)
        done = subprocess.run([python, "-c", PEER, str(path), str(epsilon)], capture_output=True, text=True)
    return float(done.stdout) if done.returncode == 0 else float("nan")


def matrix(rows: pd.DataFrame, domain: prepriv.Domain) -> Any:
    return np.concatenate(list(encode(rows, domain)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--adult", type=Path)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--peer", help="a Python with diffprivlib")
    parser.add_argument("--epsilon", type=float, nargs="*", default=[0.5, 2.0])
    parser.add_argument("--variants", action="store_true", help="one change to the recipe at a time")
    args = parser.parse_args()
    if args.variants:
        return variants(args)
    print("| table | ε | recipe | linear | norm 1 | diffprivlib | logistic regression without privacy |")
    print("|---|---|---|---|---|---|---|", flush=True)
    for title, rows, labels, columns in tables(args.adult):
        classes, y = np.unique(labels, return_inverse=True)
        domain = prepriv.Domain(columns, tuple(range(len(classes))))
        for epsilon in args.epsilon:
            scores: dict[str, list[float]] = {"auto": [], "linear": [], "norm 1": [], "peer": [], "none": []}
            for seed in range(args.runs):
                at, to = split(y, seed)
                old = norm_one(recipe(domain, n=len(at), epsilon=epsilon, delta=DELTA)[0])
                for name, steps in (("auto", "auto"), ("linear", "linear"), ("norm 1", old)):
                    scores[name].append(accuracy(domain, epsilon, steps, rows, y, at, to))
                x, xt = matrix(rows.iloc[at], domain), matrix(rows.iloc[to], domain)
                plain = make_pipeline(StandardScaler(), LogisticRegression(max_iter=3000))
                scores["none"].append(plain.fit(x, y[at]).score(xt, y[to]))
                if args.peer:
                    scores["peer"].append(peer(args.peer, x, xt, y[at], y[to], domain.space.radius, epsilon))
            shown = [f"{100 * np.mean(v):.1f}" if v else "" for v in scores.values()]
            print(f"| {title} | {epsilon:g} | {' | '.join(shown)} |", flush=True)


if __name__ == "__main__":
    main()
