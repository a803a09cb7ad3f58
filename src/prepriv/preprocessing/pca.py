"""Principal components: dimension reduction (`PCA`) and rank reduction (`RankReduction`).

`PCA` sends rows to k coordinates; the model needs the directions on new rows, so they come from public rows
(How to Make Semi-Private Learning Effective, PILLAR, Algorithm 1) or from a private second moment (Dwork et al. 2014, Analyze Gauss).
`RankReduction` sends rows to their projection in the same space; nothing is needed on new rows, so it can be
paid for by sensitivity (Provable Privacy with Non-Private Pre-Processing, Proposition 5, corrected). Proofs: docs/proofs/pca.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import ClassVar

import numpy as np

from prepriv import payment as pay
from prepriv._arguments import integer, settle, truth
from prepriv._arrays import Floats
from prepriv.adjacency import Adjacency
from prepriv.domain import Domain, as_space
from prepriv.exact.ball import row_norms
from prepriv.mechanisms.covariance import Apart, second_moment_grid
from prepriv.mechanisms.handle import Mechanisms
from prepriv.preprocessing._grid import ExactMatrix, GridLinear, finite_rows
from prepriv.preprocessing._projector import (
    Bound,
    Projection,
    SpectrumCaps,
    cut_gap,
    least_shift,
    read_error,
)
from prepriv.preprocessing.base import (
    UNTOUCHED,
    ConfidentialMap,
    ReleasedMap,
    Rows,
    RowShift,
    Step,
    need_filled,
    need_n,
)
from prepriv.preprocessing.second_moment import (
    LAPACK_ERROR,
    moment_grid,
    moment_shift,
    moments,
    second_moment_shift,
)
from prepriv.preprocessing.stored_map import StoredMap
from prepriv.space import Space

RANK = 1e-9  # an eigenvalue below this share of the squared radius is the grid's rounding
_LEAST_EXPONENT = (
    -900
)  # of a row's largest coordinate: far below any declared radius, far above overflow here
_COMPONENT_BITS = 26


@dataclass(frozen=True, eq=False)
class Project(StoredMap):
    """x -> components^T x, components (d, k) with columns of norm <= 1.

    The same bits for a row wherever it stands: the row, scaled by its own power of two, is cut into two
    integer pieces, and product sums of integers below 2^53 are exact in any order.
    """

    written_as: ClassVar[str] = "project"

    components: Floats

    @staticmethod
    def onto(directions: Floats) -> Project:
        """The map of orthonormal directions (d, k), shrunk by 1e-6: cut to its grid, it expands nothing."""
        d, k = directions.shape
        shrunk = directions * (1 - 2 * math.sqrt(d * k) * 2.0**-_COMPONENT_BITS)
        return Project(np.ascontiguousarray(_cut(shrunk)))

    def transform(self, x: Floats) -> Floats:
        bits = _COMPONENT_BITS - math.ceil(math.log2(len(self.components)) / 2)
        columns = np.trunc(self.components * 2.0**_COMPONENT_BITS)
        exponent = np.frexp(np.abs(x).max(axis=1, keepdims=True, initial=0.0))[1]
        exponent = np.maximum(exponent, _LEAST_EXPONENT)  # below it digits go, at last all of them
        with np.errstate(over="ignore", invalid="ignore"):
            scaled = x * np.ldexp(
                1.0, bits - exponent
            )  # integers of at most `bits` bits and a rest below one
            high = np.trunc(scaled)
            scaled -= high
            scaled *= 2.0**bits
            y = np.trunc(scaled, out=scaled) @ columns
            y *= 2.0**-bits
            y += high @ columns
            y *= np.ldexp(1.0, exponent - bits - _COMPONENT_BITS)
        return np.asarray(y)


def _cut(components: Floats) -> Floats:
    return np.asarray(np.trunc(components * 2.0**_COMPONENT_BITS) * 2.0**-_COMPONENT_BITS)


def leading(moment: Floats, k: int) -> Floats:
    """Orthonormal eigenvectors (d, k) of the k largest eigenvalues, the largest first."""
    from scipy.linalg import eigh  # a heavy import

    d = len(moment)
    _, vectors = eigh(moment, subset_by_index=(d - k, d - 1))
    return np.ascontiguousarray(vectors[:, ::-1])


@lru_cache(maxsize=2)
def _leading_of_public(moment: bytes, k: int) -> Floats:
    """`leading` of public rows, computed once: a check, a plan and a run fit the same step. A private moment must not stay in memory."""
    d = math.isqrt(len(moment) // 8)
    return leading(np.frombuffer(moment).reshape(d, d), k)


@dataclass(frozen=True)
class _Leading(Step):
    """What both steps share: k, the number of directions."""

    k: int = 50

    def __post_init__(self) -> None:
        super().__post_init__()
        settle(self, k=integer("k", self.k))


@dataclass(frozen=True)
class PCA(_Leading):
    """Project on the k leading eigenvectors of the uncentred second moment: (b, d) -> (b, k).

    Parameters
    ----------
    k : int, default 50
        How many directions are kept: at most d, and at most the number of public rows.
    payment : Public or Budget
        How the directions are paid for. Sensitivity is not available, because its price would be that of all rows.
        One record can turn the directions, and every learner here depends on them (docs/proofs/pca.md, section 3).

    Raises
    ------
    ValueError
        For another payment, or none. In a plan: for a k that is too large.

    Notes
    -----
    A projection on fixed orthonormal directions moves no two rows apart. So shifts pass through unchanged, and the
    ball keeps its radius. By budget, the sum of x x^T goes through the Gaussian mechanism as one exact integer
    matrix. The Frobenius norm of x x^T is norm(x)^2. The rest is post-processing. Proof: docs/proofs/pca.md.

    Examples
    --------
    >>> import prepriv
    >>> from prepriv.preprocessing import PCA
    >>> PCA(k=10, payment=prepriv.Budget()).output(prepriv.Domain.ball(384, [0, 1]).space).d
    10
    """

    ways: ClassVar[tuple[str, ...]] = (pay.Public.way, pay.Budget.way)
    why_not: ClassVar[dict[str, str]] = {
        "sensitivity": "one record can turn its directions, or flip their signs, and every row with them, so its only "
        "price is that of all rows; RankReduction projects back into the space, where turns do not matter"
    }

    @property
    def directions(self) -> int:
        return self.k

    def output(self, space: Space) -> Space:
        need_filled(self.name, space)
        if self.k > space.d:
            raise ValueError(f"k must be at most the number of features, {space.d}; got {self.k}")
        return Space.ball(self.k, space.radius)

    def propagate(self, space: Space, incoming: RowShift) -> RowShift:
        """The shift is unchanged, except that a row is rounded to about 2^-40 of its largest coordinate."""
        if incoming.rows_moved == 0:
            return incoming
        bits = 2 * (_COMPONENT_BITS - math.ceil(math.log2(space.d) / 2))
        cut = 2 * (math.sqrt(space.d) * 2.0**-bits + math.sqrt(self.k) * 2.0**-51) * space.radius
        row, total = incoming.row_shift + cut, incoming.total_shift + incoming.rows_moved * cut
        return replace(incoming, row_shift=row, total_shift=total)

    def check_public(self, n: int, rows: Rows | None, space: Space) -> None:
        if n < self.k:
            raise ValueError(f"k={self.k} directions need at least {self.k} public rows; got {n}")
        if rows is None:
            return
        from scipy.linalg import eigvalsh

        rank = int((eigvalsh(self._public(rows, space, n)) > RANK * space.radius**2).sum())
        if rank < self.k:
            raise ValueError(
                f"the public rows vary in {rank} directions only, fewer than k={self.k} "
                "(constant or repeated features, or too few distinct rows): lower k"
            )

    def fit_public(self, rows: Rows, space: Space, n: int) -> ReleasedMap:
        if n < self.k:
            raise ValueError(f"PCA to k={self.k} dimensions needs at least {self.k} public rows; got {n}")
        need_filled(self.name, space)
        return Project.onto(_leading_of_public(self._public(rows, space, n).tobytes(), self.k))

    @staticmethod
    def _public(rows: Rows, space: Space, n: int) -> Floats:
        """The second moment of public rows, on a grid that holds them all: after a step that shrinks private rows
        only they are longer than declared, and cut to the declared ball they would all be rows of zeros."""
        longest = max((float(row_norms(finite_rows(block)).max(initial=0.0)) for block in rows), default=0.0)
        return moments(rows, moment_grid(max(space.radius, longest), n), space.d, n).moment

    def l2_sensitivity(self, space: Space, adjacency: Adjacency, incoming: RowShift) -> float:
        """How far the sum of x x^T moves between neighbours, in Frobenius norm (second_moment.py)."""
        return second_moment_shift(space.radius, adjacency, incoming)

    def check_release(
        self, space: Space, n: int, adjacency: Adjacency, incoming: RowShift, noise_multiplier: float
    ) -> None:
        apart = Apart(incoming.total_shift, incoming.rows_moved, incoming.rows_dropped)
        second_moment_grid(space.radius, n, space.d, adjacency, noise_multiplier, apart)

    def fit_budget(self, rows: Rows, space: Space, n: int, mechanisms: Mechanisms) -> ReleasedMap:
        need_filled(self.name, space)
        return Project.onto(leading(mechanisms.second_moment(rows, d=space.d, radius=space.radius), self.k))


@dataclass(frozen=True)
class RankReduction(_Leading):
    """Project rows on the span of the k leading eigenvectors of their second moment, within their space: x -> P x.

    Parameters
    ----------
    k : int, default 50
        Rank of the projector P, 1 <= k < d.
    centred : bool, default False
        Whether the second moment is about the mean m. The map is then x -> m + P (x - m), pulled back to the ball.
    payment : Sensitivity
        The declared caps are `gap` and `tail` (`RankReduction.Caps`). The total shift is the smallest of the proved
        bounds. The claim rests on the caps that this bound needs, and a test covers them. Without caps, the bound is
        that of group privacy and needs no condition.

    Raises
    ------
    ValueError
        For another payment, or caps that it does not have. In a plan: for a k that is too large.

    Notes
    -----
    Rows are first rounded to 2^-21 of the declared radius. Nothing is needed at prediction. Proof:
    docs/proofs/pca.md.

    Examples
    --------
    >>> import prepriv
    >>> from prepriv.preprocessing import RankReduction
    >>> RankReduction(k=2, payment=prepriv.Sensitivity()).output(prepriv.Domain.ball(5, [0, 1]).space).d
    5
    """

    centred: bool = False

    ways: ClassVar[tuple[str, ...]] = ("sensitivity",)
    why_not: ClassVar[dict[str, str]] = {
        "public": "PCA on public rows gives the same model in fewer dimensions",
        "budget": "PCA by budget gives the same model in fewer dimensions",
    }
    at_prediction: ClassVar[bool] = False
    fitted_state: ClassVar[str] = "directions"
    Caps: ClassVar[type[SpectrumCaps]] = SpectrumCaps

    def __post_init__(self) -> None:
        super().__post_init__()
        truth("centred", self.centred)

    @property
    def after_drops(self) -> bool:
        return True  # its bounds count a dropped row

    def output(self, space: Space) -> Space:
        need_filled(self.name, space)
        if self.k >= space.d:
            raise ValueError(f"k must be below the number of features, {space.d}; got {self.k}")
        side = np.full(space.d, space.radius)
        return Space(-side, side, space.radius, np.zeros(space.d, dtype=bool), space.names)

    def _caps(self, space: Space) -> SpectrumCaps:
        return SpectrumCaps.of(self.name, self.paid).check(self.k, space.radius)

    def _best(self, space: Space, n: int, incoming: RowShift) -> Bound:
        """The smallest proved bound here, incoming: as it reaches the grid."""
        grid = moment_grid(space.radius, n)
        there = self._caps(space).on_grid(self.k, grid, space.d, centred=self.centred)
        here = Projection(self.k, space.d, grid.reach, n, self.centred)
        return least_shift(here.bounds(incoming, there))

    def sensitivity(self, domain: Domain | Space, n: int, incoming: RowShift | None = None) -> RowShift:
        """The incoming shift plus the smallest proved shift of the projector (docs/proofs/pca.md)."""
        space, n, incoming = as_space(domain), need_n(n), incoming or UNTOUCHED
        self.output(space)
        incoming = moment_grid(space.radius, n).propagate(incoming, space.d)
        best = self._best(space, n, incoming)
        declared = self._caps(space).conditions(
            self.k, space.radius, centred=self.centred, reading=space.reading
        )
        total = min(best.total, (n - 1) * best.row)
        own = RowShift(float(n - 1), best.row, total, 0.0, tuple(declared[c] for c in best.needs))
        return incoming.plus(own, n=n)

    def rooms(self, rows: Rows, space: Space, n: int, incoming: RowShift) -> dict[str, float]:
        """For each declared cap, how far it is from failing, in records.

        One record changes this by at most one, and it is at most 0 where the cap fails.

        incoming: the shift as it reaches the grid. Rows are rounded to the grid, so a cap must hold with a margin for
        that rounding.
        """
        from scipy.linalg import eigvalsh

        caps, k, grid = self._caps(space), self.k, moment_grid(space.radius, n)
        moment = moments(rows, grid, space.d, n, centred=self.centred).moment
        values = eigvalsh(moment)[::-1]
        error = 4 * LAPACK_ERROR * space.d * k * grid.reach**2
        error += 2 * read_error(space.d, k, grid.reach)
        cut = cut_gap(grid, space.d, centred=self.centred)
        unit = moment_shift(grid.reach, n, incoming, centred=self.centred)
        room: dict[str, float] = {}
        if caps.gap is not None:
            gap = float(values[k - 1] - values[k])
            room["gap"] = (gap - caps.gap - cut - error) / (unit.nuclear + 2 * error)
        if caps.tail is not None:
            tail = float(moment.trace() - values[:k].sum())
            room["tail"] = (caps.tail - tail - cut - error) / (unit.operator + 2 * error)
        return room

    def distance(self, rows: Rows, space: Space, n: int, incoming: RowShift | None = None) -> float:
        """The smallest slack among the caps that `sensitivity` needs here. inf if it needs none.

        Declared facts alone decide which caps these are (docs/proofs/propose_test_release.md, "The caps that count").
        """
        self.output(space)
        incoming = moment_grid(space.radius, need_n(n)).propagate(incoming or UNTOUCHED, space.d)
        needs = self._best(space, n, incoming).needs
        if not needs:
            return math.inf
        room = self.rooms(rows, space, n, incoming)
        return min(room[cap] for cap in needs)

    def fit_confidential(self, rows: Rows, space: Space, n: int) -> ConfidentialMap:
        need_filled(self.name, space)
        self.output(space)
        grid = moment_grid(space.radius, n)
        fitted = moments(rows, grid, space.d, n, centred=self.centred)
        directions = leading(fitted.moment, self.k)
        projector = directions @ directions.T * (1 - 2.0**-40)  # rounding must not push a norm above one
        offset = fitted.mean - projector @ fitted.mean if self.centred else None
        return GridLinear(grid, ExactMatrix.of(projector), offset)
