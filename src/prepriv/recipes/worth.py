"""What a budget was worth on 42 public tables: errors more than without privacy, by n·µ/d. docs/learn/which-epsilon.md."""

from __future__ import annotations

import math
from typing import NamedTuple

from prepriv.domain import Domain
from prepriv.plans.plan import signal


class Worth(NamedTuple):
    """What happened where n·µ/d was between `low` and `high`, in classification by the automatic recipe.

    runs, tables: how many. half, most: errors more in 100 than without privacy, of which half of the runs had at most so many,
    and eight of ten. beat: how many runs were better than always predicting the commonest class. in_words: what to expect.
    """

    low: float
    high: float
    runs: int
    tables: int
    half: float
    most: float
    beat: int
    in_words: str

    def __str__(self) -> str:
        return (
            f"half of {self.runs} runs had at most {self.half:g} errors more in 100 than without privacy, 8 of 10 at most {self.most:g}; "
            f"{self.beat} were better than the commonest class"
        )


# `python benchmarks/worth.py --from docs/worth.jsonl` prints them; a test compares.
WORTH = (
    Worth(0, 1, 14, 10, 34.7, 50.6, 9, "mostly noise"),
    Worth(1, 3, 28, 23, 7.5, 15.8, 21, "weak"),
    Worth(3, 10, 37, 28, 3.7, 8.6, 30, "usable"),
    Worth(10, 30, 51, 34, 0.6, 4.8, 44, "good"),
    Worth(30, 100, 45, 30, 0.0, 5.5, 41, "almost as accurate as without noise"),
    Worth(100, math.inf, 35, 15, 0.1, 1.5, 34, "as accurate as without noise"),
)


def per_column(domain: Domain, *, n: int, epsilon: float, delta: float) -> float:
    """n·µ/d: the signal of the whole budget for each encoded column. µ is that of (ε, δ) under replace-one, where noise is twice
    that of add-or-remove-one: there the number is twice n·µ/d, so that equal numbers mean equal noise.

    >>> import prepriv
    >>> round(per_column(prepriv.Domain.box(0, 1, features=10, classes=[0, 1]), n=1000, epsilon=1.0, delta=1e-5), 1)
    26.8
    """
    return 2 * signal(domain, n=n, epsilon=epsilon, delta=delta) / domain.space.d


def worth_at(x: float) -> Worth:
    """What the runs with such an n·µ/d had.

    >>> worth_at(5.0).low, worth_at(math.inf).low
    (3, 100)
    """
    return next(one for one in reversed(WORTH) if x >= one.low)
