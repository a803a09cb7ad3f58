"""One choice in each of several disjoint groups of the records. Proof: docs/proofs/describe.md, "Groups"."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from prepriv._arguments import integer
from prepriv.mechanisms.exponential import ExponentialMechanism, Scores
from prepriv.mechanisms.mechanism import Cost, Mechanism
from prepriv.mechanisms.noise import NoiseSource


@dataclass(frozen=True)
class ChoiceInGroups(Mechanism):
    """The exponential mechanism in each group. A record is in one group, which no other record decides.

    moved: in how many groups the scores can differ between neighbours: 1 where a record comes or goes, 2 where one is
    replaced, since it may leave one group and enter another. The cost is that of so many choices, however many groups
    there are. Private values: the `Scores` of each group.

    >>> import numpy as np
    >>> mechanism = ChoiceInGroups(ExponentialMechanism(epsilon=2.0, score_range=2), moved=2)
    >>> exact = [Scores.single(np.array([0, 90])), Scores.single(np.array([90, 0]))]
    >>> mechanism.perform(exact, NoiseSource.for_tests(0))
    [1, 0]
    """

    mechanism: ExponentialMechanism
    moved: int

    def __post_init__(self) -> None:
        integer("moved", self.moved, at_most=2)

    @property
    def cost(self) -> Cost:
        return Cost(self.moved * self.mechanism.cost.mu_squared)

    @property
    def reach(self) -> int:
        return math.isqrt(self.moved * self.mechanism.reach**2 - 1) + 1

    def perform(self, exact: Sequence[Scores], source: NoiseSource) -> list[int]:
        return [self.mechanism.perform(scores, source) for scores in exact]

    def noiseless(self, exact: Sequence[Scores]) -> list[int]:
        return [self.mechanism.noiseless(scores) for scores in exact]

    def recorded(self, exact: Sequence[Scores]) -> list[Scores]:
        return [self.mechanism.recorded(scores) for scores in exact]

    def moved_squared(self, one: Any, two: Any) -> int:
        """Of all groups together; those that differ in number are as far apart as can be."""
        if len(one) != len(two):
            return 2**62
        return sum(self.mechanism.moved_squared(a, b) for a, b in zip(one, two))
