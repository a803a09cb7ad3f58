"""`prepriv audit chains`: random chains of steps on random tables, against all that a plan declares of them."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from prepriv._progress import progress_bar
from prepriv.audit.judgement import grouped_findings
from prepriv.audit.random_chains import LONGEST_CHAIN, attack_chains
from prepriv.commands.audit_files import end
from prepriv.commands.printing import AsJson, console, print_table
from prepriv.guarantees.printed import up


def chains(
    count: Annotated[
        int,
        typer.Option(
            "--chains", help=f"Number of random chains, of one to {LONGEST_CHAIN} steps each.", min=1
        ),
    ] = 300,
    pairs: Annotated[int, typer.Option(help="Number of adversarial neighbour pairs per chain.", min=1)] = 12,
    seed: Annotated[int, typer.Option(help="The same seed gives the same attack.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Attack random chains of steps on neighbouring tables, from encoding to release: rows, sums and whatever leaves.

    All tables are made up. Exit code 0: held; 1: broken, something goes beyond what is declared; 8: not decided.
    """
    with progress_bar() as progress:
        show = None if progress is None else lambda done, of: progress("chains", done, of)
        attack = attack_chains(count, pairs=pairs, seed=seed, progress=show)
    rows = [(step, up(ratio, 4)) for step, ratio in sorted(attack.ratios.items())]
    print_table("Total shift found after a step / declared", ("step", "largest"), rows, (1,))
    sums = [(name, up(share, 6)) for name, share in sorted(attack.result.reach.items())]
    print_table("How far sums moved, of what was declared (at most 1)", ("mechanism", "largest"), sums, (1,))
    console.print(
        f"{attack.chains} chains, {attack.refused} refused by the plan; {attack.result.pairs} pairs, "
        f"{attack.result.skipped} left out, on which a printed condition does not hold"
    )
    for finding, times in grouped_findings(attack.result.findings):
        console.print(
            f"  {finding.kind}: {finding.what} ({times} times)", style="red", soft_wrap=True, markup=False
        )
    findings = [{"chain": f.kind, "what": f.what} for f in attack.result.findings]
    told: dict[str, Any] = {
        "ratios": dict(attack.ratios),
        "reach": dict(attack.result.reach),
        "findings": findings,
    }
    told |= {"chains": attack.chains, "refused": attack.refused, "pairs": attack.result.pairs}
    end(attack.result.judgement(f"made-up neighbours in {attack.chains} random chains"), told, as_json)
