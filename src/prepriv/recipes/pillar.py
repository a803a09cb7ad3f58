"""PILLAR (How to Make Semi-Private Learning Effective, Algorithm 1): directions from public unlabelled rows, a private linear model on top of them.

The private rows meet one mechanism only, the learner's: public directions cost nothing in the account, whatever
the public rows are (docs/proofs/pillar.md). Utility, and why k is what it is: docs/pillar.md.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from prepriv import payment as pay
from prepriv._arguments import truth
from prepriv._arrays import Floats
from prepriv.adjacency import Adjacency, check_adjacency, rows_changed
from prepriv.columns import Numeric
from prepriv.domain import Domain
from prepriv.guarantees import gdp_mu
from prepriv.learners.gradient_descent import GradientDescent
from prepriv.learners.learner import Learner
from prepriv.learners.losses import Hinge, Logistic, Loss, Softmax
from prepriv.learners.names import current_name
from prepriv.learners.noisy_sgd import NoisySGD
from prepriv.learners.stochastic import PoissonSGD
from prepriv.placed.checks import check_budget, check_domain
from prepriv.placed.rows import public_rows
from prepriv.preprocessing.base import Step, check_positive, need_n
from prepriv.preprocessing.center import Center
from prepriv.preprocessing.impute import MeanImputer
from prepriv.preprocessing.normalize import Normalize, Rescale
from prepriv.preprocessing.pca import PCA, RANK
from prepriv.preprocessing.scale import StandardScaler
from prepriv.preprocessing.second_moment import moment_grid, moments
from prepriv.preprocessing.square_root import SquareRoot
from prepriv.recipes.automatic import SCALE, auto_learner
from prepriv.runs.public import check_public_steps, follow

NOISE_WEIGHT = 0.4  # of the noise of a direction beside the energy it holds, in `recommend_k`
_STEPS, _LONGEST = 100, 2000.0  # of gradient descent; steps * learning rate at most
REACH = 1 / 28  # steps * learning rate, in units of n mu / r, whatever k is
LITTLE = 200.0  # reach below which half of the iterates are averaged, above it the last 0.15
ZETA = 0.1  # margin of the hinge, for rows of norm one
SGD_STEPS, SGD_BATCH = 500, 256
FLOOR = 1e-3  # least public deviation that is divided by, as a share of a column's width
WEIGHTS = 5.0  # ball of the weights of noisy SGD
LOSSES = ("Softmax", "Logistic", "Hinge")
LEARNERS = ("GradientDescent", "NoisySGD", "PoissonSGD")


@dataclass(frozen=True)
class Recommendation:
    """The dimension to project on, and why.

    k: recommended. tail: share of the public second moment outside the k directions. noise: weight of the noise
    of training in k dimensions, on the same scale. rank: directions in which public rows have any energy.
    """

    k: int
    tail: float
    noise: float
    rank: int


def recommend_k(
    spectrum: Sequence[float] | Floats,
    *,
    n: int,
    epsilon: float,
    delta: float,
    adjacency: Adjacency = "replace-one",
    public_rows: int | None = None,
    classes: int = 2,
) -> Recommendation:
    """The k that minimises tail(k) + 0.4 sqrt(classes) k r/(n mu): energy left out plus noise let in.

    spectrum: (d,) eigenvalues of the second moment of public rows, any order and unit. n: private records.
    mu: the budget in GDP; r: 2 under replace-one, 1 under add-or-remove-one, so that r/(n mu) is the noise per
    coordinate of one mean gradient of norm one that spends the whole budget. So a direction is kept as long as its
    share of the energy exceeds 0.4 sqrt(classes) r/(n mu). The noise grows with k, between Theorem 1,
    sqrt(k)/(n epsilon), and its square; the tail stands for what xi_k costs, which no unlabelled row can tell. Without
    privacy k is the rank. k is at least classes - 1, which class means can span, where rank and rows allow it, and at
    most public_rows. No private record is used, so k is free. How the rule was found: docs/pillar.md.

    Raises ValueError for a spectrum that is empty, not finite, negative or zero.

    >>> recommend_k([0.7, 0.2, 0.05, 0.05], n=1000, epsilon=1.0, delta=1e-5).k
    4
    >>> recommend_k([0.7, 0.2, 0.05, 0.05], n=500, epsilon=0.1, delta=1e-5).k
    2
    """
    check_adjacency(adjacency)
    n = need_n(n)
    values = np.sort(np.asarray(spectrum, dtype=np.float64).reshape(-1))[::-1]
    if len(values) == 0 or not np.isfinite(values).all() or values[0] <= 0:
        raise ValueError("spectrum must hold finite eigenvalues, at least one of them positive")
    if values[-1] < -RANK * values[0]:
        raise ValueError("spectrum must hold no negative eigenvalue: it is that of a second moment")
    values = np.maximum(values, 0.0)
    rank = int((values > RANK * values[0]).sum())
    largest = rank if public_rows is None else max(1, min(rank, need_n(public_rows)))
    tail = np.maximum(1 - np.cumsum(values)[:largest] / values.sum(), 0.0)
    noise = np.zeros(largest)
    if math.isfinite(epsilon):
        level = NOISE_WEIGHT * math.sqrt(classes) / snr(n, epsilon, delta, adjacency)
        noise = level * np.arange(1.0, largest + 1)
    least = min(max(1, classes - 1), largest) - 1
    best = least + int(np.argmin((tail + noise)[least:]))
    return Recommendation(best + 1, float(tail[best]), float(noise[best]), rank)


def snr(n: int, epsilon: float, delta: float, adjacency: Adjacency) -> float:
    """n mu / r: how much longer a mean gradient of norm one is than its noise along one coordinate."""
    return n * gdp_mu(epsilon, delta) / rows_changed(adjacency)


def public_spectrum(data: Any, domain: Domain, before: Sequence[Step] = ()) -> Floats:
    """Eigenvalues, largest first, of the second moment of public rows after the steps `before`.

    Every step of `before` that depends on data must itself be paid for by public data (ValueError otherwise:
    what the rows look like after it is not known until the private run).
    """
    space, maps = follow(domain, before, data)
    rows = public_rows(data, domain, maps)
    moment = moments(rows, moment_grid(space.radius, rows.table.n), space.d, rows.table.n).moment
    return np.asarray(np.linalg.eigvalsh(moment)[::-1])


def before_pca(domain: Domain, public: Any, *, standardize: bool = False) -> tuple[Step, ...]:
    """Public means for missing cells; roots of columns that start at 0, or public standard scores; row norms, public
    mean, row norms again. After the last one every map of the recipe is linear."""
    paid = pay.Public(public)
    steps: list[Step] = [MeanImputer(payment=paid)] if domain.space.may_miss.any() else []
    if standardize:
        steps.append(StandardScaler(FLOOR, payment=paid))
    elif not domain.is_ball and all(isinstance(c, Numeric) and c.low == 0 for c in domain.columns.values()):
        steps.append(SquareRoot())
    return (*steps, Normalize(1.0), Center(payment=paid), Normalize(1.0))


def pillar(
    domain: Domain,
    public: Any,
    *,
    epsilon: float,
    delta: float,
    n: int | None = None,
    k: int | None = None,
    loss: str | Loss = "Softmax",
    learner: str = "GradientDescent",
    zeta: float = ZETA,
    standardize: bool = False,
) -> tuple[tuple[Step, ...], Learner]:
    """Make the steps and the learner of PILLAR, for `PrivateClassifier(domain, steps=steps, learner=learner, ...)`.

    Parameters
    ----------
    domain : Domain
        What is declared about the private rows.
    public : array or table, (rows, columns)
        Unlabelled rows with the domain's columns, at least k of them.
    epsilon : float
        The budget of the classifier.
    delta : float
        In (0, 1).
    n : int, optional
        Number of private records. None: the domain's.
    k : int, optional
        Number of dimensions to project on. None: `recommend_k` of the public rows.
    loss : {"Softmax", "Logistic", "Hinge"} or Loss, default "Softmax"
        "Logistic" is for two classes. "Hinge" has margin zeta for rows of norm one, and is one-versus-rest for more
        classes. A Loss is applied to rows of norm 5.
    learner : {"GradientDescent", "NoisySGD", "PoissonSGD"}, default "GradientDescent"
        Full batches with an exact account, Algorithm 2 of the paper (fixed batches, replace-one), or Poisson batches.
    zeta : float, default 0.1
        Margin of the hinge.
    standardize : bool, default False
        Whether columns are first scaled to standard scores by the public rows. It is for columns with different
        units.

    Returns
    -------
    steps : tuple of steps
        The steps, all of them free or public.
    learner : Learner

    Raises
    ------
    ValueError
        For unknown names, too few or constant public rows, or other columns. No private record is read.

    Notes
    -----
    Projected rows are scaled so that the root mean square norm of public rows is 5. `Model.flattened` folds the
    projection and the scale into the weights. Proof: docs/proofs/pillar.md; utility: docs/pillar.md.

    References
    ----------
    How to Make Semi-Private Learning Effective, Algorithm 1. Here the noise is calibrated by the privacy loss
    distribution.

    Examples
    --------
    >>> import numpy as np, prepriv
    >>> from prepriv.recipes.pillar import pillar
    >>> public = np.random.default_rng(0).normal(size=(200, 8)) * [1, 1, 1, 0.1, 0.1, 0.1, 0.1, 0.1]
    >>> domain = prepriv.Domain.ball(8, classes=[0, 1], n=5000)
    >>> steps, learner = pillar(domain, public, epsilon=1.0, delta=1e-5, k=3)
    >>> [step.name for step in steps], learner.name
    (['Normalize', 'Center', 'Normalize', 'PCA', 'Rescale'], 'GradientDescent')
    """
    check_domain(domain, trained=True)
    truth("standardize", standardize)
    current_name("learner", learner, LEARNERS)
    n = need_n(domain.n if n is None and domain.n is not None else (0 if n is None else n))
    check_budget(epsilon, delta)
    before = before_pca(domain, public, standardize=standardize)
    check_public_steps(domain, before)
    spectrum = public_spectrum(public, domain, before)
    if k is None:
        k = recommend_k(
            spectrum,
            n=n,
            epsilon=epsilon,
            delta=delta,
            adjacency=domain.adjacency,
            public_rows=public_rows(public, domain, []).table.n,
            classes=len(domain.classes),
        ).k
    steps: tuple[Step, ...] = (*before, PCA(k, payment=pay.Public(public)))
    check_public_steps(domain, steps)
    kept = float(spectrum[:k].sum() / spectrum.sum()) if math.isfinite(epsilon) else 1.0
    steps = (*steps, Rescale(SCALE / math.sqrt(min(kept, 1.0))))
    chosen = _loss(loss, len(domain.classes), zeta)
    return steps, projected_learner(learner, chosen, domain, k, n, epsilon, delta)


def projected_learner(
    name: str, loss: Loss, domain: Domain, k: int, n: int, epsilon: float, delta: float
) -> Learner:
    """The learner on k projected columns of norm 5; names as in `pillar`. Only public numbers go in."""
    ball = Domain.ball(k, domain.classes, radius=SCALE, n=n, adjacency=domain.adjacency)
    base = dataclasses.replace(auto_learner(ball, n=n, epsilon=epsilon, delta=delta), loss=loss)
    if math.isfinite(epsilon):
        reach = min(_LONGEST, REACH * snr(n, epsilon, delta, domain.adjacency))
        rate, average = reach / _STEPS, 0.5 if reach < LITTLE else 0.15
        base = GradientDescent(loss, steps=_STEPS, learning_rate=rate, clip_norm=1.0, average=average)
    name = current_name("learner", name, LEARNERS)
    if name == "GradientDescent":
        return base
    if not math.isfinite(epsilon):
        raise ValueError("learner must be GradientDescent without privacy")
    if name == "NoisySGD":
        return NoisySGD(
            loss, steps=SGD_STEPS, batch_size=min(SGD_BATCH, n), clip_norm=1.0, weight_bound=WEIGHTS
        )
    return PoissonSGD(
        loss,
        steps=SGD_STEPS,
        batch_size=min(SGD_BATCH, n),
        learning_rate=base.learning_rate * base.steps / SGD_STEPS,
        clip_norm=1.0,
        momentum=base.momentum,
        average=base.average,
    )


def _loss(loss: str | Loss, classes: int, zeta: float) -> Loss:
    if isinstance(loss, Loss):
        return loss
    loss = current_name("loss", loss, LOSSES)
    if loss == "Hinge":
        check_positive("zeta", zeta)
        return Hinge(classes, zeta * SCALE)
    if loss == "Logistic" and classes != 2:
        raise ValueError(f"loss 'Logistic' is for two classes, 'Softmax' for more; got {classes} classes")
    return Logistic() if classes == 2 else Softmax()
