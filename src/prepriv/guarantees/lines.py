"""Supporting lines: the finite, certified form of a trade-off function.

Line j is the claim that the hockey-stick divergence at e^{s_j} is at most d_j, so that
f(alpha) >= 1 - d_j - e^{s_j} alpha. The maximum of such lines is a valid lower bound of the
trade-off function wherever they were taken; chords between points of f are not (they lie above).
Proof and rounding: docs/proofs/tradeoff.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from prepriv._arrays import Floats

ULP = 2.0**-52  # spacing of floats at 1


@dataclass(frozen=True, eq=False)
class LossAtoms:
    """A discrete law of the privacy loss log(dQ/dP) under Q, for f = T(P, Q).

    losses: shape (k,), finite; masses: shape (k,), >= 0; infinite_mass: Q-mass where P has none.
    The masses must be upper bounds in the sense of dominance: sum (m_i (1 - e^{eps - L_i})_+) +
    infinite_mass is never below the hockey-stick divergence of Q against P, and the pair stays
    dominating under composition (exact atoms, or atoms of a dominating pair, rounded up).
    """

    losses: Floats
    masses: Floats
    infinite_mass: float


@dataclass(frozen=True, eq=False)
class SupportLines:
    """Lines with slopes -e^{s_j}: slopes s (m,) ascending, deltas (m,) upper bounds of delta(s_j).

    Built by `support_lines`, which sorts and keeps the upper envelope.
    """

    slopes: Floats
    deltas: Floats

    @cached_property
    def knots(self) -> Floats:
        """Type I errors at which the envelope turns, shape (m,), descending.

        knots[0] is where the envelope leaves 0; line j rules between knots[j + 1] and knots[j].
        """
        return np.exp(self._log_knots)

    @cached_property
    def _log_knots(self) -> Floats:
        # alpha where lines j - 1 and j meet: (d_{j-1} - d_j) / (e^{s_j} - e^{s_{j-1}}); line -1 is beta = 0
        s, d = self.slopes, self.deltas
        first = np.minimum(0.0, np.log(np.maximum(1.0 - d[:1], 5e-324)) - s[:1])
        drop = -np.diff(d)
        log_gap = s[1:] + np.log(-np.expm1(-np.diff(s)))
        rest = np.where(drop > 0, np.log(np.maximum(drop, 5e-324)) - log_gap, -np.inf)
        return np.append(first, rest)

    def beta(self, alpha: Floats) -> Floats:
        """The envelope at alpha, rounded down."""
        line = np.maximum(len(self.slopes) - np.searchsorted(self.knots[::-1], alpha, side="right"), 1) - 1
        log_drop = self.slopes[line] + np.log(np.maximum(alpha, 5e-324))
        drop = np.where(alpha > 0, np.exp(np.minimum(log_drop, 1.0)), 0.0)
        error = ULP * (8.0 + 2.0 * np.abs(self.slopes[line])) * (1.0 + drop)
        return np.maximum(0.0, 1.0 - self.deltas[line] - drop - error)

    def delta(self, epsilon: Floats) -> Floats:
        """1 + f*(-e^epsilon) of the envelope, any sign, rounded up: a chord of delta in e^epsilon."""
        left = np.searchsorted(self.slopes, epsilon, side="right") - 1
        right = np.minimum(left + 1, len(self.slopes) - 1)
        left = np.maximum(left, 0)
        s, t, d, e = self.slopes[left], self.slopes[right], self.deltas[left], self.deltas[right]
        step, gap = np.maximum(epsilon - s, 0.0), np.maximum(t - s, 1e-300)
        inside = (epsilon > s) & (right > left)
        weight = np.exp(np.minimum(epsilon - t, 0.0)) * np.expm1(-step) / np.expm1(-gap)
        weight = np.minimum(weight, 1.0)
        chord = d * (1.0 - weight) + e * weight + 16.0 * ULP * d
        before = 1.0 - (1.0 - d) * np.exp(np.minimum(epsilon - s, 0.0)) * (1.0 - 4.0 * ULP) + ULP
        value = np.where(inside, np.minimum(chord, d), np.where(epsilon < s, before, d))
        return np.minimum(value, 1.0)

    def inverse(self) -> SupportLines:
        """The lines of f^{-1} = T(Q, P): slope -e^s and delta d become -e^{-s} and 1 - e^{-s}(1 - d)."""
        held = np.exp(-self.slopes + np.log(np.maximum(1.0 - self.deltas, 5e-324)))
        return support_lines(-self.slopes, 1.0 - held * (1.0 - ULP * (8.0 + 2.0 * np.abs(self.slopes))) + ULP)

    def atoms(self) -> LossAtoms:
        """The privacy loss of the pair with exactly this trade-off function.

        Segment j has P-mass knots[j] - knots[j + 1], Q-mass e^{s_j} times that, loss s_j. The knots
        are scaled up by 16 ulp, more than their own rounding: every mass grows by the same factor.
        """
        up = 1.0 + ULP * (32.0 + 4.0 * np.abs(self.slopes))
        log_knots = self._log_knots
        after = np.append(log_knots[1:], -np.inf)
        left = np.isfinite(log_knots)  # in logarithms: e^{-s} itself would underflow for steep lines
        kept = -np.expm1(np.where(left, np.minimum(after - np.where(left, log_knots, 0.0), 0.0), 0.0))
        masses = np.where(left, np.exp(self.slopes + np.where(left, log_knots, 0.0)) * kept, 0.0) * up
        return LossAtoms(self.slopes, masses, min(1.0, float(self.deltas[-1]) * float(up[-1])))


def support_lines(slopes: Floats, deltas: Floats) -> SupportLines:
    """Sort the lines, raise each delta to what it can be at least, and keep the upper envelope.

    Leaving out a line is always sound. One whose neighbours meet above it is left out, no two neighbours at once.
    """
    order = np.argsort(slopes, kind="stable")
    s, d = slopes[order], np.clip(deltas[order], 0.0, 1.0)
    # beta <= 0 says nothing, and neither does a line that is steeper and no higher at 0
    kept = d < np.minimum(1.0, np.append(1.0, np.minimum.accumulate(d)[:-1]))
    s, d = s[kept], d[kept]
    kept = np.append(s[1:] > s[:-1], True)[: len(s)]
    s, d = s[kept], d[kept]
    while len(s):
        meet = SupportLines(s, d)._log_knots
        below = np.flatnonzero(meet[1:] >= meet[:-1])
        if not len(below):
            return SupportLines(s, d)
        starts = np.append(True, np.diff(below) > 1)
        run = np.maximum.accumulate(np.where(starts, np.arange(len(below)), 0))
        leave = below[(np.arange(len(below)) - run) % 2 == 0]
        s, d = np.delete(s, leave), np.delete(d, leave)
    return SupportLines(np.zeros(1), np.ones(1))


def adaptive_lines(
    delta: Callable[[Floats], Floats],
    lowest: float,
    highest: float,
    *,
    extra: Floats | None = None,
    tolerance: float,
    budget: int,
) -> SupportLines:
    """Lines of `delta` between two slopes, dense where one more line would lift f by over tolerance."""
    slopes = np.union1d(np.linspace(lowest, highest, 33), np.zeros(1) if extra is None else extra)
    deltas = delta(slopes)
    fresh = np.ones(len(slopes) - 1, dtype=bool)
    while fresh.any() and len(slopes) < budget:
        left = np.flatnonzero(fresh)
        middle = 0.5 * (slopes[left] + slopes[left + 1])
        value = delta(middle)
        gap = np.exp(slopes[left + 1]) - np.exp(slopes[left])
        meet = (deltas[left] - deltas[left + 1]) / gap
        lifted = deltas[left] + np.exp(slopes[left]) * meet - value - np.exp(middle) * meet
        useful = np.argsort(-lifted)[: budget - len(slopes)]
        useful = np.sort(useful[lifted[useful] > 0.0])
        again = lifted[useful] > tolerance
        at = left[useful] + 1
        slopes = np.insert(slopes, at, middle[useful])
        deltas = np.insert(deltas, at, value[useful])
        fresh = np.zeros(len(slopes) - 1, dtype=bool)
        place = at + np.arange(len(at))  # index of each new line
        fresh[place[again] - 1] = True
        fresh[place[again]] = True
    return support_lines(slopes, deltas)
