"""The URL of a ledger on a server: what it may hold."""

from __future__ import annotations

import os
import re
from typing import Any
from urllib.parse import unquote

_URL = re.compile(r"postgres(ql)?:/")
_KEYWORDS = re.compile(
    r"(?:^|\s)(?:ssl)?password\s*=", re.IGNORECASE
)  # libpq takes options in this form, too
_SECRET = re.compile("password|secret|scram_")  # in the name of an option


def is_url(text: Any) -> bool:
    """Whether this is the URL of a server, and not the path of a file."""
    return isinstance(text, str) and _URL.match(text) is not None


def check_no_password(place: Any) -> None:
    """ValueError for a URL that holds a password: settings show it, and notebooks, clones and histories of shells keep it.

    Read as libpq reads it, and where in doubt more of it counts as a password.
    """
    text = os.fspath(place) if isinstance(place, os.PathLike) else place
    if isinstance(text, str) and _KEYWORDS.search(text):
        raise ValueError(
            "ledger: this is a connection string with a password; give the URL of a server without one "
            "(postgresql://user@host/database?ledger=NAME)"
        )
    if not is_url(text):
        return
    user, at, _ = text.partition(":/")[2].rpartition("@")
    keys = {unquote(option.partition("=")[0]).lower() for option in re.split("[?&]", text)[1:]}
    if (at and ":" in user) or any(map(_SECRET.search, keys)):
        raise ValueError(
            "ledger: the URL holds a password, and whatever shows the setting would show it; leave it out "
            "(postgresql://user@host/database?ledger=NAME) and keep it in ~/.pgpass, or name its file in PGPASSFILE, or "
            "give it in PGPASSWORD"
        )
