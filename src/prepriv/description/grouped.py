"""A table described group by group: each group's numbers, those of all, and how groups differ. Proof: docs/proofs/describe.md."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

from prepriv._arguments import shown
from prepriv.adjacency import n_is_public
from prepriv.columns import AS_CATEGORICAL, Categorical, Numeric
from prepriv.description.answers import Asker, half_in_parts, levels_of
from prepriv.description.asked import Asked, AskedPlan, piece_of, plan_questions
from prepriv.description.estimates import NOTHING, SURE, Estimate, Moments, bin_edges, difference_of, share_of
from prepriv.description.look import multiplier
from prepriv.description.summaries import CategoricalSummary, NumericSummary, Summary, count_estimate
from prepriv.description.wide import said_if_wide
from prepriv.domain import Domain
from prepriv.tables.written import span_of

_NAMED = 20  # columns, in a sentence
_MOST_COMPARED = 8  # groups, each pair of which is compared; of more, each with the first


@dataclass(frozen=True)
class GroupSummary:
    """What was released of one group. rows: how many there are; columns: as of a `Description`, but for that of the groups."""

    rows: Estimate
    columns: dict[str, Summary]

    def numbers(self) -> dict[str, Estimate]:
        """Everything of it that can be compared with another group: of counts the shares."""
        found: dict[str, Estimate] = {}
        for name, summary in self.columns.items():
            if isinstance(summary, CategoricalSummary):
                noise = self.rows.error / SURE
                for value, e in summary.counts.items():
                    found[f"share of {name} = {value}"] = share_of(
                        e.value, self.rows.value, e.error / SURE, noise
                    )
                continue
            found |= {f"share missing of {name}": summary.missing, f"mean of {name}": summary.mean}
            found[f"deviation of {name}"] = summary.deviation
            found |= {f"quantile {q:g} of {name}": e for q, e in summary.quantiles.items()}
        return found


@dataclass(frozen=True)
class GroupDifference:
    """A number of one group less that of another."""

    of: str
    one: str
    two: str
    value: Estimate

    @property
    def name(self) -> str:
        """In words."""
        return f"{self.of}, {self.one} less {self.two}"


def plan_groups(
    domain: Domain,
    by: str,
    *,
    n: int,
    epsilon: float,
    delta: float,
    levels: Sequence[float],
    bins: int,
) -> AskedPlan:
    """Price a description of each group of a declared categorical column, or of each class of the label. ValueError for another column."""
    known = [name for name, column in domain.columns.items() if isinstance(column, Categorical)]
    known += [] if domain.label is None else [domain.label]
    if not isinstance(by, str) or by not in known:
        listed = f"one of {', '.join(map(repr, known[:_NAMED]))}" if known else "of which there are none"
        more = f" and {len(known) - _NAMED:,} more" if len(known) > _NAMED else ""
        raise ValueError(
            f"by must be a declared categorical column or the label, {listed}{more}; got {shown(by)}"
            + (
                f". {AS_CATEGORICAL}"
                if isinstance(by, str) and isinstance(domain.columns.get(by), Numeric)
                else ""
            )
        )
    asked = [Asked("count", by=by)]
    for name, column in domain.columns.items():
        if isinstance(column, Numeric):
            asked += [Asked(kind, (name,), by) for kind in ("missing", "mean", "deviation")]
            asked.append(Asked("histogram", (name,), by, bins=bins))
            asked += [Asked("quantile", (name,), by, level=q) for q in levels]
        elif name != by:
            asked.append(Asked("histogram", (name,), by))
    if domain.label not in (None, by):
        asked.append(Asked("histogram", (domain.label,), by))
    half = 0.25 if levels else 0.5
    weights = {"moments": half, "bins": half, "quantile": 0.5 / max(1, len(levels))}
    made = plan_questions(domain, asked, epsilon=epsilon, delta=delta, n=n, weights=weights)
    return replace(made, look=replace(made.look, what="description"))  # as a ledger names it


_SAID_AS = {
    "count": "counts",
    "histogram": "counts",
    "quantile": "quantiles",
    "missing": "shares of gaps",
}  # others: means


def wide_groups(plan: AskedPlan) -> str:
    """What has to be said before a description of groups is charged, or nothing: of means, of counts, of quantiles, of gaps."""

    def named(question: Asked) -> str:
        return _SAID_AS.get(question.kind, "means")

    def halves(n: float) -> dict[str, float]:
        found: dict[str, float] = {}
        for question in plan.questions:
            half, what = half_in_parts(plan, question, n), named(question)
            if half is not None:
                found[what] = max(half, found.get(what, 0.0), key=lambda x: math.inf if math.isnan(x) else x)
        return found

    look = plan.look
    return said_if_wide(
        look.n,
        look.epsilon,
        look.delta,
        halves,
        ["fewer columns"],
        grouped=set(map(named, plan.questions)),
        levels=levels_of(plan, named),
        counted=look.counted,
    )


def of_groups(plan: AskedPlan, asker: Asker) -> dict[str, GroupSummary]:
    """Each group, by name, of pieces that were released."""
    by = plan.questions[0].by
    groups = asker.groups(by).names
    found = {}
    for g, group in enumerate(groups):
        columns: dict[str, Summary] = {}
        for name, column in plan.domain.columns.items():
            if name == by:
                continue
            told = {q: asker.in_group(q, g) for q in plan.questions if q.columns == (name,)}
            if isinstance(column, Numeric):
                by_kind = {q.kind if q.level is None else q.level: e for q, e in told.items()}
                columns[name] = _numeric(by_kind, column.written)
            else:
                columns[name] = CategoricalSummary(next(iter(told.values())))
        found[group] = GroupSummary(asker.in_group(plan.questions[0], g), columns)
    return found


def _numeric(told: Mapping[Any, object], written: str) -> NumericSummary:
    quantiles = {q: e for q, e in told.items() if isinstance(q, float) and isinstance(e, Estimate)}
    missing, mean, deviation = (told[kind] for kind in ("missing", "mean", "deviation"))
    histogram = told["histogram"]
    counted = histogram.edges, histogram.counts  # type: ignore[attr-defined]
    return NumericSummary(missing, mean, deviation, quantiles, *counted, written)  # type: ignore[arg-type]


def of_all(plan: AskedPlan, asker: Asker) -> tuple[Estimate, dict[str, Summary]]:
    """All rows: the number of them, and of each column the sums over the groups, whose noise is the larger for it."""
    by = plan.questions[0].by
    assert by is not None
    rows = asker.noisy["counts", (by,)]
    grown = math.sqrt(rows.size)
    noise = asker.count_noise(("counts", (by,)))
    n = count_estimate(float(rows.sum()), noise * grown, asker.most)
    if n_is_public(plan.look.adjacency):
        n = Estimate.around(float(plan.look.n), 0.0)
    columns: dict[str, Summary] = {}
    for name, column in plan.domain.columns.items():
        if name == by:
            columns[name] = CategoricalSummary(
                {
                    group: count_estimate(c, noise, asker.most)
                    for group, c in zip(asker.groups(by).names, rows)
                }
            )
            continue
        piece = piece_of(next(q for q in plan.questions if q.columns == (name,)), plan.domain)
        assert piece is not None
        if isinstance(column, Numeric):
            a, b, c = asker.noisy[piece].sum(axis=0).tolist()
            wide = asker.shift * multiplier(plan.look[plan.pieces[piece]]) * grown
            moments = Moments((a, b, c), wide, n, asker.weights(by))
            bins = plan.bins(name, by)
            counts = asker.noisy[bins].sum(axis=0)
            columns[name] = summary_of(column, moments, counts, asker.count_noise(bins) * grown, asker.most)
            continue
        of_names = asker.noisy[piece].sum(axis=piece[1].index(by))
        names = asker.groups(name).names
        each = asker.count_noise(piece) * grown
        columns[name] = CategoricalSummary(
            {v: count_estimate(c, each, asker.most) for v, c in zip(names, of_names)}
        )
    return n, columns


def summary_of(
    column: Numeric, moments: Moments, counts: Sequence[float], noise: float, most: float
) -> NumericSummary:
    """Of a numeric column, without quantiles. most: that a count can be."""
    middle, reach = (column.low + column.high) / 2, (column.high - column.low) / 2
    mean, spread = moments.mean, moments.spread
    return NumericSummary(
        moments.missing,
        Estimate(*(middle + reach * x for x in (mean.value, mean.low, mean.high)))
        .within(column.low, column.high)
        .read_as(column.written),
        Estimate(*(reach * x for x in (spread.value, spread.low, spread.high))).read_as(
            span_of(column.written)
        ),
        {},
        bin_edges(column.low, column.high, len(counts)),
        tuple(count_estimate(c, noise, most) for c in counts),
        column.written,
    )


def group_differences(groups: Mapping[str, GroupSummary]) -> tuple[GroupDifference, ...]:
    """Of every number that two groups have, between all pairs of groups; of many groups, between each and the first."""
    numbers = {name: group.numbers() for name, group in groups.items()}
    told = [name for name, found in numbers.items() if any(e.value == e.value for e in found.values())]
    pairs = [*combinations(told, 2)]
    if len(told) > _MOST_COMPARED:
        pairs = [(told[0], other) for other in told[1:]]
    found = [
        GroupDifference(of, one, two, difference_of(e, numbers[two][of]))
        for of in (numbers[told[0]] if told else ())
        for one, two in pairs
        for e in [numbers[one][of]]
    ]
    return tuple(d for d in found if d.value != NOTHING and d.value.value == d.value.value)
