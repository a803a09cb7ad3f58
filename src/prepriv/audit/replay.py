"""Record and replay: whatever is no output of a mechanism must not change when one record does.

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
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from prepriv.audit.judgement import Finding, Judgement, grouped, judged
from prepriv.audit.rows_apart import larger
from prepriv.mechanisms._counts import COUNT_BITS
from prepriv.mechanisms.exponential import ExponentialMechanism
from prepriv.mechanisms.noise import SMALLEST_GAUSSIAN_SCALE, NoiseSource
from prepriv.mechanisms.propose_test_release import GaussianTest, LaplaceTest
from prepriv.mechanisms.session import Session, candidate, coarsen
from prepriv.mechanisms.stability_histogram import StabilityHistogram
from prepriv.preprocessing.base import RowShift

D = TypeVar("D")
Output = NDArray[np.float64]
Answer = Output | bool | int | dict[str, float]


@dataclass(frozen=True, eq=False)
class Call:
    """One use of a mechanism.

    declared: all it was told besides the private number: name, shape, sensitivity, noise, grid. exact: the
    private number, int64 in grid steps. sensitivity: the bound on its movement (L2, grid steps). ends: for
    scores of candidates, the number of candidates up to the end of each group of equal score: then the bound is
    on how far apart the movements of two candidates' scores are. keys: for counts of values that nobody declared, the
    values, which differ between neighbours. pure: the bound is in L1.
    """

    name: str
    declared: tuple[object, ...]
    exact: NDArray[np.int64]
    sensitivity: int
    ends: NDArray[np.int64] | None = None
    keys: tuple[str, ...] | None = None
    pure: bool = False

    def moved_squared(self, other: Call) -> int:
        """The square of how far the private number of another run is from this one's, exact."""
        if self.pure:
            return sum(abs(int(v)) for v in np.subtract(self.exact, other.exact).ravel()) ** 2
        if self.keys is not None and other.keys is not None:
            one, two = (dict(zip(c.keys or (), c.exact.tolist())) for c in (self, other))
            return sum((one.get(key, 0) - two.get(key, 0)) ** 2 for key in {**one, **two})
        if self.ends is None or other.ends is None:
            return moved_squared(self.exact, other.exact)
        # Scores are compared wherever a group of either run ends: candidates are public, groups are not.
        last = np.union1d(self.ends, other.ends) - 1
        moves = [a - b for a, b in zip(self._scores(last[last >= 0]), other._scores(last[last >= 0]))]
        return (max(moves) - min(moves)) ** 2 if moves else 0

    def _scores(self, candidates: NDArray[np.int64]) -> list[int]:
        assert self.ends is not None
        return [int(v) for v in self.exact[np.searchsorted(self.ends, candidates, side="right")]]


