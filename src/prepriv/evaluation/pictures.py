"""An evaluation as inline SVG and one page: confusion matrix, reliability, ROC, with their intervals."""

from __future__ import annotations

from html import escape

from prepriv._text import shown
from prepriv.evaluation.intervals import Figure
from prepriv.evaluation.result import PrivateEvaluation
from prepriv.release.pictures import BLUE, dot, label, stroke, svg

_MOST_NAMED = 20  # classes of a matrix whose cells are written out


def pictures(of: PrivateEvaluation) -> list[str]:
    """Those that the plan measured something for."""
    out = []
    if "confusion" in of.counts:
        out.append(confusion(of))
    if of.reliability:
        out.append(reliability(of))
    if of.roc:
        out.append(roc(of))
    return out


def confusion(of: PrivateEvaluation) -> str:
    """Noisy counts, true classes down, predicted ones across; darker is more of the true class."""
    counts, names = of.confusion, [str(c) for c in of.plan.domain.classes]
    k = len(names)
    side = 280 / k
    parts = [label(230, 16, "predicted", "middle"), label(14, 180, "true", "middle", turned=True)]
    for i in range(k):
        rows = max(1.0, float(counts[i].clip(0).sum()))
        if k <= _MOST_NAMED:
            parts.append(label(84, 44 + side * (i + 0.5), _short(names[i]), "end"))
            parts.append(label(90 + side * (i + 0.5), 32, _short(names[i]), "middle"))
        for j in range(k):
            x, y, depth = 90 + side * j, 38 + side * i, min(1.0, max(0.0, float(counts[i, j])) / rows)
            parts.append(
                f'<rect x="{x:.1f}" y="{y:.1f}" width="{side:.1f}" height="{side:.1f}" fill="{BLUE}" '
                f'fill-opacity="{depth / 2:.2f}" stroke="#888"/>'
            )
            if k <= _MOST_NAMED // 2:
                parts.append(label(x + side / 2, y + side / 2 + 4, f"{counts[i, j]:.0f}", "middle"))
    parts.append(label(90, 336, f"counts with noise of deviation {of.plan.noise:.3g}", "start"))
    return svg("confusion matrix", 400, 344, parts)


def reliability(of: PrivateEvaluation) -> str:
    """How often the score comes true in each bin of it, with intervals; bins without an answer are left out."""
    parts = _axes("score", "share of hits")
    for low, high, rate in of.reliability:
        if rate.value is not None:
            x = _x((low + high) / 2)
            parts += [*_bar(x, rate), dot(x, _y(rate.value))]
    return svg("reliability", 400, 328, parts)


def roc(of: PrivateEvaluation) -> str:
    """True positive rate over false positive rate at each edge, with the interval of each; each by itself."""
    parts = _axes("false positive rate", "true positive rate")
    for _, false, true in of.roc:
        if false.value is None or true.value is None:
            continue
        x, y = _x(false.value), _y(true.value)
        parts += [
            *_bar(x, true),
            stroke(_x(false.low or 0.0), y, _x(false.high or 0.0), y, BLUE),
            dot(x, y),
        ]
    return svg("ROC", 400, 328, parts)


def page(of: PrivateEvaluation) -> str:
    """All of it as one self-contained page."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>prepriv evaluation</title><style>'
        ":root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;max-width:58rem;margin:2rem auto;"
        "padding:0 1rem}td,th{text-align:left;padding:.3rem .8rem .3rem 0}svg{width:100%;max-width:26rem}</style></head>"
        f"<body><h1>How good the model is</h1>{fragment(of)}</body></html>\n"
    )


def fragment(of: PrivateEvaluation) -> str:
    """The claim, the table and the pictures, for a page."""
    heads = "".join(f"<th>{h}</th>" for h in ("figure", "value", "95 % interval", "noise", "sampling"))
    rows = "".join(f"<tr>{''.join(f'<td>{escape(shown(c))}</td>' for c in line)}</tr>" for line in of.table())
    notes = "".join(f"<p>{escape(note)}</p>" for note in of.notes)
    return (
        f"<p>{escape(of.claim)}</p>{notes}<table><tr>{heads}</tr>{rows}</table><p>Each interval holds by itself, noise and "
        f'sampling included; both are standard deviations.</p><div class="figures">{"".join(pictures(of))}</div>'
    )


def _axes(across: str, up: str) -> list[str]:
    parts = [stroke(60, 280, 380, 20, "#888", dash=True), stroke(60, 280, 380, 280), stroke(60, 20, 60, 280)]
    for at in (0.0, 0.25, 0.5, 0.75, 1.0):
        parts += [label(_x(at), 297, f"{at:g}", "middle"), label(52, _y(at) + 4, f"{at:g}", "end")]
    return [*parts, label(220, 318, across, "middle"), label(16, 150, up, "middle", turned=True)]


def _bar(x: float, figure: Figure) -> list[str]:
    return [stroke(x, _y(figure.low or 0.0), x, _y(figure.high or 0.0), BLUE)]


def _x(share: float) -> float:
    return 60 + 320 * share


def _y(share: float) -> float:
    return 280 - 260 * share


def _short(name: str) -> str:
    return name if len(name) <= 10 else f"{name[:9]}…"
