"""A private histogram over declared bins: Gaussian noise on exact counts. Proof: docs/proofs/histogram.md."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from prepriv._arguments import integer
from prepriv.adjacency import Adjacency
from prepriv.mechanisms._counts import COUNT_BITS, count_sensitivity
from prepriv.mechanisms.gaussian_sum import GaussianSum
from prepriv.mechanisms.session import Session


def private_histogram(
    indices: NDArray[np.integer],
    *,
    name: str,
    bins: int,
    n: int,
    adjacency: Adjacency,
    noise_multiplier: float,
    session: Session,
) -> NDArray[np.float64]:
    """Noisy counts of indices 0 <= i < bins, (bins,); a record with another index counts nowhere.

    indices: (n',), integers, one per record. bins, n, adjacency: declared. The release is (1 / noise_multiplier)-GDP: one
    record moves one count by one (L2 sensitivity 1), or, replaced, two of them (sqrt2). Counts may come out
    negative and do not add up to n; rounding them up to zero afterwards is free. One release for all bins:
    cheaper than a query each. The session draws it and writes it down under `name`. ValueError for other shapes or types, and
    where counts and noise might not fit into 64 bits.
    """
    integer("bins", bins)
    integer("n", n)
    sensitivity = count_sensitivity(adjacency)
    flat = np.asarray(indices)
    if flat.ndim != 1 or not np.issubdtype(flat.dtype, np.integer):
        raise ValueError(f"indices must be integers of shape (n,); got {flat.dtype}, {flat.ndim} dimensions")
    inside = flat[(flat >= 0) & (flat < bins)]
    counts = np.bincount(inside.astype(np.int64), minlength=bins).astype(np.int64)
    return session.release(
        name,
        GaussianSum(
            sensitivity=sensitivity,
            noise_multiplier=noise_multiplier,
            exponent=-COUNT_BITS,
            largest=2 * n << COUNT_BITS,
            coordinates=bins,
        ),
        counts << COUNT_BITS,
    )
