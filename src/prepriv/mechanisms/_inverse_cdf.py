"""Exact sampling of integer laws by inverting the distribution function, vectorised.

A symmetric law on the integers is given by ``survival(m) = P(|K| >= m)``. One 64-bit word is a fair sign
and the first 63 bits of a uniform p in (0, 1); the magnitude is ``max{m >= 0 : p < survival(m)}``. Floats
decide almost every word. A word whose prefix leaves the answer open within the float error is decided by
comparison in multiple precision, with further bits of p drawn until the answer is certain. So the law of the
output is exactly the one stated, given ideal bits. Proof: docs/proofs/noise.md (P5).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from prepriv.mechanisms._precision import context

PREFIX_BITS = 63
CHUNK = 2**14  # words handled at once: the temporaries stay in cache
# Below this prefix the interval of p, of width 2^-63, is no longer small against p: floats decide nothing.
SMALL_PREFIX = 2**44

_GUARD_BITS = 64
_SLACK_BITS = 32  # a survival function computed with 64 guard bits is trusted to 32
_MAX_MAGNITUDE = 2**62  # no admissible scale reaches it with probability above 2^-1000


class SymmetricLaw(Protocol):
    """A symmetric law on the integers, as `sample` needs it."""

    @property
    def band(self) -> float:
        """A bound on the error of `continuous`, with a margin."""
        ...

    def continuous(self, prefix: NDArray[np.uint64]) -> NDArray[np.float64]:
        """y >= 0 with floor(y) the magnitude, from 63-bit prefixes of p not below `SMALL_PREFIX`."""
        ...

    def guess(self, log_p: float) -> int:
        """A magnitude near the one that p takes; only speed depends on its quality."""
        ...

    def side(self, prefix: int, m: int) -> bool | None:
        """Whether p < survival(m) for every p of the prefix, m >= 1; None if that takes more precision."""
        ...

    def survival(self, m: int, precise: Any) -> Any:
        """P(|K| >= m) for m >= 1, in the precision of an mpmath context."""
        ...


def sample(
    law: SymmetricLaw, words: NDArray[np.uint64], draw: Callable[[], int], out: NDArray[np.int64]
) -> None:
    """Write one integer per 64-bit word to `out`; `draw()` gives further words when the bits of p run out."""
    prefix = words >> np.uint64(1)
    y = law.continuous(prefix)
    boundary = np.rint(y)
    np.copyto(out, np.floor(y), casting="unsafe")
    small = prefix < np.uint64(SMALL_PREFIX)
    y -= boundary
    np.abs(y, out=y)
    unsure = y <= law.band
    unsure |= small
    for i in np.flatnonzero(unsure):
        if small[i] or law.band >= 0.25:
            out[i] = exact_magnitude(law, int(prefix[i]), draw)
        else:  # every other boundary is at least 1/2 away from y, out of reach of its error
            out[i] = exact_side(law, int(prefix[i]), int(boundary[i]), draw)
    negative = -(words & np.uint64(1)).view(np.int64)  # 0 or -1
    out ^= negative
    out -= negative


def exact_side(law: SymmetricLaw, prefix: int, m: int, draw: Callable[[], int]) -> int:
    """m if p < survival(m), else m - 1, for p in [prefix, prefix + 1] / 2^63 that takes one of the two."""
    if m > 0 and (below := law.side(prefix, m)) is not None:
        return m if below else m - 1
    bits, low = PREFIX_BITS, prefix
    while m > 0:
        least, most = _threshold(law, m, bits)
        if low + 1 < least:
            return m
        if most < low:
            return m - 1
        low = (low << 64) | draw()
        bits += 64
    return 0


def exact_magnitude(law: SymmetricLaw, prefix: int, draw: Callable[[], int]) -> int:
    """``max{m >= 0 : p < survival(m)}`` for p in [prefix, prefix + 1] / 2^63, without use of floats.

    Magnitudes are capped at 2^62.
    """
    bits, low = PREFIX_BITS, prefix
    while True:
        if low >= 2**32:  # else the interval is so wide that it is sure to be cut
            guess = law.guess(math.log(low) - bits * math.log(2.0))
            settled, magnitude = _settle(law, guess, low, bits)
            if settled:
                return min(magnitude, _MAX_MAGNITUDE)
        low = (low << 64) | draw()
        bits += 64


def _settle(law: SymmetricLaw, m: int, low: int, bits: int) -> tuple[bool, int]:
    """Move m until p's interval lies in [survival(m + 1), survival(m)), or report that it is cut."""
    while True:
        least, most = _threshold(law, m + 1, bits)
        if low + 1 < least:
            m += 1
            continue
        certain = most < low
        if m == 0:
            return certain, m
        least, most = _threshold(law, m, bits)
        if most < low:
            m -= 1
            continue
        return certain and low + 1 < least, m


def _threshold(law: SymmetricLaw, m: int, bits: int) -> tuple[Any, Any]:
    """Bounds below and above on survival(m) * 2^bits, as multiple-precision numbers."""
    precise = context(bits + _GUARD_BITS)
    value = law.survival(m, precise) * 2**bits
    slack = precise.mpf(2) ** -_SLACK_BITS
    return value - slack, value + slack
