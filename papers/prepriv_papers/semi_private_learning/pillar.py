"""`prepriv reproduce pillar`: the figures of How to Make Semi-Private Learning Effective on real data, as PNG and numbers (docs/pillar.md)."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from prepriv.commands.exits import Stop
from prepriv.commands.printing import console
from prepriv.runs.odometer import CompositionWarning
from prepriv_papers.counterexamples import measured as errata_numbers
from prepriv_papers.drawn import drawn, new_figure
from prepriv_papers.folder import reproduction_folder
from prepriv_papers.provable_privacy.tables import show, write_csv
from prepriv_papers.semi_private_learning import measures
from prepriv_papers.semi_private_learning.items import ERRATA, ITEMS
from prepriv_papers.semi_private_learning.measures import EPSILONS, SMALL, Size
from prepriv_papers.semi_private_learning.tasks import (
    Group,
    Task,
    cancer_cells,
    from_collection,
    grouped,
    hashed_words,
    messages,
    patches,
    pixels,
    shortened,
)
from prepriv_papers.user_data import collection
from prepriv_papers.verdicts import Resume, decide

SETS = {"mnist": "fashion_mnist", "fashion_mnist": "mnist"}  # and the public rows of another distribution
SMS = "sms_spam.tsv.gz"
NAMES = {"mnist": "MNIST", "fashion_mnist": "Fashion-MNIST", "sms": "SMS", "breast_cancer": "breast cancer"}

Job = Callable[[], list[Any]]

__all__ = ["ITEMS", "pillar"]


def pillar(
    data: Annotated[Path, typer.Option(help="Folder with mnist.npz, fashion_mnist.npz, sms_spam.tsv.gz.")],
    out: Annotated[Path, typer.Option(help="Folder for the pictures (PNG) and numbers (CSV, JSON).")] = Path(
        "run/pillar"
    ),
    small: Annotated[
        bool, typer.Option("--small", help="One image set, few rows: a minute of one core.")
    ] = False,
    embeddings: Annotated[
        Path | None,
        typer.Option(help="Sentence embeddings of the messages, .npy, in the order of the table."),
    ] = None,
    folders: Annotated[
        list[Path] | None,
        typer.Option(
            "--collection",
            help="CIFAR-10, GTSRB, ... of yours, one folder each: train.npy, train_labels.npy, test.npy, test_labels.npy "
            "(features; name folders DATA_NETWORK), or train/CLASS and test/CLASS with images.",
        ),
    ] = None,
) -> None:
    """Accuracy against k, low-data regimes, xi against k, what privacy costs, distribution shift, Gaussian mixtures.

    Every figure is written as it comes, its numbers to OUT/rows.jsonl; the same command goes on after the last one.
    """
    size = SMALL if small else Size()
    needed = [*(data / f"{s}.npz" for s in SETS), data / SMS, *([] if embeddings is None else [embeddings])]
    for path in needed:
        if not path.is_file():
            raise Stop(f"no such file: {path.name}")
    groups = _texts(data, size, embeddings) + _collections(folders or [], size)
    reproduction_folder(out)
    jobs = _jobs(data, size, groups)
    setting = {
        "size": str(size),
        "embeddings": str(embeddings),
        "collections": [str(f) for f in folders or []],
    }
    resume = Resume(out / "rows.jsonl", setting, len(jobs) + 1)
    numbers: dict[str, Any] = {}
    warnings.simplefilter("ignore", CompositionWarning)  # these rows are public
    for name, (job, drawing) in jobs.items():
        numbers[name] = resume.row(name, partial(lines_of, job))["lines"]
        keep(name, numbers[name], drawing, out)
    accuracies = {k.removeprefix("accuracy_"): v for k, v in numbers.items() if k.startswith("accuracy_")}
    numbers["reduction"] = measures.reduction(accuracies)
    keep("reduction", numbers["reduction"], None, out)
    _draw_reduction(numbers["reduction"], out / "reduction.png")
    print_figures(numbers)
    text = json.dumps(numbers, indent=1, ensure_ascii=False)
    (out / "numbers.json").write_text(text + "\n", encoding="utf-8")
    decide(ITEMS, numbers | {"errata": errata_numbers(*ERRATA)}, small=small)
    console.print(f"wrote {out / 'numbers.json'}, one CSV and one PNG a figure")


def print_figures(
    numbers: Mapping[str, Sequence[Mapping[str, Any]]], titles: Mapping[str, str] | None = None
) -> None:
    """A table for each figure. titles: of figures that are not this paper's, by how their names begin."""
    for name, lines in numbers.items():
        rows = [_spaced(line) for line in lines]
        show(_title(name, titles or {}), list(rows[0]), rows)


