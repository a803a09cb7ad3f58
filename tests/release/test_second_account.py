"""The claim by a second accountant: events of what runs, an interval by dp-accounting, and both of them printed."""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import math
import sys
from pathlib import Path

import numpy as np
import pytest
from mpmath import mp, mpf

import prepriv
from prepriv import Budget, Domain, Report, Sensitivity, make_plan
from prepriv import preprocessing as pre
from prepriv.cli import run
from prepriv.commands import verify
from prepriv.drafted import Drafted
from prepriv.guarantees import second_account as accounts
from prepriv.guarantees.second_account import Event, Leak, NoEvents, SecondAccount, dp_accounting_account
from prepriv.learners import FixedBatchSGD, GradientDescent, Logistic, OnePassSGD, PoissonSGD
from prepriv.plans.plan import Plan
from prepriv.release.both_accounts import events_of, events_of_plan, said_of, second_account

spec = importlib.util.spec_from_file_location(
    "second_account_benchmark", Path(__file__).parents[2] / "benchmarks" / "second_account.py"
)
benchmark = importlib.util.module_from_spec(spec)
sys.modules[spec.name] = benchmark  # its dataclasses look there
spec.loader.exec_module(benchmark)

DELTA = 1e-5
DOMAIN = Domain.box(0, 1, 3, [0, 1], n=500, missing="impute")
FILL = pre.ConstantImputer(0.5)
CAPS = pre.MeanImputer(payment=Sensitivity({"missing": 0.01}))
TESTED = pre.MeanImputer(payment=Sensitivity({"missing": 0.01}, test=0.1))
LEARNER = GradientDescent(Logistic(), steps=20, weight_bound=3.0)


def plan_of(learner, *steps, domain=DOMAIN):
    return make_plan(domain, steps, learner, epsilon=1.0, delta=DELTA)


def exact_delta(mu, epsilon):
    """Of the Gaussian mechanism in 40 digits: Balle and Wang 2018."""
    with mp.workdps(40):
        a, b = mpf(mu) / 2 - mpf(epsilon) / mpf(mu), -mpf(mu) / 2 - mpf(epsilon) / mpf(mu)
        return mp.ncdf(a) - mp.e ** mpf(epsilon) * mp.ncdf(b)


@pytest.mark.parametrize("mu", [0.05, 0.4, 5.0])
def test_the_interval_holds_the_exact_epsilon_of_gaussians(mu):
    """An oracle that is neither ours nor theirs: delta is below 1e-5 at the upper end and above it at the lower."""
    ours = float(prepriv.guarantees.gaussian(mu).epsilon(DELTA))
    said = dp_accounting_account([(Event("a", 2 / mu, 3), Event("b", 2 / mu, 1))], "replace-one", DELTA, ours)
    assert exact_delta(mu, said.low * (1 - 1e-9)) >= DELTA >= exact_delta(mu, said.high)
    assert said.high - said.low <= 2e-3 * ours + 1e-12 and not said.contradicts(ours)


def test_a_share_of_the_random_claims_is_never_below():
    """All of it: benchmarks/second_account.py."""
    found, _, _ = benchmark.attack(12, seed=5)
    assert not [c for c in found if c.ours < c.low] and len(found) >= 8
    tight = [c.ours / c.high for c in found if c.sampling != "without replacement"]
    assert len(tight) >= 5 and min(tight) > 0.99 and max(tight) < 1.0002
    assert all(c.ours < c.high for c in found if c.sampling == "without replacement")


@pytest.mark.parametrize("adjacency", ["replace-one", "add-or-remove-one"])
def test_poisson_batches_cost_what_dp_accounting_says(adjacency):
    domain = dataclasses.replace(DOMAIN, adjacency=adjacency)
    plan = Plan(domain, 1.0, DELTA, (FILL,), PoissonSGD(Logistic(), 50, 60), 2.0, 0.0)
    found = benchmark.compared(plan)
    assert found.low <= found.ours == pytest.approx(found.high, rel=1e-4)


@pytest.mark.slow
def test_a_larger_share_of_the_random_claims_is_never_below():
    found, _, _ = benchmark.attack(150, seed=6)
    assert not [c for c in found if c.ours < c.low]
    assert max(c.ours / c.high for c in found if c.sampling != "without replacement") < 1.0002


def test_events_are_those_that_run():
    steps = (pre.MeanImputer(payment=Budget(0.1)), pre.Center(payment=Budget(0.05)))
    plan = plan_of(PoissonSGD(Logistic(), batch_size=50, steps=30), *steps)
    names = [(e.name, e.count, e.sampling, e.rate) for e in events_of_plan(plan)]
    assert names[:2] == [("MeanImputer", 1, "all", 1.0), ("Center", 1, "all", 1.0)]
    assert names[2] == ("PoissonSGD", 30, "poisson", 0.1)
    assert events_of_plan(plan)[2].noise_multiplier == plan.learner_noise_multiplier
    moved = plan_of(LEARNER, CAPS)  # what moves is in the unit of the noise
    assert [(e.count, e.sampling) for e in events_of_plan(moved)] == [(20, "all")]
    assert not second_account(Report.of(moved, private=True)).contradicts(moved.guarantee.epsilon(DELTA))


class Mine(GradientDescent):
    """Third-party, with every word of its own."""

    exact = GradientDescent.exact
    for _name in (
        "takes_units",
        "samples",
        "premise",
        "unit",
        "shift",
        "parts",
        "accounts",
        "smooth",
        "reach",
    ):
        locals()[_name] = getattr(GradientDescent, _name)


