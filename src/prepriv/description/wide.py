"""What noise alone will leave of answers, in a sentence that comes before their charge. No record is read."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from types import MappingProxyType

from prepriv.guarantees.less_noise import less_noise
from prepriv.plans.enough import GOES_ON, GOOD_HALF, WIDE_HALF, what_it_needs

_NAMED = 3  # so many answers are named one by one


def _in_100(half: float) -> str:
    return f"{100 * half:,.0f}" if half >= 0.1 else f"{100 * half:.2g}"


def said_if_wide(
    n: int,
    epsilon: float,
    delta: float,
    halves: Callable[[float], Mapping[str, float]],
    cures: Sequence[str],
    *,
    grouped: Collection[str] = (),
    levels: Mapping[str, Sequence[float]] = MappingProxyType({}),
    counted: str = "records",
) -> str:
    """That answers will have wide intervals or none, and what would be enough; "" if all are narrow.

    halves: of so many records, half of the 95 % interval of each answer in parts of its bounds or of the records; not a number where
    nothing is left to say, infinite where no less noise is enough. grouped: the answers that are for each of several groups, taken to be of
    equal size. levels: of the answers that are quantiles, whose halves are of ranks. counted: what n counts.
    """
    found = halves(n)
    wide = {what: half for what, half in found.items() if not half <= _widest(levels.get(what, ()))}
    if not wide:
        return ""
    told = [_how_wide(what, half, levels.get(what, ())) for what, half in list(wide.items())[:_NAMED]]
    if more := len(wide) - len(told):
        told.append(f"{more} more")
    by_groups = any(what in grouped for what in wide)
    of = f"of all {counted}, or of those of a group," if by_groups else f"of all {counted}"
    ranks = " or the rank of a quantile" if any(what in levels for what in wide) else ""
    equal = (
        "Groups are taken to be of equal size. Of smaller groups less will be known. " if by_groups else ""
    )
    kinds = [
        (aim, of_kind)
        for aim, of_kind in (
            ("all but quantiles", found.keys() - levels.keys()),
            ("quantiles", found.keys() & levels.keys()),
        )
        if any(what in of_kind and half != math.inf for what, half in wide.items())
    ]
    enough = [
        what_it_needs(
            less_noise(partial(_is_good, halves, n, of_kind)),
            n=n,
            epsilon=epsilon,
            delta=delta,
            counted=counted,
            aim=f" of {aim}" * (len(kinds) > 1) + " in groups of equal size" * by_groups,
            cures=[*cures, *["fewer groups"] * by_groups],
        )
        for aim, of_kind in kinds
    ]
    return (
        f"{n:,} {counted} are few for this epsilon. By the noise alone, in parts of the bounds of a mean and {of} for a count{ranks}: "
        f"{'; '.join(told)}. {equal}{' '.join([*enough, GOES_ON])}"
    )


def _is_good(
    halves: Callable[[float], Mapping[str, float]], n: int, of: Collection[str], times: float
) -> bool:
    """Whether so many times less noise makes the intervals of these answers good, where anything does."""
    return all(
        half <= GOOD_HALF or half == math.inf for what, half in halves(n * times).items() if what in of
    )


def _widest(levels: Sequence[float]) -> float:
    """Half of an interval above which it is wide. That of a quantile is so, too, where it may reach a bound. Of a level that is nearly
    an end that is expected."""
    return min([WIDE_HALF, *(max(GOOD_HALF, min(level, 1 - level)) for level in levels)])


def _how_wide(what: str, half: float, levels: Sequence[float]) -> str:
    if math.isnan(half):
        return f'{what}: "too few to say"'
    if half == math.inf:
        return f"{what}: at least half of the bounds, with any noise, because the bins are fewer than 3"
    reached = ""
    if any(half >= min(level, 1 - level) for level in levels):
        whole = any(half >= max(level, 1 - level) for level in levels)
        reached = f", and an interval may {'be the whole bounds' if whole else 'reach a bound'}"
    return f"{what} will be known to about ± {_in_100(half)} in 100{reached}"
