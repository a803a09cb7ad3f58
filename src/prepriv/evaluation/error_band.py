"""Intervals of predictions, from the noisy counts of errors of an evaluation: post-processing. Proof: docs/proofs/evaluation.md."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from prepriv._arguments import number
from prepriv._arrays import Floats
from prepriv.evaluation.evaluation_plan import EvaluationPlan
from prepriv.evaluation.intervals import FEWEST
from prepriv.guarantees.less_noise import MOST_NAMED, larger_epsilon, less_noise
from prepriv.guarantees.printed import up

if TYPE_CHECKING:  # what is measured is forecast with `ever_given`
    from prepriv.evaluation.result import PrivateEvaluation

BAND_LEVEL = 0.9  # of an interval, where none is asked for
_FAILURE = 0.05  # of a band that covers less than its level
_LEVELS = (0.95, 0.9, 0.8, 0.7, 0.6, 0.5)
_WORSE = 2.0  # deviations by which the counts of two evaluations together may be too good
_FALLS = 2.0  # errors that are w times as large are w**2 times as rare: a tail of finite variance, nearly
_WIDER = (1.5, 2.0, 3.0, 4.0)  # times the error bound
_CHANCE = 1.25  # times as many rows as it takes, so that an end lies nowhere near the limit
_LEAST = 1.25  # times as many rows, or less noise: less changes too little to be named
_MOST = 30.0  # times as many rows: a number of more rests on next to nothing
_ALL = 0.85  # of the declared range: an interval whose sides are so long on average says nothing


def error_band(of: PrivateEvaluation, level: float) -> tuple[float, float]:
    """(low, high) of target less prediction, in the target's unit, that holds for `level` of new rows.

    With probability 95 % over noise and test rows, which must be a sample of the people that new rows are from. Raises ValueError
    where the evaluation did not count errors by size (measure "residuals"), or its counts leave an end open: then only the declared
    bound holds there, whatever is predicted.
    """
    level = number("level", level, above=0.0, below=1.0)
    if not of.residuals:
        raise ValueError(
            'an interval needs errors counted by size: evaluate with measures that name "residuals", such as '
            'evaluate_measures=("r2", "residuals") beside holdout=, or reg.evaluate(X, y, measures=...) on other rows'
        )
    edges, counts, noise = _counted(of)
    low, high = band_of(counts, edges, noise, level)
    if _open(of.plan, low, high):
        at_open = [float(counts[i]) for i, end in ((0, low), (-1, high)) if math.isinf(end)]
        raise ValueError(_says_nothing(of, level, max(at_open, default=0.0), float(counts.sum())))
    return low, high


def _says_nothing(of: PrivateEvaluation, level: float, last: float, rows: float) -> str:
    """Why an interval would be the declared bounds, and what to do. last: the noisy count of the bar at an open end, of so many rows."""
    outside, plan = (1 - level) / 2, of.plan
    if last > outside * rows > FEWEST * of.all_rows.noise:
        apart = (
            "errors within one bar are not told apart, as a larger bins= does"
            if plan.error_share >= 1
            else f"errors beyond error_bound={plan.error_bound or 0.0:.6g} are not told apart, as a larger one does"
        )
        why = f"an interval of level {level:g} leaves {100 * outside:.3g} % of errors at each end, and the last bars hold more: {apart}."
    else:
        why = (
            f"too few {_counted_in(plan)} were measured, beside the noise, for an interval of level {level:g}: it would reach a declared bound of the "
            "target, nearly whatever is predicted."
        )
    ways = _enough(of, level)
    told = (
        f"Another evaluation gives level {level:g} in most runs with {', or with '.join(ways)}, as in evaluation=reg.evaluate(X, y, ...)"
        if ways
        else f"What would be enough for level {level:g} is not shown by these counts: neither how many {_counted_in(plan)}, nor which epsilon= or error_bound="
    )
    return f"{why} {_free(of, level)}{told}"


def _counted_in(plan: EvaluationPlan) -> str:
    """What a number of rows counts: of a unit one row is measured."""
    return "rows" if plan.domain.unit is None else "units"


def _enough(of: PrivateEvaluation, level: float) -> list[str]:
    """What gives an interval in most runs, as far as the counts can tell: more rows, a larger ε, a larger error bound, or the first and the last together."""
    plan, (labelled, off) = of.plan, of.all_rows.labelled
    if labelled <= FEWEST * off:
        return []

    def rows(wider: float = 1.0) -> float:
        return max(_LEAST, _CHANCE * less_noise(lambda times: _given(of, level, rows=times, wider=wider)))

    def named(times: float, wider: float = 1.0) -> str:
        bound = f"error_bound={wider * (plan.error_bound or 0.0):.6g}"
        many = f"about {float(up(times * plan.n, 2)):,.0f} {_counted_in(plan)}"
        return many if wider == 1 else bound if times == 1 else f"{many} and {bound}"

    ways, more = [], rows()
    if more <= _MOST:
        ways.append(named(more))
    less = less_noise(lambda times: _given(of, level, rows=1 / _CHANCE, less=times))
    larger = larger_epsilon(max(_LEAST, less), plan.epsilon, plan.delta)
    if larger <= MOST_NAMED:
        ways.append(f"epsilon={larger:.2g}")
    widths = [w for w in _WIDER if w * plan.error_share <= 1]
    if works := [w for w in widths if _given(of, level, rows=1 / _CHANCE, wider=w)]:
        ways.append(named(1.0, works[:2][-1]))  # the narrowest is only just wide enough
    else:
        both, wide = min(((rows(w), w) for w in widths), default=(math.inf, 1.0))
        if both <= min(_MOST, more / 2):
            ways.append(named(both, wide))
    return ways


def _given(
    of: PrivateEvaluation, level: float, rows: float = 1.0, less: float = 1.0, wider: float = 1.0
) -> bool:
    """Whether an evaluation of so many times as many rows, with so many times less noise and so many times the error bound, gives an interval in most runs: it
    must where all its tails and their number of rows are worse than the counts at hand by _WORSE deviations, of the noise and the chance of both evaluations."""
    edges, counts, noise = _counted(of)
    after, total, k = noise / less, rows * of.all_rows.labelled[0], len(edges)
    cells = np.arange(1.0, k + 1)

    def worst(tail: Floats, many: Floats, outer: Floats) -> Floats:
        """Noisy counts of tails over so many cells, as they may be there. outer: how far out of 0 their edges are, on this side."""
        seen = np.maximum(tail, 0.0) + 1.0  # no tail is known to be empty
        times = rows * np.where(outer > 0, wider**-_FALLS, 1.0)
        chance = times**2 * (seen + many * noise**2) + times * seen + many * after**2
        counted: Floats = times * seen + _WORSE * np.sqrt(chance)
        return np.where((outer > 0) | (wider == 1), counted, total)

    below, above = _tails(counts)
    tails = worst(below, cells, -edges), worst(above, cells[::-1], edges)
    fewest = total - _WORSE * after * math.sqrt(k + 1)
    return not _open(of.plan, *_ends(*tails, fewest, wider * edges, after, level))


def _free(of: PrivateEvaluation, level: float) -> str:
    """The largest smaller level that the same counts give, which costs nothing: a sentence."""
    edges, counts, noise = _counted(of)
    for smaller in _LEVELS:
        if smaller < level and not _open(of.plan, *band_of(counts, edges, noise, smaller)):
            return f"Level {smaller:g} is given by the counts at hand, at no cost. "
    return ""


def _counted(of: PrivateEvaluation) -> tuple[Floats, Floats, float]:
    """(edges, noisy counts, the deviation of their noise)."""
    edges = np.array([low for low, _, _ in of.residuals[1:]])
    return edges, np.array([count for _, _, count in of.residuals]), of.all_rows.noise


def ever_given(plan: EvaluationPlan, rows: float, noise: float, level: float = BAND_LEVEL) -> bool:
    """Whether a plan that counts errors by size gives an interval if so many rows all have an error near 0: then the tails are empty, and no other errors
    have shorter intervals (docs/proofs/evaluation.md)."""
    edges = (plan.error_bound or 0.0) * (2 * np.array(plan.edges) - 1)
    counts = np.zeros(len(edges) + 1)
    counts[np.searchsorted(edges, 0.0)] = rows
    return not _open(plan, *band_of(counts, edges, noise, level))


def _open(plan: EvaluationPlan, low: float, high: float) -> bool:
    """Whether an interval is open on a side, or the declared range for most predictions: for 7 of 10 that are spread evenly over it."""
    target = plan.domain.target
    assert target is not None
    whole = target.high - target.low
    return min(high, whole) + min(-low, whole) >= 2 * _ALL * whole or math.isinf(high - low)


def band_of(counts: Floats, edges: Floats, noise: float, level: float) -> tuple[float, float]:
    """The same of noisy counts (k + 1,) of the cells that edges (k,) part, each with this deviation of its noise."""
    return _ends(*_tails(counts), float(counts.sum()), edges, noise, level)


def _tails(counts: Floats) -> tuple[Floats, Floats]:
    """Of noisy counts (k + 1,) those below and above each edge (k,)."""
    return np.cumsum(counts)[:-1], np.cumsum(counts[::-1])[:-1][::-1]


def _ends(
    below: Floats, above: Floats, total: float, edges: Floats, noise: float, level: float
) -> tuple[float, float]:
    """`band_of` noisy counts of the tails, over 1 to k cells, and of all cells."""
    k = len(edges)
    each = _FAILURE / (
        2 * (2 * k + 1)
    )  # 2k tails and the number of rows, each by noise and by chance of the sample
    z = float(ndtri(1 - each))
    rows = math.floor(total - z * noise * math.sqrt(k + 1))
    off = z * noise * np.sqrt(np.arange(1.0, k + 1))

    def held(tail: Floats) -> Floats:
        """The edges beyond which at most this share of all people is."""
        return edges[_excluded(np.maximum(0.0, tail), rows, (1 - level) / 2, each)]

    low, high = held(below + off), held(above + off[::-1])
    return float(low.max(initial=-math.inf)), float(high.min(initial=math.inf))


def _excluded(count: Floats, rows: int, share: float, failure: float) -> NDArray[np.bool_]:
    """Where `count` or fewer of so many rows have at most this probability if they are a larger share of all people: Chernoff's bound."""
    seen = count / max(rows, 1)
    within = np.clip(seen, 1e-300, 1.0)
    rest = 1.0 - np.minimum(seen, share)
    apart = within * np.log(within / share) + rest * np.log(rest / (1 - share))
    return (rows > 0) & (seen < share) & (rows * apart >= math.log(1 / failure))
