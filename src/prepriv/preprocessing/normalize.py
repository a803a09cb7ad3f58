"""Row normalisation, norm clipping, rescaling: data-independent, hence free.

Proof: docs/proofs/normalize.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from prepriv._arguments import LARGEST, number, settle
from prepriv.exact.ball import row_norms
from prepriv.preprocessing.base import Floats, ReleasedMap, Step, check_positive, need_filled
from prepriv.space import Space


@dataclass(frozen=True)
class ScaleRows(ReleasedMap):
    """x -> factor * x / max(norm(x), floor) (kind "normalize"), or the projection on a ball ("clip")."""

    factor: float
    floor: float

    def transform(self, x: Floats) -> Floats:
        # A row of norm zero stays zero: the quotient is finite whatever the factor, and a shorter row shorter than it.
        least = max(self.floor, 1e-300 * max(1.0, self.factor))
        return np.asarray(x * (self.factor / np.maximum(row_norms(x), least)))

    def to_json(self) -> dict[str, Any]:
        return {"map": "scale_rows", "factor": self.factor, "floor": self.floor}


@dataclass(frozen=True)
class ClipNorm(Step):
    """Pull every row back to the ball of a declared radius. Non-expansive: shifts pass unchanged."""

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
    """Scale every row to norm `radius`; rows shorter than `floor` are scaled by radius / floor instead.

    floor = 0 is plain row normalisation. It is no Lipschitz map, so it cannot follow a step paid for by
    sensitivity; with floor > 0 the constant is radius / floor (docs/proofs/normalize.md).
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
class Multiply(ReleasedMap):
    """x -> factor * x."""

    factor: float

    def transform(self, x: Floats) -> Floats:
        return np.asarray(x * self.factor)

    def to_json(self) -> dict[str, Any]:
        return {"map": "multiply", "factor": self.factor}


@dataclass(frozen=True)
class Rescale(Step):
    """Multiply all rows by one declared number, so that the declared radius becomes `radius`."""

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
