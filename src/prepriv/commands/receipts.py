"""Receipts in what was given out, such as models, pages, answers and drafted schemas, against the ledgers that should hold them."""

from __future__ import annotations

import csv
import hashlib
import html
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from prepriv._text import printable
from prepriv.commands.exits import Stop, reason
from prepriv.commands.scores import DIGITS
from prepriv.domain import Domain, drafted_content
from prepriv.drafted import CHARGE, Drafted
from prepriv.guarantees.drafts import FIXED, IN_ALL
from prepriv.guarantees.in_words import AMOUNT, rounded_amounts
from prepriv.ledger import Entry, Header
from prepriv.ledger.currency import amount_in_words, cap_in_amounts
from prepriv.ledger.store import files_of_a_run, foreign_side_files
from prepriv.ledger.urls import is_url
from prepriv.release.strict_json import parsed
from prepriv.runs.booked import in_words_of, ledger_of, not_booked, schema_files
from prepriv.schemas.declared_file import parse_yaml
from prepriv.schemas.odd_lines import LAYOUT, odd_lines, unread_lines
from prepriv.schemas.schema import load_schema

_SCHEMAS = (".yaml", ".yml")
_PAGES = (".html", ".htm")
_ENDINGS = (".json", *_PAGES, *_SCHEMAS)
_OF_LEDGER = ("", "-wal", "-shm", "-journal")  # what SQLite keeps beside one
_SQLITE = b"SQLite format 3"  # how a ledger begins, whatever its name
LEDGERS = (".db", ".sqlite", ".sqlite3", ".ledger")
"""How the names of ledgers often end: a damaged or empty one is known by it."""
_LONGEST_NAME = 80  # of a data set that a file states itself
_MOST_BESIDE = 20  # files that are looked at
_MOST_LINES = 3  # lines of a schema that are named
_TABLE = b"CREATE TABLE entries"  # what is left of one whose first bytes are damaged
_MEASURED = b"<title>prepriv evaluation</title>"
_REPORT = b"<title>prepriv report</title>"
_LOOKED = (b"<title>prepriv description</title>", b"<title>prepriv sketch</title>")
_ALONE = (_MEASURED, *_LOOKED)  # pages that are known by their bytes
_IN_MODEL = {"weights", "maps", "plan"}  # keys of one
_PAGE = re.compile(r"\bpage ([0-9a-f]{64})\b")  # `of_page`
_AS_DATA = re.compile(r"<summary>Everything, as data</summary><pre>(.*?)</pre>", re.S)
_UNRECORDED = (
    "charged in row {row}, but no row holds the hash of what was released, so its bytes were not compared: the run was killed, "
    "Python saved it without the ledger, or a row was taken off. A head that someone kept after the release, or the receipt of a later charge, shows whether one was"
)
_BESIDE = "it lies where SQLite keeps the log of the ledger, and SQLite did not make it. It was not read as one, and nothing changed it: look into it"
ANOTHER_FILE = "(a number was changed, or the file was only laid out again: ask for it as it was)"
"""Why the bytes of a file can be others than those that were released."""
_OF_A_RUN = (
    "it lies where SQLite keeps the log of the ledger, and begins as one of SQLite does. Reading the ledger deletes it. It can hold more than charges, and no one sees that afterwards. At rest a ledger is one file: "
    "if no run uses it now, ask for it as it is after `prepriv ledger show`, alone"
)
_LINK = "a link to a file outside of the folder, which can be another one tomorrow: ask for the file itself"
OTHER_ENDS = "this file with other line endings alone (CR or CRLF, and prepriv writes LF): a mail or an editor changed them. Ask for the file as it was"
_BY = re.compile(rb"^declared_by:.*\n", re.MULTILINE)
_QUESTIONS = re.compile(r"(?:^|, |`: )questions$")  # a person's note stands in front
EDITED = (
    "columns, bounds, categories or classes were edited since the draft: ask who did, and after seeing what"
)
_EDITED_FILE = (
    "the file was edited since it was drafted: columns, bounds, categories and classes are as drafted. Its other lines, such as comments, `rows:`, "
    "`steps:` and `declared_by:`, were not compared with the draft: read them, and ask who changed what, and why"
)
_NAMED_SINCE = "the line `declared_by:` was added since the draft, and nothing else was changed: ask whom it names whether they answer for these bounds"
_NO_FILE = (
    "what it declares is what was drafted. The ledger holds no hash of the file (an earlier version, Python or `--json` made it), so its other lines, such as comments and "
    "`steps:`, were not compared"
)
PREDICTIONS = "predictions (`prepriv predict`). No claim covers those of the private rows, which stay where the rows are. Whose rows these are, only who made the file can say"
_OF_RECORD = {"url_slug", "status", "tier", "deployment"}  # the keys of one
_RECORD = "a record for the registry, as `prepriv report --record` writes it. People answer its questions in the file, so nothing compares its words: read it beside the page"
_AMOUNTS = re.compile(rf"{AMOUNT.pattern}(?:, {AMOUNT.pattern})?")
_LONGEST_AMOUNTS = 100  # characters
_PREDICTED = re.compile(r"\W*(?:predict(?:ion|ed)s?|y_pred|y_hat)\W*$", re.IGNORECASE)  # a column
_PERHAPS_PREDICTIONS = "by its header it may hold predictions: no claim covers them where the rows are private ones. Ask whose rows they are"
_HEAD = 2000  # bytes in which a page says what it is
_LARGEST = 100_000_000  # bytes of a file that is read

