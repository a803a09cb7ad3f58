"""Whether a sketch carries enough: a rule of public numbers before the charge, and a check of what was released after it.

The thresholds were measured on 21 tables (docs/sketch.md); they are not part of any guarantee.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from prepriv.sketches.sketch_plan import SketchPlan
from prepriv.sketches.tables import SketchShape

_ENOUGH, _LEAST = (
    40.0,
    10.0,
)  # of b: loss near 0; below, rows drawn from the sketch are no better than uniform ones
CLEAR, COARSE = 0.1, 0.3  # of tau: expected noise of a table with the label, in total variation
PAIRED = 0.05  # noise of one correlation: below it they bring what they can
KEPT, LOST = 0.5, 0.4  # of the mean shrinkage after the release


@dataclass(frozen=True)
class Signal:
    """What is known before a record is read. b: n mu / (sqrt(d) K k). tau: the expected noise of a table with the label, in total variation.
    pair_noise: that of one correlation, nan where none is released. plan: whose it is."""

    plan: SketchPlan
    b: float
    tau: float
    pair_noise: float

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
            return "the sketch carries enough for its steps: they lose a few tenths of a point" + self._pairs
        lost = "expect to lose 1 to 2 points" if self.tau <= COARSE else "expect to lose 3 points and more"
        if self.verdict == "too little":
            lost = "rows drawn from it are no better than uniform ones"
        if self.b >= _ENOUGH:
            return (
                f"the tables of the sketch hold many cells for {plan.n} {self._whose} (noise {self.tau:.2f} in total variation; "
                f"{CLEAR} is clear): {lost}; declare fewer categories, or give the sketch a larger share{self._pairs}"
            )
        needed = _ENOUGH * math.sqrt(plan.d) * plan.classes * plan.k / plan.n
        return (
            f"the sketch needs mu >= {_ENOUGH:g}*sqrt(d)*K*k/n = {needed:.3g} of this table ({self._facts}) and has "
            f"{plan.mu:.3g}: {lost}; enough would be {self.rows_enough} {self._whose}, a share {needed / plan.mu:.2g} times as large in mu "
            f"({(needed / plan.mu) ** 2:.2g} times in mu squared){self._columns}{self._pairs}"
        )

    @property
    def _whose(self) -> str:
        return "rows" if self.plan.domain.unit is None else "units"

    @property
    def _facts(self) -> str:
        plan = self.plan
        units = f", {plan.k} rows a unit" if plan.k > 1 else ""
        return f"{plan.n} {self._whose}, {plan.d} columns, {plan.classes} {'class' if plan.classes == 1 else 'classes'}{units}"

    @property
    def rows_enough(self) -> int:
        """How many records would be enough at this share."""
        plan = self.plan
        return math.ceil(_ENOUGH * math.sqrt(plan.d) * plan.classes * plan.k / plan.mu)

    @property
    def columns_enough(self) -> int:
        """How many columns would be few enough at this share; 0 where one is too many."""
        plan = self.plan
        return math.floor((plan.n * plan.mu / (_ENOUGH * plan.classes * plan.k)) ** 2)

    @property
    def _columns(self) -> str:
        return f", or {self.columns_enough} columns" if self.columns_enough >= 1 else ""

    @property
    def _pairs(self) -> str:
        if math.isnan(self.pair_noise) or self.pair_noise <= PAIRED:
            return ""
        what = (
            "correlations are coarse"
            if self.pair_noise <= 2 * PAIRED
            else "correlations bring nothing, and cost the tables"
        )
        return f"; noise of one correlation is {self.pair_noise:.2g} (0.05 is clear): {what}"


def signal_of(plan: SketchPlan) -> Signal:
    """The rule, from the declared facts of a plan."""
    b = plan.n * plan.mu / (math.sqrt(plan.d) * plan.classes * plan.k)
    codes = float(
        np.mean([min(size, plan.bins + 1) if i in plan.numeric else size for i, size in enumerate(plan.rows)])
    )
    tau = 0.4 * plan.noise("tables") * codes * plan.classes / plan.n
    pair = plan.noise("pairs") / plan.n if "pairs" in plan.mechanisms else math.nan
    return Signal(plan, b, tau, pair)


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
        f"{kept}. Steps that look at the label lose 2 points or more, unless few columns depend on the label"
    )
