"""`prepriv.ask` beside diffprivlib, OpenDP and Tumult's method at one total epsilon: sums, means, variances, covariances, means by
group, histograms of categories and a cross-tabulation, of six columns.

    python benchmarks/questions_peers.py [--peer PYTHON-WITH-DIFFPRIVLIB] [--adult PATH/adult.csv.gz] [--epsilon 1] [--runs 60]

32 questions at (epsilon, 1e-6), with the same declared bounds, categories and number of rows; beside each peer those of them that it answers, all together.
Under replace-one, n public:

- diffprivlib: its tools themselves (mean, var, sum); epsilon divided equally among its 18 answers, which are pure and add up by their sum. It
  has no covariance, group or cross-tabulation.
- OpenDP: the closed forms of its noise for data of a known size: zero-concentrated, each question an equal part of rho; rho is the largest
  that the tight conversion allows at (epsilon, 1e-6). Sum: U - L; mean: (U - L) / n; variance and covariance: products of distances (n - 1) / n^2;
  histogram: sqrt 2; means of groups: half for sums (sqrt 2 max(|L|, |U|)), half for counts.

Under add-or-remove-one, where the number of rows is private:

- Tumult's method (Tumult Analytics): rho as above. Sum: max(|L|, |U|); mean: half for the sum around the middle ((U - L) / 2), half for the
  count; variance: a third each for the sum, the sum of squares and the count; groups are disjoint, each at the noise of one. It has no covariance.

Errors are root mean squares over the distance of the bounds (of sums: times n; of variances and covariances: its square or product; of counts over n), of many
groups and cells their mean. Exits 1 if any of ours is above a peer's.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from describe_peers import columns
from scipy.optimize import brentq

import prepriv
from prepriv.description.answers import released_answers
from prepriv.description.ask import unread_table
from prepriv.description.asked import Asked, plan_questions
from prepriv.mechanisms.session import NoisySession

DELTA = 1e-6
JOBS = [f"job {k}" for k in range(8)]
PEER = """
import sys, json, warnings, numpy as np
warnings.filterwarnings("ignore")
from diffprivlib import tools
d = json.load(open(sys.argv[1])); x = np.load(sys.argv[2]); out = []
each = d["epsilon"] / (3 * x.shape[1])
for _ in range(d["runs"]):
    run = []
    for j, (low, high) in enumerate(d["bounds"]):
        c = np.clip(x[:, j], low, high)
        run.append([float(f(c, epsilon=each, bounds=(low, high))) for f in (tools.sum, tools.mean, tools.var)])
    out.append(run)
