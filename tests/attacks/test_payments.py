"""Findings 1, 7 and 8: payments that are no payments, plans that keep a claim, handles that are used twice."""

from __future__ import annotations

import dataclasses
import json
import pickle
from dataclasses import dataclass

import numpy as np
import pytest

import prepriv
from prepriv import Budget, Domain, Public, Sensitivity, make_plan
from prepriv import preprocessing as pre
from prepriv.audit.replay_pipeline import replay_plan
from prepriv.learners.gradient_descent import GradientDescent
from prepriv.learners.losses import Logistic
from prepriv.learners.stochastic import PoissonSGD
from prepriv.mechanisms.gaussian_sum import GaussianSum
from prepriv.mechanisms.session import ExactSession, Metered, NoisySession, SpentError
from prepriv.payment import check_payment
from prepriv.plans.stored import plan_from_json
from prepriv.runs.run import execute
from prepriv.tables.encoding import encode, encode_labels

LEARNER = GradientDescent(Logistic(), steps=3, weight_bound=5.0)
BALL = Domain.ball(3, (0, 1), n=500)


@dataclass(frozen=True)
class Cheaper(Budget):
    """A subclass can say anything of itself."""

    @property
    def way(self):
        return "public"


def all_steps():
    return [
        k
        for k in (getattr(pre, name) for name in pre.__all__)
        if isinstance(k, type) and issubclass(k, pre.Step) and k is not pre.Step
    ]


@pytest.mark.parametrize("kind", all_steps(), ids=lambda k: k.__name__)
@pytest.mark.parametrize(
    "payment",
    [Public, Budget, Sensitivity, Cheaper(0.1), "budget", 0.1, True, {"share": 0.1}, (Budget(),), object()],
    ids=lambda p: type(p).__name__ + getattr(p, "__name__", ""),
)
def test_only_an_instance_of_one_of_the_three_pays(kind, payment):
    """`payment=prepriv.Sensitivity` was accepted: fitted on private rows, nothing accounted, "2% of the budget"."""
    options = {"eta": 0.1} if kind in (pre.Deduplicate, pre.Quantize) else {}
    options |= {"side": 0.1} if kind is pre.QuantizeCells else {}
    with pytest.raises(ValueError, match=f"^payment of {kind.__name__} .*Public"):
        kind(payment=payment, **options)


def test_a_payment_that_is_put_there_later_is_refused_by_the_plan_and_by_the_account():
    step = pre.SoftPCA(0.05, payment=Sensitivity())
    object.__setattr__(step, "payment", Sensitivity)
    for use in (
        lambda: make_plan(BALL, [step], LEARNER, epsilon=1.0, delta=1e-5),
        lambda: prepriv.account([step], LEARNER, domain=BALL, noise_multiplier=40.0),
        lambda: check_payment("SoftPCA", step.payment),
    ):
        with pytest.raises(ValueError, match="the class Sensitivity: call it"):
            use()


# ------------------------------------------------------------------------------- what is claimed is derived


def test_a_plan_with_another_part_claims_what_that_part_costs():
    """`replace(plan, learner=<10 x the steps>)` kept epsilon = 1."""
    steps = [pre.Center(payment=Budget(0.1))]
    plan = make_plan(BALL, steps, LEARNER, epsilon=1.0, delta=1e-5)
    long = dataclasses.replace(plan, learner=dataclasses.replace(LEARNER, steps=30))
    quiet = dataclasses.replace(plan, learner_noise_multiplier=plan.learner_noise_multiplier / 2)
    clipped = dataclasses.replace(plan, learner=dataclasses.replace(LEARNER, clip_norm=0.5))
    more = dataclasses.replace(plan, pipeline=(pre.Center(payment=Budget(0.5)),))
    assert plan.guarantee.epsilon(1e-5) <= 1.0
    assert long.guarantee.epsilon(1e-5) > 3 and quiet.guarantee.epsilon(1e-5) > 1.9
    assert more.guarantee.epsilon(1e-5) > 1.1
    assert clipped.learner_noise == plan.learner_noise / 2  # the noise follows what one record can do
    assert len({p.hash for p in (plan, long, quiet, clipped, more)}) == 5
    assert "guarantee" not in {f.name for f in dataclasses.fields(plan)}


