"""Imputation by a declared constant: data-independent, so free. Proof: docs/proofs/impute.md, section on constants."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from prepriv._arguments import LARGEST, number, settle
from prepriv._rounding import UP
from prepriv.preprocessing.base import ReleasedMap, Step
from prepriv.preprocessing.impute_caps import FillReleased
from prepriv.space import Space


@dataclass(frozen=True)
class ConstantImputer(Step):
    """Fill each missing numeric cell with one declared number: (b, d) -> (b, d). Free.

    Parameters
    ----------
    value : float, default 0.0
        The number: finite, in the units of the rows that reach the step. It may lie outside the declared bounds of a
        column, which are then extended.
    payment : None
        The step depends on no data.

    Raises
    ------
    ValueError
        For a value that is not a finite number, or is too large.

    Notes
    -----
    In two neighbouring data sets, the same cells of common rows are missing. So a shift of those rows passes through
    unchanged (Lipschitz constant 1). Proof: docs/proofs/impute.md, section on constants.

    Examples
    --------
    >>> import numpy as np
    >>> from prepriv import Domain, Numeric
    >>> from prepriv.preprocessing import ConstantImputer
    >>> space = Domain({"age": Numeric(0, 100, missing="impute")}, classes=[0, 1]).space
    >>> ConstantImputer(0.5).free(space).transform(np.array([[np.nan], [0.2]])).tolist()
    [[0.5], [0.2]]
    """

    value: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        settle(self, value=number("value", self.value, at_least=-LARGEST, at_most=LARGEST))

    @property
    def keeps_cells(self) -> bool:
        return 0.0 <= self.value <= 1.0

    def output(self, space: Space) -> Space:
        filled = space.may_miss
        low = np.where(filled, np.minimum(space.low, self.value), space.low)
        high = np.where(filled, np.maximum(space.high, self.value), space.high)
        # The cells that are there keep their norm; what is filled in comes on top of it.
        radius = math.hypot(space.radius, abs(self.value) * math.sqrt(int(filled.sum())))
        return Space(low, high, radius * UP, np.zeros(space.d, dtype=bool), space.names)

    def lipschitz(self, space: Space) -> float:
        return 1.0

    def free(self, space: Space) -> ReleasedMap:
        return FillReleased(np.full(space.d, self.value))
