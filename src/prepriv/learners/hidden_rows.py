"""Moved rows of a Poisson batch that stays hidden: a random group of them is shown, not whether it was drawn.

Showing which moved rows are in a batch gives away that they are; here a group is shown that is in the batch with probability
r only, and r is chosen by size. Proof: docs/proofs/hidden_rows.md. Lengths in units of the clip norm, noise is z times it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from prepriv._arrays import Floats
from prepriv._rounding import FAR_UP
from prepriv.guarantees.gaussian import delta_upper
from prepriv.guarantees.mixtures.mixture import Mixture
from prepriv.guarantees.subsampling import (
    LARGEST_SHIFT,
    DenseTradeoff,
    GaussianMixture,
    PoissonMoved,
    PoissonReplace,
    moved_delta,
    transitive,
)
from prepriv.guarantees.tradeoff import TradeoffFunction
from prepriv.learners.count_tails import binomial_tail


@dataclass(frozen=True)
class Moved:
    """How many rows moved or were dropped, each by at most `each`, all by `total`; rounding: what a sum can move besides."""

    rows: int
    each: float
    total: float
    rounding: float


MOST_DRAWN = 8.0  # moved rows in a batch, in the mean: with more of them hiding gains nothing
ORDER = 2.0  # of the moment by which r is chosen: any choice is valid
_ALL = 1.0 - 1e-6  # of the mass, given to groups
_SIZES = (1, 2, 3, 4, 5, 6, 8, 10, 13, 18, 28)  # groups of sizes between two of these count as the larger
_RATES = np.geomspace(1e-6, 1.0, 49)
_EPSILONS = np.concatenate([np.zeros(1), np.geomspace(1e-4, 30.0, 160)])


def hidden_curve(moved: Moved, noise: float, rate: float) -> TradeoffFunction | None:
    """The curve of one Poisson batch; None where hiding gains nothing."""
    rows = moved.rows
    if not rows or rows * rate > MOST_DRAWN or rate >= 0.5:
        return None
    sizes, weights, beyond = _groups(rows, rate)
    reach = (sizes + moved.rounding) / noise
    apart = (np.minimum(np.minimum(sizes * moved.each, moved.total), 2.0 * sizes) + moved.rounding) / noise
    record = PoissonReplace(1.0 / noise, rate)
    chosen = _chosen(weights, _deltas(reach, apart), record._delta(_EPSILONS))
    shares = weights / chosen
    alone = 1.0 - math.fsum(shares) - beyond
    if (chosen == 1.0).all() or alone < 0.0:
        return None
    rest = (min(rows * moved.each, moved.total) + moved.rounding) / noise
    groups = [
        PoissonMoved(far, near, float(r)) if r < 1.0 else _shown(near)
        for r, far, near in zip(chosen, reach, apart)
    ]
    lines = record.dense_lines()
    curves = [transitive(group.dense_lines(), lines) for group in (*groups, _shown(rest))]
    return Mixture((record, *curves), (alone * FAR_UP, *map(float, shares), beyond))


def _shown(shift: float) -> DenseTradeoff:
    return GaussianMixture(np.array([max(shift, 1e-12)]), np.ones(1))


def _groups(rows: int, rate: float) -> tuple[Floats, Floats, float]:
    """(largest size of each group of sizes, P(a batch draws so many), P(it draws more)), rounded up."""
    below, weights, largest = 0, [], []
    p = math.exp(rows * math.log1p(-rate))
    for size in _SIZES:
        mass = 0.0
        for n in range(below + 1, min(size, rows) + 1):
            p *= (rows - n + 1) * rate / (n * (1.0 - rate))
            mass += p
        if mass == 0.0:
            break
        weights.append(mass * FAR_UP)
        largest.append(float(min(size, rows)))
        below = size
    left = float(binomial_tail(np.array([largest[-1]]), rows, rate)[0]) if below < rows else 0.0
    return np.array(largest), np.array(weights), left


def _deltas(reach: Floats, apart: Floats) -> Floats:
    """δ of a group of each size in a batch with each probability r, (sizes, rates, epsilons); 1 where r has to be 1."""
    made = np.ones((len(reach), len(_RATES), len(_EPSILONS)))
    for i, (far, near) in enumerate(zip(reach, apart)):
        if far <= LARGEST_SHIFT:
            made[i] = moved_delta(far, near, _RATES[:, None], _EPSILONS)
        else:
            made[i, -1] = delta_upper(near, _EPSILONS)
    return made


def _chosen(weights: Floats, deltas: Floats, record: Floats) -> Floats:
    """r of each size: least sum of (weight / r) times what the moments of its curve add, sum of weight / r at most 1."""
    growth = np.exp((ORDER - 1.0) * _EPSILONS)  # of Rényi moments, from δ: a guide, no bound
    alone = math.sqrt(np.trapezoid(record * growth, _EPSILONS))
    added = (np.sqrt(np.trapezoid(deltas * growth, _EPSILONS)) + alone) ** 2 - alone**2

    def best(price: float) -> Floats:
        return np.asarray(_RATES[np.argmin((added + price) / _RATES, axis=1)])

    low, high = 1e-12, 1e6 * max(1e6, float(added.max()))  # so dear that every r is 1
    for _ in range(80):
        price = math.sqrt(low * high)
        low, high = (low, price) if (weights / best(price)).sum() <= _ALL else (price, high)
    chosen = best(high)
    if high < 1e-11:  # less than all of the mass is best
        return chosen
    hidden = chosen < 1.0
    room = _ALL - (weights / chosen)[~hidden].sum()
    chosen[hidden] *= (weights / chosen)[hidden].sum() / room  # the grid of rates leaves some
    # A group is in the batch with probability 1 at most, whatever was chosen above.
    return np.minimum(chosen, 1.0)
