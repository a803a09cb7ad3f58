"""Whether a ledger paid for a released model: for this very plan, its cost, its unit and its periods. docs/learn/auditing.md."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from prepriv._rounding import UP
from prepriv.commands.exits import NOT_DECIDED, Stop
from prepriv.commands.receipts import (
    ANOTHER_FILE,
    asked_of_rows,
    booked_by_then,
    edited_receipt,
    hash_as_lf,
    in_a_receipt,
    not_recorded,
    where_it_is,
)
from prepriv.commands.scores import DIGITS, NO_SCORES, ScoresAtHand, model_of, scores_not_shown, whose_score
from prepriv.domain import Domain, drafted_content
from prepriv.drafted import CHARGE
from prepriv.evaluation.evaluation_plan import model_hash
from prepriv.evaluation.found_hashes import CANARIES, PUBLIC, SAID, SCORE, found_hashes, found_in
from prepriv.evaluation.holdout import Holdout, HoldoutPlan
from prepriv.evaluation.result import PrivateEvaluation
from prepriv.guarantees.guarantee import Guarantee
from prepriv.guarantees.in_words import guesses_in_words
from prepriv.ledger import Entry, Header, Ledger
from prepriv.ledger.currency import Quanta, amount_in_words, cost_in_quanta, short_amount
from prepriv.ledger.hash_chain import whose
from prepriv.plans.plan import Plan
from prepriv.release.model import Model
from prepriv.release.report import Report
from prepriv.release.review import asked_of_claim
from prepriv.release.summary import of_several, whose_rows
from prepriv.runs.booked import booked_otherwise, cannot_show, charge_of_draft, not_booked

_UNRECORDED = "that row {row} paid for this very file: its release is not recorded, so the ledger names no artifact of it"
COARSER = (
    "these figures know ε and δ alone, which is what this ledger keeps, so they are higher than a claim about the same charges. In an assessment give both: the claim of "
    "the page for what it covers, and the cap of the ledger, which holds for all uses of these people's data together"
)
"""Of sums of a ledger that keeps ε and δ alone."""
_GIVE = ", and give it to `prepriv report MODEL --verify`, or to `prepriv ledger verify`"
_NOT_THE_ONE = {
    SCORE: "score on the page is not the one",
    CANARIES: "canaries on the page are not those",
    PUBLIC: "measurement of a public table on the page is not the one",
}
_SEPARATORS = re.compile(r"[\s_.\-\u00b7\u2010-\u2015]+")  # in the name of a data set
_SLACK = Quanta(1, 1)  # another machine can round the last digit otherwise
_HELD_OUT = re.compile(r".*\bhold out ([0-9.e-]+),")  # the last: a person's note stands in front
_MEASURED = re.compile(r"\bhold out [0-9.e-]+, (evaluate: .*?), train\b")
_KIND = re.compile(
    r"(?:^|, |`: )(schema draft|hold out|choose|train|evaluate|prepare|questions|description|sketch)\b"
)  # what a charge was for, in its note


_MOST_RUNS = 5  # charges that are named one by one
Tables = Mapping[str, frozenset[str]]
"""The columns of schema drafts, as far as they are proven, by the run that drafted them."""
_NO_TABLES: Tables = MappingProxyType({})
_WHAT = {
    "schema draft": "a schema draft",
    "hold out": "a model with its score",
    "choose": "a choice among candidate models",
    "train": "a model",
    "evaluate": "a score of a model",
    "prepare": "prepared data",
    "questions": "answers to questions",
    "description": "a description of the data",
    "sketch": "a sketch of the data",
    "other": "something else",
}
"""In words what a charge was for, by the word in its note."""


def charge_problems(
    place: str, model: Model, artifact: bytes, page: Report | None = None, others: Sequence[str] = ()
) -> tuple[list[str], list[str]]:
    """What a ledger says otherwise than a model, one line each, none if it paid for it; and what it cannot show.

    artifact: the bytes of the model's file. page: the verified report, whose measurement is compared with the charge, too. others: further ledgers, which can hold the charge of a draft.
    Raises LedgerError for a ledger that cannot be read, or is not sound. Stop where it takes a page, or a row that is not there, to decide.
    """
    if model.receipt is None:
        return ["the model holds no receipt: it says itself that no ledger was charged for it"], []
    book = Ledger.open(place)
    entries = {entry.sequence: entry for entry in book.entries()}
    entry = entries.get(model.receipt["sequence"])
    sequence, head, uid = (model.receipt[name] for name in ("sequence", "head", "plan_uid"))
    if entry is None or (entry.kind, entry.head, entry.plan_uid) != ("charged", head, uid):
        rows_of = {name: Ledger.open(name).entries() for name in (place, *others)}
        if edited := edited_receipt("the receipt of the model", (sequence, head, uid), rows_of):
            return [edited], []
        here = where_it_is(model.receipt["sequence"], max(entries, default=0), 1 + len(others))
        return [f"the receipt of the model is not in this ledger{here}{booked_by_then(model.receipt)}"], []
    rows = [one for one in entries.values() if one.plan_uid == uid]
    charged = [one for one in rows if one.kind == "charged"]
    wrong = [*_of_another_claim(book.header, charged, model), *_told_otherwise(book.header, entry, model)]
    noted = {one.artifact for one in rows if one.kind == "released"}
    if noted and noted != {hashlib.sha256(artifact).hexdigest()}:
        wrong.append(f"row {entry.sequence} paid for a file that is not this model {ANOTHER_FILE}")
    unchecked = [] if noted else [_UNRECORDED.format(row=entry.sequence)]
    if entry.plan_hash != model.declared.hash:
        # a holdout or a choice is charged as a whole, of which the model holds a part, and the page the rest
        whole = None if page is None else _of_both(model, page, entry)
        if page is not None:
            wrong += _other_measurement(page, entry)
        if whole is None or whole.hash != entry.plan_hash:
            unchecked.append(
                f"that this model is a part of what row {entry.sequence} paid for{_noted(entry)}"
            )
            if not noted and not wrong and whole is None:
                _check_could_be_whole(model, entry)
            if not noted:
                wrong.append(f"row {entry.sequence} is the charge of another plan, and names no artifact")
    if page is not None:
        wrong += [
            f"the {_NOT_THE_ONE[name]} whose hash the ledger holds: numbers were edited, or left out"
            for name in booked_findings(place, model, page)[1]
        ]
    books = [book, *map(Ledger.open, others)]
    of_drafts = _drafts([(one.header, one.entries()) for one in books], model)
    return [*wrong, *of_drafts[0]], [*unchecked, *of_drafts[1]]


def booked_findings(place: str, model: Model, page: Report) -> tuple[list[str], list[str], list[str]]:
    """Of what a page states and no model gives, by its name in `found_hashes`: what the ledger holds the same hash of, what another one, and what none.

    The ledger got these hashes with the release of the model. It holds none for a run of an earlier version.
    """
    uid = (model.receipt or {}).get("plan_uid")
    notes = [
        one.note for one in Ledger.open(place).entries() if (one.kind, one.plan_uid) == ("released", uid)
    ]
    booked = found_in(" ".join(notes))
    measured = page.measured if isinstance(page.measured, PrivateEvaluation) else None
    shown = found_hashes(measured, page.audited, page.evaluation)
    same = [name for name, digest in shown.items() if booked.get(name) == digest]
    other = [name for name in shown if name in booked and name not in same]
    return same, other, [name for name in shown if name not in booked]


def unbooked_findings(place: str, model: Model, page: Report) -> list[str]:
    """What to ask of numbers of a page of which the ledger recorded no hash, though it recorded the release of the model."""
    if unrecorded(place, model):  # of the release nothing is recorded, which is asked about
        return []
    return [
        f"whether {SAID[name]} are those of the run: the ledger recorded the release of the model without a hash of them, as an earlier version did, or as someone "
        "did who wrote that row again. Ask for a head of the day of the release"
        for name in booked_findings(place, model, page)[2]
    ]


def unrecorded(place: str, model: Model) -> list[str]:
    """What to ask of a model that a ledger paid for, and of whose file it holds no hash: an edited model has the same charge."""
    told = model.receipt or {}
    rows = Ledger.open(place).entries()
    if any((one.kind, one.plan_uid) == ("released", told.get("plan_uid")) for one in rows):
        return []
    return [f"whether this is the file that was released: {not_recorded(told['sequence'])}"]


def _check_could_be_whole(model: Model, entry: Entry) -> None:
    """Stop, without a verdict, for a charge that may hold the model's plan as its part, where nothing at hand shows whether it does."""
    row = (
        f"row {entry.sequence} paid for more than this model{_noted(entry)}, and its release is not recorded"
    )
    if model.choice is not None and "choose" in kinds_charged(entry):
        raise Stop(
            f"{row}. A choice among candidates cannot be recomputed from its winner: ask for a ledger that holds the release",
            NOT_DECIDED,
        )
    if model.choice is None and _HELD_OUT.match(entry.note):
        raise Stop(
            f"{row}. Whether this model is a part of it is recomputed from the page with its score: give that page with `--verify`",
            NOT_DECIDED,
        )


