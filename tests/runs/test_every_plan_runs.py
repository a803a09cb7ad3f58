"""A plan that is accepted runs: whatever it cannot do is refused before anything is charged or read."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest

from networks import layer
from prepriv import Budget, Categorical, Domain, Numeric, Public, Sensitivity, make_plan
from prepriv import preprocessing as pre
from prepriv.learners.gradient_descent import GradientDescent
from prepriv.learners.losses import Logistic
from prepriv.mechanisms.noise import NoiseSource
from prepriv.mechanisms.propose_test_release import DistanceTest
from prepriv.mechanisms.session import NoisySession
from prepriv.release.model import Model
from prepriv.runs.public import check_public
from prepriv.runs.run import execute
from prepriv.tables.encoding import encode, encode_labels

N = 60
CLASSES = (0, 1)
LEARNER = GradientDescent(Logistic(), steps=2, weight_bound=2.0)
LAYER = layer(4, 3).SerializeToString()

DOMAINS = {
    "box": Domain.box(0, 1, 4, CLASSES),
    "box with missing": Domain.box(0, 1, 4, CLASSES, missing="impute"),
    "some missing": Domain(
        {
            "x0": Numeric(-1, 5),
            "x1": Numeric(0, 1, "impute"),
            "x2": Numeric(2, 3),
            "x3": Numeric(0, 1, "impute"),
        },
        CLASSES,
    ),
    "away from zero": Domain.box(100, 101, 3, CLASSES),
    "ball": Domain.ball(4, CLASSES),
    "one column": Domain.box(0, 1, 1, CLASSES),
    "one column, missing": Domain.box(0, 1, 1, CLASSES, missing="impute"),
    "ball of one": Domain.ball(1, CLASSES),
    "categories only": Domain({"c0": Categorical(("a", "b", "c")), "c1": Categorical(("u", "v"))}, CLASSES),
    "both kinds": Domain({"x0": Numeric(0, 1, "impute"), "c1": Categorical(("u", "v"))}, CLASSES),
    "wide": Domain.box(-1e6, 1e6, 2, CLASSES),
    "tiny": Domain.box(0, 1e-6, 2, CLASSES),
    "images": Domain.images(2, 2, 1, CLASSES),
}


def rows_of(domain: Domain, rng: np.random.Generator, n: int) -> object:
    """Random rows, some with missing cells and some out of bounds."""
    if domain.is_ball or all(isinstance(c, Numeric) for c in domain.columns.values()):
        wide = 3.0 if domain.is_ball else 1.0
        x = rng.normal(size=(n, domain.n_inputs)) * wide
        if not domain.is_ball:
            low = np.array([c.low for c in domain.columns.values()])
            high = np.array([c.high for c in domain.columns.values()])
            x = low + (high - low) * (0.5 + 0.4 * x)
        x[rng.random(x.shape) < 0.1] = np.nan
        return x
    table = {}
    for name, column in domain.columns.items():
        if isinstance(column, Numeric):
            cells = rng.normal(size=n)
            cells[::7] = np.nan
            table[name] = cells
        else:
            table[name] = rng.choice([*column.categories, "something else"], n)
    return pd.DataFrame(table)


def steps_of(public: object) -> dict[str, object]:
    """name: a function of a payment that makes the step, and its caps by sensitivity, tested or not."""
    return {
        "AugmentByDistance": (lambda p: pre.AugmentByDistance(payment=p), {}),
        "Bins": (lambda p: pre.Bins({"x0": 3}, payment=p), {}),
        "QuantileBins": (lambda p: pre.QuantileBins(3, ("x0",), 0.9, payment=p), {}),
        "Center": (lambda p: pre.Center(payment=p), {}),
        "ClassCounts": (lambda p: pre.ClassCounts(payment=p), {}),
        "ClipFeatures": (lambda p: pre.ClipFeatures(0.25, 0.5, payment=p), {}),
        "ClipFeatures beyond": (lambda p: pre.ClipFeatures(2.0, 3.0, payment=p), {}),
        "ConstantImputer": (lambda p: pre.ConstantImputer(0.2, payment=p), {}),
        "ClipNorm": (lambda p: pre.ClipNorm(0.5, payment=p), {}),
        "Deduplicate": (lambda p: pre.Deduplicate(0.01, payment=p), {"max_neighbors": 3}),
        "Deduplicate by label": (
            lambda p: pre.Deduplicate(0.01, by_label=True, payment=p),
            {"max_neighbors": 1},
        ),
        "DeduplicateCells": (lambda p: pre.DeduplicateCells(payment=p), {}),
        "DeduplicateCells, side": (lambda p: pre.DeduplicateCells(0.1, centre=False, payment=p), {}),
        "DeduplicateCells, tiny": (lambda p: pre.DeduplicateCells(1e-11, payment=p), {}),
        "Encode": (lambda p: pre.Encode(LAYER, payment=p), {}),
        "Homogenize": (lambda p: pre.Homogenize(payment=p), {}),
        "InstanceOptimalCenter": (lambda p: pre.InstanceOptimalCenter(payment=p), {}),
        "MeanImputer": (lambda p: pre.MeanImputer(payment=p), {"missing": 0.3}),
        "MeanImputer, fading": (lambda p: pre.MeanImputer(payment=p), {"missing": 0.1, "fade": 0.2}),
        "MedianImputer": (lambda p: pre.MedianImputer(payment=p), {"missing": 0.3, "gap": 0.2}),
        "MinMaxScaler": (lambda p: pre.MinMaxScaler(payment=p), {}),
        "Normalize": (lambda p: pre.Normalize(payment=p), {}),
        "Normalize, floor": (lambda p: pre.Normalize(floor=0.1, payment=p), {}),
        "OneHot": (lambda p: pre.OneHot({"x0": 3}, payment=p), {}),
        "PCA": (lambda p: pre.PCA(1, payment=p), {"gap": 0.01}),
        "PCA, 2": (lambda p: pre.PCA(2, payment=p), {}),
        "PCA, 50": (lambda p: pre.PCA(payment=p), {}),
        "Quantize": (lambda p: pre.Quantize(0.01, payment=p), {"max_neighbors": 3}),
        "Quantize, mean": (lambda p: pre.Quantize(0.1, "mean", payment=p), {"max_neighbors": 3}),
        "QuantizeCells": (lambda p: pre.QuantizeCells(0.1, payment=p), {}),
        "QuantizeCells, tiny": (lambda p: pre.QuantizeCells(1e-11, payment=p), {}),
        "QuantileTransform": (lambda p: pre.QuantileTransform(4, payment=p), {}),
        "RandomFeatures": (lambda p: pre.RandomFeatures(8, payment=p), {}),
        "RankReduction": (lambda p: pre.RankReduction(1, payment=p), {"gap": 1e-4}),
        "RankReduction, centred": (lambda p: pre.RankReduction(2, centred=True, payment=p), {"tail": 0.5}),
        "RegressionImputer": (lambda p: pre.RegressionImputer(payment=p), {"missing": 0.3}),
        "RegressionImputer, curved": (
            lambda p: pre.RegressionImputer(payment=p),
            {"missing": 0.3, "curvature": 0.01},
        ),
        "Rescale": (lambda p: pre.Rescale(2.0, payment=p), {}),
        "RootColumns": (lambda p: pre.RootColumns(payment=p), {}),
        "ShrunkCenter": (lambda p: pre.ShrunkCenter(payment=p), {}),
        "Scattering": (lambda p: pre.Scattering(1, 2, payment=p), {}),
        "SoftPCA": (lambda p: pre.SoftPCA(0.1, payment=p), {}),
        "SoftPCA, centred": (lambda p: pre.SoftPCA(0.1, centred=True, payment=p), {}),
        "SoftPCA, tiny": (lambda p: pre.SoftPCA(1e-30, payment=p), {}),
        "SquareRoot": (lambda p: pre.SquareRoot(payment=p), {}),
        "StandardScaler": (lambda p: pre.StandardScaler(payment=p), {}),
        "StandardScaler, none": (lambda p: pre.StandardScaler(rule="none", center="midpoint", payment=p), {}),
        "TrimmedMeanImputer": (lambda p: pre.TrimmedMeanImputer(payment=p), {"missing": 0.3, "spread": 0.9}),
    }


NAMES = list(steps_of(None))
NEVER = {n for n in NAMES if n.endswith("tiny")} | {
    "PCA, 50"
}  # too small a side or strength, too many directions
WAYS = ("free", "public", "budget", "sensitivity", "tested")


def test_every_step_is_here():
    have = {name.split(",")[0].split(" ")[0] for name in NAMES}
    steps = {
        n for n in pre.__all__ if isinstance(getattr(pre, n), type) and issubclass(getattr(pre, n), pre.Step)
    }
    assert have == steps - {
        "Step",
        "Fitted",
    }  # Fitted is made of a domain: tests/preprocessing/test_fitted.py


def payment_of(way: str, public: object, declared: dict[str, object]) -> object:
    return {
        "free": None,
        "public": Public(public),
        "budget": Budget(0.1),
        "sensitivity": Sensitivity(declared),
        "tested": Sensitivity(declared, test=0.1),
    }[way]


def accepted(make, domain: Domain):
    """The plan, or None if it was refused by a sentence."""
    try:
        plan = make_plan(domain, make(), LEARNER, epsilon=5.0, delta=1e-4, n=N)
        check_public(plan)  # as the commands and the estimator do before any charge
        return plan
    except ValueError as error:
        said = str(error)
    assert said[:1].strip() and "please report" not in said
    return None


# What stands before the step and behind it: a column without width, dropped rows, moved rows, missing cells left over.
BEFORE = {
    "nothing": (),
    "imputed": (pre.MeanImputer(payment=Budget(0.1)),),
    "moved": (pre.MeanImputer(payment=Sensitivity({"missing": 0.3})),),
    "without width": (pre.MeanImputer(payment=Budget(0.1)), pre.ClipFeatures(2.0, 3.0)),
    "narrow": (pre.ClipFeatures(2.0, 3.0),),
    "dropped": (pre.MeanImputer(payment=Budget(0.1)), pre.DeduplicateCells(payment=Sensitivity())),
    "centred": (pre.Center(payment=Budget(0.1)),),
    "ranked": (pre.MeanImputer(payment=Budget(0.1)), pre.Normalize()),
}
BEHIND = {"nothing": (), "imputed": (pre.MeanImputer(payment=Budget(0.1)),)}


SOME = (("nothing", "nothing"), ("without width", "nothing"), ("narrow", "nothing"))
FEW = ("box with missing", "some missing", "ball", "one column", "categories only", "both kinds", "images")
ALL = tuple(itertools.product(BEFORE, BEHIND))


@pytest.mark.parametrize("name", NAMES)
def test_a_plan_is_refused_or_runs(name):
    ran = {way for way in WAYS if refused_or_runs(name, way, FEW, SOME)}
    assert ran or name in NEVER


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", NAMES)
def test_a_plan_is_refused_or_runs_between_other_steps(name, way):
    refused_or_runs(name, way, list(DOMAINS), ALL)


def refused_or_runs(name, way, domains, neighbours):
    """How many plans ran."""
    rng = np.random.default_rng(7)
    ran = 0
    for at, (before, behind) in itertools.product(domains, neighbours):
        domain = DOMAINS[at]
        public, private = rows_of(domain, rng, N), rows_of(domain, rng, N)
        make, declared = steps_of(public)[name]

        payment = payment_of(way, public, declared)
        plan = accepted(lambda m=make, p=payment, b=before, a=behind: [*BEFORE[b], m(p), *BEHIND[a]], domain)
        if plan is None:
            continue
        table = encode(private, plan.domain)
        targets = encode_labels(rng.integers(0, 2, N), plan.domain.classes)
        session = AlwaysPasses(NoiseSource.for_tests(1))
        try:
            trained = execute(plan, table, targets, session)
            assert np.isfinite(trained.weights).all()
            scores = Model.of(trained).predict_proba(private)
            assert np.isfinite(scores).all()
        except Exception as error:
            raise AssertionError(f"{name} by {way}, {at}, after {before}, before {behind}") from error
        ran += 1
    return ran


class AlwaysPasses(NoisySession):
    """So that a test of caps lets the step behind it run."""

    def _perform(self, name, mechanism, exact):
        answer = super()._perform(name, mechanism, exact)
        return True if isinstance(mechanism, DistanceTest) else answer


@pytest.mark.parametrize(
    "step, domain, says",
    [
        (pre.QuantizeCells(1e-11), "box", "too many cells"),
        (pre.QuantizeCells(0.1), "box with missing", "QuantizeCells needs every cell"),
        (pre.DeduplicateCells(1e-11, payment=Sensitivity()), "box", "too many cells"),
        (pre.PCA(1, payment=Budget(0.1)), "box with missing", "PCA needs every cell"),
        (pre.RankReduction(1, payment=Sensitivity()), "box with missing", "RankReduction needs every cell"),
        (pre.SoftPCA(payment=Sensitivity()), "box with missing", "SoftPCA needs every cell"),
    ],
)
def test_the_plan_itself_refuses(step, domain, says):
    with pytest.raises(ValueError, match=says):
        make_plan(DOMAINS[domain], [step, *BEHIND["imputed"]], LEARNER, epsilon=5.0, delta=1e-4, n=N)
