"""A table described privately: gaps, mean, deviation, quantiles, histogram, counts of categories, correlations on request.

Budget: the square of mu in equal parts to the columns (the label is one), to the number of rows where it is private, and to the correlations
where they are asked for. Of a numeric column's part a quarter pays for gaps, mean and deviation, a quarter for the histogram, and
half, in equal parts, for the quantiles. Proof: docs/proofs/describe.md.
"""

from __future__ import annotations

import math
import os
import warnings
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prepriv._arguments import integer, numbers, truth
from prepriv._arrays import Floats
from prepriv._callers import callers_level
from prepriv._rounding import FAR_DOWN
from prepriv._text import printable
from prepriv.adjacency import n_is_public, rows_changed
from prepriv.columns import MISSING, OTHER, Categorical, Numeric, Text
from prepriv.description.answers import Asker
from prepriv.description.ask import unread_table
from prepriv.description.asked import AskedPlan
from prepriv.description.cells_in_words import cut_lines, filled_in_words, gaps_and_others, read_of_units
from prepriv.description.estimates import (
    PRESENT,
    SHIFT,
    SQUARE,
    SURE,
    Estimate,
    Moments,
    bin_edges,
    bin_numbers,
    mean_half,
    moment_rows,
    quantile_half,
    quantile_interval,
)
from prepriv.description.grouped import (
    GroupDifference,
    GroupSummary,
    group_differences,
    of_all,
    of_groups,
    plan_groups,
    wide_groups,
)
from prepriv.description.look import Look, LookPart, PrivateFrame, multiplier, price, rows_there
from prepriv.description.summaries import CategoricalSummary, NumericSummary, count_estimate
from prepriv.description.wide import said_if_wide
from prepriv.domain import Domain
from prepriv.guarantees.drafts import check_drafts, with_drafts
from prepriv.guarantees.guarantee import Guarantee
from prepriv.mechanisms.histogram import private_histogram
from prepriv.mechanisms.mean import gaussian_sum
from prepriv.mechanisms.quantile import Grid, QuantileRelease, rank_above
from prepriv.mechanisms.session import Session
from prepriv.placed.checks import check_domain
from prepriv.plans.enough import WIDE_HALF
from prepriv.release.summary import promised
from prepriv.runs.admit import admit
from prepriv.tables.encoding import Table, encode, encode_labels, with_source
from prepriv.tables.units import by_unit
from prepriv.tables.written import span_of

QUANTILES = (0.25, 0.5, 0.75)
_BINS = 20
POINTS = 4097  # of the grid on which a quantile is chosen
_BLOCK = 2**16
_MOST_PAIRS = 2000  # of columns whose correlations are asked for
_NARROW = 50  # thousandths of the width of a column: few deviate by less
_NEARLY_ALL = 1.9  # of the range of a correlation, -1 to 1: an interval so wide says nothing


@dataclass(frozen=True)
class DescribePlan:
    """What a description will release, priced: `look`; of which domain, with n; which quantiles, how many bins.

    as_drafted: `Domain.as_drafted` of the domain that was given. groups: the questions that are asked, where each group is described by itself.
    """

    domain: Domain
    look: Look
    quantiles: tuple[float, ...]
    bins: int
    correlations: bool
    as_drafted: bool | None
    groups: AskedPlan | None = None

    @property
    def by(self) -> str | None:
        """The column whose groups are described one by one."""
        return None if self.groups is None else self.groups.questions[0].by

    @property
    def cut(self) -> list[tuple[str, str]]:
        """(columns, how numbers beyond their bounds count)."""
        return cut_lines(self.domain.columns)

    @property
    def read(self) -> list[str]:
        """Which rows of a unit are read."""
        return read_of_units(self.domain.protected)

    @property
    def notes(self) -> list[str]:
        """Which rows of a unit are read, what becomes of gaps, and of values that are not listed."""
        out = self.read + gaps_and_others(self.domain.columns.values())
        filled = ["Correlations: a gap counts as the middle of its bounds."]
        return out + (filled if self.correlations else [])

    @property
    def numeric(self) -> list[str]:
        """The names of the numeric columns."""
        return [name for name, column in self.domain.columns.items() if isinstance(column, Numeric)]


