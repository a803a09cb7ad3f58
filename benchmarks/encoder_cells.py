"""Learners on what a fixed network made of images and texts: every size and budget; replace-one, delta = 1e-5; resumes where it stopped.

    python benchmarks/encoder_cells.py --features FEATURES --out cells.jsonl [--set fashion_mnist] [--n 1000] [--epsilon 1] [--learner auto]
    python benchmarks/encoder_cells.py --data FOLDER --out cells.jsonl --learner scattering --learner pixels --set mnist
    python benchmarks/encoder_cells.py --out cells.jsonl --table accuracy|balanced|auc

FEATURES: NAME/train.npy, train_labels.npy, test.npy, test_labels.npy for images, as `benchmarks/encoders.py --write` makes them, and
NAME.npz with x and y for texts (`--texts NAME FILE.tsv`, a label and a text on each line, writes one with Text(encoder="sentences")).

n private rows and 1,000 public ones are drawn from the training rows of images, 5,000 of the others are the test; where all training rows
are private, 1,000 others are public. Of texts all rows that are neither are the test. `public` is [Public(rows), "auto"], `pillar` has the k
of its rule. `scattering` and `pixels` are the recipes "auto" and "linear" on the same images themselves, of mnist.npz and
fashion_mnist.npz in FOLDER, as `benchmarks/images.py` reads them.
`opacus`: a linear layer by Opacus, 20 epochs of Poisson batches of 256 (10 of 1,024 from 20,000 rows on), rows of norm 1, gradients clipped to
1, the noise that replace-one needs, and the best of five learning rates on the test rows, which nobody could choose. --opacus: a Python that has it.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

DELTA, PUBLIC, TEST = 1e-5, 1000, 5000
LEARNERS = ("auto", "linear", "dpsgd-f", "dpsgd-f-modified", "pillar", "public", "opacus")
RAW = {"scattering": "auto", "pixels": "linear"}  # learners of images themselves, by recipe
SIZES, BUDGETS, RUNS = (1000, 6000, 20_000, 60_000), (0.1, 0.5, 1.0, 2.0), 3


def texts(name: str, file: Path, folder: Path) -> None:
    """Write the embeddings of texts."""
    from prepriv.tables.sentences import embedded

    rows = [line.rstrip("\n").partition("\t") for line in file.open(encoding="utf-8")]
    y = np.unique([label for label, _, _ in rows], return_inverse=True)[1]
    np.savez(folder / f"{name}.npz", x=embedded(np.array([text for _, _, text in rows], object)), y=y)


def drawn(folder: Path, name: str, n: int, run: int) -> tuple[NDArray[Any], ...] | None:
    """(private rows, their labels, public rows, test rows, their labels); None where there are not so many."""
    rng = np.random.default_rng(run)
    if (folder / f"{name}.npz").exists():
        held = np.load(folder / f"{name}.npz")
        x, y = held["x"], held["y"]
        order = rng.permutation(len(y))
        if n + PUBLIC + 400 > len(y):
            return None
        rest = order[n + PUBLIC :]
        return x[order[:n]], y[order[:n]], x[order[n : n + PUBLIC]], x[rest], y[rest]
    x, y, test, truth = (
        np.load(folder / name / f"{part}.npy", mmap_mode="r")
        for part in ("train", "train_labels", "test", "test_labels")
    )
    if n > len(y):
        return None
    order = rng.permutation(len(y))
    others = order[n : n + PUBLIC] if n + PUBLIC <= len(y) else None
    public = x[np.sort(others)] if others is not None else test[TEST : TEST + PUBLIC]
    private = np.sort(order[:n])
    return x[private], np.asarray(y)[private], np.asarray(public), test[:TEST], np.asarray(truth)[:TEST]


def pictures(data: Path, name: str, n: int, run: int) -> tuple[NDArray[Any], ...]:
    """The images of the same rows as `drawn`; none are public."""
    held = np.load(data / f"{name}.npz")
    at = np.sort(np.random.default_rng(run).permutation(len(held["y_train"]))[:n])
    return held["x_train"][at], held["y_train"][at], at[:0], held["x_test"][:TEST], held["y_test"][:TEST]


def measured(p: NDArray[Any], truth: NDArray[Any]) -> dict[str, float]:
    """Of probabilities: mean accuracy of the classes, accuracy, and the mean of areas under curves, in percent."""
    right = p.argmax(axis=1) == truth
    areas = [roc_auc_score(truth == c, p[:, c]) for c in np.unique(truth)]
    return {
        "balanced": 100 * float(np.mean([right[truth == c].mean() for c in np.unique(truth)])),
        "accuracy": 100 * float(right.mean()),
        "auc": 100 * float(np.mean(areas)),
    }


def score(
    rows: tuple[NDArray[Any], ...], learner: str, epsilon: float, python: str | None
) -> dict[str, float]:
    """What `measured` says about one run."""
    import prepriv
    from prepriv.recipes.pillar import pillar

    x, y, public, test, truth = rows
    if learner == "opacus":
        return best_of_opacus(rows, epsilon, python)
    classes = [int(c) for c in np.unique(truth)]
    raw = learner in RAW
    domain = (prepriv.Domain.images(*x.shape[1:], 1, classes) if raw else prepriv.Domain.ball(x.shape[1], classes)).with_n(len(y))  # fmt: skip
    steps, own = RAW.get(learner, learner), "auto"
    if learner == "public":
        steps = [prepriv.Public(public), "auto"]
    if learner == "pillar":
        steps, own = pillar(domain, public, epsilon=epsilon, delta=DELTA)
    made = prepriv.PrivateClassifier(domain, epsilon=epsilon, delta=DELTA, steps=steps, learner=own).fit(x, y)
    return measured(made.predict_proba(test), truth)


def best_of_opacus(rows: tuple[NDArray[Any], ...], epsilon: float, python: str | None) -> dict[str, float]:
    """The best of five rates. The noise is that of the same batches in prepriv: replace-one, not Opacus' adjacency."""
    import prepriv
    from prepriv.opacus import calibrate

    x, y, _, test, truth = rows
    n, classes = len(y), len(np.unique(truth))
    batch, epochs = (256, 20) if n < 20_000 else (1024, 10)
    batches = type("Batches", (), {"dataset": range(n), "batch_size": batch, "drop_last": False, "__len__": lambda self: -(-n // batch)})  # fmt: skip
    domain = prepriv.Domain.ball(x.shape[1], [int(c) for c in np.unique(truth)], n=n)
    noise = calibrate([], batches(), {"epochs": epochs}, domain=domain, epsilon=epsilon, delta=DELTA)
    with tempfile.TemporaryDirectory() as folder:
        job = {"peer": "Opacus", "folder": folder, "tuned": True, "batch": batch, "epochs": epochs, "noise": noise.noise_multiplier, "seconds": 600}  # fmt: skip
        unit = [
            (v / np.maximum(np.linalg.norm(v, axis=1, keepdims=True), 1e-12)).astype(np.float32)
            for v in (x, test)
        ]
        np.savez(Path(folder) / "rows.npz", x=unit[0], xt=unit[1], y=y, classes=classes)
        worker = Path(__file__).with_name("peer_worker.py")
        subprocess.run([python or sys.executable, str(worker)], input=json.dumps(job) + "\n", text=True, check=True, capture_output=True)  # fmt: skip
        made = np.load(Path(folder) / "p.npy")
    return max((measured(p, truth) for p in made), key=lambda got: got["accuracy"])


def known(file: Path) -> dict[tuple[Any, ...], dict[str, Any]]:
    lines = file.read_text().splitlines() if file.exists() else []
    return {tuple(line["cell"]): line for line in map(json.loads, lines)}


def table(file: Path, measure: str) -> None:
    """A line for each set, size and budget: the mean of the runs of each learner, and its standard error."""
    cells = known(file)
    groups = sorted({cell[:3] for cell in cells})
    learners = [name for name in (*LEARNERS, *RAW) if any(cell[3] == name for cell in cells)]
    print("| set, n | ε | " + " | ".join(learners) + " |\n|---|---|" + "---|" * len(learners))
    for name, n, epsilon in groups:
        said = []
        for learner in learners:
            got = [v[measure] for cell, v in cells.items() if cell[:4] == (name, n, epsilon, learner)]
            error = f" ({np.std(got, ddof=1) / len(got) ** 0.5:.1f})" if len(got) > 1 else ""
            said.append(f"{np.mean(got):.1f}{error}" if got else "")
        print(f"| {name}, {n:,} | {epsilon:g} | " + " | ".join(said) + " |")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--features", type=Path)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--texts", nargs=2, metavar=("NAME", "FILE"))
    parser.add_argument("--set", action="append", dest="sets")
    parser.add_argument("--n", type=int, action="append")
    parser.add_argument("--epsilon", type=float, action="append")
    parser.add_argument("--learner", action="append", choices=(*LEARNERS, *RAW))
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--opacus", metavar="PYTHON")
    parser.add_argument("--table", choices=("accuracy", "balanced", "auc"))
    options = parser.parse_args()
    if options.texts:
        return texts(options.texts[0], Path(options.texts[1]), options.features)
    if options.table:
        return table(options.out, options.table)
    warnings.simplefilter("ignore")
    done = known(options.out)
    for n in options.n or SIZES:
        for run in range(options.runs):
            for name in options.sets or ("fashion_mnist", "mnist", "sms", "trec"):
                learners = options.learner or LEARNERS
                rows = drawn(options.features, name, n, run) if set(learners) - set(RAW) else None
                images = pictures(options.data, name, n, run) if set(learners) & set(RAW) else None
                for epsilon in options.epsilon or BUDGETS:
                    for learner in learners:
                        cell, given = (name, n, epsilon, learner, run), images if learner in RAW else rows
                        if cell in done or given is None:
                            continue
                        begin = time.process_time()
                        got = score(given, learner, epsilon, options.opacus)
                        line = {"cell": cell, **got, "seconds": round(time.process_time() - begin, 1)}
                        with options.out.open("a") as file:
                            file.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()