def holding(places: Sequence[str], model: Model) -> tuple[str, list[str]]:
    """The ledger that holds the receipt of a model, the first where none does; and the others. LedgerError as `charge_problems`."""
    told = model.receipt or {}
    key = tuple(told.get(name) for name in CHARGE)
    holds = (
        place
        for place in places
        for one in Ledger.open(place).entries()
        if (one.plan_uid, one.sequence, one.head) == key
    )
    own = next(holds, places[0])
    return own, [place for place in places if place != own]


def perhaps_the_same(headers: Sequence[Header]) -> list[str]:
    """What to ask of ledgers whose data sets have names that differ by spaces, dots, hyphens, underscores and capitals alone: people may mean one."""
    names = dict[str, dict[str, Header]]()
    for one in headers:
        names.setdefault(_SEPARATORS.sub("", one.dataset), {}).setdefault(one.dataset, one)
    return [
        f"whether {' and '.join(repr(one.dataset_id) for one in alike.values())} are the same data set: if they are, "
        f"{caps_together([*alike.values()])}, and no page knows of the other ledger"
        for alike in names.values()
        if len(alike) > 1
    ]


def caps_together(headers: Sequence[Header]) -> str:
    """What several ledgers of one data set may cost together, in words, as far as their units add up."""
    first = headers[0]
    if any(
        (one.unit, one.adjacency, one.periods) != (first.unit, first.adjacency, first.periods)
        for one in headers
    ):
        return "their caps add up"
    total = sum((one.cap for one in headers), Quanta(0))
    return f"their caps add up to {short_amount(first.unit, total)}"


