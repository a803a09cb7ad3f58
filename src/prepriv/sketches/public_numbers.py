"""Numbers that look random and are public: the same for the same seed, everywhere. Never noise: nobody is protected by them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from prepriv._arrays import Floats


class PublicNumbers:
    """splitmix64 of a counter that begins at a function of the seed."""

    def __init__(self, seed: int) -> None:
        self._at = int(_mixed(np.array([seed % 2**64], dtype=np.uint64))[0])

    def _words(self, n: int) -> NDArray[np.uint64]:
        found = np.arange(n, dtype=np.uint64) + np.uint64(self._at)
        self._at = (self._at + n) % 2**64
        return _mixed(found)

    def uniform(self, n: int) -> Floats:
        """(n,) in (0, 1)."""
        return np.asarray(((self._words(n) >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53)

    def normal(self, rows: int, columns: int) -> Floats:
        """(rows, columns) of a standard normal distribution."""
        return np.asarray(ndtri(self.uniform(rows * columns)).reshape(rows, columns))

    def permutation(self, n: int) -> NDArray[np.int64]:
        """The numbers below n in some order."""
        return np.argsort(self._words(n), kind="stable")


def _mixed(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finaliser of splitmix64, modulo 2^64: one to one."""
    words = words * np.uint64(0x9E3779B97F4A7C15) + np.uint64(0x9E3779B97F4A7C15)
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))
