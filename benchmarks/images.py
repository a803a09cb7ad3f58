"""Images: the recipe behind fixed wavelets on MNIST and Fashion-MNIST, add-or-remove-one; a line for each run.

    python benchmarks/images.py --data FOLDER [--runs 10] [--only mnist] [--epsilon 1] [--keep FOLDER]

FOLDER holds mnist.npz and fashion_mnist.npz with x_train, y_train, x_test, y_test. The wavelet features of an image depend on no
other image and on no run: they are made once for all runs (as float32; --keep: where they stay), and the rest of the recipe
is run on them as rows of a ball, which is what it sees behind the step.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import prepriv
from prepriv.pipeline.recipes.automatic import recipe

DELTA = 1e-5
CELLS = (("mnist", 1.0), ("mnist", 0.1), ("fashion_mnist", 1.0), ("fashion_mnist", 0.1))


def features(x: NDArray[np.uint8], step: prepriv.preprocessing.Scattering, path: Path) -> NDArray[np.float32]:
    """Rows of wavelet features, from a file where they are there already."""
    fitted = step.free(prepriv.Domain.images(*x.shape[1:], 1, (0, 1)).space)
    if not path.exists():
        rows = np.lib.format.open_memmap(
            path.with_suffix(".part"), "w+", dtype=np.float32, shape=(len(x), fitted.d)
        )
        for start in range(0, len(x), 256):
            rows[start : start + 256] = fitted.transform(x[start : start + 256].reshape(-1, x[0].size) / 255)
        rows.flush()
        path.with_suffix(".part").rename(path)
    return np.load(path, mmap_mode="r")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--only", choices=sorted({name for name, _ in CELLS}))
    parser.add_argument("--epsilon", type=float, action="append", help="only these budgets")
    parser.add_argument("--keep", type=Path, help="folder for the features (4 bytes a number)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        keep = options.keep or Path(temporary)
        keep.mkdir(parents=True, exist_ok=True)
        print("| data | ε | run | accuracy (%) | seconds |\n|---|---|---|---|---|", flush=True)
        for name, epsilon in CELLS:
            if options.only in (None, name) and epsilon in (options.epsilon or [epsilon]):
                run(options.data / f"{name}.npz", epsilon, options.runs, keep)


def run(path: Path, epsilon: float, runs: int, keep: Path) -> None:
    """Print a line for each run, and their mean."""
    with np.load(path) as data:
        x, y = np.concatenate([data["x_train"], data["x_test"]]), data["y_train"]
        n, y_test = len(y), data["y_test"]
    domain = prepriv.Domain.images(*x.shape[1:], 1, range(10), n=n, adjacency="add-or-remove-one")
    (step, *steps), learner = recipe(domain, n=n, epsilon=epsilon, delta=DELTA)
    rows = features(x, step, keep / f"{path.stem}-{step.J}-{step.L}-{step.floor:g}.npy")
    ball = prepriv.Domain.ball(rows.shape[1], range(10), n=n, adjacency="add-or-remove-one")
    got = []
    for number in range(runs):
        begin = time.monotonic()
        classifier = prepriv.PrivateClassifier(
            ball, epsilon=epsilon, delta=DELTA, steps=steps, learner=learner
        )
        got.append(100 * classifier.fit(rows[:n], y).score(rows[n:], y_test))
        print(
            f"| {path.stem} | {epsilon:g} | {number + 1} | {got[-1]:.2f} | {time.monotonic() - begin:.0f} |",
            flush=True,
        )
    print(f"| {path.stem} | {epsilon:g} | mean of {runs} | {np.mean(got):.2f} | |", flush=True)


if __name__ == "__main__":
    main()
