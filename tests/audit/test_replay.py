"""Record and replay over every public pipeline: nothing but outputs of mechanisms depends on a record."""

from __future__ import annotations

import inspect
import logging
import math
import warnings
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from pipelines import ADD, ONE, N, Pipeline, box, pipelines, table

from prepriv import Budget, Sensitivity
from prepriv import preprocessing as pre
from prepriv.audit.replay import Neighbour, Recorder, Result, replay
from prepriv.audit.replay_neighbours import HOSTILE, RawTable, neighbours, synthetic
from prepriv.audit.replay_pipeline import PlanRun, overspent, replay_plan
from prepriv.audit.sensitivity_draws import Draws
from prepriv.mechanisms.exponential import ExponentialMechanism, Scores
from prepriv.mechanisms.gaussian_sum import GaussianSum
from prepriv.mechanisms.noise import NoiseSource
from prepriv.preprocessing.base import Step

PAIRS = 16  # of each pipeline: 2,000 in all


def attack(name: str, pairs: int, bases: int = 1, seed: int = 0) -> Result:
    pipeline = pipelines()[name]
    plan = pipeline.plan()
    total = Result()
    for base in range(bases):
        at = seed + base + sum(map(ord, name))
        first = pipeline.tables(pipeline.domain, Draws(at)) if pipeline.tables else None
        total.add(replay_plan(plan, pairs=pairs // bases, seed=at, table=first, missing=pipeline.missing))
    return total


SEEN = Result()


@pytest.mark.parametrize("name", pipelines())
def test_nothing_but_mechanism_outputs_depends_on_a_record(name):
    result = attack(name, PAIRS)
    assert result.findings == [] and not result.failed  # runs that fail alike are no pair that was looked at
    assert result.pairs >= PAIRS * 3 // 4, "too few pairs met the declared conditions"
    assert all(0 < share <= 1 for share in result.reach.values()) and result.reach
    SEEN.add(result)
    pipeline, session = pipelines()[name], Recorder()
    plan = pipeline.plan()
    PlanRun(plan)(synthetic(pipeline.domain, N, Draws(1)), session)
    assert overspent(plan, session) == []


def test_the_pairs_were_many_and_of_every_kind():
    if SEEN.pairs < PAIRS:
        pytest.skip("runs after the test above, in one process")
    kinds = {kind for kind in SEEN.kinds if kind.startswith(("a cell", "every cell"))}
    assert len(kinds) == 2 * len(HOSTILE)
    assert {"removed", "a corner of the declared box", "a copy of another record"} <= set(SEEN.kinds)


@pytest.mark.slow
@pytest.mark.parametrize("name", pipelines())
def test_nothing_but_mechanism_outputs_depends_on_a_record_at_length(name):
    result = attack(name, 400, bases=8, seed=10**6)
    assert result.findings == [] and result.pairs >= 200


def test_every_step_is_replayed_in_every_way_it_can_be_paid_for():
    steps = [s for p in pipelines().values() for s in p.steps]
    replayed = {(type(s).__name__, s.way) for s in steps}
    for name in pre.__all__:
        kind = getattr(pre, name)
        if not (isinstance(kind, type) and issubclass(kind, Step)) or inspect.isabstract(kind):
            continue
        for way in kind.ways or ("free",):
            if not (way == "sensitivity" and kind.at_prediction):  # has a price, but no release
                assert (name, way) in replayed, (
                    f"{name} by {way} is in no pipeline of tests/audit/pipelines.py"
                )


@pytest.mark.parametrize("name", ["mean, budget, replace-one", "standard, budget, box, add-or-remove-one"])
def test_mechanisms_that_ran_cost_no_more_than_was_claimed(name):
    pipeline = pipelines()[name]
    plan = pipeline.plan()
    session = Recorder()
    PlanRun(plan)(synthetic(pipeline.domain, N, Draws(1)), session)
    assert overspent(plan, session) == []
    session.releases.append(session.releases[-1])  # one release more than was priced
    assert overspent(plan, session) == ["a release of gradient spends more than is claimed"]


@pytest.mark.parametrize("name", pipelines())
def test_no_table_however_degenerate_stops_a_pipeline(name):
    """All records alike: nothing, a bound, a number that is none. Spectra, medians and clusters have ties then."""
    pipeline = pipelines()[name]
    run, width = PlanRun(pipeline.plan()), pipeline.domain.n_inputs
    highs = [getattr(c, "high", "clerk") for c in pipeline.domain.columns.values()] or [1.0] * width
    for row, label in (
        ([None] * width, None),
        (highs, pipeline.domain.classes[0] if pipeline.domain.classes else 4.0),
        ([math.nan] * width, math.nan),
        ([1e308] * width, 7),
    ):
        surfaces = run(RawTable.of([row] * N, [label] * N, width), Recorder())
        assert surfaces["outcome"] == "released"
        assert not surfaces["stdout"] + surfaces["stderr"] + surfaces["log"] + surfaces["warnings"]


@pytest.mark.parametrize("name", ["one pass", "noisy SGD", "Poisson SGD, replace", "fixed batches"])
def test_the_coins_of_a_sampler_are_not_shown(name):
    """Accounts of random batches and of a random stop hold for an attacker who does not see the coins."""
    pipeline = pipelines()[name]
    first, shown = synthetic(pipeline.domain, N, Draws(1)), set()
    for seed in range(8):
        session = Recorder(seed=3)
        session.batch_source = lambda seed=seed: NoiseSource.for_tests(seed)
        surfaces = PlanRun(pipeline.plan())(first, session)
        assert surfaces["outcome"] == "released"
        shown.add((surfaces["progress"], surfaces["stdout"], surfaces["stderr"], surfaces["log"]))
    assert len(shown) == 1


@pytest.mark.parametrize("rows", [0, 1, 2, N, 3 * N])
def test_any_number_of_rows_runs_and_gives_the_same_shapes_under_add_or_remove_one(rows):
    """n = 0 and n = 1 are neighbours, and the declared n is another number altogether."""
    for name in (
        "nothing, box, add-or-remove-one",
        "Poisson SGD, add or remove",
        "median, budget, add-or-remove-one",
    ):
        pipeline = pipelines()[name]
        run = PlanRun(pipeline.plan())
        first = synthetic(pipeline.domain, rows, Draws(2))
        near = list(neighbours(first, pipeline.domain, Draws(3), 12, at_end=True))
        result = replay(run, first, near, holds=run.holds, allowance=run.allowance)
        assert result.findings == [] and result.pairs == len(near) >= 8


def test_a_class_that_is_absent_changes_no_shape_and_an_undeclared_one_counts_as_nothing():
    plan = pipelines()["learner: softmax"].plan()
    base = synthetic(plan.domain, N, Draws(4))
    absent = RawTable(base.rows, tuple(min(v, 1) for v in base.labels))
    one, two = Recorder(), Recorder()
    surfaces = PlanRun(plan)(absent, one), PlanRun(plan)(RawTable(base.rows, (2,) * N), two)
    assert surfaces[0].keys() == surfaces[1].keys()
    assert [c.declared for c in one.calls] == [c.declared for c in two.calls]
    strange = Recorder()
    PlanRun(plan)(RawTable(base.rows, (7,) * N), strange)
    assert all((c.exact == 0).all() for c in strange.calls)


# --------------------------------------------------------------- the replay itself can fail: planted leaks


class Leaky(pre.Center):
    """A step of a user, with one leak; `what` chooses it."""

    what = ""
    takes_any_order = True

    def fit_budget(self, rows, space, n, mechanisms):
        first = next(iter(rows))
        if self.what == "prints":
            print("rows:", float(first.sum()))
        if self.what == "warns":
            warnings.warn(f"odd value {first.sum()}", stacklevel=1)
        if self.what == "logs":
            logging.getLogger("user").debug("sum %s", first.sum())
        if self.what == "fails" and len(first) > 8 and (first == 1.0).any():  # the plan tries it on 8
            raise ValueError("a one")
        if self.what == "asks twice" and len(first) > 8 and (first == 1.0).any():
            mechanisms.sum(rows, dim=space.d, radius=space.radius)
        if self.what == "asks for another radius":
            return super().fit_budget(
                rows,
                space,
                n,
                SimpleNamespace(
                    sum=lambda r, dim, radius: mechanisms.sum(r, dim=dim, radius=float(np.abs(first).max()))
                ),
            )
        if self.what == "counts the rows":
            return super().fit_budget(rows, space, sum(len(b) for b in rows), mechanisms)
        if self.what == "declares too little":  # of a copy: of the very rows that is refused
            rows = list(rows)
        fitted = super().fit_budget(rows, space, n, mechanisms)
        if self.what == "releases the mean":
            return type(fitted)(first.mean(axis=0))
        return fitted

    def l2_sensitivity(self, space, adjacency, incoming):
        shift = super().l2_sensitivity(space, adjacency, incoming)
        return shift / 4 if self.what == "declares too little" else shift


LEAKS = {
    "prints": "stdout differs",
    "warns": "warnings differs",
    "logs": "log differs",
    "fails": "outcome differs",
    "asks twice": "calls of mechanisms",
    "asks for another radius": "told something else",
    "counts the rows": "artifact differs",
    "releases the mean": "artifact differs",
    "declares too little": "times as far as declared",
}


@pytest.mark.parametrize("what", LEAKS)
def test_a_leaky_step_of_a_user_is_found(what, monkeypatch):
    monkeypatch.setattr(Leaky, "what", what)
    adjacency = ADD if what == "counts the rows" else ONE
    plan = Pipeline(box(adjacency), (Leaky(payment=Budget(0.1)),)).plan()
    result = replay_plan(plan, pairs=40, seed=5)
    assert any(LEAKS[what] in f.what for f in result.findings), result.findings[:3]


def test_the_same_step_without_a_leak_is_not_accused():
    assert replay_plan(Pipeline(box(), (Leaky(payment=Budget(0.1)),)).plan(), pairs=40, seed=5).findings == []


def test_noise_scaled_by_a_count_of_the_data_is_found():
    """The published bug class: everything looks right on one data set."""

    def run(data, session):
        scale = max(len(data), 1)
        session.release(
            "mean", GaussianSum(100, 2.0 / scale * 50, 0, 10**6, 1), np.array([sum(data)], dtype=np.int64)
        )
        return {"artifact": ""}

    found = replay(run, [7] * 50, [Neighbour("one more", [7] * 51)]).findings
    assert [f.what for f in found] == ["call 1 (mean): the mechanism was told something else"]


def test_movement_is_compared_in_exact_integers():
    """One grid step too far is seen at a sensitivity of 2^40, where floats see nothing."""

    def run(data, session):
        session.release("sum", GaussianSum(2**40, 2.0, 0, 2**50, 1), np.array([data], dtype=np.int64))
        return {}

    assert replay(run, 0, [Neighbour("inside", 2**40)]).findings == []
    assert len(replay(run, 0, [Neighbour("outside", 2**40 + 1)]).findings) >= 1


def quantile(data, session):
    """A private median of whole numbers in [0, 10), as `mechanisms.quantile` asks for it."""
    mechanism = ExponentialMechanism(epsilon=1.0, score_range=2)
    cells = np.sort(np.array(data, dtype=np.int64))
    distinct, first = np.unique(cells, return_index=True)
    starts = np.concatenate([np.zeros(1, dtype=np.int64), distinct + 1])
    copies = np.diff(np.append(starts, 10))
    reaching = np.append(len(cells) - first, 0)
    scores = -np.abs(reaching - 5).astype(np.int64)
    return {"artifact": str(session.release("median", mechanism, Scores(scores, copies)))}


def test_scores_of_candidates_are_compared_candidate_by_candidate():
    data = [1, 1, 4, 5, 5, 7, 8, 8, 8, 9]
    near = [Neighbour(f"{i} to {v}", [*data[:i], v, *data[i + 1 :]]) for i in range(10) for v in range(10)]
    near += [Neighbour("one less", data[:i] + data[i + 1 :]) for i in range(10)]
    result = replay(quantile, data, near)
    assert result.findings == [] and 0.5 <= result.reach["median"] <= 1
    far = [Neighbour("three at once", [9, 9, 9, *data[3:]])]
    assert len(replay(quantile, data, far).findings) == 1


def test_pairs_that_break_the_declared_conditions_are_skipped_not_counted():
    caps = Sensitivity({"missing": 0.0})
    plan = Pipeline(table(), (pre.MeanImputer(payment=caps),)).plan()
    first = synthetic(plan.domain, N, Draws(1))
    result = replay(
        PlanRun(plan), first, neighbours(first, plan.domain, Draws(2), 60), holds=(run := PlanRun(plan)).holds
    )
    assert result.pairs == 60  # `holds` of a run that never ran says nothing
    result = replay(run, first, neighbours(first, plan.domain, Draws(2), 60), holds=run.holds)
    assert 0 < result.skipped < 60 and result.findings == []


def test_allowance_of_a_sampler_is_its_account_not_its_noise_unit():
    plan = pipelines()["Poisson SGD, replace"].plan()
    session = Recorder()
    run = PlanRun(plan)
    run(synthetic(plan.domain, N, Draws(1)), session)
    assert run.allowance(session.calls[-1]) == Fraction(2)
