"""Amplification by shuffling: n users each send one report of an eps0-DP randomizer, reports are shuffled.

The shuffled reports of two data sets that differ in one user's record are a post-processing of the
clone pair P = (1-w) P0 + w Q0, Q = (1-w) Q0 + w P0, w = 1/(1 + e^eps0), where P0 is the law of
(A + 1, C - A), Q0 that of (A, C - A + 1), C ~ Bin(n - 1, 2w), A | C ~ Bin(C, 1/2). Its trade-off
function has a closed form (ours, `method="exact"`), below which Theorem 4.2 of Unified Enhancement of Privacy Bounds lies.
Proofs: docs/proofs/shuffling.md; where the paper errs: docs/errata.md.
"""

from __future__ import annotations

import abc
import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from scipy.special import logsumexp

from prepriv._arguments import instance, integer, number
from prepriv._arrays import Floats
from prepriv._rounding import DOWN
from prepriv.guarantees._near import epsilon_near
from prepriv.guarantees.gaussian import epsilon_upper
from prepriv.guarantees.lines import LossAtoms, SupportLines, support_lines
from prepriv.guarantees.shuffling._binomial import Binomial, clones
from prepriv.guarantees.shuffling._clone_closed_form import closed_form_delta, closed_form_epsilon
from prepriv.guarantees.shuffling._clone_loss import clone_loss
from prepriv.guarantees.shuffling._clone_pair import DeltaBounds, clone_pair_bounds, joint_concavity_bounds
from prepriv.guarantees.shuffling.variation_ratio import LocalRandomizer, blanket_bounds
from prepriv.guarantees.solve import smallest_epsilon
from prepriv.guarantees.tradeoff import TradeoffFunction

_METHODS = ("exact", "paper", "fmt")
_LARGEST_N = 2**53  # whole numbers are exact floats up to here


@dataclass(frozen=True)
class Shuffled(TradeoffFunction):
    """What the shuffled reports of n users satisfy; adjacency replace-one, n public.

    It holds for one report a user, all users running the same randomizer, which is epsilon0-DP
    (pure) on its own. It does not hold for shuffled mini-batches of DP-SGD: a Gaussian step on a
    batch is not a local randomizer.
    """

    epsilon0: float
    n: int

    adjacency: ClassVar[str] = "replace-one"
    line_budget: ClassVar[int] = 256

    @abc.abstractmethod
    def _bounds(self, epsilon: float) -> DeltaBounds:
        """Two-sided delta for 0 <= epsilon < epsilon0."""

    def bounds(self, epsilon: float) -> DeltaBounds:
        """Certified lower <= delta(epsilon) <= upper, and the truncated mass (included in upper).

        For method="exact" both ends are of the dominating pair; for a bound, of that bound.
        """
        point = number("epsilon", epsilon)
        if abs(point) >= self.epsilon0:
            value = -math.expm1(min(point, 0.0))
            return DeltaBounds(value * (1.0 - 1e-15), min(value * (1.0 + 1e-15), 1.0), 0.0)
        if point >= 0.0:
            return self._bounds(point)
        # delta(-e) = 1 - e^-e (1 - delta(e)) for a symmetric pair
        mirror, shrink = self._bounds(-point), math.exp(point)
        gap = -math.expm1(point)
        lower, upper = gap + shrink * mirror.lower, gap + shrink * mirror.upper
        return DeltaBounds(lower * (1.0 - 1e-15), min(upper * (1.0 + 1e-15), 1.0), mirror.truncated_mass)

    def inverse(self) -> Shuffled:
        """The curve is symmetric: exchanging the coordinates exchanges P and Q."""
        return self

    def _pure_epsilon(self) -> float:
        return self.epsilon0

    def _delta(self, epsilon: Floats) -> Floats:
        flat = [self._bounds(e).upper if e < self.epsilon0 else 0.0 for e in epsilon.ravel().tolist()]
        return np.array(flat).reshape(epsilon.shape)

    def _epsilon(self, delta: float) -> float:
        if self._clones().means[0] > 2000.0:
            near = epsilon_near(self._delta, delta, self._guess(delta), self.epsilon0)
            if near is not None:
                return near
        return min(smallest_epsilon(self._delta, delta, self.epsilon0), self.epsilon0)

    def _guess(self, delta: float) -> float:
        # the central limit: mu = 2 tanh(eps0/2) / sqrt(clones)
        law = self._clones()
        return epsilon_upper(2.0 * math.tanh(0.5 * self.epsilon0) / math.sqrt(max(law.means[0], 1.0)), delta)

    def lines(self) -> SupportLines:
        """The certified piecewise-linear form; fewer lines where one delta takes a tenth of a second."""
        return self._few_lines if self._clones().means[0] > 1e7 else super().lines()

    @cached_property
    def _few_lines(self) -> SupportLines:
        reach = min(self.epsilon0, self._guess(1e-15))
        slopes = reach * np.linspace(-1.0, 1.0, 33) ** 3  # dense where f is curved
        slopes = np.concatenate([[-self.epsilon0], slopes, [self.epsilon0]])
        return support_lines(slopes, self._signed_delta(slopes))

    def _clones(self) -> Binomial:
        return clones(self.epsilon0, self.n - 1)


