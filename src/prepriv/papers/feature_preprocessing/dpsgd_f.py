"""`prepriv reproduce dpsgd-f`: Tables 1 and 2 and the counter-example of The Importance of Feature Preprocessing, beside ours."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from prepriv.commands.common import console, print_table, reproduction_folder
from prepriv.commands.exits import Stop
from prepriv.domain import Domain
from prepriv.mechanisms.session import ExactSession, NoisySession
from prepriv.papers.provable_privacy.two_clusters import DISTANCES, draw, two_clusters
from prepriv.pipeline.plan import make_plan
from prepriv.pipeline.recipes.automatic import recipe
from prepriv.pipeline.recipes.dpsgd_f import dpsgd, dpsgd_f_modified
from prepriv.pipeline.run import execute
from prepriv.preprocessing.base import Floats
from prepriv.release.model import Model
from prepriv.tables.encode import encode, encode_labels

DELTA = 1e-5
NAMES = {"mnist": "MNIST", "fashion_mnist": "FMNIST"}
METHODS: dict[str, Callable[..., Any]] = {"DPSGD": dpsgd, "DPSGD-F": dpsgd_f_modified, "ours": recipe}
# Table 1: mean (deviation) of ten runs with the best of a grid of settings for each cell.
TABLE_1 = {
    "mnist": {
        1.0: {"DPSGD": "87.4 (0.1)", "DPSGD-F": "92.0 (0.1)"},
        2.0: {"DPSGD": "89.6 (1.2)", "DPSGD-F": "92.3 (0.1)"},
        math.inf: {"DPSGD": "92.9 (0.1)"},
    },
    "fashion_mnist": {
        1.0: {"DPSGD": "77.2 (0.4)", "DPSGD-F": "84.0 (0.1)"},
        2.0: {"DPSGD": "78.7 (0.4)", "DPSGD-F": "84.5 (0.2)"},
        math.inf: {"DPSGD": "85.0 (0.1)"},
    },
}
TABLE_2 = {"mnist": (1.41, 1.03, 0.77), "fashion_mnist": (1.41, 1.10, 0.62)}


def dpsgd_f(
    data: Annotated[
        Path | None, typer.Option(help="Folder with mnist.npz and fashion_mnist.npz, for Tables 1 and 2.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for the picture (PNG) and numbers (CSV, JSON).")] = Path(
        "run/dpsgd-f"
    ),
    runs: Annotated[int, typer.Option(help="Runs a cell; the paper has ten.", min=1)] = 3,
    rows: Annotated[int, typer.Option(help="Only the first ROWS images; 0: all.", min=0)] = 0,
) -> None:
    """Print Table 1, Table 2 and the two-cluster example of the paper beside ours; write them to OUT."""
    reproduction_folder(out)
    numbers: dict[str, Any] = {"two_clusters": two_clusters(runs)}
    draw(numbers["two_clusters"], out)
    _show(
        f"Two clusters at distance µ: accuracy on the worse data set, mean of {runs} runs (%); "
        "the paper proves that DPSGD fails for µ > nε",
        numbers["two_clusters"],
    )
    if data is None:
        console.print(
            "Tables 1 and 2 need the images: give --data, a folder with mnist.npz and fashion_mnist.npz"
        )
    else:
        numbers["table_2"] = [_concentration(name, *_load(data, name, rows)[:1]) for name in NAMES]
        _show("Table 2: concentration of the rows (norm 1)", numbers["table_2"])
        numbers["table_1"] = [r for name in NAMES for r in _table_1(name, _load(data, name, rows), runs)]
        _show(
            f"Table 1: test accuracy (%), δ = {DELTA:g}, add or remove one, {runs} runs", numbers["table_1"]
        )
    for name, table in numbers.items():
        with (out / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(table[0]))
            writer.writeheader()
            writer.writerows(table)
    (out / "numbers.json").write_text(
        json.dumps(numbers, indent=1, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8"
    )
    console.print(f"wrote {out / 'numbers.json'}, one CSV a table, {out / 'two_clusters.png'}")


Images = tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]


def _load(folder: Path, name: str, rows: int) -> Images:
    """(x, y, x_test, y_test), images as rows of pixels."""
    path = folder / f"{name}.npz"
    if not path.is_file():
        raise Stop(f"{path} is not there: --data must name a folder with mnist.npz and fashion_mnist.npz")
    with np.load(path) as held:
        parts = [held[k] for k in ("x_train", "y_train", "x_test", "y_test")]
    x, y, x_test, y_test = (p.reshape(len(p), -1) if p.ndim > 1 else p for p in parts)
    stop = rows or len(x)
    return x[:stop], y[:stop], x_test, y_test


def _table_1(name: str, images: Images, runs: int) -> list[dict[str, Any]]:
    out = []
    for epsilon in (1.0, 2.0, math.inf):
        row: dict[str, Any] = {"data": NAMES[name], "ε": "none" if math.isinf(epsilon) else f"{epsilon:g}"}
        for method, build in METHODS.items():
            got = [100 * _accuracy(build, epsilon, images) for _ in range(1 if math.isinf(epsilon) else runs)]
            spread = f" ({np.std(got, ddof=1):.1f})" if len(got) > 1 else ""
            row[method] = f"{np.mean(got):.1f}{spread}"
            if method != "ours":
                row[f"{method}, paper"] = TABLE_1[name][epsilon].get(method, "")
        console.print(", ".join(f"{k} {v}" for k, v in row.items() if v))  # a full table takes a while
        out.append(row)
    return out


def _accuracy(build: Callable[..., Any], epsilon: float, images: Images) -> float:
    x, y, x_test, y_test = images
    domain = Domain.box(0, 255, x.shape[1], range(10), n=len(x), adjacency="add-or-remove-one")
    steps, learner = build(domain, n=len(x), epsilon=epsilon, delta=DELTA)
    plan = make_plan(domain, steps, learner, epsilon=epsilon, delta=DELTA)
    session = NoisySession() if plan.private else ExactSession()
    trained = execute(plan, encode(x, domain), encode_labels(y, domain.classes), session, counted=False)
    return float((Model.of(trained).predict_index(x_test) == y_test).mean())


def _concentration(name: str, x: NDArray[Any]) -> dict[str, Any]:
    """Table 2. These images are public; a measure of private rows would be a leak."""
    unit = x.astype(np.float32)
    unit /= np.maximum(np.linalg.norm(unit, axis=1, keepdims=True), 1e-12)
    away = np.linalg.norm(unit - unit.mean(axis=0), axis=1)
    ours = (_diameter(unit), float(away.max()), float(away.mean()))
    out: dict[str, Any] = {"data": NAMES[name]}
    for label, value, paper in zip(("diameter", "max ‖x − µ‖", "mean ‖x − µ‖"), ours, TABLE_2[name]):
        out[label] = round(value, 3)
        out[f"{label}, paper"] = paper
    return out


def _diameter(unit: Floats | NDArray[np.float32], block: int = 2000) -> float:
    """Largest distance of two rows of norm 1: sqrt(2 - 2 min x.y)."""
    least = 1.0
    for i in range(0, len(unit), block):
        for j in range(i, len(unit), block):
            least = min(least, float((unit[i : i + block] @ unit[j : j + block].T).min()))
    return math.sqrt(2 - 2 * least)


def _show(title: str, rows: Sequence[Mapping[str, Any]]) -> None:
    names = tuple(rows[0])
    cells = [
        tuple(f"{v:.1f}" if isinstance(v, float) and v >= 10 else str(v) for v in r.values()) for r in rows
    ]
    print_table(title, names, cells, right=tuple(range(1, len(names))))


__all__ = ["DISTANCES", "dpsgd_f"]
