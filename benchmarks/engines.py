"""A Dask cluster beside threads: what a pass costs, how it scales, what a large table would take. `python benchmarks/engines.py`.

Workers are processes of this machine. The model has three numbers, all measured here: cells that a core adds up in a second, cells
that it reads and encodes in a second, and what a pass costs beyond that, by number of workers.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import dask
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from distributed import Client, LocalCluster

from prepriv import Domain
from prepriv.engines import Dask, Threads
from prepriv.engines.dask_start import CLOSED
from prepriv.exact.grid import IntegerGrid
from prepriv.learners.gradient_descent import GradientDescent
from prepriv.learners.losses import Logistic
from prepriv.placed.rows import Mapped
from prepriv.plans.plan import make_plan
from prepriv.runs.run import Labelled
from prepriv.tables.encoding import encode


@contextmanager
def cluster(workers: int, processes: bool = True):
    """Workers of one thread each."""
    with (
        dask.config.set(CLOSED),
        LocalCluster(
            workers, threads_per_worker=1, processes=processes, dashboard_address="127.0.0.1:0"
        ) as local,
        Client(local, set_as_default=False) as client,
    ):
        yield Dask(client)


def held(engine, n: int, d: int):
    """n made-up rows of d features, as an engine holds them."""
    block = np.random.default_rng(1).standard_normal((4096, d))
    block *= 5 / np.linalg.norm(block, axis=1, keepdims=True)
    blocks = [(block[: min(256, n - at)], np.arange(min(256, n - at)) % 2, at) for at in range(0, n, 256)]
    return engine.room(IntegerGrid.of(5.1, 1.0, n, fine=False), n, d).load(blocks, n, 1.0)


def pass_seconds(rows, repeat: int, rank: float = 50) -> float:
    """The median of some passes, or another percentile."""
    weights, took = np.full((rows.shape[1], 1), 0.01), []
    with rows.gradient_sum(Logistic()) as total:
        for _ in range(repeat + 2):
            start = time.perf_counter()
            total(weights)
            took.append(time.perf_counter() - start)
    return float(np.percentile(took[2:], rank))


def load_seconds(engine, folder: Path, d: int) -> float:
    """Parquet files to integers, on the workers that read them."""
    domain = Domain.box(-4, 4, d, [0, 1])
    table = encode(folder, domain)
    plan = make_plan(domain, [], GradientDescent(Logistic()), epsilon=1.0, delta=1e-6, n=table.n)
    room = engine.room(plan.learner.grid(plan.space.radius, table.n, plan.incoming), table.n, d)
    took = []
    for _ in range(2):  # the first one imports
        start = time.perf_counter()
        rows = room.load(Labelled(Mapped(table, (), np.zeros(table.n, np.int32))), table.n, 1.0)
        pass_seconds(rows, 1)
        took.append(time.perf_counter() - start)
    return took[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--features", type=int, default=100)
    parser.add_argument("--repeat", type=int, default=30)
    parser.add_argument(
        "--large", type=float, nargs=3, default=[1e9, 500, 50], help="rows, features, workers"
    )
    options = parser.parse_args()
    n, d = options.rows, options.features
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores", flush=True)

    alone = pass_seconds(held(Threads(1), 500, 10), options.repeat)
    overhead = {}
    for workers in (1, 2, 4, 8, 16):
        with cluster(workers, processes=False) as engine:
            overhead[workers] = pass_seconds(held(engine, 256 * workers, 10), options.repeat) - alone
    slope, base = np.polyfit(list(overhead), list(overhead.values()), 1)
    slope, base = max(slope, 0.0), max(base, *overhead.values()) if slope < 0 else base
    print(
        "overhead of a pass, ms, workers that are threads: "
        + ", ".join(f"{k}: {1e3 * v:.1f}" for k, v in overhead.items())
    )
    with tempfile.TemporaryDirectory() as made:
        x = np.random.default_rng(1).uniform(-4, 4, (10_000, d))
        part = pa.table({f"x{j}": x[:, j] for j in range(d)} | {"y": np.arange(len(x)) % 2})
        for k in range(max(2, n // len(x) // 2)):
            pq.write_table(part, f"{made}/{k:03}.parquet")
        read = len(list(Path(made).iterdir())) * len(x)
        one = pass_seconds(held(Threads(1), n, d), options.repeat)
        print(f"{n} x {d}, one thread of this process: {1e3 * one:.0f} ms a pass", flush=True)
        for workers in (1, 2):
            with cluster(workers) as engine:
                tiny = held(engine, 256 * workers, 10)
                small, best = (pass_seconds(tiny, 3 * options.repeat, rank) - alone for rank in (50, 10))
                strong, weak = (
                    pass_seconds(held(engine, rows, d), options.repeat) for rows in (n, n // 2 * workers)
                )
                loaded = load_seconds(engine, Path(made), d)
            print(
                f"{workers} workers: overhead {1e3 * small:.1f} ms (fastest tenth {1e3 * best:.1f}); a pass over {n} rows {1e3 * strong:.0f} ms, over "
                f"{n // 2} rows a worker {1e3 * weak:.0f} ms; {read} rows read and encoded in {loaded:.1f} s",
                flush=True,
            )
    added, encoded = n * (d + 1) / one, read * d / loaded / 2  # the last one, of two workers
    rows, features, workers = options.large
    cells = rows * (features + 1)
    sent, cost = 2 * 8 * (features + 1) * workers, base + slope * workers
    print(
        f"model: {added:.2e} cells added up and {encoded:.2e} read and encoded a second and core, {1e3 * base:.1f} + "
        f"{1e3 * slope:.2f} ms x workers a pass\n"
        f"{rows:.0e} x {features:.0f} on {workers:.0f} workers of one core: {sent / 1e6:.2f} MB and "
        f"{cells / added / workers + cost:.0f} s a pass ({1e3 * cost:.0f} ms of it overhead), {cells / encoded / workers / 60:.0f} "
        f"minutes to read once, {cells * 2 / workers / 1e9:.0f} GB a worker, labels {4 * rows / 1e9:.0f} GB here"
    )


if __name__ == "__main__":
    main()
