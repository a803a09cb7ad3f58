"""`prepriv shuffle`: what n users' shuffled reports satisfy, by every method, side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from prepriv import guarantees as g
from prepriv._arguments import number
from prepriv.commands.exits import print_json
from prepriv.commands.outputs import writable_file
from prepriv.commands.printing import AsJson, console, print_table
from prepriv.guarantees.printed import exact, up
from prepriv.guarantees.shuffling.shuffle import Shuffled
from prepriv.guarantees.shuffling.variation_ratio import LocalRandomizer

_TITLES = {
    "exact": "exact (dominating pair)",
    "paper": "Unified Enhancement of Privacy Bounds, Theorem 4.2 (corrected)",
    "fmt": "Feldman, McMillan, Talwar 2023, closed form",
}
PICTURES = (".png", ".pdf", ".svg")


def shuffle(
    epsilon0: Annotated[float, typer.Option(help="Epsilon of each report by itself (pure local DP), >= 0.")],
    n: Annotated[int, typer.Option(help="Number of users, each with one report, >= 1.")],
    delta: Annotated[
        float, typer.Option(help="Chance left out of the guarantee, in (0, 1); well below 1 / n.")
    ],
    randomizer: Annotated[
        str | None,
        typer.Option(help='How reports are made, if you know it: "laplace" or "k-rr=K" (K categories).'),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Draw delta(epsilon) into this .png, .pdf or .svg file.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Print epsilon of n shuffled epsilon0-DP reports at DELTA: exact, and by two published bounds.

    Neighbours are replace-one: one user's record changes.
    """
    number("delta", delta, above=0.0, below=1.0)
    if plot is not None and plot.suffix.lower() not in PICTURES:
        raise ValueError(f"plot must end in one of {', '.join(PICTURES)}; got {plot.name!r}")
    if plot is not None:
        writable_file(plot)
    curves = {_TITLES[method]: g.shuffle(epsilon0, n, method=method) for method in _TITLES}
    if randomizer is not None:
        known = _randomizer(randomizer)
        curves = {f"{randomizer} (its blanket)": g.shuffle(epsilon0, n, randomizer=known), **curves}
    rows = [(title, up(curve.epsilon(delta), 10), _note(curve, delta)) for title, curve in curves.items()]
    rows.append(("no shuffling", exact(epsilon0), "each report on its own"))
    print_table(
        f"ε of {n:,} shuffled {exact(epsilon0)}-DP reports at δ = {exact(delta)} (replace-one)",
        ("method", "ε", "note"),
        rows,
        right=(1,),
    )
    if as_json:
        found = {title: curve.epsilon(delta) for title, curve in curves.items()}
        print_json({"epsilon0": epsilon0, "n": n, "delta": delta, "epsilon": found})
    if plot is not None:
        draw(curves, delta, plot)
        console.print(f"wrote {plot}")


def _note(curve: Shuffled, delta: float) -> str:
    epsilon = curve.epsilon(delta)
    if epsilon >= curve.epsilon0 * (1.0 - 1e-6):
        return "no amplification: ε0 is all that is left"
    found = curve.bounds(epsilon)
    if found.truncated_mass == 0.0:
        return "closed form"
    gap = found.upper / found.lower - 1.0 if found.lower > 0.0 else float("inf")
    return f"δ(ε) certified to {up(gap, 1)}; truncated mass {up(found.truncated_mass, 2)}, included"


def _randomizer(text: str) -> LocalRandomizer:
    name, _, size = text.partition("=")
    if name == "laplace" and not size:
        return g.local_laplace()
    if name == "k-rr" and size.isdigit():
        return g.k_randomized_response(int(size))
    raise ValueError(
        f'randomizer must be "laplace" or "k-rr=K" with K a whole number, 2 or more; got {text!r}'
    )


def draw(curves: dict[str, Shuffled], delta: float, path: Path) -> None:
    """delta against epsilon of every curve, logarithmic, and the delta asked for."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    some = next(iter(curves.values()))
    reach = min(
        some.epsilon0, 1.3 * max(curve.epsilon(max(1e-3 * delta, 1e-100)) for curve in curves.values())
    )
    points = np.linspace(0.0, reach if reach > 0.0 else 1.0, 40 if some.n > 10**7 else 121)
    figure = Figure(figsize=(6.0, 4.0), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    for title, curve in curves.items():
        value = np.asarray(curve.delta(points))
        axes.semilogy(points, np.where(value > 1e-290, value, np.nan), label=title)
    axes.axhline(delta, color="0.7", linestyle=":")
    axes.set(xlabel="ε", ylabel="δ(ε)", title=f"{some.n} shuffled {exact(some.epsilon0)}-DP reports")
    axes.set_ylim(max(1e-3 * delta, 1e-100), 1.0)
    axes.legend(fontsize="small")
    figure.savefig(path, dpi=150)
