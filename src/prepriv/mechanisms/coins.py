"""A coin for each record: which part of a split it is in. Not noise: what follows holds for any outcome of them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from prepriv._arguments import number
from prepriv.mechanisms.lattice import poisson_threshold
from prepriv.mechanisms.session import Session


def record_coins(records: int, share: float, session: Session) -> NDArray[np.bool_]:
    """True for about this share of the records, (records,), each by a coin of its own that no record decides.

    share: in (0, 1). Proof of what a split by them costs: docs/proofs/holdout.md.
    """
    share = number("share", share, above=0.0, below=1.0)
    return session.batch_source().bernoulli_mask(poisson_threshold(share), records)