def _alike(place: str, others: Sequence[str]) -> list[Header]:
    """Of the ledgers given, those of one data set: of the first, and of each other one that names the same."""
    own, *more = (Ledger.open(name).header for name in (place, *others))
    return [own, *(one for one in more if one.dataset == own.dataset)]


def _other_caps(place: str, others: Sequence[str]) -> list[str]:
    """Of several ledgers of one data set what a page, which knows the cap of its own, does not say."""
    alike = _alike(place, others)
    if len(alike) < 2:
        return []
    return [
        f'why there are {len(alike)} ledgers for the data set "{alike[0].dataset_id}": {caps_together(alike)}, and the page states the cap of its own '
        "ledger alone"
    ]


def unclaimed_drafts(
    place: str, model: Model, others: Sequence[str] = (), tables: Tables = _NO_TABLES
) -> tuple[list[str], list[str]]:
    """Schema drafts in ledgers that a model does not claim: those whose bounds and classes it has, and those to ask about.

    A ledger holds a hash of what was drafted beside the charge. place: the ledger of the model; others: further ones, whose drafts are asked about whatever
    the name of their data set: two names can mean the same people. tables: of other data sets, where it is proven that the draft has no column of the model.
    """
    return drafts_beside(place, model.declared.domain, others, receipt=model.receipt or {}, tables=tables)


def drafted_tables(domains: Iterable[Domain], places: Sequence[str]) -> Tables:
    """The columns of drafts that ledgers hold, by their run, where a domain that claims a draft has exactly what the ledger holds the hash of."""
    made = {
        one.plan_uid: one.artifact
        for place in places
        for one in Ledger.open(place).entries()
        if one.kind == "released"
    }
    return {
        uid: frozenset(domain.columns)
        for domain in domains
        for uid in (str((drafted.ledger or {}).get("plan_uid")) for drafted in domain.drafts)
        if made.get(uid) == drafted_content(domain.columns, domain.classes, domain.target)
    }


