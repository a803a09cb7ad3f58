"""Sums of independent privacy losses on a grid, rounded so that delta is never too small.

The loss of a composition is the sum of the losses of its parts. Each part is moved to a grid by a
split that keeps both its P- and its Q-mass ("connect the dots", Doroshenko et al. 2022), which can
only raise every hockey-stick divergence; grids are convolved by one FFT of the *tilted* masses
m_i e^{theta L_i}, so that rounding noise is small against the tail that decides delta (untilted
noise is not: at k = 1000 it is 1e-13 whatever delta is). The noise is bounded in each run and added.
Proof: docs/proofs/composition.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from prepriv._arrays import Floats
from prepriv.guarantees.lines import ULP, LossAtoms

TRANSFORM = 8.0  # rounding of a transform: ulp of the sum of its entries, for each factor 2 of its length
LOW_TAIL, HIGH_TAIL = 1e-16, 1e-36  # mass outside the window: raised to its floor, moved to infinity
MOST_POINTS = 1 << 25  # of the grid of a sum: some gigabytes
EXPONENTS = (0.5, 11.0)  # Chernoff exponents of the tilts: one for the middle, one for the tail


@dataclass(frozen=True, eq=False)
class LossGrid:
    """Masses (m,) of the loss at (first + i) * interval, and mass at infinity."""

    interval: float
    first: int
    masses: Floats
    infinite_mass: float

    def losses(self) -> Floats:
        """The grid points, shape (m,)."""
        return np.asarray((self.first + np.arange(len(self.masses))) * self.interval, dtype=np.float64)

    @cached_property
    def where(self) -> NDArray[np.int64]:
        """Which grid points have mass, ascending: a law of few atoms has few of many."""
        return np.flatnonzero(self.masses > 0.0)

    @cached_property
    def where_losses(self) -> Floats:
        """Those grid points, as losses."""
        return np.asarray((self.first + self.where) * self.interval, dtype=np.float64)

    @cached_property
    def where_logs(self) -> Floats:
        """The logarithms of their masses."""
        return np.asarray(np.log(self.masses[self.where]), dtype=np.float64)


def discretize(atoms: LossAtoms, interval: float, largest: int) -> LossGrid:
    """Move atoms to multiples of `interval`, keeping P- and Q-mass; at most `largest` grid points."""
    inside = atoms.masses > 0.0
    losses, masses = atoms.losses[inside], atoms.masses[inside]
    infinite = atoms.infinite_mass
    losses = losses + 4.0 * ULP * np.abs(losses)
    if not len(losses):
        return LossGrid(interval, 0, np.zeros(1), infinite)
    left = np.floor(losses / interval)
    top = float(left.max())
    if top - float(left.min()) + 2 > largest:  # raise the lowest losses
        left = np.maximum(left, top - largest + 2)
    part = np.clip(losses - left * interval, 0.0, interval)
    share = np.expm1(-part) / np.expm1(-interval)
    rest = np.exp(-part) * np.expm1(part - interval) / np.expm1(-interval)
    first = int(left.min())
    index = (left - first).astype(np.int64)
    size = int(index.max()) + 2
    grid = np.bincount(index, masses * rest, size) + np.bincount(index + 1, masses * share, size)
    return LossGrid(interval, first, np.asarray(grid * (1.0 + 16.0 * ULP), dtype=np.float64), infinite)


def composed_deltas(grids: Sequence[LossGrid], counts: Sequence[int]) -> tuple[Floats, Floats]:
    """Grid of epsilons >= 0 (ascending) and upper bounds of delta there, for the sum.

    grids: of one interval; counts: how many times each is used.
    """
    interval = grids[0].interval
    if any(not (grid.masses > 0.0).any() for grid in grids):  # one part tells all: nothing is finite
        return np.array([0.0, interval]), np.ones(2)
    total = sum(counts)
    infinite = 1.0
    if all(grid.infinite_mass < 1.0 for grid in grids):
        kept = math.fsum(k * math.log1p(-grid.infinite_mass) for grid, k in zip(grids, counts))
        infinite = -math.expm1(kept) * (1.0 + 8.0 * ULP)
    scale = _Cumulants(grids, counts)
    lowest, highest = scale.window()
    high = max(math.ceil(highest / interval), 1)
    low = min(math.floor(lowest / interval), high)  # hardly any mass may be finite
    if high - low > MOST_POINTS:
        raise ValueError(
            f"interval must be larger: {interval:g} asks for a grid of {high - low} points, at most {MOST_POINTS} are used"
        )
    start = min(max(low, 0), high)  # delta is needed from epsilon = 0 on
    best = np.full(high - start + 1, np.inf)
    points = np.arange(low, high + 1, dtype=np.float64) * interval
    for theta in dict.fromkeys((0.0, *map(scale.tilt, EXPONENTS))):
        tilted = _tilted_sum(grids, counts, theta, low, high)
        back, known = tilted.untilt(points if theta else points[:1])  # without a tilt, all points are alike
        tail = _tail_excess(tilted.masses * back, interval)
        bound = tail + tilted.noise * tilted.weight_beyond(interval) * back
        # A bound below zero cannot be one: whatever made it so, this tilt says nothing there.
        best = np.minimum(best, np.where(known & (bound >= 0.0), bound, np.inf)[start - low :])
    best = np.maximum(best, 0.0) * (1.0 + 32.0 * ULP * (total + 4.0)) + infinite + HIGH_TAIL
    best += LOW_TAIL if low > 0 else 0.0  # mass lost below the window counts where it lay above epsilon
    epsilons = np.asarray(np.arange(start, high + 1) * interval, dtype=np.float64)
    return epsilons, np.minimum.accumulate(np.minimum(best, 1.0))


class _Cumulants:
    """log E e^{theta L} of the sum, and what is read off it."""

    def __init__(self, grids: Sequence[LossGrid], counts: Sequence[int]) -> None:
        self.parts = []
        mean = variance = 0.0
        for grid, count in zip(grids, counts):
            losses, logs = grid.where_losses, grid.where_logs
            weight = np.exp(logs - logsumexp(logs))
            centre = float(weight @ losses)
            mean += count * centre
            variance += count * float(weight @ (losses - centre) ** 2)
            self.parts.append((count, losses, logs))
        self.mean, self.deviation = mean, max(math.sqrt(variance), grids[0].interval)

    def log_moment(self, theta: float) -> float:
        return self._moments(theta)[0]

    def _moments(self, theta: float) -> tuple[float, float]:
        """K(theta) = log E e^{theta L} and its slope."""
        value = slope = 0.0
        for count, losses, logs in self.parts:
            weights = logs + theta * losses
            most = float(weights.max())
            np.exp(np.subtract(weights, most, out=weights), out=weights)
            total = float(weights.sum())
            value += count * (most + math.log(total))
            slope += count * float(weights @ losses) / total
        return value, slope

    def window(self) -> tuple[float, float]:
        """Chernoff: the loss is below the first with Q-mass LOW_TAIL, above the second with HIGH_TAIL."""
        thetas = np.geomspace(1e-3, 60.0, 32) / self.deviation
        # K is convex, so that each fraction falls, then rises; any theta would bound the mass.
        low = -_valley(lambda t: (self.log_moment(-t) - math.log(LOW_TAIL)) / t, thetas)
        high = _valley(lambda t: (self.log_moment(t) - math.log(HIGH_TAIL)) / t, thetas)
        lowest = math.fsum(k * losses[0] for k, losses, _ in self.parts)
        highest = math.fsum(k * losses[-1] for k, losses, _ in self.parts)
        return max(low, lowest), min(high, highest)

    def tilt(self, exponent: float) -> float:
        """theta > 0 at which the Chernoff exponent theta K'(theta) - K(theta) is this."""
        low, high = 0.0, 64.0 / self.deviation
        for _ in range(14):
            theta = 0.5 * (low + high)
            value, slope = self._moments(theta)
            if theta * slope - value < exponent:
                low = theta
            else:
                high = theta
        return low


