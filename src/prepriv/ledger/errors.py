"""What can go wrong with a ledger, each kind with its own exit code (2 is left for bad input)."""

from __future__ import annotations

from typing import ClassVar

from prepriv._text import printable


class LedgerError(Exception):
    """No charge was granted; no record may be read.

    After `LedgerUnavailable` from a failed write the charge may still have reached the disk: it then
    counts, and the plan has to be charged again under a new uid. The error is never the other way round.
    """

    exit_code: ClassVar[int] = 1

    def __init__(self, told: str) -> None:
        super().__init__(printable(told))  # it can quote the file, whose texts anybody may have written


class BudgetExceeded(LedgerError):
    """A LedgerError: the charge does not fit under the cap; nothing was written."""

    exit_code: ClassVar[int] = 3


class LedgerUnavailable(LedgerError):
    """The ledger cannot be used now: missing, read-only, locked, disk full, newer schema, clock moved."""

    exit_code: ClassVar[int] = 4


class LedgerCorrupt(LedgerError):
    """The file contradicts itself or what was read from it before: damaged, edited or rolled back."""

    exit_code: ClassVar[int] = 5


class PlanRefused(LedgerError):
    """The plan may not do this: uid charged already, never charged, or charged for another plan hash."""

    exit_code: ClassVar[int] = 6


class NotNoted(Exception):
    """What was paid for is written, and its hash could not be noted in the ledger: no `LedgerError`, since the charge stays."""

    exit_code: ClassVar[int] = 70

    def __init__(self, told: str) -> None:
        super().__init__(printable(told))
