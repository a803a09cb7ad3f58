"""Trade-off functions of the Gaussian mechanism on a random batch: one dominating pair a sampling scheme.

Shifts are in units of the noise: N(m, 1) stands for a sum moved by m noise deviations. A learner composes
the pair of its own sampler; nothing here chooses a pair by the name of a sampler. Proof:
docs/proofs/subsampling.md.
"""

from __future__ import annotations

import abc
import math
from dataclasses import dataclass, field

import numpy as np
from scipy.special import erfcx, log_ndtr

from prepriv._arrays import Floats
from prepriv.guarantees.gaussian import SMALLEST, delta_upper
from prepriv.guarantees.lines import ULP, LossAtoms, SupportLines, support_lines
from prepriv.guarantees.tradeoff import TradeoffFunction

LARGEST_SHIFT = 30.0  # noise below a thirtieth of a shift hides nothing; the formulas stop there
_POINTS = 6001  # of the discretised loss


LEAST_RATE = 1e-12


def _check(shift: float, rate: float) -> None:
    if not 0.0 <= shift <= LARGEST_SHIFT:
        raise ValueError(f"shift: got {shift!r}, need a number of noise deviations in [0, {LARGEST_SHIFT:g}]")
    if not LEAST_RATE <= rate <= 1.0:
        raise ValueError(f"rate: got {rate!r}, need a sampling rate in [{LEAST_RATE:g}, 1]")


class DenseTradeoff(TradeoffFunction):
    """A curve that says where its supporting lines are best taken."""

    @abc.abstractmethod
    def dense_lines(self) -> SupportLines:
        """Supporting lines at the losses that carry the mass: what composition is computed from."""

    def _loss_atoms(self) -> LossAtoms:
        return self.dense_lines().atoms()


@dataclass(frozen=True)
class PoissonRemove(DenseTradeoff):
    """T(N(0, 1), (1 − q) N(0, 1) + q N(m, 1)): Poisson sampling, one record there or not there.

    The inverse is the other order. A claim about adding or removing one record needs both, after
    composition: ``f.compose(steps).symmetrized()``.
    """

    shift: float
    rate: float

    def __post_init__(self) -> None:
        _check(self.shift, self.rate)

    def _delta(self, epsilon: Floats) -> Floats:
        return _amplified(self.shift, self.rate, epsilon)

    def inverse(self) -> PoissonAdd:
        """The other order."""
        return PoissonAdd(self.shift, self.rate)

    def dense_lines(self) -> SupportLines:
        return _lines_at(self, _one_sided_loss(self.shift, self.rate))


@dataclass(frozen=True)
class PoissonAdd(DenseTradeoff):
    """T((1 − q) N(0, 1) + q N(m, 1), N(0, 1)): the inverse of `PoissonRemove`; pure −log(1 − q)."""

    shift: float
    rate: float

    def __post_init__(self) -> None:
        _check(self.shift, self.rate)

    def _delta(self, epsilon: Floats) -> Floats:
        # s δ_G(m; log(q e^ε / s)), s = 1 − e^ε(1 − q); 0 where s ≤ 0
        grow = np.expm1(np.minimum(epsilon, 50.0))
        share = self.rate - (1.0 - self.rate) * grow + 8.0 * ULP * (self.rate + grow)
        inside = np.clip(share, SMALLEST, 1.0)
        inner = epsilon + math.log(self.rate) - np.log(inside)
        slack = 8.0 * ULP * (1.0 + epsilon - math.log(self.rate) + np.abs(np.log(inside)))
        value = inside * delta_upper(self.shift, np.maximum(inner - slack, 0.0)) * (1.0 + 4.0 * ULP)
        return np.where(share > 0.0, value, 0.0)

    def inverse(self) -> PoissonRemove:
        """The other order."""
        return PoissonRemove(self.shift, self.rate)

    def _pure_epsilon(self) -> float:
        if self.shift == 0.0:
            return 0.0
        return math.inf if self.rate == 1.0 else -math.log1p(-self.rate) * (1.0 + 64.0 * ULP)

    def dense_lines(self) -> SupportLines:
        return _lines_at(self, -_one_sided_loss(self.shift, self.rate))


