"""Cost of one exact gradient pass against rows and columns: seconds, nanoseconds a cell, lines. Writes scaling.png.

python benchmarks/scaling.py [--out DIR] [--largest 1000000]
"""

from __future__ import annotations

import argparse
import math
import time
from pathlib import Path

import numpy as np

from prepriv.exact.gradient_sum import GradientSum, QuantizedRows
from prepriv.exact.grid import IntegerGrid
from prepriv.learners.losses import Softmax

K = 10


def seconds(n: int, d: int, repeat: int = 5) -> float:
    """Least processor time of one pass over n x d: what others do on the machine adds to it, never takes away."""
    rng = np.random.default_rng(0)
    rows = QuantizedRows(IntegerGrid.of(math.hypot(5.0, 1.0), 1.0, n, fine=False), n, d, 1.0)
    for start in range(0, n, 1000):
        x = rng.random((min(1000, n - start), d), dtype=np.float32)
        rows.fill(start, x * np.float32(5 / math.sqrt(d)), np.arange(start, start + len(x)) % K)
    weights = rng.standard_normal((d + 1, K)) * 0.1
    times = []
    with GradientSum(rows, Softmax()) as gradient:
        gradient(weights)
        for _ in range(repeat):
            start_time = time.process_time()
            gradient(weights)
            times.append(time.process_time() - start_time)
    return min(times)


def fit(sizes: list[int], times: list[float], name: str) -> str:
    """The line a + b size through the times, each weighted by its inverse, and the largest distance from it."""
    x, y = np.array(sizes, float), np.array(times)
    b, a = np.polyfit(x, y, 1, w=1 / y)
    off = float(np.abs((a + b * x) / y - 1).max())
    return f"{name}: {1e3 * a:.3f} ms + {1e9 * b:.2f} ns a {name[:-1]}, all points within {100 * off:.0f} %"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("."))
    parser.add_argument("--largest", type=int, default=10**6, help="largest number of rows")
    options = parser.parse_args()
    by_rows = [(n, 100) for n in (10**3, 3000, 10**4, 30_000, 10**5, 300_000, 10**6) if n <= options.largest]
    by_columns = [(20_000, d) for d in (10, 30, 100, 300, 1000, 3000, 10_000)]
    table = {}
    print("| rows | columns | processor seconds a pass | ns a cell |")
    print("|---|---|---|---|")
    for n, d in [*by_rows, *by_columns]:
        table[n, d] = seconds(n, d)
        print(f"| {n:,} | {d:,} | {table[n, d]:.4f} | {1e9 * table[n, d] / (n * d):.2f} |", flush=True)
    for cases, at, name in ((by_rows, 0, "rows"), (by_columns, 1, "columns")):
        print(fit([case[at] for case in cases], [table[case] for case in cases], name))
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.6), layout="constrained")
    for axes, cases, at, label in zip(
        figure.subplots(1, 2), (by_rows, by_columns), (0, 1), ("rows (100 columns)", "columns (20,000 rows)")
    ):
        x = [case[at] for case in cases]
        y = [table[case] for case in cases]
        axes.loglog(x, y, "o-", label="measured")
        axes.loglog(x, [y[-1] * v / x[-1] for v in x], "--", color="#888", label="linear")
        axes.set(xlabel=label, ylabel="processor seconds a pass")
        axes.legend(frameon=False)
    options.out.mkdir(parents=True, exist_ok=True)
    figure.savefig(options.out / "scaling.png", dpi=120)


if __name__ == "__main__":
    main()
