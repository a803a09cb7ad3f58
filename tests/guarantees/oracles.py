"""Independent values to test trade-off functions against: 50 digits, exact mixtures, enumeration."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

import mpmath as mp
import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

mp.mp.dps = 50


def phi(x: mp.mpf) -> mp.mpf:
    """Standard normal distribution function, full relative accuracy in both tails."""
    return mp.erfc(-x / mp.sqrt(2)) / 2


def gaussian_delta(mu: float, epsilon: float) -> mp.mpf:
    m, e = mp.mpf(mu), mp.mpf(epsilon)
    if m == 0:
        return max(mp.mpf(0), 1 - mp.exp(e))
    return phi(m / 2 - e / m) - mp.exp(e) * phi(-m / 2 - e / m)


def gaussian_beta(mu: float, alpha: float) -> mp.mpf:
    if alpha in (0.0, 1.0):
        return 1 - mp.mpf(alpha)
    a = mp.mpf(alpha)
    x = -mp.mpf(float(ndtri(alpha)))
    for _ in range(3):  # Newton on Phi(-x) = alpha from 15 digits: 3 steps give over 50
        x += (phi(-x) - a) * mp.sqrt(2 * mp.pi) * mp.exp(x * x / 2)
    return phi(x - mp.mpf(mu))


def laplace_delta(epsilon0: float, epsilon: float) -> mp.mpf:
    e0, e = mp.mpf(epsilon0), mp.mpf(epsilon)
    if e >= e0:
        return mp.mpf(0)
    if e <= -e0:
        return 1 - mp.exp(e)
    return 1 - mp.exp((e - e0) / 2)


def laplace_beta(epsilon0: float, alpha: float) -> mp.mpf:
    e0, a = mp.mpf(epsilon0), mp.mpf(alpha)
    if a < mp.exp(-e0) / 2:
        return 1 - mp.exp(e0) * a
    return mp.exp(-e0) / (4 * a) if a < mp.mpf(1) / 2 else mp.exp(-e0) * (1 - a)


def approximate_beta(epsilon0: float, delta0: float, alpha: float) -> mp.mpf:
    e0, d0, a = mp.mpf(epsilon0), mp.mpf(delta0), mp.mpf(alpha)
    return max(mp.mpf(0), 1 - d0 - mp.exp(e0) * a, mp.exp(-e0) * (1 - d0 - a))


def approximate_delta(epsilon0: float, delta0: float, epsilon: float) -> mp.mpf:
    """max over the three corners of f of 1 - f - e^epsilon alpha."""
    e0, d0, grow = mp.mpf(epsilon0), mp.mpf(delta0), mp.exp(mp.mpf(epsilon))
    corner = (1 - d0) / (1 + mp.exp(e0))
    return max(d0, 1 - corner - grow * corner, 1 - grow * (1 - d0), 1 - grow)


def hockey_stick(q: np.ndarray, p: np.ndarray, epsilon: float) -> float:
    """H_{e^epsilon}(Q || P) from the definition."""
    return math.fsum(np.maximum(q - math.exp(epsilon) * p, 0.0))


def product_pairs(pairs: Sequence[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """The composition by enumeration: outer products of all p and of all q."""
    p = np.array([math.prod(x) for x in itertools.product(*(pair[0] for pair in pairs))])
    q = np.array([math.prod(x) for x in itertools.product(*(pair[1] for pair in pairs))])
    return p, q


class GaussianMixtures:
    """Exact T(P, Q) for P = sum w_i N(a_i, 1), Q = sum w_i N(b_i, 1): regions found by root search."""

    def __init__(self, weights: Sequence[float], p_means: Sequence[float], q_means: Sequence[float]) -> None:
        self.w, self.a, self.b = (np.asarray(x, dtype=float) for x in (weights, p_means, q_means))

    def log_ratio(self, x: np.ndarray | float) -> np.ndarray:
        grid = np.atleast_1d(x)[:, None]
        top = np.logaddexp.reduce(np.log(self.w) - 0.5 * (grid - self.b) ** 2, axis=1)
        bottom = np.logaddexp.reduce(np.log(self.w) - 0.5 * (grid - self.a) ** 2, axis=1)
        return top - bottom

    def masses(self, threshold: float) -> tuple[float, float]:
        """P- and Q-mass of {log q/p > threshold}."""
        grid = np.linspace(-14.0, 14.0 + max(self.a.max(), self.b.max()), 8001)
        value = self.log_ratio(grid) - threshold
        edges = [-np.inf]
        for i in np.flatnonzero(np.sign(value[:-1]) != np.sign(value[1:])):
            edges.append(
                brentq(lambda x: float(self.log_ratio(x)[0]) - threshold, grid[i], grid[i + 1], xtol=1e-14)
            )
        edges.append(np.inf)
        inside = [0.0, 0.0]
        for left, right in itertools.pairwise(edges):
            middle = np.clip(0.5 * (max(left, -20.0) + min(right, 20.0)), -14.0, 20.0)
            if self.log_ratio(middle)[0] > threshold:
                for k, means in enumerate((self.a, self.b)):
                    inside[k] += float(self.w @ (ndtr(right - means) - ndtr(left - means)))
        return inside[0], inside[1]

    def delta(self, epsilon: float) -> float:
        p, q = self.masses(epsilon)
        return max(0.0, q - math.exp(epsilon) * p, 1.0 - math.exp(epsilon))

    def point(self, threshold: float) -> tuple[float, float]:
        """(alpha, beta) of the test that rejects P where log q/p > threshold."""
        p, q = self.masses(threshold)
        return p, 1.0 - q


def integral(function: Callable[[mp.mpf], mp.mpf], points: Sequence[float]) -> mp.mpf:
    return mp.quad(function, [mp.mpf(x) for x in points])
