"""What answers, a description, a sketch or a score say about their own charge, beside the ledger. Its hash covers the bytes of a file, and a file that was edited can be released again. docs/learn/auditing.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from prepriv._rounding import UP
from prepriv._text import printable
from prepriv._version import own_version
from prepriv.commands.charged import kinds_charged
from prepriv.commands.receipts import NOTED_AS, in_a_receipt, tells_of_a_draft, what_it_holds
from prepriv.commands.saved_claims import ClaimApart, claim_apart
from prepriv.commands.scores import model_of
from prepriv.ledger import Entry, Header
from prepriv.ledger.currency import Quanta, cost_in_quanta, short_amount
from prepriv.ledger.hash_chain import one_of, whose

_EVALUATE = "evaluate"
_OF_NO_KIND = "what it states was not compared: it is none of the files that prepriv writes beside a model"
_NOTED_OTHERWISE = 'row {row} of its ledger is not noted as a charge for {what}: "{word}" does not stand in its note ("{note}"), so someone else wrote that row'
_OF_NO_MODEL = "whose score it is was not compared: row {row} of its ledger names no model"
_OF_ALL = {
    "guarantee",
    "promise",
    "plan_hash",
    "notes",
    "n",
    "version",
    "claims",
    "ledger",
    "one_row_of_each",
}
_OF_KIND = {
    "questions": {"releases", "bounds", "interval", "named_by", "answers"},
    "description": {"rows", "columns", "correlations", "by", "groups", "differences"},
    "sketch": {"what", "check", "sketch", "drawn"},
}
_OF_RECEIPT = {"plan_uid", "sequence", "head", "dataset", "cap", "total"}
_MOST_NAMED = 5
_UNKNOWN = "it states what no file of prepriv does: {names}"
_SLACK = Quanta(1, 1)  # another machine can round the last digit otherwise


def states_otherwise(
    file: Path, data: Mapping[str, Any], header: Header, rows: Sequence[Entry]
) -> ClaimApart:
    """Where a file of answers, or a score, states a charge or a claim that is not the one that its ledger booked; nothing where its receipt is not in this ledger. data: what it holds."""
    told = data.get("ledger")
    told = told if isinstance(told, Mapping) else {}
    key = tuple(told.get(name) for name in ("plan_uid", "sequence", "head"))
    row = next((one for one in rows if (one.plan_uid, one.sequence, one.head) == key), None)
    if row is None:
        return ClaimApart()
    what = what_it_holds(file, data)  # by the file itself: a note can be written again with its ledger
    if not what:
        return ClaimApart(undecided=[_OF_NO_KIND])
    word = NOTED_AS[what]
    claim = data.get("guarantee")
    claim = claim if isinstance(claim, Mapping) else {}
    stated = {
        "plan": (data.get("plan_hash"), row.plan_hash),
        "neighbours": (claim.get("adjacency"), header.adjacency),
        "unit": (one_of(claim.get("unit")), whose(row.note)),
        **{name: (told.get(key), true) for key, (name, true) in in_a_receipt(header, row).items()},
    }
    if header.unit == "basic":
        stated["delta"] = claim.get("delta"), _delta(claim.get("delta"), row, header)
    wrong = [
        f"the {name} that it states ({said}) is not that of row {row.sequence} of its ledger ({true})"
        for name, (said, true) in stated.items()
        if said != true
    ]
    if word not in kinds_charged(row):
        wrong.append(
            _NOTED_OTHERWISE.format(row=row.sequence, note=printable(row.note), word=word, what=what)
        )
    found = ClaimApart()
    if _states_less(claim, header, row):
        wrong.append(
            f"it states less than row {row.sequence} paid for it ({short_amount(header.unit, row.cost)})"
        )
    elif word == _EVALUATE:
        found.undecided += [] if model_of(row) else [_OF_NO_MODEL.format(row=row.sequence)]
    elif "claims" in data or not tells_of_a_draft(data):
        found = claim_apart(file, data, header, row)
    if word != _EVALUATE and (unknown := _unknown(data, word)):
        (wrong if data.get("version") == own_version() else found.undecided).append(unknown)
    return ClaimApart(wrong + found.wrong, found.undecided)


def _unknown(data: Mapping[str, Any], word: str) -> str:
    """Which names no file of its kind has: a claim beside the true one, say; "" where there are none."""
    held = data.keys() - _OF_ALL - _OF_KIND[word]
    named = sorted(held) + [f"ledger.{name}" for name in sorted(data["ledger"].keys() - _OF_RECEIPT)]
    listed = ", ".join(printable(str(name)) for name in named[:_MOST_NAMED])
    more = f" and {len(named) - _MOST_NAMED} more" if len(named) > _MOST_NAMED else ""
    return _UNKNOWN.format(names=f"{listed}{more}") if named else ""


def _delta(stated: Any, row: Entry, header: Header) -> Any:
    """What is stated, where it is the δ that was charged, as a ledger counts it."""
    with_it = _quanta({"epsilon": 1.0, "delta": stated, "mu": None}, header)
    same = with_it is not None and abs(with_it.delta - row.cost.delta) <= _SLACK.delta
    return stated if same else float(row.cost.delta) / 10**18


def _states_less(claim: Mapping[str, Any], header: Header, row: Entry) -> bool:
    """Whether a claim, with private drafts or without, is below what was charged for the file alone."""
    cost = _quanta(claim, header)
    return cost is None or not row.cost.fits(cost + _SLACK)


def _quanta(claim: Mapping[str, Any], header: Header) -> Quanta | None:
    """What a claim costs in the currency of a ledger; None of one that states no such amount."""
    stated = {name: claim.get(name) for name in ("epsilon", "delta", "mu")}
    amounts = {name: value if type(value) in (int, float) else None for name, value in stated.items()}
    mu = amounts["mu"]
    try:
        return cost_in_quanta(header.unit, **amounts, rho=None if mu is None else mu * mu / 2 * UP)
    except ValueError:
        return None
