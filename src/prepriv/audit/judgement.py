"""How an audit ends: held, broken where, or not decided because, in one sentence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

Word = Literal["held", "broken", "not decided"]


@dataclass(frozen=True)
class Finding:
    """Something that goes beyond what is declared, or betrays a record.

    Parameters
    ----------
    kind : str
        Which kind of neighbour showed it.
    what : str
        What differed, without private values.
    group : str, default ""
        What it has in common with findings that differ from it in numbers alone. Empty: the same as `what`.
    size : float, default 0.0
        How far it goes beyond what is declared, to compare it with those findings.

    Examples
    --------
    >>> from prepriv.audit import Finding
    >>> Finding("far away", "the number of releases").kind
    'far away'
    """

    kind: str
    what: str
    group: str = ""
    size: float = 0.0


def grouped_findings(findings: Iterable[Finding]) -> list[tuple[Finding, int]]:
    """The furthest finding of each group, and how many there are; those of rows after a step first, in order of the steps."""
    groups: dict[str, list[Finding]] = {}
    for one in findings:
        groups.setdefault(one.group or one.what, []).append(one)
    furthest = [(max(group, key=lambda f: f.size), len(group)) for group in groups.values()]
    return sorted(furthest, key=lambda f: (not f[0].group, f[0].group, -f[1], f[0].what))


@dataclass(frozen=True)
class Judgement:
    """The end of an audit.

    Parameters
    ----------
    word : {"held", "broken", "not decided"}
        The verdict.
    why : str
        What held; where it broke, with what was declared and what was found; or why nothing was decided.

    Examples
    --------
    >>> from prepriv.audit import Judgement
    >>> Judgement("held", "no pair differed").word
    'held'
    """

    word: Word
    why: str

    @property
    def sentence(self) -> str:
        """The whole verdict."""
        return f"{self.word}{' because' if self.word == 'not decided' else ':'} {self.why}"


def judged(broken: Sequence[str], undecided: Sequence[str], held: str) -> Judgement:
    """The verdict: broken if anything is, else not decided if anything is open, else held.

    Parameters
    ----------
    broken, undecided : sequence of str
        What was found, and what stayed open, the most telling first.
    held : str
        What held, if nothing was found.
    """
    for word, reasons in (("broken", broken), ("not decided", undecided)):
        if reasons:
            more = f" (and {len(reasons) - 1} more)" if len(reasons) > 1 else ""
            return Judgement(word, reasons[0] + more)  # type: ignore[arg-type]
    return Judgement("held", held)


def all_judged(verdicts: Sequence[Judgement]) -> Judgement:
    """One verdict for several audits: the worst, or all that held."""
    for word in ("broken", "not decided"):
        for one in verdicts:
            if one.word == word:
                return one
    return Judgement("held", "; ".join(one.why for one in verdicts))
