"""A query to a database, read once in a transaction that cannot write: DuckDB, SQLite, PostgreSQL."""

from __future__ import annotations

import abc
import contextlib
import re
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import quote

from prepriv._text import printable
from prepriv.tables.cell import LONGEST, UNREADABLE
from prepriv.tables.query_text import depends, one_statement
from prepriv.tables.readers import BadData
from prepriv.tables.stream import Stream, rows_in_part, withheld

URLS = "duckdb:///FILE, sqlite:///FILE or postgresql://user@host/database"
_URL = re.compile(r"(duckdb|sqlite|postgres(?:ql)?):/(.*)", re.DOTALL)
_AT_ONCE = 2**12  # rows that are held as Python values
_MOST_SHOWN = 300  # characters of what a database says about a query


def is_database(data: Any) -> bool:
    """Whether a text names a database, and not a file."""
    return isinstance(data, str) and _URL.match(data) is not None


class Query(Stream):
    """The rows of a query to a database, as a table for `PrivateClassifier.fit` and everything else that takes a table.

    The database is opened for reading only. Before the charge, nothing but the names of columns is read. Each release
    runs the query once. Its text is part of the plan and of the claim: a record is a row of this query.

    Parameters
    ----------
    url : str
        duckdb:///FILE, sqlite:///FILE or postgresql://user@host/database, without a password.
    sql : str
        One statement that reads. Comments are left out.

    Raises
    ------
    ValueError
        For another URL, for anything but one statement that reads, and if the driver is not installed.

    Notes
    -----
    The claim is for rows of the query's result. Whatever the query joins, counts, samples or cuts off happens before
    that. Proof: docs/proofs/one_table.md.

    Examples
    --------
    >>> import sqlite3, tempfile, prepriv
    >>> file = tempfile.mkdtemp() + "/people.db"
    >>> made = sqlite3.connect(file)
    >>> _ = made.execute("CREATE TABLE people (age, income)")
    >>> _ = made.executemany("INSERT INTO people VALUES (?, ?)", [(20 + i % 60, i % 2) for i in range(2000)])
    >>> made.commit()
    >>> rows = prepriv.Query(f"sqlite:///{file}", "SELECT age, income FROM people")
    >>> domain = prepriv.Domain({"age": prepriv.Numeric(17, 90)}, classes=[0, 1], n=2000)
    >>> clf = prepriv.PrivateClassifier(domain, steps="linear").fit(rows, "income")
    >>> clf.guarantee_.conditions[0]
    'a record is a row of the query "SELECT age, income FROM people", which no cell makes fail'
    """

    def __init__(self, url: str, sql: str) -> None:
        self.sql = one_statement(sql)
        self._database = _database(url)
        why = depends(self.sql)
        said = f" ({', '.join(why)}: a row of it can depend on several rows of its tables)"
        self.source = f'the query "{self.sql}"{said if why else ""}, which no cell makes fail'

    def __repr__(self) -> str:
        return f"Query({self._database.name}, {self.sql!r})"

    @cached_property
    def names(self) -> Sequence[str]:
        names = self._database.columns(self.sql)
        if len(set(names)) < len(names):
            raise BadData("two columns of the query have the same name: rename one by AS")
        return names

    def parts(self, columns: Sequence[str]) -> Iterator[Any]:
        with withheld():
            for part in self._database.parts(self.sql, rows_in_part(len(self.names))):
                yield part.rename_columns(list(self.names)).select(list(columns))


class _Database(abc.ABC):
    """One kind of database. name: what messages call it."""

    name: str

    @abc.abstractmethod
    def columns(self, sql: str) -> list[str]:
        """The names of the columns of a query, which reads no row. BadData where it does not take the query."""

    @abc.abstractmethod
    def parts(self, sql: str, rows: int) -> Iterator[Any]:
        """Arrow tables of at most so many rows, their columns in the order of `columns`."""

    def refused(self, error: BaseException) -> BadData:
        """Of an error before a row is read: the first line of what it says."""
        line = next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
        return BadData(f"{self.name} does not take the query: {printable(line)[:_MOST_SHOWN]}")


