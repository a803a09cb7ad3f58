"""A released sketch: noisy numbers, and what follows from them. It may be published, and so may all that is drawn from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prepriv._arguments import integer
from prepriv._arrays import Floats
from prepriv.columns import MISSING, OTHER, Categorical, Numeric
from prepriv.domain import TARGET_STEPS, Domain
from prepriv.sketches.draw import draw_codes, values_in_bins
from prepriv.sketches.fine_grid import cells_of, mass_bins, masses
from prepriv.sketches.pairs import Codes, correlations, order_of, score_tables
from prepriv.sketches.public_numbers import PublicNumbers
from prepriv.sketches.sketch_plan import SketchPlan
from prepriv.sketches.tables import SketchShape, shape_of
from prepriv.tables.written import TIMES, spelled

WHAT = "marginals with the label, nothing else"
WITH_PAIRS = "marginals with the label and correlations of pairs within each class, nothing else"
_MOST_ROWS = 10**7


def _named(plan: SketchPlan) -> list[bool]:
    """Which columns hold categories."""
    return [isinstance(kind, Categorical) for kind in plan.columns.values()]


@dataclass(frozen=True, eq=False)
class TableSketch:
    """What was released of a table, by the events of `plan`.

    fine: noisy counts of the fine cells of all numeric columns, one column after another; None without any. counts: for each column (S, K) noisy counts of (code, class); codes are bins or categories, "other" (categories), missing. orders: for each
    column its codes in the order of their scores. products: noisy sums of products of scores, for each pair of columns.
    """

    plan: SketchPlan
    fine: Floats | None
    counts: tuple[Floats, ...]
    orders: tuple[Codes, ...]
    products: Floats | None = None

    @classmethod
    def of(cls, plan: SketchPlan, fine: Floats | None, flat: Floats) -> TableSketch:
        """Of the noisy counts of all tables, one after another, each with room for the most codes."""
        kinds, own, at, counts = list(plan.columns.values()), iter(edges_of(plan, fine)), 0, []
        for kind, room in zip(kinds, plan.rows):
            table = flat[at : at + room * plan.classes].reshape(room, plan.classes)
            counts.append(table if isinstance(kind, Categorical) else table[: len(next(own))])
            at += room * plan.classes
        shape = shape_of(counts, plan.noise("tables"), float(plan.n) if plan.counted else None, _named(plan))
        orders = tuple(
            order_of(given, shape.classes, isinstance(kind, Numeric))
            for given, kind in zip(shape.given, kinds)
        )
        return cls(plan, fine, tuple(counts), orders)

    def with_pairs(self, products: Floats) -> TableSketch:
        """The same with its sums of products."""
        return replace(self, products=products)

    @property
    def what(self) -> str:
        """What rows drawn from it keep of the table, in words."""
        if self.plan.classes == 1:
            return (
                WHAT.replace(" with the label", "")
                if self.products is None
                else "marginals and correlations of pairs, nothing else"
            )
        return WHAT if self.products is None else WITH_PAIRS

    @cached_property
    def edges(self) -> tuple[Floats, ...]:
        """For each numeric column the ends of its bins, as shares of the way from its low bound to its high one."""
        return edges_of(self.plan, self.fine)

    @cached_property
    def shape(self) -> SketchShape:
        """Probabilities of classes, and of codes within them."""
        return shape_of(
            self.counts,
            self.plan.noise("tables"),
            float(self.plan.n) if self.plan.counted else None,
            _named(self.plan),
        )

    @property
    def scores(self) -> list[Floats]:
        """Of each column the normal score of each code within each class, (S, K)."""
        return score_tables(self.shape, self.orders)

    @cached_property
    def correlation(self) -> Floats | None:
        """(d, d) of the normal scores within a class; None where none were released."""
        if self.products is None:
            return None
        return correlations(self.products, self.plan.noise("pairs"), self.shape)

    def names(self, column: str) -> list[str]:
        """What the codes of a column are, in words."""
        place = list(self.plan.columns).index(column)
        kind = self.plan.columns[column]
        if isinstance(kind, Categorical):
            return [*map(str, kind.categories), OTHER, MISSING]
        assert isinstance(kind, Numeric)
        ends = kind.numbers(self.edges[self.plan.numeric.index(place)])
        for digits in (6, 17):  # as few as tell the bins apart
            found = [f"{low:.{digits}g} to {high:.{digits}g}" for low, high in pairwise(ends)]
            if len(set(found)) == len(found):
                break
        return [*found, MISSING]

    def draw(self, rows: int, seed: int = 0) -> tuple[list[NDArray[Any]], NDArray[np.int64]]:
        """(for each declared column, and a target, its numbers in [0, 1] or its codes; classes), (rows,) each or a few more:
        each class is there at least twice, and so is a gap of a column that may have one."""
        rows = integer("rows", rows, at_most=_MOST_ROWS)
        generator = PublicNumbers(integer("seed", seed, at_least=0))
        kinds = list(self.plan.columns.values())
        gaps = [isinstance(kind, Numeric) and kind.missing == "impute" for kind in kinds]
        codes, labels = draw_codes(
            self.shape, rows, generator, orders=self.orders, correlation=self.correlation, gaps=gaps
        )
        own = zip(self.edges, cells_and_masses(self.plan, self.fine))
        found: list[NDArray[Any]] = []
        for kind, code in zip(kinds, codes.T):
            if isinstance(kind, Categorical):
                found.append(code)
            else:
                edges, (cells, (_, mass)) = next(own)
                found.append(values_in_bins(code, edges, cells, mass, generator))
        return found, labels

    def encoded(self, rows: int, seed: int = 0) -> tuple[Floats, NDArray[np.int64]]:
        """(rows of the space of the domain, what is learned of them: classes, or a target in its steps)."""
        drawn, labels = self.draw(rows, seed)
        return encoded(drawn, self.plan.domain), self._learned(drawn, labels)

    def _learned(self, drawn: list[NDArray[Any]], labels: NDArray[np.int64]) -> NDArray[np.int64]:
        if len(drawn) == len(self.plan.domain.columns):
            return labels
        unit = drawn[-1]
        return np.where(np.isnan(unit), -1, np.rint(np.nan_to_num(unit) * TARGET_STEPS)).astype(np.int64)

    def to_json(self) -> dict[str, Any]:
        """Plain data: what was released, and the declared facts that it is read by."""
        return {
            "what": self.what,
            "domain": self.plan.domain.to_json(),
            "mu": self.plan.mu,
            "needs": self.plan.needs,
            "fine": None if self.fine is None else self.fine.tolist(),
            "counts": [counts.tolist() for counts in self.counts],
            "orders": [order.tolist() for order in self.orders],
            "products": None if self.products is None else self.products.tolist(),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> TableSketch:
        """Read back what `to_json` wrote. ValueError for anything else."""
        try:
            plan = SketchPlan(Domain.from_json(data["domain"]), float(data["mu"]), data["needs"])
            fine = None if data["fine"] is None else _finite(data["fine"])
            counts = tuple(_finite(c) for c in data["counts"])
            orders = tuple(np.array(o, dtype=np.int64) for o in data["orders"])
            products = None if data["products"] is None else _finite(data["products"])
        except (KeyError, TypeError, AttributeError, OverflowError):
            raise ValueError("these data do not describe a sketch (TableSketch.to_json)") from None
        kinds = list(plan.columns.values())
        fits = len(counts) == len(orders) == plan.d and (fine is None) == (not plan.numeric)
        fits = fits and (fine is None or fine.shape == (sum(plan.cells),))
        fits = fits and (products is None or products.shape == (plan.d * (plan.d - 1) // 2,))
        own = iter(edges_of(plan, fine) if fits else ())
        for kind, table, order in zip(kinds, counts, orders):
            size = len(kind.categories) + 2 if isinstance(kind, Categorical) else len(next(own, ()))
            fits = fits and table.shape == (size, plan.classes) and sorted(order) == list(range(size - 1))
        if not fits:
            raise ValueError("these data do not describe a sketch: its tables are not those of its domain")
        return cls(plan, fine, counts, orders, products)


def cells_and_masses(plan: SketchPlan, fine: Floats | None) -> list[tuple[Floats, tuple[Floats, Floats]]]:
    """For each numeric column the edges of its fine cells, and what they hold: for bins, and for values."""
    if fine is None:
        return []
    kinds, at, found = list(plan.columns.values()), 0, []
    for place, size in zip(plan.numeric, plan.cells):
        cells = cells_of(kinds[place])
        found.append((cells, masses(fine[at : at + size], cells, plan.noise("bins"))))
        at += size
    return found


def edges_of(plan: SketchPlan, fine: Floats | None) -> tuple[Floats, ...]:
    """For each numeric column the ends of its bins, from 0 to 1, made of the noisy counts of its fine cells."""
    return tuple(mass_bins(mass, cells, plan.bins) for cells, (mass, _) in cells_and_masses(plan, fine))


def _finite(stored: Any) -> Floats:
    found = np.array(stored, dtype=np.float64)
    if not np.isfinite(found).all():
        raise ValueError("these data do not describe a sketch: a number is not finite")
    return found


def encoded(drawn: list[NDArray[Any]], domain: Domain) -> Floats:
    """Numbers in [0, 1] and codes as rows of the encoded space; a gap of a column that fills in its midpoint is 0.5."""
    parts = []
    for kind, cells in zip(domain.columns.values(), drawn):
        if isinstance(kind, Numeric):
            filled = cells if kind.missing == "impute" else np.where(np.isnan(cells), 0.5, cells)
            parts.append(filled[:, None])
        else:
            parts.append(np.eye(kind.width)[cells])
    return np.hstack(parts)


def raw_columns(drawn: list[NDArray[Any]], domain: Domain) -> dict[str, NDArray[Any]]:
    """The same as the cells of a raw table: numbers in their units, categories as they were declared, None for a missing one."""
    found: dict[str, NDArray[Any]] = {}
    for (name, kind), cells in zip(domain.columns.items(), drawn):
        if isinstance(kind, Numeric):
            units = kind.low + (kind.high - kind.low) * cells
            found[name] = units
            if kind.written in TIMES:  # as a cell says them: numbers are gaps there
                found[name] = np.array([spelled(x, kind.written) for x in units.tolist()], dtype=object)
        else:
            assert isinstance(kind, Categorical)
            values = np.empty(len(kind.categories) + 2, dtype=object)
            values[:] = [*kind.categories, OTHER, None]
            found[name] = values[cells]
    return found
