"""All commands, as one typer application. The code of a command is imported when it is named, and not before."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Annotated, Any

import typer

import prepriv

# name: module, what it has there, the first line of its help (tests/commands/test_app.py compares)
COMMANDS = {
    "demo": (
        "prepriv.commands.demo",
        "demo",
        "Train on scikit-learn's handwritten digits; write OUT/model, OUT/report.html and OUT/report.json.",
    ),
    "train": (
        "prepriv.commands.train",
        "train",
        "Train a private model on a table and write OUT/model and OUT/report.html + report.json.",
    ),
    "plan": (
        "prepriv.commands.train",
        "plan",
        "Price every step in each of the three ways. Reads no private data.",
    ),
    "account": (
        "prepriv.commands.account",
        "account_command",
        "What an existing pipeline really costs: by every route, step by step. Reads no data.",
    ),
    "predict": (
        "prepriv.commands.released",
        "predict",
        "Predict labels of raw rows with the released model alone.",
    ),
    "evaluate": (
        "prepriv.commands.evaluate",
        "evaluate",
        "How good a released model is on private test rows, as noisy counts with intervals.",
    ),
    "validate": (
        "prepriv.commands.validate",
        "validate",
        "FOR THE CURATOR ONLY: exact counts of cells that the declared rules will change, and whether the table meets the conditions that the guarantee rests on. Never publish the output.",
    ),
    "report": (
        "prepriv.commands.released",
        "report",
        "What a released model promises, read from its artifact.",
    ),
    "describe": (
        "prepriv.commands.describe",
        "describe",
        "Describe a table in private: gaps, means, deviations, quantiles, histograms, counts, each with its error bar.",
    ),
    "shuffle": (
        "prepriv.commands.shuffle",
        "shuffle",
        "Epsilon of n shuffled epsilon0-DP reports at DELTA, exact and by two published bounds.",
    ),
    "audit": ("prepriv.commands.audit", "app", "Attack what the library claims."),
    "reproduce": ("prepriv.papers", "app", "Recompute what the papers print, beside the corrected values."),
    "schema": ("prepriv.commands.schema", "app", "The declared schema."),
    "ledger": ("prepriv.commands.ledger", "app", "The durable privacy budget of a data set."),
}


def app_for(arguments: Sequence[str]) -> typer.Typer:
    """The application for these arguments: commands that they do not name are there by name and help alone."""
    app = typer.Typer(
        help="Differential privacy for the whole pipeline: pre-processing, training, release.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        epilog="Exit codes: 0 done; 1 an audit found something; 2 bad input, nothing written, nothing charged; 3 budget exceeded; 4 to 6 the ledger "
        "(unavailable, corrupt, plan refused); 7 a test refused the data, which is charged; 70 a failure after private "
        "data was opened; 130 interrupted.",
    )
    app.callback()(_options)
    for name, (module, attribute, help_line) in COMMANDS.items():
        if name not in arguments:
            app.command(name, help=help_line)(_named_only)
            continue
        code = getattr(import_module(module), attribute)
        if isinstance(code, typer.Typer):
            app.add_typer(code, name=name)
        else:
            app.command(name)(code)
    return app


def __getattr__(name: str) -> Any:
    if name == "app":
        return app_for(tuple(COMMANDS))
    raise AttributeError(name)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(prepriv.__version__)
        raise typer.Exit()


def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    pass


def _named_only() -> None:
    raise AssertionError("a command that is run was named")
