"""Accounts of existing pipelines: every route valid, the smallest reported, nothing hidden."""

from __future__ import annotations

import math

import numpy as np
import pytest

from prepriv import Budget, Domain, Public, Sensitivity, account
from prepriv import preprocessing as pre
from prepriv.accounts.account import _GROUP, DIRECT, SMOOTH
from prepriv.accounts.ran import ReleasedStatistic
from prepriv.guarantees import gdp_epsilon
from prepriv.guarantees.renyi import zcdp
from prepriv.guarantees.smooth_mechanisms import full_batch_gradient
from prepriv.learners.gradient_descent import GradientDescent
from prepriv.learners.losses import Hinge, Logistic
from prepriv.learners.stochastic import FixedBatchSGD, PoissonSGD

DOMAIN = Domain.ball(10, [0, 1], n=10_000)
SOFT = pre.SoftPCA(0.05, payment=Sensitivity())
LEARNER = GradientDescent(Logistic(), steps=100, weight_bound=2.0)


def test_full_batch_agrees_with_the_closed_form():
    result = account([SOFT], LEARNER, domain=DOMAIN, noise_multiplier=40.0)
    alone = 2 * math.sqrt(100) / 40
    assert result.training_alone.epsilon(1e-5) == pytest.approx(gdp_epsilon(alone, 1e-5))
    mu = Logistic().input_lipschitz(LEARNER.row_norm(1.0), 2.0)
    total = SOFT.sensitivity(DOMAIN, 10_000).total_shift
    shift = 2 + mu * total
    assert result.epsilon(1e-5) == pytest.approx(gdp_epsilon(shift * math.sqrt(100) / 40, 1e-5), rel=0.01)
    assert result.epsilon(1e-5) >= gdp_epsilon(shift * math.sqrt(100) / 40, 1e-5)
    assert result.shift.total_shift == total and result.steps[0][0] == "SoftPCA"


def test_direct_is_never_above_the_other_routes_on_a_grid_of_1000_settings():
    """Full batch, closed forms: direct s = 2 + min(mu tau, 2 moved) against optimised Theorem 2 and groups."""
    count = 0
    for noise in (0.5, 2, 8, 30, 100):
        for steps in (1, 20, 400, 5000):
            for moved in (1, 3, 20, 400, 9999):
                for row in (1e-4, 1e-2, 0.1, 1.0, 2.0):
                    for mu in (1.0, 3.0):
                        unit = math.sqrt(steps) / noise
                        direct = unit * (2 + min(mu * row * moved, 2 * moved))
                        group = unit * 2 * (moved + 1)
                        # both Renyi curves are quadratic: Theorem 2 optimised is that of (a + b)-GDP at best
                        smooth = unit * (2 + mu * row * moved)
                        assert direct <= group * (1 + 1e-12) and direct <= smooth * (1 + 1e-12)
                        count += 1
    assert count == 1000


@pytest.mark.parametrize(
    "noise, steps, tau", [(10, 10, 0.5), (40, 100, 3.0), (300, 1000, 20.0), (5, 1, 0.01)]
)
def test_optimised_theorem_2_converts_above_the_direct_route(noise, steps, tau):
    mechanism = full_batch_gradient(lipschitz=1.0, smoothness=2.0, noise=noise / 1000, n=1000, steps=steps)
    smooth = mechanism.preprocessed(tau).epsilon(1e-5)
    direct = gdp_epsilon(math.sqrt(steps) * (2 + 2 * tau) / noise, 1e-5)
    assert direct <= smooth <= zcdp(((2 + 2 * tau) * math.sqrt(steps) / noise) ** 2 / 2).epsilon(1e-5) * 1.01


@pytest.mark.parametrize("kind", ["gaussian", "laplace", "exponential"])
def test_statistics_at_epsilon_times_one_plus_tau(kind):
    result = account([SOFT], ReleasedStatistic(kind, 0.1, lipschitz=2.0), domain=DOMAIN)
    tau = result.shift.total_shift
    grown = 0.1 * (1 + 2 * tau)
    assert (
        result.by_route[DIRECT].epsilon(1e-5)
        <= (gdp_epsilon(grown, 1e-5) if kind == "gaussian" else grown) * 1.001
    )
    assert result.epsilon(1e-5) <= min(f.epsilon(1e-5) for f in result.by_route.values()) * (1 + 1e-9)
    assert {DIRECT, SMOOTH} <= set(result.by_route)


def test_poisson_sgd_costs_more_with_the_step_than_alone_and_less_than_without_amplification():
    learner = PoissonSGD(Logistic(), batch_size=100, steps=100, weight_bound=2.0)
    result = account([SOFT], learner, domain=DOMAIN, noise_multiplier=3.0)
    alone, real = result.training_alone.epsilon(1e-5), result.epsilon(1e-5)
    plain = gdp_epsilon(
        (2 + learner.loss.input_lipschitz(math.hypot(1, 1), 2.0) * result.shift.total_shift) * 10 / 3, 1e-5
    )
    assert alone < real < plain


