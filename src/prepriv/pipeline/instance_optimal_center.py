"""Centring by the instance-optimal private mean: the first step of The Importance of Feature Preprocessing's Algorithm 2.

For rows that sit close together, far from the origin of their declared ball. Proof:
docs/proofs/instance_optimal_mean.md, docs/proofs/dpsgd_f.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from prepriv._arguments import length, settle
from prepriv.domain import Adjacency, Space
from prepriv.guarantees.printed import down
from prepriv.mechanisms.instance_optimal_mean import instance_optimal_mean
from prepriv.mechanisms.session import Session
from prepriv.pipeline.run import Handle
from prepriv.preprocessing.base import GaussianSum, ReleasedMap, Rows, RowShift, Step
from prepriv.preprocessing.center import Center, Subtract


def need_untouched(step: Step, incoming: RowShift) -> None:
    """ValueError if an earlier step has moved common rows."""
    if not incoming.is_zero:
        raise ValueError(f"{step.name} cannot follow a step paid for by sensitivity: it needs unmoved rows")


def access(gaussian_sum: GaussianSum) -> tuple[Session, float, Adjacency]:
    """The session behind the sum that a plan hands out, the step's whole noise multiplier, the adjacency."""
    if not isinstance(gaussian_sum, Handle):
        raise TypeError("this step asks for several releases: it runs in a plan only")
    return gaussian_sum.session, gaussian_sum.noise_multiplier, gaussian_sum.adjacency


@dataclass(frozen=True)
class InstanceOptimalCenter(Center):
    """x -> x - m, m the instance-optimal private mean (mechanisms/instance_optimal_mean.py).

    precision: of its searches, in the units of the rows; None is radius / n^2, the paper's choice.
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

    def fit_budget(self, rows: Rows, space: Space, n: int, gaussian_sum: GaussianSum) -> ReleasedMap:
        session, multiplier, adjacency = access(gaussian_sum)
        mean = instance_optimal_mean(
            rows,
            name=self.name,
            d=space.d,
            radius=space.radius,
            n=n,
            adjacency=adjacency,
            noise_multiplier=multiplier,
            session=session,
            precision=self.precision,
        )
        return Subtract(self._inside(mean, space))
