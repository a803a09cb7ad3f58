"""`prepriv reproduce network-features`: the papers' experiments on features of a public network, on features of yours (docs/pillar.md)."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from prepriv.commands.exits import Stop
from prepriv.commands.printing import console
from prepriv.runs.odometer import CompositionWarning
from prepriv_papers.folder import reproduction_folder
from prepriv_papers.network_features import measured
from prepriv_papers.network_features.items import ITEMS
from prepriv_papers.network_features.measured import Sizes
from prepriv_papers.semi_private_learning import measures
from prepriv_papers.semi_private_learning.measures import EPSILONS
from prepriv_papers.semi_private_learning.pillar import SMS, Drawing, Job, keep, lines_of, print_figures
from prepriv_papers.semi_private_learning.tasks import Group, grouped, messages
from prepriv_papers.user_data import Collection, collection
from prepriv_papers.verdicts import Resume, decide

__all__ = ["ITEMS", "network_features"]

SETS = ("fashion_mnist", "mnist")
LARGE = ("fashion_mnist",)  # of which up to `pixels` rows are private, too
SENTENCES = "sms.npy"
XI = ("pixels", "features")
TITLES = {
    "table_1": "Table 1: accuracy (%), add or remove one",
    "table_2": "Table 2: concentration of the rows (norm 1)",
}
SMALL = Sizes(
    pixels=400,
    few=300,
    test=300,
    ks=(10,),
    splits=1,
    runs=1,
    fractions=(0.5,),
    tenth_runs=1,
    table_runs=1,
)


def network_features(
    features: Annotated[
        Path,
        typer.Option(
            help="Folder with fashion_mnist and mnist (train.npy, train_labels.npy, test.npy, test_labels.npy each: features of a "
            "network, rows in the order of the images) and sms.npy (embeddings of the messages); one of them is enough."
        ),
    ],
    data: Annotated[
        Path | None,
        typer.Option(
            help="Folder with the images (mnist.npz, fashion_mnist.npz) for Figure 5, and sms_spam.tsv.gz."
        ),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for the pictures (PNG) and numbers (CSV, JSON).")] = Path(
        "run/network-features"
    ),
    small: Annotated[bool, typer.Option("--small", help="Few rows, one run: seconds of one core.")] = False,
    only: Annotated[
        list[str] | None, typer.Option(help="Only the figures whose names begin so: xi, accuracy_mnist, ...")
    ] = None,
) -> None:
    """Accuracy against k, less labelled data, ξ beside that of pixels, DPSGD-F beside DPSGD, on features of a public network.

    Every figure is written as it comes, its numbers to OUT/rows.jsonl; the same command goes on after the last one.
    """
    size = SMALL if small else Sizes()
    found = {name: collection(features / name) for name in SETS if (features / name).is_dir()}
    sentences = features / SENTENCES if data is not None and (features / SENTENCES).is_file() else None
    if not found and sentences is None:
        raise Stop(f"{features} holds none of {', '.join(SETS)}, nor {SENTENCES} (which needs --data, too)")
    reproduction_folder(out)
    jobs = _jobs(found, size, data, sentences)
    setting = {"size": str(size), "features": sorted([*found, *([] if sentences is None else ["sms"])])}
    resume = Resume(out / "rows.jsonl", setting, len(jobs))
    numbers: dict[str, Any] = {}
    warnings.simplefilter("ignore", CompositionWarning)  # these rows are public
    for name, (job, drawing) in jobs.items():
        if only and not name.startswith(tuple(only)):
            continue
        numbers[name] = resume.row(name, partial(lines_of, job))["lines"]
        keep(name, numbers[name], drawing, out)
    print_figures(numbers, TITLES)
    text = json.dumps(numbers, indent=1, ensure_ascii=False)
    (out / "numbers.json").write_text(text + "\n", encoding="utf-8")
    decide(ITEMS, numbers, small=small)
    console.print(f"wrote {out / 'numbers.json'}, one CSV and one PNG for each figure")


def _jobs(
    found: Mapping[str, Collection], size: Sizes, data: Path | None, sentences: Path | None
) -> dict[str, tuple[Job, Drawing | None]]:
    """Every figure and table by name; each is computed when it is called, and so are the directions of a set."""
    jobs: dict[str, tuple[Job, Drawing | None]] = {}
    groups: dict[str, Callable[[], Group]] = {}
    classes: dict[str, int] = {}
    for name, held in found.items():
        made = cache(partial(measured.groups_of, held, size))
        groups[name], classes[name] = partial(_first, made), 1 + int(held.labels.max())
        jobs[f"table_2_{name}"] = (partial(measured.table_2, held), None)
        if data is not None:
            jobs[f"xi_{name}"] = (
                partial(measured.xi_against_k, held, data / f"{name}.npz"),
                Drawing("k", "directions k", "ξ_k = 1 − ‖A_kᵀ w*‖ of the first two classes", XI, True),
            )
        if name in LARGE:
            jobs[f"all_rows_{name}"] = (partial(_all_rows, made), None)
    if data is not None and sentences is not None:
        texts, spam = messages(data / SMS)
        rows = np.asarray(np.load(sentences), dtype=np.float64)
        if len(rows) != len(texts):
            raise Stop(f"{SENTENCES}: {len(rows)} rows for {len(texts)} messages")
        groups["sms"] = cache(partial(grouped, "sms", rows, spam, size.splits, size.runs))
        classes["sms"] = 2
    for name, group in groups.items():
        chance = 100 / classes[name]
        curves = [f"epsilon_{e:g}" for e in EPSILONS]
        jobs[f"accuracy_{name}"] = (
            partial(_of, group, measures.accuracy_against_k, size),
            Drawing("k", "directions k", "test accuracy (%)", curves, True, chance),
        )
        curves = [f"{w}_epsilon_{e:g}" for e in EPSILONS if math.isfinite(e) for w in ("pca", "full")]
        if name not in SETS[1:]:
            jobs[f"low_data_{name}"] = (
                partial(_of, group, measures.low_data, size),
                Drawing("fraction", "share of the private rows", "test accuracy (%)", curves, False, chance),
            )
        jobs[f"ten_percent_{name}"] = (partial(_of, group, _tenth, size), None)
    for name, held in found.items():
        jobs[f"table_1_{name}"] = (partial(measured.table_1, held, size.few, size.table_runs), None)
    return jobs


def _first(made: Callable[[], tuple[Group, Group]]) -> Group:
    return made()[0]


def _all_rows(made: Callable[[], tuple[Group, Group]]) -> list[Any]:
    return list(measures.all_rows(made()[1]))


def _of(group: Callable[[], Group], measure: Callable[[Group, Any], list[Any]], size: Sizes) -> list[Any]:
    return measure(group(), size)


def _tenth(group: Group, size: Sizes) -> list[Any]:
    return measures.ten_percent([group], size)
