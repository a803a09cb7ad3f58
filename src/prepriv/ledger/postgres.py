"""A ledger on a PostgreSQL server: the same tables, one schema of a database for each ledger.

A lock held from before the snapshot is taken until the connection ends makes writers wait for each other; should it
fail (a connection pooler in between), serialisable isolation aborts all but one of them. Every operation opens its
own connection and closes it again, which is safe under threads and fork.

Who may insert rows may spend the budget, and do no more: the guard refuses every row that the library would not have
written (postgres_guard.py). A host beyond this machine is reached over a connection on which both ends are known.
"""

from __future__ import annotations

import hashlib
import ipaddress
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from prepriv.ledger import sql_rows, sql_schema
from prepriv.ledger.errors import LedgerCorrupt, LedgerUnavailable
from prepriv.ledger.hash_chain import Header
from prepriv.ledger.postgres_guard import BY_PERIOD, FORMAT, LEDGER_TABLES, guard, tables

_NAME = re.compile(r"[a-z0-9][a-z0-9_]{0,39}")
_MARK = "prepriv-ledger "  # and the version: the comment on the schema
_KEYS = {
    "header_once": "header (id)",
    "entries_once": "entries (sequence)",
    "entries_uid": "entries (kind, plan_uid)",
}


def _keys(version: int) -> dict[str, str]:
    by_period = {"entries_uid": "entries (kind, plan_uid, period)"} if version == BY_PERIOD else {}
    return _KEYS | by_period


_APPEND, _REST = (
    "BEFORE INSERT ON {} FOR EACH ROW",
    "BEFORE UPDATE OR DELETE OR TRUNCATE ON {} FOR EACH STATEMENT",
)


