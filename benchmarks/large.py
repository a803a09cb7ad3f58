"""Tables larger than memory: peak memory, and what a pass over rows on disk costs. `python benchmarks/large.py`.

A made-up table of 50 numeric columns is written as Parquet, part by part, and trained on by `prepriv train --memory`; with
--duckdb it is the table of a database, which a query reads.
The memory of the run is sampled from outside: RssAnon, which the page cache of a mapped file is no part of.
"""

from __future__ import annotations

import argparse
import mmap
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from scipy.linalg import hadamard

from prepriv.engines import Threads
from prepriv.exact.gradient_sum import QuantizedRows
from prepriv.exact.grid import IntegerGrid
from prepriv.learners.losses import Logistic
from prepriv.preprocessing.random_features import AddRandomFeatures
from prepriv.release.model import Model

COLUMNS, PART = 50, 10**5


def schema(columns: int, steps: str) -> str:
    declared = "\n".join(f"  c{j}: {{type: numeric, low: -4, high: 4}}" for j in range(columns))
    return f"label: {{name: y, classes: [0, 1]}}\ncolumns:\n{declared}\nsteps: {steps}\n"


def truth(x: np.ndarray) -> np.ndarray:
    """Not linear: a product, a bend and a distance, with 5 % of the labels turned."""
    return x[:, 0] * x[:, 1] + np.abs(x[:, 2]) - 0.8 + 0.5 * x[:, 3] + 0.3 * x[:, 4:8].sum(axis=1) > 0


def part(seed: int, rows: int, columns: int = COLUMNS) -> tuple[np.ndarray, np.ndarray]:
    """Rows and labels, the same for a seed whatever n is."""
    rng = np.random.default_rng([2026, seed])
    x = rng.standard_normal((rows, columns))
    return x, (truth(x) ^ (rng.random(rows) < 0.05)).astype(np.int64)


def write(path: Path, n: int, columns: int) -> None:
    """The first n rows of the table."""
    writer = None
    for seed, start in enumerate(range(0, n, PART)):
        x, y = part(seed, PART, columns)
        x, y = x[: n - start], y[: n - start]
        table = pa.table({f"c{j}": x[:, j] for j in range(columns)} | {"y": y})
        writer = writer or pq.ParquetWriter(path, table.schema, compression="none")
        writer.write_table(table)
    assert writer is not None
    writer.close()


def into_duckdb(table: Path, database: Path) -> Path:
    """The same table in a database; gives the file of the query that reads it."""
    import duckdb

    with duckdb.connect(str(database)) as opened:
        opened.execute(f"CREATE TABLE people AS FROM '{table}'")
    query = database.with_suffix(".sql")
    query.write_text("SELECT * FROM people", encoding="utf-8")
    return query


