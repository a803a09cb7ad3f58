"""The map that every scaler makes, and the columns it works on. Proof: docs/proofs/scale.md."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from prepriv._arrays import Floats
from prepriv.exact.ball import into_ball, row_norms
from prepriv.preprocessing.base import ConfidentialMap
from prepriv.preprocessing.stored_map import StoredMap
from prepriv.space import Space


@dataclass(frozen=True, eq=False)
class Affine:
    """x -> (x - offset) * factor, clipped to [low, high], then the row pulled back to the ball of `radius`.

    offset, factor, low, high: (d,). Clipping and pulling back are projections: the Lipschitz constant is the
    largest factor.
    """

    offset: Floats
    factor: Floats
    low: Floats
    high: Floats
    radius: float

    def apply(self, x: Floats) -> Floats:
        """Map a block (b, d)."""
        y = np.clip((x - self.offset) * self.factor, self.low, self.high)
        filled = np.nan_to_num(y, nan=0.0) if np.isnan(y).any() else y  # a missing cell stays the only one
        return into_ball(y, self.radius, row_norms(filled))


@dataclass(frozen=True, eq=False)
class ScaleReleased(StoredMap):
    """A scaling made from public rows or from the output of a mechanism."""

    written_as: ClassVar[str] = "scale"

    affine: Affine

    def transform(self, x: Floats) -> Floats:
        return self.affine.apply(x)


@dataclass(frozen=True, eq=False)
class ScaleConfidential(ConfidentialMap):
    """A scaling fitted on private rows."""

    affine: Affine

    def transform(self, x: Floats) -> Floats:
        return self.affine.apply(x)


def chosen_columns(step: str, space: Space, columns: Sequence[str] | None) -> NDArray[np.intp]:
    """Indices of the named features (all of them for None); ValueError for a name that is not there."""
    if columns is None:
        chosen = np.arange(space.d)
    else:
        names = list(space.names) or [f"x{j}" for j in range(space.d)]
        unknown = [c for c in columns if c not in names]
        if unknown:
            raise ValueError(f"{step}: columns name {unknown[0]!r}, which is not a feature here")
        chosen = np.array([names.index(c) for c in columns], dtype=np.intp)
    if not len(chosen):
        raise ValueError(f"{step}: columns must name at least one feature")
    if space.may_miss[chosen].any():
        raise ValueError(f"{step}: a column can have missing cells; impute first")
    if (space.widths[chosen] <= 0).any():
        raise ValueError(f"{step}: a column has declared bounds without width; leave it out of columns")
    return chosen


def unit_columns(space: Space, columns: NDArray[np.intp]) -> Space:
    """The space after these columns went to [0, 1]."""
    low, high = space.low.copy(), space.high.copy()
    low[columns], high[columns] = 0.0, 1.0
    radius = math.hypot(math.sqrt(len(columns)), rest_radius(space, columns))
    return Space(low, high, radius, space.may_miss, space.names)


def rest_radius(space: Space, columns: NDArray[np.intp]) -> float:
    """Declared norm of what is left of a row without these columns."""
    rest = np.ones(space.d, dtype=bool)
    rest[columns] = False
    corner = np.maximum(np.abs(space.low), np.abs(space.high))[rest]
    return min(space.radius, float(np.linalg.norm(corner)))
