"""Record and replay: whatever is not the output of a mechanism must not change when one record does.

A run is recorded on a data set S: every exact sum a mechanism was asked for, and every output. It is then
repeated on a neighbour S' with the outputs frozen. If the run keeps its promise, then
  - everything that leaves it (artifact, report, stdout, stderr, log, warnings, exit code, ledger) is the same
    to the byte: a byte that differs got there without passing a mechanism;
  - the calls of mechanisms are the same: name, order, shape, declared sensitivity, noise;
  - every sum moved by at most its declared sensitivity, in exact integers, no tolerance;
  - of a plan, the rows after each step are as far apart as it declares, at most (rows_apart.py).
It refutes, it does not prove; method after Re:cord-play (PETS 2026). Pairs: replay_neighbours.py; pipelines:
replay_pipeline.py. What it prints about private data is for the curator only.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from prepriv.audit.judgement import Finding, Judgement, grouped_findings, judged
from prepriv.audit.rows_apart import larger
from prepriv.mechanisms.gaussian_sum import GaussianSum, coarsen
from prepriv.mechanisms.mechanism import Mechanism, squared_distance
from prepriv.mechanisms.noise import NoiseSource
from prepriv.mechanisms.propose_test_release import DistanceTest
from prepriv.mechanisms.session import Session
from prepriv.preprocessing.base import RowShift

D = TypeVar("D")


@dataclass(frozen=True, eq=False)
class Call:
    """One use of a mechanism, as a `Recorder` writes it down.

    Parameters
    ----------
    name : str
        The name under which it was asked.
    mechanism : Mechanism
        The mechanism: all that was passed besides the private value.
    form : tuple
        Shape and type of the private value, where it is an array.
    exact : object
        The private value, as `Mechanism.recorded` keeps it.

    Examples
    --------
    >>> import prepriv
    >>> from prepriv.audit import Recorder
    >>> recorder = Recorder(seed=0)
    >>> found = prepriv.count([True, False], epsilon=1.0, session=recorder)
    >>> [call.name for call in recorder.calls]
    ['count']
    """

    name: str
    mechanism: Mechanism
    form: tuple[object, ...]
    exact: Any

    @property
    def declared(self) -> tuple[object, ...]:
        """The declared part, which must not depend on any record."""
        return self.name, self.mechanism, self.form

    @property
    def sensitivity(self) -> int:
        """The declared bound on how far the private value moves between neighbours."""
        return self.mechanism.reach

    def moved_squared(self, other: Call) -> int:
        """The square of the exact distance between the private value of another run and this one's."""
        return self.mechanism.moved_squared(self.exact, other.exact)


class Recorder(Session):
    """A session that writes down what it is asked and answers from a public stream, or with frozen outputs.

    Parameters
    ----------
    frozen : sequence, optional
        The outputs to answer with. None: they come from the stream.
    seed : int, default 0
        The seed of the stream.

    Attributes
    ----------
    calls : list of Call
        The calls it received.
    outputs : list
        The answers it gave.

    Notes
    -----
    `private` is False: nothing made with it protects anybody. Every propose-test-release passes.

    Examples
    --------
    >>> from prepriv.audit import Recorder
    >>> Recorder(seed=0).private
    False
    """

    private = False

    def __init__(self, frozen: Sequence[Any] | None = None, *, seed: int = 0) -> None:
        super().__init__()
        self.calls: list[Call] = []
        self.outputs: list[Any] = []
        self._frozen: Sequence[Any] = () if frozen is None else frozen
        self.replays = frozen is not None
        self._seed, self._stream = seed, NoiseSource.for_tests(seed)

    def batch_source(self) -> NoiseSource:
        return _Coins.for_tests(self._seed + 1)

    def _perform(self, name: str, mechanism: Mechanism, exact: Any) -> Any:
        form = (exact.shape, str(exact.dtype)) if isinstance(exact, np.ndarray) else ()
        self.calls.append(Call(name, mechanism, form, mechanism.recorded(exact)))
        at = len(self.outputs)
        answer = self._frozen[at] if at < len(self._frozen) else None
        if isinstance(mechanism, DistanceTest):
            answer = answer if isinstance(answer, bool) else True
        elif not _alike(answer, drawn := self._drawn(mechanism, exact)):
            answer = drawn
        self.outputs.append(answer)
        return copy(answer)

    def _drawn(self, mechanism: Mechanism, exact: Any) -> Any:
        """The same number of draws from the stream whether an output is frozen or not."""
        quiet = isinstance(mechanism, GaussianSum) and mechanism.cost is None
        return mechanism.noiseless(exact) if quiet else mechanism.perform(exact, self._stream)


