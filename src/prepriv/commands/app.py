"""All commands, as one typer application. The code of a command is imported when it is named, and not before."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib import import_module
from importlib.metadata import entry_points
from typing import Annotated, Any

import typer

import prepriv
from prepriv.commands.exits import Stop
from prepriv.commands.once import OnceCommand

# name: module (None: of a distribution of its own), what it has there, the first line of its help (tests/commands/test_app.py compares)
COMMANDS = {
    "demo": (
        "prepriv.commands.demo",
        "demo",
        "Train on scikit-learn's handwritten digits; write OUT/model, OUT/report.html and OUT/report.json.",
    ),
    "train": (
        "prepriv.commands.train",
        "train",
        "Train a private model on a table; write OUT/model, OUT/report.html and OUT/report.json.",
    ),
    "plan": (
        "prepriv.commands.plan",
        "plan",
        "Price every step in each way to pay. Reads no private data.",
    ),
    "account": (
        "prepriv.commands.account",
        "account_command",
        "Print what an existing pipeline really costs, by every route and step by step. Reads no data.",
    ),
    "predict": (
        "prepriv.commands.released",
        "predict",
        "Predict labels of raw rows from the released model alone.",
    ),
    "evaluate": (
        "prepriv.commands.evaluate",
        "evaluate",
        "Measure a released model on private test rows: noisy counts with intervals.",
    ),
    "validate": (
        "prepriv.commands.validate",
        "validate",
        "FOR THE CURATOR ONLY: count exactly which cells the declared rules change, and check the conditions of the guarantee. Never publish the output.",
    ),
    "report": (
        "prepriv.commands.released",
        "report",
        "Print what a released model promises, read from its artifact.",
    ),
    "describe": (
        "prepriv.commands.describe",
        "describe",
        "Describe a table privately: gaps, means, deviations, quantiles, histograms, counts, each with its error bar.",
    ),
    "ask": (
        "prepriv.commands.ask",
        "ask",
        "Ask questions of a private table: counts, sums, means, variances, covariances, cross-tabulations, quantiles; also by group.",
    ),
    "sketch": (
        "prepriv.commands.sketch",
        "sketch",
        "Release noisy counts of each column with the label, and draw synthetic rows from them.",
    ),
    "shuffle": (
        "prepriv.commands.shuffle",
        "shuffle",
        "Print epsilon of n shuffled epsilon0-DP reports at DELTA: exact, and by two published bounds.",
    ),
    "audit": ("prepriv.commands.audit", "app", "Attack what the library claims."),
    "reproduce": (None, "", "Recompute the numbers in the papers, beside the corrected values."),
    "schema": ("prepriv.commands.schema", "app", "Draft the schema that declares a table."),
    "ledger": (
        "prepriv.commands.ledger",
        "app",
        "Keep the privacy budget of a data set in a durable ledger.",
    ),
}

# a command of a distribution of its own: how to get it
INSTALL = {"reproduce": "run `pip install ./papers` in the repository of prepriv"}

# command: a line to type; tests/commands/test_help.py parses each
EXAMPLES = {
    "demo": "prepriv demo --out run/demo",
    "train": "prepriv train people.csv --schema S.yaml --epsilon 1 --delta 1e-5 --out run",
    "plan": "prepriv plan S.yaml --rows 39073 --epsilon 1 --plot prices.svg",
    "account": "prepriv account pipeline.yaml --target 3",
    "predict": "prepriv predict run/model new.csv --out predictions.csv",
    "evaluate": "prepriv evaluate run/model test.csv --epsilon 0.1 --out scores.html",
    "validate": "prepriv validate people.csv --schema S.yaml",
    "report": "prepriv report run/model --verify run/report.html",
    "describe": "prepriv describe people.csv --schema S.yaml --rows 39073 --epsilon 0.5 --out page.html",
    "ask": "prepriv ask people.csv 'mean(age) by job' 'crosstab(job, sex)' --schema S.yaml --rows 39073 --out answers.json",
    "sketch": "prepriv sketch people.csv --schema S.yaml --rows 39073 --epsilon 0.5 --ledger L.db --out sketch",
    "shuffle": "prepriv shuffle --epsilon0 4 --n 10000 --delta 1e-6 --plot out.png",
    "audit sensitivity": "prepriv audit sensitivity all --seconds 10",
    "audit replay": "prepriv audit replay run/model",
    "audit chains": "prepriv audit chains --chains 20",
    "audit empirical": "prepriv audit empirical all",
    "reproduce": "prepriv reproduce list",
    "schema init": "prepriv schema init people.csv --epsilon 0.2 --rows 39073 --out S.yaml",
    "ledger create": "prepriv ledger create L.db --dataset people-2026 --epsilon 3 --delta 1e-4",
    "ledger show": "prepriv ledger show L.db --json",
    "ledger plan": "prepriv ledger plan L.db --left --runs 4",
    "ledger verify": "prepriv ledger verify L.db",
}


def _with_example(code: Any, name: str) -> Any:
    """The commands of a group, each with its example, and with options that are given once."""
    for command in code.registered_commands:
        own = command.name or getattr(command.callback, "__name__", "")
        example = EXAMPLES.get(f"{name} {own}")
        command.epilog = f"Example: {example}" if example else command.epilog
        command.cls = OnceCommand
    return code


def _elsewhere(name: str) -> Any:
    """A command that another distribution offers as an entry point; where none does, one that says how to get it."""
    for entry in entry_points(group="prepriv.commands", name=name):
        return entry.load()

    def missing(_anything: Annotated[list[str] | None, typer.Argument()] = None) -> None:
        raise Stop(f"{name} is not installed: {INSTALL[name]}")

    return missing


def app_for(arguments: Sequence[str]) -> typer.Typer:
    """The application for these arguments: commands that they do not name are there by name and help alone."""
    arguments = [
        *arguments,
        *os.environ.get("_TYPER_COMPLETE_ARGS", "").split(),
        *os.environ.get("COMP_WORDS", "").split(),
    ]
    app = typer.Typer(
        help="Differential privacy for the whole pipeline: pre-processing, training, release.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        epilog="Exit codes: 0 done, or an audit held; 1 an audit found something broken, or a report differs, was not paid for, or claims too little; 2 bad input, "
        "with nothing written or charged; 3 budget exceeded; 4 ledger unavailable; 5 ledger corrupt, or `ledger verify` found a charge missing, a file that is not "
        "the one that was paid for, or two ledgers for the same data set; 6 the ledger refused the plan; 7 a test refused the data (this is charged); 8 an audit "
        "could not decide, or there is something to ask before you sign; 70 failed after private records were read; 130 interrupted; 141 standard output ended "
        "early.",
    )
    app.callback()(_options)
    for name, (module, attribute, help_line) in COMMANDS.items():
        if name not in arguments:
            app.command(name, help=help_line)(_named_only)
            continue
        code = _elsewhere(name) if module is None else getattr(import_module(module), attribute)
        if isinstance(code, typer.Typer):
            app.add_typer(_with_example(code, name), name=name)
        else:
            anything = {"ignore_unknown_options": module is None}
            app.command(
                name, cls=OnceCommand, epilog=f"Example: {EXAMPLES[name]}", context_settings=anything
            )(code)
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
