"""`prepriv reproduce soft-pca`: soft PCA beside hard PCA with propose-test-release, price and accuracy."""

from __future__ import annotations

import dataclasses
import math
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from prepriv import payment as pay
from prepriv import preprocessing as pre
from prepriv.commands.exits import Stop
from prepriv.commands.printing import console
from prepriv.domain import Domain
from prepriv.learners.gradient_descent import GradientDescent
from prepriv.learners.losses import Softmax
from prepriv.mechanisms.session import NoisySession
from prepriv.plans.plan import Plan, make_plan
from prepriv.preprocessing.base import Step
from prepriv.release.model import Model
from prepriv.runs.failures import Refused
from prepriv.runs.run import execute
from prepriv.tables.encoding import encode, encode_labels
from prepriv_papers.drawn import drawn, new_figure
from prepriv_papers.folder import reproduction_folder
from prepriv_papers.provable_privacy.drawing import legend_below
from prepriv_papers.provable_privacy.items import SOFT_PCA as ITEMS
from prepriv_papers.provable_privacy.tables import show, write_csv, write_json
from prepriv_papers.verdicts import decide

DELTA, BALL, STEPS, LONGEST = 1e-5, 10.0, 30, 100.0
STRENGTHS = (1e-3, 3e-3, 1e-2, 3e-2, 1e-1)
GAPS = ((1, 0.3), (2, 0.01), (7, 0.003))  # (k, declared gap): round numbers below what digits have
TEST = 0.1  # share of the budget for the test of the gap
KEYS = ("x_train", "y_train", "x_test", "y_test")


def soft_pca(
    data: Annotated[
        Path | None,
        typer.Option(
            help="MNIST as NPZ (x_train, y_train, x_test, y_test), or a folder with mnist.npz; none: digits."
        ),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for the picture and the numbers.")] = Path("run/soft-pca"),
    rows: Annotated[
        int, typer.Option(min=0, help="Train on the first so many rows; 0: all (two minutes).")
    ] = 20_000,
    epsilon: Annotated[float, typer.Option(help="Budget of every model.")] = 8.0,
    small: Annotated[
        bool, typer.Option("--small", help="scikit-learn's digits in place of MNIST: seconds.")
    ] = False,
) -> None:
    """Train after soft PCA, after hard PCA with its gap tested, and without; print price and accuracy."""
    if not (math.isfinite(epsilon) and epsilon > 0):
        raise Stop(f"--epsilon must be finite and positive; got {epsilon}")
    if small or data is None:
        if not small:
            console.print("without --data: scikit-learn's digits in place of MNIST")
        name, high, images = "scikit-learn's digits", 16.0, _digits()
    else:
        name, high, images = data.name, 255.0, _read(data / "mnist.npz" if data.is_dir() else data, rows)
    x, y, x_test, y_test = images
    reproduction_folder(out)
    classes = [int(c) for c in range(int(max(y.max(), y_test.max())) + 1)]
    found = []
    domain = Domain.box(0.0, high, x.shape[1], classes, n=len(x))
    for method, steps in _methods(x.shape[1]):
        plan, learner = planned(domain, steps, epsilon, len(x))
        row: dict[str, Any] = {
            "method": method,
            "total_shift": plan.incoming.total_shift,
            "noise": plan.learner_noise,
            "claim": "unconditional"
            if plan.guarantee is None or not plan.guarantee.conditions
            else "conditional",
        }
        plan = make_plan(domain, steps, learner, epsilon=epsilon, delta=DELTA, n=len(x))
        targets = encode_labels(y, domain.classes)
        try:  # public data: nothing is counted
            trained = execute(plan, encode(x, domain), targets, NoisySession())
            score = float((Model.of(trained).predict_index(x_test) == y_test).mean())
        except Refused:
            row |= {"accuracy": None, "outcome": "refused by the test (charged)"}
        else:
            row |= {"accuracy": score, "outcome": "trained"}
        found.append(row)
        console.print(f"  {method}: {row['outcome']}")  # all of them take a while
    first = found[0]["noise"]
    for row in found:
        row["price"] = row["noise"] / first
    columns = ("method", "total_shift", "price", "accuracy", "claim", "outcome")
    found = [{name: row[name] for name in columns} for row in found]
    show(
        f"{name}: n = {len(x)}, ε = {epsilon:g}, δ = {DELTA:g}; price: noise over that without the step",
        ("method", "total shift", "price", "accuracy", "claim", "outcome"),
        found,
    )
    write_csv(out / "soft_pca.csv", found)
    numbers = {"data": name, "n": len(x), "epsilon": epsilon, "delta": DELTA, "rows": found}
    items = decide(ITEMS, numbers, small=small or data is None)
    write_json(out / "numbers.json", numbers | {"verdicts": [vars(i) for i in items]})
    _draw(
        out / "soft_pca.png", found, f"{name}, n = {len(x)}, ε = {epsilon:g}, δ = {DELTA:g}; one run a point"
    )
    console.print(f"wrote {out / 'numbers.json'}, soft_pca.csv, soft_pca.png")


def _digits() -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]:
    """The handwritten digits that come with scikit-learn, pixels 0 to 16; the last 300 are the test rows."""
    from sklearn.datasets import load_digits

    x, y = load_digits(return_X_y=True)
    return x[:-300], y[:-300], x[-300:], y[-300:]


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


@drawn
def _draw(path: Path, found: Sequence[Mapping[str, Any]], title: str) -> None:
    figure = new_figure(8, 5.2)
    axes = figure.add_subplot()
    for kind, marker in (("no PCA", "s"), ("soft PCA", "o"), ("hard PCA", "^")):
        points = [r for r in found if r["method"].startswith(kind)]
        heights = [0.0 if r["accuracy"] is None else r["accuracy"] for r in points]
        label = f"{kind}, gap tested" if kind == "hard PCA" else kind
        axes.plot([r["price"] for r in points], heights, marker, label=label)
        for i, (row, height) in enumerate(zip(points, heights)):
            text = row["method"].removeprefix(kind).removesuffix(" tested").lstrip(", ")
            if row["accuracy"] is None:
                text += " (refused)"
            lower = kind == "hard PCA" and i % 2 == 0  # so that no label stands on another
            axes.annotate(
                text,
                (row["price"], height),
                xytext=(5, -13 if lower else 5),
                textcoords="offset points",
                fontsize=8,
            )
    axes.axhline(0.1, color="0.5", linestyle=":", label="guessing")
    axes.set(
        xlabel="price: noise over that without the step",
        ylabel="accuracy on the test rows",
        title=title,
        xscale="log",
        xlim=(0.7, 10 * max(r["price"] for r in found)),
        ylim=(-0.08, 1.0),
    )
    legend_below(axes, 4)
    figure.savefig(path, dpi=130)
