"""What choosing one of k candidates leaves of the signal, and how sharp the choice is.

    python benchmarks/choose.py [--delta 1e-5]          the signal, by each method
    python benchmarks/choose.py --numbers reported      how often the better of two models of a number is chosen, by what a record counts

Signal: mu of a candidate over that of a single fit; in brackets times the chance that a candidate is tried, which is what
`prepriv.choose` compares. "Own rows" has 1 / k of the records.

Numbers: five models on "same rows" of tables of `regression_curves.py` (at most 4,500 rows to choose on, holdout 0.2), each pair whose
mean absolute errors differ by 3 % or more on 1,500 rows that no model saw. The chance that the better is chosen is computed from the mechanism, so no
noise of the choice is drawn. "Alone": each error cut at so much of the distance of the bounds. "Beside": how much larger it is than the smaller of the two,
cut there. Lost: by how many percent the error of the chosen one is larger, on average. The share was chosen by looking at both sets.
"""

from __future__ import annotations

import argparse
import itertools
import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import prepriv
from prepriv._arrays import Floats
from prepriv.evaluation.choose import _trial_mu
from prepriv.guarantees import gdp_epsilon, gdp_mu
from prepriv.learners import SquaredError
from prepriv.learners.gradient_descent import GradientDescent
from prepriv.runs.chosen import choice_epsilon, trials_stop, tried

CUTS = (1.0, 1 / 4, 1 / 8, 1 / 16, 1 / 32, 1 / 64)
MODELS: tuple[dict[str, Any], ...] = (
    {"steps": "auto"},
    {"steps": "additive"},
    {"steps": "curves"},
    {"steps": "auto", "learner": GradientDescent(SquaredError(), steps=4)},
    {"steps": (), "learner": GradientDescent(SquaredError(), steps=30)},
)
Pair = tuple[float, Floats]


def signal(delta: float) -> None:
    """The signal, by each method."""
    print(
        "| k | same rows | own rows | " + " | ".join(f"random trials, ε = {e:g}" for e in (0.5, 1, 4)) + " |"
    )
    print("|---|---|---|---|---|---|")
    for k in (2, 3, 4, 5, 8, 16, 50):
        trials = []
        for epsilon in (0.5, 1.0, 4.0):
            whole = gdp_mu(epsilon, delta)
            share = _trial_mu(whole, trials_stop(k), epsilon, delta) / whole
            trials.append(f"{share:.2f} ({share * tried(k):.2f})")
        print(f"| {k} | {1 / math.sqrt(k):.2f} | {1 / k:.2f} | {' | '.join(trials)} |")


def pairs(made: Callable[[int], Any], seed: int, epsilon: float, delta: float) -> list[Pair]:
    """Of each pair: how much larger the error of the worse is, and the chance that the better is chosen, (2, cuts): alone, beside."""
    x, y, columns, (low, high) = made(seed)
    order = np.random.default_rng(seed).permutation(len(y))[:6000]
    mine, unseen = order[: len(order) * 3 // 4], order[len(order) * 3 // 4 :]
    held = np.random.default_rng([seed, 3]).random(len(mine)) < 0.2
    domain = prepriv.Domain(columns, target=prepriv.Numeric(low, high))
    each, errors = gdp_epsilon(gdp_mu(epsilon, delta) / math.sqrt(2), delta), []
    for options in MODELS:
        model = prepriv.PrivateRegressor(domain, epsilon=each, delta=delta, threads=1, **options)
        model.fit(x.iloc[mine[~held]], y[mine[~held]])
        errors.append([np.abs(model.predict(x.iloc[at]) - y[at]) for at in (mine[held], unseen)])
    worth = choice_epsilon(gdp_mu(epsilon, delta), domain) / 2  # of one whole record, replace-one
    found = []
    for pair in itertools.combinations(errors, 2):
        good, bad = sorted(pair, key=lambda e: float(e[1].mean()))
        worse = float(bad[1].mean() / good[1].mean() - 1)
        if worse < 0.03:
            continue
        one, two = (e[0] / (high - low) for e in (good, bad))
        ahead = [
            [(np.minimum(two, cut) - np.minimum(one, cut)).sum() / cut for cut in CUTS],
            [np.clip(two - one, -cut, cut).sum() / cut for cut in CUTS],
        ]
        found.append((worse, 1 / (1 + np.exp(-worth * np.array(ahead)))))
    return found


def numbers(tables: str, delta: float, runs: int) -> None:
    """How often the better of two is chosen, by what a record counts."""
    from regression_curves import CHOSEN, REPORTED, real

    warnings.simplefilter("ignore")
    made = CHOSEN if tables == "chosen" else {**REPORTED, "italy": real("Ecdat", "BudgetItaly", "wfood")}
    print(
        "| ε | error larger by | pairs | a record counts | "
        + " | ".join(f"{c:.3g}" for c in CUTS)
        + " | lost, % |"
    )
    print("|" + "---|" * (5 + len(CUTS)))
    for epsilon in (0.5, 1.0, 4.0):
        found = [p for t in made.values() for seed in range(runs) for p in pairs(t, seed, epsilon, delta)]
        for low, high in ((0.03, 0.1), (0.1, 0.3), (0.3, math.inf)):
            some = [p for p in found if low <= p[0] < high]
            for k, way in enumerate(("alone", "beside")):
                chance = np.mean([c[k] for _, c in some], axis=0)
                lost = 100 * np.mean([min(worse, 1.0) * (1 - c[k]) for worse, c in some], axis=0)
                span = f"{low:.0%} to {high:.0%}" if high < math.inf else f"more than {low:.0%}"
                print(
                    f"| {epsilon:g} | {span} | {len(some)} | {way} | {' | '.join(f'{c:.3f}' for c in chance)} | {' '.join(f'{c:.2f}' for c in lost)} |",
                    flush=True,
                )


def main() -> None:
    """One table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--delta", type=float, default=1e-5)
    parser.add_argument("--numbers", choices=("chosen", "reported"))
    parser.add_argument("--runs", type=int, default=3)
    arguments = parser.parse_args()
    if arguments.numbers:
        return numbers(arguments.numbers, arguments.delta, arguments.runs)
    return signal(arguments.delta)


if __name__ == "__main__":
    main()
