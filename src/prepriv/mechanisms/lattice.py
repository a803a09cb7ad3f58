"""Sums of bounded contributions on a power-of-two grid, with a checked integer sensitivity.

A float contribution is truncated to integers and its norm is compared in exact integer arithmetic; one that
does not fit counts as zero. Integer sums do not depend on the order of the rows, on threads or on the
linear-algebra library. Then ``total + round(N(0, s^2)) = round(total + N(0, s^2))``: post-processing of the
Gaussian mechanism. Proof: docs/proofs/lattice.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prepriv.mechanisms.noise import LARGEST_SCALE, SMALLEST_GAUSSIAN_SCALE, NoiseSource

CAPACITY = 2**62  # |sum| + 40 noise scales stay below it
NOISE_REACH = 40  # P(|N(0, 1)| > 40) < 2^-1150
DEFAULT_SENSITIVITY_BITS = 20


@dataclass(frozen=True)
class Lattice:
    """The grid 2^exponent Z^d with a bound on one contribution: integer l2 norm at most `sensitivity` steps.

    One record added or removed moves a sum of contributions by at most `sensitivity` (l2, grid steps), one
    record replaced by at most twice that. `for_norm` builds the lattice of a declared float norm.
    """

    exponent: int
    sensitivity: int

    def __post_init__(self) -> None:
        if not _is_int(self.exponent) or not -1000 <= self.exponent <= 900:
            raise ValueError(f"exponent: got {self.exponent!r}, need an integer in [-1000, 900]")
        _check_sensitivity(self.sensitivity)
        object.__setattr__(self, "exponent", int(self.exponent))
        object.__setattr__(self, "sensitivity", int(self.sensitivity))  # numpy's would overflow when squared

    @classmethod
    def for_norm(cls, norm: float, bits: int = DEFAULT_SENSITIVITY_BITS) -> Lattice:
        """The lattice for contributions of l2 norm at most `norm`, with 2^(bits-1) < sensitivity <= 2^bits.

        The sensitivity is norm / step rounded up, so clipping to `norm` in floats leaves the lattice's ball
        only by float rounding. Raises ValueError unless `norm` is positive and finite and 4 <= bits <= 30.
        """
        if not _is_finite(norm) or not norm > 0:
            raise ValueError(f"norm: got {norm!r}, need a positive finite number")
        if not _is_int(bits) or not 4 <= bits <= 30:
            raise ValueError(f"bits: got {bits!r}, need an integer in [4, 30]")
        exponent = math.frexp(norm)[1] - bits
        if Fraction(float(norm)) == Fraction(2) ** (exponent + bits - 1):
            exponent -= 1  # a power of two is its own ceiling
        return cls(exponent, math.ceil(Fraction(float(norm)) / Fraction(2) ** exponent))

    @property
    def step(self) -> float:
        """The distance of neighbouring grid points, a power of two."""
        return math.ldexp(1.0, self.exponent)

    @property
    def norm(self) -> float:
        """The l2 norm bound in the units of the data, sensitivity * step (exact)."""
        return math.ldexp(float(self.sensitivity), self.exponent)

    def quantize(self, rows: NDArray[np.floating[Any]]) -> NDArray[np.int64]:
        """Contributions in grid steps, (n, d) to (n, d); every row has integer l2 norm <= `sensitivity`.

        Truncation towards zero, so no norm grows. A row with a NaN, an infinity or a norm above the bound
        becomes zero: a rule for each row by itself that never fails. Raises ValueError if d is so large
        that the integer norm could overflow.
        """
        rows = np.asarray(rows, dtype=np.float64)
        if rows.ndim != 2:
            raise ValueError(f"rows: got {rows.ndim} dimensions, need 2 (records, coordinates)")
        return self.certify(self.truncate(rows))

    def truncate(self, values: NDArray[np.floating[Any]]) -> NDArray[np.int64]:
        """values / step truncated towards zero, any shape; what exceeds `sensitivity` or is NaN becomes
        `sensitivity` + 1, so that `certify` drops its row."""
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            scaled = np.trunc(np.ldexp(np.asarray(values, dtype=np.float64), -self.exponent))
            fits = np.abs(scaled) <= self.sensitivity  # False for NaN
        return np.where(fits, scaled, self.sensitivity + 1.0).astype(np.int64)

    def certify(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """A copy of integer rows, shape (n, d), in which every row of l2 norm above `sensitivity` is zero."""
        if rows.dtype != np.int64 or rows.ndim != 2:
            raise ValueError(f"rows: got {rows.dtype} of {rows.ndim} dimensions, need int64 of shape (n, d)")
        limit = self.sensitivity + 1
        if rows.shape[1] * limit**2 >= 2**63:
            raise ValueError(
                f"rows: {rows.shape[1]} coordinates with sensitivity {self.sensitivity} overflow the integer "
                "norm; use a coarser grid"
            )
        # Only now are squares sure not to overflow: a coordinate beyond the bound stands for any larger one.
        capped = np.clip(rows, -limit, limit)
        fits = np.einsum("ij,ij->i", capped, capped) <= self.sensitivity**2
        return np.where(fits[:, np.newaxis], rows, np.int64(0))

    def release(
        self,
        total: NDArray[np.int64],
        noise_multiplier: float,
        source: NoiseSource,
        *,
        contributions: int,
    ) -> NDArray[np.float64]:
        """A sum of at most `contributions` certified rows with Gaussian noise, in the units of the data.

        Noise of standard deviation `noise_multiplier` times `norm`, rounded up. `contributions` is public.
        Raises ValueError as `check_capacity` and `gaussian_sum_release` do, before any draw.
        """
        check_capacity(contributions, self.sensitivity, noise_multiplier)
        return gaussian_sum_release(total, self.sensitivity, noise_multiplier, source, exponent=self.exponent)


def gaussian_sum_release(
    sum_int64: NDArray[np.int64],
    sensitivity_int: int,
    noise_multiplier: float,
    source: NoiseSource,
    *,
    exponent: int = 0,
    bits: int = 64,
) -> NDArray[np.float64]:
    """``(total + round(N(0, s^2 I))) * 2^exponent`` with s = noise_multiplier * sensitivity_int rounded up.

    `sum_int64` is an exact integer sum (any shape) that one neighbouring data set moves by at most
    `sensitivity_int` in l2 norm; the release is then (1 / noise_multiplier)-GDP, and every output is a
    multiple of 2^exponent. Overflow would wrap modulo 2^64, which is post-processing; `check_capacity`
    excludes it from public numbers. bits: a sum that stands for a residue modulo 2^bits only (one that was
    coarsened may have wrapped before) is released as one. Raises ValueError, before any draw, if the noise multiplier is not
    positive and finite or the noise is below 16 grid steps or above 2^50.
    """
    scale = noise_scale(sensitivity_int, noise_multiplier)
    total = np.asarray(sum_int64)
    if total.dtype != np.int64:
        raise ValueError(f"sum_int64: got dtype {total.dtype}, need int64")
    noise = source.rounded_gaussian(scale, total.size).reshape(total.shape)
    noisy = np.asarray(total + noise)
    if bits < 64:  # the residue nearest to zero, by sign extension
        noisy = (noisy << np.int64(64 - bits)) >> np.int64(64 - bits)
    return np.ldexp(noisy.astype(np.float64), exponent)


def noise_scale(sensitivity_int: int, noise_multiplier: float) -> float:
    """noise_multiplier * sensitivity_int in grid steps, rounded up; ValueError if out of range."""
    _check_sensitivity(sensitivity_int)
    if not _is_finite(noise_multiplier) or not noise_multiplier > 0:
        raise ValueError(f"noise_multiplier: got {noise_multiplier!r}, need a positive finite number")
    exact = Fraction(float(noise_multiplier)) * int(sensitivity_int)
    if not SMALLEST_GAUSSIAN_SCALE <= exact <= LARGEST_SCALE:
        raise ValueError(
            f"noise_multiplier: got {noise_multiplier!r} at sensitivity {sensitivity_int}, so the "
            f"noise is {float(exact):g} steps; need at least 16 (choose a finer grid) and at most 2^50"
        )
    return round_up(exact)


def check_capacity(contributions: int, sensitivity_int: int, noise_multiplier: float) -> None:
    """Raise ValueError unless contributions * sensitivity_int + 40 s < 2^62, from public numbers alone."""
    if not _is_int(contributions) or contributions < 0:
        raise ValueError(f"contributions: got {contributions!r}, need an integer >= 0")
    scale = noise_scale(sensitivity_int, noise_multiplier)
    if int(contributions) * int(sensitivity_int) + NOISE_REACH * Fraction(scale) >= CAPACITY:
        raise ValueError(
            f"contributions: {contributions} of {sensitivity_int} grid steps with noise of {scale:g} steps "
            "could overflow 2^62; use a coarser grid"
        )


def laplace_scale(sensitivity_int: int, epsilon: float) -> float:
    """sensitivity_int / epsilon rounded up: the scale at which discrete Laplace noise is epsilon-DP."""
    _check_sensitivity(sensitivity_int)
    if not _is_finite(epsilon) or not epsilon > 0:
        raise ValueError(f"epsilon: got {epsilon!r}, need a positive finite number")
    return round_up(int(sensitivity_int) / Fraction(float(epsilon)))


def poisson_threshold(sampling_rate: float) -> int:
    """The k of `NoiseSource.bernoulli_mask` for a rate: the least k with k / 2^64 >= sampling_rate."""
    if not _is_finite(sampling_rate) or not 0 <= sampling_rate <= 1:
        raise ValueError(f"sampling_rate: got {sampling_rate!r}, need a number in [0, 1]")
    return math.ceil(Fraction(float(sampling_rate)) * 2**64)


def poisson_rate(threshold_k: int) -> float:
    """The rate to account for, threshold_k / 2^64 rounded up to a float."""
    if not _is_int(threshold_k) or not 0 <= threshold_k <= 2**64:
        raise ValueError(f"threshold_k: got {threshold_k!r}, need an integer in [0, 2^64]")
    return round_up(Fraction(int(threshold_k), 2**64))


def round_up(value: Fraction) -> float:
    """The least float at or above a fraction."""
    nearest = float(value)
    return nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)


def _check_sensitivity(sensitivity: int) -> None:
    if not _is_int(sensitivity) or not 1 <= sensitivity < 2**31:
        raise ValueError(f"sensitivity: got {sensitivity!r}, need an integer in [1, 2^31)")


def _is_int(value: object) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, (bool, np.bool_))


def _is_finite(value: object) -> bool:
    return (_is_int(value) or isinstance(value, (float, np.floating))) and math.isfinite(value)  # type: ignore[arg-type]
