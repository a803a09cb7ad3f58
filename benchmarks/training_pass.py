"""Time and memory of one pass over 60000 x 784 x 10: ours, its peers', and two limits, on this machine in one run.

    make bench                                            (the extra "benchmarks": torch and opacus)
    python benchmarks/training_pass.py --peer opacus=PYTHON --peer jax-privacy=PYTHON --peer diffprivlib=PYTHON

Each candidate (training_peers.py) runs in a process of its own, under the interpreter named for its library, this one
by default; one that cannot be imported is left out with a line. Ours: one exact integer clipped gradient sum over
all rows. Peers: one epoch of DP-SGD in batches of 4096, the same linear model. Limits: reading the matrix once, and
the same number of float32 operations at the peak of a matrix product. Medians of interleaved repetitions; quote
the ratios, machines are noisy.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import IO, cast

import numpy as np
from training_peers import CANDIDATES

PEERS = ("opacus", "jax-privacy", "diffprivlib")
PAUSE = 0.5  # seconds before a pass: idle threads of the last candidate keep a core busy for a moment


class Candidate:
    """A process that makes one pass whenever it is asked to."""

    def __init__(self, name: str, python: str, folder: Path, threads: int) -> None:
        self.name, self.times = name, list[tuple[float, float]]()
        limits = {v: str(threads) for v in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}
        self.process = subprocess.Popen(
            [python, str(Path(__file__).with_name("training_peers.py")), name, str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **limits},
        )

    @property
    def library(self) -> str:
        return self.name.partition(",")[0]

    def ready(self) -> bool:
        """Wait until it has made its first pass; False, with a line, if it could not."""
        if cast(IO[str], self.process.stdout).readline().strip() == "ready":
            return True
        lines = cast(IO[str], self.process.stderr).read().strip().splitlines()
        print(f"{self.name}: left out ({lines[-1] if lines else 'it ended'})")
        return False

    def once(self) -> tuple[float, float]:
        """Seconds of one pass, on the clock and of the processor."""
        stdin, stdout = cast(IO[str], self.process.stdin), cast(IO[str], self.process.stdout)
        stdin.write("go\n")
        stdin.flush()
        clock, processor = stdout.readline().split()
        return float(clock), float(processor)

    def end(self) -> float:
        """Growth of its peak memory, MB."""
        return float(self.process.communicate()[0])


def measure(
    folder: Path, python: dict[str, str], repeat: int, threads: int
) -> dict[str, tuple[float, float, float]]:
    """(median seconds of a pass on the clock, of the processor, MB) of every candidate that runs."""
    runs = []
    for name in CANDIDATES:
        made = Candidate(name, python.get(name.partition(",")[0], sys.executable), folder, threads)
        if made.ready():  # one after the other: they share the cores
            runs.append(made)
    for _ in range(repeat):
        for run in runs:
            time.sleep(PAUSE)
            run.times.append(run.once())
    out = {}
    for run in runs:
        clock, processor = np.median(run.times, axis=0)
        out[run.name] = (float(clock), float(processor), run.end())
    return out


def table(got: dict[str, tuple[float, float, float]], title: str, column: int) -> str:
    """Markdown: seconds, memory, and the ratio to each peer's fastest mode and to reading the matrix.

    column: 0 for ratios of seconds on the clock, 1 of the processor.
    """
    fastest = {
        peer: min((v[column] for name, v in got.items() if name.startswith(f"{peer},")), default=math.nan)
        for peer in PEERS
    }
    fastest["reading the matrix"] = got["limit: read the matrix once"][column]
    head = "".join(f" / {name} |" for name in fastest)
    lines = [
        f"| {title} | seconds | of the processor | peak memory (MB) |{head}",
        "|---|---|---|---|" + "---|" * len(fastest),
    ]
    for name, (clock, processor, mb) in got.items():
        seconds = (clock, processor)[column]
        ratios = "".join(
            f" {seconds / t:.3f} |" if math.isfinite(t) and seconds / t < 10 else
            f" {seconds / t:.0f} |" if math.isfinite(t) else " – |"
            for t in fastest.values()
        )  # fmt: skip
        lines.append(f"| {name} | {clock:.4f} | {processor:.4f} | {mb:.0f} |{ratios}")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument(
        "--processor", action="store_true", help="ratios of processor time: for a machine that others use too"
    )
    parser.add_argument("--rows", type=int, default=60_000)
    parser.add_argument("--columns", type=int, default=784)
    parser.add_argument("--classes", type=int, default=10)
    parser.add_argument(
        "--peer", action="append", default=[], metavar="NAME=PYTHON", help=f"of {', '.join(PEERS)}"
    )
    options = parser.parse_args()
    python = dict(p.split("=", 1) for p in options.peer)
    if unknown := set(python) - set(PEERS):
        parser.error(f"--peer: no peer is called {', '.join(sorted(unknown))}")
    n, d, k = options.rows, options.columns, options.classes
    rng = np.random.default_rng(0)
    x = rng.standard_normal((n, d), dtype=np.float32)
    x *= 5 / np.linalg.norm(x, axis=1, keepdims=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        np.save(folder / "x.npy", x)
        np.save(folder / "y.npy", rng.integers(0, k, n))
        (folder / "shape.json").write_text(json.dumps({"classes": k}))
        del x
        got = measure(folder, python, options.repeat, options.threads)
    print(f"\n{options.threads} threads, medians of {options.repeat}\n")
    print(table(got, f"one pass over {n} x {d} x {k}", int(options.processor)))


if __name__ == "__main__":
    main()
