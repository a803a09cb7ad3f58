"""Whether a model of few columns and a rare class shows two high ends where an effect is monotone, with rows of one length and without.

    python benchmarks/few_columns.py --epsilon 1 3 10 --fits 10
    python benchmarks/few_columns.py --half report [--data FOLDER] [--epsilon 0.3 1 3] [--fits 5]      on tables of up to 15 columns

"two high ends": in how many fits the probability at both ends of the first column is more than .02 above that in the middle, the other columns at 0. "log loss": on new
rows, above that of the share of the class. The class has a share of .1, and one more unit of each of d normal columns adds .3/√d to its log odds. n records train.
"private" is `prepriv.private` of a StandardScaler and a LogisticRegression; "plain" has the steps of docs/weights.md without rows of one length.
"before": the recipe "linear" as it was until 28 November 2026: the constant feature is not centred, and the bias is 1.

--half: each recipe, and three pipelines by `prepriv.private`, beside the same as it was, on the tables of one half of benchmarks/development.py and some more:
how much its accuracy, AUC or macro-F1, log loss and calibration error differ, in hundredths, by the signal s. The same noise is not drawn twice.
"""

from __future__ import annotations

import argparse
import math
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import development
import numpy as np
import pandas as pd
from development import HALVES, Development, load
from recipe import measures
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import prepriv
from prepriv import Domain, PrivateClassifier
from prepriv import preprocessing as pre
from prepriv.recipes.automatic import SCALE, recipe

SHARE, EFFECT, WIDTH, NEW, HIGHER, DELTA = 0.1, 0.3, 4.0, 20_000, 0.02, 1e-5
WAYS = ("private", "linear", "auto", "additive", "plain", "before")
MOST_COLUMNS, MOST_ROWS = 15, 4000
_more = development._r
MORE = {
    "choose": {
        "cowles": _more("carData", "Cowles", "volunteer"),
        "participation": _more("Ecdat", "Participation", "lfp"),
        "crashes": _more(
            "DAAG", "nassCDS", "dead", "caseid", "injSeverity", "weight", "yearacc", "yearVeh", "deploy"
        ),
        "ohio": _more("geepack", "ohio", "resp", "id"),
    },
    "report": {
        "wives": _more("AER", "PSID1976", "participation", "hours", "wage", "repwage", "hhours"),
        "births": _more("MASS", "birthwt", "low", "bwt"),
        "respiratory": _more("geepack", "respiratory", "outcome", "id"),
        "bad health": _more("COUNT", "badhealth", "badh"),
        "stays": _more("COUNT", "medpar", "died", "provnum"),
        "head injuries": _more("DAAG", "headInjury", "clinically.important.brain.injury"),
    },
}  # of more tables, to choose and to report; each as it stands


