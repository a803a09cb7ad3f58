"""An outside auditor: Re:cord-play, rewritten from its paper and apart from `prepriv.audit`, on public names alone.

Cebere, Erb, Desfontaines, Bellet, Fitzsimons: Grey-Box Auditing of Differential Privacy Libraries (2026). A run on D is recorded: every
private mechanism that it calls, its parameters, what went in and what came out. The same run on a neighbour gets the same outputs and the
same randomness. Whatever then differs in calls, parameters or results depends on data; and inputs may be as far apart as the mechanism
declares, and no further.
"""

from __future__ import annotations

import dataclasses
import math
import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import prepriv
from prepriv import Budget, Categorical, Domain, Numeric, Public, Sensitivity
from prepriv import preprocessing as pre
from prepriv.learners import (
    CyclicSGD,
    FixedBatchSGD,
    GradientDescent,
    Hinge,
    Huber,
    HuberisedHinge,
    LeastSquares,
    Logistic,
    NoisySGD,
    OnePassSGD,
    PoissonSGD,
    Quantile,
    Softmax,
    SquaredError,
    SquaredHinge,
    SufficientStatistics,
)
from prepriv.mechanisms import NoiseSource, Session
from prepriv.runs.train import train

N = 30
RNG = np.random.default_rng(5)
ROWS, LABELS = RNG.random((N, 3)), RNG.integers(0, 2, N)
ADD = "add-or-remove-one"


@dataclass
class Call:
    """One mechanism that was called."""

    kind: str
    parameters: Any
    given: Any
    answer: Any


@dataclass
class Auditor:
    """What was recorded, and what a replay does otherwise."""

    calls: list[Call] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    units: float = 1.0  # that a sum of gradients may move by, as the learner declares to its account
    furthest: float = 0.0

    def compare(self, at: int, kind: str, asked: Any, given: Any) -> Any:
        """The recorded answer of a call that is the same call; how far what went in has moved."""
        if at >= len(self.calls) or self.calls[at].kind != kind:
            self.wrong.append(f"call {at}: {kind} was not called there before")
            raise LookupError(self.wrong[-1])
        before = self.calls[at]
        if before.parameters != asked:
            self.wrong.append(f"call {at} ({kind}): its parameters depend on data")
        units = self.units if kind.startswith("gradient ") else 1.0
        apart, allowed = distance(asked, before.given, given, units)
        self.furthest = max(self.furthest, apart / allowed if allowed else float(apart > 0))
        if apart > allowed:
            self.wrong.append(f"call {at} ({kind}): moved by {apart}, declared {allowed}")
        return before.answer


def distance(asked: Any, one: Any, other: Any, units: float) -> tuple[float, float]:
    """(how far apart, how far at most) in the units of the mechanism: of sums by exact integers."""
    if isinstance(one, np.ndarray) and one.dtype == np.int64:
        if one.shape != other.shape:
            return math.inf, 0.0
        square = sum((int(a) - int(b)) ** 2 for a, b in zip(one.ravel(), other.ravel()))
        return math.sqrt(square), float(asked.reach) * units * (1 + 1e-12)
    return math.sqrt(asked.moved_squared(one, other)), float(asked.reach) * (1 + 1e-12)


class Coins:
    """The randomness of batches, the same in both runs: each draw has a stream of its own, so that records keep their coins."""

    private = False

    def __init__(self, seed: int) -> None:
        self._seed, self._draws = seed, 0

    def __getattr__(self, name: str) -> Any:
        def draw(*args: Any) -> Any:
            self._draws += 1
            return getattr(NoiseSource.for_tests(self._seed + 7919 * self._draws), name)(*args)

        return draw


class Spy(Session):
    """In place of the session of a run: records, or plays what was recorded."""

    private = False

    def __init__(self, auditor: Auditor, seed: int, playing: bool) -> None:
        super().__init__()
        self.auditor, self.seed, self.playing, self.at = auditor, seed, playing, 0

    def batch_source(self) -> Any:
        return Coins(self.seed)

    def release(self, name: str, mechanism: Any, exact: Any) -> Any:
        mechanism.check(name)
        given, asked = mechanism.recorded(exact), dataclasses.asdict(mechanism)
        self.at += 1
        if self.playing:
            return self.auditor.compare(self.at - 1, f"{name} {type(mechanism).__name__}", mechanism, given)
        answer = mechanism.perform(exact, NoiseSource.for_tests(self.seed + self.at))
        assert asked == dataclasses.asdict(mechanism)
        self.auditor.calls.append(Call(f"{name} {type(mechanism).__name__}", mechanism, given, answer))
        return answer

    def _perform(self, name: str, mechanism: Any, exact: Any) -> Any:
        raise AssertionError("released past the auditor")


def surface(trained: Any) -> dict[str, Any]:
    """Everything of a run that may leave: its report is made of the model."""
    return {"model": prepriv.Model.of(trained).text()}


