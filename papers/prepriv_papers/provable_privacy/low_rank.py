"""The approximately low-rank data of Provable Privacy with Non-Private Pre-Processing, its learner, and ours.

The data are synthetic and public, so facts of them (spectrum, optimum) are printed freely. Its learner is DP-SGD as its
Appendix F describes it, on the rows as make_classification gives them, for its clip norm of 10 means nothing on rows
of norm 1. Ours is full-batch gradient descent on rows in the unit ball, where its theorems live.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np

from prepriv._arrays import Floats
from prepriv.domain import Domain
from prepriv.exact.gradient_sum import QuantizedRows
from prepriv.guarantees import gdp_epsilon
from prepriv.learners.gradient_descent import GradientDescent
from prepriv.learners.learner import Run, Setting
from prepriv.learners.losses import Logistic
from prepriv.learners.stochastic import PoissonSGD
from prepriv.mechanisms.session import NoisySession
from prepriv.plans.plan import make_plan
from prepriv.preprocessing.base import UNTOUCHED
from prepriv.runs.run import execute
from prepriv.tables.encoding import encode, encode_labels

DELTA, BALL, STEPS = 1e-5, 5.0, 50
RATE, CLIP, EPOCHS, BATCH = 0.01, 10.0, 10, 64  # Appendix F, but for the batch size, which it does not give


@dataclass(frozen=True)
class Size:
    """Size of the experiment. noise_columns: independent N(0, 1) columns, the tail of the spectrum: the paper gives none.

    radius: declared norm of a generated row, a constant of this script. runs: trainings a point, each with noise of its
    own.
    """

    n: int
    d: int
    rank: int
    noise_columns: int
    radius: float
    epsilons: tuple[float, ...]
    runs: int


LARGE = Size(1000, 6000, 50, 50, 1924.0, (1.0, 2.0, 5.0, 10.0, 30.0, 100.0), 5)
SMALL = Size(200, 300, 10, 10, 260.0, (5.0,), 2)


@dataclass(frozen=True, eq=False)
class Task:
    """raw: rows as generated, (n, d); rows: in the unit ball. labels: (n,), 0 or 1. basis: (d, r), of the span of the
    rows, by falling eigenvalues (r,) of their second moment. least: excess losses are over these, of rows (weights in
    the ball) and raw (any weights)."""

    size: Size
    raw: Floats
    rows: Floats
    labels: Floats
    basis: Floats
    eigenvalues: Floats
    least: float
    least_raw: float

    @property
    def directions(self) -> Floats:
        """The k leading directions, (d, k)."""
        return self.basis[:, : self.size.rank]

    @property
    def tail(self) -> float:
        """Λ, the sum of the eigenvalues beyond the k-th."""
        return float(self.eigenvalues[self.size.rank :].sum())

    @property
    def gap(self) -> float:
        """λ_k - λ_(k+1), of rows in the unit ball."""
        return float(self.eigenvalues[self.size.rank - 1] - self.eigenvalues[self.size.rank])


@functools.lru_cache(maxsize=1)
def make_task(size: Size) -> Task:
    """make_classification with one cluster a class, as generated, and divided by the declared radius."""
    from sklearn.datasets import make_classification

    raw, y = make_classification(
        size.n,
        size.d,
        n_informative=size.rank,
        n_redundant=size.d - size.rank - size.noise_columns,
        n_clusters_per_class=1,
        random_state=0,
    )
    rows = raw / size.radius
    rows /= np.maximum(1.0, np.linalg.norm(rows, axis=1, keepdims=True))
    values, left = np.linalg.eigh(rows @ rows.T)
    rank = size.rank + size.noise_columns
    values, left = values[::-1][:rank], left[:, ::-1][:, :rank]
    basis = np.asarray(rows.T @ (left / np.sqrt(values)))
    least = least_loss(rows @ basis, y)
    return Task(size, raw, rows, y, basis, values / size.n, least, free_loss(left * math.sqrt(size.n), y))


def mean_loss(scores: Floats, labels: Floats) -> float:
    """Mean logistic loss."""
    return float(np.logaddexp(0.0, -(2.0 * labels - 1.0) * scores).mean())


def accuracy(scores: Floats, labels: Floats) -> float:
    """Share of the training labels that the scores have right."""
    return float(((scores > 0) == (labels > 0.5)).mean())


def least_loss(rows: Floats, labels: Floats) -> float:
    """The least mean logistic loss over the ball of weights: accelerated projected gradient, from zero."""
    sign = 2.0 * labels - 1.0
    smooth = float(np.linalg.norm(rows, 2)) ** 2 / (4 * len(rows))
    w = ahead = np.zeros(rows.shape[1])
    t = 1.0
    for _ in range(2000):
        pull = sign / (1.0 + np.exp(sign * (rows @ ahead)))
        new = ahead + (rows.T @ pull) / (len(rows) * smooth)
        new *= min(1.0, BALL / max(float(np.linalg.norm(new)), 1e-300))
        grown = (1 + math.sqrt(1 + 4 * t * t)) / 2
        ahead, w, t = new + (t - 1) / grown * (new - w), new, grown
    return mean_loss(rows @ w, labels)


def free_loss(coordinates: Floats, labels: Floats) -> float:
    """The least mean logistic loss over all weights and a bias: damped Newton steps. coordinates: (n, r), of any basis."""
    x = np.column_stack([coordinates, np.ones(len(coordinates))])
    sign, w = 2.0 * labels - 1.0, np.zeros(x.shape[1])
    for _ in range(100):
        p = 1.0 / (1.0 + np.exp(np.clip(sign * (x @ w), -500, 500)))
        hessian = (x * (p * (1 - p))[:, None]).T @ x + 1e-9 * np.eye(len(w))
        step = np.linalg.solve(hessian, x.T @ (sign * p))
        sizes = [2.0**-i for i in range(20)]
        w = min((w + s * step for s in sizes), key=lambda v: mean_loss(x @ v, labels))
    return mean_loss(x @ w, labels)


# ---- our learner, at a price ----------------------------------------------------------------------------
def gradient_shift(total: float, n: int, radius: float = 1.0) -> float:
    """How far one clipped gradient sum moves when the common rows move by `total` (section 0)."""
    learner = our_learner(1.0)
    mu = learner.loss.input_lipschitz(learner.row_norm(radius), BALL)
    clip = learner.clip(radius)
    return 2 * clip + min(mu * total, 2 * clip * (n - 1))


def our_learner(reach: float) -> GradientDescent:
    """Full batches, weights in a ball; `reach`: the sum of the step lengths."""
    return GradientDescent(
        Logistic(), steps=STEPS, learning_rate=reach / STEPS, clip_norm=1.0, weight_bound=BALL, bias=0.0
    )


def train(
    rows: Floats, labels: Floats, mu: float, total: float = 0.0, radius: float = 1.0
) -> tuple[Floats, float]:
    """(scores, noise on a gradient sum) of our learner: rows pre-processed already, whose shift is `total`.

    mu: GDP of the run. The noise is `gradient_shift` sqrt(T) / mu. Steps as long as the noise allows, as in
    the automatic recipe: reach = n sqrt(T) / (noise sqrt(d')), and none at all below 0.01.
    """
    n, d = rows.shape
    price = gradient_shift(total, n, radius) / gradient_shift(0.0, n, radius)
    noise = gradient_shift(total, n, radius) * math.sqrt(STEPS) / mu
    reach = min(2000.0, n * math.sqrt(STEPS) / (noise * math.sqrt(d)))
    if reach < 0.01:  # no step worth the noise: the weights stay zero
        return np.zeros(n), noise
    # The same noise as a run that pays for no shift, at a budget smaller by the price.
    plan = make_plan(
        Domain.ball(d, [0, 1], radius=radius, n=n),
        [],
        our_learner(reach),
        epsilon=gdp_epsilon(mu / price, DELTA),
        delta=DELTA,
    )
    targets = encode_labels(labels, plan.domain.classes)
    trained = execute(plan, encode(rows, plan.domain), targets, NoisySession())
    return np.asarray((rows @ trained.weights[:-1] + trained.weights[-1])[:, -1]), plan.learner_noise


# ---- the paper's learner --------------------------------------------------------------------------------
def train_as_printed(
    rows: Floats, labels: Floats, epsilon: float, radius: float, tau: float = 0.0, delta: float = DELTA
) -> Floats:
    """Scores of the paper's DP-SGD, (epsilon, delta) under add-or-remove-one, if `tau`, the total shift, is 0.

    tau > 0: its noise is larger by what its Table 2 (DP-GD) asks for over its Table 1: sqrt(1.05 (4 + τ²) / 2), L = µ = 1.
    """
    learner, setting = _their_learner(len(rows)), _setting(len(rows), rows.shape[1], radius)
    multiplier = _multiplier(len(rows), epsilon, delta)
    if tau:
        multiplier *= math.sqrt(1.05 * (4 + tau**2) / 2)
    store = QuantizedRows(learner.grid(radius, len(rows), UNTOUCHED), len(rows), rows.shape[1], learner.bias)
    store.fill(0, rows, labels.astype(np.int32))
    weights = learner.train(store, setting, Run(NoisySession(), multiplier))
    return np.asarray((rows @ weights[:-1] + weights[-1] * learner.bias)[:, -1])


def _their_learner(n: int) -> PoissonSGD:
    steps = EPOCHS * max(1, round(n / BATCH))
    return PoissonSGD(
        Logistic(), batch_size=BATCH, steps=steps, learning_rate=RATE, clip_norm=CLIP, average=1 / steps
    )


@functools.lru_cache(maxsize=64)
def _multiplier(n: int, epsilon: float, delta: float) -> float:
    """Noise over the clip norm: of n, the rate and the number of steps alone."""
    return _their_learner(n).calibrate(epsilon, delta, _setting(n, 1, 1.0), tolerance=0.01)


def _setting(n: int, d: int, radius: float) -> Setting:
    return Setting(radius, d, 1, n, "add-or-remove-one")
