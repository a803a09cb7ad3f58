"""Gaussian noise on an exact integer sum. Proof: docs/proofs/lattice.md."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prepriv.mechanisms.lattice_noise import CAPACITY, NOISE_REACH, gaussian_sum_release
from prepriv.mechanisms.mechanism import Cost, Mechanism
from prepriv.mechanisms.noise import NoiseSource

RELEASE_BITS = 20  # the integer sensitivity a release is coarsened to: the noise is then drawn fast


@dataclass(frozen=True)
class GaussianSum(Mechanism):
    """(sum + Gaussian noise) * 2^exponent, for an exact integer sum of any shape.

    sensitivity: the most that the sum moves between neighbours, in L2 norm and grid steps. noise_multiplier: the
    standard deviation of the noise divided by the sensitivity; 0 means no noise. exponent: the grid step is
    2^exponent. largest: a declared bound on the absolute value of each coordinate. It and the noise must stay below
    2^62. coordinates: how many numbers the sum has. ValueError for a sum of another size.
    """

    sensitivity: int
    noise_multiplier: float
    exponent: int
    largest: int
    coordinates: int

    @property
    def cost(self) -> Cost | None:
        return Cost.of_noise(self.noise_multiplier)

    @property
    def reach(self) -> int:
        return self.sensitivity

    def check(self, name: str) -> None:
        check_room(name, self.sensitivity, self.noise_multiplier, self.largest)

    def perform(self, exact: Any, source: NoiseSource) -> Any:
        coarse, grown, shift = self._coarse(exact)
        return gaussian_sum_release(
            coarse, grown, self.noise_multiplier, source, exponent=self.exponent + shift, bits=64 - shift
        )

    def noiseless(self, exact: Any) -> Any:
        coarse, _, shift = self._coarse(exact)
        return np.ldexp(coarse.astype(np.float64), self.exponent + shift)

    def _coarse(self, exact: NDArray[np.int64]) -> tuple[NDArray[np.int64], int, int]:
        if exact.size != self.coordinates:
            raise ValueError(f"a sum of {self.coordinates} numbers was declared, another is released")
        return coarsen(exact, self.sensitivity)


def coarsen(total: NDArray[np.int64], sensitivity: int) -> tuple[NDArray[np.int64], int, int]:
    """Round a sum to a coarser grid: (sum, its integer sensitivity, how many bits were dropped).

    Rounding moves each coordinate's difference by less than one step, so the L2 sensitivity grows by at most
    sqrt(coordinates) coarse steps. A sum that wrapped modulo 2^64 leaves a residue modulo 2^(64 - bits
    dropped) (docs/proofs/lattice.md).
    """
    shift = max(0, int(sensitivity).bit_length() - RELEASE_BITS)
    if shift == 0:
        return total, int(sensitivity), 0
    rounded = (total + np.int64(1 << (shift - 1))) >> np.int64(shift)
    grown = -(-int(sensitivity) // (1 << shift)) + math.isqrt(total.size) + 1
    return rounded, grown, shift


def coarse_steps(coordinates: int) -> float:
    """How far `coarsen` moves two sums of so many coordinates apart, at most, over the declared sensitivity."""
    return (math.isqrt(coordinates) + 1) * 2.0 ** (1 - RELEASE_BITS)


def check_room(name: str, sensitivity: int, noise_multiplier: float, largest: int) -> None:
    """ValueError, from public numbers alone, unless a sum and 40 deviations of its noise stay below 2^62."""
    if int(largest) + NOISE_REACH * noise_multiplier * sensitivity >= CAPACITY:
        raise ValueError(
            f"the noise that this epsilon asks for is too large to be drawn: the sum of {name} could overflow 64 bits. Give a larger epsilon, or use fewer "
            "records or fewer steps of training. Where steps are paid by sensitivity, they make it large: declare fewer gaps (missing=), or pay with way='budget'"
        )
