"""Random chains of one to four steps on random tables: through encoding, plan and run, against all that is declared.

For each chain the replay compares what leaves and how far every sum moved, the gradient's included; and the rows that
reach each step are compared with what the plan says is the most by which they can differ. Pairs of which a printed
condition fails on either side are left out and counted. It refutes, it does not prove.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from prepriv import preprocessing as pre
from prepriv.audit.replay import Finding, Recorder, Result, replay
from prepriv.audit.replay_neighbours import RawTable, neighbours, synthetic
from prepriv.audit.replay_pipeline import PlanRun
from prepriv.audit.sensitivity_case import QUANTITIES, apart
from prepriv.audit.sensitivity_draws import Draws
from prepriv.columns import Categorical, Numeric
from prepriv.domain import Domain
from prepriv.learners.gradient_descent import GradientDescent
from prepriv.learners.losses import Softmax
from prepriv.payment import Budget, Payment, Public, Sensitivity
from prepriv.pipeline.chain import PlannedStep
from prepriv.pipeline.plan import Plan
from prepriv.pipeline.rows import Mapped
from prepriv.preprocessing.base import Floats, Rows, Step

LONGEST = 4  # steps of a chain
ROUNDING = 1e-12  # of the declared radius: what floats may add to one row's shift
LEARNER = GradientDescent(Softmax(), steps=2, learning_rate=2.0, weight_bound=3.0)
_PUBLIC = 12  # rows of a public table


class UnreleasedPlan(Plan):
    """A plan of which no model leaves: then any step may be paid for by sensitivity."""

    releases: ClassVar[bool] = False


@dataclass
class ChainsResult:
    """chains: tried; refused: by the plan, with a sentence. ratios: largest shift found over the declared one, by the
    step behind which it was found. result: of all replays."""

    chains: int = 0
    refused: int = 0
    ratios: dict[str, float] = field(default_factory=dict)
    result: Result = field(default_factory=Result)


def attack_chains(
    chains: int, *, pairs: int = 12, seed: int = 0, progress: Callable[[int, int], object] | None = None
) -> ChainsResult:
    """Attack this many random chains with so many neighbour pairs each; the same seed gives the same attack.

    progress: called with (chains done, of how many)."""
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
        run = _Watched(plan)
        near = neighbours(table, plan.domain, draws, pairs)
        found = replay(run, table, near, holds=run.holds, seed=seed + k)
        name = " > ".join(f"{s.name}({s.way})" for s in plan.pipeline)
        found.findings = [Finding(f"{name}: {f.kind}", f.what) for f in found.findings]
        found.findings += [Finding(name, what) for what in (*sorted(run.overspent), *run.beaten)]
        out.result.add(found)
        for step, ratio in run.ratios.items():
            out.ratios[step] = max(ratio, out.ratios.get(step, 0.0))
    return out


class _Watched(PlanRun):
    """Compares the rows that reach each step with those of the first run on the same plan."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan)
        self._first: list[_Reached] | None = None
        self._now: list[_Reached] = []
        self.beaten: list[str] = []
        self.ratios: dict[str, float] = {}

    def __call__(self, table: RawTable, session: Recorder) -> dict[str, str]:
        self._now = []
        surfaces = super().__call__(table, session)
        if self._first is None:
            self._first = self._now
        elif self.holds() and len(self._now) == len(self._first):
            self._compare()
        return surfaces

    def _watch(self, planned: PlannedStep, rows: Rows) -> None:
        super()._watch(planned, rows)
        assert isinstance(rows, Mapped)
        self._now.append(_Reached.of(planned, rows))

    def _compare(self) -> None:
        """The shift of the common rows before each step, and the declared space and missing cells."""
        assert self._first is not None
        record = _record(self._first[0], self._now[0])
        for k, (one, two) in enumerate(zip(self._first, self._now)):
            behind = self._now[k - 1].planned.step.name if k else "encoding"
            self.beaten += [f"behind {behind}: {what}" for what in (*one.outside(), *two.outside())]
            bound, slack = one.planned.incoming, ROUNDING * (1 + one.planned.before.radius)
            found = apart(one.labelled(record), two.labelled(record), bound)
            for name in QUANTITIES:
                value, limit = getattr(found, name), getattr(bound, name)
                if name == "rows_moved" and found.row_shift <= slack:
                    continue
                if value > limit + slack * len(one.x) * (name in ("row_shift", "total_shift")):
                    self.beaten.append(
                        f"behind {behind}: {name} is {value:.9g} where {limit:.9g} is declared"
                    )
                if name == "total_shift" and limit > 0:
                    self.ratios[behind] = max(value / limit, self.ratios.get(behind, 0.0))


