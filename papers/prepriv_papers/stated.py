"""How a statement of a paper (a definition, lemma, theorem, …) becomes an item of `prepriv reproduce statements`."""

from __future__ import annotations

import math
from collections.abc import Callable

from prepriv_papers.counterexamples import PRINTED, facts
from prepriv_papers.verdicts import Case, Fact, Item, Numbers, Verdict, entry

Numbered = dict[str, float]


def refuted(paper: str, item: str, theirs: str, errata: tuple[str, ...], why: str, **place: str) -> Item:
    """A statement that these counter-examples break."""
    return _by_errata("paper is wrong", paper, item, theirs, errata, why, **place)


def loosely(paper: str, item: str, theirs: str, errata: tuple[str, ...], why: str, **place: str) -> Item:
    """A statement that holds and is loose, or holds more widely than it says, by these numbers."""
    return _by_errata("same", paper, item, theirs, errata, why, **place)


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
    **place: str,
) -> Item:
    """A statement that a number of this run confirms: it lies between low and high."""
    fact = _fact(key, says, low, high, because)
    return _item(paper, item, theirs, Case("same", why, (fact, *facts(*errata))), _ours(key, says), **place)


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
    **place: str,
) -> Item:
    """A statement with a constant that is not given: what can be said of its order."""
    case = Case("not reproducible", why, (_fact(key, says, low, high, because),))
    return _item(paper, item, theirs, case, _ours(key, says), **place)


def no_claim(paper: str, item: str, theirs: str, why: str, **place: str) -> Item:
    """A picture, an assumption or a notion that nothing can confirm or refute."""
    return _item(paper, item, theirs, Case("no claim", why), lambda _: "-", **{"setting": "-"} | place)


def _by_errata(
    verdict: Verdict, paper: str, item: str, theirs: str, errata: tuple[str, ...], why: str, **place: str
) -> Item:
    case = Case(verdict, why, facts(*errata))
    return _item(paper, item, theirs, case, lambda n: _text(*errata) if n["errata"] else "-", **place)


def _item(
    paper: str,
    item: str,
    theirs: str,
    case: Case,
    ours: Callable[[Numbers], str],
    *,
    call: str = "",
    where: str = "",
    setting: str = "as printed",
) -> Item:
    return Item(paper, item, setting, theirs, (case,), ours, call=call, where=where)


def _fact(key: str, says: str, low: float, high: float, because: str) -> Fact:
    return Fact(says, entry(f"statements.{key}"), low, high, because)


def _ours(key: str, says: str) -> Callable[[Numbers], str]:
    return lambda numbers: f"{says}: {entry(f'statements.{key}')(numbers):.4g}"


def _text(*names: str) -> str:
    said = []
    for name in names:
        one, two = PRINTED[name]
        said.append(
            f"{name}: {two:.4g} for {one:.4g}" if math.isfinite(one) else f"{name}: {two:.4g}, not infinite"
        )
    return "; ".join(said)
