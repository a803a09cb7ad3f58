"""How a statement of a paper (a definition, lemma, theorem, …) becomes an item of `prepriv reproduce statements`."""

from __future__ import annotations

import math

from prepriv_papers.counterexamples import PRINTED, facts
from prepriv_papers.verdicts import Case, Fact, Item, Numbers, entry

Numbered = dict[str, float]


def _text(*names: str) -> str:
    said = []
    for name in names:
        one, two = PRINTED[name]
        said.append(
            f"{name}: {two:.4g} for {one:.4g}" if math.isfinite(one) else f"{name}: {two:.4g}, not infinite"
        )
    return "; ".join(said)


def refuted(
    paper: str,
    item: str,
    theirs: str,
    errata: tuple[str, ...],
    why: str,
    *,
    call: str = "",
    where: str = "",
    setting: str = "",
) -> Item:
    """A statement that these counter-examples break."""
    return Item(
        paper,
        item,
        setting or "as printed",
        theirs,
        (Case("paper is wrong", why, facts(*errata)),),
        lambda n: _text(*errata) if n["errata"] else "-",
        call=call,
        where=where,
    )


def holds(
    paper: str,
    item: str,
    theirs: str,
    key: str,
    says: str,
    low: float,
    high: float,
    because: str,
    *,
    why: str = "holds",
    errata: tuple[str, ...] = (),
    call: str = "",
    where: str = "",
    setting: str = "",
) -> Item:
    """A statement that a number of this run confirms: it lies between low and high."""

    def ours(numbers: Numbers) -> str:
        return f"{says}: {entry(f'statements.{key}')(numbers):.4g}"

    fact = Fact(says, entry(f"statements.{key}"), low, high, because)
    return Item(
        paper,
        item,
        setting or "as printed",
        theirs,
        (Case("same", why, (fact, *facts(*errata))),),
        ours,
        call=call,
        where=where,
    )


def loosely(
    paper: str,
    item: str,
    theirs: str,
    errata: tuple[str, ...],
    why: str,
    *,
    call: str = "",
    where: str = "",
    setting: str = "",
) -> Item:
    """A statement that holds and is loose, or holds more widely than it says, by these numbers."""
    return Item(
        paper,
        item,
        setting or "as printed",
        theirs,
        (Case("same", why, facts(*errata)),),
        lambda n: _text(*errata) if n["errata"] else "-",
        call=call,
        where=where,
    )


def without_constant(
    paper: str,
    item: str,
    theirs: str,
    key: str,
    says: str,
    low: float,
    high: float,
    because: str,
    why: str,
    *,
    where: str = "",
) -> Item:
    """A statement with a constant that is not given: what can be said of its order."""
    fact = Fact(says, entry(f"statements.{key}"), low, high, because)
    return Item(
        paper,
        item,
        "as printed",
        theirs,
        (Case("not reproducible", why, (fact,)),),
        lambda n: f"{says}: {entry(f'statements.{key}')(n):.4g}",
        where=where,
    )


def no_claim(paper: str, item: str, theirs: str, why: str, *, call: str = "", where: str = "") -> Item:
    """A picture, an assumption or a notion that nothing can confirm or refute."""
    return Item(paper, item, "-", theirs, (Case("no claim", why),), lambda _: "-", call=call, where=where)
