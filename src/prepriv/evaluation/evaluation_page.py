"""An evaluation as inline SVG and one page: confusion matrix, reliability, ROC, residuals, with what noise does to them."""

from __future__ import annotations

from html import escape

from markupsafe import escape as marked

from prepriv._text import printable
from prepriv.evaluation.evaluation_plan import WHICH_ROWS
from prepriv.evaluation.group_pictures import groups_in_html
from prepriv.evaluation.intervals import Figure
from prepriv.evaluation.result import PrivateEvaluation
from prepriv.evaluation.thresholds import THRESHOLDS_ARE_FREE, threshold_heads
from prepriv.release.advice import to_do
from prepriv.release.pictures import BLUE, GREY, coded, dot, label, page_style, stroke, svg, unit_axes
from prepriv.release.report import as_text

_MOST_NAMED = 20  # classes of a matrix whose cells are written out
_BAND = 1.96  # standard deviations: what noise stays within 95 times in 100
_DIAGONAL = stroke(60, 280, 380, 20, GREY, dash=True)
_UNPAID = (
    "<p>How large errors of either sign are is not drawn: it was not paid for. <code>--measure residuals</code>, beside "
    "the others, or <code>measures=</code> in Python, asks for it.</p>"
)


def pictures(of: PrivateEvaluation) -> list[str]:
    """Those that the plan measured something for."""
    out = []
    if "confusion" in of.counts:
        out.append(confusion(of))
    if of.reliability:
        out.append(reliability(of))
    if of.roc:
        out.append(roc(of))
    if of.residuals:
        out.append(f"<figure>{residuals(of)}<figcaption>{escape(_caption(of))}</figcaption></figure>")
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
                f'fill-opacity="{depth / 2:.2f}" stroke="{GREY}"/>'
            )
            if k <= _MOST_NAMED // 2:
                parts.append(label(x + side / 2, y + side / 2 + 4, f"{counts[i, j]:,.0f}", "middle"))
    parts.append(label(90, 336, f"counts, each with noise of deviation {of.all_rows.noise:.3g}", "start"))
    return svg("confusion matrix", 400, 344, parts)


def reliability(of: PrivateEvaluation) -> str:
    """How often the score comes true in each bin of it, with intervals; bins without an answer are left out."""
    parts = [_DIAGONAL, *unit_axes("score", "share of hits")]
    for low, high, rate in of.reliability:
        if rate.value is not None:
            x = _x((low + high) / 2)
            parts += [*_bar(x, rate), dot(x, _y(rate.value))]
    return svg("reliability", 400, 328, parts)


def roc(of: PrivateEvaluation) -> str:
    """True positive rate over false positive rate at each edge, with the interval of each; each by itself."""
    parts = [_DIAGONAL, *unit_axes("false positive rate", "true positive rate")]
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


def residuals(of: PrivateEvaluation) -> str:
    """Noisy numbers of rows by target less prediction; grey: where each would lie for the noise alone. Below zero no bar."""
    reach, rows = _BAND * of.all_rows.noise, [count for _, _, count in of.residuals]
    bound, top = of.plan.error_bound or 0.0, max(1.0, max(rows) + reach)
    wide = 320 / len(rows)
    parts = [stroke(220, 20, 220, 280, GREY, dash=True)]
    for k, count in enumerate(rows):
        for low, high, colour in ((0.0, count, BLUE), (count - reach, count + reach, GREY)):
            bottom, height = _y(max(0.0, low) / top), 260 * (max(0.0, high) - max(0.0, low)) / top
            parts.append(
                f'<rect x="{60 + wide * k:.1f}" y="{bottom - height:.1f}" width="{max(0.5, wide - 1):.1f}" '
                f'height="{height:.1f}" fill="{colour}" fill-opacity="0.45"/>'
            )
    parts += [stroke(60, 280, 380, 280), stroke(60, 20, 60, 280)]
    for at in (0.0, 0.25, 0.5, 0.75, 1.0):
        parts.append(label(_x(at), 297, f"{bound * (2 * at - 1):.4g}", "middle"))
    parts += [label(54, _y(t) + 4, f"{top * t:.3g}", "end") for t in (0.0, 0.5, 1.0)]
    parts += [
        label(220, 318, "target less prediction", "middle"),
        label(16, 150, "rows", "middle", turned=True),
    ]
    told = "; ".join(f"{low:.4g} to {high:.4g}: {count:.0f} rows" for low, high, count in of.residuals)
    return svg("Residuals", 400, 328, parts, f"{told}; each with noise of deviation {of.all_rows.noise:.3g}")


