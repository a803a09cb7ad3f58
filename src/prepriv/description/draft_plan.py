"""What a private draft will release, priced, and what it says before a record is read."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from scipy.special import ndtri

from prepriv._arguments import integer, shown
from prepriv._text import printable
from prepriv.adjacency import Adjacency, rows_changed
from prepriv.columns import MISSING, OTHER, Numeric
from prepriv.description.draft_bounds import (
    AGAIN,
    BEYOND,
    BEYOND_ONE_SIZE,
    MOST_BEYOND,
    MOST_OF_ONE_SIZE,
    POINTS,
    TOGETHER,
)
from prepriv.description.draft_needs import DraftNeeds, hopeless, needs_of
from prepriv.description.look import Look, multiplier, price
from prepriv.description.magnitudes import BINS
from prepriv.domain import MOST_ROWS, check_unit
from prepriv.drafted import declared_rows
from prepriv.guarantees.printed import exact
from prepriv.schemas.declared_file import BadSchema
from prepriv.schemas.first_schema import MOST_CLASSES
from prepriv.tables.cell import cell_of, text
from prepriv.tables.encoding import SURELY_MISSING
from prepriv.tables.readers import names_of, no_label, wrong_header

FIRST_ROUND = 0.35  # of what a column gets
SEEN = 0.01  # chance, over a whole table, that an empty cell of the grid is taken for a used one
MOST_NAMES = 100  # in a list of categories, or of classes
LONGEST_NAME = 100  # characters of a category; a longer one is "other"
NUMERIC: Literal["numeric"] = "numeric"  # what a label is declared to be, whose range is drafted
TARGET = 0.5  # weight of the range of a target in the budget, beside 1 for a column: spent where the label shows no classes
_UNPRICED = Look("schema draft", 1, "replace-one", 1.0, 0.5, ())
PLACEHOLDERS = ("A_CLASS", "ANOTHER")  # of names that only a user knows; refused where they are copied


@dataclass(frozen=True)
class DraftPlan:
    """What a private draft will release, priced: `look`; and of which columns. unit: the column that says whose row it is, and
    rows_per_unit: what the domain declares of it; the draft reads one row of each unit. source: as
    that of a `Domain`. classes: of the label, as its user declared them; nothing is spent on them. Empty: they are
    drafted. target: bounds of a numeric label, as its user declared them, for which nothing is spent either; "numeric": they are drafted, and no
    classes. None: the label is drafted as what it shows."""

    columns: tuple[str, ...]
    label: str
    look: Look
    unit: str | None = None
    rows_per_unit: int | None = None
    source: str | None = None
    classes: tuple[str, ...] = ()
    target: Numeric | Literal["numeric"] | None = None

    @property
    def declared_label(self) -> bool:
        """Whether nothing about the label is drafted."""
        return bool(self.classes) or isinstance(self.target, Numeric)

    @property
    def seen_together(self) -> float:
        """How many deviations of noise the sum of the label's counts in neighbouring powers of two needs."""
        return float(-ndtri(SEEN / (len(TOGETHER) * BINS)))

    @property
    def noise_of_range(self) -> float:
        """Standard deviation of the noise in a count from which the range of a numeric label is sought."""
        return multiplier(self.look["first target"]) * math.sqrt(rows_changed(self.look.adjacency))

    @property
    def a_range(self) -> int:
        """How many records of a numeric label within a factor of 16, four powers of two, show its range 95 times in 100."""
        return math.ceil((self.seen_together + float(ndtri(0.95))) * self.noise_of_range * 2.0)

    @property
    def whose(self) -> str:
        """What is counted, in words."""
        return "records" if self.unit is None else "units"

    @property
    def seen(self) -> float:
        """How many deviations of noise a count of the first round needs."""
        return float(-ndtri(SEEN / (BINS * max(len(self.columns), 1))))

    @property
    def needs(self) -> DraftNeeds:
        """How many records this draft needs to see what: known before one is read."""
        told = {"first_round": AGAIN, "beyond": BEYOND, "most": MOST_BEYOND, "points": POINTS}
        told |= {"beyond_one_size": BEYOND_ONE_SIZE, "most_of_one_size": MOST_OF_ONE_SIZE}
        return needs_of(self.look, seen=self.seen, **told)  # type: ignore[arg-type]

    def said(self) -> list[str]:
        """What it needs, and what more epsilon would change: lines to be read before a record is."""
        look = self.look
        more = [
            replace(self, look=_priced(look.n, self, look.epsilon * k)).needs
            for k in (2, 4)
            if look.epsilon * k <= 100
        ]
        lines = [f"before a record is read, of {look.n:,}: {self.needs}", *map(str, more)]
        if not self.classes and self.target is None:
            lines += [self._rare_class(), self._numeric_label()]
        if self.target == NUMERIC:
            lines.append(
                f"before a record is read, the range of the label {self.label!r} is seen if about {self.a_range:,} {self.whose} lie within a factor of 16"
            )
        if 4 * (self.needs.a_class or 0) > look.n or 2 * self.needs.numbers > look.n:
            lines.append("few records for this ε: declare what you know by hand, bounds and classes first")
        return lines

    def _rare_class(self) -> str:
        """How rare a class may be, from declared facts alone, and the way out."""
        look, least = self.look, self.needs.a_class or 0
        given = f"before a record is read, with {look.n:,} {self.whose} and ε = {exact(look.epsilon)}:"
        free = f"declare the classes of {self.label!r}, which is free: --classes {','.join(PLACEHOLDERS)} with its own names (in Python classes=)"
        if 2 * least > look.n:
            return f"{given} even a class of half of the {self.whose} may not be seen. Draft with a larger ε, or {free}"
        return (
            f"{given} a class of fewer than about {least:,} {self.whose} ({100 * least / look.n:.2g} %) is not seen. If one may be rarer, "
            f"{free}"
        )

    def _numeric_label(self) -> str:
        """When a label is drafted as a number, and how that is said before anything is spent."""
        return (
            f"before a record is read, a numeric label with more than {MOST_CLASSES} common values, or with fewer than two, is drafted for regression. Its range is seen "
            f"if about {self.a_range:,} {self.whose} lie within a factor of 16. If {self.label!r} is a number, say so: --target LOW,HIGH with its "
            "bounds as you know them is free (in Python target=prepriv.Numeric(low, high)), and --target numeric "
            '(target="numeric") spends more of ε on its range'
        )


