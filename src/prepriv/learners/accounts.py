"""What T noisy batches cost when, besides the replaced record, common rows have moved.

A batch holds a random few of the moved rows, so the shift h of its sum is random: its law is bounded here,
and four certified ways turn law and sampling pair into parts to compose: splitting the noise between the two
shifts, transitivity, transitivity for each batch of moved rows, shown, or hidden (`hidden_rows`). All lengths are in units of the clip norm C, noise is z·C. Proof:
docs/proofs/stochastic.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from prepriv._arrays import Floats
from prepriv._rounding import FAR_UP
from prepriv.adjacency import Adjacency, n_is_public
from prepriv.guarantees.loss_distribution import Part, compose
from prepriv.guarantees.mixtures.mixture import Mixture
from prepriv.guarantees.subsampling import (
    DenseTradeoff,
    GaussianMixture,
    PoissonRemove,
    PoissonReplace,
    SubsampledWithoutReplacement,
    transitive,
)
from prepriv.guarantees.tradeoff import TradeoffFunction
from prepriv.learners.count_tails import binomial_tail, hypergeometric_tail
from prepriv.learners.hidden_rows import Moved, hidden_curve

_SMALLEST_TAIL = 1e-18
_MOST_SHOWN = 40  # shifts of a batch that are told apart where its rows are shown
_CHERNOFF = 2.0**-43  # relative error of the two halves of its exponent: θ·a ≤ 300 rounded, expm1, log1p


@dataclass(frozen=True)
class MovedRows:
    """Common rows that differ between the two data sets, in units of the clip norm.

    count: how many rows moved; each, total: the most that one of their gradients moves, and all together.
    dropped: rows present in only one of the two. rounding: what rounding a batch sum can add.
    """

    count: int = 0
    each: float = 0.0
    total: float = 0.0
    dropped: int = 0
    rounding: float = 0.0

    def __post_init__(self) -> None:
        if not all(x >= 0 for x in (self.count, self.each, self.total, self.dropped, self.rounding)):
            raise ValueError(f"moved rows need numbers >= 0; got {self}")

    @property
    def any(self) -> bool:
        """Whether anything but the one record differs."""
        return self.count > 0 or self.dropped > 0

    @property
    def largest(self) -> float:
        """The most that one common row's contribution differs."""
        return max(self.each if self.count else 0.0, 1.0 if self.dropped else 0.0)

    def excess(self, theta: Floats) -> Floats:
        """Upper bound of Σ (e^{θ a_i} − 1) over the rows' shifts a_i, by convexity in each a_i."""
        result = np.zeros_like(theta)
        if self.count and self.each > 0.0:
            result += min(float(self.count), self.total / self.each) * np.expm1(theta * self.each)
        if self.dropped:
            result += self.dropped * np.expm1(theta)
        return result


def poisson_shift_law(moved: MovedRows, rate: float) -> tuple[Floats, Floats]:
    """(shifts, weights) that dominate the shift of a Poisson batch of the common rows."""
    rows = moved.count + moved.dropped
    return _law(
        moved,
        most=min(moved.total, moved.count * moved.each) + moved.dropped,
        log_moment=lambda theta: rate * moved.excess(theta),  # log(1 + q(e^{θa} − 1)) ≤ q(e^{θa} − 1)
        count_tail=lambda k: binomial_tail(k, rows, rate),
    )


def batch_shift_law(moved: MovedRows, batch: int, n: int) -> tuple[Floats, Floats]:
    """(shifts, weights) that dominate the shift of `batch` of the n − 1 common rows, without replacement."""
    rows, others = min(moved.count + moved.dropped, n - 1), max(n - 1, 1)
    drawn = min(batch, others)
    most = min(moved.total, moved.count * moved.each) + moved.dropped
    return _law(
        moved,
        most=min(most, drawn * moved.largest),
        # Hoeffding 1963: sampling without replacement is below sampling with it in convex order.
        log_moment=lambda theta: drawn * np.log1p(moved.excess(theta) / others),
        count_tail=lambda k: hypergeometric_tail(k, others, rows, drawn),
    )


def _law(
    moved: MovedRows,
    most: float,
    log_moment: Callable[[Floats], Floats],
    count_tail: Callable[[Floats], Floats],
) -> tuple[Floats, Floats]:
    """A discrete law that is stochastically above the shift h of a batch.

    P(h > t) is at most the probability that more than t/largest rows are drawn, and at most e^{K(θ) − θt}
    (Chernoff). The mass between two points goes to the upper one.
    """
    if not moved.any:
        return np.zeros(1), np.ones(1)
    big = moved.largest
    points = np.concatenate([big * np.arange(65) * (1 + 1e-6), np.linspace(0.0, most, 2049)])
    points = np.unique(points[points <= most])
    theta = np.geomspace(1e-4, 300.0, 400) / big
    moments = log_moment(theta) * (1 + _CHERNOFF)
    chernoff = np.min(moments[None, :] - theta[None, :] * points[:, None] * (1 - _CHERNOFF), axis=1)
    counted = count_tail(np.maximum(np.floor(points / big * (1 - 1e-15) - 1e-9), 0.0))
    tail = np.minimum(np.minimum(counted, np.exp(np.minimum(chernoff, 0.0)) * FAR_UP), 1.0)
    tail = np.minimum.accumulate(tail)
    shifts, weights, above = [], [], 1.0
    for point, beyond in zip(points, tail):
        if beyond <= 0.8 * above:
            shifts.append(float(point))
            weights.append(above - float(beyond))
            above = float(beyond)
            if above < _SMALLEST_TAIL:
                break
    if above > 0.0:
        shifts.append(most)
        weights.append(above)
    return np.array(shifts), np.array(weights)


