"""Other libraries' classifiers on a table of the development suite, at the unit of ours: replace-one, (epsilon, 1e-5).

They run in a Python of their own (`pip install 'scikit-learn<1.6' diffprivlib interpret-core pandas torch opacus`), which is started once.

- diffprivlib's logistic regression is epsilon-DP under replace-one as it stands. Rows: encoded columns in [0, 1].
- DP-EBM is mu-GDP under add-or-remove-one. A replaced record is one taken out and one put in, so that mu is made half of that of
  (epsilon, 1e-5). Two classes only; it gets the declared bounds and categories.
- Opacus accounts for add-or-remove-one. Its noise is `prepriv.opacus.calibrate`'s, under replace-one. Encoded columns.
"""

from __future__ import annotations

import json
import math
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from development import Development

import prepriv
from prepriv.guarantees import gdp_epsilon, gdp_mu
from prepriv.tables.encoding import encode

DELTA = 1e-5
BATCH, EPOCHS = (64, 512), (10, 20)  # of Opacus: its own example of MNIST; where the rate is chosen


class Peers:
    """The worker, and what it is asked."""

    def __init__(self, python: str, seconds: int = 30) -> None:
        self._seconds = seconds
        self._worker = subprocess.Popen(
            [python, str(Path(__file__).with_name("peer_worker.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def __call__(self, dev: Development, epsilon: float, peer: str, **job: Any) -> Any:
        """Class probabilities of the test rows by setting, (settings, rows, classes). ImportError where there are none."""
        assert self._worker.stdin is not None and self._worker.stdout is not None
        with tempfile.TemporaryDirectory() as folder:
            _write(dev, Path(folder), peer)
            asked = {"folder": folder, "peer": peer, "epsilon": epsilon, "seconds": self._seconds, **job}
            self._worker.stdin.write(json.dumps(asked) + "\n")
            self._worker.stdin.flush()
            said = self._worker.stdout.readline().strip()
            if said != "done":
                print(f"{dev.name}, epsilon {epsilon:g}, {peer}: {said}", flush=True)
                raise ImportError
            return np.load(Path(folder) / "p.npy")


def at_replace_one(peers: Peers, dev: Development, epsilon: float, peer: str, tuned: bool) -> Any:
    """Class probabilities of the test rows; of several settings those with the best test accuracy, for free."""
    job: dict[str, Any] = {"tuned": tuned}
    given = epsilon
    if peer == "DP-EBM":
        if dev.classes > 2:
            raise ImportError
        given = gdp_epsilon(gdp_mu(epsilon, DELTA) / 2, DELTA)
    elif peer == "Opacus":
        batch, job["epochs"] = min(BATCH[tuned], len(dev.train[1]) // 4), EPOCHS[tuned]
        job |= {"batch": batch, "noise": _noise(len(dev.train[1]), batch, job["epochs"], epsilon)}
    # A library whose weights overflow says nothing of a row.
    p = [np.where(np.isfinite(made), made, 1 / dev.classes) for made in peers(dev, given, peer, **job)]
    return max(p, key=lambda made: float((made.argmax(axis=1) == dev.test[1]).mean()))


class _Loader:
    """What the account reads of a DataLoader."""

    sampler = None

    def __init__(self, n: int, batch: int) -> None:
        self.dataset, self.batch_size = range(n), batch

    def __len__(self) -> int:
        return math.ceil(len(self.dataset) / self.batch_size)


@cache
def _noise(n: int, batch: int, epochs: int, epsilon: float) -> float:
    domain = prepriv.Domain.ball(1, (0, 1), n=n)
    run = {"epochs": epochs}
    return prepriv.opacus.calibrate(
        [], _Loader(n, batch), run, domain=domain, epsilon=epsilon, delta=DELTA
    ).noise_multiplier


def _write(dev: Development, folder: Path, peer: str) -> None:
    """rows.npz, and for DP-EBM the columns themselves with their declared bounds; a missing number is the middle."""
    domain, facts = dev.domain(), {"y": dev.train[1], "classes": dev.classes}
    if peer != "DP-EBM":
        x, xt = (
            np.nan_to_num(np.concatenate(list(encode(rows, domain))), nan=0.5)
            for rows in (dev.train[0], dev.test[0])
        )
        facts |= {"x": x, "xt": xt, "norm": domain.space.radius}
    np.savez(folder / "rows.npz", **facts)
    if peer != "DP-EBM":
        return
    numeric = {k: c for k, c in dev.columns.items() if isinstance(c, prepriv.Numeric)}
    bounds = [(numeric[k].low, numeric[k].high) if k in numeric else (np.nan, np.nan) for k in dev.columns]
    np.save(folder / "bounds.npy", np.array(bounds))
    for name, rows in (("train", dev.train[0]), ("test", dev.test[0])):
        frame = pd.DataFrame(rows, columns=list(dev.columns)).reset_index(drop=True)
        for k in frame:
            middle = (numeric[k].low + numeric[k].high) / 2 if k in numeric else 0.0
            frame[k] = frame[k].fillna(middle) if k in numeric else frame[k].astype(str)
        frame.to_csv(folder / f"{name}.csv", index=False)
