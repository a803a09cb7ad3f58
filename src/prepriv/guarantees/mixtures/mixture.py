"""Mixtures: joint and advanced joint concavity of trade-off functions (Unified Enhancement of Privacy Bounds, sections 3 and 6).

Mixing is done on delta at one epsilon, that is at one likelihood-ratio threshold (Lemma 3.1), never
at one alpha: averaging f_i(alpha) over-reports f. Proofs: docs/proofs/mixtures.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp

from prepriv._arguments import instance, numbers
from prepriv._arrays import Floats
from prepriv.guarantees.lines import ULP, LossAtoms
from prepriv.guarantees.loss_distribution import loss_atoms
from prepriv.guarantees.tradeoff import TradeoffFunction


@dataclass(frozen=True, eq=False)
class Mixture(TradeoffFunction):
    """T((X, I), (Y, I)): component I is drawn with the weights and shown (Lemma 3.1).

    delta is the weighted mean of the components' deltas at the same epsilon. Symmetric when every
    component is (Proposition 3.2).
    """

    components: tuple[TradeoffFunction, ...]
    weights: tuple[float, ...]

    def _delta(self, epsilon: Floats) -> Floats:
        total = np.zeros_like(epsilon)
        for component, weight in zip(self.components, self.weights):
            total += weight * np.minimum(component._delta(epsilon), 1.0)
        return np.minimum(total * (1.0 + ULP * (len(self.weights) + 4.0)), 1.0)

    def inverse(self) -> Mixture:
        """The mixture of the inverses."""
        return self if all(c.symmetric for c in self.components) else self._inverse

    @cached_property
    def _inverse(self) -> Mixture:
        return Mixture(tuple(c.inverse() for c in self.components), self.weights)

    def _pure_epsilon(self) -> float:
        return max(c._pure_epsilon() for c in self.components)

    def _loss_atoms(self) -> LossAtoms:
        laws = [loss_atoms(c) for c in self.components]
        up = 1.0 + 4.0 * ULP
        return LossAtoms(
            np.concatenate([law.losses for law in laws]),
            np.concatenate([law.masses * (w * up) for law, w in zip(laws, self.weights)]),
            min(1.0, math.fsum(w * law.infinite_mass for law, w in zip(laws, self.weights)) * up),
        )

    def _renyi(self, order: float) -> float:
        bounds = np.array([c._renyi(order) for c in self.components])
        if order == 1.0:
            return math.fsum(w * b for w, b in zip(self.weights, bounds)) * (1.0 + 4.0 * ULP)
        if np.any(np.isinf(bounds)):
            return math.inf
        log_moment = float(logsumexp((order - 1.0) * bounds, b=self.weights))
        slack = 4.0 * ULP * (1.0 + (order - 1.0) * float(bounds.max()))
        return max(0.0, (log_moment + slack) / (order - 1.0))


def mixture(components: Sequence[TradeoffFunction], weights: Sequence[float]) -> Mixture:
    """Bound T(sum w_i P_i, sum w_i Q_i) from below, from f_i <= T(P_i, Q_i) (Lemma 3.1).

    Parameters
    ----------
    components : sequence of TradeoffFunction
        f_i.
    weights : sequence of float
        As many, >= 0, with sum 1 (to 1e-9; normalised upwards).

    Returns
    -------
    Mixture

    Raises
    ------
    ValueError
        For weights that are not these.

    Notes
    -----
    Proof: docs/proofs/mixtures.md.

    Examples
    --------
    >>> from prepriv import guarantees as g
    >>> f = g.mixture([g.gaussian(0.5), g.gaussian(2.0)], [0.9, 0.1])
    >>> round(f.delta(1.0), 4)
    0.0571
    """
    instance("components", components, Sequence, "a list of trade-off functions")
    functions = tuple(components)
    for item in functions:
        if not isinstance(item, TradeoffFunction):
            raise ValueError(f"components must be trade-off functions; got {type(item).__name__}")
    w = numbers("weights", weights, at_least=0.0)
    if w.shape != (len(functions),) or not functions:
        raise ValueError(
            f"weights must be one to each of the {len(functions)} components; got shape {w.shape}"
        )
    total = math.fsum(w)
    if abs(total - 1.0) > 1e-9:
        raise ValueError(f"weights must have sum 1 (to 1e-9); got {total!r}")
    w = w / total * (1.0 + 2.0 * ULP)
    used = [i for i in range(len(functions)) if w[i] > 0.0]
    return Mixture(tuple(functions[i] for i in used), tuple(float(w[i]) for i in used))


def joint_concavity_is_exact(
    p: npt.ArrayLike, q: npt.ArrayLike, weights: Sequence[float], *, tolerance: float = 1e-9
) -> bool:
    """Tell whether Lemma 3.1 holds with equality for discrete components (Proposition 6.1, corrected).

    Parameters
    ----------
    p, q : array, (components, outcomes)
        Rows sum to 1.
    weights : sequence of float, (components,)
        With sum 1.
    tolerance : float, default 1e-9
        On the log ratio.

    Returns
    -------
    bool

    Notes
    -----
    Equality holds if and only if, wherever two components can both produce an outcome, their likelihood ratios p_i/q_i
    agree there (the paper's condition is not sufficient). Proof: docs/proofs/mixtures.md.

    Examples
    --------
    >>> from prepriv import guarantees as g
    >>> g.joint_concavity_is_exact([[1, 0], [0, 1]], [[0.5, 0.5], [0.5, 0.5]], [0.5, 0.5])
    False
    >>> g.joint_concavity_is_exact([[1, 0], [0, 1]], [[1, 0], [0, 1]], [0.5, 0.5])
    True
    """
    one, two = numbers("p", p, at_least=0.0), numbers("q", q, at_least=0.0)
    w = numbers("weights", weights, at_least=0.0)
    if one.ndim != 2 or one.shape != two.shape or w.shape != one.shape[:1]:
        raise ValueError(
            f"p, q, weights must have shapes (k, m), (k, m), (k,); got {one.shape}, {two.shape}, {w.shape}"
        )
    produced = (one + two > 0.0) & (w > 0.0)[:, None]
    angle = np.arctan2(one, two)  # one number for a ratio in [0, inf]
    for x in range(one.shape[1]):
        seen = angle[produced[:, x], x]
        if len(seen) and seen.max() - seen.min() > tolerance:
            return False
    return True
