"""Prices and accounts attacked: what a step costs is an account of all that runs, and never below the exact one."""

from __future__ import annotations

import dataclasses
import json
import math
import re

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld

from prepriv import Budget, Domain, Sensitivity, account
from prepriv import preprocessing as pre
from prepriv.accounts.account import DIRECT
from prepriv.accounts.ran import ReleasedStatistic
from prepriv.cli import run
from prepriv.guarantees import approximate_dp, gdp_epsilon, gdp_mu
from prepriv.guarantees.guarantee import Guarantee
from prepriv.learners.gradient_descent import GradientDescent
from prepriv.learners.learner import Setting
from prepriv.learners.losses import Logistic
from prepriv.learners.noisy_sgd import NoisySGD
from prepriv.learners.one_pass import CyclicSGD, OnePassSGD
from prepriv.learners.stochastic import FixedBatchSGD, PoissonSGD
from prepriv.placed.chain import chain
from prepriv.plans import price as price_module
from prepriv.plans.claim import cost
from prepriv.plans.plan import make_plan
from prepriv.plans.price import prices

# --------------------------------------------------------------------------------- PCA paid for by sensitivity


def first_direction(rows):
    """Leading eigenvector with the usual rule for its sign: the entry that is largest in modulus is positive."""
    values, vectors = np.linalg.eigh(rows.T @ rows / len(rows))
    leading = vectors[:, 1]
    return leading * np.sign(leading[np.argmax(np.abs(leading))]), values[1] - values[0]


def test_one_record_flips_the_coordinates_of_every_row_whatever_the_gap():
    """The sum of two thousand clipped gradients moves by almost 2000 where a price up to rotation allows about 4."""
    n = 2000
    side = np.where(np.arange(n) % 2, 1.0, -1.0)
    one = side[:, None] * np.array([1.0, -1.0]) / math.sqrt(2)
    other = one.copy()
    one[0], other[0] = (1.0, 0.0), (0.0, 1.0)

    def gradient_sum(rows):
        direction, gap = first_direction(rows)
        assert gap > 0.99  # more than any cap could ask for
        z = np.column_stack([rows @ direction, np.ones(n)])
        gradients = -side[:, None] / 2 * z
        return (gradients / np.maximum(1, np.linalg.norm(gradients, axis=1))[:, None]).sum(axis=0)

    assert np.linalg.norm(gradient_sum(one) - gradient_sum(other)) > 0.99 * n


def test_so_neither_account_nor_prices_nor_the_command_take_pca_by_sensitivity(tmp_path, capsys):
    for caps in ({}, {"gap": 0.5}, {"tail": 0.1}):
        with pytest.raises(ValueError, match=r"price .* all rows; RankReduction"):
            pre.PCA(1, payment=Sensitivity(caps))
    learner = GradientDescent(Logistic(), steps=1, weight_bound=1.0)
    domain = Domain.ball(2, [0, 1], n=2000)
    paid = pre.PCA(1, payment=Budget(0.1))
    table = prices([paid], domain, learner, epsilon=1.0, delta=1e-5, n=2000, release=False)
    (closed,) = [p for p in table if p.way == "sensitivity"]
    assert not closed.open and closed.epsilon is None and "all rows" in closed.note
    (tmp_path / "p.yaml").write_text(
        "rows: 2000\ndomain: {features: 2, radius: 1.0}\n"
        "steps:\n  - {step: PCA, k: 1, pay: sensitivity, gap: 0.5}\n"
        "learner: {kind: dp-gd, noise_multiplier: 40, steps: 1, weight_bound: 1}\n"
    )
    assert run(["account", str(tmp_path / "p.yaml")]) == 2
    said = capsys.readouterr()
    assert "all rows" in said.err and len(said.err.splitlines()) == 1 and "ε" not in said.out


def test_projecting_back_into_the_space_has_a_price_that_no_turn_of_the_frame_changes():
    learner = GradientDescent(Logistic(), steps=1, weight_bound=1.0)
    step = pre.RankReduction(1, payment=Sensitivity({"gap": 0.5}))
    result = account([step], learner, domain=Domain.ball(2, [0, 1], n=2000), noise_multiplier=40.0)
    assert result.conditions and not any("rotation" in c for c in result.conditions)


# ----------------------------------------------------------------------------------------------- ε if ignored

DELTA = 1e-5