def _caption(of: PrivateEvaluation) -> str:
    bound = of.plan.error_bound or 0.0
    return (
        "Each bar is a number of rows by their error. To the right of the middle the target lies above its prediction. The bars at "
        f"the ends hold all errors beyond {bound:,.4g}. Grey is the range in which noise alone leaves each bar 95 times in 100, "
        "whichever rows were drawn. Bars within each other's grey may well be equal."
    )


def page_of(of: PrivateEvaluation) -> str:
    """All of it as one self-contained page."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>prepriv evaluation</title><style>\n{page_style()}</style></head>"
        f"<body><main><h1>How good the model is</h1>{quality_in_html(of)}{_promise(of)}{_whose(of)}{fragment(of)}{_data(of)}</main></body></html>\n"
    )


def _data(of: PrivateEvaluation) -> str:
    """All of it as data, from which the page is made again, word for word."""
    return f'<details><summary>Everything, as data</summary><pre id="data">{marked(as_text(of.data()))}</pre></details>'


def _promise(of: PrivateEvaluation) -> str:
    """What the claim of the score means, in guesses; nothing where nothing is claimed."""
    return f"<p>{coded(' '.join(of.promised))}</p>" if of.promised else ""


def _whose(of: PrivateEvaluation) -> str:
    """Which model was measured, by the hash of its file, as its own page and a ledger name it."""
    digest = of.plan.model
    if digest is None:
        return ""
    return f"<p>The model that was measured is the one whose file, model.json, has the SHA-256 <code>{escape(digest)}</code>.</p>"


def quality_in_html(of: PrivateEvaluation) -> str:
    """How good the model is, for whom it fails and what to do about it, in plain sentences."""
    found = of.quality
    good, *rest = (found.good(), found.fails(), to_do(found, weighed=of.weighed, weak=False))
    rows = f'<p class="{WHICH_ROWS}">{escape(of.which_rows)}</p>' if of.which_rows else ""
    return f"<p>{coded(' '.join(good))}</p>{rows}" + "".join(
        f"<p>{coded(' '.join(said))}</p>" for said in rest
    )


def thresholds_in_html(of: PrivateEvaluation) -> str:
    """Recall and precision at each threshold that was paid for, as a table, or why there is none."""
    if not of.thresholds:
        return f"<p>{escape(of.no_thresholds)}.</p>" if of.no_thresholds else ""
    named = of.thresholds[0].of
    heads = "".join(f'<th scope="col">{escape(printable(h))}</th>' for h in threshold_heads(named))
    lines = "".join(
        f"<tr>{''.join(f'<td>{escape(printable(c))}</td>' for c in one.cells)}</tr>" for one in of.thresholds
    )
    return (
        f"<h2>Thresholds</h2><table><tr>{heads}</tr>{lines}</table><p>{coded(THRESHOLDS_ARE_FREE)} Each interval holds by itself, and "
        "the best of several lines looks better than it is.</p>"
    )


def _accuracy(of: PrivateEvaluation) -> list[tuple[str, str, str, str, str]]:
    """The line of the first sentence of a page, where the figures have none of it."""
    found = of.all_rows.right
    return [] if found is None or found.name in of.figures else [found.cells]


def fragment(of: PrivateEvaluation) -> str:
    """The claim, the table and the pictures, for a page."""
    heads = "".join(
        f'<th scope="col">{h}</th>' for h in ("figure", "value", "95 % interval", "noise", "sampling")
    )
    rows = "".join(
        f"<tr>{''.join(f'<td>{escape(printable(c))}</td>' for c in line)}</tr>"
        for line in (*_accuracy(of), *of.table())
    )
    notes = "".join(f"<p>{escape(note)}</p>" for note in of.notes)
    unpaid = _UNPAID if of.plan.error_bound is not None and not of.residuals else ""
    return (
        f"<p>{escape(of.claim)}</p>{notes}<table><tr>{heads}</tr>{rows}</table><p>Each interval holds by itself, and includes noise and "
        f'sampling. Both are standard deviations, or upper limits of them.</p><div class="figures">{"".join(pictures(of))}</div>{thresholds_in_html(of)}{unpaid}{groups_in_html(of)}'
    )


def _bar(x: float, figure: Figure) -> list[str]:
    return [stroke(x, _y(figure.low or 0.0), x, _y(figure.high or 0.0), BLUE)]


def _x(share: float) -> float:
    return 60 + 320 * share


def _y(share: float) -> float:
    return 280 - 260 * share


def _short(name: str) -> str:
    return name if len(name) <= 10 else f"{name[:9]}…"
