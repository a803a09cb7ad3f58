"""Seconds to the end of training, and the accuracy reached, at the same ε: ours and its peers', on MNIST and Adult.

    python benchmarks/training_end.py FOLDER --peer opacus=PYTHON --peer jax-privacy=PYTHON ...   a --peer for each library named below

FOLDER holds mnist.npz and adult.csv.gz. Each run is a process of its own with one thread, under the interpreter named for its library (this one
by default), from the start of the interpreter to the last test row; candidates take turns. One that cannot be imported is left out with a line.

Peers get rows as they want them: pixels in [0, 1]; of Adult declared categories one-hot and numbers scaled by their declared bounds, which costs them
nothing. Linear models by DP-SGD, as their own examples write it: Poisson batches, clip 1, the noise that their own accountant finds for (ε, δ) and
add-or-remove-one; batch, epochs and learning rate by a grid on the test rows, in their favour. diffprivlib: its logistic regression, (ε, 0), rows of norm 1, C = 10.
DP-EBM (interpret-core): as it is, with declared bounds, raw columns, two classes. LogisticRegression of scikit-learn and LightGBM have no privacy: they show its price.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

EPSILON, DELTA = 1.0, 1e-5
SGD = {"mnist": (1024, 10, 4.0), "adult": (1024, 10, 4.0)}  # batch, epochs, learning rate


def ours(folder: Path, data: str, steps: str) -> tuple[float, float]:
    """(seconds of training, accuracy) of `PrivateClassifier` as it is, on raw rows."""
    import pandas as pd

    import prepriv

    if data == "mnist":
        x, xt = (np.load(folder / f"raw_{part}.npy") for part in ("x", "xt"))
        y, yt = (np.load(folder / f"{part}.npy") for part in ("y", "yt"))
        domain = prepriv.Domain.box(0, 255, x.shape[1], range(10), n=len(x), adjacency="add-or-remove-one")
    else:
        x, xt = (pd.read_parquet(folder / f"{part}.parquet") for part in ("x", "xt"))
        y, yt = x.pop("label"), xt.pop("label")
        domain = replace(adult().domain(len(x)), adjacency="add-or-remove-one")
    start = time.perf_counter()
    made = prepriv.PrivateClassifier(domain, epsilon=EPSILON, delta=DELTA, steps=steps, threads=1).fit(x, y)
    return time.perf_counter() - start, made.score(xt, yt)


def opacus(folder: Path, data: str, mode: str) -> tuple[float, float]:
    """DP-SGD with `make_private_with_epsilon`; mode: hooks, which is the default, or ghost."""
    import torch
    from opacus import PrivacyEngine

    torch.set_num_threads(1)
    (x, y, xt, yt), (batch, epochs, rate) = arrays(folder), SGD[data]
    start = time.perf_counter()
    rows = torch.utils.data.TensorDataset(torch.from_numpy(x), torch.from_numpy(y))
    loader = torch.utils.data.DataLoader(rows, batch_size=batch)
    model = torch.nn.Linear(x.shape[1], int(y.max()) + 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=rate)
    criterion = torch.nn.CrossEntropyLoss()
    made = PrivacyEngine().make_private_with_epsilon(
        module=model, optimizer=optimizer, data_loader=loader, target_epsilon=EPSILON, target_delta=DELTA,
        epochs=epochs, max_grad_norm=1.0, grad_sample_mode=mode, criterion=criterion,
    )  # fmt: skip
    model, optimizer, loader = made[0], made[1], made[-1]
    criterion = made[2] if len(made) == 4 else criterion
    for _ in range(epochs):
        for a, b in loader:
            optimizer.zero_grad()
            criterion(model(a), b).backward()
            optimizer.step()
    took = time.perf_counter() - start
    with torch.no_grad():
        return took, float((model(torch.from_numpy(xt)).argmax(dim=1).numpy() == yt).mean())


def jax_privacy(folder: Path, data: str, microbatch: int) -> tuple[float, float]:
    """DP-SGD with its sampling, clipping, noise and calibration; batches padded to a multiple of the microbatch."""
    import jax
    import jax.numpy as jnp
    from jax_privacy import accounting, batch_selection, noise_addition
    from jax_privacy.clipping import clipped_grad

    (x, y, xt, yt), (batch, epochs, rate) = arrays(folder), SGD[data]
    start = time.perf_counter()
    n, updates = len(x), math.ceil(epochs * len(x) / batch)
    accountant = accounting.DpsgdTrainingAccountant(dp_accountant_config=accounting.PldAccountantConfig())
    noise = accounting.calibrate_noise_multiplier(
        target_epsilon=EPSILON, accountant=accountant, batch_sizes=batch, num_updates=updates, num_samples=n, target_delta=DELTA
    )  # fmt: skip

    def loss(parameters: Any, a: Any, b: Any) -> Any:
        scores = a @ parameters[0] + parameters[1]
        return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(scores), b[:, None], axis=1))

    gradient = clipped_grad(loss, l2_clip_norm=1.0, batch_argnums=(1, 2), microbatch_size=microbatch)
    privatizer = noise_addition.gaussian_privatizer(stddev=noise, prng_key=jax.random.key(int(time.time())))

    @jax.jit
    def step(parameters: Any, state: Any, a: Any, b: Any, padded: Any) -> Any:
        noisy, state = privatizer.update(gradient(parameters, a, b, is_padding_example=padded), state)
        return [p - rate * g / batch for p, g in zip(parameters, noisy)], state

    parameters = [jnp.zeros((x.shape[1], int(y.max()) + 1)), jnp.zeros(int(y.max()) + 1)]
    state = privatizer.init(parameters)
    size = -(-(batch + 6 * math.isqrt(batch)) // microbatch) * microbatch
    drawn = batch_selection.CyclicPoissonSampling(
        sampling_prob=batch / n,
        iterations=updates,
        truncated_batch_size=size,
        partition_type=batch_selection.PartitionType.INDEPENDENT,
    )
    for chosen in drawn.batch_iterator(n):
        at = np.full(size, -1)  # one shape: compiled once
        at[: len(chosen)] = chosen
        parameters, state = step(parameters, state, x[at], y[at], at < 0)
    weights, bias = (np.asarray(p) for p in parameters)
    return time.perf_counter() - start, float(((xt @ weights + bias).argmax(axis=1) == yt).mean())


def diffprivlib(folder: Path, data: str) -> tuple[float, float]:
    """Its LogisticRegression: pure ε, shared among the classes."""
    import warnings

    from diffprivlib.models import LogisticRegression

    warnings.simplefilter("ignore")
    x, y, xt, yt = arrays(folder)
    start = time.perf_counter()
    x, xt = (m / np.maximum(np.linalg.norm(m, axis=1, keepdims=True), 1e-9) for m in (x, xt))
    made = LogisticRegression(epsilon=EPSILON, data_norm=1.0, C=10.0).fit(x, y)
    return time.perf_counter() - start, float((made.predict(xt) == yt).mean())


def dp_ebm(folder: Path, data: str) -> tuple[float, float]:
    """An additive model: (ε, δ), add-or-remove-one; of two classes alone."""
    import pandas as pd
    from interpret.privacy import DPExplainableBoostingClassifier

    if data == "mnist":
        raise ValueError("two classes alone")
    x, xt = (pd.read_parquet(folder / f"{part}.parquet") for part in ("x", "xt"))
    y, yt = x.pop("label"), xt.pop("label")
    kinds = json.loads((folder / "kinds.json").read_text())
    filled = {name: "missing" for name in kinds["types"]}  # it takes no missing cell
    filled |= {name: sum(ends) / 2 for name, ends in kinds["bounds"].items()}
    x, xt = (rows[list(filled)].astype(object).fillna(filled).infer_objects() for rows in (x, xt))
    start = time.perf_counter()
    made = DPExplainableBoostingClassifier(
        epsilon=EPSILON, delta=DELTA, n_jobs=1, privacy_bounds=kinds["bounds"],
        feature_types=[kinds["types"][name] for name in x.columns],
    )  # fmt: skip
    made.fit(x, y)
    return time.perf_counter() - start, float((made.predict(xt) == yt).mean())


def without_privacy(folder: Path, data: str, name: str) -> tuple[float, float]:
    """scikit-learn's logistic regression, or LightGBM, both as they are, on the rows of the others."""
    x, y, xt, yt = arrays(folder)
    if name == "LightGBM":
        from lightgbm import LGBMClassifier

        made: Any = LGBMClassifier(n_jobs=1, verbose=-1)
    else:
        from sklearn.linear_model import LogisticRegression

        made = LogisticRegression(max_iter=100)
    start = time.perf_counter()
    made.fit(x, y)
    return time.perf_counter() - start, float((made.predict(xt) == yt).mean())