def _alike(one: Any, two: Any) -> bool:
    """Whether a frozen output can stand for this one."""
    return type(one) is type(two) and getattr(one, "shape", None) == getattr(two, "shape", None)


class _Coins(NoiseSource):
    """Every call starts a stream of its own, so that coin i of call k belongs to row i however many rows there are."""

    _turn = 0

    def uint64(self, size: int) -> NDArray[np.uint64]:
        self._turn += 1
        return NoiseSource.for_tests(self._turn).uint64(size)


_Run = Callable[[D, Recorder], Mapping[str, str]]
"""Runs a pipeline on one data set with the given session, and returns all that left it, by surface."""


@dataclass(frozen=True, eq=False)
class Neighbour(Generic[D]):
    """A data set one record away from another one.

    Parameters
    ----------
    kind : str
        What the record is, in words.
    data : object
        The data set, of the type that the run takes.

    Examples
    --------
    >>> from prepriv.audit import Neighbour
    >>> Neighbour("far away", [[1e9, 0.0]]).kind
    'far away'
    """

    kind: str
    data: D


@dataclass
class Result:
    """What a replay found.

    Parameters
    ----------
    pairs, skipped : int, default 0
        How many pairs were compared, and how many were skipped because they broke a condition.
    calls : int, default 0
        Calls of mechanisms, in all.
    findings : list of Finding
        Each difference that no noise explains.
    reach : dict of str to float
        For each mechanism, the largest movement divided by its declared sensitivity.
    kinds : dict of str to int
        Pairs by kind of neighbour.
    rows : dict of str to (RowShift, RowShift)
        For each step of a plan, how far apart its rows were, and how far apart they are declared to be at most.
    unmatched : int, default 0
        Pairs whose rows were too many to be matched by content.
    failed : Counter
        Kinds of error that ended runs, and how often.
    unseen : str, default ""
        What the claim rests on although no pair can show it. "": nothing.

    Examples
    --------
    >>> from prepriv.audit import Result
    >>> Result().findings
    []
    """

    pairs: int = 0
    skipped: int = 0
    calls: int = 0
    findings: list[Finding] = field(default_factory=list)
    reach: dict[str, float] = field(default_factory=dict)
    kinds: dict[str, int] = field(default_factory=dict)
    rows: dict[str, tuple[RowShift, RowShift]] = field(default_factory=dict)
    unmatched: int = 0
    failed: Counter[str] = field(default_factory=Counter)
    unseen: str = ""

    def add(self, other: Result) -> None:
        """Add another result to this one."""
        self.pairs += other.pairs
        self.skipped += other.skipped
        self.calls += other.calls
        self.findings += other.findings
        for name, share in other.reach.items():
            self.reach[name] = max(share, self.reach.get(name, 0.0))
        for kind, count in other.kinds.items():
            self.kinds[kind] = self.kinds.get(kind, 0) + count
        for name, (found, declared) in other.rows.items():
            self.see(name, found, declared)
        self.unmatched += other.unmatched
        self.unseen = self.unseen or other.unseen
        self.failed.update(other.failed)

    def see(self, name: str, found: RowShift, declared: RowShift) -> None:
        """Record how far apart the rows after a step were."""
        self.rows[name] = (larger(self.rows.get(name, (found, declared))[0], found), declared)

    def judgement(self, of: str = "made-up neighbours") -> Judgement:
        """The verdict: held, broken (and where) or not decided (and why). of: what the pairs are."""
        broken = [f.what for f, _ in grouped_findings(self.findings)]
        open_ = [f"{times} runs failed with {kind}" for kind, times in sorted(self.failed.items())]
        if self.unmatched:
            open_.append(
                f"of {self.unmatched} pairs the moved rows were too many to be matched by their content"
            )
        if self.unseen:
            open_.append(self.unseen)
        if not self.pairs:
            open_.append(
                "no pair met the declared conditions: lower --missing, ask for more --pairs, or declare other caps"
            )
        held = f"on {self.pairs} pairs of {of} nothing left but outputs of mechanisms, no sum moved further than declared"
        return judged(broken, open_, f"{held}, and no row after a step did (a search, which proves nothing)")