def test_a_hopeless_shift_still_gets_a_finite_honest_answer():
    scaler = pre.StandardScaler(payment=Sensitivity(), floor=0.01)
    learner = PoissonSGD(Logistic(), batch_size=100, steps=100, weight_bound=2.0)
    result = account([scaler], learner, domain=Domain.box(0, 1, 5, [0, 1], n=10_000), noise_multiplier=1.0)
    assert result.epsilon(1e-5) > 1000


def test_hinge_pays_by_the_count_and_has_no_smooth_route():
    impute = pre.MeanImputer(payment=Sensitivity({"missing": 0.001}))
    domain = Domain.box(0, 1, 2, [0, 1], n=1000, missing="impute")
    result = account(
        [impute], GradientDescent(Hinge(), steps=4, weight_bound=1.0), domain=domain, noise_multiplier=20.0
    )
    moved = result.shift.rows_moved
    assert set(result.by_route) == {DIRECT, _GROUP}
    assert result.epsilon(1e-5) == pytest.approx(gdp_epsilon((2 + 2 * moved) * 2 / 20, 1e-5), rel=1e-3)
    assert len(result.conditions) == 2


def test_steps_add_up_in_order_and_public_ones_cost_nothing():
    public = pre.Center(payment=Public(np.zeros((5, 10))))
    result = account([public, SOFT, pre.ClipNorm(1.0)], LEARNER, domain=DOMAIN, noise_multiplier=40.0)
    epsilons = [e for _, e, _ in result.steps]
    assert epsilons[0] == pytest.approx(result.training_alone.epsilon(1e-5))
    assert epsilons[0] < epsilons[2] == pytest.approx(result.by_route[DIRECT].epsilon(1e-5))
    # Each is the pipeline up to that step, on the rows as they are there: here in a ball twice as large.
    so_far = account([public, SOFT], LEARNER, domain=DOMAIN, noise_multiplier=40.0)
    assert epsilons[1] == pytest.approx(so_far.by_route[DIRECT].epsilon(1e-5)) and epsilons[1] > epsilons[2]
    ways = {(s, w): e for s, w, e, _ in result.alternatives}
    assert ways["Center", "public"] == pytest.approx(result.epsilon(1e-5))


@pytest.mark.slow
def test_fixed_batches_have_all_routes_and_report_the_smallest():
    learner = FixedBatchSGD(Logistic(), batch_size=50, steps=10, weight_bound=2.0)
    result = account([SOFT], learner, domain=DOMAIN, noise_multiplier=4.0)
    assert {DIRECT, SMOOTH} <= set(result.by_route)
    assert result.epsilon(1e-5) <= min(f.epsilon(1e-5) for f in result.by_route.values()) * (1 + 1e-9)


@pytest.mark.parametrize(
    "make, says",
    [
        (lambda: account([SOFT], LEARNER, domain=DOMAIN), "noise_multiplier must be given"),
        (lambda: account([SOFT], LEARNER, domain=DOMAIN, noise_multiplier=-1), "finite and positive"),
        (
            lambda: account([SOFT], ReleasedStatistic("gaussian", 1.0), domain=DOMAIN, noise_multiplier=1.0),
            "only for a learner",
        ),
        (
            lambda: account(
                [SOFT], LEARNER, domain=DOMAIN, noise_multiplier=1.0, adjacency="add-or-remove-one"
            ),
            "replace-one",
        ),
        (
            lambda: account([pre.Center(payment=Budget(0.1))], LEARNER, domain=DOMAIN, noise_multiplier=1.0),
            "existing pipeline",
        ),
        (
            lambda: account([SOFT], LEARNER, domain=Domain.ball(3, [0, 1]), noise_multiplier=1.0),
            "n, the number",
        ),
        (lambda: ReleasedStatistic("uniform", 1.0), "kind must be"),
    ],
)
def test_mistakes_are_sentences(make, says):
    with pytest.raises(ValueError, match=says):
        make()


def test_a_learner_without_noise_has_no_epsilon_and_the_sentence_says_what_to_do():
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import Normalizer

    pipeline = make_pipeline(Normalizer(), LogisticRegression())
    domain = Domain.ball(2, [0, 1], n=100)
    for given in (
        lambda: account(pipeline),
        lambda: account(pipeline, domain=domain),
        lambda: account(pipeline[:-1], LogisticRegression(), domain=domain, noise_multiplier=1.0),
    ):
        with pytest.raises(ValueError, match=r"no finite ε; prepriv\.private\(pipeline, domain\)") as caught:
            given()
        assert "\n" not in str(caught.value)
    with pytest.raises(ValueError, match=r"domain must be a prepriv\.Domain"):
        account([], GradientDescent(Logistic()))
