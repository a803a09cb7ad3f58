"""`prepriv reproduce NAME`: numbers of the papers beside ours, one module a reproduction.

To add one: write a module with a typer-compatible function, and a line in REPRODUCTIONS.
"""

from __future__ import annotations

from collections.abc import Callable

import typer

from prepriv.commands.reproduce import mixture_tables, preprocessing_tables

REPRODUCTIONS: dict[str, Callable[..., None]] = {
    "mixture-tables": mixture_tables.mixture_tables,
    "preprocessing-tables": preprocessing_tables.preprocessing_tables,
}

app = typer.Typer(help="Recompute what the papers print, beside the corrected values.", no_args_is_help=True)


@app.callback()
def _reproduce() -> None:
    """Recompute what the papers print, beside the corrected values."""


for _name, _function in REPRODUCTIONS.items():
    app.command(_name)(_function)
