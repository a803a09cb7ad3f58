"""Centring: subtract the mean. By budget (the Gaussian mechanism on the sum of rows) or from public rows.

Proof: docs/proofs/center.md. Source: The Importance of Feature Preprocessing (DPSGD-F: a private mean before training).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from prepriv._arrays import Floats
from prepriv.adjacency import Adjacency
from prepriv.mechanisms.handle import Mechanisms
from prepriv.preprocessing.base import ReleasedMap, Rows, RowShift, Step, sum_shift
from prepriv.preprocessing.impute import observed_sums
from prepriv.preprocessing.impute_caps import fill_missing, midpoints
from prepriv.preprocessing.stored_map import StoredMap
from prepriv.space import Space


@dataclass(frozen=True, eq=False)
class Subtract(StoredMap):
    """Subtract one row: x -> x - offset.

    Parameters
    ----------
    offset : array of float, (d,)
        The row that is subtracted, in the units of the matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from prepriv.preprocessing.center import Subtract
    >>> Subtract(np.array([1.0, 2.0])).transform(np.ones((1, 2))).tolist()
    [[0.0, -1.0]]
    """

    written_as: ClassVar[str] = "subtract"

    offset: Floats

    def transform(self, x: Floats) -> Floats:
        return np.asarray(x - self.offset)


@dataclass(frozen=True)
class _Filled:
    """Rows whose gaps are the midpoints of their bounds. Such a row is a row of the space, as if that had been observed."""

    rows: Rows
    middle: Floats

    def __iter__(self) -> Iterator[Floats]:
        for block in self.rows:
            yield fill_missing(block, self.middle)


@dataclass(frozen=True)
class Center(Step):
    """Subtract the mean: x -> x - m.

    Parameters
    ----------
    payment : Public or Budget
        How m is paid for. Sensitivity is not available: the model needs m on new rows, and weights w and b trained on
        x - m reveal w.m.

    Raises
    ------
    ValueError
        For another payment, or none.

    Notes
    -----
    m is released, so a shift of the rows passes through unchanged (lipschitz 1). Before an imputer, a gap counts as the
    midpoint of its bounds where a budget pays. Proof: docs/proofs/center.md. Source: The
    Importance of Feature Preprocessing.

    Examples
    --------
    >>> import prepriv
    >>> from prepriv.preprocessing import Center
    >>> space = prepriv.Domain.box(0, 1, features=2, classes=[0, 1]).space
    >>> Center(payment=prepriv.Budget()).output(space).low.tolist()
    [-1.0, -1.0]
    """

    ways: ClassVar[tuple[str, ...]] = ("public", "budget")
    why_not: ClassVar[dict[str, str]] = {
        "sensitivity": "the model needs the mean on new rows, so the mean has to be released"
    }

    def output(self, space: Space) -> Space:
        # The released mean is pulled back into the declared space, so no coordinate moves by more than its width.
        w = space.with_origin().widths  # pulled into the ball, the mean can leave a box that lacks the origin
        gaps = space.may_miss
        seen = min(space.diameter, float(np.linalg.norm(w[~gaps])))
        # A missing cell is filled later, from anywhere in [-w, w]: no row of the old box less the mean.
        return Space(-w, w, math.hypot(seen, float(np.linalg.norm(w[gaps]))), gaps, space.names)

    def lipschitz(self, space: Space) -> float:
        return 1.0

    def _inside(self, mean: Floats, space: Space) -> Floats:
        mean = np.clip(mean, space.low, space.high)
        norm = float(np.linalg.norm(mean))
        return mean if norm <= space.radius else mean * (space.radius / norm)

    def fit_public(self, rows: Rows, space: Space, n: int) -> ReleasedMap:
        """The mean of the cells that are not missing. In a column without any, the midpoint of the bounds."""
        total, seen = observed_sums(rows, space, np.arange(space.d))
        return Subtract(self._inside(midpoints(space) + total / np.maximum(seen, 1), space))

    def l2_sensitivity(self, space: Space, adjacency: Adjacency, incoming: RowShift) -> float:
        return sum_shift(space, adjacency, incoming)  # of the rows as they are, or with gaps that are filled

    def _whole(self, rows: Rows, space: Space) -> Rows:
        """The rows, without gaps: a mechanism takes a row with one for a row of zeros."""
        return _Filled(rows, midpoints(space)) if space.may_miss.any() else rows

    def fit_budget(self, rows: Rows, space: Space, n: int, mechanisms: Mechanisms) -> ReleasedMap:
        total = mechanisms.sum(self._whole(rows, space), dim=space.d, radius=space.radius)
        return Subtract(self._inside(total / n, space))

    def mean_noise(self, space: Space, noise: float, fitted: ReleasedMap) -> Floats | None:
        """Standard deviation of the noise in the mean of each feature, (d,). noise: that of one of its cells."""
        return np.full(space.d, noise)
