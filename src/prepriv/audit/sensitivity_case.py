"""One attack target: a step or a chain of steps, what is declared about the rows, and what may come in.

A pair of neighbours is run through the chain as `pipeline/run.py` would: steps paid for by sensitivity are
fitted on each data set by itself, every other map is one and the same for both.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from prepriv import payment as pay
from prepriv.domain import Space
from prepriv.preprocessing.base import UNTOUCHED, FittedMap, Floats, Rows, Sensitivity, Step

QUANTITIES = ("rows_moved", "row_shift", "total_shift", "rows_dropped")


@dataclass(frozen=True, eq=False)
class Pair:
    """Two data sets: row 0 differs freely, the others by at most what may come in.

    first, second: (n, d) rows of the declared space. gone: (n,) rows 1, 2, ... that the second has lost.
    """

    first: Floats
    second: Floats
    gone: NDArray[np.bool_]

    @property
    def n(self) -> int:
        """Number of records."""
        return len(self.first)


@dataclass(frozen=True, eq=False)
class Case:
    """What is attacked.

    steps: one step, or a chain. space, n: declared. incoming: how far apart the common rows may be before the
    first step (to attack `sensitivity(..., incoming)` without building the steps that cause it).
    hints: numbers that structured data sets are built from: "scale" (a radius eta), "missing" (share of the
    records that miss a cell), "spread" (a standard deviation); "big" sets the n of the structured sets alone.
    paper: the paper's bound for a given pair, where it has been found false.
    """

    name: str
    steps: tuple[Step, ...]
    space: Space
    n: int
    incoming: Sensitivity = UNTOUCHED
    hints: Mapping[str, float] = field(default_factory=dict)
    paper: Callable[[Pair], Sensitivity] | None = None

    def bound(self) -> Sensitivity:
        """What the library declares goes out of the chain."""
        space, going = self.space, self.incoming
        for step in self.steps:
            if isinstance(step.payment, pay.Sensitivity):
                going = step.sensitivity(space, self.n, going)
            else:
                going = step.carry(space, going)
            space = step.output(space)
        return going

    def measure(self, pair: Pair) -> Sensitivity | None:
        """How far apart the common rows of a pair end up; None if a declared condition does not hold."""
        x, y = pair.first, np.where(pair.gone[:, None], 0.0, pair.second)
        stays, remains = np.ones(pair.n, dtype=bool), ~pair.gone
        space = self.space
        for step in self.steps:
            if isinstance(step.payment, pay.Sensitivity):
                if not (self._holds(step, x, space) and self._holds(step, y, space)):
                    return None
                f: FittedMap = step.fit_confidential([x], space, self.n)
                g: FittedMap = step.fit_confidential([y], space, self.n)
            else:
                f = g = _fixed(step, x, space, self.n)
            x, stays = _through(f, x, stays)
            y, remains = _through(g, y, remains)
            space = step.output(space)
        return _apart(x, y, stays, remains)

    def _holds(self, step: Step, x: Floats, space: Space) -> bool:
        return step.distance([x], space, self.n) > 0


def _fixed(step: Step, x: Floats, space: Space, n: int) -> FittedMap:
    """The map of a step that is the same for both: free, public, or as released (here without noise)."""
    if step.payment is None:
        return step.free(space)
    if isinstance(step.payment, pay.Public):
        return step.fit_public([x], space, n)
    return step.fit_budget([x], space, n, _exact_sum)


def _exact_sum(rows: Rows, *, dim: int, radius: float) -> Floats:
    total = np.zeros(dim)
    for block in rows:
        norms = np.sqrt(np.einsum("ij,ij->i", block, block))
        total += (block * np.minimum(1.0, radius / np.maximum(norms, radius))[:, None]).sum(axis=0)
    return total


def _through(fitted: FittedMap, x: Floats, stays: NDArray[np.bool_]) -> tuple[Floats, NDArray[np.bool_]]:
    keep = fitted.keep(x, 0)
    y = fitted.transform(x)
    if keep is not None:
        stays = stays & keep
    return np.where(stays[:, None], y, 0.0), stays


def _apart(x: Floats, y: Floats, stays: NDArray[np.bool_], remains: NDArray[np.bool_]) -> Sensitivity:
    """The four numbers for rows 1, 2, ...; a cell missing from both does not count."""
    both = stays & remains
    both[0] = False
    gap = np.nan_to_num(x[both] - y[both])
    far = np.sqrt(np.einsum("ij,ij->i", gap, gap))
    dropped = float((stays[1:] != remains[1:]).sum())
    if not len(far):
        return Sensitivity(rows_dropped=dropped)
    return Sensitivity(float((far > 0).sum()), float(far.max()), math.fsum(far), dropped)