Receipt = tuple[int, str, str]
"""Sequence, head and uid."""
FileKind = Literal["model", "page", "schema", "measurement", "other"]
"""What a file is. A page is the report of a model, as .html or .json; "other" holds a receipt and is neither."""


def ledgers_among(places: Sequence[str]) -> list[str]:
    """Those of the places named that are ledgers, by their content or their name. Where none is, the first file that cannot have been given out has to be one."""
    found = [place for place in places if _is_ledger(place)]
    return found or [place for place in places if not _was_given_out(Path(place))][:1]


def ledgers_inside(places: Sequence[str]) -> list[str]:
    """Files in these folders that may be ledgers, the first of them."""
    files = (file for place in places if Path(place).is_dir() for file in files_of(Path(place)))
    named = (str(one) for one in files if one.suffix.lower() in LEDGERS)
    return [name for name in named if _is_ledger(name)][:_MOST_BESIDE]


def ledgers_of(place: str) -> list[str]:
    """The first files beside a ledger that may be ledgers, too: databases with an ending that a ledger often has."""
    here = Path(place)
    try:
        beside = sorted(here.parent.iterdir())
    except OSError:
        return []
    names = [
        str(one)
        for one in beside
        if one.suffix.lower() in LEDGERS and one.is_file() and one.resolve() != here.resolve()
    ]
    return [name for name in names[:_MOST_BESIDE] if _is_ledger(name)]


def _was_given_out(path: Path) -> bool:
    return path.is_dir() or path.suffix.lower() in _ENDINGS


def _is_ledger(place: str) -> bool:
    """Whether it is a ledger, perhaps a damaged one, or one that is not there."""
    path = Path(place)
    if is_url(place):
        return True
    is_side_file = place.endswith(_OF_LEDGER[1:])
    if not path.is_file():
        return not is_side_file and not _was_given_out(path)
    named = path.suffix.lower() in LEDGERS
    try:
        with path.open("rb") as file:
            head = file.read(2**16)
    except OSError:
        return named
    if head.startswith(_SQLITE):
        return True
    if is_side_file or _was_given_out(path):
        return False
    return named or (_TABLE in head and b"\0" in head)


@dataclass(frozen=True)
class Given:
    """What a file that was given out says about its charges.

    receipts: its own, and those of the drafts it used. own: the one of its own release; None: of a page without data, which is known by its hash alone. artifacts: of a page the
    hash of the model's file; of a drafted schema the one of what it declares, and those that it holds of what was drafted; of any other file its own. kind: what it is. domain, file: of a drafted
    schema what it declares, None where no run could use it, and the hash of its own bytes. before_named: the same without its line `declared_by:`. as_lf: of a model the
    hash of its bytes with the line endings that prepriv writes. drafts: those whose receipts it holds, by their receipt. uncharged: those that it claims without one. unnamed: whether its claim
    includes a draft that it does not name. total: `booked_by_then` of what it states itself.
    """

    receipts: tuple[Receipt, ...]
    own: Receipt | None
    artifacts: tuple[str, ...]
    kind: FileKind
    domain: Domain | None = None
    file: str = ""
    before_named: str = ""
    as_lf: str = ""
    drafts: Mapping[Receipt, Drafted] = field(default_factory=dict)
    uncharged: tuple[Drafted, ...] = ()
    unnamed: bool = False
    total: str = ""

    @property
    def is_schema(self) -> bool:
        """Whether it is one."""
        return self.kind == "schema"


@dataclass
class Collected:
    """What was given out: files with receipts; why each other file was not compared; what schemas declare that were made by hand; and the names of
    all models, by the first digits of what their file holds, as the note of a charge for a score names it."""

    given: dict[str, Given] = field(default_factory=dict)
    not_compared: dict[str, str] = field(default_factory=dict)
    by_hand: dict[str, Domain] = field(default_factory=dict)
    models: dict[str, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.given) + len(self.not_compared) + len(self.by_hand)


def collected(places: Sequence[str], ledgers: Sequence[str]) -> Collected:
    """What files, and all files of folders, say about their charges. The ledgers themselves are not meant. Stop for a file that is not there."""
    found = Collected()
    own = {os.path.realpath(one) + end for one in ledgers for end in _OF_LEDGER}
    for one in ledgers:
        found.not_compared |= beside_a_ledger(one)
    beside, taken = {os.path.realpath(name) for name in found.not_compared}, set[str]()
    for place in places:
        path, before = Path(place), len(found)
        if not path.is_dir() and os.path.realpath(path) in own:
            continue  # the log of a ledger, which a look may have folded into it
        if not path.exists():
            raise Stop(f"{path} does not exist")
        files = files_of(path) if path.is_dir() else [path]
        named = {
            os.path.abspath(file): file for file in files
        }  # a file may be named twice, or beside its folder
        for where, file in named.items():
            if where in taken or os.path.realpath(file) in own:
                continue
            if path.is_dir() and _leads_out(file, path):
                found.not_compared[str(file)] = _LINK
            else:
                _collect(found, file)
        if (
            len(found) == before
            and not taken & named.keys()
            and not any(os.path.realpath(file) in beside for file in files)
        ):
            raise Stop(f"{place} holds no file with a receipt")
        taken |= named.keys()
    return found


