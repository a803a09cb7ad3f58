"""What a run without a ledger does not know: which other runs read the same people. Said before its rows are read."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from prepriv.commands.charged import drafts_beside
from prepriv.commands.exits import say
from prepriv.domain import Domain
from prepriv.guarantees.algebra import then
from prepriv.guarantees.drafts import drafts_cost, with_drafts
from prepriv.guarantees.guarantee import Guarantee
from prepriv.guarantees.printed import down, epsilon_at, exact
from prepriv.ledger import Ledger, LedgerError
from prepriv.plans.enough import GOES_ON
from prepriv.release.model import FILE, BadArtifact, Model

_MOST = 50  # models that are added up
_NAMED = 5  # folders


def say_drafted(domain: Domain, ledger: str | os.PathLike[str] | None, *, others: bool = False) -> None:
    """Of a run on a domain whose private draft was charged elsewhere than this run is: no cap holds for both.

    others: whether its rows are usually of other people, as test rows are.
    """
    charges = [str(drafted.ledger["sequence"]) for drafted in domain.drafts if drafted.ledger is not None]
    if ledger is not None:
        _say_missing(domain, ledger)
        _say_not_named(domain, ledger, "this model" if others else "this schema")
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


def _say_not_named(domain: Domain, ledger: str | os.PathLike[str], who: str) -> None:
    """Of drafts that this ledger paid for and the domain names none of: whether it has what was drafted, by the hash in the ledger."""
    with suppress(LedgerError):
        exactly, perhaps = drafts_beside(os.fspath(ledger), domain)
        if exactly:
            say(
                f"WARNING: {exactly[0].replace('which it does not', f'which {who} does not', 1)}. The claim of this run is too small by that. "
                f"Put these lines back, as they were drafted. {GOES_ON}",
                err=True,
            )
        elif perhaps and not domain.drafts and who == "this schema":
            say(
                "this ledger paid for a private draft of a schema, and this schema names none. If bounds, categories or classes in it come from a draft, put back "
                f"the lines under `drafted:`: without them the claim leaves out what the draft cost. {GOES_ON}",
                err=True,
            )


def say_asked_before(plan_hash: str, ledger: str | os.PathLike[str] | None) -> None:
    """Of a plan that this ledger has charged before: its answers are drawn and charged again."""
    if ledger is None:
        return
    with suppress(LedgerError):  # the charge says what is wrong with it
        charged = [entry for entry in Ledger.open(ledger).entries() if entry.kind == "charged"]
        same = [entry.sequence for entry in charged if entry.plan_hash == plan_hash]
        if same:
            say(
                f"this ledger has charged the same plan before (charge {same[-1]}): it is charged again, with new noise. Answers that you "
                "kept from then cost nothing to read again",
                err=True,
            )


def _charge(receipt: Mapping[str, Any]) -> tuple[str, int]:
    return receipt["plan_uid"], receipt["sequence"]


def say_earlier(out: Path, domain: Domain, made: Guarantee | None, delta: float, n: int) -> None:
    """Of a run without a ledger: the private models in its folder, or beside it, that may be of the same people."""
    found = earlier(out, domain, n) if made is not None else {}
    if made is None or not found:
        return
    parts = [model.part for model in found.values() if model.part is not None]
    own, delta = delta, max([delta, *(model.declared.delta for model in found.values())])
    drafts = list(domain.drafts)
    for model in found.values():
        drafts += [drafted for drafted in model.domain.drafts if drafted not in drafts]
    try:
        whole = with_drafts(then([*parts, made]), replace(domain, drafts=tuple(drafts)), delta, n)
        total = f"they cost {epsilon_at(math.inf if whole is None else whole.epsilon(delta), delta)}"
        if whole is not None and whole.conditions:
            total += f", if {' and '.join(whole.conditions)}"
        whose = f". {_of_largest_delta(found, own, delta, n)}" if delta > own else ""
    except (
        ValueError
    ):  # delta is too small for what is composed, or neighbours or units are not the same for all
        alike = {
            (domain.adjacency, domain.unit),
            *((m.domain.adjacency, m.domain.unit) for m in found.values()),
        }
        total = "they cost the sum of what each claims"
        if len(alike) > 1:
            total = "they cost more than any of them claims, and no sum of the claims holds, as they are not about the same neighbours or units"
        whose = ""
    say(
        f"{_told(out, domain, found)} used the same people, together {total}{whose}. Other measurements and descriptions are not included. "
        "Give --ledger, and one cap holds for all of them",
        err=True,
    )


def _of_largest_delta(found: Mapping[Path, Model], own: float, delta: float, n: int) -> str:
    """Which earlier models have the delta at which all are added up, where that of this run is smaller, and whether it is too large for n records."""
    places = [str(place) for place, model in found.items() if model.declared.delta == delta]
    listed = ", ".join(places[:_NAMED]) + (
        f" and {len(places) - _NAMED:,} more" if len(places) > _NAMED else ""
    )
    large = (
        f", and should be well below 1/n = {down(1 / n, 3)}: publishing a record whole with probability δ would satisfy it"
        if delta * n >= 1
        else ""
    )
    return f"That δ is the one of {listed}{large}. This run has δ = {exact(own)}"


def _told(out: Path, domain: Domain, found: Mapping[Path, Model]) -> str:
    one, many = len(found) == 1, len(found)
    models = "is an earlier private model" if one else f"are {many} earlier private models"
    others = [place for place, model in found.items() if not _same_table(model.domain, domain)]
    told = f"There {models} of this table next to {out}"
    if others:
        listed = ", ".join(str(place) for place in others[:_NAMED])
        more = f" and {len(others) - _NAMED:,} more" if len(others) > _NAMED else ""
        of_this = f"{many - len(others)} of this table, and {len(others)} that " if len(others) < many else ""
        told = (
            f"There {models} next to {out}: {of_this or ('it ' if one else 'they ')}may be of the same people, by shared columns or the "
            f"same number of records ({listed}{more})"
        )
    return f"{told}. If {'it' if one else 'all of them'} and this run"


def earlier(out: Path, domain: Domain, n: int) -> Mapping[Path, Model]:
    """The private models in a folder of runs that may be of the same people, by the folder of each."""
    places = [out / "model" / FILE, *sorted(out.parent.glob(f"*/model/{FILE}"))]
    found: dict[Path, Model] = {}
    for place in {path.resolve(): path for path in places if path.is_file()}.values():
        with suppress(BadArtifact, ValueError):
            model = Model.load(place)
            if model.private and (n == model.declared.n or _alike(model.domain, domain)):
                found[place.parent.parent] = model
        if len(found) == _MOST:
            break
    return found


def _same_table(there: Domain, domain: Domain) -> bool:
    return there.label == domain.label and there.shape_of_rows() == domain.shape_of_rows()


def _alike(there: Domain, domain: Domain) -> bool:
    """Whether two domains may be of one table: half of their names are the same, a column is declared alike, or one's label is a column of
    the other. Whoever drafts a table twice gets other bounds, so that names alone count, too."""
    if not (there.columns and domain.columns):
        return there.shape_of_rows() == domain.shape_of_rows()
    one, two = ({*which.columns, which.label} - {None} for which in (there, domain))
    return (
        2 * len(one & two) >= min(len(one), len(two))
        or any(domain.columns.get(name) == column for name, column in there.columns.items())
        or there.label in domain.columns
        or domain.label in there.columns
    )
