"""A description as JSON and as one HTML page with pictures: nothing but what was released, and what follows from it."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from importlib import resources
from typing import Any

import jinja2
from markupsafe import Markup

from prepriv._text import printable
from prepriv.columns import Column, Numeric, cut_in_words
from prepriv.description.cells_in_words import cut_columns, not_above_zero, says_little, some_of
from prepriv.description.describe import Description
from prepriv.description.estimates import NOTHING, Estimate, edges_in_words
from prepriv.description.grouped import GroupDifference, GroupSummary
from prepriv.description.look import notes_of_claim, paid_by, unit_of_rows
from prepriv.description.summaries import CategoricalSummary, NumericSummary
from prepriv.evaluation.group_pictures import forest
from prepriv.guarantees.printed import BY_CHANCE, epsilon_at
from prepriv.release.pictures import AMBER, BLUE, label, page_style, stroke, svg

_WIDE, _TALL = 420, 150
_FEW = 3  # cells of a group, and
LEFT_OUT = "left out: their 95 % intervals are half as wide as the bounds or more"
"""What stands in place of quantiles of a group about which next to nothing is known."""
_MANY = 20  # differences, of which each has its own line whatever it shows


def to_json(d: Description) -> dict[str, Any]:
    """Plain data: every number with the ends of its 95 % interval; null where there is too little to say."""
    look, bounds = d.plan.look, cut_columns(d.plan.domain.columns)
    out: dict[str, Any] = {
        "guarantee": d.guarantee_.to_json(look.delta),
        "promise": d.promised,
        "plan_hash": look.hash,
        "notes": d.plan.notes + d.gaps_filled,
        **unit_of_rows(d.plan.domain),
        "rows": _plain(d.rows),
        "columns": {name: _summary(summary, bounds.get(name)) for name, summary in d.columns.items()},
        "correlations": [{"columns": list(pair)} | _plain(e) for pair, e in d.correlations.items()],
    }
    if d.groups:
        out["by"] = d.plan.by
        out["groups"] = [
            {"group": name, "rows": _plain(g.rows)}
            | {"columns": {column: _summary(s, bounds.get(column)) for column, s in g.columns.items()}}
            for name, g in d.groups.items()
        ]
        out["differences"] = [
            {"of": x.of, "group": x.one, "less": x.two} | _plain(x.value) for x in d.differences
        ]
    return out | paid_by(look, d.plan.domain, d.receipt)


def json_text(d: Description) -> str:
    """`to_json` as text."""
    return json.dumps(to_json(d), indent=1, allow_nan=False) + "\n"


def _plain(e: Estimate) -> dict[str, float | None]:
    numbers = {"value": e.value, "low": e.low, "high": e.high}
    return {name: x if math.isfinite(x) else None for name, x in numbers.items()}


def _summary(summary: NumericSummary | CategoricalSummary, bounds: dict[str, Any] | None) -> dict[str, Any]:
    if isinstance(summary, CategoricalSummary):
        return {"counts": {name: _plain(e) for name, e in summary.counts.items()}}
    return {
        "bounds": bounds,
        "missing": _plain(summary.missing),
        "mean": _plain(summary.mean),
        "deviation": _plain(summary.deviation),
        "quantiles": {f"{q:g}": _plain(e) for q, e in summary.quantiles.items()},
        "histogram": {"edges": list(summary.edges), "counts": [_plain(e) for e in summary.counts]},
    } | ({} if summary.written == "number" else {"written": summary.written})


def to_html(d: Description) -> str:
    """One self-contained page."""
    source = resources.files("prepriv.description").joinpath("page.html.j2").read_text(encoding="utf-8")
    page = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, finalize=_as_text)
    look = d.plan.look
    return page.from_string(source).render(
        style=Markup(page_style()),
        d=d,
        look=look,
        claimed=notes_of_claim(d.guarantee_, look.delta, look.n, d.promised),
        notes=d.plan.notes[len(d.plan.read) :],
        differences=told_differences(d),
        by_chance=BY_CHANCE,
        grouped=[(of, Markup(forest_of(d, of))) for of in of_groups(d)],
        summaries=[
            (name, Markup(picture(name, s)), rows(s), _cut(d.plan.domain.columns.get(name)))
            for name, s in d.columns.items()
        ],
        json=json_text(d),
    )


def _as_text(value: Any) -> Any:
    return printable(value, keep="\n") if isinstance(value, str) and not isinstance(value, Markup) else value


def _cut(column: Column | None) -> str:
    said = cut_in_words(column) if isinstance(column, Numeric) else ""
    return f"{said[:1].upper()}{said[1:]}." if said else ""


def rows(summary: NumericSummary | CategoricalSummary) -> list[tuple[str, Estimate]]:
    """The lines of a column's table."""
    if isinstance(summary, CategoricalSummary):
        return list(summary.counts.items())
    quantiles = [(f"quantile {q:g}", e) for q, e in summary.quantiles.items()]
    return [
        ("share missing", summary.missing),
        ("mean", summary.mean),
        ("deviation", summary.deviation),
        *quantiles,
    ]


