"""Tables 1 and 2 of The Importance of Feature Preprocessing on images or features that are here."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prepriv._arrays import Floats
from prepriv.commands.exits import Stop
from prepriv.domain import Domain
from prepriv.mechanisms.session import ExactSession, NoisySession
from prepriv.plans.plan import make_plan
from prepriv.recipes.automatic import recipe
from prepriv.recipes.dpsgd_f import dpsgd, dpsgd_f_modified
from prepriv.release.model import Model
from prepriv.runs.run import execute
from prepriv.tables.encoding import encode, encode_labels
from prepriv_papers.drawn import drawn, new_figure
from prepriv_papers.feature_preprocessing import as_printed
from prepriv_papers.user_data import collection
from prepriv_papers.verdicts import Resume

DELTA = 1e-5
NAMES = {"mnist": "MNIST", "fashion_mnist": "FMNIST"}
EPSILONS = (1.0, 2.0)
Images = tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]
RECIPES: dict[str, Callable[..., Any]] = {
    "DPSGD, full batches": dpsgd,
    "DPSGD-F": dpsgd_f_modified,
    "automatic recipe": recipe,
}
PRINTED = {"DPSGD as printed": False, "equation (2), not private": True}  # averaged noise?
WITHOUT = "SGD without privacy"
# Table 1: mean (deviation) of ten runs with the best of a grid of settings for each cell.
TABLE_1 = {
    "MNIST": {1.0: ("87.4 (0.1)", "92.0 (0.1)"), 2.0: ("89.6 (1.2)", "92.3 (0.1)"), math.inf: "92.9 (0.1)"},
    "FMNIST": {1.0: ("77.2 (0.4)", "84.0 (0.1)"), 2.0: ("78.7 (0.4)", "84.5 (0.2)"), math.inf: "85.0 (0.1)"},
}
TABLE_2 = {"MNIST": (1.41, 1.03, 0.77), "FMNIST": (1.41, 1.10, 0.62)}


def load(folder: Path, name: str, rows: int) -> Images:
    """(x, y, x_test, y_test), images as rows of pixels."""
    path = folder / f"{name}.npz"
    if not path.is_file():
        raise Stop(f"{path} is not there: --data must name a folder with mnist.npz and fashion_mnist.npz")
    with np.load(path) as held:
        parts = [held[k] for k in ("x_train", "y_train", "x_test", "y_test")]
    x, y, x_test, y_test = (p.reshape(len(p), -1) if p.ndim > 1 else p for p in parts)
    stop = rows or len(x)
    return x[:stop], y[:stop], x_test, y_test


def load_collection(folder: Path, rows: int) -> tuple[str, Images]:
    """The same of a user's folder (`prepriv_papers.user_data`)."""
    found = collection(folder)
    x, test = (v.reshape(len(v), -1) for v in (found.rows, found.test))
    stop = rows or len(x)
    return found.name, (x[:stop], found.labels[:stop], test, found.answers)


def table_1(name: str, images: Images, runs: int, resume: Resume) -> list[dict[str, Any]]:
    """One row for each epsilon and one without privacy: the paper's numbers beside ours, mean (deviation) in %."""
    n, d = images[0].shape
    paper = TABLE_1.get(name, {})
    out = []
    for epsilon in EPSILONS:
        row: dict[str, Any] = {"data": name, "ε": f"{epsilon:g}"}
        ways: dict[str, Callable[[], float]] = {
            k: _bound(accuracy, build, epsilon, images) for k, build in RECIPES.items()
        }
        for k, averaged in PRINTED.items():
            how = as_printed.algorithm_1(n, d + 1, epsilon, DELTA, averaged_noise=averaged)
            ways[k] = _bound(as_printed.accuracy, how, images)
        row["DPSGD, paper"], row["DPSGD-F, paper"] = paper.get(epsilon, ("", ""))
        for way, once in ways.items():
            row[way] = _cell(f"{name}, ε = {epsilon:g}, {way}", once, runs, resume)
        out.append(row)
    row = dict.fromkeys(out[0], "") | {"data": name, "ε": "none", "SGD, paper": paper.get(math.inf, "")}
    how = as_printed.without_privacy(n)
    row[WITHOUT] = _cell(f"{name}, {WITHOUT}", _bound(as_printed.accuracy, how, images), 1, resume)
    for way in ("DPSGD-F", "automatic recipe"):
        row[way] = _cell(
            f"{name}, no privacy, {way}", _bound(accuracy, RECIPES[way], math.inf, images), 1, resume
        )
    return [r | {k: r.get(k, "") for k in row} for r in (*out, row)]


