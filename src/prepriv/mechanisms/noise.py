"""The only noise of the library: integers drawn exactly, from ChaCha20 key streams keyed by the operating
system.

A mechanism adds one of these integers to an integer (see `prepriv.mechanisms.lattice_noise`), so no bit of its
output depends on a float rounding. Proof: docs/proofs/noise.md.
"""

from __future__ import annotations

import hashlib
import math
import os
import threading
from collections.abc import Callable
from typing import NoReturn

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext, algorithms
from numpy.typing import NDArray

from prepriv.mechanisms._inverse_cdf import CHUNK, SymmetricLaw, sample
from prepriv.mechanisms._laws import DiscreteLaplace, RoundedGaussian, check_platform

SMALLEST_GAUSSIAN_SCALE = 16.0
SMALLEST_LAPLACE_SCALE = 2.0**-10
LARGEST_SCALE = 2.0**50

_KEY_BYTES = 32
_BYTES_PER_KEY = 2**36  # below the 2^32 blocks of 64 bytes after which a 32-bit block counter would repeat
_ZEROS = bytes(8 * CHUNK)
_WORD = 2**64


class NoiseSource:
    """Random integers for mechanisms: unpredictable, exactly distributed, never repeated, never stored.

    Each request has its own key, 256 bits of `os.urandom`. If the operating system gives none, the constructor or the
    request raises an error, and nothing is released. So no two requests share a stream, whatever thread, forked
    process, process namespace or resumed snapshot they come from. A source can be neither pickled nor copied. Proof:
    docs/proofs/noise.md (P6).
    """

    __slots__ = ("_seeded",)

    def __init__(self) -> None:
        self._setup(seeded=None)

    @classmethod
    def for_tests(cls, seed: int) -> NoiseSource:
        """A reproducible source for tests. Its `private` is always False, and nothing drawn from it is private.

        After a fork, the child process no longer follows the reproducible stream.
        """
        if not isinstance(seed, int) or isinstance(seed, bool):
            raise ValueError(f"seed: got {type(seed).__name__}, need an int")
        source = cls.__new__(cls)
        source._setup(_SeededStream(seed))
        return source

    @property
    def private(self) -> bool:
        """True if the keys come from the operating system, False for a test source."""
        return self._seeded is None

    def uint64(self, size: int) -> NDArray[np.uint64]:
        """`size` uniform 64-bit words, shape (size,)."""
        words = np.empty(_checked_size(size), dtype=np.uint64)
        self._fill(words)
        return words

    def rounded_gaussian(self, scale: float, size: int) -> NDArray[np.int64]:
        """Exact samples of round(N(0, scale^2)), shape (size,); scale in grid steps, 16 <= scale <= 2^50.

        The result added to an integer z is round(z + N(0, scale^2)). That is post-processing of the continuous
        Gaussian mechanism, so every theorem about that mechanism holds as it is. Variance scale^2 + 1/12 up to exp(-2
        pi^2 scale^2). Raises ValueError, before any draw, for a scale out of range or NaN.
        """
        _check_scale(scale, SMALLEST_GAUSSIAN_SCALE)
        return self._sample(RoundedGaussian(float(scale)), size)

    def discrete_laplace(self, scale: float, size: int) -> NDArray[np.int64]:
        """Exact samples of P(k) proportional to exp(-|k| / scale), shape (size,); 2^-10 <= scale <= 2^50.

        Added to an integer of sensitivity D it is (D / scale)-DP. Raises ValueError, before any draw, for a
        scale out of range or NaN.
        """
        _check_scale(scale, SMALLEST_LAPLACE_SCALE)
        return self._sample(DiscreteLaplace(float(scale)), size)

    def uniform_below(self, n: int, size: int) -> NDArray[np.int64]:
        """`size` exactly uniform integers in [0, n), 1 <= n <= 2^62, shape (size,).

        Words beyond the largest multiple of n are drawn again. How often depends on n and the key stream alone.
        """
        if not isinstance(n, (int, np.integer)) or not 1 <= n <= 2**62:
            raise ValueError(f"n: got {n!r}, need an integer in [1, 2^62]")
        largest = _WORD // int(n) * int(n) - 1
        words = self.uint64(size)
        while (redraw := words > np.uint64(largest)).any():
            words[redraw] = self.uint64(int(redraw.sum()))
        return (words % np.uint64(n)).astype(np.int64)

    def bernoulli_mask(self, threshold_k: int, size: int) -> NDArray[np.bool_]:
        """Independent truth values, shape (size,), each true with probability exactly threshold_k / 2^64."""
        if not isinstance(threshold_k, (int, np.integer)) or not 0 <= threshold_k <= _WORD:
            raise ValueError(f"threshold_k: got {threshold_k!r}, need an integer in [0, 2^64]")
        words = self.uint64(size)
        if threshold_k == _WORD:
            return np.ones(words.shape, dtype=np.bool_)
        return words < np.uint64(threshold_k)

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("NoiseSource cannot be pickled or copied: two holders would draw the same noise")

    def _sample(self, law: SymmetricLaw, size: int) -> NDArray[np.int64]:
        out = np.empty(_checked_size(size), dtype=np.int64)
        check_platform()
        for start in range(0, size, CHUNK):
            part = out[start : start + CHUNK]
            sample(law, self.uint64(len(part)), lambda: int(self.uint64(1)[0]), part)
        return out

    def _setup(self, seeded: _SeededStream | None) -> None:
        self._seeded = seeded
        if seeded is None:
            _system_key()  # an operating system without randomness is refused now

    def _fill(self, words: NDArray[np.uint64]) -> None:
        """Fill a contiguous array of words from the key stream."""
        if not words.size:
            return
        target = words.data.cast("B")
        seeded = self._seeded
        if seeded is None or seeded.pid != os.getpid():
            _KeyStream(_system_key).fill(target)  # shared with no thread, no fork and no later request
        else:
            seeded.fill(target)


