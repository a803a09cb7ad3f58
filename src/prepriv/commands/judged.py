"""What ledgers and models say about each file that was given out: its receipts, its hash, its words. docs/learn/auditing.md."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from prepriv._text import printable
from prepriv.columns import Categorical, Column, Numeric
from prepriv.commands.beside import hashes_of, models_beside
from prepriv.commands.charged import (
    Tables,
    booked_findings,
    charge_problems,
    drafted_tables,
    drafts_beside,
    holding,
    is_what_was_released,
    kinds_charged,
    to_ask,
    unbooked_findings,
    unclaimed_drafts,
)
from prepriv.commands.exits import NOT_DECIDED, Stop
from prepriv.commands.receipts import (
    Given,
    Receipt,
    asked_of_rows,
    charges_in_words,
    data_in,
    is_released_schema,
    missing_receipts,
    not_compared_in,
    odd_data,
    runs_named,
    sha256_of,
    unanswered,
)
from prepriv.commands.saved_answers import states_otherwise
from prepriv.commands.saved_schemas import not_as_drafted, of_the_same_draft, stated_otherwise
from prepriv.commands.saved_scores import read_score
from prepriv.commands.scores import DIGITS, ScoresAtHand, model_of, not_covered, paid_together, whose_score
from prepriv.commands.verify import PASS_ON, differences, digits_in_words, of_another_version
from prepriv.domain import Domain
from prepriv.evaluation.found_hashes import SAID
from prepriv.evaluation.result import PrivateEvaluation
from prepriv.guarantees.drafts import of_draft
from prepriv.guarantees.printed import exact
from prepriv.ledger import Entry, Ledger
from prepriv.release.model import Model, artifact_file
from prepriv.release.report import Report
from prepriv.release.review import WHO_EDITED
from prepriv.release.summary import BEGAN_AS_A_DRAFT
from prepriv.runs.booked import booked_otherwise, charge_of_draft, not_booked
from prepriv.tables.written import spelled

_WORDS = (
    "its receipt and the hash of its model agree with the ledger, and its words were not checked: give its model, too, or run "
    "`prepriv report MODEL --verify {name} --ledger LEDGER`"
)

_NOT_GIVEN = (
    "its receipt and the hash of its model agree with the ledger, and its words were not checked: the model that it names ({digits}) is not among those that were given. "
    "Ask for that file as it was released"
)
_MOST_NAMED = 3  # columns, or categories of one
_UNNAMED = "its claim includes a private draft that it does not name, as an earlier version wrote it, so the charge of the draft was not looked for"
_WHICH_DRAFT = "which private draft its claim includes, and to which ledger the draft was charged. Ask for its schema and for that ledger, and give both"
_NOBODY = "it names nobody who answers for it (`declared_by:`)"
_EDITED_SINCE = f"{WHO_EDITED} The file says that they were edited, or that nothing shows that they were not"
_UNCLAIMED = "whether its bounds, categories or classes come from the schema draft of {which}, which it does not claim: if they do, its claim is too small by what that draft cost"
_NO_MODEL = "bounds and classes were compared with the drafts in the ledgers, and the rest was not, as no model was given with it: read it"


@dataclass
class Judged:
    """A file: the charges that paid for it, in words, what is wrong with it, what nothing at hand could compare, what someone has to answer, remarks, and of a
    page, a score or a schema the model whose it is, in words; "" where nothing says whose. Of a model the ledger that paid for it, and the names of its columns and of its label. coarse: whether a remark holds a sum of a ledger that keeps ε and δ alone."""

    charges: str
    wrong: list[str]
    undecided: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    model: str = ""
    place: str = ""
    columns: frozenset[str] = frozenset()
    coarse: bool = False


def judge(
    given: Mapping[str, Given],
    ledgers: Mapping[str, Sequence[Entry]],
    by_hand: Mapping[str, Domain],
    names: Mapping[str, str],
) -> dict[str, Judged]:
    """Each file that was given out, against sound ledgers, pages against their models (those given, and those beside the pages), and schemas against the models given.

    by_hand: what schemas declare of which nothing was drafted. names: of all models given, by the first digits of their hash.
    """
    rows = [*ledgers.values()]
    judged = {
        name: Judged(charges_in_words(one, ledgers), missing_receipts(one, ledgers))
        for name, one in given.items()
    }
    sound = {name: one for name, one in given.items() if not judged[name].wrong}
    for name, one in given.items():
        if name not in sound and one.kind in ("other", "measurement"):
            _run_again(judged[name], Path(name), one, rows)
    for name, one in sound.items():
        undecided, asked = unanswered(one, rows)
        judged[name].undecided += [undecided] if undecided else []
        judged[name].asked += [asked] if asked else []
        if one.kind in ("other", "measurement"):
            _claimed_drafts(judged[name], one, ledgers)
            _of_its_charge(judged[name], Path(name), [*ledgers])
    for name, one in given.items():
        if (
            one.kind == "model" and name not in sound
        ):  # its charge is not here, and a draft that it used can be
            judged[name].wrong += _used_drafts(Path(name), [*ledgers])
    for name, one in given.items():
        if one.kind == "measurement" and name not in sound:
            judged[name].wrong += _words_changed(Path(name), one, rows, names)
    at_hand = {Path(name): one.own for name, one in given.items() if one.kind == "model"}
    scored = _scores(judged, sound, ledgers, names, at_hand)
    scores = ScoresAtHand(scored, _naming(given, ledgers, scored))
    files = {sha256_of(Path(name)): Path(name) for name, one in sound.items() if one.kind == "model"}
    tables = drafted_tables(_domains(sound), [*ledgers])
    for name, one in sound.items():
        if one.kind in ("other", "measurement"):
            judged[name].asked += _of_its_bounds(data_in(Path(name)), one, ledgers, tables)
    shown: dict[Path, Report] = {}  # of each model the page that shows most
    for name, one in sound.items():
        if one.kind == "page":
            file = files.get(one.artifacts[0]) or _beside(Path(name), one.artifacts[0])
            _whose_page(judged[name], Path(name), file, given, at_hand)
            page = _page(judged[name], Path(name), file, [*ledgers], _without_model(one, name, at_hand))
            if file is not None and page is not None:
                _charged(judged[name], file, page, [*ledgers], tables, scores)
                if page.measured is not None or file not in shown:
                    shown[file] = page
    for file in files.values():
        _charged(judged[str(file)], file, shown.get(file), [*ledgers], tables, scores)
    models = _models(given, shown, ledgers)
    for name, one in sound.items():
        if one.domain is not None:
            _draft_booked(judged[name], one.domain, ledgers)
            near = _models_near(Path(name), models, at_hand)
            _swapped(judged[name], one.domain, models, near)
            if is_released_schema(one, rows):
                others_given = [*by_hand.values(), *(it.domain for it in given.values() if it is not one)]
                _released(judged[name], Path(name), one, rows, models, others_given)
            else:
                _of_models(judged[name], one.domain, models, near)
            for other, model in models.items():
                judged[name].wrong += stated_otherwise(one.domain, other, model.domain)
    for name, domain in by_hand.items():
        place, *others = ledgers
        wrong, questions = drafts_beside(place, domain, others)
        judged[name] = Judged("", wrong, asked=questions)
        near = _models_near(Path(name), models, at_hand)
        _swapped(judged[name], domain, models, near)
        _of_models(judged[name], domain, models, near)
        if not models:
            judged[name].undecided.append(_NO_MODEL)
        judged[name].undecided += not_compared_in(Path(name))
    schemas = {name: one.domain for name, one in sound.items() if one.domain is not None} | dict(by_hand)
    for name, domain in schemas.items():
        judged[name].remarks += [_NOBODY] if domain.declared_by is None else []
    return judged


@dataclass(frozen=True)
class _Declared:
    """What a model declares: its domain, and how many records (or units) there are, as far as the model and its page say: without and with those that were set aside.

    unknown: why nothing at hand says how many were set aside; "" where that is known."""

    domain: Domain
    rows: tuple[int, ...]
    unknown: str


def _models(
    given: Mapping[str, Given], shown: Mapping[Path, Report], ledgers: Mapping[str, Sequence[Entry]]
) -> dict[str, _Declared]:
    """What the models given declare. shown: their pages."""
    found = dict[str, _Declared]()
    for name, one in given.items():
        if one.kind == "model":
            with suppress(ValueError):
                model, page = Model.load(name), shown.get(Path(name))
                plan = model.declared
                scored = None if page is None else page.measured
                rows: tuple[int, ...] = (plan.n,)
                if isinstance(scored, PrivateEvaluation) and scored.whole is not None:
                    rows = (plan.n, plan.n + scored.plan.n)
                unknown = "" if page is not None else _set_aside(model, Path(name), ledgers)
                found[name] = _Declared(plan.domain, rows, unknown)
    return found


def _set_aside(model: Model, file: Path, ledgers: Mapping[str, Sequence[Entry]]) -> str:
    """Of a model without a verified page why the number of all its records is not known; "" where its charge set none aside."""
    uid = (model.receipt or {}).get("plan_uid")
    rows, row = next(
        (
            (rows, one)
            for rows in ledgers.values()
            for one in rows
            if (one.kind, one.plan_uid) == ("charged", uid)
        ),
        ([], None),
    )
    if row is None:
        return "no ledger given says whether its run set records aside"
    if not is_what_was_released(rows, row, file.read_bytes()):
        return f"its file is not the one that row {row.sequence} paid for"
    if row.plan_hash == model.declared.hash:
        return ""
    return f"row {row.sequence} paid for more than the model, such as records that were set aside. A page with its score, if it is given and verified, says how many there were"


def _draft_booked(found: Judged, domain: Domain, ledgers: Mapping[str, Sequence[Entry]]) -> None:
    """What a ledger booked of the drafts of a schema otherwise than the schema states it."""
    for drafted in domain.drafts:
        if drafted.ledger is None:
            found.undecided.append("one of its drafts was charged to no ledger")
            continue
        try:
            of_draft(drafted, domain)
        except ValueError as why:
            found.wrong.append(str(why))
            continue
        for place, rows in ledgers.items():
            if charge_of_draft(rows, drafted) is not None:
                found.wrong += booked_otherwise(Ledger.open(place).header, rows, drafted, "the file")


def _claimed_drafts(found: Judged, one: Given, ledgers: Mapping[str, Sequence[Entry]]) -> None:
    """What ledgers booked otherwise, or not at all, of the drafts that answers, a description, a sketch or a score claim beside their run."""
    try:
        found.wrong += [not_booked(drafted, len(ledgers)) for drafted in one.uncharged]
        for drafted in one.drafts.values():
            for place, rows in ledgers.items():
                if charge_of_draft(rows, drafted) is not None:
                    found.wrong += booked_otherwise(Ledger.open(place).header, rows, drafted, "the file")
    except ValueError:
        found.wrong.append("one of its drafts states numbers that no draft has")
    if one.unnamed:
        found.undecided.append(_UNNAMED)
        found.asked.append(_WHICH_DRAFT)


def _models_near(file: Path, models: Mapping[str, _Declared], at_hand: Collection[Path]) -> list[str]:
    """The models that lie beside a file, among those that were read."""
    return [str(one) for one in models_beside(file, at_hand) if str(one) in models]


def _swapped(found: Judged, domain: Domain, models: Mapping[str, _Declared], near: Sequence[str]) -> None:
    """Ask of a schema that lies beside a model, and is that of another one. near: the models that lie beside it."""
    alike = [name for name in models if not _apart(domain, models[name].domain)]
    if not near or not alike or not {*near}.isdisjoint(alike):
        return
    other = ", ".join(_apart(domain, models[near[0]].domain))
    found.asked.append(
        f"whether it was swapped: it is the schema of {alike[0]} and lies beside {near[0]}, whose schema has other {other}"
    )


def _released(
    found: Judged,
    file: Path,
    one: Given,
    ledgers: Sequence[Sequence[Entry]],
    models: Mapping[str, _Declared],
    others: Sequence[Domain | None],
) -> None:
    """What contradicts a schema whose bytes are those of its release: its own draft, and each model that claims that draft, but for those that another
    schema given was edited for. others: what the other schemas declare."""
    assert one.domain is not None
    known = [other for other in others if other is not None]
    own = {
        name: model
        for name, model in models.items()
        if of_the_same_draft(one.domain, model.domain)
        and (not _apart(one.domain, model.domain) or all(_apart(other, model.domain) for other in known))
    }
    before = len(found.undecided)
    _of_models(found, one.domain, own, [], as_drafted=True)
    if wrong := not_as_drafted(file, one.domain, ledgers, one.file):
        found.wrong += [*wrong, *found.undecided[before:]]


def _of_models(
    found: Judged,
    domain: Domain,
    models: Mapping[str, _Declared],
    near: Sequence[str],
    as_drafted: bool = False,
) -> None:
    """Whether a schema is that of a model that was given out with it: what it declares of columns, label, neighbours and persons. near: the models that lie beside it.

    as_drafted: whether its bytes are those of its release, and its models those of its draft. Then its rows are those that the draft states, and a run can declare others.
    """
    if not models:
        return
    apart = {name: _apart(domain, other.domain) for name, other in models.items()}
    alike = [name for name in near if not apart[name]] or [name for name in models if not apart[name]]
    name = next(
        (one for one in alike if domain.n == models[one].rows[-1]),
        min(apart, key=lambda one: len(apart[one])),
    )
    if apart[name]:
        found.undecided.append(
            f"it is not the schema of a model that was given: that of {name} has other {', '.join(apart[name])}"
        )
        return
    model = models[name]
    if len(model.domain.drafts) > len(domain.drafts) and not as_drafted:
        found.wrong.append(
            f"it declares what {name} declares, and does not name the private draft that the model claims: its lines under `drafted:` were taken out"
        )
        return
    same = domain.n == model.rows[-1] and not model.unknown  # those set aside are rows of the table, too
    parts = f"columns, {'rows, ' if same else ''}label, neighbours, units and `declared_by:`"
    found.remarks.append(f"it declares what {name} declares: {parts}")
    found.model = name
    if as_drafted:
        return
    if model.domain.label is None:
        found.undecided.append("its name of the label was not compared: the model names none")
    if domain.n is not None and not same:
        known = " or ".join(f"{rows:,}" for rows in model.rows)
        trained, *whole = (f"{rows:,}" for rows in model.rows)
        stated = f"{trained} in training" + (f", {whole[0]} with those that were set aside" if whole else "")
        found.undecided.append(
            f"its `rows: {domain.n}` was not compared: the model was trained on {known}, and {model.unknown}"
            if model.unknown and domain.n >= model.rows[-1]
            else f"its `rows: {domain.n}` is not the number of the model and its page ({stated}). A run can declare a number of its own: ask which one is right"
        )


def _apart(a: Domain, b: Domain) -> list[str]:
    """In what two domains differ, their number of records apart, which a run can declare by itself."""
    declared = {
        f"columns, bounds or categories{_columns_apart(a, b)}": (a.columns, b.columns),
        "classes": (sorted(map(str, a.classes)), sorted(map(str, b.classes))),
        f"bounds of the target{_target_apart(a.target, b.target)}": (a.target, b.target),
        f"label ({_both('', a.label, b.label)})": (
            a.label,
            a.label if b.label is None else b.label,
        ),  # a model of Python need not name it
        "neighbours": (a.adjacency, b.adjacency),
        f"units ({_both('', _units(a), _units(b))})": ((a.unit, a.rows_per_unit), (b.unit, b.rows_per_unit)),
        f"`declared_by:`{_names_apart(a, b)}": (a.declared_by, b.declared_by),
    }
    return [name for name, (one, other) in declared.items() if one != other]


def _target_apart(one: Numeric | None, other: Numeric | None) -> str:
    """In what the bounds of a label differ, with both values; "" where there is none, as with classes."""
    return (
        f" ({_declared_apart(one, other)})" if one is not None and other is not None and one != other else ""
    )


def _units(domain: Domain) -> str:
    """The unit of a domain, and how many rows of each are read."""
    return "none" if domain.unit is None else f"{domain.unit} with {domain.rows_per_unit} rows each at most"


def _names_apart(a: Domain, b: Domain) -> str:
    """Whom two domains name as who declared them, where they differ."""
    one, other = (
        "nobody" if who is None else f'"{printable(who)}"' for who in (a.declared_by, b.declared_by)
    )
    return f" ({one} here, {other} there)" if one != other else ""


def _columns_apart(a: Domain, b: Domain) -> str:
    """Which columns a schema and a model declare otherwise, and what of the first of them. What is declared was read of no record."""
    names = [name for name in {**a.columns, **b.columns} if a.columns.get(name) != b.columns.get(name)]
    more = f"; and {len(names) - _MOST_NAMED:,} more" if len(names) > _MOST_NAMED else ""
    listed = "; ".join(
        f"`{printable(str(name))}`: {_declared_apart(a.columns.get(name), b.columns.get(name))}"
        for name in names[:_MOST_NAMED]
    )
    return f" ({listed}{more})" if names else " (their order)"


def _declared_apart(one: Column | None, other: Column | None) -> str:
    """In what two declared columns differ, of a schema and of a model, with both values. None: not there."""
    if one is None or other is None:
        return f"in {'the model' if one is None else 'this schema'} alone"
    if isinstance(one, Categorical) and isinstance(other, Categorical):
        alone = [(name, "this schema") for name in one.categories if name not in other.categories]
        alone += [(name, "the model") for name in other.categories if name not in one.categories]
        said = ", ".join(f'"{printable(name)}" in {where} alone' for name, where in alone[:_MOST_NAMED])
        more = f" and {len(alone) - _MOST_NAMED:,} more" if len(alone) > _MOST_NAMED else ""
        return f"{said}{more}" or "its categories in another order"
    if type(one) is not type(other):
        return _both("", type(one).__name__.lower(), type(other).__name__.lower())
    pairs = ((f.name, getattr(one, f.name), getattr(other, f.name)) for f in fields(one))
    return ", ".join(_both(f"{name} ", *_as_cells(one, other, x, y)) for name, x, y in pairs if x != y)


def _both(name: str, one: object, other: object) -> str:
    return f"{name}{printable(str(one))} in this schema, {printable(str(other))} in the model"


def _as_cells(one: Column, other: Column, x: Any, y: Any) -> tuple[object, object]:
    """Two bounds as the cells of their columns say them, or as numbers where these look alike; anything else as it is."""
    if not (isinstance(x, float) and isinstance(one, Numeric) and isinstance(other, Numeric)):
        return x, y
    told = spelled(x, one.written), spelled(y, other.written)
    dated = isinstance(told[0], str) and isinstance(told[1], str) and told[0] != told[1]
    return told if dated else (exact(x), exact(y))


def _beside(page: Path, sha256: str) -> Path | None:
    """The model that lies beside a page, as a run writes both."""
    file = artifact_file(page.parent)
    return file if file.is_file() and sha256_of(file) == sha256 else None


def _whose_page(
    found: Judged,
    page: Path,
    file: Path | None,
    given: Mapping[str, Given],
    at_hand: Mapping[Path, Receipt | None],
) -> None:
    """Find the model of a page, and ask where it lies beside another one. file: its model, where that is at hand. at_hand: the models given, and their receipts."""
    own, sha256 = given[str(page)].own, given[str(page)].artifacts[0]
    found.model = _named(file, sha256)
    near = {one: hashes_of(one) for one in models_beside(page, at_hand)}
    if any(sha256 in here or (own and own == at_hand.get(one)) for one, here in near.items()):
        return  # an edited model has another hash, and the charge that the page names
    for one, here in near.items():
        theirs = [
            name for name, other in given.items() if other.kind == "page" and other.artifacts[0] in here
        ]
        whose = f"is {' and '.join(theirs)}" if theirs else "is not among the files given"
        found.asked.append(
            f"whether it was swapped: it is the page of {found.model} and lies beside {one}, whose own page {whose}"
        )


def _named(file: Path | None, digits: str) -> str:
    """A model in words, by its file or by the first digits of its hash."""
    return str(file) if file is not None else f"a model that was not given ({digits[:DIGITS]})"


def _without_model(page: Given, name: str, at_hand: Collection[Path]) -> str:
    """Why the words of a page are not checked where its model is not at hand. at_hand: the models given."""
    return _NOT_GIVEN.format(digits=page.artifacts[0][:DIGITS]) if at_hand else _WORDS.format(name=name)


def _page(found: Judged, page: Path, file: Path | None, places: Sequence[str], without: str) -> Report | None:
    """The report that the model of a page gives, if that is every word of the page. without: why nothing gives it where no model is at hand."""
    if file is None:
        found.undecided.append(without)
        return None
    try:
        model = Model.load(file)
        wrong, unchecked, digits, made = differences(page, model)
    except ValueError as why:
        found.undecided.append(f"its words were not checked: {file} cannot be read ({why})")
        return None
    except Stop as why:
        own = str(why).removeprefix(f"{page} ")
        found.wrong.append(str(why) if own == str(why) else f"it {own}")
        return None
    if wrong and of_another_version(wrong[0]):
        found.undecided.append(f"its words were not checked: {wrong[0]}")
        return None
    found.wrong += [f"it is not the page that {file} gives: {line}" for line in wrong]
    if wrong:
        return None
    if digits:
        found.undecided.append(f"{digits_in_words(digits)}. {PASS_ON}")
    else:
        found.remarks.append(f"every word is what {file} gives")
    place = holding(places, model)[0]
    same = [SAID[name] for name in booked_findings(place, model, made)[0]]
    found.asked += unbooked_findings(place, model, made)
    found.remarks += [f"stated by the page alone: {line}" for line in unchecked if line not in same]
    return made


def _of_its_charge(found: Judged, file: Path, places: Sequence[str]) -> None:
    """What the data of answers, a description, a sketch or a score state otherwise than the ledger that paid for them."""
    data, odd = data_in(file), odd_data(file)
    found.wrong += [odd] if odd and data else []
    for book in map(Ledger.open, places):
        stated = states_otherwise(file, data, book.header, book.entries())
        found.wrong += stated.wrong
        found.undecided += stated.undecided


def _of_its_bounds(
    data: Mapping[str, Any], one: Given, ledgers: Mapping[str, Sequence[Entry]], tables: Tables
) -> list[str]:
    """What to ask about where the bounds of answers, a description or a sketch come from: of a draft that was edited, and of one that is not claimed."""
    if one.drafts or one.uncharged or one.unnamed:
        said = data.get("promise")
        return [_EDITED_SINCE] if isinstance(said, list) and BEGAN_AS_A_DRAFT in said else []
    columns = data.get("columns")  # of a description; answers and sketches do not list all that they read
    columns = set(map(str, columns)) if isinstance(columns, Mapping) else set()
    uids = set() if one.own is None else {one.own[2]}
    paid = [
        row for rows in ledgers.values() for row in rows if row.plan_uid in uids and row.kind == "charged"
    ]
    if any("evaluate" in kinds_charged(row) for row in paid):
        return []  # a score is of a model, which is asked about
    asked = list[str]()
    for place, rows in ledgers.items():
        mine = next((row.sequence for row in rows if row in paid), math.inf)
        for row in rows:
            table = tables.get(row.plan_uid)
            apart = table is not None and bool(columns) and table.isdisjoint(columns)
            drafted = row.kind == "charged" and "schema draft" in kinds_charged(row)
            if drafted and row.sequence < mine and not apart:
                which = f"row {row.sequence}{f' of {place}' if len(ledgers) > 1 else ''}"
                asked.append(_UNCLAIMED.format(which=which))
    return asked


def _run_again(found: Judged, file: Path, one: Given, ledgers: Sequence[Sequence[Entry]]) -> None:
    """Say about a file whose charge is not here that its plan is that of a charge which is: the same was run again, and someone knows why."""
    plan, held = data_in(file).get("plan_hash"), [row for rows in ledgers for row in rows]
    own = {one.own[1], one.own[2]} if one.own else set()
    if not own or own & {part for row in held for part in (row.head, row.plan_uid)}:
        return  # its own row is here, though its whole receipt is not: the ledger was made again, or the receipt edited
    same = [str(row.sequence) for row in held if row.kind == "charged" and row.plan_hash == plan]
    if same:
        found.wrong.append(
            f"its plan is that of row{'s' if len(same) > 1 else ''} {', '.join(same)}, so the same was run once more, and charged elsewhere or later, or this ledger was made again. Ask for the file of row {same[0]}, and which of them people were given"
        )


def _used_drafts(file: Path, places: Sequence[str]) -> list[str]:
    try:
        model = Model.load(file)
    except ValueError:
        return []
    place, others = holding(places, model)
    return unclaimed_drafts(place, model, others)[0]


def _domains(sound: Mapping[str, Given]) -> list[Domain]:
    """What the models and drafted schemas given declare."""
    found = [one.domain for one in sound.values() if one.domain is not None]
    for name, one in sound.items():
        if one.kind == "model":
            with suppress(ValueError):
                found.append(Model.load(name).declared.domain)
    return found


def _scores(
    judged: Mapping[str, Judged],
    sound: Mapping[str, Given],
    ledgers: Mapping[str, Sequence[Entry]],
    models: Mapping[str, str],
    at_hand: Collection[Path],
) -> set[str]:
    """Name the model that each score measured, or ask where that model is. Gives the runs whose scores were compared whole."""
    paid = {one.plan_uid: one for rows in ledgers.values() for one in rows if model_of(one)}
    shown = set[str]()
    for name, one in sound.items():
        for uid in (
            runs_named([one], [*ledgers.values()]) & paid.keys()
            if one.kind in ("measurement", "other")
            else ()
        ):
            row, digits = paid[uid], model_of(paid[uid])
            whose = models.get(digits)
            judged[name].model = _named(None if whose is None else Path(whose), digits)
            near = {one: hashes_of(one) for one in models_beside(Path(name), at_hand)}
            if near and not any(one.startswith(digits) for here in near.values() for one in here):
                judged[name].asked.append(
                    f"whether it was swapped: it is a score of {judged[name].model} and lies beside {', '.join(map(str, near))}"
                )
            if whose is not None:
                judged[name].remarks.append(f"a score of {whose}")
                _add_together(judged[name], whose, row, ledgers)
            else:
                judged[name].asked.append(
                    f"where the model is that was measured: row {row.sequence} paid to evaluate {whose_score(row, {})}, and no file given is that model"
                )
            if not judged[name].undecided:  # its bytes are those that were released
                shown.add(uid)
                _compute_again(judged[name], Path(name), whose, row)
    return shown


def _words_changed(
    file: Path, one: Given, ledgers: Sequence[Sequence[Entry]], models: Mapping[str, str]
) -> list[str]:
    """Which words of a score that is not the one that was released are not those that its own numbers and its model give. models: by the first digits of what their file holds."""
    row = next(
        (row for rows in ledgers for row in rows if (row.sequence, row.head, row.plan_uid) == one.own), None
    )
    whose = None if row is None else models.get(model_of(row))
    if row is None or whose is None:
        return []
    with suppress(ValueError):
        return read_score(file, Model.load(whose), row).wrong
    return []


def _compute_again(found: Judged, file: Path, whose: str | None, row: Entry) -> None:
    """Compare a score with what its own numbers and its model give, and ask whose rows these were. whose: the file of that model, where it is at hand."""
    if whose is None:
        found.undecided.append("its words were not compared with its numbers: give its model, too")
        found.asked.append(asked_of_rows(""))
        return
    try:
        score = read_score(file, Model.load(whose), row)
    except ValueError as why:
        found.undecided.append(f"its words were not compared with its numbers: {why}")
        return
    found.wrong += score.wrong
    found.undecided += score.undecided
    found.asked.append(asked_of_rows(score.rows))
    if not score.wrong and not score.undecided:
        found.remarks.append("every word is what its own numbers and its model give")


def _naming(
    given: Mapping[str, Given], ledgers: Mapping[str, Sequence[Entry]], shown: Collection[str]
) -> dict[str, list[str]]:
    """The files that name the charge of a score, by its run, where none was compared whole. shown: the runs of which one was."""
    paid = {
        (one.sequence, one.head, one.plan_uid) for rows in ledgers.values() for one in rows if model_of(one)
    }
    found = dict[str, list[str]]()
    for name, one in given.items():
        if one.own in paid and one.own is not None and one.own[2] not in shown:
            found.setdefault(one.own[2], []).append(name)
    return found


def _add_together(found: Judged, file: str, row: Entry, ledgers: Mapping[str, Sequence[Entry]]) -> None:
    """Add to the remarks on a score what its model and all later scores allow together, by the ledger that holds this charge. file: that of the model."""
    with suppress(ValueError):
        model = Model.load(file)
        for header, rows in (
            (Ledger.open(place).header, rows) for place, rows in ledgers.items() if row in rows
        ):
            found.remarks.append(not_covered(model, header, rows))
            found.coarse |= header.unit == "basic" and paid_together(model, header, rows) is not None


def _charged(
    found: Judged,
    file: Path,
    page: Report | None,
    places: Sequence[str],
    tables: Tables,
    scores: ScoresAtHand,
) -> None:
    """What `prepriv report --ledger` finds of a model and its page."""
    try:
        model = Model.load(file)
    except ValueError as why:
        found.undecided.append(f"its claim was not compared with its charge: {why}")
        return
    place, others = holding(places, model)
    domain = model.declared.domain
    found.place, found.columns = place, frozenset({*domain.columns, *filter(None, [domain.label])})
    try:
        wrong, _ = charge_problems(place, model, file.read_bytes(), page, others)
    except Stop as why:
        if why.code != NOT_DECIDED:
            raise
        found.undecided.append(str(why))
        wrong = []
    found.wrong += [*wrong, *unclaimed_drafts(place, model, others)[0]]
    found.asked += to_ask(place, model, page, others, tables, scores, file.read_bytes())