@dataclass(frozen=True)
class Description:
    """What was released about a table, and what follows from it.

    Parameters
    ----------
    plan : DescribePlan
        What was asked, and its price.
    rows : Estimate
        The number of rows; exact where n is public. With units their number, as one row of each is read.
    columns : dict of str to NumericSummary or CategoricalSummary
        The summary of each declared column and of the label, by name.
    correlations : dict of (str, str) to Estimate
        The correlation of each pair of numeric columns, with gaps filled by the middle of the bounds. Empty if none
        were asked for.
    receipt : mapping, optional
        The receipt of the charge in a ledger. None: no ledger was charged.
    groups : dict of str to GroupSummary
        With `by`, what was released about each group: its `rows` and `columns`. The `columns` of the description are
        then sums over the groups, without quantiles.

    Examples
    --------
    >>> import pandas as pd
    >>> from prepriv import Domain, Numeric, describe
    >>> domain = Domain({"age": Numeric(0, 100)}, classes=["a", "b"])
    >>> found = describe(pd.DataFrame({"age": [40] * 1000}), domain, epsilon=1.0)
    >>> list(found.columns), found.rows.value, found.guarantee_.epsilon(1e-6) <= 1.0
    (['age'], 1000.0, True)
    """

    plan: DescribePlan
    rows: Estimate
    columns: dict[str, NumericSummary | CategoricalSummary]
    correlations: dict[tuple[str, str], Estimate]
    receipt: Mapping[str, Any] | None = None
    groups: dict[str, GroupSummary] = field(default_factory=dict)

    @property
    def differences(self) -> tuple[GroupDifference, ...]:
        """The differences between groups, for each number that both groups have."""
        return group_differences(self.groups)

    @property
    def promised(self) -> list[str]:
        """What its claim promises, what adds to it, and where columns and bounds come from: sentences."""
        look, domain = self.plan.look, self.plan.domain
        return promised(
            look.guarantee,
            domain,
            self.receipt,
            "this description",
            n=look.n,
            delta=look.delta,
            as_drafted=self.plan.as_drafted,
        )

    @property
    def gaps_filled(self) -> list[str]:
        """What its correlations are about where many cells are gaps: sentences, by the released shares of gaps."""
        numeric = {name: s.missing for name, s in self.columns.items() if isinstance(s, NumericSummary)}
        return filled_in_words(numeric) if self.correlations else []

    @property
    def guarantee_(self) -> Guarantee:
        """What is claimed for this description, together with the private drafts of its domain if there are any."""
        look = self.plan.look
        return with_drafts(look.guarantee, self.plan.domain, look.delta, look.n)

    def __str__(self) -> str:
        from prepriv.description.description_page import lines_of

        return "\n".join(map(printable, lines_of(self)))

    __repr__ = __str__


