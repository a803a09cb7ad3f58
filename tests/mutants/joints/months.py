"""Planted bugs: budgets of months, and whose rows a month has."""

from __future__ import annotations

from mutant import Mutant

READ, BOOK = "tests/units/test_periods.py", "tests/ledger/test_ledger_periods.py"
CLASS = "parallel composition over parts that are not disjoint, or not what was read"

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "a month that reads all rows",
        CLASS,
        "placed/rows.py",
        "        if domain.periods is not None:\n",
        "        if False:\n",
        (READ, "-k", "november or month_are_read"),
    ),
    Mutant(
        "a person of two months is one unit",
        "a unit that is removed in part is replaced: twice the distance",
        "tables/units.py",
        "units[0] * max(len(periods), 1) + at",
        "units[0] * max(len(periods), 1)",
        (READ, "-k", "one_unit_is_gone"),
    ),
    Mutant(
        "a filter that the charge does not know of",
        CLASS,
        "runs/admit.py",
        '    if getattr(rows, "periods", None) != plan.periods:\n',
        "    if False:\n",
        (READ, "-k", "price_of"),
    ),
    Mutant(
        "a description of a month that reads all",
        CLASS,
        "placed/checks.py",
        "    if domain.periods is not None and not trained:\n",
        "    if False:\n",
        (READ, "-k", "does_not_read_by_months"),
    ),
    Mutant(
        "a claim of a whole person for the rows of a month",
        CLASS,
        "plans/plan.py",
        "unit=self.domain.protected)\n        return self._stated(made, mu",
        "unit=self.domain.unit)\n        return self._stated(made, mu",
        (READ, "-k", "the_claim"),
    ),
    Mutant(
        "a charge of two months that books one",
        CLASS,
        "ledger/book.py",
        'tuple(dict.fromkeys(periods)) if own else ("",)',
        'tuple(dict.fromkeys(periods))[:1] if own else ("",)',
        (BOOK, "-k", "all_its_months"),
    ),
    Mutant(
        "months of another column",
        CLASS,
        "ledger/book.py",
        "        if scheme != own:\n",
        "        if bool(scheme) != bool(own):\n",
        (BOOK, "-k", "not_of_the_ledgers_months"),
    ),
    Mutant(
        "SQLite adds up all months",
        CLASS,
        "ledger/sql_schema.py",
        "FROM entries WHERE period = NEW.period",
        "FROM entries",
        (BOOK, "-k", "all_its_months or sqlite_itself"),
    ),
    Mutant(
        "a month's total is its first",
        "a read that is not of the last write",
        "ledger/sql_rows.py",
        "AND sequence < ? ORDER BY sequence DESC LIMIT 1",
        "AND sequence < ? ORDER BY sequence LIMIT 1",
        (BOOK, "-k", "all_its_months"),
    ),
    Mutant(
        "a month that the hash does not cover",
        "a field outside the hash chain",
        "ledger/hash_chain.py",
        "            *([self.period] if self.period else []),\n",
        "",
        (BOOK, "-k", "in_the_hash or edited"),
    ),
    Mutant(
        "a replaced record that moves to another month",
        CLASS,
        "ledger/book.py",
        "    if adjacency != sql_schema.OF_PERIODS:\n",
        "    if False:\n",
        (BOOK, "-k", "could_move"),
    ),
    Mutant(
        "group privacy of a plan of several months, forgotten",
        "k units for the price of one",
        "ledger/by_period.py",
        '(m if header.unit == "basic" else m * m)',
        '(m if header.unit == "basic" else m)',
        (BOOK, "-k", "pays_for_each"),
    ),
    Mutant(
        "delta of a group, added up",
        "k units for the price of one",
        "ledger/by_period.py",
        "math.exp(k * epsilon) * (1 + 2**-30)",
        "1.0 * (1 + 2**-30)",
        (BOOK, "-k", "pays_for_each"),
    ),
    Mutant(
        "a server that adds up the totals of all months",
        CLASS,
        "ledger/postgres_guard.py",
        "    rules = sql_schema.PERIOD_RULES if by_period else sql_schema.APPEND_RULES\n",
        "    rules = sql_schema.APPEND_RULES\n",
        ("tests/ledger/test_ledger_postgres.py", "-k", "by_periods"),
    ),
)
