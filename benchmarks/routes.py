"""Moved rows under Poisson sampling: the routes of `account` on 1,000 settings, beside the truth of an adversary.

    python benchmarks/routes.py [--settings 1000] [--picture docs/img/routes.png]

Each setting draws noise, rate, moved rows, their shift and steps. Before: splitting the noise, or a third data set. Now: the smallest of
all four ways. Below: what one adversary reaches, moved rows in one direction around a common part, by numerical integration of one
batch (`one step`), at eight ε. It must never be above the bound, and the new bound never above the old.
"""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path

import numpy as np
from scipy.stats import binom, norm

from prepriv.guarantees import loss_distribution
from prepriv.guarantees.loss_distribution import compose
from prepriv.learners import accounts
from prepriv.learners.accounts import MovedRows, poisson_parts

loss_distribution.STEPS_PER_DEVIATION = (
    100  # a grid coarser than account's: upper bounds all the same, 1e-5 larger
)
DELTA = 1e-5
EPSILONS = np.array([0.0, 0.02, 0.1, 0.3, 0.7, 1.5, 3.0, 6.0])


def ways(noise: float, rate: float, rows: int, each: float, steps: int):
    """(names, parts, epsilons) of all ways that are taken."""
    seen: list = []
    real = accounts.compose
    accounts.compose = lambda parts: seen.append((parts, real(parts))) or seen[-1][1]
    try:
        poisson_parts(noise, rate, steps, "replace-one", MovedRows(rows, each, rows * each), DELTA)
    finally:
        accounts.compose = real
    names = ("split", "third", "shown", "hidden")[: len(seen)]
    return {name: (parts, epsilon_of(curve)) for name, (parts, curve) in zip(names, seen)}


def epsilon_of(curve) -> float:
    try:
        return float(curve.epsilon(DELTA))
    except ValueError:
        return math.inf


def adversary(noise: float, rate: float, rows: int, each: float) -> np.ndarray:
    """The largest δ of one batch at `EPSILONS` that rows in one direction reach, over five common parts."""
    best = np.zeros(len(EPSILONS))
    most = min(rows, int(binom.isf(1e-14, rows, rate)) + 1)
    weights = binom.pmf(np.arange(most + 1), rows, rate)
    for common in np.linspace(0.0, max(0.0, 1.0 - each / 2), 5):
        at, to = common + each / 2, common - each / 2
        axis = np.linspace(-9 * noise - most * abs(to) - 1, 9 * noise + most * at + 1, 4001)
        law = []
        for record, step in ((1.0, at), (-1.0, to)):
            centres = np.concatenate([np.arange(most + 1) * step, np.arange(most + 1) * step + record])
            mass = np.concatenate([weights * (1 - rate), weights * rate])
            law.append(mass @ norm.pdf(axis[None, :], centres[:, None], noise))
        for p, q in (law, law[::-1]):
            gap = np.maximum(p - np.exp(EPSILONS)[:, None] * q, 0.0).sum(axis=1) * (axis[1] - axis[0])
            best = np.maximum(best, gap)
    return best


def settings(many: int):
    rng = np.random.default_rng(20261122)
    for _ in range(many):
        noise, rate = (
            float(np.exp(rng.uniform(np.log(0.8), np.log(5)))),
            float(np.exp(rng.uniform(np.log(1e-3), np.log(0.1)))),
        )
        rows, each = (
            int(np.exp(rng.uniform(0, np.log(200)))),
            float(np.exp(rng.uniform(np.log(0.01), np.log(2)))),
        )
        steps = int(np.exp(rng.uniform(np.log(20), np.log(2000))))
        yield round(noise, 3), round(rate, 5), rows, round(each, 4), steps


def measured(setting) -> dict:
    """One line of the table; an AssertionError where an adversary beats a bound."""
    found = ways(*setting)
    epsilons = {name: round(epsilon, 4) for name, (_, epsilon) in found.items()}
    below = adversary(*setting[:4])
    ratio, seen = 0.0, below > 1e-9
    for name, (parts, _) in found.items():
        one = [(curve, 1) for curve, _ in parts]
        bound = (one[0][0] if len(one) == 1 else compose(one)).delta(EPSILONS)
        ratio = max(ratio, float((below[seen] / bound[seen]).max(initial=0.0)))
        assert (below <= bound * (1 + 1e-4) + 1e-10).all(), (setting, name)
    return {
        "setting": setting,
        "before": min(epsilons["split"], epsilons["third"]),
        "now": min(epsilons.values()),
        "way": min(epsilons, key=epsilons.get),
        "found": round(ratio, 4),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--settings", type=int, default=1000)
    parser.add_argument("--picture")
    parser.add_argument("--rows", help="a file of lines, kept from a run that was stopped")
    args = parser.parse_args()
    kept = Path(args.rows) if args.rows else None
    done = [json.loads(line) for line in kept.read_text().splitlines()] if kept and kept.exists() else []
    factors = []
    for i, setting in enumerate(settings(args.settings)):
        if i < len(done):
            row = done[i]
        else:
            row = measured(setting)
            if kept:
                with kept.open("a") as file:
                    file.write(json.dumps(row) + "\n")
        assert row["now"] <= row["before"], row
        factors.append((row["before"], row["now"], row["way"], row["found"]))
    before, now = (np.array([f[k] for f in factors]) for k in (0, 1))
    known = np.isfinite(before)  # elsewhere the old ways had no finite grid
    gain = np.ones(len(now))
    gain[known] = before[known] / now[known]
    ways_taken = [f[2] for f in factors]
    print(
        f"{len(factors)} settings: the new bound is above the old in {(now > before).sum()}, below an adversary in 0"
    )
    print("taken:", {name: ways_taken.count(name) for name in ("split", "third", "shown", "hidden")})
    print(
        "gain in ε: median {:.2f}, a tenth above {:.2f}, largest {:.1f}".format(
            *np.quantile(gain, [0.5, 0.9, 1.0])
        )
    )
    print(f"no finite ε before: {(~known).sum()}, of which now one: {(np.isfinite(now) & ~known).sum()}")
    print(f"largest found over bound, of one batch: {max(f[3] for f in factors):.4f}")
    if args.picture:
        draw(before[known], gain[known], [w for w, k in zip(ways_taken, known) if k], args.picture)


def draw(before, gain, ways_taken, path: str) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
    for name in ("split", "third", "shown", "hidden"):
        chosen = np.array([w == name for w in ways_taken])
        axes.scatter(before[chosen], gain[chosen], s=7, alpha=0.6, label=f"{name} ({chosen.sum()})")
    axes.set(xscale="log", yscale="log", xlabel="ε before", ylabel="ε before / ε now")
    axes.legend(title="way taken", frameon=False)
    figure.savefig(path, dpi=130, metadata={"Software": None})


if __name__ == "__main__":
    main()
