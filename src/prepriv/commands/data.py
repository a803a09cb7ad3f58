"""Where a command's DATA is: files, a query to a database, or a reader from outside. One place decides how it is opened."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from prepriv.adjacency import Adjacency, n_is_public
from prepriv.commands.common import load
from prepriv.commands.exits import Stop, reason, say
from prepriv.domain import Domain
from prepriv.schemas.schema import Schema
from prepriv.tables.outside import ArrowReaders
from prepriv.tables.query import Query, is_database
from prepriv.tables.stream import Files, Stream, files

DATA = (
    "CSV or Parquet; a file, a folder or a glob; the URL of a database with --query; reader:MODULE:FUNCTION."
)
QueryOption = Annotated[
    Path | None,
    typer.Option(
        "--query",
        help="The file of the query whose rows are read, where DATA is duckdb:///FILE, sqlite:///FILE or postgresql://...",
    ),
]
SchemaOption = Annotated[Path, typer.Option("--schema", help="The declared schema (YAML).")]
DeltaOption = Annotated[float, typer.Option(help="Chance left out of the guarantee; well below 1 / rows.")]
RowsOption = Annotated[
    int | None,
    typer.Option(
        "--rows",
        help="Number of records, declared and public, without the header line (default: from the schema). Count them before dropping any because of what they hold.",
    ),
]
LedgerOption = Annotated[
    str | None, typer.Option(help="Ledger to charge before a record is read: a file or postgresql://...")
]
_READER = re.compile(r"reader:([A-Za-z_][\w.]*):([A-Za-z_]\w*)")
_LARGEST = 2**20  # bytes of a query


def declared_table(
    schema: Path, data: str, query: Path | None, rows: int | None
) -> tuple[Domain, int, Stream]:
    """(domain, declared number of records, stream) of a schema and DATA: no row is read. Stop where the number is not declared."""
    declared = load(schema)
    n = declared_number(declared, rows)
    stream = opened(data, query)
    return declared.domain(rows=n, source=stream.source), n, stream


def declared_number(schema: Schema, rows: int | None) -> int:
    """The declared number of records: --rows, or the schema's. Stop where there is none."""
    say_other_rows(schema, rows)
    n = schema.rows if rows is None else rows
    if n is None:
        raise Stop("--rows is missing: declare the number of records here, or as rows: in the schema")
    return n


def say_other_rows(schema: Schema, rows: int | None) -> None:
    """One line where --rows differs from rows: in the schema."""
    if rows is not None and schema.rows is not None and rows != schema.rows:
        if schema.unit is None and rows == schema.rows + 1:
            raise Stop(
                f"--rows {rows:,} is one more than the schema's {schema.rows:,}. The header line is not a record, and `wc -l` counts it. Nothing was "
                "charged. If the table has one more record now, write that number into the schema"
            )
        late = (
            ". If a file of text holds another number of records, a run finds that after its charge, and the charge stays"
            if schema.unit is None and n_is_public(schema.adjacency)
            else ""
        )
        dropped = (
            ". If rows with gaps were dropped from the table, private cells decide their number: keep the rows, whose gaps a schema can fill"
            if rows < schema.rows and n_is_public(schema.adjacency)
            else ""
        )
        say(
            f"--rows {rows:,} is used in place of rows: {schema.rows:,}, which the schema declares{late}{dropped}",
            err=True,
        )
    n = schema.rows if rows is None else rows
    if schema.unit is not None and n is not None:
        say_units(n, schema.unit, schema.adjacency, "rows:" if rows is None else "--rows")


def say_units(n: int, unit: str, adjacency: Adjacency, given: str) -> None:
    """One line before a charge: that n, given so, counts units and not rows."""
    small = (
        "If the table has more, the run stops when it reads them: after the charge of a ledger, which stays"
        if n_is_public(adjacency)
        else "A number that is too small is not found"
    )
    say(
        f"{given} {n:,} is taken as the number of {unit!r}, not of rows. {small}. A number that is too large is not "
        "found, because the true one is private: what is released is then wrong",
        err=True,
    )


def opened(data: str, query: Path | None = None) -> Stream:
    """The stream of DATA, of which no row is read. BadData or Stop for anything else."""
    if is_database(data):
        if query is None:
            raise Stop("--query: DATA is a database, so give the file of the query whose rows are read")
        return Query(data, _text(query))
    if query is not None:
        raise Stop(
            "--query goes with a database: DATA must be duckdb:///FILE, sqlite:///FILE or postgresql://..."
        )
    if (found := _READER.fullmatch(data)) is not None:
        return _reader(*found.groups())
    return Files(files(data))


def _text(query: Path) -> str:
    try:
        with query.open("rb") as file:
            text = file.read(_LARGEST + 1)
        if len(text) > _LARGEST:
            raise Stop(f"--query: {query} is longer than {_LARGEST:,} bytes")
        return text.decode("utf-8")
    except OSError as error:
        raise Stop(f"--query: cannot read {query}: {reason(error)}") from None
    except UnicodeDecodeError:
        raise Stop(f"--query: {query} is not UTF-8 text") from None


def _reader(module: str, name: str) -> ArrowReaders:
    """A function of the user's own, which is imported as a schema's own steps are."""
    try:
        found = getattr(import_module(module), name, None)
    except ImportError:
        raise Stop(f"DATA: no module {module!r} can be imported; is its folder in PYTHONPATH?") from None
    if not callable(found):
        raise Stop(f"DATA: the module {module!r} has no function {name!r}")
    return ArrowReaders(found, f"the reader that {module}:{name} gives")
