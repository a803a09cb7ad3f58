"""The upper tail of the normal law in 128-bit fixed point: fast enough to settle every hundredth sample.

Q(z) = P(N(0, 1) > z) for 0 <= z <= 5 by its Taylor series at the nearest multiple of 1/16, in plain integers.
Error below 2^-120 (docs/proofs/noise.md, P5). So noise of 2^30 grid steps costs little more than of 2^20.
"""

from __future__ import annotations

import functools

from prepriv.mechanisms._precision import context

TAIL_BITS = 128
ERROR = 2 ** (TAIL_BITS - 120)

_NODES = 16  # per unit
_LAST = 5 * _NODES
_TERMS = 20


def upper_tail(z: int) -> int | None:
    """Q(z / 2^128) * 2^128 within `ERROR`, or None for z outside [0, 5]."""
    i = ((z << 1) * _NODES + (1 << TAIL_BITS)) >> (TAIL_BITS + 1)
    if not 0 <= i <= _LAST:
        return None
    h = z - (i << TAIL_BITS) // _NODES
    value = 0
    for coefficient in _coefficients(i):
        value = (value * h >> TAIL_BITS) + coefficient
    return value


@functools.cache
def _coefficients(i: int) -> tuple[int, ...]:
    """Taylor coefficients of Q at i / 16 times 2^128, highest order first: Q' = -phi, phi^(n) = (-1)^n He_n phi."""
    precise = context(TAIL_BITS + 96)
    z = precise.mpf(i) / _NODES
    density = precise.exp(-z * z / 2) / precise.sqrt(2 * precise.pi)
    hermite, previous, factorial = precise.mpf(1), precise.mpf(0), precise.mpf(1)
    found = [precise.erfc(z / precise.sqrt(2)) / 2]
    for n in range(1, _TERMS + 1):
        factorial *= n
        found.append(density * hermite * (-1) ** n / factorial)
        hermite, previous = z * hermite - (n - 1) * previous, hermite
    return tuple(int(precise.nint(c * 2**TAIL_BITS)) for c in reversed(found))
