"""Is a private regression ever worse than the mean? R² on rows held out, for tables of many shapes and five epsilons.

    python benchmarks/regression_floor.py --tables chosen      the tables on which the constants were chosen
    python benchmarks/regression_floor.py --tables reported    the others
    python benchmarks/regression_floor.py --way descent        GradientDescent on scaled columns in place of steps="auto"; huber, quantile, moments

Replace-one, delta 1e-5, a quarter of the rows held out, three splits. `--json FILE` keeps every single R²; `--beside FILE` compares with those of
another version, run with the same seeds. The tables of real records are those that scikit-learn brings along, and Adult, where PREPRIV_DATA is set.
"""

from __future__ import annotations

import argparse
import json
import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn import datasets

import prepriv
from prepriv import preprocessing as pre
from prepriv._arrays import Floats
from prepriv.learners import GradientDescent, Huber, Quantile, SquaredError, SufficientStatistics

Table = tuple[Floats, Floats, Floats, tuple[float, float]]
EPSILONS, DELTA, TEST = (0.05, 0.1, 0.3, 1.0, 4.0), 1e-5, 4000


@dataclass(frozen=True)
class Made:
    """A table of n rows to train on and TEST others, of d columns, whose linear part explains `signal` of the target's variance.

    skew: 0 for a normal target in the middle of its bounds; above it a log-normal one of that deviation, near the lower end.
    common: share of a column's variance that all have in common.
    """

    n: int
    d: int
    signal: float
    skew: float = 0.0
    common: float = 0.0

    def __call__(self, seed: int) -> Table:
        rng = np.random.default_rng(1000 + seed)
        rows = self.n + TEST
        x = np.sqrt(1 - self.common) * rng.normal(size=(rows, self.d))
        x += np.sqrt(self.common) * rng.normal(size=(rows, 1))
        w = rng.normal(size=self.d)
        z = np.sqrt(self.signal) * x @ w / np.sqrt(w @ w * (1 - self.common) + self.common * w.sum() ** 2)
        z += np.sqrt(1 - self.signal) * rng.normal(size=rows)
        bounds = np.array([[-4.0] * self.d, [4.0] * self.d])
        return (
            (x, z, bounds, (-4.0, 4.0)) if not self.skew else (x, np.exp(self.skew * z), bounds, (0.0, 8.0))
        )


def _bundled(
    load: Callable[..., Any], target: int | None, bounds: tuple[float, float]
) -> Callable[[int], Table]:
    """A table of scikit-learn: bounds of columns a quarter wider than what they hold; target: its column, or None for its own."""

    def table(seed: int) -> Table:
        x, y = load(return_X_y=True)
        if target is not None:
            x, y = np.delete(x, target, axis=1), x[:, target]
        low, high = x.min(axis=0), x.max(axis=0)
        room = (high - low) / 8
        return x, y.astype(float), np.array([low - room, high + room]), bounds

    return table


def diabetes(seed: int) -> Table:
    """442 people, ten measurements, bounds as a clinic would declare them."""
    x, y = datasets.load_diabetes(return_X_y=True, scaled=False)
    low = [18, 1, 15, 50, 80, 30, 20, 1, 3, 50]
    high = [90, 2, 50, 150, 320, 260, 110, 10, 6.5, 140]
    return x, y, np.array([low, high], float), (0, 400)


def adult(target: str, bounds: tuple[float, float], rows: int) -> Callable[[int], Table]:
    """Hours or age of Adult by the other numbers, so many rows of it."""

    def table(seed: int) -> Table:
        import pandas as pd

        data = pd.read_csv(Path(os.environ["PREPRIV_DATA"]) / "adult.csv.gz").sample(rows, random_state=seed)
        columns = {
            "age": (17, 90),
            "education-num": (1, 16),
            "capital-gain": (0, 1e5),
            "hours-per-week": (1, 99),
        }
        del columns[target]
        x = data[list(columns)].to_numpy(float)
        return x, data[target].to_numpy(float), np.array(list(columns.values()), float).T, bounds

    return table