def the_price(monkeypatch, step, domain, learner, way, epsilon):
    """(the price of one step that is paid for this way, the noise over the clip norm that it is the price at)."""
    asked = []

    def listening(placed, trained, setting, multiplier, delta):
        asked.append((placed.steps[0].step.way, multiplier * trained.unit(setting)))
        return cost(placed, trained, setting, multiplier, delta)

    monkeypatch.setattr(price_module, "cost", listening)
    table = prices([step], domain, learner, epsilon=epsilon, delta=DELTA, n=domain.n)
    (price,) = [p for p in table if p.way == way]
    return price, dict(asked)[way] / learner.clip(step.output(domain.space).radius)


@pytest.mark.parametrize(
    "kind, adjacency", [(PoissonSGD, "add-or-remove-one"), (FixedBatchSGD, "replace-one")]
)
def test_ignoring_a_private_fit_costs_what_an_optimistic_oracle_says_and_hardly_more(
    monkeypatch, kind, adjacency
):
    """One µ for all printed 4.186 where at least 4.410 is lost. Both pairs of the oracle are those of true adversaries:

    a record of gradient C among zeros (Poisson), or of C among rows of gradient -C, one of which takes its place.
    """
    n, batch, steps, share, epsilon = 1000, 10, 6, 0.3, 4.0
    domain = Domain.ball(3, [0, 1], n=n, adjacency=adjacency)
    learner = kind(Logistic(), batch_size=batch, steps=steps)
    price, noise = the_price(
        monkeypatch, pre.Center(payment=Budget(share)), domain, learner, "budget", epsilon
    )
    record = 1.0 if adjacency == "add-or-remove-one" else 2.0

    def oracle(pessimistic):
        grid = {"value_discretization_interval": 1e-3, "pessimistic_estimate": pessimistic}
        sampled = pld.from_gaussian_mechanism(noise / record, sampling_prob=batch / n, **grid)
        fit = pld.from_gaussian_mechanism(1 / (gdp_mu(epsilon, DELTA) * math.sqrt(share)), **grid)
        return sampled.self_compose(steps).compose(fit).get_epsilon_for_delta(DELTA)

    lost = oracle(False)
    assert lost <= price.epsilon <= oracle(True) * 1.05
    one_mu = gdp_epsilon(gdp_mu(epsilon, DELTA) * price.factor, DELTA)
    assert one_mu < lost * 0.97  # what was printed


LEARNERS = {
    "full batch": GradientDescent(Logistic(), steps=3, weight_bound=2.0),
    "Poisson": PoissonSGD(Logistic(), batch_size=50, steps=3, weight_bound=2.0),
    "fixed batches": FixedBatchSGD(Logistic(), batch_size=50, steps=3, weight_bound=2.0),
    "one pass": OnePassSGD(Logistic(), batch_size=50, steps=3, weight_bound=2.0),
    "passes": CyclicSGD(Logistic(), batch_size=500, steps=3, weight_bound=2.0),
    "noisy SGD": NoisySGD(Logistic(), batch_size=50, steps=3, weight_bound=2.0),
}


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("strength", [0.5, 1e-4])
def test_ignoring_moved_rows_costs_what_the_account_of_the_learner_says(name, strength):
    """Where nothing else runs the price is that account itself: no conversion stands between."""
    learner, n = LEARNERS[name], 1000
    domain = Domain.ball(3, [0, 1], n=n)
    step = pre.SoftPCA(strength, payment=Sensitivity())
    placed = chain([step], domain, n, math.inf, release=False)
    setting = Setting(placed.space.radius, placed.space.d, 1, n, domain.adjacency, placed.incoming)
    if name == "full batch":
        price = cost(placed, learner, setting, 20.0, DELTA)
        assert price == pytest.approx(gdp_epsilon(math.sqrt(3) / 20.0, DELTA))
        return
    price = cost(placed, learner, setting, 2.0, DELTA)
    own = float(learner.tradeoff(2.0, setting, delta=DELTA).epsilon(DELTA))
    moved = learner.moved_rows(setting)
    every_batch = 2 + moved.total + moved.rounding  # as if each batch held all that moved
    assert price == pytest.approx(min(own, gdp_epsilon(every_batch * math.sqrt(3) / 2, DELTA)), rel=1e-9)
    alone = dataclasses.replace(setting, incoming=pre.RowShift())
    assert price > float(learner.tradeoff(2.0, alone, delta=DELTA).epsilon(DELTA)) * 1.01


