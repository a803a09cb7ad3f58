"""How much less noise is enough for something, and the ε that buys it: what is named before a charge. No record is read."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable

from prepriv.guarantees.gaussian import gdp_epsilon, gdp_mu
from prepriv.guarantees.printed import up

MOST_NAMED = 10.0
"""An ε above which a claim is weak: none is named."""
_STEP, _MOST = 1.02, 1e9


def less_noise(enough: Callable[[float], bool]) -> float:
    """How many times less noise, or more records, it takes, from 1 on. What is enough is so with less noise, too."""
    most = 1
    while _STEP**most < _MOST and not enough(_STEP**most):
        most *= 2
    return _STEP ** bisect_left(range(most), True, key=lambda steps: enough(_STEP**steps))


def larger_epsilon(factor: float, epsilon: float, delta: float) -> float:
    """The ε that leaves so many times less noise, rounded up."""
    return float(up(gdp_epsilon(gdp_mu(epsilon, delta) * factor, delta), 2))
