"""From noisy tables (code, class) of each column to probabilities: all of it follows from what was released."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from prepriv._arrays import Floats


@dataclass(frozen=True, eq=False)
class SketchShape:
    """What the noisy tables say. n: records; classes: (K,) probabilities; given: for each column (S, K), of its codes within
    each class; kept: for each column, how much of its dependence on the class stood out of the noise, 0 to 1."""

    n: float
    classes: Floats
    given: tuple[Floats, ...]
    kept: tuple[float, ...]

    @property
    def signal(self) -> float:
        """The mean of `kept`: 1 where there is one class, and nothing to depend on."""
        return float(np.mean(self.kept))


def on_simplex(values: Floats, total: float) -> Floats:
    """The nearest vector of numbers that are not negative and add up to total, (n,)."""
    ordered = np.sort(values)[::-1]
    over = (np.cumsum(ordered) - total) / np.arange(1, len(values) + 1)
    last = np.flatnonzero(ordered - over > 0)
    theta = over[last[-1]] if len(last) else over[-1]
    found = np.maximum(values - theta, 0.0)
    whole = float(found.sum())
    return found * (total / whole) if whole > 0 else np.full(len(values), total / len(values))


def shape_of(noisy: Sequence[Floats], sigma: float, n: float | None) -> SketchShape:
    """Probabilities of noisy tables, (S_i, K) each. n: where it is public.

    The dependence of a column on the class is shrunk by what noise alone would show (positive-part James-Stein), then each
    class is brought to counts that are not negative and add up.
    """
    weights = np.array([1 / len(table) for table in noisy])
    if n is None:
        n = max(1.0, float(sum(w * table.sum() for w, table in zip(weights, noisy)) / weights.sum()))
    pooled = sum(w * table.sum(axis=0) for w, table in zip(weights, noisy)) / weights.sum()
    classes = on_simplex(np.asarray(pooled), n) / n
    given, kept = [], []
    for table in noisy:
        alone = on_simplex(table.sum(axis=1), n) / n
        base = n * alone[:, None] * classes[None, :]
        size, free = float(((table - base) ** 2).sum()), len(table) * (len(classes) - 1)
        share = max(0.0, 1 - free * sigma**2 / size) if size > 0 else float(free == 0)
        shrunk = base + share * (table - base)
        inside = [
            on_simplex(shrunk[:, y], n * p) / (n * p) if p > 0 else alone for y, p in enumerate(classes)
        ]
        given.append(np.column_stack(inside))
        kept.append(share)
    return SketchShape(n, classes, tuple(given), tuple(kept))
