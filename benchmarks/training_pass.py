"""Time of one pass over 60000 x 784 x 10, ours and Opacus', on this machine in this run.

    make bench            (installs the extra "benchmarks": torch and opacus)

Ours: one exact integer clipped gradient sum over all rows (full batch). Opacus: one epoch in each of its modes,
batches of 4096, the same linear model. Two limits beside them: reading the matrix once, and one float32 pass
of the two matrix products alone. Medians of interleaved repetitions; quote the ratios, machines are noisy.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable

import numpy as np

from prepriv.learners.gradient_sum import GradientSum, Grid, QuantizedRows
from prepriv.learners.losses import Softmax
from prepriv.mechanisms.lattice import poisson_threshold
from prepriv.mechanisms.noise import NoiseSource

N, D, K = 60_000, 784, 10


def ours(x: np.ndarray, y: np.ndarray, *, fine: bool) -> Callable[[], object]:
    """One exact gradient sum."""
    rows = QuantizedRows(Grid.of(math.hypot(5.0, 1.0), 1.0, N, fine=fine), N, D, 1.0)
    for start in range(0, N, 1000):
        rows.fill(start, x[start : start + 1000].astype(np.float64), y[start : start + 1000])
    weights = np.random.default_rng(1).standard_normal((D + 1, K)) * 0.1

    def once() -> object:
        with GradientSum(rows, Softmax()) as gradient:  # its limit on BLAS threads must not touch the peers
            return gradient(weights)

    return once


def poisson(x: np.ndarray, y: np.ndarray) -> Callable[[], object]:
    """One epoch of Poisson batches of 4096: as many exact sums over drawn rows as Opacus takes steps."""
    rows = QuantizedRows(Grid.of(math.hypot(5.0, 1.0), 1.0, N, fine=False), N, D, 1.0)
    for start in range(0, N, 1000):
        rows.fill(start, x[start : start + 1000].astype(np.float64), y[start : start + 1000])
    weights = np.random.default_rng(1).standard_normal((D + 1, K)) * 0.1
    source, threshold = NoiseSource(), poisson_threshold(4096 / N)

    def epoch() -> None:
        with GradientSum(rows, Softmax()) as gradient:
            for _ in range(math.ceil(N / 4096)):
                gradient(weights, np.flatnonzero(source.bernoulli_mask(threshold, N)))

    return epoch


def float32_products(x: np.ndarray) -> Callable[[], object]:
    """The two thin products in float32, nothing else: what the memory and the matrix unit allow."""
    w = np.ones((D, K), np.float32)

    def once() -> None:
        for start in range(0, N, 2048):
            block = x[start : start + 2048]
            block.T @ (block @ w)

    return once


def opacus(x: np.ndarray, y: np.ndarray, mode: str) -> Callable[[], object]:
    """One epoch of DP-SGD with Opacus; mode: hooks, functorch or ghost."""
    import torch
    from opacus import PrivacyEngine

    data = torch.utils.data.TensorDataset(torch.from_numpy(x), torch.from_numpy(y.astype(np.int64)))
    loader = torch.utils.data.DataLoader(data, batch_size=4096)
    model = torch.nn.Linear(D, K)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    criterion = torch.nn.CrossEntropyLoss()
    options = {"module": model, "optimizer": optimizer, "data_loader": loader, "noise_multiplier": 1.0}
    made = PrivacyEngine().make_private(
        **options, max_grad_norm=1.0, grad_sample_mode=mode, poisson_sampling=True, criterion=criterion
    )
    model, optimizer = made[0], made[1]
    if len(made) == 4:
        criterion, loader = made[2], made[3]
    else:
        loader = made[2]

    def epoch() -> None:
        for a, b in loader:
            optimizer.zero_grad()
            criterion(model(a), b).backward()
            optimizer.step()

    return epoch


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=5)
    repeat = parser.parse_args().repeat
    rng = np.random.default_rng(0)
    x = rng.standard_normal((N, D), dtype=np.float32)
    x *= 5 / np.linalg.norm(x, axis=1, keepdims=True)
    y = rng.integers(0, K, N)
    runs: dict[str, Callable[[], object]] = {
        "prepriv, exact, int16 rows": ours(x, y, fine=False),
        "prepriv, exact, 23-bit rows": ours(x, y, fine=True),
        "prepriv, exact, Poisson batches of 4096": poisson(x, y),
        "limit: two float32 products": float32_products(x),
        "limit: read the matrix once": lambda: x.sum(),
    }
    try:
        runs |= {f"opacus, {mode}": opacus(x, y, mode) for mode in ("hooks", "functorch", "ghost")}
    except ImportError:
        print("opacus is not installed: pip install torch opacus")
    times: dict[str, list[float]] = {name: [] for name in runs}
    for turn in range(repeat + 1):
        for name, once in runs.items():
            start = time.perf_counter()
            once()
            if turn:
                times[name].append(time.perf_counter() - start)
    median = {name: float(np.median(t)) for name, t in times.items()}
    peers = [t for name, t in median.items() if name.startswith("opacus")]
    fastest = min(peers) if peers else math.nan
    print(f"\n| one pass over {N} x {D} x {K} | seconds (median of {repeat}) | of Opacus' fastest mode |")
    print("|---|---|---|")
    for name, seconds in median.items():
        print(f"| {name} | {seconds:.4f} | {seconds / fastest:.3f} |")


if __name__ == "__main__":
    main()
