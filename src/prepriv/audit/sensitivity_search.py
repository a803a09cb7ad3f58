"""The attack on sensitivities: a search over neighbouring data sets for the largest shift of the common rows.

Structured worst cases, random sets and hill climbing, small n and d, replace-one, and rows that already
differ by what may come in. A pair that beats a declared bound is a bug of ours; one that beats a paper's
bound is an erratum (docs/errata.md). The search proves nothing: docs/proofs/ does.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from prepriv._arrays import Floats
from prepriv._rounding import DOWN, FAR_UP
from prepriv.audit.sensitivity_case import QUANTITIES, Beaten, Case, Pair, beaten
from prepriv.audit.sensitivity_draws import Draws
from prepriv.audit.sensitivity_worst import MAKERS, corner, inside, point
from prepriv.preprocessing.base import RowShift

SURVEY = 36  # structured sets that are looked at before any is climbed from
CLIMB = 40  # moves without success before a new start


@dataclass(frozen=True, eq=False)
class SearchResult:
    """The largest shifts found over all pairs, with the declared bound. Made by `search`.

    Parameters
    ----------
    case : Case
        What was attacked.
    found, bound : RowShift
        What was found, and what is declared.
    pairs : int
        How many pairs were tried for which every condition held.
    worst : Pair or None
        The pair of the largest total shift.
    paper_factor : float, default 0.0
        The largest factor by which a pair beats the paper's bound (0 if the case has no such bound).
    beaten : Pair, optional
        The pair that beats the paper's bound. None: there is none.

    Examples
    --------
    >>> from prepriv.audit import SearchResult
    >>> [name for name in SearchResult.__match_args__][:3]
    ['case', 'found', 'bound']
    """

    case: Case
    found: RowShift
    bound: RowShift
    pairs: int
    worst: Pair | None
    paper_factor: float = 0.0
    beaten: Pair | None = None

    def ratio(self, quantity: str) -> float:
        """The largest found value divided by its bound, for one of the four numbers. 0 where nothing was found."""
        found, bound = getattr(self.found, quantity), getattr(self.bound, quantity)
        return 0.0 if found == 0 else found / bound if bound > 0 else math.inf

    @property
    def beaten_by(self) -> list[Beaten]:
        """What the case shows against its steps, then the declared bounds that are beaten by more than float rounding.

        In words, and by which number."""
        lies = [(what, math.inf) for what in self.case.lies]
        return [*lies, *beaten(self.found, self.bound, self.case.slack, self.case.n)]

    @property
    def holds(self) -> bool:
        """True while no declared bound is beaten."""
        return not self.beaten_by


def search(
    case: Case, *, seed: int = 0, pairs: int | None = None, seconds: float | None = None
) -> SearchResult:
    """Attack one case: look for pairs of data sets whose rows move further than is declared.

    Parameters
    ----------
    case : Case
        What is attacked.
    seed : int, default 0
        Decides the pairs.
    pairs : int, optional
        How many are tried (the search is then reproducible). None: as many as fit in `seconds`.
    seconds : float, optional
        Processor time to spend. None: until `pairs` are tried.

    Returns
    -------
    SearchResult
        The largest shifts found, with the declared bound.

    Raises
    ------
    ValueError
        Unless at least one of `pairs` and `seconds` is given.

    Examples
    --------
    >>> import prepriv
    >>> from prepriv.audit import Case, search
    >>> from prepriv.preprocessing import SoftPCA
    >>> steps = (SoftPCA(0.1, payment=prepriv.Sensitivity()),)
    >>> found = search(Case("soft PCA", steps, prepriv.Domain.ball(2, [0, 1]).space, n=20), pairs=5)
    >>> 0 < found.found.total_shift <= found.bound.total_shift
    True
    """
    if pairs is None and seconds is None:
        raise ValueError("search needs a budget: pairs, or seconds")
    attack = _Attack(case, Draws(seed))
    deadline = math.inf if seconds is None else time.process_time() + seconds
    limit = math.inf if pairs is None else pairs
    goals = [q for q in QUANTITIES if getattr(attack.bound, q) > 0] or ["total_shift"]
    turn = 0
    while attack.tried < limit and time.process_time() < deadline:
        for survey in range(SURVEY):
            if attack.tried < limit and time.process_time() < deadline:
                attack.score(attack.start(turn * SURVEY + survey), "total_shift")
        for goal in ("total_shift", goals[turn % len(goals)]):
            if goal in attack.best:
                attack.climb(attack.best[goal][1], goal, limit, deadline)
        attack.climb(attack.start(turn), goals[turn % len(goals)], limit, deadline)
        turn += 1
    return attack.result()


class _Attack:
    """The state of one search."""

    def __init__(self, case: Case, draws: Draws) -> None:
        self.case, self.draws, self.bound = case, draws, case.bound
        self.found, self.tried, self.valid = RowShift(), 0, 0
        self.best: dict[str, tuple[float, Pair]] = {}
        self.paper_factor = 0.0
        self.beaten: Pair | None = None

    def result(self) -> SearchResult:
        worst = self.best.get("total_shift")
        return SearchResult(
            self.case, self.found, self.bound, self.valid, worst and worst[1], self.paper_factor, self.beaten
        )

    # ---------------------------------------------------------------------------------------- measuring

    def score(self, pair: Pair, goal: str) -> float:
        """The goal on one pair; -1 if a condition fails. Keeps the records of all four quantities."""
        self.tried += 1
        measured = self.case.measure(pair)
        if measured is None:
            return -1.0
        self.valid += 1
        for q in QUANTITIES:
            value = getattr(measured, q)
            if value > self.best.get(q, (0.0, pair))[0]:
                self.best[q] = (value, pair)
                self.found = replace(self.found, **{q: value})
        if self.case.paper is not None:
            self._against_paper(pair, measured)
        # A little of the others breaks ties: rows that move are on the way to rows that are dropped.
        return float(getattr(measured, goal)) + 1e-6 * (measured.rows_moved + measured.total_shift)

    def _against_paper(self, pair: Pair, measured: RowShift) -> None:
        assert self.case.paper is not None
        allowed = self.case.paper(pair)
        changed = (measured.rows_moved + measured.rows_dropped, allowed.rows_moved)
        for value, limit in (
            changed,
            (measured.row_shift, allowed.row_shift),
            (measured.total_shift, allowed.total_shift),
        ):
            if math.isfinite(limit) and limit > 0 and value / limit > self.paper_factor:
                self.paper_factor, self.beaten = value / limit, pair

    # ----------------------------------------------------------------------------------------- starting

    def start(self, turn: int) -> Pair:
        """A structured or random pair."""
        case, draws = self.case, self.draws
        rows, record = MAKERS[turn % len(MAKERS)](case.space, case.n, draws, case.hints)
        second = rows.copy()
        second[0] = record
        if "apart" in case.hints and draws.chance(0.7):  # crowds are capped: most rows out of the way
            away = np.arange(case.n) > 2 + draws.below(case.n // 2)
            along = np.linspace(0.2, 1.0, case.n)[:, None] * case.space.high / math.sqrt(case.space.d)
            rows = np.where(away[:, None], along * (1 if draws.chance(0.5) else -1), rows)
            second = np.where(away[:, None], rows, second)
        if case.space.may_miss.any() and not np.isnan(rows).any():
            self._make_gaps(rows, second)
        return self._moved(inside(rows, case.space), inside(second, case.space))

    def _make_gaps(self, first: Floats, second: Floats) -> None:
        """Missing cells, up to what is declared, of the same common rows; the record's by chance."""
        n, draws, most = self.case.n, self.draws, self._most
        if self._tested and draws.chance(0.5):
            most = draws.below(n)
        for j in np.flatnonzero(self.case.space.may_miss):
            count = most - draws.below(2) if draws.chance(0.7) else draws.below(most + 1)
            rows = 1 + np.argsort(draws.uniform(n - 1), kind="stable")[:count]
            rows = np.arange(n - count, n) if draws.chance(0.5) else rows
            first[rows[rows > 0], j] = np.nan
            for data in (first, second):
                if draws.chance(0.25):
                    data[0, j] = np.nan
        self._fill_gaps(first, second)

    @property
    def _tested(self) -> bool:
        """Whether a test has to tell data that break the caps from others: such pairs are tried, too."""
        return any(step.paid.test > 0 for step in self.case.steps)

    @property
    def _most(self) -> int:
        return math.ceil(self.case.hints.get("missing", 0.3) * self.case.n - 1e-9)

    def _fill_gaps(self, first: Floats, second: Floats) -> None:
        """Give values to missing cells beyond what is declared, the record's among them."""
        draws, space = self.draws, self.case.space
        if self._tested and draws.chance(0.5):
            return
        for j in np.flatnonzero(space.may_miss):
            rows = 1 + np.flatnonzero(np.isnan(first[1:, j]))
            extra = max(0, len(rows) - self._most)
            if extra == 0 and len(rows) == self._most and draws.chance(0.5):
                extra = int(np.isnan([first[0, j], second[0, j]]).any())
            for i in rows[:extra]:
                first[i, j] = draws.pick((space.low[j], space.high[j], (space.low[j] + space.high[j]) / 2))
            for data in (first, second):
                if np.isnan(data[0, j]) and len(rows) - extra == self._most:
                    data[0, j] = draws.pick((space.low[j], space.high[j]))

    def _moved(self, first: Floats, second: Floats, old: Pair | None = None) -> Pair:
        """The common rows of the second set moved and dropped as far as the case allows, or as in `old`."""
        incoming, draws, n = self.case.incoming, self.draws, len(first)
        gone = np.zeros(n, dtype=bool)
        second[1:] = first[1:]
        if incoming.total_shift > 0 and incoming.rows_moved > 0 and n > 1:
            if old is not None and draws.chance(0.6):
                push = np.nan_to_num(old.second - old.first)[1:]
                second[1:] = self._limited(first[1:], inside(first[1:] + push, self.case.space))
            else:
                second[1:] = self._nudged(first[1:])
        if incoming.rows_dropped > 0 and n > 1:
            gone[1 + np.argsort(draws.uniform(n - 1), kind="stable")[: int(incoming.rows_dropped)]] = True
            if old is not None and draws.chance(0.6):
                gone = old.gone
        return Pair(first, second, gone, self._labels(n) if old is None else old.labels)

    def _labels(self, n: int) -> NDArray[np.int64]:
        """Two classes or one, and the record of either."""
        common = np.arange(n) % 2 if self.draws.chance(0.3) else np.zeros(n, dtype=np.int64)
        labels = np.array([common, common])
        labels[:, 0] = self.draws.below(2), self.draws.below(2)
        return labels

    def _nudged(self, rows: Floats) -> Floats:
        """Rows pushed along common or own directions."""
        incoming, draws, (m, d) = self.case.incoming, self.draws, rows.shape
        many = draws.pick((1, m, 1 + draws.below(m), math.ceil(incoming.total_shift / incoming.row_shift)))
        many = max(1, min(many, m, int(incoming.rows_moved)))
        step = min(incoming.row_shift, incoming.total_shift / many)
        order = draws.uniform(m)
        if draws.chance(0.4):  # the rows furthest from the mean, which moments feel most
            order -= np.linalg.norm(np.nan_to_num(rows - np.nan_to_num(rows).mean(axis=0)), axis=1) * 1e6
        chosen = np.argsort(order, kind="stable")[:many]
        push = np.zeros((m, d))
        push[chosen] = draws.direction(d) if draws.chance(0.6) else draws.normal(many, d)
        if draws.chance(0.5):  # outwards from the mean, or back to it
            middle = np.nan_to_num(rows).mean(axis=0)
            push[chosen] = (np.nan_to_num(rows[chosen]) - middle) * (1 if draws.chance(0.5) else -1)
        length = np.linalg.norm(push, axis=1, keepdims=True)
        return self._limited(rows, inside(rows + step * push / np.maximum(length, 1e-12), self.case.space))

    def _limited(self, rows: Floats, moved: Floats) -> Floats:
        """Rows on the way to `moved`, never further than may come in: each row, and all together."""
        incoming = self.case.incoming
        gap = np.nan_to_num(moved - rows)
        far = np.linalg.norm(gap, axis=1, keepdims=True)
        shrink = np.minimum(1.0, incoming.row_shift / np.maximum(far, 1e-300))
        total = float((far * shrink).sum())
        shrink *= min(1.0, incoming.total_shift / max(total, 1e-300)) * DOWN
        return np.where(far > 0, rows + gap * shrink, rows)

    # ---------------------------------------------------------------------------------------- climbing

    def climb(self, pair: Pair, goal: str, limit: float, deadline: float) -> None:
        """Change a little, keep what does not lower the goal, stop after CLIMB moves in vain."""
        score, vain = self.score(pair, goal), 0
        while vain < CLIMB and self.tried < limit and time.process_time() < deadline:
            new = self._changed(pair)
            value = self.score(new, goal)
            vain = 0 if value > score * FAR_UP else vain + 1
            if value >= score:
                pair, score = new, value

    def _changed(self, pair: Pair) -> Pair:
        """One random change: a record, a row, a cell, a gap, or all rows at once."""
        draws, space, n = self.draws, self.case.space, pair.n
        first, second = pair.first.copy(), pair.second.copy()
        size = draws.size(1e-3, 1.0) * space.widths
        kind = draws.below(8)
        if kind <= 1:  # the record, in one of the sets
            data = first if draws.chance(0.5) else second
            data[0] = self._other(data[0], first, size)
        elif kind <= 3 and n > 1:  # one row, or all rows that are equal to it
            i = 1 + draws.below(n - 1)
            same = np.flatnonzero((np.nan_to_num(first) == np.nan_to_num(first[i])).all(axis=1))
            which = same[same > 0] if draws.chance(0.3) else np.array([i])
            first[which] = np.where(np.isnan(first[which]), np.nan, self._other(first[i], first, size))
        elif kind == 4 and n > 1:  # one cell
            first[1 + draws.below(n - 1), draws.below(space.d)] += size.max() * (2 * draws.uniform(1)[0] - 1)
        elif kind == 5:  # all rows towards or away from a point
            target = point(space, draws)
            first[1:] += (1 - draws.size(0.5, 2.0)) * (first[1:] - target)
        elif kind == 6:  # all rows along a direction
            first[1:] += float(size.max()) * draws.direction(space.d)
        elif n > 2:  # one row as another
            first[1 + draws.below(n - 1)] = first[1 + draws.below(n - 1)]
        if space.may_miss.any() and draws.chance(0.3):
            j = draws.pick(list(np.flatnonzero(space.may_miss)))
            i = draws.below(n)
            value = space.low[j] + space.widths[j] * draws.uniform(1)[0]
            data = second if i == 0 and draws.chance(0.5) else first
            data[i, j] = value if np.isnan(data[i, j]) else np.nan
        if space.may_miss.any():
            self._fill_gaps(first, second)
        return self._moved(inside(first, space), inside(second, space), pair)

    def _other(self, row: Floats, rows: Floats, size: Floats) -> Floats:
        draws, space = self.draws, self.case.space
        kind = draws.below(4)
        if kind == 0:
            return corner(space, draws)
        if kind == 1:
            return point(space, draws)
        if kind == 2:
            return rows[draws.below(len(rows))] + size * draws.normal(space.d) * draws.pick((0.0, 1e-3, 1.0))
        return np.where(np.isnan(row), np.nan, row + size * draws.normal(space.d))
