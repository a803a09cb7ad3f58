"""Every public pipeline, small: each step in each way it can be paid for, each learner, both adjacencies."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from networks import layer
from prepriv import Budget, Categorical, Domain, Numeric, Public, Sensitivity, Sketch, Text, make_plan
from prepriv import preprocessing as pre
from prepriv.audit.replay_neighbours import RawTable, synthetic
from prepriv.audit.sensitivity_draws import Draws
from prepriv.learners import Huber, Quantile, SquaredError, SufficientStatistics
from prepriv.learners.gradient_descent import GradientDescent
from prepriv.learners.losses import Hinge, HuberisedHinge, LeastSquares, Logistic, Softmax, SquaredHinge
from prepriv.learners.noisy_sgd import NoisySGD
from prepriv.learners.one_pass import CyclicSGD, OnePassSGD
from prepriv.learners.stochastic import FixedBatchSGD, PoissonSGD, StochasticLearner
from prepriv.plans.plan import Plan
from prepriv.preprocessing.base import Step
from prepriv.private_pipeline import reading
from prepriv.recipes.automatic import WIDE, recipe
from prepriv.recipes.dpsgd_f import RECIPES

N = 24
ONE, ADD = "replace-one", "add-or-remove-one"


def table(adjacency=ONE):
    """A table: two columns to impute, one plain, one categorical; three classes of mixed types."""
    columns = {
        "age": Numeric(0, 90, "impute"),
        "gain": Numeric(-5, 10, "impute"),
        "hours": Numeric(0, 1),
        "job": Categorical(("clerk", "smith", "7")),
    }
    return Domain(columns, ("no", "yes", 3), n=N, adjacency=adjacency)


def box(adjacency=ONE, classes=(0, 1, 2)):
    return Domain.box(-1, 1, 3, classes, n=N, adjacency=adjacency)


def numbers(adjacency=ONE):
    """A number to predict in place of classes."""
    return Domain.box(-1, 1, 3, n=N, adjacency=adjacency, target=Numeric(-3, 5))


def ball(adjacency=ONE):
    return Domain.ball(3, (0, 1), n=N, adjacency=adjacency)


@dataclass(frozen=True)
class Pipeline:
    """A plan to be made, and the tables it is replayed on."""

    domain: Domain
    steps: tuple[Step, ...] = ()
    learner: GradientDescent | None = None
    missing: float = 0.1
    epsilon: float = 3.0
    tables: Callable[[Domain, Draws], RawTable] | None = None
    sampler: StochasticLearner | None = None

    def plan(self) -> Plan:
        loss = {0: SquaredError(), 2: Logistic()}.get(len(self.domain.classes), Softmax())
        learner = self.learner or GradientDescent(loss, steps=3, learning_rate=3.0, weight_bound=5.0)
        plan = make_plan(self.domain, self.steps, learner, epsilon=self.epsilon, delta=1e-4)
        if self.sampler is None:
            return plan
        # Calibration of a sampler takes seconds, and the replay needs no calibrated noise.
        return dataclasses.replace(plan, learner=self.sampler, learner_noise_multiplier=2.0)


def clusters(domain: Domain, draws: Draws) -> RawTable:
    """Rows in tight groups of one to three, and a few alone: what deduplication and quantization look for."""
    rows: list[list[float]] = []
    while len(rows) < N:
        centre = (draws.uniform(3) * 1.6 - 0.8).tolist()
        for _ in range(1 + draws.below(3)):
            near = (np.array(centre) + (draws.uniform(3) - 0.5) * 0.01 * draws.below(3)).tolist()
            rows.append([float(v) for v in near])
    classes = domain.classes or (-3.0, 0.5, 5.0)
    labels = [classes[draws.below(len(classes))] for _ in range(N)]
    return RawTable.of(rows[:N], labels, 3)


def at_the_caps(domain: Domain, draws: Draws) -> RawTable:
    """As many cells missing as the caps allow, the observed ones at the ends and the middle of their bounds."""
    made = synthetic(domain, N, draws)
    for j, name in enumerate(("age", "gain")):
        column = domain.columns[name]
        for i in range(N):
            share = (0.0, 0.5, 1.0)[i % 3]
            made.rows[i, j] = None if i < N // 5 else column.low + share * (column.high - column.low)
    return made


def public(domain: Domain) -> Public:
    """Rows declared public, with empty cells where they may be."""
    return Public(synthetic(domain, 40, Draws(99), missing=0.2).rows)


CAPS = {"missing": 0.2}


def _imputation():
    for name, step in {
        "mean": pre.MeanImputer,
        "median": pre.MedianImputer,
        "trimmed": pre.TrimmedMeanImputer,
        "regression": pre.RegressionImputer,
    }.items():
        caps = CAPS | ({"gap": 0.5} if name == "median" else {})
        for way in ("public", "budget", "sensitivity"):
            if way not in step.ways:
                continue
            for adjacency in (ONE, ADD) if way != "sensitivity" else (ONE,):
                domain = table(adjacency)
                payment = {"public": public(domain), "budget": Budget(0.1), "sensitivity": Sensitivity(caps)}[
                    way
                ]
                yield f"{name}, {way}, {adjacency}", Pipeline(domain, (step(payment=payment),))
                if way == "budget":
                    yield (
                        f"{name}, {way}, {adjacency}, half of it gaps",
                        Pipeline(domain, (step(payment=payment),), missing=0.5),
                    )
        fading = Sensitivity(caps | {"missing": 0.1, "fade": 0.2})
        yield f"{name}, fading", Pipeline(table(), (step(payment=fading),), missing=0.3)
        yield (
            f"{name}, at the caps",
            Pipeline(table(), (step(payment=Sensitivity(caps)),), tables=at_the_caps),
        )
    yield "a constant", Pipeline(table(), (pre.ConstantImputer(0.3),))
    tested = pre.MeanImputer(payment=Sensitivity({"missing": 0.9}, test=0.2))
    yield "mean, tested", Pipeline(table(), (tested,))


def _fixed():
    free = {
        "clip norm": pre.ClipNorm(0.5),
        "normalize": pre.Normalize(1.0),
        "normalize with floor": pre.Normalize(1.0, 0.3),
        "homogenize": pre.Homogenize(0.7),
        "homogenize, centred": pre.Homogenize(0.7, center=0.6),
        "rescale": pre.Rescale(4.0),
        "square root": pre.SquareRoot(),
        "roots of columns": pre.RootColumns(),
        "random features": pre.RandomFeatures(7),
        "clip features": pre.ClipFeatures(-0.5, 0.5),
        "one-hot": pre.OneHot({"x0": 3}),
        "bins": pre.Bins({"x0": [0.0, 0.3], "x2": 4}, 0.8),
        "bins beside": pre.Bins({"x1": 3}, 0.8, beside=True),
        "quantize cells": pre.QuantizeCells(0.25),
    }
    for adjacency in (ONE, ADD):
        for name, step in free.items():
            yield f"{name}, {adjacency}", Pipeline(box(adjacency), (step, pre.Center(payment=Budget(0.1))))
        network = pre.Encode(layer(box(adjacency).space.d, 4).SerializeToString())
        yield f"network, {adjacency}", Pipeline(box(adjacency), (network, pre.Center(payment=Budget(0.1))))
        for name, kind in {"box": box, "ball": ball}.items():
            yield f"nothing, {name}, {adjacency}", Pipeline(kind(adjacency))


def _images():
    for adjacency in (ONE, ADD):
        domain = Domain.images(4, 4, 1, (0, 1, 2), n=N, adjacency=adjacency)
        steps = (pre.Scattering(1, 2), pre.Normalize(1.0), pre.Center(payment=Budget(0.1)))
        yield f"scattering, {adjacency}", Pipeline(domain, steps)
    domain = Domain.images(4, 4, 1, (0, 1, 2), n=N)
    few = pre.Deduplicate(0.01, payment=Sensitivity({"max_neighbors": 6}))
    yield "scattering behind a step that moves rows", Pipeline(domain, (few, pre.Scattering(1, 2, 0.5)))


def _texts():
    for adjacency in (ONE, ADD):
        columns = {"said": Text(16), "x": Numeric(0, 1), "job": Categorical(("clerk", "smith"))}
        domain = Domain(columns, (0, 1), n=N, adjacency=adjacency)
        yield f"text, {adjacency}", Pipeline(domain, (pre.Center(payment=Budget(0.1)), pre.Normalize(1.0)))


def _class_counts():
    drop = pre.Deduplicate(0.01, payment=Sensitivity({"max_neighbors": 6}))
    for adjacency in (ONE, ADD):
        counts = pre.ClassCounts(3, payment=Budget(0.1))
        yield f"counts of classes, {adjacency}", Pipeline(box(adjacency), (counts,))
    yield "counts of classes behind dropped rows", Pipeline(box(), (drop, counts), tables=clusters)


def _scaling():
    for adjacency in (ONE, ADD):
        for domain in (box(adjacency), ball(adjacency)):
            kind = "ball" if domain.is_ball else "box"
            for way, payment in {"public": public(domain), "budget": Budget(0.2)}.items():
                for name, step in {
                    "center": pre.Center(payment=payment),
                    "standard": pre.StandardScaler(0.2, payment=payment),
                    "standard about the midpoint": pre.StandardScaler(
                        0.2, "root", "midpoint", payment=payment
                    ),
                    "min-max": pre.MinMaxScaler(payment=payment),
                    "PCA": pre.PCA(2, payment=payment),
                }.items():
                    yield f"{name}, {way}, {kind}, {adjacency}", Pipeline(domain, (step,))
            for way, payment in {"public": public(domain), "budget": Budget(0.2)}.items():
                bins = pre.QuantileBins(4, smooth=0.5, payment=payment)
                yield f"bins, {way}, {kind}, {adjacency}", Pipeline(domain, (bins,))
            ranks = pre.QuantileTransform(5, payment=public(domain))
            yield f"ranks, public, {kind}, {adjacency}", Pipeline(domain, (ranks,))


def _by_sensitivity():
    clustered = Sensitivity({"max_neighbors": 6})
    shapes = {
        "deduplicate": pre.Deduplicate(0.01, payment=clustered),
        "deduplicate by label": pre.Deduplicate(0.01, True, payment=clustered),
        "quantize": pre.Quantize(0.01, payment=clustered),
        "quantize to means": pre.Quantize(0.01, "mean", payment=clustered),
        "deduplicate cells": pre.DeduplicateCells(0.05, payment=Sensitivity()),
        "deduplicate equal rows": pre.DeduplicateCells(payment=Sensitivity()),
        "deduplicate cells, one row stays": pre.DeduplicateCells(0.05, centre=False, payment=Sensitivity()),
        "soft PCA": pre.SoftPCA(0.3, payment=Sensitivity()),
        "soft PCA, centred": pre.SoftPCA(0.3, True, payment=Sensitivity()),
        "rank": pre.RankReduction(2, payment=Sensitivity()),
        "rank, tail": pre.RankReduction(2, payment=Sensitivity({"tail": 0.9})),
        "rank, gap": pre.RankReduction(1, payment=Sensitivity({"gap": 0.05})),
        "rank, centred": pre.RankReduction(2, centred=True, payment=Sensitivity({"tail": 0.9})),
    }
    for name, step in shapes.items():
        yield name, Pipeline(box(), (step,), tables=clusters)
        yield (
            f"{name}, centred after",
            Pipeline(box(), (step, pre.Center(payment=Budget(0.1)), pre.Rescale(3.0)), tables=clusters),
        )
    mean = pre.MeanImputer(payment=Sensitivity(CAPS))
    yield (
        "chain: impute, soft PCA, centre",
        Pipeline(
            table(),
            (
                mean,
                pre.SoftPCA(0.3, payment=Sensitivity()),
                pre.Center(payment=Budget(0.1)),
                pre.Rescale(3.0),
            ),
        ),
    )
    yield (
        "chain: impute, one-hot, PCA by budget",
        Pipeline(table(), (mean, pre.OneHot({"age": 4}), pre.PCA(3, payment=Budget(0.2)))),
    )
    yield (
        "chain: impute, quantize, rescale",
        Pipeline(
            table(),
            (mean, pre.Quantize(0.02, payment=clustered), pre.Rescale(2.0)),
        ),
    )
    equal = pre.DeduplicateCells(payment=Sensitivity())
    far = (equal, pre.ClipFeatures(0.9, 1.0), pre.Center(payment=Budget(0.1)))
    yield "chain: deduplicate cells, clip away from the origin, center", Pipeline(box(), far, tables=clusters)


def _learners():
    two, three = box(classes=("a", "b")), box()
    for name, domain, loss in (
        ("logistic", two, Logistic()),
        ("softmax", three, Softmax()),
        ("hinge", two, Hinge()),
        ("hinge, three classes", three, Hinge(3)),
        ("squared hinge", two, SquaredHinge()),
        ("huberised hinge", three, HuberisedHinge(3)),
        ("least squares", two, LeastSquares(1.0)),
    ):
        learner = GradientDescent(loss, steps=4, learning_rate=5.0, clip_norm=0.5)
        yield f"learner: {name}", Pipeline(domain, (), learner)
    least = GradientDescent(LeastSquares(1.0), steps=4, learning_rate=5.0, clip_norm=0.5)
    drop = pre.Deduplicate(0.01, payment=Sensitivity({"max_neighbors": 6}))
    yield "learner: least squares behind dropped rows", Pipeline(two, (drop,), least, tables=clusters)
    mean = pre.MeanImputer(payment=Sensitivity(CAPS))
    poisson = PoissonSGD(Softmax(), batch_size=8, steps=6, weight_bound=5.0)
    fixed = FixedBatchSGD(Softmax(), batch_size=8, steps=6, weight_bound=5.0)
    yield "Poisson SGD, replace", Pipeline(box(), sampler=poisson)
    yield (
        "Poisson SGD, add or remove",
        Pipeline(box(ADD), (pre.Center(payment=Budget(0.1)),), sampler=poisson),
    )
    yield "Poisson SGD after imputation", Pipeline(table(), (mean,), sampler=poisson)
    yield "fixed batches", Pipeline(box(), sampler=fixed)
    yield "fixed batches after imputation", Pipeline(table(), (mean,), sampler=fixed)


def _regression():
    """A declared target: each learner of numbers, what the recipe makes of it, rows that moved or were dropped."""
    drop = pre.Deduplicate(0.01, payment=Sensitivity({"max_neighbors": 6}))
    soft = pre.SoftPCA(0.3, payment=Sensitivity())
    descent = GradientDescent(Huber(0.3), steps=3, learning_rate=3.0, clip_norm=0.4, weight_bound=5.0)
    for adjacency in (ONE, ADD):
        domain, center = numbers(adjacency), pre.Center(payment=Budget(0.1))
        yield f"target: moments, {adjacency}", Pipeline(domain, (), SufficientStatistics())
        yield f"target: moments, centred, {adjacency}", Pipeline(domain, (center,), SufficientStatistics())
        yield f"target: squared error, {adjacency}", Pipeline(domain, (center,))
        yield f"target: Huber, {adjacency}", Pipeline(domain, (), descent)
        yield (
            f"target: quantile, {adjacency}",
            Pipeline(domain, (), dataclasses.replace(descent, loss=Quantile(0.9))),
        )
        mixed = dataclasses.replace(table(adjacency), classes=(), target=Numeric(0, 1e6))
        steps, learner = recipe(mixed, n=N, epsilon=3.0, delta=1e-4)
        yield f"target: auto, {adjacency}", Pipeline(mixed, steps, dataclasses.replace(learner, steps=3))
        steps, _ = recipe(mixed, n=N, epsilon=3.0, delta=1e-4)
        yield f"target: moments, auto steps, {adjacency}", Pipeline(mixed, steps, SufficientStatistics())
        curves, led = recipe(mixed, n=5000, epsilon=8.0, delta=1e-4, steps="curves")
        assert led.lead
        prices = dataclasses.replace(domain, target=Numeric(0, 1e6, log=True))
        yield f"target: its logarithm, {adjacency}", Pipeline(prices, (center,))
        yield f"target: curves, {adjacency}", Pipeline(mixed, curves, dataclasses.replace(led, steps=4))
    for name, step in {"dropped": drop, "moved": soft}.items():
        for longest in (math.inf, 0.7):
            yield (
                f"target: moments, {name}, longest {longest}",
                Pipeline(numbers(), (step,), SufficientStatistics(longest=longest), tables=clusters),
            )
    poisson = PoissonSGD(SquaredError(), batch_size=8, steps=6, weight_bound=5.0)
    yield "target: Poisson SGD", Pipeline(numbers(), sampler=poisson)


def _sketches():
    """A pipeline of scikit-learn by a sketch, whose noise at so few records needs a large budget to say anything."""
    from sklearn.compose import make_column_transformer
    from sklearn.decomposition import PCA
    from sklearn.feature_selection import SelectKBest, f_regression
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import (
        KBinsDiscretizer,
        MinMaxScaler,
        OneHotEncoder,
        PolynomialFeatures,
        StandardScaler,
        TargetEncoder,
    )

    filled = make_pipeline(SimpleImputer(), StandardScaler())
    mixed = make_column_transformer((filled, ["age", "gain", "hours"]), (TargetEncoder(), ["job"]))
    for adjacency in (ONE, ADD):
        for name, pipeline in {"label": mixed, "pairs": make_pipeline(mixed, PCA(2))}.items():
            domain = table(adjacency)
            step = pre.Fitted.of(pipeline, domain, Sketch(0.5))
            yield f"sketch, {name}, {adjacency}", Pipeline(domain, (step,), epsilon=200.0)
        number = dataclasses.replace(table(adjacency), classes=(), target=Numeric(0, 1e6))
        chosen = make_column_transformer(
            (make_pipeline(SimpleImputer(), SelectKBest(f_regression, k=2)), ["age", "gain", "hours"])
        )
        step = pre.Fitted.of(chosen, number, Sketch(0.5))  # a target, which is one more column of the pairs
        yield f"sketch, target, {adjacency}", Pipeline(number, (step,), epsilon=200.0)
    bins = make_pipeline(mixed, KBinsDiscretizer(3), LogisticRegression())
    read = reading(bins, table(ONE), share=0.5, epsilon=200.0)
    yield "private, sketch", Pipeline(read.domain, read.steps, epsilon=200.0)
    means = make_column_transformer(
        (make_pipeline(SimpleImputer(), MinMaxScaler()), ["age", "gain", "hours"]), (OneHotEncoder(), ["job"])
    )
    for way, missing in (("budget", None), ("sensitivity", 0.5)):
        read = reading(
            make_pipeline(means, PCA(2), LogisticRegression()),
            table(ONE),
            epsilon=200.0,
            way=way,
            missing=missing,
        )
        yield f"private, {way}", Pipeline(read.domain, read.steps, epsilon=200.0)
    squares = make_pipeline(SimpleImputer(strategy="constant", fill_value=0.0), PolynomialFeatures(2))
    codes = make_column_transformer((squares, ["age", "hours"]), (OneHotEncoder(), ["job"]))
    read = reading(make_pipeline(codes, LogisticRegression()), table(ADD))
    yield "private, free", Pipeline(read.domain, read.steps)


def _hidden_and_single():
    """Learners that draw single records, or pass once and stop at a random step."""
    noisy = NoisySGD(Softmax(), batch_size=2, steps=6, weight_bound=3.0)
    once = OnePassSGD(Softmax(), batch_size=4, steps=6, learning_rate=0.05, clip_norm=9.0, weight_bound=2.0)
    many = CyclicSGD(
        Softmax(),
        batch_size=10,
        steps=9,
        learning_rate=0.05,
        clip_norm=9.0,
        weight_bound=2.0,
        weight_decay=0.1,
    )
    yield "passes", Pipeline(box(), (pre.Center(payment=Budget(0.1)),), sampler=many)
    mean = pre.MeanImputer(payment=Sensitivity(CAPS))
    for name, sampler in {"noisy SGD": noisy, "one pass": once}.items():
        yield name, Pipeline(box(), (pre.Center(payment=Budget(0.1)),), sampler=sampler)
        yield f"{name} after imputation", Pipeline(table(), (mean,), sampler=sampler)


def _flattened():
    """Descent that releases the mean row first: records alone, rows that moved, batches."""
    for adjacency in (ONE, ADD):
        flat = GradientDescent(Logistic(), steps=2, learning_rate=3.0, flatten=0.2)
        yield f"flat, {adjacency}", Pipeline(ball(adjacency), (), flat)
    batches = PoissonSGD(Logistic(), batch_size=8, steps=2, flatten=0.2)
    yield "flat Poisson SGD", Pipeline(ball(), sampler=batches)
    moved = GradientDescent(Softmax(), steps=2, weight_bound=0.01, flatten=0.2)
    soft = pre.SoftPCA(0.3, payment=Sensitivity())
    yield "flat after rows that moved", Pipeline(box(), (soft,), moved)
    target = GradientDescent(SquaredError(), steps=2, clip_norm=0.5, flatten=0.2)
    yield "flat, a target", Pipeline(numbers(), (), target)


def _mean_errors():
    """Descent that releases the mean error last."""
    for adjacency in (ONE, ADD):
        last = GradientDescent(SquaredError(), steps=2, clip_norm=0.5, mean_error=0.2)
        steps = (pre.Center(payment=Budget(0.1)),)
        large = 1000.0  # so that noise does not explain the mean error, which would move nothing
        yield f"mean_error, {adjacency}", Pipeline(numbers(adjacency), steps, last, epsilon=large)


def _recipes():
    """DPSGD-F and its relatives, as `dpsgd_f.RECIPES` builds them, with fewer steps."""
    for name, build in RECIPES.items():
        for adjacency in (ONE, ADD):
            for domain in (box(adjacency), ball(adjacency)):
                kind = "ball" if domain.is_ball else "box"
                steps, learner = build(domain, n=N, epsilon=3.0, delta=1e-4)
                steps = tuple(
                    dataclasses.replace(s, precision=0.1) if isinstance(s, pre.InstanceOptimalCenter) else s
                    for s in steps
                )
                few = dataclasses.replace(learner, steps=3)
                yield f"{name}, {kind}, {adjacency}", Pipeline(domain, steps, few)


def _automatic():
    """What a user gets who sets nothing, with fewer steps."""
    for adjacency in (ONE, ADD):
        domains = {"table": table(adjacency), "few columns": box(adjacency), "ball": ball(adjacency)}
        domains["wide"] = Domain.box(0, 1, WIDE, (0, 1), n=N, adjacency=adjacency)
        for kind, domain in domains.items():
            for name in ("auto", "linear", "additive")[: 2 if domain.is_ball else 3]:
                steps, learner = recipe(domain, n=N, epsilon=3.0, delta=1e-4, steps=name)
                yield (
                    f"{name}, {kind}, {adjacency}",
                    Pipeline(domain, steps, dataclasses.replace(learner, steps=3)),
                )


@lru_cache(maxsize=1)
def pipelines() -> dict[str, Pipeline]:
    """All of them, by name."""
    kinds = (
        _imputation,
        _fixed,
        _images,
        _texts,
        _class_counts,
        _scaling,
        _by_sensitivity,
        _learners,
        _regression,
        _hidden_and_single,
        _sketches,
        _flattened,
        _mean_errors,
        _recipes,
        _automatic,
    )
    return dict(pair for kind in kinds for pair in kind())
