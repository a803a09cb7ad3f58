"""Whether a ledger booked a private draft as a schema or a model states it: its cost, its neighbours, its plan, and all that it says."""

from __future__ import annotations

import re
from collections.abc import Sequence

from prepriv.drafted import CHARGE, Drafted
from prepriv.guarantees.drafts import curve_of
from prepriv.guarantees.guarantee import Guarantee
from prepriv.guarantees.printed import epsilon_at
from prepriv.ledger import Entry, Header, Ledger
from prepriv.ledger.currency import Quanta, cost_in_quanta, short_amount

_STATED = re.compile(r"\bdraft ([0-9a-f]{64})\b")
_FILE = re.compile(r"\bschema ([0-9a-f]{64})\b")
_SLACK = 1  # quanta: another machine can round the last digit otherwise
_SAME = (
    10**4
)  # an earlier version can have computed the same claim to another digit, less than one part in so many
_OTHER = "other bounds or classes"


def draft_note(drafted: Drafted, file: str = "") -> str:
    """What stands beside the hash of what was drafted: that of all that the draft states, and of the file of its schema, if there is one."""
    return f"draft {drafted.stated}" + (f", schema {file}" if file else "")


def schema_files(entries: Sequence[Entry], plan_uid: str) -> set[str]:
    """The hashes of the files that were released as the schema of a draft; none of an earlier version, or of a draft in Python."""
    return {digest for one in _released(entries, plan_uid) for digest in _FILE.findall(one.note)}


def releases_of_file(entries: Sequence[Entry], digest: str) -> list[Entry]:
    """The rows that name this hash as that of the schema file of a draft."""
    return [one for one in entries if one.kind == "released" and digest in _FILE.findall(one.note)]


def in_words_of(drafted: Drafted) -> str:
    """A draft as findings name it."""
    return f"the private draft ({epsilon_at(_claim(drafted).epsilon(drafted.delta), drafted.delta)})"


def not_booked(drafted: Drafted, ledgers: int) -> str:
    """That none of so many ledgers holds the charge of a draft which a file claims beside its run, and which one does."""
    which = "not in this ledger" if ledgers == 1 else "in none of these ledgers"
    return f"{in_words_of(drafted)} is {which}, which can pay for what the run alone claims. {ledger_of(drafted)}"


def ledger_of(drafted: Drafted) -> str:
    """By what the ledger is known to which a draft was charged."""
    if drafted.ledger is None:
        return "The file itself says that no ledger was charged for the draft"
    row, head = drafted.ledger["sequence"], drafted.ledger["head"]
    return f"Give the ledger to which the draft was charged: its receipt there is {row}:{head[:12]}"


def charge_of_draft(entries: Sequence[Entry], drafted: Drafted) -> Entry | None:
    """The row that its receipt names."""
    key = tuple((drafted.ledger or {}).get(name) for name in CHARGE)
    charges = (one for one in entries if one.kind == "charged")
    return next((one for one in charges if (one.plan_uid, one.sequence, one.head) == key), None)


def booked_otherwise(header: Header, entries: Sequence[Entry], drafted: Drafted, who: str) -> list[str]:
    """What the row that paid for a draft says otherwise than the draft, one line each. who: what states it, such as "the model".

    The row has to be there (`charge_of_draft`). Nothing that the draft states is believed: its cost is that of the row.
    """
    row = charge_of_draft(entries, drafted)
    assert row is not None
    if header.unit != "basic":
        return [
            f"row {row.sequence} is of a ledger that adds up {header.unit}, and no draft can be charged to one"
        ]
    wrong, claim, said = list[str](), _claim(drafted), in_words_of(drafted)
    if row.plan_hash != drafted.plan:
        wrong.append(
            f"row {row.sequence} is the charge of a plan that is not the one {who} states of its draft"
        )
    if header.adjacency != drafted.adjacency:
        wrong.append(f"its neighbours are {header.adjacency}, and those of the draft {drafted.adjacency}")
    least = cost_in_quanta("basic", epsilon=claim.epsilon(drafted.delta), delta=drafted.delta)
    cost = row.cost
    if least.main > cost.main + _SLACK or least.delta > cost.delta + _SLACK:
        wrong.append(f"row {row.sequence} booked less than {said} claims")
    if cost.main > least.main + least.main // _SAME + _SLACK or cost.delta > least.delta + _SLACK:
        paid = short_amount(header.unit, Quanta(cost.main, cost.delta))
        wrong.append(
            f"row {row.sequence} booked more ({paid}) than {said} claims: what the draft cost was edited"
        )
    released = _released(entries, row.plan_uid)
    noted = {one.artifact for one in released}
    if noted and noted != {drafted.content}:
        wrong.append(f"row {row.sequence} drafted {_OTHER} than {who} says it did")
    stated = {digest for one in released for digest in _STATED.findall(one.note)}
    if stated and drafted.stated not in stated and not wrong:
        wrong.append(
            f"row {row.sequence} booked a draft that states something else, such as another number of rows, or classes that were not declared: {who} was edited"
        )
    return wrong


def cannot_show(entries: Sequence[Entry], drafted: Drafted) -> list[str]:
    """What the row that paid for a draft leaves open of it, one line each."""
    row = charge_of_draft(entries, drafted)
    assert row is not None
    released = _released(entries, row.plan_uid)
    if not released:
        if drafted.content is None:
            return []
        return [f"what was drafted: the ledger names no hash of it beside row {row.sequence}"]
    if any(_STATED.search(one.note) for one in released):
        return []
    return [
        f"how many rows were drafted, and whether classes were declared: row {row.sequence} is of an earlier version, which booked no hash of that"
    ]


def check_drafts_booked(book: Ledger, drafts: Sequence[Drafted]) -> None:
    """ValueError, before a charge, if this ledger paid for one of these drafts and booked it otherwise."""
    charged = [drafted for drafted in drafts if drafted.ledger is not None]
    if not charged:
        return
    entries = book.entries()
    for drafted in charged:
        told = drafted.ledger or {}
        if charge_of_draft(entries, drafted) is None:
            if any(told["plan_uid"] == one.plan_uid or told["head"] == one.head for one in entries):
                raise ValueError(
                    "drafted: its receipt is not that of the charge which this ledger holds. It was edited: take the schema as it was drafted"
                )
            continue  # of another ledger
        if wrong := booked_otherwise(book.header, entries, drafted, "the schema"):
            raise ValueError(
                f"drafted: {wrong[0]}. Take these lines as they were drafted. Nothing was charged"
            )


def _claim(drafted: Drafted) -> Guarantee:
    mu = None if drafted.leak else drafted.mu
    return Guarantee(curve_of(drafted.mu, drafted.leak), drafted.adjacency, mu=mu, unit=drafted.unit)  # type: ignore[arg-type]


def _released(entries: Sequence[Entry], plan_uid: str) -> list[Entry]:
    return [one for one in entries if (one.kind, one.plan_uid) == ("released", plan_uid)]
