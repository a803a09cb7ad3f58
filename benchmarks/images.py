"""Images: the recipe behind fixed wavelets on MNIST and Fashion-MNIST, add-or-remove-one; a line for each run.

    python benchmarks/images.py --data FOLDER [--runs 10] [--only mnist] [--epsilon 1] [--n 1000] [--recipe auto-0.2] [--keep FOLDER] [--simulated]

FOLDER holds mnist.npz and fashion_mnist.npz with x_train, y_train, x_test, y_test. The wavelet features of an image depend on no
other image and on no run: they are made once for all runs (as float32; --keep: where they stay), and the rest of the recipe
is run on them as rows of a ball, which is what it sees behind the step.

--simulated: no release, but the same training in single precision with noise from NumPy's generator, all runs in one pass over
the rows, and these in their first 500 principal directions (97 % of them and more; the noise is the same in any); a fifth of the time of one run each.
"""

from __future__ import annotations

import argparse
import math
import tempfile
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import prepriv
from prepriv.learners.gradient_descent import GradientDescent
from prepriv.plans.plan import signal
from prepriv.recipes.automatic import CENTER_SHARE, SCALE, recipe

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
    parser.add_argument("--simulated", action="store_true")
    parser.add_argument("--n", type=int, help="only the first n training images")
    parser.add_argument("--recipe", default="auto", choices=("auto", "auto-0.2"))
    parser.add_argument("--keep", type=Path, help="folder for the features (4 bytes a number)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        keep = options.keep or Path(temporary)
        keep.mkdir(parents=True, exist_ok=True)
        print("| data | ε | run | accuracy (%) | seconds |\n|---|---|---|---|---|", flush=True)
        for name in dict.fromkeys(name for name, _ in CELLS):
            for epsilon in options.epsilon or [e for of, e in CELLS if of == name]:
                if options.only in (None, name):
                    run(options.data / f"{name}.npz", epsilon, options, keep)


def principal(rows: NDArray[np.float32], directions: int = 500) -> NDArray[np.float32]:
    """Rows of norm one in the principal directions of every fifth of them, and one more of zeros for what is outside."""
    x = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), np.float32(1e-12))
    part = x[::5]
    q = np.random.default_rng(0).standard_normal((x.shape[1], directions)).astype(np.float32)
    for _ in range(2):
        q = np.linalg.qr(part.T @ (part @ q))[0]
    return np.concatenate([x @ q, np.zeros((len(x), 1), np.float32)], axis=1)


def simulate(
    x: NDArray[np.float32], y: NDArray[np.uint8], learner: GradientDescent, s: float, d: int, runs: int
) -> NDArray[np.float64]:
    """Predictions (test rows, runs) of models of the first len(y) rows of `principal`; the others are the test."""
    n, k, classes = len(y), x.shape[1], 10
    rng = np.random.default_rng(1)
    noise = rng.standard_normal((k, runs)) / (s * math.sqrt(CENTER_SHARE))
    noise[-1] = math.sqrt((d - k + 1) / CENTER_SHARE) / s  # the length of what is outside
    centre = x[:n].mean(axis=0, dtype=float)[:, None] + noise
    centre *= np.maximum(0, 1 - d / (s * np.linalg.norm(centre, axis=0)) ** 2 / CENTER_SHARE)
    centre = centre.astype(np.float32)
    square = (x * x).sum(axis=1)[:, None] - 2 * x @ centre + (centre * centre).sum(axis=0)
    scale = (SCALE / np.sqrt(square))[:, :, None]  # of a centred row of each run
    norm, clip = math.hypot(SCALE, 1), learner.clip_norm
    deviation = clip * math.sqrt(learner.steps) / (s * math.sqrt(1 - CENTER_SHARE))
    target = np.eye(classes, dtype=np.float32)[y][:, None]

    def scores(w: NDArray[np.float64], rows: slice) -> NDArray[np.float32]:
        v = w[:k].astype(np.float32)
        moved = np.einsum("kr,krc->rc", centre, v)
        made = (x[rows] @ v.reshape(k, -1)).reshape(-1, runs, classes) - moved
        return made * scale[rows] + w[k].astype(np.float32)

    def gradient(w: NDArray[np.float64]) -> NDArray[np.float64]:
        total = np.zeros_like(w)
        for start in range(0, n, 2500):
            rows = slice(start, min(start + 2500, n))
            p = scores(w, rows)
            p -= p.max(axis=2, keepdims=True)
            np.exp(p, out=p)
            p /= p.sum(axis=2, keepdims=True)
            p -= target[rows]
            length = np.sqrt(np.einsum("irc,irc->ir", p, p))[:, :, None]
            p *= np.minimum(1, clip / norm / np.maximum(length, 1e-12))
            total[k] += p.sum(axis=0)
            p *= scale[rows]
            total[:k] += (x[rows].T @ p.reshape(len(p), -1)).reshape(k, runs, classes)
            total[:k] -= centre[:, :, None] * p.sum(axis=0)
        return total / n + deviation * rng.standard_normal(w.shape)

    w = np.zeros((k + 1, runs, classes))
    velocity, late, kept = w.copy(), w.copy(), max(1, round(learner.average * learner.steps))
    for step in range(learner.steps):
        ahead = w + learner.momentum * velocity
        new = ahead - learner.learning_rate * gradient(ahead)
        velocity, w = new - w, new
        late += w if step >= learner.steps - kept else 0
    return scores(late / kept, slice(n, len(x))).argmax(axis=2)


def run(path: Path, epsilon: float, options: argparse.Namespace, keep: Path) -> None:
    """Print a line for each run, and their mean."""
    runs, simulated, first = options.runs, options.simulated, options.n
    with np.load(path) as data:
        x, y = np.concatenate([data["x_train"][:first], data["x_test"]]), data["y_train"][:first]
        n, y_test = len(y), data["y_test"]
    domain = prepriv.Domain.images(*x.shape[1:], 1, range(10), n=n, adjacency="add-or-remove-one")
    (step, *steps), learner = recipe(domain, n=n, epsilon=epsilon, delta=DELTA, steps=options.recipe)
    rows = features(x, step, keep / f"{path.stem}-{n}-{step.J}-{step.L}-{step.floor:g}.npy")
    ball = prepriv.Domain.ball(rows.shape[1], range(10), n=n, adjacency="add-or-remove-one")
    if simulated:
        s = signal(domain, n=n, epsilon=epsilon, delta=DELTA)
        said = simulate(principal(rows), y, learner, s, rows.shape[1], runs)
        got = list(100 * (said == y_test[:, None]).mean(axis=0))
        return summary(path, epsilon, got, " (simulated)")
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
    summary(path, epsilon, got)


def summary(path: Path, epsilon: float, got: list[float], note: str = "") -> None:
    deviation = f", deviation {np.std(got, ddof=1):.2f}" if len(got) > 1 else ""
    print(
        f"| {path.stem} | {epsilon:g} | mean of {len(got)}{note} | {np.mean(got):.2f}{deviation} | |",
        flush=True,
    )


if __name__ == "__main__":
    main()
