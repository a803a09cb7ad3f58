"""`mean_error`: what the release of the mean error costs, moves and does to predictions."""

from __future__ import annotations

import dataclasses
import itertools
import math

import numpy as np
import pytest
from scipy.stats import norm

import prepriv
from prepriv import Budget, Domain, Numeric, Sensitivity, make_plan
from prepriv import preprocessing as pre
from prepriv.audit.replay import Recorder
from prepriv.domain import TARGET_STEPS
from prepriv.engines import Threads
from prepriv.exact.gradient_sum import QuantizedRows
from prepriv.learners import GradientDescent, Huber, Logistic, SquaredError, SufficientStatistics
from prepriv.learners.learner import Run, Setting
from prepriv.learners.mean_error import OVERLAP, error_ends, moved, share_of_mean_error, summed, width_of
from prepriv.mechanisms.noise import NoiseSource
from prepriv.mechanisms.session import ExactSession, NoisySession
from prepriv.plans.stored import OtherClaim, plan_from_json
from prepriv.preprocessing.base import RowShift
from prepriv.recipes.automatic import recipe
from prepriv.release.advice import sums_in_words
from prepriv.runs.run import execute, predict_scores
from prepriv.tables.encoding import encode

ADD = "add-or-remove-one"
MEAN = GradientDescent(SquaredError(), steps=4, learning_rate=0.5, clip_norm=0.5, bias=0.5, mean_error=0.1)


def domain(adjacency="replace-one", n=1000, **more):
    return Domain.box(-1, 1, 3, n=n, adjacency=adjacency, target=Numeric(0, 10), **more)


def rows_of(learner, x, codes, n):
    rows = QuantizedRows(learner.grid(math.sqrt(3), n, RowShift()), len(x), x.shape[1], learner.bias)
    rows.fill(0, x, codes)
    return rows


def setting(n, adjacency="replace-one"):
    return Setting(math.sqrt(3), 3, 1, n, adjacency)


