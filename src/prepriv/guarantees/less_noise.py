"""How much less noise is enough for something, and the ε that buys it: what is named before a charge. No record is read."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable

from prepriv.guarantees.gaussian import gdp_epsilon, gdp_mu
from prepriv.guarantees.printed import up

MOST_NAMED = 10.0
"""An ε above which a claim is weak: none is named."""
_STEP, _MOST = 1.02, 1046  # up to 9.9e8 times less


def less_noise(enough: Callable[[float], bool]) -> float:
    """How many times less noise, or more records, it takes, from 1 on; infinite where a thousand million times is not enough. What is enough is so with
    less noise, too."""
    most = 1
    while not enough(_STEP**most):
        if most == _MOST:
            return math.inf
        most = min(2 * most, _MOST)
    return _STEP ** bisect_left(range(most), True, key=lambda steps: enough(_STEP**steps))


def larger_epsilon(factor: float, epsilon: float, delta: float) -> float:
    """The ε that leaves so many times less noise, rounded up."""
    if factor == math.inf:
        return math.inf
    return float(up(gdp_epsilon(gdp_mu(epsilon, delta) * factor, delta), 2))
