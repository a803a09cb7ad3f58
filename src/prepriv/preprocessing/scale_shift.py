"""How far one record, and rows that already moved, can move standard scaling. Proof: docs/proofs/scale.md.

Everything is per unit of 1/n: a record moves a mean by at most width / n and a variance by at most
`variance_shift` / n, and n rows follow.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from prepriv._arrays import Floats
from prepriv._rounding import FAR_UP
from prepriv.preprocessing._sums import SUM_ERROR
from prepriv.preprocessing._whole import square_shift, whole_shift, worst_drop
from prepriv.preprocessing.base import RowShift


@dataclass(frozen=True, eq=False)
class Scaling:
    """Declared facts about one standard scaling of k columns.

    width: (k,) of the values. reach: (k,) largest distance of a value from the midpoint. floor: (k,) least
    divisor s. ball: the values' declared norm (inf: no use of it). about_mean: sigma is taken about the mean,
    not the midpoint. root: divide by sqrt(var + s^2), not max(sigma, s). radius: norm of a row afterwards.
    lipschitz: Lipschitz constant of the fitted map, and of the map of whole data sets. diameter, norm: of the
    rows before it, all columns.
    """

    width: Floats
    reach: Floats
    floor: Floats
    ball: float
    about_mean: bool
    root: bool
    radius: float
    lipschitz: float
    diameter: float
    norm: float

    def variance_shift(self) -> Floats:
        """n times what one replaced record moves each variance by, at most, (k,)."""
        return self.width**2 if self.about_mean else self.reach**2

    def moved_variance(self, incoming: RowShift) -> Floats:
        """n times what one record and the rows that came in moved or dropped move each variance by, at most, (k,).

        Moved rows by their shifts, or as so many records that are replaced.
        """
        one, gone = self.variance_shift(), incoming.rows_dropped
        by_shift = (1 + gone) * one + 2 * self._far * incoming.total_shift
        return np.asarray(np.minimum(by_shift, incoming.records * one))

    def _mean_shift(self) -> float:
        """n times what one replaced record moves the means by, each over its floor, in norm."""
        if not self.about_mean:
            return 0.0
        return min(float(np.linalg.norm(self.width / self.floor)), 2 * self.ball / float(self.floor.min()))

    def _spread_shift(self) -> float:
        """n times what one replaced record moves the variances by, each over its floor squared, in norm."""
        box = float(np.linalg.norm(self.variance_shift() / self.floor**2))
        ball = (4 if self.about_mean else math.sqrt(2)) * self.ball**2 / float(self.floor.min()) ** 2
        return min(box, ball)

    @property
    def _kappa(self) -> float:
        """Largest sqrt(v) |d/dv (1/divisor)| s^2: 1/2 at v = s^2 (max), 1/(3 sqrt 3) at v = s^2/2 (root)."""
        return 1 / (3 * math.sqrt(3)) if self.root else 0.5

    def _unclipped(self) -> float:
        """Total shift of one record before rows are pulled back: Cauchy-Schwarz over the rows."""
        total = math.hypot(self._kappa * self._spread_shift(), self._mean_shift())
        if self.root and self.about_mean:
            total = min(total, float(np.linalg.norm(_root_shift(self.width / self.floor))))
        return total

    def _log_shift(self, n: int, records: float, tau: float) -> float:
        """The largest change of the logarithm of a divisor: by what moved, or from the floor to the largest."""
        moved = records * self.variance_shift() + 2 * self._far * tau
        largest = self.width / 2 if self.about_mean else self.reach
        ratio = np.hypot(largest, self.floor) if self.root else np.maximum(largest, self.floor)
        return float(np.minimum(moved / (2 * n * self.floor**2), np.log(ratio / self.floor)).max())

    def _clipped(self, n: int, records: float, tau: float) -> float:
        """RowShift of one row when rows are pulled back: what stretches is at most `radius` long."""
        mean = records * self._mean_shift()
        mean += tau / float(self.floor.min()) if self.about_mean else 0.0
        return self.radius * self._log_shift(n, records, tau) + mean / n

    @property
    def _far(self) -> Floats:
        """Largest distance of a value from the centre, (k,)."""
        return self.width if self.about_mean else self.reach

    def total_shift(self, n: int, incoming: RowShift) -> float:
        """Sum over the common rows of how far each moves."""
        ratio = self.width / self.floor
        rounding = 8 * n * SUM_ERROR * float(np.linalg.norm(ratio**2 + ratio))
        return (
            worst_drop(n, incoming, lambda kept, gone: self._total(n, kept, gone, incoming)) + rounding
        ) * FAR_UP

    def _total(self, n: int, kept: float, dropped: float, incoming: RowShift) -> float:
        """Of `kept` common rows when `dropped` others were: the smallest of what is proved."""
        tau, s = incoming.total_shift, float(self.floor.min())
        one = self._unclipped() * math.sqrt(min(1.0, (kept + 1) / n))
        move = math.hypot(
            self._kappa * float((2 * self._far / self.floor**2).max()), 1 / s if self.about_mean else 0.0
        )
        arrived = tau * self.lipschitz
        come = whole_shift(kept, self.lipschitz, square_shift(incoming, 0, self.norm))
        gone = whole_shift(kept, self.lipschitz, square_shift(RowShift(), dropped, self.norm))
        both = whole_shift(kept, self.lipschitz, square_shift(incoming, dropped, self.norm))
        every = square_shift(incoming, dropped, self.norm) + self.diameter**2
        return min(
            one + min(dropped * one, gone) + min(tau * move + arrived, come),
            one + both,
            whole_shift(kept, self.lipschitz, every),
            kept * self._clipped(n, 1 + dropped, tau) + arrived,
            kept * 2 * self.radius,
        )

    def row_shift(self, n: int, incoming: RowShift) -> float:
        """How far one common row moves."""
        dropped, tau, s, far = incoming.rows_dropped, incoming.total_shift, self.floor, self._far
        mean = self.width / s if self.about_mean else 0.0 * s
        one = float(np.linalg.norm(self.variance_shift() * far / (2 * s**3) + mean))
        moved = float((far**2 / s**3 + (1 / s if self.about_mean else 0.0)).max())
        arrived = self.lipschitz * incoming.row_shift
        squares = square_shift(incoming, dropped, self.norm)
        row = min(
            ((1 + dropped) * one + tau * moved) / n + arrived,
            one / n + whole_shift(1.0, self.lipschitz, squares),
            whole_shift(1.0, self.lipschitz, squares + self.diameter**2),
            self._clipped(n, 1 + dropped, tau) + arrived,
        )
        return min(row * (1 + 8 * n * SUM_ERROR), 2 * self.radius) * FAR_UP


def _root_shift(ratio: Floats) -> Floats:
    """ratio * max over x >= 0 of sqrt(k x / (1 + x)^3 + 1 / (1 + x)), k = ratio^2 / 4, in closed form."""
    k = ratio**2 / 4
    x = np.maximum(0.0, np.sqrt(k * k + 3 * k) - (1 + k))
    # At the maximiser the derivative vanishes, so rounding of x matters in second order only.
    return np.asarray(ratio * np.sqrt(k * x / (1 + x) ** 3 + 1 / (1 + x)) * FAR_UP)
