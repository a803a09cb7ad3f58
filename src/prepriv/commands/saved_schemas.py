"""Whether a draft can have written a schema whose hash a ledger holds. Someone who edits the file can write its hash again. docs/learn/auditing.md."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path

from prepriv._text import printable
from prepriv.description.drafted_schema import WRITTEN
from prepriv.domain import Domain
from prepriv.drafted import Drafted
from prepriv.ledger import Entry
from prepriv.runs.booked import releases_of_file
from prepriv.schemas.declared_file import read_yaml


def not_as_drafted(file: Path, domain: Domain, ledgers: Sequence[Sequence[Entry]], digest: str) -> list[str]:
    """What no draft can have written into a schema whose file was released, as one line; nothing of one that a draft can have written.

    digest: the SHA-256 of the file. A draft states the hash of its bounds and categories, its number of rows, its neighbours and its unit, and writes no other keys.
    """
    found = list[str]()
    if domain.as_drafted is False:
        found.append(
            "its columns, bounds, categories or classes are not those of the hash under `drafted:` (`content`)"
        )
    if len(domain.drafts) > 1:
        found.append(f"it names {len(domain.drafts)} drafts, and a draft writes its own alone")
    for drafted in domain.drafts[:1]:
        pairs = (
            ("`rows:`", domain.n, drafted.rows),
            ("`adjacency:`", domain.adjacency, drafted.adjacency),
            ("`unit:`", domain.unit, drafted.unit),
        )
        found += [
            f"{name} is {printable(str(here))}, and the draft states {printable(str(there))}"
            for name, here, there in pairs
            if here != there
        ]
    found += [f"a draft writes no `{printable(str(key))}:`" for key in read_yaml(file) if key not in WRITTEN]
    if not found:
        return []
    row = next(one.sequence for rows in ledgers for one in releases_of_file(rows, digest))
    return [
        f"row {row} holds the hash of this file, and no draft wrote it: {'; '.join(found)}. So the file was edited, and its hash was written into the ledger again. "
        "Ask for the file as it was drafted, and for a head that someone kept since then"
    ]


def stated_otherwise(domain: Domain, name: str, other: Domain) -> list[str]:
    """What a schema states of a draft otherwise than a model that claims the same charge. name, other: of the model."""
    theirs = {_charge(one): one for one in other.drafts if one.ledger is not None}
    return [
        f"{name} claims the same draft and states it otherwise: {', '.join(apart)}"
        for one in domain.drafts
        if one.ledger is not None and (apart := _apart(one, theirs.get(_charge(one), one)))
    ]


def of_the_same_draft(a: Domain, b: Domain) -> bool:
    """Whether two domains name the charge of one draft."""
    mine, theirs = ({_charge(one) for one in each.drafts if one.ledger is not None} for each in (a, b))
    return not mine.isdisjoint(theirs)


def _charge(drafted: Drafted) -> str:
    assert drafted.ledger is not None
    return str(drafted.ledger["head"])


def _apart(a: Drafted, b: Drafted) -> list[str]:
    return [
        f"{one.name} {printable(str(getattr(a, one.name)))} here, {printable(str(getattr(b, one.name)))} there"
        for one in fields(a)
        if one.compare and getattr(a, one.name) != getattr(b, one.name)
    ]
