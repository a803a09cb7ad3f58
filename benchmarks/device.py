"""A pass on a device of torch beside threads, and whether both have the same bits: `python benchmarks/device.py --device cuda`."""

from __future__ import annotations

import argparse
import statistics
import time

import numpy as np

from prepriv.engines import Threads, Torch
from prepriv.exact.grid import IntegerGrid
from prepriv.learners.losses import Softmax

CLASSES, REPEATS = 10, 9


def measured(engine, grid, x, y, weights) -> tuple[np.ndarray, float]:
    """(the sum of gradients, the median of the milliseconds of a pass)."""
    blocks = ((x[at : at + 4096], y[at : at + 4096], at) for at in range(0, len(x), 4096))
    rows = engine.room(grid, *x.shape).load(blocks, len(x), 1.0)
    times = []
    with rows.gradient_sum(Softmax()) as gradient_sum:
        total = gradient_sum(weights)
        for _ in range(REPEATS):
            start = time.perf_counter()
            gradient_sum(weights)
            times.append(1e3 * (time.perf_counter() - start))
    return total, statistics.median(times)


def main() -> None:
    """Print one line for each size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--sizes", nargs="+", default=["60000x784", "200000x1024"], help="rows x columns")
    arguments = parser.parse_args()
    rng = np.random.default_rng(0)
    for size in arguments.sizes:
        n, d = map(int, size.split("x"))
        x, y = 0.1 * rng.standard_normal((n, d)), rng.integers(0, CLASSES, n)
        weights, grid = 0.01 * rng.standard_normal((d + 1, CLASSES)), IntegerGrid.of(5.0, 0.7, n, fine=False)
        engines = (Threads(2), Torch(arguments.device))
        (here, slow), (there, fast) = (measured(e, grid, x, y, weights) for e in engines)
        same = "the same bits" if (here == there).all() else "OTHER BITS"
        print(f"{n} x {d} x {CLASSES}: two threads {slow:.1f} ms, {arguments.device} {fast:.1f} ms; {same}")


if __name__ == "__main__":
    main()