def made(n: int, d: int, seed: int) -> tuple[Any, Any]:
    """(rows (n, d), labels): log odds are linear in each column."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, d)).clip(-WIDTH, WIDTH)
    odds = math.log(SHARE / (1 - SHARE)) + rows.sum(axis=1) * EFFECT / math.sqrt(d)
    return rows, (rng.random(n) < 1 / (1 + np.exp(-odds))).astype(int)


def estimator(way: str, d: int, epsilon: float, n: int) -> Any:
    """Of one of WAYS, not fitted."""
    domain = Domain.box(-WIDTH, WIDTH, features=d, classes=[0, 1])
    if way == "private":
        return prepriv.private(make_pipeline(StandardScaler(), LogisticRegression()), domain, epsilon=epsilon)
    if way == "before":
        made = recipe(domain, n=n, epsilon=epsilon, delta=DELTA, steps="linear")
        return PrivateClassifier(domain, epsilon=epsilon, delta=DELTA, **as_before(*made))
    if way != "plain":
        return PrivateClassifier(domain, epsilon=epsilon, steps=way)
    paid = prepriv.Budget()
    return PrivateClassifier(
        domain, epsilon=epsilon, steps=[pre.StandardScaler(payment=paid), pre.ShrunkCenter(payment=paid)]
    )


def as_before(steps: Sequence[Any], learner: Any) -> dict[str, Any]:
    """Steps and learner whose intercept is learned beside a constant feature of all its length."""
    old = [replace(step, center=0.0) if isinstance(step, pre.Homogenize) else step for step in steps]
    if isinstance(old[-1], pre.Rescale):
        old[-1] = pre.Rescale(SCALE)
    return {"steps": old, "learner": replace(learner, bias=1.0)}


def measure(way: str, d: int, epsilon: float, n: int, fits: int) -> tuple[int, float, float]:
    """(fits with two high ends, log loss above that of the share, AUC)."""
    new, truth = made(NEW, d, 1_000_000)
    base = log_loss(truth, np.full(NEW, truth.mean()))
    line = np.zeros((3, d))
    line[:, 0] = (-2.0, 0.0, 2.0)
    ends, losses, curves = 0, list[float](), list[float]()
    for seed in range(fits):
        model = estimator(way, d, epsilon, n).fit(*made(n, d, seed))
        low, middle, high = model.predict_proba(line)[:, 1]
        ends += min(low, high) > middle + HIGHER
        chances = model.predict_proba(new)[:, 1]
        losses.append(log_loss(truth, chances) - base)
        curves.append(roc_auc_score(truth, chances))
    return ends, float(np.mean(losses)), float(np.mean(curves))


def pipelines(table: Development) -> dict[str, Pipeline]:
    """Of scikit-learn: scaled numbers, whose means and deviations have to be paid for, and numbers in their declared bounds, which cost nothing."""
    numbers = [name for name, column in table.columns.items() if isinstance(column, prepriv.Numeric)]
    texts = [name for name in table.columns if name not in numbers]
    kinds: dict[str, Any] = {
        "scaled": make_pipeline(SimpleImputer(), StandardScaler()),
        "free": SimpleImputer(strategy="constant", fill_value=0),
    }
    found = {}
    for kind, one in kinds.items():
        parts = [("numbers", one, numbers)] * bool(numbers)
        parts += [("texts", OneHotEncoder(handle_unknown="ignore"), texts)] * bool(texts)
        found[kind] = Pipeline([("columns", ColumnTransformer(parts)), ("model", LogisticRegression())])
    return found


def pairs(table: Development, epsilon: float) -> Iterator[tuple[str, float, Any, Any]]:
    """(recipe, s, an estimator, the same as before), where the two differ."""
    n, domain = len(table.train[1]), prepriv.Domain(table.columns, tuple(range(table.classes)))
    for name in ("linear", "auto", "additive"):
        made = recipe(domain, n=n, epsilon=epsilon, delta=DELTA, steps=name)
        both = ({"steps": list(made[0]), "learner": made[1]}, as_before(*made))
        if both[0]["learner"] != both[1]["learner"]:
            now, was = (PrivateClassifier(domain, epsilon=epsilon, delta=DELTA, **one) for one in both)
            yield name, now.plan(n).signal, now, was
    for kind, pipeline in pipelines(table).items():
        for way in ("budget", "sketch") if kind == "scaled" else ("auto",):
            try:
                now = prepriv.private(pipeline, domain, epsilon=epsilon, delta=DELTA, way=way)
                plan = now.plan(n)
            except ValueError:  # such a sketch would be noise
                continue
            old = as_before([planned.step for planned in plan.steps], plan.learner)
            if plan.learner != old["learner"]:
                was = PrivateClassifier(now.domain, epsilon=epsilon, delta=DELTA, **old)
                yield f"private, {kind if kind == 'free' else way}", plan.signal, now, was


def of_tables(half: str, data: Path | None, epsilons: Sequence[float], fits: int, most: int) -> pd.DataFrame:
    """How much each measure differs from before, in hundredths, for each table, ε and recipe; the mean of so many fits of both."""
    development.SOURCES.update(MORE[half])
    development.HALVES.update(dict.fromkeys(MORE[half], half))
    lines = []
    for name in [name for name, of in HALVES.items() if of == half and name not in development.IMAGES]:
        table = load(name, data, most=MOST_ROWS)
        if table is None or len(table.columns) > most or table.classes > 5:
            continue
        for epsilon in epsilons:
            for way, s, now, was in pairs(table, epsilon):
                apart = []
                for _ in range(fits):
                    new, old = (
                        measures(model.fit(*table.train).predict_proba(table.test[0]), table.test[1])
                        for model in (now, was)
                    )
                    apart.append({key: 100 * (new[key] - old[key]) for key in new})
                lines.append(
                    {"table": name, "epsilon": epsilon, "recipe": way, "s": s, **pd.DataFrame(apart).mean()}
                )
                print(
                    "#", *(f"{v:.3g}" if isinstance(v, float) else v for v in lines[-1].values()), flush=True
                )
    return pd.DataFrame(lines)


def by_signal(lines: pd.DataFrame) -> str:
    """The means by recipe and signal, with the standard error over tables of that of the log loss."""
    lines = lines.assign(
        signal=pd.cut(
            lines["s"], [0, 60, 150, 400, math.inf], labels=["to 60", "60 to 150", "150 to 400", "above"]
        )
    )
    groups = lines.groupby(["recipe", "signal"], observed=True)
    table = groups[["accuracy", "AUC or F1", "log loss", "ECE"]].mean().round(2)
    table["standard error"] = (groups["log loss"].std() / groups.size() ** 0.5).round(2)
    return str(table.assign(cells=groups.size()).to_string())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--epsilon", type=float, nargs="+", default=[1.0, 3.0, 10.0])
    parser.add_argument("--columns", type=int, nargs="+", default=[1, 2, 3, 5, 10])
    parser.add_argument("--records", type=int, default=2000)
    parser.add_argument("--fits", type=int, default=10)
    parser.add_argument("--half", choices=("choose", "report"))
    parser.add_argument("--data", type=Path)
    parser.add_argument("--most", type=int, default=MOST_COLUMNS, help="columns of a table")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    if given.half:
        print(by_signal(of_tables(given.half, given.data, given.epsilon, given.fits, given.most)))
        raise SystemExit
    print("| columns | ε |", " | ".join(f"{way}: two high ends, log loss, AUC" for way in WAYS), "|")
    print("|---" * (2 + len(WAYS)) + "|")
    for d in given.columns:
        for epsilon in given.epsilon:
            found = [measure(way, d, epsilon, given.records, given.fits) for way in WAYS]
            cells = " | ".join(f"{ends}, {loss:+.4f}, {curve:.3f}" for ends, loss, curve in found)
            print(f"| {d} | {epsilon:g} | {cells} |", flush=True)
