"""Regression imputation: fill a missing cell with a linear prediction from the columns that never miss one.

Ridge regression with weights in a ball: unconditional. Proof: docs/proofs/impute.md. Source: Provable Privacy with Non-Private Pre-Processing,
Table 3 (Sherman-Morrison, add-one), replaced by strong convexity (docs/errata.md).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from prepriv import payment as pay
from prepriv._arrays import Floats
from prepriv._blas import one_blas_thread
from prepriv._rounding import FAR_UP, UP
from prepriv.adjacency import Adjacency, n_is_public
from prepriv.exact.ball import norms
from prepriv.guarantees.premise import Premise, at_least
from prepriv.guarantees.printed import exact
from prepriv.mechanisms.handle import Mechanisms
from prepriv.preprocessing._sums import SUM_ERROR, Total, pieces
from prepriv.preprocessing.base import UNTOUCHED, ConfidentialMap, ReleasedMap, Rows, RowShift, check_positive
from prepriv.preprocessing.impute_caps import Imputer, ImputerCaps, MissingCaps, Moves, midpoints
from prepriv.preprocessing.second_moment import LAPACK_ERROR
from prepriv.preprocessing.stored_map import StoredMap
from prepriv.space import Space

_ROUNDING = 2.0**-38  # of (1 + B) / ridge: what float sums and the solver can move the weights by
_PRODUCTS = 2**20  # numbers of a block of products: there are many columns of them


@dataclass(frozen=True, eq=False)
class Frame:
    """Declared units: predictors z = (x - centre, bias) / radius of norm <= 1, targets t in [-1, 1].

    predictors: (k,) columns that are never missing. targets: (t,) columns to impute. middle, half: (t,)
    midpoints and half widths of the targets.
    """

    predictors: NDArray[np.intp]
    targets: NDArray[np.intp]
    centre: Floats
    radius: float
    middle: Floats
    half: Floats

    @staticmethod
    def of(space: Space) -> Frame:
        """Predictors about the origin or about the midpoints, whichever has the smaller declared norm."""
        predictors, targets = np.flatnonzero(~space.may_miss), np.flatnonzero(space.may_miss)
        if len(targets) and not len(predictors):
            raise ValueError("RegressionImputer needs a column that is never missing; use MeanImputer")
        if (space.widths[targets] <= 0).any():
            raise ValueError(
                "RegressionImputer: a column to impute has bounds without width; use MeanImputer"
            )
        low, high = space.low[predictors], space.high[predictors]
        plain = min(space.radius, float(np.linalg.norm(np.maximum(np.abs(low), np.abs(high)))))
        centred = float(np.linalg.norm(high - low)) / 2
        centre = (low + high) / 2 if centred < plain else np.zeros(len(predictors))
        radius = math.sqrt(2) * (min(plain, centred) or 1.0)  # 0: constant predictors, the bias is left
        return Frame(
            predictors, targets, centre, radius, midpoints(space)[targets], space.widths[targets] / 2
        )

    def z(self, x: Floats) -> Floats:
        """Predictors and bias of a block, (b, k + 1); a row beyond the declared radius is pulled back."""
        return scaled_predictors(x[:, self.predictors], self.centre, self.radius)

    def t(self, x: Floats) -> Floats:
        """Targets of a block, (b, t), NaN where missing."""
        return np.asarray((x[:, self.targets] - self.middle) / self.half)


def gradient_diameter(bound: float) -> float:
    """How far apart two gradients (v.z - t) z can be: norm(v) <= bound, norm(z) <= 1, abs(t) <= 1. Rounded up.

    The largest 2 (1 + B c) sqrt(1 - c^2) over 0 <= c <= 1, at the root of 2 B c^2 + c = B (docs/proofs/impute.md).
    """
    c = 2 * bound / (1 + math.sqrt(1 + 8 * bound * bound))
    return 2 * (1 + bound * c) * math.sqrt(1 - c * c) * UP


def read_error(k: int) -> float:
    """Bound on the float error of the least eigenvalue of a second moment (k, k), a record: of two sums, and its own."""
    return 4 * SUM_ERROR + 4 * LAPACK_ERROR * k


def scaled_predictors(x: Floats, centre: Floats, radius: float) -> Floats:
    """z = (x - centre, radius / sqrt 2) / radius of predictors (b, k), pulled back to norm 1: (b, k + 1)."""
    bias = np.full((len(x), 1), radius / math.sqrt(2))
    z = np.hstack([x - centre, bias]) / radius
    return np.asarray(z / np.maximum(1.0, norms(z)))


@dataclass(frozen=True)
class Curved(Premise):
    """The second moment of the predictors over the records that have the target, divided by the number of all records,
    is at least `least` in every direction. Checked up to the error of floats, which the bound absorbs.

    predictors, target: column numbers. centre, radius: of the predictors (`scaled_predictors`).
    """

    target: int
    name: str
    predictors: tuple[int, ...]
    centre: tuple[float, ...]
    radius: float
    least: float

    def holds(self, rows: Rows, n: int) -> bool:
        k = len(self.predictors) + 1
        total = Total((k, k))
        for piece in pieces(rows):
            seen = piece[~np.isnan(piece[:, self.target])]
            z = scaled_predictors(seen[:, list(self.predictors)], np.array(self.centre), self.radius)
            total.add(z.T @ z)
        return float(np.linalg.eigvalsh(total.value)[0]) >= (self.least - read_error(k)) * n

    @property
    def says(self) -> str:
        less = " less the midpoints of their declared bounds" if any(self.centre) else ""
        return (
            f"over the records in which {self.name!r} is not missing, sum zz' / (all records) is at least {exact(self.least)} "
            f"in every direction, z = (the columns that are never missing{less}, over "
            f"{exact(self.radius)}, and the constant 1 / sqrt 2)"
        )


def fill_predicted(x: Floats, frame: Frame, weights: Floats, strength: Floats | float = 1.0) -> Floats:
    """Missing targets of a block (b, d) become clipped predictions. weights (t, k + 1); strength (t,)."""
    out = x.copy()
    z = frame.z(x)
    predicted = np.zeros((len(x), len(weights)))
    for j in range(z.shape[1]):  # in a fixed order: the same bits for a row in any block
        predicted += z[:, j : j + 1] * weights[:, j]
    guess = frame.middle + frame.half * strength * np.clip(predicted, -1.0, 1.0)
    cells = out[:, frame.targets]
    out[:, frame.targets] = np.where(np.isnan(cells), guess, cells)
    return out


@dataclass(frozen=True, eq=False)
class RegressionConfidential(ConfidentialMap):
    """Missing cells become predictions of weights fitted on private rows, faded towards the midpoints."""

    frame: Frame
    weights: Floats
    strength: Floats

    def transform(self, x: Floats) -> Floats:
        return fill_predicted(x, self.frame, self.weights, self.strength)


@dataclass(frozen=True, eq=False)
class RegressionReleased(StoredMap):
    """Missing cells become predictions of released weights."""

    written_as: ClassVar[str] = "fill_regression"

    frame: Frame
    weights: Floats

    def transform(self, x: Floats) -> Floats:
        return fill_predicted(x, self.frame, self.weights)


def solve_in_ball(a: Floats, b: Floats, bound: float) -> Floats:
    """argmin over norm(w) <= bound of w'aw/2 - b'w, a positive definite (k, k): by its eigenvectors."""
    values, vectors = np.linalg.eigh(a)
    c = vectors.T @ b
    few, many = 0.0, float(np.linalg.norm(b)) / bound  # the multiplier of the constraint
    if float(np.linalg.norm(c / values)) > bound:
        for _ in range(200):
            half = (few + many) / 2
            inside = float(np.linalg.norm(c / (values + half))) <= bound
            few, many = (few, half) if inside else (half, many)
    else:
        many = 0.0
    w = vectors @ (c / (values + many))
    return np.asarray(w * min(1.0, bound / max(float(np.linalg.norm(w)), 1e-300)))


@dataclass(frozen=True)
class _Products:
    """Rows of products for one noisy sum, of each target: z z' (off the diagonal times sqrt 2), and t z; zeros where it is missing."""

    rows: Rows
    frame: Frame

    def __iter__(self) -> Iterator[Floats]:
        k = len(self.frame.predictors) + 1
        i, j = np.triu_indices(k)
        weight = np.where(i == j, 1.0, math.sqrt(2))
        most = max(1, _PRODUCTS // (len(self.frame.targets) * (len(i) + k)))
        for block in self.rows:
            for start in range(0, len(block), most):
                part = block[start : start + most]
                z, t = self.frame.z(part), self.frame.t(part)
                seen, t = ~np.isnan(t), np.clip(np.nan_to_num(t), -1.0, 1.0)
                squares = seen[:, :, None] * (z[:, i] * z[:, j] * weight)[:, None, :]
                yield np.concatenate([squares, t[:, :, None] * z[:, None, :]], axis=2).reshape(len(z), -1)


@dataclass(frozen=True, eq=False)
class RegressionCaps(ImputerCaps):
    """curvature: the least eigenvalue of the predictors' second moment over the observed rows, a record, is at least this
    (0: no condition)."""

    curvature: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        pay.check_fraction("curvature cap", self.curvature)


@dataclass(frozen=True)
class RegressionImputer(Imputer):
    """Fill each missing numeric cell with a ridge regression on the columns that are never missing.

    Parameters
    ----------
    ridge : float, default 0.1
        The penalty per record, in units where predictors and targets are at most 1.
    weight_bound : float, default 1.0
        Radius B of the ball in which the weights lie. Predictions are clipped to the declared bounds.
    payment : Public, Budget or Sensitivity
        How the weights are paid for. By sensitivity, the declared caps are `missing`, `fade` and `curvature`
        (`RegressionImputer.Caps`). A curvature adds to `ridge` in the price, and makes the claim conditional.

    Raises
    ------
    ValueError
        For a ridge or bound that is not positive, without a payment, or for caps that it does not have.

    Notes
    -----
    Prefer it to MeanImputer if columns predict each other well. It costs (1 + B) / ridge times as much, or somewhat
    more for a small B. By sensitivity, the midpoint is filled in at prediction. Proof: docs/proofs/impute.md.

    Examples
    --------
    >>> import prepriv
    >>> from prepriv.preprocessing import RegressionImputer
    >>> RegressionImputer(ridge=0.2, payment=prepriv.Budget()).way
    'budget'
    """

    ridge: float = 0.1
    weight_bound: float = 1.0

    Caps: ClassVar[type[RegressionCaps]] = RegressionCaps

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive("ridge", self.ridge)
        check_positive("weight_bound", self.weight_bound)

    def _curvature(self) -> float:
        return self.Caps.of(self.name, self.paid).curvature

    def about_columns(self, caps: MissingCaps, space: Space) -> tuple[Curved, ...]:
        """The conditions on the predictors. A curvature of 0 is not a condition."""
        frame, least = Frame.of(space), at_least(self._curvature())
        about = tuple(frame.predictors.tolist()), tuple(frame.centre.tolist()), frame.radius
        return tuple(
            Curved(int(j), name, *about, least, reading=space.reading)
            for j, name in zip(frame.targets, caps.names)
            if least > 0
        )

    def lipschitz(self, space: Space) -> float:
        frame = Frame.of(space)
        slope = frame.half * self.weight_bound / frame.radius
        return math.hypot(1.0, float(np.linalg.norm(slope)))

    def moves(self, caps: MissingCaps, space: Space, incoming: RowShift) -> Moves:
        """Weights move by at most (change of the gradient at the optimum) / (curvature)."""
        frame, least, bound = Frame.of(space), self._curvature(), self.weight_bound
        # Of one record's gradient, per unit of shift.
        slope = np.hypot((2 * bound + 1) / frame.radius, 1 / frame.half)
        curvature = (self.ridge + max(0.0, least - 2 * read_error(len(frame.predictors) + 1))) * caps.n
        record = frame.half / curvature  # per unit of what a record's gradient moves by
        other = frame.half * (slope * incoming.total_shift / curvature + _ROUNDING * (1 + bound) / self.ridge)
        # The second: the record has the cell in one of the two only.
        return Moves(record * gradient_diameter(bound) + other, record * (1 + bound) + other)

    def distance(self, rows: Rows, space: Space, n: int, incoming: RowShift | None = None) -> float:
        """How many records must change before a cap on missing cells or the curvature fails. One record changes a curvature by 1 / n."""
        least, came = super().distance(rows, space, n), incoming or UNTOUCHED
        if self._curvature() > 0 and space.may_miss.any():
            frame, curvature = Frame.of(space), at_least(self._curvature())
            # A row moved by d moves z by d / radius, and zz' by twice that; one record moves zz' by 1.
            unit = min(came.records, 1 + 2 * came.total_shift / frame.radius) * UP
            for a in self._moments(rows, frame)[0]:
                error = 3 * read_error(len(a)) * n
                room = float(np.linalg.eigvalsh(a)[0]) - curvature * n - error
                least = min(least, room / (unit + 2 * error))
        return least

    @staticmethod
    def _moments(rows: Rows, frame: Frame) -> tuple[Floats, Floats, NDArray[np.int64]]:
        """One pass: (t, k+1, k+1) and (t, k+1) sums over the rows that have the target, and their counts."""
        k, targets = len(frame.predictors) + 1, len(frame.targets)
        every, without, right = Total((k, k)), Total((targets, k, k)), Total((targets, k))
        seen = np.zeros(targets, dtype=np.int64)
        # Small products: threads would only wait for each other.
        with one_blas_thread():
            for piece in pieces(rows):
                z, t = frame.z(piece), frame.t(piece)
                gaps = np.isnan(t)
                every.add(z.T @ z)
                without.add(np.array([z[g].T @ z[g] for g in gaps.T]).reshape(targets, k, k))
                right.add(np.where(gaps, 0.0, t).T @ z)
                seen += (~gaps).sum(axis=0)
        return every.value - without.value, right.value, seen

    def _weights(self, rows: Rows, frame: Frame, n: int) -> tuple[Floats, NDArray[np.int64]]:
        a, b, seen = self._moments(rows, frame)
        ridge = self.ridge * n * np.eye(a.shape[1])
        found = [solve_in_ball(m + ridge, v, self.weight_bound) for m, v in zip(a, b)]
        return np.array(found).reshape(b.shape), seen

    def fit_confidential(self, rows: Rows, space: Space, n: int) -> ConfidentialMap:
        frame = Frame.of(space)
        weights, seen = self._weights(rows, frame, n)
        strength = self.missing(space, n).weight(n - seen)
        return RegressionConfidential(frame, weights, strength)

    def fit_public(self, rows: Rows, space: Space, n: int) -> ReleasedMap:
        frame = Frame.of(space)
        return RegressionReleased(frame, self._weights(rows, frame, n)[0])

    def l2_sensitivity(self, space: Space, adjacency: Adjacency, incoming: RowShift) -> float:
        """Of each target that a record has, (z z', t z) has norm sqrt 2, and two such pairs are at most sqrt 4.5 apart."""
        frame = Frame.of(space)
        t = len(frame.targets)
        apart = math.sqrt(4.5 * t)
        record = apart if n_is_public(adjacency) else math.sqrt(2 * t)
        moved = 0.0
        if incoming.rows_moved > 0 and t:
            per_unit = np.hypot(2 / frame.radius, 1 / frame.radius + 1 / frame.half)
            moved = float(np.linalg.norm(per_unit)) * incoming.total_shift
        return (record + moved + apart * incoming.rows_dropped) * FAR_UP

    def fit_budget(self, rows: Rows, space: Space, n: int, mechanisms: Mechanisms) -> ReleasedMap:
        frame = Frame.of(space)
        k, t = len(frame.predictors) + 1, len(frame.targets)
        if t == 0:
            return RegressionReleased(frame, np.zeros((0, k)))
        i, j = np.triu_indices(k)
        each = len(i) + k
        sums = mechanisms.sum(_Products(rows, frame), dim=t * each, radius=math.sqrt(2 * t))
        weights = []
        for one in sums.reshape(t, each):
            a = np.zeros((k, k))
            a[i, j] = a[j, i] = one[: len(i)] / np.where(i == j, 1.0, math.sqrt(2))
            values, vectors = np.linalg.eigh(a)
            a = (vectors * (np.maximum(values, 0.0) + self.ridge * n)) @ vectors.T
            weights.append(solve_in_ball(a, one[len(i) :], self.weight_bound))
        return RegressionReleased(frame, np.array(weights))
