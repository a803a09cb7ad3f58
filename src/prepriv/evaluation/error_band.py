"""Intervals of predictions, from the noisy counts of errors of an evaluation: post-processing. Proof: docs/proofs/evaluation.md."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
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
_SEEN, _UNLUCKY = (
    2.0,
    1.3,
)  # deviations of noise below which a bar is taken to be empty; noise of a run that is not the best
_CHANCE = 1.25  # times as many rows: which rows are drawn moves an end, too
_ALL = 0.85  # of the declared range: an interval that is as wide on either side says nothing


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
    wider = plan.error_share < 1 and ever_given(plan, float(plan.n), _UNLUCKY * of.all_rows.noise, level)
    if last > outside * rows > FEWEST * of.all_rows.noise and (wider or plan.error_share >= 1):
        finer, why = (
            ("error_bound", f"errors beyond error_bound={plan.error_bound or 0.0:.6g}")
            if wider
            else ("bins", "errors within one bar")
        )
        return (
            f"an interval of level {level:g} leaves {100 * outside:.3g} % of errors at each end, and the last bars hold "
            f"more: {why} are not told apart. Evaluate other rows with a larger {finer}=, as in "
            f'evaluation=reg.evaluate(X, y, measures="residuals", {finer}=...), or ask for a smaller level'
        )
    ways = _enough(of, level)
    if wider and last > outside * rows / 2:
        ways.append("a larger error_bound=")
    told = f"Enough, if errors are as measured: {', or '.join(ways)}" if ways else "More rows give it"
    if not ways and plan.error_share < 1 and last > outside * rows / 2:
        told = "More rows together with a larger error_bound= give it"
    return (
        f"too few rows were measured, beside the noise, for an interval of level {level:g}: it would reach a declared bound of the "
        f"target, nearly whatever is predicted. {told}, in evaluation=reg.evaluate(X, y, ...).{_free(of, level)}"
    )


def _enough(of: PrivateEvaluation, level: float) -> list[str]:
    """How many rows at this ε, and which ε with these rows, would give an interval in most runs, if errors are as measured: none that is not."""
    edges, counts, noise = _counted(of)
    seen, plan = np.where(counts < _SEEN * noise, 0.0, counts), of.plan
    if not seen.any():
        return []
    shares, rows = seen / seen.sum(), float(plan.n)

    def given(times: float, less: float) -> bool:
        return not _open(of.plan, *band_of(times * rows * shares, edges, _UNLUCKY * noise / less, level))

    ways = []
    if (more := less_noise(lambda times: given(times, 1.0))) < math.inf:
        ways.append(f"about {float(up(_CHANCE * more * rows, 2)):,.0f} rows")
    larger = larger_epsilon(less_noise(lambda times: given(1.0, times)), plan.epsilon, plan.delta)
    return [*ways, f"epsilon={larger:.2g}"] if larger <= MOST_NAMED else ways


def _free(of: PrivateEvaluation, level: float) -> str:
    """The largest smaller level that the same counts give, which costs nothing: a sentence."""
    edges, counts, noise = _counted(of)
    for smaller in _LEVELS:
        if smaller < level and not _open(of.plan, *band_of(counts, edges, noise, smaller)):
            return f" Level {smaller:g} is given by the counts at hand, at no cost"
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
    """Whether an interval is nearly the declared range, on a side or in all."""
    target = plan.domain.target
    assert target is not None
    return min(high, -low) >= _ALL * (target.high - target.low) or math.isinf(high - low)


def band_of(counts: Floats, edges: Floats, noise: float, level: float) -> tuple[float, float]:
    """The same of noisy counts (k + 1,) of the cells that edges (k,) part, each with this deviation of its noise."""
    k = len(edges)
    each = _FAILURE / (
        2 * (2 * k + 1)
    )  # 2k tails and the number of rows, each by noise and by chance of the sample
    z = float(ndtri(1 - each))
    rows = math.floor(counts.sum() - z * noise * math.sqrt(k + 1))
    below, above = np.cumsum(counts)[:-1], np.cumsum(counts[::-1])[:-1][::-1]
    cells = np.arange(1.0, k + 1)

    def share(tail: Floats, many: Floats) -> Floats:
        """The most that a tail may hold of all people, by its noisy count over this many cells."""
        return np.array(
            [_most(max(0.0, t + z * noise * math.sqrt(m)), rows, each) for t, m in zip(tail, many)]
        )

    least, outside = share(below, cells), (1 - level) / 2
    most = share(above, cells[::-1])
    low = [float(e) for e, p in zip(edges, least) if p <= outside]
    high = [float(e) for e, p in zip(edges, most) if p <= outside]
    return (max(low) if low else -math.inf), (min(high) if high else math.inf)


def _most(count: float, rows: int, failure: float) -> float:
    """The largest share p of people for which `count` or fewer of so many rows have probability `failure`: Chernoff's bound."""
    seen = count / rows if rows > 0 else 1.0
    if seen >= 1:
        return 1.0
    low, high = seen, 1.0
    for _ in range(60):
        p = (low + high) / 2
        if p >= 1.0:  # too few rows to exclude any share
            return 1.0
        apart = (seen * math.log(seen / p) if seen else 0.0) + (1 - seen) * math.log((1 - seen) / (1 - p))
        low, high = (p, high) if rows * apart < math.log(1 / failure) else (low, p)
    return high
