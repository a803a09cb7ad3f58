"""The clipped gradient sum of a linear model, exact in integers, one pass over blocks of rows.

The gradient of one record is residual ⊗ x: its norm is ‖residual‖·‖x‖, and the clipped sum over a block is
two thin matrix products. No per-record gradient is stored. Rows and residuals are integers, so products in
float64 are exact and the sum does not depend on the order of rows, blocks or threads
(docs/proofs/gradient_sum.md).
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from prepriv._blas import one_blas_thread
from prepriv._kinds import is_ours
from prepriv._quiet import silent
from prepriv.exact.ball import row_sum
from prepriv.exact.grid import EXACT, MARGIN, IntegerGrid

_CACHE = 1 << 19  # bytes of float64 rows that stay in the cache of one core beside what they were made from
_BLOCKS_A_THREAD = 3  # at least, where rows are added up by several threads
_SHOWN = 256  # records that a third-party loss is shown at a time
_PRODUCT = 1_000_000  # multiplications up to which BLAS has kernels that pack nothing,
_THIN = 16  # which is faster for so many outputs, at most


class ScoreLoss(Protocol):
    """What a sum of gradients needs of a loss: its derivative in the scores (`prepriv.learners.losses.Loss`)."""

    def residual(
        self, scores: NDArray[np.float64], targets: NDArray[Any], out: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]:
        """(b, K) of scores (b, K) and targets (b,), each row by itself."""


class QuantizedRows:
    """The training rows as integers: (n, d + 1) with the bias feature last, labels, and norms rounded up.

    threads: of a pass; None: one a core, at most 8. empty: makes the arrays, of zeros, from (shape, dtype).
    """

    def __init__(
        self,
        grid: IntegerGrid,
        n: int,
        d: int,
        bias: float,
        *,
        threads: int | None = None,
        empty: Callable[..., NDArray[Any]] = np.zeros,
    ) -> None:
        self.grid, self.threads = grid, threads
        self.shape = n, d + 1
        self.x = empty((n, d + 1), np.float32 if grid.fine else np.int16)
        self.norms = empty(n, np.float32)  # whole numbers below 2^24
        self.targets = empty(n, np.int32)
        self._bias = math.floor(bias * 2.0**grid.x_bits)

    soon: Callable[[NDArray[np.intp]], None] | None = None
    """Called with the numbers of rows that are read next: of a batch out of a file that no cache holds."""

    def fill(self, start: int, x: NDArray[np.float64], targets: NDArray[Any]) -> None:
        """Store a block of rows (b, d) and their class indices (b,); -1 marks a record that contributes 0.

        A row that is not finite or does not fit the declared norm is stored as a record that contributes 0:
        a rule for each row by itself, which never fails.
        """
        size = _part_rows(max(1, x.shape[1]))  # what is computed stays in the cache of a core
        for at in range(0, len(x), size):
            self._fill(start + at, x[at : at + size], targets[at : at + size])

    def _fill(self, start: int, x: NDArray[np.float64], targets: NDArray[Any]) -> None:
        grid, stop = self.grid, start + len(x)
        with np.errstate(invalid="ignore", over="ignore"):
            ints = x * (2.0**grid.x_bits * (1 - MARGIN))
            np.trunc(ints, out=ints)
            np.maximum(ints, -grid.norm, out=ints)
            np.minimum(ints, grid.norm, out=ints)
        squares = np.einsum("ij,ij->i", ints, ints) + float(self._bias) ** 2
        norms = np.ceil(np.sqrt(squares) * (1 + MARGIN))
        fits = norms <= grid.norm + 1  # False for NaN
        if not fits.all():
            ints[~fits] = 0.0
        self.x[start:stop, :-1] = ints
        self.x[start:stop, -1] = self._bias
        self.norms[start:stop] = np.where(fits, np.maximum(norms, 1.0), 1.0)
        self.targets[start:stop] = np.where(fits, targets, -1)

    def gradient_sum(self, loss: ScoreLoss, threads: int | None = None) -> GradientSum:
        """What a learner asks for sums at its weights, as a context manager. threads: others than its own."""
        return GradientSum(self, loss, threads=threads or self.threads)


def weights_to_grid(weights: NDArray[np.float64], grid: IntegerGrid) -> tuple[NDArray[np.float64], int]:
    """Weights as integers and their bits: so fine that every product sum with a row stays exact.

    By Cauchy-Schwarz each partial sum is at most norm(row) * norm(column). Truncation shrinks norms.
    """
    weights = np.clip(
        np.nan_to_num(weights), -1e150, 1e150
    )  # a run that was charged does not die of its noise
    norm = max(float(np.linalg.norm(weights)), 1e-30)
    bits = math.floor(EXACT - math.log2(grid.norm + 2) - math.log2(norm)) - 1
    return np.trunc(np.ldexp(weights, bits)), bits


def _row_norms(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """Norms (b,) of the rows of (b, K), in a fixed order of the outputs: the same bits for a row in any block."""
    squares = row_sum(matrix * matrix)
    return np.sqrt(squares, out=squares)


def _clip(residual: NDArray[np.float64], norms: NDArray[Any], grid: IntegerGrid) -> None:
    """Residuals (b, K) to integers, in place, with norm(residual) * norm(row) <= grid.clip for every record."""
    scale = _row_norms(residual)
    np.maximum(scale, 1e-250, out=scale)
    scale *= norms
    np.divide(grid.clip * (1 - MARGIN), scale, out=scale)
    np.minimum(scale, 2.0**grid.r_bits, out=scale)
    residual *= scale[:, None]
    np.trunc(residual, out=residual)
    size = _row_norms(residual)
    size *= norms
    fits = size <= grid.clip * (1 - MARGIN / 4)
    if not fits.all():
        residual[~fits] = 0.0


def clipped_residuals(
    scores: NDArray[np.float64],
    targets: NDArray[Any],
    norms: NDArray[Any],
    grid: IntegerGrid,
    bits: int,
    loss: ScoreLoss,
) -> NDArray[np.float64]:
    """Clipped residuals (K, b) as integers, of exact products (K, b) of rows and weights of so many bits, which it uses
    up. In NumPy on every engine: no two libraries have the same exp."""
    scores *= 2.0 ** min(900, -(grid.x_bits + bits))  # no overflow, whatever was declared
    residual = residuals_of(loss, scores.T, targets)
    if targets.size and targets.min() < 0:  # nothing, also under a loss that takes any number as a target
        residual[targets < 0] = 0.0
    _clip(residual, norms, grid)
    return residual.T


def residuals_of(loss: ScoreLoss, scores: NDArray[np.float64], targets: NDArray[Any]) -> NDArray[np.float64]:
    """Residuals (b, K) in the buffer of the scores, in column order. Third-party code is shown copies, in blocks of one length:
    how it rounds a record may depend on the length of its block, which one record decides."""
    if is_ours(type(loss)):
        return loss.residual(scores, targets, out=scores)
    with silent():  # in a thread of its own
        for start in range(0, len(scores), _SHOWN):
            part, labels = scores[start : start + _SHOWN], targets[start : start + _SHOWN]
            more = np.minimum(np.arange(_SHOWN), len(part) - 1)  # the last record fills the block
            shown = np.asfortranarray(part[more])
            part[:] = loss.residual(shown, labels[more], out=shown)[: len(part)]
    return scores


def _part_rows(features: int) -> int:
    """How many rows of so many float64 features stay in a core's cache."""
    return max(64, _CACHE // (8 * features) // 16 * 16)


def block_rows(features: int, largest: int, rows: int, threads: int) -> int:
    """How many rows have their residuals made at once: `largest`, or fewer of few wide rows, so that every thread has some."""
    return min(largest, max(_part_rows(features), -(-rows // (_BLOCKS_A_THREAD * threads))))


def _parts(rows: int, outputs: int, features: int) -> list[slice]:
    """Rows of a block in parts that are converted and multiplied at a time.

    A part stays in a core's cache, and of few outputs its products are small. A block that is not much more is one part: it is
    converted once, others are converted again for the gradient, which takes less than to read float64 rows from memory.
    """
    if outputs > _THIN:  # products pack their operands, which pays for many rows
        size = max(_part_rows(features), 48 * _CACHE // (8 * features))
    else:
        size = rows if rows * features * 8 <= 2 * _CACHE else _part_rows(features)
        size = min(size, max(16, _PRODUCT // (outputs * features) // 16 * 16))
    size = max(1, min(size, rows))
    return [slice(i, i + size) for i in range(0, rows, size)]


def cores() -> int:
    """How many threads add up rows if nothing is said: one a core, at most 8."""
    return min(8, os.cpu_count() or 1)


class GradientSum:
    """Clipped gradient sums of a fixed set of rows. Use as a context manager: it holds a thread pool."""

    def __init__(self, rows: QuantizedRows, loss: ScoreLoss, *, threads: int | None = None) -> None:
        self._rows, self._loss = rows, loss
        self._threads = threads or cores()
        self._local = threading.local()

    def __enter__(self) -> GradientSum:
        self._open = ExitStack()
        self._open.enter_context(one_blas_thread())
        self._pool = self._open.enter_context(ThreadPoolExecutor(self._threads))
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def __call__(
        self, weights: NDArray[np.float64], index: NDArray[np.intp] | None = None
    ) -> NDArray[np.int64]:
        """Sum of the clipped gradients at weights (d + 1, K), in grid steps, int64; over rows `index` if given."""
        grid_weights, bits = weights_to_grid(weights, self._rows.grid)
        across = np.ascontiguousarray(grid_weights.T)

        soon = None if index is None else self._rows.soon

        def walk(blocks: list[Any]) -> NDArray[np.int64]:
            total = np.zeros(across.shape, dtype=np.int64)
            with np.errstate(all="ignore"):  # a thread of its own: no warning may depend on records
                for k, at in enumerate(blocks):
                    if soon is not None:
                        for later in blocks[k + (k > 0) : k + 2]:
                            soon(later)
                    total += self._block(at, across, bits).astype(np.int64)
            return total

        blocks = list(self.blocks(index, weights.shape[0]))
        threads = min(self._threads, len(blocks) // _BLOCKS_A_THREAD)
        if threads < 2:  # to hand blocks to a pool takes longer than to add them up
            return np.ascontiguousarray(walk(blocks).T)
        totals = self._pool.map(walk, [blocks[i::threads] for i in range(threads)])
        return np.ascontiguousarray(np.add.reduce(list(totals)).T)

    def blocks(self, index: NDArray[np.intp] | None, features: int, size: int | None = None) -> Iterable[Any]:
        """Which rows stand in each block. size: how many, at most; None: as many as suit so many features."""
        n = self._rows.shape[0] if index is None else len(index)
        size = size or block_rows(features, self._rows.grid.block, n, self._threads)
        for start in range(0, n, size):
            stop = min(start + size, n)
            yield slice(start, stop) if index is None else index[start:stop]

    def _block(self, at: Any, weights: NDArray[np.float64], bits: int) -> NDArray[np.float64]:
        """The sum (K, d + 1) over the rows `at`. weights: (K, d + 1)."""
        rows, held = self._rows, self._rows.x[at]
        targets = rows.targets[at]
        # Outputs by rows, so that every operation on a residual runs along the rows.
        across = np.empty((len(weights), len(held)))
        parts = _parts(len(held), *weights.shape)
        for p in parts:
            np.matmul(weights, self._floats(held[p]).T, out=across[:, p])
        across = self.residuals(across, targets, at, bits)
        total = np.zeros(weights.shape)
        for p in parts:
            total += across[:, p] @ (self._floats(held[p]) if len(parts) > 1 else self._local.x[: len(held)])
        return total

    def residuals(
        self, scores: NDArray[np.float64], targets: NDArray[Any], at: Any, bits: int
    ) -> NDArray[np.float64]:
        """`clipped_residuals` (K, b) of the rows `at`, so that no contribution is above the clip."""
        return clipped_residuals(scores, targets, self._rows.norms[at], self._rows.grid, bits, self._loss)

    def _floats(self, held: NDArray[Any]) -> NDArray[np.float64]:
        """These rows (b, d + 1) as float64, in the memory of this thread."""
        x: NDArray[np.float64] | None = getattr(self._local, "x", None)
        if x is None or len(x) < len(held):
            x = self._local.x = np.empty(held.shape)
        x = x[: len(held)]
        np.copyto(x, held)
        return x
