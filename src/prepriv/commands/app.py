"""All commands, as one typer application."""

from __future__ import annotations

from typing import Annotated

import typer

import prepriv
from prepriv.commands import account, audit, demo, released, reproduce, schema, shuffle, train
from prepriv.commands import ledger as ledger_commands

app = typer.Typer(
    help="Differential privacy for the whole pipeline: pre-processing, training, release.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    epilog="Exit codes: 0 done; 2 bad input, nothing written, nothing charged; 3 budget exceeded; 4 to 6 the ledger "
    "(unavailable, corrupt, plan refused); 7 a test refused the data, which is charged; 70 a failure after private "
    "data was opened; 130 interrupted.",
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(prepriv.__version__)
        raise typer.Exit()


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    pass


app.command()(demo.demo)
app.command()(train.train)
app.command()(train.plan)
app.command("account")(account.account_command)
app.command()(released.predict)
app.command()(train.validate)
app.command()(released.report)
app.command()(shuffle.shuffle)
app.add_typer(audit.app, name="audit")
app.add_typer(reproduce.app, name="reproduce")
app.add_typer(schema.app, name="schema")
app.add_typer(ledger_commands.app, name="ledger")
