"""One candidate of training_pass.py in a process of its own: `python training_peers.py NAME FOLDER`.

Reads x.npy (n, d) float32, y.npy and shape.json from FOLDER; says "ready". For each line on stdin it runs two passes, one
after the other as in training, and prints the seconds of the second, on the clock and of the processor. At the end it
prints the growth of the peak memory in MB since the data was loaded and the libraries imported. Runs under any
interpreter that has the candidate's library.
"""

from __future__ import annotations

import importlib
import json
import math
import os
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

BATCH = 4096
Pass = Callable[[], object]


def ours(x: Any, y: Any, k: int, *, fine: bool, poisson: bool = False) -> Pass:
    """An exact clipped gradient sum over all rows, or over as many Poisson batches as the peers take steps."""
    from prepriv.exact.gradient_sum import GradientSum, QuantizedRows
    from prepriv.exact.grid import IntegerGrid
    from prepriv.learners.losses import Softmax
    from prepriv.mechanisms.lattice_noise import poisson_threshold
    from prepriv.mechanisms.noise import NoiseSource

    n, d = x.shape
    rows = QuantizedRows(IntegerGrid.of(math.hypot(5.0, 1.0), 1.0, n, fine=fine), n, d, 1.0)
    for start in range(0, n, 1000):
        rows.fill(start, x[start : start + 1000].astype(np.float64), y[start : start + 1000])
    weights = np.random.default_rng(1).standard_normal((d + 1, k)) * 0.1
    source, threshold = NoiseSource(), poisson_threshold(min(1.0, BATCH / n))
    threads = int(os.environ.get("OMP_NUM_THREADS", 0)) or None  # as many as the peers get
    gradient = GradientSum(rows, Softmax(), threads=threads).__enter__()

    def epoch() -> None:
        for _ in range(math.ceil(n / BATCH)):
            gradient(weights, np.flatnonzero(source.bernoulli_mask(threshold, n)))

    return epoch if poisson else lambda: gradient(weights)


def float32_products(x: Any, y: Any, k: int) -> Pass:
    """The two thin products in float32, nothing else."""
    w = np.ones((x.shape[1], k), np.float32)

    def once() -> None:
        for start in range(0, len(x), 2048):
            block = x[start : start + 2048]
            block.T @ (block @ w)

    return once


def matrix_peak(x: Any, y: Any, k: int) -> Pass:
    """As many float32 operations as a pass has, at the rate of a large square product."""
    side = 1024
    a = np.ones((side, side), np.float32)
    times = 4 * x.size * k / (2 * side**3)

    def once() -> None:
        for _ in range(max(1, round(times))):
            a @ a

    return once


def opacus(x: Any, y: Any, k: int, *, mode: str) -> Pass:
    """One epoch of DP-SGD with Opacus on Poisson batches of 4096; mode: hooks, functorch or ghost."""
    import torch
    from opacus import PrivacyEngine

    data = torch.utils.data.TensorDataset(torch.from_numpy(x), torch.from_numpy(y.astype(np.int64)))
    loader = torch.utils.data.DataLoader(data, batch_size=BATCH)
    model = torch.nn.Linear(x.shape[1], k)
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


def jax_privacy(x: Any, y: Any, k: int, *, microbatch: int) -> Pass:
    """One epoch of DP-SGD with jax_privacy.clipped_grad on batches of 4096 in order, compiled.

    Without microbatches an epoch takes about a minute of one core: not measured.
    """
    import jax
    import jax.numpy as jnp
    from jax_privacy.clipping import clipped_grad

    n, d = x.shape

    def loss(parameters: Any, a: Any, b: Any) -> Any:
        scores = a @ parameters[0] + parameters[1]
        return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(scores), b[:, None], axis=1))

    gradient = clipped_grad(loss, l2_clip_norm=1.0, batch_argnums=(1, 2), microbatch_size=microbatch)

    @jax.jit
    def step(parameters: Any, a: Any, b: Any, key: Any) -> Any:
        keys = jax.random.split(key, len(parameters))
        clipped = gradient(parameters, a, b)
        return [
            p - 0.1 * (g + jax.random.normal(q, g.shape)) / BATCH
            for p, g, q in zip(parameters, clipped, keys)
        ]

    full = n // BATCH * BATCH or n
    size = min(BATCH, n)
    blocks = [(jnp.asarray(x[i : i + size]), jnp.asarray(y[i : i + size])) for i in range(0, full, size)]
    blocks += [(jnp.asarray(x[-size:]), jnp.asarray(y[-size:]))] if full < n else []

    def epoch() -> None:
        parameters, key = [jnp.zeros((d, k)), jnp.zeros(k)], jax.random.key(0)
        for a, b in blocks:
            key, now = jax.random.split(key)
            parameters = step(parameters, a, b, now)
        jax.block_until_ready(parameters)

    return epoch


def diffprivlib(x: Any, y: Any, k: int) -> Pass:
    """One L-BFGS iteration of each class of its LogisticRegression (output perturbation after convergence)."""
    import warnings

    from diffprivlib.models import LogisticRegression

    warnings.simplefilter("ignore")
    return lambda: LogisticRegression(epsilon=1.0, data_norm=5.0, max_iter=1).fit(x, y)


CANDIDATES: dict[str, Callable[[Any, Any, int], Pass]] = {
    "prepriv, exact, int16 rows": lambda x, y, k: ours(x, y, k, fine=False),
    "prepriv, exact, 23-bit rows": lambda x, y, k: ours(x, y, k, fine=True),
    "prepriv, exact, Poisson batches of 4096": lambda x, y, k: ours(x, y, k, fine=False, poisson=True),
    "opacus, hooks": lambda x, y, k: opacus(x, y, k, mode="hooks"),
    "opacus, functorch": lambda x, y, k: opacus(x, y, k, mode="functorch"),
    "opacus, ghost": lambda x, y, k: opacus(x, y, k, mode="ghost"),
    "jax-privacy, microbatches of 32": lambda x, y, k: jax_privacy(x, y, k, microbatch=32),
    "jax-privacy, microbatches of 256": lambda x, y, k: jax_privacy(x, y, k, microbatch=256),
    "diffprivlib, one L-BFGS iteration": diffprivlib,
    "limit: two float32 products": float32_products,
    "limit: matrix-product peak": matrix_peak,
    "limit: read the matrix once": lambda x, y, k: lambda: x.sum(),
}


LIBRARIES = {
    "prepriv": ("prepriv.exact.gradient_sum",),
    "opacus": ("torch", "opacus"),
    "jax-privacy": ("jax", "jax_privacy.clipping"),
    "diffprivlib": ("diffprivlib.models",),
}


def peak_mb() -> float:
    """The largest memory this process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (
        1 << (20 if sys.platform == "darwin" else 10)
    )


def main() -> None:
    name, folder = sys.argv[1], Path(sys.argv[2])
    x, y = np.load(folder / "x.npy"), np.load(folder / "y.npy")
    for library in LIBRARIES.get(name.partition(",")[0], ()):
        importlib.import_module(library)
    before = peak_mb()
    once = CANDIDATES[name](x, y, json.loads((folder / "shape.json").read_text())["classes"])
    once()  # compiles, allocates
    print("ready", flush=True)
    for _ in sys.stdin:
        once()  # idle cores wake up, caches fill
        start, cpu = time.perf_counter(), time.process_time()
        once()
        print(time.perf_counter() - start, time.process_time() - cpu, flush=True)
    print(peak_mb() - before, flush=True)


if __name__ == "__main__":
    main()
