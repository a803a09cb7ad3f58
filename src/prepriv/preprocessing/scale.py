"""Standard scaling: subtract the mean, divide by the standard deviation, never by less than a declared floor.

Proof: docs/proofs/scale.md. Source: Provable Privacy with Non-Private Pre-Processing, Proposition 6 (corrected and tightened: docs/errata.md).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from prepriv import payment as pay
from prepriv._arguments import OMITTED, choice, length, names, number, settle, truth
from prepriv._arrays import Floats
from prepriv._rounding import FAR_DOWN, FAR_UP
from prepriv.adjacency import Adjacency, n_is_public
from prepriv.domain import Domain, as_space
from prepriv.guarantees.premise import Premise, at_least
from prepriv.guarantees.printed import exact
from prepriv.mechanisms.handle import Mechanisms
from prepriv.preprocessing._columns import PremiseColumn
from prepriv.preprocessing._sums import SUM_ERROR, Total, pieces
from prepriv.preprocessing.base import (
    UNTOUCHED,
    ConfidentialMap,
    ReleasedMap,
    Rows,
    RowShift,
    Step,
    check_positive,
    need_filled,
    need_n,
)
from prepriv.preprocessing.scale_map import (
    Affine,
    ScaleConfidential,
    ScaleReleased,
    chosen_columns,
    rest_radius,
)
from prepriv.preprocessing.scale_shift import Scaling
from prepriv.space import Space

_TINY = 1e-12  # of the width: what a column without spread is divided by under rule "none"


@dataclass(frozen=True)
class _Powers:
    """Rows of first and second powers, for one noisy sum (`StandardScaler._frame`); common: their averages over the columns."""

    rows: Rows
    columns: NDArray[np.intp]
    centre: Floats
    unit: Floats
    level: float
    first: bool
    common: bool = False

    def __iter__(self) -> Iterator[Floats]:
        for block in self.rows:
            c = np.clip((block[:, self.columns] - self.centre) / self.unit, -1.0, 1.0)
            one, two = c, c * c - self.level
            if self.common:
                one, two = one.mean(axis=1, keepdims=True), two.mean(axis=1, keepdims=True)
            yield np.hstack([one, two]) if self.first else two


@dataclass(frozen=True)
class Spread(Premise):
    """The standard deviation of a column over all n records, about its mean or about its midpoint, is at least `least`."""

    column: PremiseColumn
    least: float
    about_midpoint: bool

    def holds(self, rows: Rows, n: int) -> bool:
        c = self.column
        first, second = powers(rows, np.array([c.index]), np.array([(c.low + c.high) / 2]), n)
        variance = second if self.about_midpoint else second - first * first
        return bool(math.sqrt(max(0.0, float(variance[0]))) >= self.least)

    @property
    def says(self) -> str:
        about = " about the midpoint of its bounds" if self.about_midpoint else ""
        return (
            f"the standard deviation of {self.column.name!r}{about}, over all records, is at least "
            f"{exact(self.least)}, {self.column.units}"
        )


def powers(rows: Rows, columns: NDArray[np.intp], middle: Floats, n: int) -> tuple[Floats, Floats]:
    """One pass: first and second moments of columns about `middle`, (k,) each, dividing by n."""
    first, second = Total(len(columns)), Total(len(columns))
    for piece in pieces(rows):
        c = piece[:, columns] - middle
        first.add(c.sum(axis=0))
        second.add(np.einsum("ij,ij->j", c, c))
    return first.value / n, second.value / n


@dataclass(frozen=True)
class StandardScaler(Step):
    """Scale each column to mean zero and a standard deviation of about one. Then scale the row into a ball of declared norm.

    Parameters
    ----------
    floor : float, default 0.1
        The smallest standard deviation to divide by, as a share of the column's declared width, in (0, 0.5].
    rule : {"max", "root", "none"}, default "max"
        "max" divides by max(sigma, floor). "root" divides by sqrt(sigma^2 + floor^2), which costs about 2.6 times
        less under sensitivity. "none" divides by sigma itself, and the claim then rests on sigma >= floor in every
        column. With public data or by budget, "none" is the same as "max".
    center : {"mean", "midpoint"}, default "mean"
        What is subtracted. "midpoint" is the middle of the declared bounds, and sigma is then taken about it, too. It
        costs four times less under sensitivity, halves the noise under budget, and a learner with a bias loses
        nothing by it.
    radius : float, optional
        Declared norm of a row after the step. None: from 2 sqrt(number of scaled columns), twice what rows have on
        average, and the declared norm of the other columns.
    columns : sequence of str, optional
        Names of the features to scale. None: all of them.
    shrink : bool, default False
        Whether a mean paid for by budget is shrunk towards the midpoint of the bounds, the more so the larger its
        noise is relative to it (James and Stein). It is for little signal, where the noise of the mean would move all
        rows.
    common : bool, default False
        Whether all columns share one mean and one standard deviation, as for the pixels of images. The columns must
        reach the step with the same bounds. Numeric columns do, because each is encoded as a share of its own
        declared bounds, and these shares are averaged. A budget then buys two numbers instead of two per column, at
        the noise of one column.
    payment : Public, Budget or Sensitivity
        How centres and scales are paid for.

    Raises
    ------
    ValueError
        For a setting out of range, or no payment. In a plan: if cells can be missing, or if columns with `common`
        have different bounds.

    Notes
    -----
    The model needs the map on new rows, so a pipeline that pays by sensitivity can be accounted for but not released.
    Proof: docs/proofs/scale.md.

    Examples
    --------
    >>> import prepriv
    >>> from prepriv.preprocessing import StandardScaler
    >>> space = prepriv.Domain.box(0, 10, features=4, classes=[0, 1]).space
    >>> StandardScaler(payment=prepriv.Budget()).output(space).radius
    4.0
    """

    floor: float = 0.1
    rule: Literal["max", "root", "none"] = "max"
    center: Literal["mean", "midpoint"] = "mean"
    radius: float | None = None
    columns: tuple[str, ...] | None = None
    shrink: bool = field(default=False, metadata=OMITTED)
    common: bool = field(default=False, metadata=OMITTED)

    ways: ClassVar[tuple[str, ...]] = pay.WAYS
    fitted_state: ClassVar[str] = "centres and scales"
    Caps: ClassVar[type[pay.Caps]] = pay.Caps

    def __post_init__(self) -> None:
        super().__post_init__()
        settle(self, floor=length("floor", number("floor", self.floor, above=0.0, at_most=0.5)))
        choice("rule", self.rule, ("max", "root", "none"))
        choice("center", self.center, ("mean", "midpoint"))
        if self.radius is not None:
            settle(self, radius=check_positive("radius", self.radius))
        if self.columns is not None:
            settle(self, columns=names("columns", self.columns))
        settle(self, shrink=truth("shrink", self.shrink))
        if self.shrink and (self.center != "mean" or self.way != pay.Budget.way):
            raise ValueError(
                "shrink draws a mean with noise to the midpoint, so the centre has to be the mean, and paid for from the budget"
            )
        settle(self, common=truth("common", self.common))
        if self.common and self.shrink:
            raise ValueError(
                "shrink draws the means of many columns, and common=True has one mean: leave one of them out"
            )
        if self.common and self.rule == "none":
            raise ValueError(
                "rule='none' has a condition for each column, and common=True has one deviation: use rule='max' or 'root'"
            )

    # ------------------------------------------------------------------------------------ declared facts

    def _columns(self, space: Space) -> NDArray[np.intp]:
        columns = chosen_columns(self.name, space, self.columns)
        low, high = space.low[columns], space.high[columns]
        if self.common and not ((low == low[0]).all() and (high == high[0]).all()):
            raise ValueError(
                f"{self.name}: common=True needs columns that reach it with the same bounds; name them in columns, one step for each range"
            )
        return columns

    def _reach(self, space: Space) -> Floats:
        """Largest absolute value of a scaled cell, (k,): its distance from the centre over the floor."""
        ratio = 1 / self.floor if self.center == "mean" else 1 / (2 * self.floor)
        return np.full(len(self._columns(space)), ratio)

    @property
    def after_drops(self) -> bool:
        return True  # its bounds count a dropped row

    def output(self, space: Space) -> Space:
        need_filled(self.name, space)
        columns, reach = self._columns(space), self._reach(space)
        low, high = space.low.copy(), space.high.copy()
        low[columns], high[columns] = -reach, reach
        rest = rest_radius(space, columns)
        declared = math.hypot(2 * math.sqrt(len(columns)), rest) if self.radius is None else self.radius
        radius = min(declared, math.hypot(float(np.linalg.norm(reach)), rest))
        # Pulled back to the ball, a row can leave a box that lacks the origin.
        low, high = np.minimum(low, 0.0), np.maximum(high, 0.0)
        return Space(np.maximum(low, -radius), np.minimum(high, radius), radius, space.may_miss, space.names)

    def lipschitz(self, space: Space) -> float:
        columns = self._columns(space)
        steepest = 1 / (self.floor * float(space.widths[columns].min()))
        return max(1.0, steepest) if len(columns) < space.d else steepest

    # -------------------------------------------------------------------------------------- sensitivity

    def _scaling(self, space: Space, incoming: RowShift) -> Scaling:
        columns = self._columns(space)
        low, high = space.low[columns], space.high[columns]
        if incoming.rows_dropped > 0:  # a dropped row is a row of zeros
            low, high = np.minimum(low, 0.0), np.maximum(high, 0.0)
        middle = (space.low + space.high)[columns] / 2
        centred = not middle.any() or self.center == "mean"
        return Scaling(
            width=high - low,
            reach=np.maximum(high - middle, middle - low),
            floor=self.floor * space.widths[columns],
            ball=space.radius if centred and not self.common else math.inf,
            about_mean=self.center == "mean",
            root=self.rule == "root",
            radius=self.output(space).radius,
            lipschitz=self.lipschitz(space),
            diameter=max(space.diameter, space.radius) if incoming.rows_dropped > 0 else space.diameter,
            norm=space.radius,
        )

    def sensitivity(self, domain: Domain | Space, n: int, incoming: RowShift | None = None) -> RowShift:
        """All rows move: for one column by at most (w/s) sqrt(1 + w^2/(4 s^2)) in total (scale_shift.py)."""
        space, n, incoming = as_space(domain), need_n(n), incoming or UNTOUCHED
        scaling = self._scaling(space, incoming)
        conditions = incoming.conditions + self._spreads(space)
        row, total = scaling.row_shift(n, incoming), scaling.total_shift(n, incoming)
        moved = float(n - 1)
        total = min(total, moved * row)
        return RowShift(moved, row, total, incoming.rows_dropped, conditions, incoming.any_order)

    def _spreads(self, space: Space) -> tuple[Spread, ...]:
        """The conditions of rule "none"."""
        if self.rule != "none":
            return ()
        return tuple(
            Spread(
                PremiseColumn.of(space, j),
                at_least(self.floor * space.widths[j]),
                self.center == "midpoint",
                reading=space.reading,
            )
            for j in self._columns(space)
        )

    def distance(self, rows: Rows, space: Space, n: int, incoming: RowShift | None = None) -> float:
        """For the rule "none": how many records must change before a standard deviation is below its floor. Otherwise inf."""
        if self.rule != "none":
            return math.inf
        came = incoming or UNTOUCHED
        scaling = self._scaling(space, came)
        _, variance = self._moments(rows, space, n)
        least = np.array([c.least for c in self._spreads(space)])
        shift = scaling.moved_variance(came)
        error = 2 * SUM_ERROR * scaling.variance_shift()  # of a computed variance: more records with n
        room = (variance - least**2 - error) / (shift / n + 2 * error)
        return float(room.min()) * FAR_DOWN

    # --------------------------------------------------------------------------------------------- fits

    def _moments(self, rows: Rows, space: Space, n: int) -> tuple[Floats, Floats]:
        """One pass: (centre, variance about it) of each scaled column, dividing by n."""
        columns = self._columns(space)
        middle = (space.low + space.high)[columns] / 2
        first, second = powers(rows, columns, middle, n)
        if self.common:
            first, second = np.full_like(first, first.mean()), np.full_like(second, second.mean())
        return self._centred(middle, first, second)

    def _centred(self, middle: Floats, first: Floats, second: Floats) -> tuple[Floats, Floats]:
        """(centre, variance about it) from the moments about the midpoints."""
        if self.center == "midpoint":
            return middle, np.maximum(second, 0.0)
        return middle + first, np.maximum(second - first * first, 0.0)

    def _affine(self, space: Space, centre: Floats, variance: Floats, rule: str) -> Affine:
        columns, after = self._columns(space), self.output(space)
        s = self.floor * space.widths[columns]
        least = _TINY * space.widths[columns] if rule == "none" else s
        sigma = np.sqrt(variance + s * s) if rule == "root" else np.maximum(np.sqrt(variance), least)
        offset, factor = np.zeros(space.d), np.ones(space.d)
        offset[columns], factor[columns] = centre, 1 / sigma
        return Affine(offset, factor, after.low, after.high, after.radius)

    def fit_confidential(self, rows: Rows, space: Space, n: int) -> ConfidentialMap:
        return ScaleConfidential(self._affine(space, *self._moments(rows, space, n), self.rule))

    def fit_public(self, rows: Rows, space: Space, n: int) -> ReleasedMap:
        return ScaleReleased(self._affine(space, *self._moments(rows, space, n), self._floored))

    @property
    def _floored(self) -> str:
        return "max" if self.rule == "none" else self.rule

    # ------------------------------------------------------------------------------------------- budget

    def _frame(self, space: Space) -> tuple[Floats, Floats, float, float, float]:
        """(centre, unit, level, radius, replace-one shift) of the powers c and c^2 - level, c in [-1, 1].

        In the box c is the distance from the midpoint in half widths, and with level 1/2 the squares cost
        nothing beside the first powers: two rows are at most 2 sqrt(k) apart either way. In the ball
        c = x / R, radius sqrt(2), shift sqrt(4.5). The frame with the smaller noise on the variance is taken.
        With `common` it is the box, and a row of averages lies in the convex hull of the powers of one cell: k = 1.
        """
        columns = self._columns(space)
        k = self._released(columns)
        middle, half = (space.low + space.high)[columns] / 2, space.widths[columns] / 2
        first = self.center == "mean"
        shift = 2 * math.sqrt(k) if first else math.sqrt(k)
        in_ball = math.sqrt(4.5) if first else math.sqrt(2)
        free = not self.common and (first or not middle.any())
        if free and space.radius**2 * in_ball < float(half.max()) ** 2 * shift:
            ball = np.full(k, space.radius)
            return np.zeros(k), ball, 0.0, math.sqrt(2) if first else 1.0, in_ball
        return middle, half, 0.5, math.sqrt(1.25 * k) if first else math.sqrt(k) / 2, shift

    def _released(self, columns: NDArray[np.intp]) -> int:
        """How many means (and deviations) are released."""
        return 1 if self.common else len(columns)

    def l2_sensitivity(self, space: Space, adjacency: Adjacency, incoming: RowShift) -> float:
        """One row of powers replaces another. If a row moves, its powers move sqrt(5) / unit times as far.

        Averages over k columns move sqrt(k) times less, because the mean of k moves is at most their norm divided by
        sqrt(k).
        """
        columns = self._columns(space)
        _, unit, _, radius, shift = self._frame(space)
        record = shift if n_is_public(adjacency) else radius
        slope = math.sqrt(5) if not self.common else math.sqrt(5 / len(columns))
        moved = slope / float(unit.min()) * incoming.total_shift
        return (record + moved + 2 * radius * incoming.rows_dropped) * FAR_UP

    def fit_budget(self, rows: Rows, space: Space, n: int, mechanisms: Mechanisms) -> ReleasedMap:
        columns, first = self._columns(space), self.center == "mean"
        centre, unit, level, radius, _ = self._frame(space)
        k = self._released(columns)
        powers = _Powers(rows, columns, centre, unit, level, first, self.common)
        sums = mechanisms.sum(powers, dim=2 * k if first else k, radius=radius) / n
        one = unit * sums[:k] if first else np.zeros(len(columns))
        two = unit * unit * (sums[-k:] + level)
        mean, variance = self._centred(centre, one, two)
        if self.shrink:  # the variance is still that about the mean as it was released
            noise = math.sqrt(k) * mechanisms.noise_multiplier * mechanisms.l2_sensitivity / n
            released = max(float(np.linalg.norm(sums[:k])), 1e-300)
            mean = centre + one * max(0.0, 1 - (noise / released) ** 2)
        middle, half = (space.low + space.high)[columns] / 2, space.widths[columns] / 2
        mean = np.clip(mean, middle - half, middle + half)
        return ScaleReleased(self._affine(space, mean, np.minimum(variance, half * half), self._floored))

    def mean_noise(self, space: Space, noise: float, fitted: ReleasedMap) -> Floats | None:
        """Standard deviation of the noise in the mean of each feature that a budget paid for, (d,), in scaled units. None without a mean.

        noise: the standard deviation of one released mean of powers. The result depends on the plan and on released
        numbers only.
        """
        if self.center != "mean" or not isinstance(fitted, ScaleReleased):
            return None
        columns, unit = self._columns(space), self._frame(space)[1]
        each = np.zeros(space.d)
        each[columns] = noise * unit * fitted.affine.factor[columns]
        return each

    def deviation_shown(self, space: Space, noise: float, fitted: ScaleReleased) -> Floats:
        """The standard deviation of each feature, (d,), by its released variance less the deviation of its noise; 0
        where none was released of it alone, or no more than the floor. noise: as of `mean_noise`.
        """
        columns = self._columns(space)
        shown, floor = np.zeros(space.d), self.floor * space.widths[columns]
        if self.common:
            return shown
        variance, least = self._variance(space, fitted)
        says = (self._floored == "root") | (variance > np.square(floor) * (1 + 1e-9))
        variance = np.where(says, variance - least, 0.0)
        shown[columns] = np.sqrt(np.maximum(variance - self._variance_noise(space, noise, fitted), 0.0))
        return shown

    def factors_beside(self, space: Space, noise: float, fitted: ScaleReleased) -> Floats:
        """What each feature would be multiplied by, (2, d), had the noise of its released variance been one deviation lower, or
        higher. noise: as of `mean_noise`.
        """
        columns, floor = self._columns(space), self.floor * space.widths[self._columns(space)]
        released, least = self._variance(space, fitted)
        off = self._variance_noise(space, noise, fitted)
        variance = np.clip(
            released - least + np.array([[-1.0], [1.0]]) * off, 0.0, np.square(space.widths[columns] / 2)
        )
        beside = np.tile(fitted.affine.factor, (2, 1))
        beside[:, columns] = 1.0 / np.sqrt(np.maximum(variance + least, np.square(floor)))
        return beside

    def _variance(self, space: Space, fitted: ScaleReleased) -> tuple[Floats, Floats]:
        """(the square of what each scaled column was divided by, what its rule has added to the variance in it), (k,) each."""
        columns = self._columns(space)
        added = (
            np.square(self.floor * space.widths[columns])
            if self._floored == "root"
            else np.zeros(len(columns))
        )
        return 1.0 / np.square(fitted.affine.factor[columns]), added

    def _variance_noise(self, space: Space, noise: float, fitted: ScaleReleased) -> Floats:
        """Standard deviation of the noise in each released variance, (k,): that of the mean square, and that of the square of the mean, which was
        subtracted from it. The further the mean is from the centre of the frame, the more it is.
        """
        centre, unit, _, _, _ = self._frame(space)
        if self.center == "midpoint":
            return np.asarray(noise * unit * unit)
        mean = (fitted.affine.offset[self._columns(space)] - centre) / unit
        return np.asarray(noise * unit * unit * np.sqrt(1.0 + 4.0 * mean * mean))
