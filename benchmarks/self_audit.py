"""Trainings that audit themselves: the claim, and what canaries show, run after run. docs/self-audit.md.

python benchmarks/self_audit.py --data FOLDER --runs 20 [--only adult]

FOLDER holds adult.csv.gz and mnist.npz; the regression is scikit-learn's diabetes table. ε = 1, δ = 1e-5, 10,000 canaries.
`tests/runs/test_self_audit.py` plants the bugs.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_diabetes

import prepriv
from prepriv.learners import GradientDescent, SquaredError

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "examples"))


def adult(folder: Path) -> tuple[Any, Any, Any]:
    """Census income, with the pre-processing of examples/adult.py."""
    import adult as example

    train, _ = example.load(folder / "adult.csv.gz")
    made = prepriv.PrivateClassifier(example.domain(len(train)), steps=example.steps(), threads=1)
    return made, train, train["label"]


def mnist(folder: Path) -> tuple[Any, Any, Any]:
    """Ten classes, linear."""
    with np.load(folder / "mnist.npz") as data:
        x, y = data["x_train"].reshape(-1, 784), data["y_train"]
    domain = prepriv.Domain.box(0, 255, 784, range(10), n=len(x))
    return prepriv.PrivateClassifier(domain, steps="linear", threads=1), x, y


def diabetes(_: Path) -> tuple[Any, Any, Any]:
    """A numeric target, by gradient descent."""
    x, y = load_diabetes(return_X_y=True)
    domain = prepriv.Domain.box(-0.2, 0.2, 10, target=prepriv.Numeric(0, 350), n=len(x))
    learner = GradientDescent(SquaredError(), steps=50, clip_norm=0.5)
    return prepriv.PrivateRegressor(domain, steps=[], learner=learner), x, y


JOBS: dict[str, Callable[[Path], tuple[Any, Any, Any]]] = {
    "adult": adult,
    "mnist": mnist,
    "diabetes": diabetes,
}


def main() -> None:
    """Print one line for each table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--canaries", type=int, default=10_000)
    parser.add_argument("--only", choices=JOBS)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print(
        "| table | runs | claimed µ | canaries can reach | estimate, mean | lower bound: mean | least | largest | above the claim | refuted | seconds a run |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for name in (options.only,) if options.only else JOBS:
        made, x, y = JOBS[name](options.data)
        made.set_params(audit=options.canaries)
        said, start = [], time.monotonic()
        for _ in range(options.runs):
            said.append(made.fit(x, y).report_.to_json()["self_audit"])
        seconds = (time.monotonic() - start) / options.runs
        low = [s["lower_mu"] for s in said]
        above, refuted = sum(s["lower_mu"] > s["claimed_mu"] for s in said), sum(s["refuted"] for s in said)
        estimate = np.mean([s["estimated_mu"] for s in said])
        print(
            f"| {name} | {len(said)} | {said[0]['claimed_mu']:.4f} | {said[0]['planned_mu']:.4f} | {estimate:.3f} | {np.mean(low):.3f} | {min(low):.3f} | "
            f"{max(low):.3f} | {above} | {refuted} | {seconds:.1f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
