"""A durable privacy budget for one data set: charged before a record is read, never refunded.

`Ledger` is an append-only SQLite file, or tables on a PostgreSQL server, with a cap fixed at creation. A plan charges its whole cost,
computed from its frozen configuration, and only a charge that is on disk lets it open the data. Whatever
goes wrong with the file (missing, full, locked, damaged, rolled back) is an error and no charge.
Guide: docs/ledger.md. Why the sums are valid when plans are chosen adaptively: docs/proofs/ledger.md.
"""

from prepriv.ledger.book import Ledger
from prepriv.ledger.currency import Amount
from prepriv.ledger.errors import (
    BudgetExceeded,
    LedgerCorrupt,
    LedgerError,
    LedgerUnavailable,
    NotNoted,
    PlanRefused,
)
from prepriv.ledger.hash_chain import Entry, Header, condition_note
from prepriv.ledger.noted import Noted
from prepriv.ledger.verification import Charge, verify_file

__all__ = [
    "Amount",
    "BudgetExceeded",
    "Charge",
    "Entry",
    "Header",
    "Ledger",
    "LedgerCorrupt",
    "LedgerError",
    "LedgerUnavailable",
    "NotNoted",
    "Noted",
    "PlanRefused",
    "condition_note",
    "verify_file",
]