CHOSEN: dict[str, Callable[[int], Table]] = {
    "diabetes": diabetes,
    "wine: alcohol": _bundled(datasets.load_wine, 0, (10, 16)),
    "100 x 2, strong": Made(100, 2, 0.8),
    "400 x 20, none": Made(400, 20, 0.0),
    "1000 x 60, weak": Made(1000, 60, 0.1),
    "3000 x 5, skewed": Made(3000, 5, 0.5, skew=0.8),
    "200 x 5, none, skewed": Made(200, 5, 0.0, skew=0.6),
    "20000 x 30, strong": Made(20_000, 30, 0.8),
    "5000 x 10, in common": Made(5000, 10, 0.5, common=0.5),
    "2000 x 3, weak": Made(2000, 3, 0.05),
}
REPORTED: dict[str, Callable[[int], Table]] = {
    "cancer: texture": _bundled(datasets.load_breast_cancer, 1, (5, 45)),
    "iris: petal width": _bundled(datasets.load_iris, 3, (0, 3)),
    "150 x 3, strong": Made(150, 3, 0.8),
    "600 x 40, none": Made(600, 40, 0.0),
    "2000 x 12, weak, skewed": Made(2000, 12, 0.1, skew=0.6),
    "10000 x 8, skewed": Made(10_000, 8, 0.6, skew=1.0),
    "300 x 2, none": Made(300, 2, 0.0),
    "20000 x 60, strong": Made(20_000, 60, 0.9),
    "5000 x 20, in common": Made(5000, 20, 0.3, common=0.7),
    "1000 x 6, half": Made(1000, 6, 0.5),
}
if "PREPRIV_DATA" in os.environ:
    CHOSEN["Adult: hours"] = adult("hours-per-week", (0, 100), 4000)
    REPORTED["Adult: age"] = adult("age", (0, 100), 8000)


def split(make: Callable[[int], Table], seed: int) -> dict[str, Any]:
    """Rows to train on and to be held out, with what is declared of them."""
    x, y, bounds, target = make(seed)
    order = np.random.default_rng(seed).permutation(len(y))
    cut = make.n if isinstance(make, Made) else len(y) * 3 // 4
    train, test = order[:cut], order[cut:]
    return {
        "x": x[train],
        "y": y[train],
        "x_test": x[test],
        "y_test": y[test],
        "bounds": bounds,
        "target": target,
    }


def settings(way: str) -> dict[str, Any]:
    """Of `PrivateRegressor`, for each way that is measured."""
    learners: dict[str, Any] = {
        "descent": GradientDescent(SquaredError(), clip_norm=0.5),
        "huber": GradientDescent(Huber(0.25), clip_norm=0.5),
        "quantile": GradientDescent(Quantile(0.5), clip_norm=0.5),
        "moments": SufficientStatistics(),
    }
    if way not in learners:
        return {"steps": way}
    steps = [pre.StandardScaler(0.05, payment=prepriv.Budget(0.05)), pre.Normalize(1.0)]
    return {"steps": steps, "learner": learners[way]}


def one(make: Callable[[int], Table], epsilon: float, seed: int, way: str) -> float:
    """R² of one private run, its target cut to its bounds, as the rows are that were trained on."""
    s = split(make, seed)
    low, high = s["bounds"].tolist()
    domain = prepriv.Domain.box(low, high, len(low), target=prepriv.Numeric(*s["target"]))
    reg = prepriv.PrivateRegressor(domain, epsilon=epsilon, delta=DELTA, **settings(way)).fit(s["x"], s["y"])
    y = np.clip(s["y_test"], *s["target"])
    return float(1 - np.square(reg.predict(s["x_test"]) - y).mean() / y.var())


def main() -> None:
    """One line a table: mean R² at each epsilon, and the smallest of all."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tables", choices=("chosen", "reported"), default="reported")
    parser.add_argument(
        "--way", choices=("auto", "additive", "descent", "huber", "quantile", "moments"), default="auto"
    )
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--beside", type=Path)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    before = json.loads(arguments.beside.read_text()) if arguments.beside else {}
    found: dict[str, list[list[float]]] = {}
    print("| table | " + " | ".join(f"ε = {e:g}" for e in EPSILONS) + " | smallest |")
    print("|---|" + "---|" * (len(EPSILONS) + 1))
    for name, make in (CHOSEN if arguments.tables == "chosen" else REPORTED).items():
        made = found[name] = [
            [one(make, e, s, arguments.way) for s in range(arguments.runs)] for e in EPSILONS
        ]
        cells = [f"{np.mean(r):.3f}" for r in made] + [f"{np.min(made):.3f}"]
        if name in before:
            was = [f"{np.mean(r):.3f}" for r in before[name]] + [f"{np.min(before[name]):.3f}"]
            cells = [f"{a} → {b}" for a, b in zip(was, cells)]
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)
    for said, values in (("before", before), ("now", found)):
        if values:
            every = np.array([values[name] for name in found])
            print(
                f"{said}: smallest {every.min():.3f}, mean {every.mean():.4f}, below -.01: {(every < -0.01).sum()} of {every.size}"
            )
    if arguments.json:
        arguments.json.write_text(json.dumps(found))


if __name__ == "__main__":
    main()