@dataclass(frozen=True)
class PoissonReplace(DenseTradeoff):
    """T((1 − q) N(0, 1) + q N(m, 1), (1 − q) N(0, 1) + q N(−m, 1)): Poisson, one record replaced.

    m: what one record adds to a sum (not the distance of two records), in units of the noise.
    """

    shift: float
    rate: float

    def __post_init__(self) -> None:
        _check(self.shift, self.rate)

    def _delta(self, epsilon: Floats) -> Floats:
        m, q = self.shift, self.rate
        if m == 0.0:
            return np.zeros_like(epsilon)
        # The ratio of densities is e^ε at u = e^{mx}, qc u² − (1−q)(e^ε−1) u − e^ε qc = 0, c = e^{−m²/2}.
        e = np.minimum(epsilon, 700.0)
        half = 0.5 * (1.0 - q) * -np.expm1(-e)
        cross = q * np.exp(-0.5 * m * m - 0.5 * e)
        root = np.log(half + np.hypot(half, cross))
        log_u = e + root - math.log(q) + 0.5 * m * m
        # Lower x by its rounding error: the threshold of a smaller epsilon, hence a larger delta.
        x = (log_u - 32.0 * ULP * (1.0 + e + np.abs(root) - math.log(q) + m * m)) / m
        # φ(x−m)[R(x−m) − R(x)] + e^ε φ(x+m)[R(x) − R(x+m)] with the Mills ratio R: nothing cancels.
        near, far = _mills_gap(x - m, m), _mills_gap(x, m)
        value = np.exp(-0.5 * (x - m) ** 2) * near + np.exp(np.minimum(e - 0.5 * (x + m) ** 2, 700.0)) * far
        error = 1.0 + ULP * (64.0 + 8.0 * np.minimum(x * x + m * m + e, 3000.0))
        return np.clip(q / math.sqrt(2.0 * math.pi) * value * error, SMALLEST, 1.0)

    def inverse(self) -> PoissonReplace:
        """The curve is symmetric."""
        return self

    def _pure_epsilon(self) -> float:
        return 0.0 if self.shift == 0.0 else math.inf

    def dense_lines(self) -> SupportLines:
        m, q = self.shift, self.rate
        x = np.linspace(-12.0 - m, 12.0 + m, _POINTS)
        with np.errstate(divide="ignore"):
            rest = np.log1p(-q) if q < 1.0 else -np.inf
        up = np.logaddexp(rest, math.log(q) + m * x - 0.5 * m * m)
        return _lines_at(self, up - up[::-1])


@dataclass(frozen=True)
class PoissonMoved(DenseTradeoff):
    """T((1 − q) N(0) + q N(x), (1 − q) N(0) + q N(y)) at its least, norm(x), norm(y) ≤ reach, norm(x − y) ≤ apart, any dimension.

    Records that are drawn together, with one coin, and differ between the two data sets. The worst of both orders, attained
    on a line by x = reach, y = reach − apart; reach = m, apart = 2m is `PoissonReplace`.
    """

    reach: float
    apart: float
    rate: float

    def __post_init__(self) -> None:
        _check(self.reach, self.rate)
        _check(self.apart, self.rate)

    def _delta(self, epsilon: Floats) -> Floats:
        return moved_delta(self.reach, self.apart, self.rate, epsilon)

    def inverse(self) -> PoissonMoved:
        """The curve is symmetric."""
        return self

    def dense_lines(self) -> SupportLines:
        m, q, d = self.reach, self.rate, min(self.apart, 2.0 * self.reach)
        x = np.linspace(-12.0 - d, 12.0 + m, _POINTS)
        with np.errstate(divide="ignore"):
            rest = np.log1p(-q) if q < 1.0 else -np.inf
        p, other = (np.logaddexp(rest, math.log(q) + at * x - 0.5 * at * at) for at in (m, m - d))
        losses = np.abs(p - other)
        return _lines_at(self, np.concatenate([losses, -losses]))


_LEAST_APART = 1e-9  # below it the threshold is not found to enough digits; a larger distance costs more


