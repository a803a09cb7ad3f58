"""The automatic recipe beside others on the development suite: one table, both halves.

    python benchmarks/recipe.py [--data FOLDER] [--half choose] [--epsilon 0.1 1 4] [--seeds 1] [--most 6000] [--out FILE]
                                [--peers PYTHON-WITH-THEIR-LIBRARIES]
    python benchmarks/recipe.py --from FILE      the tables of a run again; what FILE holds is not run again

Methods: the recipe; "linear"; "additive"; the recipe of version 0.1 with its softmax; class shares of the training rows, without
privacy; plain DP-SGD in full batches: encoded columns, gradients clipped to 1, 100 steps of rate 1; and, with `--peers PYTHON`,
diffprivlib, DP-EBM and Opacus (benchmarks/peers.py), each with its defaults and tuned: by the test rows, for free.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from development import HALVES, NAMES, Development, load
from old_recipe import old_recipe
from peers import Peers, at_replace_one
from sklearn.metrics import f1_score, roc_auc_score

import prepriv
from prepriv.learners.gradient_descent import GradientDescent
from prepriv.learners.losses import Logistic, Softmax
from prepriv.plans.link import softmax

DELTA = 1e-5
BINS = 15
PEERS: Peers | None = None


def fitted(dev: Development, epsilon: float, **options: Any) -> prepriv.PrivateClassifier:
    return prepriv.PrivateClassifier(dev.domain(), epsilon=epsilon, delta=DELTA, **options).fit(*dev.train)


def ours(steps: str) -> Callable[[Development, float], Any]:
    return lambda dev, epsilon: fitted(dev, epsilon, steps=steps).predict_proba(dev.test[0])


def old(dev: Development, epsilon: float) -> Any:
    steps, learner = old_recipe(dev.domain(), n=len(dev.train[1]), epsilon=epsilon, delta=DELTA)
    return softmax(fitted(dev, epsilon, steps=steps, learner=learner).model_.scores(dev.test[0]))


def plain(dev: Development, epsilon: float) -> Any:
    loss = Logistic() if dev.classes == 2 else Softmax()
    steps = (
        [prepriv.preprocessing.MeanImputer(payment=prepriv.Budget(0.02))]
        if dev.domain().space.may_miss.any()
        else []
    )
    learner = GradientDescent(loss, steps=100, learning_rate=1.0, momentum=0.0, average=0.01)
    return softmax(fitted(dev, epsilon, steps=steps, learner=learner).model_.scores(dev.test[0]))


def shares(dev: Development, epsilon: float) -> Any:
    share = np.bincount(dev.train[1], minlength=dev.classes) / len(dev.train[1])
    return np.tile(share, (len(dev.test[1]), 1))


def peer(name: str, tuned: bool) -> Callable[[Development, float], Any]:
    """In a Python of its own: `--peers`. ImportError, which leaves a cell out, without one or where the peer has no answer."""

    def probabilities(dev: Development, epsilon: float) -> Any:
        if PEERS is None:
            raise ImportError
        return at_replace_one(PEERS, dev, epsilon, name, tuned)

    return probabilities


def additive(dev: Development, epsilon: float) -> Any:
    """ImportError, which leaves a table out, where its columns have no function of their own."""
    if any(isinstance(c, prepriv.Text) for c in dev.columns.values()):
        raise ImportError
    return ours("additive")(dev, epsilon)


METHODS: dict[str, Callable[[Development, float], Any]] = {
    "recipe": ours("auto"),
    "linear": ours("linear"),
    "additive": additive,
    "version 0.1": old,
    "class shares": shares,
    "plain DP-SGD": plain,
}
OTHERS = {
    name + (", tuned" if tuned else ""): peer(name, tuned)
    for name in ("diffprivlib", "DP-EBM", "Opacus")
    for tuned in (False, True)
}
METHODS |= OTHERS


def measures(p: Any, y: Any) -> dict[str, float]:
    """accuracy, AUC (two classes) or macro-F1, log loss, expected calibration error of the winner in 15 bins."""
    classes, winner = p.shape[1], p.argmax(axis=1)
    right, sure = winner == y, p.max(axis=1)
    binned = np.bincount(np.minimum((sure * BINS).astype(int), BINS - 1), right - sure)
    rank = roc_auc_score(y, p[:, 1]) if classes == 2 else f1_score(y, winner, average="macro")
    loss = -np.log(np.clip(p[np.arange(len(y)), y], 1e-15, 1)).mean()
    return {
        "accuracy": right.mean(),
        "AUC or F1": rank,
        "log loss": loss,
        "ECE": np.abs(binned).sum() / len(y),
    }


def run(args: argparse.Namespace) -> None:
    done = (
        read(args.out) if args.out.exists() else pd.DataFrame(columns=["table", "epsilon", "seed", "method"])
    )
    there = set(zip(done["table"], done["epsilon"], done["seed"], done["method"]))
    for name in args.tables or [n for n in NAMES if HALVES[n] in args.half]:
        for seed in range(args.seeds):
            wanted = [(e, m) for e in args.epsilon for m in args.methods if (name, e, seed, m) not in there]
            dev = load(name, args.data, seed, args.most) if wanted else None
            if dev is None:
                continue
            for epsilon, method in wanted:
                start = time.perf_counter()
                try:
                    p = METHODS[method](dev, epsilon)
                except ImportError:
                    continue
                facts = {"table": name, "half": dev.half, "n": len(dev.train[1]), "classes": dev.classes}
                found = measures(p, dev.test[1]) | {"seconds": time.perf_counter() - start}
                with args.out.open("a") as file:
                    file.write(
                        json.dumps(facts | {"epsilon": epsilon, "seed": seed, "method": method} | found)
                        + "\n"
                    )


def read(path: Path) -> pd.DataFrame:
    return pd.read_json(path, lines=True, precise_float=True)


def show(path: Path) -> None:
    """Means over tables and seeds, and in how many cells the recipe is not behind."""
    cells = (
        read(path)
        .groupby(["half", "table", "epsilon", "method"], as_index=False)[
            ["accuracy", "AUC or F1", "log loss", "ECE", "n"]
        ]
        .mean()
    )
    for half, part in cells.groupby("half"):
        print(f"\n{half} half, {part['table'].nunique()} tables: means\n")
        print(
            "| ε | method | accuracy | AUC or F1 | log loss | ECE | accuracy not behind by 0.5: recipe | log loss not above class shares |"
        )
        print("|---|---|---|---|---|---|---|---|")
        recipe = part[part["method"] == "recipe"].set_index(["table", "epsilon"])
        prior = part[part["method"] == "class shares"].set_index(["table", "epsilon"])["log loss"]
        for (epsilon, method), rows in part.groupby(["epsilon", "method"]):
            at = rows.set_index(["table", "epsilon"])
            won = (recipe["accuracy"].reindex(at.index) >= at["accuracy"] - 0.005).sum()
            honest = (at["log loss"] <= prior.reindex(at.index) + 1e-9).sum()
            numbers = f"{100 * rows['accuracy'].mean():.1f} | {rows['AUC or F1'].mean():.3f} | {rows['log loss'].mean():.3f}"
            print(
                f"| {epsilon:g} | {method} | {numbers} | {rows['ECE'].mean():.3f} | {won} of {len(at)} | {honest} of {len(at)} |"
            )

        for named, kind in ((list(OTHERS)[::2], "as it comes"), (list(OTHERS), "tuned or not")):
            best = part[part["method"].isin(named)].groupby(["table", "epsilon"])["accuracy"].max()
            ours = recipe["accuracy"].reindex(best.index).dropna()
            for epsilon, rows in ((best.reindex(ours.index) - ours) <= 0.005).groupby("epsilon"):
                print(
                    f"\nepsilon {epsilon:g}: no peer, {kind}, is ahead by more than half a point on {rows.sum()} of {len(rows)} tables"
                )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path)
    parser.add_argument("--half", nargs="*", default=["choose", "report"])
    parser.add_argument("--tables", nargs="*", choices=NAMES)
    parser.add_argument("--epsilon", type=float, nargs="*", default=[0.1, 1.0, 4.0])
    parser.add_argument("--methods", nargs="*", choices=METHODS, default=list(METHODS))
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--most", type=int, default=6000, help="training rows that are kept")
    parser.add_argument("--out", type=Path, default=Path("recipe.jsonl"))
    parser.add_argument("--peers", help="a Python with diffprivlib, interpret-core, torch and opacus")
    parser.add_argument("--from", dest="shown", type=Path)
    args = parser.parse_args()
    warnings.filterwarnings("ignore")
    global PEERS
    PEERS = Peers(args.peers) if args.peers else None
    if args.shown is None:
        run(args)
    show(args.shown or args.out)


if __name__ == "__main__":
    main()
