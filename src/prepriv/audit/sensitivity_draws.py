"""Reproducible choices for the search, from the test stream of `NoiseSource`: they protect nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from scipy.special import ndtri

from prepriv._arrays import Floats
from prepriv.mechanisms.noise import NoiseSource

_T = TypeVar("_T")
_BUFFER = 8192


class Draws:
    """Uniform, normal and integer draws from a seed. The same seed gives the same search.

    Parameters
    ----------
    seed : int
        Decides all draws.

    Examples
    --------
    >>> import prepriv
    >>> from prepriv.audit import Draws, synthetic
    >>> domain = prepriv.Domain.box(0, 1, features=2, classes=[0, 1])
    >>> one, other = (synthetic(domain, 5, Draws(7)) for _ in range(2))
    >>> one.labels == other.labels
    True
    """

    def __init__(self, seed: int) -> None:
        self._source = NoiseSource.for_tests(seed)
        self._left = np.empty(0)

    def uniform(self, *shape: int) -> Floats:
        """Numbers in (0, 1)."""
        size = int(np.prod(shape, dtype=np.int64)) if shape else 1
        if size > len(self._left):
            words = self._source.uint64(max(size, _BUFFER)) >> np.uint64(11)
            self._left = (words.astype(np.float64) + 0.5) * 2.0**-53
        out, self._left = self._left[:size], self._left[size:]
        return out.reshape(shape)

    def normal(self, *shape: int) -> Floats:
        """Standard normal numbers."""
        return np.asarray(ndtri(self.uniform(*shape)))

    def below(self, n: int) -> int:
        """A whole number in [0, n)."""
        return min(int(self.uniform(1)[0] * n), n - 1)

    def pick(self, options: Sequence[_T]) -> _T:
        """One of the options."""
        return options[self.below(len(options))]

    def chance(self, probability: float) -> bool:
        """True with this probability."""
        return bool(self.uniform(1)[0] < probability)

    def size(self, least: float, greatest: float) -> float:
        """A positive number, uniform in its logarithm."""
        return float(least * (greatest / least) ** self.uniform(1)[0])

    def direction(self, d: int) -> Floats:
        """A unit vector, (d,): half the time along an axis."""
        v = np.zeros(d)
        if self.chance(0.5):
            v[self.below(d)] = 1.0 if self.chance(0.5) else -1.0
            return v
        v = self.normal(d)
        return np.asarray(v / max(float(np.linalg.norm(v)), 1e-12))