def plan_description(
    domain: Domain,
    *,
    epsilon: float,
    delta: float = 1e-6,
    n: int | None = None,
    quantiles: Sequence[float] = QUANTILES,
    bins: int = _BINS,
    correlations: bool = False,
    by: str | None = None,
) -> DescribePlan:
    """Price a description of a table of this domain. No row is read. ValueError for what cannot be planned."""
    check_domain(domain)
    if domain.is_ball:
        raise ValueError("domain: a ball has no columns to describe; declare them")
    as_drafted = domain.as_drafted
    if domain.target is not None and domain.label is not None:  # one more numeric column
        domain = replace(domain, columns={**domain.columns, domain.label: domain.target.plain}, label=None)
    if any(isinstance(column, Text) for column in domain.columns.values()):
        raise ValueError("domain: a text has no description; declare the other columns alone")
    n = domain.n if n is None else n
    if n is None:
        raise ValueError("n, the number of records, must be declared")
    check_drafts(domain, delta)
    levels = tuple(dict.fromkeys(numbers("quantiles", list(quantiles), above=0.0, below=1.0).tolist()))
    bins, correlations = integer("bins", bins, at_most=1000), truth("correlations", correlations)
    if by is not None:
        if correlations:
            raise ValueError("correlations are those of all rows: ask for them without by")
        told = plan_groups(domain, by, n=n, epsilon=epsilon, delta=delta, levels=levels, bins=bins)
        return DescribePlan(domain.with_n(integer("n", n)), told.look, levels, bins, False, as_drafted, told)
    weights: dict[str, float] = {}
    numeric = 0
    for i, column in enumerate(domain.columns.values()):
        if not isinstance(column, Numeric):
            weights[f"counts {i}"] = 1.0
            continue
        numeric += 1
        share = 0.25 if levels else 0.5
        weights |= {f"moments {i}": share, f"histogram {i}": share}
        weights |= {f"quantile {i} {q!r}": 0.5 / len(levels) for q in levels}
    if domain.label is not None:
        weights["label"] = 1.0
    if not n_is_public(domain.adjacency):
        weights["rows"] = 1.0
    if correlations:
        pairs = numeric * (numeric - 1) // 2
        if not 1 <= pairs <= _MOST_PAIRS:
            raise ValueError(f"correlations need 2 to 63 numeric columns; the domain has {numeric}")
        weights["correlations"] = 1.0
    domain = domain.with_n(integer("n", n))
    look = price(
        "description",
        weights,
        n=integer("n", n),
        adjacency=domain.adjacency,
        epsilon=epsilon,
        delta=delta,
        declared=[domain.to_json(), bins],
        unit=domain.unit,
        rows=domain.declared_rows,
    )
    return DescribePlan(domain, look, levels, bins, correlations, as_drafted)


def too_few(plan: DescribePlan) -> str:
    """What has to be said before the charge of a description of so few rows, or nothing: that no mean and no count of all rows stands out
    of its noise, or else that their intervals will be wide. Of groups: those of a group of equal size."""
    look = plan.look
    if plan.groups is not None:
        return wide_groups(plan.groups)
    moments = _moments_noise(plan)
    counts = [
        multiplier(part) * math.sqrt(rows_changed(look.adjacency))
        for part in look.parts
        if part.name == "label" or part.name.startswith("counts")
    ]
    least = min([5 * noise / PRESENT for noise in moments] + [SURE * noise for noise in counts], default=0.0)
    if look.n > least:

        def halves(n: float) -> dict[str, float]:
            rows = Estimate.around(n, 0.0)
            means = [mean_half(n, noise, rows, (PRESENT, SQUARE)) for noise in moments]  # all are alike
            found = {"means": means, "counts": [SURE * noise / n for noise in counts]}
            found["quantiles"] = [_half_of_quantiles(plan, n)] if moments and plan.quantiles else []
            return {what: each[0] for what, each in found.items() if each}

        wide = said_if_wide(
            look.n,
            look.epsilon,
            look.delta,
            halves,
            ["fewer columns"],
            levels={"quantiles": plan.quantiles},
            counted=look.counted,
        )
        return " ".join(filter(None, [_few_correlations(plan), wide]))
    enough = look.epsilon * least / look.n
    return (
        f"{look.n:,} {look.counted} are too few to describe at this epsilon: about {math.ceil(least):,} are needed before anything stands "
        f"out of the noise, or about epsilon = {enough:.2g}, or fewer columns"
    )


def _moments_noise(plan: DescribePlan) -> list[float]:
    """Of the sums of each numeric column."""
    return [SHIFT * multiplier(part) for part in plan.look.parts if part.name.startswith("moments")]


