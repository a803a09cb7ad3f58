"""A power-of-two grid and contributions on it: sums of integers with a checked integer sensitivity.

A float contribution is truncated to integers and its norm is compared in exact integer arithmetic; one that
does not fit counts as zero. Integer sums do not depend on the order of the rows, on threads or on the
linear-algebra library. Proof: docs/proofs/lattice.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
        if not is_int(self.exponent) or not -1000 <= self.exponent <= 900:
            raise ValueError(f"exponent: got {self.exponent!r}, need an integer in [-1000, 900]")
        check_sensitivity(self.sensitivity)
        object.__setattr__(self, "exponent", int(self.exponent))
        object.__setattr__(self, "sensitivity", int(self.sensitivity))  # numpy's would overflow when squared

    @classmethod
    def for_norm(cls, norm: float, bits: int = DEFAULT_SENSITIVITY_BITS) -> Lattice:
        """The lattice for contributions of l2 norm at most `norm`, with 2^(bits-1) < sensitivity <= 2^bits.

        The sensitivity is norm / step rounded up, so clipping to `norm` in floats leaves the lattice's ball
        only by float rounding. Raises ValueError unless `norm` is positive and finite and 4 <= bits <= 30.
        """
        if not is_finite(norm) or not norm > 0:
            raise ValueError(f"norm: got {norm!r}, need a positive finite number")
        if not is_int(bits) or not 4 <= bits <= 30:
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


def check_sensitivity(sensitivity: int) -> None:
    if not is_int(sensitivity) or not 1 <= sensitivity < 2**31:
        raise ValueError(f"sensitivity: got {sensitivity!r}, need an integer in [1, 2^31)")


def is_int(value: object) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, (bool, np.bool_))


def is_finite(value: object) -> bool:
    return (is_int(value) or isinstance(value, (float, np.floating))) and math.isfinite(value)  # type: ignore[arg-type]
