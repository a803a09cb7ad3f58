"""The Gaussian mechanism on a sum of rows: exact integers in, a noisy sum out. Proof: docs/proofs/mean.md."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from prepriv._rounding import FAR_UP
from prepriv.exact.ball import INSIDE, into_ball, plain_norms
from prepriv.exact.lattice import Lattice
from prepriv.mechanisms.gaussian_sum import GaussianSum
from prepriv.mechanisms.session import Session


def sum_grid(dim: int, radius: float, n: int) -> Lattice:
    """The grid for rows of `dim` coordinates in a ball: as fine as 64-bit norms and sums of n rows allow."""
    bits = min(26, (62 - math.ceil(math.log2(dim + 1))) // 2, 58 - math.ceil(math.log2(n + 1)))
    if bits < 4:
        raise ValueError(f"{dim} coordinates and {n:,} records are too many for one exact sum")
    return Lattice.for_norm(radius, bits)


def gaussian_sum(
    rows: Iterable[NDArray[np.float64] | tuple[NDArray[np.float64], NDArray[np.int64]]],
    *,
    name: str,
    dim: int,
    radius: float,
    shift: float,
    moved: float,
    n: int,
    noise_multiplier: float,
    session: Session,
) -> NDArray[np.float64]:
    """Noisy sum of the rows of blocks (b, dim); (dim,). A block of shorter rows, (b, width), comes with a number for each, (b,): its
    coordinates are those from that number times width on, and all others are zero.

    radius: rows longer than it are pulled back to it. shift: how far the exact sum can move between
    neighbours, in the units of the rows (preprocessing.base.sum_shift). moved: how many common rows can
    differ between neighbours: each, and the record itself, can be cut to the grid differently, which costs
    sqrt(dim) steps apiece. n: the declared number of records (twice as many rows are allowed for overflow).
    The release is (1 / noise_multiplier)-GDP, drawn and written down under `name` by the session; ValueError where sum and
    noise might not fit into 64 bits.
    """
    grid = sum_grid(dim, radius, 2 * n)
    total = np.zeros(dim, dtype=np.int64)
    for given in rows:
        block, at = given if isinstance(given, tuple) else (given, None)
        with np.errstate(
            all="ignore"
        ):  # a warning about a record would leave; what is not finite counts as zero
            inside = into_ball(block, radius, plain_norms(block), inside=INSIDE)
            steps = grid.quantize(inside)
            if at is None:
                total += steps.sum(axis=0)
            else:
                np.add.at(total.reshape(-1, steps.shape[1]), at, steps)
    rounding = (moved + 1) * (math.isqrt(dim) + 1)
    sensitivity = math.ceil(shift / grid.step * FAR_UP) + math.ceil(rounding)
    return session.release(
        name,
        GaussianSum(
            sensitivity=sensitivity,
            noise_multiplier=noise_multiplier,
            exponent=grid.exponent,
            largest=2 * n * grid.sensitivity,
            coordinates=dim,
        ),
        total,
    )