def _half_of_quantiles(plan: DescribePlan, n: float) -> float:
    """Of ranks, in parts of n cells. The quantiles of all columns are alike."""
    look = plan.look
    release, histogram = (
        next(part for part in look.parts if part.name.startswith(kind))
        for kind in ("quantile ", "histogram ")
    )
    sums = Moments((PRESENT * n, 0.0, 0.0), _moments_noise(plan)[0], Estimate.around(n, 0.0))
    return quantile_half(
        n,
        0.5,  # any but an end
        ranks=_choice(release).ranks(0.025),
        unsure=sums.present.error,
        inside=0.0,
        noise=_count_noise(histogram, look),
        bins=plan.bins,
    )


def _few_correlations(plan: DescribePlan) -> str:
    """How far columns must deviate for a correlation, where noise alone leaves one of evenly spread numbers wide; "" without correlations."""
    if not plan.correlations:
        return ""
    n, rows = plan.look.n, Estimate.around(float(plan.look.n), 0.0)

    def spread_by(variance: float) -> Moments:  # around the middle of the bounds: elsewhere noise leaves less
        return Moments((PRESENT * n, 0.0, SQUARE * n * (variance - 0.5)), _moments_noise(plan)[0], rows)

    def found(correlation: float, variance: float) -> Estimate:
        both = spread_by(variance)
        return _correlation(correlation * both.spread.value**2, _product_noise(plan) / n, both, both)

    def given(correlation: float, variance: float) -> bool:
        return not math.isnan(found(correlation, variance).value)

    even = found(0.0, 1 / 3)
    least = bisect_left(range(1000), True, key=lambda thousandths: given(1.0, (thousandths / 500) ** 2))
    if even.error <= WIDE_HALF and least <= _NARROW:
        return ""
    if least > 500:  # of the width: none deviates by more than half of it
        return 'Correlations: "too few to say".'
    if given(0.0, 1 / 3):
        told = f"will be known to about ± {even.error:.2g}"
    else:
        told = "is given only where it is far from 0" if given(1.0, 1 / 3) else "is not given"
    return (
        f"A correlation is as a rule given only where both columns deviate by more than about {least / 10:.2g} in 100 of the distance between their bounds. "
        f"Of evenly spread numbers, which deviate by 29 in 100, it {told}."
    )


def describe(
    table: Any,
    domain: Domain,
    *,
    epsilon: float,
    delta: float = 1e-6,
    ledger: str | os.PathLike[str] | None = None,
    **options: Any,
) -> Description:
    """Describe a private table: gaps, means, deviations, quantiles, histograms, counts, and correlations if asked for.

    Parameters
    ----------
    table : pandas, polars or Arrow table
        With the declared columns, and its label, where the domain names one.
    domain : Domain
        What is declared about it.
    epsilon : float
        What everything that is released costs together: positive and finite.
    delta : float, default 1e-6
        In (0, 1), well below 1 / n.
    ledger : path or URL, optional
        The ledger to charge before a record is read. None: no cap holds.
    **options
        n : the declared number of records or units (default: the domain's; under replace-one the table's). quantiles
        : levels in (0, 1), default (0.25, 0.5, 0.75). bins : how many a histogram has, default 20. correlations :
        default False. by : a declared categorical column, or the label, each group of which is also described by itself. A row is
        in one group only, so counts and sums of groups have no more noise than those of the whole table.

    Returns
    -------
    Description
        With `columns` by name, `rows`, `correlations` and `guarantee_`. Each number has an interval.

    Raises
    ------
    ValueError
        For mistakes, and where the table does not fit. Nothing is charged.

    See Also
    --------
    mean, count, histogram, quantiles : Single questions, each at a separate price.

    Notes
    -----
    Error bars cover the noise alone. They say nothing about how the rows were sampled. Proof:
    docs/proofs/describe.md.

    Examples
    --------
    >>> import pandas as pd
    >>> from prepriv import Domain, Numeric, describe
    >>> table = pd.DataFrame({"age": [20 + i % 60 for i in range(6000)], "y": ["a", "b"] * 3000})
    >>> domain = Domain({"age": Numeric(0, 100)}, classes=["a", "b"], label="y")
    >>> age = describe(table, domain, epsilon=1.0).columns["age"]
    >>> age.mean.low < 49.5 < age.mean.high or abs(age.mean.value - 49.5) < 2
    True
    """
    check_domain(domain)
    domain = with_source(domain, table)
    counted = domain.n_is_public  # n is public, and there to be counted
    if options.get("n") is None and domain.n is None and counted:
        options["n"] = rows_there(table, ledger)
    plan = plan_description(domain, epsilon=epsilon, delta=delta, **options)
    if why := too_few(plan):  # before the charge
        warnings.warn(why, UserWarning, stacklevel=callers_level())
    return describe_in_private(plan, table, ledger=ledger)