def _valley(height: Callable[[float], float], points: Floats) -> float:
    """The least height at the points, for one that falls, then rises."""
    known = cache(lambda i: height(float(points[i])))
    low, high = 0, len(points) - 1
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if known(middle) <= known(middle + 1) else (middle + 1, high)
    return known(low)


@dataclass(frozen=True, eq=False)
class _Tilted:
    """Masses of the tilted sum, times e^{-log_scale}; each is within `noise` of an upper bound of the true one.

    log_terms: sum of the absolute values that log_scale is the sum of, times their number, for its rounding.
    """

    masses: Floats
    noise: float
    theta: float
    log_scale: float
    log_terms: float

    def untilt(self, losses: Floats) -> tuple[Floats, NDArray[np.bool_]]:
        """Upper bounds of e^{log_scale - theta * loss}, which turn masses into those of the sum itself; and where
        they are known: from some loss on, below it they overflow."""
        shift = self.theta * losses
        up = 1.0 + ULP * (8.0 + 3.0 * (self.log_terms + np.abs(shift)))
        power = self.log_scale - shift
        return np.exp(np.clip(power, -745.0, 700.0)) * up, power <= 699.0

    def weight_beyond(self, interval: float) -> float:
        """At most the sum of e^{-theta d h} (1 - e^{-d h}) over the points d = 1, 2, ... beyond one."""
        if self.theta == 0.0:
            return float(len(self.masses))
        fall, both = -math.expm1(-self.theta * interval), -math.expm1(-(self.theta + 1.0) * interval)
        return min(
            float(len(self.masses)),
            -math.expm1(-interval) * math.exp(-self.theta * interval) / (fall * both) * (1.0 + 16.0 * ULP),
        )


