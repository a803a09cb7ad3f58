"""Square roots of the features: data-independent, so free. Proof: docs/proofs/square_root.md.

Intensities and counts have many small values and a few large ones; a linear model sees the small ones better
after a square root (the Hellinger map, once rows are normalised; Arandjelovic and Zisserman 2012). It is the
cheapest way found to make rows easier for a private linear model: it costs no budget and no dimension.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from prepriv._arrays import Floats
from prepriv._rounding import UP
from prepriv.preprocessing.base import ReleasedMap, Step
from prepriv.preprocessing.stored_map import StoredMap
from prepriv.space import Space


def signed_root(x: Floats) -> Floats:
    """sign(x) sqrt(|x|), correctly rounded, so the same for a value wherever it stands."""
    return np.asarray(np.copysign(np.sqrt(np.abs(x)), x))


@dataclass(frozen=True)
class SignedRoot(StoredMap):
    """x -> sign(x) sqrt(|x|), feature by feature."""

    written_as: ClassVar[str] = "signed_root"

    def transform(self, x: Floats) -> Floats:
        return signed_root(x)


@dataclass(frozen=True)
class SquareRoot(Step):
    """Take the signed square root of every feature, sign(x) sqrt(|x|): (b, d) -> (b, d). Free.

    Parameters
    ----------
    payment : None
        The step depends on no data.

    Raises
    ------
    ValueError
        For a payment.

    Notes
    -----
    It is for features whose zero means "nothing there" (pixels, counts, amounts). It is not Lipschitz at zero, so it
    cannot follow a step paid for by sensitivity. NaN stays NaN, to be imputed later. Proof:
    docs/proofs/square_root.md.

    Examples
    --------
    >>> import numpy as np, prepriv
    >>> from prepriv.preprocessing import SquareRoot
    >>> space = prepriv.Domain.box(0, 255, features=1, classes=[0, 1]).space
    >>> SquareRoot().free(space).transform(np.array([[0.25]])).tolist()
    [[0.5]]
    """

    def output(self, space: Space) -> Space:
        low, high = signed_root(space.low), signed_root(space.high)
        corner = float(np.linalg.norm(np.maximum(np.abs(low), np.abs(high))))
        # sum |x_j| <= sqrt(d) norm(x)
        radius = min(math.sqrt(math.sqrt(space.d) * space.radius), corner) * UP
        return Space(low, high, radius, space.may_miss, space.names)

    def lipschitz(self, space: Space) -> float:
        return math.inf

    def free(self, space: Space) -> ReleasedMap:
        return SignedRoot()