def describe_in_private(
    plan: DescribePlan,
    table: Any,
    *,
    ledger: str | os.PathLike[str] | None = None,
    session: Session | None = None,
    reached: Callable[[str], Any] | None = None,
) -> Description:
    """Carry out the plan on a table, or on a file: charged, and counted by the odometer, before a record is read (`prepriv.runs.admit.admit`).

    BadData where the table does not fit.
    """
    if plan.groups is not None:
        told = admit(
            plan.look,
            unread_table(plan.groups, table),
            ledger=ledger,
            session=session,
            drafts=plan.domain.drafts,
            reached=reached,
        )
        made = _in_groups(plan, plan.groups, told.rows, plan.look.session(told.session))
        return replace(made, receipt=told.receipt)
    paid = admit(
        plan.look,
        _unread(plan, table),
        ledger=ledger,
        session=session,
        drafts=plan.domain.drafts,
        reached=reached,
    )
    return replace(_released(plan, *paid.rows, plan.look.session(paid.session)), receipt=paid.receipt)


def release_description(plan: DescribePlan, table: Any, session: Session) -> Description:
    """The same of rows that are made up, which nobody pays for: for audits."""
    if plan.groups is not None:
        return _in_groups(plan, plan.groups, unread_table(plan.groups, table).read(0), session)
    return _released(plan, *_unread(plan, table).read(0), session)


def _in_groups(plan: DescribePlan, asked: AskedPlan, rows: Table, session: Session) -> Description:
    asker = Asker(asked, rows, session)
    asker.release_all()
    return Description(plan, *of_all(asked, asker), {}, groups=of_groups(asked, asker))


def _unread(plan: DescribePlan, table: Any) -> _Described:
    domain = plan.domain
    wanted = [*domain.columns, *(name for name in (domain.label, domain.unit) if name is not None)]
    public = domain.n_is_public
    return _Described(table, tuple(wanted), plan.look.n if public else None, domain.source, plan=plan)


@dataclass(frozen=True, eq=False, kw_only=True)
class _Described(PrivateFrame):
    """The same, read as a plan needs it: gaps stay gaps."""

    plan: DescribePlan

    def read(self, memory: int) -> tuple[Table, NDArray[np.int32]]:
        """(encoded rows, the places of their labels, if the domain names any); of units one row each."""
        frame, domain = super().read(memory), self.plan.domain
        as_gaps = {
            name: replace(c, missing="impute") if isinstance(c, Numeric) else c
            for name, c in domain.columns.items()
        }
        gaps = replace(domain, columns=as_gaps)
        labels = None if domain.label is None else frame[domain.label].to_native()
        if domain.unit is not None:
            return by_unit(frame.to_native(), labels, gaps, self.plan.look.n)
        rows = encode(frame.select(list(domain.columns)).to_native(), gaps)
        return rows, np.zeros(0, np.int32) if labels is None else encode_labels(labels, domain.classes)