def _bound(function: Callable[..., float], *arguments: Any) -> Callable[[], float]:
    return lambda: function(*arguments)


def _cell(key: str, once: Callable[[], float], runs: int, resume: Resume) -> str:
    got = [resume.row(f"{key}, run {i}", lambda: {"accuracy": 100 * once()})["accuracy"] for i in range(runs)]
    return f"{np.mean(got):.1f}" + (f" ({np.std(got, ddof=1):.1f})" if runs > 1 else "")


def accuracy(build: Callable[..., Any], epsilon: float, images: Images) -> float:
    """Test accuracy of one run of a recipe of the library."""
    x, y, x_test, y_test = images
    classes = range(1 + int(y.max()))
    if x.dtype == np.uint8:
        domain = Domain.box(0, 255, x.shape[1], classes, n=len(x), adjacency="add-or-remove-one")
    else:  # features of no declared range: the paper brings every row to one norm
        x, x_test = (as_printed.unit(v) for v in (x, x_test))
        domain = Domain.ball(x.shape[1], classes, radius=1.0, n=len(x), adjacency="add-or-remove-one")
    steps, learner = build(domain, n=len(x), epsilon=epsilon, delta=DELTA)
    plan = make_plan(domain, steps, learner, epsilon=epsilon, delta=DELTA)
    session = NoisySession() if plan.private else ExactSession()
    trained = execute(plan, encode(x, domain), encode_labels(y, domain.classes), session)
    return float((Model.of(trained).predict_index(x_test) == y_test).mean())


def concentration(name: str, x: NDArray[Any]) -> dict[str, Any]:
    """Table 2. These images are public; a measure of private rows would be a leak."""
    rows = as_printed.unit(x)
    away = np.linalg.norm(rows - rows.mean(axis=0), axis=1)
    ours = (diameter(rows), float(away.max()), float(away.mean()))
    out: dict[str, Any] = {"data": name}
    for label, value, paper in zip(
        ("diameter", "max ‖x − µ‖", "mean ‖x − µ‖"), ours, TABLE_2.get(name, ("",) * 3)
    ):
        out[label] = round(value, 3)
        out[f"{label}, paper"] = paper
    return out


def diameter(unit: Floats | NDArray[np.float32], block: int = 2000) -> float:
    """Largest distance of two rows of norm 1: sqrt(2 - 2 min x.y)."""
    least = 1.0
    for i in range(0, len(unit), block):
        for j in range(i, len(unit), block):
            least = min(least, float((unit[i : i + block] @ unit[j : j + block].T).min()))
    return math.sqrt(2 - 2 * least)


@drawn
def draw(rows: Sequence[Mapping[str, Any]], path: Path, runs: int, n: int) -> None:
    """Table 1 as bars, one panel a data set and epsilon, with the deviation of the runs where there are several."""
    private = [r for r in rows if r["ε"] != "none"]
    ways = [
        "DPSGD, paper",
        "DPSGD as printed",
        "DPSGD, full batches",
        "DPSGD-F, paper",
        "DPSGD-F",
        "automatic recipe",
    ]
    figure = new_figure(4.0 * len(private), 4.6)
    figure.suptitle(
        f"Table 1: test accuracy, {n} training rows, δ = {DELTA:g}, {runs} runs (the paper: 60000 rows, 10 runs)"
    )
    for axes, row in zip(figure.subplots(1, len(private), squeeze=False)[0], private):
        for i, way in enumerate(ways):
            mean, _, spread = str(row[way]).partition(" (")
            if mean:
                error = float(spread.rstrip(")")) if spread else 0.0
                colour = "0.6" if "paper" in way else f"C{i}"
                axes.bar(i, float(mean), yerr=error, capsize=4, color=colour)
        axes.axhline(10, color="black", ls="--", lw=0.8, label="chance (ten classes)")
        axes.set(title=f"{row['data']}, ε = {row['ε']}", ylabel="test accuracy (%)", ylim=(0, 100))
        axes.set_xticks(range(len(ways)), ways, rotation=40, ha="right")
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower left")
    figure.savefig(path, dpi=110)
