"""What a look at the data costs: its releases, priced and frozen before a row is read.

Each release draws its noise from the same `Part` that the guarantee is composed of.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import narwhals.stable.v1 as nw

from prepriv._arguments import integer
from prepriv._rounding import CLOSE_UP, UP
from prepriv._version import own_version
from prepriv.adjacency import Adjacency, check_adjacency
from prepriv.domain import Domain
from prepriv.guarantees.drafts import LEAK, claims, curve_of
from prepriv.guarantees.gaussian import gdp_mu
from prepriv.guarantees.guarantee import Guarantee
from prepriv.guarantees.printed import epsilon_at
from prepriv.mechanisms.session import Metered, Session
from prepriv.placed.checks import check_budget
from prepriv.plans.priced import Priced
from prepriv.runs.admit import admit
from prepriv.tables.encoding import check_source_of, read_whole
from prepriv.tables.readers import BadData, lacks
from prepriv.tables.stream import Stream, as_stream

_LEAST_MU = 1e-5  # of one release, of which a part of a tenth can still be drawn


@dataclass(frozen=True)
class LookPart:
    """One release, or one after another: mu-GDP together. delta: the chance that a lone value is seen."""

    name: str
    mu: float
    delta: float = 0.0


def multiplier(part: LookPart) -> float:
    """The noise multiplier of a Gaussian release that is part.mu-GDP, rounded up."""
    return 1 / part.mu * UP


@dataclass(frozen=True)
class Look(Priced):
    """The frozen plan of some releases on one table.

    what: of what kind. parts: as they are released, in order. declared: what else decided it, as plain data. unit: as
    that of a `Guarantee`. rows: what is declared about them (`prepriv.domain.Domain.declared_rows`).
    """

    what: str
    n: int
    adjacency: Adjacency
    epsilon: float
    delta: float
    parts: tuple[LookPart, ...]
    declared: str = ""
    unit: str | None = None
    rows: tuple[str, ...] = ()

    @cached_property
    def guarantee(self) -> Guarantee:
        """Gaussian curves composed exactly; in front of them the chance that a lone value is seen."""
        square = math.fsum(part.mu**2 for part in self.parts) * CLOSE_UP
        mu, leak = self.mu, self.leak
        shares = tuple((part.name, math.nan if leak else part.mu**2 / square) for part in self.parts)
        curve, exact = curve_of(mu, leak), None if leak else mu
        return self._stated(
            Guarantee(curve, self.adjacency, (), shares, exact, unit=self.unit), rows=self.rows
        )

    @property
    def counted(self) -> str:
        """What n counts, in words."""
        return "records" if self.unit is None else "units"

    @property
    def mu(self) -> float:
        """Of the Gaussian releases together."""
        square = math.fsum(part.mu**2 for part in self.parts) * CLOSE_UP
        return math.sqrt(square) * CLOSE_UP

    @property
    def leak(self) -> float:
        """The chance that a lone value is seen."""
        return math.fsum(part.delta for part in self.parts) * CLOSE_UP

    def to_json(self) -> list[Any]:
        """Plain data: all that was decided."""
        parts = [[part.name, part.mu, part.delta] for part in self.parts]
        said = [self.what, self.n, self.adjacency, self.epsilon, self.delta, parts, self.declared]
        return [*said, list(self.rows)] if self.rows else said

    def __getitem__(self, name: str) -> LookPart:
        return next(part for part in self.parts if part.name == name)

    def session(self, session: Session) -> Session:
        """What pays for these parts and for no more."""
        square, leak = (math.fsum(v) for v in zip(*((p.mu**2, p.delta) for p in self.parts)))
        return Metered(session, self.what, square, leak)


def price(
    what: str,
    weights: Mapping[str, float],
    *,
    n: int,
    adjacency: Adjacency,
    epsilon: float,
    delta: float,
    lone: Iterable[str] = (),
    declared: Any = None,
    unit: str | None = None,
    rows: tuple[str, ...] = (),
) -> Look:
    """Share (epsilon, delta) among releases: each gets mu^2 in proportion to its weight.

    lone: the releases that can show a value of one record alone; a quarter of delta is shared equally among them.
    ValueError for a budget that is not a finite number.
    """
    epsilon, delta = check_budget(epsilon, delta)
    if math.isinf(epsilon):
        raise ValueError("epsilon must be finite: a look at private data without noise protects nobody")
    n, adjacency = integer("n", n, at_most=2**40), check_adjacency(adjacency)
    lone = tuple(lone)
    leak = LEAK * delta / len(lone) if lone else 0.0
    whole = LEAK * delta if lone else 0.0
    mu, total = gdp_mu(epsilon, (delta - whole) / (1 - whole)), math.fsum(weights.values())
    if not mu > 0:
        raise ValueError("epsilon or delta is too small for any release")
    if mu * math.sqrt(min(weights.values()) / total) < _LEAST_MU:
        raise ValueError(f"epsilon is too small for {len(weights)} releases: ask for fewer, or give more")
    said = json.dumps(declared, sort_keys=True, default=str)
    shrink = 1e-9
    while True:
        parts = tuple(
            LookPart(name, mu * (1 - shrink) * math.sqrt(weight / total), leak if name in lone else 0.0)
            for name, weight in weights.items()
        )
        look = Look(what, n, adjacency, epsilon, delta, parts, said, unit, rows)
        if look.guarantee.epsilon(delta) <= epsilon:
            return look
        shrink *= 10


@dataclass(frozen=True, eq=False)
class PrivateFrame:
    """A private table of named columns, as it came: nothing of it is read until `prepriv.runs.admit.admit` reads it.

    table: of any library, or a stream, of which the names of its columns are asked for before. names: of the columns that are read, which are held in memory. n: where it is public. source: what the plan says that the rows are of.
    """

    table: Any
    names: tuple[str, ...]
    n: int | None = None
    source: str | None = None
    tables: tuple[Any, ...] = ()  # no step is fitted on public ones

    def __post_init__(self) -> None:
        if (stream := as_stream(self.table)) is not None:
            object.__setattr__(self, "table", stream)

    @property
    def stream(self) -> Stream | None:
        """The table, if it is one."""
        return self.table if isinstance(self.table, Stream) else None

    def check(self) -> None:
        """BadData where a table lacks a column, or has another number of rows as far as that is known. Reads no cell."""
        if (stream := self.stream) is None:
            self._fitting(self.table)
            return
        check_source_of(stream, self.source)
        stream.check(self.names)
        if self.n is not None and stream.rows not in (None, self.n):
            raise BadData(f"the plan is for {self.n:,} records, the table has {stream.rows:,}")

    def reserved(self, memory: int) -> PrivateFrame:
        """The same: it is held in memory."""
        return self

    def read(self, memory: int) -> Any:
        """The table, as narwhals gives it."""
        return self._fitting(self.table if self.stream is None else read_whole(self.stream, self.names))

    def _fitting(self, table: Any) -> Any:
        frame = frame_of(table)
        missing = next((name for name in self.names if name not in frame.columns), None)
        if missing is not None:
            raise BadData(lacks("the table", missing, self.names, frame.columns))
        if self.n is not None and len(frame) != self.n:
            raise BadData(
                f"the plan is for {self.n:,} records, and the table has another number; a header line is not a record, and a quoted cell may hold line breaks: "
                "count records, not lines. If rows were dropped, their number is another, too. Rows with gaps can stay: a gap is declared, not dropped"
            )
        return frame


def unit_of_rows(domain: Domain) -> dict[str, str]:
    """In the data of numbers of a table with units, beside the numbers: whose row each is."""
    return {} if domain.protected is None else {"one_row_of_each": domain.protected}


def paid_by(look: Look, domain: Domain, receipt: Mapping[str, Any] | None) -> dict[str, Any]:
    """How the data of everything that is released of a look end: n, which is declared or public, the version of prepriv that worded it, the "claims" that its guarantee adds up, where a draft is among them, and the receipt of its charge in a "ledger", where one was charged."""
    added = claims(look.guarantee, domain, look.delta)
    told = {"n": look.n, "version": own_version()} | ({} if added is None else {"claims": added})
    return told | ({} if receipt is None else {"ledger": dict(receipt)})


def notes_of_claim(claim: Guarantee, delta: float, n: int, promised: Sequence[str]) -> list[str]:
    """The paragraphs in which a page states its claim. claim: the whole. promised: `prepriv.release.summary.promised`."""
    amounts = f"{epsilon_at(claim.epsilon(delta), delta)}, {claim.neighbours}, n = {n:,}, for everything on this page together."
    return [amounts, *claim.notes, " ".join(promised)]


def rows_there(table: Any, ledger: Any) -> int:
    """The number of rows of a table or a stream, where it is public. BadData where only reading would tell and may not."""
    stream = as_stream(table)
    if stream is None:
        return len(frame_of(table))
    if stream.rows is None and (stream.once or ledger is not None):
        raise BadData("the number of rows of this stream is known only after it is read: declare n")
    return stream.count()


def frame_of(table: Any) -> Any:
    """A table of any library as narwhals gives it; BadData for what is none."""
    try:
        return nw.from_native(table, eager_only=True)
    except (TypeError, ValueError, nw.exceptions.NarwhalsError):
        raise BadData(
            "expected a pandas, polars or Arrow table whose columns have distinct names; "
            f"got {type(table).__name__}"
        ) from None


class _Held:
    """A column in memory, checked already, whose cells the question reads once it is paid for."""

    stream = None
    tables: tuple[Any, ...] = ()

    def check(self) -> None: ...
    def reserved(self, memory: int) -> _Held:
        return self

    def read(self, memory: int) -> None: ...


def pay(
    question: Any, session: Session | None, ledger: str | os.PathLike[str] | None
) -> tuple[Session, Mapping[str, Any] | None]:
    """Admit a single question to the column that its caller holds: (where its noise comes from, the receipt)."""
    paid = admit(question, _Held(), ledger=ledger, session=session)
    return question.session(paid.session), paid.receipt
