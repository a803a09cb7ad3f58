"""Rows on a power-of-two grid, and matrix products with them that are exact whatever the block.

A map must treat a row alike wherever it stands: a last bit that depends on the position in a block can flip
a later truncation, and then a row that no record moved has moved. Integers in float64 whose product sums stay
below 2^53 have no last bit to lose (docs/proofs/pca.md, "Exact products").
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from prepriv._arrays import Floats
from prepriv.exact.ball import into_ball, norms
from prepriv.preprocessing.base import ConfidentialMap, RowShift

ROW_BITS = 22  # the integers of a row in the declared ball have norm <= 2^22
MATRIX_BITS = 30  # those of a column of a matrix with operator norm <= 1 have norm <= 2^30, twice over
SLACK = 1 + 2.0**-30  # a row may leave its declared ball by rounding; every bound uses radius * SLACK


def finite_rows(x: Floats) -> Floats:
    """Rows (b, d), those that are not finite as zero rows: what they are to every fit on a grid, and to conditions."""
    fits = np.isfinite(x).all(axis=1, keepdims=True)
    return x if fits.all() else np.where(fits, x, 0.0)


@dataclass(frozen=True)
class RowGrid:
    """The grid 2^exponent Z^d on which rows of norm <= radius are integers of norm <= 2^bits."""

    radius: float
    exponent: int

    @staticmethod
    def of(radius: float, bits: int = ROW_BITS) -> RowGrid:
        """The grid of a ball: 2^bits steps or fewer from its centre to its surface."""
        return RowGrid(float(radius), math.frexp(radius)[1] - bits)

    @property
    def step(self) -> float:
        """Distance of neighbouring grid points."""
        return math.ldexp(1.0, self.exponent)

    @property
    def reach(self) -> float:
        """Norm that no row on the grid exceeds, in the units of the data."""
        return self.radius * SLACK

    def ints(self, x: Floats) -> Floats:
        """Rows (b, d) in steps, cut towards zero: integers in float64.

        A row that is not finite or is longer than the declared radius becomes zero: a rule for each row by
        itself that never fails. The norm is compared in exact integers.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            ints = np.trunc(x * (1 / self.step))
            square = np.einsum("ij,ij->i", ints, ints)
            fits = square <= math.floor((self.reach / self.step) ** 2)  # False for NaN
        if not fits.all():
            ints[~fits] = 0.0
        ints += 0.0  # no negative zeros
        return np.asarray(ints)

    def cut(self, x: Floats) -> Floats:
        """Rows (b, d) on the grid, in the units of the data."""
        return np.asarray(self.ints(x) * self.step)

    def propagate(self, incoming: RowShift, d: int) -> RowShift:
        """The shift after the cut: two versions of a row are at most sqrt(d) steps further apart."""
        if incoming.rows_moved == 0:
            return incoming
        more = math.sqrt(d) * self.step * SLACK
        return RowShift(
            incoming.rows_moved,
            incoming.row_shift + more,
            incoming.total_shift + incoming.rows_moved * more,
            incoming.rows_dropped,
            incoming.conditions,
            incoming.any_order,
        )


@dataclass(frozen=True, eq=False)
class ExactMatrix:
    """A matrix (d, k) with columns of norm <= 1 in two integer pieces, to be multiplied by grid rows.

    matrix = high * 2^-30 + low * 2^-low_bits up to less than 2^-low_bits in each entry.
    """

    high: Floats
    low: Floats
    low_bits: int

    @staticmethod
    def of(matrix: Floats) -> ExactMatrix:
        """Split a matrix. By Cauchy-Schwarz each partial sum of a product is below 2^52 * SLACK^2 < 2^53."""
        more = MATRIX_BITS - math.ceil(math.log2(len(matrix)) / 2)
        scaled = np.ldexp(matrix, MATRIX_BITS)
        high = np.trunc(scaled)
        return ExactMatrix(high, np.trunc(np.ldexp(scaled - high, more)), MATRIX_BITS + more)

    def after(self, ints: Floats, exponent: int) -> Floats:
        """(ints * 2^exponent) @ matrix: two exact products and one rounded addition an entry."""
        y = ints @ self.low
        y *= 2.0 ** (MATRIX_BITS - self.low_bits)
        y += ints @ self.high
        y *= 2.0 ** (exponent - MATRIX_BITS)
        return np.asarray(y)

    def error(self) -> float:
        """Bound on the operator norm of what the pieces leave out."""
        return math.sqrt(self.high.size) * 2.0**-self.low_bits


@dataclass(frozen=True, eq=False)
class GridLinear(ConfidentialMap):
    """x -> matrix x + offset for rows cut to a grid; the matrix (d, d) is symmetric of norm <= 1.

    offset: None, or (d,): then rows are pulled back to the ball of the grid afterwards.
    """

    grid: RowGrid
    matrix: ExactMatrix
    offset: Floats | None = None

    def transform(self, x: Floats) -> Floats:
        y = self.matrix.after(self.grid.ints(x), self.grid.exponent)
        if self.offset is None:
            return y
        y = y + self.offset
        return into_ball(y, self.grid.radius, norms(y))
