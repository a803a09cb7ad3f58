"""`prepriv audit sensitivity STEP`: attack the declared sensitivity of a step or a chain, for as long as wanted."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from prepriv.audit.sensitivity_cases import cases
from prepriv.audit.sensitivity_search import search
from prepriv.audit.sensitivity_table import HEAD, MARK, markdown, row_of
from prepriv.commands import audit_chains, audit_empirical, audit_replay
from prepriv.commands.common import AsJson, console, print_json, print_table, writable_own, write_text
from prepriv.commands.exits import Stop
from prepriv.guarantees.printed import down

BEATEN = 1  # a declared bound was beaten: a bug of ours

app = typer.Typer(help="Attack what the library claims.", no_args_is_help=True)


@app.callback()
def audit() -> None:
    """Attack what the library claims."""


@app.command()
def sensitivity(
    step: Annotated[str, typer.Argument(help="A step or chain (its name or the start of it), or all.")],
    seconds: Annotated[float, typer.Option(help="Time for each case.", min=0.01)] = 600.0,
    seed: Annotated[
        int, typer.Option(help="The search is the same for the same seed and number of pairs.")
    ] = 0,
    table: Annotated[Path | None, typer.Option(help="Also write the results there, as Markdown.")] = None,
    as_json: AsJson = False,
) -> None:
    """Search neighbouring data sets for the largest shift of the common rows; exit code 1 if a bound is beaten."""
    every = cases()
    chosen = [c for name, c in every.items() if step == "all" or name.lower().startswith(step.lower())]
    if not chosen:
        kinds = sorted({name.split("/")[0] for name in every})
        raise Stop(f"no step or chain is called {step!r}; there are {', '.join(kinds)}, and all")
    if table is not None:
        writable_own(table, MARK, "no table of this command", "--table")
    results = [search(case, seed=seed, seconds=seconds) for case in chosen]
    print_table("Largest shift found / declared bound", HEAD, [row_of(r) for r in results], right=(6,))
    for result in results:
        if result.paper_factor > 1:
            console.print(
                f"{result.case.name}: the paper's bound is beaten {down(result.paper_factor, 3)} times",
                soft_wrap=True,
            )
    console.print(f"{sum(r.pairs for r in results):,} pairs of neighbours tried")
    if as_json:
        print_json({"seed": seed, "seconds": seconds, "cases": [dict(zip(HEAD, row_of(r))) for r in results]})
    if table is not None:
        write_text(table, markdown(results, seconds=seconds, seed=seed))
    if not all(r.holds for r in results):
        names = ", ".join(r.case.name for r in results if not r.holds)
        raise Stop(f"a declared bound is beaten: {names}", BEATEN)


app.command()(audit_replay.replay)
app.command()(audit_chains.chains)
app.command()(audit_empirical.empirical)