def _database(url: Any) -> _Database:
    found = _URL.match(url) if isinstance(url, str) else None
    if found is None:
        raise BadData(f"a database is named by {URLS}; got another text")
    if found[1].startswith("postgres"):
        return _PostgreSQL(url)
    if not found[2].startswith("//") or found[2] == "//":
        raise BadData(
            f"give the file of the database: {found[1]}:///FILE, four slashes for a path from the root"
        )
    path = Path(found[2][2:])
    if not path.is_file():
        raise BadData(f"no such file: {path}" if not path.is_dir() else f"{path} is a folder, not a file")
    return (_DuckDB if found[1] == "duckdb" else _SQLite)(path)


class _DuckDB(_Database):
    name = "DuckDB"

    def __init__(self, path: Path) -> None:
        self.path = path

    @contextlib.contextmanager
    def _open(self) -> Iterator[Any]:
        try:
            import duckdb
        except ImportError:
            raise BadData('a query of DuckDB needs duckdb (pip install "prepriv[duckdb]")') from None
        # neither another file nor a variable of Python is a table; nothing can be written, nor switched on again
        closed: dict[str, Any] = {
            "enable_external_access": "false",
            "python_enable_replacements": "false",
            "lock_configuration": "true",
        }
        try:
            opened = duckdb.connect(str(self.path), read_only=True, config=closed)
        except duckdb.Error:
            raise BadData(
                f"{self.path} cannot be opened by DuckDB for reading alone; is it a database, and does no other program write to it?"
            ) from None
        with opened:
            yield opened

    def columns(self, sql: str) -> list[str]:
        with self._open() as opened:
            try:
                return list(self._rows(opened, sql).columns)
            except Exception as error:
                raise self.refused(error) from None

    def parts(self, sql: str, rows: int) -> Iterator[Any]:
        import pyarrow as pa

        with self._open() as opened:
            found = self._rows(opened, sql)
            for batch in (getattr(found, "to_arrow_reader", None) or found.fetch_arrow_reader)(rows):
                yield pa.Table.from_batches([batch])

    @staticmethod
    def _rows(opened: Any, sql: str) -> Any:
        statements = opened.extract_statements(sql)
        if len(statements) != 1 or "SELECT" not in str(statements[0].type):
            raise BadData("the query must be one statement that reads")
        return opened.sql(sql)


class _SQLite(_Database):
    name = "SQLite"

    def __init__(self, path: Path) -> None:
        self.path = path

    @contextlib.contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        try:
            opened = sqlite3.connect(f"file:{quote(str(self.path.absolute()))}?mode=ro", uri=True)
        except sqlite3.Error:
            raise BadData(f"{self.path} cannot be opened by SQLite for reading") from None
        with contextlib.closing(opened):
            opened.text_factory = bytes  # a text that is not UTF-8 ends no reading
            opened.set_authorizer(_only_reads)
            yield opened

    def columns(self, sql: str) -> list[str]:
        with self._open() as opened:
            try:
                found = opened.execute(f"SELECT * FROM ({sql}) LIMIT 0")
            except sqlite3.Error as error:
                raise self.refused(error) from None
            return [name for name, *_ in found.description]

    def parts(self, sql: str, rows: int) -> Iterator[Any]:
        with self._open() as opened:
            found = opened.execute(sql)
            while held := found.fetchmany(min(rows, _AT_ONCE)):
                yield _table([_spelled(cell) for cell in column] for column in zip(*held))


def _only_reads(action: int, *_: Any) -> int:
    """What SQLite asks before it does anything: it may select, read, call functions and recur."""
    recursive = 33  # SQLITE_RECURSIVE, which Python does not name
    allowed = (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, recursive)
    return sqlite3.SQLITE_OK if action in allowed else sqlite3.SQLITE_DENY


