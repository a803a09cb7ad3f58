"""The passes of the recipe beside those of version 0.2, on the same encoded rows: accuracy, log loss, processor seconds.

    python benchmarks/fewer_passes.py [--data FOLDER] [--half choose] [--tables NAME ...] [--epsilon 0.1 1 4] [--repeats 4] [--most 6000]
    python benchmarks/fewer_passes.py --from FILE      the tables of a run again; what FILE holds is not run again

Each cell encodes a table once, by the steps of the recipe, and trains on the same rows with every candidate, each at the whole budget
and with noise of its own. "0.2" has 100 passes or more. "now" is the rule of recipes/fast.py. "flat" has a third of the passes that
"now" has, and spends 1 % of the budget of training on the mean row. "batches" has the passes of "now" over Poisson batches of a
quarter of the rows, with the noise of a mean of all rows (which is within 1 % of what its account asks under replace-one). A cell
whose steps are so short that the rule takes 25 or 40 passes with a rate that stays has "0.2" and "now" alone; --long leaves it out.
"""

from __future__ import annotations

import argparse
import json
import math
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
from development import HALVES, NAMES, Development, declared, load
from large import part
from recipe import measures

import prepriv
from prepriv.learners.gradient_descent import GradientDescent
from prepriv.learners.learner import Run, Setting, allowance
from prepriv.learners.stochastic import PoissonSGD
from prepriv.recipes import automatic
from prepriv.recipes.fast import SHORT, fast, fewer, step_length
from prepriv.runs.run import predict_scores
from prepriv.tables.encoding import encode

DELTA, QUARTER, FLATTEN = 1e-5, 4, 0.01
MADE = "made: steep"
BEFORE, NOW, FLAT, BATCHES = "0.2", "now", "flat", "batches"


class Short(Exception):
    """A cell without a long step, which was not asked for."""


