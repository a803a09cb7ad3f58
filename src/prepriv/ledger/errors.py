"""What can go wrong with a ledger, each kind with its own exit code (2 is left for bad input)."""

from __future__ import annotations

from typing import ClassVar

from prepriv._text import printable


class LedgerError(Exception):
    """No charge was granted; no record may be read.

    After `LedgerUnavailable` from a failed write, the charge may have reached the disk all the same. It then counts,
    and the plan has to be charged again under a new uid. The opposite cannot happen: a charge that was granted is
    always on disk.
    """

    exit_code: ClassVar[int] = 1

    def __init__(self, told: str) -> None:
        super().__init__(printable(told))  # it can quote the file, whose texts anybody may have written


class BudgetExceeded(LedgerError):
    """A LedgerError: the charge does not fit under the cap. Nothing was written."""

    exit_code: ClassVar[int] = 3


class LedgerUnavailable(LedgerError):
    """The ledger cannot be used now: missing, read-only, locked, disk full, newer schema, clock moved."""

    exit_code: ClassVar[int] = 4


class LedgerCorrupt(LedgerError):
    """The file contradicts itself, or what was read from it before. It was damaged, edited or rolled back."""

    exit_code: ClassVar[int] = 5


class PlanRefused(LedgerError):
    """The plan may not run: its uid was charged before, was never charged, or was charged for another plan hash."""

    exit_code: ClassVar[int] = 6


class NotNoted(Exception):
    """What was paid for is written, but its hash could not be noted in the ledger. It is not a `LedgerError`, because the charge stays."""

    exit_code: ClassVar[int] = 70

    def __init__(self, told: str) -> None:
        super().__init__(printable(told))
