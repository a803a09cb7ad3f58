"""`prepriv reproduce preprocessing-figures`: Figures 2 and 3 and Table 4 of Provable Privacy with Non-Private Pre-Processing, and what the routes gain."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Annotated, Any

import typer

from prepriv import payment as pay
from prepriv import preprocessing as pre
from prepriv.commands.printing import console
from prepriv.guarantees import gdp_epsilon, zcdp
from prepriv.guarantees.smooth_mechanisms import gaussian_mechanism
from prepriv.guarantees.smooth_renyi import paper_theorem_2
from prepriv.preprocessing.base import Step
from prepriv.space import Space
from prepriv_papers.counterexamples import measured
from prepriv_papers.folder import reproduction_folder
from prepriv_papers.provable_privacy.drawing import draw_figure_2, draw_gain
from prepriv_papers.provable_privacy.figure_3 import figure_3, table_4
from prepriv_papers.provable_privacy.imputations import box_space
from prepriv_papers.provable_privacy.items import FIGURES as ITEMS
from prepriv_papers.provable_privacy.low_rank import LARGE, SMALL
from prepriv_papers.provable_privacy.tables import show, write_csv, write_json
from prepriv_papers.verdicts import decide

DELTA = 1e-3  # of Figure 2, as the paper has it
ACCOUNT_DELTA = 1e-5
COLLECTIONS = {
    "quantization": "data sets with at most p/2 rows within 4η of any row: their largest good cluster has at most p/2",
    "imputation": "data sets of one column with at most p missing cells",
    "pca": "data sets whose eigenvalues have the gap in question",
}
ERRATA = ("P1", "P3")


def preprocessing_figures(
    out: Annotated[Path, typer.Option(help="Folder for the pictures (PNG) and numbers (CSV, JSON).")] = Path(
        "run/preprocessing-figures"
    ),
    small: Annotated[bool, typer.Option("--small", help="A few points, 200 x 300: seconds.")] = False,
) -> None:
    """Draw Figure 2, Figure 3 with Table 4, and the gain of the direct route; print and write the numbers."""
    reproduction_folder(out)
    panels = figure_2(small)
    for name, rows in panels.items():
        write_csv(out / f"figure_2_{name}.csv", rows)
        title = f"Figure 2, {name}: ε at δ = {DELTA:g}, Gaussian mechanism, ε = 1; {COLLECTIONS[name]}"
        show(title, list(rows[0]), rows[:: max(1, len(rows) // 6)], upper=True)
    draw_figure_2(out / "figure_2.png", panels, DELTA)
    settings = gain(small)
    write_csv(out / "gain.csv", settings)
    draw_gain(out / "gain.png", settings, ACCOUNT_DELTA)
    summary = _summary(settings)
    show(
        f"ε of the other routes over that of the direct route, {len(settings)} settings of DP-GD",
        ("route", "least", "median", "largest"),
        summary,
    )
    size = SMALL if small else LARGE
    numbers: dict[str, Any] = {"figure_2": panels, "gain": summary}
    numbers |= {"figure_3": figure_3(size, out), "table_4": table_4(size, out)}
    write_csv(out / "figure_3.csv", numbers["figure_3"]["points"])
    write_csv(out / "table_4.csv", numbers["table_4"])
    numbers["errata"] = measured(*ERRATA)
    numbers["verdicts"] = [vars(i) for i in decide(ITEMS, numbers, small=small)]
    write_json(out / "numbers.json", numbers)
    console.print(f"wrote {out / 'numbers.json'}, one CSV a figure, figure_2.png, figure_3.png, gain.png")


# ---- Figure 2 -----------------------------------------------------------------------------------------
def figure_2(small: bool = False) -> dict[str, list[dict[str, float]]]:
    """Epsilon of the pre-processed Gaussian mechanism against the parameter of each of the three panels.

    Each panel has one collection of data sets for all its lines (`COLLECTIONS`). "paper" is its Theorem 2 with c = 2 and its
    own sensitivities on that collection; for quantization those are false.
    """
    count = 6 if small else 40
    quantization, imputation, projection = [], [], []
    for p in _spread(2, 200, count, even=True):
        row: dict[str, float] = {"p": p, "group": _group(p)}
        for eta in (0.01, 0.1):
            step = pre.Quantize(eta, payment=pay.Sensitivity({"max_neighbors": p // 2}))
            row |= {f"paper (false), η = {eta}": _paper(eta * p), f"ours, η = {eta}": _ours(step, Space.ball(10, 1.0), 1000)}  # fmt: skip
        quantization.append(row)
    for p in _spread(1, 950, count):
        imputer = pre.MeanImputer(payment=pay.Sensitivity({"missing": p / 1000}))
        ours = _ours(imputer, box_space(1, missing=[0]), 1000)
        imputation.append(
            {"missing of 1000": p, "group": _group(p), "paper": _paper(2 * p / (1000 - p)), "ours": ours}
        )
    for n in _spread(101, 100_000, count):
        row = {"n": n, "group": _group(n - 1)}
        for gap in (0.1, 0.4):
            projected = pre.RankReduction(2, payment=pay.Sensitivity({"gap": gap}))
            row |= {f"paper, gap {gap}": _paper(12.2 / gap), f"ours, gap {gap}": _ours(projected, Space.ball(10, 1.0), n)}  # fmt: skip
        projection.append(row)
    return {"quantization": quantization, "imputation": imputation, "pca": projection}


def _spread(low: int, high: int, count: int, *, even: bool = False) -> list[int]:
    """Whole numbers from low to high, evenly on a log scale."""
    ratio = (high / low) ** (1 / (count - 1))
    points = {min(high, max(low, round(low * ratio**i))) for i in range(count)} | {low, high}
    return sorted({2 * (p // 2) for p in points} if even else points)


def _group(moved: int) -> float:
    return gdp_epsilon(1.0 + moved, DELTA)


def _paper(tau: float) -> float:
    mechanism = gaussian_mechanism(1.0, lipschitz=1.0, sensitivity=1.0)
    return paper_theorem_2(mechanism.renyi, mechanism.smooth.at(tau)).epsilon(DELTA)


def _ours(step: Step, space: Space, n: int) -> float:
    return gdp_epsilon(1.0 + step.sensitivity(space, n).total_shift, DELTA)


# ---- what the direct route gains ----------------------------------------------------------------------
def gain(small: bool = False) -> list[dict[str, float]]:
    """Full-batch DP-GD: epsilon by the direct route, optimised Theorem 2 and group privacy, on a grid.

    1,000 settings: noise over the clip, steps, rows moved, row shift, Lipschitz constant of the gradient.
    Every row moves by `row_shift`, so the total shift is their product. delta is 1e-5.
    """
    grid = product(
        (0.5, 2.0, 8.0, 30.0, 100.0),
        (1, 20, 400, 5000),
        (1, 3, 20, 400, 9999),
        (1e-4, 1e-2, 0.1, 1.0, 2.0),
        (1.0, 3.0),
    )
    found = []
    for noise, steps, moved, row, mu in list(grid)[:: 97 if small else 1]:
        unit, tau = math.sqrt(steps) / noise, row * moved
        direct = unit * (2 + min(mu * tau, 2 * moved))
        smooth = unit * (2 + mu * tau)
        found.append(
            {
                "noise": noise,
                "steps": steps,
                "rows_moved": moved,
                "row_shift": row,
                "lipschitz": mu,
                "direct": gdp_epsilon(direct, ACCOUNT_DELTA),
                "smooth": zcdp(smooth**2 / 2).epsilon(ACCOUNT_DELTA),
                "group": gdp_epsilon(unit * 2 * (moved + 1), ACCOUNT_DELTA),
            }
        )
    return found


def _summary(settings: Sequence[Mapping[str, float]]) -> list[dict[str, Any]]:
    rows = []
    for name, key in (("smooth RDP (Theorem 2, optimised)", "smooth"), ("group privacy", "group")):
        factors = sorted(s[key] / s["direct"] for s in settings)
        rows.append(
            {"route": name, "least": factors[0], "median": factors[len(factors) // 2], "largest": factors[-1]}
        )
    return rows
