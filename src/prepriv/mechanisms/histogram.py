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
    """Noisy counts of indices 0 <= i < bins, (bins,). A record with another index is not counted.

    indices: integers, (n',), one per record. bins, n, adjacency: as declared. The release is (1 /
    noise_multiplier)-GDP. A record that is added or removed moves one count by one (L2 sensitivity 1), a replaced
    record two counts (sqrt2). Counts can be negative, and they do not add up to n. Rounding them up to zero
    afterwards is free. One release for all bins is cheaper than one query per bin. The session draws it and records
    it under `name`. ValueError for other shapes or types, and if counts and noise might not fit into 64 bits.
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
