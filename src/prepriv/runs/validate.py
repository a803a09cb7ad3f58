"""What a table and a plan have to say to each other before a run, for the curator: exact, so private."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from prepriv._arguments import shown
from prepriv.adjacency import n_is_public
from prepriv.columns import Numeric
from prepriv.domain import Domain
from prepriv.guarantees.printed import separated
from prepriv.mechanisms.session import ExactSession
from prepriv.placed.checks import check_domain
from prepriv.plans.plan import Plan
from prepriv.runs.premises import check_premises
from prepriv.tables.encoding import count_rows, encode, encode_targets
from prepriv.tables.inspect import CROWDED, FAULTS, Counted, counted_columns, counted_labels
from prepriv.tables.readers import spelled_alike
from prepriv.tables.units import counted_units

_SPELLINGS = 3  # that are not declared: so many are named
_OUT = FAULTS.index("out of bounds")
_MOST = 0.5  # of the numbers of a column, outside its bounds: more are asked about
_MANY = 0.2  # of the labels that are numbers, outside their bounds: so many are asked about
NOT_PRIVATE = "for the curator only: these counts are not private"


@dataclass(frozen=True)
class Validation:
    """What `validate` found. None of it may be published, because it is exact about private rows.

    Parameters
    ----------
    rows : int
        Number of rows of the table.
    declared : int or None
        The declared number of records or units. None if the domain declares none.
    columns : tuple of Counted
        Each declared column, with the number of its faulty cells.
    labels : Counted or None
        The same for the labels. None if none were given.
    conditions : tuple of (str, str, bool), optional
        (step, sentence, whether it holds) for each condition of the plan. None without a plan, or with one for
        another number of rows.
    units : (int, int, int), optional
        For a domain with units: the number of units, of rows without an id, and of rows beyond those that are read.
    checked : bool, optional
        Whether a run compares its table with the declared number, as it does under replace-one.

    Examples
    --------
    >>> import prepriv
    >>> domain = prepriv.Domain.box(0, 1, features=1, classes=[0, 1])
    >>> print(prepriv.validate(domain, [[0.5], [3.0]]))
    for the curator only: these counts are not private
    records: 2
    column  declared  found    missing  no number  out of bounds  unknown
    x0      0 to 1    float64  0        0          1              0
    """

    rows: int
    declared: int | None
    columns: tuple[Counted, ...]
    labels: Counted | None
    conditions: tuple[tuple[str, str, bool], ...] | None = None
    units: tuple[int, int, int] | None = None
    checked: bool = False

    @property
    def clean(self) -> bool:
        """Whether the declared rules change no cell, all rows are there and every condition holds."""
        faults = [count for column in self.all for count in column.faults]
        held = all(holds for _, _, holds in self.conditions or ())
        there, *left_out = (self.rows, 0) if self.units is None else self.units
        return not any(faults) and held and not any(left_out) and there == (self.declared or there)

    @property
    def counted(self) -> str:
        """How many records there are, or units, in words."""
        declared = f" (declared: {self.declared:,})" if self.declared else ""
        if self.units is None:
            return f"records: {self.rows:,}{declared}"
        units, nobody, beyond = self.units
        return (
            f"rows: {self.rows:,}; units: {units:,}{declared}; rows left out: {nobody:,} without an id, {beyond:,} beyond those that "
            "are read of a unit"
        )

    @property
    def other_number(self) -> tuple[str, ...]:
        """That the number ends a run, because it is not the declared one: a sentence. Of units, too many alone are found."""
        if not self.checked or self.declared is None:
            return ()
        if self.units is not None:
            if self.units[0] <= self.declared:
                return ()
            return (
                f"A run would be charged and then fail: the table has {self.units[0]:,} units, and only {self.declared:,} are declared",
            )
        if self.rows == self.declared:
            return ()
        return (
            f"A run would fail, on a CSV file or a query after it is charged: the table has {self.rows:,} records and {self.declared:,} are declared, "
            "and under replace-one both have to be the same number",
        )

    @property
    def fewer_units(self) -> tuple[str, ...]:
        """What follows where fewer units are there than are declared, which no run finds: a sentence."""
        if not self.checked or self.declared is None or self.units is None or self.units[0] >= self.declared:
            return ()
        return (
            f"WARNING: the table has {self.units[0]:,} units, and {self.declared:,} are declared. No run finds that. The guarantee holds, but what is learned and measured is scaled as of "
            f"{self.declared:,} units, so model and score are wrong. Declare the number of units that is public",
        )

    @property
    def all(self) -> tuple[Counted, ...]:
        """The columns, and the labels if there are any."""
        return (*self.columns, *([self.labels] if self.labels else []))

    @property
    def lines(self) -> list[tuple[str, ...]]:
        """(column, declared, found, and the count of each of FAULTS), as texts, without any value of a record."""
        return [(c.name, c.declared, c.found, *map(str, c.faults)) for c in self.all]

    @property
    def filled(self) -> tuple[str, ...]:
        """What the empty cells of each column become where no step fills them: sentences."""
        return tuple(
            f"{cells:,} cell{'s' if cells > 1 else ''} of {c.name!r} without a number become{'' if cells > 1 else 's'} {c.becomes}, "
            "the middle of its bounds. `missing: impute` (in Python Numeric(low, high, missing='impute')) fills them by a private mean: write it "
            "if you knew of gaps without this count. An imputer in a pipeline of prepriv.private fills them itself: give plan= to see that"
            for c in self.columns
            if c.becomes and (cells := c.faults[0] + c.faults[1]) and not self._all_texts(c)
        )

    @property
    def no_numbers(self) -> tuple[str, ...]:
        """Which columns are declared numeric and hold no number, or none within their bounds, or few: sentences."""
        return (
            tuple(
                f"NOT ONE cell of {c.name!r} is a number as it is declared. Is the column a category, or are its numbers or dates written in another way "
                "(`written:`, in Python Numeric(low, high, written=...))? As declared, a model learns nothing from it"
                for c in self.columns
                if self._all_texts(c)
            )
            + tuple(
                f"NOT ONE cell of {c.name!r} lies within its declared bounds ({c.declared}): each counts as the nearer bound, so next to nothing is left of "
                "the column. Is it in the unit of the bounds?"
                for c in self.columns
                if self._all_beyond(c)
            )
            + tuple(
                f"WARNING: {c.faults[_OUT]:,} cells of {c.name!r} lie outside its declared bounds ({c.declared}), of {self._numbers(c):,} that are numbers. Each counts as the nearer bound, so little is "
                "left of the column. Is it in the unit of the bounds?"
                for c in self.columns
                if c.faults[_OUT] > _MOST * self._numbers(c) and not self._all_beyond(c)
            )
        )

    def _numbers(self, column: Counted) -> int:
        """How many cells of a numeric column are numbers."""
        return self.rows - sum(column.faults[:2])

    @property
    def crowded(self) -> tuple[str, ...]:
        """Which numbers leave nearly all of their declared bounds empty: sentences without a value of a record."""
        return tuple(
            f"{'Nearly all labels' if c is self.labels else f'Nearly all cells of {c.name!r}'} lie within less than 1/{CROWDED} of the declared bounds "
            f"({c.declared}). Noise is drawn for all of the bounds, so a model may learn little{'' if c is self.labels else ' from the column'}. Are the numbers in the unit of the bounds? "
            + (
                "If they are, tighter bounds that you know without the table help"
                if c is self.labels
                else "If they are, tighter bounds that you know without the table help, and so does a step that spreads small numbers out, such as log1p in a pipeline"
            )
            for c in self.all
            if c.crowded
        )

    def _all_texts(self, column: Counted) -> bool:
        """Whether a column that is declared numeric holds texts, and not one number."""
        missing, unread, _, _ = column.faults
        return unread > 0 and missing + unread == self.rows

    @property
    def gap_words(self) -> tuple[str, ...]:
        """Which words are read as gaps where a category or class may be meant: sentences."""
        return tuple(
            f"{count:,} cell{'s' if count > 1 else ''} of {c.name!r} say{'' if count > 1 else 's'} {word!r}, which is read as missing. If it "
            f"is {'a class' if c is self.labels else 'a category'}, declare it"
            for c in self.all
            for word, count in c.words
        )

    @property
    def undeclared(self) -> tuple[str, ...]:
        """The commonest spellings that no declaration of their column has, with their counts: sentences that hold values of records. The command prints
        them on the curator's screen; neither its --json nor this object, when it is printed, holds them."""
        return tuple(
            f"{count:,} cell{'s' if count > 1 else ''} of {c.name!r} say{'' if count > 1 else 's'} no declared {'class' if c is self.labels else 'category'} "
            f"and count{'' if count > 1 else 's'} as {'rows without a label' if c is self.labels else 'other'}"
            f"{', most often' if len(c.unmatched) > _SPELLINGS else ':'} {', '.join(f'{shown(said)} ({n:,})' for said, n in c.unmatched[:_SPELLINGS])}"
            for c in self.all
            if (count := c.faults[FAULTS.index("unknown")])
        )

    @property
    def label_words(self) -> tuple[str, ...]:
        """What becomes of rows without a label: sentences."""
        if self.labels is None:
            return ()
        if self.labels.counts and not any(count for _, count in self.labels.counts):
            return (
                f"NOT ONE label is a declared class (found: {self.labels.found}): a model would be trained on noise alone",
            )
        missing, unread, _, unknown = self.labels.faults
        without = missing + unread + unknown
        if without and not self.labels.counts and without == self.rows:
            return ("NOT ONE label is a number as declared: a model would be trained on noise alone",)
        if self._all_beyond(self.labels):
            return (
                f"NOT ONE label lies within the declared bounds ({self.labels.declared}): each counts as the nearer bound, so a model would learn nothing "
                "else. Are the labels in the unit of the bounds?",
                *self._without_label(without),
            )
        told = tuple(
            f"no label is {name!r}, which is a declared class, and {unknown:,} label{'s are' if unknown > 1 else ' is'} not declared: compare how they are written"
            for name, count in self.labels.counts
            if not count and unknown
        )
        told += tuple(
            f"{count:,} label{'s differ' if count > 1 else ' differs'} from {name!r} in capitals, spaces or punctuation alone: write them alike, because "
            "otherwise they count as rows without a label"
            for name, count in self._spelled_otherwise
        )
        told += self._many_beyond()
        return told + self._without_label(without, left_out=unknown > 0)

    def _many_beyond(self) -> tuple[str, ...]:
        """That many numeric labels lie outside the declared bounds: a sentence."""
        assert self.labels is not None
        outside, numbers = self.labels.faults[_OUT], self._numbers(self.labels)
        if not outside or outside < _MANY * numbers:
            return ()
        return (
            f"WARNING: {outside:,} labels lie outside the declared bounds ({self.labels.declared}), of {numbers:,} that are numbers. Each counts as the nearer "
            "bound. So a model learns the cut labels, and predictions and scores are about those. Are the labels in the unit of the bounds?",
        )

    @staticmethod
    def _without_label(rows: int, left_out: bool = False) -> tuple[str, ...]:
        """What becomes of so many rows without a label: a sentence. left_out: whether some say what no declared class is."""
        if not rows:
            return ()
        return (
            f"{rows:,} row{'s have' if rows > 1 else ' has'} no declared label.{' If a class was left out, declare it.' if left_out else ''} Keep such rows in the file, and count them in the number of "
            "rows: training learns nothing from them, and scores are about the other rows",
        )

    def _all_beyond(self, column: Counted) -> bool:
        """Whether there are numbers, and not one lies within the declared bounds: as where percent were declared as shares."""
        return column.faults[_OUT] > 0 and sum(column.faults) == self.rows

    @property
    def _spelled_otherwise(self) -> tuple[tuple[str, int], ...]:
        """(a declared class, how many of the most frequent labels that are not declared differ from it in spelling alone), of those that have some."""
        if self.labels is None:
            return ()
        names, found = [str(name) for name, _ in self.labels.counts], dict[str, int]()
        for text, count in self.labels.unmatched:
            if (name := spelled_alike(text, names)) is not None:
                found[name] = found.get(name, 0) + count
        return tuple(found.items())

    @property
    def misspelled(self) -> bool:
        """Whether not one label is as declared, or labels are not declared and a declared class has no row: as where names differ
        in capitals; or not one numeric label lies within its bounds. A model of the declared classes would then be trained on noise, or without one of them. Of a few labels it is said alone: one record
        must not decide whether a run takes place."""
        if self.labels is None or not self.rows:
            return False
        missing, unread, _, unknown = self.labels.faults
        if not self.labels.counts:
            return missing + unread == self.rows or self._all_beyond(self.labels)
        counts = [count for _, count in self.labels.counts]
        return not any(counts) or (unknown > 0 and not all(counts))

    def __str__(self) -> str:
        table = [("column", "declared", "found", *FAULTS), *self.lines]
        widths = [max(map(len, column)) for column in zip(*table)]
        said = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in table]
        said += [*self.no_numbers, *self.crowded, *self.filled, *self.gap_words]
        said += [
            f"{'holds' if good else 'FAILS'}: {separated(what)} ({step})"
            for step, what, good in self.conditions or ()
        ]
        said += [
            f"`columns[{i}].unmatched` holds the commonest spellings in {c.name!r} that are not declared"
            for i, c in enumerate(self.columns)
            if c.faults[FAULTS.index("unknown")]
        ]
        said += self.label_words
        return "\n".join([NOT_PRIVATE, self.counted, *self.other_number, *self.fewer_units, *said])

    __repr__ = __str__


