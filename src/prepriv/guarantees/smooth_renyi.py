"""Smooth Renyi DP of "Provable Privacy with Non-Private Pre-Processing" (Provable Privacy with Non-Private Pre-Processing), corrected.

Smooth RDP bounds the divergence between the outputs on two data sets whose *total shift*
tau = sum_i ||x_i - x'_i|| is small, however many records move. Theorem 2 joins it to ordinary RDP
(one record replaced). Curves of the paper's Table 1 with the errors taken out, the theorem with both
forms, the order and c optimised, and group privacy as the baseline. Proofs and errata:
docs/proofs/smooth_renyi.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from prepriv._arguments import integer, number, numbers
from prepriv.guarantees.lines import ULP
from prepriv.guarantees.renyi import (
    RenyiCurve,
    bounded_range_renyi,
    minimum_on_log_scale,
    pure_renyi,
    zcdp,
)


@dataclass(frozen=True, eq=False)
class SmoothCurve:
    """Definition 3: divergence of order alpha between data sets at total shift at most tau.

    at(tau) is a RenyiCurve. Post-processing leaves it as it is (Lemma 1).
    """

    at: Callable[[float], RenyiCurve]

    def __call__(self, order: float, shift: float) -> float:
        """Divergence at order in (1, inf] and total shift >= 0."""
        return self.at(number("shift", shift, at_least=0.0))(order)

    def compose(self, other: int | SmoothCurve) -> SmoothCurve:
        """Lemma 1: divergences of one order and one shift add, adaptively too."""
        if isinstance(other, SmoothCurve):
            return SmoothCurve(lambda shift: self.at(shift).compose(other.at(shift)))
        times = integer("k", other)
        return SmoothCurve(lambda shift: self.at(shift).compose(times))

    def subsampled(self, n: int, batch: int) -> SmoothCurve:
        """Lemma 3 (2 in the other version), corrected: `batch` records drawn of n with replacement.

        With probability p = (1 - (k batch - 1)/n)^batch no drawn record moves by more than
        tau/(k batch), so the batch moves by tau/k; otherwise by at most batch * tau (the paper says
        tau, but one far record can be drawn more than once). Where both divergences are at most
        1/(order - 1), weak convexity gives 2 p eps(tau/k) + 2 (1 - p) eps(batch tau); k optimised.
        Elsewhere the answer is eps(batch tau).
        """
        size, drawn = integer("n", n), integer("batch", batch)

        def at(shift: float) -> RenyiCurve:
            far = self.at(shift * drawn)

            def curve(order: float) -> float:
                worst = far.function(order)
                if math.isinf(order) or worst > 1.0 / (order - 1.0):
                    return worst
                best = worst
                for k in _whole_numbers(size // drawn):
                    good = (1.0 - (k * drawn - 1.0) / size) ** drawn
                    value = 2.0 * (good * self.at(shift / k).function(order) + (1.0 - good) * worst)
                    best = min(best, value * (1.0 + 64.0 * ULP))
                return best

            return RenyiCurve(curve)

        return SmoothCurve(at)


@dataclass(frozen=True, eq=False)
class SmoothMechanism:
    """One row of Table 1: RDP for one replaced record, smooth RDP for a total shift."""

    renyi: RenyiCurve
    smooth: SmoothCurve

    def preprocessed(self, shift: float, *, c: float | None = None) -> RenyiCurve:
        """Theorem 2 with total shift Delta_12 = `shift`; c: fix it (the paper takes 2) or optimise it."""
        return with_preprocessing(self.renyi, self.smooth.at(number("shift", shift, at_least=0.0)), c=c)


# ---- Theorem 2 ----------------------------------------------------------------------------------------
def with_preprocessing(plain: RenyiCurve, smooth: RenyiCurve, *, c: float | None = None) -> RenyiCurve:
    """Theorem 2: from RDP `plain` and smooth RDP `smooth` (at the pre-processor's total shift).

    For every c > 1 both
      F1 = (ac - 1)/(c(a - 1)) smooth(ac) + plain((ac - 1)/(c - 1)) and F2, their roles exchanged,
    bound the divergence of order a in both directions, so the result is the least of both over c
    (the paper takes the larger; both hybrids exist in either order). For zCDP curves with
    divergences a x^2/2 and a y^2/2 the least is a (x + y)^2 / 2, in closed form.
    Both curves must hold on a class that contains the hybrid of the two pre-processed data sets.
    """
    if c is not None:
        fixed = number("c", c, above=1.0)
        return RenyiCurve(
            lambda order: min(_form(smooth, plain, order, fixed), _form(plain, smooth, order, fixed))
        )
    if plain.rho is not None and smooth.rho is not None:
        return zcdp((math.sqrt(plain.rho) + math.sqrt(smooth.rho)) ** 2 * (1.0 + 16.0 * ULP))

    def curve(order: float) -> float:
        best = math.inf
        for first, second in ((smooth, plain), (plain, smooth)):
            ends = first.function(order) + second.function(math.inf)  # c -> 1
            if math.isinf(order):
                best = min(best, ends)
                continue
            best = min(best, ends, order / (order - 1.0) * first.function(math.inf) + second.function(order))

            def at(excess: float, one: RenyiCurve = first, two: RenyiCurve = second) -> float:
                return _form(one, two, order, 1.0 + excess)

            best = min(best, minimum_on_log_scale(at, 1e-6, 1e6))
        return best * (1.0 + 16.0 * ULP)

    return RenyiCurve(curve)


def paper_theorem_2(plain: RenyiCurve, smooth: RenyiCurve, *, c: float = 2.0) -> RenyiCurve:
    """Theorem 2 as printed, the *larger* of both forms at one c: valid, loose, for the paper's tables."""
    fixed = number("c", c, above=1.0)
    return RenyiCurve(
        lambda order: max(_form(smooth, plain, order, fixed), _form(plain, smooth, order, fixed))
    )


def _form(first: RenyiCurve, second: RenyiCurve, order: float, c: float) -> float:
    if math.isinf(order):
        return first.function(math.inf) + second.function(math.inf)
    high, other = order * c, (order * c - 1.0) / (c - 1.0)
    return (high - 1.0) / (c * (order - 1.0)) * first.function(high) + second.function(other)


# ---- Table 1 ------------------------------------------------------------------------------------------
def _quadratic(per_unit: float, rounding: float = 0.0) -> SmoothCurve:
    # shift tau moves a Gaussian mean by per_unit * tau + rounding standard deviations
    return SmoothCurve(lambda shift: zcdp(0.5 * (per_unit * shift + rounding) ** 2 * (1.0 + 16.0 * ULP)))


def gaussian_mechanism(epsilon: float, *, lipschitz: float, sensitivity: float) -> SmoothMechanism:
    """f(S) + N(0, (sensitivity/epsilon)^2): order eps^2/2 and order (L tau eps / sensitivity)^2 / 2."""
    e, rate = number("epsilon", epsilon, at_least=0.0), _rate(lipschitz, sensitivity)
    return SmoothMechanism(zcdp(0.5 * e * e * (1.0 + 4.0 * ULP)), _quadratic(e * rate))


def laplace_mechanism(epsilon: float, *, lipschitz: float, sensitivity: float) -> SmoothMechanism:
    """Laplace noise of scale sensitivity/epsilon: pure eps and pure L tau eps / sensitivity."""
    e, rate = number("epsilon", epsilon, at_least=0.0), _rate(lipschitz, sensitivity)
    return SmoothMechanism(pure_renyi(e), SmoothCurve(lambda shift: pure_renyi(e * rate * shift)))


def exponential_mechanism(epsilon: float, *, lipschitz: float, sensitivity: float) -> SmoothMechanism:
    """Weights exp(eps Q / (2 sensitivity)), Q L-Lipschitz: bounded range eps and L tau eps / sensitivity."""
    e, rate = number("epsilon", epsilon, at_least=0.0), _rate(lipschitz, sensitivity)
    return SmoothMechanism(
        bounded_range_renyi(e), SmoothCurve(lambda shift: bounded_range_renyi(e * rate * shift))
    )


def full_batch_gradient(
    *, lipschitz: float, smoothness: float, noise: float, n: int, steps: int, rounding: float = 0.0
) -> SmoothMechanism:
    """DP-GD, N(0, noise^2) on the *mean* gradient of n records, `steps` times.

    m = 2L sqrt(T)/(n noise) for a replaced record and mu tau sqrt(T)/(n noise) for a shift; order
    m^2/2 each. (The paper's Theorem 13 has a quarter of the first; its Table 1 is right.)
    rounding: what the grid of an implementation adds to the shift mu tau of the *sum*; 0 for real numbers.
    """
    bound, mu = number("lipschitz", lipschitz, at_least=0.0), number("smoothness", smoothness, at_least=0.0)
    unit = math.sqrt(integer("steps", steps)) / (integer("n", n) * number("noise", noise, above=0.0))
    added = number("rounding", rounding, at_least=0.0)
    return SmoothMechanism(
        zcdp(0.5 * (2.0 * bound * unit) ** 2 * (1.0 + 16.0 * ULP)), _quadratic(mu * unit, added * unit)
    )


def sampled_gradient(
    *,
    lipschitz: float,
    smoothness: float,
    noise: float,
    n: int,
    batch: int,
    steps: int,
    row_shift: float,
    rounding: float = 0.0,
) -> SmoothMechanism:
    """DP-SGD, N(0, noise^2) on the *sum* over a batch drawn of n without replacement, replace-one.

    RDP: amplification of Wang, Balle and Kasiviswanathan (2019), Theorem 9, for a Gaussian of shift
    2L/noise. Smooth RDP: couple the batches; at most min(batch * row_shift, tau) of shift is drawn.
    With row_shift = tau * gamma / n this is the paper's entry (Definition 7); its "Omega(.)" noise
    and gamma = 1 for PCA are not usable as printed.
    rounding: what the grid of an implementation adds to that shift, all rows of a batch together; 0 for real numbers.
    """
    bound, mu = number("lipschitz", lipschitz, at_least=0.0), number("smoothness", smoothness, at_least=0.0)
    std, times = number("noise", noise, above=0.0), integer("steps", steps)
    size, drawn = integer("n", n), integer("batch", batch)
    if drawn > size:
        raise ValueError(f"batch must be at most n = {size}; got {drawn}")
    cap, added = number("row_shift", row_shift, at_least=0.0), number("rounding", rounding, at_least=0.0)
    base = zcdp(0.5 * (2.0 * bound / std) ** 2 * (1.0 + 8.0 * ULP))

    def smooth(shift: float) -> RenyiCurve:
        return zcdp(0.5 * times * ((mu * min(drawn * cap, shift) + added) / std) ** 2 * (1.0 + 16.0 * ULP))

    return SmoothMechanism(
        subsampled_without_replacement(base, drawn / size).compose(times), SmoothCurve(smooth)
    )


def one_pass_gradient(
    *, lipschitz: float, smoothness: float, noise: float, last: int, row_shift: float = math.inf
) -> SmoothMechanism:
    """One-pass DP-SGD stopped at a step drawn from {1, ..., last}; N(0, noise^2) on each gradient.

    Convex losses, steps at most 2/beta (each update then does not expand). A record of gradient shift
    g met m - 1 steps before the stop costs order g^2/(2 noise^2 m) (Feldman et al. 2018, Theorem 22);
    averaging e^{(order-1) D} over the stop bounds the divergence, with g = 2L for a replaced record
    and, by convexity, g = mu tau for any moved records wherever they are. row_shift, if finite, also
    bounds the smooth part by order mu^2 row_shift tau / (2 noise^2). Replaces the paper's Lemma 4,
    which is false, and its missing eps^2.
    """
    bound, mu = number("lipschitz", lipschitz, at_least=0.0), number("smoothness", smoothness, at_least=0.0)
    std, steps = number("noise", noise, above=0.0), integer("last", last)
    cap = math.inf if row_shift == math.inf else number("row_shift", row_shift, at_least=0.0)

    def smooth(shift: float) -> RenyiCurve:
        spread = random_stop_renyi(mu * shift / std, steps)
        if math.isinf(cap):
            return spread
        capped = 0.5 * mu * mu * min(cap, shift) * shift / (std * std) * (1.0 + 16.0 * ULP)
        return RenyiCurve(lambda order: min(spread.function(order), capped * order if capped else 0.0))

    return SmoothMechanism(random_stop_renyi(2.0 * bound / std, steps), SmoothCurve(smooth))


def random_stop_renyi(shift: float, last: int) -> RenyiCurve:
    """log of the mean over m = 1..last of exp(a (a-1) shift^2 / (2m)), over (a - 1)."""
    size, steps = number("shift", shift, at_least=0.0), integer("last", last)
    starts, counts = _blocks(steps)

    def curve(order: float) -> float:
        if size == 0.0:
            return 0.0
        if math.isinf(order):
            return math.inf
        exponents = 0.5 * order * (order - 1.0) * size * size / starts * (1.0 + 8.0 * ULP)
        top = float(exponents[0])
        if top < 1.0:
            mean = math.fsum(counts * np.expm1(exponents)) / steps
            value = math.log1p(mean)
        else:
            value = top + math.log(math.fsum(counts * np.exp(exponents - top)) / steps)
        return (value + 64.0 * ULP * (1.0 + top) * min(1.0, top)) / (order - 1.0)

    return RenyiCurve(curve)


def subsampled_without_replacement(base: RenyiCurve, rate: float) -> RenyiCurve:
    """RDP of a mechanism on a batch of a fixed fraction `rate` of the records, replace-one.

    Theorem 9 of Wang, Balle and Kasiviswanathan (2019) at whole orders; between them (order - 1)
    times the divergence is convex, hence below its chord.
    """
    q = number("rate", rate, at_least=0.0, at_most=1.0)

    def log_moment(order: int) -> float:
        if order == 1 or q == 0.0:
            return 0.0
        plain = (order - 1.0) * base.function(float(order))
        two = base.function(2.0)
        factor = min(math.log(4.0) + _log_expm1(two), math.log(2.0) + two)
        logs = [0.0, 2.0 * math.log(q) + math.log(math.comb(order, 2)) + factor]
        for j in range(3, order + 1):
            choose = math.lgamma(order + 1) - math.lgamma(j + 1) - math.lgamma(order - j + 1)
            logs.append(j * math.log(q) + choose + math.log(2.0) + (j - 1.0) * base.function(float(j)))
        total = float(np.logaddexp.reduce(logs))
        return min(plain, total + 1e-13 * (1.0 + order + abs(total)))

    def curve(order: float) -> float:
        if math.isinf(order) or order > 4096.0:
            return base.function(order)
        low = math.floor(order)
        part = order - low
        value = log_moment(low) * (1.0 - part) + (log_moment(low + 1) * part if part > 0.0 else 0.0)
        return min(value / (order - 1.0) * (1.0 + 8.0 * ULP), base.function(order))

    return RenyiCurve(curve)


# ---- Definitions 7 and 8 ------------------------------------------------------------------------------
def inverse_pointwise_distance(shifts: npt.ArrayLike) -> float:
    """Definition 7 for one pair of data sets: n/k, k the largest integer with max_i d_i <= sum_i d_i / k.

    shifts: shape (n,), d_i = ||x_i - x'_i||. 1 when all move equally, n when one does.
    """
    moved = numbers("shifts", shifts, at_least=0.0)
    if moved.ndim != 1 or not len(moved):
        raise ValueError(f"shifts must be a list of one number a record; got shape {moved.shape}")
    largest = float(moved.max())
    if largest == 0.0:
        return 1.0
    return len(moved) / min(len(moved), max(1, math.floor(math.fsum(moved) / largest * (1.0 + 4.0 * ULP))))


def largest_distance(shifts: Sequence[npt.ArrayLike], total: float) -> int:
    """Definition 8 over pairs of data sets: most records that differ among those with sum_i d_i <= total."""
    limit = number("total", total, at_least=0.0)
    rows = [numbers("shifts", row, at_least=0.0) for row in shifts]
    return max((int(np.count_nonzero(row)) for row in rows if math.fsum(row.ravel()) <= limit), default=0)


# ---- helpers ------------------------------------------------------------------------------------------
def _rate(lipschitz: float, sensitivity: float) -> float:
    return number("lipschitz", lipschitz, at_least=0.0) / number("sensitivity", sensitivity, above=0.0)


def _log_expm1(x: float) -> float:
    return x + math.log(-math.expm1(-x)) if x > 0.0 else -math.inf


def _whole_numbers(largest: int) -> Sequence[int]:
    return [int(k) for k in np.unique(np.round(np.geomspace(1, largest, 200)))] if largest >= 1 else []


def _blocks(steps: int) -> tuple[np.ndarray, np.ndarray]:
    # m = 1..steps in blocks, each read at its smallest m (where the summand is largest)
    exact = min(steps, 4096)
    far = np.floor(np.geomspace(exact, steps, 4096))
    edges = np.unique(np.concatenate([np.arange(1.0, exact + 1.0), far]))
    edges = edges[edges <= steps]
    return edges, np.diff(np.append(edges, steps + 1.0))