def beside_a_ledger(ledger: str) -> dict[str, str]:
    """What to ask about each file that lies under the name of a log beside a ledger. Look before the ledger is opened, which deletes those of SQLite."""
    if is_url(ledger):
        return {}
    path = _followed(ledger)
    return {str(one): _BESIDE for one in foreign_side_files(path)} | {
        str(one): _OF_A_RUN for one in files_of_a_run(path)
    }


def _followed(ledger: str) -> Path:
    """Where a ledger lies: SQLite keeps its log beside the file that a link names."""
    path = Path(ledger)
    return Path(os.path.realpath(path)) if path.is_symlink() else path


def _leads_out(file: Path, folder: Path) -> bool:
    """Whether a link of a folder names a file that is not in it, and may be another one tomorrow."""
    return file.is_file() and not Path(os.path.realpath(file)).is_relative_to(os.path.realpath(folder))


def files_of(folder: Path) -> list[Path]:
    """Whatever lies in it and below: links, which are not followed to folders, folders that cannot be listed, and empty ones, too."""
    return sorted(
        one
        for one in (folder, *folder.rglob("*"))
        if not one.is_dir()
        or (one != folder and one.is_symlink())
        or not os.access(one, os.R_OK | os.X_OK)
        or (one != folder and not any(one.iterdir()))
    )


def _collect(found: Collected, file: Path) -> None:
    """Put a file where it belongs."""
    name, ending = str(file), file.suffix.lower()
    if not file.is_file() or ending not in _ENDINGS:
        found.not_compared[name] = _why_not(file)
        return
    if _begins(file, _ALONE):
        found.given[name] = _given_alone(file, data_in(file), "measurement")
        return
    try:
        data, is_schema = _data(file), ending in _SCHEMAS
    except (Stop, ValueError, OSError) as why:
        said = str(why).removeprefix(f"{file}: ")
        found.not_compared[name] = (
            f"it {said.removeprefix(f'{file} ')}" if said.startswith(f"{file} ") else said
        )
        return
    if is_schema and (declared := _declared_by_hand(file, data)) is not None:
        found.by_hand[name] = declared
        return
    if isinstance(data, Mapping) and data.keys() >= _OF_RECORD:
        found.not_compared[name] = _RECORD
        return
    if _holds_predictions(data):
        found.not_compared[name] = PREDICTIONS
        return
    as_lf = ""
    if is_model := isinstance(data, Mapping) and data.keys() >= _IN_MODEL:
        as_lf = hash_as_lf(file.read_bytes())
        found.models[as_lf[:DIGITS]] = name
    own = data if is_schema else data.get("ledger") if isinstance(data, Mapping) else None
    mine = next(_receipts(own), None)
    if mine is None:
        found.not_compared[name] = "it holds no receipt"
        if is_schema and (fault := _not_valid(file, data)):
            found.not_compared[name] = fault
        return
    receipts, drafts = tuple(dict.fromkeys(_receipts(data))), _charged_drafts(data)
    if is_schema:
        domain = _domain_of(file)
        artifacts = _drafted_in(domain)
        before = hashlib.sha256(_BY.sub(b"", file.read_bytes(), count=1)).hexdigest()
        found.given[name] = Given(
            receipts,
            mine,
            artifacts,
            "schema",
            domain,
            file=sha256_of(file),
            before_named=before,
            drafts=drafts,
        )
        return
    kind, artifacts = _artifact_in(file, data, is_model)
    found.given[name] = (
        _given_alone(file, data, kind)
        if kind == "other"
        else Given(receipts, mine, artifacts, kind, as_lf=as_lf, drafts=drafts, total=booked_by_then(own))
    )


def _given_alone(file: Path, data: Mapping[str, Any], kind: FileKind) -> Given:
    """What answers, a description, a sketch or a score say about their charges: no model gives them, and no page names the hash of their file.

    data: what the file holds. A page without data has no receipt."""
    own = next(_receipts(data.get("ledger")), None)
    receipts = () if own is None else tuple(dict.fromkeys(_receipts(data)))
    uncharged = tuple(dict.fromkeys(one for one in _drafts(data) if one.ledger is None))
    drafts = _charged_drafts(data)
    unnamed = not drafts and not uncharged and tells_of_a_draft(data)
    return Given(
        receipts,
        own,
        (sha256_of(file),),
        kind,
        drafts=drafts,
        uncharged=uncharged,
        unnamed=unnamed,
        total=booked_by_then(data.get("ledger")),
    )


def tells_of_a_draft(data: Mapping[str, Any]) -> bool:
    """Whether a claim says that it includes a draft. Earlier versions wrote answers without the draft itself."""
    claim = data.get("guarantee")
    notes = claim.get("notes") if isinstance(claim, Mapping) else None
    return isinstance(notes, list) and any(one == FIXED or str(one).startswith(IN_ALL) for one in notes)