def moved_delta(
    reach: Floats | float, apart: Floats | float, rate: Floats | float, epsilon: Floats
) -> Floats:
    """δ of `PoissonMoved`, rounded up: q max over t of P(N(m) > t) − α P(N(m − d) > t) − (A − α) P(N(0) > t).

    α = e^ε, A = 1 + (α − 1)/q. The maximum is where 1 = α e^{−d(t−m)−d²/2} + (A − α) e^{m²/2−mt}, whose right side falls.
    """
    m = np.maximum(reach, _LEAST_APART)
    d = np.clip(apart, _LEAST_APART, 2.0 * m)
    e = np.minimum(epsilon, 700.0)
    with np.errstate(divide="ignore", over="ignore", under="ignore"):
        rest = np.log(-np.expm1(-e)) + e + np.log1p(-rate) - np.log(rate)  # log(A − α)
        low = np.maximum(m - 0.5 * d + e / d, np.where(np.isfinite(rest), 0.5 * m + rest / m, -np.inf))
        high = low + math.log(2.0) / np.minimum(m, d)
        for _ in range(64):
            t = 0.5 * (low + high)
            above = np.logaddexp(e - d * (t - m) - 0.5 * d * d, rest + 0.5 * m * m - m * t) > 0.0
            low, high = np.where(above, t, low), np.where(above, high, t)
        t = 0.5 * (low + high)
        far, near, none = log_ndtr(m - t), e + log_ndtr(m - d - t), rest + log_ndtr(-t)
        gained, lost = np.exp(far), np.exp(near) + np.exp(none)
        error = ULP * (
            256.0
            + 8.0 * np.minimum(t * t + m * m + e + np.abs(np.where(np.isfinite(rest), rest, 0.0)), 4000.0)
        )
        value = rate * (np.maximum(gained - lost, 0.0) + error * (gained + lost))
    return np.clip(value, SMALLEST, 1.0)


@dataclass(frozen=True)
class SubsampledWithoutReplacement(DenseTradeoff):
    """C_q(G_m), q = b/n: a batch of b of n records, drawn without replacement, one record replaced.

    m: distance of the sums of two batches that differ in one record, in units of the noise.
    """

    shift: float
    rate: float

    def __post_init__(self) -> None:
        _check(self.shift, self.rate)

    def _delta(self, epsilon: Floats) -> Floats:
        return _amplified(self.shift, self.rate, epsilon)

    def inverse(self) -> SubsampledWithoutReplacement:
        """The curve is symmetric."""
        return self

    def dense_lines(self) -> SupportLines:
        one = _one_sided_loss(self.shift, self.rate)
        return _lines_at(self, np.concatenate([-one[one > 0.0], np.zeros(1), one[one > 0.0]]))