class Recorder(Session):
    """A session that writes down what it is asked and answers from a public stream, or with frozen outputs.

    `private` is False: nothing made with it protects anybody.
    """

    private = False

    def __init__(self, frozen: Sequence[Answer] | None = None, *, seed: int = 0) -> None:
        super().__init__()
        self.calls: list[Call] = []
        self.outputs: list[Answer] = []
        self._frozen = frozen
        self.replays = frozen is not None
        self._seed, self._stream = seed, NoiseSource.for_tests(seed)

    def noisy_sum(
        self,
        name: str,
        total: NDArray[np.int64],
        sensitivity: int,
        noise_multiplier: float,
        *,
        exponent: int,
        largest: int,
    ) -> Output:
        declared = (total.shape, str(total.dtype), sensitivity, noise_multiplier, exponent, largest)
        self.calls.append(Call(name, declared, total.copy(), sensitivity))
        return super().noisy_sum(
            name, total, sensitivity, noise_multiplier, exponent=exponent, largest=largest
        )

    def batch_source(self) -> NoiseSource:
        return _Coins.for_tests(self._seed + 1)

    def _draw(
        self,
        name: str,
        total: NDArray[np.int64],
        sensitivity: int,
        noise_multiplier: float,
        exponent: int,
        bits: int,
    ) -> Output:
        frozen = self._next()
        if isinstance(frozen, np.ndarray) and frozen.shape == total.shape:
            answer = frozen
        else:
            scale = max(noise_multiplier * sensitivity, SMALLEST_GAUSSIAN_SCALE)
            noise = self._stream.rounded_gaussian(scale, total.size).reshape(total.shape)
            answer = np.ldexp((total + noise).astype(np.float64), exponent)
        self.outputs.append(answer)
        return answer.copy()

    def _passes(self, name: str, distance: float, test: GaussianTest | LaplaceTest) -> bool:
        declared = (type(test).__name__, test.sensitivity, test.scale, test.threshold)
        steps = np.array([test.steps(distance)], dtype=np.int64)
        self.calls.append(Call(name, declared, steps, test.sensitivity))
        frozen = self._next()
        self.outputs.append(frozen if isinstance(frozen, bool) else True)
        return bool(self.outputs[-1])

    def _choose(
        self,
        name: str,
        mechanism: ExponentialMechanism,
        scores: NDArray[np.int64],
        copies: NDArray[np.int64],
    ) -> int:
        ends = np.cumsum(copies)
        declared = (mechanism.epsilon, mechanism.score_range, int(ends[-1]))
        self.calls.append(Call(name, declared, scores.copy(), mechanism.score_range, ends))
        frozen = self._next()
        if not isinstance(frozen, int):
            frozen = candidate(mechanism.choose(scores, self._stream, counts=copies), copies)
        self.outputs.append(frozen)
        return frozen

    def _common(
        self, name: str, mechanism: StabilityHistogram, counts: Mapping[str, int]
    ) -> dict[str, float]:
        keys = tuple(sorted(counts))
        exact = np.array([counts[key] for key in keys], dtype=np.int64) << COUNT_BITS
        declared = (mechanism.noise_multiplier, mechanism.delta, mechanism.threshold, mechanism.adjacency)
        self.calls.append(Call(name, declared, exact, mechanism.sensitivity, keys=keys))
        frozen = self._next()
        answer = frozen if isinstance(frozen, dict) else mechanism.release(counts, self._stream)
        self.outputs.append(answer)
        return dict(answer)

    def pure_sum(
        self, name: str, total: NDArray[np.int64], sensitivity: int, epsilon: float, *, largest: int
    ) -> NDArray[np.int64]:
        declared = (total.shape, sensitivity, epsilon, largest)
        self.calls.append(Call(name, declared, total.copy(), sensitivity, pure=True))
        return super().pure_sum(name, total, sensitivity, epsilon, largest=largest)

    def _pure(
        self, name: str, total: NDArray[np.int64], sensitivity: int, epsilon: float
    ) -> NDArray[np.int64]:
        frozen = self._next()
        noise = self._stream.discrete_laplace(sensitivity / epsilon, total.size).reshape(total.shape)
        answer = (total + noise).astype(np.float64)
        if isinstance(frozen, np.ndarray) and frozen.shape == total.shape:
            answer = frozen
        self.outputs.append(answer)
        return np.asarray(answer).astype(np.int64)

    def _next(self) -> Answer | None:
        at = len(self.outputs)
        return self._frozen[at] if self._frozen is not None and at < len(self._frozen) else None


class _Coins(NoiseSource):
    """Every call starts a stream of its own, so that coin i of call k belongs to row i however many rows there are."""

    _turn = 0

    def uint64(self, size: int) -> NDArray[np.uint64]:
        self._turn += 1
        return NoiseSource.for_tests(self._turn).uint64(size)


Run = Callable[[D, Recorder], Mapping[str, str]]
"""Runs a pipeline on one data set with the given session, and returns all that left it, by surface."""


@dataclass(frozen=True, eq=False)
class Neighbour(Generic[D]):
    """A data set one record away from another one. kind: what the record is, in words."""

    kind: str
    data: D


