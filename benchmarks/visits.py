"""The job of a person with several rows: a table of visits drafted, described, trained, scored and reported per person, by five commands and in one
ledger; beside it the same budget spent on single rows, where a person pays for each of their visits.

    python benchmarks/visits.py [--runs 3]

3,000 patients with 13,771 visits are made up with a truth: a patient's frailty decides what all of their visits look like. A quarter of the patients are
held out. The first lines are what the five commands claim and measure, per person. The last ones are the answers of single rows: accuracies of a model
at the same epsilon per row, and at the epsilon per row that makes the same promise to a patient with all visits (group privacy: a K-th, K the most
visits of one patient).
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

import prepriv
from prepriv.cli import run
from prepriv.ledger import Ledger

PATIENTS = 3000


def visits(patients: int = PATIENTS, seed: int = 72) -> pd.DataFrame:
    """Made up, with a truth: a patient's frailty decides what all of their visits look like. 13,771 of them."""
    rng = np.random.default_rng(seed)
    who = np.repeat(np.arange(patients), rng.poisson(3.6, patients) + 1)
    frail = rng.normal(size=patients)[who]
    table = pd.DataFrame(
        {
            "patient_id": [f"p{i}" for i in who],
            "age": np.clip(55 + 12 * frail + rng.normal(0, 8, len(who)), 18, 95).round(),
            "dose": np.clip(5 + frail + rng.normal(0, 2, len(who)), 0, 10).round(2),
            "ward": rng.choice(["north", "south"], len(who)),
        }
    )
    return table.assign(back=np.where(frail + rng.normal(0, 0.5, len(who)) > 0.3, "yes", "no"))


def job(test: pd.DataFrame, rows: pd.DataFrame) -> tuple[float, float, float]:
    """(what the ledger booked, accuracy as `evaluate` measures it in private, accuracy on the visits that were held out)."""
    rows.to_csv("visits.csv", index=False)
    test.to_csv("test.csv", index=False)
    n, held = rows.patient_id.nunique(), test.patient_id.nunique()
    for line in (
        "ledger create L.db --dataset visits --epsilon 4 --delta 1e-4",
        f"schema init visits.csv --unit patient_id --rows-per-unit 5 --epsilon 1 --rows {n} --out S.yaml --ledger L.db",
        "describe visits.csv --schema S.yaml --epsilon 0.4 --by ward --out page.html --ledger L.db",
        "train visits.csv --schema S.yaml --epsilon 1.6 --out run --ledger L.db",
        f"evaluate run/model test.csv --epsilon 0.9 --rows {held} --by ward --out score.json --ledger L.db",
    ):
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            if run(line.split()):
                raise SystemExit(f"failed: {line}")
    spent = 4 - Ledger.open("L.db").remaining().epsilon
    figures = json.loads(Path("score.json").read_text())["figures"]
    measured = next(figure["value"] for figure in figures if figure["name"] == "accuracy")
    model = prepriv.Model.load("run/model")
    return spent, measured, float((model.predict(test) == test.back).mean())


def of_rows(test: pd.DataFrame, rows: pd.DataFrame, epsilon: float) -> float:
    columns = {
        "age": prepriv.Numeric(18, 95),
        "dose": prepriv.Numeric(0, 10),
        "ward": prepriv.Categorical(["north", "south"]),
    }
    domain = prepriv.Domain(columns, ["no", "yes"])
    clf = prepriv.PrivateClassifier(domain, epsilon=epsilon, delta=1e-5).fit(rows, rows.back)
    return float((clf.predict(test) == test.back).mean())


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    table = visits()
    held = table.patient_id.str[1:].astype(int) % 4 == 0
    test, rows = table[held], table[~held]
    most = int(rows.patient_id.value_counts().max())
    found = []
    for _ in range(options.runs):
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            found.append(job(test, rows))
            os.chdir("/")
    spent, measured, exact = np.mean(found, axis=0)
    print(
        f"{table.patient_id.nunique():,} patients, {len(table):,} visits, at most {most} of one in training; {options.runs} runs"
    )
    print(
        f"per person: the ledger booked ε = {spent:.3f}; accuracy measured in private {measured:.1%}, on held-out visits {exact:.1%}"
    )
    one = np.mean([of_rows(test, rows, 1.6) for _ in range(options.runs)])
    group = np.mean([of_rows(test, rows, 1.6 / most) for _ in range(options.runs)])
    print(
        f"per row: ε = 1.6 for one visit {one:.1%}, which promises a patient with {most} visits {1.6 * most:.3g}"
    )
    print(f"per row: ε = {1.6 / most:.3g} for one visit, 1.6 for such a patient, {group:.1%}")


if __name__ == "__main__":
    sys.exit(main())
