"""Attacks on the steps of a user's own: in each way of payment, on made-up neighbours that move further than declared.

A step is attacked in its place, on rows of the space that reaches it. Paid for by sensitivity: the rows after it, of rows
that come in untouched, moved or with some dropped (`RowShift`). With a fixed map, free or released: its Lipschitz constant
and its drops, of rows that come in moved. By budget: how far its exact sums move, of what `l2_sensitivity` pays for.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from prepriv.adjacency import ADJACENCIES, Adjacency, n_is_public
from prepriv.audit.judgement import Judgement, judged
from prepriv.audit.replay import Call, Recorder
from prepriv.audit.sensitivity_case import Case, Pair, written
from prepriv.audit.sensitivity_search import SearchResult, search
from prepriv.domain import Domain
from prepriv.guarantees.printed import down
from prepriv.mechanisms.session import SpentError
from prepriv.payment import Budget, Payment, Public, Sensitivity
from prepriv.placed.chain import PlannedStep
from prepriv.placed.rows import OpenRows
from prepriv.preprocessing.base import UNTOUCHED, RowShift, Step, walk
from prepriv.preprocessing.said import shift_after
from prepriv.rehearsals.rehearsal import rehearse
from prepriv.runs.run import StepAccess
from prepriv.space import Space

_WAYS = {"free": "free", "public": "by public data", "budget": "by budget", "sensitivity": "by sensitivity"}
_SHARE = 0.1  # of the budget, for a step that the file pays for in another way


UNLIKE = RowShift(math.inf, math.inf, math.inf)  # one side fails, or asks its mechanisms for something else


@dataclass(frozen=True, eq=False)
class OwnCase(Case):
    """Steps whose code may fail. refused: the sentences with which runs on both sides ended, and how often."""

    refused: dict[str, int] = field(default_factory=dict, kw_only=True)

    def measure(self, pair: Pair) -> RowShift | None:
        """As of our steps; None, too, if the steps fail on both sides, and no bound if they fail on one."""
        try:
            return super().measure(pair)
        except Exception as error:  # code of the user's own
            alike = Pair(pair.second, pair.second, pair.gone, pair.labels[[1, 1]])
            return self._ended(_sentence(error), self._failure(alike))

    def _failure(self, pair: Pair) -> str:
        try:
            super().measure(pair)
        except Exception as error:
            return _sentence(error)
        return ""

    def _ended(self, one: str, two: str) -> RowShift | None:
        if one != two:
            return UNLIKE
        self.refused[one] = self.refused.get(one, 0) + 1
        return None


def _sentence(error: Exception) -> str:
    return str(error) if isinstance(error, SpentError) else f"{type(error).__name__}: {error}"


@dataclass(frozen=True, eq=False)
class SumCase(OwnCase):
    """The sums that a step paid for by budget asks its mechanisms for: how far they move, of what their noise is for.

    The total shift is that share, at most 1. domain: the declared facts, adjacency among them.
    """

    domain: Domain = field(kw_only=True)

    @cached_property
    def bound(self) -> RowShift:
        """The whole of it."""
        return RowShift(1.0, 1.0, 1.0)

    @property
    def slack(self) -> float:
        """None: the share is compared in exact integers."""
        return 0.0

    @cached_property
    def declared(self) -> float:
        """What the step says its sum moves by, at most."""
        return self.steps[0].l2_sensitivity(self.space, self.domain.adjacency, self.incoming)

    def measure(self, pair: Pair) -> RowShift | None:
        """The largest share over all sums; None if the step refuses to run."""
        second = np.where(pair.gone[:, None], 0.0, pair.second)
        start = 0 if n_is_public(self.domain.adjacency) else 1
        one = Recorder()
        two = Recorder(one.outputs)
        ended, left = zip(
            self._run(OpenRows(pair.first, pair.labels[0]), one),
            self._run(OpenRows(second[start:], pair.labels[1][start:]), two),
        )
        if any(ended):
            return self._ended(*ended)
        if len(one.calls) != len(two.calls):
            return UNLIKE
        if left[0] != left[1]:
            self._note(
                [
                    f"what leaves of {self.steps[0].name} differs though the outputs of its mechanisms are the same"
                ]
            )
        share = max((_share(a, b) for a, b in zip(one.calls, two.calls)), default=0.0)
        return RowShift(float(share > 0), share, share)

    def _run(self, rows: OpenRows, session: Recorder) -> tuple[str, str]:
        """Fit the step; how it ended: nothing, or the sentence of an error; and what leaves it."""
        step = self.steps[0]
        planned = PlannedStep(
            step,
            self.space,
            self.space,
            self.incoming,
            self.incoming,
            shift=self.declared,
            noise_multiplier=1.0,
        )
        try:
            access = StepAccess(planned, _Facts(self.domain, self.n), rows, (), session)  # type: ignore[arg-type]
            return "", written(step.paid.fit(step, self.space, access)[1])
        except Exception as error:  # code of the user's own
            return _sentence(error), ""


@dataclass(frozen=True)
class _Facts:
    """What a step's mechanisms know about a plan."""

    domain: Domain
    n: int
    private: bool = True


