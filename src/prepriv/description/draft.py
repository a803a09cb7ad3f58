"""A schema that nobody declared, drafted privately: kinds, bounds, categories and classes by noisy counts.

Two rounds a column. First one histogram over the fixed grid of `magnitudes`: it tells numbers from texts, says how numbers are
written, and gives a coarse range. Then, for numbers, private quantiles inside that range, rounded outward to two digits; for texts, and
for the label, a stability histogram. Whatever was not seen is left out. A label whose values are too many, or each too rare, and numbers
is a target. Proof: docs/proofs/stability_histogram.md.

The names of the columns, in the header line, and their number are taken as public.
"""

from __future__ import annotations

import hashlib
import math
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from prepriv._arguments import LARGEST, LEAST, integer, shown
from prepriv._arrays import Floats
from prepriv._callers import callers_level
from prepriv._rounding import FAR_DOWN
from prepriv._text import printable
from prepriv.adjacency import Adjacency, n_is_public, rows_changed
from prepriv.columns import MISSING, OTHER, Categorical, Column, Numeric, Text, middle_in_words
from prepriv.description.draft_needs import DraftNeeds, as_often_as_not, hopeless, needs_of
from prepriv.description.look import Look, LookPart, PrivateFrame, frame_of, multiplier, price, rows_there
from prepriv.description.magnitudes import BINS, GAP, ONE_TO_TWO, TEXT, ZERO, bins_of, ends, way_written
from prepriv.domain import MOST_ROWS, Domain, check_unit, drafted_content
from prepriv.drafted import CHARGE, Drafted, declared_rows
from prepriv.guarantees.printed import epsilon_at, exact
from prepriv.mechanisms.histogram import private_histogram
from prepriv.mechanisms.quantile import Grid, QuantileRelease
from prepriv.mechanisms.session import Metered, Session
from prepriv.mechanisms.stability_histogram import StabilityHistogram
from prepriv.runs.admit import admit
from prepriv.runs.booked import draft_note
from prepriv.runs.charge import note_hash
from prepriv.schemas.declared_file import BadSchema, written_yaml
from prepriv.schemas.first_schema import MOST_CLASSES
from prepriv.tables.cell import Cell, cell_of, text
from prepriv.tables.column import DistinctCells, cells, numbers_of
from prepriv.tables.encoding import SURELY_MISSING
from prepriv.tables.readers import names_of, no_label, wrong_header
from prepriv.tables.stream import as_stream
from prepriv.tables.units import one_row_each
from prepriv.tables.written import DATES, number_written, spelled

FIRST_ROUND = 0.35  # of what a column gets
SEEN = 0.01  # chance, over a whole table, that an empty cell of the grid is taken for a used one
MOST_NAMES = 100  # in a list of categories, or of classes
LONGEST_NAME = 100  # characters of a category; a longer one is "other"
POINTS = 129  # of the grid on which a bound is chosen
MOST_BEYOND = 0.05  # of the cells, beyond either bound: where n is small a bound is rather too wide
_MOST_OF_ONE_SIZE, _BEYOND_ONE_SIZE = (
    0.2,
    11,
)  # the same of numbers of one size: a bound that is a guess would be wider by far
_ENDS = 1.96  # deviations from the middle: where bounds of numbers of one size end, if they lie as a bell curve does
_TEXTS, _MANY_TEXTS = (
    4.0,
    0.02,
)  # deviations of noise, and the part of the records: texts in a column of numbers are named
_SELDOM = 0.2  # the chance at which a bound that is a guess is said to be one
_FEW, AGAIN = 16, 0.35  # bounds that few points apart are sought once more, at this share of the second round
_HARDLY, _FAR = (
    1.5,
    1000.0,
)  # a count below so many times what makes a range seen, so many times as far from zero as the others: perhaps noise
_TOGETHER = (
    2,
    4,
    8,
)  # neighbouring powers of two whose counts are added up, where the range of a label is sought
_MOSTLY_NAMED = (
    0.75  # of the numbers of a label: classes that are numbers and fewer records have are values of a target
)
NUMERIC: Literal["numeric"] = "numeric"  # what a label is declared to be, whose range is drafted
TARGET = 0.5  # weight of the range of a target in the budget, beside 1 for a column: spent where the label shows no classes
_ABOUT_ONE = 1.25  # an upper bound up to here, where zeros and numbers from 1 to 2 alone were seen: 1, and the error of a quantile
_DAYS = (-25_567.0, 47_482.0)  # 1900 and 2100: the range in which dates are sought
_FILLED = 10  # columns without gaps that are named
_UNSURE = 0.2  # of the records: if so many may not have been seen, the draft says so
_AT_MOST = 3.0  # deviations of noise, for what is said to be the most: counts that stood out are too large on average
_SURELY = 2.0  # deviations of noise: what numbers that were not seen stand out by
BEYOND = 7  # records beyond a bound that is aimed at, in units of the mechanism's own error: fewer, and it is a guess


