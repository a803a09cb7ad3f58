"""Whether a ledger paid for a released model: for this very plan, its cost, its unit and its periods. docs/learn/auditing.md."""

from __future__ import annotations

import hashlib
import re

from prepriv._rounding import UP
from prepriv.drafted import Drafted
from prepriv.guarantees.drafts import of_draft
from prepriv.guarantees.guarantee import Guarantee
from prepriv.guarantees.printed import exact, up
from prepriv.ledger import Entry, Header, Ledger
from prepriv.ledger.currency import Quanta, cost_in_quanta
from prepriv.ledger.hash_chain import whose
from prepriv.plans.plan import Plan
from prepriv.release.model import Model

_SLACK = Quanta(1, 1)  # another machine can round the last digit otherwise
_DRAFT = re.compile(r"\bschema draft\b")  # in the note of its charge


def charge_problems(place: str, model: Model, artifact: bytes) -> tuple[list[str], list[str]]:
    """What a ledger says otherwise than a model, one line each, none if it paid for it; and what it cannot show.

    artifact: the bytes of the model's file. Raises LedgerError for a ledger that cannot be read, or is not sound.
    """
    if model.receipt is None:
        return ["the model holds no receipt: it says itself that no ledger was charged for it"], []
    book = Ledger.open(place)
    entries = {entry.sequence: entry for entry in book.entries()}
    entry = entries.get(model.receipt["sequence"])
    if entry is None or entry.head != model.receipt["head"]:
        return ["the receipt of the model is not in this ledger"], []
    uid = model.receipt["plan_uid"]
    if (entry.kind, entry.plan_uid) != ("charged", uid):
        return [f"row {entry.sequence} is not the charge of this run"], []
    rows = [one for one in entries.values() if one.plan_uid == uid]
    charged = [one for one in rows if one.kind == "charged"]
    wrong = _of_another_claim(book.header, charged, model)
    noted = {one.artifact for one in rows if one.kind == "released"}
    if noted and noted != {hashlib.sha256(artifact).hexdigest()}:
        wrong.append(f"row {entry.sequence} paid for another file than this model")
    unchecked = [] if noted else ["that the charge paid for this file: the ledger names no artifact of it"]
    if entry.plan_hash != model.declared.hash:
        # a holdout or a choice is charged as a whole, of which the model holds a part
        unchecked.append(f"that the plan of row {entry.sequence} has the model's as its part ({entry.note})")
        if not noted:
            wrong.append(f"row {entry.sequence} is the charge of another plan, and names no artifact")
    found = [*entries.values()]
    return [*wrong, *_drafts(book.header, found, model)], [*unchecked, *_other_drafts(found, model)]


def _drafts(header: Header, entries: list[Entry], model: Model) -> list[str]:
    """What the ledger did not pay of the drafts that a model claims beside its run, one line each."""
    wrong, domain = [], model.declared.domain
    for drafted in domain.drafts:
        claim = of_draft(drafted, domain)
        said = f"the private draft (ε = {up(claim.epsilon(drafted.delta))} at δ = {exact(drafted.delta)})"
        row = next((entry for entry in entries if _is_charge_of(entry, drafted)), None)
        if row is None:
            wrong.append(f"{said} is not in this ledger, which can pay for what the run alone claims")
        elif header.unit == "basic" and not _least(header, claim, drafted.delta).fits(row.cost + _SLACK):
            wrong.append(f"row {row.sequence} booked less than {said} claims")
    return wrong


def _is_charge_of(entry: Entry, drafted: Drafted) -> bool:
    receipt = drafted.ledger or {}
    same = (entry.sequence, entry.head, entry.plan_uid) == tuple(
        receipt.get(key) for key in ("sequence", "head", "plan_uid")
    )
    return same and (entry.kind, entry.plan_hash) == ("charged", drafted.plan)


def _other_drafts(entries: list[Entry], model: Model) -> list[str]:
    """Schema drafts of the data set that the model does not claim: it may have used them all the same."""
    claimed = {(drafted.ledger or {}).get("plan_uid") for drafted in model.declared.domain.drafts}
    return [
        f"that the bounds and classes do not come from the schema draft of row {entry.sequence}, which the model does not "
        "claim: ask the curator"
        for entry in entries
        if entry.kind == "charged" and _DRAFT.search(entry.note) and entry.plan_uid not in claimed
    ]


def _of_another_claim(header: Header, charged: list[Entry], model: Model) -> list[str]:
    plan, claim = model.declared, model.part
    if claim is None:
        return ["nothing is claimed of the model, and a ledger holds no such run"]
    wrong = []
    if header.adjacency != claim.adjacency:
        wrong.append(f"its neighbours are {header.adjacency}, and those of the model {claim.adjacency}")
    unit = "one record" if claim.unit is None else f"one `{claim.unit}`"
    if any(whose(entry.note) != unit for entry in charged):
        wrong.append(f"its charge is of {whose(charged[0].note)}, and the claim of {unit}")
    scheme, read = _periods(plan)
    if (header.periods, sorted(entry.period for entry in charged)) != (scheme, sorted(read)):
        wrong.append("it was charged on other periods than those whose rows the model was trained on")
    if header.unit != "basic" and claim.mu is None:
        return [*wrong, f"it counts {header.unit}, and the claim of the model has none"]
    least = _least(header, claim, plan.delta)
    if any(not least.fits(entry.cost + _SLACK) for entry in charged):
        wrong.append("it booked less than the model claims")
    return wrong


def _least(header: Header, claim: Guarantee, delta: float) -> Quanta:
    """What a claim costs in the currency of a ledger."""
    mu = claim.mu
    return cost_in_quanta(
        header.unit,
        epsilon=claim.epsilon(delta),
        delta=delta,
        mu=mu,
        rho=None if mu is None else mu * mu / 2 * UP,
    )


def _periods(plan: Plan) -> tuple[str, tuple[str, ...]]:
    return ("", ("",)) if plan.periods is None else (plan.periods.scheme, plan.periods.read)
