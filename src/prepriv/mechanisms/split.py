"""A private sum of numbers in [0, 1], with its complement and the number of records that have none: Gaussian noise on an exact sum. Proof: docs/proofs/evaluation.md."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from prepriv._arguments import integer
from prepriv.adjacency import Adjacency
from prepriv.mechanisms._counts import COUNT_BITS, count_sensitivity
from prepriv.mechanisms.gaussian_sum import GaussianSum
from prepriv.mechanisms.session import Session


def private_split(
    shares: NDArray[np.floating],
    *,
    name: str,
    n: int,
    adjacency: Adjacency,
    noise_multiplier: float,
    session: Session,
    group: NDArray[np.integer] | None = None,
    groups: int = 1,
) -> NDArray[np.float64]:
    """Noisy (sum of v, sum of 1 - v, records without a share) over shares v in [0, 1], (3,): what a histogram of three bins is for
    v in {0, 1}.

    group: (n',), the group 0 <= g < groups that each record is in; then the sums of each group, (groups, 3), at the same
    noise. A record of another group counts nowhere.

    shares: (n',), one per record, rounded down to multiples of 2^-16; beyond [0, 1] the nearer end; NaN: the record has none. n:
    declared. The release is (1 / noise_multiplier)-GDP: a record adds (v, 1 - v, 0) or (0, 0, 1), without negative entries and of norm
    1 at most, and two of those are at most sqrt2 apart.
    """
    integer("n", n)
    has = ~np.isnan(shares)
    with np.errstate(invalid="ignore"):
        parts = np.floor(np.ldexp(np.clip(np.where(has, shares, 0.0), 0.0, 1.0), COUNT_BITS))
    place = np.zeros(len(parts), dtype=np.int64) if group is None else np.asarray(group, dtype=np.int64)
    inside = (place >= 0) & (place < groups)
    # Below 2^53, and so exact in floats, up to 2^37 rows: more than any memory holds.
    first = np.bincount(place[inside], weights=parts[inside], minlength=groups).astype(np.int64)
    rows, without = (
        np.bincount(place[inside & who], minlength=groups).astype(np.int64) for who in (has, ~has)
    )
    total = np.stack([first, (rows << COUNT_BITS) - first, without << COUNT_BITS], axis=1)
    noisy = session.release(
        name,
        GaussianSum(
            sensitivity=count_sensitivity(adjacency),
            noise_multiplier=noise_multiplier,
            exponent=-COUNT_BITS,
            largest=2 * n << COUNT_BITS,
            coordinates=3 * groups,
        ),
        total.ravel(),
    )
    return np.asarray(noisy if group is None else noisy.reshape(groups, 3))
