"""Centring by the mean by budget, drawn towards zero where noise outweighs it. Proof: docs/proofs/center.md.

What was paid for is the noisy mean of `Center`; the rest is post-processing by declared numbers. A mean that is longer
for its noise than for the rows would move every row by the same noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from prepriv._arrays import Floats
from prepriv.mechanisms.handle import Mechanisms
from prepriv.preprocessing.base import ReleasedMap, Rows
from prepriv.preprocessing.center import Center, Subtract
from prepriv.space import Space


@dataclass(frozen=True)
class ShrunkCenter(Center):
    """Subtract a private mean that is shrunk towards zero: x -> x - c m, c = max(0, 1 - d sd^2 / norm(m)^2).

    Parameters
    ----------
    payment : Budget
        How m is paid for.

    Raises
    ------
    ValueError
        For another payment, or none.

    Notes
    -----
    m is the mean paid for by budget, and sd is the standard deviation of the noise in each of its d cells. It is the
    positive-part estimate of James and Stein, whose mean squared error is smaller than that of m. Proof:
    docs/proofs/center.md.

    Examples
    --------
    >>> import prepriv
    >>> from prepriv.preprocessing import ShrunkCenter
    >>> ShrunkCenter(payment=prepriv.Budget()).way
    'budget'
    """

    ways: ClassVar[tuple[str, ...]] = ("budget",)

    def fit_budget(self, rows: Rows, space: Space, n: int, mechanisms: Mechanisms) -> ReleasedMap:
        mean = mechanisms.sum(self._whole(rows, space), dim=space.d, radius=space.radius) / n
        noise = math.sqrt(space.d) * mechanisms.noise_multiplier * mechanisms.l2_sensitivity / n
        length = max(float(np.linalg.norm(mean)), 1e-300)
        return Subtract(self._inside(mean * max(0.0, 1 - (noise / length) ** 2), space))

    def mean_left(self, fitted: Subtract, error: float) -> Floats:
        """What shrinking has left of the noisy mean in the rows, (d,); error: the root mean square of all of its noise.

        The length l of the mean became l - error^2 / l, which says what l was. Where nothing is left to say it, l is at most error.
        """
        length = float(np.linalg.norm(fitted.offset))
        whole = (length + math.hypot(length, 2.0 * error)) / 2.0
        return np.asarray(np.abs(fitted.offset) * ((whole - length) / max(length, 1e-300)))
