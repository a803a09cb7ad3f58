"""A quarter of the passes, with and without `flatten`, beside the recipe as it is: accuracy, log loss, processor seconds.

    python benchmarks/fewer_passes.py [--data FOLDER] [--half choose] [--tables NAME ...] [--epsilon 0.1 1 4] [--seeds 1] [--repeats 2]
    python benchmarks/fewer_passes.py --from FILE      the tables of a run again; what FILE holds is not run again

Each cell encodes a table once and trains on the same rows with every candidate, each at the whole budget and with noise of its own: "now" is the
recipe of version 0.2 (100 passes or more, momentum 0.9); the others have so many passes at momentum 0.7 and a rate with which a constant gradient gets as far, and
"flat" spends 1 % of the budget of training on the mean row. A rule goes by the length of a step of 25 passes, rate * clip / norm, from declared
numbers alone, and keeps the recipe beyond its last limit. Rules are compared on the first half of the tables; the second reports.
"""

from __future__ import annotations

import argparse
import json
import math
import time
import warnings
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
from prepriv.recipes.fast import FLATTEN, ONE_OUTPUT, SEVERAL, as_far, step_length
from prepriv.runs.run import predict_scores
from prepriv.tables.encoding import encode

DELTA = 1e-5
PASSES = (25, 40, 60)
SHORT, FLAT = (0.0, FLATTEN)
INF = math.inf
RULES = {
    "25": ((INF, 25, SHORT),),
    "25 flat": ((INF, 25, FLAT),),
    "40": ((INF, 40, SHORT),),
    "fast": None,
}
MADE = "made: steep"


def called(passes: int, share: float) -> str:
    return f"{passes} flat" if share else f"{passes}"


def candidates(learner: GradientDescent, long: float) -> dict[str, GradientDescent]:
    """More passes only where a step is so long that a rule may want them."""
    made = {"now": learner}
    for passes in PASSES if long > 0.6 else PASSES[:1]:
        for share in (SHORT, FLAT):
            made[called(passes, share)] = as_far(learner, passes, share)
    return made


def chosen(long: float, classes: int, rule: tuple[tuple[float, int, float], ...] | None) -> str:
    """What a rule takes; None: that of learner="fast"."""
    rule = (ONE_OUTPUT if classes == 2 else SEVERAL) if rule is None else rule
    return next((called(passes, share) for limit, passes, share in rule if long <= limit), "now")


def cell(dev: Development, epsilon: float, repeats: int, adjacency: str) -> list[dict[str, Any]]:
    """One row for each candidate and repeat, on rows that were encoded once."""
    train, found, trained = GradientDescent.train, [], []

    def every(self: GradientDescent, rows: Any, setting: Setting, run: Run) -> Any:
        long = step_length(self, setting.radius)
        for name, learner in candidates(self, long).items():
            z = run.noise_multiplier * math.sqrt(
                allowance(learner, 1.0, setting) / allowance(self, 1.0, setting)
            )
            for _ in range(repeats):
                start = time.process_time()
                weights = train(learner, rows, setting, Run(run.session, z))
                spent = time.process_time() - start
                facts = {"candidate": name, "length": long, "passes": learner.steps}
                found.append(facts | {"cpu": spent})
                trained.append(np.vstack([weights[:-1], weights[-1:] * self.bias]))
        return trained[0]

    with mock.patch.object(GradientDescent, "train", every):
        fitted = prepriv.PrivateClassifier(
            dev.domain(adjacency), epsilon=epsilon, delta=DELTA, steps="auto-0.2", threads=1
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
                with args.out.open("a") as file:
                    for one in cell(dev, epsilon, args.repeats, args.adjacency):
                        file.write(json.dumps(facts | one) + "\n")


def read(path: Path) -> pd.DataFrame:
    return pd.read_json(path, lines=True, precise_float=True)


def show(path: Path) -> None:
    """Means over the runs of a cell, then over cells; differences from now, and their standard errors over tables."""
    columns = ["accuracy", "AUC or F1", "log loss", "cpu", "passes"]
    keys = ["half", "table", "epsilon", "length", "n", "classes"]
    cells = read(path).groupby([*keys, "candidate"])[columns].mean().unstack()
    for half, of_half in cells.groupby("half"):
        print(f"\n{half} half, {of_half.index.get_level_values('table').nunique()} tables\n")
        print(
            "| ε | rule | accuracy | AUC or F1 | log loss | processor s | worst table: accuracy; log loss |"
        )
        print("|---|---|---|---|---|---|---|")
        for epsilon, at in of_half.groupby("epsilon"):
            now = at.xs("now", axis=1, level="candidate")
            print(f"| {epsilon:g} | now | {means(now, now)} |")
            lengths, classes = (at.index.get_level_values(name) for name in ("length", "classes"))
            for name, rule in RULES.items():
                takes = [chosen(long, k, rule) for long, k in zip(lengths, classes)]
                if not set(takes) <= set(at.columns.get_level_values("candidate")):
                    continue
                of = pd.concat([at.iloc[[i]].xs(c, axis=1, level="candidate") for i, c in enumerate(takes)])
                print(f"| {epsilon:g} | {name} | {means(of, now)} |")
    names = ("now", *(called(passes, share) for passes in PASSES for share in (SHORT, FLAT)))
    print(f"\n| table | n | ε | length | accuracy: {', '.join(names)} | log loss | processor s |")
    print("|---|---|---|---|---|---|---|")
    for (_, table, epsilon, long, n, _), row in cells.iterrows():
        shown = [
            " ".join(f"{factor * row[name][c]:.{digits}f}" for c in names if c in row[name].dropna())
            for name, factor, digits in (("accuracy", 100, 1), ("log loss", 1, 4), ("cpu", 1, 2))
        ]
        print(f"| {table} | {n} | {epsilon:g} | {long:.2f} | {' | '.join(shown)} |")


def means(of: pd.DataFrame, now: pd.DataFrame) -> str:
    change = of - now
    error = change.sem()
    said = [
        f"{factor * of[name].mean():.{digits}f} ({factor * change[name].mean():+.{digits}f} ± {factor * error[name]:.{digits}f})"
        for name, factor, digits in (("accuracy", 100, 2), ("AUC or F1", 1, 4), ("log loss", 1, 4))
    ]
    worst = f"{100 * change['accuracy'].min():+.1f}; {change['log loss'].max():+.3f}"
    return " | ".join([*said, f"{of['cpu'].mean():.2f}", worst])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path)
    parser.add_argument("--half", nargs="*", default=["choose", "report"])
    parser.add_argument("--tables", nargs="*", choices=[*NAMES, MADE])
    parser.add_argument("--epsilon", type=float, nargs="*", default=[0.1, 1.0, 4.0])
    parser.add_argument("--seeds", type=int, default=1, help="splits of a table")
    parser.add_argument("--repeats", type=int, default=2, help="runs of each candidate on the same rows")
    parser.add_argument("--most", type=int, default=6000, help="training rows that are kept")
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
