"""Is a private regression ever worse than the mean? R² on rows held out, for tables of many shapes and five epsilons.

    python benchmarks/regression_floor.py --tables chosen      the tables on which the constants were chosen
    python benchmarks/regression_floor.py --tables reported    the others
    python benchmarks/regression_floor.py --way descent        GradientDescent on scaled columns in place of steps="auto"; huber, quantile, moments

    python benchmarks/regression_floor.py --grid FILE          fifteen tables, n = 100 to 10,000, five epsilons, and the coverage of intervals

Of `--grid` every run is a line of FILE, which goes on where it was (`--minutes` stops it). The tables are those of `regression_curves.py --tables reported`. n records
train; half as many others, at least 100 and at most 1500, are evaluated at the same epsilon with 40 bins of errors; all further ones, at most 4000, are the test. "Refused" counts the
evaluations that saw too few rows for an interval of level .8; `shortest` is the least share of test rows that one held.

Replace-one, delta 1e-5, a quarter of the rows held out, three splits. `--json FILE` keeps every single R²; `--beside FILE` compares with those of
another version, run with the same seeds. The tables of real records are those that scikit-learn brings along, and Adult, where PREPRIV_DATA is set.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import json
import math
import os
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from regression_curves import REPORTED as FIFTEEN
from sklearn import datasets

import prepriv
from prepriv import preprocessing as pre
from prepriv._arrays import Floats
from prepriv.guarantees import gdp_mu
from prepriv.learners import GradientDescent, Huber, Quantile, SquaredError, SufficientStatistics

Table = tuple[Floats, Floats, Floats, tuple[float, float]]
EPSILONS, DELTA, TEST = (0.05, 0.1, 0.3, 1.0, 4.0), 1e-5, 4000
SIZES, LEVEL, PARTS = (100, 300, 1000, 3000, 10_000), 0.8, (0, 3, 10, 30, 100, 300, math.inf)  # of the grid


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


def evaluated(n: int) -> int:
    """So many rows are evaluated beside n that train."""
    return min(max(100, n // 2), 1500)


def of_the_mean(table: Any, n: int, epsilon: float, seed: int) -> float:
    """R² of a private mean of the same records, bought with the whole budget, predicted for everybody."""
    _, y, _, target = table
    order = np.random.default_rng([seed, n]).permutation(len(y))
    said, test = np.clip(y, *target), order[n + evaluated(n) :][:TEST]
    noise = (
        (target[1] - target[0]) / (n * gdp_mu(epsilon, DELTA)) * np.random.default_rng([seed, n, 1]).normal()
    )
    mean = np.clip(said[order[:n]].mean() + noise, *target)
    return float(1 - np.square(mean - said[test]).mean() / said[test].var())


def gridded(table: Any, n: int, epsilon: float, seed: int) -> dict[str, Any]:
    """R² of one private run of n records of a table, and the share of other rows that an interval of level LEVEL holds."""
    x, y, columns, target = table
    order, more = np.random.default_rng([seed, n]).permutation(len(y)), evaluated(n)
    train, other, test = order[:n], order[n : n + more], order[n + more :][:TEST]
    domain = prepriv.Domain(columns, target=prepriv.Numeric(*target))
    reg = prepriv.PrivateRegressor(domain, epsilon=epsilon, delta=DELTA).fit(x.iloc[train], y[train])
    said = np.clip(y[test], *target)
    error = np.square(reg.predict(x.iloc[test]) - said)
    r2 = 1 - error.mean() / said.var()
    found = {"d": domain.space.d, "s": n * gdp_mu(epsilon, DELTA) / 2, "r2": float(r2)}
    found["mean"] = of_the_mean(table, n, epsilon, seed)
    # of the chance of the test rows: R² is 1 less a ratio of two means
    found["error"] = float(
        np.std(error - (1 - r2) * np.square(said - said.mean())) / said.var() / np.sqrt(len(said))
    )
    try:
        made = reg.evaluate(
            x.iloc[other],
            y[other],
            epsilon=epsilon,
            measures=("r2", "residuals"),
            error_bound=(target[1] - target[0]) / 2,
            bins=40,
        )
        low, high = reg.predict_interval(x.iloc[test], LEVEL, evaluation=made).T
    except ValueError as refused:
        if "interval" not in str(refused):
            raise
        return found
    held = (low <= said) & (said <= high)
    return found | {"held": float(held.mean()), "width": float((high - low).mean() / (target[1] - target[0]))}


def grid(file: Path, runs: int, minutes: float) -> None:
    """Every cell that is not there; then what is there."""
    kept = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    read = functools.lru_cache(len(FIFTEEN))(lambda name, seed: FIFTEEN[name](seed))
    there, start = {(r["table"], r["n"], r["epsilon"], r["seed"]) for r in kept}, time.perf_counter()
    for seed, name, n in itertools.product(range(runs), FIFTEEN, SIZES):
        wanted = [e for e in EPSILONS if (name, n, e, seed) not in there]
        if not wanted or len(read(name, seed)[1]) < n + evaluated(n) + 100:
            continue
        for epsilon in wanted:
            if time.perf_counter() - start > 60 * minutes:
                return print_grid(pd.DataFrame(kept))
            kept.append(
                {"table": name, "n": n, "epsilon": epsilon, "seed": seed}
                | gridded(read(name, seed), n, epsilon, seed)
            )
            with file.open("a") as lines:
                lines.write(json.dumps(kept[-1]) + "\n")
    print_grid(pd.DataFrame(kept))


def print_grid(kept: pd.DataFrame) -> None:
    """By signal and by n and ε: the mean, the smallest cell with its standard error, how many are below -.01, and what intervals held."""
    cells = kept.groupby(["table", "n", "epsilon"]).agg(
        s=("s", "mean"), r2=("r2", "mean"), error=("r2", "sem"), runs=("r2", "size")
    )
    kept["part"] = pd.cut(kept["s"], PARTS, right=False)
    cells["part"] = pd.cut(cells["s"], PARTS, right=False)
    print(
        "| s | runs | mean R² | smallest run | smallest mean of a cell | runs below −.01 | of a private mean | cells below −.01 by two standard errors |\n|---|---|---|---|---|---|---|---|"
    )
    for part, at in kept.groupby("part", observed=True):
        of = cells[cells["part"] == part]
        least, worst = of.loc[of["r2"].idxmin()], at.loc[at["r2"].idxmin()]
        below = int((of["r2"] + 2 * of["error"] < -0.01).sum())
        print(
            f"| {part} | {len(at)} | {at['r2'].mean():.3f} | {worst['r2']:.3f} ± {worst['error']:.3f} ({worst['table']}, n = {worst['n']}, ε = {worst['epsilon']:g}) "
            f"| {least['r2']:.3f} ± {least['error']:.3f} {least.name} | {(at['r2'] < -0.01).sum()} | {(at['mean'] < -0.01).sum()} | {below} of {len(of)} |"
        )
    print("\n| n | " + " | ".join(f"ε = {e:g}" for e in EPSILONS) + " |\n|---" + "|---" * len(EPSILONS) + "|")
    for n, at in kept.groupby("n"):
        by = at.groupby("epsilon")["r2"]
        print(
            f"| {n} | "
            + " | ".join(
                f"{by.get_group(e).mean():.3f} ({by.get_group(e).min():.3f})"
                for e in EPSILONS
                if e in by.groups
            )
            + " |"
        )
    if "held" in kept:
        print(
            "\n| n | intervals asked | refused | mean share held | smallest | below the level | width, of the bounds |\n|---|---|---|---|---|---|---|"
        )
        for n, at in kept.groupby("n"):
            held = at["held"].dropna()
            print(
                f"| {n} | {len(at)} | {len(at) - len(held)} | {held.mean():.3f} | {held.min():.3f} | {(held < LEVEL).sum()} | {at['width'].mean():.2f} |"
            )


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
    parser.add_argument("--grid", type=Path)
    parser.add_argument("--minutes", type=float, default=math.inf)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    if arguments.grid:
        return grid(arguments.grid, arguments.runs, arguments.minutes)
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