_HOW_COMPLETED = (
    "Write down what you know yourself, such as all classes:, which is free. Then delete the line draft: true"
)
_BOUNDS_OF_LABEL = (
    "Declare its bounds as you know them without looking at the table, which is free: --target LOW,HIGH (in Python target=prepriv.Numeric(low, high)). "
    'Or let --target numeric (target="numeric") spend more of ε on its range. For a classification, declare --classes (classes=)'
)


_UNPRICED = Look("schema draft", 1, "replace-one", 1.0, 0.5, ())


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
        return float(-ndtri(SEEN / (len(_TOGETHER) * BINS)))

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
        told |= {"beyond_one_size": _BEYOND_ONE_SIZE, "most_of_one_size": _MOST_OF_ONE_SIZE}
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


PLACEHOLDERS = ("A_CLASS", "ANOTHER")  # of names that only a user knows; refused where they are copied
_TO_LOOK_AT = ("LEFT OUT", "NO GAPS", "THE LABEL", "LOOK AT")  # how lines begin that ask for a decision


class DraftWarning(UserWarning):
    """What a private draft left out or guessed. It follows from what the draft released."""


@dataclass(frozen=True)
class PrivateDraft:
    """What a private draft released. columns, classes, target: as declared from noisy counts; left_out: names of columns in
    which nothing was common enough; named: about how many records have one of the listed values, by column and label; guesses: what
    to look at, by column; plan: what it cost; receipt: of its charge in a ledger, if there is one; numbers: whether the label has numbers
    whose range was not seen."""

    plan: DraftPlan
    columns: dict[str, Column]
    classes: tuple[str, ...]
    left_out: tuple[str, ...]
    target: Numeric | None = None
    named: Mapping[str, float] = field(default_factory=dict)
    guesses: Mapping[str, str] = field(default_factory=dict)
    receipt: Mapping[str, Any] | None = None
    numbers: bool = False

    @property
    def problem(self) -> str:
        """Why no domain can be made of it, or nothing. It follows from what was released alone."""
        if self.target is None and self.plan.target is not None:
            return f"the label {self.plan.label!r} was declared numeric, and its range was not seen"
        if self.target is None and len(self.classes) < 2 and self.numbers:
            return f"the label {self.plan.label!r} has numbers, fewer than two of which are common enough to be classes, and their range was not seen"
        if self.target is None and len(self.classes) < 2:
            return "fewer than two classes of the label were common enough to be seen"
        if not self.columns:
            return "nothing in any column was common enough to be seen"
        try:
            self._domain()
        except ValueError as error:
            return str(error)
        return ""

    @property
    def how_completed(self) -> str:
        """What to write into the file where there is a problem."""
        if self._label_is_open:
            return (
                "Write low: and high: of the label as you know them, or all its classes:, which is free. Then delete the line draft: true. "
                f"For another draft: {_BOUNDS_OF_LABEL}"
            )
        return _HOW_COMPLETED

    @property
    def _label_is_open(self) -> bool:
        """Whether the label is a number, as far as it was seen or declared, without bounds."""
        return self.target is None and (
            self.plan.target is not None or (self.numbers and len(self.classes) < 2)
        )

    def _domain(self) -> Domain:
        look = self.plan.look
        return Domain(
            self.columns,
            () if self.target is not None else self.classes,
            look.n,
            look.adjacency,
            self.plan.label,
            target=self.target,
            unit=self.plan.unit,
            rows_per_unit=self.plan.rows_per_unit,
            drafts=(self.drafted,),
        )

    @property
    def drafted(self) -> Drafted:
        """What it cost, as whatever uses the domain carries it."""
        look = self.plan.look
        return Drafted(
            look.epsilon,
            look.delta,
            look.mu,
            look.leak,
            look.adjacency,
            look.n,
            look.hash,
            None if self.receipt is None else {key: self.receipt[key] for key in CHARGE},
            self.plan.unit,
            self.plan.source,
            drafted_content(self.columns, self.classes, self.target),
            self.plan.declared_label,
        )

    def note(self, ledger: str | os.PathLike[str] | None, written: str | None = None) -> None:
        """Write the hash of what was drafted beside its charge, with that of all that the draft states, and of its file: `prepriv report --ledger` and
        `ledger verify` compare them. written: the text of that file. NotNoted as `note_hash`."""
        content = drafted_content(self.columns, self.classes, self.target)
        file = "" if written is None else hashlib.sha256(written.encode()).hexdigest()
        note_hash(ledger, self.receipt, content, draft_note(self.drafted, file))

    def domain(self) -> Domain:
        """The domain; ValueError where too little was seen. What was paid stays paid."""
        if self._label_is_open:
            raise ValueError(f"{self.problem} at this budget. {_BOUNDS_OF_LABEL}")
        if self.problem:
            raise ValueError(
                f"{self.problem} at this budget: draft with a larger epsilon, or declare it by hand"
                + (
                    " (classes=, or target= for a numeric label, which are free)"
                    if len(self.classes) < 2 and self.target is None
                    else ""
                )
            )
        return self._domain()

    @property
    def _unit(self) -> dict[str, Any]:
        plan = self.plan
        return {} if plan.unit is None else {"unit": plan.unit, "rows_per_unit": plan.rows_per_unit}

    def told(self) -> list[str]:
        """What it left out, guessed and made noisy: lines for the screen and for the file."""
        look, label = self.plan.look, self.plan.label
        lines = [f"Bounds are noisy by design, and what is rare is left out: {self.plan.needs}."]
        if self.plan.classes:
            lines.append(
                f"DECLARED by hand, not drafted: the classes of {label!r}. Nothing was spent on them"
            )
        if isinstance(self.plan.target, Numeric):
            lines.append(
                f"DECLARED by hand, not drafted: the bounds of the label {label!r}. Nothing was spent on them"
            )
        if self.plan.target == NUMERIC:
            lines.append(f"DECLARED by hand: that the label {label!r} is a number. Its bounds are drafted")
        lines += [f"LEFT OUT {name!r}: nothing in it was common enough to be seen" for name in self.left_out]
        unlisted = dict[tuple[int, int], list[str]]()
        for name, count in self.named.items():
            part = look["label" if name == label else f"second {self.plan.columns.index(name)}"]
            listed = len(self.columns[name].categories) if name in self.columns else len(self.classes)  # type: ignore[union-attr]
            noise = 2 * multiplier(part) * math.sqrt(rows_changed(look.adjacency) * listed)
            if n_is_public(look.adjacency) and look.n - count > max(0.01 * look.n, noise):
                lines.append(
                    f"LEFT OUT of {name!r}: the {'classes' if name == label else 'categories'} of about "
                    f"{round(100 * (1 - count / look.n))} % of the {look.n:,} declared, which are rarer, {'' if name == label else 'say `other` (it needs no category), '}or are gaps: cells that are empty or say NA, null, ? or missing"
                    + (f"; is --rows the number of {self.plan.unit!r}?" if self.plan.unit is not None else "")
                )
            least = (self.plan.needs.a_class if name == label else self.plan.needs.a_category) or 0
            unlisted.setdefault((least, as_often_as_not(look, part.name)), []).append(repr(name))
        lines += [
            f"NOT LISTED: rare values of {', '.join(names)}. A value of about {least:,} records is listed 95 times in 100, one of about "
            f"{even:,} as often as not, and rarer ones mostly are not"
            for (least, even), names in unlisted.items()
        ]
        if filled := [
            f"{middle_in_words(c)} in {name!r}"
            for name, c in self.columns.items()
            if isinstance(c, Numeric) and c.missing == "midpoint"
        ]:
            more = (
                f" and {len(filled) - _FILLED:,} more, as the middle of their bounds"
                if len(filled) > _FILLED
                else ""
            )
            lines.append(
                f"NO GAPS WERE SEEN in these columns, and there may be some. An empty cell counts as {', '.join(filled[:_FILLED])}{more}; "
                "`missing: impute` learns a mean instead (in Python Numeric(low, high, missing='impute'))"
            )
        if self.target is not None and self.plan.target is None:
            others = ", and too many records have others" if 2 <= len(self.classes) <= MOST_CLASSES else ""
            lines.append(
                f"THE LABEL {label!r} is drafted for regression, since it has numbers, of which {len(self.classes)} {'is' if len(self.classes) == 1 else 'are'} common enough to be a class{others}. "
                "For classification, write classes: in place of low: and high: (in Python give classes= to the draft or the Domain)"
            )
        return [*lines, *(f"LOOK AT {name!r}: {guess}" for name, guess in self.guesses.items())]

    def text(self) -> str:
        """The schema file: a draft to be completed by hand where too little was seen."""
        look = self.plan.look
        head = [
            f"Drafted privately with {epsilon_at(look.guarantee.epsilon(look.delta), look.delta)}, "
            f"{look.guarantee.neighbours}, n = {look.n:,}.",
            f"Kinds, bounds{' and categories' if self.plan.classes or self.plan.target else ', categories and classes'} are outputs of mechanisms; the names of the "
            "columns are taken as public.",
            *self.told(),
        ]
        body: dict[str, Any] = {}
        if self.problem:
            head.append(f"TO BE COMPLETED: {self.problem}. {self.how_completed}")
            body["draft"] = True
        learned = {"classes": list(self.classes)} if self.target is None else _bounds_of(self.target)
        if self._label_is_open:  # one common value of a number is not a list of classes
            learned = {}
        body |= {
            "label": {"name": self.plan.label} | learned,
            "adjacency": look.adjacency,
            "rows": look.n,
            **self._unit,
            "columns": {name: _declared(column) for name, column in self.columns.items()},
            "drafted": [self.drafted.to_json()],  # stays, whatever of the rest is edited
        }
        lines = "".join(f"# {printable(line)}\n" for line in head)
        return lines + written_yaml(body)


