"""`prepriv audit sensitivity STEP` or FILE.py: attack what steps declare, for as long as wanted."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from prepriv.audit.judgement import judged
from prepriv.audit.sensitivity_cases import cases
from prepriv.audit.sensitivity_search import search
from prepriv.audit.sensitivity_table import HEAD, MARK, markdown, row_of
from prepriv.commands import audit_chains, audit_empirical, audit_own, audit_replay
from prepriv.commands.audit_files import end
from prepriv.commands.exits import Stop
from prepriv.commands.outputs import writable_own, write_text
from prepriv.commands.printing import AsJson, console, print_table
from prepriv.guarantees.printed import down

OURS, OWN = 600.0, 5.0  # seconds for each attack
ROWS = audit_own.ROWS

app = typer.Typer(help="Attack what the library claims.", no_args_is_help=True)


@app.callback()
def audit() -> None:
    """Attack what the library claims."""


@app.command()
def sensitivity(
    step: Annotated[
        str,
        typer.Argument(
            help="A built-in step or chain (its name or the start of it), all, or a Python file with `domain` and `steps` (and `learner`), or `mechanisms`."
        ),
    ],
    seconds: Annotated[
        float | None,
        typer.Option(
            help=f"Seconds for each attack (default {OURS:g}; for a Python file {OWN:g}).",
            min=0.01,
            show_default=False,
        ),
    ] = None,
    rows: Annotated[
        int | None,
        typer.Option(help=f"For a Python file: records in the made-up tables (default {ROWS}).", min=2),
    ] = None,
    seed: Annotated[int, typer.Option(help="The same seed and number of pairs give the same search.")] = 0,
    table: Annotated[
        Path | None,
        typer.Option(help="For built-in steps: also write the results to this file, as Markdown."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Search made-up neighbours for rows and sums that move further than a step declares, or releases that tell them apart.

    For your own steps, give a Python file that defines `domain` (a Domain), `steps` (a list) and, optionally, `n`. Each step is
    attacked in every way it can be paid for, so one entry per step is enough. The constants of a loss of your own are attacked if
    the file defines `learner`. `prepriv audit replay FILE.py` runs the same file as a fit would, which also finds code that
    reads what it was not handed. `mechanisms`, a list of (mechanism, private value, private value of a neighbour), are
    attacked by many releases of both values. Exit code 0: held; 1: broken; 8: not decided.
    """
    if step.endswith(".py"):
        if table is not None:
            raise Stop("--table is for steps of ours: leave it out, or use --json")
        audit_own.own(Path(step), seconds or OWN, rows, seed, as_json)
        return
    if rows is not None:
        raise Stop("--rows is for a Python file: the cases of our steps have sizes of their own")
    every = cases()
    chosen = [c for name, c in every.items() if step == "all" or name.lower().startswith(step.lower())]
    if not chosen:
        kinds = sorted({name.split("/")[0] for name in every})
        raise Stop(f"no step or chain is called {step!r}; there are {', '.join(kinds)}, and all, and NAME.py")
    if table is not None:
        writable_own(table, MARK, "no table of this command", "--table")
    seconds = seconds or OURS
    results = [search(case, seed=seed, seconds=seconds) for case in chosen]
    print_table("Largest shift found / declared bound", HEAD, [row_of(r) for r in results], right=(6,))
    for result in results:
        if result.paper_factor > 1:
            console.print(
                f"{result.case.name}: the paper's bound is beaten {down(result.paper_factor, 3)} times",
                soft_wrap=True,
            )
    pairs = sum(r.pairs for r in results)
    console.print(f"{pairs:,} pairs of made-up neighbours tried")
    if table is not None:
        write_text(table, markdown(results, seconds=seconds, seed=seed))
    judgement = judged(
        [f"at {r.case.name}: {what}" for r in results for what, _ in r.beaten_by[:1]],
        [f"at {r.case.name}: no pair met its conditions" for r in results if not r.pairs],
        f"on {pairs:,} pairs of made-up neighbours no row moved further than declared (a search, which proves nothing)",
    )
    told = [dict(zip(HEAD, row_of(r))) for r in results]
    end(judgement, {"seed": seed, "seconds": seconds, "cases": told}, as_json)


app.command()(audit_replay.replay)
app.command()(audit_chains.chains)
app.command()(audit_empirical.empirical)
