"""The whole claim where the domain itself was drafted on private records: draft and training add up."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, overload

from prepriv._rounding import FAR_DOWN, FAR_UP
from prepriv.domain import Domain
from prepriv.drafted import Drafted, declared_rows
from prepriv.guarantees.families import approximate_dp, gaussian
from prepriv.guarantees.gaussian import gdp_mu
from prepriv.guarantees.guarantee import Guarantee
from prepriv.guarantees.notes import notes_on
from prepriv.guarantees.printed import epsilon_at, exact, up
from prepriv.guarantees.tradeoff import TradeoffFunction

FIXED = "holds only if epsilon and delta were chosen before anyone saw the draft: ask whoever ran it"
"""The premise of adaptive composition: of a claim that was chosen after seeing the draft there is none."""
IN_ALL = "in all: "
"""How the note of a claim begins that includes a draft."""
LEAK = 0.25  # of delta, where values that nobody declared are released
_CLOSE = 1 - 1e-6  # how much less than its whole budget a draft can spend: `price` leaves 1e-9 of µ unspent


def curve_of(mu: float, leak: float) -> TradeoffFunction:
    """Of Gaussian releases, mu-GDP together, and a chance `leak` that a value of one record alone is seen."""
    return gaussian(mu).compose(approximate_dp(0.0, leak)) if leak else gaussian(mu)


def of_draft(drafted: Drafted, domain: Domain) -> Guarantee:
    """The claim of a draft of this domain, computed from its events. ValueError where it spends more than it states, or less.

    A draft spends all of its ε and δ: `price` derives µ and the leak from them. So the numbers that a schema states are not believed.
    """
    leak, most = leak_and_mu(drafted.epsilon, drafted.delta)
    curve, mu = curve_of(drafted.mu, drafted.leak), None if drafted.leak else drafted.mu
    rows = declared_rows(drafted.source, domain.unit)
    made = Guarantee(curve, domain.adjacency, rows, mu=mu, unit=domain.unit)
    if not made.epsilon(drafted.delta) <= drafted.epsilon:
        raise ValueError("drafted: the draft spends more than the budget it states")
    if drafted.mu < most * _CLOSE or drafted.leak < leak * FAR_DOWN:
        raise ValueError(
            f"drafted: a draft spends all of its budget, and ε = {exact(drafted.epsilon)} at δ = {exact(drafted.delta)} gives mu {exact(most)} and leak "
            f"{exact(leak)}. The file states mu {exact(drafted.mu)} and leak {exact(drafted.leak)}: one of these lines was edited"
        )
    return made


def leak_and_mu(epsilon: float, delta: float) -> tuple[float, float]:
    """What a budget gives a draft: the chance that a lone value is seen, and µ of all Gaussian releases together."""
    leak = LEAK * delta
    return leak, gdp_mu(epsilon, (delta - leak) / (1 - leak))


def check_drafts(domain: Domain, delta: float) -> None:
    """ValueError, before anything is charged, if no claim at delta can hold the drafts of a domain."""
    leak = sum(drafted.leak for drafted in domain.drafts)
    for drafted in domain.drafts:
        of_draft(drafted, domain)
    if domain.drafts and not delta > leak * FAR_UP:
        raise ValueError(
            f"delta must be above {up(leak)}, the chance that the draft of this domain showed a value of one record "
            f"alone; got {exact(delta)}"
        )


@overload
def with_drafts(part: Guarantee, domain: Domain, delta: float, n: int) -> Guarantee: ...
@overload
def with_drafts(part: Guarantee | None, domain: Domain, delta: float, n: int) -> Guarantee | None: ...
def with_drafts(part: Guarantee | None, domain: Domain, delta: float, n: int) -> Guarantee | None:
    """What holds for the drafts of a domain and for `part`, which used it, together; `part` itself where it was declared.

    Adaptive composition, as of any two runs on the same people. A note says what part and drafts are.
    """
    if part is None or not domain.drafts:
        return part
    whole = part.compose(*(of_draft(drafted, domain) for drafted in domain.drafts))
    kept = tuple(note for note in part.notes if not note.startswith("weak:"))
    weak = notes_on(whole.epsilon(delta), delta, n, math.inf)  # of a model its part has said enough
    return replace(whole, notes=(in_all(part, domain, delta), FIXED, *kept, *weak))


def claims(part: Guarantee | None, domain: Domain, delta: float) -> dict[str, Any] | None:
    """What a claim adds up, as plain data: "this run" and each of the "drafts"; None of a domain that was declared."""
    if part is None or not domain.drafts:
        return None
    drafts = [d.to_json() | {"guarantee": of_draft(d, domain).to_json(d.delta)} for d in domain.drafts]
    return {"this run": part.to_json(delta), "drafts": drafts}


def drafts_cost(domain: Domain) -> str:
    """What the drafts of a domain cost, in words."""
    drafts = " and ".join(
        f"{epsilon_at(of_draft(d, domain).epsilon(d.delta), d.delta)} over {d.rows:,} {_counted(d)}"
        + ("" if d.ledger is None else f" (charge {d.ledger['sequence']} of a ledger)")
        for d in domain.drafts
    )
    return f"the private draft of its {what_was_drafted(domain)}, {drafts}"


def what_was_drafted(domain: Domain) -> str:
    """What a draft of this domain released: without classes where its user declared them, and for a regression."""
    declared = all(drafted.declared_label for drafted in domain.drafts)
    return (
        "bounds and categories" if declared or domain.target is not None else "bounds, categories and classes"
    )


def _counted(drafted: Drafted) -> str:
    return "records" if drafted.unit is None else f"units by {drafted.unit!r}"


def in_all(part: Guarantee, domain: Domain, delta: float) -> str:
    """Part, drafts and what their sum claims: the first note of a claim that includes a draft."""
    return f"{IN_ALL}{epsilon_at(part.epsilon(delta), delta)} of this run, and {drafts_cost(domain)}; both may read the same people, so the total counts both. It is computed from the noise of each, and need not be the sum of the two ε"
