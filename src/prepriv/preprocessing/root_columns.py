"""Square roots column by column: data-independent, so free. Proof: docs/proofs/square_root.md.

Encoded columns lie in [0, 1], wherever they were declared. A column that was declared from 0 on holds amounts, counts or
intensities, and its root is worth having; the further its declared lower bound is from 0, the straighter the root of the
value itself is, and one declared about 0 has no beginning and stays as it is. So a bound that is declared a little
differently changes little.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from prepriv._arguments import settle
from prepriv._arrays import Floats
from prepriv._rounding import FAR_UP
from prepriv.columns import Numeric
from prepriv.domain import Domain
from prepriv.guarantees.printed import down
from prepriv.preprocessing.base import ReleasedMap, Step
from prepriv.preprocessing.stored_map import StoredMap
from prepriv.space import Space

STRAIGHT = 1e9  # a root that starts so far away is a straight line


@dataclass(frozen=True, eq=False)
class Roots(StoredMap):
    """x_j -> (sqrt(x_j + b_j) - sqrt(b_j)) / (sqrt(1 + b_j) - sqrt(b_j)), b = start, (d,): 0 to 0 and 1 to 1."""

    written_as: ClassVar[str] = "roots"

    start: Floats

    def transform(self, x: Floats) -> Floats:
        # sqrt(x + b) - sqrt(b) = x / (sqrt(x + b) + sqrt(b)), which does not cancel; a negative x + b counts as 0.
        root, out = np.sqrt(self.start), x + self.start
        np.sqrt(np.maximum(out, 0.0, out=out), out=out)
        out += root
        np.divide(x, np.maximum(out, 1e-150, out=out), out=out)
        out *= np.sqrt(1 + self.start) + root
        return out


@dataclass(frozen=True)
class RootColumns(Step):
    """Take roots column by column: t -> (sqrt(t + b) - sqrt(b)) / (sqrt(1 + b) - sqrt(b)), (b, d) -> (b, d). Free.

    Parameters
    ----------
    start : tuple of float, default ()
        b, one number >= 0 per feature. 0 is the plain root, and `STRAIGHT` is a straight line. Empty: 0 for all
        features.
    payment : None
        The step depends on no data.

    Raises
    ------
    ValueError
        For a number out of range. In a plan: for another number of features.

    Notes
    -----
    It is for features that are not negative, as encoded ones are. If b is 0 for a feature, it is not a Lipschitz map,
    so it cannot follow a step paid for by sensitivity. NaN stays NaN, to be imputed later. Proof:
    docs/proofs/square_root.md.

    Examples
    --------
    >>> import numpy as np, prepriv
    >>> from prepriv.preprocessing.root_columns import STRAIGHT, RootColumns
    >>> space = prepriv.Domain.box(0, 100, 2, [0, 1]).space
    >>> RootColumns((0.0, STRAIGHT)).free(space).transform(np.array([[0.25, 0.25]])).round(6).tolist()
    [[0.5, 0.25]]
    """

    start: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        start = self.start
        if not isinstance(start, tuple | list) or not all(
            isinstance(b, int | float) and not isinstance(b, bool) and 0 <= b <= STRAIGHT for b in start
        ):
            raise ValueError(f"start: must be numbers in 0..{STRAIGHT:g}, one per feature; got {start!r}")
        settle(self, start=tuple(float(b) for b in start))

    @staticmethod
    def of(domain: Domain) -> RootColumns:
        """The root of each declared column's own value.

        A column with low < 0 gets the root of the distance from a starting point, which moves away as low approaches
        -high. Where low is -high or less, it gets a straight line.
        """
        starts: list[float] = []
        for column in domain.columns.values():
            if not isinstance(column, Numeric):
                starts += [STRAIGHT] * column.width
                continue
            low, high = column.low, column.high
            first = low if low >= 0 else math.inf if low <= -high else low * low / (low + high)
            starts.append(min(first / (high - low), STRAIGHT))
        return RootColumns(tuple(starts))

    def _start(self, space: Space) -> Floats:
        if len(self.start) not in (0, space.d) or (space.low < 0).any():
            raise ValueError(
                f"{self.name} is for {len(self.start) or space.d} features that are not negative; these are {space.d}, "
                f"from {down(float(space.low.min()))} on"
            )
        return np.array(self.start) if self.start else np.zeros(space.d)

    def output(self, space: Space) -> Space:
        start = self._start(space)
        fitted = Roots(start)
        low, high = (
            fitted.transform(space.low[None])[0] / FAR_UP,
            fitted.transform(space.high[None])[0] * FAR_UP,
        )
        radius = float(np.linalg.norm(high))
        if (
            space.high <= 1
        ).all():  # t^2 <= u, so that a rooted cell adds at most u - u^2 <= 1/4 to the squared norm
            rooted = int((start < STRAIGHT).sum())
            radius = min(radius, math.sqrt(space.radius**2 + rooted / 4))
        return dataclasses.replace(space, low=low, high=high, radius=radius * FAR_UP)

    def lipschitz(self, space: Space) -> float:
        return math.inf

    def free(self, space: Space) -> ReleasedMap:
        return Roots(self._start(space))
