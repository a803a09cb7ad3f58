"""Single questions to one private column: pure epsilon-DP, each charged and counted before a cell is read.

Discrete Laplace noise on whole numbers, the exponential mechanism for quantiles: for one answer better than Gaussian noise, and
without a delta. For many, `prepriv.describe` costs less. Proof: docs/proofs/describe.md.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prepriv._arguments import integer, number
from prepriv._arguments import numbers as several
from prepriv._arrays import Floats
from prepriv._rounding import DOWN
from prepriv.adjacency import Adjacency, check_adjacency, n_is_public, rows_changed
from prepriv.columns import Numeric
from prepriv.description.estimates import NOTHING, Estimate, bin_edges, bin_numbers
from prepriv.description.look import pay
from prepriv.guarantees.families import approximate_dp
from prepriv.guarantees.guarantee import Guarantee
from prepriv.mechanisms.laplace_sum import LaplaceSum
from prepriv.mechanisms.lattice_noise import laplace_scale
from prepriv.mechanisms.quantile import Grid, QuantileRelease
from prepriv.mechanisms.session import Session
from prepriv.plans.priced import Priced
from prepriv.tables.column import numbers_in
from prepriv.tables.containers import column_of, flags

LedgerPath = str | os.PathLike[str] | None
FINE = 2**20  # steps of u = 1
_POINTS = 4097


@dataclass(frozen=True)
class Question(Priced):
    """One question, priced: epsilon-DP. declared: all that decides it besides."""

    what: str
    n: int
    adjacency: Adjacency
    epsilon: float
    declared: tuple[Any, ...] = ()
    delta: float = 0.0

    def __post_init__(self) -> None:
        number("epsilon", self.epsilon, at_least=1e-6, at_most=100.0)
        integer("n", self.n, at_most=2**40)
        check_adjacency(self.adjacency)

    @cached_property
    def guarantee(self) -> Guarantee:
        """Pure epsilon-DP."""
        return self._stated(Guarantee(approximate_dp(self.epsilon, 0.0), self.adjacency))

    def to_json(self) -> list[Any]:
        """Plain data: all that was decided."""
        return [self.what, self.n, self.adjacency, self.epsilon, self.declared]

    def session(self, session: Session) -> Session:
        """Where its noise comes from: it asks once."""
        return session

    def drawn(
        self,
        exact: Callable[[], Sequence[int] | NDArray[np.int64]],
        coordinates: int,
        moves: int,
        most: int,
        session: Session | None,
        ledger: LedgerPath,
    ) -> NDArray[np.int64]:
        """Whole numbers with discrete Laplace noise, (coordinates,): what cannot be drawn is refused before the charge, and `exact`
        reads the cells after it. moves: how far a record moves them, in L1; most: how far it takes one of them from zero."""
        release = LaplaceSum(moves, self.epsilon, largest=2 * self.n * most, coordinates=coordinates)
        release.check(self.what)
        source, _ = pay(self, session, ledger)
        return np.asarray(source.release(self.what, release, np.array(exact(), dtype=np.int64)))

    def counts(
        self,
        exact: Callable[[], Sequence[int] | NDArray[np.int64]],
        coordinates: int,
        moves: int,
        session: Session | None,
        ledger: LedgerPath,
    ) -> list[Estimate]:
        """The same of counts of records, each with its interval."""
        noisy = self.drawn(exact, coordinates, moves, 1, session, ledger).tolist()
        return [laplace_curve(float(c), moves, self.epsilon, 0.05).within(0, math.inf) for c in noisy]


@dataclass(frozen=True)
class Histogram:
    """Noisy counts between edges.

    Parameters
    ----------
    edges : tuple of float, (bins + 1,)
        The edges, in the units of the column.
    counts : tuple of Estimate, (bins,)
        The number of records between two edges.

    Examples
    --------
    >>> import prepriv
    >>> prepriv.histogram([1, 2, 3], 0, 4, epsilon=1.0, bins=4).edges
    (0.0, 1.0, 2.0, 3.0, 4.0)
    """

    edges: tuple[float, ...]
    counts: tuple[Estimate, ...]


@dataclass(frozen=True)
class NoisyQuantile:
    """A noisy quantile.

    Parameters
    ----------
    value : float
        The value, in the units of the column.
    ranks : float
        How far its rank among the filled cells can be off, in records, with a chance of at least 95 %. A column of fewer
        cells than that says nothing.

    Examples
    --------
    >>> from prepriv.description.questions import NoisyQuantile
    >>> float(NoisyQuantile(41.5, ranks=12.0))
    41.5
    """

    value: float
    ranks: float

    def __float__(self) -> float:
        return self.value


def count(
    condition: Any,
    *,
    epsilon: float,
    n: int | None = None,
    adjacency: Adjacency = "replace-one",
    ledger: LedgerPath = None,
    session: Session | None = None,
) -> Estimate:
    """Count the records that meet a condition.

    Parameters
    ----------
    condition : column of truth values, (n,)
        One per record, such as `table.age > 40`. A record meets the condition if its cell is true (or 1). A gap or
        any other cell does not.
    epsilon : float
        What the answer costs, from 1e-6 to 100. The answer is pure epsilon-DP.
    n : int, optional
        The declared number of records. None: the length of the array, which is public under replace-one. Under
        add-or-remove-one it must be declared.
    adjacency : {"replace-one", "add-or-remove-one"}, default "replace-one"
        What neighbouring data sets are.
    ledger : path or URL, optional
        The ledger to charge before a record is read. None: no cap holds.
    session : Session, optional
        Where noise comes from, for tests. None: the operating system.

    Returns
    -------
    Estimate
        The noisy count, with a 95 % interval.

    Raises
    ------
    ValueError
        For what is wrong with the settings or the form of the column. Nothing is charged.
    LedgerError
        Where the ledger grants no charge. No record is read.

    Notes
    -----
    Discrete Laplace noise. Proof: docs/proofs/describe.md.

    Examples
    --------
    >>> import numpy as np, prepriv
    >>> 480 < float(prepriv.count(np.arange(1000) % 2 == 0, epsilon=1.0)) < 520
    True
    """
    column = column_of(condition, "condition")
    question = Question("count", question_rows([column], n, adjacency), adjacency, epsilon)
    (noisy,) = question.counts(lambda: [int(np.count_nonzero(flags(column)))], 1, 1, session, ledger)
    return noisy


def mean(
    values: Any,
    low: float,
    high: float,
    *,
    epsilon: float,
    n: int | None = None,
    adjacency: Adjacency = "replace-one",
    ledger: LedgerPath = None,
    session: Session | None = None,
) -> Estimate:
    """Estimate the mean of a column between declared bounds. Gaps are left out.

    Parameters
    ----------
    values : column of numbers, (n,)
        A column of any library. A number beyond the bounds is clamped to them.
    low, high : float
        Declared bounds, in the units of the column.
    epsilon : float
        What the answer costs, from 1e-6 to 100. The answer is pure epsilon-DP.
    n : int, optional
        The declared number of records. None: the length of the array, which is public under replace-one. Under
        add-or-remove-one it must be declared.
    adjacency : {"replace-one", "add-or-remove-one"}, default "replace-one"
        What neighbouring data sets are.
    ledger : path or URL, optional
        The ledger to charge before a record is read. None: no cap holds.
    session : Session, optional
        Where noise comes from, for tests. None: the operating system.

    Returns
    -------
    Estimate
        The noisy mean, with a 95 % interval. nan where there are too few numbers.

    Raises
    ------
    ValueError
        For what is wrong with the settings or the form of the column. Nothing is charged.
    LedgerError
        Where the ledger grants no charge. No record is read.

    Notes
    -----
    Discrete Laplace noise on a sum and a count. Proof: docs/proofs/describe.md.

    Examples
    --------
    >>> import numpy as np, prepriv
    >>> abs(float(prepriv.mean(np.arange(1000) % 100, 0, 100, epsilon=1.0)) - 49.5) < 5
    True
    """
    column = column_of(values)
    bounds = Numeric(low, high)
    n, declared = question_rows([column], n, adjacency), (bounds.low, bounds.high)
    question = Question("mean", n, adjacency, epsilon, declared)

    def exact() -> list[int]:
        u = 2 * unit_of(column, bounds) - 1
        there = ~np.isnan(u)
        steps = np.clip(np.rint(np.where(there, u, 0.0) * FINE), -FINE, FINE).astype(np.int64)
        return [int(steps.sum()), int(there.sum()) * FINE]

    # (u, 1) or (0, 0) for a gap: |u - w| or |u| + 1, at most 2 in L1 under either adjacency.
    noisy = question.drawn(exact, 2, 2 * FINE, 2 * FINE, session, ledger) / FINE
    half = 2 / epsilon * math.log(40)  # of either number, with a chance of 97.5 %
    near = float(noisy[1])
    # As good as all rows, where their number is public: then the noise of the count moves nothing.
    found = float(question.n) if n_is_public(adjacency) and near > question.n - half else near
    least = min(near, found) - half
    if least <= half:
        return NOTHING
    m = min(max(float(noisy[0]) / found, -1.0), 1.0)
    off = (half + abs(m) * (abs(found - near) + half)) / least + 0.5 / FINE  # the last: of rounding each u
    e = Estimate.around(m, off).within(-1, 1)
    middle, reach = (bounds.low + bounds.high) / 2, (bounds.high - bounds.low) / 2
    return Estimate(*(middle + reach * x for x in (e.value, e.low, e.high)))


def histogram(
    values: Any,
    low: float,
    high: float,
    *,
    epsilon: float,
    bins: int = 20,
    n: int | None = None,
    adjacency: Adjacency = "replace-one",
    ledger: LedgerPath = None,
    session: Session | None = None,
) -> Histogram:
    """Count a column in bins of equal width between declared bounds.

    Parameters
    ----------
    values : column of numbers, (n,)
        A column of any library. Numbers beyond the bounds count in the outer bins. Gaps count in no bin.
    low, high : float
        Declared bounds, in the units of the column.
    epsilon : float
        What the answer costs, from 1e-6 to 100. The answer is pure epsilon-DP.
    bins : int, default 20
        How many there are, at most a million.
    n : int, optional
        The declared number of records. None: the length of the array, which is public under replace-one. Under
        add-or-remove-one it must be declared.
    adjacency : {"replace-one", "add-or-remove-one"}, default "replace-one"
        What neighbouring data sets are.
    ledger : path or URL, optional
        The ledger to charge before a record is read. None: no cap holds.
    session : Session, optional
        Where noise comes from, for tests. None: the operating system.

    Returns
    -------
    Histogram
        `edges`, and `counts` with 95 % intervals.

    Raises
    ------
    ValueError
        For what is wrong with the settings or the form of the column. Nothing is charged.
    LedgerError
        Where the ledger grants no charge. No record is read.

    Notes
    -----
    Discrete Laplace noise on each count. Proof: docs/proofs/describe.md.

    Examples
    --------
    >>> import numpy as np, prepriv
    >>> found = prepriv.histogram(np.arange(1000) % 100, 0, 100, epsilon=1.0, bins=2)
    >>> found.edges, all(abs(float(count) - 500) < 50 for count in found.counts)
    ((0.0, 50.0, 100.0), True)
    """
    column = column_of(values)
    bounds, bins = Numeric(low, high), integer("bins", bins, at_most=10**6)
    declared = (bounds.low, bounds.high, bins)
    question = Question("histogram", question_rows([column], n, adjacency), adjacency, epsilon, declared)

    def exact() -> NDArray[np.int64]:
        unit = unit_of(column, bounds)
        return np.bincount(bin_numbers(unit[~np.isnan(unit)], bins), minlength=bins).astype(np.int64)

    counts = question.counts(exact, bins, rows_changed(adjacency), session, ledger)
    return Histogram(bin_edges(bounds.low, bounds.high, bins), tuple(counts))


def quantiles(
    values: Any,
    levels: Sequence[float],
    low: float,
    high: float,
    *,
    epsilon: float,
    n: int | None = None,
    adjacency: Adjacency = "replace-one",
    ledger: LedgerPath = None,
    session: Session | None = None,
) -> dict[float, NoisyQuantile]:
    """Find quantiles of a column between declared bounds.

    Parameters
    ----------
    values : column of numbers, (n,)
        A column of any library. A number beyond the bounds is clamped. Gaps are left out.
    levels : sequence of float
        The levels, in (0, 1), each once. 0.5 is the median.
    low, high : float
        Declared bounds, in the units of the column.
    epsilon : float
        What all answers cost together, from 1e-6 to 100, in equal parts. They are pure epsilon-DP.
    n : int, optional
        The declared number of records. None: the length of the array, which is public under replace-one. Under
        add-or-remove-one it must be declared.
    adjacency : {"replace-one", "add-or-remove-one"}, default "replace-one"
        What neighbouring data sets are.
    ledger : path or URL, optional
        The ledger to charge before a record is read. None: no cap holds.
    session : Session, optional
        Where noise comes from, for tests. None: the operating system.

    Returns
    -------
    dict of float to Quantile
        By level: the noisy value, and how many ranks it can be off.

    Raises
    ------
    ValueError
        For what is wrong with the settings or the form of the column. Nothing is charged.
    LedgerError
        Where the ledger grants no charge. No record is read.

    Notes
    -----
    The exponential mechanism on a grid of 4,097 values, on ranks among the filled cells. `describe` gives an interval
    in the units of the column. Proof: docs/proofs/quantile.md.

    Examples
    --------
    >>> import numpy as np, prepriv
    >>> found = prepriv.quantiles(np.arange(1000) % 100, [0.5], 0, 100, epsilon=1.0)
    >>> abs(float(found[0.5]) - 50) < 10
    True
    """
    column = column_of(values)
    bounds = Numeric(low, high)
    wanted = several("levels", list(levels), above=0.0, below=1.0).ravel().tolist()
    if not wanted:
        raise ValueError("levels must name at least one quantile")
    if len(set(wanted)) < len(wanted):
        raise ValueError("levels names one quantile twice, and each costs a part of epsilon: name each once")
    declared = (bounds.low, bounds.high, tuple(wanted))
    question = Question("quantiles", question_rows([column], n, adjacency), adjacency, epsilon, declared)
    release = QuantileRelease.of_epsilon(epsilon / len(wanted) * DOWN, Grid(bounds.low, bounds.high, _POINTS))
    source, _ = pay(question, session, ledger)
    unit = unit_of(column, bounds)
    there = bounds.low + (bounds.high - bounds.low) * unit[~np.isnan(unit)]
    return {
        q: NoisyQuantile(
            release.release_level(there, name=f"quantile {q:g}", level=q, session=source), release.ranks(0.05)
        )
        for q in wanted
    }


def question_rows(columns: Sequence[Any], n: int | None, adjacency: Adjacency) -> int:
    """The declared number of records of columns of one length. ValueError for others."""
    if len({len(column) for column in columns}) > 1:
        raise ValueError("the columns have different numbers of rows")
    column = columns[0]
    if not n_is_public(adjacency):
        if n is None:
            raise ValueError("n must be declared under add-or-remove-one: the true count is private")
        return integer("n", n)
    if n is not None and n != len(column):
        raise ValueError(f"n is {n}, and the number of values differs")
    return integer("n", len(column))


def unit_of(column: Any, bounds: Numeric) -> Floats:
    """Each number in [0, 1] between the bounds, NaN for a gap: a rule for each cell by itself."""
    raw = numbers_in(column)
    with np.errstate(all="ignore"):
        inside = np.clip(raw, bounds.low, bounds.high)
        return np.clip((inside - bounds.low) / (bounds.high - bounds.low), 0.0, 1.0)


def laplace_curve(value: float, sensitivity: int, epsilon: float, beta: float) -> Estimate:
    """A whole number with discrete Laplace noise: P(|noise| >= t) <= 2 exp(-t / scale) / (1 + exp(-1 / scale))."""
    scale = laplace_scale(sensitivity, epsilon)
    return Estimate.around(value, math.ceil(scale * math.log(2 / beta / (1 + math.exp(-1 / scale)))))
