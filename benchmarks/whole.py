"""Whole processes of this version and an earlier one, in turns: processor seconds, accuracy and log loss.

    python benchmarks/whole.py --data FOLDER --out FILE              against the commit of 0.2.0; about 25 minutes of two idle cores
    python benchmarks/whole.py --data FOLDER --out FILE --estimate   how long what FILE lacks will take
    python benchmarks/whole.py --data FOLDER --only small plan --rounds 5
    python benchmarks/whole.py --data FOLDER --small                 does every job run? few rows, one round, this version alone

Each job is a process of its own, from the start of the interpreter to the last test row, with as many BLAS threads as a user gets
(--blas 1: one) and compiled bytecode (a first run, which is not counted, writes it). Versions take turns, and cheap jobs come first.
FILE gets a line for each run, and what it holds is not run again. Numbers are medians; compare processor
seconds, which a busy machine disturbs less than the clock. FOLDER holds adult.csv.gz, sms_spam.tsv.gz and mnist.npz;
jobs without their file are left out, and one that a version cannot run says so.
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
from typing import Any

from paired import BEFORE, ROOT

FIT = """
import json, sys, warnings
import numpy as np
import prepriv
warnings.simplefilter("ignore")
def fit(x, y, test, classes, box, **more):
    fit_on(prepriv.Domain.box(*box, features=x.shape[1], classes=classes, n=len(x), **more), x, y, test, classes)
def fit_on(domain, x, y, test, classes):
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
held, most = np.load(sys.argv[1]), int(sys.argv[2])
a, b = (held[f"x_{p}"][:most].reshape(len(held[f"x_{p}"][:most]), -1).astype(np.float32) for p in ("train", "test"))
y, test = held["y_train"][:most], (b, held["y_test"][:most])
"""
DEFAULT = (
    MNIST
    + """
fit(a, y, test, list(range(10)), (0, 255), adjacency="add-or-remove-one")
"""
)
IMAGES = (
    MNIST
    + """
domain = prepriv.Domain.images(28, 28, 1, range(10), n=len(a), adjacency="add-or-remove-one")
fit_on(domain, a, y, test, list(range(10)))
"""
)
TEXT = """
import csv, gzip
with gzip.open(sys.argv[1], "rt", encoding="utf-8") as file:
    rows = [row[:2] for row in csv.reader(file, delimiter="\\t", quoting=csv.QUOTE_NONE)][1:]
