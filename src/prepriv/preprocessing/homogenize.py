"""Homogeneous coordinates: rows of one norm that still know how long they were. Data-independent, hence free.

Proof: docs/proofs/homogenize.md. Row normalisation forgets the length of a row, which in a few columns is most of
what there is to know. With one constant feature added before it nothing is lost: the map is one-to-one, every
hyperplane before it (with any offset) is one after it, and all rows have the same norm, which is what noise is
paid for. A constant that is subtracted from the new feature leaves the intercept to the bias of the learner.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from prepriv._arguments import OMITTED, number, settle
from prepriv._arrays import Floats
from prepriv._rounding import UP
from prepriv.exact.ball import row_norms
from prepriv.preprocessing.base import ReleasedMap, Step, check_positive, need_filled
from prepriv.preprocessing.stored_map import StoredMap
from prepriv.space import Space


@dataclass(frozen=True)
class HomogeneousRows(StoredMap):
    """x -> radius * (x, level) / norm((x, level)), less center in the last feature."""

    written_as: ClassVar[str] = "homogeneous_rows"

    level: float
    radius: float
    center: float = field(default=0.0, metadata=OMITTED)

    def transform(self, x: Floats) -> Floats:
        out = np.concatenate([x, np.full((len(x), 1), self.level)], axis=1)
        out *= self.radius / row_norms(out)
        out[:, -1] -= self.center
        return out


@dataclass(frozen=True)
class Homogenize(Step):
    """Append the constant `level` to each row, scale the row to norm `radius`, subtract `center` from the new feature: (b, d) -> (b, d + 1). Free.

    Parameters
    ----------
    level : float, default 1.0
        The constant. Choose about the mean norm of the rows, so that neither part of the new row is small.
    radius : float, default 1.0
        The norm of every row, before `center` is subtracted.
    center : float, default 0.0
        About the mean of the new feature, from 0 to `radius`. The feature then tells how long a row is and not what all rows
        share, which is left to the bias of the learner.
    payment : None
        The step depends on no data.

    Raises
    ------
    ValueError
        For a level or radius that is not positive, or a center out of range. In a plan: if cells can be missing.

    Notes
    -----
    The Lipschitz constant is radius / level, so the step may follow one paid for by sensitivity. Afterwards no row is longer
    than the root of radius² + center². Proof: docs/proofs/homogenize.md. Why a center: docs/weights.md.

    Examples
    --------
    >>> import prepriv
    >>> from prepriv.preprocessing import Homogenize
    >>> space = Homogenize(1.0, radius=5.0).output(prepriv.Domain.ball(3, [0, 1]).space)
    >>> space.d, space.radius
    (4, 5.0)
    """

    level: float = 1.0
    radius: float = 1.0
    center: float = field(default=0.0, metadata=OMITTED)

    def __post_init__(self) -> None:
        super().__post_init__()
        settle(self, level=check_positive("level", self.level), radius=check_positive("radius", self.radius))
        settle(self, center=number("center", self.center, at_least=0.0, at_most=self.radius))

    def output(self, space: Space) -> Space:
        need_filled(self.name, space)
        longest = math.hypot(self.radius, self.center) * UP if self.center else self.radius
        return Space.ball(space.d + 1, longest)

    def lipschitz(self, space: Space) -> float:
        return self.radius / self.level

    def free(self, space: Space) -> ReleasedMap:
        return HomogeneousRows(self.level, self.radius, self.center)
