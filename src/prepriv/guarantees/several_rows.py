"""What a claim about one record is worth for someone with several of them: group privacy of its trade-off function.

Proof: docs/proofs/several_rows.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from prepriv._arguments import integer
from prepriv._rounding import UP
from prepriv.guarantees.families import Gaussian, gaussian
from prepriv.guarantees.guarantee import Guarantee
from prepriv.guarantees.in_words import curve_of, right_at_most, right_guesses
from prepriv.guarantees.lines import ULP, SupportLines, support_lines
from prepriv.guarantees.loss_distribution import compose
from prepriv.guarantees.piecewise import STEEPEST, PiecewiseLinear
from prepriv.guarantees.printed import USELESS, exact, percent, useful
from prepriv.guarantees.tradeoff import TradeoffFunction

TOLD = (2, 5)
"""Rows of one person of which a report says what they cost."""
_LINES = 192  # of each step, twice: any of them are sound, more are tighter
_SAME = 1e-9  # of a delta: what two lines at the end of an envelope differ by at least
_DENSE = 6.0  # half of them are at the hyperbolic sine of even steps up to this


def of_several_rows(one: TradeoffFunction, rows: int) -> TradeoffFunction:
    """Give what f-DP for one record means where so many records change at once: 1 - (1 - f) applied so many times.

    Parameters
    ----------
    one : TradeoffFunction
        f, for one record and both orders of neighbours.
    rows : int
        How many records change, 1 or more.

    Returns
    -------
    TradeoffFunction
        For both orders. Rounded down: µ-GDP becomes (rows · µ)-GDP, and of other curves lines are composed.

    Raises
    ------
    ValueError
        For another number of rows.

    Notes
    -----
    Where the claim rests on conditions of the data, all tables between the two have to satisfy them.
    Proof: docs/proofs/several_rows.md, after Dong, Roth and Su, Gaussian Differential Privacy, Theorem 2.14.

    Examples
    --------
    >>> from prepriv import guarantees as g
    >>> round(of_several_rows(g.gaussian(0.25), 2).epsilon(1e-5) - g.gaussian(0.5).epsilon(1e-5), 6)
    0.0
    """
    rows = integer("rows", rows)
    if rows == 1:
        return one
    if isinstance(one, Gaussian):
        return gaussian(rows * one.mu * UP)
    lines = one.lines()
    even = np.linspace(lines.slopes[0], lines.slopes[-1], 2 * _LINES)  # the tails, which `lines` has few of
    step = support_lines(np.append(lines.slopes, even), np.append(lines.deltas, one._signed_delta(even)))
    reach = math.ceil(8.0 * float(np.abs(step.slopes).max())) / 8.0
    found = step = _taken_at(step, reach)
    for times in range(2, rows + 1):
        found = _taken_at(_then(found, step), times * reach)
    return PiecewiseLinear(found, found)


def _then(first: SupportLines, second: SupportLines) -> SupportLines:
    """Lines of both steps: P(E) <= e^t Q(E) + d after Q(E) <= e^s R(E) + c is e^(s + t) R(E) + d + e^t c."""
    s, c = first.slopes[:, None], first.deltas[:, None]
    t, d = second.slopes[None, :], second.deltas[None, :]
    with np.errstate(over="ignore"):  # what is above 1 says nothing
        deltas = (d + np.exp(t) * c) * (1.0 + ULP * (16.0 + 2.0 * np.abs(t)))
        slopes = np.nextafter(s + t, np.inf)
    kept = (np.abs(slopes) <= STEEPEST) & (deltas < 1.0)
    return support_lines(slopes[kept], deltas[kept])


def _taken_at(lines: SupportLines, reach: float) -> SupportLines:
    """The envelope of many lines at slopes that only its reach decides: half of them evenly spaced, half dense about 0.

    Which of many lines are left differs where a machine rounds a logarithm otherwise. The height of the envelope at a slope does not, but for
    the last digits, and a page is compared with a second computation.
    """
    if len(lines.slopes) <= _LINES:  # of a curve with few kinks: they are all that it has
        return lines
    reach, even = min(reach, STEEPEST), np.linspace(-1.0, 1.0, _LINES + 1)
    slopes = reach * np.union1d(even, np.sinh(_DENSE * even) / math.sinh(_DENSE))
    deltas = lines.delta(slopes)
    implied = 1.0 - (1.0 - deltas[1:]) * np.exp(
        -np.diff(slopes)
    )  # by the next line, which meets 0 where f does
    first = int(np.argmax(np.append(deltas[:-1] < implied - _SAME, True)))
    last = int(np.argmax(deltas <= deltas[-1] * (1.0 + _SAME)))  # from there on steeper lines are no higher
    return support_lines(slopes[first : last + 1], deltas[first : last + 1])


@dataclass(frozen=True)
class RowsOfOne:
    """What a claim about one record allows where one person has so many of them.

    Parameters
    ----------
    rows : int
        How many.
    right : float
        The largest chance of guessing right which of two equally likely versions of all of them was used.
    epsilon : float
        ε at the δ of the claim.
    """

    rows: int
    right: float
    epsilon: float


def rows_of_one(
    parts: Sequence[Guarantee], delta: float, told: Sequence[int] = TOLD
) -> tuple[RowsOfOne, ...]:
    """Give what a claim allows for someone with several rows.

    Parameters
    ----------
    parts : sequence of Guarantee
        What the claim adds up: of mechanisms that ran one after another, each chosen at most after seeing the outputs before.
    delta : float
        The delta at which ε is computed.
    told : sequence of int, default (2, 5)
        How many rows.

    Returns
    -------
    tuple of RowsOfOne
        None of a claim that counts all rows of one unit, and none without parts.

    Examples
    --------
    >>> from prepriv.guarantees.guarantee import GaussianEvent
    >>> made = Guarantee.of_gaussians([GaussianEvent("sum", 4.0)], "replace-one")
    >>> [(one.rows, round(one.right, 3), round(one.epsilon, 2)) for one in rows_of_one([made], 1e-5)]
    [(2, 0.599, 1.99), (5, 0.734, 5.68)]
    """
    if not parts or parts[0].unit is not None:
        return ()
    found = []
    for rows in told:
        curves = [of_several_rows(part.tradeoff.symmetrized(), rows) for part in parts]
        whole = compose([(curve, 1) for curve in curves]).symmetrized()
        several = Guarantee(whole, parts[0].adjacency)
        found.append(RowsOfOne(rows, right_guesses(several), several.epsilon(delta)))
    return tuple(found)


def amounts_of_several(amounts: str, told: Sequence[int] = TOLD) -> str:
    """Say what a cap, or a sum, of a ledger of single rows allows about someone with several rows.

    Parameters
    ----------
    amounts : str
        As a ledger writes them: "epsilon 2, delta 0.0001" or "mu^2 0.25".
    told : sequence of int, default (2, 5)
        How many rows.

    Returns
    -------
    str
        A sentence. "" for rho, because it does not determine one curve, and for words without amounts.

    Examples
    --------
    >>> amounts_of_several("epsilon 2, delta 0.0001")
    'About all rows of one person together they are right at most 93.3 times in 100 with 2 rows and 99.8 times in 100 with 5 rows.'
    """
    if right_at_most(amounts) is None:
        return ""
    curve, each = curve_of(amounts), []
    for rows in told:
        right = (
            1.0 if curve is None else right_guesses(Guarantee(of_several_rows(curve, rows), "replace-one"))
        )
        each.append(f"{percent(right)[:-1]} times in 100 with {rows} rows")
    return f"About all rows of one person together they are right at most {' and '.join(each)}."


_NO_BOUND = "no useful ε at this δ: for several rows δ has to be larger"


def rows_in_words(found: Sequence[RowsOfOne], delta: float, *, conditions: bool) -> str:
    """Say it in one or two sentences.

    Parameters
    ----------
    found : sequence of RowsOfOne
        As `rows_of_one` gives it.
    delta : float
        The delta at which ε was computed.
    conditions : bool
        Whether the claim rests on conditions of the data.

    Returns
    -------
    str
        "" where nothing was found.

    Examples
    --------
    >>> rows_in_words([], 1e-5, conditions=False)
    ''
    """
    if not found:
        return ""
    each = [
        f"{percent(one.right)[:-1]} times in 100 with {one.rows} rows ({useful(one.epsilon) if one.epsilon < USELESS else _NO_BOUND})"
        for one in found
    ]
    rests = " The tables with some of these rows changed have to satisfy the conditions of the claim, too."
    return (
        f"One row, one person: this is about single rows. Of all rows of one person together, guesses are right at most "
        f"{' and '.join(each)}, at δ = {exact(delta)}.{rests if conditions else ''}"
    )
