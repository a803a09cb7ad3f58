"""Smooth Renyi DP of Provable Privacy with Non-Private Pre-Processing, corrected.

Smooth RDP bounds the divergence between the outputs on two data sets whose *total shift*
tau = sum_i ||x_i - x'_i|| is small, however many records move. Theorem 2 joins it to ordinary RDP
(one record replaced), both forms, the order and c optimised. The mechanisms of its Table 1: smooth_mechanisms.py.
Proofs and errata: docs/proofs/smooth_renyi.md.
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
    minimum_on_log_scale,
    zcdp,
)


@dataclass(frozen=True, eq=False)
class SmoothRenyiCurve:
    """Smooth RDP: Renyi divergence between the outputs on data sets at a total shift, however many records move.

    Parameters
    ----------
    at : callable
        From a total shift tau = sum_i ||x_i - x'_i||, in the units of the rows and at least 0, to a `RenyiCurve`.

    Notes
    -----
    Definition 3 of Provable Privacy with Non-Private Pre-Processing. Post-processing leaves it as it is (Lemma 1).
    Proofs: docs/proofs/smooth_renyi.md.

    Examples
    --------
    Called with an order and a total shift, it is the divergence.

    >>> from prepriv import guarantees as g
    >>> curve = g.SmoothRenyiCurve(lambda shift: g.gaussian_renyi(2 * shift))
    >>> round(curve(3.0, 0.5), 6)
    1.5
    >>> round(curve.compose(2)(3.0, 0.5), 6)
    3.0
    """

    at: Callable[[float], RenyiCurve]

    def __call__(self, order: float, shift: float) -> float:
        """Divergence at order in (1, inf] and total shift >= 0. ValueError for others."""
        return self.at(number("shift", shift, at_least=0.0))(order)

    def compose(self, other: int | SmoothRenyiCurve) -> SmoothRenyiCurve:
        """Lemma 1: divergences of one order and one shift add, adaptively too."""
        if isinstance(other, SmoothRenyiCurve):
            return SmoothRenyiCurve(lambda shift: self.at(shift).compose(other.at(shift)))
        times = integer("k", other)
        return SmoothRenyiCurve(lambda shift: self.at(shift).compose(times))

    def subsampled(self, n: int, batch: int) -> SmoothRenyiCurve:
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

        return SmoothRenyiCurve(at)


@dataclass(frozen=True, eq=False)
class SmoothMechanism:
    """A mechanism with both of its curves: RDP for one replaced record, smooth RDP for a total shift.

    Parameters
    ----------
    renyi : RenyiCurve
        Between data sets that differ in one record.
    smooth : SmoothRenyiCurve
        Between data sets at a total shift.

    Notes
    -----
    One row of Table 1 of Provable Privacy with Non-Private Pre-Processing.

    Examples
    --------
    >>> from prepriv import guarantees as g
    >>> made = g.gaussian_mechanism(1.0, lipschitz=1.0, sensitivity=1.0)
    >>> round(made.preprocessed(0.5)(3.0), 6)  # one record, and 0.5 of shift in all the others
    3.375
    """

    renyi: RenyiCurve
    smooth: SmoothRenyiCurve

    def preprocessed(self, shift: float, *, c: float | None = None) -> RenyiCurve:
        """Theorem 2 with total shift Delta_12 = `shift`; c: fix it (the paper takes 2) or optimise it."""
        return with_preprocessing(self.renyi, self.smooth.at(number("shift", shift, at_least=0.0)), c=c)


# ---- Theorem 2 ----------------------------------------------------------------------------------------
def with_preprocessing(plain: RenyiCurve, smooth: RenyiCurve, *, c: float | None = None) -> RenyiCurve:
    """Join the RDP of a mechanism and its smooth RDP at the total shift of a step that is fitted without noise.

    Parameters
    ----------
    plain : RenyiCurve
        For one replaced record.
    smooth : RenyiCurve
        Smooth RDP at the step's total shift: `SmoothRenyiCurve.at(shift)`.
    c : float, optional
        Above 1. None: the best one for each order; the paper takes 2.

    Returns
    -------
    RenyiCurve
        The curve of step and mechanism together.

    Raises
    ------
    ValueError
        For a c of at most 1.

    Notes
    -----
    Theorem 2 of Provable Privacy with Non-Private Pre-Processing; proof: docs/proofs/smooth_renyi.md. For every c > 1 both
    F1 = (ac - 1)/(c(a - 1)) smooth(ac) + plain((ac - 1)/(c - 1)) and F2, their roles exchanged,
    bound the divergence of order a in both directions, so the result is the least of both over c
    (the paper takes the larger; both hybrids exist in either order). For zCDP curves with
    divergences a x^2/2 and a y^2/2 the least is a (x + y)^2 / 2, in closed form.
    Both curves must hold on a class that contains the hybrid of the two pre-processed data sets.

    Examples
    --------
    >>> from prepriv import guarantees as g
    >>> joined = g.with_preprocessing(g.gaussian_renyi(1.0), g.gaussian_renyi(0.5))
    >>> round(joined(3.0), 6)  # order 3 times (1 + 0.5)^2 / 2
    3.375
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


# ---- Definitions 7 and 8 ------------------------------------------------------------------------------
def inverse_pointwise_distance(shifts: npt.ArrayLike) -> float:
    """How unevenly the rows of two data sets move: 1 if all move equally far, n if only one moves.

    Parameters
    ----------
    shifts : array of float, (n,)
        d_i = ||x_i - x'_i||, at least 0.

    Returns
    -------
    float
        n/k, k the largest whole number with max_i d_i <= sum_i d_i / k.

    Raises
    ------
    ValueError
        For anything but a list of numbers.

    Notes
    -----
    Definition 7 of Provable Privacy with Non-Private Pre-Processing, for one pair.

    Examples
    --------
    >>> from prepriv import guarantees as g
    >>> g.inverse_pointwise_distance([1.0, 0.5, 0.5, 0.0])
    2.0
    """
    moved = numbers("shifts", shifts, at_least=0.0)
    if moved.ndim != 1 or not len(moved):
        raise ValueError(f"shifts must be a list of one number per record; got shape {moved.shape}")
    largest = float(moved.max())
    if largest == 0.0:
        return 1.0
    return len(moved) / min(len(moved), max(1, math.floor(math.fsum(moved) / largest * (1.0 + 4.0 * ULP))))


def largest_distance(shifts: Sequence[npt.ArrayLike], total: float) -> int:
    """The largest number of records in which two data sets of a collection differ, if their rows move by at most `total` in all.

    Parameters
    ----------
    shifts : sequence of arrays of float, (n,) each
        How far each row moves, for each pair of data sets.
    total : float
        tau, at least 0.

    Returns
    -------
    int
        0 if no pair is that near.

    Raises
    ------
    ValueError
        For a number below 0.

    Notes
    -----
    Definition 8 of Provable Privacy with Non-Private Pre-Processing.

    Examples
    --------
    >>> from prepriv import guarantees as g
    >>> g.largest_distance([[1.0, 0.0], [0.2, 0.2], [1.0, 1.0]], 1.0)
    2
    """
    limit = number("total", total, at_least=0.0)
    rows = [numbers("shifts", row, at_least=0.0) for row in shifts]
    return max((int(np.count_nonzero(row)) for row in rows if math.fsum(row.ravel()) <= limit), default=0)


def _whole_numbers(largest: int) -> Sequence[int]:
    return [int(k) for k in np.unique(np.round(np.geomspace(1, largest, 200)))] if largest >= 1 else []