def drafts_beside(
    place: str,
    domain: Domain,
    others: Sequence[str] = (),
    *,
    receipt: Mapping[str, Any] | None = None,
    tables: Tables = _NO_TABLES,
) -> tuple[list[str], list[str]]:
    """The same of what a model, or a schema that was declared by hand, declares. receipt: of the model; None: of a schema, which names no ledger
    and no data set. The drafts of every ledger are asked about, in whatever order they are given."""
    who = "the schema" if receipt is None else "the model"
    receipt = receipt or {}
    here = drafted_content(domain.columns, domain.classes, domain.target)
    claimed = {(drafted.ledger or {}).get("plan_uid") for drafted in domain.drafts}
    books = [(name, Ledger.open(name)) for name in (place, *others)]
    of_data = books[0][1].header.dataset
    drafted_by = {
        one.plan_uid: one.artifact for _, book in books for one in book.entries() if one.kind == "released"
    }
    of_model = [one for one in books[0][1].entries() if one.plan_uid == receipt.get("plan_uid")]
    released = next((one.sequence for one in of_model if one.kind == "released"), None)
    as_claimed = here in {drafted_by.get(str(uid)) for uid in claimed}
    found, asked = list[str](), list[str]()
    for name, book in books:
        for one in book.entries():
            content = drafted_by.get(one.plan_uid)
            drafts = "schema draft" in kinds_charged(one) or content == here  # whatever its note says
            if one.kind != "charged" or not drafts or one.plan_uid in claimed:
                continue
            which = f"the schema draft of row {one.sequence}{f' of {name}' if others else ''}"
            if name == place and released is not None and one.sequence > released:
                continue  # the chain shows that the model was there before anything was drafted
            later = name == place and one.sequence > receipt.get("sequence", one.sequence)
            if content == here and not as_claimed and not later:
                cost = short_amount(book.header.unit, one.cost)
                found.append(
                    f"bounds and classes are exactly those of {which}, which {who} does not claim: its claim is too small, by what that draft cost ({cost})"
                    if who == "the model"
                    else f"bounds and classes are exactly those of {which}, which it does not name: its lines under `drafted:` were taken out, and what that draft cost ({cost}) with them"
                )
            elif book.header.dataset == of_data if who == "the model" else not others:
                asked.append(_asks_of_draft(which, content, content == here, later, who))
            elif not _of_other_columns(tables.get(one.plan_uid), domain):
                named = f'{which}, of the data set "{book.header.dataset_id}"'
                asked.append(_asks_of_draft(named, content, content == here, later, who, perhaps=True))
    return found, asked


def _of_other_columns(drafted: frozenset[str] | None, domain: Domain) -> bool:
    """Whether a draft is known to have no column that the domain has."""
    return bool(drafted and domain.columns) and frozenset(domain.columns).isdisjoint(drafted or ())


def _asks_of_draft(
    which: str, content: str | None, same: bool, later: bool, who: str, *, perhaps: bool = False
) -> str:
    """perhaps: of a data set with another name, which can be of the same people."""
    compared = (
        "They are exactly what was drafted there"
        if same
        else ("They are not exactly what was drafted there, so the draft was edited, or not used")
    )
    if content is None:
        compared = "The ledger holds no hash of what was drafted there"
    after = ". It was charged after the model" if later else ""
    if_so = "if that ledger is of the same people, and they do" if perhaps else "if they do"
    return (
        f"whether bounds or classes come from {which}, which {who} does not claim: {if_so}, its cost is missing in the claim. "
        f"{compared}{after}"
    )


