"""A private second moment (1/n) sum x x^T: Gaussian noise on an exact integer matrix (Analyze Gauss).

Source: Dwork, Talwar, Thakurta and Zhang 2014. Proof: docs/proofs/covariance.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from prepriv.domain import Adjacency, check_adjacency
from prepriv.guarantees.arguments import integer, number
from prepriv.mechanisms.lattice import Lattice
from prepriv.mechanisms.session import Session

_CHUNK = 256  # rows: a product of two 22-bit integers, summed over 2^8 rows, stays below 2^53
_INSIDE = 1 - 2.0**-40  # rows are pulled just inside the ball, so that float rounding never drops one


def second_moment_grid(radius: float, n: int) -> Lattice:
    """The grid of the rows: 22 bits, fewer if a sum of squares over n records would not fit."""
    bits = min(22, (59 - math.ceil(math.log2(n + 1))) // 2)
    if bits < 4:
        raise ValueError(f"{n} records are too many for one exact sum")
    return Lattice.for_norm(radius, bits)


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
) -> NDArray[np.float64]:
    """(1/n) sum x x^T with noise, symmetric, (d, d); it may have negative eigenvalues.

    rows: blocks (b, d); rows longer than `radius` are pulled back to it, rows that are not finite count as
    zero. n: declared. One record moves the sum by at most radius^2 in Frobenius norm, one replaced by sqrt2
    radius^2: the release is (1 / noise_multiplier)-GDP. Cost: one product of integers, n d^2. For centred
    rows it is the covariance.
    """
    integer("d", d)
    integer("n", n)
    grid = second_moment_grid(number("radius", radius, above=0.0), 2 * n)
    total = np.zeros((d, d), dtype=np.int64)
    for block in rows:
        for start in range(0, len(block), _CHUNK):
            x = block[start : start + _CHUNK]
            with np.errstate(all="ignore"):  # a warning about a record would leave
                norms = np.sqrt(np.einsum("ij,ij->i", x, x))
                inside = x * (_INSIDE * np.minimum(1.0, radius / np.maximum(norms, radius)))[:, None]
                ints = grid.quantize(inside).astype(np.float64)
            total += (ints.T @ ints).astype(np.int64)
    square = grid.sensitivity**2
    replaced = check_adjacency(adjacency) == "replace-one"
    noisy = session.noisy_sum(
        name,
        total,
        math.isqrt(2 * square * square) + 1 if replaced else square,
        noise_multiplier,
        exponent=2 * grid.exponent,
        largest=2 * n * square,
    )
    return (noisy + noisy.T) / (2 * n)