@pytest.mark.parametrize("multiplier", [0.0, -1.0, float("nan"), float("inf")])
def test_a_private_plan_has_noise(multiplier):
    plan = make_plan(BALL, [], LEARNER, epsilon=1.0, delta=1e-5)
    with pytest.raises(ValueError, match="learner_noise_multiplier"):
        dataclasses.replace(plan, learner_noise_multiplier=multiplier)


# ------------------------------------------------------------------------------------ a spent event is spent


@dataclass(frozen=True)
class Often(pre.Center):
    """Asks for its sum more often than it pays for."""

    times: int = 2

    def fit_budget(self, rows, space, n, mechanisms):
        for _ in range(self.times - 1):
            mechanisms.sum(rows, dim=space.d, radius=space.radius)
        return super().fit_budget(rows, space, n, mechanisms)


@dataclass(frozen=True)
class Both(pre.Center):
    """A sum and a second moment for the price of one."""

    def fit_budget(self, rows, space, n, mechanisms):
        mechanisms.second_moment(rows, d=space.d, radius=2 * space.radius)
        return super().fit_budget(rows, space, n, mechanisms)


@dataclass(frozen=True)
class Louder(pre.Center):
    """Uses the session behind the handle with noise of its own choice."""

    def fit_budget(self, rows, space, n, mechanisms):
        mechanisms.session.release(
            "more", GaussianSum(1000, mechanisms.noise_multiplier / 2, 0, 1, 3), np.zeros(3, np.int64)
        )
        return super().fit_budget(rows, space, n, mechanisms)


def rows_and_labels():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(500, 3)) / 4
    return encode(x, BALL), encode_labels((x[:, 0] > 0).astype(int), (0, 1))


@pytest.mark.parametrize(
    "step",
    [
        Often(payment=Budget(0.1)),
        Often(times=50, payment=Budget(0.1)),
        Both(payment=Budget(0.1)),
        Louder(payment=Budget(0.1)),
    ],
    ids=["twice", "fifty times", "two kinds", "less noise"],
)
def test_a_step_releases_what_its_share_pays_for_and_no_more(step):
    """Fifty sums, epsilon = 2.706 released under a claim of 1.0."""
    with pytest.raises(ValueError, match=rf"^{step.name} asked for more releases"):  # before any charge
        make_plan(BALL, [step], LEARNER, epsilon=1.0, delta=1e-5)
    plan = make_plan(BALL, [pre.Center(payment=Budget(0.1))], LEARNER, epsilon=1.0, delta=1e-5)
    plan = dataclasses.replace(plan, pipeline=(step,))
    session = NoisySession()
    with pytest.raises(SpentError, match=rf"^{step.name} asked for more releases"):
        execute(plan, *rows_and_labels(), session)
    assert len(session.releases) <= 1
    assert any("asked for more" in f.what for f in replay_plan(plan, pairs=2).findings)


def test_a_metered_session_counts_before_it_draws_and_refuses_releases_without_noise():
    inner = NoisySession()
    session = Metered(inner, "step", 1.0)
    total = np.zeros(2, np.int64)
    for multiplier in (0.0, 0.5, 0.99):
        with pytest.raises(SpentError):
            session.release("s", GaussianSum(1000, multiplier, 0, 1, total.size), total)
    assert inner.releases == []
    session.release("s", GaussianSum(1000, 2.0, 0, 1, total.size), total)
    with pytest.raises(SpentError):
        session.release("s", GaussianSum(1000, 1.1, 0, 1, total.size), total)
    for _ in range(3):
        session.release("s", GaussianSum(1000, 2.0, 0, 1, total.size), total)
    with pytest.raises(SpentError):
        session.release("s", GaussianSum(1000, 1000.0, 0, 1, total.size), total)
    assert len(inner.releases) == 4 and not Metered(ExactSession(), "step", 1.0).private


