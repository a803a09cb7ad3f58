"""Whether a model of few columns and a rare class shows two high ends where an effect is monotone, with rows of one length and without.

    python benchmarks/few_columns.py --epsilon 1 3 10 --fits 10

"two high ends": in how many fits the probability at both ends of the first column is more than .02 above that in the middle, the other columns at 0. "log loss": on new
rows, above that of the share of the class. The class has a share of .1, and one more unit of each of d normal columns adds .3/√d to its log odds. n records train.
"private" is `prepriv.private` of a StandardScaler and a LogisticRegression; "plain" has the steps of docs/weights.md without rows of one length.
"""

from __future__ import annotations

import argparse
import math
import warnings
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import prepriv
from prepriv import Domain, PrivateClassifier
from prepriv import preprocessing as pre

SHARE, EFFECT, WIDTH, NEW, HIGHER = 0.1, 0.3, 4.0, 20_000, 0.02
WAYS = ("private", "linear", "auto", "additive", "plain")


def made(n: int, d: int, seed: int) -> tuple[Any, Any]:
    """(rows (n, d), labels): log odds are linear in each column."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, d)).clip(-WIDTH, WIDTH)
    odds = math.log(SHARE / (1 - SHARE)) + rows.sum(axis=1) * EFFECT / math.sqrt(d)
    return rows, (rng.random(n) < 1 / (1 + np.exp(-odds))).astype(int)


def estimator(way: str, d: int, epsilon: float) -> Any:
    """Of one of WAYS, not fitted."""
    domain = Domain.box(-WIDTH, WIDTH, features=d, classes=[0, 1])
    if way == "private":
        return prepriv.private(make_pipeline(StandardScaler(), LogisticRegression()), domain, epsilon=epsilon)
    if way != "plain":
        return PrivateClassifier(domain, epsilon=epsilon, steps=way)
    paid = prepriv.Budget()
    return PrivateClassifier(
        domain, epsilon=epsilon, steps=[pre.StandardScaler(payment=paid), pre.ShrunkCenter(payment=paid)]
    )


def measure(way: str, d: int, epsilon: float, n: int, fits: int) -> tuple[int, float, float]:
    """(fits with two high ends, log loss above that of the share, AUC)."""
    new, truth = made(NEW, d, 1_000_000)
    base = log_loss(truth, np.full(NEW, truth.mean()))
    line = np.zeros((3, d))
    line[:, 0] = (-2.0, 0.0, 2.0)
    ends, losses, curves = 0, list[float](), list[float]()
    for seed in range(fits):
        model = estimator(way, d, epsilon).fit(*made(n, d, seed))
        low, middle, high = model.predict_proba(line)[:, 1]
        ends += min(low, high) > middle + HIGHER
        chances = model.predict_proba(new)[:, 1]
        losses.append(log_loss(truth, chances) - base)
        curves.append(roc_auc_score(truth, chances))
    return ends, float(np.mean(losses)), float(np.mean(curves))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--epsilon", type=float, nargs="+", default=[1.0, 3.0, 10.0])
    parser.add_argument("--columns", type=int, nargs="+", default=[1, 2, 3, 5, 10])
    parser.add_argument("--records", type=int, default=2000)
    parser.add_argument("--fits", type=int, default=10)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    print("| columns | ε |", " | ".join(f"{way}: two high ends, log loss, AUC" for way in WAYS), "|")
    print("|---" * (2 + len(WAYS)) + "|")
    for d in given.columns:
        for epsilon in given.epsilon:
            found = [measure(way, d, epsilon, given.records, given.fits) for way in WAYS]
            cells = " | ".join(f"{ends}, {loss:+.4f}, {curve:.3f}" for ends, loss, curve in found)
            print(f"| {d} | {epsilon:g} | {cells} |", flush=True)
