"""Radii and bounds at the ends of what a float holds: a plan that is made runs, so no run fails after its charge."""

from __future__ import annotations

import numpy as np
import pytest

from prepriv import Budget, Domain, Numeric, Public, Sensitivity, make_plan
from prepriv import preprocessing as pre
from prepriv._arguments import LARGEST, LEAST
from prepriv.learners.gradient_descent import GradientDescent
from prepriv.learners.losses import Logistic
from prepriv.learners.stochastic import PoissonSGD
from prepriv.mechanisms.session import NoisySession
from prepriv.runs.run import execute
from prepriv.tables.encoding import encode, encode_labels

N = 120
RNG = np.random.default_rng(0)
LEARNER = GradientDescent(Logistic(), steps=2, weight_bound=1.0)
OUTSIDE = (5e-324, 1e-320, 1e-300, 1e-160, 1e-31, 1e31, 1e160, 1e300, 1.7e308)
INSIDE = (LEAST, 1e-12, 1.0, 1e12, LARGEST)


def steps(radius):
    public = Public(RNG.normal(size=(30, 3)) * min(radius, 1e300))
    return {
        "SoftPCA": lambda: pre.SoftPCA(radius**2 / 10, payment=Sensitivity()),
        "RankReduction": lambda: pre.RankReduction(1, payment=Sensitivity()),
        "RankReduction, centred": lambda: pre.RankReduction(1, centred=True, payment=Sensitivity()),
        "PCA": lambda: pre.PCA(1, payment=Budget(0.1)),
        "PCA, public": lambda: pre.PCA(1, payment=public),
        "StandardScaler": lambda: pre.StandardScaler(payment=Budget(0.1)),
        "StandardScaler, tiny floor": lambda: pre.StandardScaler(LEAST, payment=Budget(0.1)),
        "StandardScaler, sensitivity": lambda: pre.StandardScaler(1e-6, payment=Sensitivity()),
        "MinMaxScaler": lambda: pre.MinMaxScaler(payment=Budget(0.1)),
        "MinMaxScaler, tiny floor": lambda: pre.MinMaxScaler(LEAST, payment=Budget(0.1)),
        "Center": lambda: pre.Center(payment=Budget(0.1)),
        "Center, public": lambda: pre.Center(payment=public),
        "Quantize": lambda: pre.Quantize(radius / 10, payment=Sensitivity({"max_neighbors": 50})),
        "QuantizeCells": lambda: pre.QuantizeCells(radius / 10),
        "Deduplicate": lambda: pre.Deduplicate(radius / 100, payment=Sensitivity({"max_neighbors": 3})),
        "DeduplicateCells": lambda: pre.DeduplicateCells(radius / 100, payment=Sensitivity()),
        "Homogenize": lambda: pre.Homogenize(),
        "Homogenize to it": lambda: pre.Homogenize(radius, radius),
        "Normalize": lambda: pre.Normalize(radius),
        "Normalize, floor": lambda: pre.Normalize(1.0, radius),
        "Rescale": lambda: pre.Rescale(radius),
        "Rescale to one": lambda: pre.Rescale(1.0),
        "ClipNorm": lambda: pre.ClipNorm(radius / 2),
        "ClipFeatures": lambda: pre.ClipFeatures(0.0, radius / 2),
        "RandomFeatures": lambda: pre.RandomFeatures(8),
        "SquareRoot": lambda: pre.SquareRoot(),
        "none": lambda: None,
    }


NAMES = list(steps(1.0))


def ball(radius):
    return Domain.ball(3, (0, 1), radius=radius, n=N)


def run(domain, chosen, learner=LEARNER):
    """True if a plan was made; it must then run."""
    try:
        plan = make_plan(domain, [s for s in chosen if s is not None], learner, epsilon=1.0, delta=1e-5)
    except ValueError:
        return False
    x = RNG.normal(size=(N, 3))
    if domain.is_ball:
        x *= float(domain.ball_radius) / np.linalg.norm(x, axis=1, keepdims=True)
    else:
        low, high = (np.array([getattr(c, e) for c in domain.columns.values()]) for e in ("low", "high"))
        x = low + (high - low) * RNG.uniform(size=(N, 3))
    trained = execute(plan, encode(x, domain), encode_labels(x[:, 0] > x[:, 1], (0, 1)), NoisySession())
    assert np.isfinite(trained.weights).all()
    return True


