"""Classifiers of other libraries on one table, run by a Python that has them: benchmarks/recipe.py --peers PYTHON starts it.

One line of JSON a job on stdin: folder, peer, epsilon, seconds of its processor and what else the peer takes. The folder holds rows.npz (x, xt: encoded
rows in [0, 1]; y; norm; classes) and train.csv, test.csv (declared columns) with bounds.npy. The answer is folder/p.npy, class
probabilities of the test rows by setting, (settings, rows, classes), and a line on stdout: "done", or why there are none.
"""

from __future__ import annotations

import json
import signal
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

DELTA = 1e-5
STRENGTHS = (0.01, 0.1, 1.0, 10.0, 100.0)  # C of diffprivlib: one over its regularisation
RATES = (0.1, 0.3, 1.0, 3.0, 10.0)  # learning rates of Opacus


def diffprivlib(job: dict[str, Any], rows: Any) -> list[Any]:
    """Logistic regression: as it comes; tuned: rows of norm one, and C."""
    from diffprivlib.models import LogisticRegression

    x, xt, norm, strengths = rows["x"], rows["xt"], float(rows["norm"]), (1.0,)
    if job["tuned"]:
        x, xt = (v / np.maximum(np.linalg.norm(v, axis=1, keepdims=True), 1e-12) for v in (x, xt))
        norm, strengths = 1.0, STRENGTHS
    made = [
        LogisticRegression(
            epsilon=job["epsilon"], data_norm=norm, classes=np.arange(rows["classes"]), C=c, max_iter=1000
        )
        for c in strengths
    ]
    return [m.fit(x, rows["y"]).predict_proba(xt) for m in made]


def dp_ebm(job: dict[str, Any], rows: Any) -> list[Any]:
    """DP-EBM of interpret: as it comes; tuned: learning_rate 0.1. Two classes."""
    import pandas as pd
    from interpret.privacy import DPExplainableBoostingClassifier

    train, test = (
        pd.read_csv(f"{job['folder']}/{k}.csv", keep_default_na=False).astype(object)
        for k in ("train", "test")
    )
    bounds = np.load(f"{job['folder']}/bounds.npy")
    numeric = ~np.isnan(bounds[:, 0])
    made = DPExplainableBoostingClassifier(
        feature_types=["continuous" if k else "nominal" for k in numeric],
        epsilon=job["epsilon"],
        delta=DELTA,
        privacy_bounds={i: tuple(b) for i, b in enumerate(bounds) if numeric[i]},
        n_jobs=1,
        **({"learning_rate": 0.1} if job["tuned"] else {}),
    )
    return [made.fit(train, rows["y"]).predict_proba(test)]


def opacus(job: dict[str, Any], rows: Any) -> list[Any]:
    """A linear layer by DP-SGD with the given batch, epochs and noise: learning rate 0.1, or each of RATES."""
    import torch
    from opacus import PrivacyEngine

    torch.set_num_threads(1)
    x, xt = (torch.tensor(rows[k], dtype=torch.float32) for k in ("x", "xt"))
    data = torch.utils.data.TensorDataset(x, torch.tensor(rows["y"], dtype=torch.long))
    made = []
    for rate in RATES if job["tuned"] else (0.1,):
        model = torch.nn.Linear(x.shape[1], int(rows["classes"]))
        model, optimizer, loader = PrivacyEngine().make_private(
            module=model,
            optimizer=torch.optim.SGD(model.parameters(), lr=rate),
            data_loader=torch.utils.data.DataLoader(data, batch_size=job["batch"], shuffle=True),
            noise_multiplier=job["noise"],
            max_grad_norm=1.0,
        )
        for _ in range(job["epochs"]):
            for part, label in loader:
                optimizer.zero_grad()
                torch.nn.functional.cross_entropy(model(part), label).backward()
                optimizer.step()
        with torch.no_grad():
            made.append(torch.softmax(model(xt).double(), 1).numpy())
    return made


def _late(*_: Any) -> None:
    raise TimeoutError


def main() -> None:
    warnings.filterwarnings("ignore")
    signal.signal(signal.SIGPROF, _late)
    for line in sys.stdin:
        job = json.loads(line)
        with np.load(Path(job["folder"]) / "rows.npz") as pack:
            rows = dict(pack)
        signal.setitimer(signal.ITIMER_PROF, job["seconds"])
        try:
            np.save(Path(job["folder"]) / "p.npy", {"diffprivlib": diffprivlib, "DP-EBM": dp_ebm, "Opacus": opacus}[job["peer"]](job, rows))  # fmt: skip
            said = "done"
        except Exception as error:  # said in the table as a cell that is not there
            said = f"{type(error).__name__}: {error}".replace("\n", " ")[:200]
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        print(said, flush=True)


if __name__ == "__main__":
    main()
