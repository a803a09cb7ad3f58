"""What would be enough where noise leaves a measurement wide: the end of a warning that comes before a charge. No record is read."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from prepriv.guarantees.gaussian import gdp_epsilon
from prepriv.guarantees.printed import USELESS
from prepriv.plans.plan import budget

WIDE_HALF, GOOD_HALF = (
    0.1,
    0.05,
)  # half of an interval, in parts of its scale: said above the one, aimed at the other
_STEP, _MOST = 1.02, 1e9


def less_noise(enough: Callable[[float], bool]) -> float:
    """How many times less noise, or more records, it takes, from 1 on."""
    factor = 1.0
    while factor < _MOST and not enough(factor):
        factor *= _STEP
    return factor


def what_is_enough(
    factor: float,
    *,
    n: int,
    epsilon: float,
    delta: float,
    counted: str,
    aim: str = "",
    cures: Sequence[str] = (),
) -> str:
    """Two sentences: the ε, the number of `counted`, and other `cures` that give intervals of GOOD_HALF, and that nothing is charged yet."""
    larger = gdp_epsilon(budget(epsilon, delta) * factor, delta)
    ways = [f"about epsilon = {larger:.2g}"] * (larger < USELESS)
    ways += [f"about {float(f'{n * factor:.2g}'):,.0f} {counted}", *cures]
    return f"For ± {100 * GOOD_HALF:g} in 100{aim} it needs {', or '.join(ways)}. Nothing is charged before this line, and the run goes on"