@dataclass(frozen=True)
class ExactShuffle(Shuffled):
    """The clone pair itself: nothing smaller can be said about all epsilon0-DP randomizers by this pair.

    With w = 1/(1 + e^eps0): H_E(P || Q) = ((1-w) - wE) H_tau(P0 || Q0), tau = ((1-w)E - w)/((1-w) - wE).
    """

    def _bounds(self, epsilon: float) -> DeltaBounds:
        return clone_pair_bounds(self.epsilon0, self.n, epsilon)

    def _loss_atoms(self) -> LossAtoms:
        return clone_loss(self.epsilon0, self._clones())

    def _renyi(self, order: float) -> float:
        if self.epsilon0 == 0.0:
            return 0.0
        law = self._loss_atoms()
        losses, masses = np.append(law.losses, self.epsilon0), np.append(law.masses, law.infinite_mass)
        if order == 1.0:
            value = float(masses @ losses) + 1e-10 * float(masses @ np.abs(losses))
        else:
            inside = masses > 0.0
            moment = float(logsumexp(np.log(masses[inside]) + (order - 1.0) * losses[inside]))
            value = (moment + 1e-10 * min(1.0, (order - 1.0))) / (order - 1.0)
        return min(max(value, 0.0), self.epsilon0)


@dataclass(frozen=True)
class JointConcavityShuffle(Shuffled):
    """Theorem 4.2 and Corollary 4.3 of Unified Enhancement of Privacy Bounds with the right t = (1-2w)/(e^eps - 2w), capped at epsilon0.

    Advanced joint concavity: H_E(P || Q) <= (1-2w) H_tau(P0 || Q0), tau = (E - 2w)/(1 - 2w). Never
    below `method="exact"`; kept to reproduce the paper.
    """

    def _bounds(self, epsilon: float) -> DeltaBounds:
        return joint_concavity_bounds(self.epsilon0, self.n, epsilon)


@dataclass(frozen=True)
class ClosedFormShuffle(Shuffled):
    """Feldman, McMillan and Talwar (2023), Theorem 3.2, with the condition it needs; a baseline."""

    line_budget: ClassVar[int] = 1024

    def _bounds(self, epsilon: float) -> DeltaBounds:
        value = float(closed_form_delta(self.epsilon0, self.n, np.array([epsilon]))[0])
        return DeltaBounds(value * (1.0 - 1e-11), value, 0.0)

    def _delta(self, epsilon: Floats) -> Floats:
        value = closed_form_delta(self.epsilon0, self.n, epsilon)
        return np.where(epsilon >= self.epsilon0, 0.0, value)

    def _epsilon(self, delta: float) -> float:
        pure = smallest_epsilon(lambda e: closed_form_delta(self.epsilon0, 1, e), delta, self.epsilon0)
        return min(closed_form_epsilon(self.epsilon0, self.n, delta), pure, self.epsilon0)


@dataclass(frozen=True)
class BlanketShuffle(Shuffled):
    """A randomizer whose reports are, with probability 1 - signal, drawn without looking at the data.

    Tighter than the clone pair of all epsilon0-DP randomizers; docs/proofs/variation_ratio.md.
    """

    signal: float

    def _bounds(self, epsilon: float) -> DeltaBounds:
        return blanket_bounds(self.epsilon0, self.n, self.signal, epsilon)

    def _guess(self, delta: float) -> float:
        # central limit: the loss has variance 2 alpha (e^eps0 - 1)^2 / n, alpha = signal / (e^eps0 - 1)
        spread = 2.0 * self.signal * math.expm1(min(self.epsilon0, 700.0)) / self.n
        return epsilon_upper(min(math.sqrt(spread), 1e3), delta)


def shuffle(
    epsilon0: float, n: int, method: str = "exact", *, randomizer: LocalRandomizer | None = None
) -> Shuffled:
    """Give the guarantee of n users' shuffled reports, where each user runs the same epsilon0-DP randomizer once.

    Parameters
    ----------
    epsilon0 : float
        The local guarantee, any finite number >= 0 (pure DP; no other restriction).
    n : int
        Number of users, at least 1. Adjacency is replace-one: one user's record changes.
    method : {"exact", "paper", "fmt"}, default "exact"
        "exact" evaluates the dominating pair exactly; "paper" is Theorem 4.2 of Unified Enhancement of Privacy Bounds,
        corrected; "fmt" is Feldman, McMillan, Talwar 2023, Theorem 3.2.
    randomizer : LocalRandomizer, optional
        What is known about the randomizer beyond epsilon0, for a tighter bound: `k_randomized_response(k)`,
        `local_laplace()` or `blanket(mass)`. Only with method="exact". None: nothing is known.

    Returns
    -------
    Shuffled

    Raises
    ------
    ValueError
        For an argument out of range.

    Notes
    -----
    Not for shuffled mini-batches of DP-SGD: a Gaussian step on a batch is not a pure-DP local randomizer. Proofs:
    docs/proofs/shuffling.md, docs/proofs/variation_ratio.md.

    Examples
    --------
    >>> from prepriv import guarantees as g
    >>> f = g.shuffle(4.444, 10_000)
    >>> round(f.epsilon(1e-6), 4), round(f.delta(0.5), 12)
    (0.5325, 2.744638e-06)
    """
    local = number("epsilon0", epsilon0, at_least=0.0)
    users = integer("n", n)
    if users > _LARGEST_N:
        raise ValueError(f"n must be at most 2^53; got {n!r}")
    if method not in _METHODS:
        raise ValueError(f"method must be one of {', '.join(_METHODS)}; got {method!r}")
    if randomizer is not None:
        if method != "exact":
            raise ValueError(f'randomizer needs method="exact"; got method={method!r}')
        instance(
            "randomizer",
            randomizer,
            LocalRandomizer,
            "one of prepriv.guarantees: k_randomized_response, local_laplace",
        )
        signal = randomizer.signal(local)
        if signal < math.tanh(0.5 * local) * DOWN:
            return BlanketShuffle(local, users, signal)
        return ExactShuffle(local, users)  # epsilon0 alone says as much or more
    if method == "paper":
        return JointConcavityShuffle(local, users)
    return ClosedFormShuffle(local, users) if method == "fmt" else ExactShuffle(local, users)
