"""Scores that ledgers charged beside the training of a model: of which model each is, and whether anything at hand shows it. docs/learn/auditing.md."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from prepriv.evaluation.evaluation_plan import model_hash
from prepriv.evaluation.result import PrivateEvaluation
from prepriv.guarantees.in_words import guesses_in_words
from prepriv.ledger import Entry, Header
from prepriv.ledger.currency import Quanta, amount_in_words
from prepriv.ledger.hash_chain import whose
from prepriv.release.model import Model
from prepriv.release.report import Report
from prepriv.runs.booked import charge_of_draft

_OF = re.compile(r"(?:^|, |`: )evaluate model ([0-9a-f]{12})\b(?!.*, train\b)")  # a person's note in front
DIGITS = 12
"""Of the hash of a model's file that the note of a charge names."""


def model_of(entry: Entry) -> str:
    """The first digits of the hash of the model's file whose score a row paid for; "" of any other row."""
    found = _OF.findall(entry.note.split(" | ")[0])
    return found[-1] if entry.kind == "charged" and found else ""


def whose_score(entry: Entry, models: Mapping[str, str]) -> str:
    """In words what a charge for a score measured. models: those at hand, in words, by the first digits of their hash."""
    digits = model_of(entry)
    return models.get(digits, f"model {digits}" if digits else "a model")


@dataclass(frozen=True)
class ScoresAtHand:
    """The files at hand of later scores. shown: the runs whose file is the one that was released. named: of other runs, by their uid, the files that name them."""

    shown: Collection[str] = ()
    named: Mapping[str, Sequence[str]] = field(default_factory=dict)


NO_SCORES = ScoresAtHand()
_NOT_COVERED = "The promise of the model's page does not cover it"


def not_covered(model: Model, header: Header, rows: Sequence[Entry]) -> str:
    """Say that the promise of a page covers no later score of its model, and what all of them allow together, as this ledger booked them."""
    if (model.receipt or {}).get("plan_uid") not in {one.plan_uid for one in rows}:
        return f"{_NOT_COVERED}, and this ledger did not charge the model: only what both allow together does"
    if (paid := paid_together(model, header, rows)) is None:
        return f"{_NOT_COVERED}: what the ledger holds in all does"
    together = guesses_in_words(amount_in_words(header.unit, sum((one.cost for one in paid), Quanta(0))))
    listed = ", ".join(str(one.sequence) for one in paid)
    return f"{_NOT_COVERED}. With each later score that was charged (charges {listed}), for someone whose data are in all of them: {together}"


def later_scores(model: Model, rows: Sequence[Entry]) -> list[Entry]:
    """The charges of scores of a model, beside its training."""
    digits = model_hash(model)[:DIGITS]
    return [one for one in rows if model_of(one) == digits]


def paid_together(model: Model, header: Header, rows: Sequence[Entry]) -> list[Entry] | None:
    """The charges of a model and of its later scores.

    None where this ledger did not book each of them, where it books by periods, or where the costs are not all about a record, or all about a unit.
    """
    scores = later_scores(model, rows)
    drafts = [charge_of_draft(rows, one) for one in model.declared.domain.drafts]
    own = {(model.receipt or {}).get("plan_uid"), *(one.plan_uid for one in drafts if one is not None)}
    paid = [one for one in rows if one.kind == "charged" and (one.plan_uid in own or one in scores)]
    missing = None in drafts or not own <= {one.plan_uid for one in paid}
    return None if missing or header.periods or len({whose(one.note) for one in paid}) > 1 else paid


def scores_not_shown(
    books: Mapping[str, Sequence[Entry]], digits: str, page: Report | None, at_hand: ScoresAtHand
) -> list[str]:
    """What to ask of a model: each score that a ledger charged for it beside its training, and that neither its page nor a file at hand shows.

    books: the rows of each ledger. digits: the first ones of the model's hash.
    """
    measured = None if page is None else page.measured
    receipt = measured.receipt if isinstance(measured, PrivateEvaluation) else None
    seen = {*at_hand.shown, (receipt or {}).get("plan_uid")}
    found = list[str]()
    for place, rows in books.items():
        runs = dict[str, list[str]]()
        for one in rows:
            if model_of(one) == digits and one.plan_uid not in seen:
                runs.setdefault(one.plan_uid, []).append(str(one.sequence))
        released = {one.plan_uid for one in rows if one.kind == "released"}
        for uid, numbers in runs.items():
            row = f"row{'s' if len(numbers) > 1 else ''} {', '.join(numbers)}"
            of = f" of {place}" if len(books) > 1 else ""
            if files := at_hand.named.get(uid):
                found.append(_asks_of_named(files, f"{row}{of}", digits, recorded=uid in released))
                continue
            ask = (
                "Ask for its page, and give it to `prepriv ledger verify`, too"
                if uid in released
                else "The ledger holds no hash of a file: ask what was printed"
            )
            found.append(
                f"what the later score was: {row}{of} paid to evaluate this model ({digits}), and nothing given here shows it. {ask}"
            )
    return found


def _asks_of_named(files: Sequence[str], row: str, digits: str, *, recorded: bool) -> str:
    """What to ask of files that name the charge of a later score, and of which the ledger does not hold the hash. recorded: whether it holds another one."""
    several = len(files) > 1
    held, ask = (
        ("the hash of another file", "the file as it was released")
        if recorded
        else ("no hash of a file", "a head that someone kept since the release")
    )
    return (
        f"whether {' and '.join(files)} {'are' if several else 'is'} what {row} paid to evaluate this model ({digits}): {'they name' if several else 'it names'} that charge, "
        f"and the ledger holds {held} beside it. Ask for {ask}"
    )
