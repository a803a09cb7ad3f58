"""A schema that nobody declared, drafted privately: kinds, bounds, categories and classes by noisy counts.

Two rounds a column. First one histogram over the fixed grid of `magnitudes`: it tells numbers from texts, says how numbers are
written, and gives a coarse range. Then, for numbers, private quantiles inside that range, rounded outward to two digits; for texts, and
for the label, a stability histogram. Whatever was not seen is left out. A label whose values are too many, or each too rare, and numbers
is a target. Proof: docs/proofs/stability_histogram.md.

The names of the columns, in the header line, and their number are taken as public.
"""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from prepriv._arrays import Floats
from prepriv._callers import callers_level
from prepriv._rounding import FAR_DOWN
from prepriv._text import printable
from prepriv.adjacency import Adjacency, n_is_public, rows_changed
from prepriv.columns import Categorical, Column, Numeric
from prepriv.description.draft_bounds import bounds_between, coarse_range, perhaps_noise, stand_out_together
from prepriv.description.draft_plan import FIRST_ROUND, MOST_NAMES, DraftPlan, is_class, is_name, plan_draft
from prepriv.description.drafted_schema import PrivateDraft
from prepriv.description.look import LookPart, PrivateFrame, frame_of, multiplier, rows_there
from prepriv.description.magnitudes import BINS, GAP, ONE_TO_TWO, TEXT, ZERO, bins_of, way_written
from prepriv.domain import Domain
from prepriv.mechanisms.histogram import private_histogram
from prepriv.mechanisms.session import Metered, Session
from prepriv.mechanisms.stability_histogram import StabilityHistogram
from prepriv.runs.admit import admit
from prepriv.schemas.first_schema import MOST_CLASSES
from prepriv.tables.cell import Cell, cell_of, text
from prepriv.tables.column import DistinctCells, cells, numbers_of
from prepriv.tables.stream import as_stream
from prepriv.tables.units import one_row_each
from prepriv.tables.written import DATES, number_written

_TEXTS, _MANY_TEXTS = (
    4.0,
    0.02,
)  # deviations of noise, and the part of the records: texts in a column of numbers are named
_MOSTLY_NAMED = (
    0.75  # of the numbers of a label: classes that are numbers and fewer records have are values of a target
)
_ABOUT_ONE = 1.25  # an upper bound up to here, where zeros and numbers from 1 to 2 alone were seen: 1, and the error of a quantile
_DAYS = (-25_567.0, 47_482.0)  # 1900 and 2100: the range in which dates are sought
_TO_LOOK_AT = ("LEFT OUT", "NO GAPS", "THE LABEL", "LOOK AT")  # how lines begin that ask for a decision


class DraftWarning(UserWarning):
    """What a private draft left out or guessed. It follows from what the draft released."""


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
            used = np.union1d(used, stand_out_together(noisy, used, deviation, plan.seen_together))
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
        unseen = perhaps = ""
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
            coarse, unseen = coarse_range(noisy_sizes, used, sure / plan.seen, look.n)
            perhaps = perhaps_noise(noisy_sizes, used, sure)
        values = values[~np.isnan(values)]
        low, high, narrow = bounds_between(second, coarse, values, read, what, session, bool(perhaps), way)
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
        if said_of := "; ".join(filter(None, (guess, unseen, perhaps, narrow, texts))):
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