def lines_of(job: Job) -> dict[str, Any]:
    """What a job finds, as a row that is kept."""
    return {"lines": job()}


def _spaced(line: Mapping[str, Any]) -> dict[str, str]:
    """A line as it is read: names without underscores, each accuracy with its error, no other errors."""
    out = {}
    for name, value in line.items():
        error = line.get(f"error_{name}")
        text = str(value) if isinstance(value, str) else f"{value:.4g}" if error is None else f"{value:.1f}"
        if name == "data":
            text = _data(text)[2:]
        if not name.startswith("error_"):
            out[name.replace("_", " ")] = text + (f" ± {error:.1f}" if error else "")
    return out


def _title(name: str, more: Mapping[str, str] | None = None) -> str:
    """ "accuracy_mnist_pixels" -> "Accuracy against k: MNIST, pixels"."""
    titles = TITLES | dict(more or {})
    figure = next((f for f in titles if name.startswith(f)), None)
    if figure is None:
        return name.replace("_", " ")
    return titles[figure] + _data(name.removeprefix(figure).lstrip("_"))


def _data(name: str) -> str:
    for key, title in NAMES.items():
        if name.startswith(key):
            rest = name.removeprefix(key).replace("_", " ").strip()
            return f": {title}" + (f", {rest}" if rest else "")
    return f": {name}" if name else ""


TITLES = {
    "accuracy": "Accuracy (%) against k (Figures 2, 3, 6, 7)",
    "low_data": "Accuracy (%) on shares of the private rows (Figure 4)",
    "ten_percent": "Accuracy (%), a tenth of the private rows, ε = 0.7",
    "all_rows": "Accuracy (%), all private rows",
    "whitened": "Accuracy (%), whitened pixels, a tenth of the rows, ε = 0.7",
    "xi": "ξ_k of raw and learned features (Figure 5)",
    "shift": "Accuracy (%), directions of another distribution, ε = 0.7",
    "mixture": "Gaussian mixtures (Definition 5): labelled rows for 90 %, ε = 0.5",
    "reduction": "Part of the best public accuracy that privacy costs (Figure 8)",
}
CURVES = {
    "same": "directions of the same data",
    "other": "directions of the other data",
    "patches": "patch features",
    "pixels_whitened": "whitened pixels",
    "network_all_classes": "network trained on all ten classes",
    "network_other_classes": "network trained on the eight other classes",
    "public_pca": "two public directions",
    "full": "all directions",
} | {f"epsilon_{e:g}": "no privacy" if e > 1 else f"ε = {e:g}" for e in EPSILONS}
CURVES |= {f"{w}_epsilon_{e:g}": f"{t}, ε = {e:g}" for e in EPSILONS[:2] for w, t in (("pca", "recommended k"), ("full", "all directions"))}  # fmt: skip


@dataclass(frozen=True)
class Drawing:
    """A picture of some columns against one. chance: accuracy of guessing, in %."""

    x: str
    along: str
    up: str
    curves: Sequence[str]
    log: bool = False
    chance: float | None = None

    @drawn
    def save(self, path: Path, title: str, lines: Sequence[Mapping[str, float]]) -> None:
        """Curves with their standard errors where there are any; the legend stands below the axes."""
        figure = new_figure(6.4, 5.0)
        axes = figure.add_subplot()
        for i, curve in enumerate(c for c in self.curves if c in lines[0]):
            axes.errorbar(
                [line[self.x] for line in lines],
                [line[curve] for line in lines],
                [line[f"error_{curve}"] for line in lines] if f"error_{curve}" in lines[0] else None,
                marker=".",
                capsize=3,
                ls=("-", "--", ":", "-.")[i % 4],
                label=CURVES.get(curve, curve),
            )
        if self.chance is not None:
            axes.axhline(self.chance, color="black", ls="--", lw=0.8, label="chance")
        axes.set(xlabel=self.along, ylabel=self.up, title=title)
        if self.log:
            axes.set_xscale("log")
        figure.legend(loc="outside lower center", ncols=2)
        figure.savefig(path, dpi=110)


def keep(name: str, lines: Sequence[Mapping[str, Any]], drawing: Drawing | None, out: Path) -> None:
    write_csv(out / f"{name}.csv", lines)
    if drawing is not None:
        drawing.save(out / f"{name}.png", _title(name), lines)


