"""PCA as a step of prepriv beside a sketch, where the rule of `prepriv.private` calls neither enough, and the same pipeline without PCA.

    python benchmarks/pipeline_ways.py --tables churn,hmda [--data FOLDER] [--seeds 1]
    python benchmarks/pipeline_ways.py --tables "breast cancer,pima" --rows 400,1500 --epsilons 1,4,10 --components 5 --every

A line for each table, number of rows, ε and number of components: the noise of a direction over its variance, the signal b of the
sketch, accuracy of the commonest class; accuracy, log loss and area under the ROC curve (of two classes) by steps, by the sketch and without PCA. Then the
mean differences. Tables: benchmarks/development.py. docs/sketch.md.
"""

from __future__ import annotations

import argparse
import itertools
import math
import warnings
from pathlib import Path

import numpy as np
from development import Development, load
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
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


def line(table: Development, n: int, epsilon: float, components: int, every: bool) -> list[float] | None:
    """One comparison: noise, b, the commonest class, then accuracy, log loss and area under the ROC curve by steps, by a sketch and without PCA; None
    where a way cannot be taken or, unless every cell is meant, one is enough."""
    if len(table.train[1]) < n:
        return None
    asked = pipeline(table, components)
    domain = prepriv.Domain(table.columns, tuple(range(table.classes)))
    read = reading(asked, domain, n=n, epsilon=epsilon)
    ways = {option.way: option for option in read.options}
    if any(not ways[way].open or (ways[way].enough and not every) for way in ("budget", "sketch")):
        return None
    chain = read.ways.own.at(read.domain, n=n, mu=budget(epsilon, 1e-5))
    plan = prepriv.private(asked, domain, epsilon=epsilon, way="sketch").plan(n)
    truth, without = table.test[1], Pipeline([step for step in asked.steps if step[0] != "pca"])
    found = [chain.noise, signal_of(plan.steps[0].sketch).b, np.bincount(truth).max() / len(truth)]
    for model in (
        prepriv.private(asked, domain, epsilon=epsilon, way="budget"),
        prepriv.private(asked, domain, epsilon=epsilon, way="sketch"),
        prepriv.private(without, domain, epsilon=epsilon),
    ):
        p = model.fit(table.train[0].iloc[:n], table.train[1][:n]).predict_proba(table.test[0])
        loss = -np.log(np.clip(p[np.arange(len(p)), truth], 1e-6, 1)).mean()
        area = roc_auc_score(truth, p[:, 1]) if table.classes == 2 else math.nan
        found += [(p.argmax(1) == truth).mean(), loss, area]
    return found


def less(name: str, one: np.ndarray, two: np.ndarray) -> None:
    """Print how far one lies above the other: mean, standard error, ends, and in how many cells."""
    apart = (one - two)[~np.isnan(one - two)]
    if len(apart) > 1:
        print(
            f"# {name}: {apart.mean():.3f} (standard error {apart.std(ddof=1) / math.sqrt(len(apart)):.3f}), from {apart.min():.3f} to {apart.max():.3f}, "
            f"above 0 in {(apart > 0).sum()} of {len(apart)}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", required=True)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--every", action="store_true", help="cells where one way is enough, too")
    for name, kind, values in (
        ("rows", int, ROWS),
        ("epsilons", float, EPSILONS),
        ("components", int, COMPONENTS),
    ):
        parser.add_argument(
            f"--{name}", type=lambda text, kind=kind: [kind(v) for v in text.split(",")], default=values
        )
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    print("table,rows,epsilon,components,noise,b,commonest,steps (accuracy log loss area),sketch,without PCA")
    cells = []
    for seed, name in itertools.product(range(given.seeds), given.tables.split(",")):
        table = load(name, given.data, seed=seed)
        for n, components, epsilon in (
            itertools.product(given.rows, given.components, given.epsilons) if table else ()
        ):
            if found := line(table, n, epsilon, components, given.every):
                cells.append(found)
                told = [" ".join(f"{v:.3f}" for v in found[at : at + 3]) for at in (3, 6, 9)]
                print(
                    f"{name},{n},{epsilon:g},{components},{found[0]:.1f},{found[1]:.1f},{found[2]:.3f},{','.join(told)}",
                    flush=True,
                )
    for at, what in enumerate(("accuracy", "log loss", "area under the ROC curve")) if cells else ():
        steps, sketch, without = (np.array(cells)[:, 3 + 3 * way + at] for way in range(3))
        less(f"{what}, sketch less steps", sketch, steps)
        less(f"{what}, without PCA less steps", without, steps)
        less(f"{what}, without PCA less sketch", without, sketch)


if __name__ == "__main__":
    main()