def _declared(column: Column) -> dict[str, Any]:
    if isinstance(column, Categorical):
        return {"type": "categorical", "categories": list(column.categories)}
    if isinstance(column, Text):
        return {"type": "text", "features": column.features}
    missing = {"missing": "impute"} if column.missing == "impute" else {}
    return {"type": "numeric"} | _bounds_of(column) | missing


def _bounds_of(column: Numeric) -> dict[str, Any]:
    dates = column.written in DATES  # bounds of a draft are whole days
    ends = {"low": column.low, "high": column.high}
    return column.way | {name: spelled(end, column.written) if dates else end for name, end in ends.items()}


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
    if why := hopeless(look):
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


def draft_in_private(
    plan: DraftPlan,
    table: Any,
    *,
    ledger: str | os.PathLike[str] | None = None,
    session: Session | None = None,
    reached: Callable[[str], Any] | None = None,
) -> PrivateDraft:
    """Carry out the plan on a pandas, polars or Arrow table, or on a file: charged, and counted by the odometer, before a
    cell is read (`prepriv.runs.admit.admit`).

    Raises BadData, with nothing charged, where the table has other columns or, under replace-one, another number of rows that is
    known before: records of a file, a query or another stream are read after the charge.
    """
    look = plan.look
    named = (*plan.columns, plan.label, *(() if plan.unit is None else (plan.unit,)))
    public = n_is_public(look.adjacency) and plan.unit is None
    unread = PrivateFrame(table, named, look.n if public else None, plan.source)
    paid = admit(look, unread, ledger=ledger, session=session, reached=reached)
    return replace(release_draft(plan, paid.rows, look.session(paid.session)), receipt=paid.receipt)


