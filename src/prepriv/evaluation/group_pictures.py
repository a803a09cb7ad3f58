"""Groups side by side, as a table and as inline SVG: each figure with its interval, and the differences with theirs."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Protocol

from prepriv._text import printable
from prepriv.evaluation.groups import TOO_FEW
from prepriv.evaluation.intervals import Figure
from prepriv.evaluation.result import PrivateEvaluation
from prepriv.guarantees.printed import BY_CHANCE
from prepriv.release.pictures import BLUE, GREY, dot, label, stroke, svg

_MOST_DRAWN = 12  # figures of which there is a picture
_LEFT, _RIGHT, _LINE = 190, 390, 22


def groups_in_html(of: PrivateEvaluation) -> str:
    """What the page says about groups; nothing where there are none."""
    if of.plan.by is None:
        return ""
    answered = [group for group in of.groups.values() if group.answered]
    names = [f"{of.plan.by} = {group.name}" for group in answered]
    heads = "".join(f'<th scope="col">{escape(printable(h))}</th>' for h in ("figure", *names))
    figures = [[g.figures[name] for g in answered] for name in (answered[0].figures if answered else ())]
    few = "".join(
        f"<p>{escape(printable(f'{of.plan.by} = {g.name}: {g.share}; {TOO_FEW}'))}</p>"
        for g in of.groups.values()
        if not g.answered
    )
    body = "".join(_line(line[0].name, [f.interval for f in line]) for line in figures)
    apart = "".join(_line(d.name, [d.figure.interval]) for d in of.differences)
    drawn = [line for line in figures if any(f.value is not None for f in line)][:_MOST_DRAWN]
    return (
        f"<h2>Groups</h2><p>{escape(printable(said(of)))}</p>{few}<table><tr>{heads}</tr>{body}</table>"
        f'<table><tr><th scope="col">difference</th><th scope="col">value [95 % interval]</th></tr>{apart}</table>'
        f'<div class="figures">{"".join(group_picture(of, line) for line in drawn)}</div>'
    )


def said(of: PrivateEvaluation) -> str:
    """What a reader has to know about the groups."""
    return (
        f"Each row is in one group of {of.plan.by}, so all groups together cost what one does. Figures of all rows come from the "
        "sums over groups. A figure is refused where the noisy number of its rows is below four deviations of its noise. "
        f"{BY_CHANCE}."
    )


def _line(name: str, cells: Sequence[str]) -> str:
    return "<tr>" + "".join(f"<td>{escape(printable(c))}</td>" for c in (name, *cells)) + "</tr>"


def group_picture(of: PrivateEvaluation, figures: Sequence[Figure]) -> str:
    """A figure of each group with its interval, and below it the differences, with a line at zero."""
    name = figures[0].name
    answered = [group for group in of.groups.values() if group.answered]
    known = [(g.name, f) for g, f in zip(answered, figures) if f.value is not None]
    apart = [(f"{d.one} less {d.two}", d.figure) for d in of.differences if d.of == name]
    parts, y = [label(10, 16, name, "start")], 30.0
    for lines, zero in ((known, False), (apart, True)):
        if lines:
            drawn, y = forest(lines, y, zero)
            parts += drawn
    told = "; ".join(f"{who}: {figure.interval}" for who, figure in (*known, *apart))
    return f"<figure>{svg(f'{name} by {of.plan.by}', 400, int(y) + 4, parts, told)}</figure>"


class Interval(Protocol):
    """A number with the ends of its interval; None or nan where there is none."""

    @property
    def value(self) -> float | None: ...
    @property
    def low(self) -> float | None: ...
    @property
    def high(self) -> float | None: ...


def forest(lines: Sequence[tuple[str, Interval]], y: float, zero: bool) -> tuple[list[str], float]:
    """Dots with their intervals, one line each, from this height on; and where they end."""
    ends = [x for _, f in lines for x in (f.low or 0.0, f.high or 0.0)] + [0.0] * zero
    low, high = min(ends), max(ends)
    wide = (high - low) or 1.0

    def at(x: float) -> float:
        return _LEFT + (_RIGHT - _LEFT) * (x - low) / wide

    bottom = y + _LINE * len(lines)
    parts = [stroke(_LEFT, bottom, _RIGHT, bottom)]
    if zero:
        parts.append(stroke(at(0.0), y - 6, at(0.0), bottom, GREY, dash=True))
    for i, (who, f) in enumerate(lines):
        middle = y + _LINE * (i + 0.5)
        parts.append(label(_LEFT - 8, middle + 4, _fits(who), "end"))
        parts.append(stroke(at(f.low or 0.0), middle, at(f.high or 0.0), middle, BLUE))
        parts.append(dot(at(f.value or 0.0), middle))
    parts.append(label(_LEFT, bottom + 16, f"{low:.3g}", "middle"))
    parts.append(label(_RIGHT + 8, bottom + 16, f"{high:.3g}", "end"))
    return parts, bottom + 30


def _fits(who: str, most: int = 24) -> str:
    """A name, or two of them, cut so that each differs from the others."""
    both = who.split(" less ")
    if len(who) <= most or len(both) != 2:
        return who if len(who) <= most else f"{who[: most - 1]}…"
    short = [max(8, most - 6 - len(other)) for other in reversed(both)]
    return " less ".join(one if len(one) <= most else f"{one[: most - 1]}…" for one, most in zip(both, short))