x, y = [[text] for _, text in rows], np.array([label == "spam" for label, _ in rows]).astype(int)
order = np.random.default_rng(0).permutation(len(y))
train, test = order[: len(y) * 4 // 5], order[len(y) * 4 // 5 :]
domain = prepriv.Domain({"SMS": prepriv.Text(1024)}, (0, 1), len(train))
fit_on(domain, [x[i] for i in train], y[train], ([x[i] for i in test], y[test]), [0, 1])
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


KEPT = "{kept}"  # stands for a folder of the version that runs
# Seconds of one run of each version on two cores that did other things, for the estimate; how many rounds, if not --rounds.
LONG = {"large": (60, 2), "mnist, default": (35, 2), "mnist, images": (150, 1), "million": (260, 1)}
USUAL = 4


def jobs(data: Path | None, folder: Path, small: bool) -> dict[str, list[str]]:
    """Name -> arguments of python. small: with so few rows that each takes seconds."""
    found = {
        "import of the classifier": ["-c", "import prepriv; prepriv.PrivateClassifier"],
        "import of scikit-learn": ["-c", "import sklearn.base"],
        "small 5,000 x 20": ["-c", FIT + "fit(*made(5_000, 20))"],
        "regression 20,000 x 20": ["-c", FIT + REGRESSION],
        "demo": ["-c", CLI, "demo", "--out", str(folder / "demo")],
    }
    if data is not None and (data / "adult.csv.gz").exists():
        table, schema = folder / "adult.csv", folder / "adult.yaml"
        lines = gzip.decompress((data / "adult.csv.gz").read_bytes()).splitlines(keepends=True)
        table.write_bytes(b"".join(lines[: 4_001 if small else None]))
        rows = ["--rows", str(len(lines[: 4_001 if small else None]) - 1)]
        draft = [
            "schema",
            "init",
            str(table),
            "--label",
            "label",
            "--epsilon",
            "4" if small else "0.2",
            *rows,
        ]
        subprocess.run(
            [sys.executable, "-c", CLI, *draft, "--out", str(schema)], check=True, capture_output=True
        )
        # as if declared by hand: earlier versions do not know what a draft says about itself
        parts = schema.read_text(encoding="utf-8").split("\ndrafted:")
        schema.write_text(parts[0] + "\n", encoding="utf-8")
        budget = ["--epsilon", "1", "--delta", "1e-5"]
        declared = [str(table), "--schema", str(schema), *rows, *budget]
        found["adult: schema init"] = ["-c", CLI, *draft]
        found["adult: plan"] = ["-c", CLI, "plan", str(schema), *rows, *budget]
        found["adult: validate"] = ["-c", CLI, "validate", *declared[:-4]]
        found["adult: describe"] = ["-c", CLI, "describe", *declared]
        found["adult: train --holdout"] = [
            *("-c", CLI, "train", *declared, "--holdout", "0.2", "--out", str(folder / "run"))
        ]
        kept = Path(KEPT)
        found["adult: keep a model"] = ["-c", CLI, "train", *declared, "--out", str(kept)]
        found["adult: evaluate"] = ["-c", CLI, "evaluate", str(kept / "model"), str(table), *rows, *budget]
        found["adult: predict"] = ["-c", CLI, "predict", str(kept / "model"), str(table)]
        found["adult: report --verify"] = [
            "-c",
            CLI,
            "report",
            str(kept / "model"),
            "--verify",
            str(kept / "report.html"),
        ]
    if data is not None and (data / "sms_spam.tsv.gz").exists():
        found["text"] = ["-c", FIT + TEXT, str(data / "sms_spam.tsv.gz")]
    found["large 200,000 x 50"] = ["-c", FIT + f"fit(*made({3_000 if small else 200_000}, 50))"]
    if data is not None and (data / "mnist.npz").exists():
        more = [str(data / "mnist.npz"), "1000" if small else "60000"]
        found["mnist, default"] = ["-c", FIT + DEFAULT, *more]
        found["mnist, images"] = ["-c", FIT + IMAGES, *more]
    found["million 1,000,000 x 50"] = ["-c", FIT + f"fit(*made({5_000 if small else 1_000_000}, 50))"]
    return found


Run = dict[str, Any]


def run(tree: Path, command: list[str], folder: Path, blas: int) -> Run:
    """Processor seconds, seconds and what was measured of one process of that tree."""
    for left in ("run", "demo"):
        subprocess.run(["rm", "-rf", str(folder / left)], check=True)
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    environment |= {"PYTHONPATH": str(tree / "src"), "PYTHONPYCACHEPREFIX": str(folder / "bytecode")}
    environment |= {"OPENBLAS_NUM_THREADS": str(blas)} if blas else {}
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    kept = folder / f"kept-{tree.name}"
    if command[-1] == KEPT:
        subprocess.run(["rm", "-rf", str(kept)], check=True)
    command = [part.replace(KEPT, str(kept)) for part in command]
    done = subprocess.run([sys.executable, *command], env=environment, capture_output=True, text=True)
    after, wall = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter() - start
    if done.returncode:
        return {"failed": (done.stderr.strip().splitlines() or ["?"])[-1][-200:]}
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    last = (done.stdout.strip().splitlines() or [""])[-1]
    found = json.loads(last.replace("NaN", "null")) if last.startswith("[") else []
    return {"processor": spent, "seconds": wall, "measured": found}


def of_job(name: str, rounds: int) -> tuple[int, int]:
    """(seconds of a run, rounds)."""
    long = next((v for k, v in LONG.items() if name.startswith(k)), None)
    return (USUAL, rounds) if long is None else (long[0], min(rounds, long[1]))


def missing(names: list[str], rounds: int, done: list[Run]) -> list[tuple[str, int, str]]:
    """(job, round, version) of all that has to run, versions in turns."""
    there = {(r["job"], r["round"], r["version"]) for r in done}
    every = [
        (name, k, version)
        for name in names
        for k in range(of_job(name, rounds)[1])
        for version in (("before", "now") if k % 2 == 0 else ("now", "before"))
    ]
    return [one for one in every if one not in there]


def row(name: str, done: list[Run]) -> str:
    """The line of the table of one job."""
    of = {v: [r for r in done if r["job"] == name and r["version"] == v] for v in ("before", "now")}
    cells, said, medians = [], [], []
    for runs in of.values():
        good = [r for r in runs if "failed" not in r]
        if not good:
            cells.append(f"could not run: {runs[0]['failed']}" if runs else "")
            said.append("")
            continue
        medians.append(statistics.median(r["processor"] for r in good))
        cells.append(f"{medians[-1]:.2f} ({statistics.median(r['seconds'] for r in good):.1f})")
        each = zip(*(r["measured"] for r in good))
        said.append(", ".join(f"{statistics.mean(v):.4f}" for v in each if None not in v))
    ratio = f"{medians[1] / medians[0]:.2f}" if len(medians) == 2 else ""
    return f"| {name} | {' | '.join([*cells, ratio, *said, str(len(of['now']))])} |"


def main() -> None:
    """Run what is missing, a line for each run; then print a table: job, seconds before and now, what was measured."""
    parse = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parse.add_argument("--data", type=Path)
    parse.add_argument("--before", default=BEFORE, help="commit to compare with")
    parse.add_argument("--rounds", type=int, default=3, help="at most two or one of the longest jobs")
    parse.add_argument("--only", nargs="*", default=[], help="words of the jobs to run")
    parse.add_argument("--out", type=Path, help="a line for each run; what it holds is not run again")
    parse.add_argument("--blas", type=int, default=0, help="BLAS threads; 0: as many as a user gets")
    parse.add_argument("--estimate", action="store_true")
    parse.add_argument("--small", action="store_true")
    asked = parse.parse_args()
    done = [json.loads(line) for line in asked.out.open()] if asked.out and asked.out.exists() else []
    with tempfile.TemporaryDirectory() as name:
        folder, tree = Path(name), Path(name) / "before"
        every = jobs(asked.data, folder, asked.small)
        keep = every.pop("adult: keep a model", [])
        commands = {
            job: command
            for job, command in every.items()
            if not asked.only or any(word in job for word in asked.only)
        }
        left = missing(list(commands), 1 if asked.small else asked.rounds, done)
        if asked.small:
            left = [one for one in left if one[2] == "now"]
        spent = sum(of_job(job, 1)[0] for job, _, _ in left)
        print(f"# {len(left)} runs, about {spent / 60:.0f} minutes", flush=True)
        if asked.estimate:
            return
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*git, "add", "--quiet", "--detach", str(tree), asked.before], check=True)
        trees = {"before": tree, "now": ROOT}
        try:
            for version in {version for _, _, version in left}:
                run(trees[version], ["-c", "import prepriv; prepriv.PrivateClassifier"], folder, asked.blas)
            ask = [job for job in commands if any(KEPT in part for part in commands[job])]
            if any(job in ask for job, _, _ in left):
                for version in {version for _, _, version in left}:
                    made = run(trees[version], keep, folder, asked.blas)
                    print(f"# a model of the version {version}: {json.dumps(made)}", flush=True)
            for job, k, version in left:
                found = {"job": job, "round": k, "version": version, "blas": asked.blas}
                found |= run(trees[version], commands[job], folder, asked.blas)
                done.append(found)
                print("#", json.dumps(found), flush=True)
                if asked.out:
                    with asked.out.open("a") as file:
                        file.write(json.dumps(found) + "\n")
        finally:
            subprocess.run([*git, "remove", "--force", str(tree)], check=True)
    print("| job | before: processor s (s) | now | now / before | measured before | now | rounds |")
    print("|---|---|---|---|---|---|---|")
    for job in commands:
        print(row(job, done), flush=True)


if __name__ == "__main__":
    main()
