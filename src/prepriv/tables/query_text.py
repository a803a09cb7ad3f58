"""The text of a query as it runs and as it is printed: one statement, without comments, on one line; and what it says that makes
a row depend on other rows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from prepriv.tables.readers import BadData

LONGEST_QUERY = 20_000  # characters: it stands in the plan and in each claim
_STARTS = ("SELECT", "WITH", "FROM", "VALUES", "TABLE")
_QUOTED = re.compile(
    r"""(?P<escaped>[eE]'(?:[^'\\]|\\.|'')*')
    | '(?:[^']|'')*' | "(?:[^"]|"")*" | `[^`]*`
    | \$(?P<tag>[A-Za-z_]*)\$.*?\$(?P=tag)\$
    | (?P<word>[^\W\d][\w$]*) | (?P<number>\d[\w.]*)""",
    re.VERBOSE | re.DOTALL,
)
# fmt: off
DEPENDS = frozenset(
    [
        "JOIN", "LIMIT", "FETCH", "TOP", "OFFSET", "GROUP", "HAVING", "DISTINCT", "OVER", "WINDOW",
        "QUALIFY", "UNION", "INTERSECT", "EXCEPT", "MINUS", "TABLESAMPLE", "SAMPLE", "LATERAL", "APPLY",
        "UNNEST", "UNPIVOT", "RECURSIVE", "WITH", "EXISTS", "IN", "VALUES", "RANDOM", "COUNT", "SUM",
        "AVG", "MIN", "MAX", "TOTAL", "MEDIAN", "STDDEV", "VARIANCE", "STRING_AGG", "GROUP_CONCAT",
        "ARRAY_AGG", "LIST", "FIRST", "LAST", "ANY_VALUE", "MODE", "QUANTILE", "POSITIONAL", "ASOF",
        "CROSS", "NATURAL", "USING", "REPEATABLE",
    ]
)
# fmt: on
"""Words after which a row of a query can depend on several rows of its tables, or stand for several."""


def tokens(sql: str) -> Iterator[tuple[str, str]]:
    """(kind, text) of each piece: "quoted", "word", "blank" (comments are blanks) or "sign". BadData for a quote or a comment
    that never ends."""
    at = 0
    while at < len(sql):
        start, two = at, sql[at : at + 2]
        if sql[at].isspace():
            at += 1
            yield "blank", sql[start:at]
        elif two == "--":
            ends = [sql.find(end, at) for end in "\n\r"]
            at = min((end for end in ends if end >= 0), default=len(sql))
            yield "blank", sql[start:at]
        elif two == "/*":
            at = _past_comment(sql, at)
            yield "blank", sql[start:at]
        elif found := _QUOTED.match(sql, at):
            at = found.end()
            kind = "word" if found["word"] else "sign" if found["number"] else "quoted"
            yield kind, found[0]
        elif sql[at] in "'\"`":
            raise BadData("the query: a quote in it never ends")
        else:
            at += 1
            yield "sign", sql[start:at]


def _past_comment(sql: str, at: int) -> int:
    """Where a block comment ends; one within it ends, too."""
    depth = 0
    while at < len(sql):
        two = sql[at : at + 2]
        if two in ("/*", "*/"):
            depth, at = depth + (1 if two == "/*" else -1), at + 2
            if not depth:
                return at
        else:
            at += 1
    raise BadData("the query: a comment in it never ends")


def one_statement(sql: str) -> str:
    """The query without comments, on one line. BadData for what is not one statement that reads."""
    if not isinstance(sql, str):
        raise BadData(f"a query is a text of SQL; got {type(sql).__name__}")
    pieces: list[str] = []
    for kind, piece in tokens(sql):
        if kind != "blank":
            pieces.append(piece)
        elif pieces and pieces[-1] != " ":
            pieces.append(" ")
    while pieces and pieces[-1] in (" ", ";"):
        pieces.pop()
    text = "".join(pieces)
    if not text:
        raise BadData("the query is empty")
    if ";" in pieces:
        raise BadData("the query must be one statement: a semicolon stands before its end")
    if len(text) > LONGEST_QUERY:
        raise BadData(
            f"the query must have at most {LONGEST_QUERY:,} characters: it is printed with the claim"
        )
    if not text.isprintable():
        raise BadData("the query must be printable text: it is printed with the claim")
    first = next((piece.upper() for kind, piece in tokens(text) if kind == "word"), "")
    if first not in _STARTS:
        raise BadData("the query must be one that reads: it begins with SELECT, WITH, FROM, VALUES or TABLE")
    if "PIVOT" in words(text):  # DuckDB makes columns of cells by it
        raise BadData(
            "PIVOT makes columns from cells, so their names would reveal records: name the columns instead"
        )
    return text


def words(sql: str) -> list[str]:
    """The words outside of quotes and comments, in capitals."""
    return [text.upper() for kind, text in tokens(sql) if kind == "word"]


def depends(sql: str) -> list[str]:
    """What of a query can make a row of it depend on several rows of its tables; empty for columns and conditions of one table.

    What is not known to be harmless counts.
    """
    pieces = [(kind, text.upper()) for kind, text in tokens(sql) if kind != "blank"]
    said = [text for kind, text in pieces if kind == "word"]
    found = [word for word in dict.fromkeys(said) if word in DEPENDS]
    if said.count("SELECT") > 1:
        found.append("a second SELECT")
    if said.count("FROM") != 1:
        found.append("not one FROM")
    if ("sign", "(") in pieces:
        found.append("brackets")
    tables = False
    for kind, text in pieces:
        if kind == "word" and text in ("FROM", "WHERE", "ORDER"):
            tables = text == "FROM"
        elif tables and text == ",":
            found.append("two tables")
            break
    return found
