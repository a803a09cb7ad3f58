"""From noisy tables (code, class) of each column to probabilities: all of it follows from what was released."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prepriv._arrays import Floats

RARE = 2.0  # deviations of the noise of a code's count below which it is taken for noise (docs/sketch.md)
_SURELY = 3.0  # the same of gaps and of other, which many columns have none of: of a dozen such columns one in four would show some


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


def _within(there: NDArray[np.bool_], values: Floats, total: float) -> Floats:
    """`on_simplex` of those that are there; the others stay 0."""
    found = np.zeros(len(values))
    found[there] = on_simplex(values[there], total)
    return found


def without_lost(table: Floats, sigma: float, categories: bool) -> Floats:
    """The same counts (S, K), where what does not stand out of the noise is not there: a rare category counts as other, the last but one,
    and rare gaps, the last, as none. Of codes that are met rarely noise alone says what goes with them."""
    found, wanted = np.array(table), RARE * sigma * math.sqrt(table.shape[1])
    lost = np.flatnonzero(found[:-2].sum(axis=1) < wanted) if categories else np.zeros(0, dtype=np.intp)
    if len(lost):
        found[-2] += found[lost].sum(axis=0)
        found[lost] = 0.0
    wanted *= _SURELY / RARE
    if categories and found[-2].sum() < wanted * math.sqrt(len(lost) + 1):
        found[-2] = 0.0
    if found[-1].sum() < wanted:
        found[-1] = 0.0
    return found if found.any() else np.array(table)


def shape_of(
    noisy: Sequence[Floats], sigma: float, n: float | None, categories: Sequence[bool]
) -> SketchShape:
    """Probabilities of noisy tables, (S_i, K) each. n: where it is public. categories: which columns have a code for "other".

    Codes within the noise are left out (`without_lost`). The dependence of a column on the class is shrunk by what noise alone would show (positive-part James-Stein), then each
    class is brought to counts that are not negative and add up.
    """
    weights = np.array([1 / len(table) for table in noisy])
    if n is None:
        n = max(1.0, float(sum(w * table.sum() for w, table in zip(weights, noisy)) / weights.sum()))
    pooled = sum(w * table.sum(axis=0) for w, table in zip(weights, noisy)) / weights.sum()
    classes = on_simplex(np.asarray(pooled), n) / n
    given, kept = [], []
    for counted, named in zip(noisy, categories, strict=True):
        table = without_lost(counted, sigma, named)
        there = np.asarray(table.any(axis=1))
        # A declared one that was left out is met as often in each class; gaps and other that were, not at all.
        declared = there.copy()
        declared[: len(table) - 1 - named] = True
        alone = _within(declared, table.sum(axis=1), n) / n
        rest = np.where(there, 0.0, alone)
        base = n * alone[:, None] * classes[None, :]
        size, free = float(((table - base) ** 2).sum()), len(table) * (len(classes) - 1)
        share = max(0.0, 1 - free * sigma**2 / size) if size > 0 else float(free == 0)
        shrunk = base + share * (table - base)
        inside = [
            rest + _within(there, shrunk[:, y], n * p) / (n * p) * (1 - rest.sum()) if p > 0 else alone
            for y, p in enumerate(classes)
        ]
        given.append(np.column_stack(inside))
        kept.append(share)
    return SketchShape(n, classes, tuple(given), tuple(kept))