def to_ask(
    place: str,
    model: Model,
    page: Report | None = None,
    others: Sequence[str] = (),
    tables: Tables = _NO_TABLES,
    scores: ScoresAtHand = NO_SCORES,
    artifact: bytes | None = None,
) -> list[str]:
    """What a ledger that paid for a model shows, and only people can explain: questions to ask before anyone signs. scores: the later ones. artifact: the bytes of the model's file."""
    books = {name: Ledger.open(name).entries() for name in (place, *others)}
    entries = books[place]
    key = tuple((model.receipt or {}).get(name) for name in CHARGE)
    row = next((one for one in entries if (one.plan_uid, one.sequence, one.head) == key), None)
    alone = Report.of(model.declared, private=model.private, receipt=model.receipt, model=model)
    asked = [
        *asked_of_claim(alone if page is None else page),
        *_other_caps(place, others),
        *unclaimed_drafts(place, model, others, tables)[1],
    ]
    if page is not None and isinstance(page.measured, PrivateEvaluation) and page.measured.which_rows:
        asked.append(asked_of_rows(page.measured.which_rows))
    if row is None:  # said as wrong
        return asked
    asked += scores_not_shown(books, model_hash(model)[:DIGITS], page, scores)
    whole = None if page is None or model.choice is not None else _of_both(model, page, row)
    if whole is not None and whole.hash != row.plan_hash:
        asked.append(
            f"whether the page shows all that row {row.sequence} paid to measure: its plan is not the one that the page and the model state"
        )
    edited = artifact is not None and not is_what_was_released(entries, row, artifact)
    return [*_not_shown(entries, row, model, page, place if others else "", edited=edited), *asked]


def is_what_was_released(entries: Sequence[Entry], row: Entry, artifact: bytes) -> bool:
    """Whether a charge released these bytes, their line endings apart, or the ledger holds no hash of what it released."""
    made = {one.artifact for one in entries if (one.kind, one.plan_uid) == ("released", row.plan_uid)}
    return not made or hash_as_lf(artifact) in made or hashlib.sha256(artifact).hexdigest() in made


def _not_shown(
    entries: Sequence[Entry], row: Entry, model: Model, page: Report | None, place: str, *, edited: bool
) -> list[str]:
    """What to ask of what the charge of a model paid for beside it, a score or an audit, and the page that was given does not show, or no page that was given. place: of the ledger, where several are given.

    edited: whether the charge released a file that is not this model, whose plan then says nothing about what else the charge paid for."""
    booked = found_in(" ".join(one.note for one in entries if one.plan_uid == row.plan_uid))
    which = f"row {row.sequence}{f' of {place}' if place else ''}"
    # by the hash: the note of a charge is cut where it is long. A choice among candidates is charged as a whole, too
    a_part = model.choice is None and row.plan_hash != model.declared.hash
    kinds = {*kinds_charged(row)}  # what else a charge is for stands in its note before the training
    trains = "train" in kinds and not kinds & {"hold out", "choose"} and SCORE not in booked
    more = SCORE in booked or (a_part and not trains and (not edited or "hold out" in kinds))
    found = list[str]()
    if a_part and trains and not edited:
        found.append(
            f"why the plan of the model is not the one that {which} paid for{_noted(row)}: the note names a training and nothing else. The model, or the ledger, was written again. "
            "Ask for the files and the head of the day of the release"
        )
    if more and (page is None or page.measured is None):
        charged = _MEASURED.search(row.note)
        beyond = "one" if SCORE in booked else "more than this model"
        what = f"one ({charged[1]})" if charged is not None else f"{beyond}{_noted(row)}"
        found.append(
            f"where the page with the score is: {which} paid for {what}, and no verified page that was given shows it. Ask for that page{_GIVE}"
            if page is None
            else f"why the page shows no score: {which} paid for {what}. Ask for the page with it"
        )
    if CANARIES in booked and (page is None or page.audited is None):
        found.append(
            f"what the audit of the run found: the release of {which} holds the hash of it, and no verified page that was given shows how many canaries were guessed. Ask for that page{_GIVE}"
        )
    return found


