"""A numeric target by a sketch: R² of eight made-up tables, two fits at each ε, beside least squares without privacy.

python benchmarks/sketch_targets.py [--fits 2] [--epsilons 0.3,1,4]
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.feature_selection import SelectKBest, f_regression
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import prepriv

N, TARGET, WORDS = 4000, prepriv.Numeric(-8, 8), "abcdef"


def tables() -> Iterator[tuple[str, prepriv.Domain, Any, Any, Any]]:
    """(name, domain, rows, target, pipeline)."""
    rng, plain = np.random.default_rng(0), make_pipeline(StandardScaler(), LinearRegression())
    x = rng.normal(size=(N, 5)).clip(-3, 3)
    y = (x @ [1, -1, 0.5, 0.5, 0] + 0.1 * rng.normal(size=N)).clip(-8, 8)
    five = prepriv.Domain.box(-3, 3, features=5, target=TARGET, n=N)
    yield "5 columns", five, x, y, plain
    yield "exponentials", prepriv.Domain.box(0, 5, features=5, target=TARGET, n=N), np.exp(x / 2), y, plain
    many = rng.normal(size=(N, 20)).clip(-3, 3)
    of_many = (many @ rng.normal(size=20) * 0.5 + 0.3 * rng.normal(size=N)).clip(-8, 8)
    yield "20 columns", prepriv.Domain.box(-3, 3, features=20, target=TARGET, n=N), many, of_many, plain
    words = rng.choice(list(WORDS), N)
    names = [f"n{i}" for i in range(5)]
    columns = dict.fromkeys(names, prepriv.Numeric(-3, 3)) | {"c": prepriv.Categorical(list(WORDS))}
    both = make_column_transformer((StandardScaler(), names), (OneHotEncoder(handle_unknown="ignore"), ["c"]))
    mixed = pd.DataFrame(x, columns=names).assign(c=words)
    moved = (y + np.array([WORDS.index(w) - 2 for w in words])).clip(-8, 8)
    yield (
        "words",
        prepriv.Domain(columns, target=TARGET, n=N),
        mixed,
        moved,
        make_pipeline(both, LinearRegression()),
    )
    hidden = rng.normal(size=(N, 3))
    seen = (hidden @ rng.normal(size=(3, 10)) + 0.3 * rng.normal(size=(N, 10))).clip(-6, 6) / 2
    of_hidden = (2 * hidden[:, 0] + 0.1 * rng.normal(size=N)).clip(-8, 8)
    chosen = make_pipeline(StandardScaler(), SelectKBest(f_regression, k=5), LinearRegression())
    yield "selected", prepriv.Domain.box(-3, 3, features=10, target=TARGET, n=N), seen, of_hidden, chosen
    yield "1,000 rows", five.with_n(1000), x[:1000], y[:1000], plain
    ten = rng.uniform(-1, 1, (5 * N, 10))
    of_one = 2 * ten[:, 7] + 0.3 * rng.normal(size=5 * N)
    best = make_pipeline(SelectKBest(f_regression, k=1), Ridge())
    yield "one of ten", prepriv.Domain.box(-1, 1, features=10, target=TARGET, n=5 * N), ten, of_one, best
    codes = rng.choice(list(WORDS), 5 * N)
    of_codes = np.array([[1, -2, 0, 2, -1, 0][WORDS.index(c)] for c in codes]) + 0.5 * ten[:, 0]
    hot = make_pipeline(
        make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["c"]), (StandardScaler(), ["n"])),
        Ridge(),
    )
    yield (
        "codes in no order",
        prepriv.Domain(
            {"c": prepriv.Categorical(list(WORDS)), "n": prepriv.Numeric(-1, 1)}, target=TARGET, n=5 * N
        ),
        pd.DataFrame({"c": codes, "n": ten[:, 0]}),
        of_codes,
        hot,
    )


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fits", type=int, default=2)
    parser.add_argument(
        "--epsilons", type=lambda t: [float(e) for e in t.split(",")], default=[0.3, 1.0, 4.0]
    )
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    for name, domain, x, y, pipeline in tables():
        for epsilon in args.epsilons:
            made = [
                prepriv.private(pipeline, domain, epsilon=epsilon, way="sketch").fit(x, y)
                for _ in range(args.fits)
            ]
            print(
                f"{name}, epsilon {epsilon:g}: {' '.join(f'{m.score(x, y):.3f}' for m in made)}", flush=True
            )
        print(f"{name}: without privacy {pipeline.fit(x, y).score(x, y):.3f}", flush=True)


if __name__ == "__main__":
    main()
