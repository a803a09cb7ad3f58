"""`prepriv schema init`: a draft of the declared schema, off a table."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from prepriv.commands.common import writable_file, write_text
from prepriv.commands.exits import Stop
from prepriv.pipeline.declared_file import BadSchema
from prepriv.pipeline.draft import WARNING, draft
from prepriv.tables.readers import BadData, read_table

app = typer.Typer(help="The declared schema.", no_args_is_help=True)


@app.callback()
def _schema() -> None:
    """The declared schema."""


@app.command("init")
def schema_init(
    data: Annotated[Path, typer.Argument(help="A table to draft from.")],
    label: Annotated[str | None, typer.Option(help="The label column (default: the last).")] = None,
    out: Annotated[Path | None, typer.Option(help="Write here instead of stdout.")] = None,
) -> None:
    """Draft a schema from a table. Bounds read off private data leak: edit every one, then run `prepriv validate`.

    A file that exists is not overwritten.
    """
    if out is not None and os.path.lexists(out):
        raise Stop(f"{out} exists and is not overwritten: choose another --out, or remove it")
    if out is not None:
        writable_file(out)
    table = read_table(data)
    if table.num_rows == 0:
        raise BadData(f"{data} has no rows")
    try:
        drafted = draft(table, label)
    except BadSchema as error:
        raise BadSchema(f"{data}: {error}") from None
    if out is None:
        typer.echo(drafted.text, nl=False)
    else:
        write_text(out, drafted.text)
        typer.echo(f"wrote {out}")
    typer.echo(f"WARNING: {WARNING}", err=True)
    for note in drafted.notes:
        typer.echo(f"LOOK AT {note}", err=True)
