"""Column sums in one pass over blocks, with a stated rounding error whatever the blocks are.

A fitted state that depends on how floats were rounded can differ between neighbours by more than the
mathematics says: every sensitivity adds `SUM_ERROR` for it (docs/proofs/impute.md, "Rounding").
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from prepriv._arrays import Floats
from prepriv.preprocessing.base import Rows

PIECE = 1024
SUM_ERROR = 2.0**-41  # of the sum of absolute values: 1024 additions of half an ulp, and room for the rest


def pieces(rows: Rows) -> Iterator[Floats]:
    """The rows in pieces of at most PIECE, so that no plain sum is longer than that."""
    for block in rows:
        for start in range(0, len(block), PIECE):
            yield block[start : start + PIECE]


class Total:
    """A running sum of arrays of one shape; its error does not grow with the number of terms (Neumaier)."""

    def __init__(self, shape: int | tuple[int, ...]) -> None:
        self._sum = np.zeros(shape)
        self._lost = np.zeros(shape)

    def add(self, x: Floats) -> None:
        """Add one array."""
        new = self._sum + x
        back = new - self._sum
        self._lost += (self._sum - (new - back)) + (x - back)  # exact: what the addition rounded away
        self._sum = new

    @property
    def value(self) -> Floats:
        """The sum so far."""
        return np.asarray(self._sum + self._lost)
