"""`prepriv reproduce NAME`: numbers of the papers beside ours, one module a reproduction.

To add one: write a module with a typer-compatible function, and a line in REPRODUCTIONS.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from prepriv.commands.exits import print_json
from prepriv.commands.printing import AsJson
from prepriv_papers import everything, open_questions, statements
from prepriv_papers.feature_preprocessing import dpsgd_f
from prepriv_papers.kept import page_command
from prepriv_papers.network_features import network_features
from prepriv_papers.own_data import own
from prepriv_papers.provable_privacy import calculators, soft_pca
from prepriv_papers.provable_privacy import figures as preprocessing_figures
from prepriv_papers.provable_privacy import tables as preprocessing_tables
from prepriv_papers.semi_private_learning import pillar
from prepriv_papers.unified_enhancement import tables as mixture_tables
from prepriv_papers.verdicts import collected

REPRODUCTIONS: dict[str, Callable[..., None]] = {
    "statements": statements.statements,
    "dpsgd-f": dpsgd_f.dpsgd_f,
    "mixture-tables": mixture_tables.mixture_tables,
    "pillar": pillar.pillar,
    "network-features": network_features.network_features,
    "preprocessing-tables": preprocessing_tables.preprocessing_tables,
    "preprocessing-figures": preprocessing_figures.preprocessing_figures,
    "soft-pca": soft_pca.soft_pca,
    "sgd-iteration": calculators.sgd_iteration,
    "ptr-utility": calculators.ptr_utility,
}

app = typer.Typer(
    help="Recompute the numbers in the papers, beside the corrected values.", no_args_is_help=True
)


@app.callback()
def _reproduce() -> None:
    """Recompute the numbers in the papers, beside the corrected values."""


def _with_json(function: Callable[..., None]) -> Callable[..., None]:
    """The same command with `--json`, which prints the items that it ends with in place of its tables."""
    signature = inspect.signature(function, eval_str=True)  # the names in them are those of its own module
    option = inspect.Parameter("as_json", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=AsJson)

    @functools.wraps(function)
    def command(as_json: bool, **given: Any) -> None:
        with collected() as items:
            function(**given)
        if as_json:
            print_json({"items": [asdict(item) for item in items]})

    options = {p.name: p.annotation for p in (*signature.parameters.values(), option)}
    command.__annotations__ = {**options, "return": None}
    command.__signature__ = signature.replace(parameters=[*signature.parameters.values(), option])  # type: ignore[attr-defined]
    return command


for _name, _function in REPRODUCTIONS.items():
    app.command(_name)(_with_json(_function))


@app.command("all")
@_with_json
def _all(
    data: Annotated[
        Path | None, typer.Option(help="Folder with mnist.npz, fashion_mnist.npz, sms_spam.tsv.gz.")
    ] = None,
    features: Annotated[
        Path | None, typer.Option(help="Folder of features of a public network, for network-features.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for a folder of each.")] = Path("run/papers"),
    small: Annotated[bool, typer.Option("--small", help="Each in its small size: minutes.")] = False,
) -> None:
    """Every reproduction in turn, each in a folder of its own."""
    everything.run_all(REPRODUCTIONS, {"data": data, "features": features}, out, small)


app.command("open-questions")(open_questions.open_questions)
app.command("own")(own)
app.command("page")(page_command(REPRODUCTIONS))


@app.command("list")
def _list(as_json: AsJson = False) -> None:
    """Every item of the papers with its command and what decides about it; nothing is computed."""
    found = everything.listed(REPRODUCTIONS)
    everything.print_list(found)
    if as_json:
        print_json(
            {
                "items": [
                    {"command": f"reproduce {name}", "paper": i.paper, "item": i.item, "theirs": i.theirs}
                    | {"verdict": i.asks(), "call": i.call, "where": i.where}
                    for name, i in found
                ]
            }
        )
