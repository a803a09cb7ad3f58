"""How far one record, and rows that already moved, can move standard scaling. Proof: docs/proofs/scale.md.

Everything is per unit of 1/n: a record moves a mean by at most width / n and a variance by at most
`variance_shift` / n, and n rows follow.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from prepriv.preprocessing._sums import SUM_ERROR
from prepriv.preprocessing.base import Floats, Sensitivity

_UP = 1 + 1e-9


@dataclass(frozen=True, eq=False)
class Scaling:
    """Declared facts about one standard scaling of k columns.

    width: (k,) of the values. reach: (k,) largest distance of a value from the midpoint. floor: (k,) least
    divisor s. ball: the values' declared norm (inf: no use of it). about_mean: sigma is taken about the mean,
    not the midpoint. root: divide by sqrt(var + s^2), not max(sigma, s). radius: norm of a row afterwards.
    stretch: Lipschitz constant of the fitted map.
    """

    width: Floats
    reach: Floats
    floor: Floats
    ball: float
    about_mean: bool
    root: bool
    radius: float
    stretch: float

    def variance_shift(self) -> Floats:
        """n times what one replaced record moves each variance by, at most, (k,)."""
        return self.width**2 if self.about_mean else self.reach**2

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

    def _clipped(self) -> float:
        """Total shift of one record when rows are pulled back: what stretches is at most `radius` long."""
        return self.radius * self._log_shift(self.variance_shift()) + self._mean_shift()

    def _log_shift(self, variances: Floats) -> float:
        """n times the largest change of the logarithm of a divisor, when variances move by this over n."""
        return float((variances / (2 * self.floor**2)).max())

    def total_shift(self, n: int, incoming: Sensitivity) -> float:
        """Sum over the common rows of how far each moves."""
        records, tau, s = 1 + incoming.rows_dropped, incoming.total_shift, float(self.floor.min())
        mean = 1 / s if self.about_mean else 0.0
        far = self.width if self.about_mean else self.reach
        plain = records * self._unclipped()
        plain += tau * math.hypot(self._kappa * float((2 * far / self.floor**2).max()), mean)
        pulled = records * self._clipped() + tau * (self.radius * self._log_shift(2 * far) + mean)
        rounding = (
            8
            * n
            * SUM_ERROR
            * float(np.linalg.norm((self.width / self.floor) ** 2 + self.width / self.floor))
        )
        return (min(plain, pulled) + tau * self.stretch + rounding) * _UP

    def row_shift(self, n: int, incoming: Sensitivity) -> float:
        """How far one common row moves."""
        records, tau, s = 1 + incoming.rows_dropped, incoming.total_shift, self.floor
        far = self.width if self.about_mean else self.reach
        mean = self.width / s if self.about_mean else 0.0 * s
        record = float(np.linalg.norm(self.variance_shift() * far / (2 * s**3) + mean))
        moved = float((far**2 / s**3 + (1 / s if self.about_mean else 0.0)).max())
        plain = records * record + tau * moved
        pulled = records * self._clipped() + tau * (
            self.radius * self._log_shift(2 * far) + (1 / float(s.min()) if self.about_mean else 0.0)
        )
        row = (min(plain, pulled) / n) * (1 + 8 * n * SUM_ERROR) + self.stretch * incoming.row_shift
        return min(row, 2 * self.radius) * _UP


def _root_shift(ratio: Floats) -> Floats:
    """ratio * max over x >= 0 of sqrt(k x / (1 + x)^3 + 1 / (1 + x)), k = ratio^2 / 4, in closed form."""
    k = ratio**2 / 4
    x = np.maximum(0.0, np.sqrt(k * k + 3 * k) - (1 + k))
    # At the maximiser the derivative vanishes, so rounding of x matters in second order only.
    return np.asarray(ratio * np.sqrt(k * x / (1 + x) ** 3 + 1 / (1 + x)) * _UP)
