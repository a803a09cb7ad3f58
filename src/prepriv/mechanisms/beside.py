"""A sum with more coordinates beside it, whose noise is drawn in one go. Proof: docs/proofs/self_audit.md."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prepriv.mechanisms.gaussian_sum import GaussianSum
from prepriv.mechanisms.mechanism import Mechanism
from prepriv.mechanisms.noise import NoiseSource
from prepriv.mechanisms.session import Session


class BesideSession(Session):
    """Releases each Gaussian sum with what waits beside it, and hands on the answer to the sum alone.

    more: what waits, of which the next release takes all, or None. take: gets the answer of that part. What waits depends on no
    record, and each of its coordinates is at most as large as the sum's may be.
    """

    def __init__(
        self,
        session: Session,
        more: Callable[[], NDArray[np.int64] | None],
        take: Callable[[NDArray[np.float64]], Any],
    ) -> None:
        super().__init__()
        self._session, self._more, self._take = session, more, take
        self.private, self.releases = session.private, session.releases

    def release(self, name: str, mechanism: Mechanism, exact: Any) -> Any:
        waiting = self._more() if isinstance(mechanism, GaussianSum) else None
        if waiting is None or not isinstance(mechanism, GaussianSum):
            return self._session.release(name, mechanism, exact)
        size = np.size(exact)
        both = np.concatenate([np.ravel(exact), waiting.ravel()])
        answer = self._session.release(name, replace(mechanism, coordinates=both.size), both)
        self._take(answer[size:].reshape(waiting.shape))
        return answer[:size].reshape(np.shape(exact))

    def batch_source(self) -> NoiseSource:
        return self._session.batch_source()

    def _perform(self, name: str, mechanism: Mechanism, exact: Any) -> Any:
        raise TypeError("it draws through the session that it stands before")
