"""The distance of a step to data that break its caps, beside its premises: what a test of the caps rests on
(docs/proofs/propose_test_release.md), of two neighbours that an audit, a replay or a rehearsal compares."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prepriv._copies import copied
from prepriv.domain import Domain
from prepriv.guarantees.premise import Premise
from prepriv.placed.chain import TEST_ERROR, PlannedStep
from prepriv.placed.handed import handed, singly
from prepriv.preprocessing.base import LabelledRows, RowShift, Step
from prepriv.rehearsals.made_up import FEW, MadeUp, made_up, targets_of, told
from prepriv.space import Space

_CELLS = 2**17  # of a made-up table as large as the declared one, whose premises speak of it


@dataclass(frozen=True)
class Tested:
    """Whether a step's conditions hold of rows, and how far these are from breaking them, as its test uses it (None: no test)."""

    holds: bool
    distance: float | None = None

    @staticmethod
    def of(
        step: Step,
        conditions: Sequence[Premise],
        rows: LabelledRows,
        space: Space,
        n: int,
        incoming: RowShift,
    ) -> Tested:
        """Asked of the rows as they reach the step."""
        holds = all(c.holds(rows, n) for c in conditions)
        if step.paid.test == 0:
            return Tested(holds)
        said = step.distance(handed(rows, step), space, n, incoming)
        return Tested(holds, 0.0 if math.isnan(said) else min(max(0.0, said), 2.0**30))


def distance_lies(one: Tested, two: Tested) -> Iterator[str]:
    """What the distances on two neighbours show against the theorem that a test rests on.

    They are cut off at 0, as in a run; a float error is allowed as it is there.
    """
    if one.distance is None or two.distance is None:
        return
    for side in (one, two):
        if not side.holds and (side.distance or 0.0) > TEST_ERROR:
            yield "is above 0 where a condition fails"
    if not (one.holds and two.holds) and max(one.distance, two.distance) > 1 + 2 * TEST_ERROR:
        yield "is above 1 beside data on which a condition fails"
    if abs(one.distance - two.distance) > 1 + 2 * TEST_ERROR:
        yield "changes by more than 1 between neighbours"


def check_distance(planned: PlannedStep, domain: Domain, n: int) -> None:
    """ValueError unless the distance of a third-party step is a number, on made-up rows no larger than it may be.

    From a table of one row to a table of another, record by record: at both ends, in the middle, and where a premise fails.
    """
    step = planned.step
    seen = handed(made_up(planned.before, domain, FEW), step, singly(planned, domain))
    try:
        distance: Any = copied(step).distance(seen, planned.before, n, planned.incoming)
    except Exception as error:
        raise ValueError(f"the distance of {step.name} fails on made-up rows: {told(error)}") from None
    if isinstance(distance, bool) or not isinstance(distance, int | float | np.integer | np.floating):
        raise ValueError(
            f"the distance of {step.name} must be a number of records; got {type(distance).__name__}"
        )
    if n * planned.before.d > _CELLS:
        return
    for one, two in _ends(planned.before, domain):
        path = _Path(planned, domain, n, one, two)
        try:
            lie = next((lie for k in path.places() for lie in distance_lies(path.at(k), path.at(k + 1))), "")
        except Exception as error:
            raise ValueError(
                f"the distance of {step.name}, or a premise, fails on made-up rows: {told(error)}"
            ) from None
        if lie:
            raise ValueError(
                f"the distance of {step.name} {lie}, on made-up rows: it must be at most the number of records to replace before one "
                "does (see Step.distance)"
            )


def _ends(space: Space, domain: Domain) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
    """Pairs of rows: with and without missing cells, and at either end of the space."""
    x = made_up(space, domain, FEW).x
    gaps, low, high = x[0], np.where(np.isnan(x[0]), 0.5 * (space.low + space.high), x[0]), x[-1]
    yield low, high
    if space.may_miss.any():
        yield high, gaps


@dataclass(frozen=True, eq=False)
class _Path:
    """Tables of n rows: the first k of them `two`, the others `one`."""

    planned: PlannedStep
    domain: Domain
    n: int
    one: NDArray[Any]
    two: NDArray[Any]

    def at(self, k: int) -> Tested:
        planned = self.planned
        x = np.where((np.arange(self.n) < k)[:, None], self.two, self.one)
        rows = MadeUp(x, targets_of(self.domain, self.n))
        return Tested.of(
            copied(planned.step), planned.conditions, rows, planned.before, self.n, planned.incoming
        )

    def places(self) -> list[int]:
        """Where neighbours are compared."""
        holds, low, high = self.at(0).holds, 0, self.n
        while (
            high - low > 1
        ):  # conditions hold as at the first at `low`, and not so at `high`, if at the last they do not
            middle = (low + high) // 2
            low, high = (middle, high) if self.at(middle).holds == holds else (low, middle)
        near = {k for k in (low - 1, low, low + 1) if 0 <= k < self.n}
        return sorted({0, self.n // 2, self.n - 1, *near})