def draft_domain(
    table: Any,
    *,
    epsilon: float,
    delta: float,
    n: int | None,
    label: str | None,
    adjacency: Adjacency,
    ledger: str | os.PathLike[str] | None,
    unit: str | None = None,
    rows_per_unit: int | None = None,
    classes: Sequence[str] | None = None,
    target: Numeric | Literal["numeric"] | None = None,
) -> Domain:
    """`Domain.draft`."""
    stream = as_stream(table)
    frame: Any = frame_of(table) if stream is None else stream
    if n is None and unit is not None:
        raise ValueError("n must be declared: how many units there are, not rows")
    if n is None and not n_is_public(adjacency):
        raise ValueError("n must be declared under add-or-remove-one: the true count is private")
    plan = plan_draft(
        list(frame.columns) if stream is None else list(stream.names),
        label=label,
        n=rows_there(table, ledger) if n is None else n,
        epsilon=epsilon,
        delta=delta,
        adjacency=adjacency,
        unit=unit,
        rows_per_unit=rows_per_unit,
        source=None if stream is None else stream.source,
        classes=classes,
        target=target,
    )
    if label is None:  # before the charge: where it is made an error, nothing is spent
        spent = "" if plan.declared_label else ", and part of ε is spent on it"
        warnings.warn(
            f"label= is not given, so the last column, {printable(plan.label)!r}, is drafted as the label{spent}. "
            "If a model is for another column, stop here and give label=",
            DraftWarning,
            stacklevel=callers_level(),
        )
    drafted = draft_in_private(plan, frame, ledger=ledger)
    made = drafted.domain()
    told = tuple(drafted.told())
    made = replace(made, drafts=tuple(replace(one, told=told) for one in made.drafts))
    if to_look_at := [line for line in told if line.startswith(_TO_LOOK_AT)]:
        lines = "\n".join(f"  {printable(line)}" for line in to_look_at)
        with suppress(DraftWarning):  # a warning made an error: what was paid for is not lost
            warnings.warn(
                f"look at this draft before you use it (domain.drafts[0].told keeps these lines):\n{lines}",
                DraftWarning,
                stacklevel=callers_level(),
            )
    if ledger is not None:
        from prepriv.ledger import NotNoted

        try:
            drafted.note(ledger)
        except NotNoted as error:  # what was paid for is not lost
            warnings.warn(str(error), UserWarning, stacklevel=callers_level())
    return made


