"""What a run without a ledger does not know: which other runs read the same people. Said before its rows are read."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from prepriv.commands.exits import say
from prepriv.domain import Domain
from prepriv.guarantees.algebra import then
from prepriv.guarantees.drafts import drafts_cost, with_drafts
from prepriv.guarantees.guarantee import Guarantee
from prepriv.guarantees.printed import epsilon_at
from prepriv.ledger import Ledger, LedgerError
from prepriv.release.model import FILE, BadArtifact, Model

_MOST = 50  # models that are looked at


def say_drafted(domain: Domain, ledger: str | os.PathLike[str] | None, *, others: bool = False) -> None:
    """Of a run on a domain whose private draft was charged elsewhere than this run is: no cap holds for both.

    others: whether its rows are usually of other people, as test rows are.
    """
    charges = [str(drafted.ledger["sequence"]) for drafted in domain.drafts if drafted.ledger is not None]
    if ledger is not None:
        _say_missing(domain, ledger)
    elif charges:
        say(
            f"this schema was drafted with a ledger (charge {', '.join(charges)}), and this run has none, so that ledger does not "
            "count it: "
            + (
                "if these rows may hold people of the drafted table, give --ledger, and one cap holds for both. A table of other people has "
                "a ledger of its own"
                if others
                else "give --ledger, and one cap holds for both"
            ),
            err=True,
        )


def _say_missing(domain: Domain, ledger: str | os.PathLike[str]) -> None:
    if not domain.drafts:
        return
    with suppress(LedgerError):  # the charge says what is wrong with it
        held = {(entry.plan_uid, entry.sequence) for entry in Ledger.open(ledger).entries()}
        missing = [d for d in domain.drafts if d.ledger is None or _charge(d.ledger) not in held]
        if missing:
            say(
                f"this ledger does not hold {drafts_cost(replace(domain, drafts=tuple(missing)))}: the report adds it to what this "
                "run claims, and the cap of this ledger does not",
                err=True,
            )


def _charge(receipt: Mapping[str, Any]) -> tuple[str, int]:
    return receipt["plan_uid"], receipt["sequence"]


def say_earlier(out: Path, domain: Domain, made: Guarantee | None, delta: float, n: int) -> None:
    """Of a run without a ledger: the private models of the same columns that lie in its folder, or beside it."""
    found = earlier(out, domain) if made is not None else []
    if made is None or not found:
        return
    parts = [model.part for model in found if model.part is not None]
    delta = max([delta, *(model.declared.delta for model in found)])
    many = (
        f"There is an earlier private model of this table next to {out}. If both"
        if len(found) == 1
        else f"There are {len(found)} earlier private models of this table next to {out}. If all"
    )
    drafts = list(domain.drafts)
    for model in found:
        drafts += [drafted for drafted in model.domain.drafts if drafted not in drafts]
    try:
        whole = with_drafts(then([*parts, made]), replace(domain, drafts=tuple(drafts)), delta, n)
        total = f"they cost {epsilon_at(math.inf if whole is None else whole.epsilon(delta), delta)}"
        if whole is not None and whole.conditions:
            total += f", if {' and '.join(whole.conditions)}"
    except ValueError:  # delta is too small for what is composed
        total = "they cost the sum of what each claims"
    say(
        f"{many} used the same people, together {total}. Other measurements and descriptions are not included. Give --ledger, and one "
        "cap holds for all of them",
        err=True,
    )


def earlier(out: Path, domain: Domain) -> Sequence[Model]:
    """The private models of the same columns and neighbours in a folder of runs."""
    places = [out / "model" / FILE, *sorted(out.parent.glob(f"*/model/{FILE}"))]
    found = []
    for place in {path.resolve(): path for path in places if path.is_file()}.values():
        with suppress(BadArtifact, ValueError):
            model = Model.load(place)
            there = model.domain
            same = (there.shape_of_rows(), there.label, there.adjacency, there.unit)
            if model.private and same == (
                domain.shape_of_rows(),
                domain.label,
                domain.adjacency,
                domain.unit,
            ):
                found.append(model)
        if len(found) == _MOST:
            break
    return found
