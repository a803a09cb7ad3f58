"""`prepriv demo`: real data, a private model, its guarantee and its price, in a few seconds."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from prepriv._progress import progress_bar
from prepriv.commands.common import (
    Overwrite,
    console,
    print_guarantee,
    print_prices,
    print_table,
    writable_run,
)
from prepriv.commands.exits import Stop
from prepriv.domain import Domain
from prepriv.guarantees.printed import exact
from prepriv.pipeline.checks import check_budget
from prepriv.pipeline.plan import make_plan
from prepriv.pipeline.recipes.automatic import recipe
from prepriv.pipeline.recipes.dpsgd_f import RECIPES, map_back
from prepriv.pipeline.train import train
from prepriv.release.model import Model
from prepriv.release.report import Evaluation, Report, paid_for


def demo(
    epsilon: Annotated[float, typer.Option(help="Privacy budget.")] = 1.0,
    delta: Annotated[float, typer.Option(help="Well below 1 / rows.")] = 1e-5,
    out: Annotated[Path, typer.Option(help="Folder for model/ and report.*.")] = Path("run"),
    recipe_name: Annotated[
        str,
        typer.Option(
            "--recipe", help=f"auto, or one of The Importance of Feature Preprocessing: {', '.join(RECIPES)}."
        ),
    ] = "auto",
    overwrite: Overwrite = False,
) -> None:
    """Train on scikit-learn's handwritten digits; write OUT/model, OUT/report.html and OUT/report.json."""
    check_budget(epsilon, delta)
    if recipe_name not in RECIPES and recipe_name != "auto":
        raise Stop(f"--recipe must be auto, {', '.join(RECIPES)}; got {recipe_name!r}")
    chosen = RECIPES.get(recipe_name, recipe)
    from sklearn.datasets import load_digits

    folder = writable_run(out, overwrite)
    digits = load_digits()
    test = np.arange(len(digits.target)) % 5 == 4  # every fifth image, a fixed rule
    x, y = digits.data, digits.target
    console.print(
        f"handwritten digits: {int((~test).sum())} private images of 8 x 8 pixels to train on, {int(test.sum())} to test"
    )
    domain = Domain.box(
        0, 16, features=64, classes=range(10), n=int((~test).sum()), adjacency="add-or-remove-one"
    )
    accuracies: list[float] = []
    for budget in (math.inf, epsilon):
        steps, learner = chosen(domain, n=domain.n or 1, epsilon=budget, delta=delta)
        plan = make_plan(domain, steps, learner, epsilon=budget, delta=delta)
        with progress_bar() as progress:
            trained = train(
                plan,
                x[~test],
                y[~test],
                progress=progress if plan.private else None,
                counted=False,  # public images
            )
        if recipe_name == "dpsgd-f":
            trained = map_back(trained)
        model = Model.of(trained)
        accuracies.append(float((model.predict_index(x[test]) == y[test]).mean()))
    evaluation = Evaluation(
        int(test.sum()), accuracies[1], accuracies[0], "the held-out images (public here)"
    )
    report = Report.of(plan, private=trained.private, evaluation=evaluation, model=model)
    written = model.save(folder / "model")
    report.save(folder / "report.json")
    report.save(folder / "report.html")
    print_guarantee(plan, trained.private)
    print_table("What was paid for what", ("step", "paid by", "cost"), paid_for(plan))
    print_prices(report.prices)
    print_table(
        "Test accuracy",
        ("pipeline", "accuracy"),
        [
            (f"private, ε = {exact(epsilon)}", f"{100 * accuracies[1]:.1f} %"),
            ("without privacy", f"{100 * accuracies[0]:.1f} %"),
        ],
        right=(1,),
    )
    console.print(f"wrote {written}, {folder / 'report.html'}, {folder / 'report.json'}")
