"""Trade-off functions: what f-DP claims are made of, every number rounded to the less private side.

f = T(P, Q) maps a type I error alpha of a test of P against Q to the least type II error. An object
here is a certified lower bound of one such function. It is known through its dual
delta(epsilon) = 1 + f*(-e^epsilon) = H_{e^epsilon}(Q || P) (Dong, Roth, Su 2022, Prop. 2.12).
"""

from __future__ import annotations

import abc
import math
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, overload

import numpy as np
import numpy.typing as npt

from prepriv._arguments import integer, number, numbers
from prepriv._arrays import Floats
from prepriv.guarantees.lines import ULP, LossAtoms, SupportLines, adaptive_lines, support_lines
from prepriv.guarantees.solve import smallest_epsilon

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Numbers = npt.ArrayLike
SMALLEST = 1e-300  # what a positive delta too small to compute is reported as


class TradeoffFunction(abc.ABC):
    """A certified lower bound of a trade-off function T(P, Q), with everything that follows from it.

    A mechanism is f-DP when T(M(D0), M(D1)) >= f for all neighbours D0, D1 (both orders). Numbers
    are rounded so that the claim stays true: f(alpha) down, delta and epsilon up, divergences up.

    Notes
    -----
    Proofs: docs/proofs/tradeoff.md. A subclass supplies

    - `_delta(epsilon)`, upper bound of H_{e^epsilon}(Q || P) for a float array epsilon >= 0 of any shape (no overflow for
      large epsilon). Negative epsilon is handled here by duality: delta(-e) = 1 - e^{-e} (1 - inverse delta(e)). It should
      have a small *relative* error, and be positive unless the truth is exactly 0.
    - `inverse()`, T(Q, P). Return self if the function is symmetric.

    and, where better than the defaults,

    - `_pure_epsilon()`, an epsilon at and beyond which delta is 0 (default inf).
    - `_epsilon(delta)`, scalar in, smallest certified epsilon out (default: a root search, 8 to 20 calls of `_delta` with
      one point each).
    - `_beta(alpha)`, lower bound of f at alpha (default: from `lines()`).
    - `_loss_atoms()`, LossAtoms of a dominating pair: the law of log(dQ/dP) under Q, for composition (default: the atoms of
      `lines()`). Losses need not be on a grid; `loss_distribution` rounds them pessimistically. Masses may miss the tails
      if what is missing is put into infinite_mass.
    - `_renyi(order)`, upper bound of the Renyi divergence D_order(P || Q), order >= 1, 1 being KL (default: from
      `lines()`, infinite if the loss is unbounded).
    - `line_budget`, class variable: about how many points `_delta` is asked for by `lines()`.

    Examples
    --------
    >>> from prepriv import guarantees as g
    >>> f = g.gaussian(1.0)
    >>> round(f.delta(1.0), 6), round(f.epsilon(1e-5), 3), round(f(0.05), 4)
    (0.126937, 4.377, 0.7405)
    """

    line_budget: ClassVar[int] = 1024

    # ---- to be supplied -------------------------------------------------------------------------
    @abc.abstractmethod
    def _delta(self, epsilon: Floats) -> Floats: ...

    @abc.abstractmethod
    def inverse(self) -> TradeoffFunction:
        """T(Q, P): the same with the roles of the two errors exchanged."""

    # ---- optional -------------------------------------------------------------------------------
    def _pure_epsilon(self) -> float:
        return math.inf

    def _epsilon(self, delta: float) -> float:
        return smallest_epsilon(self._delta, delta, self._pure_epsilon())

    def _beta(self, alpha: Floats) -> Floats:
        return self.lines().beta(alpha)

    def _loss_atoms(self) -> LossAtoms | None:
        return None

    def _renyi(self, order: float) -> float:
        from prepriv.guarantees.divergences import renyi_of_lines

        bound = self.inverse()._pure_epsilon()
        value = renyi_of_lines(self.lines(), order, -bound if math.isfinite(bound) else None)
        return min(value, bound)  # |log dP/dQ| <= bound

    # ---- the curve and its dual -----------------------------------------------------------------
    @property
    def symmetric(self) -> bool:
        """Whether f equals its inverse."""
        return self.inverse() is self

    @overload
    def __call__(self, alpha: float) -> float: ...
    @overload
    def __call__(self, alpha: Floats | list[float]) -> Floats: ...
    def __call__(self, alpha: Numbers) -> Any:
        """Least type II error at type I error alpha in [0, 1], rounded down."""
        points = numbers("alpha", alpha, at_least=0.0, at_most=1.0)
        return _shaped(self._beta(np.atleast_1d(points)), points)

    @overload
    def delta(self, epsilon: float) -> float: ...
    @overload
    def delta(self, epsilon: Floats | list[float]) -> Floats: ...
    def delta(self, epsilon: Numbers) -> Any:
        """Smallest certified delta at epsilon (any finite real), rounded up."""
        points = numbers("epsilon", epsilon)
        return _shaped(self._signed_delta(np.atleast_1d(points)), points)

    @overload
    def epsilon(self, delta: float) -> float: ...
    @overload
    def epsilon(self, delta: Floats | list[float]) -> Floats: ...
    def epsilon(self, delta: Numbers) -> Any:
        """Smallest certified epsilon >= 0 at delta in (0, 1), rounded up; inf if there is none."""
        points = numbers("delta", delta, above=0.0, below=1.0)
        flat = np.array([self._epsilon(float(d)) for d in np.atleast_1d(points).ravel()])
        return _shaped(flat.reshape(np.atleast_1d(points).shape), points)

    @overload
    def conjugate(self, y: float) -> float: ...
    @overload
    def conjugate(self, y: Floats | list[float]) -> Floats: ...
    def conjugate(self, y: Numbers) -> Any:
        """Convex conjugate f*(y) = sup over alpha in [0, 1] of y alpha - f(alpha), rounded up.

        For y < 0 this is delta(log(-y)) - 1; for y >= 0 it is y.
        """
        points = np.atleast_1d(numbers("y", y))
        negative = points < 0
        slope = np.log(np.where(negative, -points, 1.0))
        slope -= 4.0 * ULP * (1.0 + np.abs(slope))  # delta falls: a smaller epsilon is the safe side
        value = np.where(negative, np.nextafter(self._signed_delta(slope) - 1.0, 1.0), points)
        return _shaped(value, numbers("y", y))

    def symmetrized(self, *, both_orders: bool = False) -> TradeoffFunction:
        """A symmetric function below T(P, Q) and T(Q, P): C(f) = min(f, inverse)**.

        both_orders: True if f itself bounds T in both orders (it does when f is what a mechanism
        was shown to satisfy over all ordered pairs of neighbours): then max(f, inverse) is valid.
        """
        if self.symmetric:
            return self
        from prepriv.guarantees.piecewise import Symmetrized

        return Symmetrized(self, both_orders)

    # ---- derived --------------------------------------------------------------------------------
    def compose(self, other: int | TradeoffFunction, *, interval: float | None = None) -> TradeoffFunction:
        """k adaptive uses of this mechanism, or one of this and one of `other`.

        Exact for Gaussian parts; otherwise through privacy loss distributions, pessimistic.
        interval: width of the loss grid (default: chosen from the spread of the loss).
        """
        from prepriv.guarantees.loss_distribution import compose

        if isinstance(other, TradeoffFunction):
            return compose([(self, 1), (other, 1)], interval=interval)
        return compose([(self, integer("k", other))], interval=interval)

    def divergence(self, name: str, *, order: float | None = None, epsilon: float | None = None) -> float:
        """Upper bound of a divergence of P from Q for f = T(P, Q) (Prop. 3.3 of Unified Enhancement of Privacy Bounds, corrected).

        name: "renyi" (with order >= 1), "kl", "chi2", "tv" or "hockey-stick" (with epsilon).
        inf where the pair is not bounded; hockey-stick is delta of the inverse.
        """
        if name == "renyi":
            if order is None:
                raise ValueError("order must be given for the renyi divergence: a number >= 1")
            return self._renyi(number("order", order, at_least=1.0))
        if name == "kl":
            return self._renyi(1.0)
        if name == "chi2":
            second = self._renyi(2.0)
            return math.expm1(second) * (1.0 + 4.0 * ULP) if second < 700.0 else math.inf
        if name == "tv":
            return self.delta(0.0)
        if name == "hockey-stick":
            if epsilon is None:
                raise ValueError("epsilon must be given for the hockey-stick divergence: a real number")
            return self.inverse().delta(epsilon)
        raise ValueError(f'name must be "renyi", "kl", "chi2", "tv" or "hockey-stick"; got {name!r}')

    def dominates(self, other: TradeoffFunction, *, tolerance: float = 1e-9) -> bool:
        """Whether f >= other at every alpha, up to tolerance: f is then at least as private.

        Compared through delta at every slope where one of the two has a line.
        """
        slopes = np.union1d(self.lines().slopes, other.lines().slopes)
        return bool(np.all(self._signed_delta(slopes) <= other._signed_delta(slopes) + tolerance))

    def lines(self) -> SupportLines:
        """The certified piecewise-linear form: supporting lines of any slope."""
        return self._lines

    @cached_property
    def _lines(self) -> SupportLines:
        pure = self._pure_epsilon(), self.inverse()._pure_epsilon()
        highest = min(pure[0], _reach(self._delta), 600.0)
        lowest = -min(pure[1], _reach(self.inverse()._delta), 36.0)
        scale = max(float(self._delta(np.zeros(1))[0]), 1e-12)
        lines = adaptive_lines(
            self._signed_delta, lowest, highest, tolerance=4e-6 * scale, budget=self.line_budget
        )
        exact = np.array([pure[0], -pure[1]])
        exact = exact[np.isfinite(exact)]
        if not len(exact):
            return lines
        return support_lines(
            np.append(lines.slopes, exact), np.append(lines.deltas, self._signed_delta(exact))
        )

    def plot(self, path: str | None = None) -> Figure:
        """Draw f against the diagonal of perfect privacy; save to `path` if given."""
        from prepriv.guarantees.drawing import draw

        return draw({type(self).__name__: self}, path)

    def _signed_delta(self, epsilon: Floats) -> Floats:
        upper = np.clip(self._delta(np.maximum(epsilon, 0.0)), 0.0, 1.0)
        if np.all(epsilon >= 0.0):
            return upper
        shrink = np.exp(np.minimum(epsilon, 0.0))
        other = np.clip(self.inverse()._delta(np.maximum(-epsilon, 0.0)), 0.0, 1.0)
        by_duality = 1.0 - shrink * (1.0 - other) * (1.0 - 8.0 * ULP) + ULP
        return np.where(epsilon >= 0.0, upper, np.minimum(by_duality, 1.0))


def _shaped(values: Floats, like: Floats) -> Any:
    return float(values.reshape(-1)[0]) if like.ndim == 0 else values


def _reach(delta: Any, small: float = 1e-25) -> float:
    """An epsilon near which delta falls below `small` (or stops falling), at most 600."""
    high = 1e-6
    last = 1.0
    while high < 600.0:
        value = float(delta(np.array([high]))[0])
        if value <= small or (value < 0.5 and value > 0.999999 * last and high > 1.0):
            break
        last = value
        high *= 1.5
    return min(high, 600.0)