@pytest.mark.parametrize(
    "plan, said",
    [
        (lambda: plan_of(LEARNER, TESTED), "propose-test-release"),
        (lambda: plan_of(OnePassSGD(Logistic(), 100, 5, 0.1, weight_bound=1.0), FILL), "hides its iterates"),
        (lambda: plan_of(Mine(Logistic(), steps=2), FILL), "Mine is a third-party learner"),
    ],
)
def test_what_it_does_not_know_is_said_with_the_reason(plan, said):
    made = Report.of(plan(), private=True)
    with pytest.raises(NoEvents, match=said):
        second_account(made)
    assert said in said_of(made)["why"] and made.to_json()["second_accountant"]["events"] is None
    assert "No second accountant checks this claim" in made.to_html() and said in made.to_html()
    assert said in verify.both_accounts(made)


def test_rows_that_moved_before_they_are_sampled_have_no_event():
    """Asked of the plan alone: the account of such rows takes seconds."""
    plan = Plan(DOMAIN, 1.0, DELTA, (CAPS,), PoissonSGD(Logistic(), 50, 5, weight_bound=3.0), 5.0, 0.0)
    said = said_of(Report(plan, True, (), None, ()))
    assert said["events"] is None and "moves rows that PoissonSGD draws" in said["why"]


def test_no_claim_has_no_account():
    made = Report.of(plan_of(LEARNER, FILL), private=False)
    assert "second_accountant" not in made.to_json()
    assert "second accountant" not in made.to_html() and "nothing is claimed" in verify.both_accounts(made)
    with pytest.raises(NoEvents):
        events_of(made)


def test_a_draft_of_the_schema_is_composed_with_what_it_may_leak():
    drafted = Drafted(0.5, 1e-5, 0.1395568, 2.5e-6, "replace-one", 500, "0" * 64)
    plan = plan_of(LEARNER, FILL, domain=dataclasses.replace(DOMAIN, drafts=(drafted,)))
    made = Report.of(plan, private=True)
    ((*_, event, leak),) = events_of(made)
    assert (event.noise_multiplier, leak) == (1 / drafted.mu, Leak("draft of the schema", 2.5e-6))
    whole, other = made.guarantee.epsilon(DELTA), second_account(made)
    assert other.low <= whole <= other.high * (1 + 1e-4)
    without = second_account(Report.of(plan_of(LEARNER, FILL), private=True))
    assert other.low > without.high  # both are in it


def test_a_measurement_on_rows_apart_is_an_alternative(tmp_path, capsys):
    """A record is trained on or measured: the larger of the two counts. And the command prints both accounts."""
    x = np.random.default_rng(0).random((600, 2))
    domain = Domain.box(0, 1, features=2, classes=[0, 1])
    clf = prepriv.PrivateClassifier(
        domain, steps="linear", epsilon=0.5, holdout=0.5, evaluate_epsilon=0.9
    ).fit(x, (x[:, 0] > 0.5) + 0)
    parts = events_of(clf.report_)
    assert len(parts) == 2 and {e.name for e in parts[1]} >= {"accuracy", "confusion"}
    other = second_account(clf.report_)
    assert other.low <= 0.9 <= other.high * (1 + 1e-6)
    clf.model_.save(tmp_path / "model")
    clf.report_.save(tmp_path / "r.html")
    assert run(["report", str(tmp_path / "model"), "--verify", str(tmp_path / "r.html")]) == 0
    out = capsys.readouterr().out
    assert "ours 0.9, certified from above; dp-accounting " in out
    assert "A second accountant" in (tmp_path / "r.html").read_text("utf-8")
    assert json.loads(clf.report_.text())["second_accountant"]["events"][1][0]["name"] == "accuracy"


def test_a_claim_below_the_other_account_is_found_out(monkeypatch, capsys):
    made = Report.of(plan_of(LEARNER, FILL), private=True)
    assert "ours 1, certified" in verify.both_accounts(made)
    monkeypatch.setattr(verify, "second_account", lambda _: SecondAccount("dp-accounting 9", 1.1, 1.2))
    with pytest.raises(verify.Stop, match="the second accountant allows") as stopped:
        verify.both_accounts(made)
    assert stopped.value.code == verify.FOUND


def test_without_dp_accounting_it_says_so(monkeypatch):
    def missing(name):
        raise ImportError(name)

    made = Report.of(plan_of(LEARNER, FILL), private=True)
    monkeypatch.setattr(accounts.importlib, "import_module", missing)
    assert "pip install dp-accounting" in verify.both_accounts(made)


def test_samples_without_replacement_lie_between_two_accountants():
    plan = plan_of(FixedBatchSGD(Logistic(), 50, 20), FILL)
    other, ours = second_account(Report.of(plan, private=True)), plan.guarantee.epsilon(DELTA)
    assert other.low < ours < other.high and "Rényi divergences from above" in other.accountant
    with pytest.raises(NoEvents, match="fixed size"):
        dp_accounting_account(
            [(Event("a", 1.0, 1, "without replacement", 0.1),)], "add-or-remove-one", DELTA, 1.0
        )


def test_out_of_range():
    with pytest.raises(NoEvents, match="floating-point sums"):
        dp_accounting_account([(Event("a", 1.0),)], "replace-one", 1e-11, 1.0)
    for wrong in ({"noise_multiplier": 0.0}, {"count": 0}, {"sampling": "shuffled"}, {"rate": 0.0}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            Event(**({"name": "a", "noise_multiplier": 1.0} | wrong))
    said = dp_accounting_account([(Event("a", 1.0), Leak("b", 2e-5))], "replace-one", DELTA, 1.0)
    assert math.isinf(said.low)  # the leak alone is more than delta