def _why_not(file: Path) -> str:
    """Why a file that holds no receipt was not compared."""
    if file.is_dir():
        unread = not os.access(file, os.R_OK | os.X_OK)
        return (
            "a link to a folder"
            if file.is_symlink()
            else "a folder that cannot be read"
            if unread
            else "an empty folder: read its name"
        )
    if not file.is_file():
        return "no plain file"
    try:
        with file.open("rb") as opened:
            is_ledger = opened.read(len(_SQLITE)) == _SQLITE
        if _are_predictions(file):
            return PREDICTIONS
        if any(_PREDICTED.match(name) for name in header_of(file)):
            return _PERHAPS_PREDICTIONS
    except OSError as error:
        return f"it cannot be read: {reason(error)}"
    return (
        "a database, perhaps a ledger: name it as one" if is_ledger else "this kind of file holds no receipt"
    )


def _are_predictions(path: Path) -> bool:
    """Whether its header is one that `predict` writes, whatever columns it kept."""
    return header_of(path)[:1] == ["prediction"]


def header_of(path: Path) -> list[str]:
    """The cells of the first line of a file."""
    with path.open(encoding="utf-8", errors="replace", newline="") as file:
        line = file.readline(2**16).replace("\0", "?")
    return next(csv.reader([line]), [])


def _holds_predictions(data: Any) -> bool:
    """Whether it is what `predict --json` prints."""
    return isinstance(data, Mapping) and isinstance(data.get("prediction"), list) and "ledger" not in data


def _declared_by_hand(file: Path, data: Any) -> Domain | None:
    """What a schema declares of which nothing was drafted, for which no ledger is charged; None of any other file."""
    if not isinstance(data, Mapping) or "drafted" in data:
        return None
    try:
        return load_schema(file).domain()
    except ValueError:
        return None


def _not_valid(file: Path, data: Any) -> str:
    """What is wrong with a schema that no run accepts; "" of one that some run does, and of a file that is none."""
    if not _is_schema(data):
        return ""
    try:
        load_schema(file).domain()
    except ValueError as why:
        said = str(why).removeprefix(f"{file}: ")
        draft = said.removeprefix(f"{file} ")  # "S.yaml is a draft"
        return f"it {draft}" if draft != said else f"it is not a valid schema: {said}"
    return ""


def _is_schema(data: Any) -> bool:
    """Whether what a YAML file holds declares columns or a label."""
    return isinstance(data, Mapping) and not {"columns", "label"}.isdisjoint(data)


_OF_DOMAIN = ("columns", "label", "adjacency", "rows", "unit", "rows_per_unit", "declared_by", "draft")
_OF_PREDICTIONS = ("class_weight", "threshold")  # under `label:`


_ALIGNED = "that is layout alone, which no run reads, and text can be written as numbers of spaces. Ask for the file with single spaces, and as many at each level"


def not_compared_in(file: Path) -> list[str]:
    """What of a schema that was declared by hand nothing is compared with, in words: keys outside of a domain, comments, and spellings that can hide text."""
    data = _data(file)
    keys = [f"`{key}:`" for key in data if key not in _OF_DOMAIN]
    keys += [f"`{key}:` of the label" for key in _OF_PREDICTIONS if key in data["label"]]
    written = file.read_bytes().decode("utf-8")
    lines = unread_lines(file.read_text(encoding="utf-8"))
    found = (
        [
            f"its {' and '.join(keys)} {'was' if len(keys) == 1 else 'were'} not compared: read {'it' if len(keys) == 1 else 'them'}"
        ]
        if keys
        else []
    )
    if lines:
        found.append(
            f"its anchors, tags or comments were not compared, on {lines} line{'s' if lines > 1 else ''}: read them"
        )
    found += [
        f"on {_lines(numbers)} {what}: {_ALIGNED if what == LAYOUT else 'read it'}"
        for what, numbers in odd_lines(written).items()
    ]
    return found


def _lines(numbers: Sequence[int]) -> str:
    """ "line 3", "lines 3, 5" or "lines 3, 5, 7 and 4 more"."""
    more = f" and {len(numbers) - _MOST_LINES:,} more" if len(numbers) > _MOST_LINES else ""
    return f"line{'s' if len(numbers) > 1 else ''} {', '.join(map(str, numbers[:_MOST_LINES]))}{more}"


def is_measurement(file: Path) -> bool:
    """Whether it is the page of `prepriv evaluate`."""
    return _begins(file, (_MEASURED,))


def asked_of_rows(said: str) -> str:
    """What to ask of a score that was measured after its model was released: only who measured it knows whose rows these were.

    said: what declared numbers show; "" where the model is not at hand."""
    return f"on which rows this score was measured, and whether the model was trained on any of them: ask whoever measured it. {said or 'What declared numbers show could not be computed, as its model is not among the files.'}"


