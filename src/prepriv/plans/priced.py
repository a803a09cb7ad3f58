"""The base of all plans: what is decided and priced before a private cell is read, and what follows from that alone."""

from __future__ import annotations

import abc
import hashlib
import json
import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from prepriv.drafted import Drafted
from prepriv.guarantees.guarantee import Guarantee
from prepriv.guarantees.notes import notes_on
from prepriv.periods import Periods


class Priced(abc.ABC):
    """A frozen plan of one release: declared facts and decisions, from which its guarantee and its hash are computed.

    `prepriv.runs.admit.admit` takes it to private rows; the odometer and the ledger count what it says. A subclass is a
    frozen dataclass of what was decided, with a budget (`epsilon`, `delta`; delta 0: pure differential privacy), the
    declared number of records `n`, and `what`, a few words for the ledger, of declared facts alone: parts between commas.
    """

    if TYPE_CHECKING:  # fields of some plans, computed by others

        @property
        def epsilon(self) -> float: ...
        @property
        def delta(self) -> float: ...
        @property
        def n(self) -> int: ...
        @property
        def what(self) -> str: ...

    @property
    def periods(self) -> Periods | None:
        """Whose rows alone it is the price of, where it is that of some months or years (`prepriv.runs.admit`)."""
        return None

    @property
    def drafts(self) -> tuple[Drafted, ...]:
        """The private drafts of its domain, where it has one: the ledger that it is charged to may hold them (`prepriv.runs.booked`)."""
        domain = getattr(self, "domain", None)
        return () if domain is None else domain.drafts

    @property
    @abc.abstractmethod
    def guarantee(self) -> Guarantee | None:
        """What holds for all that leaves, from the events that run; None without privacy."""

    @abc.abstractmethod
    def to_json(self) -> Any:
        """All that was declared and decided, as plain data. The same plan gives the same bytes."""

    @property
    def private(self) -> bool:
        """False for epsilon = inf: no noise, no claim."""
        return math.isfinite(self.epsilon)

    @property
    def hash(self) -> str:
        """SHA-256 of the canonical JSON, for the ledger and for what leaves."""
        text = json.dumps(self.to_json(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    def _stated(self, made: Guarantee, mu: float = math.inf, rows: tuple[str, ...] = ()) -> Guarantee:
        """What is claimed of releases, with what is weak of it. mu: of the whole budget of a model, if one is made. rows: what
        is declared about them (`prepriv.domain.Domain.declared_rows`)."""
        weak = notes_on(made.epsilon(self.delta), self.delta, self.n, mu)
        conditions = tuple(dict.fromkeys((*rows, *made.conditions)))
        return replace(made, conditions=conditions, notes=tuple(dict.fromkeys((*made.notes, *weak))))
