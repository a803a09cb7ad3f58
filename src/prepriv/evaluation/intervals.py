"""Intervals for figures made of noisy counts: the noise is known exactly, the sampling variance is estimated.

A figure is the root of a statistic T that is linear in it and made of noisy counts; the interval is the set of all
values t with T(t)^2 <= z^2 V(t), V being the variance that T has if t is true (Fieller 1954; Wilson 1927). Both sides are
quadratic in t. Proof and measured coverage: docs/proofs/evaluation.md, docs/evaluate.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtri

from prepriv._arrays import Floats
from prepriv.guarantees.printed import measured

LEVEL = 0.95
_MADE_AT = 0.97  # so that what is approximate (normal counts, estimated variances) leaves LEVEL
Z_SQUARED = float(ndtri(0.5 + _MADE_AT / 2)) ** 2
# Of a mean over groups, printed only where the noise leaves the smallest group large: that prefers some noise to other.
_CHOSEN_Z_SQUARED = float(ndtri(0.5 + 0.985 / 2)) ** 2
_STEP, _MOST_STEPS = 1.05, 95  # numbers of rows that are tried: up to a hundred times as many
FEWEST = 4.0  # a number of rows below so many deviations of its noise is no denominator


@dataclass(frozen=True)
class Figure:
    """One number, with an interval that holds its true value with probability LEVEL at least.

    The true value is that of the people whom the test rows are a sample of. noise, sampling: standard deviations, of the
    noise that was added and of drawing the rows, or upper limits of them: of a mean, sampling is that of the most spread numbers that
    what was released allows. value None: refused, too few rows beside the noise; then so are the rest.
    """

    name: str
    value: float | None = None
    low: float | None = None
    high: float | None = None
    noise: float | None = None
    sampling: float | None = None

    def __str__(self) -> str:
        return f"{self.name}: {self.interval}"

    @property
    def interval(self) -> str:
        """The value and its interval, or why there is none."""
        if self.value is None:
            return f"refused, {self._why}"
        value, low, high, *_ = self._printed
        return f"{value} [{low}, {high}]"

    @property
    def length(self) -> float | None:
        """Of its interval; None where it is refused."""
        return None if self.low is None or self.high is None else self.high - self.low

    @property
    def cells(self) -> tuple[str, str, str, str, str]:
        """(name, value, 95 % interval, noise, sampling) as texts."""
        if self.value is None:
            return self.name, "refused", self._why, "", ""
        value, low, high, noise, sampling = self._printed
        return self.name, value, f"{low} to {high}", noise, sampling

    @property
    def _why(self) -> str:
        """Why it is refused: R² compares errors, and not numbers of rows, with the noise."""
        return (
            "too small errors of the mean beside the noise"
            if self.name == "R2"
            else "too few rows beside the noise"
        )

    @property
    def _printed(self) -> tuple[str, ...]:
        numbers = (self.value, self.low, self.high, self.noise, self.sampling)
        return measured(*(x or 0.0 for x in numbers))


def share(
    name: str,
    hits: Sequence[float] | Floats,
    rest: Sequence[float] | Floats,
    noise: float,
    *,
    inside: float = 0.0,
    signed: bool = False,
) -> Figure:
    """Hits over all, from noisy counts of either kind, each with noise of this deviation.

    inside, signed: as in `share_of_n`.
    """
    yes, no = np.asarray(hits, np.float64), np.asarray(rest, np.float64)
    rows, cells = float(yes.sum() + no.sum()), yes.size + no.size
    if rows < FEWEST * noise * math.sqrt(cells):
        return Figure(name)
    return _mean(
        name,
        (float(yes.sum()), float(no.sum())),
        lambda t: noise**2 * ((1 - t) ** 2 * yes.size + t**2 * no.size),
        inside,
        signed=signed,
    )


def mean_of(name: str, counts: Floats, values: Floats, noise: float) -> Figure:
    """Mean of a value that each cell gives its rows, from noisy counts of the cells."""
    rows, held = float(counts.sum()), np.maximum(counts, 0.0)
    if rows < FEWEST * noise * math.sqrt(counts.size):
        return Figure(name)
    return figure(
        name,
        lambda t: float(counts @ (values - t)),
        lambda t: noise**2 * float(((values - t) ** 2).sum()),
        lambda t: float(held @ (values - t) ** 2),
        low=-1.0,
    )


def share_of_n(
    name: str, counts: Floats, n: int, noise: float, *, inside: float = 0.0, signed: bool = False
) -> Figure:
    """The same as `share` of (hits, misses, neither) that add up to a public n: the part of the noise that breaks the sum is taken out.

    For a mean of numbers v in [0, 1] (`mechanisms.split`), t (1 - t) is the largest variance they can have. inside: a number that the
    mean of v (1 - v) is not below: their variance is t (1 - t) less that mean. signed: whether numbers around 1/2 are the small ones, so
    that a mean which is farther from the estimate, by large numbers that no row has, is one of a larger variance.
    """
    hits, misses, neither = (float(x) for x in counts - (counts.sum() - n) / 3)
    if n - neither < FEWEST * noise * math.sqrt(2 / 3):
        return Figure(name)
    return _mean(
        name,
        (hits, misses),
        lambda t: noise**2 * ((1 - t) ** 2 + t**2 - (1 - 2 * t) ** 2 / 3),
        inside,
        signed=signed,
    )


def _mean(
    name: str,
    sums: tuple[float, float],
    of_noise: Callable[[float], float],
    inside: float,
    *,
    signed: bool = False,
) -> Figure:
    """Hits over all, from their noisy sums. inside, signed: see `share_of_n`.

    Where it is given, the variance is taken at each t and at the estimate: below the estimate that at t is too small, since what is
    inside grows with the estimate; above it that of the estimate is, where few numbers are large.
    """
    hits, rows = sums[0], sum(sums)
    at = hits / rows
    can_be = max(0.0, min(inside, at * (1 - at)))  # whatever noise says

    def made(of_sampling: Callable[[float], float]) -> Figure:
        return figure(name, lambda t: (1 - t) * hits - t * sums[1], of_noise, of_sampling)

    def on_side(side: int) -> Figure:
        return made(lambda t: rows * (t * (1 - t) - can_be + side * (t - at) / 2))

    if signed:  # an error of size 1 that no row has: r^2 grows by no more than |r|
        below, above = on_side(-1), on_side(1)
        return Figure(name) if None in (below.low, above.high) else replace(below, high=above.high)
    found = made(lambda t: rows * (t * (1 - t) - can_be))
    if not can_be:
        return found
    still = made(lambda _: rows * (at * (1 - at) - can_be))
    if None in (found.low, found.high, still.low, still.high):
        return Figure(name)
    low, high = (float(x or 0.0) for x in (found.low, found.high))
    return replace(found, low=min(low, still.low or 0.0), high=max(high, still.high or 0.0))


def inside_of_errors(absolute: Figure, squared: Figure) -> tuple[float, float]:
    """Numbers that the means of a (1 - a) and of a^2 (1 - a^2) are not below, a in [0, 1] with these means of a and of a^2: how far
    errors are from being 0 or 1. One deviation of noise below what the noisy means say; zeros if these say nothing.

    With u = E a (1 - a) = E a - E a^2 and x = 1 - E a the second is at least u^2 (x + u) / x^2.
    """
    if absolute.value is None or squared.value is None:
        return 0.0, 0.0
    noise = absolute.noise or 0.0, squared.noise or 0.0
    first = max(0.0, absolute.value - squared.value - math.hypot(*noise))
    rest = 1 - max(0.0, absolute.value - noise[0])
    return first, 0.0 if rest <= 0 else first**2 * (rest + first) / rest**2


def scarce_beside(rows: float, noise: float, counts: int) -> bool:
    """Whether a number of rows, the sum of so many noisy counts, is too small for a denominator."""
    return rows < FEWEST * noise * math.sqrt(counts)


def area(name: str, positive: Floats, negative: Floats, noise: float) -> Figure:
    """Area under the ROC curve: how often a positive row is in a higher bin than a negative one; ties count half.

    Sampling: at most t (1 - t) / (rows of the smaller class) (Birnbaum and Klose 1957). Noise: the noisy counts in place
    of the true ones make its variance too large on average, never too small.
    """
    bins = positive.size
    rows = float(positive.sum()), float(negative.sum())
    if scarce_beside(min(rows), noise, bins):
        return Figure(name)
    wins = np.tri(bins, k=-1) + np.eye(bins) / 2

    def of_noise(t: float) -> float:
        m = wins - t
        return noise**2 * float(((m @ negative) ** 2).sum() + ((positive @ m) ** 2).sum())

    return figure(
        name,
        lambda t: float(positive @ (wins - t) @ negative),
        of_noise,
        lambda t: (rows[0] * rows[1]) ** 2 * t * (1 - t) / min(rows),
    )


def mean_of_shares(name: str, hits: Floats, rest: Floats, noise: float) -> Figure:
    """Mean over groups of hits over all, from noisy counts, hits (k,) and rest (k, cells); clipped once, after averaging.

    The bias of a ratio to second order is subtracted from each share: over many groups it does not average out.
    Sampling: that of the share pulled towards one half (Agresti and Coull 1998), which is not zero at the ends.
    """
    rows, cells = hits + rest.sum(axis=1), 1 + rest.shape[1]
    if rows.min() < FEWEST * noise * math.sqrt(cells):
        return Figure(name)
    shares, variance = hits / rows, (noise / rows) ** 2
    middle = float((shares - (cells * shares - 1) * variance).mean())
    pulled = (np.clip(hits, 0.0, rows) + Z_SQUARED / 2) / (rows + Z_SQUARED)
    of_noise = float((variance * ((1 - pulled) ** 2 + (cells - 1) * pulled**2)).sum()) / hits.size**2
    of_sampling = float((pulled * (1 - pulled) / rows).sum()) / hits.size**2
    half = math.sqrt(_CHOSEN_Z_SQUARED * (of_noise + of_sampling))
    value, low, high = (min(1.0, max(0.0, x)) for x in (middle, middle - half, middle + half))
    return Figure(name, value, low, high, math.sqrt(of_noise), math.sqrt(of_sampling))


def share_of_known(name: str, hits: Sequence[float] | Floats, n: int, noise: float) -> Figure:
    """Noisy counts over a public n."""
    of = np.asarray(hits, np.float64)
    total = float(of.sum())
    return figure(name, lambda t: total - n * t, lambda t: noise**2 * of.size, lambda t: n * t * (1 - t))


def difference(name: str, one: Figure, two: Figure) -> Figure:
    """One figure less another, of rows that are others', whose noise is another, too.

    The interval is made of theirs (Zou and Donner 2008): where a half of one is long, as at the end of a scale, so is that
    half of the difference. A half that the end of a scale cuts is taken to be as long as the noise alone makes it: what is cut off one
    figure is an error of the difference all the same. No end is beyond what both intervals allow.
    """
    if None in (one.value, one.low, one.high, two.value, two.low, two.high):
        return Figure(name)
    a, below, above = (float(x or 0.0) for x in (one.value, one.low, one.high))
    b, under, over = (float(x or 0.0) for x in (two.value, two.low, two.high))
    of_one, of_two = (math.sqrt(Z_SQUARED) * (x.noise or 0.0) for x in (one, two))
    low = min(math.hypot(max(a - below, of_one), max(over - b, of_two)), a - below + over - b)
    high = min(math.hypot(max(above - a, of_one), max(b - under, of_two)), above - a + b - under)
    noise, sampling = (
        math.hypot(x or 0.0, y or 0.0) for x, y in ((one.noise, two.noise), (one.sampling, two.sampling))
    )
    return Figure(name, a - b, a - b - low, a - b + high, noise, sampling)


def scaled(made: Figure, factor: float) -> Figure:
    """The figure in other units."""
    if made.value is None:
        return made
    numbers = (made.value, made.low, made.high, made.noise, made.sampling)
    return Figure(made.name, *(None if x is None else factor * x for x in numbers))


def around_zero(made: Figure, factor: float) -> Figure:
    """The mean of numbers in [0, 1] as that of numbers in [-factor, factor]."""
    if made.value is None:
        return made
    places = (made.value, made.low, made.high)
    deviations = (made.noise, made.sampling)
    return Figure(
        made.name,
        *(None if x is None else factor * (2 * x - 1) for x in places),
        *(None if x is None else 2 * factor * x for x in deviations),
    )


def beside_absolute(squared: Figure, absolute: Figure, rows: float) -> Figure:
    """The mean of a^2 of so many rows, raised to where the square of the mean of a says that it is, and its deviation of sampling to that of such a mean.

    A true value below the raised low end is below its own, or that of a is below its own: of intervals made at 97 % either is so in
    1.5 % of measurements, and 95.5 % are left.
    """
    if None in (squared.value, squared.low, squared.high, absolute.value, absolute.low):
        return squared
    value = max(squared.value or 0.0, (absolute.value or 0.0) ** 2)
    low = max(squared.low or 0.0, (absolute.low or 0.0) ** 2)
    drawn = squared.sampling
    if value > (squared.value or 0.0):
        drawn = max(drawn or 0.0, math.sqrt(max(0.0, value * (1 - value)) / max(1.0, rows)))
    return replace(squared, value=value, low=low, high=max(squared.high or 0.0, value), sampling=drawn)


def root(made: Figure) -> Figure:
    """The square root of a figure that is not negative; deviations to first order."""
    if made.value is None or made.low is None or made.high is None:
        return made
    ends = [math.sqrt(x) for x in (made.value, made.low, made.high)]
    each = (made.noise or 0.0, made.sampling or 0.0)
    # No change of x moves a root by more than that of x, which is what is left at 0.
    parts = (min(x / (2 * max(ends[0], 1e-300)), math.sqrt(x)) for x in each)
    return Figure(made.name, *ends, *parts)


def determination(
    name: str,
    error: Figure,
    baseline: Figure,
    mean: Figure,
    share: float,
    rows: float,
    *,
    own_mean: bool,
    inside: float = 0.0,
    without_noise: bool = False,
) -> Figure:
    """R², 1 less the mean squared error over that of always predicting the released mean, both cut alike; or -1 where it is lower.

    error, baseline: mean squares of the errors of the model and of the noisy mean, in [0, 1]. mean: of targets in [0, 1];
    share: the largest error that counts in the same unit. rows: how many there are, or a noisy number of them. own_mean: whether the
    mean is that of these rows, and not of more. inside: a number that the mean of v (1 - v), v the squared errors of the model, is not
    below. without_noise: its interval, if the
    same value came out without any. What the noise of the mean adds to the baseline is taken off. Sampling: the largest variance that
    two numbers in [0, 1] with these means leave to their difference. That of the errors is taken
    at the mean that each value of R² says they have, and at the estimate: of a few large errors the estimate alone can be 0.
    """
    if None in (error.value, baseline.value, mean.value):
        return Figure(name)
    e, b = float(error.value or 0.0), float(baseline.value or 0.0)
    of_mean = ((mean.noise or 0.0) / share) ** 2
    variance = b - of_mean
    own = (baseline.noise or 0.0) ** 2 + 2 * of_mean**2
    if variance < FEWEST * math.sqrt(own):
        return Figure(name)
    noise = (error.noise or 0.0) ** 2, own + (0.0 if own_mean else 4 * variance * of_mean)
    if without_noise:
        noise = 0.0, 0.0

    def of_noise(t: float) -> float:
        return noise[0] + (1 - t) ** 2 * noise[1]

    def drawn(t: float, of_errors: float) -> float:
        return largest_variance(of_errors, variance, 1 - t, inside) / rows

    made = figure(name, lambda t: (1 - t) * variance - e, of_noise, lambda t: drawn(t, e), low=-1.0)
    if made.value is None or made.low is None or made.high is None:
        return made

    def excluded(t: float) -> bool:
        said = min(1.0, max(0.0, (1 - t) * variance))
        return ((1 - t) * variance - e) ** 2 > Z_SQUARED * (of_noise(t) + drawn(t, said))

    low, high = (_edge(excluded, made.value, end) for end in (-1.0, 1.0))
    return replace(made, low=min(made.low, low), high=max(made.high, high))


def largest_variance(one: float, two: float, times: float, inside: float = 0.0) -> float:
    """The largest variance of v - times w, times >= 0, for any numbers v and w in [0, 1] whose means are one and two; not attained where
    the mean of v (1 - v) is at least inside > 0.

    That of a number in [0, 1] with mean t is t (1 - t) at most. E vw is at least 0 and one + two - 1, so the covariance is not below
    -min(one two, (1 - one) (1 - two)). All three are attained by 0 and 1.
    """
    against = min(one * two, (1 - one) * (1 - two))
    alone = max(0.0, one * (1 - one) - inside)
    return alone + times**2 * two * (1 - two) + 2 * times * against


def rows_that_show(made: Figure, rows: float) -> float | None:
    """About how many rows, in place of so many, put the low end of a figure above 0, if its value is the true one: the deviations of
    drawing the rows fall with the root of their number, those of noise with the number. None: no such value, one that is mostly noise,
    or far too many rows.

    The low end is left the distance that it has now, in deviations, and one deviation of the noise besides: else one measurement
    in two would miss.
    """
    value, low = made.value or 0.0, made.low or 0.0
    now = math.hypot(made.noise or 0.0, made.sampling or 0.0)
    if value <= 0 or now == 0 or (made.noise or 0.0) > (made.sampling or 0.0):
        return None
    times = max(math.sqrt(Z_SQUARED), (value - low) / now)
    for step in range(_MOST_STEPS):
        more = _STEP**step
        noise, sampling = (made.noise or 0.0) / more, (made.sampling or 0.0) / math.sqrt(more)
        if times * math.hypot(noise, sampling) + noise < value:
            return rows * more
    return None


def _edge(excluded: Callable[[float], bool], inside: float, end: float) -> float:
    """Where values are excluded for the first time on the way from one that is not to an end; the end if nowhere."""
    if not excluded(end):
        return end
    for _ in range(60):
        middle = (inside + end) / 2
        inside, end = (inside, middle) if excluded(middle) else (middle, end)
    return end


def figure(
    name: str,
    statistic: Callable[[float], float],
    of_noise: Callable[[float], float],
    of_sampling: Callable[[float], float],
    *,
    low: float = 0.0,
    high: float = 1.0,
) -> Figure:
    """The root of a statistic that falls linearly in [low, high], and its interval."""
    middle, half = (low + high) / 2, (high - low) / 2
    slope = (statistic(low) - statistic(high)) / (2 * half)
    left, at, right = (
        statistic(t) ** 2 - Z_SQUARED * (of_noise(t) + of_sampling(t)) for t in (low, middle, high)
    )
    curve, tilt = (right - 2 * at + left) / (2 * half**2), (right - left) / (2 * half)
    if not (curve > 0 and slope > 0):  # Fieller: no value is excluded
        return Figure(name)
    raw = low + statistic(low) / slope
    root = min(high, max(low, raw))
    reach = math.sqrt(max(0.0, tilt**2 - 4 * curve * at))
    ends = [min(high, max(low, middle + (sign * reach - tilt) / (2 * curve))) for sign in (-1, 1)]
    noise, sampling = (math.sqrt(max(0.0, v(root))) / slope for v in (of_noise, of_sampling))
    ends = [min(ends[0], root), max(ends[1], root)]
    if (
        raw < low
    ):  # noise alone takes a figure out of its range; an interval of one point would be a certainty
        ends[1] = max(ends[1], min(high, root + noise))
    elif raw > high:
        ends[0] = min(ends[0], max(low, root - noise))
    return Figure(name, root, ends[0], ends[1], noise, sampling)
