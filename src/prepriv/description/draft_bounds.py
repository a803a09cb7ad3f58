"""Bounds of drafted numbers: a coarse range by the noisy counts of the first round, then private quantiles inside it, rounded outward.

Proof: docs/proofs/stability_histogram.md.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from prepriv._arguments import LARGEST, LEAST
from prepriv._arrays import Floats
from prepriv._rounding import FAR_DOWN
from prepriv.description.look import LookPart
from prepriv.description.magnitudes import GAP, TEXT, ZERO, ends
from prepriv.mechanisms.quantile import Grid, QuantileRelease
from prepriv.mechanisms.session import Session
from prepriv.tables.written import DATES, spelled

POINTS = 129  # of the grid on which a bound is chosen
MOST_BEYOND = 0.05  # of the cells, beyond either bound: where n is small a bound is rather too wide
MOST_OF_ONE_SIZE, BEYOND_ONE_SIZE = (
    0.2,
    11,
)  # the same of numbers of one size: a bound that is a guess would be wider by far
_ENDS = 1.96  # deviations from the middle: where bounds of numbers of one size end, if they lie as a bell curve does
_SELDOM = 0.2  # the chance at which a bound that is a guess is said to be one
_FEW, AGAIN = 16, 0.35  # bounds that few points apart are sought once more, at this share of the second round
_HARDLY, _FAR = (
    1.5,
    1000.0,
)  # a count below so many times what makes a range seen, so many times as far from zero as the others: perhaps noise
TOGETHER = (
    2,
    4,
    8,
)  # neighbouring powers of two whose counts are added up, where the range of a label is sought
_UNSURE = 0.2  # of the records: if so many may not have been seen, the draft says so
_AT_MOST = 3.0  # deviations of noise, for what is said to be the most: counts that stood out are too large on average
_SURELY = 2.0  # deviations of noise: what numbers that were not seen stand out by
BEYOND = 7  # records beyond a bound that is aimed at, in units of the mechanism's own error: fewer, and it is a guess


def stand_out_together(
    noisy: Floats, used: NDArray[np.int64], deviation: float, least: float
) -> NDArray[np.int64]:
    """Neighbouring bins of numbers whose noisy counts stand out together, where hardly one does alone: those that stand out most, by at least
    so many deviations; none where no sum does. Counts of zero and of bins in use are left out of the sums."""
    others = noisy[:TEXT].copy()
    others[[ZERO, *used]] = 0.0
    found = np.zeros(0, dtype=np.int64)
    for width in TOGETHER:
        sums = np.convolve(others, np.ones(width), "valid") / (deviation * math.sqrt(width))
        at = int(np.argmax(sums))
        if sums[at] > least:
            least, found = float(sums[at]), np.arange(at, at + width)
    some = found[others[found] > deviation]
    return np.arange(some[0], some[-1] + 1) if len(some) else found


def coarse_range(
    noisy: Floats, used: NDArray[np.int64], noise: float, n: int
) -> tuple[tuple[float, float], str]:
    """(the range in which bounds are sought, what a reader has to know about numbers that were not seen), by the noisy counts of the grid alone.

    used: the bins that stood out; noise: standard deviation of a count. Where clearly more than MOST_BEYOND of the n records are in
    none of them, the range takes in the next power of two at both ends that are not zero, and more while their counts are above one deviation,
    and zero where its count is above two.
    """
    low, high = int(used[0]), int(used[-1])
    others = [float(count) for count in (noisy[GAP], noisy[TEXT]) if count > _SURELY * noise]
    seen, deviation = float(noisy[used].sum()) + math.fsum(others), noise * math.sqrt(len(used) + len(others))
    range_seen = ends(low)[0], ends(high)[1]
    most = min(n, round(n - seen + _AT_MOST * deviation))
    one = range_seen[0] == range_seen[1]
    what = f"value {range_seen[0]:g}" if one else f"range {range_seen[0]:g} to {range_seen[1]:g}"
    said = (
        f"only the {what} was seen above the noise; up to {most:,} records may lie outside it, where "
        "the bounds are a guess: declare bounds yourself"
    )
    if low == high == ZERO:
        said = (
            f"only the value 0 was seen above the noise. Up to {most:,} records may have another one, so the bounds 0 to 1 are a guess: declare them. "
            'A column of 0 and 1 can stay a number. Of a column of other codes declare the categories, such as {type: categorical, categories: ["0", "1", "2"]}'
        )
        return range_seen, said
    if n - seen <= MOST_BEYOND * n + _SURELY * deviation:
        return range_seen, said if one or most > _UNSURE * n else ""

    def outward(at: int, step: int) -> int:
        if at == ZERO:  # the next power of two is the smallest of all
            return at
        at += step
        while 0 < at < TEXT - 1 and at != ZERO and noisy[at] > noise:
            at += step
        return min(max(at, 0), TEXT - 1)

    low, high = outward(low, -1), outward(high, 1)
    if noisy[ZERO] > _SURELY * noise:
        low, high = min(low, ZERO), max(high, ZERO)
    return (ends(low)[0], ends(high)[1]), said


def perhaps_noise(noisy: Floats, used: NDArray[np.int64], sure: float) -> str:
    """What a reader has to know of a range that was hardly seen, far from all others: one draft of a hundred shows one that holds no record."""
    for end, others in ((int(used[0]), used[1:]), (int(used[-1]), used[:-1])):
        far = max(map(abs, ends(end)))
        next_to = max((max(map(abs, ends(int(one)))) for one in others), default=0.0)
        if len(others) and noisy[end] < _HARDLY * sure and far >= _FAR * max(next_to, 1.0):
            low, high = ends(end)
            return (
                f"numbers from {low:g} to {high:g} were hardly seen, far from all others: about one draft of a hundred shows such a range by noise alone. "
                "If no number can be there, declare bounds yourself: the drafted ones were sought on points as far apart as that range needs, so the other numbers may "
                "lie close together in them, or outside, and a model then learns next to nothing of the column"
            )
    return ""


def bounds_between(
    part: LookPart,
    coarse: tuple[float, float],
    values: NDArray[np.float64],
    read: float,
    what: str,
    session: Session,
    stretched: bool = False,
    written: str = "number",
) -> tuple[float, float, str]:
    """Private quantiles near both ends of the coarse range, rounded outward, and what a reader has to know of them; an end at zero is
    kept and costs nothing. read: about how many numbers there are. stretched: whether the range
    reaches as far as one that may be noise (`perhaps_noise`). Quantiles on about one of its points then do not show that numbers have about one value.

    Where they are few grid points apart, as years are in 1024..2048, once more between them, or around the point on which
    both fall. Those of numbers of one size lie further inside, and are moved outward again (`_moved_outward`).
    """
    if coarse[1] <= coarse[0]:  # zeros alone
        return 0.0, 1.0, ""
    one_size = _one_size(coarse, written)
    most = round((MOST_OF_ONE_SIZE if one_size else MOST_BEYOND) * read)
    name, mu = f"bound of {what}", part.mu * math.sqrt(1 - AGAIN)
    low, high, aimed = _narrowed(mu, coarse, values, most, name, session, written)
    step = (coarse[1] - coarse[0]) / (POINTS - 1)
    if high - low < _FEW * step:
        if high <= low:
            low, high = max(low - step, coarse[0]), min(high + step, coarse[1])
        again, step = part.mu * math.sqrt(AGAIN), (high - low) / (POINTS - 1)
        low, high, aimed = _narrowed(again, (low, high), values, most, f"{name} again", session, written)
    one_value = high - low <= _ABOUT * step
    said = ""
    if one_size:
        low, high = _moved_outward((low, high), coarse, aimed / max(read, 1.0))
        said = _inside_one_size(mu, coarse, aimed, most, read, written)
    if one_value and not stretched:
        said = f"{_ONE_VALUE}; {said}" if said else f"{_ONE_VALUE}. Declare the bounds if you know them"
    return *rounded_outward(low, high), said


_ABOUT = 4.0  # points of the last grid between two quantiles that fell on about one value
_ONE_VALUE = "its bounds are this narrow because most records seem to have about one value, and every number outside will be cut to them"


def _one_size(coarse: tuple[float, float], written: str) -> bool:
    """Whether all numbers lie between neighbouring powers of two, as years do, or are dates. Their bounds can be far narrower than that range."""
    least, largest = sorted(map(abs, coarse))
    return written in DATES or (coarse[0] * coarse[1] > 0 and largest <= 2 * least)


def _moved_outward(
    found: tuple[float, float], coarse: tuple[float, float], beyond: float
) -> tuple[float, float]:
    """Two quantiles with this part of the numbers beyond each, moved away from their middle to where numbers of a bell curve have
    a fortieth beyond each, inside the coarse range. It follows from what was released."""
    factor = _ENDS / -ndtri(min(max(beyond, 1 - float(ndtr(_ENDS))), MOST_OF_ONE_SIZE))
    more = (factor - 1) * (found[1] - found[0]) / 2
    return max(found[0] - more, coarse[0]), min(found[1] + more, coarse[1])


def _inside_one_size(
    mu: float, coarse: tuple[float, float], aimed: int, most: int, read: float, written: str
) -> str:
    """What a reader has to know of the bounds of numbers of one size, or of dates: that the spread of numbers beyond the quantiles was not seen, and
    whether a quantile may be anywhere. Nothing where few lie beyond them. mu: of the first pair of quantiles; most: as many records may
    lie beyond one."""
    if aimed <= MOST_BEYOND * read:
        return ""
    release = _end(mu, coarse, +1, 2)
    anywhere = POINTS * math.exp(-release.mechanism.epsilon * most / 2) > _SELDOM
    ends = [f"{end:g}" if end == spelled(end, written) else spelled(end, written) for end in coarse]
    far = f", and noise may put either anywhere from {ends[0]} to {ends[1]}" if anywhere else ""
    return (
        f"its bounds are an estimate, and may be too narrow or too wide. They were moved outward, as for a bell curve, from noisy quantiles "
        f"that are aimed at {aimed:,} records ({100 * aimed / read:.0f} %) beyond each{far}. Declare the bounds if you know them, as of years or dates, or "
        "draft fewer columns"
    )


def _end(mu: float, coarse: tuple[float, float], sign: int, ends: int) -> QuantileRelease:
    """The choice of one bound of so many, mu-GDP together; of the upper one for a sign above 0."""
    near, far = sorted(sign * end for end in coarse)
    return QuantileRelease.of_gdp(mu / math.sqrt(ends) * FAR_DOWN, Grid(near, far, POINTS))


def _narrowed(
    mu: float,
    coarse: tuple[float, float],
    values: NDArray[np.float64],
    most: int,
    name: str,
    session: Session,
    written: str,
) -> tuple[float, float, int]:
    """A private quantile near each end of the range that is not zero, mu-GDP together, and beyond how many records each is aimed."""
    open_ends = [sign for sign, end in zip((-1, 1), coarse) if end != 0]
    found, above = dict(zip((-1, 1), coarse)), most
    for sign in open_ends:
        release = _end(mu, coarse, sign, len(open_ends))
        beyond = BEYOND_ONE_SIZE if _one_size(coarse, written) else BEYOND
        above = min(most, round(beyond * 2 / release.mechanism.epsilon))
        chosen = release.release(sign * values, name=name, above=above, session=session)
        found[sign] = sign * min(chosen + release.grid.step, release.grid.upper)
    return min(found[-1], found[1]), max(found[-1], found[1]), above


def rounded_outward(low: float, high: float) -> tuple[float, float]:
    """Bounds as a person would write them: two digits of the distance between them, rounded away from it.

    >>> rounded_outward(17.2, 88.9), rounded_outward(0.0, 9381.0), rounded_outward(0.41, 0.41)
    ((17.0, 89.0), (0.0, 9400.0), (0.41, 0.42))
    """
    width = high - low if high > low else max(abs(high), 1.0) / 10
    digits = 1 - math.floor(math.log10(max(width, LEAST)))
    step = 10.0**-digits
    down, above = math.floor(low / step), math.ceil(high / step)
    above = max(above, down + 1)
    bounds = [float(f"{k}e{-digits}") for k in (down, above)]
    return max(bounds[0], -LARGEST), min(bounds[1], LARGEST)
