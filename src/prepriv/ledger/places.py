"""Where a ledger is: the path of a file, or the URL of a PostgreSQL server."""

from __future__ import annotations

import os
from pathlib import Path

from prepriv.ledger.noted import Noted
from prepriv.ledger.rows import Store
from prepriv.ledger.store import File
from prepriv.ledger.urls import check_no_password, is_url


def locate(place: str | os.PathLike[str], timeout: float) -> Store:
    """The store at a place. ValueError for a URL that names none, holds a password, or went through a `Path`."""
    if not isinstance(place, str | os.PathLike):
        raise ValueError(
            f"ledger: path must be that of a file, or a postgresql:// URL; got {type(place).__name__}"
        )
    if isinstance(place, Noted):
        place = place.path
    text = os.fspath(place)
    if is_url(text):
        if not isinstance(place, str):  # Path("postgresql://x") has one slash: which part is the host is lost
            raise ValueError("ledger: give the URL of a server as a text, not as a Path")
        check_no_password(text)
        from prepriv.ledger.postgres import Server

        return Server.at(text, timeout)
    return File(Path(os.path.realpath(place)), timeout)
