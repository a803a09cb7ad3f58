"""How far from 0 features stand that a pipeline centres by rows drawn from a sketch. Proof: docs/proofs/gradient_descent.md, "Means of drawn rows"."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from prepriv._arrays import Floats
from prepriv.columns import Categorical, Column
from prepriv.preprocessing.compiled import CompiledMap
from prepriv.sketches.fine_grid import cells_of
from prepriv.sketches.sketch_plan import SketchPlan


def sketched_means(plan: SketchPlan, released: CompiledMap) -> Floats:
    """About how far from 0 the mean of each feature over the records is, (features,), where that of drawn rows is 0.

    Counts have noise, so that some drawn rows have cells which no record has, and each moves a mean by as much as its feature is there. And a sketch does
    not say where in a fine cell numbers lie: a feature of a number that is one value in nearly all records has its whole range within that cell.
    A feature that several columns make counts from its middle as one of them changes. What is declared and the map say it; no sketch is read.
    """
    noise = plan.noise("tables") * math.sqrt(plan.classes) / plan.n
    columns = np.zeros(released.features)
    from_zero, from_middle = np.zeros(released.features), np.zeros(released.features)
    for rows in _one_at_a_time(plan, _codes):
        made = released.transform(rows)
        varies = np.ptp(made, axis=0) > 0.0
        columns += varies
        from_zero += np.where(varies, np.square(made).sum(axis=0), 0.0)
        from_middle += np.where(varies, np.square(made - made.mean(axis=0)).sum(axis=0), 0.0)
    counts = noise * np.sqrt(np.where(columns > 1, from_middle, from_zero))
    return np.asarray(np.hypot(counts, 0.5 * most_within_a_cell(plan, released)))


def most_within_a_cell(plan: SketchPlan, released: CompiledMap) -> Floats:
    """By how much each feature changes at most across one fine cell of a number, (features,). The range of a feature is 1."""
    most = np.zeros(released.features)
    for rows in _one_at_a_time(plan, _edges):
        most = np.maximum(most, np.abs(np.diff(released.transform(rows), axis=0)).max(axis=0, initial=0.0))
    return most


def range_between_cells(plan: SketchPlan, released: CompiledMap) -> Floats:
    """How far apart each feature is, at most, at the edges of the fine cells of a number, or of the categories of a column, (features,): 0 of a bin
    that lies within one cell, or that no drawn row was in."""
    most = np.zeros(released.features)
    for rows in _one_at_a_time(plan, _categories_or_edges):
        most = np.maximum(most, np.ptp(released.transform(rows), axis=0))
    return most


def _one_at_a_time(plan: SketchPlan, cells_of_one: Callable[[Column, int], Floats]) -> Iterator[Floats]:
    """For each column of the domain encoded rows that differ in it alone. cells_of_one: its cells, by the column and the number of codes of its table."""
    columns = plan.domain.columns
    parts = [np.eye(c.width)[0] if isinstance(c, Categorical) else np.array([0.5]) for c in columns.values()]
    base, start = np.hstack(parts), 0
    for (name, column), codes in zip(plan.columns.items(), plan.rows, strict=True):
        if name in columns:  # else a target
            cells = cells_of_one(column, codes)
            rows = np.tile(base, (len(cells), 1))
            rows[:, start : start + column.width] = cells
            start += column.width
            yield rows


def _codes(column: Column, codes: int) -> Floats:
    """A cell for each code but gaps: each category, or the middles of even bins."""
    return (
        np.eye(column.width)
        if isinstance(column, Categorical)
        else (np.arange(codes - 2) + 0.5)[:, None] / (codes - 2)
    )


def _edges(column: Column, _: int) -> Floats:
    """The edges of the fine cells of a number; the first category twice."""
    return np.eye(column.width)[[0, 0]] if isinstance(column, Categorical) else cells_of(column)[:, None]


def _categories_or_edges(column: Column, codes: int) -> Floats:
    """Each category, or the edges of the fine cells of a number."""
    return (_codes if isinstance(column, Categorical) else _edges)(column, codes)
