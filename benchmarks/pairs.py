"""What pairs of columns would gain: macro-F1 of the recipe at ε = 4 with cells of pairs as further categories, beside boosting.

    python benchmarks/pairs.py --data FOLDER [--tables churn ...] [--most 3000]

Replace-one, delta 1e-5, one split. "pairs only" and "no pairs" are boosting that joins at most two columns, or one, in a tree; it has no privacy. The best
pairs are those whose cells say most of what boosting without pairs gets wrong on the training rows: they are not paid for, so the numbers flatter pairs.
"""

from __future__ import annotations

import argparse
import itertools
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from development import Development, load
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import f1_score

import prepriv

TESTED, EPSILON, DELTA = 5000, 4.0, 1e-5
FORMS = {"none": (0, 8), "2 best, 8 x 8": (2, 8), "5 best, 8 x 8": (5, 8), "30 best, 4 x 4": (30, 4)}
Pairs = Sequence[tuple[str, str]]


def numbers(dev: Development, rows: pd.DataFrame) -> Any:
    """Rows for boosting: numbers, and the place of each text."""
    train = dev.train[0]
    return np.column_stack(
        [
            rows[c]
            if pd.api.types.is_numeric_dtype(train[c])
            else pd.Categorical(rows[c], categories=sorted(train[c].unique())).codes
            for c in train.columns
        ]
    ).astype(float)


def cells(dev: Development, rows: pd.DataFrame, k: int) -> pd.DataFrame:
    """Each column in k cells: between quantiles of the training rows, or the k commonest categories."""
    found = {}
    for name, column in dev.train[0].items():
        if pd.api.types.is_numeric_dtype(column):
            edges = np.unique(np.nanquantile(column, np.arange(1, k) / k))
            found[name] = np.searchsorted(edges, rows[name].fillna(column.median()), side="right")
        else:
            place = {value: i for i, value in enumerate(column.value_counts().index[:k])}
            found[name] = rows[name].map(place).fillna(0).astype(int).to_numpy()
    return pd.DataFrame(found)


def ordered(dev: Development, wrong: Any) -> list[tuple[str, str]]:
    """Pairs by how much of these residuals (n, classes) their cells say."""
    codes, said = cells(dev, dev.train[0], 8), {}
    for pair in itertools.combinations(dev.train[0].columns, 2):
        at = codes[pair[0]].to_numpy() * 8 + codes[pair[1]].to_numpy()
        sums = np.zeros((64, dev.classes))
        np.add.at(sums, at, wrong)
        said[pair] = float((sums**2 / (np.bincount(at, minlength=64) + 1)[:, None]).sum())
    return sorted(said, key=said.__getitem__, reverse=True)


def with_pairs(dev: Development, pairs: Pairs, k: int) -> tuple[dict[str, Any], pd.DataFrame, pd.DataFrame]:
    """(columns, training rows, test rows) with a category for each pair."""
    columns, rows = dict(dev.columns), [dev.train[0].copy(), dev.test[0].copy()]
    coded = [cells(dev, part, k) for part in rows]
    for i, (a, b) in enumerate(pairs):
        columns[f"pair {i}"] = prepriv.Categorical(tuple(f"{u} {v}" for u in range(k) for v in range(k)))
        for part, codes in zip(rows, coded, strict=True):
            part[f"pair {i}"] = [f"{u} {v}" for u, v in zip(codes[a], codes[b], strict=True)]
    return columns, rows[0], rows[1]


def one(dev: Development) -> dict[str, float]:
    """Macro-F1 of each method on one table."""
    (train, y), (test, truth) = dev.train, dev.test
    found = {}
    for name, joined in (("boosting", None), ("pairs only", "pairwise"), ("no pairs", "no_interactions")):
        model = HistGradientBoostingClassifier(random_state=0, interaction_cst=joined).fit(
            numbers(dev, train), y
        )
        found[name] = f1_score(truth, model.predict(numbers(dev, test)), average="macro")
    best = ordered(dev, np.eye(dev.classes)[y] - model.predict_proba(numbers(dev, train)))
    for form, (many, k) in FORMS.items():
        columns, rows, others = with_pairs(dev, best[:many], k)
        domain = prepriv.Domain(columns, tuple(range(dev.classes)), len(y))
        for steps in ("additive", "auto"):
            clf = prepriv.PrivateClassifier(domain, epsilon=EPSILON, delta=DELTA, steps=steps).fit(rows, y)
            found[f"{steps}, pairs: {form}"] = f1_score(truth, clf.predict(others), average="macro")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path("data"))
    parser.add_argument("--tables", nargs="*", default=["churn", "made: imbalanced", "diamonds"])
    parser.add_argument("--most", type=int, default=3000)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in args.tables:
        dev = load(name, args.data, 0, args.most)
        if dev is None:
            print(f"{name}: its package or file is missing")
            continue
        rows = [(x.reset_index(drop=True), y) for x, y in (dev.train, dev.test)]
        dev = Development(
            name, dev.half, dev.columns, rows[0], (rows[1][0].iloc[:TESTED], rows[1][1][:TESTED])
        )
        print(name, {method: round(float(f1), 3) for method, f1 in one(dev).items()}, flush=True)


if __name__ == "__main__":
    main()
