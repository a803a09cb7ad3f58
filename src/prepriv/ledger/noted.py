"""A ledger with a word of the user on what is charged: taken wherever a ledger's path is."""

from __future__ import annotations

import os
from dataclasses import dataclass

from prepriv.ledger.urls import check_no_password

MOST_NOTE = 60  # characters


@dataclass(frozen=True)
class Noted(os.PathLike[str]):
    """The path or URL of a ledger, with a note that `ledger show` prints in front of each charge made through it.

    Parameters
    ----------
    path : path or URL
        The path or URL of the ledger.
    note : str
        The note: 1 to 60 printable characters without a comma, a backtick or a |. It must not say anything about the
        data.

    Raises
    ------
    ValueError
        For another note, and for a URL that holds a password.

    Notes
    -----
    Estimators and functions take it as `ledger`, and clones keep it. On the command line it is `--note`.

    Examples
    --------
    >>> from prepriv.ledger import Noted
    >>> Noted("L.db", note="pilot of March").note
    'pilot of March'
    """

    path: str | os.PathLike[str]
    note: str

    def __post_init__(self) -> None:
        if not (isinstance(self.path, str | os.PathLike) and os.fspath(self.path)):
            raise ValueError(f"path must be that of a ledger, or a URL; got {type(self.path).__name__}")
        check_no_password(self.path)
        note = self.note
        if (
            not isinstance(note, str)
            or not note.isprintable()
            or not 1 <= len(note.strip()) <= len(note) <= MOST_NOTE
        ):
            raise ValueError(f"note must be 1 to {MOST_NOTE} printable characters")
        if "," in note:
            raise ValueError(
                "note must have no comma, because what was charged is a list after it: write and, or a semicolon"
            )
        if "|" in note:
            raise ValueError("note must have no |: what a charge rests on stands after one")
        if "`" in note:
            raise ValueError("note must have no backtick: whose rows a charge is of stands between two")

    def __fspath__(self) -> str:
        return os.fspath(self.path)
