"""The two-cluster example of The Importance of Feature Preprocessing (section 4, Figures 1 and 2, Theorem 3) as its clusters move away."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prepriv._arrays import Floats
from prepriv.domain import Domain
from prepriv.learners.gradient_descent import GradientDescent
from prepriv.learners.learner import Learner
from prepriv.learners.losses import Hinge
from prepriv.mechanisms.session import NoisySession
from prepriv.plans.plan import make_plan
from prepriv.preprocessing.base import Step
from prepriv.recipes.automatic import recipe
from prepriv.recipes.dpsgd_f import dpsgd_f, map_back
from prepriv.release.model import Model
from prepriv.runs.run import execute
from prepriv.tables.encoding import encode, encode_labels
from prepriv_papers.drawn import drawn, new_figure

N, EPSILON, DELTA = 4000, 1.0, 1e-5
DISTANCES = (1.0, 10.0, 100.0, 1000.0, 10_000.0, 100_000.0)
METHODS = ("DPSGD", "DPSGD-F", "ours")
RATES = (0.01, 0.1, 1.0, 10.0)  # of DPSGD: Theorem 3 is about any rate and any clip


def clusters(distance: float, sign: int, n: int = N) -> tuple[Floats, NDArray[np.intp]]:
    """Rows (n, 2) and labels: half at (distance, sign) with label 1, half at (distance, -sign) with label 0."""
    y = np.asarray(np.arange(n) % 2, dtype=np.intp)
    return np.column_stack([np.full(n, distance), np.where(y == 1, sign, -sign)]).astype(float), y


def _steps(method: str, rate: float, domain: Domain, n: int) -> tuple[Sequence[Step], Learner]:
    if method == "DPSGD-F":
        return dpsgd_f(domain, n=n, epsilon=EPSILON, delta=DELTA)
    if method == "ours":
        return recipe(domain, n=n, epsilon=EPSILON, delta=DELTA)
    # Algorithm 1 on the hinge loss of Theorem 3, no bias (the paper's footnote 3), clipped to norm 1
    learner = GradientDescent(
        Hinge(), steps=50, learning_rate=rate, clip_norm=1.0, momentum=0.0, average=1.0, bias=0.0
    )
    return (), learner


def accuracy(method: str, distance: float, sign: int, rate: float = 1.0, n: int = N) -> float:
    """Training accuracy of one private run."""
    domain = Domain.ball(2, (0, 1), radius=2 * distance, n=n, adjacency="add-or-remove-one")
    x, y = clusters(distance, sign, n)
    steps, learner = _steps(method, rate, domain, n)
    plan = make_plan(domain, steps, learner, epsilon=EPSILON, delta=DELTA)
    targets = encode_labels(y, domain.classes)
    trained = execute(plan, encode(x, domain), targets, NoisySession())
    if method == "DPSGD-F":
        trained = map_back(trained)
    if learner.bias == 0.0:
        trained.weights[-1] *= method != "DPSGD"  # no bias: what stands there is noise alone
    return float((Model.of(trained).predict_index(x) == y).mean())


def two_clusters(runs: int, distances: Sequence[float] = DISTANCES) -> list[dict[str, Any]]:
    """Mean accuracy (%) of `runs` runs on the worse of the two data sets (labels swapped) and its standard error, for
    each distance. DPSGD with the best of RATES in hindsight, which favours it.
    """
    return [at_distance(runs, distance) for distance in distances]


def at_distance(runs: int, distance: float) -> dict[str, Any]:
    """One row of `two_clusters`."""
    row: dict[str, Any] = {"mu": distance, "n epsilon": N * EPSILON}
    for method in METHODS:
        found = []
        for rate in RATES if method == "DPSGD" else RATES[:1]:
            each = np.array([[accuracy(method, distance, s, rate) for _ in range(runs)] for s in (1, -1)])
            worse = each[each.mean(axis=1).argmin()]
            found.append((100 * float(worse.mean()), 100 * float(worse.std() / np.sqrt(max(1, runs - 1)))))
        row[method], row[f"{method}, error"] = max(found)
    return row


@drawn
def draw(rows: Sequence[Mapping[str, Any]], out: Path) -> None:
    """Figures 1 and 2 (rows and gradients of the two data sets) and accuracy over the distance, as PNG."""
    figure = new_figure(13.5, 4.8)
    figure.suptitle(f"Two clusters at (µ, ±1), n = {N}, ε = {EPSILON:g}, δ = {DELTA:g}, add or remove one")
    vectors, gradients, result = figure.subplots(1, 3)
    mu = 5.0
    for sign, label, colour in ((1, "y = 1", "tab:blue"), (-1, "y = −1", "tab:red")):
        for axes, tip in ((vectors, (mu, sign)), (gradients, (-sign * mu, -1.0))):
            arrow = {"arrowstyle": "->", "color": colour, "lw": 2}
            axes.annotate("", xy=tip, xytext=(0, 0), arrowprops=arrow)
            axes.annotate(label, xy=tip, color=colour)
    for axes, title in (
        (vectors, "Figure 1: rows, µ = 5"),
        (gradients, "Figure 2: gradients at w = 0, µ = 5"),
    ):
        axes.set(xlim=(-7, 7), ylim=(-2, 2), title=title, xlabel="first feature", ylabel="second feature")
    for method, marker in zip(METHODS, "osv"):
        result.errorbar(
            [r["mu"] for r in rows],
            [r[method] for r in rows],
            [r[f"{method}, error"] for r in rows],
            marker=marker,
            capsize=3,
            label={"DPSGD": "DPSGD, best of four rates", "ours": "automatic recipe"}.get(method, method),
        )
    result.axvline(N * EPSILON, color="grey", ls=":", label="µ = nε, from where Theorem 3 speaks")
    result.axhline(50, color="black", ls="--", lw=0.8, label="chance")
    result.set(xscale="log", ylim=(-5, 105), xlabel="distance µ of the clusters from the origin")
    result.set(ylabel="accuracy on the worse data set (%)", title="Accuracy, mean and standard error")
    figure.legend(loc="outside lower right", ncols=3)
    figure.savefig(out / "two_clusters.png", dpi=120)
