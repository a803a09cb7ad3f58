"""What noise alone will leave of answers, in a sentence that comes before their charge. No record is read."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from prepriv.guarantees.gaussian import gdp_epsilon
from prepriv.guarantees.printed import USELESS
from prepriv.plans.plan import budget

_WIDE, _GOOD = 0.1, 0.05  # half of an interval: said above the one, aimed at the other
_STEP, _MOST = 1.02, 1e9
_NAMED = 3  # so many answers are named one by one


def said_if_wide(
    n: int, epsilon: float, delta: float, halves: Callable[[float], Mapping[str, float]], cure: str
) -> str:
    """That answers will have wide intervals or none, and what would be enough; "" if all are narrow.

    halves: of so many records, half of the 95 % interval of each answer in parts of its bounds or of all records; not a number where
    nothing is left to say.
    """
    found = halves(n)
    wide = {what: half for what, half in found.items() if not half <= _WIDE}
    if not wide:
        return ""
    told = [
        f'{what}: "too few to say"'
        if math.isnan(half)
        else f"{what} will be known to about ± {100 * half:.2g} in 100"
        for what, half in list(wide.items())[:_NAMED]
    ]
    if more := len(wide) - len(told):
        told.append(f"{more} more")
    factor = 1.0
    while factor < _MOST and not all(half <= _GOOD for half in halves(n * factor).values()):
        factor *= _STEP
    enough = gdp_epsilon(budget(epsilon, delta) * factor, delta)
    ways = [f"about epsilon = {enough:.2g}"] * (enough < USELESS)
    ways += [f"about {float(f'{n * factor:.2g}'):,.0f} records", cure]
    return (
        f"{n:,} records are few for this epsilon. By the noise alone, in parts of the bounds of a mean and of all records for a count: "
        f"{'; '.join(told)}. For ± {100 * _GOOD:g} in 100 it needs {', or '.join(ways)}. "
        "Nothing is charged before this line, and the run goes on"
    )
