"""What would be enough where noise leaves a measurement wide: the end of a warning that comes before a charge. No record is read."""

from __future__ import annotations

import math
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
    more: float | None = None,
) -> str:
    """A sentence: the ε, the number of `counted`, and other `cures` that give intervals of GOOD_HALF. factor: so many times less noise is
    enough. aim: of what. more: how many times as many of `counted` are, if that is not the same.

    Numbers are rounded up. An ε above 10 is not named, and no number where none is enough."""
    larger, more = larger_epsilon(factor, epsilon, delta), factor if more is None else more
    ways = [f"about epsilon = {larger:.2g}"] * (larger <= MOST_NAMED)
    ways += [f"about {float(up(n * more, 2)):,.0f} {counted}"] * (more < math.inf)
    ways += cures
    aimed, none = f"For ± {100 * GOOD_HALF:g} in 100{aim}", f"no epsilon up to {MOST_NAMED:g} is enough"
    if not ways:
        return f"{aimed} {none}."
    return f"{aimed} it needs {', or '.join(ways)}{'' if larger <= MOST_NAMED else f', because {none}'}."


def what_is_enough(factor: float, *, then: str = "", **told: Any) -> str:
    """The sentence of `what_it_needs`, which takes the rest of what is given, and that nothing is charged yet. then: what has to be said
    between them."""
    return f"{what_it_needs(factor, **told)} {then}{GOES_ON}"


def names_epsilon(factor: float, epsilon: float, delta: float) -> bool:
    """Whether `what_is_enough` names an ε."""
    return larger_epsilon(factor, epsilon, delta) <= MOST_NAMED
