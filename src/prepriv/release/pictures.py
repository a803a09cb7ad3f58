"""The two pictures of a report as inline SVG: drawn from the plan alone, the same bytes for the same plan."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

import numpy as np

from prepriv._text import shown
from prepriv.guarantees.printed import places
from prepriv.guarantees.tradeoff import TradeoffFunction
from prepriv.pipeline.price import Price

COLOURS = {"public": "#16a34a", "budget": "#2563eb", "sensitivity": "#d97706"}
_POINTS = 200


def curve(tradeoff: TradeoffFunction) -> str:
    """The trade-off function: the most that an attacker's best test can reach. Drawn values are rounded down."""
    alpha = np.linspace(0.0, 1.0, _POINTS + 1)
    beta = np.floor(np.asarray(tradeoff(alpha)) * 1e4) / 1e4
    line = " ".join(f"{60 + 320 * a:.1f},{20 + 260 * (1 - b):.2f}" for a, b in zip(alpha, beta))
    parts = [
        stroke(60, 20, 380, 280, "#888", dash=True),
        f'<polyline points="{line}" fill="none" stroke="#2563eb" stroke-width="2.5"/>',
        stroke(60, 280, 380, 280),
        stroke(60, 20, 60, 280),
    ]
    for at in (0.0, 0.25, 0.5, 0.75, 1.0):
        parts.append(label(60 + 320 * at, 297, f"{at:g}", "middle"))
        parts.append(label(52, 284 - 260 * at, f"{at:g}", "end"))
    parts += [
        label(220, 318, "false alarms of an attacker (α)", "middle"),
        label(16, 150, "misses, at least (β)", "middle", turned=True),
        label(372, 44, "dashed: perfect privacy", "end"),
        label(372, 62, "line: this run", "end", "#2563eb"),
    ]
    return svg("trade-off function", 400, 328, parts)


def bars(table: Sequence[Price]) -> str:
    """How many times more noise training needs, by step and way; ways that are closed are left out."""
    rows = [p for p in table if p.open and math.isfinite(p.factor)]
    most = max([1.0, *(p.factor for p in rows)])
    parts = []
    for i, price in enumerate(rows):
        y, width = 26 + 44 * i, 330 * price.factor / most
        name = f"{price.step}, {price.way}{' (paid)' if price.chosen else ''}: × {places(price.factor)}"
        parts.append(label(10, y, name, "start"))
        parts.append(
            f'<rect x="10" y="{y + 5}" width="{width:.1f}" height="14" fill="{COLOURS[price.way]}"/>'
        )
    bottom = 26 + 44 * len(rows)
    parts.append(stroke(10 + 330 / most, 10, 10 + 330 / most, bottom - 14, "#888", dash=True))
    parts.append(label(10, bottom + 4, "noise of training, times that of a free step (dashed: × 1)", "start"))
    return svg("price of each way", 400, bottom + 16, parts)


def svg(title: str, width: int, height: int, parts: Sequence[str]) -> str:
    """The picture of some parts."""
    return (
        f'<svg role="img" aria-label="{title}" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">'
        f"<title>{title}</title>{''.join(parts)}</svg>"
    )


def stroke(
    x1: float, y1: float, x2: float, y2: float, colour: str = "currentColor", dash: bool = False
) -> str:
    """A straight line."""
    dashed = ' stroke-dasharray="5 4"' if dash else ""
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}"{dashed}/>'


def label(
    x: float, y: float, text: str, anchor: str, colour: str = "currentColor", turned: bool = False
) -> str:
    """A text, its harmful characters shown."""
    turn = f' transform="rotate(-90 {x:.0f} {y:.0f})"' if turned else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="12" fill="{colour}"{turn}>'
        f"{escape(shown(text))}</text>"
    )
