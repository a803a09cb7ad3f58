"""`prepriv audit sensitivity FILE.py`: attack steps of the user's own in each way of payment, and mechanisms of their own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from prepriv._arguments import integer
from prepriv._kinds import is_ours
from prepriv.audit.judgement import Judgement, all_judged, judged
from prepriv.audit.loss_words import loss_lies
from prepriv.audit.own_mechanisms import MECHANISM_HEAD, OwnMechanism, mechanisms_judged, try_mechanism
from prepriv.audit.own_steps import Attacked, OwnCase, SumCase, attack, judgement, rehearsed, targets
from prepriv.audit.sensitivity_table import HEAD, row_of
from prepriv.commands.audit_files import end, ran, with_steps
from prepriv.commands.exits import Stop
from prepriv.commands.printing import console, print_table
from prepriv.learners.learner import Learner
from prepriv.preprocessing.base import walk
from prepriv.rehearsals.rehearsal_training import check_residual

ROWS = 40  # records of made-up tables, of a file that says no n
_MOST = 60  # of a domain's n: larger tables leave the search few pairs


def own(path: Path, seconds: float, rows: int | None, seed: int, as_json: bool) -> None:
    """Attack the steps and the mechanisms of a Python file and end with the verdict."""
    named = ran(path)
    verdicts, told = [], {"seed": seed, "seconds": seconds}
    if "mechanisms" in named:
        verdict, more = _mechanisms(named["mechanisms"], seconds, seed)
        verdicts, told = [verdict], told | more
    if "mechanisms" not in named or "steps" in named:
        verdict, more = _steps(with_steps(named, path), seconds, rows, seed)
        verdicts, told = [*verdicts, verdict], told | more
    elif rows is not None:
        raise Stop(
            "--rows sets the size of made-up tables for steps, and the file has only mechanisms: leave it out"
        )
    end(all_judged(verdicts), told, as_json)


def _mechanisms(given: Any, seconds: float, seed: int) -> tuple[Judgement, dict[str, Any]]:
    """Attack each mechanism on the two private values that stand with it."""
    if not isinstance(given, list | tuple) or not given:
        raise Stop("`mechanisms` must be a list of (mechanism, private value, private value of a neighbour)")
    try:
        targets = [OwnMechanism.of(one, i) for i, one in enumerate(given, 1)]
    except TypeError as error:
        raise Stop(str(error)) from None
    tried = [try_mechanism(one, seed=seed, seconds=seconds) for one in targets]
    print_table(
        "Two neighbours told apart by what leaves", MECHANISM_HEAD, [one.row for one in tried], (1, 2, 3, 4)
    )
    return mechanisms_judged(tried), {"mechanisms": [one.to_json() for one in tried]}


def _steps(
    named: dict[str, Any], seconds: float, rows: int | None, seed: int
) -> tuple[Judgement, dict[str, Any]]:
    """Attack each step on made-up tables."""
    domain = named["domain"]
    n = integer("n", rows or named.get("n") or min(domain.n or ROWS, _MOST))
    if isinstance(learner := named.get("learner"), Learner) and not is_ours(type(learner.loss)):
        check_residual(learner.loss, learner.loss.outputs(len(domain.classes)), domain)
    steps = tuple(named["steps"])
    refused = rehearsed(domain.with_n(n), steps, n)
    aims = targets(domain.with_n(n), steps, n)
    if (many := sum(aim.case is not None for aim in aims)) > 1:
        console.print(f"{many} attacks of {seconds:g} s each (--seconds)")
    every = attack(aims, seed=seed, seconds=seconds)
    tried = [a for a in every if a.result is not None]
    print_table("Largest move found / declared, on made-up neighbours", HEAD, [_row(a) for a in tried], (6,))
    for a in every:
        if a.result is None:
            console.print(f"not attacked: {a.target.place}: {a.target.closed}", soft_wrap=True)
        elif isinstance(a.result.case, OwnCase):
            for sentence, times in a.result.case.refused.items():
                console.print(f"refused {times} times: {a.target.place}: {sentence}", soft_wrap=True)
    told = [
        {"attack": a.result.case.name, "pairs": a.result.pairs, "found": dict(zip(HEAD[1:], _row(a)[1:]))}
        for a in tried
        if a.result is not None
    ]
    closed = [{"attack": a.target.place, "why": a.target.closed} for a in every if a.result is None]
    few = f", on {n:,} of the declared {domain.n:,} rows" if domain.n and n < domain.n else ""
    verdict = judgement(every, refused)
    *_, space = (domain.space, *(after for _, _, after in walk(named["steps"], domain.space)))
    lies = list(loss_lies(learner, space.radius, len(domain.classes), seed))
    if lies and verdict.word != "broken":
        verdict = judged(lies, (), "")
    return (
        Judgement(verdict.word, verdict.why + (few if verdict.word == "held" else "")),
        {"n": n, "attacks": told, "not_attacked": closed, "refused": refused},
    )


def _row(attacked: Attacked) -> tuple[str, ...]:
    """As of a step of ours; of a sum its share alone."""
    assert attacked.result is not None
    name, size, *numbers, ratio, remark = row_of(attacked.result)
    if isinstance(attacked.result.case, SumCase):
        numbers, remark = ["-"] * 4, "" if attacked.result.holds else "BEATEN"
    return (name, size, *numbers, ratio, remark)
