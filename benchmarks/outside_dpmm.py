"""dpmm, recorded and played: run by outside_peers.py.

MST on three columns of declared classes, two of which are bins that we cut; its own binning is not run. Recorded are the counts that it
hands to its Gaussian noise and the scores of its exponential mechanism. With the same outputs handed back, tables, scales and candidates must
be the same; the counts of one `measure`, each in units of its scale, may together move by 1/sigma for each record added or removed,
which is a third of the zCDP that the model takes; scores by their declared sensitivity.
"""

from __future__ import annotations

import math
from importlib.metadata import version
from typing import Any

import numpy as np
import pandas as pd
from dpmm.models import mst
from dpmm.models.base.mechanisms import mechanism
from outside_peers import Differs, compare

Call = tuple[Any, Any, Any]  # what is declared, input, output


ESTIMATE = mst.FactoredInference
mst.FactoredInference = lambda domain, iters: ESTIMATE(domain, iters=20)  # not 2,500: half a minute a table


class Recorded(mst.MST):
    """Its three draws go through a recorder."""

    calls: list[Call]
    played: list[Call] | None
    changed: int
    moved: float

    def _draw(self, declared: Any, exact: Any, honest: Any) -> tuple[Any, Any]:
        """The output, and how each number of the input moves."""
        at, output, gap = len(self.calls), honest(), np.zeros(1)
        if self.played is not None:
            if at >= len(self.played):
                raise Differs("a call more")
            had, before, output = self.played[at]
            if had != declared or before.shape != exact.shape:
                raise Differs(f"{had} and {declared}")
            gap = before - exact
        self.calls.append((declared, exact, output))
        return output, gap

    def _measure(self, data: Any, proj: Any, wgt: Any, flatten: Any = None, public: bool = False) -> Any:
        flat = self.compress if flatten is None else flatten
        exact, scale = data.project(list(proj)).datavector(flatten=flat), self.sigma / wgt
        parent = super()._measure
        output, gap = self._draw(
            (tuple(proj), scale), exact, lambda: parent(data, proj, wgt, flatten, public)[1]
        )
        self.moved += float((gap**2).sum()) / scale**2
        return mechanism.sparse.eye(exact.size), output, self.sigma, proj

    def measure(self, *args: Any, **rest: Any) -> Any:
        """As its parent; together, the counts may move so far."""
        self.moved = 0.0
        found = super().measure(*args, **rest)
        if math.sqrt(self.moved) > self.changed / self.sigma * (1 + 1e-9):
            raise Differs(
                f"counts move by {math.sqrt(self.moved):.4g}, declared {self.changed / self.sigma:.4g}"
            )
        return found

    def exponential_mechanism(self, q: Any, eps: float, sensitivity: float, monotonic: bool = False) -> int:
        """As its parent, recorded."""
        parent = super().exponential_mechanism
        output, gap = self._draw(("a choice", eps, sensitivity), q, lambda: parent(q, eps, sensitivity))
        if np.abs(gap).max() > sensitivity * self.changed * (1 + 1e-9) + 1e-6:
            raise Differs(
                f"scores move by {np.abs(gap).max():.4g}, declared {sensitivity * self.changed:.4g}"
            )
        return output


def run(compress: bool, x: Any, y: Any, played: list[Call] | None = None, changed: int = 0) -> list[Call]:
    """One fit."""
    cut = (np.nan_to_num(x, nan=0.5) * 5).clip(0, 4).astype(int)
    model = Recorded(
        epsilon=1.0,
        delta=1e-5,
        n_iters=10,
        compress=compress,
        domain={"a": 5, "b": 5, "label": 3},
        prng=np.random.RandomState(1),
        n_jobs=1,
    )
    model.calls, model.played, model.changed = [], played, changed
    model.fit(pd.DataFrame({"a": cut[:, 0], "b": cut[:, 1], "label": y}))
    return model.calls


if __name__ == "__main__":
    compare(f"dpmm {version('dpmm')}", {"MST": False, "MST, compressed": True}, run, fewer=True)