def poisson_parts(
    noise_multiplier: float,
    rate: float,
    steps: int,
    adjacency: Adjacency,
    moved: MovedRows = MovedRows(),
    delta: float = 1e-6,
) -> tuple[Part, ...]:
    """What T Poisson batches cost, as parts to compose; symmetrize after composition.

    delta: where the smaller of the two ways round moved rows is chosen; each is valid at every delta.
    """
    shift = 1.0 / noise_multiplier
    if not n_is_public(adjacency):
        if moved.any:
            raise ValueError("rows moved by a step paid for by sensitivity need adjacency replace-one")
        return ((PoissonRemove(shift, rate), steps),)
    if not moved.any:
        return ((PoissonReplace(shift, rate), steps),)
    law = poisson_shift_law(moved, rate)
    # 2(e^{m²} − e^{−m²})q² is the χ² of the pair from its centre: only to choose how noise is split.
    return _smaller(
        law,
        moved.rounding,
        noise_multiplier,
        steps,
        delta,
        leg=lambda scale: PoissonReplace(shift * scale, rate),
        split_leg=lambda scale: PoissonReplace(shift * scale, rate),
        cost=lambda scale: 4.0 * rate**2 * math.sinh(min((shift * scale) ** 2, 300.0)),
        independent=True,
        hidden=hidden_curve(_all_moved(moved), noise_multiplier, rate),
    )


def _all_moved(moved: MovedRows) -> Moved:
    most = min(moved.total, moved.count * moved.each) + moved.dropped
    return Moved(math.ceil(moved.count) + moved.dropped, moved.largest, most, moved.rounding)


def without_replacement_parts(
    noise_multiplier: float,
    batch: int,
    n: int,
    steps: int,
    moved: MovedRows = MovedRows(),
    delta: float = 1e-6,
) -> tuple[Part, ...]:
    """What T batches of `batch` of n records cost under replace-one, as parts to compose."""
    shift, rate = 2.0 / noise_multiplier, min(1.0, batch / n * (1.0 + 1e-15))
    if not moved.any:
        return ((SubsampledWithoutReplacement(shift, rate), steps),)
    # The row that takes the record's place in the batch may have moved as well.
    split_shift = (2.0 + moved.largest) / noise_multiplier
    return _smaller(
        batch_shift_law(moved, batch, n),
        moved.rounding,
        noise_multiplier,
        steps,
        delta,
        leg=lambda scale: SubsampledWithoutReplacement(shift * scale, rate),
        split_leg=lambda scale: SubsampledWithoutReplacement(split_shift * scale, rate),
        cost=lambda scale: 2.0 * rate**2 * math.expm1(min((split_shift * scale) ** 2, 300.0)),
    )


def _smaller(
    law: tuple[Floats, Floats],
    rounding: float,
    noise_multiplier: float,
    steps: int,
    delta: float,
    *,
    leg: Callable[[float], DenseTradeoff],
    split_leg: Callable[[float], DenseTradeoff],
    cost: Callable[[float], float],
    independent: bool = False,
    hidden: TradeoffFunction | None = None,
) -> tuple[Part, ...]:
    """The cheapest at `delta` of splitting the noise, going through a third law, and showing which rows were drawn.

    independent: whether the record is drawn independently of the moved rows, which the last one needs. hidden: a
    further curve of one batch.
    """
    shifts, weights = (law[0] + rounding) / noise_multiplier, law[1]
    square = float(weights @ shifts**2)
    shares = np.geomspace(1e-4, 0.98, 120)
    costs = [square / share + cost(1.0 / math.sqrt(1.0 - share)) for share in shares]
    share = float(shares[int(np.argmin(costs))])
    split: tuple[Part, ...] = (
        (GaussianMixture(shifts / math.sqrt(share), weights), steps),
        (split_leg(1.0 / math.sqrt(1.0 - share)), steps),
    )
    third: tuple[Part, ...] = (
        (transitive(GaussianMixture(shifts, weights).dense_lines(), leg(1.0).dense_lines()), steps),
    )
    ways = [split, third]
    if independent:
        ways.append(((_shown(shifts, weights, leg(1.0)), steps),))
    if hidden is not None:
        ways.append(((hidden, steps),))

    def epsilon(parts: tuple[Part, ...]) -> float:
        try:
            return float(compose(parts).epsilon(delta))
        except ValueError:  # losses too far apart for one grid
            return math.inf

    return min(ways, key=epsilon)


def _shown(shifts: Floats, weights: Floats, record: DenseTradeoff) -> Mixture:
    """The moved rows of a batch shown: for each shift h of its sum, T through a third law of G_h and the record's curve."""
    shifts, weights = _coarser(shifts, weights)
    lines = record.dense_lines()
    curves = [
        transitive(GaussianMixture(np.array([h]), np.ones(1)).dense_lines(), lines) if h > 0 else record
        for h in shifts
    ]
    return Mixture(tuple(curves), tuple(float(w) * FAR_UP for w in weights))


def _coarser(shifts: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """The law on at most `_MOST_SHOWN` of its points: what lies between two of them goes to the upper one."""
    kept = np.unique(np.linspace(0, len(shifts) - 1, min(_MOST_SHOWN, len(shifts))).round().astype(int))
    upper = np.searchsorted(kept, np.arange(len(shifts)))
    return shifts[kept], np.asarray(
        np.bincount(upper, weights=weights, minlength=len(kept)), dtype=np.float64
    )