def watched(command: list[str]) -> tuple[float, float]:
    """(seconds, peak RssAnon in bytes) of a command. RuntimeError if it fails."""
    start, peak = time.perf_counter(), 0
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as run:
        while run.poll() is None:
            try:
                lines = Path(f"/proc/{run.pid}/status").read_text(encoding="ascii").splitlines()
                peak = max(
                    peak, *(int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon"))
                )
            except (OSError, TypeError):
                break
            time.sleep(0.02)
        output = run.communicate()[0]
    if run.returncode:
        raise RuntimeError(output)
    return time.perf_counter() - start, peak


def passes(n: int, d: int, memory: str, repeat: int, threads: int | None) -> float:
    """Median seconds of a gradient pass over n rows of d features that live where `memory` allows."""
    room = Threads(threads, memory).room(IntegerGrid.of(5.1, 1.0, n, fine=False), n, d)
    block = np.random.default_rng(1).standard_normal((4096, d))
    block *= 5 / np.linalg.norm(block, axis=1, keepdims=True)
    targets = np.arange(4096) % 2
    rows = room.load(((block[: n - at], targets[: n - at], at) for at in range(0, n, 4096)), n, 1.0)
    weights, took = np.full((d + 1, 1), 0.01), []
    with rows.gradient_sum(Logistic()) as total:
        for _ in range(repeat + 1):
            start = time.perf_counter()
            total(weights)
            took.append(time.perf_counter() - start)
    return float(np.median(took[1:]))


def batch_reads(n: int, d: int) -> None:
    """What a sixteenth of the rows reads of a file that no cache holds: bytes from the disk, seconds. Linux alone."""

    def read() -> int:
        lines = Path("/proc/self/io").read_text().splitlines()
        return int(next(s for s in lines if s.startswith("read_bytes")).split()[1])

    room = Threads(memory=1).room(IntegerGrid.of(5.1, 1.0, n, fine=False), n, d)
    rows = room.load((), n, 1.0)
    for start in range(0, n, 4096):
        rows.x[start : start + 4096] = start % 1000
    rows.norms[:] = 2**14
    index = np.flatnonzero(np.random.default_rng(1).random(n) < 1 / 16)
    weights, file = np.full((d + 1, 1), 1e-3), room.file._file
    os.fsync(file)
    print(
        f"{n} x {d}: a file of {room.file.size / 1e6:.0f} MB, a batch of {rows.x[index].nbytes / 1e6:.0f} MB"
    )
    for name, batch, ahead in (
        ("all rows", None, None),
        ("a batch, page by page", index, None),
        ("a batch, asked for ahead", index, room.file.reader_ahead(rows.x)),
    ):
        rows.soon = ahead
        room.file._bytes.madvise(mmap.MADV_DONTNEED)
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        with rows.gradient_sum(Logistic()) as total:
            before, start, used = read(), time.perf_counter(), time.process_time()
            total(weights, batch)
            took, used = time.perf_counter() - start, time.process_time() - used
            print(f"{name}: {(read() - before) / 1e6:.0f} MB, {took:.2f} s, {used:.2f} s of the processor")


def score(model: Path, columns: int, rows: int = 50_000) -> float:
    """Accuracy on rows that no table holds."""
    x, y = part(10**6, rows, columns)
    return float((Model.load(model).predict(x) == y).mean())


def made_again(n: int, m: int) -> None:
    """Microseconds a row and pass, of one core: random features held as integers, or made again for each pass."""
    signs = np.sign(np.random.default_rng(0).standard_normal((COLUMNS, m))).astype(np.float32)
    walsh, flips = (
        hadamard(64).astype(np.float32),
        np.sign(np.random.default_rng(1).standard_normal((m // 64, 64))),
    )
    x = part(0, n)[0].astype(np.float32)
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    step = AddRandomFeatures(m, 1.0, 5.0)

    def structured(block: np.ndarray) -> np.ndarray:
        padded = np.zeros((len(block), m // 64, 64), np.float32)
        padded[:, :, :COLUMNS] = block[:, None, :]
        padded *= flips.astype(np.float32)
        return (padded.reshape(-1, 64) @ walsh).reshape(len(block), m)

    def cut(z: np.ndarray) -> np.ndarray:
        np.abs(z, out=z)
        z -= z.dtype.type(0.8)
        z *= z.dtype.type(3000)
        return np.trunc(z, out=z)

    def room(rows: int):
        return QuantizedRows(IntegerGrid.of(5.1, 1.0, n, fine=False), rows, COLUMNS + m, 1.0, threads=1)

    def again(block: np.ndarray) -> None:
        room(len(block)).fill(0, step.transform(block.astype(np.float64)), np.zeros(len(block), int))

    held, weights = room(n), np.full((COLUMNS + m + 1, 1), 0.01)
    held.fill(0, step.transform(x.astype(np.float64)), np.arange(n) % 2)
    ways = {
        "dense signs, product and cut alone": lambda block: cut(block @ signs),
        "structured signs (Hadamard), product and cut alone": lambda block: cut(structured(block)),
        "as training makes them": again,
    }
    with held.gradient_sum(Logistic()) as total:
        took = {"held: a whole pass": least(lambda: total(weights))}
    for name, way in ways.items():
        took[f"made again, {name}"] = least(
            lambda way=way: [way(x[at : at + 512]) for at in range(0, n, 512)]
        )
    for name, seconds in took.items():
        print(f"{name}: {1e6 * seconds / n:.1f}", flush=True)


def least(work: Callable[[], object], repeat: int = 5) -> float:
    """Processor seconds, of the fastest run but the first."""
    took = []
    for _ in range(repeat + 1):
        start = time.process_time()
        work()
        took.append(time.process_time() - start)
    return min(took[1:])


def with_features(n: int, m: int, epsilon: float, columns: int) -> float:
    """Accuracy of the recipe with m random features on n rows in memory."""
    from prepriv import Domain, PrivateClassifier
    from prepriv.preprocessing import Normalize, RandomFeatures
    from prepriv.recipes.automatic import auto_steps

    domain = Domain.box(-4, 4, columns, [0, 1])
    *steps, scale = auto_steps(domain, n=n, epsilon=epsilon, delta=1e-6, linear=True)
    steps += [RandomFeatures(m), Normalize(1.0)] if m else []
    parts = [part(seed, PART, columns) for seed in range(-(-n // PART))]
    x, y = (np.concatenate(each)[:n] for each in zip(*parts))
    test, labels = part(10**6, 50_000, columns)
    return float(
        PrivateClassifier(domain, epsilon=epsilon, delta=1e-6, steps=[*steps, scale])
        .fit(x, y)
        .score(test, labels)
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[2 * 10**6, 10**7])
    parser.add_argument("--columns", type=int, default=COLUMNS)
    parser.add_argument("--memory", default="300MB")
    parser.add_argument("--steps", default="auto", help="auto, or linear: without random features")
    parser.add_argument("--epsilon", default="1")
    parser.add_argument(
        "--folder", type=Path, default=None, help="where the tables go (default: a temporary one)"
    )
    parser.add_argument(
        "--passes", type=int, default=0, help="also: seconds of so many passes in memory and on disk"
    )
    parser.add_argument(
        "--features", type=int, nargs="+", help="instead: accuracy in memory with so many random features"
    )
    parser.add_argument("--threads", type=int, default=None)
    parser.add_argument("--batch-reads", action="store_true", help="only what a batch reads of a cold file")
    parser.add_argument(
        "--again", type=int, help="instead: so many random features held, or made again for each pass"
    )
    parser.add_argument(
        "--duckdb", action="store_true", help="train on a query to DuckDB, not on a Parquet file"
    )
    options = parser.parse_args()
    if options.again:
        made_again(20_000, options.again)
        return
    folder = options.folder or Path(tempfile.mkdtemp(dir="/var/tmp"))
    folder.mkdir(exist_ok=True)
    try:
        for n in options.rows:
            if options.features:
                found = [
                    f"{m}: {100 * with_features(n, m, float(options.epsilon), options.columns):.2f}"
                    for m in options.features
                ]
                print(f"{n} rows, accuracy (%) by random features: " + ", ".join(found), flush=True)
                continue
            if options.batch_reads:
                batch_reads(n, options.columns)
                continue
            if options.passes:
                ram, disk = (
                    passes(n, options.columns + 1, m, options.passes, options.threads) for m in ("1TB", "1KB")
                )
                print(
                    f"{n} x {options.columns + 1}: a pass in memory {ram:.3f} s, on disk {disk:.3f} s: {disk / ram:.2f}",
                    flush=True,
                )
                continue
            table, declared, out = folder / f"{n}.parquet", folder / "S.yaml", folder / f"run{n}"
            if not table.exists():
                write(table, n, options.columns)
            data = [str(table)]
            if options.duckdb:
                database = table.with_suffix(".duckdb")
                query = database.with_suffix(".sql") if database.exists() else into_duckdb(table, database)
                data = [f"duckdb:///{database}", "--query", str(query)]
            declared.write_text(schema(options.columns, options.steps), encoding="utf-8")
            shutil.rmtree(out, ignore_errors=True)
            command = [
                sys.executable,
                "-m",
                "prepriv",
                "train",
                *data,
                "--schema",
                str(declared),
                "--rows",
                str(n),
            ]
            command += ["--epsilon", options.epsilon, "--memory", options.memory, "--out", str(out)]
            seconds, peak = watched(command)
            print(
                f"{n} x {options.columns}: {seconds:.0f} s, peak {peak / 1e6:.0f} MB, accuracy {100 * score(out / 'model', options.columns):.2f} %",
                flush=True,
            )
    finally:
        if options.folder is None:
            shutil.rmtree(folder)


if __name__ == "__main__":
    main()
