"""The tables of a ledger file, and the triggers that let SQLite itself refuse anything but appending.

The triggers bind every program that opens the file, not only this one: no update, no delete, no gap in the
sequence, no total above the cap, no release without a charge. They cannot bind someone who drops them;
`problems` notices that, and the hash chain (hash_chain.py) notices what was done meanwhile.
"""

from __future__ import annotations

import re
import sqlite3
from collections import Counter
from collections.abc import Mapping

from prepriv._text import printable
from prepriv.ledger.currency import CURRENCIES, DELTA_DIGITS, MAX_QUANTA
from prepriv.ledger.errors import LedgerUnavailable

VERSION = 1
BY_PERIOD = 2  # the format of a ledger by periods
APPLICATION_ID = 0x70725076  # "prPv", in the SQLite file header
ADJACENCIES = ("replace-one", "add-or-remove-one")
OF_PERIODS = ADJACENCIES[1]  # the only one: a record that is replaced could move to another period
KINDS = ("charged", "released")


_BELOW_ONE = 10**DELTA_DIGITS - 1

# What a column may hold: one of these, a number or a length in these bounds.
CHOICES = {"adjacency": ADJACENCIES, "unit": CURRENCIES, "kind": KINDS}
RANGES = {
    "cap": (0, MAX_QUANTA),
    "cap_delta": (0, _BELOW_ONE),
    "amount": (0, MAX_QUANTA),
    "delta": (0, _BELOW_ONE),
    "spent": (0, MAX_QUANTA),
    "spent_delta": (0, _BELOW_ONE),
}
LENGTHS = {
    "dataset_id": (1, 200),
    "genesis": (64, 64),
    "plan_uid": (1, 128),
    "plan_hash": (64, 64),
    "note": (0, 200),
    "previous": (64, 64),
    "head": (64, 64),
    "day": (10, 10),
    "periods": (9, 80),
    "period": (4, 7),
}

_HASH = "[0-9a-f]{64}"
# What a text is from end to end, in words that Python and PostgreSQL read alike. In any other nothing acts where it is shown.
PATTERNS = {
    "genesis": _HASH,
    "plan_uid": "[A-Za-z0-9._-]{1,128}",
    "plan_hash": _HASH,
    "artifact": f"({_HASH})?",
    "previous": _HASH,
    "head": _HASH,
    "day": "[0-9]{4}-[0-9]{2}-[0-9]{2}",
    "period": "([0-9]{4}(-(0[1-9]|1[0-2]))?)?",
}


def malformed(texts: Mapping[str, str]) -> list[str]:
    """The columns whose texts no ledger has that was made and charged by this library."""
    return [name for name, text in texts.items() if not _well_formed(name, text)]


def _well_formed(column: str, text: str) -> bool:
    if column in PATTERNS:
        return re.fullmatch(PATTERNS[column], text) is not None
    if column in CHOICES:
        return text in CHOICES[column]
    low, high = LENGTHS[column]
    return low <= len(text) <= high and printable(text) == text


def among(column: str) -> str:
    """The choices of a column, as SQL lists them."""
    return f"({', '.join(map(repr, CHOICES[column]))})"


def _among(column: str) -> str:
    return f"CHECK ({column} IN {among(column)})"


def _integer(column: str) -> str:
    low, high = RANGES[column]
    return f"CHECK (typeof({column}) = 'integer' AND {column} BETWEEN {low} AND {high})"


def _text(column: str) -> str:
    low, high = LENGTHS[column]
    return f"CHECK (typeof({column}) = 'text' AND length({column}) BETWEEN {low} AND {high})"


_LAST = "FROM entries ORDER BY sequence DESC LIMIT 1"


# What is wrong with a new row of entries, and when.
APPEND_RULES = {
    "the sequence has a gap": f"NEW.sequence IS NOT COALESCE((SELECT sequence {_LAST}), 0) + 1",
    "the row does not continue the chain": f"NEW.previous IS NOT COALESCE((SELECT head {_LAST}), (SELECT genesis FROM header))",
    "the plan was charged or released before": "EXISTS (SELECT 1 FROM entries WHERE kind = NEW.kind AND plan_uid = NEW.plan_uid)",
    "the totals do not add up": f"""NEW.spent IS NOT COALESCE((SELECT spent {_LAST}), 0) + NEW.amount
       OR NEW.spent_delta IS NOT COALESCE((SELECT spent_delta {_LAST}), 0) + NEW.delta""",
    "the cap is exceeded": "NOT EXISTS (SELECT 1 FROM header WHERE NEW.spent <= cap AND NEW.spent_delta <= cap_delta)",
    "released without a charge": """NEW.kind = 'released' AND NOT EXISTS (SELECT 1 FROM entries
        WHERE kind = 'charged' AND plan_uid = NEW.plan_uid AND plan_hash = NEW.plan_hash)""",
}
_LAST_OF_PERIOD = _LAST.replace("FROM entries", "FROM entries WHERE period = NEW.period")
# The same in a ledger by periods, whose totals are those of the row's period.
PERIOD_RULES = APPEND_RULES | {
    "the plan was charged or released before": (
        "EXISTS (SELECT 1 FROM entries WHERE kind = NEW.kind AND plan_uid = NEW.plan_uid "
        "AND (kind = 'released' OR period = NEW.period))"
    ),
    "the totals do not add up": APPEND_RULES["the totals do not add up"].replace(_LAST, _LAST_OF_PERIOD),
    "the period is not a month or year as declared": (
        "length(NEW.period) IS NOT (SELECT CASE substr(periods, 1, 5) WHEN 'month' THEN 7 ELSE 4 END FROM header)"
    ),
}


