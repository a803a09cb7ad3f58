"""diffprivlib, recorded and played: run by outside_peers.py. It needs the scikit-learn that it imports with (1.5).

Every mechanism of `diffprivlib.mechanisms` is recorded. With the same outputs handed back, all calls must have the same class and the
same parameters, in the same order, and no input may move further than the declared sensitivity.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import diffprivlib
import numpy as np
from diffprivlib import mechanisms, models, tools
from outside_peers import Differs, compare

Call = tuple[str, dict[str, Any], Any, Any]  # class, parameters, input, output
LOOSE = 1 + 1e-9  # of a sensitivity: the rounding of sums


class Recorder:
    """Records the calls of one run, or plays them in another."""

    def __init__(self, played: list[Call] | None = None) -> None:
        self.calls: list[Call] = []
        self.played = played
        self.inside = False

    def call(self, mechanism: Any, honest: Callable[..., Any], value: Any = None) -> Any:
        """One draw; what a mechanism asks of its parent class is a part of it."""
        if self.inside:
            return honest(mechanism) if value is None else honest(mechanism, value)
        self.inside = True
        try:
            return self._outer(mechanism, honest, value)
        finally:
            self.inside = False

    def _outer(self, mechanism: Any, honest: Callable[..., Any], value: Any) -> Any:
        name = type(mechanism).__name__
        parameters = {
            key: found
            for key, found in vars(mechanism).items()
            if isinstance(found, int | float | str | bool | tuple) and not key.startswith("_")
        }
        output = honest(mechanism) if value is None else honest(mechanism, value)
        if self.played is not None:  # the draw above moves the generator on, as on the other side
            if len(self.calls) >= len(self.played):
                raise Differs(f"a call more of {name}")
            was, had, before, output = self.played[len(self.calls)]
            if was != name:
                raise Differs(f"{was} on one side, {name} on the other")
            apart = [key for key in had if not np.array_equal(had[key], parameters.get(key), equal_nan=True)]
            if apart:
                raise Differs(f"{name}: {apart[0]} is {had[apart[0]]} and {parameters.get(apart[0])}")
            moved = _distance(before, value)
            if "sensitivity" in parameters and moved > parameters["sensitivity"] * LOOSE:
                raise Differs(
                    f"{name}: its input moves by {moved:.4g}, declared {parameters['sensitivity']:.4g}"
                )
        self.calls.append((name, parameters, value, output))
        return output


def _distance(a: Any, b: Any) -> float:
    """Of inputs that are numbers; 0 of others, which are not compared."""
    if isinstance(a, int | float | np.number) and isinstance(b, int | float | np.number):
        gap = abs(float(a) - float(b))
        return gap if np.isfinite(gap) else float("inf")
    return 0.0


def run(
    work: Callable[[Any, Any], Any], x: Any, y: Any, played: list[Call] | None = None, changed: int = 0
) -> list[Call]:
    """One run, each mechanism through a recorder."""
    recorder, honest = Recorder(played), {}
    for kind in {k for _, k in inspect.getmembers(mechanisms, inspect.isclass) if "randomise" in vars(k)}:
        honest[kind] = kind.randomise

        def through(self: Any, *value: Any, _kind: Any = kind) -> Any:
            return recorder.call(self, honest[_kind], *value)

        kind.randomise = through
    try:
        work(x, y)
    finally:
        for kind, method in honest.items():
            kind.randomise = method
    if played is not None and len(recorder.calls) < len(played):
        raise Differs(f"{len(played)} calls on one side, {len(recorder.calls)} on the other")
    return recorder.calls


LOW, HIGH = np.zeros(2), np.ones(2)
WORK: dict[str, Callable[[Any, Any], Any]] = {
    "tools.mean": lambda x, y: tools.mean(x[:, 0], bounds=(0, 1), random_state=1),
    "tools.var": lambda x, y: tools.var(x[:, 0], bounds=(0, 1), random_state=1),
    "tools.histogram": lambda x, y: tools.histogram(x[:, 0], bins=5, range=(0, 1), random_state=1),
    "StandardScaler": lambda x, y: models.StandardScaler(bounds=(LOW, HIGH), random_state=1).fit(x),
    "PCA": lambda x, y: models.PCA(1, data_norm=1.5, bounds=(LOW, HIGH), random_state=1).fit(x),
    "GaussianNB": lambda x, y: models.GaussianNB(bounds=(LOW, HIGH), random_state=1).fit(x, y),
    "LinearRegression": lambda x, y: models.LinearRegression(
        bounds_X=(LOW, HIGH), bounds_y=(0, 2), random_state=1
    ).fit(x, y),
    "LogisticRegression": lambda x, y: models.LogisticRegression(data_norm=1.5, random_state=1).fit(x, y),
    "KMeans": lambda x, y: models.KMeans(2, bounds=(LOW, HIGH), random_state=1).fit(x),
    "RandomForestClassifier": lambda x, y: models.RandomForestClassifier(
        n_estimators=2, bounds=(LOW, HIGH), classes=[0, 1, 2], random_state=1
    ).fit(x, y),
}


if __name__ == "__main__":
    compare(f"diffprivlib {diffprivlib.__version__}", WORK, run, fewer=False)
