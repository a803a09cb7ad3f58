"""Random chains of one to six steps on random tables, under both adjacencies: through encoding, plan and run, against all that is declared.

For each chain the replay compares what leaves and how far every sum moved, the gradient's included; and the rows that
reach each step are compared with what the plan says is the most by which they can differ. Pairs of which a printed
condition fails on either side are left out and counted. It refutes, it does not prove.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from prepriv import preprocessing as pre
from prepriv.adjacency import ADJACENCIES, n_is_public
from prepriv.audit.judgement import Finding
from prepriv.audit.replay import Recorder, Result, replay
from prepriv.audit.replay_neighbours import RawTable, neighbours, synthetic
from prepriv.audit.replay_pipeline import PlanRun
from prepriv.audit.sensitivity_draws import Draws
from prepriv.columns import Categorical, Numeric
from prepriv.domain import Domain
from prepriv.evaluation.holdout import Holdout, plan_holdout
from prepriv.learners.gradient_descent import GradientDescent
from prepriv.learners.losses import Softmax
from prepriv.payment import Budget, Payment, Public, Sensitivity, Sketch
from prepriv.placed.chain import chain
from prepriv.plans.plan import Plan
from prepriv.preprocessing.base import Step

LONGEST_CHAIN = 6  # steps of a chain
_DRAWS = 4  # steps that are tried for each place of a chain
_ROUNDING = 1e-12  # of the declared radius: what floats may add to one row's shift
LEARNER = GradientDescent(Softmax(), steps=2, learning_rate=2.0, weight_bound=3.0)
_HELD_OUT = 0.15  # of the chains: a part of the records is held out by coins
_PUBLIC = 12  # rows of a public table


class UnreleasedPlan(Plan):
    """A plan of which no model leaves: then any step may be paid for by sensitivity."""

    releases: ClassVar[bool] = False


@dataclass
class ChainsResult:
    """What an attack on random chains found. Made by `attack_chains`.

    Parameters
    ----------
    chains : int, default 0
        How many were tried.
    refused : int, default 0
        How many of them the plan refused, with a sentence.
    ratios : dict of str to float
        Largest shift found over the declared one, by the step after which it was found.
    result : Result
        The result of all replays together.

    Examples
    --------
    >>> from prepriv.audit import ChainsResult
    >>> ChainsResult().chains
    0
    """

    chains: int = 0
    refused: int = 0
    ratios: dict[str, float] = field(default_factory=dict)
    result: Result = field(default_factory=Result)


def attack_chains(
    chains: int, *, pairs: int = 12, seed: int = 0, progress: Callable[[int, int], object] | None = None
) -> ChainsResult:
    """Attack random chains of steps with pairs of neighbours. The same seed gives the same attack.

    Parameters
    ----------
    chains : int
        How many.
    pairs : int, default 12
        Neighbour pairs of each.
    seed : int, default 0
        Decides chains and pairs.
    progress : callable, optional
        Called with (chains done, chains in all). None: it is not called.

    Returns
    -------
    ChainsResult

    Examples
    --------
    >>> from prepriv.audit import attack_chains
    >>> attack_chains(1, pairs=2).result.findings
    []
    """
    draws, out = Draws(seed), ChainsResult()
    for k in range(chains):
        if progress is not None:
            progress(k, chains)
        plan = random_plan(draws)
        out.chains += 1
        if plan is None:
            out.refused += 1
            continue
        table = random_table(plan.domain, plan.n, draws)
        run = _run(plan, draws)
        if run is None:
            out.refused += 1
            continue
        near = neighbours(table, plan.domain, draws, pairs)
        found = replay(run, table, near, holds=run.holds, beyond=run.beyond, seed=seed + k)
        name = " > ".join(f"{s.name}({s.way})" for s in plan.pipeline)
        found.findings = [dataclasses.replace(f, kind=f"{name}: {f.kind}") for f in found.findings]
        found.findings += [Finding(name, what) for what in sorted(run.overspent)]
        found.unmatched, found.failed = run.rows.unmatched, run.failed
        out.result.add(found)
        after = ("encoding", *(s.name for s in plan.pipeline))
        for step, moved, declared in zip(after, run.rows.found, run.rows.declared):
            if declared.total_shift > 0:
                ratio = moved.total_shift / declared.total_shift
                out.ratios[step] = max(ratio, out.ratios.get(step, 0.0))
    return out


def _run(plan: Plan, draws: Draws) -> PlanRun | None:
    """How a plan is run: on all records, or on a part that coins choose; None if that is refused."""
    if not n_is_public(plan.domain.adjacency) or not draws.chance(_HELD_OUT):
        return PlanRun(plan)
    coins = Recorder(seed=draws.below(2**20))
    try:
        part = plan_holdout(
            Holdout(0.3),
            lambda n: dataclasses.replace(plan, domain=plan.domain.with_n(n)),
            plan.n,
            plan.domain,
            coins,
        )
        part.training.guarantee  # noqa: B018  computes every space, shift and event
    except ValueError:
        return None
    assert part.coins is not None
    return PartRun(plan, part.training, ~part.coins)


class PartRun(PlanRun):
    """Runs a plan on the part of the records that coins chose. What is declared, is declared about all of them.

    whole: the plan for all records, whose conditions must hold of all. part: of those that are chosen, a mask of the rows.
    """

    def __init__(self, whole: Plan, part: Plan, chosen: NDArray[np.bool_]) -> None:
        super().__init__(part)
        self._whole, self._chosen = PlanRun(whole), chosen

    def __call__(self, table: RawTable, session: Recorder) -> dict[str, str]:
        self._whole(table, Recorder())
        labels = tuple(label for label, chosen in zip(table.labels, self._chosen) if chosen)
        return super().__call__(RawTable(table.rows[self._chosen], labels), session)

    def holds(self) -> bool:
        """Whether what is declared about all records held in the last run."""
        return self._whole.holds()


# ------------------------------------------------------------------------------------------------ what is attacked


def random_plan(draws: Draws) -> UnreleasedPlan | None:
    """A plan of one to six steps over a small table; None if the plan refuses them."""
    n = draws.pick((6, 9, 16, 24, 40))
    domain = _domain(draws, n)
    images = domain.space.image is not None and draws.chance(0.7)
    steps: tuple[Step, ...] = (_scattering(draws, domain),) if images else ()
    for _ in range(1 - len(steps) + draws.below(LONGEST_CHAIN)):
        for _ in range(_DRAWS):
            longer = (*steps, draws.pick(STEPS)(draws, domain))
            if _stands(longer, domain, n):
                steps = longer
                break
    plan = UnreleasedPlan(domain, 3.0, 1e-4, steps, LEARNER, 1.0, 1e-5)
    try:
        plan.guarantee  # noqa: B018  computes every space, shift and event
    except ValueError:
        return None
    return plan if steps else None


def _stands(steps: tuple[Step, ...], domain: Domain, n: int) -> bool:
    """Whether the steps can stand one after the other; gaps may be filled later."""
    try:
        chain((*steps, pre.ConstantImputer(0.0)), domain, n, 3.0, test_delta=1e-5, release=False)
    except ValueError:
        return False
    return True


def _domain(draws: Draws, n: int) -> Domain:
    adjacency = draws.pick(ADJACENCIES) if draws.chance(0.5) else "replace-one"
    if draws.chance(0.25):
        radius = draws.pick((0.5, 1.0, 4.0))
        return Domain.ball(draws.pick((1, 2, 3)), (0, 1), radius=radius, n=n, adjacency=adjacency)
    if draws.chance(0.08):
        return Domain.images(4, 4, 1, (0, 1), n=n, adjacency=adjacency)
    columns: dict[str, Numeric | Categorical] = {}
    for j in range(draws.pick((1, 2, 2, 3))):
        low, high = draws.pick(((0, 1), (-3, 10), (0.25, 0.26), (-1e6, 1e6)))
        columns[f"x{j}"] = Numeric(low, high, "impute") if draws.chance(0.7) else Numeric(low, high)
    if draws.chance(0.3):
        columns["kind"] = Categorical(("a", "b", "c"))
    return Domain(columns, (0, 1), n=n, adjacency=adjacency)


def random_table(domain: Domain, n: int, draws: Draws) -> RawTable:
    """Rows of the declared domain: spread out, in few places, at the ends or all alike; some cells missing."""
    table = synthetic(domain, n, draws)
    rows = table.rows
    shape = draws.below(5)
    places = (0, 1 + draws.below(4), 2, 1, 3)[shape]
    for i in range(places, n if places else 0):  # copies of few rows, or little beside them
        rows[i] = rows[draws.below(places)]
    if shape == 2:
        for j, column in enumerate(domain.columns.values()):
            if isinstance(column, Numeric):
                rows[:, j] = [draws.pick((column.low, column.high)) for _ in range(n)]
    if shape == 4 and not domain.is_ball:
        for j, column in enumerate(domain.columns.values()):
            if isinstance(column, Numeric):
                width = (column.high - column.low) * draws.size(1e-9, 0.1)
                rows[:, j] = [float(v) + width * float(draws.uniform(1)[0]) for v in rows[:, j]]
    for j, column in enumerate(domain.columns.values()):
        if isinstance(column, Numeric) and column.missing == "impute":
            for _ in range(draws.below(max(1, n // 4))):
                rows[draws.below(n), j] = None
    return table


def _sensitivity(draws: Draws, **caps: object) -> Sensitivity:
    return Sensitivity(caps, test=0.1 if draws.chance(0.2) else 0.0)


def _missing(draws: Draws) -> dict[str, object]:
    caps: dict[str, object] = {"missing": draws.pick((0.2, 0.3, 0.4))}
    return caps | ({"fade": 0.2} if draws.chance(0.25) else {})


def _any(draws: Draws, domain: Domain) -> Payment:
    """Public rows, a share of the budget, or sensitivity."""
    kind = draws.below(3)
    if kind == 0:
        return Public(synthetic(domain, _PUBLIC, draws).rows)
    return Budget(0.1) if kind == 1 else Sensitivity()


def _public_or_budget(draws: Draws, domain: Domain) -> Payment:
    return Public(synthetic(domain, _PUBLIC, draws).rows) if draws.chance(0.4) else Budget(0.1)


def _scattering(draws: Draws, domain: Domain) -> Step:
    return pre.Scattering(1, 2, draws.pick((0.001, 0.5)))


def _encode(draws: Draws, domain: Domain) -> Step:
    """A network for rows of the domain; without `prepriv[onnx]` there is none."""
    try:
        return _layer(domain.space.d, draws.pick((1, 3)))
    except ImportError:
        return pre.Normalize(1.0)


@functools.cache
def _layer(d: int, features: int) -> Step:
    """max(0, W x + 1), W of signs."""
    from onnx import TensorProto, helper

    signs = [float((-1) ** (i * j // 2)) for i in range(d) for j in range(1, features + 1)]
    held = [helper.make_tensor("w", TensorProto.FLOAT, (d, features), signs)]
    held.append(helper.make_tensor("b", TensorProto.FLOAT, (features,), [1.0] * features))
    nodes = [helper.make_node("Gemm", ["x", "w", "b"], ["h"]), helper.make_node("Relu", ["h"], ["y"])]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["b", d])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["b", features])
    made = helper.make_model(
        helper.make_graph(nodes, "layer", [x], [y], held),
        opset_imports=[helper.make_opsetid("", 18)],
        ir_version=9,
    )
    return pre.Encode(made.SerializeToString(), "none")


def _fitted(draws: Draws, domain: Domain) -> Step:
    """A pipeline of scikit-learn by a sketch, where the domain has one; it can only be the first step."""
    from sklearn.compose import ColumnTransformer
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    numbers = [name for name, column in domain.columns.items() if isinstance(column, Numeric)]
    parts = [("numbers", StandardScaler(), numbers)] if numbers else []
    others = [name for name in domain.columns if name not in numbers]
    parts += [("others", OneHotEncoder(handle_unknown="ignore"), others)] if others else []
    if domain.is_ball:
        return pre.Normalize(1.0)
    return pre.Fitted.of(ColumnTransformer(parts), domain, Sketch(draws.pick((0.1, 0.4))))


STEPS: tuple[Callable[[Draws, Domain], Step], ...] = (
    lambda w, _: pre.MeanImputer(payment=_sensitivity(w, **_missing(w))),
    lambda w, _: pre.MedianImputer(payment=_sensitivity(w, gap=w.pick((0.3, 0.6, 1.0)), **_missing(w))),
    lambda w, _: pre.TrimmedMeanImputer(0.1, payment=_sensitivity(w, **_missing(w))),
    lambda w, _: pre.TrimmedMeanImputer(
        0.1, payment=_sensitivity(w, spread=w.pick((0.3, 0.7)), **_missing(w))
    ),
    lambda w, _: pre.RegressionImputer(w.size(0.05, 2.0), w.size(0.3, 2.0), payment=_sensitivity(w, **_missing(w))),
    lambda w, _: pre.RegressionImputer(0.1, payment=_sensitivity(w, curvature=0.05, **_missing(w))),
    lambda w, _: pre.ConstantImputer(w.pick((0.0, 0.5, -2.0))),
    lambda w, t: pre.MeanImputer(payment=_public_or_budget(w, t)),
    lambda w, t: pre.RegressionImputer(w.size(0.05, 2.0), payment=_public_or_budget(w, t)),
    lambda w, t: pre.TrimmedMeanImputer(0.1, payment=Public(synthetic(t, _PUBLIC, w).rows)),
    lambda w, t: pre.MedianImputer(payment=_public_or_budget(w, t)),
    lambda w, t: pre.StandardScaler(w.size(0.02, 0.5), w.pick(("max", "root")), w.pick(("mean", "midpoint")), payment=_any(w, t)),
    lambda w, _: pre.StandardScaler(w.size(0.02, 0.5), shrink=True, payment=Budget(0.1)),
    lambda w, t: pre.StandardScaler(w.size(0.02, 0.5), w.pick(("max", "root")), w.pick(("mean", "midpoint")), common=True, payment=_any(w, t)),
    lambda w, t: pre.MinMaxScaler(w.size(0.05, 0.5), payment=_public_or_budget(w, t)),
    lambda w, t: pre.Center(payment=_public_or_budget(w, t)),
    lambda w, _: pre.InstanceOptimalCenter(w.pick((None, 0.01)), payment=Budget(0.1)),
    lambda w, _: pre.AugmentByDistance(w.pick((None, 2.0)), payment=Budget(0.1)),
    _scattering,
    lambda w, t: pre.PCA(1 + w.below(2), payment=_public_or_budget(w, t)),
    lambda w, t: pre.QuantileTransform(5, payment=Public(synthetic(t, _PUBLIC, w).rows)),
    lambda w, _: pre.SoftPCA(w.size(0.01, 1.0), w.chance(0.5), payment=Sensitivity()),
    lambda w, _: pre.RankReduction(1, w.chance(0.5), payment=_sensitivity(w, gap=w.pick((0.02, 0.1)))),
    lambda w, _: pre.RankReduction(1, w.chance(0.5), payment=_sensitivity(w, tail=w.pick((0.1, 0.5)))),
    lambda w, _: pre.Deduplicate(w.size(1e-4, 0.5), w.chance(0.5), payment=Sensitivity({"max_neighbors": w.pick((3, 12, 40))})),
    lambda w, _: pre.Quantize(w.size(1e-4, 0.5), w.pick(("centre", "mean")), payment=Sensitivity({"max_neighbors": w.pick((3, 12, 40))})),
    lambda w, _: pre.DeduplicateCells(w.pick((0.0, 0.01, 0.3)), centre=w.chance(0.5), payment=Sensitivity()),
    lambda w, _: pre.QuantizeCells(w.size(1e-3, 0.5)),
    lambda w, _: pre.ClipNorm(w.size(0.1, 3.0)),
    lambda w, _: pre.Normalize(1.0, w.pick((0.0, 0.1, 0.5))),
    lambda w, _: pre.Homogenize(w.size(0.1, 2.0)),
    lambda w, _: pre.Rescale(w.size(0.1, 10.0)),
    lambda w, _: pre.SquareRoot(),
    lambda w, _: pre.RootColumns(),
    lambda w, _: pre.ShrunkCenter(payment=Budget(0.1)),
    lambda w, _: pre.ClassCounts(2, payment=Budget(0.1)),
    _fitted,
    _encode,
    lambda w, _: pre.ClipFeatures(0.2, w.pick((0.5, 0.9))),
    lambda w, _: pre.OneHot({"x0": 3}),
    lambda w, _: pre.RandomFeatures(5),
    lambda w, _: pre.Bins({"x0": 3}, w.pick((None, 0.0, 0.9)), beside=w.pick((False, True))),
    lambda w, t: pre.QuantileBins(3, ("x0",), w.pick((None, 0.8)), payment=_public_or_budget(w, t)),
)  # fmt: skip