@pytest.mark.slow
def test_ignoring_a_step_by_sensitivity_costs_the_account_at_the_noise_of_a_free_one(monkeypatch):
    """Poisson batches through `prices`: what is printed is the account of a pipeline that adds only that noise."""
    domain = Domain.ball(3, [0, 1], n=1000)
    step = pre.SoftPCA(0.5, payment=Sensitivity())
    learner = PoissonSGD(Logistic(), batch_size=20, steps=2, weight_bound=1.0)
    price, noise = the_price(monkeypatch, step, domain, learner, "sensitivity", 2.0)
    exact = account([step], learner, domain=domain, noise_multiplier=noise, delta=DELTA)
    assert price.epsilon == pytest.approx(float(exact.by_route[DIRECT].epsilon(DELTA)), rel=1e-9)
    assert price.epsilon > 2.05 and price.factor > 1


def test_a_learner_that_cannot_follow_has_no_account_however_far_rows_move():
    """One pass depends on the order of rows: no bound over all batches saves it, hopeless shift or not."""
    far = pre.RowShift(500, 2.0, 1000.0, any_order=True)
    for moved in (far, pre.RowShift(1, 1e-6, 1e-6, any_order=True)):
        with pytest.raises(ValueError, match="order of the rows"):
            LEARNERS["one pass"].accounts(0.2, Setting(1.0, 3, 1, 1000, "replace-one", moved), DELTA)


# --------------------------------------------------------------------------------------- what an account rests on

SCALER = """
rows: 20000
domain: {features: 10, low: 0, high: 1}
steps:
  - {step: StandardScaler, pay: sensitivity}
learner: {kind: dp-gd, noise_multiplier: 400, steps: 50, weight_bound: 1}
"""


def test_an_account_says_in_text_json_and_python_what_has_to_stay_secret_and_what_it_costs(tmp_path, capsys):
    """It printed "the pipeline really has ε" of a scaler that every prediction needs, and no word that ε ends there."""
    (tmp_path / "p.yaml").write_text(SCALER)
    assert run(["account", str(tmp_path / "p.yaml")]) == 0
    text = " ".join(capsys.readouterr().out.split())
    steps = [pre.StandardScaler(payment=Sensitivity()), pre.SoftPCA(0.1, payment=Sensitivity())]
    learner = GradientDescent(Logistic(), steps=50, weight_bound=1.0)
    result = account(steps, learner, domain=Domain.box(0, 1, 10, [0, 1], n=20_000), noise_multiplier=400.0)
    scaler, soft = [note for note in result.notes if "secret" in note]
    assert "centres and scales of StandardScaler stay secret" in scaler and "needed on new rows" in scaler
    assert "no finite ε holds at any δ < 1" in scaler and "no finite ε holds at any δ < 1" in soft
    assert "directions of SoftPCA" in soft and "does not need them on new rows" in soft
    assert scaler in text
    assert result.to_json(DELTA)["notes"] == list(result.notes)


def test_an_account_without_confidential_steps_has_no_secret_and_a_weak_one_says_so_in_python():
    learner = GradientDescent(Logistic(), steps=5, weight_bound=1.0)
    domain = Domain.ball(3, [0, 1], n=1000)
    good = account([pre.ClipNorm(1.0)], learner, domain=domain, noise_multiplier=20.0)
    (run_as,) = good.notes  # of the sampler: nothing has to stay secret, nothing is weak
    assert run_as.startswith("holds only while every step sums") and "secret" not in run_as
    weak = account([pre.ClipNorm(1.0)], learner, domain=domain, noise_multiplier=0.5, delta=0.01)
    assert [n[:4] for n in weak.notes[1:]] == ["weak", "weak"] and "1/n" in weak.notes[1]


def valid(data):
    """Read back by a parser that takes no Infinity and no NaN."""

    def refuse(name):
        raise AssertionError(name)

    return json.loads(json.dumps(data), parse_constant=refuse)


def test_json_of_an_account_is_valid_and_calls_nothing_a_share_that_is_none():
    """An epsilon of 34 stood there as share_of_mu_squared."""
    steps = [pre.SoftPCA(0.05, payment=Sensitivity()), pre.Rescale(10.0)]
    learner = GradientDescent(Logistic(), steps=5, weight_bound=1.0)
    domain = Domain.ball(3, [0, 1], n=1000)
    result = account(steps, learner, domain=domain, noise_multiplier=20.0)
    data = valid(result.to_json(1e-6))
    assert data["breakdown"] == [] and data["at_delta"] == 1e-5
    assert data["epsilon"] == result.epsilon(1e-6) and data["epsilon"] in data["by_route"].values()
    assert [s["step"] for s in data["steps"]] == ["SoftPCA", "Rescale"]
    first = account(
        steps[:1], learner, domain=domain, noise_multiplier=20.0
    )  # the pipeline up to the first step
    assert data["steps"][0]["epsilon"] == pytest.approx(first.by_route[DIRECT].epsilon(1e-5))
    assert data["alternatives"][0] == {"step": "SoftPCA", "way": "public", "epsilon": None} | {
        "note": data["alternatives"][0]["note"]
    }


