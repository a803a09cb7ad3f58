"""The first step of a pipeline of scikit-learn: rows in the units of their columns, and what was assumed when it was read."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from prepriv._arrays import Floats
from prepriv._rounding import UP
from prepriv.columns import Column, Numeric
from prepriv.domain import Domain
from prepriv.preprocessing.base import ReleasedMap, Step
from prepriv.preprocessing.scale import StandardScaler
from prepriv.preprocessing.scale_map import chosen_columns, rest_radius
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
        """ValueError unless it is the domain with which the pipeline was read."""
        if list(self.declared.items()) != list(domain.columns.items()):
            raise ValueError(
                "the steps were read of a pipeline on another domain: its columns, bounds or categories are not these; call "
                "from_sklearn with the domain of the account"
            )

    def check_after(self, step: Step, before: Space, n: int) -> None:
        """ValueError where scikit-learn can take a column with the declared deviation for a constant one.

        It divides by 1 where var <= n eps var + (n mean eps)^2 (`_is_constant_feature`), which one record can decide far from
        zero. Within a quarter of that its own rounding of the variance changes nothing.
        """
        if not isinstance(step, StandardScaler) or step.rule != "none":
            return
        eps = 2.0**-52
        for j in chosen_columns(step.name, before, step.columns):
            least = step.floor * (before.high[j] - before.low[j])
            most = n * eps * max(abs(before.low[j]), abs(before.high[j]))
            if not least**2 * (0.25 - n * eps) > most**2:
                name = before.names[j] if before.names else f"x{j}"
                raise ValueError(
                    f"the column {name!r} lies so far from zero that scikit-learn's StandardScaler can take it for constant, which one "
                    "record decides: subtract a fixed number before the pipeline, and declare the bounds of what is left"
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
        return Space(low, high, radius * UP, space.may_miss, space.names)

    def lipschitz(self, space: Space) -> float:
        return float(self._affine(space)[1].max())

    def free(self, space: Space) -> ReleasedMap:
        raise ValueError(f"{self.name} is for accounts of existing pipelines: it trains nothing")