def _system_key() -> bytes:
    key = os.urandom(_KEY_BYTES)
    if len(key) != _KEY_BYTES:
        raise OSError("the operating system returned too few random bytes; nothing is released")
    return key


class _KeyStream:
    """ChaCha20 under one key after the other: each is replaced before its counter could repeat."""

    def __init__(self, next_key: Callable[[], bytes]) -> None:
        self._next_key = next_key
        self._rekey()

    def _rekey(self) -> None:
        key = self._next_key()
        self._stream: CipherContext = Cipher(algorithms.ChaCha20(key, bytes(16)), mode=None).encryptor()
        self._used = 0

    def fill(self, target: memoryview) -> None:
        """The next bytes of the stream."""
        for start in range(0, len(target), len(_ZEROS)):
            part = target[start : start + len(_ZEROS)]
            if self._used + len(part) > _BYTES_PER_KEY:
                self._rekey()
            self._stream.update_into(_ZEROS[: len(part)], part)
            self._used += len(part)


class _SeededStream(_KeyStream):
    """A reproducible stream, of the process that made it."""

    def __init__(self, seed: int) -> None:
        self.pid = os.getpid()
        self._lock = threading.Lock()
        self._key = hashlib.sha256(f"prepriv test seed {seed}".encode()).digest()
        super().__init__(self._following)

    def _following(self) -> bytes:
        key, self._key = self._key, hashlib.sha256(b"next" + self._key).digest()
        return key

    def fill(self, target: memoryview) -> None:
        with self._lock:
            super().fill(target)


def _checked_size(size: int) -> int:
    if not isinstance(size, (int, np.integer)) or isinstance(size, bool) or size < 0:
        raise ValueError(f"size: got {size!r}, need an integer >= 0")
    return int(size)


def _check_scale(scale: float, smallest: float) -> None:
    if not (isinstance(scale, (int, float, np.floating, np.integer)) and math.isfinite(scale)):
        raise ValueError(f"scale: got {scale!r}, need a finite number of grid steps")
    if not smallest <= scale <= LARGEST_SCALE:
        raise ValueError(f"scale: got {scale!r} grid steps, need {smallest:g} <= scale <= 2^50")