@dataclass(frozen=True)
class Server:
    """The store (`rows.Store`) of a ledger on a server. url: for libpq. ledger: its name in the database."""

    url: str
    ledger: str
    timeout: float

    @classmethod
    def at(cls, url: str, timeout: float) -> Server:
        """The store that `postgresql://user@host/database?ledger=NAME` names. Raises ValueError for a bad name."""
        base, _, query = url.partition("?")
        options = [option for option in query.split("&") if option]
        names = [option.removeprefix("ledger=") for option in options if option.startswith("ledger=")]
        if len(names) > 1:
            raise ValueError(f"the URL names {len(names)} ledgers; ?ledger= is given once")
        name = names[0] if names else "ledger"
        if not _NAME.fullmatch(name):
            raise ValueError(f"?ledger= must be at most 40 of a-z 0-9 _, not _ first; got {name!r}")
        rest = "&".join(option for option in options if not option.startswith("ledger="))
        return cls(base + ("?" + rest if rest else ""), name, timeout)

    @property
    def name(self) -> str:
        """The ledger's name; never the URL, which can hold a password."""
        return f"{self.ledger} (postgresql)"

    @property
    def schema(self) -> str:
        """The schema of the database that holds the tables."""
        return f"prepriv_{self.ledger}"

    def create(self, header: Header) -> None:
        """Make the schema and its tables; all of it or nothing."""
        with self._transaction(write=True) as db:
            if db.execute("SELECT 1 FROM pg_namespace WHERE nspname = ?", (self.schema,)).fetchone():
                raise ValueError(
                    f"a ledger is never overwritten, and {self.name} exists; choose another name"
                )
            if db.execute("SELECT current_setting('server_encoding')").fetchone() != ("UTF8",):
                raise LedgerUnavailable(
                    f"{self.name}: the encoding of this database must be UTF8, for its guard to check the hash of a row"
                )
            for statement in self._statements(BY_PERIOD if header.periods else FORMAT):
                db.execute(statement)
            sql_rows.append_header(db, header)

    @contextmanager
    def transaction(self, *, write: bool) -> Iterator[sql_rows.Connection]:
        """A serialisable transaction on a ledger that is there."""
        with self._transaction(write=write) as db:
            asked = "SELECT has_schema_privilege(oid, 'USAGE') FROM pg_namespace WHERE nspname = ?"
            found = db.execute(asked, (self.schema,)).fetchone()
            if found is None:
                raise LedgerUnavailable(
                    f"{self.name}: no such ledger in this database. Check its path. For a data set that has none, `prepriv ledger create` makes it"
                )
            if not found[0]:
                raise LedgerUnavailable(f"{self.name}: this role may not use the ledger; nothing was granted")
            yield db

    def problems(self, db: sql_rows.Connection) -> list[str]:
        """Whatever differs from what `create` makes, by the server's own catalogues."""
        said = db.execute(
            "SELECT obj_description(oid, 'pg_namespace') FROM pg_namespace WHERE nspname = ?", (self.schema,)
        )
        mark = said.fetchone()[0] or ""
        if not re.fullmatch(_MARK + r"\d{1,9}", mark):
            return [f"the schema {self.schema} is not a ledger"]
        version = int(mark.removeprefix(_MARK))
        if wrong := sql_schema.version_problems(version, BY_PERIOD):
            return wrong
        found = {tuple(row) for row in db.execute(_FOUND, (self.schema,) * 5)}
        names = sorted({str(row[1]) for row in found ^ self._expected(version)})
        return [f"table, trigger or function {name!r} was changed, removed or added" for name in names]

    def damage(self, db: sql_rows.Connection) -> list[str]:
        """Nothing: the server checks its own pages."""
        return []

    def _statements(self, version: int) -> Iterator[str]:
        own = self.schema
        yield f"CREATE SCHEMA {own}"
        for table, columns in tables(version).items():
            yield f"CREATE TABLE {own}.{table} ({', '.join(c + ' NOT NULL' for c in columns.split(', '))})"
        for name, columns in _keys(version).items():
            yield f"CREATE UNIQUE INDEX {name} ON {own}.{columns}"
        yield (
            f"CREATE FUNCTION {own}.guard() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp "
            f"AS $guard${guard(self.schema, version)}$guard$"
        )
        for table in LEDGER_TABLES:
            for name, when in ((f"{table}_append", _APPEND), (f"{table}_never", _REST)):
                yield f"CREATE TRIGGER {name} {when.format(f'{own}.{table}')} EXECUTE FUNCTION {own}.guard()"
                yield f"ALTER TABLE {own}.{table} ENABLE ALWAYS TRIGGER {name}"
        yield f"COMMENT ON SCHEMA {own} IS '{_MARK}{version}'"

    def _expected(self, version: int) -> set[tuple[str, str, str]]:
        """What `_FOUND` finds in a ledger as `create` made it in this format."""
        out = {("relation", name, "rpffff") for name in LEDGER_TABLES} | {
            ("relation", name, "ipffff") for name in _KEYS
        }
        for table, columns in tables(version).items():
            out |= {("column", table, f"{at} {c} true false") for at, c in enumerate(columns.split(", "), 1)}
            out |= {("trigger", f"{table}_append", f"{table} 7 A true guard true")}
            out |= {("trigger", f"{table}_never", f"{table} 58 A true guard true")}
        for name, columns in _keys(version).items():
            table, _, keys = columns.partition(" ")
            out.add(("index", name, f"{table} true true true {keys}"))
        source = hashlib.md5(guard(self.schema, version).encode(), usedforsecurity=False).hexdigest()
        out.add(("function", "guard", f"plpgsql {source} search_path=pg_catalog, pg_temp"))
        return out

    @contextmanager
    def _transaction(self, *, write: bool) -> Iterator[_Session]:
        try:
            import psycopg
        except ImportError:
            raise LedgerUnavailable(
                f'{self.name}: needs psycopg (pip install "prepriv[postgres]"); nothing was granted'
            ) from None
        try:
            check_hosts(libpq_options(self.url))
        except psycopg.ProgrammingError:  # its text can quote a password
            raise ValueError(
                "ledger: PostgreSQL does not understand the URL; give postgresql://user@host/database?ledger=NAME"
            ) from None
        try:
            with psycopg.connect(
                self.url,
                autocommit=True,
                connect_timeout=max(2, round(self.timeout)),
                application_name="prepriv",
                client_encoding="utf8",
                prepare_threshold=None,
            ) as connection:
                check_way(
                    {o.keyword.decode(): (o.val or b"").decode() for o in connection.pgconn.info},
                    connection.pgconn.hostaddr,
                )
                db = _Session(connection)
                self._begin(db, write)
                yield db
                done = db.execute("COMMIT" if write else "ROLLBACK").statusmessage
                if write and done != "COMMIT":  # a failed transaction ends in ROLLBACK, without an error
                    raise LedgerUnavailable(
                        f"{self.name}: the server took the charge back; nothing was granted"
                    )
        except psycopg.Error as error:
            kind = LedgerCorrupt if _says_of_the_ledger(error) else LedgerUnavailable
            raise kind(self._told(error)) from None
        except (UnicodeError, MemoryError, OverflowError) as error:
            raise LedgerCorrupt(self._told(error)) from None

    def _told(self, error: BaseException) -> str:
        """One line: the first of what the server said."""
        if (
            type(error).__name__ == "UniqueViolation"
        ):  # of a row that was valid, and committed while this one waited
            return f"{self.name}: another charge came first; nothing was granted"
        lines = (line.strip() for line in str(error).splitlines() if line.strip())
        return f"{self.name}: {next(lines, type(error).__name__)}; nothing was granted"

    def _begin(self, db: _Session, write: bool) -> None:
        wait = f"lock_timeout = '{max(1, round(1000 * self.timeout))}ms'"
        if write:  # before BEGIN: the snapshot must be taken behind the lock
            db.execute(f"SET {wait}; SELECT pg_advisory_lock({self._lock()})")
        db.execute(
            f"BEGIN ISOLATION LEVEL SERIALIZABLE {'READ WRITE' if write else 'READ ONLY'}; SET LOCAL {wait}; "
            # no function of ours stands before the server's own, no temporary table before ours
            f"SET LOCAL search_path = pg_catalog, {self.schema}, pg_temp; SET LOCAL row_security = off; "
            # a host that is lost gives the lock back
            "SET LOCAL idle_in_transaction_session_timeout = '1min'; SET LOCAL synchronous_commit = on"
        )
        if write and db.execute("SELECT current_setting('fsync')").fetchone() != ("on",):
            raise LedgerUnavailable(
                f"{self.name}: the server runs with fsync off: commits would not be durable; nothing was granted"
            )

    def _lock(self) -> int:
        digest = hashlib.sha256(self.schema.encode()).digest()
        return int.from_bytes(digest[:8], "big", signed=True)