def told_of_charge(place: str, model: Model, further: Sequence[str] = ()) -> list[str]:
    """Of a model that a ledger paid for, all of it as far as this copy goes: the day of the charge, what was charged before and
    after, and what an outsider can learn from all of it now and at most. further: other ledgers."""
    assert model.receipt is not None
    book = Ledger.open(place)
    rows = book.entries()
    row = next(entry for entry in rows if entry.sequence == model.receipt["sequence"])
    others = [entry for entry in rows if entry.kind == "charged" and entry.plan_uid != row.plan_uid]
    before = [entry for entry in others if entry.sequence < row.sequence]
    later = [entry for entry in others if entry.sequence > row.sequence]
    this = {model_hash(model)[:DIGITS]: "this model"}
    lines = [
        f'row {row.sequence} of the data set "{book.header.dataset_id}", charged on {row.day} (UTC): the ledger says so, and its hashes '
        "do not cover the day",
        f"the hash of this file stands in a row after the receipt, so a kept receipt does not show whether the model was replaced. A head that someone kept since the release does: "
        f"`prepriv ledger verify {place} --receipt HEAD`. Now it is {rows[-1].sequence}:{rows[-1].head}",
        f"in this copy of the ledger {_charges(book.header, rows, later, 'came later', this)}",
    ]
    if before:
        lines.append(_charges(book.header, rows, before, "came before", this))
    unit, cap, alike = book.header.unit, book.header.cap, _alike(place, further)
    alone = ""
    if len(alike) > 1:
        lines.append(f"of the ledgers given, {len(alike)} are for this data set: {caps_together(alike)}")
        alone = f"of {place} alone, without the other{'s' if len(alike) > 2 else ''}: "
    of = model.domain.unit
    ever = amount_in_words(unit, cap)
    whole = f"{guesses_in_words(ever, whose_rows(of))}. {of_several(ever, of)}".rstrip(" .")
    if not book.header.periods:
        spent = rows[-1].spent
        left = Quanta(max(0, cap.main - spent.main), max(0, cap.delta - spent.delta))
        said = short_amount(unit, left, left=True)
        up = unit == "basic" and cap.delta > 0 and left.delta == 0 and left.main > 0
        ended = (
            ". No delta is left, so no run that has one fits any more, and no score can be charged here"
            if up
            else ""
        )
        lines.append(f"{alone}left of its cap ({short_amount(unit, cap)}) in this copy: {said}{ended}")
        lines.append(
            f"{alone}all that is booked in this copy: {guesses_in_words(amount_in_words(unit, spent), whose_rows(of))} (bookkeeping: sign the cap)"
        )
    each = f", of each {book.header.periods.split()[0]}" if book.header.periods else ""
    lines.append(f"{alone}everything that this ledger may ever hold{each}: {whole}")
    if unit == "basic":
        lines.append(COARSER)
    return lines


def other_charges(places: Sequence[str], model: Model, shown: Collection[str]) -> list[str]:
    """What to ask of ledgers that paid for more than a model and the drafts that it claims, a line for each ledger.

    shown: the runs whose files lie beside the model.
    """
    told, this = model.receipt or {}, {model_hash(model)[:DIGITS]: "this model"}
    drafts = {(drafted.ledger or {}).get("plan_uid") for drafted in model.declared.domain.drafts}
    own = {told.get("plan_uid"), *drafts, *shown}
    found = list[str]()
    for place in places:
        book = Ledger.open(place)
        rows = book.entries()
        others = [one for one in rows if one.kind == "charged" and one.plan_uid not in own]
        # a score of this model has a question of its own: `scores_not_shown`
        others = [one for one in others if model_of(one) not in this]
        if not others:
            continue
        before = [one for one in others if one.sequence < told.get("sequence", 0)]
        found.append(
            f"what {place} paid for beside this model: {'; '.join(runs_in_words(book.header, rows, others, this))}. Ask the curator for each file, which "
            f"`prepriv ledger verify LEDGER FILES` judges, and what was chosen after seeing it{_second(model, before)}"
        )
    return found


def _second(model: Model, before: Sequence[Entry]) -> str:
    """What to ask of a model that rests on a private draft, where another run came between: a ledger does not know when a budget was chosen."""
    between = any(not {"train", "hold out", "choose"}.isdisjoint(kinds_charged(one)) for one in before)
    if not (between and model.declared.domain.drafts):
        return ""
    return ", and whether ε and δ of this model were chosen before anyone saw the draft: no ledger shows that, and another model was trained in between"


def _charges(
    header: Header, rows: Sequence[Entry], entries: Sequence[Entry], when: str, models: Mapping[str, str]
) -> str:
    """How many runs were charged, and each of the first."""
    count = len({one.plan_uid for one in entries})
    said = f"{count or 'no'} charge{'' if count < 2 else 's'} {when}"
    each = runs_in_words(header, rows, entries, models)
    return f"{said}: {'; '.join(each)}" if each else said


