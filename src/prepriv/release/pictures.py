"""The pictures of reports and pages as inline SVG, and the style around them: the same bytes for the same numbers, in the colours of the page around them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from html import escape
from importlib import resources

import numpy as np
from markupsafe import Markup

from prepriv._text import printable
from prepriv.guarantees.printed import exact, percent, up
from prepriv.guarantees.tradeoff import TradeoffFunction

BLUE, GREY, AMBER = "var(--blue,#2563eb)", "var(--mute,#667085)", "var(--part-2,#b45309)"
COLOURS = (
    "var(--part-1,#1d4ed8)",
    AMBER,
    "var(--part-3,#0f766e)",
    "var(--part-4,#9333ea)",
    "var(--part-5,#be123c)",
    "var(--part-6,#64748b)",
)
"""Of parts beside each other."""
_POINTS = 200
_LEAST_DELTA = 1e-10


@cache
def page_style() -> str:
    """The style of every page of this package: colours in light, dark and print, tables, widths."""
    return resources.files("prepriv.release").joinpath("report.css").read_text(encoding="utf-8")


def coded(sentence: str) -> Markup:
    """The sentence as HTML, what stands between backticks as code."""
    parts = [Markup(escape(printable(part))) for part in sentence.split("`")]
    if len(parts) % 2 == 0:  # a name holds one
        return Markup("`").join(parts)
    return Markup("").join(Markup("<code>{}</code>").format(p) if i % 2 else p for i, p in enumerate(parts))


def curve(tradeoff: TradeoffFunction) -> str:
    """The trade-off function: the most that an attacker's best test can reach. Drawn values are rounded down."""
    alpha = np.linspace(0.0, 1.0, _POINTS + 1)
    beta = np.floor(np.asarray(tradeoff(alpha)) * 1e4) / 1e4
    parts = [stroke(60, 20, 380, 280, GREY, dash=True), _line(60 + 320 * alpha, 20 + 260 * (1 - beta))]
    parts += unit_axes("false alarms of an attacker (α)", "misses, at least (β)")
    parts += [label(372, 44, "dashed: perfect privacy", "end"), label(372, 62, "line: this run", "end", BLUE)]
    told = f"At 1% false alarms at least {math.floor(float(tradeoff(0.01)) * 1e3) / 10:g}% are missed."
    return svg("Trade-off function", 400, 328, parts, told)


def deltas(tradeoff: TradeoffFunction, epsilon: float, delta: float) -> str:
    """δ over ε, on a logarithmic scale, with the claimed pair as a dot. Drawn values are rounded up."""
    low = max(min(_LEAST_DELTA, delta), 1e-30)
    most = tradeoff.epsilon(low)
    most = 2 * epsilon if not math.isfinite(most) else max(most, epsilon)
    most = min(max(most, 1e-3), 700.0)
    at = np.linspace(0.0, most, _POINTS + 1)
    known = np.log10(np.clip(np.asarray(tradeoff.delta(at)) * 1.001, low, 1.0)) / math.log10(low)
    parts = [_line(60 + 320 * at / most, 20 + 260 * known), *_frame("ε", "δ", 12)]
    for k in range(5):
        parts.append(_below(60 + 80 * k, f"{most * k / 4:.2g}"))
        parts.append(_beside(20 + 65 * k, f"{low ** (k / 4):.0e}" if k else "1"))
    x, y = 60 + 320 * epsilon / most, 20 + 260 * math.log10(delta) / math.log10(low)
    if math.isfinite(x):
        parts += [dot(x, y), label(min(x + 8, 300), y - 8, "as claimed", "start")]
    return svg("δ over ε", 400, 328, parts, f"Falls to {exact(delta)} at ε = {up(epsilon, 4)}.")


