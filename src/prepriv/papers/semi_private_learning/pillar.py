"""`prepriv reproduce pillar`: the figures of How to Make Semi-Private Learning Effective on real data, as PNG and numbers (docs/pillar.md)."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

import prepriv
from prepriv.commands.common import console, progress_bar, reproduction_folder
from prepriv.commands.exits import Stop
from prepriv.domain import Domain
from prepriv.learners.losses import Logistic
from prepriv.mechanisms.noise import NoiseSource
from prepriv.papers.provable_privacy.figures import new_figure
from prepriv.papers.provable_privacy.tables import show, write_csv
from prepriv.papers.semi_private_learning.tasks import (
    DELTA,
    FLOOR,
    Group,
    Raw,
    Task,
    cancer_cells,
    directions,
    grouped,
    hashed_words,
    messages,
    patches,
    pixels,
    shortened,
    tenths,
)
from prepriv.pipeline.recipes.automatic import SCALE
from prepriv.pipeline.recipes.pillar import projected_learner
from prepriv.pipeline.recipes.pillar_theory import GaussianMixture, estimate
from prepriv.preprocessing.normalize import Rescale

EPSILONS = (0.1, 0.7, math.inf)
SETS = {"mnist": "fashion_mnist", "fashion_mnist": "mnist"}  # and the public rows of another distribution
TEN_PERCENT = 20  # runs a number
SMS = "sms_spam.tsv.gz"

Line = dict[str, float]
Job = Callable[[], list[Any]]


@dataclass(frozen=True)
class Size:
    """How much is run. pixels: private rows of images at most where all rows are used; few: elsewhere, a small private
    collection. ks: dimensions beside the recommended and the full one. splits, runs: of the small sets; images have one
    split. filters, words: features of images and messages. dimensions, draws: of the mixture."""

    pixels: int = 54_000
    few: int = 5_400
    test: int = 5_000
    ks: tuple[int, ...] = (5, 10, 20, 40, 80, 160)
    splits: int = 4
    runs: int = 2
    filters: int = 100
    words: int = 1024
    sets: tuple[str, ...] = ("mnist", "fashion_mnist")
    fractions: tuple[float, ...] = (0.05, 0.1, 0.25, 0.5, 0.75)
    dimensions: tuple[int, ...] = (10, 50, 200, 800)
    draws: int = 16


SMALL = Size(2000, 1000, 500, (5, 20), 1, 1, 10, 256, ("mnist",), (0.1, 0.5), (10, 100), 4)


def pillar(
    data: Annotated[Path, typer.Option(help="Folder with mnist.npz, fashion_mnist.npz, sms_spam.tsv.gz.")],
    out: Annotated[Path, typer.Option(help="Folder for the pictures (PNG) and numbers (CSV, JSON).")] = Path(
        "run/pillar"
    ),
    small: Annotated[
        bool, typer.Option("--small", help="One image set, few rows: about two minutes of one core.")
    ] = False,
    embeddings: Annotated[
        Path | None,
        typer.Option(help="Sentence embeddings of the messages, .npy, in the order of the table."),
    ] = None,
) -> None:
    """Accuracy against k, low-data regimes, xi against k, distribution shift, Gaussian mixtures."""
    size = SMALL if small else Size()
    needed = [*(data / f"{s}.npz" for s in SETS), data / SMS, *([] if embeddings is None else [embeddings])]
    for path in needed:
        if not path.is_file():
            raise Stop(f"no such file: {path.name}")
    reproduction_folder(out)
    numbers: dict[str, Any] = {}
    jobs = _jobs(data, size, embeddings)
    with progress_bar() as progress:
        for done, (name, (job, draw)) in enumerate(jobs.items()):
            numbers[name] = job()
            write_csv(out / f"{name}.csv", numbers[name])
            if draw is not None:
                draw.save(out / f"{name}.png", numbers[name])
            if progress is not None:
                progress("figures", done + 1, len(jobs))
    for name, lines in numbers.items():
        show(name.replace("_", " "), list(lines[0]), lines)
    text = json.dumps(numbers, indent=1, ensure_ascii=False)
    (out / "numbers.json").write_text(text + "\n", encoding="utf-8")
    console.print(f"wrote {out / 'numbers.json'}, one CSV and one PNG a figure")


@dataclass(frozen=True)
class Drawing:
    """A picture of some columns against one."""

    x: str
    label: str
    curves: Sequence[str]
    log: bool = False

    def save(self, path: Path, lines: Sequence[Line]) -> None:
        figure = new_figure(6.0, 4.0)
        axes = figure.add_subplot()
        for curve in self.curves:
            axes.plot(
                [line[self.x] for line in lines],
                [line[curve] for line in lines],
                marker=".",
                label=curve.replace("_", " "),
            )
        axes.set(xlabel=self.x, ylabel=self.label)
        if self.log:
            axes.set_xscale("log")
        axes.legend()
        figure.savefig(path, dpi=130)


def _jobs(data: Path, size: Size, embeddings: Path | None) -> dict[str, tuple[Job, Drawing | None]]:
    """Every figure by name, the cheap ones first; each is computed when it is called."""
    jobs: dict[str, tuple[Job, Drawing | None]] = {}
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
    for name in size.sets:
        raw, other = (pixels(data / f"{s}.npz", size.pixels, size.test) for s in (name, SETS[name]))
        embedded = patches(data / f"{name}.npz", size.few, size.test, size.filters)
        task = Task.of(raw)
        few = Group(f"{name}_pixels", [shortened(task, size.few)], size.runs)
        groups += [few, Group(f"{name}_patches", [Task.of(embedded)], size.runs)]
        white = Group(f"{name}_pixels_whitened", [few.tasks[0].with_equal_deviations()])
        jobs[f"all_rows_{name}"] = (_bound(all_rows, Group(name, [task])), None)
        jobs[f"whitened_{name}"] = (_bound(whitened, white, few.tasks[0]), None)
        jobs[f"xi_{name}"] = (
            _bound(xi_against_k, raw, embedded),
            Drawing("k", "ξ_k", ("pixels", "patches", "pixels_whitened"), True),
        )
        jobs[f"shift_{name}"] = (
            _bound(shift, few.tasks[0], shortened(Task.of(raw, other.public), size.few), size),
            Drawing("k", "test accuracy, ε = 0.7", ("same", "other"), True),
        )
    for group in groups:
        curves = [f"epsilon_{e:g}" for e in EPSILONS]
        jobs[f"accuracy_{group.name}"] = (
            _bound(accuracy_against_k, group, size),
            Drawing("k", "test accuracy", curves, True),
        )
        curves = [f"{w}_epsilon_{e:g}" for e in EPSILONS[:2] for w in ("pca", "full")]
        jobs[f"low_data_{group.name}"] = (
            _bound(low_data, group, size),
            Drawing("fraction", "test accuracy", curves),
        )
    jobs["ten_percent"] = (_bound(ten_percent, groups), None)
    jobs["mixture"] = (
        _bound(mixture, size),
        Drawing("d", "labelled rows for 90 %", ("full", "public_pca"), True),
    )
    return dict(sorted(jobs.items(), key=lambda job: job[0].startswith("all_rows")))


def _bound(function: Callable[..., list[Any]], *arguments: Any) -> Job:
    return lambda: function(*arguments)


# -------------------------------------------------------------------------------------------- the figures


def accuracy_against_k(group: Group, size: Size) -> list[Line]:
    """One line a dimension, all private rows; the recommended one of every epsilon is among them."""
    n, d = group.rows, group.dimension
    best = {e: min(group.recommended(e, n), d) for e in EPSILONS}
    return [
        {"k": float(k)}
        | {f"epsilon_{e:g}": group.mean(e, n, k, None if e < 1 else 1)[0] for e in EPSILONS}
        | {f"recommended_{e:g}": float(k == best[e]) for e in EPSILONS}
        for k in sorted({*(k for k in size.ks if k < d), *best.values(), d})
    ]


def low_data(group: Group, size: Size) -> list[Line]:
    """Accuracy at the recommended k and at full dimension, same learner, on a share of the private rows."""
    lines = []
    for fraction in size.fractions:
        n = max(1, round(fraction * group.rows))
        line = {"fraction": fraction, "n": float(n)}
        for e in EPSILONS[:2]:
            (pca, _), (full, _) = (group.mean(e, n, how) for how in ("recommended", group.dimension))
            line |= {f"k_{e:g}": float(group.recommended(e, n)), f"pca_epsilon_{e:g}": pca}
            line |= {f"full_epsilon_{e:g}": full, f"ratio_{e:g}": _ratio(pca, full, group.chance)}
        lines.append(line)
    return lines


def ten_percent(groups: Sequence[Group]) -> list[dict[str, Any]]:
    """A tenth of the private rows, epsilon = 0.7: the recommended k beside three baselines at full dimension.

    Of a set with one split, ten disjoint tenths in turn; of the others the first tenth of every split.
    """
    lines: list[dict[str, Any]] = []
    for group in groups:
        n = max(1, round(0.1 * group.rows))
        spread = group if len(group.tasks) > 1 else tenths(group.tasks[0])
        runs = math.ceil(TEN_PERCENT / len(spread.tasks))
        found = {
            how: spread.mean(0.7, n, at, runs)
            for how, at in (("pca", "recommended"), ("full", group.dimension), ("default", "default"))
        }
        some = Group(group.name, spread.tasks[:4])  # the paper's: its account takes longer than its training
        found["paper"] = some.mean(0.7, n, "paper")
        line: dict[str, Any] = {"data": group.name, "n": n, "d": group.dimension, "chance": group.chance}
        line["k"] = spread.recommended(0.7, n)
        line |= {how: mean for how, (mean, _) in found.items()}
        line |= {f"error_{how}": error if math.isfinite(error) else 0.0 for how, (_, error) in found.items()}
        line |= {
            f"ratio_{how}": _ratio(line["pca"], line[how], group.chance)
            for how in ("full", "default", "paper")
        }
        lines.append(line)
    return lines


def _ratio(one: float, other: float, chance: float) -> float:
    """Accuracy above chance over accuracy above chance; the lower one counts as one point at least."""
    return (one - chance) / max(other - chance, 0.01)


def all_rows(group: Group) -> list[Line]:
    """All private rows of an image set: the recommended k beside full dimension, same learner."""
    n = group.rows
    lines = []
    for e in EPSILONS[:2]:
        k = group.recommended(e, n)
        pca, full = (group.mean(e, n, at)[0] for at in (k, group.dimension))
        lines.append({"epsilon": e, "n": float(n), "k": float(k), "pca": pca, "full": full})
    return lines


def whitened(group: Group, plain: Task) -> list[Line]:
    """Whitened features at a tenth of the rows, epsilon = 0.7: k of the plain spectrum beside full dimension."""
    n = round(0.1 * group.rows)
    k = plain.recommended(0.7, n)
    pca, full = (group.mean(0.7, n, at)[0] for at in (k, group.dimension))
    return [
        {"n": float(n), "k": float(k), "pca": pca, "full": full, "ratio": _ratio(pca, full, group.chance)}
    ]


def xi_against_k(raw: Raw, embedded: Raw) -> list[Line]:
    """xi_k of a linear SVM on the public rows of the first two classes, with their labels (How to Make Semi-Private Learning Effective, Figure 5)."""
    found = {}
    for name, r in (("pixels", raw), ("patches", embedded)):
        pair = r.public_labels < 2
        frame, spectrum = directions(r.public)
        rows = (r.public - r.public.mean(axis=0)) @ frame
        found[name] = estimate(rows[pair], r.public_labels[pair] == 1, unlabelled=rows).xi
        if name == "pixels":
            rows = rows * np.maximum(spectrum, FLOOR * spectrum[0]) ** -0.5
            found["pixels_whitened"] = estimate(rows[pair], r.public_labels[pair] == 1, unlabelled=rows).xi
    ks = [k for k in (1, 2, 5, 10, 20, 40, 80, 160, 320, 640) if k <= min(map(len, found.values()))]
    return [{"k": float(k)} | {name: float(xi[k - 1]) for name, xi in found.items()} for k in ks]


def shift(same: Task, other: Task, size: Size) -> list[Line]:
    """Directions of the same distribution beside directions of another one, epsilon = 0.7."""
    n = len(same.rows)
    return [
        {"k": float(k), "same": same.accuracy(k, 0.7, n), "other": other.accuracy(k, 0.7, n)} for k in size.ks
    ]


def mixture(size: Size) -> list[Line]:
    """Labelled rows for 90 % accuracy at epsilon = 0.5, theta = sigma2 = 1/sqrt(d), with and without public PCA."""
    return [
        {
            "d": float(d),
            "full": float(_needed(d, d, size.draws)),
            "public_pca": float(_needed(d, 2, size.draws)),
            "order_sqrt_d": math.sqrt(d),
        }
        for d in size.dimensions
    ]


def _needed(d: int, k: int, draws: int) -> int:
    """The least n among 10 * sqrt2^i with mean accuracy at least 0.9, over several samples of n rows."""
    law = GaussianMixture(d, 1 / math.sqrt(d), 1 / math.sqrt(d))
    source = NoiseSource.for_tests(d)
    public, test, answers = law.draw(4000, source)[0], *law.draw(2000, source)
    frame = np.linalg.eigh(public.T @ public)[1][:, ::-1][:, :k] if k < d else np.eye(d)
    norm = math.sqrt(float(((public @ frame) ** 2).sum(axis=1).mean()))
    radius = 1 + law.reach(1000, 0.5)
    for i in range(25):
        n = round(10 * math.sqrt(2) ** i)
        total = 0.0
        for _ in range(draws):
            x, y = law.draw(n, source)
            domain = Domain.ball(k, range(2), radius=radius, n=n)
            learner = projected_learner("gd", Logistic(), domain, k, n, 0.5, DELTA)
            steps = [Rescale(SCALE * radius / norm)]
            clf = prepriv.PrivateClassifier(domain, epsilon=0.5, delta=DELTA, steps=steps, learner=learner)
            total += float(clf.fit(x @ frame, y).score(test @ frame, answers))
        if total / draws >= 0.9:
            return n
    raise ValueError(f"no n up to {n} was enough for d={d}")
