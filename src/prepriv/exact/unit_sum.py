"""The same exact sum where several rows are one person's: their gradients are added up, and that sum is clipped as one.

Rows of a unit stand together. What a unit contributes is a function of its own rows, bit by bit, and of norm at most the
clip: so a sum moves by as much as it does for single records, however many rows a unit has (docs/proofs/units.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prepriv.exact.gradient_sum import (
    GradientSum,
    QuantizedRows,
    ScoreLoss,
    block_rows,
    clipped_residuals,
    residuals_of,
)
from prepriv.exact.grid import MARGIN, IntegerGrid

_Numbers = NDArray[np.int64]
_CELLS = 2**20  # of rows whose products are taken at a time


def ranges(starts: _Numbers, counts: _Numbers) -> _Numbers:
    """start, start + 1, ..., `count` of them, one range after another."""
    offset = np.repeat(starts - (np.cumsum(counts) - counts), counts)
    return np.asarray(offset + np.arange(len(offset)))


class UnitRows(QuantizedRows):
    """Rows as integers, unit by unit. sizes: (units,) rows of each, 0 for one that has none."""

    def __init__(
        self,
        grid: IntegerGrid,
        sizes: _Numbers,
        d: int,
        bias: float,
        *,
        threads: int | None = None,
        empty: Callable[..., NDArray[Any]] = np.zeros,
    ) -> None:
        super().__init__(grid, int(sizes.sum()), d, bias, threads=threads, empty=empty)
        self.shape = len(sizes), d + 1  # of units: what a learner counts, and draws
        self.sizes = sizes
        self.starts = np.cumsum(sizes) - sizes

    def gradient_sum(self, loss: ScoreLoss, threads: int | None = None) -> UnitSum:
        return UnitSum(self, loss, threads=threads or self.threads)

    @cached_property
    def pairs(self) -> tuple[_Numbers, _Numbers, NDArray[np.float64]]:
        """(first pair of each row, how many it has, ⟨x_i, x_j⟩ of each): of row i with each j >= i of its unit. Exact."""
        rows = np.arange(self.x.shape[0])
        count = np.repeat(self.starts + self.sizes, self.sizes) - rows
        first = np.cumsum(count) - count
        products = np.empty(int(count.sum()))
        size = max(1, _CELLS // (self.x.shape[1] * int(count.max(initial=1))))
        for start in range(0, len(rows), size):
            at = rows[start : start + size]
            left, right = np.repeat(at, count[at]), ranges(at, count[at])
            both = self.x[left].astype(np.float64) * self.x[right]
            products[first[at[0]] : first[at[0]] + len(left)] = both.sum(
                axis=1
            )  # integers: exact in any order
        return first, count, products


class UnitSum(GradientSum):
    """Sums over units, of the gradients of a unit together, clipped as one; an index numbers units.

    A loss that says `averages` has them divided by their number first.
    """

    _rows: UnitRows

    def __enter__(self) -> UnitSum:
        _ = self._rows.pairs  # before the threads ask for them
        super().__enter__()
        return self

    def blocks(
        self, index: NDArray[np.intp] | None, features: int, size: int | None = None
    ) -> Iterable[_Numbers]:
        """Row numbers, of whole units, at most `size` of them, or those of one."""
        units = np.arange(len(self._rows.sizes)) if index is None else index
        size = size or block_rows(features, self._rows.grid.block, len(units), self._threads)
        size = max(size, int(self._rows.sizes.max(initial=0)))
        ends = np.cumsum(self._rows.sizes[units])
        start, done = 0, 0
        while start < len(units):
            stop = int(np.searchsorted(ends, done + size, side="right"))
            mine = units[start:stop]
            yield ranges(self._rows.starts[mine], self._rows.sizes[mine])
            start, done = stop, int(ends[stop - 1])

    def residuals(
        self, scores: NDArray[np.float64], targets: NDArray[Any], at: _Numbers, bits: int
    ) -> NDArray[np.float64]:
        """Residuals as integers, each row within the clip; then all rows of a unit, as one, within the clip."""
        rows, grid = self._rows, self._rows.grid
        first, count, products = rows.pairs
        own = count[at]  # how many rows of the unit come from here on: 1 at its last row
        units = np.cumsum(own == 1) - (own == 1)  # number of each row's unit in this block
        size = np.bincount(units)
        loss = _Averaged(self._loss, size[units]) if getattr(self._loss, "averages", False) else self._loss
        residual = clipped_residuals(scores, targets, rows.norms[at], grid, bits, loss).T
        norm = _unit_norms(residual, own, units, products[ranges(first[at], own)], size, grid.clip)
        reach = np.bincount(units, weights=rows.norms[at])
        # Cutting a residual to integers moves its row's gradient by at most sqrt(K) norms of that row.
        room = grid.clip * (1 - MARGIN) - math.sqrt(residual.shape[1]) * reach
        scale = np.where(norm <= grid.clip * (1 - MARGIN), 1.0, np.maximum(room, 0.0) / np.maximum(norm, 1.0))
        residual *= scale[units][:, None]
        return np.trunc(residual, out=residual).T


@dataclass(frozen=True, eq=False)
class _Averaged:
    """A loss of which each row counts for one part of so many."""

    loss: ScoreLoss
    of: _Numbers

    def residual(
        self, scores: NDArray[np.float64], targets: NDArray[Any], out: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]:
        return np.divide(residuals_of(self.loss, scores, targets), self.of[:, None], out=out)


def _unit_norms(
    residual: NDArray[np.float64],
    own: _Numbers,
    units: _Numbers,
    products: NDArray[np.float64],
    size: _Numbers,
    clip: int,
) -> NDArray[np.float64]:
    """Norm of each unit's gradient, the sum of r_i ⊗ x_i over its rows, rounded up: ‖·‖² = Σ_ij ⟨x_i, x_j⟩⟨r_i, r_j⟩.

    Every operation is one of numbers of the unit, in a fixed order.
    """
    here = np.arange(len(own))
    left, right = np.repeat(here, own), ranges(here, own)
    dots = np.zeros(len(left))
    for k in range(residual.shape[1]):
        dots += residual[left, k] * residual[right, k]
    dots *= products
    dots[left != right] *= 2.0
    square = np.bincount(units[left], weights=dots)
    # Float rounding: each of the size² terms is at most clip², and bincount adds a unit's pairs up one after another.
    roundings = residual.shape[1] + size * (size + 1) / 2 + 8
    error = roundings * size**2 * 2.0**-52 * float(clip) ** 2
    return np.sqrt(np.maximum(square, 0.0) + error)