def shares(parts_of: Sequence[tuple[str, float]]) -> str:
    """One bar: the share of the budget (of µ²) of each part, the parts named below it."""
    parts, x = [], 10.0
    for i, (name, share) in enumerate(parts_of):
        colour, width = COLOURS[i % len(COLOURS)], 380 * share
        parts.append(
            f'<rect x="{x:.1f}" y="10" width="{width:.1f}" height="34" fill="{colour}" stroke="var(--back,#fff)"/>'
        )
        x += width
        y = 62 + 20 * i
        parts.append(f'<rect x="10" y="{y}" width="12" height="12" fill="{colour}"/>')
        parts.append(label(28, y + 11, f"{percent(share)}  {name}", "start"))
    told = "; ".join(f"{name}: {percent(share)}" for name, share in parts_of)
    return svg("What the budget was paid for", 400, 66 + 20 * len(parts_of), parts, told)


def accuracies(points: Sequence[tuple[float, float]], without: float | None) -> str:
    """Accuracy over ε, on a logarithmic scale; dashed: without privacy."""
    budgets, values = [e for e, _ in points], [a for _, a in points]
    every = [*values, *([] if without is None else [without])]
    low, high = math.floor(10 * min(every)) / 10, max(math.ceil(10 * max(every)) / 10, 0.1)
    low = min(low, high - 0.1)
    left, right = math.log(min(budgets)), math.log(max(budgets) * 1.0001)
    x = [80 + 280 * (math.log(e) - left) / (right - left) for e in budgets]
    y = [280 - 260 * (a - low) / (high - low) for a in values]
    parts = [_line(np.array(x), np.array(y)), *_frame("ε", "accuracy", 14)]
    for e, a, across, above in zip(budgets, values, x, y):
        parts += [dot(across, above), _below(across, exact(e))]
        parts.append(label(max(across, 86.0), above - 9, f"{100 * a:.1f}%", "middle"))  # clear of the axis
    for k in range(3):
        value = low + (high - low) * k / 2
        parts.append(_beside(280 - 130 * k, f"{100 * value:.0f}%"))
    if without is not None:
        at = 280 - 260 * (without - low) / (high - low)
        parts += [
            stroke(60, at, 380, at, GREY, dash=True),
            label(66, at - 6, f"without privacy {100 * without:.1f}%", "start"),
        ]
    told = "; ".join(f"ε = {exact(e)}: {100 * a:.1f}%" for e, a in points)
    return svg("Accuracy over ε", 400, 328, parts, told)


def bars(title: str, named: Sequence[tuple[str, float]]) -> str:
    """A bar for each finite number, from 0, none of them below it; the number beside it, rounded up."""
    most = max([v for _, v in named if math.isfinite(v)] or [1.0]) or 1.0
    parts = [label(10, 16, title, "start")]
    for i, (name, value) in enumerate(named):
        y = 28 + 36 * i
        width = 480 * value / most if math.isfinite(value) else 480
        parts.append(label(10, y + 11, f"{name}: {up(value, 5)}", "start"))
        parts.append(f'<rect x="10" y="{y + 15}" width="{width:.1f}" height="12" fill="{BLUE}"/>')
    told = "; ".join(f"{name}: {up(value, 5)}" for name, value in named)
    return svg(title, 500, 36 + 36 * len(named), parts, told)


def of_hundred(named: Sequence[tuple[str, float, float, float]]) -> str:
    """(name, share, least, most): a bar of 100 for each share, with a thin line over its interval; nothing of none."""
    if not named:
        return ""
    left, wide, step = 150, 200, 22
    ends = 14 + step * len(named)
    parts = [stroke(left + wide * at, 6, left + wide * at, ends, GREY, dash=True) for at in (0, 0.5, 1)]
    for i, (name, share, low, high) in enumerate(named):
        y, colour = 12 + step * i, BLUE if i == 0 else GREY
        parts.append(label(left - 8, y + 11, _short(name, 21), "end"))
        parts.append(
            f'<rect x="{left}" y="{y}" width="{wide * share:.1f}" height="14" fill="{colour}" fill-opacity="0.75"/>'
        )
        if low < high:
            parts.append(stroke(left + wide * low, y + 7, left + wide * high, y + 7))
        parts.append(label(left + wide + 8, y + 11, f"{100 * share:.1f}", "start"))
    told = "; ".join(f"{name}: {100 * share:.1f} of 100" for name, share, _, _ in named)
    return svg("Of 100", 400, ends + 8, parts, told)


