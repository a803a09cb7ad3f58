"""What ledgers and models say about each file that was given out: its receipts, its hash, its words. docs/learn/auditing.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from prepriv.commands.charged import booked_findings, charge_problems, holding, to_ask, unclaimed_drafts
from prepriv.commands.exits import NOT_DECIDED, Stop
from prepriv.commands.receipts import Given, charges_of, missing_receipts, sha256_of, unanswered
from prepriv.commands.verify import SAID, differences, of_another_version
from prepriv.ledger import Entry
from prepriv.release.model import Model, artifact_file
from prepriv.release.report import Report

_WORDS = (
    "its receipt and the hash of its model agree with the ledger, and its words were not checked: give its model, too, or run "
    "`prepriv report MODEL --verify {name} --ledger LEDGER`"
)


@dataclass
class Judged:
    """A file: the rows that paid for it, what is wrong with it, what nothing at hand could compare, what someone has to answer, and remarks."""

    charges: list[int]
    wrong: list[str]
    undecided: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)


def judge(given: Mapping[str, Given], ledgers: Mapping[str, Sequence[Entry]]) -> dict[str, Judged]:
    """Each file that was given out, against sound ledgers, and pages against their models: those given, and those beside the pages."""
    rows = [*ledgers.values()]
    judged = {name: Judged(charges_of(one, rows), missing_receipts(one, rows)) for name, one in given.items()}
    sound = {name: one for name, one in given.items() if not judged[name].wrong}
    for name, one in sound.items():
        undecided, asked = unanswered(one, rows)
        judged[name].undecided += [undecided] if undecided else []
        judged[name].asked += [asked] if asked else []
    for name, one in given.items():
        if (
            one.kind == "model" and name not in sound
        ):  # its charge is not here, and a draft that it used can be
            judged[name].wrong += _used_drafts(Path(name), [*ledgers])
    files = {sha256_of(Path(name)): Path(name) for name, one in sound.items() if one.kind == "model"}
    shown: dict[Path, Report] = {}  # of each model the page that shows most
    for name, one in sound.items():
        if one.kind == "page":
            file = files.get(one.artifacts[0]) or _beside(Path(name), one.artifacts[0])
            page = _page(judged[name], Path(name), file, [*ledgers])
            if file is not None and page is not None:
                _charged(judged[name], file, page, [*ledgers])
                if page.measured is not None or file not in shown:
                    shown[file] = page
    for file in files.values():
        _charged(judged[str(file)], file, shown.get(file), [*ledgers])
    return judged


def _beside(page: Path, sha256: str) -> Path | None:
    """The model that lies beside a page, as a run writes both."""
    file = artifact_file(page.parent)
    return file if file.is_file() and sha256_of(file) == sha256 else None


def _page(found: Judged, page: Path, file: Path | None, places: Sequence[str]) -> Report | None:
    """The report that the model of a page gives, if that is every word of the page."""
    if file is None:
        found.undecided.append(_WORDS.format(name=page))
        return None
    try:
        model = Model.load(file)
        wrong, unchecked, made = differences(page, model)
    except ValueError as why:
        found.undecided.append(f"its words were not checked: {file} cannot be read ({why})")
        return None
    except Stop as why:
        found.wrong.append(str(why))
        return None
    if wrong and of_another_version(wrong[0]):
        found.undecided.append(f"its words were not checked: {wrong[0]}")
        return None
    found.wrong += [f"it is not the page that {file} gives: {line}" for line in wrong]
    if wrong:
        return None
    found.remarks.append(f"every word is what {file} gives")
    same = [SAID[name] for name in booked_findings(holding(places, model)[0], model, made)[0]]
    found.remarks += [f"stated by the page alone: {line}" for line in unchecked if line not in same]
    return made


def _used_drafts(file: Path, places: Sequence[str]) -> list[str]:
    try:
        model = Model.load(file)
    except ValueError:
        return []
    place, others = holding(places, model)
    return unclaimed_drafts(place, model, others)[0]


def _charged(found: Judged, file: Path, page: Report | None, places: Sequence[str]) -> None:
    """What `prepriv report --ledger` finds of a model and its page."""
    try:
        model = Model.load(file)
    except ValueError as why:
        found.undecided.append(f"its claim was not compared with its charge: {why}")
        return
    place, others = holding(places, model)
    try:
        wrong, _ = charge_problems(place, model, file.read_bytes(), page, others)
    except Stop as why:
        if why.code != NOT_DECIDED:
            raise
        found.undecided.append(str(why))
        return
    found.wrong += [*wrong, *unclaimed_drafts(place, model, others)[0]]
    if not found.wrong:
        found.asked += to_ask(place, model, page, others)
