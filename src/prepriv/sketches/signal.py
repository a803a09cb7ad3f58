"""Whether a sketch carries enough: a rule of public numbers before the charge, and a check of what was released after it.

The thresholds were measured on 21 tables (docs/sketch.md); they are not part of any guarantee.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from prepriv.guarantees.gaussian import gdp_mu
from prepriv.guarantees.less_noise import MOST_NAMED, larger_epsilon, less_noise
from prepriv.guarantees.training_part import (
    LEAVES_MORE,
    candidate_has,
    divided,
    leaves_as_much,
    names_none,
    price_now,
    price_of,
    table_now,
    table_of,
)
from prepriv.sketches.sketch_plan import SketchPlan
from prepriv.sketches.tables import SketchShape

_ENOUGH, _LEAST = (
    40.0,
    10.0,
)  # of b: loss near 0; below, rows drawn from the sketch are no better than uniform ones
CLEAR, COARSE = 0.1, 0.3  # of tau: expected noise of a table with the label, in total variation
# So many columns, and so large a part of all, are named as few enough. A model of fewer columns is not a cure.
_FEWEST, _LEAST_PART = 2, 1 / 3
PAIRED = 0.05  # noise of one correlation: below it they bring what they can
MEASURED = {
    "enough": "0.2 points on average, 0.5 in the worst pipeline on Adult",
    "coarse": "1.5 to 1.9 points on average, 2.5 in the worst run",
    "many cells": "3.6 to 6 points on average",
    "too little": "4.8 points on average, as on uniform rows",
}
"""What steps that look at the label lost beside a fit on the real rows: docs/sketch.md, which tests/sketches compares with it."""
KEPT, LOST = 0.5, 0.4  # of the mean shrinkage after the release


@dataclass(frozen=True)
class Signal:
    """What is known before a record is read. b: n mu / (sqrt(d) K k). tau: the expected noise of a table with the label, in total variation.
    pair_noise: that of one correlation, nan where none is released. plan: whose it is. price: (epsilon, delta) of all that it is a part of; None:
    not known."""

    plan: SketchPlan
    b: float
    tau: float
    pair_noise: float
    price: tuple[float, float] | None = None

    @property
    def verdict(self) -> str:
        """ "enough", "coarse" or "too little"."""
        if self.b < _LEAST:
            return "too little"
        return "enough" if self.b >= _ENOUGH and self.tau <= CLEAR else "coarse"

    @property
    def sentence(self) -> str:
        """What to expect, and what would be enough."""
        plan = self.plan
        if self.verdict == "enough":
            return f"{self._small_noise} {self._lost}" + self._pairs
        if self.b >= _ENOUGH:
            return (
                f"the tables of the sketch hold many cells for {plan.n:,} {self._whose}{self._cells}: their noise is {self.tau:.3g} in total "
                f"variation, and at most {CLEAR} is wanted. {self._lost} {self._fewer_cells}.{self._any_one}{self._pairs}"
            )
        weak = "would be noise" if self.verdict == "too little" else "is coarse"
        return (
            f"a sketch of this table ({self._facts}) {weak} at this budget: its signal b is {self.b:.2g}, and {_ENOUGH:g} is enough, "
            f"{_LEAST:g} the least. {self._lost}{self._any_one}{self._pairs}"
        )

    @property
    def _categories(self) -> int:
        """The most codes of a column of categories; 0 without any."""
        return max((size for i, size in enumerate(self.plan.rows) if i not in self.plan.numeric), default=0)

    @property
    def _cells(self) -> str:
        """What makes the cells."""
        plan, bins = self.plan, self.plan.bins + 1
        times = f", times {plan.classes} classes" if plan.classes > 1 else ""
        numbers = (
            f"about {bins} bins for each of {len(plan.numeric)} columns of numbers" if plan.numeric else ""
        )
        kinds = f"up to {self._categories} cells for a column of categories" if self._categories else ""
        return f" ({' and '.join(filter(None, (numbers, kinds)))}{times})"

    @property
    def _fewer_cells(self) -> str:
        """What makes fewer cells, or less noise in each."""
        if self._categories > self.plan.bins + 1 or not self.plan.numeric:
            return "Declare fewer categories, or give the sketch a larger share, which leaves training less"
        return "Use more records, fewer columns or a larger ε, or give the sketch a larger share, which leaves training less"

    @property
    def enough(self) -> bool:
        """Whether nothing of it is coarse: b, tables and pairs."""
        return self.verdict == "enough" and not self.pair_noise > PAIRED

    @property
    def ways_enough(self) -> tuple[str, ...]:
        """What would be enough, one by one: rows, an epsilon, columns. Each is named only if it is, as it is rounded. A larger share is not: what
        the sketch gains by it, training loses."""
        plan, found = self.plan, list[str]()
        if names_none():
            return ()
        if (rows := self.rows_enough) and leaves_as_much(table_of(rows)):
            found.append(f"{table_of(rows):,} {self._whose} in place of {table_now(plan.n)}")
        if self.price is not None and (epsilon := self.epsilon_enough):
            found.append(f"ε = {epsilon:g} in place of {price_now(self.price[0]):g}")
        if columns := self.columns_enough:
            found.append(f"{columns} columns{self._beside} in place of {len(plan.domain.columns)}")
        return tuple(found)

    @property
    def _beside(self) -> str:
        """What is read beside the columns that can be fewer."""
        if self.plan.classes > 1:
            return " beside the label"
        return " beside the target" if self.plan.d > len(self.plan.domain.columns) else ""

    @property
    def _any_one(self) -> str:
        ways = self.ways_enough
        if not ways:
            return f" {LEAVES_MORE}." if divided() else ""
        return f" Any one of these would make the sketch fine enough: {'; '.join(ways)}."

    def _would(self, **changed: Any) -> bool:
        """Whether a sketch with another domain or price would be enough; one that is refused is not."""
        with suppress(ValueError):
            return signal_of(replace(self.plan, **changed)).enough
        return False

    @cached_property
    def _less_noise(self) -> float:
        """How many times less noise is enough."""
        return less_noise(lambda times: self._would(mu=self.plan.mu * times))

    @property
    def _lost(self) -> str:
        """What was measured of such sketches."""
        if self.plan.needs == "columns":
            return "Steps that look at single columns lose less than steps that look at the label."
        if self.plan.domain.target is not None:
            return "With a numeric target only whole fits were measured (docs/sketch.md)."
        kind = "many cells" if self.verdict == "coarse" and self.tau > COARSE else self.verdict
        return (
            f"In tests on other tables, pipelines whose steps look at the label or at several columns lost accuracy: {MEASURED[kind]} (docs/sketch.md). "
            "Yours can lose more."
        )

    @property
    def _small_noise(self) -> str:
        """What is known where the rule holds: the noise, and not how strongly columns depend on the label."""
        said = f"the noise of the sketch is small beside its counts (its signal b is {self.b:.3g}, and {_ENOUGH:g} is enough; docs/sketch.md says how b is computed)."
        if self.plan.classes == 1:
            return said
        return (
            f"{said} Whether the label shows through it depends on how strongly the columns depend on the label, which no one knows before "
            f"the charge. A check after it tells, and {KEPT:g} is enough. A weak dependence is lost at this ε."
        )

    @property
    def _whose(self) -> str:
        return "rows" if self.plan.domain.unit is None else "units"

    @property
    def _facts(self) -> str:
        plan = self.plan
        units = f", {plan.k} rows a unit" if plan.k > 1 else ""
        classes = f", {plan.classes} classes" if plan.classes > 1 else ""  # none of a numeric target
        of_target = " with the target" if plan.d > len(plan.domain.columns) else ""
        return f"{table_now(plan.n, self._whose)}, {plan.d} columns{of_target}{classes}{units}"

    @cached_property
    def rows_enough(self) -> int | None:
        """How many records would be enough at this price; None: no number."""
        domain, n = self.plan.domain, self.plan.n

        def more(times: float) -> bool:
            return self._would(domain=domain.with_n(math.ceil(n * times)))

        times = less_noise(more)
        return math.ceil(n * times) if times < math.inf and more(times) else None

    @cached_property
    def epsilon_enough(self) -> float | None:
        """Which epsilon of the whole budget would be enough at this share; None: none that is named, or the price is not known."""
        if self.price is None:
            return None
        epsilon = price_of(larger_epsilon(self._less_noise, *self.price))
        share = self.plan.mu / gdp_mu(*self.price)
        good = epsilon <= MOST_NAMED and self._would(mu=share * gdp_mu(candidate_has(epsilon), self.price[1]))
        return epsilon if good else None

    @cached_property
    def columns_enough(self) -> int:
        """How many columns would be few enough at this price, whichever are left; 0 where these are fewer than a third, or than two: a model of so few
        is another model."""
        plan = self.plan
        sizes = dict(zip(plan.columns, plan.rows))
        widest = sorted(plan.domain.columns.items(), key=lambda one: -sizes[one[0]])

        def too_many(count: int) -> bool:
            return not self._would(domain=replace(plan.domain, columns=dict(widest[:count])))

        most = bisect_left(range(1, len(widest)), True, key=too_many)
        useful = most >= max(_FEWEST, _LEAST_PART * len(widest))
        return most if useful and not too_many(most) else 0

    @property
    def _pairs(self) -> str:
        if math.isnan(self.pair_noise) or self.pair_noise <= PAIRED:
            return ""
        relating = self.plan.relating
        out = " and ".join(relating) if relating else "the steps that relate columns, such as PCA"
        what = (
            "correlations are coarse."
            if self.pair_noise <= 2 * PAIRED
            else f"correlations bring nothing, and cost the tables. Leave out {out}."
        )
        return f" Noise of one correlation is {self.pair_noise:.2g}, and at most 0.05 is wanted: {what}"


def signal_of(plan: SketchPlan, price: tuple[float, float] | None = None) -> Signal:
    """The rule, from the declared facts of a plan. price: as for `Signal`."""
    b = plan.n * plan.mu / (math.sqrt(plan.d) * plan.classes * plan.k)
    codes = float(
        np.mean([min(size, plan.bins + 1) if i in plan.numeric else size for i, size in enumerate(plan.rows)])
    )
    tau = 0.4 * plan.noise("tables") * codes * plan.classes / plan.n
    pair = plan.noise("pairs") / plan.n if "pairs" in plan.mechanisms else math.nan
    return Signal(plan, b, tau, pair, price)


def mu_enough(plan: SketchPlan) -> float:
    """The price of a sketch that is enough for these facts: what `Sketch(share="auto")` buys."""
    tables = _ENOUGH * math.sqrt(plan.d) * plan.classes * plan.k / plan.n
    return max(tables, plan.mu * signal_of(plan).pair_noise / PAIRED) if plan.paired else tables


def check_of(shape: SketchShape) -> str:
    """What the released tables say about themselves. It is free, since it follows from them."""
    if len(shape.classes) == 1:
        return "the tables have no label, and nothing to check"
    kept = f"above the noise, the tables show {shape.signal:.2f} of the columns' dependence on the label (1 is all)"
    if shape.signal >= KEPT:
        return f"{kept}, which is enough"
    if shape.signal >= LOST:
        return f"{kept}. Steps that look at the label may lose a point or two"
    return (
        f"{kept}. Most of what steps that look at the label learn from it is noise. Either the columns depend weakly on the label, or ε is too "
        "small for this table. Steps that do not look at the label, such as scaling, lose less"
    )