@drawn
def _draw_reduction(lines: Sequence[Mapping[str, Any]], path: Path) -> None:
    figure = new_figure(5.6, 6.2)
    axes = figure.add_subplot()
    for line in lines:
        marker = "o" if line["epsilon"] < 0.5 else "s"
        label = f"{_data(line['data'])[2:]}, ε = {line['epsilon']:g} ({line['kinds']})"
        axes.plot(100 * line["raw"], 100 * line["learned"], marker, label=label)
    top = 105 * max(max(line["raw"], line["learned"]) for line in lines)
    axes.plot(
        [0, top],
        [0, top],
        color="black",
        ls="--",
        lw=0.8,
        label="no advantage; below: the second kind has it",
    )
    axes.set(
        xlabel="lost with the first kind of features (% of the best public accuracy)",
        ylabel="lost with the second kind (%)",
        title="Figure 8: what privacy costs, best k on the test rows",
    )
    figure.legend(loc="outside lower center")
    figure.savefig(path, dpi=110)


def _texts(data: Path, size: Size, embeddings: Path | None) -> list[Group]:
    """Breast cancer, hashed words of the messages, and their embeddings."""
    texts, spam = messages(data / SMS)
    groups = [
        grouped("breast_cancer", *cancer_cells(), size.splits, size.runs, standardize=True),
        grouped("sms_words", hashed_words(texts, size.words), spam, size.splits, size.runs),
    ]
    if embeddings is not None:
        rows = np.asarray(np.load(embeddings), dtype=np.float64)
        if len(rows) != len(spam):
            raise Stop(f"--embeddings: {len(rows)} rows for {len(spam)} messages")
        groups.append(grouped("sms_embeddings", rows, spam, size.splits, size.runs))
    return groups


def _collections(folders: Sequence[Path], size: Size) -> list[Group]:
    """A group for each folder of features, two (pixels, patches) for each of images."""
    raws = [raw for f in folders for raw in from_collection(collection(f), size.few, size.test, size.filters)]
    return [Group(raw.name, [Task.of(raw)], size.runs) for raw in raws]


def _jobs(data: Path, size: Size, others: Sequence[Group]) -> dict[str, tuple[Job, Drawing | None]]:
    """Every figure by name; each is computed when it is called."""
    jobs: dict[str, tuple[Job, Drawing | None]] = {}
    groups = list(others)
    for name in size.sets:
        raw, other = (pixels(data / f"{s}.npz", size.pixels, size.test) for s in (name, SETS[name]))
        embedded = patches(data / f"{name}.npz", size.few, size.test, size.filters)
        task = Task.of(raw)
        few = Group(f"{name}_pixels", [shortened(task, size.few)], size.runs)
        groups += [few, Group(f"{name}_patches", [Task.of(embedded)], size.runs)]
        white = Group(f"{name}_pixels_whitened", [few.tasks[0].with_equal_deviations()])
        jobs[f"all_rows_{name}"] = (partial(measures.all_rows, Group(name, [task])), None)
        jobs[f"whitened_{name}"] = (partial(measures.whitened, white, few.tasks[0]), None)
        kinds = ("pixels", "pixels_whitened", "patches", "network_all_classes", "network_other_classes")
        jobs[f"xi_{name}"] = (
            partial(measures.xi_against_k, raw, embedded, size.hidden),
            Drawing("k", "directions k", "ξ_k = 1 − ‖A_kᵀ w*‖ of the first two classes", kinds, True),
        )
        away = shortened(Task.of(raw, other.public), size.few)
        jobs[f"shift_{name}"] = (
            partial(measures.shift, few.tasks[0], away, size),
            Drawing("k", "directions k", "test accuracy (%)", ("same", "other"), True, 10.0),
        )
    for group in groups:
        chance = 100 * group.chance
        curves = [f"epsilon_{e:g}" for e in EPSILONS]
        jobs[f"accuracy_{group.name}"] = (
            partial(measures.accuracy_against_k, group, size),
            Drawing("k", "directions k", "test accuracy (%)", curves, True, chance),
        )
        curves = [f"{w}_epsilon_{e:g}" for e in EPSILONS[:2] for w in ("pca", "full")]
        jobs[f"low_data_{group.name}"] = (
            partial(measures.low_data, group, size),
            Drawing("fraction", "share of the private rows", "test accuracy (%)", curves, False, chance),
        )
    jobs["ten_percent"] = (partial(measures.ten_percent, groups, size), None)
    jobs["mixture"] = (
        partial(measures.mixture, size),
        Drawing("d", "dimension d", "labelled rows for 90 % accuracy", ("full", "public_pca"), True),
    )
    return jobs