def _short(name: str, most: int = 28) -> str:
    return name if len(name) <= most else f"{name[: most - 1]}…"


def weights(named: Sequence[tuple[str, float]], bands: Sequence[float] = ()) -> str:
    """Weights by name, in this order: bars to the right of the middle for positive ones, to the left for others.

    bands: how far noise alone moves each, a line in both directions; bars within it are grey. None: no lines.
    """
    bands = bands or [0.0] * len(named)
    most = max([abs(w) + band for (_, w), band in zip(named, bands)] or [1.0]) or 1.0
    parts = [stroke(390, 6, 390, 14 + 20 * len(named), GREY)]
    words = []
    for i, ((name, w), band) in enumerate(zip(named, bands)):
        y, width, clear = 10 + 20 * i, 130 * abs(w) / most, abs(w) > band
        start = 390 if w >= 0 else 390 - width
        parts.append(label(200, y + 11, _short(name), "end"))
        parts.append(
            f'<rect x="{start:.1f}" y="{y}" width="{width:.1f}" height="14" fill="{BLUE if clear else GREY}"/>'
        )
        if band:
            ends = [390 + 130 * (w + side * band) / most for side in (-1, 1)]
            parts.append(stroke(ends[0], y + 7, ends[1], y + 7))
        parts.append(label(528, y + 11, f"{w:+.3g}", "start"))
        words.append(f"{name}: {w:+.3g}" + ("" if clear else " (may be noise)"))
    return svg("Weights", 600, 20 + 20 * len(named), parts, "; ".join(words))


def svg(title: str, width: int, height: int, parts: Sequence[str], told: str = "") -> str:
    """The picture of some parts. title: its name for who cannot see it; told: what there is to see, in words."""
    name, words = escape(printable(title)), f"<desc>{escape(printable(told))}</desc>" if told else ""
    return (
        f'<svg role="img" aria-label="{name}" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">'
        f"<title>{name}</title>{words}{''.join(parts)}</svg>"
    )


def stroke(
    x1: float,
    y1: float,
    x2: float,
    y2: float,
    colour: str = "currentColor",
    dash: bool = False,
    width: float = 1,
) -> str:
    """A straight line."""
    more = (' stroke-dasharray="5 4"' if dash else "") + (f' stroke-width="{width:g}"' if width != 1 else "")
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}"{more}/>'


def label(
    x: float, y: float, text: str, anchor: str, colour: str = "currentColor", turned: bool = False
) -> str:
    """A text, its harmful characters shown."""
    turn = f' transform="rotate(-90 {x:.0f} {y:.0f})"' if turned else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="12" fill="{colour}"{turn}>'
        f"{escape(printable(text))}</text>"
    )


def dot(x: float, y: float, radius: float = 3.5, opacity: float = 1) -> str:
    """A point of a curve."""
    faint = f' fill-opacity="{opacity:g}"' if opacity != 1 else ""
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}" fill="{BLUE}"{faint}/>'


def _line(x: np.ndarray, y: np.ndarray) -> str:
    points = " ".join(f"{a:.1f},{b:.2f}" for a, b in zip(x, y))
    return f'<polyline points="{points}" fill="none" stroke="{BLUE}" stroke-width="2.5"/>'


def unit_axes(across: str, up: str) -> list[str]:
    """The axes of a square from 0 to 1 either way, with their names: (60, 280) to (380, 20)."""
    parts = _frame(across, up)
    for at in (0.0, 0.25, 0.5, 0.75, 1.0):
        parts += [_below(60 + 320 * at, f"{at:g}"), _beside(280 - 260 * at, f"{at:g}")]
    return parts


def _frame(across: str, up: str, left: float = 16) -> list[str]:
    return [
        stroke(60, 280, 380, 280),
        stroke(60, 20, 60, 280),
        label(220, 318, across, "middle"),
        label(left, 150, up, "middle", turned=True),
    ]


def _below(x: float, text: str) -> str:
    return label(x, 297, text, "middle")


def _beside(y: float, text: str) -> str:
    return label(54, y + 4, text, "end")
