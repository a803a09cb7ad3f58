"""The one place where a sketch reads private rows: three exact sums, each released by its mechanism through the session."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from prepriv._arrays import Floats
from prepriv.columns import Categorical, Numeric
from prepriv.domain import TARGET_STEPS
from prepriv.mechanisms._counts import COUNT_BITS
from prepriv.mechanisms.session import Session
from prepriv.sketches.fine_grid import cell_codes, cells_of
from prepriv.sketches.pairs import Codes, integer_scores, integer_tables, product_sum
from prepriv.sketches.sketch_plan import SketchPlan
from prepriv.sketches.tablesketch import TableSketch, edges_of
from prepriv.tables.table import Table
from prepriv.tables.units import UnitTable


def release_sketch(
    plan: SketchPlan, rows: Table, labels: NDArray[np.integer], session: Session, name: str = "sketch"
) -> TableSketch:
    """What leaves of encoded rows (those of units with all that are read) and what is learned of them, by the events of the plan,
    each released under the name with its own in brackets."""
    if isinstance(rows, UnitTable):
        labels, rows = rows.labels, rows.every
    read = _Reader(plan, rows, np.asarray(labels))
    fine = None
    if "bins" in plan.mechanisms:
        fine = session.release(f"{name} (bins)", plan.mechanisms["bins"], read.cells() << COUNT_BITS)
    edges = edges_of(plan, fine)
    exact = read.tables(edges)
    flat = session.release(f"{name} (tables)", plan.mechanisms["tables"], exact << COUNT_BITS)
    sketch = TableSketch.of(plan, fine, flat)
    if "pairs" not in plan.mechanisms:
        return sketch
    products = read.products(sketch)
    return sketch.with_pairs(session.release(f"{name} (pairs)", plan.mechanisms["pairs"], products))


class _Reader:
    """Exact sums over blocks of encoded rows. What a row adds to a sum is a function of that row alone."""

    def __init__(self, plan: SketchPlan, rows: Table, labels: NDArray[np.integer]) -> None:
        self.plan, self.rows, self.targets = plan, rows, labels
        self.kinds = list(plan.domain.columns.values())

    def _blocks(self) -> Iterator[tuple[list[NDArray], NDArray[np.integer]]]:
        """(for each counted column its numbers or its codes, classes): -1 for no declared class, 0 where none are asked for."""
        for start, block in self.rows.blocks():
            at, found = 0, []
            for kind in self.kinds:
                part = block[:, at : at + kind.width]
                found.append(part[:, 0] if isinstance(kind, Numeric) else part.argmax(axis=1))
                at += kind.width
            labels = self.targets[start : start + len(block)]
            if self.plan.domain.target is not None and len(found) < self.plan.d:
                found.append(np.where(labels < 0, np.nan, labels / TARGET_STEPS))
            if self.plan.classes == 1:
                labels = np.zeros(len(block), dtype=np.int64)
            yield found, labels

    def cells(self) -> Codes:
        """(cells of all numeric columns,) counts."""
        kinds = list(self.plan.columns.values())
        edges = [cells_of(kinds[i]) for i in self.plan.numeric]
        counts = [np.zeros(size, dtype=np.int64) for size in self.plan.cells]
        for columns, _ in self._blocks():
            for count, place, own in zip(counts, self.plan.numeric, edges):
                codes = cell_codes(columns[place], own)
                count += np.bincount(codes[codes >= 0], minlength=len(count))
        return np.concatenate(counts)

    def _codes(self, columns: list[NDArray], edges: tuple[Floats, ...]) -> Codes:
        """(b, d): bins or categories, the last code of each column for a missing cell."""
        own, kinds = iter(edges), list(self.plan.columns.values())
        found = []
        for kind, cells in zip(kinds, columns):
            if isinstance(kind, Categorical):
                found.append(cells)
                continue
            bins = next(own)
            codes = cell_codes(cells, bins)
            found.append(np.where(codes < 0, len(bins) - 1, codes))
        return np.column_stack(found).astype(np.int64)

    def tables(self, edges: tuple[Floats, ...]) -> Codes:
        """(codes of all columns times classes,) counts of (code, class); a row of no declared class counts nowhere."""
        plan = self.plan
        counts = [np.zeros((size, plan.classes), dtype=np.int64) for size in plan.rows]
        for columns, labels in self._blocks():
            codes, there = self._codes(columns, edges), labels >= 0
            for count, own in zip(counts, codes.T):
                flat = own[there] * plan.classes + labels[there]
                count += np.bincount(flat, minlength=count.size).reshape(count.shape)
        return np.concatenate([count.ravel() for count in counts])

    def products(self, sketch: TableSketch) -> Codes:
        """(d (d - 1) / 2,) sums of z_i z_j, i < j, in squared grid steps."""
        plan = self.plan
        tables = integer_tables(sketch.scores, plan.lattice)
        total = np.zeros((plan.d, plan.d), dtype=np.int64)
        for columns, labels in self._blocks():
            total += product_sum(
                integer_scores(self._codes(columns, sketch.edges), labels, tables, plan.lattice)
            )
        return total[np.triu_indices(plan.d, 1)]
