"""How far the projector on the k leading eigenvectors moves the common rows when one record is replaced.

Several bounds are proved (docs/proofs/pca.md); the smallest is taken, with the conditions it rests on:
  nothing declared   every row moves by its norm at most;
  gap                Davis-Kahan with both spectra, and the Sylvester equation weighted by the spectrum;
  tail               no gap at all: both projectors reconstruct the common rows well.
Source: Provable Privacy with Non-Private Pre-Processing, Proposition 5 and Lemma L, corrected (docs/errata.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from prepriv import payment as pay
from prepriv._arguments import LEAST, number
from prepriv._arrays import Floats
from prepriv._rounding import FAR_UP, UP
from prepriv.guarantees.premise import Premise, radius_units
from prepriv.guarantees.printed import down, exact
from prepriv.preprocessing._grid import SLACK, RowGrid
from prepriv.preprocessing._sums import SUM_ERROR
from prepriv.preprocessing.base import Rows, RowShift, check_positive
from prepriv.preprocessing.second_moment import LAPACK_ERROR, MomentShift, moment_shift, raw_moment
from prepriv.space import Reading


def read_error(d: int, k: int, radius: float) -> float:
    """Bound on the float error of a gap or a tail that is evaluated on rows in a ball (pca.md, 5)."""
    return (4 * SUM_ERROR + 4 * LAPACK_ERROR * d * k) * radius**2


@dataclass(frozen=True)
class _Spectrum(Premise):
    """About the eigenvalues of the second moment of all rows, about their mean if centred; radius: their norm.

    Checked up to the error of floats, which the bounds absorb: it holds wherever the sentence is true.
    """

    k: int
    centred: bool
    radius: float

    def _spectrum(self, rows: Rows, n: int) -> tuple[Floats, float, float]:
        """All eigenvalues, the largest first; their sum; what floats may be off by."""
        moment = raw_moment(rows, n, centred=self.centred)
        error = read_error(len(moment), self.k, self.radius)
        return np.asarray(np.linalg.eigvalsh(moment)[::-1]), float(moment.trace()), error

    @property
    def _what(self) -> str:
        about = ", about their mean," if self.centred else ""
        return f"eigenvalues of the second moment (sum xx' / number) of the rows{about}"

    @property
    def _units(self) -> str:
        return f", {radius_units(self.radius)}"


@dataclass(frozen=True)
class Gap(_Spectrum):
    """The k-th eigenvalue exceeds the (k + 1)-th by at least `gap`."""

    gap: float

    def holds(self, rows: Rows, n: int) -> bool:
        values, _, error = self._spectrum(rows, n)
        return bool(values[self.k - 1] - values[self.k] >= self.gap - error)

    @property
    def says(self) -> str:
        k = self.k
        return f"the gap between the {k}-th and the {k + 1}-th of the {self._what} is at least {exact(self.gap)}{self._units}"


@dataclass(frozen=True)
class SpectrumTail(_Spectrum):
    """The eigenvalues beyond the k-th add up to at most `tail`."""

    tail: float

    def holds(self, rows: Rows, n: int) -> bool:
        values, trace, error = self._spectrum(rows, n)
        return bool(trace - values[: self.k].sum() <= self.tail + error)

    @property
    def says(self) -> str:
        return f"the {self._what} beyond the {self.k}-th add up to at most {exact(self.tail)}{self._units}"


@dataclass(frozen=True, eq=False)
class SpectrumCaps(pay.Caps):
    """What is declared about the spectrum of the second moment, in the squared units of the rows. None: not declared.

    gap: the k-th eigenvalue exceeds the (k+1)-th by at least this much, a positive number. tail: the eigenvalues
    beyond the k-th add up to at most this much, at least 0. ValueError for other values.
    """

    gap: float | None = None
    tail: float | None = None

    def __post_init__(self) -> None:
        if self.gap is not None:
            check_positive("gap", self.gap)
        if self.tail is not None:
            number("tail", self.tail, at_least=0.0)

    def check(self, k: int, radius: float) -> SpectrumCaps:
        """The same. ValueError for a gap that no data set in the ball has."""
        if self.gap is not None and self.gap > radius**2 / k * FAR_UP:
            raise ValueError(
                f"gap must be at most radius^2 / k = {down(radius**2 / k)}: no data set has {self.gap}"
            )
        return self

    def conditions(self, k: int, radius: float, *, centred: bool, reading: Reading) -> dict[str, Premise]:
        """What is declared about the rows before they are cut to a grid, by name."""
        out: dict[str, Premise] = {}
        if self.gap is not None:
            out["gap"] = Gap(k, centred, radius, self.gap, reading=reading)
        if self.tail is not None:
            out["tail"] = SpectrumTail(k, centred, radius, self.tail, reading=reading)
        return out

    def on_grid(self, k: int, grid: RowGrid, d: int, *, centred: bool) -> SpectrumCaps:
        """What then holds of the rows cut to the grid: less of a gap, or none, and more of a tail (pca.md, 5)."""
        error, gap, tail = 2 * read_error(d, k, grid.reach), None, None
        if self.gap is not None and (left := self.gap - cut_gap(grid, d, centred=centred) - error) > LEAST:
            gap = left
        if self.tail is not None:
            cut = math.sqrt(d) * grid.step * SLACK  # no row moves further
            tail = (math.sqrt(self.tail + error) + cut) ** 2 * UP
        return SpectrumCaps(gap, tail)


def cut_gap(grid: RowGrid, d: int, *, centred: bool) -> float:
    """How much a gap or a tail can move when the rows are cut: by the nuclear norm that rows so far apart allow."""
    return (4 if centred else 2) * grid.reach * math.sqrt(d) * grid.step * SLACK


@dataclass(frozen=True)
class Bound:
    """One proved bound. total: over the common rows; row: on one row; angle: on the projectors' distance."""

    total: float
    row: float
    angle: float
    needs: tuple[str, ...] = ()


