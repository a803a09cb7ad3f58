"""A private distance, a constant feature as long, rows clipped: steps 2 to 4 of The Importance of Feature Preprocessing's Algorithm 2.

Proof: docs/proofs/dpsgd_f.md, docs/proofs/quantile.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from prepriv._arguments import number, settle
from prepriv._arrays import Floats
from prepriv._rounding import DOWN
from prepriv.adjacency import Adjacency
from prepriv.exact.ball import plain_norms
from prepriv.mechanisms.handle import SMALLEST_MU, Mechanisms
from prepriv.preprocessing.base import ReleasedMap, Rows, RowShift, Step, need_filled, need_untouched
from prepriv.preprocessing.stored_map import StoredMap
from prepriv.space import Space

ROOT2 = math.sqrt(2.0)


@dataclass(frozen=True)
class Augment(StoredMap):
    """x -> Clip((x, tau), sqrt2 tau) / tau: (b, d) -> (b, d + 1), in the ball of radius sqrt2."""

    written_as: ClassVar[str] = "augment"

    tau: float

    def transform(self, x: Floats) -> Floats:
        out = np.ones((len(x), x.shape[1] + 1))
        np.multiply(x, 1 / self.tau, out=out[:, :-1])
        norms = plain_norms(out)
        return np.asarray(out * (ROOT2 * (1 - 2.0**-40) / np.maximum(norms, ROOT2)))


@dataclass(frozen=True)
class AugmentByDistance(Step):
    """Clip rows at a private distance and add it as a feature: x -> Clip((x, tau), sqrt2 tau) / tau, (b, d) -> (b, d + 1).

    Parameters
    ----------
    outliers : float, optional
        About how many records may lie beyond tau. None: the smallest number that the search can tell from zero
        (`Mechanisms.threshold`).
    payment : Budget
        How tau, a distance from the origin that few rows exceed, is paid for.

    Raises
    ------
    ValueError
        For a negative number of outliers, or another payment. In a plan: after a step that moves rows.

    Notes
    -----
    For rows that are centred already, without missing cells. Afterwards their declared norm is sqrt2, whatever tau
    is. The model needs the map on new rows. Source: The Importance of Feature Preprocessing, Algorithm 2. Proofs:
    docs/proofs/dpsgd_f.md, docs/proofs/quantile.md.

    Examples
    --------
    >>> from prepriv import Budget, Domain
    >>> from prepriv.preprocessing import AugmentByDistance
    >>> AugmentByDistance(payment=Budget(0.3)).output(Domain.ball(4, [0, 1], radius=7.0).space).d
    5
    """

    outliers: float | None = None
    ways: ClassVar[tuple[str, ...]] = ("budget",)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.outliers is not None:
            settle(self, outliers=number("outliers", self.outliers, at_least=0.0))

    def output(self, space: Space) -> Space:
        need_filled(self.name, space)
        return Space.ball(space.d + 1, ROOT2)

    def propagate(self, space: Space, incoming: RowShift) -> RowShift:
        need_untouched(self, incoming)
        return incoming

    def l2_sensitivity(self, space: Space, adjacency: Adjacency, incoming: RowShift) -> float:
        need_untouched(self, incoming)
        return 1.0  # each score moves by at most one record

    def check_release(
        self, space: Space, n: int, adjacency: Adjacency, incoming: RowShift, noise_multiplier: float
    ) -> None:
        if noise_multiplier > DOWN / SMALLEST_MU:
            raise ValueError(f"{self.name}: its share is too small to find a distance; raise it, or epsilon")

    def fit_budget(self, rows: Rows, space: Space, n: int, mechanisms: Mechanisms) -> ReleasedMap:
        norms = [plain_norms(block)[:, 0] for block in rows]
        values = np.concatenate([*norms, np.zeros(0)])
        return Augment(mechanisms.threshold(values, upper=space.radius, outliers=self.outliers))