def release_draft(plan: DraftPlan, table: Any, session: Session) -> PrivateDraft:
    """The same of a table that was admitted."""
    look, frame = plan.look, frame_of(table)
    draft = _Drafting(plan, session)
    rows = None
    if plan.unit is not None:
        there = look.n if n_is_public(look.adjacency) else None
        read = plan.columns if plan.declared_label else (*plan.columns, plan.label)
        rows = one_row_each(frame, plan.unit, read, there)
    columns = {name: draft.column(i, name, _cells(frame[name], rows)) for i, name in enumerate(plan.columns)}
    seen = {name: column for name, column in columns.items() if column is not None}
    numbers = False
    classes, target = plan.classes, plan.target if isinstance(plan.target, Numeric) else None
    if not plan.declared_label:
        classes, target, numbers = draft.learned(_cells(frame[plan.label], rows))
    left_out = tuple(name for name in plan.columns if name not in seen)
    return PrivateDraft(plan, seen, classes, left_out, target, draft.named, draft.guesses, numbers=numbers)


def _cells(column: Any, rows: NDArray[np.int64] | None) -> DistinctCells:
    """The cells of a column; with units of these rows alone, one per unit, a gap where it has none."""
    codes, distinct = cells(column)
    return (codes, distinct) if rows is None else (np.append(codes, -1)[rows], distinct)


_Kinds = tuple[Floats, NDArray[np.int64], float]


