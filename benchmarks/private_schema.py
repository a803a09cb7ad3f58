"""A schema drafted in private beside a declared one: coverage, width, accuracy at one total epsilon.

    python benchmarks/private_schema.py [--adult PATH/adult.csv.gz] [--runs 3] [--only NAME]

Declared: the codebook for adult, else what made the table (its exact extremes, all its categories). Coverage: share of the cells
of numeric columns within the drafted bounds, the mean and the worst column. Width: drafted over declared distance of bounds, median.
Named: share of categorical cells whose value is in the drafted list. Accuracy: of `PrivateClassifier` on held-out rows, the declared
schema at the whole epsilon, the drafted one at what the draft left of it. Columns not seen are left out of the model.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn import datasets

import prepriv
from prepriv.description.draft import draft_in_private
from prepriv.description.draft_plan import plan_draft

DELTA = 1e-5


def numeric(frame: pd.DataFrame) -> dict[str, prepriv.Numeric]:
    return {c: prepriv.Numeric(frame[c].min(), frame[c].max()) for c in frame}


def generated(
    rng: np.random.Generator, n: int = 30_000
) -> Iterator[tuple[str, pd.DataFrame, dict[str, Any], float]]:
    x, y = datasets.make_classification(n, 10, n_informative=6, class_sep=1.5, random_state=0)
    plain = pd.DataFrame(x, columns=[f"x{j}" for j in range(10)])
    yield "classification", plain.assign(y=y), numeric(plain), 0.2
    z = rng.normal(size=(n, 6))
    tails = pd.DataFrame(np.exp(1.5 * z + 3 * np.arange(6)), columns=[f"x{j}" for j in range(6)])
    yield "heavy tails", tails.assign(y=(z.sum(axis=1) > 0).astype(int)), numeric(tails), 0.2
    far = pd.DataFrame(
        {"year": rng.integers(1990, 2021, n), "lat": 52 + 0.3 * z[:, 0], "id": 1e9 + np.arange(n)}
    )
    far["temperature"] = -20 + 15 * z[:, 1]
    label = (far.year - 2005) / 9 + 2 * z[:, 0] + z[:, 1] > 0
    yield "far from zero", far.assign(y=label.astype(int)), numeric(far), 0.2
    cities = [f"city {i:03d}" for i in range(300)]
    rank = np.minimum(rng.geometric(0.03, n) - 1, 299)
    job = rng.choice(["clerk", "smith", "diver", "pilot"], n, p=[0.5, 0.3, 0.15, 0.05])
    survey = pd.DataFrame({"age": rng.integers(18, 95, n), "city": np.array(cities)[rank], "job": job})
    survey["pay"] = np.where(rng.random(n) < 0.1, np.nan, np.exp(10 + 0.5 * z[:, 2]).round(0))
    score = (survey.age - 55) / 20 + (rank < 15) + 2 * (job == "smith") + z[:, 2]
    columns: dict[str, Any] = numeric(survey[["age", "pay"]])
    columns |= {"city": prepriv.Categorical(cities), "job": prepriv.Categorical(sorted(set(job)))}
    yield "survey", survey.assign(y=np.where(score > 1, "yes", "no")), columns, 0.2


def tables(adult: Path | None) -> Iterator[tuple[str, pd.DataFrame, dict[str, Any], float]]:
    """(name, rows with the label last, declared columns, epsilon of the draft)."""
    if adult is not None:
        from prepriv.schemas.schema import load_schema

        schema = load_schema(Path(__file__).parents[1] / "examples" / "adult.yaml")
        yield "adult", pd.read_csv(adult, dtype=str), dict(schema.domain().columns), 0.2
    yield from generated(np.random.default_rng(0))
    for name, load in (("breast cancer", datasets.load_breast_cancer), ("digits", datasets.load_digits)):
        found = load()
        frame = pd.DataFrame(found.data, columns=[str(c) for c in found.feature_names])
        used = frame.loc[:, frame.max() > frame.min()]
        yield name, used.assign(y=found.target), numeric(used), 4.0


def accuracy(domain: prepriv.Domain, train: pd.DataFrame, test: pd.DataFrame, epsilon: float) -> float:
    label = train.columns[-1]
    clf = prepriv.PrivateClassifier(domain, epsilon=epsilon, delta=DELTA)
    names = list(domain.columns)
    predicted = clf.fit(train[names], train[label]).predict(test[names])
    return 100 * float(np.mean([str(p) == str(t) for p, t in zip(predicted, test[label])]))


def inside(
    domain: prepriv.Domain, train: pd.DataFrame, declared: dict[str, Any]
) -> tuple[list[float], list[float], list[float]]:
    """Coverage and width of each numeric column, share of named cells of each categorical one."""
    covered, widths, named = [], [], []
    for name, column in domain.columns.items():
        if isinstance(column, prepriv.Numeric):
            x = pd.to_numeric(train[name], errors="coerce").dropna()
            covered.append(float(((x >= column.low) & (x <= column.high)).mean()))
            known = declared.get(name)
            low, high = (known.low, known.high) if isinstance(known, prepriv.Numeric) else (x.min(), x.max())
            widths.append((column.high - column.low) / (high - low))
        else:
            named.append(float(train[name].isin(column.categories).mean()))
    return covered, widths, named


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--adult", type=Path)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--only")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    print(f"means of {arguments.runs} runs")
    print(
        f"{'table':15}{'rows':>7}{'seen':>8}{'ε draft':>9}{'total':>7}{'covered':>9}{'worst':>8}{'width':>7}{'named':>7}{'declared':>10}{'drafted':>9}"
    )
    for name, table, declared, epsilon in tables(arguments.adult):
        if arguments.only not in (None, name):
            continue
        test = np.arange(len(table)) % 5 == 0
        train, held = table[~test].reset_index(drop=True), table[test]
        label = table.columns[-1]
        classes = sorted({str(c) for c in table[label]})
        known = prepriv.Domain(declared, classes, n=len(train), label=label)
        total = 2.0 if epsilon < 1 else 2 * epsilon
        found: dict[str, list[float]] = {}
        seen = 0
        for _ in range(arguments.runs):
            plan = plan_draft(list(train), label=label, n=len(train), epsilon=epsilon, delta=DELTA / 10)
            drafted = draft_in_private(plan, train).domain()
            seen = len(drafted.columns)
            covered, widths, named = inside(drafted, train, declared)
            for key, values in (
                ("covered", covered),
                ("worst", [min(covered)]),
                ("width", [float(np.median(widths))]),
                ("named", named),
            ):
                found.setdefault(key, []).extend(values)
            found.setdefault("declared", []).append(accuracy(known, train, held, total))
            found.setdefault("drafted", []).append(accuracy(drafted, train, held, total - epsilon))
        m = {key: float(np.mean(values)) if values else float("nan") for key, values in found.items()}
        print(
            f"{name:15}{len(train):7}{f'{seen}/{len(table.columns) - 1}':>8}{epsilon:9g}{total:7g}{100 * m['covered']:8.1f}%{100 * m['worst']:7.1f}%"
            f"{m['width']:7.2f}{100 * m['named']:6.1f}%{m['declared']:9.1f}%{m['drafted']:8.1f}%",
            flush=True,
        )


if __name__ == "__main__":
    main()
