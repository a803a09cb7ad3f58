"""What the exponential mechanism satisfies: the exact curve of bounded range, and its Gaussian equivalent.

A mechanism has epsilon-bounded range if between neighbours all its log-likelihood ratios lie in an interval
of length epsilon (Durfee and Rogers 2019; Dong, Durfee and Rogers 2020). That is more than epsilon-DP,
whose ratios may fill [-epsilon, epsilon]. Proof: docs/proofs/exponential.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtri

from prepriv._arguments import number
from prepriv.guarantees.tradeoff import TradeoffFunction

_UP = 1.0 + 2.0**-40


@dataclass(frozen=True)
class BoundedRange(TradeoffFunction):
    """f(alpha) = (1 - alpha) / (1 - alpha + alpha e^epsilon0): the exact curve of epsilon0-bounded range."""

    epsilon0: float

    def _delta(self, epsilon: NDArray[np.float64]) -> NDArray[np.float64]:
        # e^s (e^{(e0 - s)/2} - 1)^2 / (e^{e0} - 1), arranged so that nothing overflows or cancels
        gap = np.maximum(self.epsilon0 - epsilon, 0.0)
        value = np.square(np.expm1(-0.5 * gap)) / -math.expm1(-self.epsilon0)
        return np.minimum(value * _UP, 1.0)

    def _beta(self, alpha: NDArray[np.float64]) -> NDArray[np.float64]:
        odds = np.exp(-self.epsilon0) * (1.0 - alpha)
        return np.where(alpha == 0.0, 1.0, odds / (odds + alpha) / _UP)

    def inverse(self) -> BoundedRange:
        """The curve is symmetric."""
        return self

    def _pure_epsilon(self) -> float:
        return self.epsilon0

    def _renyi(self, order: float) -> float:
        bound = order * self.epsilon0**2 / 8.0 * _UP  # epsilon^2 / 8-zCDP (Cesar and Rogers 2021)
        return min(bound, self.epsilon0)


def bounded_range_mu(epsilon: float) -> float:
    """The least mu such that epsilon-bounded range implies mu-GDP, rounded up; about 0.627 epsilon.

    mu = 2 Phi^-1(1 / (1 + e^{-epsilon/2})). Raises ValueError unless 0 < epsilon <= 100.
    """
    epsilon = number("epsilon", epsilon, above=0.0, at_most=100.0)
    return -2.0 * float(ndtri(1.0 / (1.0 + math.exp(0.5 * epsilon)))) * _UP + 2.0**-50


def bounded_range_epsilon(mu: float) -> float:
    """The largest epsilon whose bounded range implies mu-GDP, rounded down: 2 log(Phi(mu/2) / Phi(-mu/2)).

    Raises ValueError unless 1e-6 <= mu <= 12.
    """
    mu = number("mu", mu, at_least=1e-6, at_most=12.0)
    return 2.0 * float(log_ndtr(0.5 * mu) - log_ndtr(-0.5 * mu)) / _UP - 2.0**-50