def plan_draft(
    names: Sequence[str],
    *,
    label: str | None,
    n: int,
    epsilon: float,
    delta: float,
    adjacency: Adjacency = "replace-one",
    unit: str | None = None,
    rows_per_unit: int | None = None,
    source: str | None = None,
    classes: Sequence[str] | None = None,
    target: Numeric | Literal["numeric"] | None = None,
) -> DraftPlan:
    """Price a draft of a table with these columns; `label` is the last where None. No row is read. unit, rows_per_unit: where
    several rows can be one person's, the column that says whose, and how many are read of each; n then counts persons.
    classes: of the label, where its user declares them; nothing is then spent on the label. target: its bounds, where it is a number and its user
    declares them, likewise; "numeric": that it is a number, whose range is drafted.

    Raises BadSchema for fewer than two columns, two of one name, a name that is not a text, or no such label; ValueError
    for the budget.
    """
    if others := [type(name).__name__ for name in names if not isinstance(name, str)]:
        raise BadSchema(
            f"the names of the columns must be texts; one is of type {others[0]}: rename them, "
            "in pandas by table.columns = [...]"
        )
    if len(set(names)) < len(names):
        raise BadSchema(
            "two columns of the table have the same name (or its header line is missing): rename one"
        )
    if wrong := wrong_header(names):
        raise BadSchema(f"a schema needs a label and a column beside it; {wrong}")
    label = names[-1] if label is None else label
    if label not in names:
        raise BadSchema(no_label(label, names))
    if (unit is None) != (rows_per_unit is None):
        raise BadSchema(
            "declare a unit and its rows per unit together: whose row it is, and how many are read"
        )
    if unit is not None:
        rows_per_unit = integer("rows_per_unit", rows_per_unit, at_most=MOST_ROWS)
        if check_unit(unit) not in names or unit == label:
            raise BadSchema(
                f"the unit {unit!r} must be a column of the table, and not the label; {names_of(names)}"
            )
    columns = tuple(name for name in names if name not in (label, unit))
    if not columns:
        raise BadSchema("a schema needs a column beside the label and the unit")
    given = _declared_classes(classes)
    number = _declared_target(target, classes)
    unpriced = DraftPlan(columns, label, _UNPRICED, unit, rows_per_unit, source, given, number)
    look = _priced(n, unpriced, epsilon, delta, adjacency)
    if why := hopeless(look, lambda larger: _priced(n, unpriced, larger, delta, adjacency)):
        raise ValueError(why)
    plan = replace(unpriced, look=look)
    if number == NUMERIC and plan.seen * plan.noise_of_range > n:  # not even if they are all of one size
        raise ValueError(
            f"{n:,} {plan.whose} are too few for a private draft of the range of {label!r} at this epsilon, which needs about "
            f"{plan.a_range:,} within a factor of 16. Declare its bounds as you know them, which is free: --target LOW,HIGH (in Python "
            "target=prepriv.Numeric(low, high)). Nothing was charged"
        )
    return plan