@pytest.mark.parametrize("radius", OUTSIDE)
def test_a_radius_outside_of_what_powers_of_it_fit_is_refused_when_it_is_declared(radius):
    """1e-320 and 1e300 were accepted; the run failed behind its charge, or the plan with a raw OverflowError."""
    for make in (
        ball,
        pre.Rescale,
        pre.Normalize,
        pre.ClipNorm,
        lambda r: pre.Homogenize(r),
        lambda r: pre.Homogenize(1.0, r),
        lambda r: pre.StandardScaler(radius=r, payment=Budget(0.1)),
        lambda r: pre.Quantize(r, payment=Sensitivity()),
        lambda r: pre.Deduplicate(r, payment=Sensitivity()),
        lambda r: pre.SoftPCA(r, payment=Sensitivity()),
        lambda r: pre.RandomFeatures(weight=r),
        lambda r: GradientDescent(Logistic(), clip_norm=r),
        lambda r: GradientDescent(Logistic(), weight_bound=r),
        lambda r: GradientDescent(Logistic(), learning_rate=r),
    ):
        with pytest.raises(ValueError, match=r"must lie in \[1e-30, 1e\+30\]"):
            make(radius)


@pytest.mark.parametrize("radius", INSIDE)
@pytest.mark.parametrize("name", NAMES)
def test_a_plan_in_a_ball_of_any_radius_runs_if_it_is_made(name, radius):
    made = run(ball(radius), [steps(radius)[name]() if _fits(name, radius) else None])
    assert made or radius != 1.0 or name in ("SquareRoot", "StandardScaler, sensitivity")


def _fits(name, radius):
    try:
        steps(radius)[name]()
    except ValueError:
        return False
    return True


@pytest.mark.parametrize(
    "first", ["Rescale", "Normalize", "ClipFeatures", "StandardScaler, tiny floor", "ClipNorm"]
)
@pytest.mark.parametrize("radius", [LEAST * 2, 1e-9, 1e9, LARGEST / 2])
def test_a_chain_through_extreme_spaces_runs_if_it_is_planned(first, radius):
    for then in (
        "PCA",
        "Center",
        "StandardScaler",
        "MinMaxScaler",
        "RankReduction",
        "Homogenize",
        "RandomFeatures",
    ):
        if _fits(first, radius) and _fits(then, radius):
            run(ball(1.0), [steps(radius)[first](), steps(radius)[then]()])


@pytest.mark.parametrize(
    ("low", "high"), [(-LARGEST, LARGEST), (0, LEAST), (0, 1e-12), (1e15, 1e15 + 1), (-1e-29, 0)]
)
def test_any_bounds_that_are_accepted_run(low, high):
    domain = Domain({name: Numeric(low, high) for name in "abc"}, (0, 1), n=N)
    for name in ("PCA", "Center", "StandardScaler", "SquareRoot", "none"):
        assert run(domain, [steps(1.0)[name]()])


@pytest.mark.parametrize(
    ("low", "high"),
    [(-1.7e308, 1.7e308), (0, 5e-324), (0, 1e-31), (0, 1e31), (-1e300, 0), (1e30, 1e30), (0, float("inf"))],
)
def test_bounds_without_a_sane_width_are_refused(low, high):
    with pytest.raises(ValueError, match=r"^bounds must"):
        Numeric(low, high)


@pytest.mark.parametrize("setting", ["clip_norm", "weight_bound", "learning_rate", "bias"])
@pytest.mark.parametrize("value", INSIDE)
@pytest.mark.parametrize("kind", [GradientDescent, PoissonSGD])
def test_any_setting_of_a_learner_that_is_accepted_runs(kind, setting, value):
    options = {"batch_size": 20} if kind is PoissonSGD else {}
    options |= {"steps": 2, "clip_norm": 1.0, "weight_bound": 1.0, setting: value}
    run(ball(1.0), [], kind(Logistic(), **options))
