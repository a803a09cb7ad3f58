"""Several rows of one person: units beside group privacy and beside one row a person, on made-up people.

`python benchmarks/units.py [--people 5000] [--runs 3]`. Mean accuracy on 5000 rows of people who were not trained on.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
import pyarrow as pa

import prepriv
from prepriv.guarantees import gdp_epsilon, gdp_mu

DELTA, COLUMNS = 1e-5, 10
FEATURES = {f"x{j}": prepriv.Numeric(-4, 4) for j in range(COLUMNS)}


def people(count, most, alike, seed):
    """(table, labels): 1 to `most` rows a person; alike: the correlation of two rows of one person."""
    rng = np.random.default_rng(seed)
    who = np.repeat(np.arange(count), rng.integers(1, most + 1, count))
    center = rng.normal(size=(count, COLUMNS))[who]
    x = np.sqrt(alike) * center + np.sqrt(1 - alike) * rng.normal(size=center.shape)
    truth = np.random.default_rng(99).normal(size=COLUMNS)
    score = 2 * (x @ truth) / np.linalg.norm(truth) + 0.8 * x[:, 0] * x[:, 1]
    labels = (score + rng.logistic(size=len(who)) > 0).astype(int)
    return pa.table({name: x[:, j] for j, name in enumerate(FEATURES)} | {"who": who}), labels


def fitted(way, rows, labels, count, most, epsilon):
    """A classifier whose guarantee for one person with all rows is (epsilon, DELTA)."""
    if way == "group privacy":  # of K rows each µ-GDP: Kµ
        epsilon = gdp_epsilon(gdp_mu(epsilon, DELTA) / most, DELTA)
        domain = prepriv.Domain(FEATURES, classes=[0, 1])
    else:
        read = 1 if way == "one row" else most
        domain = prepriv.Domain(FEATURES, classes=[0, 1], n=count, unit="who", rows_per_unit=read)
    return prepriv.PrivateClassifier(domain, epsilon=epsilon, delta=DELTA).fit(rows, labels)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=5000)
    parser.add_argument("--runs", type=int, default=3)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    ways = ("group privacy", "one row", "units")
    print(
        f"| rows a person | alike | ε | {' | '.join(ways)} |\n|---|---|---|{'---|' * len(ways)}", flush=True
    )
    for most in (5, 20):
        for alike in (0.1, 0.9):
            for epsilon in (0.3, 1.0):
                said = []
                for way in ways:
                    scores = []
                    for run in range(args.runs):
                        test = people(5000, 1, alike, 1000 + run)
                        rows, labels = people(args.people, most, alike, run)
                        clf = fitted(way, rows, labels, args.people, most, epsilon)
                        scores.append(clf.score(*test))
                    said.append(f"{100 * np.mean(scores):.1f} %")
                print(f"| 1 to {most} | {alike} | {epsilon:g} | {' | '.join(said)} |", flush=True)


if __name__ == "__main__":
    main()
