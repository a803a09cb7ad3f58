"""A private quantile: the exponential mechanism on a declared grid; the score is minus the error in rank.

`private_threshold` is the same mechanism as The Importance of Feature Preprocessing (Lemma 4, after Dick et al. 2023, Theorem 2) uses it
to find a clipping threshold that few records exceed. Proof: docs/proofs/quantile.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from prepriv._arguments import integer, number
from prepriv.mechanisms.exponential import ExponentialMechanism, Scores
from prepriv.mechanisms.in_groups import ChoiceInGroups
from prepriv.mechanisms.noise import NoiseSource
from prepriv.mechanisms.session import Session

SCORE_RANGE = 2  # one record moves a count by one, hence each score by at most one, up or down
_MOST_POINTS = 2**52
_MOST_MU = 12.0  # of a choice: beyond, its account has no price, and it errs by less than a rank


@dataclass(frozen=True)
class Grid:
    """The declared points lower + j * step, 0 <= j < points, with step = (upper - lower) / (points - 1).

    lower < upper, both finite. points: 2 to 2^52. ValueError otherwise. Nothing about the grid may come from the
    data.
    """

    lower: float
    upper: float
    points: int

    def __post_init__(self) -> None:
        number("lower", self.lower)
        number("upper", self.upper, above=self.lower)
        if integer("points", self.points, at_least=2) > _MOST_POINTS:
            raise ValueError(f"points must be at most 2^52; got {self.points}")
        if not (math.isfinite(self.upper - self.lower) and self.step > 0):
            raise ValueError(
                f"upper - lower must be finite and large enough; got {self.lower} and {self.upper}"
            )

    @property
    def step(self) -> float:
        """The distance of neighbouring points."""
        return (float(self.upper) - float(self.lower)) / (int(self.points) - 1)

    def __getitem__(self, j: int) -> float:
        """Point j, in the units of the data."""
        return min(float(self.lower) + j * self.step, float(self.upper))

    def index(self, values: NDArray[np.floating]) -> NDArray[np.int64]:
        """For each value, the index of the last grid point not above it, clamped into the grid. NaN counts as `lower`.

        Each value is treated by itself, and none can fail.
        """
        x = np.asarray(values, dtype=np.float64)
        x = np.clip(np.where(np.isnan(x), self.lower, x), self.lower, self.upper)
        j = np.floor((x - self.lower) / self.step)
        return np.clip(j, 0, self.points - 1).astype(np.int64)


def private_quantile(
    values: NDArray[np.floating],
    *,
    above: int,
    grid: Grid,
    mechanism: ExponentialMechanism,
    source: NoiseSource,
) -> float:
    """A grid point at which the number of larger values crosses `above`.

    values: shape (n,), any floats. above: the wanted count, a declared number such as `rank_above(q, n)` with the
    declared n, never a count of the data. mechanism: one with score range 2. Its epsilon, or mu, is the whole cost,
    under both adjacencies. source: where its noise comes from. Let t = (2 / epsilon) log(points / beta). With
    probability at least 1 - beta, at most above + t values reach the next grid point, and if n >= above, at least
    above - t values reach the result. So equal values do no harm. ValueError for other shapes or a mechanism of a
    smaller range. docs/proofs/quantile.md.

    >>> grid = Grid(0.0, 100.0, 101)
    >>> mechanism = ExponentialMechanism(epsilon=1.0, score_range=2)
    >>> heights = np.arange(1000) / 10
    >>> median = private_quantile(heights, above=500, grid=grid, mechanism=mechanism, source=NoiseSource())
    >>> 45 <= median <= 55
    True
    """
    if mechanism.score_range < SCORE_RANGE:
        raise ValueError(
            f"mechanism: its score_range must be at least {SCORE_RANGE}; got {mechanism.score_range}"
        )
    starts, lengths, scores = _scored(values, above, grid)
    segment, offset = mechanism.choose(scores, source, counts=lengths)
    return grid[int(starts[segment]) + offset]


@dataclass(frozen=True)
class QuantileRelease:
    """`private_quantile` through a session."""

    mechanism: ExponentialMechanism
    grid: Grid

    @classmethod
    def of_gdp(cls, mu: float, grid: Grid) -> QuantileRelease:
        """At the price of a Gaussian release of noise multiplier 1 / mu; of the most expensive choice that has a
        price, where that is less."""
        return cls(ExponentialMechanism.of_gdp(min(mu, _MOST_MU), SCORE_RANGE), grid)

    @classmethod
    def of_epsilon(cls, epsilon: float, grid: Grid) -> QuantileRelease:
        """epsilon-DP."""
        return cls(ExponentialMechanism(epsilon, SCORE_RANGE), grid)

    def ranks(self, beta: float) -> float:
        """How many records the rank is off, at most, but for a chance of beta: docs/proofs/quantile.md."""
        return 2 / self.mechanism.epsilon * math.log(self.grid.points / beta)

    def release(self, values: NDArray[np.floating], *, name: str, above: int, session: Session) -> float:
        """A grid point, as in `private_quantile`."""
        starts, lengths, scores = _scored(values, above, self.grid)
        exact = Scores(scores, lengths)
        segment, offset = exact.place(session.release(name, self.mechanism, exact))
        return self.grid[int(starts[segment]) + offset]

    def release_level(
        self, values: NDArray[np.floating], *, name: str, level: float, session: Session
    ) -> float:
        """The same at a level of the values there are, whose number is private: docs/proofs/quantile.md, "A private number of values"."""
        return self.release(values, name=name, above=rank_of_values(level, len(values)), session=session)

    def release_each(
        self,
        groups: Sequence[NDArray[np.floating]],
        *,
        name: str,
        above: Sequence[int],
        moved: int,
        session: Session,
    ) -> list[float]:
        """A grid point of each of several disjoint groups. above: the wanted count of each. moved: as in `ChoiceInGroups`."""
        scored = [_scored(values, wanted, self.grid) for values, wanted in zip(groups, above)]
        exact = [Scores(scores, lengths) for _, lengths, scores in scored]
        chosen = session.release(name, ChoiceInGroups(self.mechanism, moved), exact)
        places = [scores.place(number) for scores, number in zip(exact, chosen)]
        return [
            self.grid[int(starts[segment]) + offset]
            for (starts, _, _), (segment, offset) in zip(scored, places)
        ]


def _scored(
    values: NDArray[np.floating], above: int, grid: Grid
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Runs of grid points of equal score: starts, lengths and the scores."""
    integer("above", above, at_least=0)
    flat = np.asarray(values, dtype=np.float64)
    if flat.ndim != 1:
        raise ValueError(f"values must have shape (n,); got {flat.ndim} dimensions")
    starts, lengths, here, next_ = _segments(np.sort(grid.index(flat)), int(grid.points))
    wanted = min(int(above), 2**53)
    return starts, lengths, -np.maximum(0, np.maximum(next_ - wanted, wanted - here))