@dataclass(frozen=True)
class _Drafting:
    """Asks for the releases of a draft. named, guesses: as of the `PrivateDraft`, filled on the way."""

    plan: DraftPlan
    session: Session
    named: dict[str, float] = field(default_factory=dict)
    guesses: dict[str, str] = field(default_factory=dict)

    def column(self, i: int, name: str, cells: DistinctCells) -> Column | None:
        """A column by what it shows; None where nothing in it is common enough."""
        look = self.plan.look
        first, second = look[f"first {i}"], look[f"second {i}"]
        session = Metered(self.session, f"column {i}", first.mu**2 + second.mu**2, second.delta)
        kinds = self._kinds(f"kinds of column {i}", first, cells, session)
        found = self._numeric(name, f"column {i}", second, cells, session, kinds)
        if not isinstance(found, bool):
            return found
        if found:  # numbers, whose range was not seen
            return None
        names = self._names(name, second, cells, session)
        return Categorical(names) if names else None

    def learned(self, cells: DistinctCells) -> tuple[tuple[str, ...], Numeric | None, bool]:
        """(the classes of the label, the target that it is in their place, whether it has numbers whose range was not seen). It is a target where
        it was declared one, where its values are numbers and too few or too many of them are common, and where too many records have others."""
        plan, look, label = self.plan, self.plan.look, self.plan.label
        classes: tuple[str, ...] = ()
        if plan.target is None:
            classes = self._names(label, look["label"], cells, self.session)
        numbers = all(isinstance(cell_of(name), float) for name in classes)
        if len(classes) >= 2 and not numbers:
            return classes, None, False
        first, second = look["first target"], look["second target"]
        session = Metered(self.session, "target", first.mu**2 + second.mu**2, 0.0)
        noisy, used, sure = kinds = self._kinds("kinds of target", first, cells, session)
        deviation = sure / plan.seen
        # How many cells are neither texts nor gaps: by n, which is declared, since the sum of all other counts has far more noise.
        there = look.n - float(np.maximum(noisy[[TEXT, GAP]], 0.0).sum())
        mostly = False
        if 1 <= len(classes) <= MOST_CLASSES:
            of_named = multiplier(look["label"]) * math.sqrt(rows_changed(look.adjacency) * len(classes))
            noise = math.hypot(of_named, _MOSTLY_NAMED * math.sqrt(2.0) * deviation)
            mostly = self.named[label] + 2.0 * noise >= _MOSTLY_NAMED * there
        if mostly and len(classes) >= 2:
            return classes, None, False
        # zeros, or a class that nearly all have, show no range until another size is seen
        least = 2 if mostly or used.tolist() == [ZERO] else 1
        # of gaps alone a sum may stand out by chance
        many = there > plan.seen_together * math.sqrt(2.0) * deviation
        if len(used) < least and not mostly and many:
            used = np.union1d(used, _stand_out_together(noisy, used, deviation, plan.seen_together))
            kinds = noisy, used, sure
        found = self._numeric(label, "target", second, cells, session, kinds, least)
        open_ = isinstance(found, bool) and numbers and there > max(float(noisy[TEXT]), 0.0)
        if not isinstance(found, bool) or (open_ and len(classes) < 2):
            self.named.pop(label, None)
        if isinstance(found, bool):
            return classes, None, open_
        return classes, replace(found, missing="midpoint"), False

    def _kinds(
        self, called: str, part: LookPart, found: tuple[NDArray[np.int64], Sequence[Cell]], session: Session
    ) -> _Kinds:
        """Noisy counts in the bins, the bins of numbers that hold some, and what no empty bin passes."""
        look = self.plan.look
        noisy = private_histogram(
            bins_of(found),
            name=called,
            bins=BINS,
            n=look.n,
            adjacency=look.adjacency,
            noise_multiplier=multiplier(part),
            session=session,
        )
        sure = self.plan.seen * multiplier(part) * math.sqrt(rows_changed(look.adjacency))
        return noisy, np.flatnonzero(noisy[:TEXT] > sure), sure

    def _numeric(
        self,
        name: str,
        what: str,
        second: LookPart,
        cells: DistinctCells,
        session: Session,
        kinds: _Kinds,
        least: int = 1,
    ) -> Numeric | bool:
        """A numeric column; False where there are texts, True where there are numbers and their range was not seen: in fewer than `least`
        bins. kinds: of its first round."""
        plan, look = self.plan, self.plan.look
        noisy, used, sure = kinds
        # From here on the first round is public: what follows is chosen by it alone.
        way, read, guess = way_written(noisy, used, sure)
        if not way or read < noisy[TEXT]:
            return False
        values = numbers_of(*cells, way)
        bounds = {"time": (0.0, 24.0)} | dict.fromkeys(DATES, _DAYS)
        unseen = ""
        if way in bounds:
            coarse = bounds[way]
        else:
            if way != "number":
                share = replace(second, mu=second.mu * math.sqrt(FIRST_ROUND) * FAR_DOWN)
                second = replace(second, mu=second.mu * math.sqrt(1 - FIRST_ROUND) * FAR_DOWN)
                said = [number_written(cell, way) for cell in cells[1]]
                found = (cells[0], [x if x == x else None for x in said])
                noisy_sizes, used, sure = self._kinds(f"sizes of {what}", share, found, session)
            else:
                noisy_sizes = noisy
            if len(used) < least:
                return True
            coarse, unseen = _coarse(noisy_sizes, used, sure / plan.seen, look.n)
            unseen = "; ".join(filter(None, (unseen, _perhaps_noise(noisy_sizes, used, sure))))
        low, high, narrow = _bounds(second, coarse, values[~np.isnan(values)], read, what, session)
        if way not in bounds and {*used.tolist()} <= {ZERO, ONE_TO_TWO}:  # perhaps zeros and ones
            low, high = 0.0 if low <= 1 else low, 1.0 if high <= _ABOUT_ONE else high
        if way in DATES:
            low, high = math.floor(low), max(math.ceil(high), math.floor(low) + 1)
        deviation = kinds[2] / plan.seen
        texts = (
            f"about {round(noisy[TEXT]):,} cells are texts and count as gaps"
            + ("" if way == "amount" else ": if its values are categories, declare it as categorical")
            if noisy[TEXT] > max(_TEXTS * deviation, _MANY_TEXTS * look.n)
            else ""
        )
        if said_of := "; ".join(filter(None, (guess, unseen, narrow, texts))):
            self.guesses[name] = said_of
        gaps = noisy[GAP] + max(noisy[TEXT], 0.0)
        impute = gaps > 3 * deviation
        return Numeric(low, high, "impute" if impute else "midpoint", way)  # type: ignore[arg-type]

    def _names(self, name: str, part: LookPart, cells: DistinctCells, session: Session) -> tuple[str, ...]:
        """The values common enough to be seen, the most frequent ones where they are many, in the order of the names."""
        look, (codes, distinct) = self.plan.look, cells
        names = [text(cell) for cell in distinct]
        times = np.bincount(codes[codes >= 0], minlength=len(distinct)).tolist()
        mechanism = StabilityHistogram(
            noise_multiplier=multiplier(part), delta=part.delta, adjacency=look.adjacency
        )
        can_be = is_class if name == self.plan.label else is_name
        counts = {one: count for one, count in zip(names, times) if can_be(one)}
        seen = session.release(f"values of {part.name}", mechanism, counts)
        most = sorted(seen, key=lambda one: (-seen[one], one))[:MOST_NAMES]
        if most:
            self.named[name] = float(sum(seen[one] for one in most))
        return tuple(sorted(most))


def _stand_out_together(
    noisy: Floats, used: NDArray[np.int64], deviation: float, least: float
) -> NDArray[np.int64]:
    """Neighbouring bins of numbers whose noisy counts stand out together, where hardly one does alone: those that stand out most, by at least
    so many deviations; none where no sum does. Counts of zero and of bins in use are left out of the sums."""
    others = noisy[:TEXT].copy()
    others[[ZERO, *used]] = 0.0
    found = np.zeros(0, dtype=np.int64)
    for width in _TOGETHER:
        sums = np.convolve(others, np.ones(width), "valid") / (deviation * math.sqrt(width))
        at = int(np.argmax(sums))
        if sums[at] > least:
            least, found = float(sums[at]), np.arange(at, at + width)
    some = found[others[found] > deviation]
    return np.arange(some[0], some[-1] + 1) if len(some) else found


