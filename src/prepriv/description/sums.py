"""Single questions whose answer is a sum of several numbers of each record: pure epsilon-DP, charged before a cell is read.

Discrete Laplace noise on whole numbers. For many questions `prepriv.ask` costs less. Proof: docs/proofs/describe.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prepriv._rounding import FAR_UP
from prepriv.adjacency import Adjacency, n_is_public, rows_changed
from prepriv.columns import Categorical, Numeric
from prepriv.description.asked import asked_names
from prepriv.description.estimates import NOTHING, Estimate
from prepriv.description.questions import FINE, LedgerPath, Question, laplace_curve, question_rows, unit_of
from prepriv.mechanisms.lattice_noise import laplace_scale
from prepriv.mechanisms.session import Session
from prepriv.tables.containers import column_of
from prepriv.tables.encoding import categorical_cells

VARIANCE_WEIGHTS = 0.75, 0.5  # of the number of cells, and of u^2 - 1/2, beside u: 2 apart in L1 at most


def sum(
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
    """Estimate the sum of a column between declared bounds. A gap adds nothing.

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
        The noisy sum, with a 95 % interval.

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
    >>> abs(float(prepriv.sum(np.arange(1000) % 100, 0, 100, epsilon=1.0)) - 49_500) < 3000
    True
    """
    column, bounds = column_of(values), Numeric(low, high)
    declared = (bounds.low, bounds.high)
    question = Question("sum", question_rows([column], n, adjacency), adjacency, epsilon, declared)
    largest = max(abs(bounds.low), abs(bounds.high))

    def exact() -> list[int]:
        unit = unit_of(column, bounds)
        there = ~np.isnan(unit)
        inside = bounds.low + (bounds.high - bounds.low) * np.where(there, unit, 0.0)
        with np.errstate(all="ignore"):
            steps = np.where(there, np.rint(np.clip(inside / largest, -1.0, 1.0) * FINE), 0.0)
        return [int(steps.astype(np.int64).sum())]

    # A cell against a gap, or another cell; each is rounded to a step, and a step is what that can add.
    apart = max(largest, bounds.high - bounds.low) if n_is_public(adjacency) else largest
    moves = math.ceil(apart / largest * FINE * FAR_UP) + 1
    (noisy,) = question.drawn(exact, 1, moves, FINE, session, ledger)
    made = laplace_curve(float(noisy), moves, epsilon, 0.05)
    off = made.error + 0.5 * question.n  # each cell was rounded to a step
    return Estimate(*(x * largest / FINE for x in (made.value, made.value - off, made.value + off)))


def variance(
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
    """Estimate the variance of a column between declared bounds: around its mean, divided by the number of cells. Gaps are left out.

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
        The noisy variance, in squared units of the column, with a 95 % interval. nan where there are too few numbers.

    Raises
    ------
    ValueError
        For what is wrong with the settings or the form of the column. Nothing is charged.
    LedgerError
        Where the ledger grants no charge. No record is read.

    Notes
    -----
    Discrete Laplace noise on a count, a sum and a sum of squares. Proof: docs/proofs/describe.md.

    Examples
    --------
    >>> import numpy as np, prepriv
    >>> abs(float(prepriv.variance(np.arange(10_000) % 100, 0, 100, epsilon=1.0)) - 833) < 100
    True
    """
    column, bounds = column_of(values), Numeric(low, high)
    declared = (bounds.low, bounds.high)
    question = Question("variance", question_rows([column], n, adjacency), adjacency, epsilon, declared)
    of_cells, of_squares = VARIANCE_WEIGHTS

    def numbers() -> list[NDArray[Any]]:
        u = 2 * unit_of(column, bounds) - 1
        there = ~np.isnan(u)
        u = np.where(there, u, 0.0)
        return [of_cells * there, u, of_squares * (u * u - 0.5) * there]

    noisy = _noisy(question, numbers, 3, 2, session, ledger)
    half = _half(3, 2, epsilon)
    least = noisy[0] / of_cells - half / of_cells
    if least <= half:
        return NOTHING
    count = noisy[0] / of_cells
    mean, square = (min(max(x / count, -1.0), 1.0) for x in (noisy[1], noisy[2] / of_squares))
    of_mean = (half + abs(mean) * half / of_cells) / least + 0.5 / FINE  # the last: of rounding each number
    of_square = (half / of_squares + abs(square) * half / of_cells) / least + 0.5 / FINE / of_squares
    found = Estimate.around(square + 0.5 - mean**2, of_square + 2 * abs(mean) * of_mean + of_mean**2)
    reach = (bounds.high - bounds.low) / 2
    return Estimate(*(reach**2 * x for x in _parts(found.within(0, 1))))


def covariance(
    first: Any,
    second: Any,
    bounds: Sequence[Sequence[float]],
    *,
    epsilon: float,
    n: int | None = None,
    adjacency: Adjacency = "replace-one",
    ledger: LedgerPath = None,
    session: Session | None = None,
) -> Estimate:
    """Estimate the covariance of two columns between declared bounds, over the records that have both cells.

    Parameters
    ----------
    first, second : column of numbers, (n,)
        Columns of any library, both of the same length. A number beyond its bounds is clamped to them.
    bounds : two pairs of float
        (low, high) for each column, in its units.
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
        The noisy covariance, in the product of both units, with a 95 % interval. nan where there are too few numbers.

    Raises
    ------
    ValueError
        For what is wrong with the settings or the form of the column. Nothing is charged.
    LedgerError
        Where the ledger grants no charge. No record is read.

    Notes
    -----
    Discrete Laplace noise on a count, two sums and a sum of products. Proof: docs/proofs/describe.md.

    Examples
    --------
    >>> import numpy as np, prepriv
    >>> x = np.arange(20_000) % 100
    >>> abs(float(prepriv.covariance(x, x, [(0, 100), (0, 100)], epsilon=1.0)) - 833) < 100
    True
    """
    columns = [column_of(first, "first"), column_of(second, "second")]
    if not isinstance(bounds, list | tuple) or len(bounds) != 2 or any(len(pair) != 2 for pair in bounds):
        raise ValueError("bounds must be two pairs (low, high), one of each column")
    declared = [Numeric(*pair) for pair in bounds]
    told = tuple((b.low, b.high) for b in declared)
    question = Question("covariance", question_rows(columns, n, adjacency), adjacency, epsilon, told)

    def numbers() -> list[NDArray[Any]]:
        u, v = (2 * unit_of(column, b) - 1 for column, b in zip(columns, declared))
        there = ~(np.isnan(u) | np.isnan(v))
        u, v = np.where(there, u, 0.0), np.where(there, v, 0.0)
        return [there * 1.0, u, v, u * v]

    noisy = _noisy(question, numbers, 4, 4, session, ledger)
    half = _half(4, 4, epsilon)
    least = noisy[0] - half
    if least <= half:
        return NOTHING
    one, two, product = (min(max(x / noisy[0], -1.0), 1.0) for x in noisy[1:])
    of_one, of_two, of_product = (half * (1 + abs(x)) / least + 0.5 / FINE for x in (one, two, product))
    off = of_product + abs(one) * of_two + abs(two) * of_one + of_one * of_two
    found = Estimate.around(product - one * two, off).within(-1, 1)
    reach = math.prod((b.high - b.low) / 2 for b in declared)
    return Estimate(*(reach * x for x in _parts(found)))


def crosstab(
    first: Any,
    second: Any,
    categories: Sequence[Sequence[Any]],
    *,
    epsilon: float,
    n: int | None = None,
    adjacency: Adjacency = "replace-one",
    ledger: LedgerPath = None,
    session: Session | None = None,
) -> dict[str, dict[str, Estimate]]:
    """Count how many records have each pair of values of two columns.

    Parameters
    ----------
    first, second : column, (n,)
        Columns of any library, both of the same length.
    categories : two sequences
        The declared values of each column. Any other cell counts as "other", an empty one as "missing".
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
    dict of str to dict of str to Estimate
        The count by the value of the first column, then by that of the second. Each has a 95 % interval.

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
    >>> import prepriv
    >>> found = prepriv.crosstab(["a", "b"] * 500, ["u", "v"] * 500, [["a", "b"], ["u", "v"]], epsilon=1.0)
    >>> abs(float(found["a"]["u"]) - 500) < 50, list(found)
    (True, ['a', 'b', 'other', 'missing'])
    """
    columns = [column_of(first, "first"), column_of(second, "second")]
    if not isinstance(categories, list | tuple) or len(categories) != 2:
        raise ValueError("categories must be two lists of values, one of each column")
    one, two = (Categorical(values) for values in categories)  # type: ignore[arg-type]  # a list is made a tuple
    told = tuple(tuple(map(str, c.categories)) for c in (one, two))
    question = Question("crosstab", question_rows(columns, n, adjacency), adjacency, epsilon, told)
    names = [asked_names(one), asked_names(two)]
    wide = len(names[1])
    if len(names[0]) * wide > 10**6:
        raise ValueError("a table of more than a million counts would be noise alone")
    cells = len(names[0]) * wide

    def exact() -> NDArray[np.int64]:
        at = categorical_cells(columns[0], one).astype(np.int64) * wide + categorical_cells(columns[1], two)
        return np.bincount(at, minlength=cells).astype(np.int64)

    counts = iter(question.counts(exact, cells, rows_changed(adjacency), session, ledger))
    return {name: {other: next(counts) for other in names[1]} for name in names[0]}


def _noisy(
    question: Question,
    numbers: Callable[[], Sequence[NDArray[Any]]],
    many: int,
    apart: int,
    session: Session | None,
    ledger: LedgerPath,
) -> list[float]:
    """The noisy sums of so many numbers of each record, at most one each. apart: how far a record moves them, in L1."""

    def exact() -> list[int]:
        return [int(np.rint(np.clip(c, -2.0, 2.0) * FINE).astype(np.int64).sum()) for c in numbers()]

    moves = apart * FINE + many  # each number of either record is off by half a step
    return [float(x) for x in question.drawn(exact, many, moves, 2 * FINE, session, ledger) / FINE]


def _half(numbers: int, apart: int, epsilon: float) -> float:
    """What no noise of so many is above, with a chance of 95 %."""
    scale = laplace_scale(apart * FINE + numbers, epsilon)
    return math.ceil(scale * math.log(2 * numbers / 0.05 / (1 + math.exp(-1 / scale)))) / FINE


def _parts(e: Estimate) -> tuple[float, float, float]:
    return e.value, e.low, e.high
