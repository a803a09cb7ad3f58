"""A sketch beside AIM and MST on eight columns of Adult, coded: mean total variation of all two-way tables, and of those with the label.

Add-or-remove-one, as the peers have it; δ = 1e-6; one run each. --aim gives AIM fewer rounds and iterations and a smaller model than by default. The peers run in a Python of their own, with the mechanisms of their repository (github.com/ryan112358/private-pgm).

    python benchmarks/sketch_peers.py --data FOLDER [--peer PYTHON --source CHECKOUT] [--epsilons 0.1,1]
"""

from __future__ import annotations

import argparse
import itertools
import json
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

import prepriv

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))
import adult

DELTA, BINS = 1e-6, 16
NUMBERS, WORDS = (
    ("age", "education-num", "hours-per-week"),
    ("workclass", "marital-status", "occupation", "sex"),
)
PEER = """
import itertools, json, sys, time
import numpy as np, pandas as pd
source, folder, kind, epsilon, delta, rounds, iterations, megabytes = sys.argv[1:]
sys.path[:0] = [source + "/src", source + "/mechanisms"]
from mbi import Dataset, Domain, Factor
inner = Factor._binaryop  # newer releases of jax hand it numbers that it does not know
Factor._binaryop = lambda self, fn, other: inner(self, fn, other if isinstance(other, Factor) else Factor(Domain([], []), other))
table, sizes = pd.read_csv(folder + "/coded.csv"), json.load(open(folder + "/sizes.json"))
data = Dataset(table, Domain.fromdict(sizes))
start = time.process_time()
if kind == "AIM":
    from aim import AIM
    pairs = [(pair, 1.0) for pair in itertools.combinations(data.domain, 2)]
    _, made = AIM(float(epsilon), float(delta), rounds=int(rounds) * len(sizes), max_model_size=float(megabytes), max_iters=int(iterations)).run(data, pairs)
else:
    from mst import MST
    made = MST(data, float(epsilon), float(delta))
made.df.to_csv(folder + "/made.csv", index=False)
print("\\nseconds", time.process_time() - start)
"""


def coded(folder: Path) -> tuple[pd.DataFrame, dict[str, int]]:
    """Codes from 0 of each column: equal bins between declared bounds, declared categories, one more for all others."""
    table, _ = adult.load(folder / "adult.csv.gz")
    domain, found, sizes = adult.domain(len(table)), {}, {}
    for name in (*NUMBERS, *WORDS):
        kind = domain.columns[name]
        if isinstance(kind, prepriv.Numeric):
            share = (table[name].clip(kind.low, kind.high) - kind.low) / (kind.high - kind.low)
            share = share.fillna(0.5)
            found[name], sizes[name] = np.minimum((share * BINS).astype(int), BINS - 1), BINS
        else:
            known = {c: i for i, c in enumerate(kind.categories)}
            found[name] = table[name].map(known).fillna(len(known)).astype(int)
            sizes[name] = len(known) + 1
    found["label"], sizes["label"] = (table["label"] == domain.classes[1]).astype(int), 2
    return pd.DataFrame(found), sizes


def apart(one: pd.DataFrame, two: pd.DataFrame, sizes: dict[str, int]) -> tuple[float, float]:
    """Mean total variation of (all pairs of columns, pairs with the label)."""

    def joint(t: pd.DataFrame, a: str, b: str) -> np.ndarray:
        return np.bincount(t[a] * sizes[b] + t[b], minlength=sizes[a] * sizes[b]) / len(t)

    pairs = {p: 0.5 * np.abs(joint(one, *p) - joint(two, *p)).sum() for p in itertools.combinations(sizes, 2)}
    return float(np.mean([*pairs.values()])), float(np.mean([v for p, v in pairs.items() if "label" in p]))


def ours(
    table: pd.DataFrame, sizes: dict[str, int], epsilon: float, pairs: bool, label: bool = True
) -> pd.DataFrame:
    """Rows drawn from a sketch of the codes."""
    columns = {n: prepriv.Categorical(range(sizes[n])) for n in sizes if n != "label"}
    facts = {"n": len(table), "adjacency": "add-or-remove-one"}
    if label:
        domain = prepriv.Domain(columns, classes=[0, 1], label="label", **facts)
    else:
        columns["label"] = prepriv.Categorical([0, 1])
        domain = prepriv.Domain(columns, classes=[0, 1], **facts)
    found = prepriv.sketch(table, domain, epsilon=epsilon, delta=DELTA, pairs=pairs)
    frame = found.to_frame(len(table))
    codes = {n: pd.to_numeric(frame[n], errors="coerce").fillna(0).astype(int) for n in sizes}
    return pd.DataFrame(codes)


def peer(kind: str, args: argparse.Namespace, table: pd.DataFrame, sizes: dict[str, int], epsilon: float):
    """(rows of a peer, seconds of CPU)."""
    with tempfile.TemporaryDirectory() as folder:
        table.to_csv(f"{folder}/coded.csv", index=False)
        Path(folder, "sizes.json").write_text(json.dumps(sizes))
        words = [
            args.peer,
            "-c",
            PEER,
            args.source,
            folder,
            kind,
            str(epsilon),
            str(DELTA),
            *args.aim.split(","),
        ]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode:
            return None, next(
                (line for line in reversed(done.stderr.splitlines()) if "Error" in line), "no result"
            )
        return pd.read_csv(f"{folder}/made.csv"), float(done.stdout.split()[-1])


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--peer", help="a Python with mbi's requirements")
    parser.add_argument("--source", help="a checkout of private-pgm")
    parser.add_argument(
        "--aim",
        default="16,1000,80",
        help="rounds a column, iterations, and MB of a model: AIM's own defaults take hours of two cores",
    )
    parser.add_argument("--kinds", default="MST,AIM", help="which peers")
    parser.add_argument("--epsilons", type=lambda t: [float(e) for e in t.split(",")], default=[0.1, 1.0])
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    table, sizes = coded(args.data)
    print(f"{len(table)} rows, {len(sizes)} columns, cells {list(sizes.values())}")
    for epsilon in args.epsilons:
        settings = {
            "tables": (False, True),
            "with pairs": (True, True),
            "columns alone, no label": (False, False),
        }
        for name, (pairs, label) in settings.items():
            start = time.process_time()
            made = ours(table, sizes, epsilon, pairs, label)
            both, with_label = apart(table, made, sizes)
            print(
                f"epsilon {epsilon:g} sketch, {name}: {both:.3f}, with the label {with_label:.3f}, {time.process_time() - start:.1f} s",
                flush=True,
            )
        for kind in args.kinds.split(",") if args.peer else ():
            made, took = peer(kind, args, table, sizes, epsilon)
            if made is None:
                print(f"epsilon {epsilon:g} {kind}: failed: {took}", flush=True)
                continue
            both, with_label = apart(table, made[list(sizes)].astype(int), sizes)
            print(
                f"epsilon {epsilon:g} {kind}: {both:.3f}, with the label {with_label:.3f}, {took:.1f} s",
                flush=True,
            )


if __name__ == "__main__":
    main()