@dataclass
class Result:
    """What a replay saw.

    pairs, skipped: how many were compared, and how many broke a condition. calls: of mechanisms, in all. findings: each
    difference that no noise explains. kinds: pairs by kind of neighbour. reach: for each mechanism, the largest movement over its declared sensitivity.
    rows: for each step of a plan how far apart its rows were, and are declared to be, at most. unmatched: pairs whose rows
    were too many to be matched by content. failed: kinds of error that ended runs, and how often.
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

    def add(self, other: Result) -> None:
        """Count another result in."""
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
        self.failed.update(other.failed)

    def see(self, name: str, found: RowShift, declared: RowShift) -> None:
        """Count in how far apart the rows after a step were."""
        self.rows[name] = (larger(self.rows.get(name, (found, declared))[0], found), declared)

    def judgement(self, of: str = "made-up neighbours") -> Judgement:
        """Held, broken where, or not decided because. of: what the pairs are."""
        broken = [f.what for f, _ in grouped(self.findings)]
        open_ = [f"{times} runs failed with {kind}" for kind, times in sorted(self.failed.items())]
        if self.unmatched:
            open_.append(
                f"of {self.unmatched} pairs the moved rows were too many to be matched by their content"
            )
        if not self.pairs:
            open_.append(
                "no pair met the declared conditions: lower --missing, ask for more --pairs, or declare other caps"
            )
        held = f"on {self.pairs} pairs of {of} nothing left but outputs of mechanisms, no sum moved further than declared"
        return judged(broken, open_, f"{held}, and no row after a step did (a search, which proves nothing)")


def replay(
    run: Run[D],
    data: D,
    neighbours: Iterable[Neighbour[D]],
    *,
    holds: Callable[[], bool] = lambda: True,
    allowance: Callable[[Call], Fraction] = lambda call: Fraction(1),
    beyond: Callable[[], Sequence[Finding]] = tuple,
    seed: int = 0,
) -> Result:
    """Record `run` on `data`, replay it on each neighbour, and compare.

    holds: whether the conditions of the claim held in the last run; pairs of which one side breaks them are
    skipped, since nothing is claimed of them. allowance: how many times its declared sensitivity a call's sum
    may move: one, but for learners whose account counts the movement in units of it. beyond: what else the last run shows
    against the claim, beside the first one.
    """
    result = Result()
    first = Recorder(seed=seed)
    surfaces = run(data, first)
    if not holds():
        result.skipped += sum(1 for _ in neighbours)
        return result
    for neighbour in neighbours:
        second = Recorder(first.outputs, seed=seed)
        replayed = run(neighbour.data, second)
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
        if (a.name, a.declared) != (b.name, b.declared):
            found.append(f"call {k} ({a.name}): the mechanism was told something else")
            continue
        factor = allowance(a)
        square = a.moved_squared(b)
        share = math.sqrt(square) / float(factor * a.sensitivity)
        reach[a.name] = max(share, reach.get(a.name, 0.0))
        if square > (factor * a.sensitivity) ** 2:
            found.append(f"call {k} ({a.name}): it moved {share:.6g} times as far as declared")
        if a.ends is not None or a.keys is not None or a.pure:
            continue
        rough, grown, shift = coarsen(a.exact, a.sensitivity)
        other = coarsen(b.exact, a.sensitivity)[0]
        if moved_squared(rough << shift, other << shift) > (factor * grown * 2**shift) ** 2:
            found.append(f"call {k} ({a.name}): its sum moved too far once rounded to the coarse grid")
    return found


def moved_squared(a: NDArray[np.int64], b: NDArray[np.int64]) -> int:
    """Squared distance of two integer arrays, exact. Sums live modulo 2^64 (docs/proofs/lattice.md)."""
    difference = np.subtract(a, b).ravel()
    small = difference.min(initial=0) > -(2**24) and difference.max(initial=0) < 2**24
    if small and difference.size < 2**14:
        return int(difference @ difference)
    return sum(v * v for v in difference.tolist())
