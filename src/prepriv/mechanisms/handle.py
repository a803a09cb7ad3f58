"""What a step paid for by budget is handed: the mechanisms that its share pays for, and no more."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prepriv._arrays import Floats
from prepriv._rounding import DOWN, FAR_UP
from prepriv.adjacency import Adjacency, rows_changed
from prepriv.mechanisms.covariance import Apart, private_second_moment, second_moment_grid
from prepriv.mechanisms.exponential import ExponentialMechanism, Scores
from prepriv.mechanisms.histogram import private_histogram
from prepriv.mechanisms.instance_optimal_mean import instance_optimal_mean
from prepriv.mechanisms.mean import gaussian_sum
from prepriv.mechanisms.noise import NoiseSource
from prepriv.mechanisms.quantile import SCORE_RANGE, private_threshold
from prepriv.mechanisms.session import ExactSession, Session

_Rows = Iterable[Floats]
LARGEST_MU, SMALLEST_MU = 12.0, 1e-6  # what an exponential mechanism can be calibrated to


class NotCovered(ValueError):
    """A mechanism was asked for what its noise is not for: a fault of the step, seen on made-up rows before a charge."""


@dataclass(frozen=True)
class Mechanisms:
    """The mechanisms of one step. Each has the noise that the whole share of the step pays for, so the step may use one of them, once.

    name: the name of the step. n, adjacency: as declared. noise_multiplier: the standard deviation of the noise over
    the sensitivity, for the whole share. apart: what earlier steps did to the common rows. l2_sensitivity: how far
    the step says that its one sum can move, in the units of the rows that it sums. stated: whether the step says so
    itself. If not, a sum that can move further is refused. session: a session that counts (`session.Metered`). A
    release beyond the share raises `SpentError` before anything is drawn. rows: the rows as they reach the step, the
    same object that the step is given. plain: how far their own sum can move. _records: how many rows there are.
    _labels: the class index of each. Both are private. Rows are blocks of floats (b, dim), which can be read any
    number of times, with one row per record. A record that does not count is a row of zeros.
    """

    name: str
    n: int
    adjacency: Adjacency
    apart: Apart
    l2_sensitivity: float
    stated: bool
    noise_multiplier: float
    session: Session
    rows: _Rows
    plain: float
    _records: int
    _labels: NDArray[np.integer[Any]]

    @classmethod
    def exact(cls, name: str, rows: _Rows, labels: NDArray[np.integer[Any]]) -> Mechanisms:
        """Without noise and without limit, for rows that need no protection: made-up rows, or those of an audit."""
        n = len(labels)
        return cls(name, n, "replace-one", Apart(), 0.0, True, 0.0, ExactSession(), rows, math.inf, n, labels)

    def sum(self, rows: _Rows, *, dim: int, radius: float) -> Floats:
        """The noisy sum, (dim,), of rows given in blocks (b, dim). A row longer than radius is pulled back to it.

        NotCovered if one record can move that sum by more than `l2_sensitivity`, unless the step states a bound for
        rows that it made. Also if there are not as many rows as records.
        """
        if rows is self.rows:
            needed = self._check_plain(radius)
        else:  # of anything that is made of a row: where a row moves or is dropped, it moves from anywhere to anywhere
            record = rows_changed(self.adjacency)
            needed = radius * (record + 2 * (self.apart.rows_moved + self.apart.rows_dropped))
        self._check_covered("a sum", radius, needed)
        return gaussian_sum(
            self._one_a_record(rows, dim),
            name=self.name,
            dim=dim,
            radius=radius,
            shift=self.l2_sensitivity,
            moved=self.apart.rows_moved,
            n=self.n,
            noise_multiplier=self.noise_multiplier,
            session=self.session,
        )

    def second_moment(self, rows: _Rows, *, d: int, radius: float) -> Floats:
        """(1/n) times the noisy sum of x x^T over the rows, (d, d), symmetric.

        Rows come in blocks (b, d). A row longer than radius is pulled back to it.

        NotCovered if one record can move that sum by more than `l2_sensitivity`, unless the step states a bound. Also
        if it can move further than the noise of this mechanism covers, or if there are not as many rows as records.
        """
        grid, steps = second_moment_grid(radius, self.n, d, self.adjacency, self.noise_multiplier, self.apart)
        needed = self.l2_sensitivity if self.stated else 0.0  # of the rows themselves: what the noise is for
        if not self.stated and rows is not self.rows:
            record = math.sqrt(rows_changed(self.adjacency))
            needed = radius**2 * (record + math.sqrt(2) * (self.apart.rows_moved + self.apart.rows_dropped))
            self._check_covered("a second moment", radius, needed)
        if needed > grid.step**2 * steps * FAR_UP:
            raise NotCovered(
                f"{self.name} asks for a second moment of rows of norm {radius:g} that can move by {needed:g}; the noise "
                f"of a second moment of the rows as they reach it is for {grid.step**2 * steps:g}"
            )
        return private_second_moment(
            self._one_a_record(rows, d),
            name=self.name,
            d=d,
            radius=radius,
            n=self.n,
            adjacency=self.adjacency,
            noise_multiplier=self.noise_multiplier,
            session=self.session,
            apart=self.apart,
        )

    def mean(self, rows: _Rows, *, d: int, radius: float, precision: float | None = None) -> Floats:
        """The instance-optimal mean, (d,), of rows given in blocks (b, d) (`instance_optimal_mean`). For rows that no step has moved."""
        self._need_untouched("an instance-optimal mean")
        return instance_optimal_mean(
            self._one_a_record(rows, d),
            name=self.name,
            d=d,
            radius=radius,
            n=self.n,
            adjacency=self.adjacency,
            noise_multiplier=self.noise_multiplier,
            session=self.session,
            precision=precision,
        )

    def class_counts(self, classes: int) -> Floats:
        """Noisy counts of the records of each class, (classes,). Dropped records count, too, because no step changes a label."""
        if len(self._labels) != self._records:
            raise NotCovered(f"{self.name} counts classes, and the records come without labels here")
        return private_histogram(
            self._labels,
            name=self.name,
            bins=classes,
            n=self.n,
            adjacency=self.adjacency,
            noise_multiplier=self.noise_multiplier,
            session=self.session,
        )

    def threshold(self, values: Floats, *, upper: float, outliers: float | None = None) -> float:
        """A number in (0, upper] that about `outliers` of the values, (n,), exceed (`private_threshold`).

        values: one per record, in [0, upper], from rows that no step has moved. outliers: None means 1 + (8 /
        epsilon) log n, at most n / 2. Here epsilon is that of the exponential mechanism which the share buys
        (docs/proofs/dpsgd_f.md).
        """
        self._need_untouched("a threshold")
        values = self.floats(values)
        self.check_records(len(values))
        mu = LARGEST_MU
        if self.noise_multiplier > 0:
            mu = min(LARGEST_MU, DOWN / self.noise_multiplier)
        mechanism = _Recorded(
            ExponentialMechanism.of_gdp(mu, SCORE_RANGE).epsilon, SCORE_RANGE, self.name, self.session
        )
        if outliers is None:
            outliers = min(1.0 + 8.0 / mechanism.epsilon * math.log(self.n), 0.5 * self.n)
        return private_threshold(
            values,
            n=self.n,
            upper=upper,
            mechanism=mechanism,
            source=NoiseSource(),
            outliers=outliers,
        )

    def _one_a_record(self, rows: _Rows, dim: int) -> _Counted:
        return _Counted(rows, dim, self)

    def check_records(self, rows: int) -> None:
        """NotCovered unless there are as many rows as records."""
        if rows != self._records:
            raise NotCovered(
                f"{self.name} asks for a mechanism of rows that are not one per record, where one record could count more than "
                "once: give one row for each row that reaches the step, of zeros where it does not count"
            )

    def floats(self, values: Any) -> Floats:
        """Numbers of any type as float64, in which mechanisms count. Squares of shorter floats would overflow."""
        array = np.asarray(values)
        if array.dtype.kind not in "biuf":
            raise NotCovered(f"{self.name} gives a mechanism something that is not an array of real numbers")
        return array.astype(np.float64, copy=False)

    def _check_covered(self, what: str, radius: float, needed: float) -> None:
        """NotCovered where a step that states no `l2_sensitivity` asks for a sum that moves further than its noise is for."""
        if not self.stated and needed > self.l2_sensitivity * FAR_UP:
            raise NotCovered(
                f"{self.name} asks for {what} of rows of norm {radius:g}, which one record can move by {needed:g}; its "
                f"noise is for {self.l2_sensitivity:g}: override l2_sensitivity with what this sum can move by"
            )

    def _check_plain(self, radius: float) -> float:
        """How far the sum of the rows as they reach the step can move. NotCovered where the step says itself that it is less."""
        record = rows_changed(self.adjacency)
        pulled = radius * (record + self.apart.rows_dropped) + self.apart.total_shift
        needed = min(self.plain, pulled)
        if self.stated and math.isfinite(self.plain) and needed > self.l2_sensitivity * FAR_UP:
            raise NotCovered(
                f"{self.name} says that its sum can move by {self.l2_sensitivity:g} (l2_sensitivity), and asks for that of the rows "
                f"as they reach it, which one record can move by {needed:g}: say at least that"
            )
        return needed

    def _need_untouched(self, what: str) -> None:
        if self.apart != Apart():
            raise NotCovered(f"{self.name} asks for {what}, which needs rows that no earlier step has moved")


@dataclass(frozen=True, eq=False)
class _Counted:
    """Rows that are counted as they are read."""

    rows: _Rows
    dim: int
    handle: Mechanisms

    def __iter__(self) -> Iterator[Floats]:
        seen = 0
        for given in self.rows:
            block = self.handle.floats(given)
            if block.shape[1:] != (self.dim,):
                raise NotCovered(
                    f"{self.handle.name} asks for a mechanism of rows of {self.dim} numbers and gives others"
                )
            seen += len(block)
            yield block
        self.handle.check_records(seen)


@dataclass(frozen=True)
class _Recorded(ExponentialMechanism):
    """The exponential mechanism, drawn by a session instead of a source."""

    name: str
    session: Session

    def choose(
        self, scores: NDArray[np.int64], source: NoiseSource, *, counts: NDArray[np.int64] | None = None
    ) -> tuple[int, int]:
        plain = ExponentialMechanism(self.epsilon, self.score_range)
        exact = Scores.single(scores) if counts is None else Scores(scores, counts)
        return exact.place(self.session.release(self.name, plain, exact))