def _coarse(noisy: Floats, used: NDArray[np.int64], noise: float, n: int) -> tuple[tuple[float, float], str]:
    """(the range in which bounds are sought, what a reader has to know about numbers that were not seen), by the noisy counts of the grid alone.

    used: the bins that stood out; noise: standard deviation of a count. Where clearly more than MOST_BEYOND of the n records are in
    none of them, the range takes in the next power of two at both ends that are not zero, and more while their counts are above one deviation,
    and zero where its count is above two.
    """
    low, high = int(used[0]), int(used[-1])
    others = [float(count) for count in (noisy[GAP], noisy[TEXT]) if count > _SURELY * noise]
    seen, deviation = float(noisy[used].sum()) + math.fsum(others), noise * math.sqrt(len(used) + len(others))
    range_seen = ends(low)[0], ends(high)[1]
    most = min(n, round(n - seen + _AT_MOST * deviation))
    one = range_seen[0] == range_seen[1]
    what = f"value {range_seen[0]:g}" if one else f"range {range_seen[0]:g} to {range_seen[1]:g}"
    said = (
        f"only the {what} was seen above the noise; up to {most:,} records may lie outside it, where "
        "the bounds are a guess: declare bounds yourself"
    )
    if low == high == ZERO:
        said = (
            f"only the value 0 was seen above the noise. Up to {most:,} records may have another one, so the bounds 0 to 1 are a guess: declare them. "
            'Of a column of codes declare the categories, such as {type: categorical, categories: ["0", "1"]}'
        )
        return range_seen, said
    if n - seen <= MOST_BEYOND * n + _SURELY * deviation:
        return range_seen, said if one or most > _UNSURE * n else ""

    def outward(at: int, step: int) -> int:
        if at == ZERO:  # the next power of two is the smallest of all
            return at
        at += step
        while 0 < at < TEXT - 1 and at != ZERO and noisy[at] > noise:
            at += step
        return min(max(at, 0), TEXT - 1)

    low, high = outward(low, -1), outward(high, 1)
    if noisy[ZERO] > _SURELY * noise:
        low, high = min(low, ZERO), max(high, ZERO)
    return (ends(low)[0], ends(high)[1]), said


def _perhaps_noise(noisy: Floats, used: NDArray[np.int64], sure: float) -> str:
    """What a reader has to know of a range that was hardly seen, far from all others: one draft of a hundred shows one that holds no record."""
    for end, others in ((int(used[0]), used[1:]), (int(used[-1]), used[:-1])):
        far = max(map(abs, ends(end)))
        next_to = max((max(map(abs, ends(int(one)))) for one in others), default=0.0)
        if len(others) and noisy[end] < _HARDLY * sure and far >= _FAR * max(next_to, 1.0):
            low, high = ends(end)
            return (
                f"numbers from {low:g} to {high:g} were hardly seen, far from all others: about one draft of a hundred shows such a range by noise alone. "
                "If no number can be there, declare bounds yourself"
            )
    return ""


def _bounds(
    part: LookPart,
    coarse: tuple[float, float],
    values: NDArray[np.float64],
    read: float,
    what: str,
    session: Session,
) -> tuple[float, float, str]:
    """Private quantiles near both ends of the coarse range, rounded outward, and what a reader has to know of them; an end at zero is
    kept and costs nothing. read: about how many numbers there are.

    Where they are few grid points apart, as years are in 1024..2048, once more between them, or around the point on which
    both fall. Those of numbers of one size lie further inside, and are moved outward again (`_moved_outward`).
    """
    if coarse[1] <= coarse[0]:  # zeros alone
        return 0.0, 1.0, ""
    one_size = _one_size(coarse)
    most = round((_MOST_OF_ONE_SIZE if one_size else MOST_BEYOND) * read)
    name, mu = f"bound of {what}", part.mu * math.sqrt(1 - AGAIN)
    low, high, aimed = _narrowed(mu, coarse, values, most, name, session)
    step = (coarse[1] - coarse[0]) / (POINTS - 1)
    if high - low < _FEW * step:
        if high <= low:
            low, high = max(low - step, coarse[0]), min(high + step, coarse[1])
        again = part.mu * math.sqrt(AGAIN)
        low, high, aimed = _narrowed(again, (low, high), values, most, f"{name} again", session)
    said = ""
    if one_size:
        low, high = _moved_outward((low, high), coarse, aimed / max(read, 1.0))
        said = _inside_one_size(mu, coarse, aimed, most, read)
    if high - low <= step:
        said = f"{_ONE_VALUE}; {said}" if said else f"{_ONE_VALUE}. Declare the bounds if you know them"
    return *rounded_outward(low, high), said


