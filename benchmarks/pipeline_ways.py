"""PCA as a step of prepriv beside a sketch, where the rule of `prepriv.private` calls neither enough: accuracy and log loss of both.

    python benchmarks/pipeline_ways.py --tables churn,hmda [--data FOLDER] [--seeds 1]

A line for each table, number of rows, ε and number of components: the noise of a direction over its variance, the signal b of the
sketch, accuracy of the commonest class, of steps and of the sketch, and both log losses. Tables: benchmarks/development.py. docs/sketch.md.
"""

from __future__ import annotations

import argparse
import itertools
import warnings
from pathlib import Path

import numpy as np
from development import Development, load
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import prepriv
from prepriv.plans.plan import budget
from prepriv.private_pipeline import reading
from prepriv.sketches.signal import signal_of

ROWS, EPSILONS, COMPONENTS = (1000, 2000, 3500, 5500), (0.5, 1.0, 2.0), (5, 10)


def pipeline(table: Development, components: int) -> Pipeline:
    """Means and deviations of numbers, codes of categories, PCA, a logistic regression."""
    numbers = [name for name, column in table.columns.items() if isinstance(column, prepriv.Numeric)]
    texts = [name for name in table.columns if name not in numbers]
    parts = [("n", make_pipeline(SimpleImputer(), StandardScaler()), numbers)]
    parts += [("c", OneHotEncoder(handle_unknown="ignore"), texts)] if texts else []
    return Pipeline(
        [("pre", ColumnTransformer(parts)), ("pca", PCA(components)), ("lr", LogisticRegression())]
    )


def line(table: Development, n: int, epsilon: float, components: int) -> str | None:
    """One comparison; None where one of the two is enough, or cannot be taken."""
    if len(table.train[1]) < n:
        return None
    asked = pipeline(table, components)
    domain = prepriv.Domain(table.columns, tuple(range(table.classes)))
    read = reading(asked, domain, n=n, epsilon=epsilon)
    ways = {option.way: option for option in read.options}
    if any(not ways[way].open or ways[way].enough for way in ("budget", "sketch")):
        return None
    chain = read.ways.own.at(read.domain, n=n, mu=budget(epsilon, 1e-5))
    plan = prepriv.private(asked, domain, epsilon=epsilon, way="sketch").plan(n)
    b = signal_of(plan.steps[0].sketch).b
    truth, found = table.test[1], []
    for way in ("budget", "sketch"):
        model = prepriv.private(asked, domain, epsilon=epsilon, way=way)
        p = model.fit(table.train[0].iloc[:n], table.train[1][:n]).predict_proba(table.test[0])
        loss = -np.log(np.clip(p[np.arange(len(p)), truth], 1e-6, 1)).mean()
        found += [f"{(p.argmax(1) == truth).mean():.3f} {loss:.3f}"]
    common = np.bincount(truth).max() / len(truth)
    return (
        f"{table.name},{n},{epsilon:g},{components},{chain.noise:.1f},{b:.1f},{common:.3f},{','.join(found)}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", required=True)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--seeds", type=int, default=1)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    print("table,rows,epsilon,components,noise,b,commonest,steps (accuracy log loss),sketch")
    for seed, name in itertools.product(range(given.seeds), given.tables.split(",")):
        table = load(name, given.data, seed=seed)
        for n, components, epsilon in itertools.product(ROWS, COMPONENTS, EPSILONS) if table else ():
            if told := line(table, n, epsilon, components):
                print(told, flush=True)


if __name__ == "__main__":
    main()
