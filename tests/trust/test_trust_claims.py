"""Claims: never above the budget, none for a seeded run, no cross-record step for free, no sampler without its account."""

from __future__ import annotations

import dataclasses
import inspect
import json
import math

import mpmath
import numpy as np
import pytest

from prepriv import Budget, Domain, Public, Sensitivity, make_plan
from prepriv import preprocessing as pre
from prepriv.cli import run
from prepriv.guarantees import gdp_epsilon, gdp_mu
from prepriv.learners.gradient_descent import GradientDescent
from prepriv.learners.learner import Setting
from prepriv.learners.losses import Softmax
from prepriv.learners.stochastic import FixedBatchSGD, PoissonSGD
from prepriv.mechanisms.gaussian_sum import GaussianSum
from prepriv.mechanisms.noise import NoiseSource
from prepriv.mechanisms.session import NoisySession
from prepriv.release.model import BadArtifact, Model
from prepriv.release.report import Report
from prepriv.runs.run import execute
from prepriv.tables.encoding import encode, encode_labels


def targets(rng, count):
    return zip(10 ** rng.uniform(-3, 1.5, count), 10 ** rng.uniform(-12, -2, count))


INSIDE = 1 - 1e-9  # by which plans calibrate inside the budget


def check_round_trip(rng, count):
    for epsilon, delta in targets(rng, count):
        reached = gdp_epsilon(gdp_mu(epsilon, delta) * INSIDE, delta)
        assert epsilon * (1 - 1e-3) <= reached <= epsilon


def test_calibrated_noise_never_spends_more_than_the_target_and_hardly_less(rng):
    """Opacus #346 went above."""
    check_round_trip(rng, 1_000)


@pytest.mark.slow
def test_calibrated_noise_never_spends_more_than_the_target_for_10000_targets(rng):
    check_round_trip(rng, 10_000)


def test_calibrated_noise_keeps_delta_in_forty_digits(rng):
    """The closed form of the Gaussian mechanism (Balle and Wang 2018) as an independent oracle."""
    with mpmath.workdps(40):
        for epsilon, delta in targets(rng, 100):
            mu, e = mpmath.mpf(gdp_mu(epsilon, delta) * INSIDE), mpmath.mpf(epsilon)
            reached = mpmath.ncdf(mu / 2 - e / mu) - mpmath.exp(e) * mpmath.ncdf(-mu / 2 - e / mu)
            assert reached <= delta


def test_plans_of_any_budget_claim_at_most_it(rng):
    for epsilon, delta in ((max(e, 0.01), d) for e, d in targets(rng, 60)):
        adjacency = ("replace-one", "add-or-remove-one")[int(rng.integers(2))]
        domain = Domain.box(0, 1, 3, (0, 1, 2), n=int(rng.integers(10, 10**6)), adjacency=adjacency)
        steps = (pre.Center(payment=Budget(float(rng.uniform(0.01, 0.9)))),)
        learner = GradientDescent(Softmax(), steps=int(rng.integers(1, 300)))
        plan = make_plan(domain, steps, learner, epsilon=float(epsilon), delta=float(delta))
        assert plan.guarantee.epsilon(delta) <= epsilon
        shares = sum(1 / e.noise_multiplier**2 * e.count for p in plan.steps for e in p.events)
        shares += learner.steps / plan.learner_noise_multiplier**2
        assert math.sqrt(shares) <= plan.guarantee.mu * (1 + 1e-9)


# ---------------------------------------------------------------------------------------------- seeds

DOMAIN = Domain.box(0, 1, 2, (0, 1), n=30)


def seeded(tmp_path):
    plan = make_plan(DOMAIN, (), GradientDescent(Softmax(), steps=3), epsilon=1.0, delta=1e-5)
    table = encode(np.full((30, 2), 0.5), DOMAIN)
    trained = execute(plan, table, encode_labels([0] * 30, (0, 1)), NoisySession(NoiseSource.for_tests(1)))
    return plan, trained, Model.of(trained).save(tmp_path / "model")


def test_a_seeded_run_says_so_everywhere_and_claims_nothing(tmp_path, capsys):
    plan, trained, path = seeded(tmp_path)
    assert not trained.private and json.loads(path.read_text())["private"] is False
    report = Report.of(plan, private=trained.private)
    assert report.to_json()["guarantee"] is None and "No privacy is claimed" in report.to_html()
    for said in (repr(report), report.to_html(), json.dumps(report.to_json()), path.read_text()):
        assert "GDP" not in said and '"mu"' not in said.replace("&#34;", '"')
    assert run(["report", str(path)]) == 0
    assert "nothing is claimed" in capsys.readouterr().out


def test_no_command_and_no_estimator_takes_a_seed():
    """A seed in production is identical noise in every release."""
    from prepriv.commands import demo, plan, train
    from prepriv.estimators import PrivateClassifier

    for function in (train.train, plan.plan, demo.demo, PrivateClassifier.__init__, execute):
        assert not {"seed", "random_state", "rng", "noise"} & set(inspect.signature(function).parameters)


