"""Additive models on Adult beside DP-EBM (interpret), with its defaults and with learning_rate 0.1; add-or-remove-one, delta = 1e-5.

    python benchmarks/additive.py --data FOLDER --peer PYTHON [--epsilon 0.1 1 4] [--runs 3] [--table adult]

PYTHON: one with interpret-core[dp] (pip), in an environment of its own. Both get the same declared bounds and categories, the same
split and the same (epsilon, delta). FOLDER: as for benchmarks/development.py, whose tables these are.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
import warnings
from pathlib import Path

import numpy as np
from development import NAMES, load
from recipe import measures

import prepriv

PEER = """
import sys
import numpy as np, pandas as pd
from interpret.privacy import DPExplainableBoostingClassifier
folder, epsilon, rate = sys.argv[1], float(sys.argv[2]), sys.argv[3]
train, test = (pd.read_csv(f"{folder}/{name}.csv", keep_default_na=False) for name in ("train", "test"))
y = train.pop("label").to_numpy()
bounds = np.load(f"{folder}/bounds.npy")
numeric = ~np.isnan(bounds[:, 0])
options = {} if rate == "default" else {"learning_rate": float(rate)}
made = DPExplainableBoostingClassifier(
    feature_types=["continuous" if k else "nominal" for k in numeric], epsilon=epsilon, delta=1e-5,
    privacy_bounds={i: tuple(b) for i, b in enumerate(bounds) if numeric[i]}, n_jobs=1, **options)
np.save(f"{folder}/p.npy", made.fit(train, y).predict_proba(test))
"""


def peer(dev, epsilon: float, rate: str, python: str) -> np.ndarray:
    """Class probabilities of DP-EBM."""
    numeric = {k: c for k, c in dev.columns.items() if isinstance(c, prepriv.Numeric)}
    bounds = np.array(
        [(numeric[k].low, numeric[k].high) if k in numeric else (np.nan, np.nan) for k in dev.columns]
    )
    with tempfile.TemporaryDirectory() as folder:
        np.save(f"{folder}/bounds.npy", bounds)
        for name, rows in (("train", dev.train[0]), ("test", dev.test[0])):
            frame = rows[list(dev.columns)].reset_index(drop=True).copy()
            for k in frame:
                frame[k] = (
                    frame[k].fillna((numeric[k].low + numeric[k].high) / 2)
                    if k in numeric
                    else frame[k].astype(str)
                )
            if name == "train":
                frame["label"] = dev.train[1]
            frame.to_csv(f"{folder}/{name}.csv", index=False)
        subprocess.run([python, "-W", "ignore", "-c", PEER, folder, str(epsilon), rate], check=True)
        return np.load(f"{folder}/p.npy")


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
                    p = peer(dev, epsilon, method.split()[1], options.peer)
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
