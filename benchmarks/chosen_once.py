"""The recipe of version 0.2 and that of today, part by part, on the development tables: accuracy, AUC or macro-F1, log loss.

    python benchmarks/chosen_once.py [--data FOLDER] [--half choose] [--tables NAME ...] [--epsilon 0.1 0.3 1 4] [--adjacency replace-one] [--seeds 6] [--parts]
    python benchmarks/chosen_once.py --from FILE ...     the tables of runs again
    python benchmarks/chosen_once.py --from docs/chosen_once.csv     the comparisons of what --csv wrote

Every result is a line of `--out`. What that file holds is not run again, so a run that was stopped (`--minutes`) goes on where it was. Small tables come first.

Each cell is one split of a table at one budget. Rows are encoded by the library, once for each choice of steps, whose noise has the same keys. Every
learner then trains on them at the whole budget. Training is simulated in float32: three runs each, in which all learners have the same noise (that of
a longer step is the scaled sum of that of the shorter ones), so that differences are those of the rules. With `--library` the library trains, once,
with noise of its own.

Steps: "0.2"; "mean", the mean of the scaler drawn to the midpoint; "level", and the constant feature by the signal; "now", and no mean of categories
where noise is longer than a row. Learners: "0.2"; "late", the late iterates averaged; "few", fewer passes; "now", both. Without `--parts` only "0.2"
and "now" run, each with its own steps. "sms texts" (`--tables`) are the texts of SMS in hashed words.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import math
import os
import time
import warnings
import zlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
from development import HALVES, NAMES, Development, load
from recipe import measures
from scipy import stats

import prepriv
from prepriv.learners.gradient_descent import GradientDescent
from prepriv.learners.learner import Run, Setting, allowance
from prepriv.plans.plan import signal
from prepriv.preprocessing.base import Step
from prepriv.preprocessing.scale import StandardScaler
from prepriv.recipes import automatic, weak
from prepriv.recipes.fast import averaged, fast
from prepriv.runs.run import predict_scores
from prepriv.tables.encoding import encode

DELTA = 1e-5
TESTED, RUNS = 4000, 3  # test rows that are read; simulated runs of a cell
MEASURED = ["accuracy", "AUC or F1", "log loss"]
SAID = (("accuracy", 100, 2), ("AUC or F1", 1, 4), ("log loss", 1, 4))  # in points; digits
STEPS = ("0.2", "mean", "level", "now")
LEARNERS = ("0.2", "late", "few", "now")
WHOLE = (("0.2", "0.2"), ("now", "now"))


def steps_of(domain: prepriv.Domain, n: int, epsilon: float, name: str) -> list[Step]:
    """The steps of the recipe with some of the rules of today."""
    level = weak.level if name in ("level", "now") else lambda s, d: weak.RECIPE_LEVEL
    pays = weak.means_pay if name == "now" else lambda s, d: True
    with mock.patch.multiple(automatic, level=level, means_pay=pays):
        made = automatic.auto_steps(domain, n=n, epsilon=epsilon, delta=DELTA, linear=False)
    drawn = name != "0.2"
    return [replace(step, shrink=drawn) if isinstance(step, StandardScaler) else step for step in made]


def learner_of(learner: GradientDescent, s: float, radius: float, name: str) -> GradientDescent:
    """The learner of version 0.2 with some of the rules of today."""
    if name in ("late", "now"):
        learner = averaged(learner, weak.late_share(s))
    return fast(learner, radius) if name in ("few", "now") else learner


def cell(
    dev: Development, epsilon: float, adjacency: Any, parts: bool, library: bool, seed: int
) -> Iterator[dict[str, Any]]:
    """One row for each choice of steps and of a learner. Steps that are the same are run once."""
    domain, n = dev.domain(adjacency), len(dev.train[1])
    s = signal(domain, n=n, epsilon=epsilon, delta=DELTA)
    done: list[tuple[list[Step], list[dict[str, Any]]]] = []
    for name in STEPS if parts else ("0.2", "now"):
        steps = steps_of(domain, n, epsilon, name)
        found = next((rows for before, rows in done if parts and before == steps), None)
        if found is None:
            wanted = [of for of in LEARNERS if parts or (name, of) in WHOLE]
            asked = (dev, domain, steps, epsilon, s, wanted)
            key = f"{dev.name} {seed} {epsilon} {adjacency}"
            found = trained(*asked) if library else simulated(*asked, key)
            done.append((steps, found))
        yield from ({"s": s, "steps": name} | facts for facts in found)


def trained(
    dev: Development, domain: prepriv.Domain, steps: list[Step], epsilon: float, s: float, wanted: list[str]
) -> list[dict[str, Any]]:
    """What each of these learners makes of rows that were encoded once, as the library trains."""
    train, found, weights = GradientDescent.train, [], []

    def every(self: GradientDescent, rows: Any, setting: Setting, run: Run) -> Any:
        for name in wanted:
            learner = learner_of(self, s, setting.radius, name)
            z = run.noise_multiplier * math.sqrt(
                allowance(learner, 1.0, setting) / allowance(self, 1.0, setting)
            )
            made = train(learner, rows, setting, Run(run.session, z))
            found.append({"learner": name, "passes": learner.steps})
            weights.append(np.vstack([made[:-1], made[-1:] * self.bias]))
        return weights[0]

    base = base_of(dev, domain, steps, epsilon)
    with mock.patch.object(GradientDescent, "train", every):
        fitted = fit(dev, domain, steps, epsilon, base)
    model = fitted.model_
    scores, norms = predict_scores(model.maps, np.hstack(weights), encode(dev.test[0], model.domain))
    outputs = weights[0].shape[1]
    for k, facts in enumerate(found):
        p = model.link.probabilities(scores[:, k * outputs : (k + 1) * outputs], norms)
        facts |= measures(p, dev.test[1])
    return found


def simulated(
    dev: Development,
    domain: prepriv.Domain,
    steps: list[Step],
    epsilon: float,
    s: float,
    wanted: list[str],
    key: str,
) -> list[dict[str, Any]]:
    """The same, trained in float32 with common noise."""
    train, seen, calls = GradientDescent.train, list[tuple[float, float]](), itertools.count()

    def noted(self: GradientDescent, rows: Any, setting: Setting, run: Run) -> Any:
        seen.append((run.noise_multiplier, self.unit(setting) / self.clip(setting.radius)))
        return train(self, rows, setting, run)

    def keys(size: int) -> bytes:
        return hashlib.shake_256(f"{key} {next(calls)}".encode()).digest(size)

    base = base_of(dev, domain, steps, epsilon)
    with mock.patch.object(GradientDescent, "train", noted), mock.patch.object(os, "urandom", keys):
        fitted = fit(dev, domain, steps, epsilon, replace(base, steps=1, average=1.0))
    model, one = fitted.model_, np.eye(len(fitted.model_.weights))
    (x, _), (tested, norms) = (
        predict_scores(model.maps, one, encode(rows, model.domain)) for rows in (dev.train[0], dev.test[0])
    )
    learners = {name: learner_of(base, s, automatic.SCALE, name) for name in wanted}
    outputs = base.loss.outputs(dev.classes)
    rng = np.random.default_rng(zlib.crc32(key.encode()))
    noise = rng.standard_normal((base.steps, x.shape[1], RUNS * outputs), dtype=np.float32)
    noise *= (
        seen[0][0] * seen[0][1] / len(x)
    )  # of the mean gradient of a single step at the whole budget, over its clip
    link, found = fitted.model_.link, []
    for name, learner in learners.items():
        weights = descended(learner, x.astype(np.float32), np.asarray(dev.train[1]), outputs, noise)
        scores = tested @ weights
        runs = [
            measures(link.probabilities(scores[:, k * outputs : (k + 1) * outputs], norms), dev.test[1])
            for k in range(RUNS)
        ]
        means = {what: float(np.mean([run[what] for run in runs])) for what in runs[0]}
        found.append({"learner": name, "passes": learner.steps} | means)
    return found


def descended(learner: GradientDescent, x: Any, y: Any, outputs: int, noise: Any) -> Any:
    """Averaged weights of RUNS runs beside each other, (d, RUNS * outputs)."""
    n, steps = len(x), learner.steps
    norms, kept = np.linalg.norm(x, axis=1)[:, None], max(1, round(learner.average * steps))
    hot = np.eye(max(outputs, 2), dtype=np.float32)[y][:, None, 2 - outputs if outputs == 1 else 0 :]
    weights = np.zeros(noise.shape[1:], dtype=np.float32)
    velocity, average = np.zeros_like(weights), np.zeros_like(weights)
    for t in range(steps):
        ahead = weights + np.float32(learner.momentum) * velocity
        z = (x @ ahead).reshape(n, RUNS, outputs)
        with np.errstate(over="ignore"):
            top = np.exp(z - z.max(axis=2, keepdims=True)) if outputs > 1 else 1 / (1 + np.exp(-z))
        residual = (top / top.sum(axis=2, keepdims=True) if outputs > 1 else top) - hot
        length = np.linalg.norm(residual, axis=2) * norms
        residual *= np.minimum(1, learner.clip_norm / np.maximum(length, 1e-9))[:, :, None]
        a, b = round(t * len(noise) / steps), round((t + 1) * len(noise) / steps)
        drawn = noise[a:b].sum(axis=0) * np.float32(learner.clip_norm * math.sqrt(steps / (b - a)))
        gradient = x.T @ residual.reshape(n, -1) / np.float32(n) + drawn
        new = ahead - np.float32(learner.learning_rate) * gradient
        velocity, weights = new - weights, new
        if t >= steps - kept:
            average += weights
    return average / kept


def base_of(dev: Development, domain: prepriv.Domain, steps: list[Step], epsilon: float) -> GradientDescent:
    return automatic.auto_learner(
        domain, n=len(dev.train[1]), epsilon=epsilon, delta=DELTA, steps=steps, old=True
    )


def fit(
    dev: Development, domain: prepriv.Domain, steps: list[Step], epsilon: float, learner: GradientDescent
) -> prepriv.PrivateClassifier:
    made = prepriv.PrivateClassifier(
        domain, epsilon=epsilon, delta=DELTA, threads=1, steps=steps, learner=learner
    )
    return made.fit(*dev.train)


def texts(data: Path, seed: int, most: int | None) -> Development:
    """SMS, whose texts are hashed by the library."""
    rows = pd.read_csv(data / "sms_spam.tsv.gz", sep="\t", quoting=3)
    at = np.random.default_rng(seed).permutation(len(rows))
    says, spam = rows.iloc[:, -1].astype(str).to_frame("says"), rows.iloc[:, 0].astype(str).str.strip()
    y, many = (spam == "spam").to_numpy().astype(int), min(most or len(at), round(0.7 * len(at)))
    train, test = at[:many], at[round(0.7 * len(at)) :]
    columns = {"says": prepriv.Text(1024)}
    return Development(
        "sms texts", "texts", columns, (says.iloc[train], y[train]), (says.iloc[test], y[test])
    )


def run(args: argparse.Namespace) -> None:
    there, start = set(), time.perf_counter()
    if args.out.exists():
        done = pd.read_json(args.out, lines=True, precise_float=True)
        there = set(zip(done["table"], done["adjacency"], done["epsilon"], done["seed"]))
    names = args.tables or [n for n in NAMES if HALVES[n] in args.half]
    cells = [(name, seed) for name in by_size(names, args.data, args.most) for seed in range(args.seeds)]
    for name, seed in cells:
        wanted = [
            (adjacency, e)
            for adjacency, e in itertools.product(args.adjacency, args.epsilon)
            if (name, adjacency, e, seed) not in there
        ]
        if not wanted:
            continue
        dev = loaded(name, args.data, seed, args.most)
        if dev is None:
            continue
        facts = {"table": name, "half": dev.half, "n": len(dev.train[1]), "seed": seed}
        for adjacency, epsilon in wanted:
            if time.perf_counter() - start > 60 * args.minutes:
                return
            rows = list(cell(dev, epsilon, adjacency, args.parts, args.library, seed))
            more = facts | {"adjacency": adjacency, "epsilon": epsilon}
            with args.out.open("a") as file:
                file.writelines(json.dumps(more | row) + "\n" for row in rows)


def loaded(name: str, data: Path, seed: int, most: int | None) -> Development | None:
    """One split of a table, and at most TESTED of its other rows."""
    dev = texts(data, seed, most) if name == "sms texts" else load(name, data, seed, most)
    return dev and replace(dev, test=(dev.test[0][:TESTED], dev.test[1][:TESTED]))


def by_size(names: list[str], data: Path, most: int | None) -> list[str]:
    """Tables that are there, those of few rows, columns and classes first."""
    size = {}
    for name in names:
        dev = loaded(name, data, 0, most)
        if dev is not None:
            size[name] = len(dev.train[1]) * dev.domain().space.d * dev.classes
    return sorted(size, key=size.__getitem__)


def show(paths: list[Path], csv: Path | None = None) -> None:
    """Means over tables, differences from version 0.2 with standard errors over tables, and each table that lost or gained."""
    if paths[0].suffix == ".csv":
        return compared(pd.read_csv(paths[0]))
    rows = pd.concat([pd.read_json(path, lines=True, precise_float=True) for path in paths])
    rows["what"] = rows["steps"] + " / " + rows["learner"]
    print(
        "| half | adjacency | ε | tables, runs | steps / learner | accuracy | AUC or macro-F1 | log loss | passes |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for (half, adjacency, epsilon), at in rows.groupby(["half", "adjacency", "epsilon"]):
        means = at.groupby(["table", "what"])[[*MEASURED, "passes"]].mean().unstack()
        runs = f"{len(means)}, {at.groupby('table')['seed'].nunique().mean():.1f}"
        old = means.xs("0.2 / 0.2", axis=1, level="what")
        for what in at["what"].unique():
            now = means.xs(what, axis=1, level="what")
            change = now - old
            said = [
                f"{f * now[c].mean():.{d}f} ({f * change[c].mean():+.{d}f} ± {f * change[c].sem():.{d}f})"
                for c, f, d in SAID
            ]
            print(
                f"| {half} | {adjacency} | {epsilon:g} | {runs} | {what} | {' | '.join(said)} | {now['passes'].mean():.0f} |"
            )
    pairs = paired(rows[rows["what"].isin(["0.2 / 0.2", "now / now"])])
    if pairs.empty:  # a standard error needs two splits
        return
    if csv is not None:
        pairs.to_csv(csv, index=False, float_format="%.6g")
    compared(pairs)


def paired(rows: pd.DataFrame) -> pd.DataFrame:
    """A line for each table, adjacency and ε: before, now, and the change of each measure with its standard error over the splits.

    Both recipes have the same splits and noise, so the error of a change is that of the paired differences.
    """
    found = []
    for (half, table, adjacency, epsilon), at in rows.groupby(["half", "table", "adjacency", "epsilon"]):
        runs = at.pivot_table(index="seed", columns="what", values=MEASURED).dropna()
        if len(runs) < 2 or runs.shape[1] < 2 * len(MEASURED):
            continue
        line = {"half": half, "table": table, "adjacency": adjacency, "epsilon": epsilon}
        line |= {"s": at["s"].mean(), "runs": len(runs)}
        for measure in MEASURED:
            old, now = (runs[measure][f"{of} / {of}"] for of in ("0.2", "now"))
            line |= {f"{measure}, before": old.mean(), f"{measure}, now": now.mean()}
            line |= {f"{measure}, change": (now - old).mean(), f"{measure}, error": (now - old).sem()}
        found.append(line)
    return pd.DataFrame(found)


def compared(pairs: pd.DataFrame) -> None:
    """How many changes are beyond two of their standard errors, how many chance alone would show, and every cell that lost."""
    better, worse, same, chance = 0, 0, 0, 0.0
    lost: list[tuple[float, str]] = []
    for _, line in pairs.iterrows():
        t = {}
        for (measure, _, _), sign in zip(SAID, (1, 1, -1), strict=True):
            mean, error = line[f"{measure}, change"], line[f"{measure}, error"]
            t[measure] = 0.0 if mean == 0 else sign * mean / error if error > 0 else sign * mean * math.inf
            same += mean == 0
            chance += 0.0 if mean == 0 else float(stats.t.sf(2, line["runs"] - 1))
        better += sum(value > 2 for value in t.values())
        worse += sum(value < -2 for value in t.values())
        if min(t.values()) < -2:
            said = [
                f"{f * line[f'{c}, change']:+.{d}f} ± {f * line[f'{c}, error']:.{d}f}" + "*" * (t[c] < -2)
                for c, f, d in SAID
            ]
            p = stats.t.sf(-min(t.values()), line["runs"] - 1)
            lost.append(
                (
                    float(p),
                    f"| {line['table']} ({line['half']}) | {line['adjacency']} | {line['epsilon']:g} | {line['s']:.0f} "
                    f"| {line['runs']} | {' | '.join(said)} | {p:.4f} |",
                )
            )
    tables, compared = pairs["table"].nunique(), len(MEASURED) * len(pairs)
    print(
        f"\n{tables} tables, {len(pairs)} cells, {compared} comparisons, {same} of them without any change. Beyond two standard "
        f"errors: {better} better, {worse} worse; of changes that are none, chance alone would put {chance:.0f} on each side."
    )
    print(
        f"A single comparison is a loss at level .05 after all of them were looked at (Bonferroni) where p < {0.05 / compared:.5f}.\n\n"
        "| table | adjacency | ε | s | runs | change of accuracy | of AUC or macro-F1 | of log loss | least p |\n|---|---|---|---|---|---|---|---|---|"
    )
    for _, said in sorted(lost):
        print(said)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=Path("data"))
    parser.add_argument("--half", nargs="*", default=["choose", "report"])
    parser.add_argument("--tables", nargs="*", choices=[*NAMES, "sms texts"])
    parser.add_argument("--epsilon", type=float, nargs="*", default=[0.1, 0.3, 1.0, 4.0])
    parser.add_argument(
        "--adjacency",
        nargs="*",
        choices=("replace-one", "add-or-remove-one"),
        default=["replace-one", "add-or-remove-one"],
    )
    parser.add_argument("--seeds", type=int, default=6, help="splits of a table, each with noise of its own")
    parser.add_argument("--most", type=int, default=4000, help="training rows that are kept")
    parser.add_argument("--parts", action="store_true", help="every choice of steps and of a learner")
    parser.add_argument(
        "--library", action="store_true", help="train by the library, once, not by simulation"
    )
    parser.add_argument(
        "--minutes", type=float, default=math.inf, help="stop after so many; goes on where it stopped"
    )
    parser.add_argument("--out", type=Path, default=Path("chosen_once.jsonl"))
    parser.add_argument("--csv", type=Path, help="every table, before and now, with standard errors")
    parser.add_argument("--from", dest="shown", type=Path, nargs="*")
    args = parser.parse_args()
    warnings.filterwarnings("ignore")
    if args.shown is None:
        run(args)
    show(args.shown or [args.out], args.csv)


if __name__ == "__main__":
    main()