@dataclass(frozen=True, eq=False)
class GaussianMixture(DenseTradeoff):
    """T of a Gaussian pair whose shift is drawn first and shown (Lemma 3.1 of Unified Enhancement of Privacy Bounds).

    shifts, weights: (k,) each. The weights may have a sum below 1: the rest is a shift without bound.
    """

    shifts: Floats
    weights: Floats
    lost: float = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "lost", max(0.0, (1.0 - math.fsum(self.weights)) + 4.0 * ULP))

    def _delta(self, epsilon: Floats) -> Floats:
        flat = np.atleast_1d(epsilon).ravel()
        value = np.concatenate([self._sums(part) for part in np.array_split(flat, 1 + len(flat) // 2048)])
        return np.minimum(value.reshape(np.shape(epsilon)) + self.lost, 1.0)

    def _sums(self, epsilon: Floats) -> Floats:
        deltas = delta_upper(self.shifts[:, None], epsilon[None, :])
        return (self.weights @ deltas) * (1.0 + ULP * (len(self.weights) + 4.0))

    def inverse(self) -> GaussianMixture:
        """The curve is symmetric."""
        return self

    def dense_lines(self) -> SupportLines:
        # Even in each component's own scale: losses of a shift h lie within h²/2 ± 9h.
        scales = np.unique(np.quantile(self.shifts, np.linspace(0.0, 1.0, 9)))
        pieces = [np.linspace(-1.0, 1.0, 1201) * min(s * (0.5 * s + 9.0), 600.0) for s in scales if s > 0.0]
        return _lines_at(self, np.concatenate([np.zeros(1), *pieces]))


@dataclass(frozen=True, eq=False)
class Transitive(TradeoffFunction):
    """max of h(1 − f) and f(1 − h): the distance of P and Q through a third law, in both orders.

    From T(P, R) ≥ f and T(R, Q) ≥ h follows T(P, Q) ≥ h(1 − f); with a second way round, T(P, R′) ≥ h and
    T(R′, Q) ≥ f, also the other. f and h are symmetric curves given by their supporting lines.
    """

    curve: SupportLines

    def _delta(self, epsilon: Floats) -> Floats:
        return self.curve.delta(epsilon)

    def inverse(self) -> Transitive:
        """The curve is symmetric."""
        return self

    def _loss_atoms(self) -> LossAtoms:
        return self.curve.atoms()


def transitive(f: SupportLines, h: SupportLines) -> Transitive:
    """`Transitive` of two symmetric curves.

    From 1 − f ≤ δ_f + e^t α and h ≥ 1 − δ_h − e^s y: each pair of lines gives the line s + t, δ_h + e^s δ_f.
    """
    one, two = _through(f, h), _through(h, f)
    slopes, deltas = np.append(one.slopes, two.slopes), np.append(one.deltas, two.deltas)
    return Transitive(support_lines(slopes, deltas))


def _through(f: SupportLines, h: SupportLines) -> SupportLines:
    """Lines of h(1 − f), at the pairs of lines that meet: their common point is y = 1 − f(α) in [0, 1]."""
    reached = np.clip(f.deltas + np.exp(f.slopes) * f.knots, 0.0, 1.0)
    cuts = np.unique(np.concatenate([[0.0], reached, np.clip(h.knots, 0.0, 1.0), [1.0]]))
    y = (cuts[:-1] + cuts[1:]) / 2
    # f's lines are met in the order of their knots, which fall as slopes rise; so are h's.
    of_f = np.clip(len(f.slopes) - 1 - np.searchsorted(reached[::-1], y, side="left"), 0, len(f.slopes) - 1)
    of_h = np.clip(len(h.slopes) - 1 - np.searchsorted(h.knots[::-1], y, side="left"), 0, len(h.slopes) - 1)
    slopes = f.slopes[of_f] + h.slopes[of_h]
    slopes_up = slopes + 2.0 * ULP * np.abs(slopes)  # a delta at s holds at every larger slope
    step = h.slopes[of_h]
    deltas = h.deltas[of_h] + np.exp(step) * f.deltas[of_f]
    return support_lines(
        slopes_up, np.minimum(deltas * (1.0 + 8.0 * ULP * (1.0 + np.abs(f.slopes[of_f]))), 1.0)
    )


def _lines_at(function: TradeoffFunction, losses: Floats) -> SupportLines:
    slopes = np.unique(np.clip(losses, -36.0, 600.0))
    return support_lines(slopes, function._signed_delta(slopes))


def _one_sided_loss(shift: float, rate: float) -> Floats:
    """log of the density of (1 − q) N(0, 1) + q N(m, 1) over that of N(0, 1), at even points."""
    x = np.linspace(-12.0, 12.0 + shift, _POINTS)
    with np.errstate(divide="ignore"):
        rest = np.log1p(-rate) if rate < 1.0 else -np.inf
    return np.asarray(np.logaddexp(rest, math.log(rate) + shift * x - 0.5 * shift * shift))


def _amplified(shift: float, rate: float, epsilon: Floats) -> Floats:
    """q δ_G(m; log(1 + (e^ε − 1)/q)), rounded up."""
    # log(1 + (e^ε − 1)/q) = ε + log(1 + (1 − e^{−ε})(1 − q)/q): no overflow
    inner = epsilon + np.log1p(-np.expm1(-epsilon) * ((1.0 - rate) / rate))
    value = rate * delta_upper(shift, inner * (1.0 - 16.0 * ULP))
    return np.minimum(value * (1.0 + 4.0 * ULP), 1.0)


def _mills_gap(x: Floats, step: float) -> Floats:
    """Upper bound of R(x) − R(x + step), R(x) = (1 − Φ(x))/φ(x) the Mills ratio."""
    scale = math.sqrt(math.pi / 2.0)
    near = scale * erfcx(x / math.sqrt(2.0))
    return np.asarray(near - scale * erfcx((x + step) / math.sqrt(2.0)) + 32.0 * ULP * near)
