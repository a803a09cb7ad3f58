"""The trigger function of a ledger on a PostgreSQL server: the rules of sql_schema.py, for every program that writes there.

In format 2 it also computes the hash of a row, and compares every text with what a charge takes, the day with the
server's, and whose the charge is with the first: who may insert can then append what `Ledger.charge` and `released`
would have appended, and nothing that makes the ledger corrupt. Ledgers of format 1 (version 0.2) keep the guard they have.
"""

from __future__ import annotations

from prepriv._text import ACTING
from prepriv.ledger import sql_schema

FORMAT = 2
BY_PERIOD = 3  # the format of a ledger by periods
LEDGER_TABLES = {
    "header": "id bigint, dataset_id text, adjacency text, unit text, cap bigint, cap_delta bigint, genesis text",
    "entries": (
        "sequence bigint, kind text, plan_uid text, plan_hash text, amount bigint, delta bigint, spent bigint, "
        "spent_delta bigint, artifact text, note text, previous text, head text, day text"
    ),
}

PERIOD_TABLES = {
    "header": LEDGER_TABLES["header"] + ", periods text",
    "entries": LEDGER_TABLES["entries"] + ", period text",
}


def tables(version: int) -> dict[str, str]:
    """The columns of each table in this format."""
    return PERIOD_TABLES if version == BY_PERIOD else LEDGER_TABLES


def guard(own: str, version: int) -> str:
    """The body of the trigger function in the schema `own`, in this format."""
    columns, by_period = tables(version), version == BY_PERIOD
    rules = sql_schema.PERIOD_RULES if by_period else sql_schema.APPEND_RULES
    header = {"a header must be in its bounds": _out_of_bounds(columns["header"])}
    entry = {"a row must be in its bounds": _out_of_bounds(columns["entries"]), **rules}
    if version > 1:
        header |= _malformed(columns["header"])
        entry |= _malformed(columns["entries"]) | _WRITTEN
    if by_period:
        entry["its content does not match its hash"] = f"NEW.head IS NOT {_PERIOD_DIGEST}"
    return _GUARD.format(
        schema=own,
        header=_raised(header),
        entry=_raised(entry)
        .replace("FROM entries", f"FROM {own}.entries")
        .replace("FROM header", f"FROM {own}.header"),
    )


def _malformed(columns: str) -> dict[str, str]:
    """The rules of `schema.malformed`."""
    rules = {}
    for name in (column.split()[0] for column in columns.split(", ")):
        if name in sql_schema.PATTERNS:
            rules[f"its {name} is not one that a charge can have"] = (
                f"NEW.{name} !~ '^({sql_schema.PATTERNS[name]})$'"
            )
        elif name in sql_schema.LENGTHS:
            acts = " OR ".join(f"ascii(c) BETWEEN {first} AND {last}" for first, last in ACTING)
            each = f"regexp_split_to_table(NEW.{name}, '') AS c"
            rules[f"its {name} is not one that a charge can have"] = (
                f"EXISTS (SELECT 1 FROM {each} WHERE c <> '' AND ({acts}))"
            )
    return rules


# The note as JSON gives it in ASCII. No backslash stands here: what it means in a text is a setting of the session that inserts.
_JSON = """(SELECT coalesce(string_agg(CASE
      WHEN c IN (chr(34), chr(92)) THEN chr(92) || c
      WHEN ascii(c) < 127 THEN c
      WHEN ascii(c) < 65536 THEN chr(92) || 'u' || lpad(to_hex(ascii(c)), 4, '0')
      ELSE chr(92) || 'u' || to_hex(55296 + ((ascii(c) - 65536) >> 10))
        || chr(92) || 'u' || to_hex(56320 + ((ascii(c) - 65536) & 1023)) END, '' ORDER BY place), '')
    FROM regexp_split_to_table(NEW.note, '') WITH ORDINALITY AS letters(c, place))"""
_DIGEST = f"""encode(sha256(convert_to('["' || NEW.previous || '",' || NEW.sequence || ',"' || NEW.kind || '","' || NEW.plan_uid
    || '","' || NEW.plan_hash || '",[' || NEW.amount || ',' || NEW.delta || '],[' || NEW.spent || ',' || NEW.spent_delta || '],"'
    || NEW.artifact || '","' || {_JSON} || '"]', 'UTF8')), 'hex')"""
_PERIOD_DIGEST = _DIGEST.replace("""|| '"]\'""", """|| '","' || NEW.period || '"]\'""")
_WHOSE = "substring({} from '^one `([^`]+)`: ')"  # `chain.whose`
# What is wrong with a new row whose texts are well formed, and when.
_WRITTEN = {
    "it is dated before the row above it": 'NEW.day COLLATE pg_catalog."C" < (SELECT max(day) FROM entries)',
    # a day more than the server's: the two clocks stand on either side of midnight
    "its day is in the future, by the clock of the server": "NEW.day COLLATE pg_catalog.\"C\" > to_char(clock_timestamp() AT TIME ZONE 'UTC' + interval '1 day', 'YYYY-MM-DD')",
    "its charge and the first are of different units": f"""NEW.kind = 'charged' AND NEW.sequence > 1 AND
       {_WHOSE.format("NEW.note")} IS NOT (SELECT {_WHOSE.format("note")} FROM entries WHERE sequence = 1)""",
    "its content does not match its hash": f"NEW.head IS NOT {_DIGEST}",
}


def _out_of_bounds(columns: str) -> str:
    out = ["NEW.id <> 1", "NEW.cap + NEW.cap_delta <= 0", "NEW.unit <> 'basic' AND NEW.cap_delta <> 0"]
    if not columns.startswith("id"):
        out = [
            "NEW.sequence < 1",
            "CASE NEW.kind WHEN 'charged' THEN NEW.amount + NEW.delta <= 0 OR NEW.artifact <> ''"
            " ELSE NEW.amount + NEW.delta <> 0 OR length(NEW.artifact) <> 64 END",
        ]
    for name in (column.split()[0] for column in columns.split(", ")):
        if name in sql_schema.CHOICES:
            out.append(f"NEW.{name} NOT IN {sql_schema.among(name)}")
        for bounds, value in ((sql_schema.RANGES, "NEW.{}"), (sql_schema.LENGTHS, "length(NEW.{})")):
            if name in bounds:
                out.append(f"{value.format(name)} NOT BETWEEN {bounds[name][0]} AND {bounds[name][1]}")
    return "\n    OR ".join(out)


def _raised(rules: dict[str, str]) -> str:
    return "\n".join(
        f"  IF ({when.replace(' IS NOT ', ' IS DISTINCT FROM ')}) THEN\n"
        f"    RAISE EXCEPTION '{what}' USING ERRCODE = 'integrity_constraint_violation';\n  END IF;"
        for what, when in rules.items()
    )


_GUARD = """
BEGIN
  IF TG_OP <> 'INSERT' OR TG_TABLE_NAME = 'header' AND EXISTS (SELECT 1 FROM {schema}.header) THEN
    RAISE EXCEPTION 'the ledger is append-only' USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  IF TG_TABLE_NAME = 'header' THEN
{header}
    RETURN NEW;
  END IF;
{entry}
  RETURN NEW;
END
"""
