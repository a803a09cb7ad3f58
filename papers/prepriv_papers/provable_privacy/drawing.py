"""The pictures of the reproductions of Provable Privacy with Non-Private Pre-Processing."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from prepriv_papers.drawn import drawn, new_figure
from prepriv_papers.provable_privacy.low_rank import DELTA, Task

FAR = 1e5  # epsilon beyond which nothing is drawn
Rows = Sequence[Mapping[str, Any]]


def legend_below(axes: Any, columns: int = 2) -> None:
    """The legend under the axes, where it covers no curve."""
    axes.legend(
        fontsize="small", loc="upper center", bbox_to_anchor=(0.5, -0.16), ncol=columns, frameon=False
    )


TITLES = {
    "quantization": (
        "η-quantization, n = 1000 in the unit ball of R¹⁰",
        "p: twice the most rows within 4η of a row",
    ),
    "imputation": ("mean imputation, n = 1000 in [−1, 1]", "p: rows with a missing cell"),
    "pca": ("PCA, rank reduction, in the unit ball of R¹⁰", "n: rows"),
}


@drawn
def draw_figure_2(path: Path, panels: Mapping[str, Rows], delta: float) -> None:
    """Epsilon over the parameter of each panel: group privacy, the paper, ours, on the same collection of data sets."""
    figure = new_figure(14, 5.4)
    figure.suptitle(
        f"Gaussian mechanism (ε = 1, Δ = 1, 1-Lipschitz) behind a step fitted without noise; replace-one, δ = {delta:g}"
    )
    for i, (name, rows) in enumerate(panels.items(), 1):
        axes = figure.add_subplot(1, 3, i)
        parameter, *lines = rows[0]
        for line in lines:
            style = ":" if line == "group" else "--" if line.startswith("paper") else "-"
            label = "group privacy" if line == "group" else line
            axes.plot([r[parameter] for r in rows], [r[line] for r in rows], style, label=label)
        title, unit = TITLES[name]
        axes.set(xlabel=unit, ylabel="ε of the whole", title=title, xscale="log", yscale="log", ylim=(1, FAR))
        axes.title.set_fontsize("medium")
        legend_below(axes)
    figure.savefig(path, dpi=130)


@drawn
def draw_gain(path: Path, settings: Rows, delta: float) -> None:
    """What the direct route gains over smooth RDP and over group privacy."""
    figure = new_figure(7, 5)
    axes = figure.add_subplot()
    near = [s for s in settings if s["direct"] <= FAR]
    for name, key, marker in (
        ("group privacy", "group", "."),
        ("smooth RDP (Theorem 2, optimised)", "smooth", "x"),
    ):
        axes.plot(
            [s["direct"] for s in near],
            [s[key] / s["direct"] for s in near],
            marker,
            markersize=4,
            alpha=0.6,
            label=f"{name} over the direct route",
        )
    axes.axhline(1.0, color="0.5", linewidth=0.8, label="no gain")
    axes.set(
        xlabel=f"ε by the direct route (replace-one, δ = {delta:g})",
        ylabel="ε of the other route over it",
        title=f"Full-batch DP-GD behind a confidential step: {len(settings)} settings",
        xscale="log",
        yscale="log",
    )
    legend_below(axes, 1)
    figure.savefig(path, dpi=130)


@drawn
def draw_figure_3(path: Path, points: Rows, task: Task) -> None:
    """Excess loss and accuracy over epsilon, a row of panels for each learner, error bars of one standard error."""
    size, least = task.size, {"our learner": task.least, "the paper's learner": task.least_raw}
    figure = new_figure(13, 11.5)
    figure.suptitle(
        f"make_classification {size.n} × {size.d}, {size.rank} informative and {size.noise_columns} noise columns; logistic "
        f"regression, δ = {DELTA:g}; mean of {size.runs} runs ± one standard error"
    )
    learners = list(dict.fromkeys(p["learner"] for p in points))
    names = list(dict.fromkeys(p["method"] for p in points))
    marks = {name: (marker, f"C{i % 10}") for i, (name, marker) in enumerate(zip(names, "osv^D<>Pp*X"))}
    for i, learner in enumerate(learners):
        mine = [p for p in points if p["learner"] == learner]
        for j, (what, label) in enumerate(
            (("excess_loss", "excess empirical loss (nats)"), ("accuracy", "accuracy on the training rows"))
        ):
            axes = figure.add_subplot(len(learners), 2, 2 * i + j + 1)
            for name in dict.fromkeys(p["method"] for p in mine):
                line = [p for p in mine if p["method"] == name]
                none = line[0]["guarantee"] == "none"
                axes.errorbar(
                    [p["epsilon"] for p in line],
                    [p[what] for p in line],
                    [p[f"{what}_error"] for p in line],
                    fmt=f"{marks[name][0]}{'--' if none else '-'}",
                    color=marks[name][1],
                    markersize=4,
                    capsize=2,
                    label=name + (" (no guarantee)" if none else ""),
                )
            chance = math.log(2.0) - least[learner] if what == "excess_loss" else 0.5
            axes.axhline(chance, color="0.5", linestyle=":", label="guessing (weights zero)")
            axes.set(xlabel="ε", ylabel=label, title=learner, xscale="log")
            if what == "excess_loss" and learner == "the paper's learner":
                axes.set(yscale="log")
            legend_below(axes)
    figure.savefig(path, dpi=110)
