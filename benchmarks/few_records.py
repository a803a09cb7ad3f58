"""From how many "signals" n·µ on a private model says more than the largest class: when `notes_on` calls one weak.

    python benchmarks/few_records.py [--runs 5]

Four tables of scikit-learn, the automatic recipe, 400 test rows at most. Each cell: mean test accuracy of the runs
minus the share of the largest class, in points, for a budget whose n·µ is the head of the column.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from sklearn import datasets
from sklearn.model_selection import train_test_split

import prepriv
from prepriv.guarantees import gaussian

SIGNALS = (2, 5, 10, 20, 50, 100, 200, 500)
DELTA = 1e-5


def tables() -> list[tuple[str, np.ndarray, np.ndarray]]:
    named = {
        "iris": datasets.load_iris,
        "wine": datasets.load_wine,
        "breast cancer": datasets.load_breast_cancer,
        "digits": datasets.load_digits,
    }
    return [(name, *load(return_X_y=True)) for name, load in named.items()]


def gain(x: np.ndarray, y: np.ndarray, signals: float, seed: int) -> float:
    """Points above the largest class on held-out rows. Bounds are read off: the tables are public."""
    train, test, labels, truth = train_test_split(x, y, test_size=0.3, stratify=y, random_state=seed)
    low, high = x.min(axis=0), x.max(axis=0)
    keep = high > low
    columns = {f"x{j}": prepriv.Numeric(low[j], high[j]) for j in np.flatnonzero(keep)}
    domain = prepriv.Domain(columns, classes=sorted(set(y.tolist())))
    epsilon = max(1e-3, gaussian(signals / len(train)).epsilon(DELTA))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = prepriv.PrivateClassifier(domain, epsilon=epsilon, delta=DELTA).fit(train[:, keep], labels)
    right = np.mean(model.predict(test[:, keep]) == truth)
    return 100 * float(right - np.bincount(truth).max() / len(truth))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5)
    runs = parser.parse_args().runs
    print("n·µ".ljust(16) + "".join(f"{s:8g}" for s in SIGNALS))
    for name, x, y in tables():
        cells = [np.mean([gain(x, y, s, seed) for seed in range(runs)]) for s in SIGNALS]
        print(name.ljust(16) + "".join(f"{c:8.1f}" for c in cells), flush=True)


if __name__ == "__main__":
    main()