def rows_in_short(summary: NumericSummary | CategoricalSummary) -> list[tuple[str, str]]:
    """The same as texts, for a group: cells that may well be empty, and numbers about which nothing can be said, share a line where they
    are many."""
    told = rows(summary)
    unseen = [(what, e) for what, e in told if isinstance(summary, CategoricalSummary) and e.low <= 0]
    unseen = unseen if len(unseen) > _FEW else []
    nothing = [(what, e) for what, e in told if math.isnan(e.value)]
    nothing = nothing if len(nothing) > 1 else []
    wide = (
        [
            (f"quantile {q:g}", e)
            for q, e in summary.quantiles.items()
            if says_little(e, summary.edges[0], summary.edges[-1])
        ]
        if isinstance(summary, NumericSummary)
        else []
    )
    apart = [*unseen, *nothing, *wide]
    out = [(what, str(e)) for what, e in told if (what, e) not in apart]
    if wide:
        out.append(("; ".join(what for what, _ in wide), LEFT_OUT))
    if unseen:
        most = max((e for _, e in unseen), key=lambda e: e.high)
        out.append((some_of([what for what, _ in unseen]), not_above_zero(most)))
    return out + ([(some_of([what for what, _ in nothing]), str(NOTHING))] if nothing else [])


def _wide_quantiles(group: GroupSummary) -> set[str]:
    """The quantiles of a group that are left out, as `GroupSummary.numbers` names them."""
    return {
        f"quantile {q:g} of {name}"
        for name, summary in group.columns.items()
        if isinstance(summary, NumericSummary)
        for q, e in summary.quantiles.items()
        if says_little(e, summary.edges[0], summary.edges[-1])
    }


def told_differences(d: Description) -> list[GroupDifference]:
    """Those between groups but for quantiles that are left out in one of the two, unless they are shown to differ."""
    out = {name: _wide_quantiles(group) for name, group in d.groups.items()}
    return [x for x in d.differences if _apart(x) or x.of not in out[x.one] | out[x.two]]


def _apart(x: GroupDifference) -> bool:
    return x.value.low > 0 or x.value.high < 0


def differences_in_short(d: Description) -> list[tuple[str, str]]:
    """Differences between groups as texts. Of many, those that are not shown to differ from 0 are counted."""
    told = told_differences(d)
    shown = [x for x in told if _apart(x)]
    hidden = len(told) - len(shown)
    if hidden <= _MANY:
        return [(x.name, str(x.value)) for x in told]
    return [*((x.name, str(x.value)) for x in shown), (f"{hidden:,} more", "not shown to differ from 0")]


def lines_of(d: Description) -> list[str]:
    """The claim and every number with its interval, a line each; of groups in short."""
    look = d.plan.look
    claim = epsilon_at(d.guarantee_.epsilon(look.delta), look.delta)
    out = [f"{claim}, {look.guarantee.neighbours}, n = {look.n:,}"]
    out += [f"{name}: {what}: {e}" for name, s in d.columns.items() for what, e in rows(s)]
    for group, g in d.groups.items():
        of = f"{d.plan.by} = {group}: "
        out += [f"{of}{name}: {what}: {e}" for name, s in g.columns.items() for what, e in rows_in_short(s)]
    if apart := differences_in_short(d):
        out += [f"{name}: {told}" for name, told in apart] + [BY_CHANCE]
    out += [f"correlation of {a} and {b}: {e}" for (a, b), e in d.correlations.items()]
    return out + [f"{name}: {said}" for name, said in d.plan.cut] + d.plan.notes + d.gaps_filled