_LONGEST = 2**22  # bytes of a file without a title: a hostile one costs no more memory than that allows
_COMPARED = (
    "{path} holds {what} and not a model. `prepriv ledger verify LEDGER {path}` compares it with its charge"
)
_OF_A_MODEL = "{path} is the page of a model and not the model itself. `prepriv report MODEL --verify {path}` compares both"
_A_SCHEMA = "{path} is a schema and not a model. `prepriv ledger verify LEDGER {path} MODEL` compares it with the ledger and with a model"
_NO_REPORT = "{path} {is_what} and not a report: no model gives it. `prepriv ledger verify LEDGER {path}` finds its charge"
_SCHEMA_NO_REPORT = "{path} is a schema and not a report: no model gives it. `prepriv ledger verify LEDGER {path} MODEL` compares it with the ledger and with a model"
_ASKED, _DESCRIBED = "answers (`prepriv ask`)", "a description (`prepriv describe`)"
_SKETCHED, _SCORED = "a sketch (`prepriv sketch`)", "a score (`prepriv evaluate`)"
NOTED_AS = {_ASKED: "questions", _DESCRIBED: "description", _SKETCHED: "sketch", _SCORED: "evaluate"}
"""The word that the note of its charge has, of what prepriv writes beside models and their pages."""
_MEASURE = "a measurement (`prepriv evaluate`)"
_TITLES = {
    _DESCRIBED: b"<title>prepriv description</title>",
    _SKETCHED: b"<title>prepriv sketch</title>",
    _SCORED: _MEASURED,
}
_KEYS = {
    _ASKED: {"answers", "plan_hash", "releases"},
    _DESCRIBED: {"columns", "correlations", "plan_hash"},
    _SKETCHED: {"sketch", "plan_hash"},
}


def no_model(file: Path) -> str:
    """What a file is that was named as a model, and which command is meant; "" where nothing says what it is."""
    data: Any = None
    with suppress(Stop, ValueError, OSError):
        if file.suffix.lower() in (".json", *_SCHEMAS) and file.stat().st_size <= _LONGEST:
            data = _data(file)
    if file.suffix.lower() in _SCHEMAS:
        return _A_SCHEMA.format(path=file) if _is_schema(data) else ""
    if _begins(file, (_REPORT,)) or _is_page(file, data):
        return _OF_A_MODEL.format(path=file)
    what = what_it_holds(file, data)
    return _COMPARED.format(path=file, what=what) if what else ""


def no_report(file: Path, data: Any = None) -> str:
    """What a file is that was named as a page after --verify, and which command is meant; "" where nothing says what it is. data: what it holds, where that was read."""
    if file.suffix.lower() in _SCHEMAS:
        with suppress(Stop, ValueError, OSError):
            return _SCHEMA_NO_REPORT.format(path=file) if _is_schema(_data(file)) else ""
    what = "" if _is_page(file, data) else what_it_holds(file, data)
    is_what = f"holds {what}" if what == _ASKED else f"is {_MEASURE if what == _SCORED else what}"
    return _NO_REPORT.format(path=file, is_what=is_what) if what else ""


def what_it_holds(file: Path, data: Any) -> str:
    """In words what prepriv wrote beside models and their pages; "" of anything else."""
    titled = [what for what, title in _TITLES.items() if _begins(file, (title,))]
    return next(iter(titled or _kinds_of(data)), "")


def _is_page(file: Path, data: Any) -> bool:
    """Whether it is the page of a model as data. A page with a score has a plan of both, too."""
    return isinstance(data, Mapping) and _artifact_in(file, data, data.keys() >= _IN_MODEL)[0] == "page"


def _kinds_of(data: Any) -> list[str]:
    """What a JSON holds that prepriv wrote, by its keys."""
    if not isinstance(data, Mapping):
        return []
    if isinstance(plan := data.get("plan"), Mapping) and "evaluation" in plan:
        return [_SCORED]
    return [what for what, keys in _KEYS.items() if keys <= data.keys()]


def data_in(file: Path) -> Mapping[str, Any]:
    """What a JSON file or a page holds by name; nothing of any other file."""
    if file.suffix.lower() not in (".json", *_PAGES):
        return {}
    try:
        data = _data(file)
    except Stop:
        return {}
    return data if isinstance(data, Mapping) else {}


def receipt_in(file: Path) -> Receipt | None:
    """The receipt of its own charge that a JSON file or a page holds."""
    return next(_receipts(data_in(file).get("ledger")), None)


def _begins(file: Path, titles: Sequence[bytes]) -> bool:
    """Whether it is a page with one of these titles."""
    if file.suffix.lower() not in _PAGES or not file.is_file():
        return False
    with file.open("rb") as opened:
        head = opened.read(_HEAD)
    return any(title in head for title in titles)


def _hashes(entry: Entry) -> set[str]:
    """What a row holds as released: the artifact, and its page where that has a hash of its own."""
    return {entry.artifact, *_PAGE.findall(entry.note)} if entry.kind == "released" else set()


def charges_of(given: Given, ledgers: Sequence[Sequence[Entry]]) -> list[int]:
    """The rows that paid for it."""
    if given.own is not None:
        return [one[0] for one in given.receipts]
    paid = {one.plan_uid for rows in ledgers for one in rows if not _hashes(one).isdisjoint(given.artifacts)}
    return [
        one.sequence for rows in ledgers for one in rows if one.kind == "charged" and one.plan_uid in paid
    ]


