"""Square roots of the features: data-independent, hence free. Proof: docs/proofs/square_root.md.

Intensities and counts have many small values and a few large ones; a linear model sees the small ones better
after a square root (the Hellinger map, once rows are normalised; Arandjelovic and Zisserman 2012). It is the
cheapest way found to make rows easier for a private linear model: it costs no budget and no dimension.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from prepriv.preprocessing.base import Floats, ReleasedMap, Step
from prepriv.space import Space

_UP = 1 + 1e-12


def signed_root(x: Floats) -> Floats:
    """sign(x) sqrt(|x|), correctly rounded, so the same for a value wherever it stands."""
    return np.asarray(np.copysign(np.sqrt(np.abs(x)), x))


@dataclass(frozen=True)
class SignedRoot(ReleasedMap):
    """x -> sign(x) sqrt(|x|), feature by feature."""

    def transform(self, x: Floats) -> Floats:
        return signed_root(x)

    def to_json(self) -> dict[str, Any]:
        return {"map": "signed_root"}


@dataclass(frozen=True)
class SquareRoot(Step):
    """Every feature to its square root, negative ones to minus that of their absolute value: (b, d) -> (b, d).

    Good for features whose zero means "nothing there" (pixels, counts, amounts). Not Lipschitz at zero, so it
    cannot follow a step paid for by sensitivity. NaN (to be imputed later) stays NaN.
    """

    def output(self, space: Space) -> Space:
        low, high = signed_root(space.low), signed_root(space.high)
        corner = float(np.linalg.norm(np.maximum(np.abs(low), np.abs(high))))
        # sum |x_j| <= sqrt(d) norm(x)
        radius = min(math.sqrt(math.sqrt(space.d) * space.radius), corner) * _UP
        return Space(low, high, radius, space.may_miss, space.names)

    def lipschitz(self, space: Space) -> float:
        return math.inf

    def free(self, space: Space) -> ReleasedMap:
        return SignedRoot()