def check_way(options: Mapping[str, str], address: bytes) -> None:
    """ValueError for a server beyond this machine that nothing proves to be the one: another could grant every charge.

    options: of the connection, as libpq settled them. address: of the server, empty for a socket of this machine.
    """
    if _is_here(address.decode()):
        return
    if options.get("sslmode") not in ("verify-ca", "verify-full") and options.get("gssencmode") != "require":
        raise ValueError(
            "ledger: the server is beyond this machine, and nothing proves that it is the right one; add sslmode=verify-full "
            "to the URL, with sslrootcert=FILE where its certificate is of your own authority (or set PGSSLMODE and PGSSLROOTCERT)"
        )


def check_hosts(options: Mapping[str, str]) -> None:
    """`check_way` of each host that libpq may try, before it is tried: a false server would have the password by then."""
    hosts, addresses = options.get("host", "").split(","), options.get("hostaddr", "").split(",")
    for name, address in zip_longest(hosts, addresses, fillvalue=""):
        check_way(options, (address or name).encode())


def _is_here(host: str) -> bool:
    """Whether this is a socket of this machine, or an address of its own. Of all names `localhost` alone: others can lead anywhere."""
    if host in ("", "localhost") or host.startswith("@") or os.path.isabs(host):
        return True
    try:
        return ipaddress.ip_address(host.partition("%")[0]).is_loopback
    except ValueError:
        return False


