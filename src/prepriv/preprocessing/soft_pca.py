"""Soft PCA: shrink each principal direction by eigenvalue / (eigenvalue + strength). Unconditional.

Proof: docs/proofs/soft_pca.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from prepriv import payment as pay
from prepriv._arguments import settle, truth
from prepriv._rounding import FAR_UP, UP
from prepriv.domain import Domain, as_space
from prepriv.guarantees.printed import up
from prepriv.preprocessing._grid import ExactMatrix, GridLinear
from prepriv.preprocessing._whole import square_shift, whole_shift, worst_drop
from prepriv.preprocessing.base import (
    UNTOUCHED,
    ConfidentialMap,
    Rows,
    RowShift,
    Step,
    check_positive,
    need_filled,
    need_n,
)
from prepriv.preprocessing.second_moment import LAPACK_ERROR, moment_grid, moment_shift, moments
from prepriv.space import Space


@dataclass(frozen=True)
class SoftPCA(Step):
    """Shrink each principal direction: x -> f(M) x, f(M) = M (M + strength I)^-1, M the second moment (1/n) sum x x^T.

    Parameters
    ----------
    strength : float, default 0.01
        lambda > 0, in the squared units of the rows. Directions with an eigenvalue far below it vanish, and those far
        above it stay.
    centred : bool, default False
        Whether M is about the mean m. The map is then x -> m + f(M)(x - m), pulled back to the ball.
    payment : Sensitivity
        No caps are needed.

    Raises
    ------
    ValueError
        For a strength that is not positive, or another payment.

    Notes
    -----
    The bound is unconditional. In the unit ball the common rows move by 1 / (2 sqrt(lambda)) in all, to first order
    in 1 / (n lambda): 5.0 at lambda = 0.01, for every n. Some data sets reach this. Rows are first rounded to 2^-21
    of the declared radius. Nothing is needed at prediction. Proof: docs/proofs/soft_pca.md.

    Examples
    --------
    >>> from prepriv import Domain, Sensitivity
    >>> from prepriv.preprocessing import SoftPCA
    >>> step = SoftPCA(0.01, payment=Sensitivity())
    >>> round(step.sensitivity(Domain.ball(784, range(10)), n=60_000).total_shift, 2)
    5.01
    """

    strength: float = 0.01
    centred: bool = False

    ways: ClassVar[tuple[str, ...]] = ("sensitivity",)
    why_not: ClassVar[dict[str, str]] = {
        "public": "PCA on public rows does this without a price",
        "budget": "PCA by budget releases its directions",
    }
    at_prediction: ClassVar[bool] = False
    fitted_state: ClassVar[str] = "directions"
    Caps: ClassVar[type[pay.Caps]] = pay.Caps

    def __post_init__(self) -> None:
        super().__post_init__()
        settle(self, strength=check_positive("strength", self.strength))
        truth("centred", self.centred)

    def lipschitz(self, space: Space) -> float:
        """Largest eigenvalue of f(M): R^2 / (R^2 + strength)."""
        square = space.radius**2
        return square / (square + self.strength) * (1 + 1e-8)

    @property
    def after_drops(self) -> bool:
        return True  # its bounds count a dropped row

    def output(self, space: Space) -> Space:
        need_filled(self.name, space)
        least = 100 * LAPACK_ERROR * space.d * space.radius**2
        if (
            self.strength < least
        ):  # the system to be solved may be singular: no run may depend on whether it is
            raise ValueError(
                f"strength must be at least {up(least, 3)} for rows in this domain; got {self.strength}"
            )
        radius = space.radius if self.centred else space.radius * min(1.0, self.lipschitz(space))
        side = np.full(space.d, radius)
        return Space(-side, side, radius, np.zeros(space.d, dtype=bool), space.names)

    def sensitivity(self, domain: Domain | Space, n: int, incoming: RowShift | None = None) -> RowShift:
        """The smallest of the proved bounds, which treat the record and the incoming shift together, or one after the other."""
        space, n, incoming = as_space(domain), need_n(n), incoming or UNTOUCHED
        need_filled(self.name, space)
        grid = moment_grid(space.radius, n)
        incoming = grid.propagate(incoming, space.d)
        rounding = 2 * grid.reach * 8 * LAPACK_ERROR * space.d * (1 + grid.reach**2 / self.strength)
        steep, strongest = whole_constant(grid.reach, self.strength), min(1.0, self.lipschitz(space))
        steep = max(1.0, steep) if self.centred else steep  # the mean stays where it is
        wide = space.diameter + math.sqrt(space.d) * grid.step  # two rows on the grid
        record = (2 * grid.reach if incoming.rows_dropped > 0 else min(wide, 2 * grid.reach)) ** 2
        together, alone = self._own(grid.reach, n, incoming), self._own(grid.reach, n, UNTOUCHED)

        def total(kept: float, dropped: float) -> float:
            came = square_shift(incoming, dropped, grid.reach)
            return min(
                together[1] + strongest * incoming.total_shift,
                alone[1] + whole_shift(kept, steep, came),
                whole_shift(kept, steep, came + record),
            )

        came = square_shift(incoming, incoming.rows_dropped, grid.reach)
        row = rounding + min(
            together[0] + strongest * incoming.row_shift,
            alone[0] + whole_shift(1.0, steep, came),
            whole_shift(1.0, steep, came + record),
            2 * grid.reach,
        )
        going = min(worst_drop(n, incoming, total) + n * rounding, (n - 1) * row) * FAR_UP
        return RowShift(
            float(n - 1), row, going, incoming.rows_dropped, incoming.conditions, incoming.any_order
        )

    def _own(self, radius: float, n: int, incoming: RowShift) -> tuple[float, float]:
        """(row shift, total shift) that f(M) - f(M') and the means cause, incoming shift not added."""
        e = moment_shift(radius, n, incoming, centred=self.centred)
        step = map_shift(radius, self.strength, n, incoming, centred=self.centred)
        long = 2 * radius if self.centred else radius
        # The norms of rows about their mean (or zero) add up to n sqrt(trace) <= n R.
        spread = min(radius * step, weighted_shift(radius, self.strength, e.frobenius, step))
        return long * step + e.mean, n * (spread + e.mean)

    def fit_confidential(self, rows: Rows, space: Space, n: int) -> ConfidentialMap:
        need_filled(self.name, space)
        grid = moment_grid(space.radius, n)
        fitted = moments(rows, grid, space.d, n, centred=self.centred)
        from scipy.linalg import cho_factor, cho_solve  # a heavy import

        factor = cho_factor(fitted.moment + self.strength * np.eye(space.d))
        shrink = cho_solve(factor, fitted.moment)
        shrink = (shrink + shrink.T) / 2
        offset = fitted.mean - shrink @ fitted.mean if self.centred else None
        return GridLinear(grid, ExactMatrix.of(shrink), offset)


def whole_constant(radius: float, strength: float) -> float:
    """Lipschitz constant of the map of all rows at once: the steepest slope of s^3 / (s^2 + strength), s <= radius.

    9/8, at s^2 = 3 strength, or the slope at the largest singular value.
    """
    t = radius**2 / strength
    return 9 / 8 if t >= 3 else (t * t + 3 * t) / (1 + t) ** 2 * UP


def map_shift(radius: float, strength: float, n: int, incoming: RowShift, *, centred: bool) -> float:
    """Bound on the operator norm of f(M) - f(M').

    R^2 / (n lambda + R^2) for a replaced or a dropped record (4 R^2 if centred), 2 R / (n lambda) for each
    unit of distance that a row has moved (4 R if centred), and never above the largest eigenvalue of f.
    """
    square = (4 if centred else 1) * radius**2
    record = square / (n * strength + square) * (1 + incoming.rows_dropped)
    moved = (4 if centred else 2) * radius * incoming.total_shift / (n * strength)
    return min(record + moved, radius**2 / (radius**2 + strength)) * UP


def weighted_shift(radius: float, strength: float, frobenius: float, step: float) -> float:
    """Bound on (f(M) - f(M')) M^(1/2) in Frobenius norm, given those of M - M' and of f(M) - f(M').

    The smaller of frobenius / (2 sqrt(lambda)) and frobenius (1 + sqrt2 step) / sqrt(8 lambda).
    """
    if strength > radius**2:
        plain = radius / (radius**2 + strength)
    else:
        plain = 1 / (2 * math.sqrt(strength))
    first_order = (1 + math.sqrt(2) * step) / math.sqrt(8 * strength)
    return frobenius * min(plain, first_order) * UP
