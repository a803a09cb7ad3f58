"""`prepriv audit chains`: random chains of steps on random tables, against all that a plan declares of them."""

from __future__ import annotations

from collections import Counter
from typing import Annotated

import typer

from prepriv._progress import progress_bar
from prepriv.audit.random_chains import attack_chains
from prepriv.commands.common import AsJson, console, print_json, print_table
from prepriv.commands.exits import Stop
from prepriv.guarantees.printed import up

FOUND = 1  # something declared was beaten: a bug of ours


def chains(
    count: Annotated[int, typer.Option("--chains", help="Random chains of one to four steps.", min=1)] = 300,
    pairs: Annotated[int, typer.Option(help="Adversarial neighbour pairs of each.", min=1)] = 12,
    seed: Annotated[int, typer.Option(help="The same seed gives the same attack.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Attack random chains through encoding, plan and run: rows, sums and whatever leaves, on neighbouring tables.

    All tables are made up. Exit code 1 if anything declared is beaten.
    """
    with progress_bar() as progress:
        show = None if progress is None else lambda done, of: progress("chains", done, of)
        attack = attack_chains(count, pairs=pairs, seed=seed, progress=show)
    rows = [(step, up(ratio, 4)) for step, ratio in sorted(attack.ratios.items())]
    print_table("Total shift found behind a step / declared", ("step", "largest"), rows, (1,))
    sums = [(name, up(share, 6)) for name, share in sorted(attack.result.reach.items())]
    print_table("How far sums moved, of what was declared (at most 1)", ("mechanism", "largest"), sums, (1,))
    console.print(
        f"{attack.chains} chains, {attack.refused} refused by the plan; {attack.result.pairs} pairs, "
        f"{attack.result.skipped} left out, on which a printed condition does not hold"
    )
    for (chain, what), times in sorted(Counter((f.kind, f.what) for f in attack.result.findings).items()):
        console.print(f"  {chain}: {what} ({times} times)", style="red", soft_wrap=True, markup=False)
    if as_json:
        findings = [{"chain": f.kind, "what": f.what} for f in attack.result.findings]
        told = {"ratios": dict(attack.ratios), "reach": dict(attack.result.reach), "findings": findings}
        print_json(told | {"chains": attack.chains, "refused": attack.refused, "pairs": attack.result.pairs})
    if attack.result.findings:
        raise Stop(f"{len(attack.result.findings)} finding(s): a declared bound is beaten", FOUND)
    if not attack.result.pairs:
        raise Stop("no pair met the declared conditions: ask for more --chains or --pairs", FOUND)
