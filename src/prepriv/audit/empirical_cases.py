"""What is audited by running it: mechanisms, pre-processing steps, samplers, whole runs, on their worst neighbours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prepriv._arrays import Floats
from prepriv.adjacency import Adjacency, n_is_public
from prepriv.audit.empirical import Experiment
from prepriv.audit.empirical_job import job_experiments
from prepriv.audit.replay import Call, Recorder
from prepriv.columns import Categorical
from prepriv.domain import Domain
from prepriv.evaluation.cells import GROUP_CELLS
from prepriv.evaluation.evaluate import release
from prepriv.evaluation.evaluation_plan import EvaluationPlan, plan_evaluation
from prepriv.guarantees import gaussian, laplace
from prepriv.guarantees.loss_distribution import compose
from prepriv.guarantees.tradeoff import TradeoffFunction
from prepriv.learners.accounts import poisson_parts, without_replacement_parts
from prepriv.learners.gradient_descent import GradientDescent
from prepriv.learners.losses import Logistic
from prepriv.learners.subsets import uniform_subset
from prepriv.mechanisms.exponential import ExponentialMechanism
from prepriv.mechanisms.gaussian_sum import GaussianSum, coarsen
from prepriv.mechanisms.lattice_noise import (
    gaussian_sum_release,
    laplace_scale,
    poisson_rate,
    poisson_threshold,
)
from prepriv.mechanisms.noise import NoiseSource
from prepriv.mechanisms.propose_test_release import DistanceTest, GaussianTest, LaplaceTest
from prepriv.mechanisms.quantile import Grid, private_quantile
from prepriv.mechanisms.session import NoisySession
from prepriv.mechanisms.stability_histogram import StabilityHistogram
from prepriv.payment import Budget, Sensitivity
from prepriv.plans.plan import Plan, make_plan
from prepriv.preprocessing.base import Step
from prepriv.preprocessing.center import Center
from prepriv.preprocessing.deduplicate import Deduplicate
from prepriv.preprocessing.impute import MeanImputer
from prepriv.preprocessing.impute_median import MedianImputer
from prepriv.preprocessing.normalize import Rescale
from prepriv.preprocessing.pca import PCA
from prepriv.preprocessing.scale import StandardScaler
from prepriv.preprocessing.scale_min_max import MinMaxScaler
from prepriv.runs.run import execute
from prepriv.tables.encoding import encode, encode_labels

_CHUNK = 2**22  # numbers drawn at once
_Labelled = tuple[Sequence[Sequence[float]], Sequence[int]]


def experiments() -> dict[str, Callable[[], Experiment]]:
    """Every experiment by name; each is built when it is called for."""
    return {
        "gaussian": lambda: lattice_sum("gaussian", 1),
        "gaussian, 1000 coordinates": lambda: lattice_sum("gaussian, 1000 coordinates", 1000),
        "discrete Laplace": discrete_laplace,
        "exponential mechanism": exponential,
        "quantile": quantile,
        "stability histogram": stability_histogram,
        "propose-test-release, Gaussian": lambda: tested(GaussianTest(mu=1.0, delta=0.01)),
        "propose-test-release, Laplace": lambda: tested(LaplaceTest(epsilon=1.0, delta=0.01)),
        "Center": lambda: by_budget(Center(payment=Budget(0.5)), _CORNERS),
        "MeanImputer": lambda: by_budget(MeanImputer(payment=Budget(0.5)), _CORNERS),
        "MedianImputer": lambda: by_budget(MedianImputer(payment=Budget(0.5)), _CORNERS),
        "StandardScaler": lambda: by_budget(StandardScaler(0.2, payment=Budget(0.5)), _CORNERS),
        "MinMaxScaler": lambda: by_budget(MinMaxScaler(payment=Budget(0.5)), _CORNERS),
        "PCA": lambda: by_budget(PCA(1, payment=Budget(0.5)), _AXES),
        "gradient descent": gradient_descent,
        "Poisson SGD, replace": lambda: poisson("replace-one"),
        "Poisson SGD, add or remove": lambda: poisson("add-or-remove-one"),
        "fixed batches": fixed_batches,
        "MeanImputer by sensitivity": imputed,
        "Deduplicate by sensitivity": lambda: deduplicated(naive=False),
        "whole pipeline": whole_pipeline,
        "evaluation": evaluated,
        "evaluation of groups": in_groups,
        **job_experiments(),
    }


# --------------------------------------------------------------------------------------------- mechanisms


def lattice_sum(name: str, d: int, multiplier: float = 1.0) -> Experiment:
    """One sum that moves by exactly its sensitivity, evenly over its coordinates."""
    step = 2**20
    move = np.full(d, step, dtype=np.int64)
    sensitivity = int(np.ceil(np.sqrt(float(d)) * step))

    def draw(neighbour: bool, runs: int, source: NoiseSource) -> Floats:
        total = move if neighbour else np.zeros_like(move)
        return projected(total, move.astype(float), sensitivity, multiplier, runs, source)

    return Experiment(name, gaussian(1 / multiplier), draw)


def projected(
    total: NDArray[np.int64],
    onto: Floats,
    sensitivity: int,
    multiplier: float,
    runs: int,
    source: NoiseSource,
    bits: int = 64,
) -> Floats:
    """`runs` releases of one sum by the real mechanism, each projected on a direction, (runs,)."""
    out = np.empty(runs)
    flat, direction = total.ravel(), onto.ravel()
    at_once = max(1, _CHUNK // flat.size)
    for start in range(0, runs, at_once):
        many = np.broadcast_to(flat, (min(at_once, runs - start), flat.size))
        out[start : start + at_once] = (
            gaussian_sum_release(many, sensitivity, multiplier, source, bits=bits) @ direction
        )
    return out


def discrete_laplace() -> Experiment:
    """A count that one record changes by one."""
    scale = laplace_scale(1, 0.5)

    def draw(neighbour: bool, runs: int, source: NoiseSource) -> Floats:
        return (source.discrete_laplace(scale, runs) + int(neighbour)).astype(np.float64)

    return Experiment("discrete Laplace", laplace(0.5), draw)


def exponential() -> Experiment:
    """Two candidates whose scores one record moves apart by the whole range."""
    mechanism = ExponentialMechanism(epsilon=2.0, score_range=1)
    scores = {False: np.array([1, 0], dtype=np.int64), True: np.array([0, 0], dtype=np.int64)}

    def draw(neighbour: bool, runs: int, source: NoiseSource) -> Floats:
        return np.array([float(mechanism.choose(scores[neighbour], source)[0]) for _ in range(runs)])

    return Experiment("exponential mechanism", mechanism.tradeoff, draw)


def quantile() -> Experiment:
    """A median: one record makes one grid point better and its neighbour worse."""
    mechanism = ExponentialMechanism(epsilon=2.0, score_range=2)
    values = {False: np.array([0.0, 1.0, 1.0, 2.0]), True: np.array([2.0, 1.0, 1.0, 2.0])}

    def draw(neighbour: bool, runs: int, source: NoiseSource) -> Floats:
        options: dict[str, Any] = {
            "above": 2,
            "grid": Grid(0.0, 2.0, 3),
            "mechanism": mechanism,
            "source": source,
        }
        return np.array([private_quantile(values[neighbour], **options) for _ in range(runs)])

    return Experiment("quantile", mechanism.tradeoff, draw)


def stability_histogram() -> Experiment:
    """A value of one record alone becomes a common one: what is seen of the first speaks for the first data set."""
    mechanism = StabilityHistogram(noise_multiplier=1.0, delta=0.01, adjacency="replace-one")
    counts = {False: {"common": 20, "lone": 1}, True: {"common": 21}}

    def draw(neighbour: bool, runs: int, source: NoiseSource) -> Floats:
        seen = [mechanism.release(counts[neighbour], source) for _ in range(runs)]
        return np.array([one.get("common", 0.0) - 1e3 * ("lone" in one) for one in seen])

    return Experiment("stability histogram", mechanism.tradeoff, draw)


def tested(test: DistanceTest) -> Experiment:
    """The bit of a propose-test-release at two distances around its threshold."""
    middle = test.threshold / 2**20
    scores = {neighbour: middle + (0.5 if neighbour else -0.5) for neighbour in (False, True)}

    def draw(neighbour: bool, runs: int, source: NoiseSource) -> Floats:
        return np.array([float(test.passes(scores[neighbour], source)) for _ in range(runs)])

    kind = "Gaussian" if isinstance(test, GaussianTest) else "Laplace"
    return Experiment(f"propose-test-release, {kind}", test.tradeoff, draw)


# ------------------------------------------------------------------------------------------- steps by budget

_CORNERS = ([0.0, 0.0], [1.0, 1.0])
_AXES = ([1.0, 0.0], [0.0, 1.0])


def by_budget(step: Step, records: tuple[list[float], list[float]]) -> Experiment:
    """The one release of a step, on neighbours whose first records are at the far ends of the domain."""
    domain = Domain.box(0, 1, 2, (0, 1), n=8, missing="impute" if "Imputer" in step.name else "midpoint")
    if step.name == "PCA":
        domain = Domain.ball(2, (0, 1), n=8)
    learner = GradientDescent(Logistic(), steps=1)
    plan = make_plan(domain, (step,), learner, epsilon=4.0, delta=1e-5)
    rest = [[0.5, 0.5]] * 7
    zeros = [0] * 8
    call, other = calls(plan, ([records[0], *rest], zeros), ([records[1], *rest], zeros), step.name)
    return of_calls(step.name, call, other)


def noise_of(call: Call) -> float:
    """The noise multiplier of a Gaussian sum."""
    assert isinstance(call.mechanism, GaussianSum)
    return call.mechanism.noise_multiplier


def calls(plan: Plan, one_set: _Labelled, other_set: _Labelled, name: str) -> tuple[Call, Call]:
    """The first call of a mechanism by this name on each of two data sets, outputs frozen."""
    first = Recorder()
    _run(plan, one_set, first)
    second = Recorder(first.outputs)
    _run(plan, other_set, second)
    (one, *_), (two, *_) = ([c for c in s.calls if c.name == name] for s in (first, second))
    return one, two


def _run(plan: Plan, data: _Labelled, session: Recorder | NoisySession) -> Floats:
    domain = plan.domain
    table = encode(np.array(data[0], dtype=np.float64), domain)
    targets = encode_labels(np.array(data[1]), domain.classes)
    return execute(plan, table, targets, session).weights


def of_calls(name: str, one: Call, two: Call, multiplier: float | None = None) -> Experiment:
    """Releases of two exact sums by the real mechanism, with the noise that was asked for."""
    asked = multiplier or noise_of(one)
    rough, sensitivity, shift = coarsen(one.exact, one.sensitivity)
    totals = {False: rough, True: coarsen(two.exact, one.sensitivity)[0]}
    onto = (totals[True] - totals[False]).astype(np.float64)

    def draw(neighbour: bool, runs: int, source: NoiseSource) -> Floats:
        return projected(totals[neighbour], onto, sensitivity, asked, runs, source, bits=64 - shift)

    return Experiment(name, gaussian(1 / asked), draw)


# ------------------------------------------------------------------------------------------------ learners


def gradient_descent(steps: int = 10, multiplier: float = 3.0) -> Experiment:
    """A canary that moves every one of T gradient sums the same way, by its whole sensitivity."""
    step, d = 2**20, 100
    move = np.full(d, step, dtype=np.int64)
    sensitivity = int(np.ceil(np.sqrt(float(d)) * step))

    def draw(neighbour: bool, runs: int, source: NoiseSource) -> Floats:
        total = move if neighbour else np.zeros_like(move)
        every = (
            projected(total, move.astype(float), sensitivity, multiplier, runs, source) for _ in range(steps)
        )
        return np.asarray(sum(every))

    return Experiment("gradient descent", gaussian(np.sqrt(steps) / multiplier), draw)


def poisson(adjacency: Adjacency, steps: int = 3, rate: float = 0.3, multiplier: float = 1.0) -> Experiment:
    """A canary in a Poisson batch: the log-likelihood ratio of all steps, everybody else counting as nothing."""
    k, step = poisson_threshold(rate), 2**20
    claim = compose(poisson_parts(multiplier, poisson_rate(k), steps, adjacency)).symmetrized()
    sign = -1 if n_is_public(adjacency) else 0  # what the record did before: the opposite, or nothing

    def draw(neighbour: bool, runs: int, source: NoiseSource) -> Floats:
        ratio = np.zeros(runs)
        for _ in range(steps):
            present = source.bernoulli_mask(k, runs).astype(np.int64)
            total = present * (step if neighbour else sign * step)
            y = gaussian_sum_release(total, step, multiplier, source, exponent=-20) / multiplier
            ratio += _log_mixture(y, rate, 1 / multiplier) - _log_mixture(y, rate, sign / multiplier)
        return ratio

    name = "replace" if n_is_public(adjacency) else "add or remove"
    return Experiment(f"Poisson SGD, {name}", claim, draw)


def _log_mixture(y: Floats, rate: float, shift: float) -> Floats:
    """log of ((1 - q) N(0, 1) + q N(shift, 1)) over N(0, 1), at y."""
    return np.asarray(np.logaddexp(np.log1p(-rate), np.log(rate) + shift * y - shift**2 / 2))


def fixed_batches(batch: int = 3, n: int = 10, multiplier: float = 1.0) -> Experiment:
    """A canary in a batch of fixed size, one step; everybody else pulls the other way, as the bound assumes."""
    step = 2**20
    claim: TradeoffFunction = compose(without_replacement_parts(multiplier, batch, n, 1)).symmetrized()

    def draw(neighbour: bool, runs: int, source: NoiseSource) -> Floats:
        drawn = np.array([0 in uniform_subset(source, n, batch) for _ in range(runs)])
        total = np.where(drawn, step if neighbour else -step, 0).astype(np.int64)
        return gaussian_sum_release(total, step, multiplier, source, exponent=-20)

    return Experiment("fixed batches", claim, draw)


# ------------------------------------------------------------------------------------- steps by sensitivity


def imputed() -> Experiment:
    """The first gradient sum after a mean imputation: one record moves the fill of all empty cells."""
    n = 20
    domain = Domain.box(0, 1, 2, (0, 1), n=n, missing="impute")
    step = MeanImputer(payment=Sensitivity({"missing": 0.4}))
    learner = GradientDescent(Logistic(), steps=1, clip_norm=2.0, weight_bound=2.0)
    plan = make_plan(domain, (step,), learner, epsilon=4.0, delta=1e-5)
    rest = [[float("nan"), float("nan")]] * 8 + [[0.0, 0.0]] * 11
    one_set, other_set = ([[0.0, 0.0], *rest], [0] + [1] * 19), ([[1.0, 1.0], *rest], [1] * 20)
    one, two = calls(plan, one_set, other_set, "gradient")
    return of_calls("MeanImputer by sensitivity", one, two)


def deduplicated(*, naive: bool, copies: int = 8) -> Experiment:
    """Deduplication as a side channel (Debenedetti et al., arXiv 2309.05610): one record decides the fate of many.

    A cluster of near-duplicates counts once. A record at twice its reach ends it: then all of them count. naive:
    training noise as if deduplication cost nothing, and the claim that goes with it.
    """
    n = 20
    domain = Domain.ball(2, (0, 1), radius=2.0, n=n)
    step = Deduplicate(0.1, payment=Sensitivity({"max_neighbors": copies + 2}))
    learner = GradientDescent(Logistic(), steps=1, clip_norm=1.0)
    plan = make_plan(domain, (step,), learner, epsilon=4.0, delta=1e-5)
    cluster = [[1.0, 0.0]] * copies
    alone = [[-1.9 + 0.35 * i, 1.5 - 0.3 * (i % 2)] for i in range(n - copies - 1)]
    one, two = calls(
        plan,
        ([[-1.5, -1.0], *cluster, *alone], [0] * n),
        ([[1.2, 0.0], *cluster, *alone], [0] * n),
        "gradient",
    )
    name = "Deduplicate by sensitivity"
    if not naive:
        return of_calls(name, one, two)
    grid = learner.grid(domain.space.radius, n, plan.incoming)
    cheap = 2 * grid.clip / one.sensitivity  # the noise of a record that only replaces itself
    honest = of_calls(name, one, two, noise_of(one) * cheap)
    return Experiment("naive deduplication", gaussian(1 / noise_of(one)), honest.draw)


def whole_pipeline(noise: float = 1.0) -> Experiment:
    """Real runs from end to end, centring and training; the released weights are all one looks at.

    noise: times the noise of training that the claim is for (to see the audit work).
    """
    n = 4
    domain = Domain.ball(2, (0, 1), n=n)
    steps = (Center(payment=Budget(0.1)), Rescale(2.0))
    learner = GradientDescent(Logistic(), steps=3, clip_norm=0.05, momentum=0.0, average=0.1)
    plan = make_plan(domain, steps, learner, epsilon=6.0, delta=1e-3)
    assert plan.guarantee is not None
    cut = replace(plan, learner_noise_multiplier=noise * plan.learner_noise_multiplier)
    rows = [[1.0, 0.0], *([[0.0, 0.0]] * 3)]
    # A label that is not declared: whoever has it counts as nothing, and the record is alone.
    data: dict[bool, _Labelled] = {False: (rows, [0, 7, 7, 7]), True: (rows, [1, 7, 7, 7])}

    def draw(neighbour: bool, runs: int, source: NoiseSource) -> Floats:
        return np.array([_run(cut, data[neighbour], NoisySession(source)).sum() for _ in range(runs)])

    return Experiment("whole pipeline", plan.guarantee.tradeoff, draw)


# ---------------------------------------------------------------------------------------------- evaluation


def in_groups(epsilon: float = 4.0) -> Experiment:
    """The same of two groups, and the row turns from one of them into the other."""
    domain = Domain({"group": Categorical(("a", "b"))}, (0, 1))
    return _evaluated("evaluation of groups", plan_evaluation(domain, n=1, epsilon=epsilon, by="group"))


def evaluated(epsilon: float = 4.0) -> Experiment:
    """All counts of an evaluation: one row turns from right, sure and in one class into wrong, sure and in the other."""
    return _evaluated("evaluation", plan_evaluation(Domain.box(0, 1, 1, (0, 1)), n=1, epsilon=epsilon))


def _evaluated(name: str, plan: EvaluationPlan) -> Experiment:
    rows = ((1.0, 3, 19, 0.0), (0.0, 1, 18, 1.0))
    asked: list[list[Call]] = []
    for group, (right, confusion, scores, loss) in enumerate(rows):
        recorder = Recorder()
        release(
            plan,
            {
                GROUP_CELLS: np.array([group]),
                "accuracy": np.array([right]),
                "confusion": np.array([confusion]),
                "scores": np.array([scores]),
                "log_loss": np.array([loss]),
            },
            recorder,
        )
        asked.append(recorder.calls)
    each = [of_calls(one.name, one, two) for one, two in zip(*asked)]

    def draw(neighbour: bool, runs: int, source: NoiseSource) -> Floats:
        return np.asarray(sum(e.draw(neighbour, runs, source) for e in each))

    return Experiment(name, plan.guarantee.tradeoff, draw)
