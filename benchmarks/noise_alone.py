"""How often a fit says that its model looks like noise (`Model.noise_alone`): of fits whose labels are the declared classes, and are not.

    PREPRIV_DATA=FOLDER python benchmarks/noise_alone.py [--runs 20]

Two made-up tables (ten columns, one of which says half of the label, classes alike), two whose ten columns say a little each (the best
model has an AUC of .73), and three samples of Adult and Fashion-MNIST, the automatic recipe. Accuracy is of the first fits, on the rows themselves, beside the share of the commonest class.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

import prepriv

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))
from adult import domain as adult_domain

TABLES = (
    "made up 1000",
    "made up 5000",
    "weak 2000",
    "weak 5000",
    "adult 2000",
    "adult 20000",
    "fashion 2000",
)


def table(name: str, seed: int) -> tuple[object, np.ndarray, prepriv.Domain]:
    """(rows, labels, what is declared of them), drawn by the seed."""
    (*_, kind, size), rng = name.split(), np.random.default_rng(seed)
    n, data = int(size), Path(os.environ["PREPRIV_DATA"])
    if kind == "adult":
        rows = pd.read_csv(data / "adult.csv.gz").sample(n, random_state=seed)
        return rows.drop(columns="label"), rows["label"].to_numpy(), adult_domain(n)
    if kind == "fashion":
        with np.load(data / "fashion_mnist.npz") as images:
            kept = rng.permutation(len(images["y_train"]))[:n]
            x, y = images["x_train"][kept].reshape(n, -1) / 255, images["y_train"][kept]
        names = [f"kind {k}" for k in range(10)]
        return x, np.array(names)[y], prepriv.Domain.box(0, 1, features=x.shape[1], classes=names)
    y, x = rng.integers(0, 2, n), rng.normal(0.5, 0.15, (n, 10))
    x[:, : 10 if kind == "weak" else 1] += (0.0206 if kind == "weak" else 0.1) * (2 * y - 1)[:, None]
    domain = prepriv.Domain.box(0, 1, features=10, classes=["no", "yes"])
    return np.clip(x, 0, 1), np.array(["no", "yes"])[y], domain


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=20)
    runs = parser.parse_args().runs
    warnings.simplefilter("ignore")
    for name in TABLES:
        for epsilon in (0.1, 0.3, 1.0):
            said, right, most = np.zeros(2, int), [], []
            for seed in range(runs):
                x, y, domain = table(name, seed)
                for k, labels in enumerate((y, np.unique(y, return_inverse=True)[1])):
                    made = prepriv.PrivateClassifier(domain, epsilon=epsilon).fit(x, labels)
                    said[k] += made.model_.noise_alone
                    if k == 0:
                        right.append(np.mean(made.predict(x) == y))
                        most.append(np.unique(y, return_counts=True)[1].max() / len(y))
            print(
                f"{name:14} ε = {epsilon:g}: said of {said[0]} of {runs} with declared labels (accuracy {np.mean(right):.3f}, commonest class "
                f"{np.mean(most):.3f}), of {said[1]} of {runs} with numbered ones",
                flush=True,
            )


if __name__ == "__main__":
    main()
