"""Answers to a list of questions to one table: what leaves, and what follows from it. Proof: docs/proofs/describe.md."""

from __future__ import annotations

import json
import math
import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from prepriv._callers import callers_level
from prepriv._text import printable
from prepriv.adjacency import Adjacency, n_is_public
from prepriv.columns import MISSING, OTHER, Column, Numeric
from prepriv.description.answers import Answer, released_answers, wide_answers
from prepriv.description.asked import RANKS, Asked, AskedPlan, plan_questions
from prepriv.description.cells_in_words import between, cut_columns, not_above_zero, says_little, some_of
from prepriv.description.estimates import NOTHING, Estimate, edges_in_words
from prepriv.description.look import PrivateFrame, paid_by, rows_there, unit_of_rows
from prepriv.description.questions import Histogram
from prepriv.domain import Domain
from prepriv.guarantees.drafts import with_drafts
from prepriv.guarantees.guarantee import Guarantee
from prepriv.guarantees.printed import measured_alone
from prepriv.mechanisms.session import Session
from prepriv.release.quality import bound_at
from prepriv.release.summary import promised
from prepriv.runs.admit import admit
from prepriv.tables.encoding import Table, encode, with_source
from prepriv.tables.stream import as_stream
from prepriv.tables.units import by_unit

_COUNTED = ("count", "share", "histogram", "crosstab")  # kinds of questions whose cells may hold no record


@dataclass(frozen=True, eq=False)
class Answers(Mapping[str, Answer]):
    """The answers, by question, as the questions were written.

    Parameters
    ----------
    plan : AskedPlan
        What was asked, and its price.
    found : dict of str to answer
        For most questions an `Estimate`, with a 95 % interval that covers the noise alone. For a histogram of numbers
        a `Histogram`, and for one of categories a dict of estimates by category. For a cross-tabulation a dict by the
        first column's values, of dicts by the second's. With `by`, a dict of such answers by group.
    receipt : mapping, optional
        The receipt of the charge in a ledger. None: no ledger was charged.

    Examples
    --------
    >>> import pandas as pd, prepriv
    >>> table = pd.DataFrame({"pay": [1, 3] * 500, "sex": ["f", "m"] * 500})
    >>> columns = {"pay": prepriv.Numeric(0, 4), "sex": prepriv.Categorical(["f", "m"])}
    >>> found = prepriv.ask(table, columns, ["mean(pay) by sex"], epsilon=5.0)
    >>> abs(float(found["mean(pay) by sex"]["m"]) - 3) < 0.5
    True
    """

    plan: AskedPlan
    found: Mapping[str, Answer]
    receipt: Mapping[str, Any] | None = None

    @property
    def guarantee_(self) -> Guarantee:
        """What is claimed for these answers, together with the private drafts of their domain if there are any."""
        look = self.plan.look
        return with_drafts(look.guarantee, self.plan.domain, look.delta, look.n)

    def __getitem__(self, question: str | Asked) -> Answer:
        return self.found[str(Asked.of(question))]

    def __iter__(self) -> Iterator[str]:
        return iter(self.found)

    def __len__(self) -> int:
        return len(self.found)

    def lines(self) -> list[tuple[str, str, Estimate]]:
        """(question, what the number is about, the number) for each number."""
        return [
            (question, _said(path, self.plan.named_by(question)), e)
            for question, found in self.found.items()
            for path, e in _flat(found, _written(question, self.plan.domain.columns))
        ]

    def in_short(self) -> list[tuple[str, str, str]]:
        """The same as texts, for people: cells about which nothing can be said, and cells of "other" or "missing" that may well be empty,
        share a line of their question."""
        return [
            (q, what, told)
            for q, found in self.found.items()
            for what, told in _in_short(q, found, self.plan)
        ]

    @property
    def at_bounds(self) -> list[str]:
        """Of each column whose mean lies at a declared bound, as cells in another unit make it: a sentence. That of a count that is mostly small lies further from 0 as a rule."""
        found = {}
        for question, e in self.found.items():
            asked = Asked.of(question)
            if asked.kind != "mean" or not isinstance(e, Estimate) or math.isnan(e.value):
                continue
            name = asked.columns[0]
            column = self.plan.domain.columns[name]
            assert isinstance(column, Numeric)
            bound = bound_at((e.value, e.low, e.high), (column.low, column.high))
            if bound is not None:
                found[name] = (
                    f"LOOK AT {name!r}: as far as this can tell, its mean lies at the declared bound {measured_alone(bound, 4)}, and a cell beyond a bound counts as the nearer one. "
                    "If most cells should not lie there, are they in the unit of the bounds? `prepriv validate DATA --schema S.yaml` (`prepriv.validate`) counts those outside, for the curator alone"
                )
        return [printable(said) for said in found.values()]

    def __str__(self) -> str:
        lines = [
            printable(f"{': '.join(filter(None, (q, what)))}: {told}") for q, what, told in self.in_short()
        ]
        cut = [printable(f"{name}: {said}") for name, said in self.plan.cut]
        return "\n".join([*lines, *self.at_bounds, *cut, *self.plan.notes])

    __repr__ = __str__

    def to_json(self) -> dict[str, Any]:
        """Plain data: every number with the ends of its interval; null where the noise leaves nothing to say."""
        look = self.plan.look
        out = {
            "guarantee": self.guarantee_.to_json(look.delta),
            "promise": promised(
                look.guarantee,
                self.plan.domain,
                self.receipt,
                "these answers",
                n=look.n,
                delta=look.delta,
                as_drafted=self.plan.as_drafted,
            ),
            "plan_hash": look.hash,
            "releases": [
                {"release": what, "share": share, "noise_multiplier": noise}
                for what, share, noise in self.plan.prices()
            ],
            "bounds": cut_columns(self.plan.numbers),
            "notes": self.plan.notes,
            "interval": _INTERVAL,
            **unit_of_rows(self.plan.domain),
            "named_by": {q: list(names) for q in self.found if (names := self.plan.named_by(q))},
            "answers": {question: _plain(found) for question, found in self.found.items()},
        }
        return out | paid_by(look, self.plan.domain, self.receipt)

    def json_text(self) -> str:
        """`to_json` as text."""
        return json.dumps(self.to_json(), indent=1, allow_nan=False) + "\n"


