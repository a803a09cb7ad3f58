"""Receipts in what was given out, such as models, pages, answers and drafted schemas, against the ledgers that should hold them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from prepriv.commands.exits import Stop
from prepriv.drafted import CHARGE
from prepriv.ledger import Entry
from prepriv.ledger.urls import is_url
from prepriv.release.page import data_of
from prepriv.schemas.declared_file import parse_yaml

_SCHEMAS = (".yaml", ".yml")
_ENDINGS = (".json", ".html", *_SCHEMAS)
_SQLITE = b"SQLite format 3"  # how a ledger begins, whatever its name
_LARGEST = 100_000_000  # bytes of a file that is read

Receipt = tuple[int, str, str]
"""Sequence, head and uid."""


def gives_receipts(place: str) -> bool:
    """Whether this is a file or a folder that was given out, by its ending, and no ledger."""
    path = Path(place)
    if is_url(place) or not (path.is_dir() or path.suffix.lower() in _ENDINGS):
        return False
    if not path.is_file():
        return True
    with path.open("rb") as file:
        return file.read(len(_SQLITE)) != _SQLITE


def receipts_in(place: str) -> dict[str, tuple[Receipt, ...]]:
    """The receipts of a file, or of each file of a folder: of its own release, and of the drafts it used. Stop for one that has none of its own;
    in a folder a YAML file without a draft is passed over."""
    path = Path(place)
    files = sorted(path.rglob("*")) if path.is_dir() else [path]
    found = {}
    for file in (file for file in files if file.suffix.lower() in _ENDINGS):
        data, is_schema = _data(file), file.suffix.lower() in _SCHEMAS
        if file != path and is_schema and not (isinstance(data, Mapping) and "drafted" in data):
            continue
        own = data if is_schema else data.get("ledger") if isinstance(data, Mapping) else None
        if not any(_receipts(own)):
            raise Stop(f"{file} holds no receipt: it says itself that no ledger was charged for it")
        found[str(file)] = tuple(dict.fromkeys(_receipts(data)))
    if not found:
        raise Stop(f"{place} holds no file with a receipt")
    return found


def missing_receipts(receipts: Sequence[Receipt], ledgers: Sequence[Sequence[Entry]]) -> list[str]:
    """What no ledger of these holds as a charge, one line each."""
    held = {
        (entry.sequence, entry.head, entry.plan_uid)
        for entries in ledgers
        for entry in entries
        if entry.kind == "charged"
    }
    which = "this ledger" if len(ledgers) == 1 else "any of these ledgers"
    return [f"its charge {one[0]} is not in {which}" for one in receipts if one not in held]


def _data(file: Path) -> Any:
    try:
        if file.stat().st_size > _LARGEST:
            raise Stop(f"{file} is larger than what prepriv writes")
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise Stop(f"{file} cannot be read") from None
    if file.suffix.lower() in _SCHEMAS:
        return parse_yaml(text, file)
    try:
        return data_of(text)
    except (ValueError, RecursionError):
        raise Stop(f"{file} is neither a page nor JSON that prepriv wrote") from None


def _receipts(data: Any) -> Iterator[Receipt]:
    """Wherever they stand in plain data."""
    if isinstance(data, Mapping):
        uid, sequence, head = (data.get(key) for key in CHARGE)
        if isinstance(uid, str) and type(sequence) is int and isinstance(head, str):
            yield sequence, head, uid
    parts = data.values() if isinstance(data, Mapping) else data if isinstance(data, list) else ()
    for part in parts:
        yield from _receipts(part)