def charges_in_words(given: Given, ledgers: Mapping[str, Sequence[Entry]]) -> str:
    """The rows that paid for it, and of which ledger, where several are given."""
    found = list[str]()
    for place, rows in ledgers.items():
        held = {(one.sequence, one.head) for one in rows}
        own = [receipt[0] for receipt in given.receipts if receipt[:2] in held]
        paid = charges_of(given, [rows]) if given.own is None else own
        if paid:
            of = f" of {place}" if len(ledgers) > 1 else ""
            found.append(f"charge{'s' if len(paid) > 1 else ''} {', '.join(map(str, paid))}{of}")
    return " and ".join(found)


def runs_named(given: Sequence[Given], ledgers: Sequence[Sequence[Entry]]) -> set[str]:
    """The runs whose charges these files name, drafts that they used among them."""
    hashes = {one for file in given if file.own is None for one in file.artifacts}
    found = {one.plan_uid for rows in ledgers for one in rows if not _hashes(one).isdisjoint(hashes)}
    return found | {receipt[2] for file in given for receipt in file.receipts}


def sha256_of(file: Path) -> str:
    """The hash of its bytes."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


def hash_as_lf(content: bytes) -> str:
    """The hash that a file of prepriv's would have, had no mail or editor changed the ends of its lines."""
    if b"\r" in content:
        content = content.replace(b"\r\n", b"\n").replace(b"\r", b"\n").rstrip(b"\n") + b"\n"
    return hashlib.sha256(content).hexdigest()


def _artifact_in(file: Path, data: Mapping[str, Any], is_model: bool) -> tuple[FileKind, tuple[str, ...]]:
    """What it is, and the hash of the model's file that its page states; of anything else its own."""
    named = data.get("artifact")
    said = named.get("sha256") if isinstance(named, Mapping) else None
    if isinstance(said, str) and not is_model:
        return "page", (said,)
    return "model" if is_model else "other", (sha256_of(file),)


def _domain_of(file: Path) -> Domain | None:
    """What a drafted schema declares; None of a file that no run could use."""
    try:
        return load_schema(file, drafts=True).domain()
    except ValueError:
        return None


def _drafted_in(domain: Domain | None) -> tuple[str, ...]:
    """The hash of what a schema declares, then those that it holds of what was drafted; nothing of a file that no run could use."""
    if domain is None:
        return ()
    held = (drafted.content for drafted in domain.drafts)
    here = drafted_content(domain.columns, domain.classes, domain.target)
    return (here, *(content for content in held if content is not None))


def missing_receipts(given: Given, ledgers: Mapping[str, Sequence[Entry]]) -> list[str]:
    """What no ledger of these holds as a charge, or holds as the charge of a file that is not this one: one line each."""
    all_rows = [*ledgers.values()]
    if given.own is None:
        return (
            []
            if charges_of(given, all_rows)
            else [
                f"no release in {_any_of(ledgers)} is this file: it was changed since, or its ledger is given as an older copy, or not at all"
            ]
        )
    held = {_receipt_of(one) for rows in all_rows for one in rows if one.kind == "charged"}
    lost = [one for one in given.receipts if one not in held]
    last = max((rows[-1].sequence for rows in all_rows if rows), default=0)
    lost.sort(key=lambda one: one != given.own)
    wrong = [_is_not_here(given, one, ledgers, last) for one in lost]
    return wrong if given.own in lost else [*wrong, *_of_another_file(given, all_rows)]


def _of_another_file(given: Given, ledgers: Sequence[Sequence[Entry]]) -> list[str]:
    """Whether the charge that a file names paid for another file."""
    assert given.own is not None
    recorded = _recorded(given, ledgers)
    if not recorded or not given.artifacts:
        return []
    if given.kind == "other" and not _all_is_booked(given, ledgers):
        return []  # a charge can be released as a page and given out as JSON, too: `unanswered`
    if recorded == {given.as_lf} != {*given.artifacts}:
        return [f"its charge {given.own[0]} paid for {OTHER_ENDS}"]
    is_page = given.kind == "measurement"  # one release can have a page and a JSON
    same = not recorded.isdisjoint(given.artifacts) if is_page else recorded == {*given.artifacts}
    if not given.is_schema and not same:
        return [f"its charge {given.own[0]} paid for a file that is not this one {ANOTHER_FILE}"]
    return []  # of a schema `prepriv.runs.booked` compares what was drafted


def _receipt_of(entry: Entry) -> Receipt:
    return entry.sequence, entry.head, entry.plan_uid


def _any_of(ledgers: Mapping[str, Sequence[Entry]]) -> str:
    return "this ledger" if len(ledgers) == 1 else "any of these ledgers"


def _is_not_here(given: Given, receipt: Receipt, ledgers: Mapping[str, Sequence[Entry]], last: int) -> str:
    """That no ledger given holds a charge, and what to do. last: their last row."""
    if receipt in given.drafts:
        with suppress(ValueError):  # of numbers that no draft has
            return _draft_is_not_here(given, receipt, ledgers, last)
    which = "its receipt" if receipt == given.own else "a receipt in it"
    if edited := edited_receipt(which, receipt, ledgers):
        return edited
    here = f"{_any_of(ledgers)}{where_it_is(receipt[0], last, len(ledgers))}"
    return f"its charge {receipt[0]} is not in {here}{given.total if receipt == given.own else ''}"