_INTERVAL = (
    "low and high are the ends of a 95 % interval around value. It covers the noise alone, and not how far these records stand for others. "
    "null: the noise leaves nothing to say"
)
_CALL = "ask(table, domain, ['mean(age)'], epsilon=1.0)"


def ask(
    table: Any,
    domain: Domain | Mapping[str, Column],
    questions: Sequence[str | Asked] = (),
    *,
    epsilon: float,
    delta: float = 1e-6,
    n: int | None = None,
    adjacency: Adjacency | None = None,
    ledger: str | os.PathLike[str] | None = None,
) -> Answers:
    """Ask a private table a list of questions: counts, sums, means, variances, covariances, cross-tabulations, quantiles.

    All are priced together before any is asked. What several of them need is released once.

    Parameters
    ----------
    table : pandas, polars or Arrow table, or path
        With the columns that are asked about. Records of a file are read after the charge.
    domain : Domain or mapping of str to column
        What is declared about it. A mapping of columns is enough.
    questions : sequence of str or Asked, default ()
        Such as "mean(pay)", "crosstab(job, sex)" or "quantile(age, 0.9) by job" (`prepriv.description.asked.Asked`). At least one is needed.
    epsilon : float
        What all answers cost together: positive and finite.
    delta : float, default 1e-6
        In (0, 1), well below 1 / n.
    n : int, optional
        The declared number of records or units. None: the domain's, or under replace-one that of a table in memory.
    adjacency : {"replace-one", "add-or-remove-one"}, optional
        What neighbouring data sets are, where `domain` is a mapping of columns. A domain declares its own.
    ledger : path or URL, optional
        The ledger to charge before a record is read. None: no cap holds.

    Returns
    -------
    Answers
        The answers by question, each number with an interval.

    Raises
    ------
    ValueError
        For mistakes, and where the table does not fit. Nothing is charged.
    LedgerError
        Where the ledger grants no charge. No record is read.

    Notes
    -----
    Groups of a column share no record, so counts and sums of all groups cost what those of one group cost. So do
    quantiles of groups under add-or-remove-one. Where a record is replaced, their µ is √2 times as large. Intervals
    cover the noise alone. Proof: docs/proofs/describe.md.

    Examples
    --------
    >>> import pandas as pd, prepriv
    >>> table = pd.DataFrame({"pay": [20 + i % 60 for i in range(6000)], "sex": ["f", "m"] * 3000})
    >>> columns = {"pay": prepriv.Numeric(0, 100), "sex": prepriv.Categorical(["f", "m"])}
    >>> found = prepriv.ask(table, columns, ["sum(pay)", "mean(pay) by sex", "histogram(sex)"], epsilon=1.0)
    >>> abs(float(found["sum(pay)"]) - 297_000) < 20_000, list(found["histogram(sex)"])
    (True, ['f', 'm', 'other', 'missing'])
    """
    if isinstance(table, Domain):
        raise ValueError(f"the table comes before the domain here: {_CALL}")
    if not isinstance(domain, Domain | Mapping) and isinstance(questions, Domain | Mapping):
        raise ValueError(f"the domain comes before the questions here: {_CALL}")
    if (stream := as_stream(table)) is not None and stream.source is not None:
        whole = domain if isinstance(domain, Domain) else Domain(domain, adjacency=adjacency or "replace-one")
        domain, adjacency = with_source(whole, stream), None
    there = domain.adjacency if isinstance(domain, Domain) else adjacency or "replace-one"
    declared, unit = (domain.n, domain.unit) if isinstance(domain, Domain) else (None, None)
    if n is None and declared is None and n_is_public(there) and unit is None:
        n = rows_there(table, ledger)
    plan = plan_questions(domain, questions, epsilon=epsilon, delta=delta, n=n, adjacency=adjacency)
    if why := wide_answers(plan):  # before the charge
        warnings.warn(printable(why), UserWarning, stacklevel=callers_level())
    return ask_in_private(plan, table, ledger=ledger)


