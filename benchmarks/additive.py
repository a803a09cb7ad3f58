"""Additive models on Adult beside DP-EBM (interpret), with its defaults and with learning_rate 0.1; add-or-remove-one, delta = 1e-5.

    python benchmarks/additive.py --data FOLDER --peer PYTHON [--epsilon 0.1 1 4] [--runs 3] [--table adult]

PYTHON: one with interpret-core (pip), in an environment of its own. Both get the same declared bounds and categories, the same
split and the same (epsilon, delta). FOLDER: as for benchmarks/development.py, whose tables these are.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

import numpy as np
from development import NAMES, load
from peers import Peers
from recipe import measures

import prepriv


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--peer")
    parser.add_argument("--epsilon", type=float, nargs="*", default=[0.1, 1.0, 4.0])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--table", choices=NAMES, default="adult")
    parser.add_argument("--most", type=int, default=10**9)
    parser.add_argument(
        "--methods", nargs="*", default=["additive", "linear", "auto", "DP-EBM default", "DP-EBM 0.1"]
    )
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    peers = Peers(options.peer, seconds=600) if options.peer else None
    methods = [m for m in options.methods if options.peer or not m.startswith("DP-EBM")]
    print(
        "| ε | method | accuracy | AUC | log loss | calibration error |\n|---|---|---|---|---|---|",
        flush=True,
    )
    for epsilon in options.epsilon:
        for method in methods:
            found = []
            for run in range(options.runs):
                dev = load(options.table, options.data, run, options.most)
                if method.startswith("DP-EBM"):
                    p = peers(dev, epsilon, "DP-EBM", tuned=method != "DP-EBM default")[0]
                else:
                    domain = dev.domain("add-or-remove-one")
                    made = prepriv.PrivateClassifier(domain, epsilon=epsilon, delta=1e-5, steps=method).fit(
                        *dev.train
                    )
                    p = made.model_.predict_proba(dev.test[0])
                found.append(list(measures(p, dev.test[1]).values()))
            mean, spread = np.mean(found, axis=0), np.std(found, axis=0)
            cells = " | ".join(f"{m:.4f} ({s:.4f})" for m, s in zip(mean, spread))
            print(f"| {epsilon:g} | {method} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