def _released(plan: DescribePlan, rows: Table, at: NDArray[np.int32], session: Session) -> Description:
    """What leaves of encoded rows that were admitted. at: the places of their labels."""
    domain, ask = plan.domain, _Asker(plan, session)
    n = ask.rows(rows.n)
    columns: dict[str, NumericSummary | CategoricalSummary] = {}
    moments: dict[str, Moments] = {}
    for i, (name, column) in enumerate(domain.columns.items()):
        cells = rows.columns[i]
        if isinstance(column, Numeric):
            moments[name] = ask.moments(i, cells, n)
            columns[name] = ask.numeric(i, column, cells, moments[name])
        elif isinstance(column, Categorical):
            names = [*map(str, column.categories), OTHER, MISSING]
            columns[name] = CategoricalSummary(ask.counts(f"counts {i}", cells, names))
    if domain.label is not None:
        names = [*map(str, domain.classes), "no declared class"]
        shown = np.where(at < 0, len(domain.classes), at)
        columns[domain.label] = CategoricalSummary(ask.counts("label", shown, names))
    pairs = ask.correlations(rows, moments, n.value) if plan.correlations else {}
    return Description(plan, n, columns, pairs)


@dataclass(frozen=True)
class _Asker:
    """Asks for the releases of a plan, each with the noise that its part pays for."""

    plan: DescribePlan
    session: Session

    def _counts(self, part: str, indices: Any, bins: int) -> tuple[Floats, float]:
        """Noisy counts, and the standard deviation of their noise."""
        look = self.plan.look
        z = multiplier(look[part])
        noisy = private_histogram(
            np.asarray(indices),
            name=part,
            bins=bins,
            n=look.n,
            adjacency=look.adjacency,
            noise_multiplier=z,
            session=self.session,
        )
        return noisy, _count_noise(look[part], look)

    @property
    def _most(self) -> float:
        """That a count can be."""
        return float(self.plan.look.n) if n_is_public(self.plan.look.adjacency) else math.inf

    def rows(self, n: int) -> Estimate:
        if n_is_public(self.plan.look.adjacency):
            return Estimate.around(float(self.plan.look.n), 0.0)
        noisy, noise = self._counts("rows", np.zeros(n, dtype=np.int64), 1)
        return count_estimate(noisy[0], noise)

    def counts(self, part: str, indices: Any, names: Sequence[str]) -> dict[str, Estimate]:
        noisy, noise = self._counts(part, indices, len(names))
        return {name: count_estimate(c, noise, self._most) for name, c in zip(names, noisy)}

    def moments(self, i: int, unit: Floats, n: Estimate) -> Moments:
        z = multiplier(self.plan.look[f"moments {i}"])
        u = 2 * unit - 1
        total = gaussian_sum(
            (moment_rows(u[start : start + _BLOCK]) for start in range(0, len(u), _BLOCK)),
            name=f"moments {i}",
            dim=3,
            radius=SHIFT,
            shift=SHIFT,
            moved=0,
            n=self.plan.look.n,
            noise_multiplier=z,
            session=self.session,
        )
        a, b, c = total.tolist()
        return Moments((a, b, c), SHIFT * z, n)

    def numeric(self, i: int, column: Numeric, unit: Floats, moments: Moments) -> NumericSummary:
        plan, width = self.plan, column.high - column.low
        there = unit[~np.isnan(unit)]
        noisy, noise = self._counts(f"histogram {i}", bin_numbers(there, plan.bins), plan.bins)
        counts = tuple(count_estimate(c, noise, self._most) for c in noisy)
        edges = np.linspace(0.0, 1.0, plan.bins + 1)
        present = moments.present.value
        chosen: dict[float, float] = {}
        asked: dict[float, tuple[float, float]] = {}
        for q in plan.quantiles:
            release = _choice(plan.look[f"quantile {i} {q!r}"])
            above = rank_above(q, max(round(present), 1))
            chosen[q] = release.release(there, name=f"quantile {i}", above=above, session=self.session)
            asked[q] = present - above, release.ranks(0.025) + moments.present.error
        ordered = dict(zip(sorted(chosen), sorted(chosen.values())))  # true quantiles rise with their levels
        found = {
            q: self._scaled(quantile_interval(ordered[q], below, off, noisy, noise, edges), column)
            for q, (below, off) in asked.items()
        }
        middle = (column.low + column.high) / 2
        mean, spread = moments.mean, moments.spread
        return NumericSummary(
            moments.missing,
            Estimate(*(middle + width / 2 * x for x in (mean.value, mean.low, mean.high)))
            .within(column.low, column.high)
            .read_as(column.written),
            Estimate(*(width / 2 * x for x in (spread.value, spread.low, spread.high))).read_as(
                span_of(column.written)
            ),
            found,
            bin_edges(column.low, column.high, plan.bins),
            counts,
            column.written,
        )

    @staticmethod
    def _scaled(e: Estimate, column: Numeric) -> Estimate:
        width = column.high - column.low
        found = Estimate(*(column.low + width * x for x in (e.value, e.low, e.high)))
        return found.within(column.low, column.high).read_as(column.written)

    def correlations(
        self, rows: Table, moments: Mapping[str, Moments], n: float
    ) -> dict[tuple[str, str], Estimate]:
        names, look = self.plan.numeric, self.plan.look
        places = [list(self.plan.domain.columns).index(name) for name in names]
        first, second = np.triu_indices(len(names), 1)
        z, radius, shift = _of_products(self.plan)

        def products(start: int) -> Floats:
            u = np.column_stack([2 * rows.columns[i][start : start + _BLOCK] - 1 for i in places])
            u = np.where(np.isnan(u), 0.0, u)
            return np.asarray(u[:, first] * u[:, second])

        total = gaussian_sum(
            map(products, range(0, rows.n, _BLOCK)),
            name="correlations",
            dim=len(first),
            radius=radius,
            shift=shift,
            moved=0,
            n=look.n,
            noise_multiplier=z,
            session=self.session,
        )
        filled = {name: _filled(m, n) for name, m in moments.items()}
        noise = _product_noise(self.plan) / max(n, 1.0)
        return {
            (names[a], names[b]): _correlation(t / max(n, 1.0), noise, filled[names[a]], filled[names[b]])
            for a, b, t in zip(first, second, total.tolist())
        }