def _share(a: Call, b: Call) -> float:
    """How far a private number moved, of its sensitivity: above 1 if and only if it is so in exact integers."""
    if (a.name, a.declared) != (b.name, b.declared):
        return math.inf
    square, limit = a.moved_squared(b), int(a.sensitivity) ** 2
    share = math.sqrt(square) / max(a.sensitivity, 1e-300)
    return min(share, 1.0) if square <= limit else max(share, math.nextafter(1.0, 2.0))


@dataclass(frozen=True, eq=False)
class Target:
    """One attack. place: the step and how it is paid for. used: whether the file pays for it so. closed: why it is not
    attacked, where it is not."""

    place: str
    used: bool
    case: Case | None = None
    closed: str = ""


def targets(domain: Domain, steps: Sequence[Step], n: int) -> list[Target]:
    """What is attacked of the steps of a file: those of the user's own (all, if none is), and the chain of all.

    Parameters
    ----------
    domain : Domain
    steps : sequence of Step
    n : int
        Records of the made-up tables.
    """
    own = [not type(step).__module__.startswith("prepriv.") for step in steps]
    out: list[Target] = []
    for k, (step, space, _) in enumerate(walk(steps, domain.space)):
        if own[k] or not any(own):
            for way in step.ways or ("free",):
                place = f"step {k + 1} ({step.name}, {_WAYS[way]})"
                out += _targets(place, step, way, space, domain, n)
    if len(steps) > 1:
        names = ", ".join(step.name for step in steps)
        every = tuple(steps)
        for removed in _sides(domain, every):
            out += _cases(f"all steps ({names})", True, every, domain.space, n, [UNTOUCHED], removed)
    return out


def rehearsed(domain: Domain, steps: Sequence[Step], n: int) -> list[str]:
    """Why a fit would refuse steps as the file pays for them, before any charge: one sentence, or none (`rehearsal.rehearse`)."""
    incoming = UNTOUCHED
    for k, (step, before, after) in enumerate(walk(steps, domain.space), 1):
        try:
            outgoing = shift_after(step, before, n, incoming)
            shift = step.l2_sensitivity(before, domain.adjacency, incoming) if step.paid.share else None
            noise = None if shift is None else 1.0
            planned = PlannedStep(
                step, before, after, incoming, outgoing, shift=shift, noise_multiplier=noise
            )
            rehearse(planned, domain, n, private=True)
        except ValueError as error:
            return [f"at step {k} ({step.name}): a fit refuses it: {str(error).rstrip('.')}"]
        incoming = outgoing
    return []


def _sides(domain: Domain, steps: Sequence[Step]) -> tuple[bool, ...]:
    """Whether a record is gone from the second data set: replaced, and, where the domain says so of maps, gone, too."""
    gone = not n_is_public(domain.adjacency) and all(step.paid.leaves for step in steps)
    return (False, True) if gone else (False,)


def _targets(place: str, step: Step, way: str, space: Space, domain: Domain, n: int) -> Iterator[Target]:
    used = step.way == way
    try:
        paid = step if used else dataclasses.replace(step, payment=_payment(way, space))
    except (ValueError, TypeError) as error:
        yield Target(place, used, closed=str(error))
        return
    came = _moved(space, n, paid.after_drops)
    yield from _cases(place, used, (paid,), space, n, [UNTOUCHED, *came] if way == "sensitivity" else came)
    if True in _sides(domain, (paid,)):
        yield from _cases(place, used, (paid,), space, n, [UNTOUCHED], True)
    if way == "budget":
        for adjacency in ADJACENCIES:
            yield from _sums(place, used, paid, space, domain, n, adjacency, came)


def _payment(way: str, space: Space) -> Payment:
    if way == "sensitivity":
        return Sensitivity()
    return Public(np.zeros((1, space.d))) if way == "public" else Budget(_SHARE)


def _moved(space: Space, n: int, drops: bool) -> list[RowShift]:
    """What earlier steps may have done: one row moved a little, some by much, some dropped beside."""
    little, much = 1e-3 * space.diameter, 0.15 * space.diameter
    some = float(max(1, min(6, n - 1)))
    many = RowShift(some, much, some / 2 * much)
    dropped = dataclasses.replace(many, rows_dropped=float(min(2, n - 1)))
    return [RowShift(1.0, little, little), many, *([dropped] if drops else [])]


