"""Whole processes of this version and an earlier one, in turns: processor seconds, accuracy and log loss.

    python benchmarks/whole.py --data FOLDER                         against the commit of 0.2.0, three rounds
    python benchmarks/whole.py --data FOLDER --only small plan --rounds 5

Each job is a process of its own, from the start of the interpreter to the last test row, with one BLAS thread and compiled
bytecode (a first run, which is not counted, writes it). Versions take turns. Numbers are medians; compare processor seconds,
which a busy machine disturbs less than the clock. FOLDER holds adult.csv.gz and mnist.npz; jobs without their
file are left out, and one that a version cannot run says so.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from paired import BEFORE, ROOT

FIT = """
import json, sys, warnings
import numpy as np
import prepriv
warnings.simplefilter("ignore")
def fit(x, y, test, classes, box, **more):
    domain = prepriv.Domain.box(*box, features=x.shape[1], classes=classes, n=len(x), **more)
    model = prepriv.PrivateClassifier(domain, epsilon=1.0, delta=1e-5).fit(x, y)
    at = np.searchsorted(classes, test[1])
    p = model.predict_proba(test[0])
    loss = -np.log(np.maximum(p[np.arange(len(at)), at], 1e-12)).mean()
    print(json.dumps([float((p.argmax(axis=1) == at).mean()), float(loss)]))
def made(n, d):
    rng = np.random.default_rng(0)
    x = rng.random((n + 20_000, d))
    y = (x[:, 0] + x[:, 1] * x[:, 2] + 0.2 * rng.standard_normal(len(x)) > 0.75).astype(int)
    return x[:n], y[:n], (x[n:], y[n:]), [0, 1], (0, 1)
"""
MNIST = """
held = np.load(sys.argv[1])
a, b = (held[f"x_{p}"].reshape(len(held[f"x_{p}"]), -1).astype(np.float32) for p in ("train", "test"))
fit(a, held["y_train"], (b, held["y_test"]), list(range(10)), (0, 255), adjacency="add-or-remove-one")
"""
REGRESSION = """
rng = np.random.default_rng(0)
x = rng.random((40_000, 20))
y = x[:, :5].sum(axis=1) + x[:, 0] * x[:, 1] + 0.3 * rng.standard_normal(len(x))
columns = {f"c{j}": prepriv.Numeric(0, 1) for j in range(20)}
domain = prepriv.Domain(columns=columns, target=prepriv.Numeric(0, 7), n=20_000)
model = prepriv.PrivateRegressor(domain, epsilon=1.0, delta=1e-5).fit(x[:20_000], y[:20_000])
print(json.dumps([float(model.score(x[20_000:], y[20_000:])), float("nan")]))
"""
CLI = "from prepriv.cli import main; main()"


def jobs(data: Path | None, folder: Path) -> dict[str, list[str]]:
    """Name -> arguments of python."""
    found = {
        "import of the classifier": ["-c", "import prepriv; prepriv.PrivateClassifier"],
        "import of scikit-learn": ["-c", "import sklearn.base"],
        "small 5,000 x 20": ["-c", FIT + "fit(*made(5_000, 20))"],
        "regression 20,000 x 20": ["-c", FIT + REGRESSION],
        "demo": ["-c", CLI, "demo", "--out", str(folder / "demo")],
        "large 200,000 x 50": ["-c", FIT + "fit(*made(200_000, 50))"],
        "million 1,000,000 x 50": ["-c", FIT + "fit(*made(1_000_000, 50))"],
    }
    if data is not None and (data / "adult.csv.gz").exists():
        table, schema = folder / "adult.csv", folder / "adult.yaml"
        table.write_bytes(gzip.decompress((data / "adult.csv.gz").read_bytes()))
        rows = ["--rows", str(sum(1 for _ in table.open()) - 1)]
        draft = ["schema", "init", str(table), "--label", "label", "--epsilon", "0.2", *rows]
        subprocess.run(
            [sys.executable, "-c", CLI, *draft, "--out", str(schema)], check=True, capture_output=True
        )
        budget = ["--epsilon", "1", "--delta", "1e-5"]
        found["adult: schema init"] = ["-c", CLI, *draft]
        found["adult: plan"] = ["-c", CLI, "plan", str(schema), *rows, *budget]
        more = ["--holdout", "0.2", "--out", str(folder / "run")]
        train = ["train", str(table), "--schema", str(schema), *rows, *budget, *more]
        found["adult: train --holdout"] = ["-c", CLI, *train]
    if data is not None and (data / "mnist.npz").exists():
        found["mnist, default"] = ["-c", FIT + MNIST, str(data / "mnist.npz")]
    return found


def run(tree: Path, command: list[str], folder: Path) -> tuple[float, float, list[float]]:
    """(processor seconds, seconds, what was measured) of one process of that tree."""
    for left in ("run", "demo"):
        subprocess.run(["rm", "-rf", str(folder / left)], check=True)
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    environment |= {
        "PYTHONPATH": str(tree / "src"),
        "PYTHONPYCACHEPREFIX": str(folder / "bytecode"),
        "OPENBLAS_NUM_THREADS": "1",
    }
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run([sys.executable, *command], env=environment, capture_output=True, text=True)
    after, wall = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter() - start
    if done.returncode:
        raise RuntimeError(f"{tree}: {done.stderr[-500:]}")
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    last = (done.stdout.strip().splitlines() or [""])[-1]
    return spent, wall, json.loads(last.replace("NaN", "null")) if last.startswith("[") else []


def main() -> None:
    """Print a table: job, seconds before and now, what was measured."""
    parse = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parse.add_argument("--data", type=Path)
    parse.add_argument("--before", default=BEFORE, help="commit to compare with")
    parse.add_argument("--rounds", type=int, default=3)
    parse.add_argument("--only", nargs="*", default=[], help="words of the jobs to run")
    asked = parse.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder, tree = Path(name), Path(name) / "before"
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*git, "add", "--quiet", "--detach", str(tree), asked.before], check=True)
        try:
            print("| job | before: processor s (s) | now | now / before | measured before | now |")
            print("|---|---|---|---|---|---|", flush=True)
            for job, command in jobs(asked.data, folder).items():
                if asked.only and not any(word in job for word in asked.only):
                    continue
                try:
                    cells = one(tree, command, folder, asked.rounds)
                except RuntimeError as error:
                    cells = f"could not run: {str(error).splitlines()[-1]}"
                print(f"| {job} | {cells} |", flush=True)
        finally:
            subprocess.run([*git, "remove", "--force", str(tree)], check=True)


def one(tree: Path, command: list[str], folder: Path, rounds: int) -> str:
    """The cells of one job."""
    run(tree, ["-c", "import prepriv; prepriv.PrivateClassifier"], folder)
    run(ROOT, ["-c", "import prepriv; prepriv.PrivateClassifier"], folder)
    pairs = []
    for k in range(rounds):
        order = (tree, ROOT) if k % 2 == 0 else (ROOT, tree)
        found = {which: run(which, command, folder) for which in order}
        pairs.append((found[tree], found[ROOT]))
    before, now = zip(*pairs)
    ratio = statistics.median(b[0] / a[0] for a, b in pairs)
    cells = [
        f"{statistics.median(r[0] for r in of):.2f} ({statistics.median(r[1] for r in of):.1f})"
        for of in (before, now)
    ]
    said = [
        ", ".join(f"{statistics.mean(v):.4f}" for v in zip(*(r[2] for r in of)) if None not in v)
        for of in (before, now)
    ]
    return " | ".join([*cells, f"{ratio:.2f}", *said])


if __name__ == "__main__":
    main()