@pytest.mark.parametrize(
    "learner", [LEARNER, PoissonSGD(Logistic(), batch_size=20, steps=4)], ids=["gd", "poisson"]
)
def test_the_replay_compares_what_was_spent_with_what_is_claimed(learner, monkeypatch):
    plan = make_plan(BALL, [pre.Center(payment=Budget(0.1))], learner, epsilon=1.0, delta=1e-5)
    assert replay_plan(plan, pairs=2).findings == []
    monkeypatch.setattr(  # the bug, planted
        Metered, "release", lambda self, name, what, exact: self._session.release(name, what, exact)
    )
    over = dataclasses.replace(plan, pipeline=(Often(payment=Budget(0.1)),))
    found = replay_plan(over, pairs=2).findings
    assert found and all("more than is claimed" in f.what for f in found)


# --------------------------------------------------------------------------------------------------- typed caps


def test_typed_caps_say_the_same_as_a_mapping():
    typed, plain = (
        pre.MeanImputer(payment=Sensitivity(caps))
        for caps in (
            pre.MeanImputer.Caps(missing=0.02, fade={"a": 0.1}),
            {"missing": 0.02, "fade": {"a": 0.1}},
        )
    )
    domain = prepriv.Domain({"a": prepriv.Numeric(0, 1, missing="impute")}, [0, 1], n=500)
    plans = [make_plan(domain, [step], LEARNER, epsilon=1.0, delta=1e-5) for step in (typed, plain)]
    assert plans[0].hash == plans[1].hash and typed.payment.terms() == plain.payment.terms()
    assert plan_from_json(json.loads(json.dumps(plans[0].to_json()))).hash == plans[0].hash
    assert (
        typed.payment.caps == plain.payment.caps
        and pickle.loads(pickle.dumps(typed)).payment == typed.payment
    )
    assert (
        Sensitivity(pre.MeanImputer.Caps()).terms() == Sensitivity().terms() == "default caps; never released"
    )


def test_typed_caps_are_checked_when_they_are_made():
    for kind, bad, says in [
        (pre.MeanImputer, {"missing": 1.5}, "missing cap must lie in"),
        (pre.MeanImputer, {"fade": {"a": -1}}, "fade cap of 'a' must lie in"),
        (pre.MeanImputer, {"missing": "half"}, "a number or a dict by column"),
        (pre.MedianImputer, {"gap": 2}, "gap cap must lie in"),
        (pre.TrimmedMeanImputer, {"spread": float("nan")}, "spread cap must lie in"),
        (pre.RegressionImputer, {"curvature": {"a": 0.1}}, "curvature cap must lie in"),
        (pre.RankReduction, {"gap": 0}, "gap must be a finite positive number"),
        (pre.RankReduction, {"tail": -1}, "tail must lie in"),
        (pre.Quantize, {"max_neighbors": 0}, "max_neighbors must be a whole number"),
    ]:
        with pytest.raises(ValueError, match=says):
            kind.Caps(**bad)
        options = {"eta": 0.1} if kind is pre.Quantize else {}
        with pytest.raises(ValueError, match=says):  # and a mapping with the step
            kind(**options, payment=Sensitivity(bad))
    declared = {"a": 0.1}
    caps = pre.MeanImputer.Caps(missing=declared)
    declared["a"] = 0.9
    assert caps.missing == {"a": 0.1} == dict(caps)["missing"]


def test_typed_caps_belong_to_their_step():
    with pytest.raises(ValueError, match=r"MedianImputer takes MedianCaps, .* ImputerCaps"):
        pre.MedianImputer(payment=Sensitivity(pre.MeanImputer.Caps(missing=0.02)))
    with pytest.raises(ValueError, match="SoftPCA has no cap 'gap'"):
        pre.SoftPCA(payment=Sensitivity({"gap": 0.1}))
    with pytest.raises(ValueError, match=r"RankReduction .* 'crowd'; .* gap, tail"):
        pre.RankReduction(2, payment=Sensitivity({"crowd": 3}))
    with pytest.raises(ValueError, match="'crowd' is called 'max_neighbors'"):
        pre.Deduplicate(0.1, payment=Sensitivity({"crowd": 3}))
