"""Empirical audits: no true claim is refuted, gross bugs are, and the deduplication side channel is closed here."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy import stats

from prepriv.audit.empirical import Experiment, Verdict, audit, distance, rate_at_most
from prepriv.audit.empirical_cases import (
    deduplicated,
    experiments,
    gradient_descent,
    lattice_sum,
    poisson,
    whole_pipeline,
)
from prepriv.cli import run
from prepriv.commands.audit_empirical import _claimed, _row
from prepriv.guarantees import gaussian
from prepriv.mechanisms.noise import NoiseSource

# Those that call a mechanism once a run in Python, or run a whole pipeline, get fewer runs.
LOOPED = {
    "exponential mechanism",
    "quantile",
    "stability histogram",
    "propose-test-release, Gaussian",
    "propose-test-release, Laplace",
}
RUNS = {name: 3_000 for name in LOOPED} | {
    "whole pipeline": 800,
    **dict.fromkeys(("description", "private draft", "questions in groups"), 150),
    "random trials": 4_000,
    "gaussian, 1000 coordinates": 10_000,
    "gradient descent": 10_000,
    "fixed batches": 10_000,
}
LONG = {name: 100_000 for name in LOOPED} | {
    "whole pipeline": 10_000,
    **dict.fromkeys(
        ("description", "private draft", "questions in groups", "choice", "choice by trials"), 3_000
    ),
    "random trials": 200_000,
    "gaussian, 1000 coordinates": 100_000,
    "gradient descent": 100_000,
    "fixed batches": 100_000,
}


def test_there_are_enough_of_them():
    assert len(experiments()) >= 12


@pytest.mark.parametrize("name", [name for name in experiments() if not name.startswith("choice")])
def test_no_claim_is_refuted(name):
    verdict = audit(experiments()[name](), RUNS.get(name, 30_000), source=NoiseSource.for_tests(7))
    assert not verdict.refuted, verdict
    if name not in RUNS and "sensitivity" not in name:  # bounds by sensitivity are not met by any one pair
        assert verdict.mu > 0.5 * verdict.claimed, "the attack is too weak to show anything"


@pytest.mark.slow
@pytest.mark.parametrize("name", experiments())
def test_no_claim_is_refuted_by_a_million_runs(name):
    verdict = audit(experiments()[name](), LONG.get(name, 1_000_000), source=NoiseSource.for_tests(8))
    print(verdict)
    assert not verdict.refuted, verdict


def test_deduplication_before_training_is_a_side_channel_when_it_is_not_paid_for():
    """One record decides whether eight near-duplicates count once or eight times (Debenedetti et al. 2023)."""
    naive = audit(deduplicated(naive=True), 10_000, source=NoiseSource.for_tests(1))
    assert naive.refuted and naive.mu > 2 * naive.claimed, naive
    paid = audit(deduplicated(naive=False), 100_000, source=NoiseSource.for_tests(1))
    assert not paid.refuted and paid.mu > 0


# ------------------------------------------------------------------------ the audit itself can fail


def with_claim(experiment: Experiment, mu: float) -> Experiment:
    return dataclasses.replace(experiment, claim=gaussian(mu))


def test_half_the_noise_is_seen_at_ten_thousand_runs():
    half = with_claim(lattice_sum("half the noise", 1, multiplier=0.5), 1.0)
    assert audit(half, 10_000, source=NoiseSource.for_tests(1)).refuted


@pytest.mark.slow
def test_a_tenth_too_little_noise_is_seen_at_a_million_runs():
    short = with_claim(lattice_sum("a tenth short", 1, multiplier=0.9), 1.0)
    assert audit(short, 1_000_000, source=NoiseSource.for_tests(1)).refuted


def test_forgotten_composition_is_seen():
    """T releases claimed at the price of one: the square root of T is missing."""
    wrong = with_claim(gradient_descent(steps=10, multiplier=3.0), 1 / 3.0)
    assert audit(wrong, 10_000, source=NoiseSource.for_tests(1)).refuted


def test_a_sampler_that_is_not_the_accounted_one_is_seen():
    """Every record in every batch, accounted as Poisson batches of 30 percent."""
    sampled = poisson("replace-one")
    full = dataclasses.replace(poisson("replace-one", rate=1 - 2**-40), claim=sampled.claim)
    assert audit(full, 10_000, source=NoiseSource.for_tests(1)).refuted


@pytest.mark.slow
def test_a_third_of_the_noise_of_training_is_seen_from_released_weights():
    assert audit(whole_pipeline(noise=0.3), 2_000, source=NoiseSource.for_tests(2)).refuted


def test_noise_that_is_reused_is_seen():
    """Two releases with the same noise: their difference has none."""

    def draw(neighbour, runs, source):
        noise = source.rounded_gaussian(2.0**20, runs)
        return ((noise + 2**20 * neighbour) - noise).astype(float)

    assert audit(
        Experiment("reused", gaussian(np.sqrt(2)), draw), 1_000, source=NoiseSource.for_tests(1)
    ).refuted


def test_a_tight_claim_is_refuted_no_more_often_than_the_doubt_says():
    exact = lattice_sum("exact", 1)
    refuted = sum(audit(exact, 2_000, doubt=0.2, source=NoiseSource.for_tests(s)).refuted for s in range(60))
    assert refuted <= 20  # at most 12 expected; above 20 with chance below 0.5 percent


def test_clopper_pearson_agrees_with_the_binomial_law():
    for count, of, doubt in ((0, 100, 0.05), (3, 50, 1e-6), (50, 100, 0.01), (99, 100, 0.1)):
        p = rate_at_most(count, of, doubt)
        assert stats.binom.cdf(count, of, p) == pytest.approx(doubt, rel=1e-6)
    assert rate_at_most(10, 10, 0.05) == 1.0 and rate_at_most(0, 10**6, 1e-6) > 0


def test_distance_is_the_gaussian_through_the_point():
    for mu in (0.1, 1.0, 3.0):
        for alpha in (0.01, 0.3, 0.7):
            assert distance(alpha, float(gaussian(mu)(alpha))) == pytest.approx(mu, rel=1e-6)
    assert distance(1.0, 0.1) == 0.0 and distance(0.6, 0.6) == 0.0


def test_the_command(capsys):
    assert run(["audit", "empirical", "center", "--runs", "2000"]) == 0
    assert "Center" in capsys.readouterr().out
    assert run(["audit", "empirical", "nothing"]) == 2
    assert run(["audit", "empirical", "center", "--runs", "5"]) == 2
    assert run(["audit", "empirical", "center", "--doubt", "2"]) == 2
    with pytest.raises(ValueError, match="at least 100"):
        audit(lattice_sum("x", 1), 10)


def test_too_few_runs_are_no_claim_of_zero():
    """At false alarms of 1 a claim allows anything; it is not printed as "claimed µ ≤ 0"."""
    seen = [Verdict("x", 100, 1.0, 0.25, 0.0, 0.0), Verdict("y", 100, 0.9, 0.25, 0.0, 0.7)]
    assert [_row(v)[-1] for v in seen] == ["not tested", "0.7"] and [_claimed(v) for v in seen] == [None, 0.7]


def test_a_refuted_claim_is_an_exit_code(monkeypatch, capsys):
    from prepriv.commands import audit_empirical

    monkeypatch.setattr(audit_empirical, "experiments", lambda: {"bad": lambda: deduplicated(naive=True)})
    assert run(["audit", "empirical", "all", "--runs", "5000"]) == 1
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith("broken: at naive deduplication: claimed µ at most 0.925, found at least ")
