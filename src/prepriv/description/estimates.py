"""Noisy numbers with error bars made from the noise alone, and what follows from a few noisy sums of a column.

A row of a numeric column is u in [-1, 1] (its bounds at the ends), or a gap. One sum releases three numbers of it: whether
there is a cell, u, and u^2 - 1/2, weighted so that replacing a row moves them no further than u alone would move: by 2.
Proof: docs/proofs/describe.md.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal, InvalidOperation

import numpy as np
from numpy.typing import NDArray

from prepriv._arrays import Floats
from prepriv._rounding import UP
from prepriv.guarantees.printed import measured
from prepriv.tables.written import DATES, TIMES, spelled

PRESENT, SQUARE = 1.5, 1.66  # weights of the two numbers beside u
IN_GROUPS = (
    0.8,
    1.2,
)  # the same where a replaced record can leave one group and enter another: rows of norm sqrt 2 at most
# The same where no record is replaced: it adds or takes a row of at most this norm. Fewer cells count for less than in IN_GROUPS.
ADDED, ADDED_SHIFT = (0.7, 1.0), math.sqrt(1.74) * UP
SHIFT = 2.0  # how far one record moves the sum, replaced, added or removed
SURE = 1.96  # deviations of a 95 % interval
OF_EDGES = 2.24  # the same of both ends of the interval of a quantile
_NOISE = 1 + 1e-3  # what coarsening and rounding add to the noise of a sum, more than enough


@dataclass(frozen=True)
class Estimate:
    """A noisy number with an interval.

    Parameters
    ----------
    value : float
        The number.
    low, high : float
        The ends of an interval that holds the number without noise with a chance of at least 95 %. Only the noise
        counts as random. nan where nothing can be said.
    written : str, default "number"
        How it is printed: as the cells of its column are written (`prepriv.Numeric`), or as a number of "days" or
        "hours".
    limits : (float, float), optional
        Between which the number is known to lie. Rounding for print does not leave them.

    Examples
    --------
    >>> from prepriv.description.estimates import Estimate
    >>> print(Estimate(500.0, 490.0, 510.0))
    500 (95 %: 490 to 510)
    >>> print(Estimate(18628.2, 18600.1, 18650.9, written="date"))
    2021-01-01 (95 %: 2020-12-04 to 2021-01-24)
    """

    value: float
    low: float
    high: float
    written: str = field(default="number", kw_only=True)
    limits: tuple[float, float] | None = field(default=None, kw_only=True, repr=False, compare=False)

    @staticmethod
    def around(value: float, half: float) -> Estimate:
        """value plus or minus half."""
        return Estimate(value, value - half, value + half)

    def within(self, low: float, high: float) -> Estimate:
        """The same estimate, where the number is known to lie between low and high.

        An estimate outside is moved to the nearer of the two, and its interval moves with it. If the interval were
        cut instead, it could become a single point, as if nothing were unknown.
        """
        value = min(max(self.value, low), high)
        ends = (
            min(self.low, value - (self.value - self.low)),
            max(self.high, value + (self.high - self.value)),
        )
        return Estimate(
            float(value), *(float(min(max(x, low), high)) for x in ends), limits=(float(low), float(high))
        )

    def read_as(self, written: str) -> Estimate:
        """The same, printed otherwise."""
        return replace(self, written=written)

    @property
    def error(self) -> float:
        """The longer half of the interval."""
        return max(self.value - self.low, self.high - self.value)

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        if math.isnan(self.value):
            return "too few to say"
        value, low, high = self.texts
        return f"{value} (95 %: {low} to {high})"

    @property
    def texts(self) -> tuple[str, str, str]:
        """The number and the ends of its interval as they are printed: rounded to what the width of the interval
        allows, the ends outward."""
        value, low, high = self.value, self.low, self.high
        if self.written not in TIMES or not all(map(math.isfinite, (value, low, high))):
            shown, *ends = (self._inside(text) for text in measured(value, low, high))
            return (shown if self.written == "number" else f"{shown} {self.written}", *ends)  # type: ignore[return-value]
        of_days = 1.0 if high - low >= 2 else 24.0 * 60
        step = 60.0 if self.written == "time" else of_days  # to minutes, or to days
        found = (round(value * step), math.floor(low * step), math.ceil(high * step))
        return tuple(str(spelled(x / step, self.written)) for x in found)  # type: ignore[return-value]

    def _inside(self, text: str) -> str:
        """A printed number, or the limit that its rounding passed."""
        low, high = self.limits or (-math.inf, math.inf)
        try:
            x = Decimal(text.replace(",", ""))
        except InvalidOperation:  # nan
            return text
        return f"{low:,.12g}" if x < low else f"{high:,.12g}" if x > high else text


def short_number(x: float) -> str:
    """A noisy number as a person reads it: four digits, or all in front of the point.

    >>> short_number(48211.7), short_number(0.123456), short_number(-3e9)
    ('48,212', '0.1235', '-3e+09')
    """
    return f"{x:,.0f}" if 1000 <= abs(x) < 1e7 else f"{x:.4g}"


def bin_edges(low: float, high: float, bins: int) -> tuple[float, ...]:
    """Edges of so many equal bins. Of whole bounds each is the number nearest to it, such as 3 of 0 to 10 in ten bins.

    >>> bin_edges(0, 1, 4), bin_edges(0, 10, 10)[3]
    ((0.0, 0.25, 0.5, 0.75, 1.0), 3.0)
    """
    i = np.arange(bins + 1)
    if max(abs(low), abs(high)) * bins > 1e300:
        return tuple((low + (high - low) * (i / bins)).tolist())
    return tuple(((low * (bins - i) + high * i) / bins).tolist())


def bin_numbers(unit: Floats, bins: int) -> NDArray[np.int64]:
    """In which of so many equal bins of [0, 1] each number lies. An edge is in the bin above it, although 0.29 * 100 is less than 29.

    >>> bin_numbers(np.array([0.0, 0.29, 0.57, 1.0]), 100).tolist()
    [0, 29, 57, 99]
    """
    return np.minimum(np.floor(np.round(unit * bins, 9)).astype(np.int64), bins - 1)


def edges_in_words(edges: Sequence[float], written: str = "number") -> list[str]:
    """Edges of bins as they are printed: with as many digits as the narrowest bin needs; of a column of dates the first day above each.

    >>> edges_in_words([1974, 1975.4, 1976.8]), edges_in_words([10_000, 10_010.0])
    (['1,974', '1,975.4', '1,976.8'], ['10,000', '10,010'])
    """
    if written in TIMES:
        return [str(spelled(float(math.ceil(x)) if written in DATES else x, written)) for x in edges]
    narrowest = min((b - a for a, b in itertools.pairwise(edges)), default=1.0)
    digits = max(0, math.ceil(-math.log10(max(narrowest, 1e-300) / 50)))
    return [
        f"{round(x, digits) + 0.0:,.{digits}f}".rstrip("0").rstrip(".") if digits else f"{x:,.0f}"
        for x in edges
    ]


NOTHING = Estimate(math.nan, math.nan, math.nan)


def moment_rows(u: Floats, weights: tuple[float, float] = (PRESENT, SQUARE)) -> Floats:
    """The three numbers of each row, (n, 3), of norm at most 2; u: NaN for a gap, which is a row of zeros."""
    there = ~np.isnan(u)
    u = np.where(there, u, 0.0)
    return np.column_stack([weights[0] * there, u, weights[1] * (u * u - 0.5) * there])


@dataclass(frozen=True)
class Moments:
    """What the noisy sum of `moment_rows` says. noise: its standard deviation, in each coordinate; n: how many rows there
    are, without an error where that is public."""

    total: tuple[float, float, float]
    noise: float
    n: Estimate
    weights: tuple[float, float] = (PRESENT, SQUARE)

    @property
    def present(self) -> Estimate:
        """How many cells are not gaps."""
        most = self.n.value if self.n.error == 0 < self.n.value else math.inf  # a noisy number limits nothing
        return Estimate.around(
            self.total[0] / self.weights[0], SURE * self.deviation / self.weights[0]
        ).within(0, most)

    @property
    def missing(self) -> Estimate:
        """The share of gaps among the rows: both numbers may be noisy."""
        n, there = self.n, self.present.value
        if n.value <= 2.5 * n.error:  # five deviations
            return NOTHING
        half = math.hypot(SURE * self.deviation / self.weights[0], there / n.value * n.error)
        return Estimate.around(1 - there / n.value, half / (n.value - n.error)).within(0, 1)

    @property
    def deviation(self) -> float:
        """Of the noise, with what the grid adds."""
        return self.noise * _NOISE

    @property
    def enough(self) -> bool:
        """Whether the cells stand out of the noise: a ratio of less says nothing."""
        return self.present.value > 5 * self.deviation

    @property
    def mean(self) -> Estimate:
        """Of u."""
        if not self.enough:
            return NOTHING
        count = self.present.value
        mean = min(max(self.total[1] / count, -1.0), 1.0)
        half = SURE * self.deviation / count * math.hypot(1.0, mean / self.weights[0])
        return Estimate.around(mean, half * self._ratio).within(-1, 1)

    @property
    def variance(self) -> Estimate:
        """Of u, around its mean, divided by the number of cells."""
        if not self.enough:
            return NOTHING
        count, mean = self.present.value, self.mean
        square = self.total[2] / self.weights[1] / count  # less one half
        value = square + 0.5 - mean.value**2
        parts = (1 / self.weights[1], 2 * mean.value, (2 * mean.value**2 - square) / self.weights[0])
        half = SURE * self.deviation / count * math.hypot(*parts)
        return Estimate.around(value, half * self._ratio + mean.error**2).within(0, 1)

    def sum(self, middle: float, reach: float) -> Estimate:
        """Of the cells, where u = -1 and 1 are middle - reach and middle + reach. A public number of rows limits that of cells,
        which takes no true number further away."""
        half = SURE * self.deviation * math.hypot(reach, middle / self.weights[0])
        return Estimate.around(middle * self.present.value + reach * self.total[1], half)

    @property
    def _ratio(self) -> float:
        # An interval for A / B by first order is short by a factor of 1 / (1 - e), e the relative error of B.
        return 1 / (1 - SURE * self.deviation / self.weights[0] / self.present.value)

    @property
    def spread(self) -> Estimate:
        """The standard deviation of u."""
        v = self.variance
        return NOTHING if math.isnan(v.value) else Estimate(*map(math.sqrt, (v.value, v.low, v.high)))


PAIR = math.sqrt(5.0)  # the weight of a pair that is there
PAIR_SHIFT = math.sqrt(8.0)  # how far one moves the sum
PAIR_IN_GROUPS = 1.0  # the same where a replaced record can change its group, or where none is replaced
PAIR_ADDED_SHIFT = 2.0  # how far one more or less moves the sum, at that weight


def pair_rows(u: Floats, v: Floats, weight: float = PAIR) -> Floats:
    """Four numbers of each pair of cells in [-1, 1], (n, 4): that both are there, u, v and u v; zeros where one is a gap."""
    there = ~(np.isnan(u) | np.isnan(v))
    u, v = np.where(there, u, 0.0), np.where(there, v, 0.0)
    return np.column_stack([weight * there, u, v, u * v])


def mean_half(n: float, noise: float, rows: Estimate, weights: tuple[float, float]) -> float:
    """Half of the interval of a mean of n cells in parts of its bounds, before a record is read: with all cells at one bound, where it is
    widest. Not a number where too few stand out of the noise. rows: as in `Moments`."""
    totals = [(weights[0] * n, u * n, weights[1] * n / 2) for u in (-1.0, 1.0)]
    return max(Moments(total, noise, rows, weights).mean.error for total in totals) / 2


@dataclass(frozen=True)
class Pairs:
    """What the noisy sum of `pair_rows` says. noise: its standard deviation, in each coordinate."""

    total: tuple[float, float, float, float]
    noise: float
    weight: float = PAIR

    @property
    def covariance(self) -> Estimate:
        """Of u and v, over the pairs, divided by their number; errors to first order, and the product of those of the means."""
        deviation = self.noise * _NOISE
        count = self.total[0] / self.weight
        if count <= 5 * deviation:
            return NOTHING
        u, v, product = (min(max(x / count, -1.0), 1.0) for x in self.total[1:])
        one = SURE * deviation / count
        half = one * math.hypot(1.0, u, v, (2 * u * v - product) / self.weight) / (1 - one / self.weight)
        return Estimate.around(product - u * v, half + one**2).within(-1, 1)


def difference_of(one: Estimate, two: Estimate) -> Estimate:
    """One number less another, whose noise is another: the interval is made of theirs (Zou and Donner 2008)."""
    low = math.hypot(one.value - one.low, two.high - two.value)
    high = math.hypot(one.high - one.value, two.value - two.low)
    value = one.value - two.value
    return Estimate(value, value - low, value + high)


def share_of(part: float, of: float, noise: float, of_noise: float) -> Estimate:
    """A noisy count over another one, whose noise is another; deviations of both."""
    if of <= 5 * of_noise:
        return NOTHING
    found = part / of
    half = SURE * math.hypot(noise, found * of_noise) / of / (1 - SURE * of_noise / of)
    return Estimate.around(found, half).within(0, 1)


def quantile_interval(
    value: float, below: float, off: float, counts: Floats, noise: float, edges: Floats
) -> Estimate:
    """Where the q-quantile lies: below = q n of the cells are under it. off: how many ranks the chosen value is off.

    counts: noisy, of the bins between `edges`; noise: their deviation. An edge is below the quantile where the cells
    under it are surely fewer than `below`, less what is unknown.
    """
    under = np.concatenate([[0.0], np.cumsum(counts)])
    unsure = OF_EDGES * noise * np.sqrt(np.arange(len(under))) + off
    low = edges[np.flatnonzero(under + unsure < below)[-1:]]
    high = edges[np.flatnonzero(under - unsure > below)[:1]]
    ends = (float(low[0]) if len(low) else float(edges[0]), float(high[0]) if len(high) else float(edges[-1]))
    return Estimate(value, min(ends[0], value), max(ends[1], value))


def quantile_half(
    n: float, level: float, *, ranks: float, unsure: float, inside: float, noise: float, bins: int
) -> float:
    """Half of the interval of a quantile, by ranks and in parts of n cells, before a record is read: as `quantile_interval` makes it, where it is
    widest, at the last edge between two of the bins. Infinite where the bins are so few that any interval is half as wide as the bounds.

    ranks: how many the chosen value is off. unsure: how many cells there are more or less. inside: how far inside of an end a least or a
    largest number is sought. noise: the deviation of that of a bin.
    """
    if bins < 3:
        return math.inf
    return (ranks + unsure + inside * (level in (0.0, 1.0)) + OF_EDGES * noise * math.sqrt(bins - 1)) / n
