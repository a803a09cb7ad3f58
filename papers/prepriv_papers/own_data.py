"""`prepriv reproduce own DATASET FOLDER`: the papers' rows on a data set that is not ours to ship, on a folder of yours."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from prepriv.commands.exits import Stop, print_json
from prepriv.commands.printing import AsJson, console, print_table
from prepriv.runs.odometer import CompositionWarning
from prepriv_papers.feature_preprocessing import measured
from prepriv_papers.feature_preprocessing.as_printed import accuracy as descent_accuracy
from prepriv_papers.feature_preprocessing.as_printed import algorithm_1, without_privacy
from prepriv_papers.folder import reproduction_folder
from prepriv_papers.semi_private_learning.tasks import Task, from_collection
from prepriv_papers.user_data import Collection, collection

PILLAR, DPSGD_F = "semi-private learning", "feature pre-processing"


@dataclass(frozen=True)
class Row:
    """One number of a paper on a data set.

    where: "Figure 2, SL". way: "pillar", or of `feature_preprocessing.measured`. epsilon: inf for none. k: directions, 0 for all,
    -1 for the recommended ones. share: of the private rows. printed: accuracy in %, nan where the paper draws a curve.
    """

    paper: str
    where: str
    way: str
    epsilon: float
    k: int = 0
    share: float = 1.0
    printed: float = math.nan


def _pillar(where: str, epsilon: float, k: int, printed: float = math.nan, share: float = 1.0) -> Row:
    return Row(PILLAR, where, "pillar", epsilon, k, share, printed)


def _curve(where: str) -> tuple[Row, ...]:
    return tuple(_pillar(where, e, k) for e in (0.1, 0.7, math.inf) for k in (-1, 0))


DATA_SETS: dict[str, tuple[Row, ...]] = {
    "cifar-10": (_pillar("Figure 2, SL", 0.1, 40, 81.3), _pillar("Figure 2, SL", 0.1, 0, 76.9)),
    "cifar-100": (
        _pillar("Figure 2, SL", 0.7, 200, 56.8),
        _pillar("Figure 2, SL", 0.7, 0, 51.9),
        _pillar("Figure 4, SL", 0.7, 40, 18.3, 0.1),
        _pillar("Figure 4, SL", 0.7, 0, 7.53, 0.1),
        *(
            Row(DPSGD_F, "Table 1", way, e, printed=v)
            for e, printed in ((1.0, (70.6, 71.6)), (2.0, (73.8, 74.4)))
            for way, v in zip(("DPSGD as printed", "DPSGD-F"), printed, strict=True)
        ),
        Row(DPSGD_F, "Table 1", "SGD without privacy", math.inf, printed=78.5),
    ),
    "gtsrb": (
        _pillar("Figure 2, SL", 0.7, 280, 65.9),
        _pillar("Figure 2, SL", 0.7, 0, 64.2),
        _pillar("section 4.3, SL", 0.7, 0, 57.3),
        _pillar("section 4.3, SL", 0.7, 0, 15.3, 0.1),
        _pillar("section 4.3, SL", 0.1, 0, 30.2),
        _pillar("section 4.3, SL", 0.1, 0, 4.3, 0.1),
    ),
    "flower-16": (_pillar("Figure 2, SL", 0.1, 40, 69.3), _pillar("Figure 2, SL", 0.1, 0, 41.2)),
    "pcam": _curve("Figure 3"),
    "dermnet": _curve("Figure 3"),
    "pneumonia": _curve("Figure 3"),
}


def _own(row: Row, task: Task, images: measured.Images) -> tuple[float, int]:
    """(accuracy in %, directions) of one run."""
    if row.way == "pillar":
        n = max(1, round(row.share * len(task.rows)))
        d = task.rows.shape[1]
        k = task.recommended(row.epsilon, n) if row.k < 0 else row.k or d
        return 100 * task.accuracy(min(k, d), row.epsilon, n), min(k, d)
    n, d = images[0].shape
    if row.way == "SGD without privacy":
        return 100 * descent_accuracy(without_privacy(n), images), d
    if row.way == "DPSGD as printed":
        how = algorithm_1(n, d + 1, row.epsilon, measured.DELTA, averaged_noise=False)
        return 100 * descent_accuracy(how, images), d
    return 100 * measured.accuracy(measured.RECIPES[row.way], row.epsilon, images), d


def rows_on(data_set: str, found: Collection, rows: int) -> list[dict[str, Any]]:
    """What each of the papers' rows on this data set is on a collection. rows: training rows at most, 0: all."""
    stop = rows or len(found.rows)
    held: list[dict[str, Any]] = []
    flat = [v.reshape(len(v), -1) for v in (found.rows[:stop], found.test)]
    images = (flat[0], found.labels[:stop], flat[1], found.answers)
    for raw in from_collection(found, stop, len(found.test)):
        task = Task.of(raw)
        for row in DATA_SETS[data_set]:
            if row.way != "pillar" and raw.name.endswith("_patches"):
                continue  # those rows are of pixels or features
            value, k = _own(row, task, images)
            held.append(asdict(row) | {"features": raw.name, "k": k, "yours": value})
            console.print(f"  {raw.name}: {row.where}, {row.way}: {value:.1f} %")
    return held


def own(
    data_set: Annotated[str, typer.Argument(help=f"One of {', '.join(DATA_SETS)}.")],
    folder: Annotated[
        Path,
        typer.Argument(
            help="train.npy, train_labels.npy, test.npy, test_labels.npy (features), train/CLASS and test/CLASS with images, "
            "or the binary version of CIFAR."
        ),
    ],
    others: Annotated[
        list[Path] | None,
        typer.Option("--names", help="Further folders: features of other networks, beside the first."),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for the numbers (JSON).")] = Path("run/own"),
    rows: Annotated[int, typer.Option(min=0, help="Only the first ROWS training rows; 0: all.")] = 0,
    as_json: AsJson = False,
) -> None:
    """What the papers' tables and figures on a data set are on a folder of yours, beside the printed numbers; one run each."""
    if data_set not in DATA_SETS:
        raise Stop(f"the data set must be one of {', '.join(DATA_SETS)}; got {data_set}")
    collections = [collection(path) for path in (folder, *(others or []))]
    reproduction_folder(out)
    warnings.simplefilter("ignore", CompositionWarning)  # these rows are public
    held = [line for found in collections for line in rows_on(data_set, found, rows)]
    print_table(
        f"{data_set}, {sum(len(c.rows) for c in collections)} rows in all: accuracy in %, one run, δ = 1e-5",
        ("features", "paper", "item", "way", "ε", "k", "share of rows", "printed", "yours"),
        [_cells(line) for line in held],
        right=range(4, 9),
    )
    numbers = {"data_set": data_set, "rows": [_plain(line) for line in held]}
    (out / "numbers.json").write_text(json.dumps(numbers, indent=1) + "\n", encoding="utf-8")
    console.print(f"wrote {out / 'numbers.json'}")
    if as_json:
        print_json(numbers)


def _cells(line: dict[str, Any]) -> Sequence[str]:
    printed = "-" if math.isnan(line["printed"]) else f"{line['printed']:g}"
    epsilon = "none" if math.isinf(line["epsilon"]) else f"{line['epsilon']:g}"
    where = (line["features"], line["paper"], line["where"], line["way"], epsilon, str(line["k"]))
    return (*where, f"{line['share']:g}", printed, f"{line['yours']:.1f}")


def _plain(line: dict[str, Any]) -> dict[str, Any]:
    return {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in line.items()}
