"""`prepriv audit empirical NAME`: run a mechanism many times on two neighbours and try to refute its claim."""

from __future__ import annotations

from typing import Annotated

import typer

from prepriv.audit.empirical import Verdict, audit
from prepriv.audit.empirical_cases import experiments
from prepriv.audit.judgement import judged
from prepriv.commands.audit_files import end
from prepriv.commands.exits import Stop
from prepriv.commands.printing import AsJson, print_table
from prepriv.guarantees.printed import down, exact, up


def empirical(
    name: Annotated[str, typer.Argument(help="A mechanism or pipeline (or the start of its name), or all.")],
    runs: Annotated[int, typer.Option(help="Runs on each of the two data sets.", min=100)] = 10_000,
    doubt: Annotated[float, typer.Option(help="Chance of rejecting a claim that is true.")] = 1e-6,
    as_json: AsJson = False,
) -> None:
    """Print lower bounds on what mechanisms and pipelines leak on made-up neighbours, beside their claims.

    Exit code 0: held; 1: broken, a claim is refuted; 8: not decided.
    """
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
    found = [
        {"audited": v.name, "leaks_mu": v.mu, "claimed_mu": _claimed(v), "refuted": v.refuted}
        for v in verdicts
    ]
    judgement = judged(
        [
            f"at {v.name}: claimed µ at most {up(v.claimed, 4)}, found at least {down(v.mu, 4)}"
            for v in verdicts
            if v.refuted
        ],
        [f"of {v.name} so few runs show nothing: take more --runs" for v in verdicts if v.false_alarms >= 1],
        f"{runs} runs on each of two made-up neighbours refute no claim (gross errors would show; it proves nothing)",
    )
    end(judgement, {"runs": runs, "doubt": doubt, "verdicts": found}, as_json)


def _row(v: Verdict) -> tuple[str, ...]:
    claimed = _claimed(v)
    told = "not tested" if claimed is None else up(claimed, 4)
    return (v.name, up(v.false_alarms, 4), up(v.misses, 4), down(v.mu, 4), told)


def _claimed(v: Verdict) -> float | None:
    """What is claimed at its false alarms; None where they may be all there are, of which no claim says anything."""
    return v.claimed if v.false_alarms < 1 else None