def replay(
    run: _Run[D],
    data: D,
    neighbours: Iterable[Neighbour[D]],
    *,
    holds: Callable[[], bool] = lambda: True,
    allowance: Callable[[Call], Fraction] = lambda call: Fraction(1),
    beyond: Callable[[], Sequence[Finding]] = tuple,
    always: Callable[[], Sequence[Finding]] = tuple,
    seed: int = 0,
) -> Result:
    """Record `run` on `data`, replay it on each neighbour, and compare.

    holds: whether the conditions of the claim held in the last run; pairs of which one side breaks them are
    skipped, since nothing is claimed of them. allowance: how many times its declared sensitivity a call's sum
    may move: one, but for learners whose account counts the movement in units of it. beyond: what else the last run shows
    against the claim, beside the first one. always: the same of any run, whether the conditions held or not.
    """
    result = Result()
    first = Recorder(seed=seed)
    surfaces = run(data, first)
    result.findings += always()
    if not holds():
        result.skipped += sum(1 for _ in neighbours)
        return result
    for neighbour in neighbours:
        second = Recorder(first.outputs, seed=seed)
        replayed = run(neighbour.data, second)
        result.findings += [replace(found, kind=neighbour.kind) for found in always()]
        if not holds():
            result.skipped += 1
            continue
        result.pairs += 1
        result.calls += len(second.calls)
        result.kinds[neighbour.kind] = result.kinds.get(neighbour.kind, 0) + 1
        whats = [
            *_differences(surfaces, replayed),
            *_moves(first.calls, second.calls, allowance, result.reach),
        ]
        result.findings += [Finding(neighbour.kind, what) for what in whats]
        result.findings += [replace(found, kind=neighbour.kind) for found in beyond()]
    return result


def _differences(one: Mapping[str, str], two: Mapping[str, str]) -> list[str]:
    names = [*one, *(name for name in two if name not in one)]
    return [f"{name} differs" for name in names if one.get(name) != two.get(name)]


def _moves(
    one: Sequence[Call],
    two: Sequence[Call],
    allowance: Callable[[Call], Fraction],
    reach: dict[str, float],
) -> list[str]:
    found = []
    if len(one) != len(two):
        found.append(f"there are {len(one)} calls of mechanisms, and {len(two)} on the neighbour")
    for k, (a, b) in enumerate(zip(one, two), 1):
        if a.declared != b.declared:
            found.append(f"call {k} ({a.name}): the mechanism was told something else")
            continue
        factor = allowance(a)
        square = a.moved_squared(b)
        share = math.sqrt(square) / float(factor * a.sensitivity)
        reach[a.name] = max(share, reach.get(a.name, 0.0))
        if square > (factor * a.sensitivity) ** 2:
            found.append(f"call {k} ({a.name}): it moved {share:.6g} times as far as declared")
        if not isinstance(a.mechanism, GaussianSum):
            continue
        rough, grown, shift = coarsen(a.exact, a.sensitivity)
        other = coarsen(b.exact, a.sensitivity)[0]
        if squared_distance(rough << shift, other << shift) > (factor * grown * 2**shift) ** 2:
            found.append(f"call {k} ({a.name}): its sum moved too far once rounded to the coarse grid")
    return found