def _declared_target(target: Any, classes: Any) -> Numeric | Literal["numeric"] | None:
    """What was declared about a numeric label. ValueError for anything else."""
    if target is None:
        return None
    if classes is not None:
        raise ValueError("classes and target exclude each other: a label has classes, or it is a number")
    if isinstance(target, Numeric):
        return replace(target, missing="midpoint")
    if target == NUMERIC:
        return NUMERIC
    raise ValueError(
        f'target must be Numeric(low, high), the bounds of a numeric label, or "numeric", whose range is drafted; got {shown(target)}'
    )


def _declared_classes(classes: Sequence[str] | None) -> tuple[str, ...]:
    """In the order of a draft. ValueError unless they can be the classes of a label."""
    if classes is None:
        return ()
    several = isinstance(classes, Sequence) and not isinstance(classes, str)
    given = tuple(text(cell_of(one)) for one in classes) if several else ()
    for one, said in zip(given, classes):
        if one.lower() in SURELY_MISSING:
            raise ValueError(
                f"classes: a cell that says {shown(said)} is read as a gap. To make it a class, write the schema by hand"
            )
    if {*given} == {*PLACEHOLDERS}:
        raise ValueError(
            f"classes: {' and '.join(PLACEHOLDERS)} stand for the names of the label's classes: write these as the label spells them"
        )
    if len(given) < 2 or len({*given}) < len(given) or not all(map(is_class, given)):
        raise ValueError(
            f"classes must be two or more different names, as the label spells them; got {shown(classes)}"
        )
    return tuple(sorted(given))


def _priced(
    n: int, plan: DraftPlan, epsilon: float, delta: float | None = None, adjacency: Adjacency | None = None
) -> Look:
    """The price of a draft of these columns; delta and adjacency: those of the plan's look, if they are not given."""
    weights: dict[str, float] = {}
    for i in range(len(plan.columns)):
        weights |= {f"first {i}": FIRST_ROUND, f"second {i}": 1 - FIRST_ROUND}
    if not plan.declared_label and plan.target is None:
        weights["label"] = 1.0
    lone = [name for name in weights if not name.startswith("first")]
    if not plan.declared_label:
        whole = TARGET if plan.target is None else 1.0
        weights |= {"first target": FIRST_ROUND * whole, "second target": (1 - FIRST_ROUND) * whole}
    return price(
        "schema draft",
        weights,
        n=n,
        adjacency=plan.look.adjacency if adjacency is None else adjacency,
        epsilon=epsilon,
        delta=plan.look.delta if delta is None else delta,
        lone=lone,
        declared=[
            list(plan.columns),
            plan.label,
            *([] if plan.unit is None else [plan.unit]),
            *([{"classes": list(plan.classes)}] if plan.classes else []),
            *([] if plan.target is None else [{"target": _said_of(plan.target)}]),
        ],
        unit=plan.unit,
        rows=declared_rows(plan.source, plan.unit),
    )


def _said_of(target: Numeric | Literal["numeric"]) -> Any:
    return {"low": target.low, "high": target.high} | target.way if isinstance(target, Numeric) else target


def is_name(name: str) -> bool:
    """Whether a cell can be a category at all: a rule for each cell by itself."""
    return name not in (OTHER, MISSING) and is_class(name)


def is_class(name: str) -> bool:
    """Whether a cell of the label can be a class: a rule for each cell by itself."""
    if len(name) > LONGEST_NAME or name.lower() in SURELY_MISSING:
        return False
    return name.isprintable() and printable(name) == name
