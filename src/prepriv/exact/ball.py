"""Norms of rows and their pull back into a ball: each form once, with what may be said about its bits.

A last bit that depends on the block a row stands in can flip a later truncation, and then a row that no record
moved has moved. `row_norms`, `norms` and `row_sum` give a row the same bits wherever it stands.
"""

from __future__ import annotations

import numpy as np

from prepriv._arrays import Floats

_CELLS = 2**15
INSIDE = 1 - 2.0**-40  # rows pulled just inside a ball: float rounding of their norm never drops one


def into_ball(x: Floats, radius: float, norms: Floats, *, inside: float = 1.0) -> Floats:
    """Rows (b, d) of the given norms (b, 1), those longer than radius pulled back to it, all shortened by `inside`.

    A row that is not finite has cells that are not: whoever counts it as nothing sees it.
    """
    return np.asarray(x * (inside * (radius / np.maximum(norms, radius))))


def plain_norms(x: Floats) -> Floats:
    """Euclidean norm of each row, (b, 1), inf where a square overflows: for what a grid cuts and checks afterwards."""
    # numpy adds up a lone row of more than 8192 cells in another order
    two = np.concatenate([x, x]) if len(x) == 1 else x
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", two, two))[: len(x), None])


def row_norms(x: Floats) -> Floats:
    """Euclidean norm of each row, (b, 1), without overflow for finite rows."""
    x = np.ascontiguousarray(x)  # else sums along a row depend on how many rows the block has
    found = np.empty((len(x), 1))
    size = max(1, _CELLS // max(1, x.shape[1]))  # rows whose copies stay in a core's cache
    copy = np.empty((min(size, len(x)), x.shape[1]))
    for rows in (slice(start, start + size) for start in range(0, len(x), size)):
        part = x[rows]
        biggest = np.maximum(largest(part), 1e-150)
        found[rows] = biggest * plain_norms(np.divide(part, biggest, out=copy[: len(part)]))
    return found


def largest(x: Floats) -> Floats:
    """The largest absolute value in each row, (b, 1); 0 for rows without cells, NaN for one that holds it."""
    above, below = x.max(axis=1, keepdims=True, initial=0.0), x.min(axis=1, keepdims=True, initial=0.0)
    return np.asarray(np.maximum(above, -below))


def norms(x: Floats) -> Floats:
    """Euclidean norm of each row, (b, 1), of squares added up one column after another."""
    square = np.zeros(len(x))
    for j in range(x.shape[1]):
        square += x[:, j] * x[:, j]
    return np.asarray(np.sqrt(square)[:, None])


def row_sum(matrix: Floats) -> Floats:
    """Sum of each row, (b,), over few columns, in their order.

    Over two or more rows in column order numpy adds one column after another; a single row, of which it would
    add pairs of entries first, is added here.
    """
    if len(matrix) == 1:
        total = matrix[:, 0].copy()
        for k in range(1, matrix.shape[1]):
            total += matrix[:, k]
        return total
    return np.asarray(np.add.reduce(np.asfortranarray(matrix), axis=1))
