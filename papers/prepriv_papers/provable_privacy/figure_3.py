"""Figure 3 and Table 4 of Provable Privacy with Non-Private Pre-Processing: what dimension reduction buys, and what it costs.

As the paper runs it: approximately low-rank data, reduced to k dimensions without noise, then a private logistic regression in
R^k; DP-PCA of Chaudhuri, Sarwate and Sinha, and no pre-processing, beside it; for its learner and for ours.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from prepriv import payment as pay
from prepriv import preprocessing as pre
from prepriv._arrays import Floats
from prepriv.commands.printing import console, print_table
from prepriv.domain import Domain
from prepriv.guarantees import gdp_mu
from prepriv.preprocessing._projector import gap_free_shift
from prepriv_papers.provable_privacy.dp_pca import analyze_gauss, exponential_directions
from prepriv_papers.provable_privacy.drawing import draw_figure_3
from prepriv_papers.provable_privacy.low_rank import (
    BALL,
    BATCH,
    CLIP,
    DELTA,
    EPOCHS,
    RATE,
    Size,
    Task,
    accuracy,
    gradient_shift,
    make_task,
    mean_loss,
    train,
    train_as_printed,
)
from prepriv_papers.verdicts import Resume

PAPER_TABLE_4 = {1.0: (0.84, 0.89, 0.88, 0.89), 2.0: (0.84, 0.89, 0.89, 0.89), 5.0: (0.85, 0.90, 0.90, 0.90)}
CLIPS = (0.1, 0.7, 0.99, 1.0)
STRENGTHS = (0.1, 0.03, 0.01)
THEIRS, OURS = "the paper's learner", "our learner"
NOTHING, FREE = "no pre-processing", "reduced to k, not priced"
PAPER, UNSCALED = "reduced to k, paper's 12.2/gap", "reduced to k, 12.2/gap of the unscaled rows"
GAP_FREE = "rank reduction in R^d, gap-free"
DP_PCA, GAUSS = "DP-PCA, half the budget", "Analyze-Gauss, half the budget"
VALID = {  # what a line's (ε, δ) rests on; those not named here have no guarantee
    NOTHING: "yes",
    PAPER: "as that of replacing all rows",
    GAP_FREE: "if Λ is as declared, while the map is secret",
    DP_PCA: "yes",
    GAUSS: "yes",
} | {f"soft PCA, λ = {s}": "yes, while the map is secret" for s in STRENGTHS}

Scores = Callable[[float, int], Floats]


def prices(size: Size, gap: float, tail: float) -> dict[str, float]:
    """Total shift of the common rows in the unit ball, by method, where something valid or printed is known.

    Gap-free: between data whose eigenvalues beyond the k-th sum to `tail` and any neighbour.
    """
    domain = Domain.ball(size.d, [0, 1])
    by_gap = pre.RankReduction(size.rank, payment=pay.Sensitivity({"gap": gap}))
    found = {NOTHING: 0.0, PAPER: 12.2 / gap, UNSCALED: 12.2 / (gap * size.radius**2)}
    found["rank reduction in R^d, by the gap"] = by_gap.sensitivity(domain, size.n).total_shift
    found[GAP_FREE] = gap_free_shift(size.n, 1.0, tail, tail + 1 / size.n)
    for strength in STRENGTHS:
        step = pre.SoftPCA(strength, payment=pay.Sensitivity())
        found[f"soft PCA, λ = {strength}"] = step.sensitivity(domain, size.n).total_shift
    return found


def soft(rows: Floats, strength: float) -> Floats:
    """Soft PCA of the rows, by their singular values: what `SoftPCA` fits, in O(n^2 d)."""
    left, singular, right = np.linalg.svd(rows, full_matrices=False)
    square = singular**2 / len(rows)
    return np.asarray((left * (singular * square / (square + strength))) @ right)


def methods(task: Task, shifts: Mapping[str, float]) -> dict[str, dict[str, Scores]]:
    """By learner and method: scores of one run at epsilon. The number of the run says which private directions are shared."""
    y, k, radius = task.labels, task.size.rank, task.size.radius
    reduced, raw = task.rows @ task.directions, task.raw @ task.directions
    moment = functools.cache(lambda: task.rows.T @ task.rows)

    @functools.lru_cache(maxsize=1)
    def dp_pca(epsilon: float, run: int) -> Floats:
        squares = task.eigenvalues * task.size.n
        return exponential_directions(task.basis, squares, k, epsilon / 2)

    @functools.lru_cache(maxsize=1)
    def gauss(epsilon: float, run: int) -> Floats:
        return analyze_gauss(moment(), task.size.n, k, gdp_mu(epsilon / 2, DELTA / 2))

    def ours(rows: Floats, total: float) -> Scores:
        return lambda epsilon, _: train(rows, y, gdp_mu(epsilon, DELTA), total)[0]

    def theirs(rows: Floats, tau: float) -> Scores:
        return lambda epsilon, _: train_as_printed(rows, y, epsilon, radius, tau)

    def half_ours(directions: Callable[[float, int], Floats]) -> Scores:
        return lambda e, run: train(task.rows @ directions(e, run), y, gdp_mu(e / 2, DELTA / 2))[0]

    def half_theirs(directions: Callable[[float, int], Floats]) -> Scores:
        return lambda e, run: train_as_printed(
            task.raw @ directions(e, run), y, e / 2, radius, delta=DELTA / 2
        )

    by_soft = {f"soft PCA, λ = {s}": soft(task.rows, s) for s in STRENGTHS}
    return {
        THEIRS: {
            NOTHING: theirs(task.raw, 0.0),
            FREE: theirs(raw, 0.0),
            UNSCALED: theirs(raw, shifts[UNSCALED]),
            PAPER: theirs(raw, shifts[PAPER]),
            DP_PCA: half_theirs(dp_pca),
            GAUSS: half_theirs(gauss),
        },
        OURS: {
            NOTHING: ours(task.rows, 0.0),
            FREE: ours(reduced, 0.0),
            PAPER: ours(reduced, shifts[PAPER]),
            GAP_FREE: ours(task.rows @ task.directions @ task.directions.T, shifts[GAP_FREE]),
            **{name: ours(image, shifts[name]) for name, image in by_soft.items()},
            DP_PCA: half_ours(dp_pca),
            GAUSS: half_ours(gauss),
        },
    }


def figure_3(size: Size, out: Path) -> dict[str, Any]:
    """Run it, print what holds, write figure_3.csv and figure_3.png; rows of single runs in figure_3_runs.jsonl."""
    task = make_task(size)
    shifts = prices(size, task.gap, task.tail)
    facts: dict[str, Any] = {
        "n": size.n,
        "d": size.d,
        "k": size.rank,
        "declared_radius": size.radius,
        "eigenvalue_k": float(task.eigenvalues[size.rank - 1]),
        "eigenvalue_k_plus_1": float(task.eigenvalues[size.rank]),
        "tail": task.tail,
        "gap": task.gap,
        "gap_unscaled": task.gap * size.radius**2,
        "total_shift": shifts,
        "least_loss": task.least,
        "least_loss_unscaled": task.least_raw,
        "guessing": math.log(2.0) - task.least,
        "guessing_unscaled": math.log(2.0) - task.least_raw,
        "runs": size.runs,
    }
    _print_facts(task, shifts)
    lines = methods(task, shifts)
    setting = {"figure": 3, "size": list(map(str, vars(size).values()))}
    count = sum(map(len, lines.values())) * len(size.epsilons) * size.runs
    rows = Resume(out / "figure_3_runs.jsonl", setting, count)
    points: list[dict[str, Any]] = []
    for epsilon, run in itertools.product(size.epsilons, range(size.runs)):
        for name in dict.fromkeys(n for group in lines.values() for n in group):
            for learner in (who for who, group in lines.items() if name in group):
                key = f"{learner}, {name}, ε = {epsilon:g}, run {run + 1}"
                made = functools.partial(_one, task, learner, lines[learner][name], epsilon, run)
                found = rows.row(key, made)
                points.append({"learner": learner, "method": name, "epsilon": epsilon} | found)
    table = _means(points)
    for learner in lines:
        nothing = float(facts["guessing" if learner == OURS else "guessing_unscaled"])
        for what in ("excess_loss", "accuracy"):
            _print_points(learner, what, table, size.epsilons, nothing)
    draw_figure_3(out / "figure_3.png", table, task)
    return {"facts": facts, "points": table}


def _one(task: Task, learner: str, scores: Scores, epsilon: float, run: int) -> dict[str, Any]:
    made = scores(epsilon, run)
    least = task.least if learner == OURS else task.least_raw
    return {
        "excess_loss": mean_loss(made, task.labels) - least,
        "accuracy": accuracy(made, task.labels),
    }


def _means(points: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Mean and standard error over runs, for each learner, method and epsilon."""
    groups: dict[tuple[str, str, float], list[Mapping[str, Any]]] = {}
    for p in points:
        groups.setdefault((p["learner"], p["method"], p["epsilon"]), []).append(p)
    return [
        {"learner": learner, "method": name, "epsilon": epsilon}
        | {"guarantee": VALID.get(name, "none")}
        | mean_and_error("excess_loss", held)
        | mean_and_error("accuracy", held)
        for (learner, name, epsilon), held in groups.items()
    ]


