"""`prepriv reproduce soft-pca`: soft PCA beside hard PCA with propose-test-release, price and accuracy."""

from __future__ import annotations

import dataclasses
import json
import math
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

import prepriv
from prepriv import payment as pay
from prepriv import preprocessing as pre
from prepriv.commands.common import console, reproduction_folder
from prepriv.commands.exits import Stop
from prepriv.domain import Domain
from prepriv.learners.gradient_descent import GradientDescent
from prepriv.learners.losses import Softmax
from prepriv.papers.provable_privacy.tables import show, write_csv
from prepriv.pipeline.plan import Plan, make_plan
from prepriv.pipeline.run import Refused
from prepriv.preprocessing.base import Step

DELTA, BALL, STEPS, LONGEST = 1e-5, 10.0, 30, 100.0
STRENGTHS = (1e-3, 3e-3, 1e-2, 3e-2, 1e-1)
GAPS = ((1, 0.3), (2, 0.01), (7, 0.003))  # (k, declared gap): round numbers below what digits have
TEST = 0.1  # share of the budget for the test of the gap
KEYS = ("x_train", "y_train", "x_test", "y_test")


def soft_pca(
    data: Annotated[Path, typer.Option(help="MNIST as NPZ: x_train, y_train, x_test, y_test, 8-bit pixels.")],
    out: Annotated[Path, typer.Option(help="Folder for the picture and the numbers.")] = Path("run/soft-pca"),
    rows: Annotated[
        int, typer.Option(min=0, help="Train on the first so many rows; 0: all (two minutes).")
    ] = 20_000,
    epsilon: Annotated[float, typer.Option(help="Budget of every model.")] = 8.0,
) -> None:
    """Train behind soft PCA, behind hard PCA with its gap tested, and without; print price and accuracy."""
    if not (math.isfinite(epsilon) and epsilon > 0):
        raise Stop(f"--epsilon must be finite and positive; got {epsilon}")
    x, y, x_test, y_test = _read(data, rows)
    reproduction_folder(out)
    classes = [int(c) for c in range(int(max(y.max(), y_test.max())) + 1)]
    domain = Domain.box(0.0, 255.0, x.shape[1], classes, n=len(x))
    found = []
    for name, steps in _methods(x.shape[1]):
        plan, learner = planned(domain, steps, epsilon, len(x))
        row: dict[str, Any] = {
            "method": name,
            "total_shift": plan.incoming.total_shift,
            "noise": plan.learner_noise,
            "claim": "unconditional"
            if plan.guarantee is None or not plan.guarantee.conditions
            else "conditional",
        }
        model = prepriv.PrivateClassifier(domain, epsilon=epsilon, delta=DELTA, steps=steps, learner=learner)
        try:
            score = float((model.fit(x, y).predict(x_test) == y_test).mean())
        except Refused:
            row |= {"accuracy": None, "outcome": "refused by the test (charged)"}
        else:
            row |= {"accuracy": score, "outcome": "trained"}
        found.append(row)
    first = found[0]["noise"]
    for row in found:
        row["price"] = row["noise"] / first
    columns = ("method", "total_shift", "price", "accuracy", "claim", "outcome")
    found = [{name: row[name] for name in columns} for row in found]
    show(
        f"{data.name}: n = {len(x)}, ε = {epsilon:g}, δ = {DELTA:g}; price: noise over that without the step",
        ("method", "total shift", "price", "accuracy", "claim", "outcome"),
        found,
    )
    write_csv(out / "soft_pca.csv", found)
    numbers = {"n": len(x), "epsilon": epsilon, "delta": DELTA, "rows": found}
    text = json.dumps(numbers, indent=1, ensure_ascii=False)
    (out / "numbers.json").write_text(text + "\n", encoding="utf-8")
    _draw(out / "soft_pca.png", found, epsilon, len(x))
    console.print(f"wrote {out / 'numbers.json'}, soft_pca.csv, soft_pca.png")


def _read(path: Path, rows: int) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]:
    """(x (n, d), y (n,), x_test, y_test), pixels 0 to 255; the first `rows` training rows."""
    try:
        with np.load(path, allow_pickle=False) as file:
            x, y, x_test, y_test = (file[key] for key in KEYS)
    except (OSError, ValueError, KeyError, zipfile.BadZipFile):
        raise Stop(f"--data must be an NPZ file with the arrays {', '.join(KEYS)}") from None
    few = slice(None, rows or None)
    flat = [a.reshape(len(a), -1).astype(float) for a in (x[few], x_test)]
    return flat[0], y[few].astype(int), flat[1], y_test.astype(int)


def _methods(d: int) -> list[tuple[str, list[Step]]]:
    """Every pipeline on rows of norm one."""
    one = pre.Normalize(1.0)
    methods: list[tuple[str, list[Step]]] = [("no PCA", [one])]
    for strength in STRENGTHS:
        methods.append(
            (f"soft PCA, λ = {strength:g}", [one, pre.SoftPCA(strength, payment=pay.Sensitivity())])
        )
    for k, gap in GAPS:
        if k < d:
            paid = pay.Sensitivity({"gap": gap}, test=TEST)
            methods.append(
                (f"hard PCA, k = {k}, gap {gap:g} tested", [one, pre.RankReduction(k, payment=paid)])
            )
    return methods


def planned(domain: Domain, steps: Sequence[Step], epsilon: float, n: int) -> tuple[Plan, GradientDescent]:
    """Plan and learner: steps as long as the plan's noise allows, n sqrt(T) / (noise sqrt(d)), at most 100 in all."""
    learner = GradientDescent(Softmax(), steps=STEPS, learning_rate=1.0, clip_norm=1.0, weight_bound=BALL)
    plan = make_plan(domain, steps, learner, epsilon=epsilon, delta=DELTA, n=n)
    reach = min(LONGEST, n * math.sqrt(STEPS) / (plan.learner_noise * math.sqrt(plan.space.d)))
    return plan, dataclasses.replace(learner, learning_rate=reach / STEPS)


def _draw(path: Path, found: Sequence[Mapping[str, Any]], epsilon: float, n: int) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.5, 4.5), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    for kind, marker in (("no PCA", "s"), ("soft PCA", "o"), ("hard PCA", "^")):
        points = [r for r in found if r["method"].startswith(kind)]
        heights = [0.0 if r["accuracy"] is None else r["accuracy"] for r in points]
        axes.plot([r["price"] for r in points], heights, marker, label=kind)
        for row, height in zip(points, heights):
            label = row["method"].removeprefix(kind).removesuffix(" tested").lstrip(", ")
            if row["accuracy"] is None:
                label += " (refused)"
            axes.annotate(
                label, (row["price"], height), xytext=(5, 4), textcoords="offset points", fontsize=8
            )
    axes.set(
        xlabel="price: noise over that without the step",
        ylabel="accuracy on the test rows",
        title=f"ε = {epsilon:g}, δ = {DELTA:g}, n = {n}",
        xscale="log",
        xlim=(0.7, 10 * max(r["price"] for r in found)),
        ylim=(-0.03, 1.0),
    )
    axes.legend()
    figure.savefig(path, dpi=130)
