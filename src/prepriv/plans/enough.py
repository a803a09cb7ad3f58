"""What would be enough where noise leaves a measurement wide: the end of a warning that comes before a charge. No record is read."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import Any

from prepriv.guarantees.gaussian import gdp_epsilon
from prepriv.guarantees.printed import up
from prepriv.plans.plan import budget

WIDE_HALF, GOOD_HALF = (
    0.1,
    0.05,
)  # half of an interval, in parts of its scale: said above the one, aimed at the other
GOES_ON = "Nothing is charged before this line, and the run goes on"
_STEP, _MOST = 1.02, 1e9
_WEAK = 10.0  # an ε above which a claim is weak: none is recommended


def less_noise(enough: Callable[[float], bool]) -> float:
    """How many times less noise, or more records, it takes, from 1 on. What is enough is so with less noise, too."""
    most = 1
    while _STEP**most < _MOST and not enough(_STEP**most):
        most *= 2
    return _STEP ** bisect_left(range(most), True, key=lambda steps: enough(_STEP**steps))


def what_it_needs(
    factor: float,
    *,
    n: int,
    epsilon: float,
    delta: float,
    counted: str,
    aim: str = "",
    cures: Sequence[str] = (),
) -> str:
    """A sentence: the ε, the number of `counted`, and other `cures` that give intervals of GOOD_HALF. aim: of what.

    Numbers are rounded up. An ε above 10 is not named."""
    larger = _larger(factor, epsilon, delta)
    ways = [f"about epsilon = {larger:.2g}"] * (larger <= _WEAK)
    ways += [f"about {float(up(n * factor, 2)):,.0f} {counted}", *cures]
    none = "" if larger <= _WEAK else f", because no epsilon up to {_WEAK:g} is enough"
    return f"For ± {100 * GOOD_HALF:g} in 100{aim} it needs {', or '.join(ways)}{none}."


def what_is_enough(factor: float, *, then: str = "", **told: Any) -> str:
    """The sentence of `what_it_needs`, which takes the rest of what is given, and that nothing is charged yet. then: what has to be said
    between them."""
    return f"{what_it_needs(factor, **told)} {then}{GOES_ON}"


def names_epsilon(factor: float, epsilon: float, delta: float) -> bool:
    """Whether `what_is_enough` names an ε."""
    return _larger(factor, epsilon, delta) <= _WEAK


def _larger(factor: float, epsilon: float, delta: float) -> float:
    """The ε that leaves so many times less noise, rounded up."""
    return float(up(gdp_epsilon(budget(epsilon, delta) * factor, delta), 2))
