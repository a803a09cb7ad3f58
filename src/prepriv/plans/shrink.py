"""Predictions of a target drawn to their centre where noise outweighs what was learned. Proof: docs/proofs/shrunk_predictions.md.

A score is the score of one public row, the centre, and how far slopes take another row from it. Both are partly noise of
training, whose law the plan gives. Each is multiplied by the estimate of James and Stein. No record is read, it costs nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from prepriv._arrays import Floats
from prepriv._kinds import is_ours
from prepriv.learners.gradient_descent import GradientDescent
from prepriv.learners.row_mean import gain as gain_along
from prepriv.learners.targets import TargetLoss, shrinkage
from prepriv.plans.plan import Plan
from prepriv.preprocessing.base import ReleasedMap
from prepriv.preprocessing.center import Center
from prepriv.preprocessing.normalize import Normalize, Rescale
from prepriv.preprocessing.scale import StandardScaler


def shrunk(plan: Plan, maps: Sequence[ReleasedMap], weights: Floats) -> Floats:
    """Weights (d + 1, 1) of the rows that reach the learner, the bias feature last, with less of their noise.

    maps: what the steps released, in order. Anything but descent on the loss of a target stays as it is.
    """
    learner = plan.learner
    if type(learner) is not GradientDescent or not isinstance(learner.loss, TargetLoss) or not plan.private:
        return weights
    noise, slopes, bias = plan.learner_noise / plan.n, weights[:-1, 0], learner.bias
    at, norm = centred(plan, maps)
    d = len(slopes)
    cut = min(1.0, learner.clip(plan.space.radius) / math.hypot(norm, bias)) if norm or bias else 0.0
    # Where scores are longer than the cut, most residuals are cut, and have no curvature.
    square = float(slopes @ slopes)
    uncut = min(1.0, cut / max(norm * math.sqrt(square / max(d, 1)), 1e-300))
    curvature = norm**2 / max(d, 1) * uncut
    gain, pull = learner.response(curvature)
    # Of one slope: the noise of training, and that of the rows themselves, whose residual is cut.
    variance = (gain * noise) ** 2 + (pull * cut) ** 2 * curvature / plan.n
    longest = d / max(norm**2, 1e-300)  # of signal: no target lies further than 1 from the middle
    kept = shrinkage(max(d * variance, square - longest), square)
    kept = min(1.0, kept / max(pull * curvature, 1e-12))  # descent that stops early has shrunk them already
    score, length = float(at @ slopes + bias * weights[-1, 0]), float(at @ at) + bias**2
    kept_along = (
        gain_along(length) if learner.flatten else 1.0
    )  # rows are centred there: it is about their mean
    law = (kept_along * learner.response(kept_along * length * uncut)[0] * noise) ** 2 * length
    held = shrinkage(max(law, score**2 - 1.0), score**2)
    if bias == 0:  # there is no intercept that could hold the centre
        return weights * kept
    out = np.append(kept * slopes, (held * score - kept * float(at @ slopes)) / bias)
    return np.asarray(out[:, None]) if np.isfinite(out).all() else weights


def centred(plan: Plan, maps: Sequence[ReleasedMap]) -> tuple[Floats, float]:
    """(where the rows that the learner sees are centred, (d,); their root mean square norm), as far as public numbers tell.

    The centre is the middle of the declared bounds, or the origin where a step has subtracted a mean; between the two by the
    known noise of that mean, which moves all rows alike. The norm is the bound of the rows where no step says more.
    """
    space, known = plan.domain.space, True
    middle, noise, norm = (space.low + space.high)[None] / 2, math.inf, math.inf
    for planned, released in zip(plan.steps, maps, strict=True):
        step, before, after = planned.step, planned.before, planned.after
        known = known and step.paid.leaves and is_ours(type(released))
        if isinstance(step, Normalize) and math.isfinite(norm):
            factor = after.radius / max(math.hypot(norm, float(np.linalg.norm(middle))), 1e-300)
            middle, noise, norm = factor * middle, factor**2 * noise, after.radius
            continue
        middle = released.transform(middle) if known else middle
        if isinstance(step, Rescale):
            norm, noise = norm * step.lipschitz(before), noise * step.lipschitz(before) ** 2
        elif isinstance(step, StandardScaler):
            norm = math.sqrt(after.d)  # columns of deviation one
        norm = min(norm, after.radius) if isinstance(step, Normalize) or math.isfinite(norm) else norm
        if known and isinstance(step, StandardScaler | Center):
            error = step.mean_error(
                before, (planned.noise_multiplier or 0.0) * (planned.shift or 0.0) / plan.n, released
            )
            noise = noise if error is None else error + (noise if math.isfinite(noise) else 0.0)
    at = middle[0] if known else np.zeros(plan.space.d)
    square = float(at @ at)
    if not math.isfinite(square):
        at, square = np.zeros(len(at)), 0.0
    return at * (1.0 if noise >= square else noise / square), min(norm, plan.space.radius)
