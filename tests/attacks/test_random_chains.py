"""Random chains of one to four steps, from raw cells to the gradient sum, under the printed conditions."""

from __future__ import annotations

import dataclasses

import pytest
from typer.testing import CliRunner

from prepriv.audit import random_chains
from prepriv.audit.random_chains import attack_chains
from prepriv.commands.app import app
from prepriv.payment import Sensitivity
from prepriv.preprocessing import MeanImputer, MedianImputer, RankReduction, StandardScaler


def beaten(chains, seed=0):
    return {f.kind + ": " + f.what for f in attack_chains(chains, seed=seed).result.findings}


@pytest.mark.parametrize("seed", range(3))
def test_nothing_declared_is_beaten(seed):
    attack = attack_chains(40, seed=seed)
    assert not attack.result.findings
    assert attack.result.pairs > 120 and attack.refused < 30


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10, 14))
def test_nothing_declared_is_beaten_at_length(seed):
    assert not beaten(3000, seed)


def only(monkeypatch, *steps):
    monkeypatch.setattr(random_chains, "STEPS", tuple(lambda draws, domain, step=s: step for s in steps))


CHAINS = {
    "scaled": (StandardScaler(0.5, payment=Sensitivity()),),
    "imputed": (MeanImputer(payment=Sensitivity({"missing": 0.3})),),
    "projected": (RankReduction(1, payment=Sensitivity({"tail": 0.5})),),
}


@pytest.mark.parametrize("chain", CHAINS)
def test_a_step_that_declares_a_fifth_is_found(chain, monkeypatch):
    """A shift that is too small is seen: the attack can fail."""
    only(monkeypatch, *CHAINS[chain])
    step = type(CHAINS[chain][0])
    whole = step.sensitivity

    def part(self, domain, n, incoming=None):
        going = whole(self, domain, n, incoming)
        return dataclasses.replace(going, row_shift=going.row_shift / 5, total_shift=going.total_shift / 5)

    assert not beaten(15)
    monkeypatch.setattr(step, "sensitivity", part)
    assert any("total move of the common rows declared" in finding for finding in beaten(15))


def test_a_condition_that_is_not_looked_at_is_found(monkeypatch):
    gap = MedianImputer(payment=Sensitivity({"missing": 0.3, "gap": 0.05}))
    only(monkeypatch, gap)
    assert not beaten(15)
    monkeypatch.setattr(random_chains.PlanRun, "holds", lambda self: True)
    assert beaten(15)


def test_the_command_prints_what_was_tried():
    done = CliRunner().invoke(app, ["audit", "chains", "--chains", "12", "--pairs", "3"])
    assert done.exit_code == 0 and "12 chains" in done.stdout
