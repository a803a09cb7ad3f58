"""Where a ledger is: the path of a file, or the URL of a PostgreSQL server."""

from __future__ import annotations

import os
from numbers import Real
from pathlib import Path

from prepriv.ledger.noted import Noted
from prepriv.ledger.sql_rows import Store
from prepriv.ledger.store import File
from prepriv.ledger.urls import check_no_password, is_url

MOST_SECONDS = 1_000_000  # servers count milliseconds in 32 bits


def locate(place: str | os.PathLike[str], timeout: float) -> Store:
    """The store at a place. ValueError for a URL that names none, holds a password, or went through a `Path`, and for a
    timeout that is none."""
    if not isinstance(timeout, Real) or isinstance(timeout, bool) or not 0 <= timeout <= MOST_SECONDS:
        raise ValueError(
            f"timeout must be a number of seconds, from 0 to {MOST_SECONDS:,}; got {timeout!r:.40}"
        )
    timeout = float(timeout)
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
