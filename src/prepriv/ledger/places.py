"""Where a ledger is: the path of a file, or the URL of a PostgreSQL server."""

from __future__ import annotations

import os
import re
from pathlib import Path

from prepriv.ledger.noted import Noted
from prepriv.ledger.rows import Store
from prepriv.ledger.store import File

_URL = re.compile(r"postgres(ql)?:/")


def locate(place: str | os.PathLike[str], timeout: float) -> Store:
    """The store at a place. ValueError for a URL that names none, or that went through a `Path`."""
    if not isinstance(place, str | os.PathLike):
        raise ValueError(
            f"ledger: path must be that of a file, or a postgresql:// URL; got {type(place).__name__}"
        )
    if isinstance(place, Noted):
        place = place.path
    text = os.fspath(place)
    if isinstance(text, str) and _URL.match(text):
        if not isinstance(place, str):  # Path("postgresql://x") has one slash: which part is the host is lost
            raise ValueError("ledger: give the URL of a server as a text, not as a Path")
        from prepriv.ledger.postgres import Server

        return Server.at(text, timeout)
    return File(Path(os.path.realpath(place)), timeout)


def shown(place: str | os.PathLike[str]) -> str:
    """The place as it may be printed: without the password of a URL."""
    text = os.fspath(place)
    if not _URL.match(text):
        return text
    return re.sub(r"(password=)[^&]*", r"\1...", re.sub(r"(?<=//)([^/?#@]*):[^/@]*@", r"\1:...@", text))
