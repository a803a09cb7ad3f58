"""What is left in a ledger, in the terms of the next run: the (epsilon, delta) that it can declare."""

from __future__ import annotations

import math

from prepriv.guarantees.gaussian import gdp_epsilon, gdp_mu
from prepriv.ledger.currency import Currency, Quanta, amount_of


def largest_run(unit: Currency, room: Quanta, runs: int, delta: float | None = None) -> tuple[float, float]:
    """(epsilon, delta) that each of `runs` runs can declare so that a charge of all of them fits in `room`.

    delta: that each will declare; by default an equal part of what is left of a basic ledger, and 1e-5 elsewhere. There
    epsilon is that of one Gaussian curve, rounded down to six digits; a claim that is none can be charged to a basic
    ledger alone. epsilon is 0 where no run fits.

    >>> largest_run("basic", Quanta(700_000_000, 10**13), runs=2)
    (0.35, 5e-06)
    """
    if delta is not None and not 0 < delta < 1:
        raise ValueError(f"delta must be in (0, 1); got {delta}")
    part = Quanta(room.main // runs, room.delta // runs)
    each = amount_of(unit, part)
    if unit == "basic":
        assert each.epsilon is not None and each.delta is not None
        if delta is None:
            return (each.epsilon if each.delta > 0 else 0.0), each.delta
        return (each.epsilon if delta <= each.delta else 0.0), delta
    mu = each.mu if unit == "gdp" else math.sqrt(2 * (each.rho or 0.0)) * (1 - 1e-11)
    at = 1e-5 if delta is None else delta
    if not mu:
        return 0.0, at
    epsilon = gdp_epsilon(mu, at)
    digits = 6 - math.ceil(math.log10(epsilon)) if epsilon > 0 else 0
    steps = math.floor(epsilon * 10**digits)
    while steps > 0 and gdp_mu(steps / 10**digits, at) > mu:
        steps -= 1
    return steps / 10**digits, at
