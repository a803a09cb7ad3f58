"""Reliability before and after the link: how often a class is right that a model is so sure of.

    python benchmarks/reliability.py --data FOLDER [--tables adult randhie] [--epsilon 1] [--most 15000] --out picture.svg

Softmax of the scores beside `predict_proba` of the same fit, on test rows, in bins of equal width; needs `prepriv[plots]`.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from development import NAMES, load
from recipe import BINS, fitted, measures

from prepriv.plans.link import softmax


def curve(p: Any, y: Any) -> tuple[Any, Any]:
    """(mean confidence, share of right ones) of the bins that hold 20 rows or more."""
    sure, right = p.max(axis=1), p.argmax(axis=1) == y
    at = np.minimum((sure * BINS).astype(int), BINS - 1)
    rows = np.bincount(at, minlength=BINS)
    keep = rows >= 20
    return np.bincount(at, sure, BINS)[keep] / rows[keep], np.bincount(at, right, BINS)[keep] / rows[keep]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path)
    parser.add_argument("--tables", nargs="*", choices=NAMES, default=["adult", "randhie", "made: many rows"])
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--most", type=int, default=15_000)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    warnings.filterwarnings("ignore")
    figure, axes = plt.subplots(1, len(args.tables), figsize=(4 * len(args.tables), 4), squeeze=False)
    for name, ax in zip(args.tables, axes[0]):
        dev = load(name, args.data, most=args.most)
        if dev is None:
            continue
        clf, y = fitted(dev, args.epsilon), dev.test[1]
        both = {
            "softmax": softmax(clf.model_.scores(dev.test[0])),
            "with the link": clf.predict_proba(dev.test[0]),
        }
        ax.plot([0, 1], [0, 1], color="0.8", linewidth=1)
        for label, p in both.items():
            ax.plot(*curve(p, y), marker="o", markersize=4, label=f"{label}, ECE {measures(p, y)['ECE']:.3f}")
        ax.set(
            title=name, xlabel="mean confidence", ylabel="share of right ones", xlim=(0.3, 1), ylim=(0.3, 1)
        )
        ax.legend(loc="upper left", frameon=False)
    figure.suptitle(f"ε = {args.epsilon:g}, automatic recipe, test rows")
    figure.tight_layout()
    figure.savefig(args.out)
    print(f"wrote {args.out}")


if __name__ == "__main__":
    main()