@pytest.mark.parametrize("kind", ["laplace", "exponential"])
def test_an_infinite_epsilon_is_a_word_in_json(kind):
    told = Guarantee(approximate_dp(0.1, 0.5), "replace-one").to_json(1e-6)
    assert math.isinf(approximate_dp(0.1, 0.5).epsilon(1e-6)) and valid(told)["epsilon"] == "inf"
    step = pre.SoftPCA(1e-9, payment=Sensitivity())
    domain = Domain.ball(3, [0, 1], n=10**6)
    result = account([step], ReleasedStatistic(kind, 1e4, lipschitz=1e6), domain=domain)
    valid(result.to_json(1e-6))


def test_parts_of_a_plan_that_is_no_gaussian_have_no_share_of_a_mu():
    """mu squared of the private fit stood there as its share."""
    learner = PoissonSGD(Logistic(), batch_size=10, steps=2)
    plan = make_plan(
        Domain.ball(3, [0, 1], n=1000), [pre.Center(payment=Budget(0.1))], learner, epsilon=3.0, delta=1e-5
    )
    told = valid(plan.guarantee.to_json(1e-5))["breakdown"]
    assert [(p["part"], p["share_of_mu_squared"]) for p in told] == [("Center", None), ("PoissonSGD", None)]


@pytest.mark.parametrize(
    "make, says",
    [
        (lambda d, k: account("steps", k, domain=d, noise_multiplier=1.0), "list of steps"),
        (lambda d, k: account([pre.SoftPCA], k, domain=d, noise_multiplier=1.0), r"steps\[0\] must be"),
        (lambda d, k: account([], GradientDescent, domain=d, noise_multiplier=1.0), "learner must be"),
        (lambda d, k: account([], k, domain=3, noise_multiplier=1.0), "prepriv.Domain"),
        (lambda d, k: account([], k, domain=d, noise_multiplier=1.0, delta=0), "delta must lie"),
    ],
)
def test_an_account_of_a_wrong_kind_of_thing_is_a_sentence(make, says):
    with pytest.raises(ValueError, match=says):
        make(Domain.ball(3, [0, 1], n=100), GradientDescent(Logistic()))


# ---------------------------------------------------------------------------------- the same account everywhere

COMMAND = """
rows: 1000
domain: {{features: 3, radius: 1.0}}
steps:
  - {{step: ClipNorm, radius: 1.0}}
learner: {{kind: {kind}, noise_multiplier: 2, steps: 3, batch_size: 50, weight_bound: 2.0, learning_rate: {rate}}}
"""


@pytest.mark.parametrize("kind, name", [("one-pass", "one pass"), ("noisy-sgd", "noisy SGD")])
def test_the_command_has_the_account_of_every_learner(tmp_path, capsys, kind, name):
    (tmp_path / "p.yaml").write_text(COMMAND.format(kind=kind, rate=1.0))
    assert run(["account", str(tmp_path / "p.yaml")]) == 0
    printed = float(re.search(r"really has ε = (\S+)", capsys.readouterr().out)[1])
    exact = account(
        [pre.ClipNorm(1.0)], LEARNERS[name], domain=Domain.ball(3, [0, 1], n=1000), noise_multiplier=2.0
    )
    assert exact.epsilon(DELTA) <= printed <= exact.epsilon(DELTA) * 1.001


def test_a_rate_that_is_no_contraction_is_a_sentence(tmp_path, capsys):
    (tmp_path / "p.yaml").write_text(COMMAND.format(kind="one-pass", rate=100))
    assert run(["account", str(tmp_path / "p.yaml")]) == 2
    assert "learning_rate must be at most" in capsys.readouterr().err


@pytest.mark.parametrize("test", [0.0, 0.1])
def test_at_the_noise_of_a_plan_the_price_is_what_the_plan_claims(test):
    """Nothing that a plan counts is left out of a price, tests of caps and private fits included."""
    steps = [
        pre.MeanImputer(payment=Sensitivity({"missing": 0.01}, test=test)),
        pre.Center(payment=Budget(0.1)),
    ]
    domain = Domain.box(0, 1, 3, [0, 1], n=10_000, missing="impute")
    plan = make_plan(
        domain, steps, GradientDescent(Logistic(), steps=5, weight_bound=1.0), epsilon=2.0, delta=1e-5
    )
    price = cost(plan.chain, plan.learner, plan.setting, plan.learner_noise_multiplier, DELTA)
    assert price == pytest.approx(plan.guarantee.epsilon(DELTA), rel=1e-6)
