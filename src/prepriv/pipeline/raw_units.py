"""The first step of a pipeline of scikit-learn: rows in the units of their columns, and what was assumed when it was read."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from prepriv.columns import Column, Numeric
from prepriv.domain import Domain
from prepriv.preprocessing.base import Floats, ReleasedMap, Step
from prepriv.preprocessing.scale_map import rest_radius
from prepriv.space import Space


@dataclass(frozen=True)
class RawUnits(Step):
    """Encoded numeric features, in [0, 1], back in the units of their columns: what scikit-learn sees. Free.

    declared: the columns of the domain that a pipeline was read for: of no other one is there an account. notes: what has to
    hold of the run, which every account of the steps prints (`account.steps_of`).
    """

    declared: Mapping[str, Column] = field(default_factory=dict)
    notes: tuple[str, ...] = field(default=(), repr=False)

    @property
    def bounds(self) -> dict[str, tuple[float, float]]:
        """(low, high) of each numeric feature by name."""
        return {name: (c.low, c.high) for name, c in self.declared.items() if isinstance(c, Numeric)}

    def check(self, domain: Domain) -> None:
        """ValueError for another domain than the one of which the pipeline was read."""
        if list(self.declared.items()) != list(domain.columns.items()):
            raise ValueError(
                "the steps were read of a pipeline on another domain: its columns, bounds or categories are not these; call "
                "from_sklearn with the domain of the account"
            )

    def _affine(self, space: Space) -> tuple[Floats, Floats]:
        low, width = np.zeros(space.d), np.ones(space.d)
        for name, (least, most) in self.bounds.items():
            low[space.names.index(name)], width[space.names.index(name)] = least, most - least
        return low, width

    def output(self, space: Space) -> Space:
        low, width = self._affine(space)
        numeric = np.isin(space.names, list(self.bounds))
        low, high = low + space.low * width, low + space.high * width
        ends = np.maximum(np.abs(low), np.abs(high))[numeric]
        radius = math.hypot(float(np.linalg.norm(ends)), rest_radius(space, np.flatnonzero(numeric)))
        return Space(low, high, radius * (1 + 1e-12), space.may_miss, space.names)

    def lipschitz(self, space: Space) -> float:
        return float(self._affine(space)[1].max())

    def free(self, space: Space) -> ReleasedMap:
        raise ValueError(f"{self.name} is for accounts of existing pipelines: it trains nothing")