def of_groups(d: Description) -> list[str]:
    """What some group has a number for, and is drawn: all but the shares of single values."""
    told = {
        of: e
        for group in d.groups.values()
        for of, e in group.numbers().items()
        if e.value == e.value and of not in _wide_quantiles(group)
    }
    return [of for of in told if not of.startswith("share of ")]


def forest_of(d: Description, of: str) -> str:
    """A number of each group with its interval, and the differences below it."""
    known = [(name, group.numbers()[of]) for name, group in d.groups.items()]
    known = [(name, e) for name, e in known if e.value == e.value]
    apart = [(f"{x.one} less {x.two}", x.value) for x in d.differences if x.of == of]
    parts, y = [label(10, 16, of, "start")], 30.0
    for lines, zero in ((known, False), (apart, True)):
        if lines:
            drawn, y = forest(lines, y, zero)
            parts += drawn
    told = "; ".join(f"{who}: {e}" for who, e in (*known, *apart))
    return svg(f"{of} by {d.plan.by}", 400, int(y) + 4, parts, told)


def picture(name: str, summary: NumericSummary | CategoricalSummary) -> str:
    """Bars of the noisy counts with their 95 % intervals; a count below zero has no bar."""
    if isinstance(summary, CategoricalSummary):
        return _lying(f"counts of {name}", list(summary.counts.items())[:40])
    counts, edges = summary.counts, summary.edges
    top = max(1.0, *(e.high for e in counts))
    width = _WIDE / len(counts)
    parts: list[str] = []
    for i, e in enumerate(counts):
        height = _TALL * max(e.value, 0.0) / top
        parts.append(
            f'<rect x="{20 + i * width:.1f}" y="{10 + _TALL - height:.1f}" width="{max(width - 1, 0.5):.1f}" height="{height:.1f}" fill="{BLUE}"/>'
        )
        middle = 20 + (i + 0.5) * width
        parts.append(_whisker([(middle, 10 + _TALL * (1 - max(y, 0.0) / top)) for y in (e.low, e.high)]))
    for q, e in summary.quantiles.items():
        at = 20 + _WIDE * (e.value - edges[0]) / (edges[-1] - edges[0])
        parts += [
            stroke(at, 10, at, 10 + _TALL, AMBER, dash=True),
            label(at, 8, f"{q:g}", "middle", AMBER),
        ]
    parts.append(stroke(20, 10 + _TALL, 20 + _WIDE, 10 + _TALL))
    ends = edges_in_words(edges, summary.written)
    for at in (0, len(counts) // 2, len(counts)):
        parts.append(label(20 + at * width, 26 + _TALL, ends[at], "middle"))
    return svg(f"histogram of {name}", _WIDE + 40, _TALL + 36, parts)


def _lying(title: str, counts: Sequence[tuple[str, Estimate]]) -> str:
    top = max(1.0, *(e.high for _, e in counts))
    parts: list[str] = []
    for i, (name, e) in enumerate(counts):
        y, width = 14 + 20 * i, 260 * max(e.value, 0.0) / top
        parts.append(label(140, y + 8, name if len(name) <= 20 else f"{name[:19]}…", "end"))
        parts.append(f'<rect x="146" y="{y - 2}" width="{width:.1f}" height="13" fill="{BLUE}"/>')
        parts.append(_whisker([(146 + 260 * max(x, 0.0) / top, y + 4.5) for x in (e.low, e.high)]))
    return svg(title, _WIDE + 40, 20 + 20 * len(counts), parts)


def _whisker(ends: Sequence[tuple[float, float]]) -> str:
    (x1, y1), (x2, y2) = ends
    return stroke(x1, y1, x2, y2, AMBER)
