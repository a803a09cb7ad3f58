"""The choke point: every number that depends on private records and leaves a run leaves through a `Session`.

A session performs declared mechanisms (`prepriv.mechanisms.mechanism.Mechanism`) and writes down which. The audit replaces it
by one that records and replays (audit/replay.py); a run without privacy uses `ExactSession`, and its artifact says so.
"""

from __future__ import annotations

import abc
import os
import threading
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from prepriv.mechanisms.mechanism import Cost, Mechanism
from prepriv.mechanisms.noise import NoiseSource


@dataclass(frozen=True)
class Release:
    """A mechanism that ran, with its name. It holds nothing that depends on a record."""

    name: str
    mechanism: Mechanism


class Session(abc.ABC):
    """Draws mechanisms. `releases` lists what was drawn, in order.

    Examples
    --------
    >>> NoisySession().releases
    []
    """

    private: bool

    def __init__(self) -> None:
        self.releases: list[Release] = []

    def release(self, name: str, mechanism: Mechanism, exact: Any) -> Any:
        """Draw the noisy release of a private value.

        name: what messages and audits call it. ValueError, before any noise is drawn, if public numbers show that the
        mechanism cannot be drawn.
        """
        mechanism.check(name)
        self.releases.append(Release(name, mechanism))
        return self._perform(name, mechanism, exact)

    def batch_source(self) -> NoiseSource:
        """Where random batches are drawn from. It is as unpredictable as the noise. An audit freezes it."""
        return NoiseSource()

    @abc.abstractmethod
    def _perform(self, name: str, mechanism: Mechanism, exact: Any) -> Any:
        """The answer."""


class NoisySession(Session):
    """The session of a run: noise from the operating system.

    Parameters
    ----------
    source : NoiseSource, optional
        Where noise comes from. Default: the operating system. One made by `NoiseSource.for_tests` repeats itself, and
        nothing that it releases is private.

    Examples
    --------
    >>> import numpy as np
    >>> from prepriv.mechanisms.exponential import ExponentialMechanism, Scores
    >>> from prepriv.mechanisms.noise import NoiseSource
    >>> session = NoisySession(NoiseSource.for_tests(1))
    >>> exact = Scores(np.array([10, 30, 29]), np.ones(3, dtype=int))
    >>> segment, _ = exact.place(session.release("choice", ExponentialMechanism(2.0, 2), exact))
    >>> segment, session.releases[0].name
    (1, 'choice')
    """

    def __init__(self, source: NoiseSource | None = None) -> None:
        super().__init__()
        self._source = source or NoiseSource()
        self.private = self._source.private

    def _perform(self, name: str, mechanism: Mechanism, exact: Any) -> Any:
        return mechanism.perform(exact, self._source)


class SpentError(RuntimeError):
    """A step asked for more than its share of the budget pays for. The message names the step only."""


class Metered(Session):
    """A session that pays for a fixed amount and no more. Each release is counted before anything is drawn.

    It counts in this process alone. A forked process would count from zero, so it gets nothing. A share cannot be
    copied. mu_squared: the most that the squared mu of all releases may add up to. delta: the same for their deltas
    (`Mechanism.cost`).
    """

    def __init__(self, session: Session, name: str, mu_squared: float, delta: float = 0.0) -> None:
        super().__init__()
        self._session, self._name = session, name
        self._left = Fraction(mu_squared) * (1 + Fraction(1, 10**9))
        self._delta_left = Fraction(delta) * (1 + Fraction(1, 10**9))
        self._process, self._one_by_one = os.getpid(), threading.Lock()
        self.private = session.private
        self.releases = session.releases

    def release(self, name: str, mechanism: Mechanism, exact: Any) -> Any:
        cost = mechanism.cost
        if cost is None:
            raise SpentError(f"{self._name} asked for a release that no share of a Gaussian budget pays for")
        if type(cost) is not Cost:  # a subclass could say anything of what it costs
            raise SpentError(
                f"{self._name}: the cost of a mechanism must be a Cost; got {type(cost).__name__}"
            )
        if os.getpid() != self._process:
            raise SpentError(
                f"{self._name} asked for a release in a process that it forked off: its share of the budget is counted in one "
                "process, ask there"
            )
        with self._one_by_one:
            if cost.mu_squared > self._left or cost.delta > self._delta_left:
                raise SpentError(
                    f"{self._name} asked for more releases than its share of the budget pays for"
                )
            self._left -= cost.mu_squared
            self._delta_left -= cost.delta
        return self._session.release(name, mechanism, exact)

    def __reduce_ex__(self, protocol: Any) -> str | tuple[Any, ...]:
        raise TypeError(
            "what a share of the budget still pays for is counted once: a metered session cannot be copied"
        )

    def batch_source(self) -> NoiseSource:
        return self._session.batch_source()

    def _perform(self, name: str, mechanism: Mechanism, exact: Any) -> Any:
        raise TypeError("a metered session draws through the one it counts for")


class ExactSession(Session):
    """No noise: for a run without privacy (epsilon = inf). Nothing it releases is private."""

    private = False

    def _perform(self, name: str, mechanism: Mechanism, exact: Any) -> Any:
        return mechanism.noiseless(exact)


class MadeUpSession(ExactSession):
    """The same for rows that are made up. Each mechanism is drawn with a test's noise, too: what it refuses is refused then."""

    def _perform(self, name: str, mechanism: Mechanism, exact: Any) -> Any:
        drawn = None if mechanism.cost is None else mechanism.perform(exact, NoiseSource.for_tests(0))
        own = type(mechanism).noiseless is not Mechanism.noiseless
        return super()._perform(name, mechanism, exact) if own else drawn
