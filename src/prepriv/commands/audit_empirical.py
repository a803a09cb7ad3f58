"""`prepriv audit empirical NAME`: run a mechanism many times on two neighbours and try to refute its claim."""

from __future__ import annotations

from typing import Annotated

import typer

from prepriv.audit.empirical import Verdict, audit
from prepriv.audit.empirical_cases import experiments
from prepriv.commands.common import AsJson, console, print_json, print_table
from prepriv.commands.exits import Stop
from prepriv.guarantees.printed import down, exact, up

REFUTED = 1  # a claim is false: a bug of ours


def empirical(
    name: Annotated[str, typer.Argument(help="A mechanism or pipeline (or the start of its name), or all.")],
    runs: Annotated[int, typer.Option(help="Runs on each of the two data sets.", min=100)] = 10_000,
    doubt: Annotated[float, typer.Option(help="Chance of refuting a claim that is true.")] = 1e-6,
    as_json: AsJson = False,
) -> None:
    """Lower bounds of what mechanisms and pipelines leak, beside their claims; exit code 1 if a claim is refuted."""
    if not 0 < doubt < 1:
        raise Stop(f"--doubt must lie in (0, 1); got {doubt}")
    every = experiments()
    chosen = [
        make for known, make in every.items() if name == "all" or known.lower().startswith(name.lower())
    ]
    if not chosen:
        raise Stop(f"nothing to audit is called {name!r}; there are {', '.join(every)}, and all")
    verdicts = [audit(make(), runs, doubt=doubt) for make in chosen]
    columns = ("audited", "false alarms ≤", "misses ≤", "leaks µ ≥", "claimed µ ≤")
    print_table(
        f"{runs} runs on each side, confidence 1 - {exact(doubt)}, claims read at the row's false alarms",
        columns,
        [_row(v) for v in verdicts],
        (1, 2, 3, 4),
    )
    if as_json:
        found = [
            {"audited": v.name, "leaks_mu": v.mu, "claimed_mu": _claimed(v), "refuted": v.refuted}
            for v in verdicts
        ]
        print_json({"runs": runs, "doubt": doubt, "verdicts": found})
    unseen = sum(v.false_alarms >= 1 for v in verdicts)
    if unseen:
        console.print(f"{unseen} not tested: nothing was seen in so few runs; take more --runs (now {runs})")
    refuted = [v.name for v in verdicts if v.refuted]
    if refuted:
        raise Stop(f"claims refuted: {', '.join(refuted)}", REFUTED)


def _row(v: Verdict) -> tuple[str, ...]:
    claimed = _claimed(v)
    told = "not tested" if claimed is None else up(claimed, 4)
    return (v.name, up(v.false_alarms, 4), up(v.misses, 4), down(v.mu, 4), told)


def _claimed(v: Verdict) -> float | None:
    """What is claimed at its false alarms; None where they may be all there are, of which no claim says anything."""
    return v.claimed if v.false_alarms < 1 else None
