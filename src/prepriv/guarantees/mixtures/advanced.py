"""Advanced joint concavity (Lemma 6.3 of Unified Enhancement of Privacy Bounds): two components, every P compared with every Q.

Proof, with the hypotheses that turn out not to be needed: docs/proofs/mixtures.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from prepriv._arguments import number
from prepriv._arrays import Floats
from prepriv.guarantees.lines import ULP
from prepriv.guarantees.mixtures.mixture import mixture
from prepriv.guarantees.tradeoff import TradeoffFunction

_Pair = tuple[TradeoffFunction, TradeoffFunction]


@dataclass(frozen=True, eq=False)
class AdvancedMixture(TradeoffFunction):
    """T((1-w) P1 + w P2, (1-w) Q1 + w Q2) from pairs[i][j] = T(P_i, Q_j), by Lemma 6.3.

    With E = e^epsilon, 0 <= gamma <= w <= eta <= 1, A = E (eta - w) / ((1-w)(eta - gamma)) and
    B = E (w - gamma) / (w (eta - gamma)),
      H_E(Q || P) <= (1-w) [(1-gamma) H_A(Q1 || P1) + gamma H_A(Q1 || P2)]
                   + w [(1-eta) H_B(Q2 || P1) + eta H_B(Q2 || P2)].
    gamma = 0, eta = 1 is Lemma 3.1. Unless both are given, the best are sought at each epsilon; every
    choice is valid, so the search cannot break the bound. A or B may be below 1.
    """

    line_budget: ClassVar[int] = 96

    pairs: tuple[_Pair, _Pair]
    weight: float
    gamma: float | None = None
    eta: float | None = None

    def _delta(self, epsilon: Floats) -> Floats:
        flat = epsilon.ravel()
        w = self.weight
        if self.gamma is not None and self.eta is not None:
            shape = (1, len(flat))
            best = self._bound(flat, np.full(shape, self.gamma), np.full(shape, self.eta))[0]
            return best.reshape(epsilon.shape)
        best = np.full(len(flat), np.inf)
        centre_g, centre_e, size = np.full(len(flat), 0.5), np.full(len(flat), 0.5), 1.0
        for step in range(14):  # gamma = w g, eta = w + (1-w) e; zoom in around the best pair
            grid = np.linspace(0.0, 1.0, 9 if step == 0 else 5)
            one, two = (a.reshape(-1, 1) for a in np.meshgrid(grid, grid))
            g = np.clip(centre_g + size * (one - 0.5), 0.0, 1.0)
            e = np.clip(centre_e + size * (two - 0.5), 0.0, 1.0)
            value = self._bound(flat, w * g, w + (1.0 - w) * e)
            at, columns = np.argmin(value, axis=0), np.arange(len(flat))
            best = np.minimum(best, value[at, columns])
            centre_g, centre_e, size = g[at, columns], e[at, columns], 0.5 * size
        return best.reshape(epsilon.shape)

    def _bound(self, epsilon: Floats, gamma: Floats, eta: Floats) -> Floats:
        w = self.weight
        same = eta - gamma < 1e-9  # gamma = eta = w: any A, B with (1-w) A + w B = E will do; A = B = E
        gamma, eta = np.where(same, w, gamma), np.where(same, w, eta)
        width = np.where(same, 1.0, eta - gamma)
        ratio_a = np.where(same, 1.0, (eta - w) / ((1.0 - w) * width))
        ratio_b = np.where(same, 1.0, (w - gamma) / (w * width))
        # smaller A and B are safe: they only leave some of E P unused
        log_a = np.maximum(epsilon + np.log(np.maximum(ratio_a * (1.0 - 32.0 * ULP / width), 1e-300)), -690.0)
        log_b = np.maximum(epsilon + np.log(np.maximum(ratio_b * (1.0 - 32.0 * ULP / width), 1e-300)), -690.0)
        log_a -= 4.0 * ULP * (1.0 + np.abs(log_a) + epsilon)
        log_b -= 4.0 * ULP * (1.0 + np.abs(log_b) + epsilon)
        (f11, f12), (f21, f22) = self.pairs
        first = (1.0 - gamma) * f11._signed_delta(log_a) + gamma * f21._signed_delta(log_a)
        second = (1.0 - eta) * f12._signed_delta(log_b) + eta * f22._signed_delta(log_b)
        return np.minimum(((1.0 - w) * first + w * second) * (1.0 + 16.0 * ULP), 1.0)

    def inverse(self) -> AdvancedMixture:
        """The same bound for T(Q, P): T(Q_i, P_j) is the inverse of T(P_j, Q_i)."""
        return self._inverse

    @cached_property
    def _inverse(self) -> AdvancedMixture:
        (f11, f12), (f21, f22) = self.pairs
        pairs = (f11.inverse(), f21.inverse()), (f12.inverse(), f22.inverse())
        return AdvancedMixture(pairs, self.weight, self.gamma, self.eta)

    def _pure_epsilon(self) -> float:
        if self.gamma is not None:
            return math.inf
        return max(self.pairs[0][0]._pure_epsilon(), self.pairs[1][1]._pure_epsilon())

    def _renyi(self, order: float) -> float:
        # Lemma 3.1 holds for the same pair whatever gamma and eta are
        (f11, _), (_, f22) = self.pairs
        return mixture([f11, f22], [1.0 - self.weight, self.weight])._renyi(order)


def advanced_mixture(
    pairs: tuple[_Pair, _Pair], weight: float, *, gamma: float | None = None, eta: float | None = None
) -> AdvancedMixture:
    """Bound a mixture of two pairs by way of all four pairs: T((1-w) P1 + w P2, (1-w) Q1 + w Q2) from T(P_i, Q_j).

    Parameters
    ----------
    pairs : ((f, f), (f, f))
        Lower bounds, pairs[i][j] of T(P_i, Q_j), each a TradeoffFunction.
    weight : float
        w, in (0, 1).
    gamma, eta : float, optional
        In [0, w] and in [w, 1]. Give both or neither. None: they are optimised.

    Returns
    -------
    AdvancedMixture
        The bound, never below `mixture` of the two diagonal pairs.

    Raises
    ------
    ValueError
        For an argument out of range.

    Notes
    -----
    Lemma 6.3. Proof: docs/proofs/mixtures.md.

    Examples
    --------
    >>> from prepriv import guarantees as g
    >>> own, cross = g.gaussian(1.0), g.gaussian(0.2)  # P_i is nearer to the other Q
    >>> f = g.advanced_mixture(((own, cross), (cross, own)), 0.5)
    >>> f.delta(1.0) < g.mixture([own, own], [0.5, 0.5]).delta(1.0)
    True
    """
    w = number("weight", weight, above=0.0, below=1.0)
    if (gamma is None) != (eta is None):
        raise ValueError("gamma and eta must be given both or neither")
    low = None if gamma is None else number("gamma", gamma, at_least=0.0, at_most=w)
    high = None if eta is None else number("eta", eta, at_least=w, at_most=1.0)
    (f11, f12), (f21, f22) = pairs
    return AdvancedMixture(((f11, f12), (f21, f22)), w, low, high)
