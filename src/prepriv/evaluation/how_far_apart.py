"""How far apart two candidates have to be for a choice to take the better one nearly always: from the plan alone. No record is read."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtr

from prepriv.adjacency import rows_changed
from prepriv.guarantees.printed import measured_alone, up
from prepriv.release.advice import quantile_of
from prepriv.runs.chosen import DIFFERENCE_SHARE, ERROR_SHARE, Chosen, tried

_NEARLY_ALWAYS = 0.95
_SURE = 1.645  # deviations that a normal number is above in 5 of 100 cases
_FAR = 0.05  # of what a record can count, for each record: from here on it is warned of
_GRID = np.linspace(-9.0, 9.0, 3601)


def records_apart(chosen: Chosen) -> float:
    """By how many whole records the best candidate has to be ahead of all others: the noise then leaves it 95 of 100 choices. With random trials, of those
    in which it is tried."""
    others = len(chosen.plans) - 1
    if chosen.stop is None:
        odds = _NEARLY_ALWAYS / (1 - _NEARLY_ALWAYS)
        return rows_changed(chosen.domain.adjacency) * math.log(odds * others) / chosen.epsilon
    low, high = 0.0, 1.0
    while _best_leaves(high, others + 1, chosen.stop) < _NEARLY_ALWAYS:
        low, high = high, 2 * high
    for _ in range(30):
        middle = (low + high) / 2
        enough = _best_leaves(middle, others + 1, chosen.stop) >= _NEARLY_ALWAYS
        low, high = (low, middle) if enough else (middle, high)
    return high / chosen.epsilon


def _best_leaves(ahead: float, candidates: int, stop: float) -> float:
    """The chance that the best of random trials is of the candidate that is ahead by so many deviations of the noise, where it is tried."""
    y = _GRID + ahead
    below = (ndtr(y - ahead) + (candidates - 1) * ndtr(y)) / candidates
    density = np.exp(-np.square(_GRID) / 2) / math.sqrt(2 * math.pi) / candidates
    chance = float((stop / np.square(1 - (1 - stop) * below) * density).sum() * (_GRID[1] - _GRID[0]))
    return chance * (1 + stop * (candidates - 1))


def _counts(chosen: Chosen) -> float:
    """What a record counts at most: percentage points of all that are compared on, or in the unit of the number."""
    target = chosen.domain.target
    if target is None:
        return 100.0
    return (DIFFERENCE_SHARE if chosen.stop is None else ERROR_SHARE) * (target.high - target.low)


def _compared(n: int, holdout: float) -> int:
    return max(round(holdout * n), 1)


def _in_unit(chosen: Chosen, share: float) -> str:
    said = measured_alone(share * _counts(chosen), 2)
    return f"{said} percentage points" if chosen.domain.target is None else said


def apart_in_words(chosen: Chosen, n: int, holdout: float) -> str:
    """How far apart, for the choice that was made or will be: noise, and by chance of the records."""
    rows = _compared(n, holdout)
    share = records_apart(chosen) / rows
    noun = "records" if chosen.domain.unit is None else "units"
    level = quantile_of(chosen.plans[0])
    of = (
        "accuracy"
        if chosen.domain.target is None
        else "mean absolute error"
        if level in (None, 0.5)
        else "mean pinball loss"
    )
    where = ""
    if chosen.stop is not None:
        where = f", if it is tried (a chance of {100 * tried(len(chosen.plans)):.0f} %)"
    if share >= 1:
        first = f"No difference of {of} is large enough for the noise to leave the better candidate 95 of 100 choices{where}, with about {rows:,} {noun} to compare on."
    else:
        first = (
            f"The noise leaves the better candidate 95 of 100 choices{where}, if its {of} on the about {rows:,} {noun} that compare is better "
            f"by {_in_unit(chosen, share)}"
        )
        first += "." if len(chosen.plans) == 2 else " than that of any other."
    cut = ""
    if chosen.domain.target is not None:
        what = "A difference of two errors on one record" if chosen.stop is None else "An error"
        cut = f" {what} counts up to {measured_alone(_counts(chosen), 3)}."
    chance = _SURE / math.sqrt(rows)
    drawn = f" Which {noun} compare is chance, too: in 95 of 100 cases it takes at most {_in_unit(chosen, min(chance, 1.0))} from a difference"
    if chosen.domain.target is None:
        drawn += (
            f", and {_in_unit(chosen, chance * math.sqrt(0.1))} where one alone is right on 1 of 10 {noun}."
        )
    else:
        drawn += (
            ", and less the nearer the errors of the two are to each other."
            if chosen.stop is None
            else ", and as a rule far less."
        )
    return first + cut + drawn


def far_apart_in_words(chosen: Chosen, n: int, holdout: float) -> str:
    """That and what brings them nearer, where the distance is large; "" where it is not."""
    rows = _compared(n, holdout)
    apart = records_apart(chosen)
    if apart <= _FAR * rows:
        return ""
    noun = "records" if chosen.domain.unit is None else "units"
    levers = ["a larger epsilon", f"more {noun}", "a larger holdout"]
    if len(chosen.plans) > 2:
        levers.append("fewer candidates")
    narrower = (
        ""
        if chosen.domain.target is None
        else "narrower bounds of the target, if you know them without the table, "
    )
    enough = float(up(apart / (_FAR * holdout), 2))
    return (
        f"{apart_in_words(chosen, n, holdout)} Candidates that are nearer to each other are chosen among by chance, or nearly so. What helps: {narrower}"
        f"{', '.join(levers[:-1])} or {levers[-1]}. From about {enough:,.0f} {noun} in the table on it would be {_in_unit(chosen, _FAR)}"
    )