def runs_in_words(
    header: Header, rows: Sequence[Entry], charged: Sequence[Entry], models: Mapping[str, str]
) -> list[str]:
    """Of charges among the rows of a ledger each of the first runs: its row, what it paid for, its cost and artifact. A run that is charged to several periods is one.

    models: those at hand, in words, by the first digits of their hash.
    """
    runs = dict[str, list[Entry]]()
    for entry in charged:
        runs.setdefault(entry.plan_uid, []).append(entry)
    made = {one.plan_uid: one.artifact for one in rows if one.kind == "released"}
    each = [_in_words(header, parts, made.get(uid), models) for uid, parts in [*runs.items()][:_MOST_RUNS]]
    more = Counter(_kind(parts[0]) for parts in [*runs.values()][_MOST_RUNS:])
    if more:
        each.append(
            f"and {more.total()} more: {', '.join(f'{_WHAT[kind]} ({times})' for kind, times in sorted(more.items()))}"
        )
    return each


def _in_words(header: Header, parts: Sequence[Entry], artifact: str | None, models: Mapping[str, str]) -> str:
    """What a run was charged for, in words, with its row, cost and artifact."""
    numbers = ", ".join(str(one.sequence) for one in parts)
    cost = short_amount(header.unit, parts[0].cost)
    every = f" in each of {len(parts)} {header.periods.split()[0]}s" if len(parts) > 1 else ""
    held = f"artifact {artifact[:12]}" if artifact else "no artifact is recorded"
    what = f"a score of {whose_score(parts[0], models)}" if model_of(parts[0]) else _WHAT[_kind(parts[0])]
    return f"row{'s' if len(parts) > 1 else ''} {numbers}, {what} ({cost}{every}, {held})"


def _kind(entry: Entry) -> str:
    """What was charged, in a word or two; "other" where its note has no such word."""
    return next(iter(kinds_charged(entry)), "other")


def kinds_charged(entry: Entry) -> list[str]:
    """Every such word: a person's note that begins with one, and the parts of a charge as a whole."""
    return _KIND.findall(entry.note.split(" | ")[0])


def _noted(entry: Entry) -> str:
    """The note of a charge in brackets; "" of one that has none."""
    return f" ({entry.note})" if entry.note else ""


def _of_both(model: Model, page: Report, entry: Entry) -> HoldoutPlan | None:
    """The plan of training and measurement that a model and its page state, with the share that the charge names."""
    share = _HELD_OUT.match(entry.note)
    if share is None or not isinstance(page.measured, PrivateEvaluation):
        return None
    evaluation = page.measured.plan
    return HoldoutPlan(model.declared, evaluation, Holdout(float(share[1])), model.declared.n + evaluation.n)


def _other_measurement(page: Report, entry: Entry) -> list[str]:
    """What was charged to be measured and stands otherwise on the page."""
    charged = _MEASURED.search(entry.note)
    shown = page.measured
    if charged is None or not isinstance(shown, PrivateEvaluation) or shown.plan.what == charged[1]:
        return []
    return [f"row {entry.sequence} paid to {charged[1]}, and the page shows {shown.plan.what}"]


def _drafts(books: Sequence[tuple[Header, Sequence[Entry]]], model: Model) -> tuple[list[str], list[str]]:
    """What the ledgers did not pay of the drafts that a model claims beside its run, or paid for otherwise, one line each; and what they
    cannot show of them."""
    wrong, unchecked = list[str](), list[str]()
    for drafted in model.declared.domain.drafts:
        held = next((book for book in books if charge_of_draft(book[1], drafted) is not None), None)
        if held is None:
            wrong.append(not_booked(drafted, len(books)))
        else:
            wrong += booked_otherwise(*held, drafted, "the model")
            unchecked += cannot_show(held[1], drafted)
    return wrong, unchecked


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


def _told_otherwise(header: Header, entry: Entry, model: Model) -> list[str]:
    """What the receipt in a model says otherwise than the ledger: the data set, its cap, and what was charged in all by then."""
    told = model.receipt or {}
    return [
        f"the model states a {name} that is not the ledger's ({value})"
        for key, (name, value) in in_a_receipt(header, entry).items()
        if key in told and told[key] != value
    ]


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
