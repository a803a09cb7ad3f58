"""Is this version slower than an earlier one? Two source trees, run in turns, in fresh processes.

    python benchmarks/paired.py                        against the commit of 0.2.0
    python benchmarks/paired.py --before COMMIT --rounds 9 --only import pass

Each round runs both trees, one after the other, and changes which goes first. What is compared is
processor time, which a busy machine disturbs less than the wall clock; the quoted ratio is the median over
rounds of (now / before), beside the smallest time of each tree.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BEFORE = "8aa567d"  # 0.2.0
JOBS = (
    "import",
    "fixed cost",
    "small 5,000 x 20",
    "linear 40,000 x 64",
    "auto 40,000 x 64",
    "pass 60,000 x 784 x 10",
)


def seconds() -> float:
    """Processor time of this process so far."""
    import resource

    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def measure(wanted: list[str]) -> dict[str, float]:
    """Seconds of each job in this process: the smallest of a few repetitions."""
    import warnings

    warnings.simplefilter("ignore")
    start = seconds()
    import prepriv

    times = {
        "import": prepriv.PrivateClassifier and seconds() - start
    }  # names are imported when first asked for
    import numpy as np

    random = np.random.default_rng(0)

    def fit(x, y, classes, **more):
        domain = prepriv.Domain.box(0, 1, features=x.shape[1], classes=classes)
        return lambda: prepriv.PrivateClassifier(domain, epsilon=1.0, delta=1e-5, threads=1, **more).fit(x, y)

    def table(rows, columns, classes):
        return random.random((rows, columns)), random.integers(0, classes, rows)

    def one_pass():
        import prepriv.exact.grid as grids
        from prepriv.engines import Threads
        from prepriv.learners import Softmax

        x, y = random.standard_normal((60_000, 784)) * 0.1, random.integers(0, 10, 60_000)
        w = random.standard_normal((785, 10)) * 0.01
        kind = getattr(grids, "IntegerGrid", None) or grids.Grid  # as 0.2.0 named it
        grid = kind.of(5.0, 0.7, 60_000, fine=False)
        blocks = ((x[at : at + 4096], y[at : at + 4096], at) for at in range(0, 60_000, 4096))
        sums = (
            Threads(1).room(grid, 60_000, 784).load(blocks, 60_000, 1.0).gradient_sum(Softmax()).__enter__()
        )
        return lambda: sums(w)

    jobs = {
        "fixed cost": (lambda: fit(*table(200, 3, 2), [0, 1]), 5),
        "small 5,000 x 20": (lambda: fit(*table(5_000, 20, 2), [0, 1]), 3),
        "linear 40,000 x 64": (lambda: fit(*table(40_000, 64, 10), range(10), steps="linear"), 3),
        "auto 40,000 x 64": (lambda: fit(*table(40_000, 64, 10), range(10)), 2),
        "pass 60,000 x 784 x 10": (one_pass, 9),
    }
    for name, (prepare, times_over) in jobs.items():
        if name not in wanted:
            continue
        job, took = prepare(), []
        job()
        for _ in range(times_over):
            start = seconds()
            job()
            took.append(seconds() - start)
        times[name] = min(took)
    return times


def of(tree: Path, wanted: list[str]) -> dict[str, float]:
    """What `measure` says in a fresh process that imports the package of one tree."""
    done = subprocess.run(
        [sys.executable, __file__, "--measure", *wanted],
        env=os.environ
        | {"PYTHONPATH": str(tree / "src"), "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    """Print a table: job, seconds before, seconds now, ratio."""
    parse = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parse.add_argument("--before", default=BEFORE, help="commit to compare with")
    parse.add_argument("--rounds", type=int, default=7)
    parse.add_argument("--only", nargs="*", default=[], help="first words of the jobs to run")
    parse.add_argument("--measure", nargs="*", help=argparse.SUPPRESS)
    asked = parse.parse_args()
    if asked.measure is not None:
        print(json.dumps(measure(asked.measure)))
        return
    wanted = [job for job in JOBS if not asked.only or any(job.startswith(word) for word in asked.only)]
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "before"
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*git, "add", "--quiet", "--detach", str(tree), asked.before], check=True)
        try:
            pairs = []
            for round_number in range(asked.rounds):
                order = [tree, ROOT] if round_number % 2 == 0 else [ROOT, tree]
                found = {which: of(which, wanted) for which in order}
                pairs.append((found[tree], found[ROOT]))
        finally:
            subprocess.run([*git, "remove", "--force", str(tree)], check=True)
    print(
        f"{'job':26s} {'before, s':>10s} {'now, s':>10s} {'now / before':>13s}   (median of {asked.rounds} pairs)"
    )
    for job in wanted:
        ratio = statistics.median(now[job] / before[job] for before, now in pairs)
        least = [min(times[job] for times in side) for side in zip(*pairs)]
        print(f"{job:26s} {least[0]:10.3f} {least[1]:10.3f} {ratio:13.3f}")


if __name__ == "__main__":
    main()
