"""How a command ends: exit codes, and one line for what went wrong. Imports nothing heavy."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

import typer

from prepriv._text import printable

FOUND = 1  # an audit found something declared to be broken, or a verification a difference
BAD_INPUT = 2  # 3 to 6 are the ledger's (ledger/errors.py)
TEST_REFUSED = 7  # a propose-test-release refusal: a normal, charged outcome
NOT_DECIDED = 8  # an audit came to no verdict, or a ledger shows what only people can answer
AFTER_TOUCH = 70  # something failed after private data was opened; no detail, it could hold a value
INTERRUPTED = 130
BROKEN_PIPE = 141  # standard output was closed before all of it was written, as by `head`


class Stop(Exception):
    """End the command with one line and an exit code. details: what was found, one line each."""

    def __init__(self, message: str, code: int = BAD_INPUT, details: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.exit_code = code
        self.details = tuple(details)

    @property
    def code(self) -> int:
        """The exit code."""
        return self.exit_code


def say(text: str, *, err: bool = False) -> None:
    """One line, on which a text that others chose is only read: nothing in it acts on the terminal, or ends the line."""
    typer.echo(printable(text), err=err)


def print_json(data: Mapping[str, Any]) -> None:
    """Plain data on stdout: what `--json` asks for."""
    typer.echo(json.dumps(data, sort_keys=True, indent=1, allow_nan=False))  # ASCII: nothing in it acts


def reason(error: OSError) -> str:
    """What the operating system says, and nothing else: some errors quote what was read."""
    return os.strerror(error.errno).lower() if error.errno else "it failed"


def usage_errors() -> tuple[type[Exception], type[Exception]]:
    """(UsageError, ClickException) of whichever click typer carries."""
    bases = typer.BadParameter.__mro__
    return bases[1], bases[2]
