"""`prepriv demo`: real data, a private model, its guarantee and its price, in a few seconds."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from prepriv._progress import progress_bar
from prepriv.commands.data import DeltaOption
from prepriv.commands.exits import Stop, print_json
from prepriv.commands.outputs import Overwrite, writable_run
from prepriv.commands.printing import (
    AsJson,
    console,
    print_guarantee,
    print_prices,
    print_summary,
    print_table,
)
from prepriv.domain import Domain
from prepriv.evaluation.evaluate import evaluate
from prepriv.evaluation.evaluation_plan import plan_evaluation
from prepriv.guarantees.printed import exact
from prepriv.placed.checks import check_budget
from prepriv.plans.plan import Plan, make_plan
from prepriv.recipes.automatic import recipe
from prepriv.recipes.dpsgd_f import RECIPES, map_back
from prepriv.release.model import Model
from prepriv.release.report import Evaluation, Report, paid_for
from prepriv.runs.train import train


def demo(
    epsilon: Annotated[float, typer.Option(help="Privacy budget.")] = 1.0,
    delta: DeltaOption = 1e-5,
    out: Annotated[Path, typer.Option(help="Folder for the model and its reports.")] = Path("run"),
    recipe_name: Annotated[
        str,
        typer.Option(
            "--recipe", help=f"auto, or one of The Importance of Feature Preprocessing: {', '.join(RECIPES)}."
        ),
    ] = "auto",
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Train on scikit-learn's handwritten digits; write OUT/model, OUT/report.html and OUT/report.json."""
    check_budget(epsilon, delta)
    if recipe_name not in RECIPES and recipe_name != "auto":
        raise Stop(f"--recipe must be auto, {', '.join(RECIPES)}; got {recipe_name!r}")
    from sklearn.datasets import load_digits

    folder = writable_run(out, overwrite)
    digits = load_digits()
    test = np.arange(len(digits.target)) % 5 == 4  # every fifth image, a fixed rule
    x, y = digits.data, digits.target
    console.print(
        f"handwritten digits: {int((~test).sum()):,} images of 8 x 8 pixels to train on privately, {int(test.sum())} to test on"
    )
    domain = Domain.box(
        0, 16, features=64, classes=range(10), n=int((~test).sum()), adjacency="add-or-remove-one"
    )
    accuracies: dict[float, float] = {}
    # The images are public: all these runs are shown, and the last one is the model.
    budgets = (
        [math.inf] if math.isinf(epsilon) else [math.inf, epsilon / 4, epsilon / 2, 4 * epsilon, epsilon]
    )
    with progress_bar() as progress:
        for at, budget in enumerate(budgets):
            plan = _plan(recipe_name, domain, budget, delta)
            trained = train(plan, x[~test], y[~test], counted=False)
            if recipe_name == "dpsgd-f":
                trained = map_back(trained)
            model = Model.of(trained)
            found = Evaluation.of(
                model.predict_index(x[test]), y[test], domain.classes, "the held-out images (public here)"
            )
            accuracies[budget] = found.accuracy
            if progress is not None:
                progress("training", at + 1, len(budgets))
    without = accuracies.pop(math.inf)
    by_epsilon = tuple(sorted(accuracies.items()))
    evaluation = replace(found, accuracy_without_privacy=without, by_epsilon=by_epsilon)
    asked = plan_evaluation(
        model, n=int(test.sum()), epsilon=min(epsilon, 1.0), delta=delta, measures=("accuracy", "scores")
    )
    measured = evaluate(asked, model, x[test], y[test], counted=False)
    report = Report.of(plan, private=trained.private, evaluation=evaluation, measured=measured, model=model)
    written = model.save(folder / "model", overwrite=overwrite)
    report.save(folder / "report.json")
    report.save(folder / "report.html")
    print_summary(report)
    console.print()
    print_guarantee(plan, trained.private)
    print_table("What was paid for what", ("step", "paid by", "cost"), paid_for(plan))
    print_prices(report.prices)
    print_table(
        "What privacy costs: accuracy on the test images, which are public here",
        ("ε", "accuracy", ""),
        [_bar(exact(e), a) for e, a in by_epsilon]
        + [_bar("without privacy", without)]
        + ([_bar("the commonest class", found.commonest[1])] if found.commonest is not None else []),
        right=(1,),
    )
    seen = measured["accuracy"]
    if seen.value is not None:
        console.print(
            f"\nIf the test images were private, you would see: accuracy {100 * seen.value:.1f} %, 95 % interval "
            f"{100 * (seen.low or 0):.1f} to {100 * (seen.high or 0):.1f} %, which costs those images ε = {exact(asked.epsilon)}",
            soft_wrap=True,
        )
    console.print(f"\nwrote {written}, {folder / 'report.html'}, {folder / 'report.json'}", soft_wrap=True)
    for line in NEXT:
        console.print(line.format(folder=folder), soft_wrap=True)
    if as_json:
        print_json(report.to_json())


NEXT = (
    "\nTry next:",
    "  prepriv report {folder}/model --verify {folder}/report.html",
    "  prepriv schema init YOUR.csv --epsilon 0.2 --rows N --out S.yaml",
    "  prepriv train YOUR.csv --schema S.yaml --rows N --epsilon 1 --holdout 0.2 --out run/yours",
    "  prepriv report run/yours/model --verify run/yours/report.html  (with --ledger L.db if one was charged)",
)


def _plan(recipe_name: str, domain: Domain, epsilon: float, delta: float) -> Plan:
    chosen = RECIPES.get(recipe_name, recipe)
    steps, learner = chosen(domain, n=domain.n or 1, epsilon=epsilon, delta=delta)
    with warnings.catch_warnings():
        warnings.filterwarnings(
            "ignore", "weak"
        )  # the page and the terminal say it of the model that is kept
        return make_plan(domain, steps, learner, epsilon=epsilon, delta=delta)


def _bar(name: str, share: float) -> tuple[str, str, str]:
    return name, f"{100 * share:.1f} %", "█" * round(40 * share)