_ONE_VALUE = "its bounds are this narrow because most records seem to have about one value, and every number outside will be cut to them"


def _one_size(coarse: tuple[float, float]) -> bool:
    """Whether all numbers lie between neighbouring powers of two, as years do. Their bounds can be far narrower than that range."""
    least, largest = sorted(map(abs, coarse))
    return coarse[0] * coarse[1] > 0 and largest <= 2 * least


def _moved_outward(
    found: tuple[float, float], coarse: tuple[float, float], beyond: float
) -> tuple[float, float]:
    """Two quantiles with this part of the numbers beyond each, moved away from their middle to where numbers of a bell curve have
    a fortieth beyond each, inside the coarse range. It follows from what was released."""
    factor = _ENDS / -ndtri(min(max(beyond, 1 - float(ndtr(_ENDS))), _MOST_OF_ONE_SIZE))
    more = (factor - 1) * (found[1] - found[0]) / 2
    return max(found[0] - more, coarse[0]), min(found[1] + more, coarse[1])


def _inside_one_size(mu: float, coarse: tuple[float, float], aimed: int, most: int, read: float) -> str:
    """What a reader has to know of the bounds of numbers of one size: that the spread of numbers beyond the quantiles was not seen, and
    whether a quantile may be anywhere. Nothing where few lie beyond them. mu: of the first pair of quantiles; most: as many records may
    lie beyond one."""
    if aimed <= MOST_BEYOND * read:
        return ""
    release = _end(mu, coarse, +1, 2)
    anywhere = POINTS * math.exp(-release.mechanism.epsilon * most / 2) > _SELDOM
    far = f", and noise may put either anywhere from {coarse[0]:g} to {coarse[1]:g}" if anywhere else ""
    return (
        f"its bounds are an estimate, and may be too narrow or too wide. They were moved outward, as for a bell curve, from noisy quantiles "
        f"that are aimed at {aimed:,} records ({100 * aimed / read:.0f} %) beyond each{far}. Declare the bounds if you know them, as of years, or "
        "draft fewer columns"
    )


def _end(mu: float, coarse: tuple[float, float], sign: int, ends: int) -> QuantileRelease:
    """The choice of one bound of so many, mu-GDP together; of the upper one for a sign above 0."""
    near, far = sorted(sign * end for end in coarse)
    return QuantileRelease.of_gdp(mu / math.sqrt(ends) * FAR_DOWN, Grid(near, far, POINTS))


def _narrowed(
    mu: float,
    coarse: tuple[float, float],
    values: NDArray[np.float64],
    most: int,
    name: str,
    session: Session,
) -> tuple[float, float, int]:
    """A private quantile near each end of the range that is not zero, mu-GDP together, and beyond how many records each is aimed."""
    open_ends = [sign for sign, end in zip((-1, 1), coarse) if end != 0]
    found, above = dict(zip((-1, 1), coarse)), most
    for sign in open_ends:
        release = _end(mu, coarse, sign, len(open_ends))
        beyond = _BEYOND_ONE_SIZE if _one_size(coarse) else BEYOND
        above = min(most, round(beyond * 2 / release.mechanism.epsilon))
        chosen = release.release(sign * values, name=name, above=above, session=session)
        found[sign] = sign * min(chosen + release.grid.step, release.grid.upper)
    return min(found[-1], found[1]), max(found[-1], found[1]), above


def rounded_outward(low: float, high: float) -> tuple[float, float]:
    """Bounds as a person would write them: two digits of the distance between them, rounded away from it.

    >>> rounded_outward(17.2, 88.9), rounded_outward(0.0, 9381.0), rounded_outward(0.41, 0.41)
    ((17.0, 89.0), (0.0, 9400.0), (0.41, 0.42))
    """
    width = high - low if high > low else max(abs(high), 1.0) / 10
    digits = 1 - math.floor(math.log10(max(width, LEAST)))
    step = 10.0**-digits
    down, above = math.floor(low / step), math.ceil(high / step)
    above = max(above, down + 1)
    bounds = [float(f"{k}e{-digits}") for k in (down, above)]
    return max(bounds[0], -LARGEST), min(bounds[1], LARGEST)


def is_name(name: str) -> bool:
    """Whether a cell can be a category at all: a rule for each cell by itself."""
    return name not in (OTHER, MISSING) and is_class(name)


def is_class(name: str) -> bool:
    """Whether a cell of the label can be a class: a rule for each cell by itself."""
    if len(name) > LONGEST_NAME or name.lower() in SURELY_MISSING:
        return False
    return name.isprintable() and printable(name) == name