@dataclass(frozen=True, eq=False)
class _Reached:
    """Rows (n, d) as they reach a step, which of them are there, and their classes."""

    planned: PlannedStep
    x: Floats
    stays: NDArray[np.bool_]
    labels: NDArray[np.int32]

    @staticmethod
    def of(planned: PlannedStep, rows: Mapped) -> _Reached:
        blocks = [(x.copy(), np.ones(len(x), bool) if kept is None else kept) for x, kept, _ in rows.blocks()]
        x, stays = (np.concatenate(part) for part in zip(*blocks))
        return _Reached(planned, x, stays, rows.labels)

    def labelled(self, record: int) -> tuple[Floats, NDArray[np.bool_], NDArray[np.int32]]:
        """(rows, which stay, labels) with the record that differs in front."""
        order = np.r_[record, np.delete(np.arange(len(self.x)), record)]
        return self.x[order], self.stays[order], self.labels[order]

    def outside(self) -> Iterator[str]:
        """What is not as the declared space says."""
        space, gaps = self.planned.before, np.isnan(self.x)
        if gaps[:, ~space.may_miss].any():
            yield "a cell is missing where none may be"
        x = np.where(gaps, 0.0, self.x)
        if np.sqrt((x * x).sum(axis=1)).max(initial=0.0) > space.radius * (1 + ROUNDING):
            yield "a row is outside the declared ball"
        slack = ROUNDING * space.radius
        if (self.x > space.high + slack).any() or (self.x < space.low - slack).any():
            yield "a row is outside the declared box"


def _record(one: _Reached, two: _Reached) -> int:
    """The number of the record that differs, as it was encoded; 0 where none does."""
    same = ((one.x == two.x) | (np.isnan(one.x) & np.isnan(two.x))).all(axis=1) & (one.labels == two.labels)
    differ = np.flatnonzero(~same)
    assert len(differ) <= 1, "encoding moved a common row"
    return int(differ[0]) if len(differ) else 0


# ------------------------------------------------------------------------------------------------ what is attacked


def random_plan(draws: Draws) -> UnreleasedPlan | None:
    """A plan of one to four steps over a small table; None if the plan refuses them."""
    n = draws.pick((6, 9, 16, 24, 40))
    domain = _domain(draws, n)
    steps = tuple(draws.pick(STEPS)(draws, domain) for _ in range(1 + draws.below(LONGEST)))
    watched = (*steps, pre.Rescale(1.0))  # so that the rows are seen as they reach the learner
    plan = UnreleasedPlan(domain, 3.0, 1e-4, watched, LEARNER, 1.0, 1e-5)
    try:
        plan.guarantee  # noqa: B018  computes every space, shift and event
    except ValueError:
        return None
    return plan


def _domain(draws: Draws, n: int) -> Domain:
    if draws.chance(0.25):
        return Domain.ball(draws.pick((1, 2, 3)), (0, 1), radius=draws.pick((0.5, 1.0, 4.0)), n=n)
    columns: dict[str, Numeric | Categorical] = {}
    for j in range(draws.pick((1, 2, 2, 3))):
        low, high = draws.pick(((0, 1), (-3, 10), (0.25, 0.26), (-1e6, 1e6)))
        columns[f"x{j}"] = Numeric(low, high, "impute") if draws.chance(0.7) else Numeric(low, high)
    if draws.chance(0.3):
        columns["kind"] = Categorical(("a", "b", "c"))
    return Domain(columns, (0, 1), n=n)


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


STEPS: tuple[Callable[[Draws, Domain], Step], ...] = (
    lambda w, _: pre.MeanImputer(payment=_sensitivity(w, **_missing(w))),
    lambda w, _: pre.MedianImputer(payment=_sensitivity(w, gap=w.pick((0.3, 0.6, 1.0)), **_missing(w))),
    lambda w, _: pre.TrimmedMeanImputer(0.1, payment=_sensitivity(w, **_missing(w))),
    lambda w, _: pre.TrimmedMeanImputer(
        0.1, payment=_sensitivity(w, spread=w.pick((0.3, 0.7)), **_missing(w))
    ),
    lambda w, _: pre.RegressionImputer(w.size(0.05, 2.0), w.size(0.3, 2.0), payment=_sensitivity(w, **_missing(w))),
    lambda w, _: pre.RegressionImputer(0.1, payment=_sensitivity(w, curvature=0.05, **_missing(w))),
    lambda w, t: pre.MeanImputer(payment=_public_or_budget(w, t)),
    lambda w, t: pre.MedianImputer(payment=_public_or_budget(w, t)),
    lambda w, t: pre.StandardScaler(w.size(0.02, 0.5), w.pick(("max", "root")), w.pick(("mean", "midpoint")), payment=_any(w, t)),
    lambda w, t: pre.MinMaxScaler(w.size(0.05, 0.5), payment=_public_or_budget(w, t)),
    lambda w, t: pre.Center(payment=_public_or_budget(w, t)),
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
    lambda w, _: pre.ClipFeatures(0.2, w.pick((0.5, 0.9))),
    lambda w, _: pre.OneHot({"x0": 3}),
    lambda w, _: pre.RandomFeatures(5),
    lambda w, _: pre.Bins({"x0": 3}, w.pick((None, 0.0, 0.9)), beside=w.pick((False, True))),
    lambda w, t: pre.QuantileBins(3, ("x0",), w.pick((None, 0.8)), payment=_public_or_budget(w, t)),
)  # fmt: skip
