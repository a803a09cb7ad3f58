"""DPSGD with feature pre-processing (The Importance of Feature Preprocessing): Algorithms 1, 2 and 3 as recipes on the common pipeline.

Algorithm 2: a private mean that adapts to the diameter, a private distance tau that few rows exceed, rows
(x - mean, tau) pulled to norm sqrt2 tau, descent in which no gradient needs clipping, and the way back to the
space of the raw rows. Every part is a Gaussian mechanism, or costs no more than one, so the whole is GDP with
no conversion loss. Proof: docs/proofs/dpsgd_f.md (with the erratum to step 6).
"""

from __future__ import annotations

import math

import numpy as np

from prepriv import payment as pay
from prepriv.adjacency import rows_changed
from prepriv.domain import Domain
from prepriv.guarantees import gdp_mu
from prepriv.learners.gradient_descent import GradientDescent
from prepriv.preprocessing.augment_by_distance import ROOT2, Augment, AugmentByDistance
from prepriv.preprocessing.base import Step
from prepriv.preprocessing.center import Center, Subtract
from prepriv.preprocessing.instance_optimal_center import InstanceOptimalCenter
from prepriv.preprocessing.normalize import Normalize, Rescale
from prepriv.recipes.loss import auto_loss
from prepriv.runs.run import Trained

MEAN_SHARE, DISTANCE_SHARE = 1 / 3, 1 / 3  # Algorithm 2 gives each of its three parts a third
MEAN_SHARE_MODIFIED = (
    0.01  # Algorithm 3: of mu squared; its authors found epsilon_F = 0.02 or 0.05 best, a little less
)
FEATURE_NORM = 10.0  # C_F of Algorithms 1 and 3, from their list 1, 10, 100, 1000
BASELINE_STEPS = (
    73  # 20 epochs of batches of 16384 of 60000: the least of the paper's grid, best for full batches
)
MOST_STEPS = 400


def _ratio(domain: Domain, n: int, epsilon: float, delta: float, d: int) -> float:
    record = rows_changed(domain.adjacency)
    return n * gdp_mu(epsilon, delta) / (record * math.sqrt(d))


def dpsgd_f(
    domain: Domain, *, n: int, epsilon: float, delta: float
) -> tuple[tuple[Step, ...], GradientDescent]:
    """Algorithm 2: full batches, clip norm sqrt2 G tau (so that nothing is clipped), the mean of all iterates.

    Learning rate and steps from declared numbers: rate 1 (the loss is 1-smooth in rows / tau), as many steps
    as the noise allows. Hand what `execute` returns to `map_back`.
    """
    loss, d = auto_loss(domain), domain.space.d
    steps = MOST_STEPS
    if math.isfinite(epsilon):
        steps = round(min(MOST_STEPS, max(10.0, _ratio(domain, n, epsilon, delta, d))))
    learner = GradientDescent(
        loss,
        steps=steps,
        learning_rate=1.0,
        clip_norm=loss.gradient_norm(ROOT2, math.inf),
        momentum=0.0,
        average=1.0,
        bias=0.0,
    )
    center = InstanceOptimalCenter(payment=pay.Budget(MEAN_SHARE))
    return (center, AugmentByDistance(payment=pay.Budget(DISTANCE_SHARE))), learner


def dpsgd_f_modified(
    domain: Domain, *, n: int, epsilon: float, delta: float
) -> tuple[tuple[Step, ...], GradientDescent]:
    """Algorithm 3, what the paper measured: rows of norm C_F, a Gaussian mean, gradients clipped to 1.

    Full batches; Nesterov momentum and a late average, which cost nothing.
    """
    center = Center(payment=pay.Budget(MEAN_SHARE_MODIFIED))
    normalize = Normalize(1.0)
    grown = center.output(normalize.output(domain.space)).radius
    steps = (normalize, center, Rescale(FEATURE_NORM * grown))
    if math.isinf(epsilon):
        return steps, _without_privacy(domain)
    reach = min(1000.0, max(10.0, 0.7 * _ratio(domain, n, epsilon, delta, domain.space.d)))
    return steps, GradientDescent(
        auto_loss(domain), steps=100, learning_rate=reach / 100, momentum=0.9, average=0.15
    )


def dpsgd(
    domain: Domain, *, n: int, epsilon: float, delta: float
) -> tuple[tuple[Step, ...], GradientDescent]:
    """Algorithm 1 on rows of norm C_F: no private pre-processing. The baseline of the paper.

    As printed: plain steps, gradients clipped to 1, the mean of all iterates; the batch is all records. Steps and
    learning rate from the paper's grid (docs/dpsgd-f.md): 16 is level on MNIST and too long a step on Fashion-MNIST.
    """
    steps = (Normalize(FEATURE_NORM),)
    if math.isinf(epsilon):
        return steps, _without_privacy(domain)
    rate = _ratio(domain, n, epsilon, delta, domain.space.d) / BASELINE_STEPS
    return steps, GradientDescent(
        auto_loss(domain),
        steps=BASELINE_STEPS,
        learning_rate=min(max(rate, 2.0**-5), 8.0),
        momentum=0.0,
        average=1.0,
    )


def _without_privacy(domain: Domain) -> GradientDescent:
    """For contrast: the loss is C_F^2 / 2-smooth."""
    return GradientDescent(
        auto_loss(domain),
        steps=MOST_STEPS,
        learning_rate=0.02,
        clip_norm=math.inf,
        momentum=0.9,
        average=0.1,
    )


def map_back(trained: Trained) -> Trained:
    """Step 6 of Algorithm 2: weights for the raw rows, (d + 1, K) with the bias last, and no maps before them.

    theta scores (x - mean, tau) / tau, so w = theta[:d] / tau and b = theta[d] - mean . w (the paper prints
    theta[d + 1] tau - mean, a vector; Lemma 5 gives the inner product). Scores of rows beyond tau are not
    scaled down as in training: a positive factor for all classes of a row, which changes no prediction.
    """
    if not (
        len(trained.maps) == 2
        and isinstance(trained.maps[0], Subtract)
        and isinstance(trained.maps[1], Augment)
        and getattr(trained.plan.learner, "bias", None) == 0.0
    ):
        raise ValueError("map_back undoes a run of dpsgd_f: a released mean, Augment, and no bias feature")
    mean, tau, theta = trained.maps[0].offset, trained.maps[1].tau, trained.weights
    w = theta[:-2] / tau
    b = theta[-2] - mean @ w  # the last row is the weight of a feature that is zero: noise only
    return Trained(trained.plan, (), np.vstack([w, b]), trained.private)


RECIPES = {"dpsgd-f": dpsgd_f, "dpsgd-f-modified": dpsgd_f_modified, "dpsgd": dpsgd}