def gap_free_shift(n: int, radius: float, tail: float, other: float) -> float:
    """Total shift of the common rows under two rank-k projectors, whatever the gap.

    tail, other: sums of the eigenvalues beyond the k-th of the two second moments (each at most the other
    plus R^2/n). The smaller of n (sqrt tail + sqrt other) and sqrt(n (n tail + n other + R^2)).
    """
    other = min(other, tail + radius**2 / n)
    near = n * (math.sqrt(tail) + math.sqrt(other))
    return min(near, math.sqrt(n * (n * (tail + other) + radius**2)))


def spectral_shift(e: MomentShift, angle: float, separation: float, kth: float, following: float) -> float:
    """Bound on (P - P') M^(1/2) in Frobenius norm, from the Sylvester equation.

    The two blocks of E that turn P into P' have squared norms that add up to at most frobenius^2, and each at
    most frobenius^2 (1/sqrt2 + angle)^2. kth, following: bounds on the k-th and (k+1)-th eigenvalue.
    """
    block = min(1.0, (math.sqrt(0.5) + angle) ** 2)
    weights = sorted((kth / separation**2, following / separation**2))
    return e.frobenius * math.sqrt(block * weights[1] + (1 - block) * weights[0])


@dataclass(frozen=True)
class Projection:
    """The projector on the k leading eigenvectors of n rows (d,) of norm at most radius, about their mean if centred."""

    k: int
    d: int
    radius: float
    n: int
    centred: bool

    def bounds(self, incoming: RowShift, caps: SpectrumCaps) -> list[Bound]:
        """Every bound that the declared caps allow on the common rows' own shift, incoming shift not added.

        incoming: the shift that reaches the step, on its grid.
        """
        k, radius, n = self.k, self.radius, self.n
        e = moment_shift(radius, n, incoming, centred=self.centred)
        error = LAPACK_ERROR * self.d  # of a computed projector, and of its products, relative
        long = 2 * radius if self.centred else radius  # no row is further from the mean (or zero)
        rounding = 2 * long * 8 * error
        bounds = [Bound((n - 1) * (long + rounding), long + rounding, 1.0)]
        backward = error * radius**2
        if caps.tail is not None:
            total = self._gap_free(incoming, e, caps.tail + 2 * k * backward, backward)
            bounds.append(Bound(total + n * rounding, long + rounding, 1.0, ("tail",)))
        if caps.gap is None or caps.gap <= 4 * backward:
            return bounds
        rounding += 2 * long * backward / (caps.gap - 2 * backward)
        angle = min(1.0, e.operator / caps.gap)
        row = long * angle + e.mean + rounding
        more = n * (e.mean + rounding)
        # The norms of rows about their mean add up to n sqrt(trace) <= n R.
        bounds.append(Bound(n * radius * angle + more, row, angle, ("gap",)))
        separation = caps.gap - e.operator
        if separation > 0:
            following = max(0.0, min(radius**2 / (k + 1), radius**2 / k - caps.gap))
            options: list[tuple[float, tuple[str, ...]]] = [(following, ("gap",))]
            if caps.tail is not None and caps.tail < following:
                options.append((caps.tail, ("gap", "tail")))
            for top, needs in options:
                spread = spectral_shift(e, angle, separation, top + caps.gap, top)
                bounds.append(Bound(n * spread + more, row, angle, needs))
        return bounds

    def _gap_free(self, incoming: RowShift, e: MomentShift, tail: float, backward: float) -> float:
        """The gap-free bounds for computed projectors and for rows that earlier steps moved."""
        n = self.n
        near = 2 * n * math.sqrt(tail)
        record = (4 if self.centred else 1) * self.radius**2 * (1 + incoming.rows_dropped)
        moved = math.sqrt(incoming.total_shift * incoming.row_shift)
        there = (math.sqrt(n * tail) + moved) ** 2 + record
        both = math.sqrt(n * (n * tail + there + 6 * self.k * n * backward))
        return min(near, both + n * e.mean)


def least_shift(bounds: list[Bound]) -> Bound:
    """The bound with the least total shift; of equals, the one that needs less."""
    return min(bounds, key=lambda b: (b.total, len(b.needs)))
