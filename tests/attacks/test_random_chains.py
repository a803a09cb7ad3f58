"""Random chains of one to six steps, from raw cells to the gradient sum, under the printed conditions."""

from __future__ import annotations

import dataclasses
import inspect
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from prepriv import preprocessing as pre
from prepriv.audit import random_chains
from prepriv.audit.random_chains import attack_chains
from prepriv.audit.sensitivity_draws import Draws
from prepriv.columns import Numeric
from prepriv.commands.app import app
from prepriv.domain import Domain
from prepriv.mechanisms.coins import record_coins
from prepriv.payment import Budget, Sensitivity
from prepriv.preprocessing import MeanImputer, MedianImputer, RankReduction, StandardScaler

COLUMN = Domain({"x": Numeric(0, 1, "impute")}, (0, 1), n=24)
TABLE = Domain({"x0": Numeric(0, 1, "impute"), "x1": Numeric(-3, 10)}, (0, 1), n=9)


def beaten(chains, seed=0):
    return {f.kind + ": " + f.what for f in attack_chains(chains, seed=seed).result.findings}


@pytest.mark.parametrize("seed", range(3))
def test_nothing_declared_is_beaten(seed):
    attack = attack_chains(30, pairs=8, seed=seed)
    assert not attack.result.findings and attack.result.judgement().word == "held"
    assert attack.result.pairs > 120 and attack.refused < 12


def test_every_step_is_in_the_random_chains():
    """A new step belongs into `random_chains.STEPS`, each in every way it can be paid for."""
    draws = Draws(0)
    drawn = [make(draws, TABLE) for make in random_chains.STEPS for _ in range(40)]
    here = {(type(s), s.way) for s in drawn}
    for kind in (getattr(pre, name) for name in pre.__all__):
        if isinstance(kind, type) and issubclass(kind, pre.Step) and not inspect.isabstract(kind):
            for way in kind.ways or ("free",):
                assert (kind, way) in here, f"{kind.__name__} by {way} is in no random chain"


def test_chains_are_as_long_as_said_and_of_every_kind():
    draws, plans = Draws(1), []
    while len(plans) < 150:
        plan = random_chains.random_plan(draws)
        plans += [plan] if plan is not None else []
    assert {len(p.pipeline) for p in plans} == set(range(1, random_chains.LONGEST_CHAIN + 1))
    assert {p.domain.adjacency for p in plans} == {"replace-one", "add-or-remove-one"}
    assert {type(s).__name__ for p in plans for s in p.pipeline} >= {
        "InstanceOptimalCenter",
        "AugmentByDistance",
        "ConstantImputer",
        "Scattering",
    }
    runs = [random_chains._run(p, draws) for p in plans]
    assert {type(run) for run in runs} - {type(None)} == {random_chains.PlanRun, random_chains.PartRun}


def test_a_condition_of_the_whole_table_that_is_used_of_a_part_is_found(monkeypatch):
    """A holdout that refuses nothing: the gap holds of all records and not of those that coins chose (finding A1)."""

    def unrefused(holdout, make, n, domain, session):
        coins = record_coins(n, holdout.share, session)
        if not 0 < coins.sum() < n - 1:
            raise ValueError("a part is too small")
        return SimpleNamespace(training=make(n - int(coins.sum())), coins=coins)

    only(monkeypatch, MedianImputer(payment=Sensitivity({"missing": 0.3, "gap": 0.05})))
    one_step(monkeypatch, COLUMN)
    monkeypatch.setattr(random_chains, "_HELD_OUT", 1.0)
    monkeypatch.setattr(random_chains, "plan_holdout", unrefused)
    assert any("at step 1 (MedianImputer)" in finding for finding in beaten(15, 3))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10, 14))
def test_nothing_declared_is_beaten_at_length(seed):
    assert not beaten(3000, seed)


def only(monkeypatch, *steps):
    monkeypatch.setattr(random_chains, "STEPS", tuple(lambda draws, domain, step=s: step for s in steps))


def one_step(monkeypatch, domain):
    """Chains of one step on all records of one domain."""
    monkeypatch.setattr(random_chains, "LONGEST_CHAIN", 1)
    monkeypatch.setattr(random_chains, "_HELD_OUT", 0.0)
    monkeypatch.setattr(random_chains, "_domain", lambda draws, n: domain.with_n(n))


CHAINS = {
    "scaled": (StandardScaler(0.5, payment=Sensitivity()),),
    "imputed": (MeanImputer(payment=Sensitivity({"missing": 0.3})),),
    "projected": (RankReduction(1, payment=Sensitivity({"tail": 0.5})),),
}


@pytest.mark.parametrize("chain", CHAINS)
def test_a_step_that_declares_a_fifth_is_found(chain, monkeypatch):
    """A shift that is too small is seen: the attack can fail."""
    only(monkeypatch, *CHAINS[chain])
    one_step(monkeypatch, TABLE if chain == "imputed" else Domain.ball(2, (0, 1), n=9))
    step = type(CHAINS[chain][0])
    whole = step.sensitivity

    def part(self, domain, n, incoming=None):
        going = whole(self, domain, n, incoming)
        return dataclasses.replace(going, row_shift=going.row_shift / 5, total_shift=going.total_shift / 5)

    assert not beaten(15)
    monkeypatch.setattr(step, "sensitivity", part)
    assert any("total move of the common rows declared" in finding for finding in beaten(15))


JOINED = {
    "InstanceOptimalCenter": pre.InstanceOptimalCenter(payment=Budget(0.1)),
    "AugmentByDistance": pre.AugmentByDistance(2.0, payment=Budget(0.1)),
    "ConstantImputer": pre.ConstantImputer(-2.0),
}


@pytest.mark.parametrize("name", JOINED)
def test_a_step_by_itself_holds(name, monkeypatch):
    only(monkeypatch, *([JOINED["ConstantImputer"]] * (name != "ConstantImputer")), JOINED[name])
    monkeypatch.setattr(random_chains, "LONGEST_CHAIN", 3)
    attack = attack_chains(15, pairs=6, seed=1)
    assert not attack.result.findings and attack.result.pairs > 40


def test_a_condition_that_is_not_looked_at_is_found(monkeypatch):
    gap = MedianImputer(payment=Sensitivity({"missing": 0.3, "gap": 0.05}))
    only(monkeypatch, gap)
    one_step(monkeypatch, COLUMN)
    assert not beaten(15)
    monkeypatch.setattr(random_chains.PlanRun, "holds", lambda self: True)
    assert beaten(15)


def test_the_command_prints_what_was_tried():
    done = CliRunner().invoke(app, ["audit", "chains", "--chains", "12", "--pairs", "3"])
    assert done.exit_code == 0 and "12 chains" in done.stdout
