"""Attacks on mechanisms of a user's own: two private values of neighbours, many releases of each, and a guess which it was.

Three things are asked of `(mechanism, value, value of a neighbour)`. Are the values at most `reach` apart? Does all chance come
from the source that the mechanism is handed, so that an audit can repeat it? Can an attacker who sees what leaves tell the two
apart better than `cost` allows (`empirical.audit`)? It finds gross errors and proves nothing.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from prepriv._arrays import Floats
from prepriv.audit.empirical import Experiment, Verdict, audit
from prepriv.audit.judgement import Judgement, judged
from prepriv.guarantees import approximate_dp, gaussian
from prepriv.guarantees.printed import down, plain, up
from prepriv.guarantees.tradeoff import TradeoffFunction
from prepriv.mechanisms.mechanism import Cost, Mechanism
from prepriv.mechanisms.noise import NoiseSource

MECHANISM_HEAD = ("mechanism", "moved / reach", "runs", "µ of its cost", "µ shown, at least", "")
_LEAST_RUNS, _MOST_RUNS = 500, 200_000
_DOUBT = 1e-6  # chance of a false alarm, of all attacks on one mechanism together
_WORDS = 100  # different answers at most, for an attack by how often each comes


@dataclass(frozen=True, eq=False)
class OwnMechanism:
    """A mechanism with the private values of two neighbours. place: its name in reports."""

    place: str
    mechanism: Mechanism
    one: Any
    two: Any

    @classmethod
    def of(cls, given: Any, number: int) -> OwnMechanism:
        """Of what a file says. TypeError for anything but (mechanism, value, value of a neighbour)."""
        if not (isinstance(given, list | tuple) and len(given) == 3 and isinstance(given[0], Mechanism)):
            raise TypeError(
                f"mechanisms[{number - 1}] must be (mechanism, private value, private value of a neighbour)"
            )
        return cls(f"mechanism {number} ({type(given[0]).__name__})", *given)


@dataclass(frozen=True)
class TriedMechanism:
    """What the attacks on one mechanism found. broken, open: a sentence, or nothing. shown: the strongest of the attacks."""

    place: str
    share: float = math.nan
    shown: Verdict | None = None
    broken: str = ""
    open: str = ""

    @property
    def row(self) -> tuple[str, ...]:
        """Of the table of the command."""
        share = "-" if math.isnan(self.share) else up(self.share, 4)
        if self.shown is None:
            return (self.place, share, "-", "-", "-", "BEATEN" if self.broken else "")
        v = self.shown
        return (
            self.place,
            share,
            f"{v.runs:,}",
            up(v.claimed, 4),
            down(v.mu, 4),
            "BEATEN" if self.broken else "",
        )

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        v = self.shown
        return {
            "mechanism": self.place,
            "moved_of_reach": plain(self.share),
            "runs": None if v is None else v.runs,
            "mu_of_cost": None if v is None else plain(v.claimed),
            "mu_shown": None if v is None else plain(v.mu),
            "broken": self.broken,
            "open": self.open,
        }


def try_mechanism(
    target: OwnMechanism, *, seed: int, seconds: float, runs: int = _MOST_RUNS
) -> TriedMechanism:
    """Attack one mechanism for so many seconds, with at most so many runs on each side. Its noise is the stream of the seed."""
    mechanism, place = target.mechanism, target.place
    share, broken = math.nan, ""
    try:
        mechanism.check(place)
        cost = mechanism.cost
        share = _share(mechanism, target.one, target.two)
    except Exception as error:  # code of the user's own
        return TriedMechanism(place, open=f"at {place}: {type(error).__name__}: {error}")
    if share > 1:
        broken = f"at {place}: its reach is {mechanism.reach}, and the two values are {up(share, 4)} times that apart"
    if broken:
        return TriedMechanism(place, share, broken=broken)
    ended, elsewhere = _repeated(target, seed)
    if len(set(ended)) > 1:
        why = next(e for e in ended if e)
        return TriedMechanism(place, share, broken=f"at {place}: on one of two neighbours it fails ({why})")
    if ended[0]:
        return TriedMechanism(place, share, open=f"at {place}: it fails on both neighbours ({ended[0]})")
    if elsewhere:
        return TriedMechanism(
            place,
            share,
            broken=f"at {place}: with the same value and the same source it releases something else: it draws elsewhere, or it "
            "keeps a state",
        )
    if cost is None:
        return TriedMechanism(place, share, open=f"at {place}: it names no cost that a claim follows from")
    try:
        answers = _answers(target, seed, seconds, runs)
    except Exception as error:  # code of the user's own
        return TriedMechanism(
            place,
            share,
            broken=f"at {place}: it fails for some releases, which reveals something ({type(error).__name__}: {error})",
        )
    every = _STATISTICS
    verdicts = [
        _verdict(place, made, _claim(cost), _DOUBT / len(every))
        for statistic in every
        if (made := statistic(*answers)) is not None
    ]
    if not verdicts:
        return TriedMechanism(
            place,
            share,
            open=f"at {place}: no attack can read what leaves: it is neither numbers nor one of a few answers",
        )
    shown = max(verdicts, key=lambda v: (v.refuted, v.mu))
    if shown.refuted:
        broken = (
            f"at {place}: its cost allows µ = {up(shown.claimed, 4)}, and {shown.runs:,} releases of each of two neighbours show "
            f"at least {down(shown.mu, 4)}"
        )
    return TriedMechanism(place, share, shown, broken)


def mechanisms_judged(tried: Sequence[TriedMechanism]) -> Judgement:
    """The verdict on all of them."""
    runs = sum(t.shown.runs for t in tried if t.shown is not None)
    return judged(
        [t.broken for t in tried if t.broken],
        [t.open for t in tried if t.open],
        f"in {runs:,} releases on each of two neighbours, of {len(tried)} mechanisms, nothing was told apart better than its cost "
        "allows (an attack, which proves nothing)",
    )


def _share(mechanism: Mechanism, one: Any, two: Any) -> float:
    """How far the values are apart, of the reach: above 1 if and only if it is so in exact integers."""
    square = mechanism.moved_squared(mechanism.recorded(one), mechanism.recorded(two))
    share = math.sqrt(square) / max(mechanism.reach, 1e-300)
    return min(share, 1.0) if square <= mechanism.reach**2 else max(share, math.nextafter(1.0, 2.0))


def _repeated(target: OwnMechanism, seed: int) -> tuple[list[str], bool]:
    """How a release of each value ends, made twice with the same noise; and whether the second is another one."""
    ended, made = [], []
    for exact in (target.one, target.one, target.two, target.two):
        try:
            made.append(_written(target.mechanism.perform(exact, NoiseSource.for_tests(seed))))
            ended.append("")
        except Exception as error:  # code of the user's own
            made.append("")
            ended.append(f"{type(error).__name__}: {error}")
    return ended, made[0] != made[1] or made[2] != made[3]


def _written(answer: Any) -> str:
    """An answer to its last bit: a long array would print with its middle left out."""
    if isinstance(answer, np.ndarray):
        return f"{answer.dtype} {answer.shape} {answer.tolist()!r}"
    if isinstance(answer, dict):
        return repr(sorted((repr(name), _written(value)) for name, value in answer.items()))
    if isinstance(answer, list | tuple):
        return repr([_written(value) for value in answer])
    return repr(answer)


_Answers = list[Any]


def _answers(target: OwnMechanism, seed: int, seconds: float, runs: int) -> tuple[_Answers, _Answers]:
    """As many releases of each value as the time allows."""
    sources = NoiseSource.for_tests(2 * seed + 1), NoiseSource.for_tests(2 * seed + 2)
    made: tuple[_Answers, _Answers] = ([], [])
    end = time.monotonic() + seconds
    while len(made[0]) < min(runs, _LEAST_RUNS) or (len(made[0]) < runs and time.monotonic() < end):
        for answers, exact, source in zip(made, (target.one, target.two), sources):
            answers.append(target.mechanism.perform(exact, source))
    return made


def _claim(cost: Cost) -> TradeoffFunction:
    """What a release of this cost satisfies."""
    parts: list[TradeoffFunction] = []
    if cost.mu_squared:
        parts.append(gaussian(math.sqrt(cost.mu_squared)))
    if cost.delta or not parts:
        parts.append(approximate_dp(0.0, float(cost.delta)))
    first, *rest = parts
    return first.compose(rest[0]) if rest else first


def _verdict(place: str, made: tuple[Floats, Floats], claim: TradeoffFunction, doubt: float) -> Verdict:
    def draw(neighbour: bool, runs: int, source: NoiseSource) -> Floats:
        return made[neighbour]

    return audit(Experiment(place, claim, draw), len(made[0]), doubt=doubt)


# ----------------------------------------------------------------------- statistics: of all answers but those that they learn from


def _numbers(answers: Sequence[Any], names: Sequence[Any] | None) -> Floats | None:
    """A row for each answer: its numbers; None where they are none, or not equally many. Of a mapping: how many, their sum, and the values of
    `names`, which all answers have."""
    try:
        rows = [
            np.hstack([len(a), sum(a.values()), *(np.ravel(a[name]) for name in names or ())]).astype(
                np.float64
            )
            if isinstance(a, dict)
            else np.array(a, dtype=np.float64).ravel()
            for a in answers
        ]
        table = np.stack(rows)
    except (TypeError, ValueError):
        return None
    return table if np.isfinite(table).all() and table.size else None


def _both(one: _Answers, two: _Answers) -> Iterator[tuple[Floats, Floats]]:
    """(what is learnt from, what is judged) of each side."""
    names = [set(a) for a in (*one, *two) if isinstance(a, dict)]
    shared = sorted(set.intersection(*names), key=repr) if names else None
    found = _numbers(one, shared), _numbers(two, shared)
    for table in found:
        if table is None or found[0] is None or table.shape != found[0].shape:
            return
    for table in found:
        assert table is not None
        yield table[: len(table) // 5], table[len(table) // 5 :]


def _by_place(one: _Answers, two: _Answers) -> tuple[Floats, Floats] | None:
    """How far along the line between the means."""
    sides = list(_both(one, two))
    if not sides:
        return None
    (learnt, judged_), (other, judged_other) = sides
    line = other.mean(axis=0) - learnt.mean(axis=0) if learnt.shape[1] > 1 else np.ones(1)
    return judged_ @ line, judged_other @ line


def _by_size(one: _Answers, two: _Answers) -> tuple[Floats, Floats] | None:
    """How far from the common mean: noise that depends on the value."""
    sides = list(_both(one, two))
    if not sides:
        return None
    (learnt, judged_), (other, judged_other) = sides
    middle = np.concatenate([learnt, other]).mean(axis=0)
    return ((judged_ - middle) ** 2).sum(axis=1), ((judged_other - middle) ** 2).sum(axis=1)


def _form(answer: Any) -> str:
    """The shape of an answer and which of its cells are not finite; of a mapping that of its values."""
    if isinstance(answer, dict):
        return _form(list(answer.values()))
    try:
        cells = np.asarray(answer, dtype=np.float64)
    except (TypeError, ValueError):
        return "not numbers"
    return repr(
        (cells.shape, np.flatnonzero(np.isnan(cells)).tolist(), np.flatnonzero(np.isinf(cells)).tolist())
    )


def _by_word(one: _Answers, two: _Answers) -> tuple[Floats, Floats] | None:
    """How much oftener the answer comes on the second side, where there are few answers; of a mapping: its names."""
    return _by_count(lambda a: repr(sorted(a)) if isinstance(a, dict) else _written(a), one, two)


def _by_form(one: _Answers, two: _Answers) -> tuple[Floats, Floats] | None:
    """The same of the form of an answer."""
    return _by_count(_form, one, two)


def _by_count(word: Callable[[Any], str], one: _Answers, two: _Answers) -> tuple[Floats, Floats] | None:
    words = [[word(a) for a in side] for side in (one, two)]
    fifth = len(one) // 5
    counts = [Counter(side[:fifth]) for side in words]
    if len({*counts[0], *counts[1]}) > _WORDS:
        return None
    sides = [
        np.array([math.log((counts[1][w] + 0.5) / (counts[0][w] + 0.5)) for w in side[fifth:]])
        for side in words
    ]
    return sides[0], sides[1]


_STATISTICS: tuple[Callable[[_Answers, _Answers], tuple[Floats, Floats] | None], ...] = (
    _by_place,
    _by_size,
    _by_word,
    _by_form,
)
