"""Plots of trade-off functions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from prepriv.guarantees.tradeoff import TradeoffFunction


def draw(curves: Mapping[str, TradeoffFunction], path: str | None = None) -> Figure:
    """Type II error against type I error of every curve, and the diagonal of perfect privacy.

    path: where to save the picture (its ending names the format), if given.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.5, 4.5), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    near = np.geomspace(1e-6, 0.02, 60)
    alpha = np.unique(np.concatenate([[0.0], near, np.linspace(0.02, 0.98, 241), 1.0 - near, [1.0]]))
    axes.plot([0.0, 1.0], [1.0, 0.0], color="0.7", linestyle=":", label="perfect privacy")
    for name, curve in curves.items():
        axes.plot(alpha, curve(alpha), label=name)
    axes.set(xlabel="type I error α", ylabel="type II error β", xlim=(0, 1), ylim=(0, 1), aspect="equal")
    axes.legend()
    if path is not None:
        figure.savefig(path, dpi=150)
    return figure
