"""What leaves for a list of questions, and the numbers that follow from it. Proof: docs/proofs/describe.md."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from prepriv._arrays import Floats
from prepriv._rounding import FAR_DOWN
from prepriv.adjacency import n_is_public
from prepriv.columns import MISSING, OTHER, Categorical, Numeric, Text
from prepriv.description.asked import (
    Asked,
    AskedPlan,
    Piece,
    asked_names,
    asked_rows,
    piece_of,
)
from prepriv.description.draft_plan import MOST_NAMES, is_name
from prepriv.description.estimates import (
    ADDED,
    ADDED_SHIFT,
    IN_GROUPS,
    NOTHING,
    PAIR,
    PAIR_ADDED_SHIFT,
    PAIR_IN_GROUPS,
    PAIR_SHIFT,
    PRESENT,
    SHIFT,
    SQUARE,
    SURE,
    Estimate,
    Moments,
    Pairs,
    bin_edges,
    bin_numbers,
    mean_half,
    moment_rows,
    pair_rows,
    quantile_half,
    quantile_interval,
    share_of,
)
from prepriv.description.questions import Histogram
from prepriv.description.summaries import count_estimate
from prepriv.description.wide import said_if_wide
from prepriv.mechanisms.histogram import private_histogram
from prepriv.mechanisms.mean import gaussian_sum
from prepriv.mechanisms.quantile import Grid, QuantileRelease, rank_above
from prepriv.mechanisms.session import Session
from prepriv.mechanisms.stability_histogram import StabilityHistogram
from prepriv.tables.encoding import Table
from prepriv.tables.written import span_of

POINTS = 4097  # of the grid on which a quantile is chosen
_BLOCK = 2**14
_WIDE = 1 + 1e-3  # what a grid adds to the noise of a count, more than enough

Answer: TypeAlias = Any
"""An `Estimate`; a `Histogram`; estimates by name; or one of these for each group, by name."""


def released_answers(plan: AskedPlan, rows: Table, session: Session) -> dict[str, Answer]:
    """The answers of rows that were admitted, by question."""
    asker = Asker(plan, rows, session)
    asker.release_all()
    return {str(q): asker.answer(q) for q in plan.questions}


def release_pieces(plan: AskedPlan, rows: Table, session: Session) -> dict[Piece, Any]:
    """What leaves, piece by piece, of rows that nobody pays for: for audits."""
    asker = Asker(plan, rows, session)
    asker.release_all()
    return asker.noisy


@dataclass(frozen=True, eq=False)
class _Groups:
    """names: of the groups; at: the one that each record is in, (n,)."""

    names: tuple[str, ...]
    at: NDArray[np.int64]


def expected_half(plan: AskedPlan, question: Asked) -> tuple[float, str] | None:
    """(half of the 95 % interval, how it is written), before a record is read: of a table without gaps, as wide as any values make it, and
    with declared groups of equal size. Not a number where nothing would be left to say.

    That of a quantile is by rank, in 100 records. None where the values decide it: spreads, covariances, and groups that are not declared.
    """
    asker, piece = Asker(plan, None, None), piece_of(question, plan.domain)
    if piece is None:
        return 0.0, "number"
    if question.kind == "share":
        noise, names = asker.count_noise(piece), asked_names(plan.domain.columns[question.columns[0]])
        if question.by is None and n_is_public(plan.look.adjacency):
            return SURE * noise / plan.look.n, "number"
        if (of := _of_equal_size(plan, question)) is None:
            return None
        return share_of(of, of, noise, noise * math.sqrt(len(names))).error, "number"
    if piece[0] in ("counts", "bins"):
        return SURE * asker.count_noise(piece), "number"
    n = _of_equal_size(plan, question)
    half = half_in_parts(plan, question, plan.look.n) or 0.0
    if piece[0] in ("pairs", "quantile") and math.isnan(half):
        return math.nan, "number"
    if piece[0] == "quantile" and n is not None and half < math.inf:
        return (
            100 * half if half < 0.5 else math.nan
        ), "in 100 by rank"  # beyond, an interval can be the whole bounds
    if piece[0] != "moments" or n is None or question.kind not in ("mean", "sum"):
        return None
    column, weights = plan.domain.columns[question.columns[0]], asker.weights(question.by)
    assert isinstance(column, Numeric)
    halves = []
    for u in (-1.0, 1.0):  # all cells at one bound: the mean's interval is widest there
        asker.noisy[piece] = np.array([[weights[0] * n, u * n, weights[1] * n / 2]])
        found = asker._of_moments(question, 0, asker.noisy[piece][0], piece, column)
        halves.append(found.error)
    unit = span_of(column.written) if question.kind == "mean" else "number"
    return max(halves), unit


def _of_equal_size(plan: AskedPlan, question: Asked) -> float | None:
    """How many records a group has, if all that are declared have as many; all records, without groups. None where no groups are declared."""
    if question.by is not None and isinstance(plan.domain.columns[question.by], Text):
        return None
    return plan.look.n / (declared_groups(plan, question) or 1)


def half_in_parts(plan: AskedPlan, question: Asked, n: float) -> float | None:
    """Half of the 95 % interval to expect if there are n records, in parts of the bounds of a number and of the records for a count, a
    share or the rank of a quantile; of a spread that of the mean, which has the same release.

    Declared groups are taken to be of equal size, and a half is in parts of such a group; a group that is not declared is taken to hold all
    records. Not a number where nothing is left to say; None where declared facts do not decide it."""
    asker, piece = Asker(plan, None, None), piece_of(question, plan.domain)
    if piece is None:
        return None
    n /= declared_groups(plan, question) or 1
    if piece[0] in ("counts", "bins"):
        noise = asker.count_noise(piece)
        if question.kind == "share" and (question.by is not None or not asker.replaced):
            names = asked_names(plan.domain.columns[question.columns[0]])
            return share_of(n, n, noise, noise * math.sqrt(len(names))).error
        return SURE * noise / n
    if piece[0] == "moments":
        return _half_of_moments(asker, question, piece, n)
    if piece[0] == "pairs":
        weight = asker.pair_weight(question.by)
        few = Pairs((n * weight, 0.0, 0.0, 0.0), asker.pair_shift * plan.multiplier(piece), weight)
        return math.nan if math.isnan(few.covariance.value) else 0.0
    return _half_of_quantile(asker, question, piece, n) if piece[0] == "quantile" else None


def _half_of_quantile(asker: Asker, question: Asked, piece: Piece, n: float) -> float:
    """Of its ranks, in parts of n cells."""
    bins, release = asker.plan.bins(question.columns[0], question.by), asker._choice(piece, question.by)
    deviation = asker.count_noise(bins) * math.sqrt(bins[2])
    if n <= 5 * deviation:
        return math.nan
    return quantile_half(
        n,
        piece[2],
        ranks=release.ranks(0.025),
        unsure=SURE * deviation,
        inside=release.ranks(1.0),
        noise=asker.count_noise(bins),
        bins=bins[2],
    )


def _half_of_moments(asker: Asker, question: Asked, piece: Piece, n: float) -> float:
    plan, weights = asker.plan, asker.weights(question.by)
    noise, column = asker.shift * plan.multiplier(piece), plan.domain.columns[question.columns[0]]
    assert isinstance(column, Numeric)
    if question.kind == "sum":  # it is told of the fewest cells
        total = Moments((weights[0] * n, n, 0.0), noise, NOTHING, weights)
        most = max(abs(column.low), abs(column.high))
        return total.sum((column.low + column.high) / 2, (column.high - column.low) / 2).error / (most * n)
    if question.kind == "missing" and question.by is not None:
        rows = [asker.count_noise(piece) for piece in asked_rows(question, plan.domain)]
        of = Estimate.around(n, SURE * rows[0]) if rows else NOTHING
        return Moments((weights[0] * n, n, 0.0), noise, of, weights).missing.error
    rows_there = Estimate.around(n, 0.0) if question.by is None and asker.replaced else NOTHING
    return mean_half(n, noise, rows_there, weights)


def declared_groups(plan: AskedPlan, question: Asked) -> int | None:
    """How many groups are declared; None where none are."""
    column = None if question.by is None else plan.domain.columns[question.by]
    return len(column.categories) if isinstance(column, Categorical) else None


def levels_of(plan: AskedPlan, named: Callable[[Asked], str]) -> dict[str, list[float]]:
    """The levels of all quantiles that have a name together."""
    found: dict[str, list[float]] = {}
    for question in plan.questions:
        piece = piece_of(question, plan.domain)
        if piece is not None and piece[0] == "quantile":
            found.setdefault(named(question), []).append(piece[2])
    return found


def wide_answers(plan: AskedPlan) -> str:
    """What has to be said before these questions are charged, or nothing."""

    def halves(n: float) -> dict[str, float]:
        found = {str(q): half_in_parts(plan, q, n) for q in plan.questions}
        return {question: half for question, half in found.items() if half is not None}

    return said_if_wide(
        plan.look.n,
        plan.look.epsilon,
        plan.look.delta,
        halves,
        ["fewer questions"] * (len(plan.questions) > 1),
        grouped={str(q) for q in plan.questions if declared_groups(plan, q)},
        levels=levels_of(plan, str),
        counted=plan.look.counted,
    )


class Asker:
    """Draws each piece of a plan once, and answers questions by them."""

    def __init__(self, plan: AskedPlan, rows: Any, session: Any) -> None:
        self.plan, self.rows, self.session = plan, rows, session
        self.columns, self.look = plan.domain.columns, plan.look
        self.noisy: dict[Piece, Any] = {}
        self.seen: dict[str, tuple[str, ...]] = {}
        self.replaced = n_is_public(plan.look.adjacency)
        self.most = float(plan.look.n) if self.replaced else math.inf  # of a count
        self.groups = cache(self._groups)

    # ------------------------------------------------------------------------------------------------ releases

    def cells(self, name: str) -> NDArray[Any]:
        """The encoded cells of a column, (n,)."""
        return self.rows.columns[[*self.columns].index(name)]

    def _groups(self, by: str | None) -> _Groups:
        if by is None:
            return _Groups(("",), np.zeros(self.rows.n, dtype=np.int64))
        if not isinstance(self.columns[by], Text):
            return _Groups(asked_names(self.columns[by]), self.cells(by).astype(np.int64))
        names = (*self.seen[by], OTHER, MISSING)  # released by now
        place = {name: i for i, name in enumerate(names)}
        place[""] = len(names) - 1
        at = [place.get(text, len(names) - 2) for text in self.cells(by).tolist()]
        return _Groups(names, np.array(at, dtype=np.int64))

    def release_all(self) -> None:
        """Draw each piece of the plan once, in order, with the noise that its part pays for."""
        for piece in self.plan.pieces:
            kind, *of = piece
            self.noisy[piece] = getattr(self, f"_release_{kind}")(piece, *of)
        self._in_order()

    def _in_order(self) -> None:
        """Noisy quantiles of one column, in each group in the order of their levels: that is known of the true ones."""
        found: dict[Any, list[Piece]] = {}
        for piece in self.noisy:
            if piece[0] == "quantile":
                found.setdefault((piece[1], piece[3]), []).append(piece)
        for pieces in found.values():
            pieces.sort(key=lambda piece: piece[2])
            ordered = np.sort([self.noisy[piece] for piece in pieces], axis=0)
            self.noisy |= {piece: values.tolist() for piece, values in zip(pieces, ordered)}

    def _histogram(self, piece: Piece, at: NDArray[np.int64], bins: int) -> Floats:
        return private_histogram(
            at,
            name=self.plan.pieces[piece],
            bins=bins,
            n=self.look.n,
            adjacency=self.look.adjacency,
            noise_multiplier=self.plan.multiplier(piece),
            session=self.session,
        )

    def count_noise(self, piece: Piece) -> float:
        """The standard deviation of the noise of one of its counts."""
        return self.plan.multiplier(piece) * (math.sqrt(2) if self.replaced else 1.0) * _WIDE

    def _release_counts(self, piece: Piece, names: tuple[str, ...]) -> Floats:
        each = [self.groups(name) for name in names]
        at = np.zeros(self.rows.n, dtype=np.int64)
        for groups in each:
            at = at * len(groups.names) + groups.at
        shape = [len(groups.names) for groups in each]
        return self._histogram(piece, at, math.prod(shape)).reshape(shape)

    def _release_names(self, piece: Piece, by: str) -> dict[str, float]:
        part = self.look[self.plan.pieces[piece]]
        mechanism = StabilityHistogram(
            noise_multiplier=self.plan.multiplier(piece), delta=part.delta, adjacency=self.look.adjacency
        )
        counts = Counter(text for text in self.cells(by).tolist() if text and is_name(text))
        found = self.session.release(self.plan.pieces[piece], mechanism, counts)
        most = sorted(found, key=lambda name: (-found[name], name))[:MOST_NAMES]
        self.seen[by] = tuple(sorted(most))
        return {name: found[name] for name in self.seen[by]}

    def _sums(self, piece: Piece, rows: Callable[[slice], Floats], by: str | None, shift: float) -> Floats:
        """Noisy sums of the rows of each group, (groups, numbers), as one release."""
        groups = self.groups(by)
        width = rows(slice(0, 0)).shape[1]
        dim = len(groups.names) * width
        parts = (slice(start, start + _BLOCK) for start in range(0, self.rows.n, _BLOCK))
        total = gaussian_sum(
            ((rows(part), groups.at[part]) for part in parts),
            name=self.plan.pieces[piece],
            dim=dim,
            radius=shift,
            shift=shift,
            moved=0,
            n=self.look.n,
            noise_multiplier=self.plan.multiplier(piece),
            session=self.session,
        )
        return np.asarray(total.reshape(len(groups.names), width))

    def weights(self, by: str | None) -> tuple[float, float]:
        """Of the number of cells and of their squares, beside u."""
        if not self.replaced:
            return ADDED
        return IN_GROUPS if by is not None else (PRESENT, SQUARE)

    def pair_weight(self, by: str | None) -> float:
        return PAIR if by is None and self.replaced else PAIR_IN_GROUPS

    @property
    def shift(self) -> float:
        """How far a record moves the sum of the rows of moments."""
        return SHIFT if self.replaced else ADDED_SHIFT

    @property
    def pair_shift(self) -> float:
        """The same of rows of pairs."""
        return PAIR_SHIFT if self.replaced else PAIR_ADDED_SHIFT

    def _release_moments(self, piece: Piece, name: str, by: str | None) -> Floats:
        u, weights = 2 * self.cells(name) - 1, self.weights(by)
        return self._sums(piece, lambda part: moment_rows(u[part], weights), by, self.shift)

    def _release_pairs(self, piece: Piece, one: str, two: str, by: str | None) -> Floats:
        u, v, weight = 2 * self.cells(one) - 1, 2 * self.cells(two) - 1, self.pair_weight(by)
        return self._sums(piece, lambda part: pair_rows(u[part], v[part], weight), by, self.pair_shift)

    def _release_bins(self, piece: Piece, name: str, bins: int, by: str | None) -> Floats:
        groups, unit = self.groups(by), self.cells(name)
        there = ~np.isnan(unit)
        at = np.where(there, groups.at * bins + bin_numbers(np.where(there, unit, 0.0), bins), -1)
        return self._histogram(piece, at, len(groups.names) * bins).reshape(-1, bins)

    def _release_quantile(self, piece: Piece, name: str, level: float, by: str | None) -> list[float]:
        groups, unit = self.groups(by), self.cells(name)
        there = ~np.isnan(unit)
        release = self._choice(piece, by)
        counts = [self.present(name, by, g)[0] for g in range(len(groups.names))]
        return release.release_each(
            _of_each(unit[there], groups.at[there], len(groups.names)),
            name=self.plan.pieces[piece],
            above=[self._above(level, max(round(count), 1), release) for count in counts],
            moved=self._moved(by),
            session=self.session,
        )

    def _moved(self, by: str | None) -> int:
        return 2 if by is not None and self.replaced else 1

    def _choice(self, piece: Piece, by: str | None) -> QuantileRelease:
        mu = self.look[self.plan.pieces[piece]].mu / math.sqrt(self._moved(by)) * FAR_DOWN
        return QuantileRelease.of_gdp(mu, Grid(0.0, 1.0, POINTS))

    @staticmethod
    def _above(level: float, count: int, release: QuantileRelease) -> int:
        """The rank that is aimed at: of either end so far inside as the choice can be off, or it would be a guess."""
        if 0.0 < level < 1.0:
            return rank_above(level, count)
        inside = min(math.ceil(release.ranks(1.0)), count // 2)
        return inside if level == 1.0 else count - inside

    def present(self, name: str, by: str | None, g: int) -> tuple[float, float]:
        """How many cells of a group are not gaps, and the deviation of that: by the bins, which are released before."""
        piece = self.plan.bins(name, by)
        return float(self.noisy[piece][g].sum()), self.count_noise(piece) * math.sqrt(piece[2])

    # ------------------------------------------------------------------------------------------------- answers

    def answer(self, q: Asked) -> Answer:
        """What follows from the pieces for a question."""
        if q.by is None:
            return self.in_group(q, 0)
        names = self.groups(q.by).names
        if q.kind == "count" and isinstance(
            self.columns[q.by], Text
        ):  # of other texts and of gaps no count was released
            names = self.seen[q.by]
        return {name: self.in_group(q, g) for g, name in enumerate(names)}

    def in_group(self, q: Asked, g: int) -> Answer:
        if q.kind == "count":
            return self._rows(q, g)
        piece = piece_of(q, self.plan.domain)
        assert piece is not None
        found = self.noisy[piece]
        if q.kind in ("histogram", "share", "crosstab") and piece[0] == "counts":
            names = [self.groups(name).names for name in q.columns]
            in_order = q.columns if q.by is None else (q.by, *q.columns)
            turned = found.transpose([piece[1].index(name) for name in in_order])
            counts, noise = turned if q.by is None else turned[g], self.count_noise(piece)
            return (
                self._shares(counts, names[0], noise, q)
                if q.kind == "share"
                else self._named(counts, names, noise)
            )
        column = self.columns[q.columns[0]]
        assert isinstance(column, Numeric)
        if q.kind == "histogram":
            noise = self.count_noise(piece)
            return Histogram(
                bin_edges(column.low, column.high, q.bins),
                tuple(count_estimate(c, noise, self.most) for c in found[g]),
            )
        if q.kind == "covariance":
            return self._covariance(q, found[g], piece)
        if piece[0] == "quantile":
            found = _scaled(self._quantile(q, piece, g), column.low, column.high - column.low)
            return found.within(column.low, column.high).read_as(column.written)
        return self._of_moments(q, g, found[g], piece, column)

    def _rows(self, q: Asked, g: int) -> Estimate:
        """How many records there are, or are in a group."""
        if q.by is not None and isinstance(self.columns[q.by], Text):
            piece, names = ("names", q.by), self.groups(q.by).names
            if names[g] not in self.noisy[piece]:
                return NOTHING  # no count of it was released
            return count_estimate(self.noisy[piece][names[g]], self.count_noise(piece), self.most)
        rows = asked_rows(q, self.plan.domain)
        if not rows:
            return Estimate.around(float(self.look.n), 0.0)
        return count_estimate(float(self.noisy[rows[0]].ravel()[g]), self.count_noise(rows[0]), self.most)

    def _named(self, counts: Floats, names: Sequence[Sequence[str]], noise: float) -> dict[str, Any]:
        if len(names) == 1:
            return {name: count_estimate(c, noise, self.most) for name, c in zip(names[0], counts)}
        return {name: self._named(c, names[1:], noise) for name, c in zip(names[0], counts)}

    def _shares(self, counts: Floats, names: Sequence[str], noise: float, q: Asked) -> dict[str, Estimate]:
        """Each count over the number of records, or over the counts of its group together."""
        known = q.by is None and self.replaced
        of, of_noise = (
            (float(self.look.n), 0.0) if known else (float(counts.sum()), noise * math.sqrt(len(names)))
        )
        return {name: share_of(float(c), of, noise, of_noise) for name, c in zip(names, counts)}

    def _of_moments(self, q: Asked, g: int, total: Floats, piece: Piece, column: Numeric) -> Estimate:
        a, b, c = total.tolist()
        known = q.kind == "missing" or (q.by is None and self.replaced)
        n = self._rows(q, g) if known else NOTHING
        made = Moments((a, b, c), self.shift * self.plan.multiplier(piece), n, self.weights(q.by))
        middle, reach = (column.low + column.high) / 2, (column.high - column.low) / 2
        if q.kind == "missing":
            return made.missing
        if q.kind == "sum":
            return made.sum(middle, reach)
        if q.kind == "mean":
            return _scaled(made.mean, middle, reach).within(column.low, column.high).read_as(column.written)
        if q.kind == "variance":
            return _scaled(made.variance, 0.0, reach**2)
        return _scaled(made.spread, 0.0, reach).read_as(span_of(column.written))

    def _covariance(self, q: Asked, total: Floats, piece: Piece) -> Estimate:
        a, b, c, d = total.tolist()
        noise = self.pair_shift * self.plan.multiplier(piece)
        reach = 1.0
        for name in q.columns:
            column = self.columns[name]
            assert isinstance(column, Numeric)
            reach *= (column.high - column.low) / 2
        return _scaled(Pairs((a, b, c, d), noise, self.pair_weight(q.by)).covariance, 0.0, reach)

    def _quantile(self, q: Asked, piece: Piece, g: int) -> Estimate:
        release = self._choice(piece, q.by)
        count, deviation = self.present(q.columns[0], q.by, g)
        if count <= 5 * deviation:
            return NOTHING
        bins = self.plan.bins(q.columns[0], q.by)
        above = self._above(piece[2], max(round(count), 1), release)
        off = release.ranks(0.025) + SURE * deviation
        edges = np.linspace(0.0, 1.0, bins[2] + 1)
        value = self.noisy[piece][g]
        made = quantile_interval(
            value, count - above, off, self.noisy[bins][g], self.count_noise(bins), edges
        )
        if piece[2] == 0.0:  # the least of all is below what was aimed at
            return Estimate(made.value, 0.0, made.high)
        return Estimate(made.value, made.low, 1.0) if piece[2] == 1.0 else made


def _of_each(values: Floats, at: NDArray[np.int64], groups: int) -> list[Floats]:
    """The values of each group."""
    ends = np.cumsum(np.bincount(at, minlength=groups))
    return np.split(values[np.argsort(at, kind="stable")], ends[:-1])


def _scaled(e: Estimate, middle: float, reach: float) -> Estimate:
    return Estimate(*(middle + reach * x for x in (e.value, e.low, e.high)))
