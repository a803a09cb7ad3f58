"""`prepriv.describe` beside the tools of diffprivlib at one total epsilon: mean, deviation, quantiles, histogram of six columns.

    python benchmarks/describe_peers.py --peer PYTHON-WITH-DIFFPRIVLIB [--adult PATH/adult.csv.gz] [--epsilon 1] [--runs 20]

The same job for both: of each of six columns the mean, the deviation, three quartiles and a histogram of 20 bins, all of it together at
(epsilon, 1e-6) under replace-one with the same declared bounds and public n. diffprivlib divides epsilon equally among its 36 answers (its tools are
pure, and add up by their plain sum); its histogram is taken at its word, though a replaced record moves two counts and its noise is made for one. Errors:
of mean, deviation and quartiles over the distance of the bounds, root mean square; of the histogram the mean absolute error of a count over n.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

import prepriv

PEER = """
import sys, json, warnings, numpy as np
warnings.filterwarnings("ignore")
from diffprivlib import tools
from diffprivlib.accountant import BudgetAccountant
d = json.load(open(sys.argv[1])); x = np.load(sys.argv[2]); out = []
each = d["epsilon"] / (6 * x.shape[1])
for _ in range(d["runs"]):
    run = []
    for j, (low, high) in enumerate(d["bounds"]):
        b = dict(epsilon=each, bounds=(low, high)); c = np.clip(x[:, j], low, high)
        h = tools.histogram(c, epsilon=each, bins=20, range=(low, high))[0]
        run.append([float(tools.mean(c, **b)), float(tools.std(c, **b)), *[float(tools.quantile(c, q, **b)) for q in (0.25, 0.5, 0.75)], *map(float, h)])
    out.append(run)
print(json.dumps(out))
"""


def columns(adult: Path | None) -> dict[str, tuple[np.ndarray, float, float]]:
    """name: (values, low, high), all of one length."""
    rng = np.random.default_rng(0)
    n = 20_000
    made = {
        "normal": (rng.normal(50, 10, n), 0.0, 100.0),
        "wide bounds": (rng.normal(5, 2, n), -100.0, 100.0),
        "lognormal": (rng.lognormal(3, 1, n), 0.0, 500.0),
    }
    if adult is None:
        more = {
            "uniform": (rng.random(n), 0.0, 1.0),
            "mostly zero": (np.where(rng.random(n) < 0.1, rng.exponential(20, n), 0.0), 0.0, 100.0),
            "small numbers": (rng.integers(0, 11, n).astype(float), 0.0, 10.0),
        }
        return {**made, **more}
    table = pd.read_csv(adult)[:n]
    known = {"age": (17, 90), "capital-gain": (0, 20_000), "hours-per-week": (1, 99)}
    return {**made, **{c: (table[c].to_numpy(float), float(a), float(b)) for c, (a, b) in known.items()}}


def answers(x: np.ndarray, low: float, high: float) -> np.ndarray:
    """The 25 exact answers of a column."""
    x = np.clip(x, low, high)
    return np.array(
        [x.mean(), x.std(), *np.quantile(x, [0.25, 0.5, 0.75]), *np.histogram(x, 20, (low, high))[0]]
    )


def ours(table: pd.DataFrame, domain: prepriv.Domain, epsilon: float) -> list[list[float]]:
    found = prepriv.describe(table, domain, epsilon=epsilon)
    return [
        [float(s.mean), float(s.deviation), *map(float, s.quantiles.values()), *map(float, s.counts)]
        for s in found.columns.values()
    ]


def single(table: pd.DataFrame, bounds: list[tuple[float, float]], epsilon: float) -> list[list[float]]:
    """Each answer by a question of its own, at the epsilon that diffprivlib has for it; a deviation is no question."""
    each, found = epsilon / (6 * len(bounds)), []
    for name, (low, high) in zip(table, bounds):
        x = table[name].to_numpy()
        quartiles = [float(prepriv.quantiles(x, [q], low, high, epsilon=each)[q]) for q in (0.25, 0.5, 0.75)]
        one_more = {
            "adjacency": "add-or-remove-one",
            "n": len(x),
        }  # what the noise of their histogram is made for
        counts = prepriv.histogram(x, low, high, epsilon=each, bins=20, **one_more).counts
        found.append(
            [float(prepriv.mean(x, low, high, epsilon=each)), np.nan, *quartiles, *map(float, counts)]
        )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--peer", required=True)
    parser.add_argument("--adult", type=Path)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--single", action="store_true", help="ours by single questions, one an answer")
    arguments = parser.parse_args()
    data = columns(arguments.adult)
    table = pd.DataFrame({name: x for name, (x, _, _) in data.items()})
    bounds = [(low, high) for _, low, high in data.values()]
    domain = prepriv.Domain({c: prepriv.Numeric(*b) for c, b in zip(table, bounds)}, [0, 1], n=len(table))
    exact = np.array([answers(*column) for column in data.values()])
    asked = (
        (lambda: single(table, bounds, arguments.epsilon))
        if arguments.single
        else (lambda: ours(table, domain, arguments.epsilon))
    )
    mine = np.array([asked() for _ in range(arguments.runs)])
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "peer.py").write_text(PEER, encoding="utf-8")
        said = {"epsilon": arguments.epsilon, "runs": arguments.runs, "bounds": bounds}
        (Path(folder) / "d.json").write_text(json.dumps(said), encoding="utf-8")
        np.save(Path(folder) / "x.npy", table.to_numpy())
        command = [arguments.peer, f"{folder}/peer.py", f"{folder}/d.json", f"{folder}/x.npy"]
        theirs = np.array(
            json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        )
    width = np.array([high - low for low, high in bounds])
    print(
        f"ε = {arguments.epsilon:g} for everything, n = {len(table)}, {arguments.runs} runs; prepriv / diffprivlib"
    )
    print(f"{'column':16}{'mean':>20}{'deviation':>20}{'quartiles':>20}{'histogram':>20}")
    lower = 0
    for j, name in enumerate(table):
        cells = []
        for part, scale in (
            (slice(0, 1), width[j]),
            (slice(1, 2), width[j]),
            (slice(2, 5), width[j]),
            (slice(5, None), len(table)),
        ):
            off = [(a[:, j, part] - exact[j, part]) / scale for a in (mine, theirs)]
            pair = [np.abs(o).mean() if part.start == 5 else np.sqrt((o**2).mean()) for o in off]
            lower += bool(pair[0] <= pair[1])
            cells.append(f"{pair[0]:.5f} / {pair[1]:.5f}")
        print(f"{name:16}" + "".join(f"{cell:>20}" for cell in cells))
    print(f"lower or equal in {lower} of {4 * len(table.columns)}")


if __name__ == "__main__":
    main()