CANDIDATES: dict[str, Any] = {
    "prepriv": lambda folder, data: ours(folder, data, "auto"),
    'prepriv, steps="linear"': lambda folder, data: ours(folder, data, "linear"),
    "opacus, default": lambda folder, data: opacus(folder, data, "hooks"),
    "opacus, ghost": lambda folder, data: opacus(folder, data, "ghost"),
    "jax-privacy": lambda folder, data: jax_privacy(folder, data, 256),
    "diffprivlib": diffprivlib,
    "DP-EBM": dp_ebm,
    "LogisticRegression": lambda folder, data: without_privacy(folder, data, "LogisticRegression"),
    "LightGBM": lambda folder, data: without_privacy(folder, data, "LightGBM"),
}


def arrays(folder: Path) -> tuple[Any, Any, Any, Any]:
    """(rows, labels, test rows, their labels) as peers get them."""
    x, y, xt, yt = (np.load(folder / f"{name}.npy") for name in ("x", "y", "xt", "yt"))
    return x, y, xt, yt


def adult() -> Any:
    """The example, which declares the columns of Adult."""
    spec = importlib.util.spec_from_file_location(
        "adult", Path(__file__).parents[1] / "examples" / "adult.py"
    )
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def prepare(source: Path, folder: Path, data: str) -> None:
    """The same rows for everybody, raw and as peers get them."""
    if data == "mnist":
        with np.load(source / "mnist.npz") as held:
            for part, name in (("x", "train"), ("xt", "test")):
                rows = held[f"x_{name}"].reshape(len(held[f"x_{name}"]), -1)
                np.save(folder / f"raw_{part}.npy", rows)
                np.save(folder / f"{part}.npy", rows.astype(np.float32) / 255)
                np.save(folder / f"{part.replace('x', 'y')}.npy", held[f"y_{name}"].astype(np.int64))
        return
    from prepriv.tables.encoding import encode, encode_labels

    module = adult()
    columns = module.domain(1).columns
    numeric = {name: [c.low, c.high] for name, c in columns.items() if hasattr(c, "low")}
    kinds = {name: "continuous" if name in numeric else "nominal" for name in columns}
    (folder / "kinds.json").write_text(json.dumps({"bounds": numeric, "types": kinds}))
    for part, rows in zip(("x", "xt"), module.load(source / "adult.csv.gz")):
        rows.to_parquet(folder / f"{part}.parquet")
        domain = module.domain(len(rows))
        columns = {k: replace(c, missing="midpoint") if hasattr(c, "missing") else c for k, c in domain.columns.items()}  # fmt: skip
        made = np.concatenate(list(encode(rows, replace(domain, columns=columns))))
        np.save(folder / f"{part}.npy", made.astype(np.float32))
        np.save(folder / f"{part.replace('x', 'y')}.npy", encode_labels(rows["label"], domain.classes).astype(np.int64))  # fmt: skip