class _PostgreSQL(_Database):
    name = "PostgreSQL"

    def __init__(self, url: str) -> None:
        from prepriv.ledger.urls import check_no_password

        with _of_no_ledger():
            check_no_password(url)
        self.url = url

    @contextlib.contextmanager
    def _open(self) -> Iterator[Any]:
        """A connection, as libpq gives it, in a transaction that reads one state of the database."""
        try:
            import psycopg
        except ImportError:
            raise BadData('a query of PostgreSQL needs psycopg (pip install "prepriv[postgres]")') from None
        from prepriv.ledger.postgres import check_hosts, check_way, libpq_options

        try:
            with _of_no_ledger():
                check_hosts(libpq_options(self.url))
            opened = psycopg.connect(self.url, autocommit=True, client_encoding="utf8")
        except psycopg.Error:  # its text can quote a password
            raise BadData(f"PostgreSQL cannot be reached at the URL; give {URLS}") from None
        with opened:
            said = {o.keyword.decode(): (o.val or b"").decode() for o in opened.pgconn.info}
            with _of_no_ledger():
                check_way(said, opened.pgconn.hostaddr)
            for setting in _SETTINGS:
                opened.execute(setting)
            yield opened.pgconn

    def columns(self, sql: str) -> list[str]:
        with self._open() as server:
            try:
                _done(server.prepare(b"", sql.encode()))
                found = _done(server.describe_prepared(b""))
            except ValueError as error:
                raise self.refused(error) from None
            names = [found.fname(j) or b"" for j in range(found.nfields)]
            return [name.decode("utf-8", "replace") for name in names]

    def parts(self, sql: str, rows: int) -> Iterator[Any]:
        with self._open() as server:  # a cursor takes what reads, and one statement
            _done(server.exec_params(b"DECLARE prepriv NO SCROLL CURSOR FOR " + sql.encode(), None))
            fetch = b"FETCH FORWARD %d FROM prepriv" % min(rows, _AT_ONCE)
            while (found := _done(server.exec_params(fetch, None))).ntuples:
                yield _table(_column(found, j) for j in range(found.nfields))


def _done(result: Any) -> Any:
    """A result of libpq; ValueError, with what the server says, for one that is an error."""
    from psycopg import pq

    if result.status not in (pq.ExecStatus.COMMAND_OK, pq.ExecStatus.TUPLES_OK):
        raise ValueError(result.get_error_message())
    return result


_SETTINGS = (
    "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
    "SET LOCAL TimeZone = 'UTC'",
    "SET LOCAL DateStyle = 'ISO'",
    "SET LOCAL bytea_output = 'hex'",
    "SET LOCAL extra_float_digits = 1",  # each float has its own shortest text
)
_TRUTH, _BYTES, _INSTANT = 16, 17, 1184  # the types whose text is not what a cell says


def _column(found: Any, j: int) -> list[bytes | None]:
    """The cells of a column of a result, each as PostgreSQL writes it."""
    cells = [found.get_value(i, j) for i in range(found.ntuples)]
    kind = found.ftype(j)
    if kind == _TRUTH:
        cells = [None if cell is None else b"true" if cell == b"t" else b"false" for cell in cells]
    elif kind == _BYTES:
        cells = [None if cell is None else bytes.fromhex(cell[2:].decode()) for cell in cells]
    elif kind == _INSTANT:
        cells = [None if cell is None else cell + b":00" for cell in cells]  # of +00
    return [_short(cell) for cell in cells]


@contextlib.contextmanager
def _of_no_ledger() -> Iterator[None]:
    """What a ledger says about a URL, of a database."""
    try:
        yield
    except ValueError as error:
        raise BadData(str(error).replace("ledger: ", "", 1).replace("?ledger=NAME", "")) from None


def _spelled(cell: Any) -> bytes | None:
    """A value of SQLite as a text that is read as this value (`prepriv.tables.cell`)."""
    if cell is None or isinstance(cell, bytes):
        return _short(cell)
    return repr(cell).encode()


def _short(cell: bytes | None) -> bytes | None:
    return UNREADABLE.encode() if cell is not None and len(cell) > LONGEST else cell


def _table(columns: Iterable[list[bytes | None]]) -> Any:
    """An Arrow table of byte cells, as of a CSV file: no cell decides how another one is read."""
    import pyarrow as pa

    cells = [pa.array(column, pa.large_binary()) for column in columns]
    return pa.table(cells, names=[str(j) for j in range(len(cells))])
