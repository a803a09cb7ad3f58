"""`prepriv reproduce dpsgd-f`: tables, bounds and the counter-example of The Importance of Feature Preprocessing, beside ours."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from prepriv.commands.printing import console, print_table
from prepriv_papers.counterexamples import measured as errata_numbers
from prepriv_papers.feature_preprocessing import bounds, measured
from prepriv_papers.feature_preprocessing.items import CIFAR_NAMES, ITEMS
from prepriv_papers.feature_preprocessing.measured import DELTA, NAMES, PRINTED
from prepriv_papers.feature_preprocessing.two_clusters import DISTANCES, EPSILON, N, at_distance, draw
from prepriv_papers.folder import reproduction_folder
from prepriv_papers.verdicts import Resume, decide

SMALL_ROWS, SMALL_DISTANCES = 1500, (1.0, 10_000.0)
ERRATA = ("F1", "F2", "F4")


def dpsgd_f(
    data: Annotated[
        Path | None, typer.Option(help="Folder with mnist.npz and fashion_mnist.npz, for Tables 1 and 2.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for pictures (PNG) and numbers (CSV, JSON).")] = Path(
        "run/dpsgd-f"
    ),
    runs: Annotated[int, typer.Option(help="Runs a cell; the paper has ten.", min=1)] = 3,
    rows: Annotated[int, typer.Option(help="Only the first ROWS images; 0: all.", min=0)] = 0,
    small: Annotated[
        bool, typer.Option("--small", help="One run, 1500 images: seconds of one core.")
    ] = False,
    folder: Annotated[
        Path | None,
        typer.Option(
            "--collection", help="Also features or images of yours: train.npy, train_labels.npy, ..."
        ),
    ] = None,
) -> None:
    """Print the bounds, Table 1, Table 2 and the two-cluster example of the paper beside ours; write them to OUT.

    Every cell is written as it comes, to OUT/rows.jsonl; the same command goes on after the last one.
    """
    runs, rows = (1, rows or SMALL_ROWS) if small else (runs, rows)
    images = {} if data is None else {paper: measured.load(data, name, rows) for name, paper in NAMES.items()}
    if folder is not None:
        name, other = measured.load_collection(folder, rows)
        images[name] = other
    reproduction_folder(out)
    distances = SMALL_DISTANCES if small else DISTANCES
    cells = len(distances) + len(images) * (2 * runs * (len(measured.RECIPES) + len(PRINTED)) + 4)
    resume = Resume(out / "rows.jsonl", {"rows": rows, "data": sorted(images)}, cells)
    numbers: dict[str, Any] = {"bounds": bounds_of()}
    numbers["two_clusters"] = [
        resume.row(f"two clusters, µ = {mu:g}, {runs} runs", partial(at_distance, runs, mu))
        for mu in distances
    ]
    draw(numbers["two_clusters"], out)
    if images:
        numbers["table_2"] = [
            resume.row(f"table 2, {name}", partial(measured.concentration, name, held[0]))
            for name, held in images.items()
        ]
        numbers["table_1"] = [
            r for name, held in images.items() for r in measured.table_1(name, held, runs, resume)
        ]
    if data is not None:
        count = len(next(iter(images.values()))[0])
        measured.draw(
            [r for r in numbers["table_1"] if r["data"] in NAMES.values()], out / "table_1.png", runs, count
        )
    _write(numbers, out)
    decide(ITEMS, numbers | more(images), small=small or rows > 0)
    console.print(f"wrote {out / 'numbers.json'}, one CSV a table, the pictures beside it")


def more(names: Iterable[str]) -> dict[str, Any]:
    """What verdicts look at beside the tables: counter-examples, and whether CIFAR-100 is among these collections."""
    given = sum(name.lower().startswith(CIFAR_NAMES) for name in names)
    return {"errata": errata_numbers(*ERRATA), "cifar_100": float(given)}


TITLES = {
    "bounds": f"Lemma 1, Theorems 1 to 3 on the two clusters, ε = {EPSILON:g}, δ = {DELTA:g}; zero weights lose 1",
    "two_clusters": "Two clusters at distance µ: accuracy on the worse data set (%), mean and standard error",
    "table_2": "Table 2: concentration of the rows (norm 1)",
    "table_1": f"Table 1: test accuracy (%), δ = {DELTA:g}, add or remove one, mean (deviation)",
}


def bounds_of() -> list[dict[str, float]]:
    """Lemma 1 and Theorems 1 to 3 on the two clusters, n = 4000 and a million."""
    lines = []
    for n in (N, 1_000_000):
        for mu in DISTANCES:
            p = bounds.two_cluster_problem(n, mu)
            lines.append(
                {
                    "n": float(n),
                    "µ": mu,
                    "Lemma 1, mended": bounds.lemma_1(p, EPSILON, DELTA),
                    "Theorem 1": bounds.theorem_1(p, EPSILON, DELTA),
                    "Theorem 2, order": bounds.theorem_2_order(p, EPSILON),
                    "Theorem 3, at least": bounds.theorem_3(n, mu, EPSILON, DELTA, steps=50),
                }
            )
    return lines


def _write(numbers: Mapping[str, Sequence[Mapping[str, Any]]], out: Path) -> None:
    for name, table in numbers.items():
        with (out / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(table[0]))
            writer.writeheader()
            writer.writerows(table)
        names = tuple(table[0])
        cells = [
            tuple(
                f"{v:.{0 if v >= 1000 else 3}{'f' if v >= 1000 else 'g'}}" if isinstance(v, float) else str(v)
                for v in r.values()
            )
            for r in table
        ]
        if name == "table_1":  # too wide for a page: one column a row of the file
            names, cells = ("", *(f"{r['data']}, ε {r['ε']}" for r in table)), list(zip(names, *cells))[2:]
        print_table(TITLES[name], names, cells, right=tuple(range(1, len(names))))
    text = json.dumps(numbers, indent=1, ensure_ascii=False, allow_nan=False)
    (out / "numbers.json").write_text(text + "\n", encoding="utf-8")
