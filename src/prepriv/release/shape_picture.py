"""The picture of a shape function as inline SVG: the same bytes for the same shape."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from prepriv.release.pictures import BLUE, GREY, label, stroke, svg
from prepriv.release.shapes import Shape

_MOST_BESIDE, _MOST_NAMED = 5, 24  # categories whose names stand beside each other; that are named


def shape_picture(found: Shape, output: int = 0) -> str:
    """Draw the function of one column of an additive model as SVG, with the band of the noise of training in grey.

    Parameters
    ----------
    found : Shape
        One of `Model.shapes`.
    output : int, default 0
        Which column of the scores is drawn.

    Returns
    -------
    str
        The picture, with the same bytes for the same shape. Missing cells have a step of their own beyond the last
        edge.

    Examples
    --------
    >>> import numpy as np
    >>> from prepriv.release.shape_picture import shape_picture
    >>> from prepriv.release.shapes import Shape
    >>> values = np.array([[-1.0], [1.0]])
    >>> shape_picture(Shape("age", np.array([18.0, 40.0, 90.0]), ("18 to 40", "40 to 90"), values, None))[:4]
    '<svg'
    """
    values = found.values[:, output]
    band = np.zeros(len(values)) if found.band is None else found.band
    edges = np.arange(len(values) + 1.0)
    if found.edges is not None:
        low, high = found.edges[0], found.edges[-1]
        gap = np.full(len(values) + 1 - len(found.edges), 1.08)
        edges = np.append((found.edges - low) / (high - low), gap)
    x = 60 + 320 * edges / edges[-1]
    most = max(float(np.abs(values).max() + band.max()), 1e-12)
    y = 130 - 110 * np.array([values, values - band, values + band]) / most
    steps = [[f"{at:.1f},{v:.1f}" for ends, v in zip(pairwise(x), row) for at in ends] for row in y]
    around = " ".join([*steps[1], *reversed(steps[2])])
    turned = found.edges is None and len(values) > _MOST_BESIDE
    height = 380 if turned else 300
    parts = [] if found.band is None else [f'<polygon points="{around}" fill="{GREY}" fill-opacity="0.25"/>']
    parts += [
        stroke(60, 130, 380, 130, GREY, dash=True),
        f'<polyline points="{" ".join(steps[0])}" fill="none" stroke="{BLUE}" stroke-width="2"/>',
        stroke(60, 20, 60, 240),
        *(label(54, 134 - 110 * t, f"{t * most:.3g}", "end") for t in (-1, 0, 1)),
        label(220, height - 10, found.column, "middle"),
    ]
    if found.edges is None:
        anchor, below = ("end", 250) if turned else ("middle", 262)
        parts += [
            label((a + b) / 2 + 4 * turned, below, name[:14], anchor, turned=turned)
            for (a, b), name in zip(pairwise(x), found.names[:_MOST_NAMED])
        ]
    else:
        last = float(x[len(found.edges) - 1])
        parts += [
            label(60, 262, f"{found.edges[0]:.6g}", "start"),
            label(last, 262, f"{found.edges[-1]:.6g}", "end"),
            *[label(380, 278, "missing", "end")] * (len(values) + 1 - len(found.edges)),
        ]
    return svg(f"What {found.column} adds to the score", 400, height, parts)