def run(name: str, python: str, folder: Path, data: str) -> tuple[float, float, float, float] | None:
    """(seconds of the process, of the processor, of training, accuracy); None, with a line, where it does not run."""
    one = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    one["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
    start, before = time.perf_counter(), os.times()
    done = subprocess.run(
        [python, __file__, str(folder), "--child", name, data], env={**os.environ, **one}, capture_output=True, text=True
    )  # fmt: skip
    took, after = time.perf_counter() - start, os.times()
    if done.returncode:
        print(f"{name}: left out ({(done.stderr.strip().splitlines() or ['it ended'])[-1]})", flush=True)
        return None
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return took, used, *json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--data", nargs="+", choices=list(SGD), default=list(SGD))
    parser.add_argument("--only", nargs="+", choices=list(CANDIDATES), default=list(CANDIDATES))
    parser.add_argument("--peer", action="append", default=[], metavar="NAME=PYTHON")
    options = parser.parse_args()
    if options.child:
        name, data = options.child
        print(json.dumps(CANDIDATES[name](options.folder, data)))
        return
    python = dict(p.split("=", 1) for p in options.peer)
    for data in options.data:
        with tempfile.TemporaryDirectory() as made:
            prepare(options.folder, Path(made), data)
            found: dict[str, list[Any]] = {name: [] for name in options.only}
            for _ in range(options.runs):
                for name in list(found):
                    one = run(name, python.get(name.partition(",")[0], sys.executable), Path(made), data)
                    if one is None:
                        del found[name]
                        continue
                    found[name].append(one)
                    print(f"# {data}, {name}: " + ", ".join(f"{v:.4g}" for v in one), flush=True)
        medians = {name: np.median(runs, axis=0) for name, runs in found.items()}
        base = next(iter(medians.values()))[1]
        print(f"\n{data}, ε = {EPSILON:g}, medians of {options.runs}\n")
        print(
            "| | seconds of the process | of the processor | / the first | training alone | accuracy (%) |\n|---|---|---|---|---|---|"
        )
        for name, (clock, processor, training, _) in medians.items():
            each = [100 * r[3] for r in found[name]]
            print(f"| {name} | {clock:.1f} | {processor:.1f} | {processor / base:.2f} | {training:.1f} | {np.mean(each):.2f} ({min(each):.2f} to {max(each):.2f}) |")  # fmt: skip


if __name__ == "__main__":
    main()
