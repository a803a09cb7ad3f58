"""A coin for each record: which part of a split it is in. Not noise: what follows holds for any outcome of them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from prepriv._arguments import number
from prepriv.mechanisms.lattice_noise import poisson_threshold
from prepriv.mechanisms.session import Session


def record_coins(records: int, share: float, session: Session) -> NDArray[np.bool_]:
    """True for about this share of the records, (records,), each by a coin of its own that no record decides.

    share: in (0, 1). Proof of what a split by them costs: docs/proofs/holdout.md.
    """
    share = number("share", share, above=0.0, below=1.0)
    return session.batch_source().bernoulli_mask(poisson_threshold(share), records)


def trial_numbers(candidates: int, stop: float, session: Session) -> list[int]:
    """Which candidate each trial is of, (trials,): any with the same chance; after each a coin of chance `stop` ends them.

    stop: at least 2^-11. How many there are stays secret: docs/proofs/choose.md.
    """
    source, threshold = session.batch_source(), poisson_threshold(stop)
    out: list[int] = []
    while True:
        out.append(int(source.uniform_below(candidates, 1)[0]))
        if bool(source.bernoulli_mask(threshold, 1)[0]):
            return out
