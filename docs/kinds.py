"""Write one page of each kind that prepriv writes, from made-up rows, for `docs/screens.py` to look at.

python docs/kinds.py run/kinds     # about a minute
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

import numpy as np

KINDS = {
    "holdout/report.html": "train t.csv --schema S.yaml --rows 8000 --holdout 0.2 --by sex --ledger L.db --out holdout",
    "number/report.html": "train r.csv --schema R.yaml --rows 8000 --holdout 0.3 --measure residuals --measure r2 --by job --out number",
    "audited/report.html": "train t.csv --schema S.yaml --rows 8000 --audit canaries=200 --out audited",
    "additive/report.html": "train t.csv --schema A.yaml --rows 8000 --out additive",
    "scores.html": "evaluate holdout/model t.csv --rows 8000 --epsilon 1 --by sex --out scores.html",
    "description.html": "describe t.csv --schema S.yaml --rows 8000 --epsilon 1 --correlations --out description.html",
    "groups.html": "describe t.csv --schema S.yaml --rows 8000 --epsilon 1 --by sex --out groups.html",
    "sketch/sketch.html": "sketch t.csv --schema S.yaml --rows 8000 --epsilon 2 --pairs --out sketch",
}


def tables(folder: Path, n: int = 8000) -> None:
    """Two tables with long names, and the schema drafted from each."""
    rng = np.random.default_rng(0)
    age, hours = rng.integers(17, 91, n), rng.integers(1, 99, n)
    job = rng.choice(["clerk", "an engineer of bridges and tunnels", "nurse"], n)
    sex = rng.choice(["female", "male"], n)
    score = 0.05 * (age - 50) + 0.03 * (hours - 50) + (job == "nurse") + 0.3 * (sex == "male")
    score = score + rng.normal(0, 1, n)
    outcome = np.where(score > 1.2, "survived", "died")
    pay = np.clip(1000 * (3 + score) + rng.normal(0, 300, n), 0, 9000).round()
    for name, label, of in (("t.csv", "outcome", outcome), ("r.csv", "pay", pay)):
        lines = [f"{a},{h},{j},{s},{o}\n" for a, h, j, s, o in zip(age, hours, job, sex, of)]
        folder.joinpath(name).write_text(
            f"age,hours worked in a usual week,job,sex,{label}\n" + "".join(lines)
        )
    run(folder, "ledger create L.db --dataset clinic --epsilon 20 --delta 1e-3")
    run(folder, "schema init t.csv --label outcome --epsilon 1 --rows 8000 --ledger L.db --out S.yaml")
    run(folder, "schema init r.csv --label pay --epsilon 1 --rows 8000 --out R.yaml")
    folder.joinpath("A.yaml").write_text(folder.joinpath("S.yaml").read_text() + "\nsteps: additive\n")


def run(folder: Path, line: str) -> None:
    """Run one command of prepriv in the folder."""
    subprocess.run(
        [sys.executable, "-m", "prepriv", *line.split(" ")], cwd=folder, check=True, capture_output=True
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=False)
    tables(folder)
    for page, line in KINDS.items():
        run(folder, line)
        print(folder / page)


if __name__ == "__main__":
    main()