def rank_above(q: float, n: int) -> int:
    """How many of n values lie above the q-quantile: round((1 - q) n), 0 <= q <= 1; ValueError otherwise.

    >>> rank_above(0.9, 1000)
    100
    """
    return round((1.0 - number("q", q, at_least=0.0, at_most=1.0)) * integer("n", n))


def rank_of_values(q: float, m: int) -> int:
    """`rank_above` of a private number m of values: floor((1 - q) m + 1/2) in exact arithmetic. One value more or less moves it by 0 or
    1, so one record moves no score by more than one.

    >>> rank_of_values(0.9, 1000)
    100
    """
    return math.floor(Fraction(1.0 - q) * m + Fraction(1, 2))


def private_threshold(
    distances: NDArray[np.floating],
    *,
    n: int,
    upper: float,
    mechanism: ExponentialMechanism,
    source: NoiseSource,
    outliers: float | None = None,
) -> float:
    """A clipping threshold that few of the distances exceed (The Importance of Feature Preprocessing, Lemma 4 and Appendix B.2).

    distances: shape (n,), in [0, upper]. n, upper: as declared. mechanism, source: as for `private_quantile`.
    outliers: about how many records may lie beyond the threshold. Default: (100 / 3 epsilon) log n, the paper's
    choice. ValueError outside these ranges. The grid has step upper / n^2, and one step is added to the chosen point.
    With such a threshold one extreme record cannot set the clipping norm for all.
    """
    n = integer("n", n)
    if outliers is None:
        outliers = 100.0 / (3.0 * mechanism.epsilon) * math.log(n)
    above = min(n, math.ceil(number("outliers", outliers, at_least=0.0)))
    grid = Grid(0.0, number("upper", upper, above=0.0), min(max(n, 2) ** 2, _MOST_POINTS - 1) + 1)
    found = private_quantile(distances, above=above, grid=grid, mechanism=mechanism, source=source)
    return found + grid.step


def _segments(
    indices: NDArray[np.int64], points: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Runs of grid points of equal score: starts, lengths, how many values reach them, and the point after.

    indices: sorted, in [0, points). Point j is reached by the values of index at least j. Every distinct index
    is a run of its own, where that number falls; the points between two of them are one run (maybe empty).
    """
    distinct, first = np.unique(indices, return_index=True)
    reaching = np.append(len(indices) - first, 0).astype(np.int64)  # by distinct index; 0 beyond the last
    gaps = np.concatenate([np.zeros(1, dtype=np.int64), distinct + 1])
    starts = np.append(np.column_stack([gaps[:-1], distinct]).ravel(), gaps[-1])
    here = np.repeat(reaching, 2)[:-1]
    next_ = np.append(np.column_stack([reaching[:-1], reaching[1:]]).ravel(), 0)
    return starts, np.diff(np.append(starts, points)), here, next_
