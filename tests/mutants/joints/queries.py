"""Bugs of tables in databases and of other streams that are read once."""

from __future__ import annotations

from importlib.util import find_spec

from mutant import Mutant

HERE = "tests/tables/test_queries.py"
TEXT = ("tests/tables/test_query_text.py",)


def here(which: str) -> tuple[str, ...]:
    """The tests of queries whose name holds `which`."""
    return (HERE, "-k", which)


OF_DUCKDB = (
    Mutant(
        "a query of DuckDB may reach other files",
        "records: a table is written to",
        "tables/query.py",
        '            "enable_external_access": "false",\n',
        "",
        here("reached_by_a_query_of_duckdb"),
    ),
)
MUTANTS: tuple[Mutant, ...] = (
    *(OF_DUCKDB if find_spec("duckdb") else ()),  # its test is skipped without it
    Mutant(
        "a query is asked again for each pass, as files are",
        "records: two readings of one table",
        "tables/encoding.py",
        "    anew = isinstance(stream, Files) and not keep\n",
        "    anew = not keep\n",
        here("read_once_however"),
    ),
    Mutant(
        "held rows are those of the last part",
        "records: two readings of one table",
        "tables/spool.py",
        "            self._file.seek(at)\n",
        "            self._file.seek(self._parts[-1][0])\n",
        here("held_rows"),
    ),
    Mutant(
        "disk for what is read once is not reserved",
        "budget: charged for a run that cannot be",
        "tables/spool.py",
        "            if size:\n",
        "            if size < 0:\n",
        here("full_disk or held_rows"),
    ),
    Mutant(
        "rows of a query are matched by their places",
        "sensitivity: neighbours in another order",
        "placed/chain.py",
        "    incoming = UNTOUCHED if domain.source is None else dataclasses.replace(UNTOUCHED, any_order=True)\n",
        "    incoming = UNTOUCHED\n",
        here("needs_an_order"),
    ),
    Mutant(
        "a claim does not say what a record is",
        "claims: a condition is left out",
        "plans/priced.py",
        "        conditions = tuple(dict.fromkeys((*rows, *made.conditions)))\n",
        "        conditions = made.conditions\n",
        here("part_of_the_plan or every_release"),
    ),
    Mutant(
        "the text of a query is not in the hash of the plan",
        "claims: a plan is not all that was decided",
        "domain.py",
        '            out["source"] = self.source\n',
        "            pass\n",
        here("part_of_the_plan"),
    ),
    Mutant(
        "a plan of a table is carried out on a query",
        "claims: a condition is left out",
        "tables/encoding.py",
        "    if stream.source not in (None, said):\n",
        "    if stream.source is not None and said is not None and stream.source != said:\n",
        here("does_not_name_the_query"),
    ),
    Mutant(
        "a draft forgets that it read a query",
        "claims: a condition is left out",
        "guarantees/drafts.py",
        "    rows = declared_rows(drafted.source, domain.unit)\n",
        "    rows = ()\n",
        here("beside_a_table"),
    ),
    Mutant(
        "SQLite may do whatever a query says",
        "records: a table is written to",
        "tables/query.py",
        "            opened.set_authorizer(_only_reads)\n",
        "",
        here("nothing_can_be_written_by"),
    ),
    Mutant(
        "SQLite is opened for writing",
        "records: a table is written to",
        "tables/query.py",
        "?mode=ro",
        "?mode=rwc",
        here("nothing_can_be_written_by"),
    ),
    Mutant(
        "a text of SQLite that is not UTF-8 ends the reading",
        "records: one cell ends the run",
        "tables/query.py",
        "            opened.text_factory = bytes  # a text that is not UTF-8 ends no reading\n",
        "",
        here("odd_cells"),
    ),
    Mutant(
        "a transaction of PostgreSQL may write",
        "records: a table is written to",
        "tables/query.py",
        "REPEATABLE READ READ ONLY",
        "REPEATABLE READ",
        ("tests/tables/test_query_postgres.py", "-m", "slow", "-k", "nothing_is_written"),
    ),
    Mutant(
        "a semicolon in the middle of a query is not seen",
        "records: a table is written to",
        "tables/query_text.py",
        '    if ";" in pieces:\n',
        '    if ";" in pieces and "--" in sql:\n',
        TEXT,
    ),
    Mutant(
        "a comment within a comment ends it",
        "records: a table is written to",
        "tables/query_text.py",
        'depth + (1 if two == "/*" else -1)',
        'depth + (1 if two == "/*" and not depth else -1 if two == "*/" else 0)',
        TEXT,
    ),
    Mutant(
        "brackets are thought harmless",
        "claims: a condition is left out",
        "tables/query_text.py",
        '    if ("sign", "(") in pieces:\n',
        '    if ("sign", "((") in pieces:\n',
        TEXT,
    ),
    Mutant(
        "a reader that is the same each time is read on",
        "records: two readings of one table",
        "tables/outside.py",
        "        if self._given and given is self._given[0]:\n",
        "        if self._given is None:\n",
        here("read_once_is_not_counted"),
    ),
    Mutant(
        "what a database says while it is read is shown",
        "messages: a cell in an error",
        "tables/query.py",
        "        with withheld():\n            for part in self._database",
        "        with contextlib.nullcontext():\n            for part in self._database",
        here("makes_a_query_fail"),
    ),
)
