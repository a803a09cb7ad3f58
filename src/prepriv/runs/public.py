"""Public tables: what steps fitted on them give, and what is wrong with them, seen before any charge."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from prepriv._copies import copied
from prepriv.domain import Domain
from prepriv.placed.rows import public_rows
from prepriv.plans.plan import Plan
from prepriv.preprocessing.base import ReleasedMap, Step, walk
from prepriv.space import Space


def follow(domain: Domain, steps: Sequence[Step], data: Any = None) -> tuple[Space, list[ReleasedMap]]:
    """(space, fitted maps) after free and public steps. data: the table of Public() steps that name none."""
    space, maps = domain.space, list[ReleasedMap]()
    for step, before, after in walk(steps, domain.space):
        if step.paid.private:
            raise ValueError(f"{step.name} is paid for by {step.way}: its map is not known before the run")
        maps.append(step.paid.fit(copied(step), before, _PublicOnly(domain, maps, data))[1])
        space = after
    return space, maps


def check_public(plan: Plan) -> None:
    """Fit every public step that can be fitted now, so that a bad public table is refused before any charge.

    ValueError, naming the step: no table, columns that differ from the schema's, rows that its `check_public` refuses,
    or a map that is not a number somewhere. Steps after one that is fitted on private rows are checked for columns and
    row counts only. Reads no private record, and changes no charge.
    """
    check_public_steps(plan.domain, [p.step for p in plan.steps])


def check_public_steps(domain: Domain, steps: Sequence[Step]) -> None:
    """The same for steps that are in no plan yet."""
    maps: list[ReleasedMap] | None = []  # None: behind a private fit
    for step, space, _after in walk(steps, domain.space):
        if step.paid.private:
            maps = None
        elif step.payment is not None:
            try:
                fitted = _checked(step, domain, space, maps)
            except ValueError as error:
                raise ValueError(f"{step.name}, the public table: {error}") from None
            maps = None if maps is None or fitted is None else [*maps, fitted]
        else:
            free = step.free(space)  # that it can be made at all is seen before the charge
            maps = None if maps is None else [*maps, free]


def _checked(
    step: Step, domain: Domain, space: Space, maps: Sequence[ReleasedMap] | None
) -> ReleasedMap | None:
    rows = public_rows(step.paid.data, domain, maps or [])
    step.check_public(rows.table.n, None if maps is None else rows, space)
    if maps is None:
        return None
    fitted = step.fit_public(rows, space, rows.table.n)
    _check_finite(fitted)
    return fitted


def _check_finite(fitted: ReleasedMap) -> None:
    """ValueError where a number of a public map is none: it would drop, or ruin, every private row."""
    for value in vars(fitted).values():
        if isinstance(value, ReleasedMap):
            _check_finite(value)
        elif isinstance(value, float | np.ndarray) and np.isnan(value).any():
            raise ValueError(
                "its fitted map is not a number somewhere: fill the missing cells of the table first"
            )


class _PublicOnly:
    """What a fit may see where no private row is (`payment.Access`). data: the table of a step that names none."""

    n = 0

    def __init__(self, domain: Domain, maps: Sequence[ReleasedMap], data: Any) -> None:
        self._domain, self._maps, self._data = domain, list(maps), data

    def public(self, data: Any) -> tuple[Any, int]:
        rows = public_rows(self._data if data is None else data, self._domain, self._maps)
        return rows, rows.table.n

    def private(self) -> Any:
        raise RuntimeError("no private rows here")

    mechanisms = sketch = private