def libpq_options(url: str) -> dict[str, str]:
    """The options by which libpq will connect: of the URL, else of the environment. ProgrammingError for a bad URL.

    What a service says that the URL names cannot be asked: its host counts as one beyond this machine.
    """
    from psycopg import conninfo, pq

    given = {name: str(value) for name, value in conninfo.conninfo_to_dict(url).items() if value is not None}
    if "service" in given:
        return {"hostaddr": "of a service"} | given
    known = {o.keyword.decode(): o.val.decode() for o in pq.Conninfo.get_defaults() if o.val}
    return known | given


class _Session:
    """psycopg's connection with SQLite's placeholder."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def execute(self, sql: str, parameters: Sequence[Any] = (), /) -> Any:
        """Run one statement; with values, every `?` in it is one."""
        if not parameters:
            return self._connection.execute(sql)
        return self._connection.execute(sql.replace("?", "%s"), parameters)


def _says_of_the_ledger(error: Exception) -> bool:
    """Whether an error of psycopg's is of what the ledger holds; otherwise it cannot be used now."""
    from psycopg import DataError, IntegrityError, ProgrammingError, errors

    passing = errors.InsufficientPrivilege | errors.InvalidCatalogName | errors.InvalidParameterValue
    if isinstance(error, passing | errors.UniqueViolation):
        return False
    damaged = errors.DataCorrupted | errors.IndexCorrupted
    return isinstance(error, DataError | IntegrityError | ProgrammingError | damaged)


# Everything in the schema: (what, name, how it is made). relpersistence p: an unlogged table is emptied by a crash;
# row security and rules would hide rows, a table that inherits adds some, and one that is inherited from deletes them past a
# statement's trigger; so does a trigger on some columns alone.
_FOUND = """
SELECT 'relation', relname::text,
       relkind::text || relpersistence::text || left(relrowsecurity::text, 1) || left(relhasrules::text, 1)
       || left(relhassubclass::text, 1) || left(EXISTS (SELECT 1 FROM pg_inherits WHERE inhrelid = pg_class.oid)::text, 1)
FROM pg_class WHERE relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = ?) AND relkind <> 't'
UNION ALL
SELECT 'column', c.relname::text,
       concat_ws(' ', attnum, attname, format_type(atttypid, atttypmod), attnotnull::text, atthasdef::text)
FROM pg_attribute JOIN pg_class c ON c.oid = attrelid
WHERE c.relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = ?) AND c.relkind = 'r' AND attnum > 0
UNION ALL
SELECT 'trigger', tgname::text,
       concat_ws(' ', c.relname, tgtype, tgenabled, (tgqual IS NULL AND tgattr::text = '')::text, p.proname,
                 (p.pronamespace = c.relnamespace)::text)
FROM pg_trigger JOIN pg_class c ON c.oid = tgrelid JOIN pg_proc p ON p.oid = tgfoid
WHERE c.relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = ?)
UNION ALL
SELECT 'index', i.relname::text,
       concat_ws(' ', c.relname, indisunique::text, indisvalid::text, (indpred IS NULL AND indexprs IS NULL)::text,
                 '(' || (SELECT string_agg(attname, ', ' ORDER BY k.at) FROM unnest(indkey) WITH ORDINALITY k(num, at)
                         JOIN pg_attribute a ON a.attrelid = indrelid AND a.attnum = k.num) || ')')
FROM pg_index JOIN pg_class i ON i.oid = indexrelid JOIN pg_class c ON c.oid = indrelid
WHERE c.relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = ?) AND c.relkind = 'r'
UNION ALL
SELECT 'function', proname::text, concat_ws(' ', lanname, md5(prosrc), array_to_string(proconfig, ';'))
FROM pg_proc JOIN pg_language l ON l.oid = prolang WHERE pronamespace = (SELECT oid FROM pg_namespace WHERE nspname = ?)
"""
