"""Whether a ledger paid for a released model: for this very plan, its cost, its unit and its periods. docs/learn/auditing.md."""

from __future__ import annotations

import hashlib
import re

from prepriv._rounding import UP
from prepriv.drafted import Drafted
from prepriv.evaluation.holdout import Holdout, HoldoutPlan
from prepriv.evaluation.result import PrivateEvaluation
from prepriv.guarantees.drafts import of_draft
from prepriv.guarantees.guarantee import Guarantee
from prepriv.guarantees.printed import exact, up
from prepriv.ledger import Entry, Header, Ledger
from prepriv.ledger.currency import Quanta, amount_in_words, cost_in_quanta
from prepriv.ledger.hash_chain import whose
from prepriv.plans.plan import Plan
from prepriv.release.model import Model
from prepriv.release.report import Report

_SLACK = Quanta(1, 1)  # another machine can round the last digit otherwise
_HELD_OUT = re.compile(r"\bhold out ([0-9.e-]+), evaluate: ")
_MEASURED = re.compile(r"\bhold out [0-9.e-]+, (evaluate: .*?), train\b")
_DRAFT = re.compile(r"\bschema draft\b")  # in the note of its charge


def charge_problems(
    place: str, model: Model, artifact: bytes, page: Report | None = None
) -> tuple[list[str], list[str]]:
    """What a ledger says otherwise than a model, one line each, none if it paid for it; and what it cannot show.

    artifact: the bytes of the model's file. page: the verified report, whose measurement is compared with the charge, too. Raises LedgerError for a ledger that cannot be read, or is not sound.
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
        wrong.append(f"row {entry.sequence} paid for a file that is not this model")
    unchecked = [] if noted else ["that the charge paid for this file: the ledger names no artifact of it"]
    if entry.plan_hash != model.declared.hash:
        # a holdout or a choice is charged as a whole, of which the model holds a part, and the page the rest
        whole = None if page is None else _of_both(model, page, entry)
        if whole is None or whole.hash != entry.plan_hash:
            unchecked.append(
                f"that the plan of row {entry.sequence} has the model's as its part ({entry.note})"
            )
        if page is not None:
            other, asked = _other_measurement(page, entry)
            wrong += other
            unchecked += asked
        if not noted:
            wrong.append(f"row {entry.sequence} is the charge of another plan, and names no artifact")
    found = [*entries.values()]
    return [*wrong, *_drafts(book.header, found, model)], [*unchecked, *_other_drafts(found, model)]


def told_of_charge(place: str, model: Model) -> list[str]:
    """Of a model that a ledger paid for: the day of the charge, and what is left of the cap now."""
    assert model.receipt is not None
    book = Ledger.open(place)
    rows = book.entries()
    row = next(entry for entry in rows if entry.sequence == model.receipt["sequence"])
    later = sum(entry.kind == "charged" and entry.sequence > row.sequence for entry in rows)
    more = f"{later:,} charge{'' if later == 1 else 's'} came later" if later else "no charge came later"
    lines = [
        f'row {row.sequence} of the data set "{book.header.dataset_id}" was charged on {row.day} (UTC); {more}'
    ]
    if not book.header.periods:
        left = Quanta(
            max(0, book.header.cap.main - rows[-1].spent.main),
            max(0, book.header.cap.delta - rows[-1].spent.delta),
        )
        cap, now = (amount_in_words(book.header.unit, one) for one in (book.header.cap, left))
        lines.append(f"left of its cap ({cap}) now: {now}")
    return lines


def _of_both(model: Model, page: Report, entry: Entry) -> HoldoutPlan | None:
    """The plan of training and measurement that a model and its page state, with the share that the charge names."""
    share = _HELD_OUT.search(entry.note)
    if share is None or not isinstance(page.measured, PrivateEvaluation):
        return None
    evaluation = page.measured.plan
    return HoldoutPlan(model.declared, evaluation, Holdout(float(share[1])), model.declared.n + evaluation.n)


def _other_measurement(page: Report, entry: Entry) -> tuple[list[str], list[str]]:
    """What was charged to be measured and stands on no page, or otherwise; and what cannot be known of it."""
    charged = _MEASURED.search(entry.note)
    if charged is None:
        return [], []
    if page.measured is None:
        return [], [
            f"why the page shows no score: row {entry.sequence} paid for one ({charged[1]}). Ask for the page with it"
        ]
    if isinstance(page.measured, PrivateEvaluation) and page.measured.plan.what != charged[1]:
        return [
            f"row {entry.sequence} paid to {charged[1]}, and the page shows {page.measured.plan.what}"
        ], []
    return [], []


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
