"""What a sketch of a table releases: up to three sums of integers, declared and priced before a record is read.

bins: counts of each numeric column on a public fine grid, from which the bins of the tables are made. tables: counts of
(code of the column, class) for each column. pairs: sums of products of normal scores, for each pair of columns.
Proof: docs/proofs/sketch.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Literal, TypeAlias

from prepriv._rounding import UP
from prepriv.adjacency import n_is_public, rows_changed
from prepriv.columns import Categorical, Column, Numeric, Text
from prepriv.domain import Domain
from prepriv.exact.lattice import Lattice
from prepriv.mechanisms._counts import COUNT_BITS
from prepriv.mechanisms.gaussian_sum import GaussianSum, check_room, coarse_steps
from prepriv.sketches.fine_grid import cells_of

Needs: TypeAlias = Literal["columns", "labels", "pairs"]

_MOST_COLUMNS = 2000
MOST_PAIRED = 500  # columns of a sketch with pairs: d (d - 1) / 2 numbers
FEWEST_BINS, _MOST_BINS = 3, 16
SHARES = {False: (0.15, 0.85, 0.0), True: (0.15, 0.60, 0.25)}  # of mu^2: bins, tables, pairs
ROOM, SPARE = (
    1.2,
    4.0,
)  # the square of a row's scores is cut at 1.2 times the number of columns, and 4 more for a few columns
_BITS = 22  # of the longest row of scores in grid steps, fewer where the sums would not fit


@dataclass(frozen=True)
class SketchPlan:
    """The declared facts of one sketch; its mechanisms follow from them.

    domain: with n, and classes or a target. mu: of the whole sketch, as Gaussian differential privacy. needs: "columns"
    for steps that look at one column at a time, "labels" for those that look at the label, too, "pairs" for those that
    look at pairs of columns. relating: the names of these, where they are known. ValueError for a domain that has no sketch.
    """

    domain: Domain
    mu: float
    needs: Needs = "labels"
    relating: tuple[str, ...] = field(default=(), repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.domain.is_ball:
            raise ValueError("a sketch counts columns, and a ball has none: declare columns")
        if any(isinstance(column, Text) for column in self.domain.columns.values()):
            raise ValueError("a sketch has no table of a text: declare the other columns alone")
        if self.domain.n is None:
            raise ValueError("n, the number of records, must be declared for a sketch")
        if not (math.isfinite(self.mu) and self.mu > 0):
            raise ValueError(f"a sketch needs a positive share of the budget; got mu = {self.mu!r}")
        most = MOST_PAIRED if self.paired else _MOST_COLUMNS
        if self.d > most:
            raise ValueError(f"a sketch takes at most {most} columns here; the domain has {self.d}")
        for name, mechanism in self.mechanisms.items():
            mechanism.check(f"a sketch's {name}")

    @property
    def paired(self) -> bool:
        """Whether sums of products are released: there must be two columns."""
        return self.needs == "pairs" and self.d > 1

    @cached_property
    def columns(self) -> dict[str, Column]:
        """What is counted, by name: the declared columns, and a target, which is one more number."""
        found = dict(self.domain.columns)
        if self.domain.target is not None and self.needs != "columns":
            found[self.target_name] = self.domain.target
        return found

    @property
    def target_name(self) -> str:
        """The name of the column that a target becomes."""
        name = self.domain.label or "target"
        while name in self.domain.columns:
            name += "_"
        return name

    @property
    def n(self) -> int:
        """The declared number of records, or of units."""
        assert self.domain.n is not None
        return self.domain.n

    @property
    def d(self) -> int:
        """How many columns are counted."""
        return len(self.columns)

    @property
    def k(self) -> int:
        """How many rows of one unit are read; 1 where records are protected."""
        return 1 if self.domain.rows_per_unit is None else self.domain.rows_per_unit

    @property
    def counted(self) -> bool:
        """Whether the number of rows is public."""
        return self.domain.n_is_public

    @property
    def classes(self) -> int:
        """How many columns a table has: the classes, or one."""
        labelled = self.needs != "columns" and self.domain.target is None
        return len(self.domain.classes) if labelled else 1

    @cached_property
    def numeric(self) -> tuple[int, ...]:
        """The places of the numeric columns."""
        return tuple(i for i, column in enumerate(self.columns.values()) if isinstance(column, Numeric))

    @cached_property
    def shares(self) -> dict[str, float]:
        """The parts of mu squared. Without numeric columns the tables have the share of the bins."""
        bins, tables, pairs = SHARES[self.paired]
        if not self.numeric:
            bins, tables = 0.0, bins + tables
        given = {"bins": bins, "tables": tables, "pairs": pairs}
        return {name: share for name, share in given.items() if share}

    @cached_property
    def mechanisms(self) -> dict[str, GaussianSum]:
        """The events, by name, in the order in which they are drawn: what is counted is what is drawn."""
        cells = {
            "bins": sum(self.cells),
            "tables": sum(self.rows) * self.classes,
            "pairs": self.d * (self.d - 1) // 2,
        }
        found: dict[str, GaussianSum] = {}
        for name in self.shares:
            columns = len(self.numeric) if name == "bins" else self.d
            sensitivity, exponent = self._counts(columns)
            largest = 2 * self.n * self.k << COUNT_BITS
            if name == "pairs":
                sensitivity, exponent = pair_sensitivity(self.lattice, self), 2 * self.lattice.exponent
                largest = 2 * self.n * self.k * self.lattice.sensitivity**2
            found[name] = GaussianSum(
                sensitivity=sensitivity,
                noise_multiplier=self._multiplier(name),
                exponent=exponent,
                largest=largest,
                coordinates=cells[name],
            )
        return found

    @property
    def mu_squared(self) -> Fraction:
        """What all events cost together."""
        costs = (mechanism.cost for mechanism in self.mechanisms.values())
        return sum((cost.mu_squared for cost in costs if cost is not None), Fraction(0))

    def _multiplier(self, name: str) -> float:
        return 1 / (self.mu * math.sqrt(self.shares[name])) * UP

    def _counts(self, columns: int) -> tuple[int, int]:
        """(L2 sensitivity of counts of so many columns in grid steps, exponent of the step)."""
        apart = rows_changed(self.domain.adjacency)
        return math.isqrt((apart * columns * self.k**2) << (2 * COUNT_BITS)) + 1, -COUNT_BITS

    def noise(self, name: str) -> float:
        """The standard deviation of the noise of one cell: in records, or in products of scores; rounded up."""
        mechanism = self.mechanisms[name]
        grown = 1 + coarse_steps(mechanism.coordinates)
        steps = mechanism.noise_multiplier * mechanism.sensitivity * grown + 1
        return math.ldexp(steps, mechanism.exponent)

    @cached_property
    def cells(self) -> tuple[int, ...]:
        """How many fine cells each numeric column has."""
        kinds = list(self.columns.values())
        return tuple(len(cells_of(kinds[i])) - 1 for i in self.numeric)

    @cached_property
    def bins(self) -> int:
        """How many bins a numeric column is to have, from public numbers: the noise of a table stays near 0.15 in total variation."""
        apart = math.sqrt(rows_changed(self.domain.adjacency))
        sigma = self.k * apart * math.sqrt(self.d) * self._multiplier("tables")
        return min(max(math.floor(0.375 * self.n / (sigma * self.classes)), FEWEST_BINS), _MOST_BINS)

    @cached_property
    def rows(self) -> tuple[int, ...]:
        """How many codes each column has room for: bins or categories, other, missing. A bin is declared before it is found."""
        return tuple(
            len(column.categories) + 2 if isinstance(column, Categorical) else 2 * self.bins + 2
            for column in self.columns.values()
        )

    @property
    def room(self) -> float:
        """The square of the longest row of scores."""
        return ROOM * self.d + SPARE

    @cached_property
    def lattice(self) -> Lattice:
        """Of the scores of one row: as fine as sums of their products and noise fit into 64 bits."""
        radius = math.sqrt(self.room)
        for bits in range(_BITS, 7, -1):
            grid = Lattice.for_norm(radius, bits)
            try:
                check_room(
                    "",
                    pair_sensitivity(grid, self),
                    self._multiplier("pairs"),
                    2 * self.n * self.k * grid.sensitivity**2,
                )
            except ValueError:
                continue
            return grid
        raise ValueError(f"{self.n:,} records with a sketch of mu = {self.mu:g} do not fit into 64 bits")

    def with_mu(self, mu: float) -> SketchPlan:
        """The same at another price."""
        return replace(self, mu=mu)


def pair_sensitivity(grid: Lattice, plan: SketchPlan) -> int:
    """How far the sums of z_i z_j over i < j move, in squared grid steps: k R^2 where a unit is replaced (R^2 the square of
    the longest row; (1, 1) for (1, -1) reaches it), k R^2 / sqrt2 where one is added or removed."""
    square = grid.sensitivity**2
    if n_is_public(plan.domain.adjacency):
        return plan.k * square
    return plan.k * (math.isqrt(square * square // 2) + 1)
