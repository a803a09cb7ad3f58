"""A declared grid of cells: which cell a row stands in, and its centre. Nothing here depends on data.

Proof: docs/proofs/quantize.md (cells).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from prepriv._arguments import LARGEST, length, number, real, settle
from prepriv._arrays import Floats
from prepriv.exact.ball import into_ball, norms
from prepriv.guarantees.printed import up
from prepriv.preprocessing.stored_map import StoredMap
from prepriv.space import Space

CELL_SLACK = 1 + 2.0**-20  # a cell can be wider than its side: 2^30 of them leave 22 bits of a coordinate


def check_cells(step: Any) -> None:
    """ValueError unless its `side` >= 0 and `offset` are finite numbers of sane size."""
    side = 0.0 if real(step.side) == 0 else length("side", step.side)
    settle(step, side=side, offset=number("offset", step.offset, at_least=-LARGEST, at_most=LARGEST))


@dataclass(frozen=True, eq=False)
class Cells(StoredMap):
    """x -> the centre of its cell, pulled back into the declared box and ball.

    Cells are cubes of the given side with a centre at (offset, ..., offset). side = 0: every row is its own.
    """

    written_as: ClassVar[str] = "cells"

    side: float
    offset: float
    low: Floats
    high: Floats
    radius: float

    @staticmethod
    def of(side: float, offset: float, space: Space) -> Cells:
        """The cells of a space. ValueError if there are too many to number."""
        widest = float(np.abs([space.low, space.high]).max()) + abs(offset)
        if side > 0 and widest / side >= 2**30:
            raise ValueError(
                f"side must be 0 or above {up(widest / 2**30)}: there are too many cells; got {side}"
            )
        return Cells(float(side), float(offset), space.low, space.high, space.radius)

    def index(self, x: Floats) -> NDArray[Any]:
        """The cell of each row, (b, d) integers; for side = 0 the row itself."""
        if self.side == 0:
            return np.asarray(x + 0.0)  # no negative zeros
        with np.errstate(invalid="ignore"):
            place = np.rint((x - self.offset) / self.side)
            return np.asarray(np.where(np.abs(place) < 2**31, place, 0.0).astype(np.int32))

    def transform(self, x: Floats) -> Floats:
        if self.side == 0:
            return x
        y = np.clip(self.index(x) * self.side + self.offset, self.low, self.high)
        return into_ball(y, self.radius, norms(y))