def mean_and_error(what: str, rows: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Mean of one entry, and its standard error (0 for one row)."""
    values = [r[what] for r in rows]
    error = float(np.std(values, ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else 0.0
    return {what: float(np.mean(values)), f"{what}_error": error}


def ordering(points: Sequence[Mapping[str, Any]], learner: str, guessing: float) -> str:
    """In words: the method of least loss among those with a guarantee, by epsilon; "guessing" if that is no worse."""
    lowest = {}
    for epsilon in sorted({p["epsilon"] for p in points}):
        best = min(_held(points, learner, epsilon), key=lambda p: p["excess_loss"])
        better = best["excess_loss"] + 2 * best["excess_loss_error"] < guessing
        lowest[epsilon] = best["method"] if better else "guessing"
    names = list(dict.fromkeys(lowest.values()))
    return "; ".join(f"{n} (ε = {', '.join(f'{e:g}' for e in lowest if lowest[e] == n)})" for n in names)


def steps_that_win(points: Sequence[Mapping[str, Any]]) -> list[str]:
    """Steps with a guarantee that are not private themselves and lose less than no pre-processing, by two standard errors."""
    found = []
    for learner, epsilon in dict.fromkeys((p["learner"], p["epsilon"]) for p in points):
        held = {p["method"]: p for p in _held(points, learner, epsilon)}
        base = held.pop(NOTHING)
        for name in held.keys() - {DP_PCA, GAUSS}:
            error = math.hypot(base["excess_loss_error"], held[name]["excess_loss_error"])
            if held[name]["excess_loss"] + 2 * error < base["excess_loss"]:
                found.append(f"{name}, {learner}, ε = {epsilon:g}")
    return sorted(found)


def _held(points: Sequence[Mapping[str, Any]], learner: str, epsilon: float) -> list[Mapping[str, Any]]:
    return [
        p for p in points if (p["learner"], p["epsilon"]) == (learner, epsilon) and p["guarantee"] != "none"
    ]


def _print_facts(task: Task, shifts: Mapping[str, float]) -> None:
    size, most = task.size, 2.0 * (task.size.n - 1)
    k = size.rank
    console.print(
        f"\nFigure 3: make_classification {size.n} x {size.d}, {k} informative and {size.noise_columns} noise columns, the "
        f"rest combinations of the former; the unit ball is reached by the declared radius {size.radius:g}"
    )
    console.print(
        f"  λ_{k} = {task.eigenvalues[k - 1]:.2g}, λ_{k + 1} = {task.eigenvalues[k]:.2g}, Λ = {task.tail:.2g}: gap "
        f"{task.gap:.2g}. One record moves the second moment by {1 / size.n:g}. Unscaled, the gap is {task.gap * size.radius**2:,.0f}."
    )
    if shifts[PAPER] >= most:
        console.print(
            f"  VACUOUS: the paper's total shift 12.2 / gap = {shifts[PAPER]:,.0f} is more than moving all {size.n - 1} other "
            f"rows across the ball, {most:,.0f}: in its own setting its theorem says no more than group privacy. With the gap "
            f"of the unscaled rows the formula gives {shifts[UNSCALED]:.2g}, but its rows have norm 1."
        )
    console.print(
        f"  The paper's learner: DP-SGD, rate {RATE:g}, clip norm {CLIP:g}, {EPOCHS} epochs, batches of {BATCH} (not given there), "
        f"add-or-remove-one, unscaled rows. Ours: full batches, weights in a ball of radius {BALL:g}, replace-one, unit ball."
    )
    print_table(
        "Total shift of the common rows, and noise of our learner over that of training alone",
        ["method", "total shift", "noise"],
        [
            [name, f"{v:,.3g}", f"x {gradient_shift(v, size.n) / gradient_shift(0.0, size.n):.4g}"]
            for name, v in shifts.items()
        ],
        right=(1, 2),
    )


def _print_points(
    learner: str, what: str, table: Sequence[Mapping[str, Any]], epsilons: Sequence[float], nothing: float
) -> None:
    mine = [p for p in table if p["learner"] == learner]
    names = list(dict.fromkeys(p["method"] for p in mine))
    at = {(p["method"], p["epsilon"]): p for p in mine}
    chance = f"guessing: {nothing:.3f}" if what == "excess_loss" else "guessing: 0.5"
    cells = [
        [
            n,
            at[n, epsilons[0]]["guarantee"],
            *(f"{at[n, e][what]:.3g} ± {at[n, e][f'{what}_error']:.1g}" for e in epsilons),
        ]
        for n in names
    ]
    print_table(
        f"Figure 3, {learner}: {what.replace('_', ' ')} at δ = {DELTA:g}, mean ± standard error ({chance})",
        ["method", "guarantee", *(f"ε = {e:g}" for e in epsilons)],
        cells,
        right=range(2, len(epsilons) + 2),
    )


# ---- Table 4 -----------------------------------------------------------------------------------------------
def table_4(size: Size, out: Path) -> list[dict[str, Any]]:
    """Accuracies: rows clipped to a share of the largest norm, then reduced by the directions of the unclipped rows."""
    task = make_task(size)
    epsilons = [e for e in PAPER_TABLE_4 if e in size.epsilons]
    norms = np.linalg.norm(task.raw, axis=1, keepdims=True)
    largest, gap = float(norms.max()), task.gap * size.radius**2
    setting = {"table": 4, "size": list(map(str, vars(size).values()))}
    rows = Resume(out / "table_4_runs.jsonl", setting, 2 * len(CLIPS) * len(epsilons) * size.runs)
    table = []
    for epsilon, (column, clip) in itertools.product(epsilons, enumerate(CLIPS)):
        clipped = task.raw * np.minimum(1.0, clip * largest / norms) @ task.directions
        row: dict[str, Any] = {"epsilon": epsilon, "clip": clip, "paper": PAPER_TABLE_4[epsilon][column]}
        for name, tau in (("not_priced", 0.0), ("as_printed", 12.2 * clip * largest / gap)):
            runs = [
                rows.row(
                    f"{name}, clip {clip:g}, ε = {epsilon:g}, run {run + 1}",
                    functools.partial(_accuracy, task, clipped, epsilon, size.radius, tau),
                )
                for run in range(size.runs)
            ]
            held = mean_and_error("accuracy", runs)
            row |= {name: held["accuracy"], f"{name}_error": held["accuracy_error"]}
        table.append(row)
    print_table(
        "Table 4, read as accuracies on the training rows (guessing: 0.5), clipped at a share of the largest norm",
        ["ε", "clip", "printed", "the paper's learner, not priced", "at its 12.2 C / gap, unscaled rows"],
        [
            [f"{r['epsilon']:g}", f"{r['clip']:g}", f"{r['paper']:.2f}"]
            + [f"{r[name]:.3f} ± {r[f'{name}_error']:.1g}" for name in ("not_priced", "as_printed")]
            for r in table
        ],
        right=range(5),
    )
    console.print(
        f"  Neither column has a guarantee: the largest norm and the directions are the data's own. Mean of {size.runs} runs."
    )
    return table


def _accuracy(task: Task, rows: Floats, epsilon: float, radius: float, tau: float) -> dict[str, Any]:
    return {"accuracy": accuracy(train_as_printed(rows, task.labels, epsilon, radius, tau), task.labels)}