def candidates(
    learner: GradientDescent, radius: float, rows: Mapping[str, bool]
) -> dict[str, GradientDescent]:
    made = {BEFORE: learner, NOW: fast(learner, radius, **rows)}
    if made[NOW].warm_up:
        third = max(25, made[NOW].steps // 3)
        made |= {FLAT: fewer(replace(learner, flatten=FLATTEN), third), BATCHES: made[NOW]}
    return made


def trainer(
    name: str, learner: GradientDescent, setting: Setting, z: float
) -> Callable[[Any, Run], np.ndarray[Any, Any]]:
    """Trains on rows with the noise of these full passes, or with that of their mean on batches."""
    if name != BATCHES:
        return lambda rows, run: train(learner, rows, setting, Run(run.session, z))
    size = math.ceil(setting.n / QUARTER)
    shared = ("loss", "steps", "learning_rate", "clip_norm", "momentum", "average", "bias", "warm_up")
    batches = PoissonSGD(batch_size=size, **{name: getattr(learner, name) for name in shared})
    noise = z * learner.unit(setting) / batches.unit(setting) * size / setting.n
    return lambda rows, run: batches.train(rows, setting, Run(run.session, noise))


train = GradientDescent.train


def cell(dev: Development, epsilon: float, args: argparse.Namespace) -> list[dict[str, Any]]:
    """One row for each candidate and repeat, on rows that were encoded once."""
    found, trained = [], []
    rows_are: dict[str, bool] = {}  # what the recipe tells its rule about them

    def not_yet(learner: GradientDescent, radius: float, **are: bool) -> GradientDescent:
        rows_are.update(are)
        return learner

    def every(self: GradientDescent, rows: Any, setting: Setting, run: Run) -> Any:
        long = step_length(self, self.row_norm(setting.radius))
        if args.long and long <= SHORT[-1][0]:
            raise Short
        for name, learner in candidates(self, setting.radius, rows_are).items():
            if name not in args.candidates:
                continue
            z = run.noise_multiplier * math.sqrt(
                allowance(learner, 1.0, setting) / allowance(self, 1.0, setting)
            )
            of = trainer(name, learner, setting, z)
            for _ in range(args.repeats):
                start = time.process_time()
                weights = of(rows, run)
                spent = time.process_time() - start
                found.append({"candidate": name, "length": long, "passes": learner.steps, "cpu": spent})
                trained.append(np.vstack([weights[:-1], weights[-1:] * self.bias]))
        return trained[0]

    with (
        mock.patch.object(GradientDescent, "train", every),
        mock.patch.object(automatic, "fast", not_yet),
    ):
        fitted = prepriv.PrivateClassifier(
            dev.domain(args.adjacency), epsilon=epsilon, delta=DELTA, steps=args.steps, threads=1
        )
        model = fitted.fit(*dev.train).model_
    scores, norms = predict_scores(model.maps, np.hstack(trained), encode(dev.test[0], model.domain))
    outputs = trained[0].shape[1]
    for k, facts in enumerate(found):
        p = model.link.probabilities(scores[:, k * outputs : (k + 1) * outputs], norms)
        facts |= measures(p, dev.test[1])
    return found


def steep(most: int | None) -> Development:
    """The rows of benchmarks/large.py, whose mean is the only direction that is long."""
    x, y = part(5, 70_000)
    frame = pd.DataFrame(x, columns=[f"c{j}" for j in range(x.shape[1])])
    at = min(most or 60_000, 60_000)
    columns = declared(frame)
    return Development(MADE, "choose", columns, (frame[:at], y[:at]), (frame[60_000:], y[60_000:]))


def run(args: argparse.Namespace) -> None:
    there = set()
    if args.out.exists():
        done = read(args.out)
        there = set(zip(done["table"], done["epsilon"], done["seed"]))
    for name in args.tables or [n for n in [*NAMES, MADE] if HALVES.get(n, "choose") in args.half]:
        for seed in range(args.seeds):
            wanted = [e for e in args.epsilon if (name, e, seed) not in there]
            if not wanted:
                continue
            dev = steep(args.most) if name == MADE else load(name, args.data, seed, args.most)
            for epsilon in wanted if dev is not None else []:
                facts = {"table": name, "half": dev.half, "n": len(dev.train[1]), "classes": dev.classes}
                facts |= {"tested": len(dev.test[1]), "epsilon": epsilon, "seed": seed}
                try:
                    rows = cell(dev, epsilon, args)
                except Short:
                    continue
                with args.out.open("a") as file:
                    for one in rows:
                        file.write(json.dumps(facts | one) + "\n")


def read(path: Path) -> pd.DataFrame:
    return pd.read_json(path, lines=True, precise_float=True)


COLUMNS = ["accuracy", "AUC or F1", "log loss", "cpu", "passes"]
SHOWN = (("accuracy", 100, 2), ("AUC or F1", 1, 4), ("log loss", 1, 4))


def show(path: Path) -> None:
    """Means over the runs of a cell, then over cells; differences from 0.2, and their standard errors over tables."""
    keys = ["half", "table", "epsilon", "n", "length"]
    by = read(path).groupby([*keys, "candidate"])[COLUMNS]
    cells, errors = by.mean().unstack(), by.sem().unstack()
    print(
        "\n| half | ε | tables | candidate | accuracy | AUC or F1 | log loss | processor s | worst table: accuracy; log loss |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for (half, epsilon), at in cells.groupby(["half", "epsilon"]):
        before = at.xs(BEFORE, axis=1, level="candidate")
        for name in (BEFORE, NOW, FLAT, BATCHES):
            if name not in at.columns.get_level_values("candidate"):
                continue
            of = at.xs(name, axis=1, level="candidate").dropna()
            print(f"| {half} | {epsilon:g} | {len(of)} | {name} | {means(of, before.loc[of.index])} |")
    print("\n| table | n | ε | length | candidate | passes | accuracy | AUC or F1 | log loss | processor s |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for at, row in cells.iterrows():
        _, table, epsilon, n, long = at
        for name in (BEFORE, NOW, FLAT, BATCHES):
            if ("cpu", name) in row.dropna().index:
                said = " | ".join(
                    f"{f * row[c, name]:.{k}f} ± {f * errors.loc[at][c, name]:.{k}f}" for c, f, k in SHOWN
                )
                print(
                    f"| {table} | {n} | {epsilon:g} | {long:.2f} | {name} | {row['passes', name]:.0f} | {said} | {row['cpu', name]:.2f} |"
                )


def means(of: pd.DataFrame, before: pd.DataFrame) -> str:
    change = of - before
    error = change.sem()
    said = [
        f"{factor * of[name].mean():.{digits}f} ({factor * change[name].mean():+.{digits}f} ± {factor * error[name]:.{digits}f})"
        for name, factor, digits in SHOWN
    ]
    worst = f"{100 * change['accuracy'].min():+.1f}; {change['log loss'].max():+.3f}"
    return " | ".join([*said, f"{of['cpu'].mean():.2f}", worst])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    every = (BEFORE, NOW, FLAT, BATCHES)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--half", nargs="*", default=["choose", "report"])
    parser.add_argument("--tables", nargs="*", choices=[*NAMES, MADE])
    parser.add_argument("--candidates", nargs="*", choices=every, default=list(every))
    parser.add_argument("--epsilon", type=float, nargs="*", default=[0.1, 1.0, 4.0])
    parser.add_argument("--seeds", type=int, default=1, help="splits of a table")
    parser.add_argument("--repeats", type=int, default=2, help="runs of each candidate on the same rows")
    parser.add_argument("--most", type=int, help="training rows that are kept")
    parser.add_argument("--long", action="store_true", help="cells with long steps alone")
    parser.add_argument("--steps", choices=("auto", "linear", "additive"), default="auto")
    parser.add_argument("--adjacency", choices=("replace-one", "add-or-remove-one"), default="replace-one")
    parser.add_argument("--out", type=Path, default=Path("fewer_passes.jsonl"))
    parser.add_argument("--from", dest="shown", type=Path)
    args = parser.parse_args()
    warnings.filterwarnings("ignore")
    if args.shown is None:
        run(args)
    show(args.shown or args.out)


if __name__ == "__main__":
    main()
