"""What a private draft released: the domain and the schema file that it makes, and what a reader has to know of it."""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from prepriv._text import printable
from prepriv.adjacency import n_is_public, rows_changed
from prepriv.columns import Categorical, Column, Numeric, Text, middle_in_words
from prepriv.description.cells_in_words import read_of_units
from prepriv.description.draft_needs import as_often_as_not
from prepriv.description.draft_plan import NUMERIC, DraftPlan
from prepriv.description.look import multiplier
from prepriv.domain import Domain, drafted_content
from prepriv.drafted import CHARGE, Drafted
from prepriv.guarantees.printed import epsilon_at
from prepriv.runs.booked import draft_note
from prepriv.runs.charge import note_hash
from prepriv.schemas.declared_file import written_yaml
from prepriv.schemas.first_schema import MOST_CLASSES
from prepriv.tables.written import DATES, spelled

WRITTEN = frozenset(("draft", "label", "adjacency", "rows", "unit", "rows_per_unit", "columns", "drafted"))
"""The keys that a draft writes into its schema file (`PrivateDraft.text`), and no others."""
_FILLED = 10  # columns without gaps that are named
_HOW_COMPLETED = (
    "Write down what you know yourself, such as all classes:, which is free. Then delete the line draft: true"
)
_BOUNDS_OF_LABEL = (
    "Declare its bounds as you know them without looking at the table, which is free: --target LOW,HIGH (in Python target=prepriv.Numeric(low, high)). "
    'Or let --target numeric (target="numeric") spend more of ε on its range. For a classification, declare --classes (classes=)'
)


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
        lines += read_of_units(self.plan.unit)
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
            noise = (
                3 * multiplier(part) * math.sqrt(rows_changed(look.adjacency) * listed)
            )  # of many columns none by noise alone
            if n_is_public(look.adjacency) and look.n - count > max(0.01 * look.n, noise):
                lines.append(
                    f"LEFT OUT of {name!r}: the {'classes' if name == label else 'categories'} of about "
                    f"{round(100 * (1 - count / look.n))} % of the {look.n:,} declared, which are rarer, {'' if name == label else 'say `other` (it needs no category), '}or are gaps: cells that are empty or say NA, null, ? or missing"
                    + (f"; is --rows the number of {self.plan.unit!r}?" if self.plan.unit is not None else "")
                )
            least = (self.plan.needs.a_class if name == label else self.plan.needs.a_category) or 0
            unlisted.setdefault((least, as_often_as_not(look, part.name)), []).append(repr(name))
        lines += [
            f"NOT LISTED: rare values of {', '.join(names)}. A value of about {least:,} {self.plan.whose} is listed 95 times in 100, one of about "
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
