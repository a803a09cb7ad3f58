"""A private second moment (1/n) sum x x^T: Gaussian noise on an exact integer matrix (Analyze Gauss).

Source: Dwork, Talwar, Thakurta and Zhang 2014. Proof: docs/proofs/covariance.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prepriv._arguments import integer, number
from prepriv._rounding import FAR_UP
from prepriv.adjacency import Adjacency, n_is_public
from prepriv.exact.ball import INSIDE, into_ball, plain_norms
from prepriv.exact.grid import EXACT
from prepriv.exact.lattice import Lattice
from prepriv.mechanisms.gaussian_sum import GaussianSum, check_room
from prepriv.mechanisms.session import Session

_BITS = 22
_LARGEST_D = 16_000  # up to here a float norm is off by less than that; the matrix then has 2 GB


@dataclass(frozen=True)
class Apart:
    """How far earlier steps may have moved the common rows of neighbours (preprocessing.base.RowShift).

    total_shift: sum of the distances, in the units of the rows. rows_moved, rows_dropped: how many rows.
    """

    total_shift: float = 0.0
    rows_moved: float = 0.0
    rows_dropped: float = 0.0


_TOGETHER = Apart()


def integer_sensitivity(grid: Lattice, d: int, adjacency: Adjacency, apart: Apart) -> int:
    """How far the integer sum of x x^T moves between neighbours, in Frobenius norm and squared grid steps.

    One record; common rows that moved, each cut to the grid again (sqrt(d) steps, and one for float
    rounding); common rows that were dropped.
    """
    norm = grid.sensitivity
    record = math.isqrt(2 * norm**4) + 1 if n_is_public(adjacency) else norm**2
    steps = math.ceil(apart.total_shift / grid.step * FAR_UP)
    steps += math.ceil(apart.rows_moved) * (math.isqrt(d) + 2)
    return record + 2 * norm * steps + norm**2 * math.ceil(apart.rows_dropped)


def second_moment_grid(
    radius: float, n: int, d: int, adjacency: Adjacency, noise_multiplier: float, apart: Apart
) -> tuple[Lattice, int]:
    """(grid of the rows, integer sensitivity): 22 bits, fewer if the sum and its noise would not fit."""
    if integer("d", d) > _LARGEST_D:
        raise ValueError(f"a second moment takes at most {_LARGEST_D} features; got {d}")
    for bits in range(_BITS, 3, -1):
        grid = Lattice.for_norm(radius, bits)
        sensitivity = integer_sensitivity(grid, d, adjacency, apart)
        try:
            check_room("", sensitivity, noise_multiplier, 2 * n * grid.sensitivity**2)
        except ValueError:
            continue
        return grid, sensitivity
    raise ValueError(f"{n:,} records with a noise multiplier of {noise_multiplier:g} do not fit into 64 bits")


def private_second_moment(
    rows: Iterable[NDArray[np.float64]],
    *,
    name: str,
    d: int,
    radius: float,
    n: int,
    adjacency: Adjacency,
    noise_multiplier: float,
    session: Session,
    apart: Apart = _TOGETHER,
) -> NDArray[np.float64]:
    """(1/n) sum x x^T with noise, symmetric, (d, d); it may have negative eigenvalues.

    rows: blocks (b, d). Rows longer than `radius` are pulled back to it, and rows that are not finite count as zero.
    n: the declared number of records. A record that is added or removed moves the sum by at most radius^2 in
    Frobenius norm, a replaced one by sqrt2 radius^2. apart: what earlier steps did to the common rows. adjacency:
    what neighbours are. The release is (1 / noise_multiplier)-GDP. It takes n d^2 integer products, and memory for a
    few times d^2 numbers. For centred rows it is the covariance. The session draws it and records it under `name`.
    ValueError if sum and noise might not fit into 64 bits.
    """
    integer("n", n)
    number("radius", radius, above=0.0)
    grid, sensitivity = second_moment_grid(radius, n, d, adjacency, noise_multiplier, apart)
    total = np.zeros((d, d), dtype=np.int64)
    chunk = 1 << (EXACT - 2 * (grid.sensitivity - 1).bit_length())
    for block in rows:
        for start in range(0, len(block), chunk):
            x = block[start : start + chunk]
            with np.errstate(all="ignore"):  # a warning about a record would leave
                inside = into_ball(x, radius, plain_norms(x), inside=INSIDE)
                ints = grid.quantize(inside).astype(np.float64)
            total += (ints.T @ ints).astype(np.int64)
    noisy = session.release(
        name,
        GaussianSum(
            sensitivity=sensitivity,
            noise_multiplier=noise_multiplier,
            exponent=2 * grid.exponent,
            largest=2 * n * grid.sensitivity**2,
            coordinates=d * d,
        ),
        total,
    )
    return (noisy + noisy.T) / (2 * n)
