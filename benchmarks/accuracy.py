"""The table of accuracies: the automatic recipe on MNIST and Fashion-MNIST, mean and deviation over runs.

    python benchmarks/accuracy.py --data FOLDER [--runs 10] [--only mnist] [--epsilon 1 --epsilon 2] [--steps linear]

FOLDER holds mnist.npz and fashion_mnist.npz with x_train, y_train, x_test, y_test.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import prepriv

DELTA = 1e-5
ROWS = [
    ("add-or-remove-one", 0.1),
    ("add-or-remove-one", 1.0),
    ("add-or-remove-one", 2.0),
    ("replace-one", 1.0),
]
NAMES = ("mnist", "fashion_mnist")


def accuracies(
    path: Path, adjacency: str, epsilon: float, runs: int, steps: str, threads: int | None
) -> list[float]:
    """Test accuracy of each run, everything automatic."""
    with np.load(path) as data:
        x, x_test = (data[k].reshape(len(data[k]), -1) for k in ("x_train", "x_test"))
        y, y_test = data["y_train"], data["y_test"]
    domain = prepriv.Domain.box(0, 255, x.shape[1], range(10), n=len(x), adjacency=adjacency)
    classifier = prepriv.PrivateClassifier(domain, epsilon=epsilon, delta=DELTA, steps=steps, threads=threads)
    return [classifier.fit(x, y).score(x_test, y_test) for _ in range(runs)]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--only", choices=NAMES)
    parser.add_argument("--epsilon", type=float, action="append", help="only these budgets")
    parser.add_argument("--adjacency", choices=("add-or-remove-one", "replace-one"))
    parser.add_argument("--steps", choices=("auto", "linear"), default="auto")
    parser.add_argument("--threads", type=int, default=None)
    options = parser.parse_args()
    print("| data | adjacency | ε | runs | accuracy (%) | deviation |\n|---|---|---|---|---|---|")
    for name in (options.only,) if options.only else NAMES:
        for adjacency, epsilon in ROWS:
            if options.epsilon and epsilon not in options.epsilon:
                continue
            if options.adjacency and adjacency != options.adjacency:
                continue
            got = 100 * np.array(
                accuracies(
                    options.data / f"{name}.npz",
                    adjacency,
                    epsilon,
                    options.runs,
                    options.steps,
                    options.threads,
                )
            )
            spread = got.std(ddof=1) if len(got) > 1 else float("nan")
            print(
                f"| {name} | {adjacency} | {epsilon:g} | {len(got)} | {got.mean():.2f} | {spread:.2f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
