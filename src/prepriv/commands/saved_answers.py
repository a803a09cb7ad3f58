"""What answers, a description, a sketch or a score say about their own charge, beside the ledger. Its hash covers the bytes of a file, and a file that was edited can be released again. docs/learn/auditing.md."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from prepriv._rounding import UP
from prepriv.commands.receipts import in_a_receipt, tells_of_a_draft
from prepriv.commands.saved_claims import ClaimApart, claim_apart
from prepriv.commands.scores import model_of
from prepriv.ledger import Entry, Header
from prepriv.ledger.currency import Quanta, cost_in_quanta, short_amount
from prepriv.ledger.hash_chain import one_of, whose

_ANSWERED = re.compile(r"(?:^|, |`: )(?:questions|description|sketch)\b")  # a person's note stands in front
_SLACK = Quanta(1, 1)  # another machine can round the last digit otherwise


def states_otherwise(
    file: Path, data: Mapping[str, Any], header: Header, rows: Sequence[Entry]
) -> ClaimApart:
    """Where a file of answers, or a score, states a charge or a claim that is not the one that its ledger booked; nothing where its receipt is not in this ledger. data: what it holds."""
    told = data.get("ledger")
    told = told if isinstance(told, Mapping) else {}
    key = tuple(told.get(name) for name in ("plan_uid", "sequence", "head"))
    row = next((one for one in rows if (one.plan_uid, one.sequence, one.head) == key), None)
    is_answered = row is not None and _ANSWERED.search(row.note.split(" | ")[0])
    if row is None or not (is_answered or model_of(row)):
        return ClaimApart()
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
    found = ClaimApart()
    if _states_less(claim, header, row):
        wrong.append(
            f"it states less than row {row.sequence} paid for it ({short_amount(header.unit, row.cost)})"
        )
    elif is_answered and ("claims" in data or not tells_of_a_draft(data)):
        found = claim_apart(file, data, header, row)
    return ClaimApart(wrong + found.wrong, found.undecided)


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
