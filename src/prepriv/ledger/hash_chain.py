"""The SHA-256 hash chain over the rows of a ledger, and the rules each row must keep.

head_0 = H(header), head_k = H(head_{k-1}, row k), H the SHA-256 of a canonical JSON list. A head therefore
fixes the caps and every row before it: whoever holds a (sequence, head) from an artifact can tell whether
the ledger still contains the past in which that artifact was made.

The day of a row is outside the hash: heads go into artifacts, which must not depend on the time of a run.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from prepriv.ledger.currency import Currency, Quanta
from prepriv.ledger.sql_schema import (
    BY_PERIOD,
    CHOICES,
    KINDS,
    OF_PERIODS,
    PATTERNS,
    RANGES,
    VERSION,
    malformed,
)

_CONDITIONS = "holds if "
_MOST_WHAT = 90
_WHOSE = re.compile(
    r"one `([^`]+)`: "
)  # in front of what was charged, where a charge is of units of several rows
_SCHEME = re.compile(r"(month|year) of `[^`]+`")
_BEHIND = " | "  # between what was charged and what it rests on


@dataclass(frozen=True)
class Header:
    """What is fixed when a ledger is created.

    Parameters
    ----------
    dataset_id : str
        The declared name of the data set.
    adjacency : {"replace-one", "add-or-remove-one"}
        The neighbours that every charge refers to.
    unit : {"basic", "zcdp", "gdp"}
        What is added up.
    cap : Quanta
        The most that everything may cost together, or with periods, the most that each period may cost.
    periods : str, default ""
        Which periods have their own budgets, as in "month of `visited`". Empty: the data set has one budget.

    Examples
    --------
    >>> import tempfile
    >>> from prepriv.ledger import Ledger
    >>> Ledger.create(f"{tempfile.mkdtemp()}/L.db", "census", mu=1.0, unit="gdp").header.unit
    'gdp'
    """

    dataset_id: str
    adjacency: str
    unit: Currency
    cap: Quanta
    periods: str = ""

    @property
    def genesis(self) -> str:
        """The head of the empty ledger."""
        return _digest(
            "prepriv-ledger",
            BY_PERIOD if self.periods else VERSION,
            self.dataset_id,
            self.adjacency,
            self.unit,
            self.cap.main,
            self.cap.delta,
            *([self.periods] if self.periods else []),
        )

    @property
    def dataset(self) -> str:
        """The name of the data set, without what two names of one data set differ in: spaces and capitals."""
        return " ".join(self.dataset_id.split()).casefold()

    def has(self, period: str) -> bool:
        """Whether this is the name of one of its periods: "2026-11" for a month, "2026" for a year, "" without periods."""
        length = {"month": 7, "year": 4}.get(self.periods.partition(" ")[0], 0)
        return len(period) == length and not malformed({"period": period})


def condition_note(
    conditions: Sequence[str],
    remarks: Sequence[str] = (),
    what: str = "",
    unit: str | None = None,
    note: str = "",
) -> str:
    """Make the note, of at most 200 characters, of a charge whose cost rests on declared conditions.

    Parameters
    ----------
    conditions : sequence of str
        The conditions. As many whole ones as fit are written, and how many more there are. Half a condition could say
        less than was meant.
    remarks : sequence of str, default ()
        Remarks on the claim. They come after the conditions if they fit. Otherwise the note says that there are some.
    what : str, default ""
        What was charged: a list with commas, in front of the conditions. As many whole parts are kept as fit into 90
        characters.
    unit : str, optional
        The column that says whose row it is, if the cost is for units (`whose`). It comes first, in full, and counts
        towards the 90 characters. None: the cost is for records.
    note : str, default ""
        A person's note (`Noted`), in front of `what`. It is shortened before the first part of `what` is, because
        that part identifies a charge.

    Returns
    -------
    str

    Examples
    --------
    >>> from prepriv.ledger import condition_note
    >>> "at most 2 % miss a cell" in condition_note(["at most 2 % miss a cell"], what="train: MeanImputer")
    True
    """
    mark = "" if unit is None else f"one `{unit}`: "
    what, room = _printable(what), _MOST_WHAT - len(mark)
    if note:
        kind = len(what.split(",")[0]) + len(", , ...")
        what = f"{_printable(note)[: max(room - kind, 8)].rstrip()}, {what}"
    if len(what) > room:
        what = (what[: room - 4].rpartition(",")[0] or what[: room - 5]) + ", ..."
    what = mark + what
    most = 200 - (len(what) + len(_BEHIND) if what else 0)
    if not remarks:
        note = _as_many(_CONDITIONS, conditions, most)
    else:
        heads = [remark.split(";")[0] for remark in remarks]
        note = _as_many(_CONDITIONS, conditions, most - 2 - len(_as_many("", heads, 40)))
        note = "; ".join(part for part in (note, _as_many("", heads, most - 2 - len(note))) if part)
    return _BEHIND.join(part for part in (what, note) if part)


def whose(note: str) -> str:
    """Of whom the amounts of a charge with this note are: one record, or one unit (`prepriv.domain.Domain.unit`)."""
    return one_of(unit_in_note(note))


def unit_in_note(note: str) -> str | None:
    """The unit of which the amounts of a charge with this note are; None: of single records."""
    found = _WHOSE.match(note)
    return None if found is None else found[1]


def one_of(unit: str | None) -> str:
    """One unit, or one record, in words."""
    return "one record" if unit is None else f"one `{unit}`"


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else " " for c in text)


def _as_many(head: str, sentences: Sequence[str], most: int) -> str:
    texts = [_printable(sentence) for sentence in sentences]
    for kept in range(len(texts), -1, -1):
        rest = len(texts) - kept
        said = texts[:kept] + ([f"{rest} {'more' if kept else 'in all'}: see the report"] if rest else [])
        if len(note := head + "; ".join(said)) <= most:
            return note if texts else ""
    raise AssertionError("no sentence fits")


@dataclass(frozen=True)
class Entry:
    """One row of a ledger.

    Parameters
    ----------
    sequence : int
        Its number, from 1.
    kind : {"charged", "released"}
        "charged": the run plan_uid may read the data. "released": artifact was published.
    plan_uid : str
        Which run of the plan it is.
    plan_hash : str
        SHA-256 of the plan.
    cost, spent : Quanta
        The cost of this row, and the total after it, in quanta of the ledger's unit (currency.py).
    artifact : str
        SHA-256 of what was published.
    note : str
        What was charged, and under which conditions.
    previous, head : str
        The head of the hash chain before and after the row.
    day : str
        The UTC date on which a charge was booked. A release has the date of the row before it, because the time
        between the two is the run time, which can depend on the data.
    period : str, default ""
        In a ledger by periods: the period that is charged. A charge of several periods is one row per period, all
        with the same plan_uid.

    Examples
    --------
    >>> import tempfile
    >>> from prepriv.ledger import Ledger
    >>> ledger = Ledger.create(f"{tempfile.mkdtemp()}/L.db", "census", epsilon=1.0, delta=1e-6)
    >>> charge = ledger.charge("run-1", "0" * 64, epsilon=0.5, delta=0, adjacency="replace-one")
    >>> [(entry.sequence, entry.kind) for entry in ledger.entries()]
    [(1, 'charged')]
    """

    sequence: int
    kind: str
    plan_uid: str
    plan_hash: str
    cost: Quanta
    spent: Quanta
    artifact: str
    note: str
    previous: str
    head: str
    day: str
    period: str = ""

    @property
    def conditional(self) -> bool:
        """Whether the cost holds only for neighbours that satisfy declared conditions (`condition_note`)."""
        return any(part.startswith(_CONDITIONS) for part in self.note.split(_BEHIND))

    def digest(self) -> str:
        """The hash that `head` must be."""
        return _digest(
            self.previous,
            self.sequence,
            self.kind,
            self.plan_uid,
            self.plan_hash,
            [self.cost.main, self.cost.delta],
            [self.spent.main, self.spent.delta],
            self.artifact,
            self.note,
            *([self.period] if self.period else []),
        )


@dataclass(frozen=True)
class Tail:
    """The verified end of a chain: what the next row has to continue. `day` is "" before the first row."""

    sequence: int
    head: str
    spent: Quanta
    day: str

    @classmethod
    def start(cls, header: Header) -> Tail:
        """The tail of the empty ledger."""
        return cls(0, header.genesis, Quanta(0), "")

    @classmethod
    def after(cls, entry: Entry) -> Tail:
        """The tail that ends in `entry`."""
        return cls(entry.sequence, entry.head, entry.spent, entry.day)


def extend(
    tail: Tail,
    kind: str,
    plan_uid: str,
    plan_hash: str,
    *,
    day: str,
    cost: Quanta = Quanta(0),  # noqa: B008 (frozen)
    artifact: str = "",
    note: str = "",
    period: str = "",
) -> Entry:
    """The row that continues `tail`, whose total is of its period."""
    entry = Entry(
        sequence=tail.sequence + 1,
        kind=kind,
        plan_uid=plan_uid,
        plan_hash=plan_hash,
        cost=cost,
        spent=tail.spent + cost,
        artifact=artifact,
        note=note,
        previous=tail.head,
        head="",
        day=day,
        period=period,
    )
    return replace(entry, head=entry.digest())


def check_entry(header: Header, tail: Tail, entry: Entry) -> list[str]:
    """What is wrong with `entry` as the row after `tail`, whose total is of its period, in words; empty if nothing is."""
    kind_ok = entry.kind in KINDS and (entry.cost == Quanta(0)) == (entry.kind == "released")
    checks = {
        "its sequence number has a gap before it": entry.sequence == tail.sequence + 1,
        "it does not continue the hash chain": entry.previous == tail.head,
        "its content does not match its hash": entry.head == entry.digest(),
        "its kind and cost do not belong together": kind_ok and min(entry.cost.main, entry.cost.delta) >= 0,
        "its totals do not add up": entry.spent == tail.spent + entry.cost,
        "its totals exceed the cap": entry.spent.fits(header.cap),
        "it is dated before the row above it": tail.day <= entry.day,
        "its period is not one of the ledger's": header.has(entry.period),
    }
    wrong = [what for what, holds in checks.items() if not holds]
    texts = {name: getattr(entry, name) for name in ("note", *PATTERNS) if name != "genesis"}
    wrong += [f"its {name} is not one that a charge can have" for name in malformed(texts)]
    return [f"row {entry.sequence}: {what}" for what in wrong]


def check_header(header: Header) -> list[str]:
    """What is wrong with the header of a ledger, in words; empty if nothing is."""
    texts = {
        "dataset_id": header.dataset_id,
        **{name: getattr(header, name) for name in CHOICES if name != "kind"},
    }
    amounts = {"cap": header.cap.main, "cap_delta": header.cap.delta}
    wrong = malformed(texts)
    if header.periods and not (is_scheme(header.periods) and header.adjacency == OF_PERIODS):
        wrong.append("periods")
    wrong += [name for name, x in amounts.items() if not RANGES[name][0] <= x <= RANGES[name][1]]
    return [f"the header's {name} is not one that a ledger can have" for name in wrong]


def is_scheme(periods: str) -> bool:
    """Whether a ledger can have a budget for each of these periods."""
    return not malformed({"periods": periods}) and _SCHEME.fullmatch(periods) is not None


def check_whose(entries: Sequence[Entry]) -> list[str]:
    """Whether all charges are of the same: those of one record and of one unit do not add."""
    charged = [entry for entry in entries if entry.kind == "charged"]
    return [
        f"row {entry.sequence}: it is of {whose(entry.note)}, and the first charge of {whose(charged[0].note)}: they do not add"
        for entry in charged
        if whose(entry.note) != whose(charged[0].note)
    ]


def _digest(*fields: object) -> str:
    return hashlib.sha256(json.dumps(fields, separators=(",", ":")).encode()).hexdigest()
