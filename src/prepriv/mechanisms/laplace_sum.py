"""Discrete Laplace noise on an exact integer sum. Proof: docs/proofs/describe.md."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from prepriv.mechanisms.gaussian_sum import check_room
from prepriv.mechanisms.lattice_noise import laplace_scale
from prepriv.mechanisms.mechanism import Cost, Mechanism
from prepriv.mechanisms.noise import NoiseSource


@dataclass(frozen=True)
class LaplaceSum(Mechanism):
    """An exact integer sum plus discrete Laplace noise: whole numbers, and epsilon-DP.

    sensitivity: the most that the sum moves between neighbours, in L1 norm. largest: a declared bound on the absolute
    value of each coordinate. It and the noise must stay below 2^62. coordinates: how many numbers the sum has.
    """

    sensitivity: int
    epsilon: float
    largest: int
    coordinates: int

    @property
    def cost(self) -> Cost | None:
        return None

    @property
    def reach(self) -> int:
        return self.sensitivity

    def check(self, name: str) -> None:
        check_room(name, self.sensitivity, 1 / self.epsilon, self.largest)

    def perform(self, exact: Any, source: NoiseSource) -> Any:
        noise = source.discrete_laplace(laplace_scale(self.sensitivity, self.epsilon), self.coordinates)
        return np.asarray(exact + noise.reshape(exact.shape))

    def moved_squared(self, one: Any, two: Any) -> int:
        return sum(abs(int(v)) for v in np.subtract(one, two).ravel()) ** 2
