"""How training rows and residuals become integers, so that their products and sums have no rounding.

Proof: docs/proofs/gradient_sum.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from prepriv._rounding import FAR_UP

_BLOCK = 2048  # rows whose contributions are added up in float64 before they go into int64, at most
FINE_BLOCK = 256  # the same on fine grids, which need the bits
EXACT = 52  # bits a float64 product sum may use
MARGIN = 2.0**-40  # float rounding of norms is below 2^-48; every comparison leaves this much room


@dataclass(frozen=True)
class IntegerGrid:
    """How rows and residuals become integers: x = x_int * 2^-x_bits, residual = r_int * 2^-r_bits.

    norm: bound on the integer norm of a row, bias feature included. clip: bound on the integer norm of one
    record's gradient, r_int ⊗ x_int. fine: rows held as float32 (23 bits) rather than int16.
    """

    x_bits: int
    r_bits: int
    norm: int
    clip: int
    fine: bool

    @staticmethod
    def of(radius: float, clip: float, n: int, *, fine: bool) -> IntegerGrid:
        """The finest grid that keeps a block's product sum below 2^52 and the whole sum below 2^61."""
        block = FINE_BLOCK if fine else _BLOCK
        x_bits = math.floor(math.log2((2**23 if fine else 2**15 - 2) / radius))
        norm = math.floor(radius * 2.0**x_bits) + 1
        room = min(EXACT - math.ceil(math.log2(block)), 61 - math.ceil(math.log2(n + 1)))
        r_bits = math.floor(math.log2(2.0**room / clip)) - x_bits - 1
        if r_bits < 4:
            raise ValueError(f"{n} records are too many for one exact gradient sum")
        return IntegerGrid(x_bits, r_bits, norm, math.floor(clip * 2.0 ** (x_bits + r_bits)), fine)

    @property
    def block(self) -> int:
        """Rows whose contributions add up exactly in float64."""
        return FINE_BLOCK if self.fine else _BLOCK

    @property
    def exponent(self) -> int:
        """A gradient is its integers times 2^exponent."""
        return -(self.x_bits + self.r_bits)

    def rounding(self, rows: float, features: int, outputs: int, radius: float, lipschitz: float) -> float:
        """Extra gradient shift of `rows` moved rows because grids are not Lipschitz (inf if lipschitz is).

        features: d + 1. Cutting a row to the grid moves two versions of it apart by at most sqrt(d) steps more,
        and the norm that clips it, rounded up, costs as much as one more coordinate; cutting the residual moves
        its gradient by at most sqrt(K) steps times the row's norm.
        """
        if rows == 0:
            return 0.0
        x_part = lipschitz * math.sqrt(features) * 2.0**-self.x_bits
        r_part = (
            math.sqrt(outputs) * 2.0**-self.r_bits * radius + 1e-14 * radius
        )  # and the residual's own rounding
        return rows * (x_part + r_part) * FAR_UP
