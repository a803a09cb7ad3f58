"""Centring by the instance-optimal private mean: the first step of The Importance of Feature Preprocessing's Algorithm 2.

For rows that sit close together, far from the origin of their declared ball. Proof:
docs/proofs/instance_optimal_mean.md, docs/proofs/dpsgd_f.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from prepriv._arguments import length, settle
from prepriv.adjacency import Adjacency
from prepriv.guarantees.printed import down
from prepriv.mechanisms.handle import Mechanisms
from prepriv.preprocessing.base import ReleasedMap, Rows, RowShift, need_untouched
from prepriv.preprocessing.center import Center, Subtract
from prepriv.space import Space


@dataclass(frozen=True)
class InstanceOptimalCenter(Center):
    """Subtract the instance-optimal private mean: x -> x - m.

    Parameters
    ----------
    precision : float, optional
        Precision of its searches, in the units of the rows. None: radius / n^2, the paper's choice.
    payment : Budget
        How m is paid for.

    Raises
    ------
    ValueError
        For a precision that is not positive, or another payment.

    Notes
    -----
    For rows that sit close together, far from the origin of their declared ball. Source: The Importance of Feature
    Preprocessing, Algorithm 2. Proofs: docs/proofs/instance_optimal_mean.md, docs/proofs/dpsgd_f.md.

    Examples
    --------
    >>> import prepriv
    >>> from prepriv.preprocessing import InstanceOptimalCenter
    >>> InstanceOptimalCenter(payment=prepriv.Budget(0.25)).way
    'budget'
    """

    precision: float | None = None
    ways: ClassVar[tuple[str, ...]] = ("budget",)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.precision is not None:
            settle(self, precision=length("precision", self.precision))

    def output(self, space: Space) -> Space:
        if self.precision is not None and self.precision > space.radius:
            raise ValueError(
                f"precision must be at most the declared norm of a row, {down(space.radius)}; got {self.precision}"
            )
        return super().output(space)

    def l2_sensitivity(self, space: Space, adjacency: Adjacency, incoming: RowShift) -> float:
        need_untouched(self, incoming)
        return super().l2_sensitivity(space, adjacency, incoming)

    def fit_budget(self, rows: Rows, space: Space, n: int, mechanisms: Mechanisms) -> ReleasedMap:
        mean = mechanisms.mean(
            self._whole(rows, space), d=space.d, radius=space.radius, precision=self.precision
        )
        return Subtract(self._inside(mean, space))
