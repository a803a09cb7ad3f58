"""Certified upper tails of how many of some rows a random batch holds: binomial and hypergeometric.

Terms relative to one at the mode, by exact ratios: no log-gamma, whose cancellation costs n log n times the
rounding unit. Proof: docs/proofs/stochastic.md ("Counts").
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from prepriv._arrays import Floats
from prepriv._rounding import UP

_UNIT = 2.0**-53
_LEAST = 1e-60  # of the term at the mode: the sums end there
_MOST_TERMS = 2**22  # beyond, 1 is answered: n above some 10^10
_UNDERFLOW = 1e-290  # what denormal numbers can lose


def binomial_tail(k: Floats, n: int, rate: float) -> Floats:
    """Upper bound of P(X > k), X binomial (n, rate), k (m,) whole numbers >= 0.

    Too large by 2e-8 of itself at most where n rate <= 10^10, and by 1e-290.
    """
    if rate >= 1.0:
        return np.asarray(np.where(k >= n, 0.0, 1.0))
    odds = rate / (1.0 - rate)
    mode = min(n, int((n + 1) * rate))
    return _tail(k, mode, 0, n, n, lambda j: (n - j) / (j + 1.0) * odds)


def hypergeometric_tail(k: Floats, n: int, rows: int, drawn: int) -> Floats:
    """Upper bound of P(X > k), X how many of `rows` of n rows are among `drawn` without replacement, k (m,)."""
    n, rows, drawn = int(n), int(rows), int(drawn)  # NumPy's would overflow
    least, most = max(0, drawn + rows - n), min(rows, drawn)
    mode = min(max((rows + 1) * (drawn + 1) // (n + 2), least), most)
    left = n - rows - drawn
    return _tail(k, mode, least, most, n, lambda j: (rows - j) * (drawn - j) / ((j + 1.0) * (left + j + 1.0)))


def _tail(k: Floats, mode: int, least: int, most: int, n: int, ratio: Callable[[Floats], Floats]) -> Floats:
    """ratio(j) = p(j + 1) / p(j), falling in j on least <= j < most, the whole support."""
    sure = np.asarray(np.where(k >= most, 0.0, 1.0))
    if n >= 2**52:  # ratios need exact whole numbers
        return sure
    below = _terms(mode, least, -1, lambda j: 1.0 / ratio(j - 1.0))
    above = _terms(mode, most, 1, ratio)
    if below is None or above is None:
        return sure
    terms, first, last = np.concatenate([below[::-1], [1.0], above]), mode - len(below), mode + len(above)
    rest = 0.0
    if last < most:  # ratios fall: a geometric series
        step = float(ratio(np.array([float(last)]))[0]) * UP
        if step >= 1.0:
            return sure
        rest = float(terms[-1]) * step / (1.0 - step)
    sums = np.cumsum(terms[::-1])[::-1]  # leaving terms out below makes the quotient larger
    slack = 1.0 + 24.0 * (len(terms) + 64.0) * _UNIT
    tail = np.minimum((np.append(sums[1:], 0.0) + rest + _UNDERFLOW) / sums[0] * slack, 1.0)
    at = np.clip(k - first, -1.0, len(terms) - 1.0).astype(np.intp)
    return np.asarray(np.where(at < 0, sure, np.minimum(tail[np.maximum(at, 0)], sure)))


def _terms(mode: int, end: int, side: int, ratio: Callable[[Floats], Floats]) -> Floats | None:
    """p / p(mode) at mode + side, mode + 2 side, ... to the end or the first below _LEAST; None: too many."""
    parts: list[Floats] = [np.zeros(0)]
    now, count, last, chunk = mode, 0, 1.0, 256
    while now != end and last >= _LEAST:
        size = min(chunk, abs(end - now))
        terms = np.asarray(
            last * np.cumprod(ratio(now + side * np.arange(size, dtype=np.float64))), dtype=np.float64
        )
        small = np.flatnonzero(terms < _LEAST)
        terms = terms[: small[0] + 1] if len(small) else terms
        parts.append(terms)
        last, now, count = float(terms[-1]), now + side * len(terms), count + len(terms)
        if count > _MOST_TERMS:
            return None
        chunk = min(2 * chunk, 2**18)
    return np.concatenate(parts)
