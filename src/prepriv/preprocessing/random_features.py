"""Random features: what lets a linear model see curves. Data-independent, hence free. Proof: docs/proofs/random_features.md.

To each row x are added |r_j . x| for m fixed vectors r_j, centred and scaled. Together with x itself these
span the features max(0, r_j . x) of the arc-cosine kernel (Cho and Saul 2009; random features: Rahimi and Recht
2007), but the linear half is kept exact and only the even half is drawn. The vectors consist of signs, or of sums of signs
where there are few columns (2^d sign vectors would be too few). They come from a fixed public string: they are the
same in every run, for everybody, and depend on no record.
"""

from __future__ import annotations

import functools
import hashlib
import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from prepriv._arguments import integer, settle
from prepriv._arrays import Floats
from prepriv.exact.ball import largest, row_norms
from prepriv.preprocessing.base import ReleasedMap, Step, check_positive, need_filled
from prepriv.preprocessing.stored_map import StoredMap
from prepriv.space import Space

MOST_FEATURES = 1 << 16  # features drawn
FEWEST_SIGNS = 64  # in a vector
_POWERS = 1000  # of two, which are floats
_EXACT_BITS = 24  # float32 sums of integers are exact up to 2^24, in any order
_MEAN, _DEVIATION = math.sqrt(2 / math.pi), math.sqrt(1 - 2 / math.pi)  # of |z|, z standard normal


@functools.lru_cache(maxsize=2)
def directions(d: int, m: int, signs: int = 1) -> NDArray[np.float32]:
    """The public vectors (d, m): coefficients are sums of `signs` signs over its root, a power of two.

    The first columns are the same for every m.
    """
    text = f"prepriv random features, {d}" + (f" x {signs}" if signs > 1 else "")
    count = m * d * signs
    stream = hashlib.shake_128(text.encode()).digest((count + 7) // 8)
    table, root = np.empty((m, d), np.float32), np.float32(math.sqrt(signs))
    block = 8 * max(1, 2**19 // (d * signs))  # features at a time: whole bytes, some megabytes
    for start in range(0, m, block):
        part = table[start : start + block]
        whole = np.frombuffer(stream, np.uint8, offset=start * d * signs // 8)
        bits = np.unpackbits(whole[: (part.size * signs + 7) // 8], count=part.size * signs)
        part[:] = (signs - 2 * bits.reshape(len(part), d, signs).sum(axis=2, dtype=np.float32)) / root
    table = table.T
    table.flags.writeable = False
    return table


def enough_signs(d: int) -> int:
    """1, 4, 16 or 64: so many signs a coefficient that a vector of d has at least 64."""
    return next(k for k in (1, 4, 16, 64) if d * k >= FEWEST_SIGNS)


@dataclass(frozen=True)
class AddRandomFeatures(StoredMap):
    """x -> (x, weight * f(x)) / sqrt(1 + weight^2), pulled back to norm `radius`.

    f_j(x) = (|r_j . x| - E norm(x)) / sqrt(V m), E and V the mean and variance of |z| for a standard normal z:
    norm(f(x)) is about norm(x). The same bits for a row wherever it stands: the row is cut to integers, scaled by
    its own power of two, whose sums stay within 2^24.
    """

    written_as: ClassVar[str] = "random_features"

    features: int
    weight: float
    radius: float
    signs: int = 1

    def transform(self, x: Floats) -> Floats:
        d, m = x.shape[1], self.features
        bits = _EXACT_BITS - math.ceil(math.log2(max(d * self.signs, 1)))
        exponent = np.frexp(largest(x))[1]
        cut = _times_power(x, bits - exponent)
        seen = np.trunc(cut, out=cut).astype(np.float32) @ directions(d, m, self.signs)
        out = np.empty((len(x), d + m))
        out[:, :d] = x
        added = out[:, d:]
        added[:] = _times_power(np.abs(seen, out=seen), exponent - bits)
        added -= _MEAN * row_norms(x)
        added *= self.weight / (_DEVIATION * math.sqrt(m))
        out *= 1 / math.sqrt(1 + self.weight**2)
        out *= self.radius / np.maximum(row_norms(out), self.radius)  # into the ball
        return out


def _times_power(x: NDArray[Any], exponent: NDArray[np.int32]) -> Floats:
    """x * 2^exponent, (b, d) by (b, 1): by a product where the power is a float, which rounds as `ldexp` and is far faster."""
    if (np.abs(exponent) <= _POWERS).all():
        return np.asarray(x * np.ldexp(1.0, exponent))
    return np.asarray(np.ldexp(x.astype(np.float64), exponent))


@dataclass(frozen=True)
class RandomFeatures(Step):
    """Append random features to each row, (b, d) -> (b, d + features), in the same ball. Free.

    Parameters
    ----------
    features : int, default 1024
        How many are added.
    weight : float, default 1.0
        Norm of the added part, divided by that of the row itself.
    payment : None
        The step depends on no data.

    Raises
    ------
    ValueError
        For a setting out of range. In a plan: for rows that a step paid for by sensitivity has moved.

    Notes
    -----
    The model is linear in the new features. It no longer has one weight per column. Proof:
    docs/proofs/random_features.md.

    Examples
    --------
    >>> import prepriv
    >>> from prepriv.preprocessing import RandomFeatures
    >>> RandomFeatures(64).output(prepriv.Domain.ball(3, [0, 1]).space).d
    67
    """

    features: int = 1024
    weight: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        settle(
            self,
            weight=check_positive("weight", self.weight),
            features=integer("features", self.features, at_most=MOST_FEATURES),
        )

    def output(self, space: Space) -> Space:
        need_filled(self.name, space)
        return Space.ball(space.d + int(self.features), space.radius)

    def lipschitz(self, space: Space) -> float:
        return math.inf

    def free(self, space: Space) -> ReleasedMap:
        return AddRandomFeatures(int(self.features), self.weight, space.radius, enough_signs(space.d))
