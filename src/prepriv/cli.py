"""The command line. Every error is one line on stderr with its own exit code; see commands/common.py."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

import prepriv
from prepriv.commands import account, audit, demo, reproduce, shuffle, train
from prepriv.commands import ledger as ledger_commands
from prepriv.commands.common import AFTER_TOUCH, BAD_INPUT, Stop, usage_errors
from prepriv.ledger import LedgerError

app = typer.Typer(
    help="Differential privacy for the whole pipeline: pre-processing, training, release.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
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
app.command()(train.predict)
app.command()(train.validate)
app.command()(train.report)
app.command()(shuffle.shuffle)
app.add_typer(audit.app, name="audit")
app.add_typer(reproduce.app, name="reproduce")
app.add_typer(train.schema_app, name="schema")
app.add_typer(ledger_commands.app, name="ledger")


def run(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit code. Never prints a traceback."""
    usage_error, click_error = usage_errors()
    try:
        code = app(args=arguments, standalone_mode=False)
        return code if isinstance(code, int) else 0
    except Stop as stop:
        return _say(str(stop), stop.code)
    except LedgerError as error:
        return _say(str(error), error.exit_code)
    except (usage_error, click_error) as error:
        text = error.format_message() if hasattr(error, "format_message") else str(error)
        if not text:  # "no arguments": the help was printed
            return BAD_INPUT
        if type(error).__name__ == "NoArgsIsHelpError":  # newer versions leave that to us
            typer.echo(text)
            return BAD_INPUT
        return _say(text, BAD_INPUT)
    except typer.Exit as exit_:
        return int(exit_.exit_code)
    except (typer.Abort, KeyboardInterrupt):
        return _say("interrupted", 130)
    except ValueError as error:
        return _say(str(error), BAD_INPUT)
    except Exception as error:
        return _say(
            f"internal error ({type(error).__name__}); please report it with the command line", AFTER_TOUCH
        )


def _say(text: str, code: int) -> int:
    print("prepriv: " + " ".join(text.split()), file=sys.stderr)
    return code


def main() -> None:
    """Entry point of the `prepriv` command."""
    sys.exit(run())
