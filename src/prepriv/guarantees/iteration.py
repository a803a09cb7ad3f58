"""Amplification by iteration: what the last iterate of a noisy contraction says about one moved step.

A chain X_{k+1} = φ_k(X_k) + N(0, 1) of 1-Lipschitz maps, and one whose maps differ by at most s_k. If only the
last iterate is seen, the two are m-GDP with m = ‖a‖ for every a ≥ 0 whose prefix sums stay below those of s and
whose total is the same (shifted interpolation, Bok, Su and Altschuler 2024). Proof: docs/proofs/one_pass.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from prepriv._arguments import integer, number, numbers
from prepriv._arrays import Floats
from prepriv._rounding import UP
from prepriv.guarantees.subsampling import GaussianMixture


def taut_string(shifts: Floats) -> Floats:
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


def last_iterate_mu(shifts: Floats) -> float:
    """m for which the last iterate is m-GDP, rounded up; the noise of a step has deviation 1."""
    a = taut_string(shifts)
    return math.sqrt(float(a @ a)) * (1.0 + 1e-15 * (len(a) + 8))


@dataclass(frozen=True)
class Passes:
    """Several passes over the same steps in the same order.

    count: passes begun. shrink: 1 − c, every map of a step being c-Lipschitz. diameter: of the ball that every step begins by
    projecting on, in units of the noise (inf: none).
    """

    count: int = 1
    shrink: float = 0.0
    diameter: float = math.inf

    def __post_init__(self) -> None:
        integer("passes", self.count)
        number("shrink", self.shrink, at_least=0.0, below=1.0)

    def earlier(self, steps: int, record: float) -> tuple[Floats, Floats, Floats]:
        """(distance left at the record's last step, its squared price if paid before, passes that are looked at), (k,) each.

        One entry for the start, where runs are equal, and one for each number of visits after they were a diameter apart.
        """
        log_c, most = math.log1p(-self.shrink), self.count - 1
        visits = np.array([float(most)])
        if math.isfinite(self.diameter):
            best = np.clip(np.array([1.0, 2.0]) * (self.diameter / max(record, 1e-300)), 0.0, most)
            visits = np.append(visits, np.unique(np.floor([0.0, *np.geomspace(1, max(most, 1), 60), *best])))
            visits = visits[visits <= most]
        apart = np.append(0.0, np.full(len(visits) - 1, self.diameter if len(visits) > 1 else 0.0))
        kept = record * math.exp((steps - 1) * log_c) * _geometric(visits, steps * log_c)
        left = np.exp(visits * (steps * log_c)) * apart + kept
        room = _geometric(visits * steps, 2.0 * log_c)
        paid = np.divide(left * left, room, out=np.where(left > 0.0, np.inf, 0.0), where=room > 0.0)
        return left, paid, visits + 1.0


def _geometric(terms: Floats, log_ratio: float) -> Floats:
    """1 + r + … + r^(terms − 1), log r ≤ 0."""
    return terms if log_ratio == 0.0 else np.asarray(np.expm1(terms * log_ratio) / np.expm1(log_ratio))


def random_stopping(
    steps: int,
    record: float,
    *,
    total: float = 0.0,
    step: float = 0.0,
    rounding: float = 0.0,
    again: Passes = Passes(),
) -> GaussianMixture:
    """The trade-off function of a chain of fixed order that stops after a uniform number of the last M steps.

    steps: M; one pass, or the part of it that is run, and all of a pass where there are several. record: what the
    replaced record moves its step of a pass. total: what all other differences move together in a pass, and step: the
    most they move one step. rounding: what every step moves besides. All in units of the noise of a step. Holds for every
    position of the record and every arrangement of the rest.
    """
    count = integer("steps", steps)
    c = number("record", record, at_least=0.0)
    rest, most = number("total", total, at_least=0.0), number("step", step, at_least=0.0)
    each = number("rounding", rounding, at_least=0.0)
    # w, the number of steps from the record's on: exact up to 512, then in groups led by their least w.
    w = np.unique(np.floor(np.concatenate([np.arange(1, 513), np.geomspace(512, max(count, 512), 900)])))
    w = w[w <= count]
    weights = np.diff(np.append(w, count + 1.0)) / count
    log_c, square = math.log1p(-again.shrink), min(most, rest) * rest
    last, room = c * np.exp((w - 1.0) * log_c), _geometric(w, 2.0 * log_c)
    shifts = np.full(len(w), np.inf)
    for left, paid, seen in zip(*again.earlier(count, c)):
        carried = left * np.exp(w * log_c)
        # The share of what is left that is paid before the record's last step: any is valid, this one is the cheapest.
        share = np.clip(carried * (carried + last) / np.maximum(room * paid + carried**2, 1e-300), 0.0, 1.0)
        before = share**2 * paid if math.isfinite(paid) else np.zeros(len(w))
        after = (1.0 - share) * carried + last
        others = seen * square + 2.0 * np.sqrt(before * seen * square)
        along = 2.0 * after / room * np.minimum(rest, w * min(most, rest))
        norm = np.sqrt(before + after**2 / room + along + others) + each * math.sqrt(seen * count)
        shifts = np.minimum(shifts, norm)
    return GaussianMixture(shifts * UP, weights * (1.0 - 1e-15))