def _choice(part: LookPart) -> QuantileRelease:
    """What a quantile is chosen by."""
    return QuantileRelease.of_gdp(part.mu * FAR_DOWN, Grid(0.0, 1.0, POINTS))


def _count_noise(part: LookPart, look: Look) -> float:
    """The standard deviation of the noise of a count."""
    return multiplier(part) * math.sqrt(rows_changed(look.adjacency)) * (1 + 1e-3)


def _of_products(plan: DescribePlan) -> tuple[float, float, float]:
    """The noise multiplier, the radius and the shift of the sum of all products of two columns."""
    many = len(plan.numeric)
    radius = math.sqrt(many * (many - 1) // 2)
    return multiplier(plan.look["correlations"]), radius, radius * rows_changed(plan.look.adjacency)


def _product_noise(plan: DescribePlan) -> float:
    """Half of the interval of a sum of products."""
    z, _, shift = _of_products(plan)
    return SURE * shift * z * (1 + 1e-3)


def _filled(m: Moments, n: float) -> Moments:
    """The moments with every gap filled by the middle, u = 0: then all n rows have a cell."""
    gaps = max(n - m.total[0] / PRESENT, 0.0)
    return replace(m, total=(PRESENT * n, m.total[1], m.total[2] - SQUARE / 2 * gaps))


def _correlation(product: float, noise: float, one: Moments, two: Moments) -> Estimate:
    """(E[uv] - E[u] E[v]) / (spread of u times that of v), its error the sum of what each part adds; nan where that leaves nearly all of -1 to 1."""
    a, b, s, t = one.mean, two.mean, one.spread, two.spread
    if not min(s.low, t.low) > 0:  # also where nothing can be said
        return Estimate(math.nan, -1.0, 1.0)
    value = (product - a.value * b.value) / (s.value * t.value)
    half = (noise + abs(a.value) * b.error + abs(b.value) * a.error + a.error * b.error) / (s.low * t.low)
    half += abs(value) * (s.error / s.low + t.error / t.low)
    found = Estimate.around(value, half).within(-1, 1)
    return Estimate(math.nan, -1.0, 1.0) if found.high - found.low >= _NEARLY_ALL else found