def _draft_is_not_here(
    given: Given, receipt: Receipt, ledgers: Mapping[str, Sequence[Entry]], last: int
) -> str:
    """The same of the charge of a draft. That of the run is another one, which may well be there."""
    drafted, row, alone = given.drafts[receipt], receipt[0], len(ledgers) == 1
    draft = in_words_of(drafted)
    if edited := edited_receipt(f"the receipt of {draft}", receipt, ledgers):
        return edited
    none_of = f"{draft} is {'not in this ledger' if alone else 'in none of these ledgers'}"
    if given.is_schema:
        ends = f"this copy, which ends at row {last}"
        made_again = f"{ends} and holds something else in row {row}, was made again"
        copy = (
            (made_again if row <= last else f"{ends}, is older")
            if alone
            else "one of them is older or was made again"
        )
        return f"{none_of}: it was charged to another one, or {copy}. {ledger_of(drafted)}"
    paid = [
        place
        for place, rows in ledgers.items()
        if any(one.kind == "charged" and _receipt_of(one) == given.own for one in rows)
    ]
    if given.own is None or not paid:
        return f"{none_of}, either. {ledger_of(drafted)}"
    return f"its charge {given.own[0]} is in {' and '.join(paid)}, and {not_booked(drafted, len(ledgers))}"


def edited_receipt(which: str, receipt: Receipt, ledgers: Mapping[str, Sequence[Entry]]) -> str:
    """That a receipt which no sound ledger given holds agrees in part with a charge of one; "" where it agrees with none.

    A head covers its row, so the right one, or nearly that, shows that the receipt was edited. With another head the ledger can have been made again.
    """
    _, head, uid = receipt
    part = [
        (one.head != head, not _nearly(one.head, head), one.sequence != receipt[0], one.sequence, place)
        for place, rows in ledgers.items()
        for one in rows
        if one.kind == "charged" and (one.head == head or one.plan_uid == uid)
    ]
    if not part:
        return ""
    _, other, _, row, place = min(part)
    again = f", or {place} was made again" if other else ""
    kept = ", and for a head that someone kept" if other else ""
    return (
        f"{which} was edited{again}: a part of it is that of row {row} of {place}, and the rest is not. "
        f"Ask for the file as it was released{kept}"
    )


def _nearly(a: str, b: str) -> bool:
    """Whether two heads agree in most digits: two rows have heads that agree in one of sixteen."""
    return sum(one == other for one, other in zip(a, b)) > max(len(a), len(b)) / 2


def in_a_receipt(header: Header, row: Entry) -> dict[str, tuple[str, str]]:
    """What a receipt states beside its charge, by its key: (its name in words, what is true of this row)."""
    cap = cap_in_amounts(header.unit, header.cap, header.periods)
    found = {"dataset": ("data set", header.dataset_id), "cap": ("cap", cap)}
    return found if header.periods else {**found, "total": ("total", amount_in_words(header.unit, row.spent))}


def booked_by_then(told: Any) -> str:
    """What a file states of all that its ledger had booked by its charge, as a sentence that follows another one; "" where it states no amounts."""
    said = [told.get(name) if isinstance(told, Mapping) else None for name in ("total", "cap")]
    total, cap = (
        one if isinstance(one, str) and len(one) <= _LONGEST_AMOUNTS and _AMOUNTS.fullmatch(one) else ""
        for one in said
    )
    of = f" of a cap of {rounded_amounts(cap)}" if cap else ""
    name = told.get("dataset") if isinstance(told, Mapping) else None
    to = (
        f' for the data set "{printable(name)}"'
        if isinstance(name, str) and len(name) <= _LONGEST_NAME
        else ""
    )
    return f". By what it states itself, {rounded_amounts(total)}{of} was booked by then{to}" if total else ""


def where_it_is(row: int, last: int, ledgers: int) -> str:
    """Why a charge is not in the ledgers given, and what to do. last: their last row."""
    older = (
        "is older than this file or lost rows"
        if row > last
        else "holds another charge in that row and was made again"
    )
    own = f"this copy, which ends at row {last}, {older}, or the file belongs to another ledger"
    several = "they are older than this file or were made again, or the file belongs to another ledger"
    return f": {own if ledgers == 1 else several}. Ask for the current ledger, or for that of this file"


def not_recorded(row: int) -> str:
    """Why a file is not decided, though this row is its charge: a ledger has nothing to compare its bytes with."""
    return _UNRECORDED.format(row=row)


