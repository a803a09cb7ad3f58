"""What a measurement will be able to say, from its plan alone: no row is read. Figures are those of rows as they are on average, where
classes are equally frequent and half of the rows are right."""

from __future__ import annotations

import math

import numpy as np

from prepriv._arrays import Floats
from prepriv.adjacency import n_is_public
from prepriv.evaluation.evaluation_plan import LOSS_BOUND, EvaluationPlan, drowned
from prepriv.evaluation.figures import Measured
from prepriv.plans.enough import GOOD_HALF, WIDE_HALF, less_noise, what_is_enough

_SURE = 1.96
_SPARE = 1.2  # rows above the fewest of a denominator, because their noisy number may be below the true one


def hardly_measured(plan: EvaluationPlan) -> str:
    """What has to be said before the charge of a measurement with so much noise, or nothing: `drowned`, or else that the main figure's
    interval will be wide, or which figures will probably be refused."""
    if why := drowned(plan):
        return why
    name, half, refused = _expected(plan, 1.0)
    if not refused and half <= WIDE_HALF:
        return ""
    of = "" if plan.error_bound is None and name != "log loss" else " of its scale"
    told = [f"{name} will be known to about ± {100 * half:.2g} in 100{of} by the noise alone"]
    told *= half < math.inf
    if refused:
        balanced = ", even if all classes are equally frequent" if plan.domain.classes else ""
        told.append(f"{_listed(refused)} will probably be refused{balanced}")
    factor = less_noise(
        lambda times: _expected(plan, times)[1] <= GOOD_HALF and not _expected(plan, times / _SPARE)[2]
    )
    enough = what_is_enough(
        factor,
        n=plan.n,
        epsilon=plan.epsilon,
        delta=plan.delta,
        counted="rows",
        aim=" and no figure refused" if refused else "",
        cures=["fewer measures"] * (len(plan.measures) > 1),
    )
    return f"{plan.n:,} rows are few for this epsilon: {', and '.join(told)}. {enough}"


def _expected(plan: EvaluationPlan, factor: float) -> tuple[str, float, list[str]]:
    """(the main figure, half of its interval by the noise alone in parts of its scale, the figures that are refused), if noise is
    `factor` times smaller beside the rows. The half is infinite where the main figure is refused."""
    groups = max(1, len(plan.groups))
    made = Measured(
        plan,
        {release: _average(plan, release) for release in plan.releases},
        plan.noise * math.sqrt(groups) / factor,
        n_is_public(plan.domain.adjacency),
    )
    found = list(made.figures.values())
    # R² has no scale of its own: what it is made of has.
    main = made._pair("squared error", "squared_error") if found[0].name == "R2" else found[0]
    scale = LOSS_BOUND if main.name == "log loss" else plan.error_bound or 1.0
    scale = 1.0 if main.name == "squared error" else scale
    half = math.inf if main.noise is None else _SURE * main.noise / scale
    return main.name, half, [figure.name for figure in found if figure.value is None]


def _average(plan: EvaluationPlan, release: str) -> Floats:
    """Its counts without noise."""
    n, classes, bins = plan.n, len(plan.domain.classes), len(plan.edges) + 1
    if release == "confusion":
        wrong = n / 2 / (classes * max(classes - 1, 1))
        return np.where(np.eye(classes, dtype=bool), n / 2 / classes, wrong)
    if release == "scores":
        return np.full((bins, 2), n / 2 / bins)
    if release == "residuals":
        return np.full(bins, n / bins)
    return np.array([n / 2, n / 2, 0.0])


def _listed(names: list[str]) -> str:
    """Figures in a few words: recall and precision of the classes as one each."""
    short = dict.fromkeys(name.split(" of ")[0] for name in names)
    *most, last = short
    return f"{', '.join(most)} and {last}" if most else last
