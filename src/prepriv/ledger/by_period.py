"""What the periods of a ledger add up to, for a person who has rows in several of them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

from prepriv.ledger.currency import MAX_QUANTA, Quanta, amount_in_words, short_amount
from prepriv.ledger.hash_chain import Entry, Header

_EPSILON = 10**9  # quanta of 1 in unit "basic"
_MOST = 700.0  # of ε: the exponential of more is no float


def booked_in_periods(entries: Sequence[Entry]) -> dict[str, Quanta]:
    """What was charged to each period, by its name; "" where the ledger has no periods."""
    return {entry.period: entry.spent for entry in sorted(entries, key=lambda e: (e.period, e.sequence))}


def together(header: Header, entries: Sequence[Entry]) -> Quanta | None:
    """What was charged, for someone with rows in every period that was charged; None where no bound is left.

    A plan that read m periods differs in m units then: µ-GDP becomes mµ, ρ becomes m²ρ, and (ε, δ) becomes
    (mε, δ(1 + e^ε + ... + e^((m-1)ε))). Plans add up (docs/proofs/periods.md). Rounded up.
    """
    of = Counter(entry.plan_uid for entry in entries if entry.kind == "charged")
    main, delta = 0, Fraction(0)
    for entry in {entry.plan_uid: entry for entry in entries if entry.kind == "charged"}.values():
        m = of[entry.plan_uid]
        main += entry.cost.main * (m if header.unit == "basic" else m * m)
        epsilon = entry.cost.main / _EPSILON
        if entry.cost.delta and m > 1 and (m - 1) * epsilon > _MOST:
            return None
        if entry.cost.delta:  # each exponential is raised by more than its rounding and that of its argument
            grown = (Fraction(math.exp(k * epsilon) * (1 + 2**-30)) for k in range(1, m))
            delta += entry.cost.delta * (1 + sum(grown, Fraction(0)))
    return Quanta(main, math.ceil(delta))


def in_words_together(header: Header, entries: Sequence[Entry], *, short: bool = False) -> str:
    """`together` in exact decimals; short: rounded up to four digits."""
    found = together(header, entries)
    if found is None or found.delta > MAX_QUANTA or (header.unit == "basic" and found.delta >= 10**18):
        return "no bound"
    return (short_amount if short else amount_in_words)(header.unit, found)
