"""How far from 0 features stand that a pipeline centres by rows drawn from a sketch. Proof: docs/proofs/gradient_descent.md, "Means of drawn rows"."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from prepriv._arrays import Floats
from prepriv.columns import Categorical, Column
from prepriv.preprocessing.compiled import CompiledMap
from prepriv.sketches.fine_grid import cells_of
from prepriv.sketches.sketch_plan import SketchPlan

_MOST_OF_ITS_RANGE = 0.9
"""Of the range of a feature, within one fine cell of a number: then nearly all records have one cell of it."""


def sketched_means(plan: SketchPlan, released: CompiledMap) -> tuple[Floats, NDArray[np.bool_]]:
    """(About how far from 0 the mean of each feature over the records is, where that of drawn rows is 0; whether a feature may be the same in nearly
    all records), (features,) each.

    Counts have noise, so that some drawn rows have cells which no record has, and each moves a mean by as much as its feature is there. And a sketch does
    not say where in a fine cell numbers lie: a feature of a number that is one value in nearly all records has its whole range within that cell.
    A feature that several columns make counts from its middle as one of them changes. What is declared and the map say it; no sketch is read.
    """
    noise = plan.noise("tables") * math.sqrt(plan.classes) / plan.n
    columns, within = np.zeros(released.features), np.zeros(released.features)
    from_zero, from_middle = np.zeros(released.features), np.zeros(released.features)
    for codes, edges in _one_at_a_time(plan):
        made = released.transform(codes)
        varies = np.ptp(made, axis=0) > 0.0
        from_zero += np.where(varies, np.square(made).sum(axis=0), 0.0)
        from_middle += np.where(varies, np.square(made - made.mean(axis=0)).sum(axis=0), 0.0)
        jumps = np.abs(np.diff(released.transform(edges), axis=0)).max(axis=0) if len(edges) else 0.0 * within
        columns += varies | (jumps > 0.0)
        within = np.maximum(within, 0.5 * jumps)
    counts = noise * np.sqrt(np.where(columns > 1, from_middle, from_zero))
    return np.asarray(np.hypot(counts, within)), 2.0 * within >= _MOST_OF_ITS_RANGE


def _one_at_a_time(plan: SketchPlan) -> Iterator[tuple[Floats, Floats]]:
    """For each column of the domain encoded rows that differ in it alone: (one for each code of its table but gaps; one for each edge of its fine
    cells, none of a category)."""
    columns = plan.domain.columns
    parts = [np.eye(c.width)[0] if isinstance(c, Categorical) else np.array([0.5]) for c in columns.values()]
    base, start = np.hstack(parts), 0
    for (name, column), codes in zip(plan.columns.items(), plan.rows, strict=True):
        if name in columns:  # else a target
            at = slice(start, start := start + column.width)
            even = (np.arange(codes - 2) + 0.5) / (codes - 2)
            of_codes = np.eye(column.width) if isinstance(column, Categorical) else even[:, None]
            yield _rows(base, at, of_codes), _rows(base, at, _edges(column))


def _edges(column: Column) -> Floats:
    return np.zeros((0, column.width)) if isinstance(column, Categorical) else cells_of(column)[:, None]


def _rows(base: Floats, at: slice, cells: Floats) -> Floats:
    rows = np.tile(base, (len(cells), 1))
    rows[:, at] = cells
    return rows
