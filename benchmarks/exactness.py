"""What exactness costs: whole training with integer sums and lattice noise, beside float32 sums and numpy noise.

    python benchmarks/exactness.py            60,000 x 784, 10 classes, 20 full-batch steps

Both train the same model: rows of norm at most 5, softmax, gradients clipped to norm 1 record by record, Gaussian
noise on the sum, momentum. The float path is what numpy does best: one pass over blocks in float32, no per-record
gradient stored, PCG64 noise. Medians of interleaved repetitions on this machine; quote the ratio.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from prepriv.exact.gradient_sum import QuantizedRows
from prepriv.learners.gradient_descent import GradientDescent
from prepriv.learners.learner import Run, Setting
from prepriv.learners.losses import Softmax
from prepriv.mechanisms.session import NoisySession
from prepriv.preprocessing.base import UNTOUCHED

BLOCK = 512  # rows that the float path takes at a time
CLIP, RADIUS, MULTIPLIER, RATE, MOMENTUM = 1.0, 5.0, 4.0, 1.0, 0.9
Array = np.ndarray[Any, np.dtype[Any]]


def exact(x: Array, y: Array, k: int, steps: int, threads: int) -> Callable[[], object]:
    """The library's path, quantisation of the rows included."""
    n, d = x.shape
    learner = GradientDescent(Softmax(), steps=steps, learning_rate=RATE, momentum=MOMENTUM, clip_norm=CLIP)
    setting = Setting(RADIUS, d, k, n, "add-or-remove-one")

    def train() -> object:
        rows = QuantizedRows(learner.grid(RADIUS, n, UNTOUCHED), n, d, learner.bias, threads=threads)
        for start in range(0, n, 256):
            rows.fill(start, x[start : start + 256].astype(np.float64), y[start : start + 256])
        return learner.train(rows, setting, Run(NoisySession(), MULTIPLIER))

    return train


def plain(x: Array, y: Array, k: int, steps: int, threads: int) -> Callable[[], object]:
    """float32 sums and numpy's noise: fast, and private on paper only."""
    n, d = x.shape
    generator = np.random.default_rng()

    def block(start: int, rows: Array, norms: Array, w: Array) -> Array:
        part = rows[start : start + BLOCK]
        scores = part @ w
        scores -= scores.max(axis=1, keepdims=True)
        np.exp(scores, out=scores)
        scores /= scores.sum(axis=1, keepdims=True)
        scores[np.arange(len(part)), y[start : start + BLOCK]] -= 1
        size = np.sqrt(np.einsum("ij,ij->i", scores, scores)) * norms[start : start + BLOCK]
        scores *= np.minimum(1, CLIP / np.maximum(size, 1e-20))[:, None]
        return part.T @ scores

    def train() -> object:
        rows = np.ones((n, d + 1), np.float32)
        rows[:, :-1] = x
        norms = np.sqrt(np.einsum("ij,ij->i", rows, rows))
        w = np.zeros((d + 1, k), np.float32)
        velocity, average = np.zeros_like(w), np.zeros_like(w)
        with threadpool_limits(limits=1, user_api="blas"), ThreadPoolExecutor(threads) as pool:
            for step in range(steps):
                ahead = w + np.float32(MOMENTUM) * velocity
                parts = pool.map(lambda s, at=ahead: block(s, rows, norms, at), range(0, n, BLOCK))
                total = np.zeros_like(w)
                for part in parts:
                    total += part
                total += generator.normal(size=w.shape, scale=MULTIPLIER * CLIP)
                new = ahead - np.float32(RATE / n) * total
                velocity, w = new - w, new
                if 2 * step >= steps:
                    average += w
        return average

    return train


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--rows", type=int, default=60_000)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    rng = np.random.default_rng(0)
    print(
        f"{arguments.rows} rows, {arguments.steps} steps, {arguments.threads} threads, medians of {arguments.repeat}\n"
    )
    print("| features x classes | exact sums, lattice noise | float32 sums, numpy noise | ratio |")
    print("|---|---|---|---|")
    for d, k in ((784, 10), (100, 10), (100, 2)):
        x = rng.standard_normal((arguments.rows, d), dtype=np.float32)
        x *= (
            RADIUS
            / np.linalg.norm(x, axis=1, keepdims=True)
            * rng.random((arguments.rows, 1), dtype=np.float32)
        )
        y = rng.integers(0, k, arguments.rows)
        runs = [make(x, y, k, arguments.steps, arguments.threads) for make in (exact, plain)]
        times: list[list[float]] = [[], []]
        for turn in range(arguments.repeat + 1):
            for i, run in enumerate(runs):
                start = time.perf_counter()
                run()
                if turn:
                    times[i].append(time.perf_counter() - start)
        ours, theirs = (float(np.median(t)) for t in times)
        print(f"| {d} x {k} | {ours:.3f} s | {theirs:.3f} s | {ours / theirs:.2f} |", flush=True)


if __name__ == "__main__":
    main()