def _never(table: str, action: str) -> str:
    return f"""CREATE TRIGGER {table}_no_{action.lower()} BEFORE {action} ON {table}
BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END"""


def _appending(rules: Mapping[str, str]) -> str:
    wrong = "".join(f"    SELECT RAISE(ABORT, '{what}')\n    WHERE {when};\n" for what, when in rules.items())
    return f"CREATE TRIGGER entries_append BEFORE INSERT ON entries\nBEGIN\n{wrong}END"


STATEMENTS: dict[str, str] = {
    "header": f"""CREATE TABLE header (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    dataset_id TEXT NOT NULL {_text("dataset_id")},
    adjacency TEXT NOT NULL {_among("adjacency")},
    unit TEXT NOT NULL {_among("unit")},
    cap INTEGER NOT NULL {_integer("cap")},
    cap_delta INTEGER NOT NULL {_integer("cap_delta")},
    genesis TEXT NOT NULL {_text("genesis")},
    CHECK (cap + cap_delta > 0 AND (unit = 'basic' OR cap_delta = 0))
)""",
    "entries": f"""CREATE TABLE entries (
    sequence INTEGER PRIMARY KEY CHECK (sequence > 0),
    kind TEXT NOT NULL {_among("kind")},
    plan_uid TEXT NOT NULL {_text("plan_uid")},
    plan_hash TEXT NOT NULL {_text("plan_hash")},
    amount INTEGER NOT NULL {_integer("amount")},
    delta INTEGER NOT NULL {_integer("delta")},
    spent INTEGER NOT NULL {_integer("spent")},
    spent_delta INTEGER NOT NULL {_integer("spent_delta")},
    artifact TEXT NOT NULL CHECK (typeof(artifact) = 'text'),
    note TEXT NOT NULL {_text("note")},
    previous TEXT NOT NULL {_text("previous")},
    head TEXT NOT NULL {_text("head")},
    day TEXT NOT NULL {_text("day")},
    CHECK (CASE kind WHEN 'charged' THEN amount + delta > 0 AND length(artifact) = 0
                     ELSE amount + delta = 0 AND length(artifact) = 64 END),
    UNIQUE (kind, plan_uid)
)""",
    "header_no_update": _never("header", "UPDATE"),
    "header_no_delete": _never("header", "DELETE"),
    "entries_no_update": _never("entries", "UPDATE"),
    "entries_no_delete": _never("entries", "DELETE"),
    # INSERT OR REPLACE would delete the row in the way without firing the delete trigger
    "header_once": """CREATE TRIGGER header_once BEFORE INSERT ON header
WHEN EXISTS (SELECT 1 FROM header)
BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END""",
    "entries_append": _appending(APPEND_RULES),
}
PERIOD_STATEMENTS = STATEMENTS | {
    "header": STATEMENTS["header"].replace(
        "    CHECK (cap +", f"    periods TEXT NOT NULL {_text('periods')},\n    CHECK (cap +"
    ),
    "entries": STATEMENTS["entries"]
    .replace("    CHECK (CASE", f"    period TEXT NOT NULL {_text('period')},\n    CHECK (CASE")
    .replace("UNIQUE (kind, plan_uid)", "UNIQUE (kind, plan_uid, period)"),
    "entries_append": _appending(PERIOD_RULES),
}


# What SQLite adds itself: the index of UNIQUE, and, by ANALYZE in another program, statistics, which change nothing and can hold anything (`beyond_rows`).
_OWN_INDEX = [("sqlite_autoindex_entries_1", None)]
OF_ANALYZE = (
    ("sqlite_stat1", "CREATE TABLE sqlite_stat1(tbl,idx,stat)"),
    ("sqlite_stat4", "CREATE TABLE sqlite_stat4(tbl,idx,neq,nlt,ndlt,sample)"),
)


def create_tables(db: sqlite3.Connection, by_period: bool) -> None:
    """Make the empty tables, in the caller's transaction."""
    for statement in (PERIOD_STATEMENTS if by_period else STATEMENTS).values():
        db.execute(statement)
    db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    db.execute(f"PRAGMA user_version = {BY_PERIOD if by_period else VERSION}")


def problems(db: sqlite3.Connection) -> list[str]:
    """Whatever in the file's format differs from what `create` makes, in words.

    Raises
    ------
    LedgerUnavailable
        If the file was written by a newer version of this library.
    """
    if db.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
        return ["the file is not a ledger"]
    version = db.execute("PRAGMA user_version").fetchone()[0]
    if wrong := version_problems(version):
        return wrong
    # what acts is the statement, whatever name and type stand beside it, and however often a name stands there
    found = Counter((str(name), sql) for name, sql in db.execute("SELECT name, sql FROM sqlite_master"))
    found.subtract((PERIOD_STATEMENTS if version == BY_PERIOD else STATEMENTS).items())
    found.subtract(_OWN_INDEX)
    names = {name for (name, sql), count in found.items() if count and (name, sql) not in OF_ANALYZE}
    return [f"table or trigger {name!r} was changed, removed or added" for name in sorted(names)]


def version_problems(version: int, newest: int = BY_PERIOD) -> list[str]:
    """Whether this version of the library knows the format. Raises LedgerUnavailable for a newer one."""
    if version > newest:
        raise LedgerUnavailable(
            f"the ledger has format {version}; this version knows up to {newest}: update it"
        )
    return [] if version >= 1 else [f"the ledger claims format {version}, which never existed"]
