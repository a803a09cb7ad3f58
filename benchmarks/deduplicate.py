"""Deduplication of 100,000 x 50 near-duplicates: seconds and peak memory. Targets: 60 s, 2 GB.

Run: python benchmarks/deduplicate.py [rows] [features]
"""

from __future__ import annotations

import resource
import sys
import time

import numpy as np

from prepriv.payment import Sensitivity
from prepriv.preprocessing.deduplicate import Deduplicate
from prepriv.preprocessing.quantize import Quantize
from prepriv.space import Space


def near_duplicates(n: int, d: int, copies: int = 5) -> np.ndarray:
    """Groups of `copies` rows some 0.02 standard deviations apart, scaled into the unit ball."""
    rng = np.random.default_rng(0)
    x = np.repeat(rng.normal(size=(n // copies, d)), copies, axis=0)
    for start in range(0, len(x), 2**16):
        part = x[start : start + 2**16]
        part += rng.normal(size=part.shape) * 0.02 / np.sqrt(d)
    norm = max(float(np.linalg.norm(x[i : i + 2**16], axis=1).max()) for i in range(0, len(x), 2**16))
    x /= norm
    return x


def one_crowd(n: int, d: int) -> np.ndarray:
    """Every row within eta of every other, by far."""
    return np.random.default_rng(1).normal(size=(n, d)) * 1e-3 / np.sqrt(d)


def wide_crowd(n: int, d: int) -> np.ndarray:
    """The worst case: every row within eta of every other, and neither boxes nor the triangle inequality show it."""
    x = np.random.default_rng(1).normal(size=(n, d))
    return x * (0.005 / np.linalg.norm(x, axis=1, keepdims=True))


def main() -> None:
    """Time each step on each shape."""
    n, d = (int(a) for a in (sys.argv[1:3] if len(sys.argv) > 2 else (100_000, 50)))
    space = Space.ball(d, 1.0)
    for shape in (near_duplicates, one_crowd, wide_crowd):
        x = shape(n, d)
        data = x.nbytes / 2**30
        blocks = [x[i : i + 8192] for i in range(0, len(x), 8192)]
        dedup, quantize = Deduplicate(0.01, payment=Sensitivity()), Quantize(0.01, payment=Sensitivity())
        for name, work in (
            ("Deduplicate", dedup.fit_confidential),
            ("Quantize", quantize.fit_confidential),
            ("distance", dedup.distance),
        ):
            start = time.perf_counter()
            work(blocks, space, len(x))
            seconds = time.perf_counter() - start
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
            print(f"{shape.__name__:16s} {n} x {d} {name:12s} {seconds:7.1f} s", end=" ")
            print(f"peak {peak:.2f} GB (data {data:.2f} GB)", flush=True)


if __name__ == "__main__":
    main()
