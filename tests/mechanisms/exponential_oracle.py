"""The law that `ExponentialMechanism.choose` has, exactly: the law of its rounded weights and its uniform."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np

from prepriv.mechanisms.exponential import _candidates


class Words:
    """A source whose words spell one given number."""

    def __init__(self, number):
        self.number = number

    def uint64(self, size):
        self.size = size
        return np.frombuffer(int(self.number).to_bytes(8 * size, "little"), dtype="<u8")


def words_drawn(mechanism):
    words = Words(0)
    mechanism.choose(np.zeros(2, np.int64), words)
    return words.size


def exact_law(mechanism, scores, counts=None):
    """Probability of one copy of each candidate as `choose` draws it: (first copy, last copy), fractions."""
    shortfall, copies = _candidates(np.asarray(scores, np.int64), counts)
    weights = mechanism._weights(np.unique(shortfall))
    size = 2 ** (64 * words_drawn(mechanism))
    total = sum(weights[int(a)] * int(c) for a, c in zip(shortfall, copies))
    law, start = [], 0
    for a, c in zip(shortfall, copies):
        ends = []
        for j in (0, max(int(c) - 1, 0)):
            low = start + j * weights[int(a)]
            ends.append(Fraction(-(-(low + weights[int(a)]) * size // total) - -(-low * size // total), size))
        law.append(tuple(ends))
        start += weights[int(a)] * int(c)
    return law


def log_ratio_range(one, two):
    """Length of the interval of log-likelihood ratios of two laws on the same copies."""
    with mpmath.workdps(60):
        logs = []
        for p, q in zip(one, two):
            for a, b in zip(p, q):
                logs.append(
                    mpmath.log(mpmath.mpf(a.numerator) * b.denominator / (b.numerator * a.denominator))
                )
        return max(logs) - min(logs)
