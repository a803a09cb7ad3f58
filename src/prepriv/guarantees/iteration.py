"""Amplification by iteration: what the last iterate of a noisy contraction says of one moved step.

A chain X_{k+1} = φ_k(X_k) + N(0, 1) of 1-Lipschitz maps, and one whose maps differ by at most s_k. If only the
last iterate is seen, the two are m-GDP with m = ‖a‖ for every a ≥ 0 whose prefix sums stay below those of s and
whose total is the same (shifted interpolation, Bok, Su and Altschuler 2024). Proof: docs/proofs/one_pass.md.
"""

from __future__ import annotations

import math

import numpy as np

from prepriv._arguments import FloatArray, integer, number, numbers
from prepriv.guarantees.subsampling import GaussianMixture

_UP = 1.0 + 1e-12


def taut_string(shifts: FloatArray) -> FloatArray:
    """The a of least norm: the slopes of the greatest convex minorant of the prefix sums of s, (T,).

    shifts: s_1 … s_T, in units of the noise, each at least 0.

    >>> taut_string(np.array([0.0, 3.0, 0.0, 0.0])).tolist()
    [0.0, 1.0, 1.0, 1.0]
    """
    s = numbers("shifts", shifts, at_least=0.0).ravel()
    slopes: list[float] = []
    lengths: list[int] = []
    for value in s:
        slope, length = float(value), 1
        # A later slope that is smaller pulls the string straight over both.
        while slopes and slopes[-1] > slope:
            slope = (slopes[-1] * lengths[-1] + slope * length) / (lengths[-1] + length)
            length += lengths.pop()
            slopes.pop()
        slopes.append(slope)
        lengths.append(length)
    return np.repeat(np.array(slopes, dtype=np.float64), np.array(lengths, dtype=np.int64))


def last_iterate_mu(shifts: FloatArray) -> float:
    """m for which the last iterate is m-GDP, rounded up; the noise of a step has deviation 1."""
    a = taut_string(shifts)
    return math.sqrt(float(a @ a)) * (1.0 + 1e-15 * (len(a) + 8))


def random_stopping(
    steps: int, record: float, *, total: float = 0.0, step: float = 0.0, rounding: float = 0.0
) -> GaussianMixture:
    """The trade-off function of a chain of fixed order that stops after a uniform number of steps in 1 … M.

    record: what the replaced record moves its one step. total: what all other differences move together, and
    step: the most they move one step. rounding: what every step moves besides. All in units of the noise of a
    step. Holds for every position of the record and every arrangement of the rest.
    """
    count = integer("steps", steps)
    c = number("record", record, at_least=0.0)
    rest, most = number("total", total, at_least=0.0), number("step", step, at_least=0.0)
    each = number("rounding", rounding, at_least=0.0)
    # w, the number of steps from the record's on: exact up to 512, then in groups led by their least w.
    w = np.unique(np.floor(np.concatenate([np.arange(1, 513), np.geomspace(512, max(count, 512), 900)])))
    w = w[w <= count]
    weights = np.diff(np.append(w, count + 1.0)) / count
    most = min(most, rest)
    square = c * c / w + 2.0 * c * np.minimum(rest / w, most) + most * rest
    shifts = (np.sqrt(square) + each * math.sqrt(count)) * _UP
    return GaussianMixture(shifts, weights * (1.0 - 1e-15))