def audited(plan: Any, rows: Any, labels: Any, neighbour: tuple[Any, Any], seed: int = 0) -> Auditor:
    """Record on one data set, play on the other."""
    auditor = Auditor(units=float(plan.learner.reach(plan.setting)))
    first = surface(train(plan, rows, labels, session=Spy(auditor, seed, False), counted=False))
    spy = Spy(auditor, seed, True)
    try:
        second = surface(train(plan, *neighbour, session=spy, counted=False))
    except LookupError:
        return auditor
    if spy.at != len(auditor.calls):
        auditor.wrong.append(f"{spy.at} calls in place of {len(auditor.calls)}")
    auditor.wrong += [f"{name} depends on data" for name in first if first[name] != second[name]]
    return auditor


def neighbours(rows: Any, labels: Any, adjacency: str, values: tuple[Any, Any]) -> list[tuple[Any, Any]]:
    """One row replaced by extreme ones, with the other label; or the last one taken away: the others keep their coins."""
    if adjacency == ADD:
        return [(rows[:-1], labels[:-1])]
    out = []
    for k, row in ((0, 1.0), (7, 0.0), (3, 1e300), (len(rows) - 1, -1e300)):
        x, y = rows.copy(), labels.copy()
        x[k], y[k] = row, values[0] if y[k] == values[1] else values[1]
        out.append((x, y))
    return out


def box(adjacency: str = "replace-one", **more: Any) -> Domain:
    return Domain.box(0, 1, 3, [0, 1], n=N, adjacency=adjacency, **more)


def target(adjacency: str = "replace-one") -> Domain:
    return Domain.box(0, 1, 3, target=Numeric(0, 1), n=N, adjacency=adjacency)


GD = GradientDescent(Logistic(), steps=3, weight_bound=2.0)
SHARE, GIVEN = Budget(0.2), Public(RNG.random((40, 3)))
DEDUPLICATED = Sensitivity({"max_neighbors": 8})

STEPS: dict[str, list[Any]] = {
    "mean by budget": [pre.MeanImputer(payment=SHARE)],
    "median by budget": [pre.MedianImputer(payment=SHARE)],
    "regression by public data": [pre.RegressionImputer(0.5, payment=GIVEN)],
    "constant": [pre.ConstantImputer(0.5)],
    "centre": [pre.Center(payment=SHARE)],
    "shrunk centre": [pre.ShrunkCenter(payment=SHARE)],
    "scaler by budget": [pre.StandardScaler(payment=SHARE)],
    "scaler by public data": [pre.StandardScaler(payment=GIVEN)],
    "least and largest": [pre.MinMaxScaler(payment=SHARE)],
    "PCA": [pre.PCA(2, payment=SHARE)],
    "soft PCA": [pre.SoftPCA(0.5, payment=Sensitivity())],
    "bins": [pre.QuantileBins(3, ("x0",), payment=SHARE)],
    "counts of classes": [pre.ClassCounts(2, payment=SHARE)],
    "instance-optimal": [pre.InstanceOptimalCenter(payment=SHARE)],
    "distance": [pre.AugmentByDistance(payment=SHARE)],
    "duplicate cells": [pre.DeduplicateCells(0.1, payment=Sensitivity())],
    "duplicates": [pre.Deduplicate(0.01, payment=DEDUPLICATED)],
    "quantised": [pre.Quantize(0.01, payment=DEDUPLICATED)],
    "free ones": [pre.QuantizeCells(0.1), pre.SquareRoot(), pre.Homogenize(1.0), pre.Rescale(2.0)],
    "norms": [pre.ClipNorm(0.7), pre.Normalize(1.0, 0.2)],
    "features": [pre.RandomFeatures(4)],
    "several": [
        pre.Center(payment=SHARE),
        pre.SoftPCA(0.5, payment=Sensitivity()),
        pre.StandardScaler(payment=Budget(0.1)),
    ],
}
IMPUTERS = (pre.MeanImputer, pre.MedianImputer, pre.RegressionImputer, pre.ConstantImputer)
GAPS = Domain({"x0": Numeric(0, 1, "impute"), "x1": Numeric(0, 1), "x2": Numeric(0, 1)}, [0, 1], n=N)
BOUNDED = {"steps": 4, "weight_bound": 2.0}
LEARNERS: dict[str, tuple[Any, Any]] = {
    **{
        f"{loss.name} {adjacency}": (box(adjacency), GradientDescent(loss, **BOUNDED))
        for loss in (Logistic(), Softmax(), Hinge(), SquaredHinge(), HuberisedHinge(), LeastSquares(1.0))
        for adjacency in ("replace-one", ADD)
    },
    **{
        f"{loss.name} {adjacency}": (target(adjacency), GradientDescent(loss, **BOUNDED))
        for loss in (SquaredError(), Huber(), Quantile())
        for adjacency in ("replace-one", ADD)
    },
    "Poisson": (box(), PoissonSGD(Logistic(), 6, 4)),
    "Poisson, added": (box(ADD), PoissonSGD(Softmax(), 20, 4)),
    "fixed batches": (box(), FixedBatchSGD(Logistic(), 6, 4)),
    "noisy": (box(), NoisySGD(Logistic(), 2, 4, weight_bound=1.0)),
    "one pass": (box(), OnePassSGD(Logistic(), 6, 5, 0.1, weight_bound=1.0)),
    "cyclic": (box(), CyclicSGD(Logistic(), 6, 10, 0.1, weight_bound=1.0)),
    "products": (target(), SufficientStatistics()),
    "products, added": (target(ADD), SufficientStatistics()),
}