def validate(domain: Domain, X: Any, y: Any = None, *, plan: Plan | None = None) -> Validation:
    """FOR THE CURATOR ONLY: count exactly what the declared rules will change in a table. Never publish the answer.

    Parameters
    ----------
    domain : Domain
        What is declared about the rows.
    X : array or table, (n, columns)
        The rows, as `PrivateClassifier.fit` takes them, in memory.
    y : array, (n,), optional
        Their labels. None: labels are not checked.
    plan : Plan, optional
        The plan whose conditions are checked on these rows, and whose steps fill gaps. None: no conditions are checked, and
        gaps are shown as the domain alone treats them.

    Returns
    -------
    Validation
        Prints as a table of counts. `clean` says whether everything is as declared.

    Raises
    ------
    ValueError
        If X or y does not have the declared form, as in `fit`.

    Notes
    -----
    Training cannot say any of this, because it would reveal records.

    Examples
    --------
    >>> import prepriv
    >>> domain = prepriv.Domain({"age": prepriv.Numeric(17, 90)}, classes=["no", "yes"])
    >>> found = prepriv.validate(domain, [[35], ["40,5"], [None], [120]], ["yes", "no", "No", "yes"])
    >>> dict(zip(("missing", "no number", "out of bounds", "unknown"), found.columns[0].faults))
    {'missing': 1, 'no number': 1, 'out of bounds': 1, 'unknown': 0}
    >>> found.labels.unmatched, found.labels.counts, found.clean
    ((('No', 1),), (('no', 1), ('yes', 2)), False)
    """
    check_domain(domain)
    columns = tuple(_filled_by(plan, column) for column in counted_columns(X, domain))
    n = encode(X, domain).n if y is None else count_rows(X, y, domain)
    labels = None if y is None else counted_labels(y, domain)
    held = None
    if plan is not None and y is not None and plan.n == n:
        rows, targets = encode(X, plan.domain), encode_targets(y, plan.domain)
        held = tuple(
            (step, str(c), good) for step, c, good in check_premises(plan, rows, targets, ExactSession())
        )
    units = None if domain.unit is None else counted_units(X, domain)
    return Validation(n, domain.n, columns, labels, held, units, n_is_public(domain.adjacency))


def _filled_by(plan: Plan | None, column: Counted) -> Counted:
    """The same column, without the middle of its bounds where the plan keeps its gaps for a step."""
    kept = None if plan is None else plan.domain.columns.get(column.name)
    return replace(column, becomes="") if isinstance(kept, Numeric) and kept.missing == "impute" else column
