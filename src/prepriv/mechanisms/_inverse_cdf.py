"""Exact sampling of integer laws by inverting the distribution function, vectorised.

A symmetric law on the integers is given by ``survival(m) = P(|K| >= m)``. One 64-bit word is a fair sign
and the first 63 bits of a uniform p in (0, 1); the magnitude is ``max{m >= 0 : p < survival(m)}``. The
float path decides almost every word; a word whose prefix leaves the answer open within the float error goes
to `exact_magnitude`, which compares in multiple precision and draws further bits of p until the answer is
certain. So the law of the output is exactly the one stated, given ideal bits. Proof: docs/proofs/noise.md
(P5).
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from typing import Any, Protocol

import mpmath
import numpy as np
from numpy.typing import NDArray

PREFIX_BITS = 63
CHUNK = 2**14  # words handled at once: the temporaries stay in cache
_GUARD_BITS = 64
_SLACK_BITS = 32  # survival is computed to 64 guard bits and trusted to 32
_MAX_MAGNITUDE = 2**62

_local = threading.local()


class SymmetricLaw(Protocol):
    """A symmetric law on the integers, as `sample` needs it."""

    def fast(self, prefix: NDArray[np.uint64]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Magnitudes for 63-bit prefixes of p, and where they are uncertain (and may be wrong)."""
        ...

    def guess(self, log_p: float) -> int:
        """A magnitude near the one that p takes; only speed depends on its quality."""
        ...

    def survival(self, m: int, context: Any) -> Any:
        """P(|K| >= m) for m >= 1 as a number of the mpmath `context`, within 2^-32 guard-bit slack."""
        ...


def sample(
    law: SymmetricLaw, words: NDArray[np.uint64], draw: Callable[[], int], out: NDArray[np.int64]
) -> None:
    """Write one integer per 64-bit word into `out`; `draw()` gives further 64-bit words when bits run out."""
    prefix = words >> np.uint64(1)
    magnitude, unsure = law.fast(prefix)
    np.copyto(out, magnitude, casting="unsafe")
    for i in np.flatnonzero(unsure):
        out[i] = exact_magnitude(law, int(prefix[i]), draw)
    negative = -(words & np.uint64(1)).view(np.int64)  # 0 or -1
    out ^= negative
    out -= negative


def exact_magnitude(law: SymmetricLaw, prefix: int, draw: Callable[[], int]) -> int:
    """``max{m >= 0 : p < survival(m)}`` for p in [prefix, prefix + 1] / 2^63, drawing more bits until
    certain.

    Magnitudes are capped at 2^62, which no admissible scale reaches with probability above 2^-1000.
    """
    bits, low = PREFIX_BITS, prefix
    guess: int | None = None
    context = _context()
    while True:
        if low > 0:
            if guess is None:
                guess = law.guess(math.log(low) - bits * math.log(2.0))
            settled, guess = _settle(law, context, guess, low, bits)
            if settled:
                return min(guess, _MAX_MAGNITUDE)
        low = (low << 64) | draw()
        bits += 64


def _settle(law: SymmetricLaw, context: Any, m: int, low: int, bits: int) -> tuple[bool, int]:
    """Move m until p's interval lies in [survival(m + 1), survival(m)), or report that it is cut."""
    context.prec = bits + _GUARD_BITS
    slack = context.mpf(2) ** -_SLACK_BITS
    m = max(m, 0)
    while True:
        above = law.survival(m + 1, context) * 2**bits
        if low + 1 + slack < above:
            m += 1
            continue
        upper_certain = above < low - slack
        if m == 0:
            return upper_certain, m
        below = law.survival(m, context) * 2**bits
        if below < low - slack:
            m -= 1
            continue
        return upper_certain and low + 1 + slack < below, m


def _context() -> Any:
    """A multiple-precision context of this thread: the precision of the shared one belongs to others."""
    if not hasattr(_local, "context"):
        _local.context = mpmath.MPContext()
    return _local.context
