"""Which weights are listed as effects, over fits of the same table: `python benchmarks/weights_listed.py [--adult FILE] [--fits 10]`.

`--effects`: of Adult, weights of raw rows over those of scikit-learn, and what they cost in accuracy.
Exact is the mean over the fits. An effect is real where that is beyond five deviations between fits. Tables are made up; Adult is read from a file.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import prepriv
from prepriv import Categorical, Domain, Numeric, preprocessing

Fit = Callable[[], Any]


def made_up(n: int, seed: int) -> pd.DataFrame:
    """Four numbers, two of which go together, and four categories, two of which say nothing."""
    rng = np.random.default_rng(seed)
    a = rng.normal(50, 12, n)
    table = pd.DataFrame({"a": a, "b": 0.6 * a + rng.normal(20, 10, n), "c": rng.gamma(2, 5, n)})
    table["d"] = rng.uniform(0, 100, n)
    table["yes"] = rng.choice(["no", "yes"], n, p=[0.7, 0.3])
    table["place"] = rng.choice(["north", "south", "west", "sea"], n, p=[0.5, 0.3, 0.17, 0.03])
    table["coin"] = rng.choice(["heads", "tails"], n)
    table["suit"] = rng.choice(["clubs", "hearts", "spades"], n)
    return table


def pipelines(epsilon: float) -> Iterator[tuple[str, Fit]]:
    """Each table with the fit of it."""
    numbers, categories = ["a", "b", "c", "d"], {"yes": ["no", "yes"], "coin": ["heads", "tails"]}
    categories |= {"place": ["north", "south", "west", "sea"], "suit": ["clubs", "hearts", "spades", "none"]}
    columns = {c: Numeric(0, 100) for c in numbers} | {c: Categorical(v) for c, v in categories.items()}
    parts = ColumnTransformer(
        [("n", StandardScaler(), numbers), ("c", OneHotEncoder(handle_unknown="ignore"), list(categories))]
    )
    for n, seed in ((3000, 0), (12000, 1)):
        table, rng = made_up(n, seed), np.random.default_rng(seed + 10)
        told = 0.05 * (table.a - 50) - 0.04 * (table.c - 10) + 1.2 * (table.yes == "yes")
        told -= 0.8 * (table.place == "south")
        target = 50 + 8 * told + rng.normal(0, 10, n)
        wanted = Domain(columns, target=Numeric(0, 100), n=n)
        ridge = prepriv.private(make_pipeline(parts, Ridge()), wanted, epsilon=epsilon)
        yield f"made up, {n:,} records, Ridge", lambda m=ridge, x=table, y=target: m.fit(x, y)
        labels = np.where(told + rng.logistic(0, 1, n) > 0.3, "in", "out")
        classes = Domain(columns, ["in", "out"], n=n)
        logistic = prepriv.private(make_pipeline(parts, LogisticRegression()), classes, epsilon=epsilon)
        yield f"made up, {n:,} records, LogisticRegression", lambda m=logistic, x=table, y=labels: m.fit(x, y)


def adult(path: str) -> tuple[pd.DataFrame, pd.Series, Domain]:
    """Adult, whose education-num is a function of education."""
    table = pd.read_csv(path, skipinitialspace=True).drop(columns="fnlwgt")
    labels = table.pop("label").astype(str).str.strip(". ")
    columns: dict[str, Any] = {}
    for name in table:
        if pd.api.types.is_numeric_dtype(table[name]):
            columns[name] = Numeric(float(table[name].min()), float(table[name].max()))
        else:
            table[name] = table[name].astype(str)
            columns[name] = Categorical(sorted(table[name].unique()))
    return table, labels, Domain(columns, sorted(labels.unique()))


def effects(path: str, epsilon: float, fits: int) -> None:
    """Steps without `Homogenize` beside the linear recipe and scikit-learn, on a quarter of the rows."""
    table, labels, domain = adult(path)
    x, new, y, truth = train_test_split(table, labels, test_size=0.25, random_state=0)
    numbers = [name for name, column in domain.columns.items() if isinstance(column, Numeric)]
    rest = [name for name in domain.columns if name not in numbers]
    parts = [("n", StandardScaler(), numbers), ("c", OneHotEncoder(handle_unknown="ignore"), rest)]
    exact = make_pipeline(ColumnTransformer(parts), LogisticRegression(max_iter=2000)).fit(x, y)
    by = exact[-1].coef_[0, : len(numbers)] / exact[0].named_transformers_["n"].scale_
    print(f"scikit-learn: accuracy {exact.score(new, truth):.4f}")
    plain = [
        preprocessing.StandardScaler(payment=prepriv.Budget(), columns=numbers),
        preprocessing.ShrunkCenter(payment=prepriv.Budget()),
    ]
    for name, steps in (("linear", "linear"), ("scaled and centred", plain)):
        made = prepriv.PrivateClassifier(domain, epsilon=epsilon, steps=steps)
        right, ratio = [], []
        for _ in range(fits):
            found = made.fit(x, y).coefficients_
            right.append(made.score(new, truth))
            ratio.append([found.weights[found.names.index(n), 0] for n in numbers] / by)
        said = ", ".join(f"{n} {r:.2f}" for n, r in zip(numbers, np.mean(ratio, axis=0)))
        print(
            f"{name}: accuracy {np.mean(right):.4f}",
            "" if steps == "linear" else f"weights over exact: {said}",
        )


def counted(fit: Fit, fits: int) -> str:
    """A row of the table."""
    found = [fit().coefficients_ for _ in range(fits)]
    names = found[0].names
    weights = np.array([one.weights for one in found])
    noise = np.array([one.noise for one in found])[:, :, None]
    apart = [
        np.append(one.perhaps_empty, np.zeros(len(names) - len(one.perhaps_empty), bool)) for one in found
    ]
    listed = (np.abs(weights) > 2 * noise) & ~np.array(apart)[:, :, None]
    empty = np.array([n.endswith(("=other", "=missing", "=none")) for n in names])
    known = ~empty & np.array([n != "(constant)" for n in names])
    mean, spread = weights.mean(axis=0), weights.std(axis=0, ddof=1)
    real = (np.abs(mean) > 5 * spread) & known[:, None]
    wrong = listed & (np.sign(weights) != np.sign(mean)) & known[None, :, None]
    ratio = np.sqrt(np.mean(np.square(noise), axis=0))[known] / spread[known]
    low, middle, high = np.quantile(ratio, [0.0, 0.5, 1.0])
    which = ", ".join(name for name, some in zip(names, wrong.any(axis=(0, 2))) if some)
    return (
        f"{listed.sum()} | {(listed & empty[None, :, None]).sum()} | {wrong.sum()}{f' ({which})' * bool(which)} | "
        f"{(listed & real[None]).sum()} of {fits * real.sum()} | {low:.1f}, {middle:.1f}, {high:.1f}"
    )


if __name__ == "__main__":
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--adult")
    asked.add_argument("--fits", type=int, default=10)
    asked.add_argument("--epsilon", type=float, default=1.0)
    asked.add_argument("--effects", action="store_true")
    given = asked.parse_args()
    warnings.simplefilter("ignore")
    if given.effects:
        effects(given.adult, given.epsilon, given.fits)
        raise SystemExit
    rows = list(pipelines(given.epsilon))
    if given.adult:
        people, paid, declared = adult(given.adult)
        linear = prepriv.PrivateClassifier(declared, epsilon=given.epsilon, steps="linear")
        rows.append(('Adult, `steps="linear"`', lambda: linear.fit(people, paid)))
    print(
        "| table | listed | of categories without records | wrong sign | real effects listed | printed noise over spread: least, median, most |"
    )
    print("|---|---|---|---|---|---|")
    for name, fit in rows:
        print(f"| {name} | {counted(fit, given.fits)} |", flush=True)