def test_a_claim_cannot_be_written_back_into_a_seeded_artifact_by_this_library(tmp_path):
    _, trained, path = seeded(tmp_path)
    with pytest.raises(dataclasses.FrozenInstanceError):
        trained.private = True
    assert not Model.load(path).private and Model.load(path).guarantee is None
    path.write_text(path.read_text().replace('"private": false', '"private": true'))
    with pytest.raises(BadArtifact):
        Model.load(path)


# ---------------------------------------------------------------------------------- cross-record steps


@pytest.mark.parametrize("step", [pre.Deduplicate, pre.Quantize])
@pytest.mark.parametrize("payment", [None, Budget(0.1), Public(np.zeros((3, 2)))])
def test_a_step_across_records_is_refused_without_a_declared_stability(step, payment):
    """Deduplication before private training voids the guarantee (Debenedetti et al. 2023)."""
    with pytest.raises(ValueError, match=r"needs payment|cannot be paid"):
        step(0.1, payment=payment)
    assert step(0.1, payment=Sensitivity()).sensitivity(DOMAIN, 30) != pre.RowShift()


def test_a_step_of_a_user_that_declares_nothing_is_refused_by_the_plan():
    class Filter(pre.ClipNorm):
        """Drops outliers: which records stay depends on the others."""

        ways = ("sensitivity",)
        at_prediction = False

    with pytest.raises(ValueError, match="paid for by sensitivity"):
        make_plan(
            DOMAIN, (Filter(1.0, payment=Sensitivity()),), GradientDescent(Softmax()), epsilon=1.0, delta=1e-5
        )


def test_a_free_step_is_made_without_a_record_in_sight():
    """By signature: what is free is handed the declared space and nothing else."""
    for name in pre.__all__:
        kind = getattr(pre, name)
        if isinstance(kind, type) and issubclass(kind, pre.Step):
            assert list(inspect.signature(kind.free).parameters) == ["self", "space"]
            assert list(inspect.signature(kind.prediction_map).parameters) == ["self", "space"]


# -------------------------------------------------------------------------------------------- samplers


def test_a_sampler_cannot_be_chosen_beside_its_account():
    setting = Setting(1.0, 2, 3, 100, "add-or-remove-one")
    with pytest.raises(ValueError, match="fixed size need adjacency replace-one"):
        FixedBatchSGD(Softmax(), batch_size=10, steps=5).parts(1.0, setting)
    for kind in (PoissonSGD, FixedBatchSGD):
        fields = {f.name for f in dataclasses.fields(kind)}
        assert not fields & {"sampler", "shuffle", "poisson", "loader", "sampling", "accountant"}
        with pytest.raises(ValueError, match="larger than n"):
            kind(Softmax(), batch_size=101, steps=5).parts(
                1.0, dataclasses.replace(setting, adjacency="replace-one")
            )


@pytest.mark.parametrize("multiplier", [0.0, -1.0, math.nan, math.inf, 1e-9])
def test_noise_that_hides_nothing_is_refused_before_any_draw(multiplier):
    setting = Setting(1.0, 2, 3, 100, "replace-one")
    with pytest.raises(ValueError, match="noise_multiplier"):
        PoissonSGD(Softmax(), batch_size=10, steps=5).parts(multiplier, setting)
    with pytest.raises(ValueError):
        NoisySession().release(
            "x",
            GaussianSum(2**20, multiplier if multiplier == multiplier else 0.0, 0, 10, 2),
            np.zeros(2, np.int64),
        )


@pytest.mark.parametrize(
    "adjacency, n", [("replace-one", 30), ("add-or-remove-one", 30), ("add-or-remove-one", 10**12)]
)
def test_noise_too_large_to_be_drawn_is_refused_by_the_plan_and_not_by_a_run_that_was_charged(adjacency, n):
    domain = Domain.box(0, 1, 2, (0, 1), n=n, adjacency=adjacency)
    table, targets = encode(np.zeros((30, 2)), domain), encode_labels([0] * 30, (0, 1))
    refused = []
    for epsilon in 10.0 ** np.arange(1, -16, -1.0):
        for share in (0.5, 1e-6):
            steps = (pre.Center(payment=Budget(share)),)
            try:
                plan = make_plan(
                    domain, steps, GradientDescent(Softmax(), steps=20), epsilon=epsilon, delta=1e-5
                )
            except ValueError as error:
                refused.append(str(error))
                continue
            execute(plan, table, targets, NoisySession())
    assert refused and all("overflow 64 bits" in text or "epsilon" in text for text in refused)


def test_epsilon_zero_nan_and_negative_are_refused_before_anything_is_opened(tmp_path, capsys):
    (tmp_path / "s.yaml").write_text(
        "label: {name: y, classes: [0, 1]}\ncolumns: {a: {type: numeric, low: 0, high: 1}}\n"
    )
    for epsilon in ("0", "-1", "nan", "1e-400"):
        assert (
            run(
                [
                    "train",
                    str(tmp_path / "no.csv"),
                    "--schema",
                    str(tmp_path / "s.yaml"),
                    "--epsilon",
                    epsilon,
                ]
            )
            == 2
        )
        assert "epsilon" in capsys.readouterr().err
