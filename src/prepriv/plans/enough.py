"""What would be enough where noise leaves a measurement wide: the end of a warning that comes before a charge. No record is read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from prepriv.guarantees.less_noise import MOST_NAMED, larger_epsilon
from prepriv.guarantees.printed import up

WIDE_HALF, GOOD_HALF = (
    0.1,
    0.05,
)  # half of an interval, in parts of its scale: said above the one, aimed at the other
GOES_ON = "Nothing is charged before this line, and the run goes on"


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
    larger = larger_epsilon(factor, epsilon, delta)
    ways = [f"about epsilon = {larger:.2g}"] * (larger <= MOST_NAMED)
    ways += [f"about {float(up(n * factor, 2)):,.0f} {counted}", *cures]
    none = "" if larger <= MOST_NAMED else f", because no epsilon up to {MOST_NAMED:g} is enough"
    return f"For ± {100 * GOOD_HALF:g} in 100{aim} it needs {', or '.join(ways)}{none}."


def what_is_enough(factor: float, *, then: str = "", **told: Any) -> str:
    """The sentence of `what_it_needs`, which takes the rest of what is given, and that nothing is charged yet. then: what has to be said
    between them."""
    return f"{what_it_needs(factor, **told)} {then}{GOES_ON}"


def names_epsilon(factor: float, epsilon: float, delta: float) -> bool:
    """Whether `what_is_enough` names an ε."""
    return larger_epsilon(factor, epsilon, delta) <= MOST_NAMED
