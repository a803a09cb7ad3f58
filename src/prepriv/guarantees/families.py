"""Closed-form trade-off functions: Gaussian, Laplace, (epsilon, delta) and randomized response.

Each `_delta` is a certified upper bound; sources and rounding: docs/proofs/families.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from prepriv._arguments import number
from prepriv._arrays import Floats
from prepriv.guarantees.gaussian import (
    beta_lower,
    delta_upper,
    epsilon_upper,
    gdp_delta,
    gdp_epsilon,
    gdp_mu,
)
from prepriv.guarantees.lines import ULP, LossAtoms, SupportLines, support_lines
from prepriv.guarantees.tradeoff import TradeoffFunction

__all__ = [
    "ApproximateDP",
    "Gaussian",
    "Laplace",
    "approximate_dp",
    "gaussian",
    "gdp_delta",
    "gdp_epsilon",
    "gdp_mu",
    "laplace",
    "randomized_response",
]


@dataclass(frozen=True)
class Gaussian(TradeoffFunction):
    """T(N(0, 1), N(mu, 1)): what one release of sensitivity mu under unit Gaussian noise satisfies."""

    mu: float

    def _delta(self, epsilon: Floats) -> Floats:
        return delta_upper(self.mu, epsilon)

    def inverse(self) -> Gaussian:
        """The curve is symmetric."""
        return self

    def _pure_epsilon(self) -> float:
        return 0.0 if self.mu == 0.0 else math.inf

    def _epsilon(self, delta: float) -> float:
        return epsilon_upper(self.mu, delta)

    def _beta(self, alpha: Floats) -> Floats:
        return beta_lower(self.mu, alpha)

    def _loss_atoms(self) -> LossAtoms:
        if self.mu == 0.0:
            return LossAtoms(np.zeros(1), np.ones(1), 0.0)
        reach = self.mu * (0.5 * self.mu + 9.0)
        slopes = np.linspace(-min(reach, 36.0), reach, 6001)
        return support_lines(slopes, self._signed_delta(slopes)).atoms()

    def _renyi(self, order: float) -> float:
        return 0.5 * order * self.mu * self.mu * (1.0 + 4.0 * ULP)


@dataclass(frozen=True)
class Laplace(TradeoffFunction):
    """T(Lap(0, 1), Lap(epsilon0, 1)): Laplace noise of scale sensitivity / epsilon0."""

    epsilon0: float

    def _delta(self, epsilon: Floats) -> Floats:
        # 1 - e^{(epsilon - epsilon0)/2}
        inside = np.minimum(epsilon - self.epsilon0, 0.0)
        return np.minimum(-np.expm1(0.5 * inside) * (1.0 + 8.0 * ULP), 1.0)

    def inverse(self) -> Laplace:
        """The curve is symmetric."""
        return self

    def _pure_epsilon(self) -> float:
        return self.epsilon0

    def _epsilon(self, delta: float) -> float:
        value = self.epsilon0 + 2.0 * math.log1p(-delta)
        value += 8.0 * ULP * (self.epsilon0 + 2.0 * abs(math.log1p(-delta)))
        return min(max(value, 0.0), self.epsilon0)

    def _beta(self, alpha: Floats) -> Floats:
        e0 = self.epsilon0
        steep = 1.0 - np.exp(np.minimum(e0 + np.log(np.maximum(alpha, 5e-324)), 1.0))
        steep -= ULP * (8.0 + 4.0 * e0)
        middle = 0.25 * np.exp(-e0 - np.log(np.maximum(alpha, 1e-300)))
        flat = math.exp(-e0) * (1.0 - alpha)
        low, high = 0.5 * math.exp(-e0), 0.5
        value = np.where(alpha < low, steep, np.where(alpha < high, middle, flat))
        error = 1.0 - ULP * (16.0 + 4.0 * e0 + 4.0 * np.abs(np.log(np.maximum(alpha, 1e-300))))
        return np.where(alpha == 0.0, 1.0, np.clip(value * error, 0.0, 1.0))

    def _loss_atoms(self) -> LossAtoms:
        # atoms of 1/2 at epsilon0 and e^{-epsilon0}/2 at -epsilon0, a density between: lines, tight
        slopes = np.linspace(-self.epsilon0, self.epsilon0, 4001)
        return support_lines(slopes, self._signed_delta(slopes)).atoms()

    def _renyi(self, order: float) -> float:
        a, e0 = order, self.epsilon0
        if a == 1.0:
            return (e0 + math.expm1(-e0)) * (1.0 + 8.0 * ULP) + ULP * e0
        first = math.log(a / (2.0 * a - 1.0)) + (a - 1.0) * e0
        second = math.log((a - 1.0) / (2.0 * a - 1.0)) - a * e0
        slack = 8.0 * ULP * (1.0 + a * (1.0 + e0))
        return min((float(np.logaddexp(first, second)) + slack) / (a - 1.0), e0)


@dataclass(frozen=True)
class ApproximateDP(TradeoffFunction):
    """The (epsilon0, delta0) trade-off function; randomized response when delta0 = 0.

    f(alpha) = max(0, 1 - delta0 - e^{epsilon0} alpha, e^{-epsilon0} (1 - delta0 - alpha)).
    """

    epsilon0: float
    delta0: float = 0.0

    def _delta(self, epsilon: Floats) -> Floats:
        # delta0 + (1 - delta0) (e^{epsilon0} - e^epsilon) / (1 + e^{epsilon0}) below epsilon0
        drop = -np.expm1(np.minimum(epsilon - self.epsilon0, 0.0))
        share = drop / (1.0 + math.exp(-self.epsilon0)) * (1.0 + 16.0 * ULP)
        total = (self.delta0 + (1.0 - self.delta0) * share) * (1.0 + 2.0 * ULP)
        return np.minimum(np.where(share > 0.0, total, self.delta0), 1.0)

    def inverse(self) -> ApproximateDP:
        """The curve is symmetric."""
        return self

    def _pure_epsilon(self) -> float:
        return self.epsilon0 if self.delta0 == 0.0 else math.inf

    def lines(self) -> SupportLines:
        """The two lines that the function is."""
        slopes = np.array([-self.epsilon0, self.epsilon0])
        return support_lines(slopes, self._signed_delta(slopes))

    def _epsilon(self, delta: float) -> float:
        if delta < self.delta0:
            return math.inf
        share = (delta - self.delta0) / (1.0 - self.delta0) * (1.0 + math.exp(-self.epsilon0))
        if share >= 1.0:
            return 0.0
        value = self.epsilon0 + math.log1p(-share)
        value += 16.0 * ULP * (self.epsilon0 + 1.0 / (1.0 - share))
        return min(max(value, 0.0), self.epsilon0)

    def _beta(self, alpha: Floats) -> Floats:
        grow = np.exp(np.minimum(self.epsilon0 + np.log(np.maximum(alpha, 5e-324)), 1.0))
        error = ULP * (16.0 + 4.0 * self.epsilon0)
        held = 1.0 if self.delta0 == 0.0 else math.nextafter(1.0 - self.delta0, 0.0)
        steep = np.where(alpha == 0.0, held, held - grow * (1.0 + error) - 2.0 * ULP)
        flat = math.exp(-self.epsilon0) * (held - alpha) * (1.0 - error)
        return np.clip(np.maximum(steep, flat), 0.0, 1.0)

    def _loss_atoms(self) -> LossAtoms:
        held = 1.0 - self.delta0
        high = held / (1.0 + math.exp(-self.epsilon0))
        low = held / (1.0 + math.exp(self.epsilon0)) if self.epsilon0 < 700.0 else 0.0
        masses = np.array([low, high]) * (1.0 + 8.0 * ULP)
        return LossAtoms(np.array([-self.epsilon0, self.epsilon0]), masses, self.delta0)

    def _renyi(self, order: float) -> float:
        if self.delta0 > 0.0:
            return math.inf
        e0 = self.epsilon0
        if order == 1.0:
            return e0 * math.tanh(0.5 * e0) * (1.0 + 8.0 * ULP)
        # (p^a q^{1-a} + q^a p^{1-a}), p = 1/(1 + e^{-e0})
        log_p, log_q = -math.log1p(math.exp(-e0)), -e0 - math.log1p(math.exp(-e0))
        one = order * log_p + (1.0 - order) * log_q
        two = order * log_q + (1.0 - order) * log_p
        slack = 8.0 * ULP * (1.0 + order * (1.0 + e0)) / (order - 1.0)
        return min(float(np.logaddexp(one, two)) / (order - 1.0) + slack, e0)


def gaussian(mu: float) -> Gaussian:
    """Give the trade-off function of mu-GDP: T(N(0, 1), N(mu, 1)).

    Parameters
    ----------
    mu : float
        Not negative.

    Returns
    -------
    Gaussian

    Raises
    ------
    ValueError
        For an argument out of range.

    Notes
    -----
    Proof: docs/proofs/families.md.

    Examples
    --------
    >>> from prepriv import guarantees as g
    >>> round(g.gaussian(1.0).epsilon(1e-5), 3)
    4.377
    """
    return Gaussian(number("mu", mu, at_least=0.0))


def laplace(epsilon: float) -> Laplace:
    """Give the trade-off function of the Laplace mechanism with scale sensitivity / epsilon.

    It is better than what pure epsilon-DP alone gives.

    Parameters
    ----------
    epsilon : float
        Not negative.

    Returns
    -------
    Laplace

    Raises
    ------
    ValueError
        For an argument out of range.

    Notes
    -----
    Proof: docs/proofs/families.md.

    Examples
    --------
    >>> from prepriv import guarantees as g
    >>> g.laplace(1.0).delta(0.5) < g.randomized_response(1.0).delta(0.5)
    True
    """
    return Laplace(number("epsilon", epsilon, at_least=0.0))


def approximate_dp(epsilon: float, delta: float) -> ApproximateDP:
    """Give the trade-off function if (epsilon, delta)-DP is all that is known.

    Parameters
    ----------
    epsilon : float
        Not negative.
    delta : float
        In [0, 1).

    Returns
    -------
    ApproximateDP

    Raises
    ------
    ValueError
        For an argument out of range.

    Examples
    --------
    >>> from prepriv import guarantees as g
    >>> round(g.approximate_dp(1.0, 1e-6).epsilon(1e-6), 6)
    1.0
    """
    return ApproximateDP(
        number("epsilon", epsilon, at_least=0.0), number("delta", delta, at_least=0.0, below=1.0)
    )


def randomized_response(epsilon: float) -> ApproximateDP:
    """Give the trade-off function of binary randomized response, the worst epsilon-DP mechanism.

    Parameters
    ----------
    epsilon : float
        Not negative.

    Returns
    -------
    ApproximateDP

    Raises
    ------
    ValueError
        For an argument out of range.

    Examples
    --------
    >>> from prepriv import guarantees as g
    >>> g.randomized_response(1.0).delta(1.0)
    0.0
    """
    return ApproximateDP(number("epsilon", epsilon, at_least=0.0))