def _tilted_sum(
    grids: Sequence[LossGrid], counts: Sequence[int], theta: float, low: int, high: int
) -> _Tilted:
    """The tilted sum at low..high by one FFT, and a bound on its rounding (docs/proofs/composition.md, 4)."""
    from scipy.fft import irfft, next_fast_len, rfft  # a plan of one mechanism does without

    size = int(next_fast_len(high - low + 1, real=True))
    rounding = TRANSFORM * ULP * math.log2(max(size, 2))
    product = None
    log_most = np.zeros(size // 2 + 1)  # log of the largest |product| there can be at each frequency
    moved = np.zeros(len(log_most))  # how far the product can be off, relative to that
    log_scale, log_terms, origin = 0.0, 0.0, 0
    for grid, count in zip(grids, counts):
        logs, shift = grid.where_logs, theta * grid.where_losses
        weights = logs + shift
        norm = float(logsumexp(weights))
        weights = np.exp(np.subtract(weights, norm, out=weights), out=weights)
        error = 5.0 * np.abs(logs)
        for more in (2.0 * np.abs(shift), 2.0 * abs(norm), 8.0, 2.0 * len(grid.masses) / size):
            error += more
        weights *= 1.0 + ULP * error
        centre = round(float(weights @ grid.where))
        spectrum = rfft(np.bincount((grid.where - centre) % size, weights, size))
        wrong = rounding * float(weights.sum())
        most = np.abs(spectrum) + wrong
        log_most += count * np.log(most)
        moved += count * wrong / most
        product = _power(spectrum, count) if product is None else product * _power(spectrum, count)
        log_scale += count * norm
        log_terms += (len(grids) + 1) * count * abs(norm)
        origin += count * (grid.first + centre)
    per_frequency = np.exp(log_most) * (moved + 4.0 * ULP * sum(counts) + rounding)
    noise = 1.02 * 2.0 * float(per_frequency.sum()) / size + 1e-300
    sums = np.roll(irfft(product, size), origin - low)[: high - low + 1]
    return _Tilted(sums, noise, theta, log_scale, log_terms)


def _power(base: NDArray[np.complex128], exponent: int) -> NDArray[np.complex128]:
    """base ** exponent, for an exponent of at least 1."""
    result, square = None, base
    while True:
        if exponent & 1:
            result = square.copy() if result is None else np.multiply(result, square, out=result)
        exponent >>= 1
        if result is not None and not exponent:
            return result
        square = square * square if square is base else np.multiply(square, square, out=square)


def _tail_excess(masses: Floats, interval: float) -> Floats:
    from scipy.signal import lfilter  # a heavy import, for compositions only

    # T_j = sum_{i > j} m_i (1 - r^{i-j}) = r T_{j+1} + (1 - r) sum_{i > j} m_i, r = e^{-h}; a smaller
    # r gives a larger T, and 1 - r is exact for r >= 1/2, so rounding r down is the safe side
    r = math.exp(-interval) * (1.0 - 2.0 * ULP)
    beyond = np.append(np.cumsum(masses[::-1])[::-1][1:], 0.0)
    tail = lfilter([1.0 - r], [1.0, -r], beyond[::-1])[::-1]
    return np.asarray(tail * (1.0 + 2.0 * ULP * len(masses)), dtype=np.float64)