def unanswered(given: Given, ledgers: Sequence[Sequence[Entry]]) -> tuple[str, str]:
    """(what nothing at hand compared in a file whose charges a ledger holds, what someone has to answer for). Each is "" for nothing."""
    recorded = _recorded(given, ledgers)
    if given.kind == "other":
        same = recorded == {*given.artifacts}
        why = "the hash beside its charge is of another file, so this file is not the one that was released"
        said = f"what it states was not compared: {why if recorded else 'the ledger holds no hash beside its charge'}"
        return "" if same else said, ""
    if given.is_schema and not given.artifacts:
        return "what it declares was not compared: this version reads no schema in it", ""
    if given.is_schema:
        return _unanswered_of_schema(given, ledgers, recorded)
    return "" if recorded or given.own is None else not_recorded(given.own[0]), ""


def _unanswered_of_schema(
    given: Given, ledgers: Sequence[Sequence[Entry]], recorded: set[str]
) -> tuple[str, str]:
    """The same of a drafted schema: its bytes are those of its release, or what it declares is compared and the rest is left to people."""
    files = _schema_files(given, ledgers)
    if given.file in files:
        return "", ""
    here, *held = given.artifacts
    known = recorded or {*held}
    booked = "" if recorded or given.own is None else not_recorded(given.own[0])
    if known and here not in known:
        return booked, f"{EDITED}{'. Its other lines were not compared: read them' if recorded else ''}"
    if files:
        return "", _NAMED_SINCE if given.before_named in files else _EDITED_FILE
    return booked or _NO_FILE, ""


def is_released_schema(given: Given, ledgers: Sequence[Sequence[Entry]]) -> bool:
    """Whether the bytes of a drafted schema are those of its release, by the hash that a ledger holds of the file."""
    return given.file in _schema_files(given, ledgers)


def _schema_files(given: Given, ledgers: Sequence[Sequence[Entry]]) -> set[str]:
    return {one for rows in ledgers for receipt in given.receipts for one in schema_files(rows, receipt[2])}


def _all_is_booked(given: Given, ledgers: Sequence[Sequence[Entry]]) -> bool:
    """Whether the ledger holds a hash of all that the charge of a JSON can have released: it was for questions, which have no page, or
    its page has a hash, too."""
    mine = (one for rows in ledgers for one in rows if given.own is not None and one.plan_uid == given.own[2])
    return any(
        _QUESTIONS.search(one.note.split(" | ")[0])
        if one.kind == "charged"
        else one.kind == "released" and _PAGE.search(one.note)
        for one in mine
    )


def _recorded(given: Given, ledgers: Sequence[Sequence[Entry]]) -> set[str]:
    """What the ledgers hold as released beside the charges of a file: of its drafts, where it is a schema."""
    uids = {one[2] for one in (given.receipts if given.is_schema else (given.own,)) if one is not None}
    return {
        digest
        for rows in ledgers
        for one in rows
        if one.kind == "released" and one.plan_uid in uids
        for digest in (_hashes(one) if given.kind == "measurement" else {one.artifact})
    }


def _data(file: Path) -> Any:
    try:
        if file.stat().st_size > _LARGEST:
            raise Stop(f"{file} is larger than what prepriv writes")
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise Stop(f"{file} cannot be read") from None
    if file.suffix.lower() in _SCHEMAS:
        return parse_yaml(text, file)
    text = _json_in(file, text)
    try:
        from prepriv.release.page import data_of  # pages need templates

        return data_of(text)
    except (ValueError, RecursionError):
        raise Stop(f"{file} is neither a page nor JSON that prepriv wrote") from None


def _json_in(file: Path, text: str) -> str:
    """The data of a page without an id, as JSON; any other text as it is."""
    held = _AS_DATA.search(text) if _begins(file, _LOOKED) else None
    return text if held is None else html.unescape(held[1])


def odd_data(file: Path) -> str:
    """Why the JSON of a file, or the data of a page, are none that prepriv wrote, though a reader takes them; "" where nothing is odd."""
    from prepriv.release.page import block_of  # pages need templates

    try:
        text = _json_in(file, file.read_text(encoding="utf-8"))
        block, _ = block_of(text)
        parsed(text if block == text else html.unescape(block))
    except (ValueError, RecursionError) as why:
        return f"its data are not what prepriv writes: {why}"
    return ""


def _receipts(data: Any) -> Iterator[Receipt]:
    """Wherever they stand in plain data."""
    if isinstance(data, Mapping):
        uid, sequence, head = (data.get(key) for key in CHARGE)
        if isinstance(uid, str) and type(sequence) is int and isinstance(head, str):
            yield sequence, head, uid
    parts = data.values() if isinstance(data, Mapping) else data if isinstance(data, list) else ()
    for part in parts:
        yield from _receipts(part)


def _charged_drafts(data: Any) -> dict[Receipt, Drafted]:
    """The drafts that were charged, by their receipt."""
    charged = ((one.ledger, one) for one in _drafts(data))
    return {next(_receipts(ledger)): one for ledger, one in charged if ledger is not None}


def _drafts(data: Any) -> Iterator[Drafted]:
    """The drafts wherever they stand in plain data, also with the claim of each beside what it states."""
    parts = data.values() if isinstance(data, Mapping) else data if isinstance(data, list) else ()
    if isinstance(data, Mapping) and "leak" in data:
        with suppress(ValueError):
            yield Drafted.from_json({name: value for name, value in data.items() if name != "guarantee"})
    for part in parts:
        yield from _drafts(part)
