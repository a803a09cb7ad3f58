"""Figures 1 to 3 of Unified Enhancement of Privacy Bounds: type II error against type I error, drawn so that each curve is seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from prepriv_papers.drawn import drawn, new_figure

Curves = Mapping[str, Sequence[float]]
STYLES: tuple[dict[str, Any], ...] = (
    {"lw": 1.4},
    {"lw": 2.6, "ls": ":"},
    {"lw": 1.4, "ls": "--"},
    {"lw": 1.4, "ls": "-."},
)


@drawn
def panels(path: Path, title: str, alpha: Sequence[float], curves: Mapping[str, Curves], near: float) -> None:
    """One column a panel: the whole curves above, their left end (alpha up to `near`, on a log scale) below.

    curves: of each panel, by its title; each curve has the values at `alpha`.
    """
    figure = new_figure(4.2 * len(curves), 7.6)
    figure.suptitle(title)
    axes = figure.subplots(2, len(curves), squeeze=False)
    for column, (name, each) in enumerate(curves.items()):
        whole, left = axes[0][column], axes[1][column]
        for place in (whole, left):
            _lines(place, alpha, each)
        whole.set(title=name, xlim=(0, 1), ylim=(0, 1), aspect="equal")
        seen = [b for values in each.values() for a, b in zip(alpha, values) if 0 < a <= near]
        left.set(
            title=f"the same for α up to {near:g}", xscale="log", xlim=(min(a for a in alpha if a > 0), near)
        )
        left.set_ylim(max(0.0, min(seen) - 0.05), 1.01)
    _finish(figure, list(axes.flat), path)


@drawn
def row(path: Path, title: str, alpha: Sequence[float], curves: Mapping[str, Curves], near: float) -> None:
    """Two panels side by side for each entry: its left end, (a), and the whole, (b), as Figure 3 has them."""
    figure = new_figure(10.0, 5.2)
    figure.suptitle(title)
    axes = figure.subplots(1, 2)
    ((name, each),) = curves.items()
    for place in axes:
        _lines(place, alpha, each)
    axes[0].locator_params(nbins=5)
    axes[0].set(title=f"(a) {name}: top-left corner", xlim=(0, near), ylim=(1 - 3 * near, 1.0))
    axes[1].set(title=f"(b) {name}", xlim=(0, 1), ylim=(0, 1), aspect="equal")
    _finish(figure, axes, path)


def _lines(place: Any, alpha: Sequence[float], curves: Curves) -> None:
    place.plot(alpha, [1 - a for a in alpha], color="0.7", label="perfect privacy (chance)")
    for style, (name, values) in zip(STYLES, curves.items()):
        place.plot(alpha, values, label=name, **style)


def _finish(figure: Any, axes: Any, path: Path) -> None:
    for place in axes:
        place.set(xlabel="type I error α", ylabel="type II error β")
    handles: dict[str, Any] = {}
    for place in axes:
        handles |= {name: line for line, name in zip(*place.get_legend_handles_labels())}
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=3)
    figure.savefig(path, dpi=110)
