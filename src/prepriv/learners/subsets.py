"""Batches of a fixed size: uniform subsets of the records, without replacement. Proof: docs/proofs/stochastic.md."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from prepriv.mechanisms.noise import NoiseSource


def without_replacement(batch: int, n: int) -> str:
    """The premise of batches of a fixed size."""
    return (
        f"every batch is {batch} of the {n} records, drawn uniformly without replacement and afresh at each step (passes "
        "over shuffled records are another sampler)"
    )


def uniform_subset(source: NoiseSource, n: int, size: int) -> NDArray[np.intp]:
    """A subset of `size` of range(n), exactly uniform: the first distinct values of uniform draws."""
    if not 0 <= size <= n:
        raise ValueError(f"size must lie in [0, {n}]; got {size}")
    if size > n // 2:
        chosen = np.ones(n, dtype=np.bool_)
        chosen[uniform_subset(source, n, n - size)] = False
        return np.flatnonzero(chosen)
    drawn = np.empty(0, dtype=np.int64)
    while True:
        drawn = np.concatenate([drawn, source.uniform_below(n, size + size // 2 + 8)])
        first = np.unique(drawn, return_index=True)[1]
        if len(first) >= size:
            return drawn[np.sort(first)[:size]].astype(np.intp)