def ask_in_private(
    plan: AskedPlan,
    table: Any,
    *,
    ledger: str | os.PathLike[str] | None = None,
    session: Session | None = None,
    reached: Callable[[str], Any] | None = None,
) -> Answers:
    """Carry out a plan on a table, or on a file, whose records are read after the charge (`prepriv.runs.admit.admit`)."""
    paid = admit(
        plan.look,
        unread_table(plan, table),
        ledger=ledger,
        session=session,
        drafts=plan.domain.drafts,
        reached=reached,
    )
    return Answers(plan, released_answers(plan, paid.rows, plan.look.session(paid.session)), paid.receipt)


def unread_table(plan: AskedPlan, table: Any) -> Questioned:
    """The table of a plan, before it is admitted."""
    domain = plan.domain
    wanted = (*domain.columns, *(() if domain.unit is None else (domain.unit,)))
    public = domain.unit is None and n_is_public(domain.adjacency)
    return Questioned(table, wanted, plan.look.n if public else None, domain.source, domain=domain)


@dataclass(frozen=True, eq=False, kw_only=True)
class Questioned(PrivateFrame):
    """A private table, read as questions need it: gaps stay gaps; of units one row each."""

    domain: Domain

    def read(self, memory: int) -> Table:
        """Encoded rows."""
        frame = super().read(memory)
        if self.domain.unit is not None:
            assert self.domain.n is not None
            return by_unit(frame.to_native(), None, self.domain, self.domain.n)[0]
        return encode(frame.select(list(self.domain.columns)).to_native(), self.domain)


_Path = tuple[str, ...]


def _flat(found: Answer, written: str, path: _Path = ()) -> Iterator[tuple[_Path, Estimate]]:
    """Every number of an answer, with the names under which it stands. written: how the numbers of a histogram's column are."""
    if isinstance(found, Estimate):
        yield path, found
    elif isinstance(found, Histogram):
        edges = edges_in_words(found.edges, written)
        for k, e in enumerate(found.counts, 1):
            yield (*path, f"{edges[k - 1]} to {'below ' if k < len(found.counts) else ''}{edges[k]}"), e
    else:
        for name, inner in found.items():
            yield from _flat(inner, written, (*path, str(name)))


def _said(path: _Path, columns: Sequence[str]) -> str:
    """The names in words. Those of several columns each say whose value they are: the groups stand first, as do the rows of a cross-tabulation."""
    return ", ".join(map("{}={}".format, columns, path) if len(columns) > 1 else path)


def _written(question: str, columns: Mapping[str, Column]) -> str:
    """How the numbers of the column are written that is asked about first."""
    asked = Asked.of(question)
    column = columns.get(asked.columns[0]) if asked.columns else None
    return column.written if isinstance(column, Numeric) else "number"


def _in_short(question: str, found: Answer, plan: AskedPlan) -> Iterator[tuple[str, str]]:
    """What of an answer is shown, each with what it is of."""
    asked, columns = Asked.of(question), plan.domain.columns
    of = columns[asked.columns[0]] if asked.kind in RANKS else None
    names, written = plan.named_by(asked), _written(question, columns)
    cells, nothing = list[tuple[_Path, Estimate]](), list[_Path]()
    for first, inner in found.items() if isinstance(found, Mapping) else [("", found)]:
        told = list(_flat(inner, written, (str(first),) if isinstance(found, Mapping) else ()))
        gone = [path for path, e in told if math.isnan(e.value)]
        nothing += [(str(first),)] if len(gone) == len(told) > 1 else gone
        cells += [(path, e) for path, e in told if not math.isnan(e.value)]
    counted = asked.kind in _COUNTED
    empty = {path: e for path, e in cells if counted and e.low <= 0 and not {OTHER, MISSING}.isdisjoint(path)}
    empty = empty if len(empty) > 1 else {}
    yield from (
        (
            _said(path, names),
            between(e) if isinstance(of, Numeric) and says_little(e, of.low, of.high) else str(e),
        )
        for path, e in cells
        if path not in empty
    )
    if empty:
        most = max(empty.values(), key=lambda e: e.high)
        yield some_of([_said(path, names) for path in empty]), not_above_zero(most)
    if nothing:
        yield some_of([_said(path, names) for path in nothing]), str(NOTHING)


def _plain(found: Answer) -> Any:
    if isinstance(found, Estimate):
        numbers = {"value": found.value, "low": found.low, "high": found.high}
        return {name: x if math.isfinite(x) else None for name, x in numbers.items()}
    if isinstance(found, Histogram):
        return {"edges": list(found.edges), "counts": [_plain(e) for e in found.counts]}
    return {name: _plain(inner) for name, inner in found.items()}
