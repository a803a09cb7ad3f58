"""Columns whose gaps are filled by a released number: how far its noise moves it, beside how far the column varies.

A filled cell counts as that number. Where many cells are gaps, the weight of the column says, too, how records with a gap differ from
others, and the noise of the number decides with what sign. How many cells are gaps is not released, and not read here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from prepriv._arrays import Floats
from prepriv.columns import Numeric
from prepriv.guarantees.printed import up
from prepriv.placed.chain import PlannedStep
from prepriv.plans.plan import Plan
from prepriv.preprocessing._histogram import noise_of_median_rank
from prepriv.preprocessing.base import ReleasedMap
from prepriv.preprocessing.class_counts import CountedClasses
from prepriv.preprocessing.impute import MeanImputer
from prepriv.preprocessing.impute_caps import FillReleased, Imputer, midpoints
from prepriv.preprocessing.impute_median import MedianImputer
from prepriv.release.noise_of_weights import THERE, numbers_released

SMALL = 0.102
"""Deviations of a column up to which the noise of what fills its gaps is called small: a rule of thumb. With more, no sign is believed. The
MedianImputer of a pipeline gets a share of the budget that leaves 0.1011 (`recipes.own_fits`). With a limit below that, the numbers of records that are
named would not be enough."""
_OBSERVED = 0.5  # of the cells, taken to be there: how many are is not released
_OF_BOUNDS = 0.05  # of its bounds, that a column is taken to vary by where nothing released says it
_AT_MEDIAN = math.sqrt(
    2.0 * math.pi
)  # deviations of a bell-shaped column for each share of its records, at the median
_NAMED = 5


@dataclass(frozen=True)
class NoisyFill:
    """at: the cell of the domain. column: its name. step: what fills its gaps. value: by what number, in the units of the column; None: by different
    numbers, or in other units. off: the standard deviation of the noise of that number, in deviations of the column, as if half of its cells were gaps;
    inf: not known. n: of so many records. sure: whether a number of records that makes it small may be named."""

    at: int
    column: str
    step: str
    value: float | None
    off: float
    n: int
    sure: bool

    @property
    def small(self) -> bool:
        return self.off <= SMALL

    @property
    def records(self) -> float:
        """About how many records make the noise small at this ε: it falls with their number. inf: not known."""
        return self.n * self.off / SMALL if self.sure else math.inf


def noisy_fills(plan: Plan, maps: Sequence[ReleasedMap]) -> tuple[NoisyFill, ...]:
    """Those of the numbers that may have gaps; () where no step fills them by a number that noise was added to."""
    if not plan.private:
        return ()
    raw = True  # whether cells are still what the domain makes of them
    for planned, released in zip(plan.steps, maps):
        if isinstance(planned.step, Imputer) and planned.step.way == "budget":
            return _fills(plan, maps, planned, released, raw)
        if planned.before.d != plan.domain.space.d:
            return ()
        raw = raw and isinstance(released, CountedClasses)
    return ()


def _fills(
    plan: Plan, maps: Sequence[ReleasedMap], planned: PlannedStep, released: ReleasedMap, raw: bool
) -> tuple[NoisyFill, ...]:
    _, deviation = numbers_released(
        plan, maps, THERE
    )  # in units of the domain, whose numbers are from 0 to 1
    off, at, found = _off(plan.n, deviation, planned, released), 0, list[NoisyFill]()
    sure = isinstance(
        planned.step, MedianImputer
    )  # the noise of a mean rests on a deviation that is noisy itself
    for name, column in plan.domain.columns.items():
        if isinstance(column, Numeric) and planned.before.may_miss[at]:
            value = None
            if raw and isinstance(released, FillReleased):
                value = column.low + float(released.fill[at]) * (column.high - column.low)
            found.append(NoisyFill(at, str(name), planned.step.name, value, float(off[at]), plan.n, sure))
        at += column.width
    return tuple(found)


def _off(n: int, deviation: Floats, planned: PlannedStep, released: ReleasedMap) -> Floats:
    """How far noise moves what fills a gap of each cell, (d,), in deviations of its column: those that were released, or 0."""
    space, observed = planned.before, _OBSERVED * n
    noise = (planned.noise_multiplier or 0.0) * (planned.shift or 0.0)
    if isinstance(planned.step, MedianImputer):
        return np.full(space.d, _AT_MEDIAN * noise_of_median_rank(noise) / observed)
    if not isinstance(planned.step, MeanImputer) or not isinstance(released, FillReleased):
        return np.full(space.d, math.inf)
    half = np.maximum(space.widths / 2, 1e-300)
    off = noise / observed * np.hypot(1.0, (released.fill - midpoints(space)) / half)
    units = np.maximum(
        space.widths, 1e-300
    )  # deviations are in units of the domain, whose numbers are from 0 to 1
    return np.asarray(off / units / np.where(deviation > 0, deviation, _OF_BOUNDS))


def fills_in_words(fills: Sequence[NoisyFill]) -> str:
    """What a print of weights says about them; "" where there are none."""
    if not fills:
        return ""
    by = ", ".join(
        f'"{one.column}"' + (f" ({one.value:.4g})" if one.value is not None else "") for one in fills[:_NAMED]
    )
    more = f" and {len(fills) - _NAMED:,} more" if len(fills) > _NAMED else ""
    what = "a noisy number" if len(fills) == 1 else "noisy numbers"
    return (
        f"{fills[0].step} fills gaps by {what}: {by}{more}. The noise of weights leaves that out. Where many cells of a column are gaps, its weight says, too, how records "
        "with a gap differ from others, and that part can have either sign."
    )


def list_title(fills: Sequence[NoisyFill], count: int) -> str:
    """Above the weights, so many, of columns that are filled by a number with much noise: `fills`."""
    records = max(one.records for one in fills)
    more = f", or about {float(up(records, 2)):,.0f} records at this ε" if math.isfinite(records) else ""
    return (
        f"of numbers whose gaps, if they have any, are filled by a number with much noise ({count}). Read a column with few or no gaps as those above. If many of its cells are gaps, its weight can have "
        f"either sign, however far from 0 it is. A fill with little noise takes a value of your own that is near its common ones, filled in beforehand and without {fills[0].step}{more}:"
    )


def fills_on_page(fills: Sequence[NoisyFill]) -> str:
    """What the page says below its weights, from a space on; "" where there is nothing to say."""
    much = sum(not one.small for one in fills)
    hidden = f" Numbers whose fill has much noise are not shown ({much})." if much else ""
    return f" {fills_in_words(fills)}{hidden}" if fills else ""