def _cases(
    place: str,
    used: bool,
    steps: tuple[Step, ...],
    space: Space,
    n: int,
    incoming: Sequence[RowShift],
    removed: bool = False,
) -> Iterator[Target]:
    """The rows after these steps; closed if the steps may follow none of what comes in."""
    closed, none = "", True
    for came in incoming:
        name = f"{_named(place, came)}{', without the record' if removed else ''}"
        case = OwnCase(name, steps, space, n, came, _hints(steps), removed=removed)
        try:
            case.bound  # noqa: B018  refused where the steps cannot stand
        except (ValueError, TypeError) as error:
            closed = closed or str(error)
            continue
        none = False
        yield Target(place, used, case)
    if none:  # a fixed map that bounds no shift is refused where it would need to
        yield Target(place, used and UNTOUCHED in incoming, closed=closed)


def _sums(
    place: str,
    used: bool,
    step: Step,
    space: Space,
    domain: Domain,
    n: int,
    adjacency: Adjacency,
    came: Sequence[RowShift],
) -> Iterator[Target]:
    facts = dataclasses.replace(domain, adjacency=adjacency).with_n(n)
    for shift in (UNTOUCHED, *(came if n_is_public(adjacency) else ())):
        name = _named(f"{place}, its sum, {adjacency}", shift)
        case = SumCase(name, (step,), space, n, shift, _hints((step,)), domain=facts)
        try:
            case.declared  # noqa: B018  refused where the step cannot stand
        except (ValueError, TypeError) as error:
            if shift is UNTOUCHED:
                yield Target(place, used and adjacency == domain.adjacency, closed=str(error))
            continue
        yield Target(place, used and adjacency == domain.adjacency and shift is UNTOUCHED, case)


def _named(place: str, came: RowShift) -> str:
    return f"{place}{', after drops' if came.rows_dropped else ', after a shift' if came.rows_moved else ''}"


def _hints(steps: Sequence[Step]) -> dict[str, float]:
    """Sizes of structured tables, from what the steps declare."""
    hints: dict[str, float] = {}
    for step in steps:
        for name, value in (
            ("missing", step.paid.caps.get("missing")),
            ("scale", getattr(step, "eta", None)),
        ):
            if isinstance(value, float) and value > 0:
                hints[name] = value
    return hints


@dataclass(frozen=True, eq=False)
class Attacked:
    """What the attack on one target found; result: None where it was refused."""

    target: Target
    result: SearchResult | None

    @property
    def broken(self) -> str:
        """What was beaten, in words, or nothing."""
        if self.result is None or self.result.holds:
            return ""
        case, found, place = self.result.case, self.result.found, f"at {self.target.place}"
        if math.isinf(found.total_shift):
            return f"{place}: on one of two neighbours it fails, or asks its mechanisms for something else"
        if case.lies:
            return f"{place}: {next(iter(case.lies))}"
        if isinstance(case, SumCase):
            return f"{place}: move of its sum declared {case.declared:.6g}, found {down(found.total_shift, 4)} times that"
        return f"{place}: {self.result.beaten_by[0][0]}"

    @property
    def open(self) -> str:
        """Why nothing is decided of a way that the file pays in, or nothing."""
        if not self.target.used or (self.result is not None and self.result.pairs):
            return ""
        why = self.target.closed or "no pair met its conditions"
        if self.result is not None and isinstance(self.result.case, OwnCase):
            why = next(iter(self.result.case.refused), why)
        return f"at {self.target.place}: {why.rstrip('.')}"


def attack(every: Sequence[Target], **budget: Any) -> list[Attacked]:
    """Attack each target that is open with this budget (`sensitivity_search.search`)."""
    return [Attacked(t, None if t.case is None else search(t.case, **budget)) for t in every]


def judgement(attacked: Sequence[Attacked], refused: Sequence[str] = ()) -> Judgement:
    """The verdict on all of them. refused: what a fit refuses (`rehearsed`), where nothing is decided."""
    tried = [a.result for a in attacked if a.result is not None]
    broken = list(dict.fromkeys(a.broken for a in attacked if a.broken))
    open_ = [*refused, *dict.fromkeys(a.open for a in attacked if a.open)]
    if not tried:
        closed = [f"at {a.target.place}: {a.target.closed.rstrip('.')}" for a in attacked if a.target.closed]
        open_ = open_ or closed or ["there is nothing to attack: no step"]
    held = (
        f"on {sum(r.pairs for r in tried):,} pairs of made-up neighbours, in {len(tried)} attacks, nothing moved further "
        "than declared (a search, which proves nothing)"
    )
    return judged(broken, open_, held)