def labels_for(domain: Domain) -> tuple[Any, tuple[Any, Any]]:
    return (ROWS[:, 0].copy(), (0.0, 1.0)) if domain.target else (LABELS.copy(), (0, 1))


def check(plan: Any, domain: Domain) -> float:
    labels, values = labels_for(domain)
    worst = 0.0
    for seed, other in enumerate(neighbours(ROWS, labels, domain.adjacency, values)):
        found = audited(plan, ROWS, labels, other, seed)
        assert not found.wrong and found.calls
        worst = max(worst, found.furthest)
    return worst


@pytest.mark.parametrize("name", STEPS)
def test_steps(name):
    """Between the two the declared noise is that of the plan, and every premise holds: the rows are spread out."""
    domain = GAPS if any(isinstance(step, IMPUTERS) for step in STEPS[name]) else box()
    check(prepriv.make_plan(domain, STEPS[name], GD, epsilon=8.0, delta=1e-3), domain)


@pytest.mark.parametrize("name", LEARNERS)
def test_learners(name):
    domain, learner = LEARNERS[name]
    check(prepriv.Plan(domain, 8.0, 1e-3, (), learner, 2.0, 0.0), domain)


def test_a_table_of_kinds():
    """Numbers, a category, cells that fit nothing."""
    domain = Domain(
        {"age": Numeric(0, 99, "impute"), "job": Categorical(("a", "b"))}, ["no", "yes"], n=N, label="y"
    )
    steps = [pre.MeanImputer(payment=SHARE), pre.OneHot({"age": 3})]
    plan = prepriv.make_plan(domain, steps, GD, epsilon=8.0, delta=1e-3)
    rows = np.array([[k * 3, "ab"[k % 2]] for k in range(N)], dtype=object)
    labels = np.array(["no", "yes"] * (N // 2), dtype=object)
    for odd in ([None, "a"], ["over 90", "c"], [1e308, None], [-5, b"\xff"]):
        x, y = rows.copy(), labels.copy()
        x[4], y[4] = odd, "maybe"
        assert not audited(plan, rows, labels, (x, y)).wrong


# ------------------------------------------------------------------------------------------------ can it see anything?


class Peeking(GradientDescent):
    """Its number of steps depends on a record."""

    def train(self, rows, setting, run):
        more = int(rows.targets[0])
        return GradientDescent(self.loss, steps=self.steps + more, weight_bound=2.0).train(rows, setting, run)


class Leaking(GradientDescent):
    """What it returns holds a label."""

    def train(self, rows, setting, run):
        return super().train(rows, setting, run) + float(rows.targets[0])


class Adapting(GradientDescent):
    """Its noise depends on a record."""

    def train(self, rows, setting, run):
        z = run.noise_multiplier * (1 + float(rows.targets[0]))
        return super().train(rows, setting, dataclasses.replace(run, noise_multiplier=z))


@pytest.mark.parametrize(
    "cls, said",
    [
        (Peeking, "was not called there before|calls in place of"),
        (Leaking, "model depends on data"),
        (Adapting, "parameters depend on data"),
        (None, "moved by"),
    ],
)
def test_it_sees_what_is_wrong(cls, said, monkeypatch):
    """The same code, with a bug of each kind that the paper found, in place of ours."""
    learner = GradientDescent(Logistic(), clip_norm=0.3, **BOUNDED)
    plan = prepriv.make_plan(box(), [], learner, epsilon=8.0, delta=1e-3)
    if cls is None:  # half of what a record moves is declared
        unit = GradientDescent.unit
        monkeypatch.setattr(GradientDescent, "unit", lambda self, setting: unit(self, setting) / 2)
    else:
        fields = {f.name: getattr(learner, f.name) for f in dataclasses.fields(learner)}
        monkeypatch.setattr("prepriv.runs.run._trainer", lambda _: cls(**fields))
    rows, labels = ROWS.copy(), LABELS.copy()
    rows[0], labels[0] = 1.0, 0
    other = labels.copy()
    other[0] = 1
    found = audited(plan, rows, labels, (rows, other))
    assert any(re.search(said, wrong) for wrong in found.wrong), found.wrong
