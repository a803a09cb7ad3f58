"""Whether more budget is ever the worse model, and whether the model without noise is the exact fit: log loss, accuracy, mean largest probability.

    python benchmarks/more_budget.py [--data FOLDER] [--tables fair "spam7"] [--epsilon 1 10 100 inf] [--repeats 3] [--most 8000]

"private" is `prepriv.private` of a pipeline (means for gaps, StandardScaler, OneHotEncoder, LogisticRegression), "linear" and "auto"
are those recipes. "exact" is scikit-learn's LogisticRegression with C = 1000 on the rows of the fit without noise, after its steps
(with random features it is not shown: hundreds of free weights would fit the records one by one). Two made-up tables have two
columns, of which one is noise: "two columns", "two columns, three classes"; --most 270000 is enough for batches.
"""

from __future__ import annotations

import argparse
import math
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from development import Development, load
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import prepriv
from prepriv.runs.run import predict_scores
from prepriv.tables.encoding import encode

MADE = {"two columns": 2, "two columns, three classes": 3}
DELTA = 1e-5


def line(classes: int, most: int) -> Development:
    rng = np.random.default_rng(7)
    x = rng.random((most + 10_000, 2))
    score = x[:, 0] + 0.3 * rng.normal(size=len(x))
    y = (score > 0.5).astype(int) + (score > 0.95) * (classes == 3)
    frame = pd.DataFrame(x, columns=["a", "b"])
    columns = {name: prepriv.Numeric(0, 1) for name in frame}
    return Development("line", "choose", columns, (frame[:most], y[:most]), (frame[most:], y[most:]))


def pipeline(columns: dict[str, Any]) -> Any:
    numeric = [name for name, c in columns.items() if isinstance(c, prepriv.Numeric)]
    others = [name for name in columns if name not in numeric]
    scaled = (make_pipeline(SimpleImputer(), StandardScaler()), numeric)
    coded = (OneHotEncoder(handle_unknown="ignore"), others)
    parts = [part for part in (scaled, coded) if part[1]]
    return make_pipeline(make_column_transformer(*parts), LogisticRegression(max_iter=1000))


def said(p: Any, y: Any, classes: int) -> np.ndarray[Any, Any]:
    return np.array(
        [log_loss(y, p, labels=range(classes)), np.mean(p.argmax(axis=1) == y), np.mean(p.max(axis=1))]
    )


def exact(model: Any, dev: Development) -> np.ndarray[Any, Any]:
    """scikit-learn's fit on the rows that the model was trained on."""
    d = len(model.weights) - 1
    same = np.vstack([np.eye(d), np.zeros((1, d))])
    x, to = (
        predict_scores(model.maps, same, encode(rows, model.domain))[0]
        for rows in (dev.train[0], dev.test[0])
    )
    fitted = LogisticRegression(C=1e3, max_iter=3000, tol=1e-6).fit(x, dev.train[1])
    p = np.zeros((len(to), dev.classes))
    p[:, fitted.classes_] = fitted.predict_proba(to)
    return said(p, dev.test[1], dev.classes)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", type=Path, default=Path("data"))
    parser.add_argument("--tables", nargs="+", default=[*MADE, "fair", "diamonds", "spam7"])
    parser.add_argument("--models", nargs="+", default=["private", "linear", "auto"])
    parser.add_argument("--epsilon", nargs="+", type=float, default=[1.0, 10.0, 100.0, math.inf])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--most", type=int, default=8000)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    print("| table | n | classes | model | ε | passes | log loss | accuracy | mean largest probability |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name in args.tables:
        dev = line(MADE[name], args.most) if name in MADE else load(name, args.data, 0, args.most)
        for kind in args.models if dev is not None else []:
            domain = dev.domain()
            for epsilon in args.epsilon:
                found = []
                for _ in range(args.repeats if math.isfinite(epsilon) else 1):
                    if kind == "private":
                        estimator = prepriv.private(
                            pipeline(dev.columns), domain, epsilon=epsilon, delta=DELTA
                        )
                    else:
                        estimator = prepriv.PrivateClassifier(
                            domain, epsilon=epsilon, delta=DELTA, steps=kind
                        )
                    model = estimator.fit(*dev.train).model_
                    found.append(said(model.predict_proba(dev.test[0]), dev.test[1], dev.classes))
                passes = estimator.plan_.learner.steps
                show(name, dev, kind, f"{epsilon:g} | {passes}", np.mean(found, axis=0))
                if math.isinf(epsilon) and kind != "auto":
                    show(name, dev, kind, "exact | ", exact(model, dev))


def show(name: str, dev: Development, kind: str, how: str, facts: np.ndarray[Any, Any]) -> None:
    loss, right, top = facts
    print(
        f"| {name} | {len(dev.train[1]):,} | {dev.classes} | {kind} | {how} | {loss:.4f} | {100 * right:.1f} % | {100 * top:.1f} % |",
        flush=True,
    )


if __name__ == "__main__":
    main()