@pytest.mark.parametrize("adjacency", ["replace-one", ADD])
def test_the_account_is_that_of_what_is_drawn(adjacency):
    """The curve of Gaussian mechanisms in closed form, from the noise of the mechanisms that ran."""
    plan = make_plan(domain(adjacency, 40), [], MEAN, epsilon=1.0, delta=1e-5)
    session = Recorder()
    x = np.linspace(-0.5, 0.5, 120).reshape(40, 3)
    execute(plan, encode(x, plan.domain), np.full(40, TARGET_STEPS // 3, np.int32), session)
    drawn = [(r.name, r.mechanism.noise_multiplier) for r in session.releases]
    assert [name for name, _ in drawn] == ["gradient"] * 4 + ["GradientDescent: mean error"]
    mu = math.sqrt(sum(z**-2 for _, z in drawn))
    shift, above = plan.guarantee.epsilon(1e-5) / mu, math.exp(plan.guarantee.epsilon(1e-5))
    delta = norm.cdf(mu / 2 - shift) - above * norm.cdf(-mu / 2 - shift)
    assert delta == pytest.approx(1e-5, rel=1e-4) and delta <= 1e-5 and plan.guarantee.epsilon(1e-5) <= 1.0
    assert drawn[-1][1] ** -2 / mu**2 == pytest.approx(0.1)
    shares = {"GradientDescent": 0.9, "GradientDescent: mean error": 0.1}
    assert dict(plan.guarantee.breakdown) == pytest.approx(shares)
    counted = MEAN.events(2.0, setting(40, adjacency))
    assert [e.count for e in counted] == [4, 1]
    assert sum(e.count / e.noise_multiplier**2 for e in counted) == pytest.approx(4 / 2.0**2 / 0.9)


@pytest.mark.parametrize("at", [-3.0, -1.0, -0.2, 0.4, 1.0, math.nan])
@pytest.mark.parametrize("noise", [0.01, 0.04, 3.0])
@pytest.mark.parametrize("adjacency", ["replace-one", ADD])
def test_the_sum_of_errors_moves_by_what_its_noise_is_for(adjacency, noise, at):
    """The worst records: a target at one bound, a prediction at the other. at: score of a row of zeros."""
    weights, sums = np.array([[3.0], [0.0], [0.0], [at / MEAN.bias]]), []
    for first, code in [(-1, TARGET_STEPS), (1, 0), (0, 0), (0, TARGET_STEPS), (1, -1), (-1, 0)]:
        x = np.zeros((40, 3))
        x[0, 0] = first
        codes = np.full(40, -1)
        codes[0] = code
        session = Recorder()
        MEAN.finished(rows_of(MEAN, x, codes, 40), setting(40, adjacency), Run(session, noise), weights)
        (call,) = session.calls
        sums.append((int(call.exact[0, 0]), call.mechanism))
    assert len({mechanism for _, mechanism in sums}) == 1  # declared facts decide it
    values, reach = [value for value, _ in sums], sums[0][1].sensitivity
    apart = max(values) - min(values) if adjacency != ADD else max(map(abs, values))
    assert apart <= reach
    _, width = MEAN.mean_error_release(noise, setting(40, adjacency))
    low, high = np.clip(error_ends(width, at), -2, 2)
    worst = max(-low, high) if adjacency == ADD else high - low
    assert apart == pytest.approx(reach * worst / moved(width, adjacency), rel=1e-3)
    if width < 2 and (adjacency != ADD or at == -1.0):
        assert worst == pytest.approx(moved(width, adjacency))  # attained


def test_errors_count_in_an_interval_that_signal_widens():
    assert [width_of(s) for s in (0.0, 900.0, 3000.0, 1e9)] == [1.1, 1.1, 1.5, 2.2]
    for width, score in itertools.product((1.1, 1.5, 2.2), (-1, -0.9, -0.3, 0.0, 0.2, 1)):
        low, high = error_ends(width, score)
        assert low < 0 < high and high - low == pytest.approx(width)
        assert max(-low, high) <= width - OVERLAP + 1e-12
    assert error_ends(1.1, -0.9) == pytest.approx((-0.2, 0.9)) and error_ends(1.1, 0.0) == pytest.approx(
        (-0.55, 0.55)
    )


def test_the_intercept_moves_by_the_mean_error_that_numpy_has(rng):
    x, codes = rng.uniform(-1, 1, (500, 3)), rng.integers(0, TARGET_STEPS // 2, 500)
    weights = np.array([[0.3], [-0.1], [0.2], [0.5]])
    rows = rows_of(MEAN, x, codes, 500)
    out = MEAN.finished(rows, setting(500), Run(ExactSession(), 0.0), weights)
    y, said = codes * 2.0 / TARGET_STEPS - 1, x @ weights[:3, 0] + 0.25
    cut = np.clip(y - np.clip(said, -1, 1), *error_ends(2.2, 0.25))
    assert (out[-1, 0] - weights[-1, 0]) * 0.5 == pytest.approx(cut.mean(), abs=1e-3)
    assert (out[:-1] == weights[:-1]).all()
    session = NoisySession(NoiseSource.for_tests(1))
    noisy = [MEAN.finished(rows, setting(500), Run(session, 3.0), weights)[-1, 0] for _ in range(400)]
    assert np.std(noisy) * 0.5 == pytest.approx(MEAN.mean_error_release(3.0, setting(500))[0], rel=0.1)


def test_the_sum_of_errors_has_the_same_bits_in_any_blocks_and_on_disk(rng):
    n, grid, want = 5000, MEAN.grid(math.sqrt(3), 5000, RowShift()), None
    x, codes = rng.uniform(-1, 1, (n, 3)), rng.integers(-1, TARGET_STEPS, n)
    blocks = [(x[at : at + 256], codes[at : at + 256], at) for at in range(0, n, 256)]
    weights = np.array([[0.3], [-0.1], [0.2], [-1.5]])
    for engine in (Threads(1), Threads(2, 1)):
        rows = engine.room(grid, n, 3).load(blocks, n, MEAN.bias)
        got, most = summed(rows, weights, 0.1, MEAN.bias, 1.3, "replace-one")
        want = got if want is None else want
        assert got.shape == (1, 1) and (got == want).all() and most < abs(int(got[0, 0]))


def test_predictions_of_a_skewed_target_have_its_mean(rng):
    """At least nearly so: without it they add up to a third too little."""
    x, of = rng.uniform(-1, 1, (6000, 8)), Domain.box(-1, 1, 8, n=6000, target=Numeric(0, 10))
    y = np.minimum(rng.exponential(np.exp(x[:, 0])) ** 1.5, 10.0)
    codes = np.rint(y / 10 * TARGET_STEPS).astype(np.int32)
    steps, learner = recipe(of, n=6000, epsilon=0.9, delta=1e-5)
    assert isinstance(learner, GradientDescent) and 0.02 <= learner.mean_error <= 0.08

    def off(learner):
        plan = make_plan(of, steps, learner, epsilon=0.9, delta=1e-5)
        made = execute(plan, encode(x, of), codes, NoisySession(NoiseSource.for_tests(4)))
        scores, _ = predict_scores(made.maps, made.weights, encode(x, of))
        return (5 * np.clip(scores, -1, 1) + 5).mean() / y.mean() - 1

    before, after = off(dataclasses.replace(learner, mean_error=0.0)), off(learner)
    assert before < -0.3 and abs(after) < 0.55 * abs(before)


def test_a_rule_of_declared_facts_says_whether_it_pays():
    one, few = "replace-one", 3
    assert share_of_mean_error(440.0, few, one) == 0.0 < share_of_mean_error(460.0, few, one) == 0.08
    assert share_of_mean_error(6000.0, few, one) == 0.02 == share_of_mean_error(460.0, 100, one)
    assert share_of_mean_error(890.0, few, ADD) == 0.0 < share_of_mean_error(910.0, few, ADD)
    assert share_of_mean_error(math.inf, few, ADD) == 0.0
    kinds = {
        "few": (domain(n=None), 500, []),
        "log": (Domain.box(-1, 1, 3, target=Numeric(0, 10, log=True)), 4000, []),
        "moved": (domain(n=None), 4000, [pre.SoftPCA(0.3, payment=Sensitivity())]),
    }
    for of, n, steps in kinds.values():
        _, learner = recipe(of, n=n, epsilon=1.0, delta=1e-5, steps=steps)
        assert isinstance(learner, GradientDescent | SufficientStatistics)
        assert getattr(learner, "mean_error", 0.0) == 0.0


def test_where_it_has_no_proof_it_is_refused_by_name():
    for bad in (
        {"mean_error": 1.0},
        {"mean_error": -0.1},
        {"bias": 0.0},
        {"flatten": 0.1},
        {"loss": Huber()},
    ):
        with pytest.raises(ValueError, match="mean_error"):
            dataclasses.replace(MEAN, **bad)
    with pytest.raises(ValueError, match="mean_error"):
        GradientDescent(Logistic(), mean_error=0.1)
    bounded = dataclasses.replace(MEAN, weight_bound=1.0)
    with pytest.raises(ValueError, match="mean_error"):
        make_plan(domain(), [pre.SoftPCA(0.3, payment=Sensitivity())], bounded, epsilon=1.0, delta=1e-5)
    columns = {"a": Numeric(0, 1)}
    people = Domain(columns, target=Numeric(0, 1), label="y", n=12, unit="who", rows_per_unit=3)
    with pytest.raises(ValueError, match="units of several rows"):
        make_plan(people, [], MEAN, epsilon=1.0, delta=1e-5)
    with pytest.raises(ValueError, match="give mean_error=0"):
        prepriv.account([], MEAN, domain=domain(), noise_multiplier=50.0)
    shifted = Setting(1.0, 3, 1, 1000, "replace-one", RowShift(10, 0.01, 0.1))
    assert bounded.smooth(5.0, shifted) is None
    assert dataclasses.replace(bounded, mean_error=0.0).smooth(5.0, shifted) is not None


def test_a_plan_and_a_report_say_it_where_it_is_set():
    plan = make_plan(domain(), [], MEAN, epsilon=1.0, delta=1e-5)
    written = plan.to_json()
    assert written["learner"]["mean_error"] == 0.1 and plan_from_json(written).hash == plan.hash
    for share in (0.2, 0.0):
        with pytest.raises(OtherClaim):
            plan_from_json(written | {"learner": written["learner"] | {"mean_error": share}})
    plain = make_plan(domain(), [], dataclasses.replace(MEAN, mean_error=0.0), epsilon=1.0, delta=1e-5)
    assert "mean_error" not in plain.to_json()["learner"]
    assert "too small" in sums_in_words(plain) and "too small" not in sums_in_words(plan)
    assert "moved by their mean error" in sums_in_words(plan) and "error bound of 10," in sums_in_words(plan)


def test_canaries_stay_out_of_the_sum_of_errors(rng):
    x = rng.random((400, 3)) / 2
    plan = make_plan(domain(n=400), [pre.Center(payment=Budget(0.1))], MEAN, epsilon=4.0, delta=1e-5)
    session = NoisySession(NoiseSource.for_tests(1))
    codes = (x[:, 0] * TARGET_STEPS).astype(np.int32)
    made = execute(plan, encode(x, plan.domain), codes, session, audit=2000)
    assert not made.audited.refuted and 0.9 < made.audited.noise < 1.1
    assert [r.mechanism.coordinates for r in session.releases] == [3, *[4 + 2000] * 4, 1]