print(json.dumps(out))
"""


def rho_of(epsilon: float) -> float:
    """The largest rho whose zCDP implies (epsilon, DELTA): Canonne, Kamath and Steinke 2020, Proposition 12."""

    def log_delta(rho: float) -> float:
        alpha = np.exp(np.linspace(math.log(1e-3), math.log(2e3), 4000)) + 1
        value = (alpha - 1) * (alpha * rho - epsilon) + alpha * np.log1p(-1 / alpha) - np.log(alpha - 1)
        return float(value.min())

    return float(brentq(lambda r: log_delta(r) - math.log(DELTA), 1e-8, epsilon))


def questions(names: list[str]) -> list[str]:
    each = [f"{kind}({name})" for name in names for kind in ("sum", "mean", "variance")]
    pairs = [f"covariance({a}, {b})" for a, b in zip(names, names[1:] + names[:1])]
    return [
        *each,
        *pairs,
        *(f"mean({name}) by sex" for name in names),
        "histogram(job)",
        "crosstab(sex, job)",
    ]


def flat(found: object) -> np.ndarray:
    if isinstance(found, dict):
        return np.concatenate([flat(v) for k, v in found.items() if k not in ("other", "missing")])
    return np.array([float(found)])  # type: ignore[arg-type]


def exact(table: pd.DataFrame, q: Asked) -> np.ndarray:
    if q.kind == "crosstab":
        return pd.crosstab(table.sex, table.job).to_numpy().ravel().astype(float)
    if q.kind == "histogram":
        return table.job.value_counts().reindex(JOBS).to_numpy(float)
    if q.kind == "covariance":
        return np.array([np.cov(table[q.columns[0]], table[q.columns[1]], ddof=0)[0, 1]])
    x = table[q.columns[0]]
    if q.by:
        return x.groupby(table.sex).mean().to_numpy()
    return np.array([{"sum": x.sum(), "mean": x.mean(), "variance": x.var(ddof=0)}[q.kind]])


def unit(q: Asked, bounds: dict[str, tuple[float, float]], n: int) -> float:
    width = math.prod(bounds[c][1] - bounds[c][0] for c in q.columns if c in bounds)
    return {"sum": width * n, "mean": width, "variance": width**2, "covariance": width}.get(q.kind, float(n))


def opendp(
    q: Asked, table: pd.DataFrame, bounds: dict, rho: float, rng: np.random.Generator
) -> np.ndarray | None:
    n, true = len(table), exact(table, q)
    z = 1 / math.sqrt(2 * rho)
    if q.kind in ("histogram", "crosstab"):
        return true + rng.normal(0, math.sqrt(2) * z, true.size)
    width = math.prod(bounds[c][1] - bounds[c][0] for c in q.columns)
    if q.by:
        count = table.sex.value_counts().sort_index().to_numpy(float)
        most = max(map(abs, bounds[q.columns[0]]))
        noisy = true * count + rng.normal(0, 2 * most * z, true.size)  # half of rho: sqrt 2 times as much
        return noisy / np.maximum(count + rng.normal(0, 2 * z, true.size), 1.0)
    scale = {"sum": width, "mean": width / n}.get(q.kind)
    if scale is None:
        side = width**2 if q.kind == "variance" else width
        scale = side * (n - 1) / n**2
    return true + rng.normal(0, scale * z, 1)


def tumult(
    q: Asked, table: pd.DataFrame, bounds: dict, rho: float, rng: np.random.Generator
) -> np.ndarray | None:
    n, true = len(table), exact(table, q)
    z = 1 / math.sqrt(2 * rho)
    if q.kind in ("histogram", "crosstab"):
        return true + rng.normal(0, z, true.size)
    if q.kind == "covariance":
        return None
    low, high = bounds[q.columns[0]]
    middle, reach = (low + high) / 2, (high - low) / 2
    if q.kind == "sum":
        return true + rng.normal(0, max(abs(low), abs(high)) * z, 1)
    if q.kind == "mean":
        count = table.sex.value_counts().sort_index().to_numpy(float) if q.by else np.array([float(n)])
        noisy = (true - middle) * count + rng.normal(0, math.sqrt(2) * reach * z, true.size)
        return middle + noisy / np.maximum(count + rng.normal(0, math.sqrt(2) * z, true.size), 1.0)
    u = (np.asarray(table[q.columns[0]]) - middle) / reach
    k = math.sqrt(3) * z
    count = max(n + rng.normal(0, k), 1.0)
    # The squares lie in [0, 1]: around their middle, half as far apart.
    square = ((u * u - 0.5).sum() + rng.normal(0, k / 2)) / count + 0.5
    return np.array([max(square - ((u.sum() + rng.normal(0, k)) / count) ** 2, 0.0) * reach**2])


def errors(found: list[np.ndarray | None], true: np.ndarray, scale: float) -> float:
    if any(f is None for f in found):
        return math.nan
    return float(np.sqrt(np.mean([np.mean((f - true) ** 2) for f in found])) / scale)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--peer")
    parser.add_argument("--adult", type=Path)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--runs", type=int, default=60)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(0)
    data = columns(options.adult)
    bounds = {name: (low, high) for name, (_, low, high) in data.items()}
    table = pd.DataFrame({name: np.clip(x, low, high) for name, (x, low, high) in data.items()})
    n = len(table)
    table["sex"] = rng.choice(["f", "m"], n, p=[0.4, 0.6])
    table["job"] = rng.choice(JOBS, n, p=np.arange(8, 0, -1) / 36)
    declared = {c: prepriv.Numeric(*b) for c, b in bounds.items()}
    declared |= {"sex": prepriv.Categorical(["f", "m"]), "job": prepriv.Categorical(JOBS)}
    asked = [Asked.of(q) for q in questions(list(bounds))]
    rho = rho_of(options.epsilon)
    lists = {
        "OpenDP": asked,
        "diffprivlib": [q for q in asked if q.by is None and q.kind in ("sum", "mean", "variance")],
        "Tumult": [q for q in asked if q.kind != "covariance"],
    }
    theirs = _diffprivlib(options, table, bounds) if options.peer else {}
    print(
        f"ε = {options.epsilon:g}, δ = {DELTA:g}, n = {n}, {options.runs} runs; prepriv / peer, of the questions that it answers"
    )
    above, compared = [], 0
    for peer, listed in lists.items():
        if peer == "diffprivlib" and not theirs:
            continue
        adjacency = "add-or-remove-one" if peer == "Tumult" else "replace-one"
        plan = plan_questions(
            declared, listed, epsilon=options.epsilon, delta=DELTA, n=n, adjacency=adjacency
        )
        rows = unread_table(plan, table).read(0)
        runs = [released_answers(plan, rows, NoisySession()) for _ in range(options.runs)]
        print(f"\n{peer}: {len(listed)} questions, {adjacency}")
        for q in listed:
            true, scale = exact(table, q), unit(q, bounds, n)
            ours = errors([flat(run[str(q)]) for run in runs], true, scale)
            if peer == "diffprivlib":
                other = errors(theirs[str(q)], true, scale)
            else:
                draw = opendp if peer == "OpenDP" else tumult
                many = [draw(q, table, bounds, rho / len(listed), rng) for _ in range(20 * options.runs)]
                other = errors(many, true, scale)
            compared += 1
            above += [f"{q} ({peer}): {ours / other:.2f}"] if ours > other else []
            print(f"{q!s:42} {ours:.6f} / {other:.6f}")
    print(f"\nlower or equal in {compared - len(above)} of {compared}; above: {', '.join(above) or 'none'}")
    return int(bool(above))


def _diffprivlib(
    options: argparse.Namespace, table: pd.DataFrame, bounds: dict
) -> dict[str, list[np.ndarray]]:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "peer.py").write_text(PEER, encoding="utf-8")
        said = {"epsilon": options.epsilon, "runs": options.runs, "bounds": list(bounds.values())}
        (Path(folder) / "d.json").write_text(json.dumps(said), encoding="utf-8")
        np.save(Path(folder) / "x.npy", table[list(bounds)].to_numpy())
        command = [options.peer, f"{folder}/peer.py", f"{folder}/d.json", f"{folder}/x.npy"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = np.array(json.loads(done.stdout))
    kinds = ("sum", "mean", "variance")
    return {
        f"{kind}({name})": [np.array([x]) for x in found[:, j, k]]
        for j, name in enumerate(bounds)
        for k, kind in enumerate(kinds)
    }


if __name__ == "__main__":
    sys.exit(main())
