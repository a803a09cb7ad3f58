"""The one way to private rows: what must happen before a cell of them is read, in the one order in which it is safe."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from prepriv._callers import callers_level
from prepriv.drafted import Drafted
from prepriv.engines.engine import Room
from prepriv.guarantees.guarantee import Guarantee
from prepriv.guarantees.notes import PrivacyWarning
from prepriv.mechanisms.session import ExactSession, NoisySession, Session
from prepriv.plans.priced import Priced
from prepriv.runs import odometer
from prepriv.runs.apart import check_apart
from prepriv.runs.charge import charge, check_ledger
from prepriv.runs.public import check_public_steps
from prepriv.runs.run import Steps, check_files
from prepriv.tables.stream import Stream

_T = TypeVar("_T")
_Read = TypeVar("_Read", covariant=True)

CHARGING, CHARGED, READING = "charging", "charged", "reading"


class Unread(Protocol[_Read]):
    """Private rows that nobody has read yet: `prepriv.placed.rows.PrivateTable`, or the column of a question."""

    @property
    def tables(self) -> tuple[Any, ...]:
        """What public tables must be apart from."""

    @property
    def stream(self) -> Stream | None:
        """Where they are read part by part."""

    def check(self) -> None:
        """ValueError unless they have the form that the plan is for, as far as it is public. Reads no cell."""

    def reserved(self, memory: int) -> Unread[_Read]:
        """The same rows, with disk for what does not fit in so many bytes and can be read only once. Reads no cell."""

    def read(self, memory: int) -> _Read:
        """Their cells, encoded. memory: bytes that they may take where they could be read again instead."""


@dataclass(frozen=True, eq=False)
class Admitted(Generic[_T]):
    """Rows that were paid for.

    rows: as they were read. session: where noise comes from. room: where integers will live, if that was asked for.
    receipt: of the charge, if there is one.
    """

    rows: _T
    session: Session
    room: Room | None
    receipt: Mapping[str, Any] | None


def admit(
    plan: Priced,
    rows: Unread[_T],
    *,
    fits: Sequence[Steps] = (),
    room: Callable[[], Room | None] | None = None,
    ledger: str | os.PathLike[str] | None = None,
    session: Session | None = None,
    counted: bool = True,
    drafts: Sequence[Drafted] = (),
    reached: Callable[[str], Any] | None = None,
) -> Admitted[_T]:
    """Do everything that must happen before a cell of private rows is read, in this order; then read them.

    1. The form of the rows: columns, unit, their number where it is public. ValueError, nothing charged.
    2. Public tables of `fits`: apart from the private ones, and good. ValueError, nothing charged.
    3. Room for the rows, in memory and on disk, and files that every reader sees alike. EngineError, nothing charged.
    4. What is weak of the claim, and what all fits of this process add up to, is said: a filter of warnings can make it an
       error, with nothing charged.
    5. The charge. LedgerError, no cell read.
    6. The odometer counts: from here on nothing is given back.
    7. The rows are read and encoded.

    Parameters
    ----------
    plan : Priced
        What will be released, and what that costs: it is charged and counted once, as a whole.
    rows : Unread
        The private rows.
    fits : sequence of plans
        Whose steps may be fitted on public tables.
    room : callable, optional
        Asks for space to hold integers; its answer is in `Admitted.room`.
    ledger : path, optional
        Charged. A claim that costs nothing (every step free or public) is neither charged nor counted.
    session : Session, optional
        Where noise comes from; by default the operating system, or nowhere for a plan without privacy.
    counted : bool
        False where the rows are public or made up, or counted already.
    drafts : sequence of Drafted
        Of the domain, where the plan has none: the ledger is not charged if it holds such a draft and booked it otherwise.
    reached : callable, optional
        Told "charging", "charged" and "reading" when it comes to that.
    """
    check_ledger(ledger)
    if session is None:
        session = ExactSession() if plan.guarantee is None else NoisySession()
    if plan.guarantee is not None and isinstance(session, ExactSession):
        raise ValueError("a private plan needs a session with noise")
    tell = reached or (lambda _: None)
    if getattr(rows, "periods", None) != plan.periods:
        raise ValueError(
            "periods: only training and evaluation read the rows of some periods alone; leave periods out of the domain"
        )
    rows.check()
    for fit in fits:
        check_apart(fit.pipeline, *rows.tables)
        check_public_steps(fit.domain, fit.pipeline)
    place = None if room is None else room()
    if place is not None:
        check_files(place, rows.stream)
    memory = 0 if place is None else place.memory
    rows = rows.reserved(memory)
    receipt = None
    if plan.guarantee is None or plan.guarantee.mu != 0:
        say_weak(plan.guarantee)
        if counted and session.private:
            odometer.announce(plan, charged=ledger is not None)
        if ledger is not None:
            tell(CHARGING)
            receipt = charge(ledger, plan, drafts or plan.drafts)
            tell(CHARGED)
        if counted:
            odometer.record(plan, session.private, receipt)
    tell(READING)
    return Admitted(rows.read(memory), session, place, receipt)


def say_weak(guarantee: Guarantee | None) -> None:
    """Warn of what makes a claim worth little, where the user stands."""
    for note in guarantee.weak if guarantee is not None else ():
        warnings.warn(note, PrivacyWarning, stacklevel=callers_level())
