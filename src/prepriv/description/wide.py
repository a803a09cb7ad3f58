"""What noise alone will leave of answers, in a sentence that comes before their charge. No record is read."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence

from prepriv.plans.enough import GOOD_HALF, WIDE_HALF, less_noise, what_is_enough

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
    counted: str = "records",
) -> str:
    """That answers will have wide intervals or none, and what would be enough; "" if all are narrow.

    halves: of so many records, half of the 95 % interval of each answer in parts of its bounds or of the records; not a number where
    nothing is left to say. grouped: the answers that are for each of several groups, taken to be of equal size. counted: what n counts.
    """
    found = halves(n)
    wide = {what: half for what, half in found.items() if not half <= WIDE_HALF}
    if not wide:
        return ""
    told = [
        f'{what}: "too few to say"'
        if math.isnan(half)
        else f"{what} will be known to about ± {_in_100(half)} in 100"
        for what, half in list(wide.items())[:_NAMED]
    ]
    if more := len(wide) - len(told):
        told.append(f"{more} more")
    factor = less_noise(lambda times: all(half <= GOOD_HALF for half in halves(n * times).values()))
    by_groups = any(what in grouped for what in wide)
    enough = what_is_enough(
        factor,
        n=n,
        epsilon=epsilon,
        delta=delta,
        counted=counted,
        aim=" in groups of equal size" if by_groups else "",
        cures=[*cures, *["fewer groups"] * by_groups],
    )
    of = f"of all {counted}, or of those of a group," if by_groups else f"of all {counted}"
    equal = (
        "Groups are taken to be of equal size. Of smaller groups less will be known. " if by_groups else ""
    )
    return (
        f"{n:,} {counted} are few for this epsilon. By the noise alone, in parts of the bounds of a mean and {of} for a count: "
        f"{'; '.join(told)}. {equal}{enough}"
    )
