"""Row normalisation, norm clipping, rescaling: data-independent, so free.

Proof: docs/proofs/normalize.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from prepriv._arguments import LARGEST, number, settle
from prepriv._arrays import Floats
from prepriv.exact.ball import row_norms
from prepriv.preprocessing.base import ReleasedMap, Step, check_positive, need_filled
from prepriv.preprocessing.stored_map import StoredMap
from prepriv.space import Space


@dataclass(frozen=True)
class ScaleRows(StoredMap):
    """x -> factor * x / max(norm(x), floor) (kind "normalize"), or the projection on a ball ("clip")."""

    written_as: ClassVar[str] = "scale_rows"

    factor: float
    floor: float

    def transform(self, x: Floats) -> Floats:
        # A row of norm zero stays zero: the quotient is finite whatever the factor, and a shorter row shorter than it.
        least = max(self.floor, 1e-300 * max(1.0, self.factor))
        return np.asarray(x * (self.factor / np.maximum(row_norms(x), least)))


@dataclass(frozen=True)
class ClipNorm(Step):
    """Pull every row back to the ball of a declared radius. Free.

    Parameters
    ----------
    radius : float, default 1.0
        The radius of the ball, in the units of the rows.
    payment : None
        The step depends on no data.

    Raises
    ------
    ValueError
        For a radius that is not positive. In a plan: if cells can be missing.

    Notes
    -----
    No two rows move apart, so shifts pass through unchanged. Proof: docs/proofs/normalize.md.

    Examples
    --------
    >>> import prepriv
    >>> from prepriv.preprocessing import ClipNorm
    >>> ClipNorm(1.0).output(prepriv.Domain.ball(3, [0, 1], radius=2.0).space).radius
    1.0
    """

    radius: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        settle(self, radius=check_positive("radius", self.radius))

    def output(self, space: Space) -> Space:
        need_filled(self.name, space)
        return space.within(self.radius)

    def lipschitz(self, space: Space) -> float:
        return 1.0

    def free(self, space: Space) -> ReleasedMap:
        return ScaleRows(self.radius, self.radius)


@dataclass(frozen=True)
class Normalize(Step):
    """Scale every row to a declared norm. Free.

    Parameters
    ----------
    radius : float, default 1.0
        The norm, in the units of the rows.
    floor : float, default 0.0
        Rows shorter than this are scaled by radius / floor instead. 0 is plain row normalisation.
    payment : None
        The step depends on no data.

    Raises
    ------
    ValueError
        For a radius that is not positive, or a negative floor. In a plan: if cells can be missing.

    Notes
    -----
    With floor 0 it is not a Lipschitz map, so it cannot follow a step paid for by sensitivity. With floor > 0 the
    Lipschitz constant is radius / floor. Proof: docs/proofs/normalize.md.

    Examples
    --------
    >>> import numpy as np, prepriv
    >>> from prepriv.preprocessing import Normalize
    >>> space = prepriv.Domain.box(0, 10, features=2, classes=[0, 1]).space
    >>> Normalize(1.0).free(space).transform(np.array([[3.0, 4.0]])).tolist()
    [[0.6000000000000001, 0.8]]
    """

    radius: float = 1.0
    floor: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        settle(
            self,
            radius=check_positive("radius", self.radius),
            floor=number("floor", self.floor, at_least=0.0, at_most=LARGEST),
        )

    def output(self, space: Space) -> Space:
        need_filled(self.name, space)
        return Space.ball(space.d, self.radius)

    def lipschitz(self, space: Space) -> float:
        return self.radius / self.floor if self.floor > 0 else math.inf

    def free(self, space: Space) -> ReleasedMap:
        return ScaleRows(self.radius, self.floor)


@dataclass(frozen=True)
class Multiply(StoredMap):
    """Multiply every cell by one number: x -> factor * x.

    Parameters
    ----------
    factor : float
        The number.

    Examples
    --------
    >>> import numpy as np
    >>> from prepriv.preprocessing.normalize import Multiply
    >>> Multiply(0.5).transform(np.ones((1, 2))).tolist()
    [[0.5, 0.5]]
    """

    written_as: ClassVar[str] = "multiply"

    factor: float

    def transform(self, x: Floats) -> Floats:
        return np.asarray(x * self.factor)


@dataclass(frozen=True)
class Rescale(Step):
    """Multiply all rows by one declared number, so that their declared norm bound becomes `radius`. Free.

    Parameters
    ----------
    radius : float, default 1.0
        The norm bound after the step.
    payment : None
        The step depends on no data.

    Raises
    ------
    ValueError
        For a radius that is not positive.

    Notes
    -----
    Proof: docs/proofs/normalize.md.

    Examples
    --------
    >>> import prepriv
    >>> from prepriv.preprocessing import Rescale
    >>> Rescale(5.0).output(prepriv.Domain.ball(3, [0, 1], radius=2.0).space).radius
    5.0
    """

    radius: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        settle(self, radius=check_positive("radius", self.radius))

    def output(self, space: Space) -> Space:
        c = self.lipschitz(space)
        return Space(space.low * c, space.high * c, self.radius, space.may_miss, space.names)

    def lipschitz(self, space: Space) -> float:
        return self.radius / space.radius

    def free(self, space: Space) -> ReleasedMap:
        return Multiply(self.lipschitz(space))
